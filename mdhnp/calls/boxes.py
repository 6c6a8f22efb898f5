"""Parts of arrays while calls are traced: written ones put together as one map, read ones said of the whole array.

Functions such as `concat`, `stack` and `roll` make an array, and put others into parts of it. Takes these parts, and
gives the step that computes all of them: each element is read from where its part comes from.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.fusion.compose import Reads
from mdhnp.mdh import Affine, Function, Instruction, MdHom, Step, View
from mdhnp.mdh.complex import where
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.trace import Recorder, Symbol
from mdhnp.mdh.views import unit


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


def assembly(shape: tuple[int, ...], parts: Sequence[PlacedBox]) -> Step:
    """Give the step that computes an array all of whose elements are in parts."""
    rank, recorder = len(shape), Recorder()
    reads = Reads(rank)
    result: Any = None
    for part in parts:
        along = {d: Affine.of(a, rank, -part.low[a]) for a, d in enumerate(part.dims) if d is not None}
        place = tuple([along.get(d, unit(rank)) for d in range(part.rank)])
        # Of other parts' elements the nearest one is read, and not used.
        view = replace(part.view, boundary="nearest", fill="0") if len(parts) > 1 else part.view
        operand = reads.read(recorder, part.value, view, view.accesses[0], place)
        (found,) = recorder.paste(part.function, [operand.number], reads.index(recorder, place))
        value = Symbol(recorder, found)
        result = value if result is None else where(_inside(recorder, part, shape), value, result)
    return reads.map(recorder, shape, result.number)


def _inside(recorder: Recorder, part: PlacedBox, shape: tuple[int, ...]) -> Any:
    """Whether an index is in a part."""
    inside: Any = None
    for a, (low, high, n) in enumerate(zip(part.low, part.high, shape, strict=True)):
        index: Any = recorder.add(Instruction("index", (), np.dtype(np.int64), a))
        for holds in ([index >= low] if low else []) + ([index < high] if high < n else []):
            inside = holds if inside is None else np.logical_and(inside, holds)
    return inside


Array = npt.NDArray[Any]


def as_part(view: View, rank: int, whole: Array, array: Array, at: int) -> View | None:
    """Give an MDH's view of part of an array as one of the whole; None where axes were split or joined.

    `at` is how many elements the part's first one is from the whole's.
    """
    size = whole.itemsize
    steps = {a: s // size for a, (n, s) in enumerate(zip(whole.shape, whole.strides, strict=True)) if n > 1 and s}
    axes = sorted(steps, key=lambda a: -abs(steps[a]))  # along others all elements are the first one
    if 0 in array.shape:
        return None
    first, rest = {}, at
    for a in axes:
        ends = [steps[b] * (whole.shape[b] - 1) for b in axes[axes.index(a) + 1 :]]
        low, high = (sum([e for e in ends if sign * e > 0]) for sign in (-1, 1))  # what the other axes reach
        first[a] = -((high - rest) // steps[a]) if steps[a] > 0 else -((rest - low) // -steps[a])
        rest -= first[a] * steps[a]
    if rest:
        return None
    along: list[dict[int, int]] = []
    for n, stride in zip(array.shape, array.strides, strict=True):
        left, found = stride // size if n > 1 else 0, {}
        for a in axes:
            times = int(left / steps[a])
            if times:
                found[a], left = times, left - times * steps[a]
        if left:
            return None
        along.append(found)
    for a in axes:
        ends = [m[a] * (n - 1) for m, n in zip(along, array.shape, strict=True) if a in m]
        low, high = (first[a] + sum([e for e in ends if sign * e > 0]) for sign in (-1, 1))
        if low < 0 or high >= whole.shape[a]:
            return None
    accesses = tuple([
        tuple([_sum([(m.get(a, 0), i) for m, i in zip(along, access, strict=True)], first.get(a, 0), rank)
               for a in range(whole.ndim)])
        for access in view.accesses
    ])  # fmt: skip
    return array_view(view.name, whole, accesses)


def _sum(terms: Sequence[tuple[int, Affine]], constant: int, rank: int) -> Affine:
    """Give the sum of so many times each index, and a constant."""
    steps = [0] * rank
    for times, index in terms:
        if times:
            constant += times * index.constant
            steps = [s + times * c for s, c in zip(steps, index.coefficients, strict=True)]
    return Affine(tuple(steps), constant)


def flat(view: View, rank: int, whole: Array, at: int) -> View:
    """Give an MDH's view of some elements of a C-contiguous array as one of the array's elements along one axis."""
    accesses = [(_sum([*zip(view.strides, access, strict=True)], at, rank),) for access in view.accesses]
    return View(view.name, view.dtype, (whole.size,), (1,), 0, tuple(accesses))
