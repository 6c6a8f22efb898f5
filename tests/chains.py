"""Random chains of maps, whose values are whole numbers, so that all results are exact.

With a ring's operations (`random_functions.ring`) values are any integers, and weights are odd.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from ir_walk import TooLong, walk_all
from random_functions import Picker, any_integers
from running import execute, expected, lowered
from schedules import CAPS, streamed
from strategies import Array

from mdhnp.codegen import Program, generate
from mdhnp.codegen.generate import procedures
from mdhnp.mdh import Affine, Chain, Graph, MdHom, Rows, Step, View, chain, index, stages, trace
from mdhnp.mdh.combine import CC
from mdhnp.mdh.views import contiguous, row_major
from mdhnp.schedule.check import check
from mdhnp.schedule.default import default
from mdhnp.schedule.schedule import DeviceCaps, Schedule

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

__all__ = [
    "assert_is_exact",
    "assert_stays_inside",
    "blurred",
    "program",
    "random_chain",
    "random_stream",
    "streamed_program",
]

#: Statements that a kernel is walked through at most.
STEPS = 400_000

#: Elements of an axis that is read at the same places for all points, at most.
_CHANNELS = 8

MODES = (None, "constant", "nearest", "reflect", "mirror")


def random_stream(p: Picker, longest: int = 24, *, in_ring: bool = False) -> tuple[Chain, list[Array], Schedule]:
    """Such a chain, arrays of which may have a single row, and a schedule whose tiles follow each other."""
    while True:
        made, arrays = random_chain(p, longest, 1, in_ring=in_ring)
        s = streamed(p, made)
        if s is not None:
            return made, arrays, s


def random_chain(p: Picker, longest: int = 24, least: int = 2, *, in_ring: bool = False) -> tuple[Chain, list[Array]]:
    """A chain of two to five maps of one to three dimensions, which give one or two values and may read several."""
    rank = p.integer(1, 3)
    shapes = [tuple([p.integer(least, max(longest // rank, 6)) for _ in range(rank)])] * p.integer(1, 2)
    given, steps, kept = (
        len(shapes),
        list[Step](),
        p.choice(("i4", "u1", "i8") if in_ring else ("f4", "i4", "f8", "u1", "i8")),
    )
    for n in range(p.integer(2, 5)):
        needed = len(shapes) - 1 if n else given - 1  # what was made last
        others = [v for v in range(len(shapes)) if v != needed and p.integer(0, 3) == 0]
        step = _map(p, [needed, *(others if n else range(given - 1))], shapes, np.dtype(kept), in_ring)
        steps.append(step)
        shapes.extend([v.shape for v in step.mdhom.outputs])
    made = chain(Graph.ending(given, steps))
    assert made is not None
    if in_ring:
        return made, [any_integers(p, s, np.dtype(kept)) for s in shapes[:given]]
    arrays = [np.arange(np.prod(s)).reshape(s) * 7 % 5 - 2 * (kept != "u1") for s in shapes[:given]]
    return made, [a.astype(kept) for a in arrays]


def _map(p: Picker, values: list[int], shapes: list[tuple[int, ...]], dtype: np.dtype[Any], in_ring: bool) -> Step:
    rank, modes = len(shapes[0]), {v: p.choice(MODES) for v in values}
    distances = {v: [tuple([p.integer(-2, 2) for _ in range(rank)]) for _ in range(p.integer(1, 3))] for v in values}
    inside = {  # where all that is read lies so
        v: [tuple([abs(k) % n for k, n in zip(d, shapes[v], strict=True)]) for d in found]
        for v, found in distances.items() if modes[v] is None
    }  # fmt: skip
    distances |= inside
    more = 0 if inside else p.choice((0, 0, 0, 9))  # points than what is read has
    extents = tuple([
        min([shapes[values[0]][a] + more, *[shapes[v][a] - max([d[a] for d in found]) for v, found in inside.items()]])
        for a in range(rank)
    ])  # fmt: skip
    still = {(v, p.integer(0, 2 * rank)) for v in values}  # axes, as of channels

    def at(v: int, axis: int, k: int) -> Affine:
        few = (v, axis) in still and shapes[v][axis] <= _CHANNELS
        return Affine((0,) * rank, k % shapes[v][axis]) if few else Affine.of(axis, rank, k)

    views = [
        View(
            f"x{v}", dtype, shapes[v], row_major(shapes[v]), 0,
            tuple([tuple([at(v, a, k) for a, k in enumerate(d)]) for d in dict.fromkeys(found)]),
            modes[v], "3" if modes[v] == "constant" else "0",
        )
        for v, found in distances.items()
    ]  # fmt: skip
    count = sum([len(v.accesses) for v in views])
    where, two = p.integer(0, 3) == 0, p.integer(0, 3) == 0

    def total(*x: Any) -> Any:
        others = [v * dtype.type(2 * n + 5) for n, v in enumerate(x[1:])] if in_ring else x[1:]
        added = reduce(lambda a, b: a + b, others, x[0] * dtype.type(3 if in_ring else p.integer(1, 2)))
        added = added + index(0).astype(dtype) if where else added
        return (added, x[0] + x[-1]) if two else added

    function = trace(total, [dtype] * count)
    outputs = [contiguous(name, dtype, extents, tuple(range(rank))) for name in ("y", "z")[: 1 + two]]
    return Step(MdHom(extents, (CC,) * rank, function, tuple(views), tuple(outputs)), tuple(values))


def assert_stays_inside(made: Chain | Rows, s: Schedule, caps: DeviceCaps = CAPS) -> None:
    """Walk through the kernel of a chain, or of rows: no access is out of bounds, and none races with another."""
    steps = lowered(made)
    built = procedures(steps, [s], caps, default)
    try:
        walk_all(generate(steps, [s], caps, default), built, steps, steps=STEPS)
    except TooLong:
        pytest.skip(f"more than {STEPS} steps")


def assert_is_exact(device: Device, made: Chain | Rows, arrays: list[Array], s: Schedule) -> None:
    """Run the kernel of a chain, or of rows: its results are the definition's."""
    got = execute(device, made, arrays, generate(lowered(made), [s], device.caps, default))
    for found, want in zip(got, expected(made, arrays), strict=True):
        np.testing.assert_array_equal(found, want)


def blurred(*extents: int, mode: str = "constant") -> Chain:
    """Means of neighbours, of means of neighbours."""
    rank, f4 = len(extents), np.dtype("f4")
    place = contiguous("y", f4, extents, tuple(range(rank)))
    distances = [tuple([k * (a == d) for a in range(rank)]) for k in (-1, 1) for d in range(rank)]
    accesses = tuple([tuple([Affine.of(a, rank, k) for a, k in enumerate(far)]) for far in sorted(distances)])
    view = View("x", f4, extents, row_major(extents), 0, accesses, mode)
    mean = trace(lambda *x: reduce(lambda a, b: a + b, x) * np.float32(1 / len(x)), [f4] * len(accesses))
    step = MdHom(extents, (CC,) * rank, mean, (view,), (place,))
    made = chain(Graph(1, (Step(step, (0,)), Step(step, (1,))), (2,)))
    assert made is not None
    return made


def program() -> Program:
    """A kernel that shows how chains are computed."""
    return _program(local_tile=(4, 16), num_wg=(3, 1))


def streamed_program() -> Program:
    """The same of tiles that follow each other."""
    return _program(local_tile=(2, 16), num_wg=(1, 3), streamed=0)


def _program(**others: Any) -> Program:
    made = blurred(9, 40)
    s = replace(Schedule.plain((9, 40), 1), private_tile=(2, 8), vector_dim=1, vector_width=8, **others)
    check(made, s, CAPS)
    return generate(stages(made), [s], CAPS, default)
