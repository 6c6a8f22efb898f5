"""Kernels of maps and reductions with tiles for GPUs, run in the IR: right results, nothing out of bounds, no races."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from guards import unwritten
from ir_run import run
from ir_walk import TooLong, walk_all
from random_functions import Seeded
from running import expected, lowered
from schedules import MATRICES
from strategies import Array, case

import mdhnp
from mdhnp.codegen import generate
from mdhnp.codegen.generate import procedures
from mdhnp.mdh import MdHom, cc, md_hom, pw
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.check import check
from mdhnp.schedule.default import candidates, default
from mdhnp.schedule.gpu import gpu_schedule
from mdhnp.schedule.gpu_tiles import tiles
from mdhnp.schedule.schedule import Schedule

GPU = replace(MATRICES, atoms=())
#: Statements that are looked at.
_STEPS = 30_000


def _assert_right(h: MdHom, arrays: Sequence[Array], used: Sequence[Schedule]) -> None:
    steps, outputs = lowered(h), [unwritten(v.shape, v.dtype) for v in h.outputs]
    built, program = procedures(steps, used, GPU, default), generate(steps, used, GPU, default)
    with suppress(TooLong):
        walk_all(program, built, steps, steps=_STEPS)
    run(program, built, arrays, outputs)
    for got, wanted in zip(outputs, expected(h, arrays), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("seed", range(60))
def test_random_mdhs(seed: int) -> None:
    one = case(Seeded(seed))
    chosen = []
    for step in lowered(one.mdhom):
        found = [*islice(candidates(step.mdhom, GPU), 4)]
        chosen.append(found[seed % len(found)])
    _assert_right(one.mdhom, one.arrays, chosen)


_X = np.arange(5.0 * 7 * 19, dtype=np.float32)


@pytest.mark.parametrize(
    ("function", "combine", "views", "arrays"),
    [
        (lambda x: x, {"i": cc, "j": cc, "k": cc}, "x[i,j,k] -> y[k,j,i]", (_X.reshape(5, 7, 19),)),
        (lambda x: x, {"i": cc, "j": cc}, "x[i,j] -> y[j,i]", (_X.reshape(19, 35),)),
        (lambda x, y: x + y, {"i": cc, "j": cc, "k": cc}, "x[j,i,k], y[k] -> z[i,j,k]",
         (_X.reshape(7, 5, 19), _X[:19])),
        (lambda x: x, {"i": cc, "j": pw("add"), "k": cc}, "x[i,j,k] -> y[k,i]", (_X.reshape(7, 19, 5),)),
        (lambda x, w: x * w, {"i": cc, "j": pw("add"), "k": pw("add")}, "x[j,i,k], w[j] -> y[i]",
         (_X.reshape(5, 7, 19), _X[:5])),
    ],
)  # fmt: skip
def test_tiles_that_are_turned_or_stick_out(
    function: Any, combine: dict[str, Any], views: str, arrays: tuple[Array, ...]
) -> None:
    h = md_hom(function, combine, views).bind(*arrays)
    (stage,) = lowered(h)
    access = AccessPattern(stage.mdhom)
    found = tiles(access, GPU)
    kinds = {(found.packed[row].any(), found.private_tile[row].max() > 1): row for row in reversed(range(len(found)))}
    used = [gpu_schedule(access, found, row) for row in kinds.values()]
    # Copied although it may not pay here, in tiles of several points that stick out.
    twos, extents = np.full_like(found.num_wi[:1], 2), np.array([stage.mdhom.extents])
    local = np.minimum(4, extents)
    apart = replace(
        found.take([0]), num_wi=twos, private_tile=twos, local_tile=local, vector_dim=np.array([-1]),
        num_wg=np.where(np.isin(np.arange(stage.mdhom.rank), access.kept), -(-extents // local), 1),
        vector_width=np.array([1]), packed=np.array([[access.copies_pay(n) for n in range(len(arrays))]]),
    )  # fmt: skip
    for s in (*used, gpu_schedule(access, apart, 0)):
        check(stage.mdhom, s, GPU)
        _assert_right(h, arrays, [s])


def test_points_of_a_tile_that_sticks_out_are_loaded_together() -> None:
    """They were read one after the other, each when the one before was stored."""
    h = md_hom(lambda x: x, {"i": cc, "j": cc}, "x[i,j] -> y[j,i]").bind(_X.reshape(19, 35))
    steps = lowered(h)
    s = replace(default(steps[0].mdhom, GPU), num_wg=(5, 1), num_wi=(4, 8), local_tile=(8, 19), private_tile=(2, 4))
    text = generate(steps, [replace(s, vector_dim=-1, vector_width=1, local_copies=(None,))], GPU, default).source
    assert "min(" in text
    assert "for (" not in text


def test_a_transposition_is_copied_so_that_both_sides_are_contiguous() -> None:
    """Each lane of a warp read or wrote elsewhere before."""
    x = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (4096, 4096), (4 * 4096, 4))
    h = md_hom(lambda x: x, {"i": cc, "j": cc}, "x[i,j] -> y[j,i]").bind(x)
    (stage,) = lowered(h)
    s = default(stage.mdhom, GPU)
    assert s.local_copies[0] is not None or s.vector_width > 1
    assert min(s.local_tile) >= 8


@pytest.mark.parametrize(("few", "many"), [(40, 2000), (7, 2001), (1, 4099)])
def test_reductions_in_order_are_split_where_there_are_few_results(few: int, many: int) -> None:
    """The first of the best ones, by an operator without identity: one work-item reduced all of the points before."""
    rng = np.random.default_rng(few)
    x, y = (rng.integers(0, 4, n).astype(np.float32) for n in (few, many))
    first = pw(lambda a, b: (np.where(b[0] > a[0], b[0], a[0]), np.where(b[0] > a[0], b[1], a[1])))
    h = md_hom(lambda x, y: (x * y, mdhnp.index(1)), {"i": cc, "j": first}, "x[i], y[j] -> best[i], place[i]").bind(
        x, y
    )
    (stage,) = lowered(h)
    s = default(stage.mdhom, GPU)
    assert s.num_wg[-1] > 1
    _assert_right(h, (x, y), [s])


@pytest.mark.parametrize(("length", "rows"), [(3, 4), (32, 4), (64, 2)])
def test_work_items_hold_as_many_rows_as_registers_do(length: int, rows: int) -> None:
    """Of pairs of rows, one of which stays while the other ones are reduced."""
    x = np.empty((100_000, length), np.float32)
    squares = mdhnp.fuse(lambda x, y: np.exp(-((x[:, None] - y) ** 2).sum(axis=2)).sum(axis=1))
    (step,) = squares.rewriting(x, x).after.steps
    (stage,) = lowered(step.mdhom)
    assert default(stage.mdhom, MATRICES).private_tile[0] == rows


def _contraction(*extents: int) -> MdHom:
    """A contraction of six dimensions, the first two of which are in one factor, the next three in the other."""
    i, k, j, l, m, n = extents  # noqa: E741
    combine = {"i": cc, "j": cc, "k": cc, "l": cc, "m": cc, "n": pw("add")}
    h = md_hom(np.multiply, combine, "A[m,l,j,n], B[k,n,i] -> C[i,j,k,l,m]")
    return h.bind(np.empty((m, l, j, n), np.float32), np.empty((k, n, i), np.float32))


@pytest.mark.parametrize(("row", "lanes", "apart", "touched"), [
    # Rows of 13 that begin anywhere: 8 and 5 elements, each on one more sector; every other one by four lanes.
    (13, 8, 1, 2 * (26 + 28) / 52), (13, 4, 2, 4 * (22 + 28) / 52), (13, 1, 1, 8.0),
    # Rows of whole sectors, and of half ones.
    (16, 8, 1, 1.0), (16, 4, 1, 2.0), (12, 4, 1, 2.0),
])  # fmt: skip
def test_stores_cost_the_sectors_that_they_touch(row: int, lanes: int, apart: int, touched: float) -> None:
    access = AccessPattern(_contraction(20, 5, 3, 7, row, 9))
    assert access.stored(lanes, 32, apart) == pytest.approx(touched)


def test_tiles_lie_along_neighbours_of_short_dimensions() -> None:
    """Measured on an H200: 43.9 µs became 13.2, and 20.5 became 13.3."""
    short = default(_contraction(153, 16, 14, 8, 11, 11), MATRICES)
    assert not short.atom
    assert min(short.local_tile[3:5]) > 1
    h = md_hom(
        np.multiply, {d: cc for d in "abcd"} | {d: pw("add") for d in "ef"}, "A[a,e,b,f], B[d,f,c,e] -> C[a,b,c,d]"
    )
    both = default(h.bind(np.empty((13, 20, 13, 15), np.float32), np.empty((34, 15, 26, 20), np.float32)), MATRICES)
    assert both.atom
    assert min(both.local_tile[:4]) > 1
