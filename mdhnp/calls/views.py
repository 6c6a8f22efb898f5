"""Views of a view: what an MDH reads of part of an array, said of the whole array."""

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from mdhnp.mdh import Affine, View
from mdhnp.mdh.pattern import array_view

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
