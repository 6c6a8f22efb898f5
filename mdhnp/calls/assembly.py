"""An array that is written in parts, as one map: each element is read from where its part comes from.

Functions such as `concat`, `stack` and `roll` make an array, and put others into parts of it. Takes these parts, and
gives the step that computes all of them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mdhnp.fusion.compose import Reads
from mdhnp.mdh import Affine, Function, Instruction, MdHom, Step, View
from mdhnp.mdh.combine import CC
from mdhnp.mdh.complex import where
from mdhnp.mdh.trace import Recorder, Symbol
from mdhnp.mdh.views import contiguous, unit


class PlacedBox(NamedTuple):
    """A box of an array, and what is put there."""

    #: Where it begins along each axis, and ends.
    low: tuple[int, ...]
    high: tuple[int, ...]
    #: For each axis the dimension of the map that writes it, or None for one element.
    dims: tuple[int | None, ...]
    #: Of that map.
    rank: int
    #: What it reads.
    value: int
    #: How, in dimensions of the map.
    view: View
    #: Of what it reads.
    function: Function

    def overlaps(self, other: "PlacedBox") -> bool:
        return all(
            [max(a, b) < min(c, d) for a, b, c, d in zip(self.low, other.low, self.high, other.high, strict=True)]
        )


def box_of(h: MdHom, written: View, value: int, view: View) -> PlacedBox | None:
    """Give the part of an array that a map of one input writes, with what it reads; None where it is no box."""
    dims, low, high = [], [], []
    for index in written.accesses[0]:
        moving = index.dims()
        if len(moving) > 1 or any([index.coefficients[d] != 1 for d in moving]):
            return None
        dims.append(moving[0] if moving else None)
        low.append(index.constant)
        high.append(index.constant + (h.extents[moving[0]] if moving else 1))
    return PlacedBox(tuple(low), tuple(high), tuple(dims), h.rank, value, view, h.scalar)


def assembly(shape: tuple[int, ...], dtype: np.dtype[Any], parts: Sequence[PlacedBox]) -> Step:
    """Give the step that computes an array all of whose elements are in parts."""
    rank, recorder = len(shape), Recorder()
    reads = Reads(rank)
    result: Any = None
    for part in parts:
        along = {d: Affine.of(a, rank, -part.low[a]) for a, d in enumerate(part.dims) if d is not None}
        place = tuple([along.get(d, unit(rank)) for d in range(part.rank)])
        # Of other parts' elements the nearest one is read, and not used.
        view = replace(part.view, boundary="nearest", fill="0") if len(parts) > 1 else part.view
        number = reads.number(part.value, view, view.accesses[0], place)
        operand = recorder.add(Instruction("param", (), view.dtype, number)).number
        (found,) = recorder.paste(part.function, [operand], reads.index(recorder, place))
        value = Symbol(recorder, found)
        result = value if result is None else where(_inside(recorder, part, shape), value, result)
    inputs, values = reads.views()
    out = contiguous("O0", dtype, shape, tuple(range(rank)))
    made = MdHom(shape, (CC,) * rank, reads.function(recorder, (result.number,)), inputs, (out,))
    return Step(made, values)


def _inside(recorder: Recorder, part: PlacedBox, shape: tuple[int, ...]) -> Any:
    """Whether an index is in a part."""
    inside: Any = None
    for a, (low, high, n) in enumerate(zip(part.low, part.high, shape, strict=True)):
        index: Any = recorder.add(Instruction("index", (), np.dtype(np.int64), a))
        for holds in ([index >= low] if low else []) + ([index < high] if high < n else []):
            inside = holds if inside is None else np.logical_and(inside, holds)
    return inside
