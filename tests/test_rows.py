"""Rows: MDHs that one kernel computes some rows at a time give what they give one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from chains import assert_is_exact, assert_stays_inside
from guards import unwritten
from ir_run import run
from random_functions import Seeded
from rows import random_rows
from running import expected, lowered
from schedules import CAPS, MATRICES, schedule

import mdhnp
from mdhnp.codegen import generate
from mdhnp.codegen.generate import procedures
from mdhnp.fusion.rewrite import apart
from mdhnp.fusion.rules import rows as rules
from mdhnp.mdh import Graph, MdHom, Rows, cut, interpret, rows
from mdhnp.mdh.canonical import fingerprint
from mdhnp.schedule.batch import fallback
from mdhnp.schedule.check import check, local_memory
from mdhnp.schedule.default import candidates, default
from mdhnp.schedule.rows import links, places, rows_memory, rows_plain
from mdhnp.schedule.schedule import DeviceCaps, IllegalSchedule, Schedule

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device


@pytest.mark.parametrize("caps", [CAPS, MATRICES], ids=lambda caps: caps.kind)
@pytest.mark.parametrize("seed", range(50))
def test_random_kernels(seed: int, caps: DeviceCaps) -> None:
    """No access out of bounds, no race: also of local memory."""
    p = Seeded(seed)
    made, _ = random_rows(p, 7)
    assert_stays_inside(made, schedule(p, made, caps), caps)


@pytest.mark.parametrize("seed", range(30))
def test_kernels_of_gpus(seed: int) -> None:
    """Also of rows shorter than a subgroup, and of so many that no number of them divides: with values, too."""
    made, arrays = random_rows(Seeded(seed), 12, in_ring=seed % 2 > 0)
    steps, want = lowered(made), expected(made, arrays)
    for s in candidates(made, MATRICES):
        assert_stays_inside(made, s, MATRICES)
        outputs = [unwritten(v.shape, v.dtype) for v in made.outputs]
        built = procedures(steps, [s], MATRICES, default)
        run(generate(steps, [s], MATRICES, default), built, arrays, outputs)
        for got, wanted in zip(outputs, want, strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_vectors_that_stick_out_read_nothing_that_others_change_in_place() -> None:
    """One that was moved inside would, though not in the lanes that it stores."""
    made = _rows(_softmax, (4, 7))
    each = [fallback(h) for h in links(made, (1,))]
    steps = []
    for n, (h, s) in enumerate(zip(links(made, (1,)), each, strict=True)):
        if n in {1, 2}:  # the differences, and their exponentials in place of them
            s = replace(s, num_wi=(1, 2), private_tile=(1, 4), local_tile=h.extents, vector_dim=1, vector_width=4)
        steps.append(s)
    s = replace(rows_plain(made, (1,), (4,), 2), steps=tuple(steps))
    check(made, s, MATRICES)
    assert places(made)[made.graph.firsts[2]] == made.graph.firsts[1]
    assert_stays_inside(made, s, MATRICES)


@pytest.mark.parametrize("seed", range(60))
def test_parts_of_random_rows_are_rows(seed: int) -> None:
    p = Seeded(2000 + seed)
    made, arrays = random_rows(p, 7, in_ring=seed % 2 > 0)
    dim = p.choice(made.shared[-1])
    sizes = tuple([2] * (made.extents[dim] // 2 - 1) + [2 + made.extents[dim] % 2])
    parts = cut(made, dim, p.choice((sizes, sizes[::-1])))
    for part in parts.parts:
        assert isinstance(part.mdhom, Rows)
        read = zip(part.mdhom.inputs, part.reads(arrays), strict=True)
        assert all(v.strides[a] * x.itemsize == x.strides[a] for v, x in read for a, n in enumerate(v.shape) if n > 1)
    assert len({part.mdhom for part in parts.parts}) == len(dict.fromkeys(sizes))
    for got, want in zip(_each(parts.run(interpret, *arrays)), expected(made, arrays), strict=True):
        np.testing.assert_array_equal(got, want)


def _each(found: Any) -> tuple[Any, ...]:
    return found if type(found) is tuple else (found,)


def test_what_is_no_dimension_of_all_rows_and_single_rows_are_not_cut() -> None:
    made = _rows(_softmax, (4, 7))
    with pytest.raises(ValueError, match="not all of the rows have"):
        cut(made, 1, 2)
    with pytest.raises(ValueError, match="0 to 1 of i are no rows"):
        cut(made, 0, (1, 3))


@pytest.mark.parametrize("seed", range(40))
def test_random_rows(device: Device, seed: int) -> None:
    p = Seeded(1000 + seed)
    made, arrays = random_rows(p, 40 if seed % 4 == 0 else 20, in_ring=seed % 8 > 3)
    s = schedule(p, made) if seed % 4 else next(candidates(made, device.caps), schedule(p, made))
    assert_is_exact(device, made, arrays, s)


def _softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _graph(function: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "f4") -> Graph:
    return mdhnp.fuse(function).rewriting(*[np.ones(s, dtype) for s in shapes]).before


def _rows(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Rows:
    found = rows(_graph(function, *shapes))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("function", "along", "dtype"),
    [
        (_softmax, 1, "f4"),
        (lambda x: _softmax(x) @ x[:, 3:], 1, "f4"),
        (lambda x: _softmax(x.reshape(2, 4, 8)), 2, "f4"),
        (lambda x: x / x.sum(axis=0), 1, "f4"),
        (lambda x: (x * x).sum(axis=1).max(), 0, "f4"),
        (lambda x: np.exp(x) + 1, 0, "f4"),
        (lambda x: x + x.sum(axis=1), 1, "f4"),
        (lambda x: np.cumsum(x, axis=1).max(axis=1), 0, "f4"),
        (lambda x: (y := x.sum(axis=1), y + 1), 0, "f4"),
        (lambda x: mdhnp.stencil(x, np.ones((3, 3), x.dtype)).sum(axis=1), 1, "f4"),
        (_softmax, 0, "f2"),
        (lambda x: x / x.sum(axis=1, keepdims=True), 0, "c8"),
    ],
)
def test_what_is_rows(function: Any, along: int, dtype: str) -> None:
    found = rows(_graph(function, (8, 8), dtype=dtype))
    assert (0 if found is None else len(found.shared[-1])) == along


def test_rows_of_few_are_not_looked_for() -> None:
    """Trying all groups of many steps would take minutes; maps alone are no rows, nor are fewer than pay."""

    def deep(x: Any, of: Callable[[Any], Any], steps: int) -> Any:
        return x if steps == 0 else of(deep(x, of, steps - 1))

    rule = rules.ROWS
    for function, shape, found in ((np.sin, (256, 20), 0), (_softmax, (32, 20), 0), (_softmax, (64, 20), 1)):
        graph = _graph(lambda x, f=function: deep(x, f, 12), shape)
        assert bool([*rule.matches(graph)]) == found


def test_rows_are_told_from_their_last_mdh_and_from_others() -> None:
    one, other = _rows(_softmax, (30, 20)), _rows(_softmax, (20, 30))
    kinds = {fingerprint(h) for h in (one, other, one.mdhoms[-1], other.mdhoms[-1])}
    assert len(kinds) == 4
    assert one == _rows(_softmax, (30, 20)) and hash(one) == hash(_rows(_softmax, (30, 20)))


@pytest.mark.parametrize("caps", [CAPS, MATRICES], ids=lambda caps: caps.kind)
@pytest.mark.parametrize("shape", [(300, 500), (3, 2), (1000, 7), (70, 3000)])
def test_schedules(shape: tuple[int, int], caps: DeviceCaps) -> None:
    made = _rows(_softmax, shape)
    found = [*candidates(made, caps)]
    assert len({*found}) == len(found) > 0 and found[0] == default(made, caps)
    for s in found:
        check(made, s, caps)
        assert local_memory(made, s, caps) <= caps.local_memory
        assert Schedule.from_json(s.to_json()) == s


def test_maps_change_what_nothing_reads_after_them_in_place() -> None:
    """Of a softmax: differences become exponentials, and those the quotients."""
    made = _rows(lambda x: _softmax(x) @ x, (30, 30))
    assert [n for n, p in places(made).items() if n != p] == [3, 5]
    assert rows_memory(made, (4,)) == 4 * 4 * (30 + 1 + 1)


def test_where_rows_are_computed_step_by_step(device: Device) -> None:
    """Where not one row fits in local memory, and products on GPUs, whose kernels are others."""
    for caps in (CAPS, MATRICES):
        with pytest.raises(IllegalSchedule, match="local memory"):
            default(_rows(_softmax, (40, 30_000)), caps)
    product = _rows(lambda x: _softmax(x) @ x[:, 3:], (80, 80))
    assert default(product, CAPS).work_items == 1
    with pytest.raises(IllegalSchedule, match="products"):
        default(product, MATRICES)
    assert [type(s.mdhom) for s in apart(product).steps] == [Rows, MdHom]
    x = np.random.default_rng(0).normal(size=(64, 300_000)).astype(np.float32)
    with mdhnp.device(device):
        np.testing.assert_allclose(mdhnp.fuse(_softmax)(x), _softmax(x), rtol=1e-5)


def test_what_a_schedule_of_rows_must_not() -> None:
    made = _rows(_softmax, (40, 32))
    s = next(candidates(made, CAPS))
    first, *rest = s.steps
    count = s.local_tile[0]
    for wrong, words in (
        ({"num_wg": (40, 2)}, "rows: tiles"),
        ({"steps": tuple(rest)}, "steps: schedules of 4 MDHs for 5"),
        ({"steps": (replace(first, num_wg=(1, 2), local_tile=(count, 16)), *rest)}, "num_wg"),
        ({"steps": (replace(first, num_wi=(1, 2), combine_on="local"), *rest)}, "num_wi: 2 work-items of 1"),
        ({"num_wi": (1, 1000)}, "num_wi: 1000, the device allows 256"),
        ({"steps": (replace(first, local_tile=(1, 32), private_tile=(1, 32)), *rest)}, "local_tile: 1"),
    ):  # fmt: skip
        with pytest.raises(IllegalSchedule, match=words):
            check(made, replace(s, **wrong), CAPS)
    small = replace(CAPS, local_memory=rows_memory(made, (count,)) - 4)
    with pytest.raises(IllegalSchedule, match="local memory"):
        check(made, s, small)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_fused_functions_of_rows(device: Device, dtype: str) -> None:
    """As NumPy computes them: with rows that are few or many, short and long, and do not divide evenly."""
    rng = np.random.default_rng(1)
    for shape in ((67, 5), (1, 64), (200, 1), (65, 1025), (3, 66, 19)):
        x, v = (rng.normal(size=s).astype(dtype) for s in (shape, (*shape[:-2], shape[-1], 7)))
        for function in (_attention, _normalised, _nearest):
            with mdhnp.device(device):
                found = mdhnp.fuse(function)(x, v)
            want = function(x, v)
            assert found.dtype == want.dtype
            np.testing.assert_allclose(found, want, rtol=1e-3 if dtype == "f4" else 1e-11, atol=1e-5)


def _attention(x: Any, v: Any) -> Any:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True)) @ v


def _normalised(x: Any, v: Any) -> Any:
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(np.square(x - mean).mean(axis=-1, keepdims=True) + np.float32(1e-2)) + v.sum()


def _nearest(x: Any, v: Any) -> Any:
    return (x @ v).argmin(axis=-1)


def test_rows_of_what_lies_beyond_a_border(device: Device) -> None:
    """Which is read by an MDH of more dimensions than the last one."""
    x = np.random.default_rng(2).normal(size=(128, 3, 8)).astype(np.float32)

    def function(x: Any) -> Any:
        return np.exp(np.pad(x, ((0, 0), (0, 0), (1, 1)), mode="edge").max(axis=2)).sum(axis=1)

    fused = mdhnp.fuse(function)
    assert [type(s.mdhom) for s in fused.rewriting(x).after.steps] == [Rows]
    with mdhnp.device(device), mdhnp.config(host="never"):
        np.testing.assert_allclose(fused(x), function(x), rtol=1e-5)
