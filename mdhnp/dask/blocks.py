"""Blocks: an array in blocks that others compute, and which pieces of them make a region of it.

It must not know what a key stands for.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
