"""Blocks: an array in blocks that others compute, which pieces of them make a region of it, and where MDHs are cut.

Dimensions are cut along the blocks of inputs; along which, a cost model says. What one input has in blocks along a
dimension another one may have in other blocks. Then one of them is cut as the other, or both where either is; it costs
the bytes that must be put together anew, and what more parts read again. It must not know what a key stands for.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.cost import Link
from mdhnp.mdh import MdHom, Rows, View
from mdhnp.mdh.regions import Region, within

#: From where to before where along an axis.
Span = tuple[int, int]


class Piece(NamedTuple):
    """Part of a block."""

    key: Any
    #: What of the block it is; of those that are stacked without their first axis.
    here: tuple[Span, ...]
    #: Where it lies in the region that it is a piece of.
    there: tuple[Span, ...]


@dataclass(frozen=True, eq=False)
class BlockedArray:
    """An array in blocks."""

    #: The keys of the blocks, in a grid.
    keys: npt.NDArray[Any]
    #: Where blocks end along each axis, after a 0.
    ends: tuple[tuple[int, ...], ...]
    #: Whether the blocks themselves lack the first axis, along which there is one for each index.
    stacked: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple([each[-1] for each in self.ends])

    def size(self, index: Sequence[int]) -> int:
        """Elements of the block at a place of the grid."""
        sizes = [ends[n + 1] - ends[n] for ends, n in zip(self.ends, index, strict=True)]
        return prod(sizes[self.stacked :])

    @property
    def whole(self) -> "Section":
        return Section(self, tuple([slice(0, n) for n in self.shape]))


@dataclass(frozen=True, eq=False)
class Section:
    """A region of an array in blocks."""

    blocks: BlockedArray
    #: A slice along each axis; one that ends beyond the array goes on from the axis's beginning.
    region: Region
    #: Whether several read the same regions, so that one that is put together should be kept.
    shared: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple([s.stop - s.start for s in self.region])

    def part(self, region: Region) -> "Section":
        return replace(self, region=within(self.region, region))

    def ends(self, axis: int) -> tuple[int, ...]:
        """Give where blocks end along an axis of the region, inside of it."""
        one = self.region[axis]
        return tuple([e - one.start for e in dict.fromkeys(self.blocks.ends[axis]) if one.start < e < one.stop])

    def pieces(self) -> list[tuple[Piece, int]]:
        """Give the pieces that it is made of, and how many elements the block of each has."""
        along = [_along(ends, one) for ends, one in zip(self.blocks.ends, self.region, strict=True)]
        found = []
        for each in product(*along):
            index = tuple([n for n, _, _ in each])
            here = tuple([h for _, h, _ in each])[self.blocks.stacked :]
            there = tuple([t for _, _, t in each])
            found.append((Piece(self.blocks.keys[index], here, there), self.blocks.size(index)))
        return found


def _along(ends: Sequence[int], region: slice) -> list[tuple[int, tuple[int, int], tuple[int, int]]]:
    """The blocks along one axis that lie in a region: which, what of each, and where."""
    found = []
    at: int = region.start
    while at < region.stop:
        place = at % ends[-1]
        block = bisect_right(ends, place) - 1
        count = min(ends[block + 1] - place, region.stop - at)
        here = (place - ends[block], place - ends[block] + count)
        found.append((block, here, (at - region.start, at - region.start + count)))
        at += count
    return found


def concatenated(parts: Sequence[BlockedArray], axis: int) -> BlockedArray:
    """Put arrays beside each other along an axis; along the others their blocks agree."""
    ends = [0]
    for part in parts:
        ends += [ends[-1] + e for e in part.ends[axis][1:]]
    first = parts[0].ends
    return BlockedArray(np.concatenate([p.keys for p in parts], axis), (*first[:axis], tuple(ends), *first[axis + 1 :]))


def stacked(parts: Sequence[BlockedArray]) -> BlockedArray:
    """Put arrays on each other along one more axis, the first; their blocks agree."""
    return BlockedArray(np.stack([p.keys for p in parts]), (tuple(range(len(parts) + 1)), *parts[0].ends), stacked=True)


#: Where parts end along a dimension, without its ends.
Ends = tuple[int, ...]

#: One more task takes 1 ms of dask's scheduler, and puts blocks together at 1 GB/s: measured on two local processes.
_TASK = Link(1 / 1024, 1 << 30)
#: Bytes that are put together in the time of one more task.
TASK = round(_TASK.start * _TASK.bandwidth)
#: Cuts of all dimensions that are compared, at most.
_CUTS = 1024


class _Axis(NamedTuple):
    """An axis of an input, the dimension that walks along it, and where that has to be cut to have blocks in parts."""

    dim: int
    ends: Ends
    more: int  # elements that a part reads beyond one for each of its points


def chosen(h: MdHom, blocks: Sequence[Sequence[Ends]], largest: int) -> tuple[Ends, ...]:
    """Choose where dimensions, none of extent 0, are cut, from where the blocks of each input end along its axes.

    Parts should not exceed `largest` bytes of one input.

    Examples
    --------
    >>> from mdhnp.mdh import cc, md_hom, pw
    >>> a, b = np.ones((4, 6)), np.ones((6, 1000))
    >>> product = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]").bind(a, b)
    >>> chosen(product, [((2,), (3,)), ((3,), (500,))], 1 << 20)
    ((2,), (500,), (3,))
    """
    axes = [[_axis(h, v, a, ends) for a, ends in enumerate(each)] for v, each in zip(h.inputs, blocks, strict=True)]
    choices = []
    for d in range(h.rank):
        found = dict.fromkeys([a.ends for each in axes for a in each if a is not None and a.dim == d])
        union = tuple(sorted({e for ends in found for e in ends}))
        choices.append([*dict.fromkeys([*found, union])] or [()])
    finest = tuple([max(each, key=len) for each in choices])
    if prod(map(len, choices)) > _CUTS or all([len(each) == 1 for each in choices]):
        return finest
    cuts = [cut for cut in product(*choices) if _fits(h, axes, cut, largest)]
    return min(cuts or [finest], key=lambda cut: _cost(h, axes, cut))


def _axis(h: MdHom, v: View, axis: int, ends: Ends) -> _Axis | None:
    """Find the dimension that walks furthest along an axis, if any does, and its points where blocks end."""
    steps = v.accesses[0][axis].coefficients
    dim = max(range(h.rank), key=lambda d: abs(steps[d]) * (h.extents[d] - 1), default=0)
    if not h.rank or not steps[dim] or h.extents[dim] == 1:
        return None
    still = [1 if d == dim else n for d, n in enumerate(h.extents)]
    spans = [access[axis].span(still) for access in v.accesses]
    low, high = min([low for low, _ in spans]), max([high for _, high in spans])
    middle, step = (low + high) // 2, steps[dim]
    places = [-((middle - e) // step) if step > 0 else (middle - e) // -step + 1 for e in ends]
    inside = sorted({p for p in places if 0 < p < h.extents[dim]})
    return _Axis(dim, tuple(inside), high - low)


def _cost(h: MdHom, axes: Sequence[Sequence[_Axis | None]], cut: Sequence[Ends]) -> float:
    """Return the seconds of tasks, of bytes put together anew and read again, and of partial results."""
    parts = [len(ends) + 1 for ends in cut]
    nbytes = 0.0
    for v, each in zip(h.inputs, axes, strict=True):
        own = {a.dim for a in each if a is not None}
        again = prod([n for d, n in enumerate(parts) if d not in own])
        moved = sum([_moved(a.ends, cut[a.dim], h.extents[a.dim]) for a in each if a is not None])
        nbytes += v.element_bytes * (again + min(moved, 1.0))
    partial = prod([n for d, n in enumerate(parts) if h.combine[d].kind == "pw"])
    if partial > 1:
        nbytes += 2 * partial * sum([v.element_bytes for v in h.outputs])
    return _TASK.seconds(nbytes, prod(parts))


def _moved(ends: Ends, cut: Ends, extent: int) -> float:
    """Which share of the points is not in the largest piece of its part, where blocks end so and parts so."""
    if set(ends) <= set(cut):
        return 0.0
    all_ends = np.unique([0, *ends, *cut])
    lengths = np.diff([*all_ends, extent])
    largest = np.maximum.reduceat(lengths, np.searchsorted(all_ends, [0, *cut]))
    return 1.0 - float(largest.sum()) / extent


def _fits(h: MdHom, axes: Sequence[Sequence[_Axis | None]], cut: Sequence[Ends], largest: int) -> bool:
    longest = [max(np.diff([0, *ends, n]).tolist()) for ends, n in zip(cut, h.extents, strict=True)]
    for v, each in zip(h.inputs, axes, strict=True):
        sizes = [
            n if a is None else min(n, longest[a.dim] * -(-n // h.extents[a.dim]) + a.more)
            for n, a in zip(v.shape, each, strict=True)
        ]
        if prod(sizes) * v.dtype.itemsize > largest:
            return False
    return True


def shared_ends(h: Rows, blocks: Sequence[Sequence[Ends]]) -> tuple[Ends, ...] | None:
    """Give where dimensions are cut, if blocks end so along each axis of each input; None where rows would be.

    Also where blocks of several inputs disagree.
    """
    found: dict[int, Ends] = {}
    for n, step in enumerate(h.graph.steps):
        last = dict(zip(h.shared[n], h.shared[-1], strict=True))
        for p, v in zip(step.inputs, step.mdhom.inputs, strict=True):
            for axis, ends in enumerate(blocks[p] if p < h.graph.given else ()):
                dims = {access[axis].dim() for access in v.accesses}
                dim = last.get(dims.pop() or 0) if len(dims) == 1 and None not in dims else None
                if (dim is None and ends) or (dim is not None and found.setdefault(dim, ends) != ends):
                    return None
    return tuple([found.get(d, ()) for d in range(h.rank)])
