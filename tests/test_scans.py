"""Scans whose work-items exchange registers, run on NumPy's arrays, and with their default schedules on CPUs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gpu_kernels import EXCHANGING
from guards import unwritten
from ir_run import SUBGROUP, run
from ir_verify import verify
from kernels import plain
from random_functions import Picker, Seeded
from running import exchanged_in_local_memory, execute, expected, lowered
from strategies import Array

from mdhnp.codegen import generate
from mdhnp.codegen.generate import procedures
from mdhnp.mdh import MdHom, Stage, cc, md_hom, ps
from mdhnp.schedule.check import check
from mdhnp.schedule.default import default
from mdhnp.schedule.layout import exchanging
from mdhnp.schedule.schedule import Schedule
from mdhnp.schedule.split import part_totals

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device


def _affine(a: Any, b: Any) -> Any:
    return a[0] * b[0], b[0] * a[1] + b[1]


def _product(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]


#: Operators, how many arrays they take, and of which type.
OPERATORS = (
    (ps("add"), 1, "i4"),
    (ps("add"), 1, "f8"),
    (ps("max"), 1, "f2"),
    (ps(_affine, identity=(1, 0), commutative=False), 2, "i4"),
    (ps(_product, identity=(1, 0, 0, 1), commutative=False), 4, "i8"),
)


def _bound(operator: tuple[Any, int, str], shape: tuple[int, ...]) -> tuple[MdHom, list[Array]]:
    """A scan along the last axis of one or two."""
    scanned, count, dtype = operator
    rng = np.random.default_rng(sum(shape))
    arrays = [rng.integers(-1, 2, shape).astype(dtype) for _ in range(count)]
    at = "k,i" if len(shape) == 2 else "i"
    combine = {"k": cc, "i": scanned} if len(shape) == 2 else {"i": scanned}
    reads, writes = (", ".join(f"{name}{n}[{at}]" for n in range(count)) for name in "xy")
    return md_hom(lambda *x: x if count > 1 else x[0], combine, f"{reads} -> {writes}").bind(*arrays), arrays


def _assert_right(h: MdHom, arrays: list[Array], stage: Stage, s: Schedule, following: Any) -> None:
    caps = EXCHANGING
    check(stage.mdhom, s, caps)
    program, built = (make([stage], [s], caps, following) for make in (generate, procedures))
    for p in built:
        verify(p)
    outputs = [unwritten(v.shape, v.dtype) for v in h.outputs]
    run(program, built, arrays, outputs)
    for got, want in zip(outputs, expected(h, arrays), strict=True):
        np.testing.assert_array_equal(got, want)


def _drawn(p: Picker) -> tuple[MdHom, list[Array], Stage, Schedule]:
    """A scan with a size at a border of its schedule, of one line, or of some beside each other."""
    count, points, operator = p.choice((2, 8, 16, 32, 64, 128)), p.integer(1, 3), p.choice(OPERATORS)
    beside = max(SUBGROUP // count, p.choice((1, 1, 2)))
    tile = count * points
    extent = max(p.choice((SUBGROUP, tile, 2 * tile, 4 * tile)) * p.integer(1, 2) + p.integer(-1, 1), tile)
    tiles = -(-extent // tile)
    groups = -(-tiles // p.integer(1, tiles))
    if beside == 1 and p.integer(0, 1):
        h, arrays = _bound(operator, (extent,))
        sizes: dict[str, Any] = dict(num_wg=(groups,), num_wi=(count,), local_tile=(tile,), private_tile=(points,))
    else:
        width = p.choice((1, 1, 2))
        own = width * p.integer(1, 2)
        step = own * beside
        lines = step + p.integer(0, 3)
        h, arrays = _bound(operator, (lines, extent))
        sizes = dict(
            num_wg=(-(-lines // step), groups), num_wi=(beside, count), local_tile=(step, tile),
            private_tile=(own, points), item_order=(1, 0), vector_dim=0, vector_width=width,
        )  # fmt: skip
    (stage,) = lowered(h)
    return h, arrays, stage, replace(plain(stage.mdhom, EXCHANGING), results="private", **sizes)


@pytest.mark.parametrize("seed", range(60))
def test_random_scans(seed: int) -> None:
    h, arrays, stage, s = _drawn(Seeded(seed))
    assert exchanging(stage.mdhom, s, SUBGROUP) > 1
    _assert_right(h, arrays, stage, s, plain)


@pytest.mark.parametrize(("dtype", "tiles"), [("f4", 5), ("i4", 1)])
def test_totals_of_long_chunks(dtype: str, tiles: int) -> None:
    """Sums of floats are exact enough, in the largest tiles that are; a chunk has ten of the scan's."""
    h, _ = _bound((ps("add"), 1, dtype), (3 * 10 * 4096,))
    (stage,) = lowered(h)
    s = replace(
        plain(stage.mdhom, EXCHANGING),
        num_wg=(3,), num_wi=(64,), local_tile=(4096,), private_tile=(64,), results="private",
    )  # fmt: skip
    totals, used = part_totals(stage.mdhom, s, SUBGROUP)
    check(totals, used, EXCHANGING)
    assert used.local_tile == (10 // tiles * 4096,)


#: A GPU with few units, so that scans of small arrays are cut.
GPU = replace(EXCHANGING, kind="gpu", compute_units=4, max_work_group=1024)
#: Shapes, the axis that is scanned, and types: lines that are short, in rows, cut, and beside each other.
DEFAULTS = (
    ((31,), 0, "f4"), ((100,), 0, "c16"), ((1000,), 0, "i1"), ((25000,), 0, "f8"), ((6, 200), 1, "f4"),
    ((3, 11000), 1, "f8"), ((700, 70), 0, "f4"), ((5, 3, 60), 1, "f4"),
)  # fmt: skip


@pytest.mark.parametrize(("shape", "axis", "dtype"), DEFAULTS)
def test_default_schedules(device: Device, shape: tuple[int, ...], axis: int, dtype: str) -> None:
    """On CPUs, where exchanges are made in local memory."""
    x = np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)
    names = "ijk"[: x.ndim]
    combine = {name: ps("add") if n == axis else cc for n, name in enumerate(names)}
    at = ",".join(names)
    h = md_hom(lambda x: x, combine, f"x[{at}] -> y[{at}]").bind(x)
    steps = lowered(h)
    with exchanged_in_local_memory(SUBGROUP):
        used = [default(stage.mdhom, GPU) for stage in steps]
        program = generate(steps, used, EXCHANGING, lambda m, _: default(m, GPU))
    for got, want in zip(execute(device, h, [x], program), expected(h, [x]), strict=True):
        np.testing.assert_array_equal(got, want)
