"""Tiles of a chain's results: what they need of its maps, where that is kept, and how many bytes they move and keep.

What a byte or an operation costs is the business of those who know devices, or none. It must not know devices.
"""

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.mdh.chain import Chain
from mdhnp.mdh.graph import Graph

__all__ = ["Footprint", "Ring", "Tiles", "footprints", "rings", "slots"]

Ends = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
#: By the step that reads something, and for each dimension: ranges of distances, with the boundary mode.
Readers = dict[int, list[list[tuple[int, int, str | None]]]]


class Footprint(NamedTuple):
    """What a work-group computes of one map."""

    #: Points along each dimension.
    sizes: tuple[int, ...]
    #: The maps that read it, and how far before their regions it begins along each dimension, if there it is inside of
    #: its extents; if not it is moved there.
    reads: tuple[tuple[int, tuple[int, ...]], ...]


def footprints(graph: Graph, tile: Sequence[int]) -> tuple[Footprint, ...]:
    """Give what tiles of a chain's results need of each map."""
    readers = [_readers(graph, n) for n in range(len(graph.steps))]
    each = [_along(graph, readers, d, tile[d]) for d in range(len(tile))]
    return tuple([
        Footprint(
            tuple([sizes[n] for sizes in each]),
            tuple([(m, tuple([min([low for low, _, _ in a]) for a in reach])) for m, reach in readers[n].items()]),
        )
        for n in range(len(graph.steps))
    ])  # fmt: skip


class Ring(NamedTuple):
    """What a work-group keeps of one map while its tiles follow each other along a dimension."""

    #: How many points the map is ahead of the chain's last one.
    ahead: int
    #: How far before the first tile of the last map's results it is needed, a negative number.
    before: int
    #: Points along the dimension that are kept; later ones take the places of earlier ones.
    points: int


def rings(graph: Graph, d: int, tile: int) -> tuple[Ring, ...]:
    """Give what is kept of each map where tiles of so many points follow each other along dimension `d`.

    With each tile every map advances by as many points: those that the maps which read it need to advance by as many.
    """
    last = len(graph.steps) - 1
    found = {last: Ring(0, 0, tile)}
    for n in reversed(range(last)):
        extent = graph.steps[n].mdhom.extents[d]
        ahead, before, kept = [], [], []
        for m, each in _readers(graph, n).items():
            for low, high in [_around(reach, graph.steps[m].mdhom.extents[d] - extent) for reach in each[d]]:
                ahead.append(found[m].ahead + high)
                kept.append(found[m].ahead + low)
                before.append(found[m].before + low)
        found[n] = Ring(max(ahead), min(before), min(tile + max(ahead) - min(kept), extent))
    return tuple([found[n] for n in range(last + 1)])


def _around(reach: tuple[int, int, str | None], beyond: int) -> tuple[int, int]:
    """How far from a point what it reads lies at most, if the map that reads has so many points beyond what it reads.

    Elements outside stand for others that are as far from the border at most, so they may lie on the other side.
    """
    low, high, boundary = reach
    if boundary in (None, "constant"):
        return low, high
    return min(low, -high) - 2 * max(beyond, 0), max(high, -low)


def _readers(graph: Graph, n: int) -> Readers:
    """What reads a step's results, and how."""
    found: Readers = {}
    for o in range(len(graph.steps[n].mdhom.outputs)):
        for m in graph.readers(graph.firsts[n] + o):
            for p, view in zip(graph.steps[m].inputs, graph.steps[m].mdhom.inputs, strict=True):
                if p == graph.firsts[n] + o:
                    reach = found.setdefault(m, [[] for _ in view.shape])
                    for axis, ranges in enumerate(reach):
                        distances = [a[axis].constant for a in view.accesses]
                        ranges.append((min(distances), max(distances), view.boundary))
    return found


def _along(graph: Graph, readers: Sequence[Readers], d: int, tile: int) -> list[int]:
    """Points of all regions along one dimension."""
    extent = graph.steps[-1].mdhom.extents[d]
    begin = np.minimum(np.arange(0, extent, tile), max(extent - tile, 0))
    ends: dict[int, Ends] = {len(graph.steps) - 1: (begin, np.minimum(begin + tile, extent))}
    sizes = [tile] * len(graph.steps)
    for n in reversed(range(len(graph.steps) - 1)):
        extent = graph.steps[n].mdhom.extents[d]
        needed = [_needed(ends[m], reach, extent) for m, each in readers[n].items() for reach in each[d]]
        low = np.min([raw for raw, _, _ in needed], axis=0)
        first, last = np.min([a for _, a, _ in needed], axis=0), np.max([b for _, _, b in needed], axis=0)
        size = int((last - np.minimum(first, np.maximum(low, 0))).max())
        sizes[n] = min(max(size, 1), extent)  # 1 where all that is read lies outside
        start = np.clip(low, 0, extent - sizes[n])
        ends[n] = start, start + sizes[n]
    return sizes


def _needed(ends: Ends, reach: tuple[int, int, str | None], extent: int) -> tuple[npt.NDArray[np.int64], ...]:
    """Where a map's region begins by its reader's, and the first and the end of what the reader needs of it."""
    low, high, boundary = reach
    begin, end = ends[0] + low, ends[1] + high
    first, last = np.clip(begin, 0, extent), np.clip(end, 0, extent)
    if boundary not in (None, "constant"):
        # Elements beyond a border are some near it: at most as far from it as they are beyond, or the last one.
        last = np.maximum(last, np.where(begin < 0, np.minimum(1 - begin, extent), 0))
        first = np.minimum(first, np.where(end > extent, np.maximum(2 * extent - 1 - end, 0), extent))
    return begin, first, last


def _reaches(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Give, for each map of a chain and each dimension, how many points more than a tile has it computes at most."""
    rank, last = graph.steps[-1].mdhom.rank, len(graph.steps) - 1
    ends = {last: [(0, 0)] * rank}
    for n in reversed(range(last)):
        each = [(ends[m], reach) for m, reach in _readers(graph, n).items()]
        ends[n] = [
            (
                min([after[d][0] + low for after, reach in each for low, _, _ in reach[d]]),
                max([after[d][1] + high for after, reach in each for _, high, _ in reach[d]]),
            )
            for d in range(rank)
        ]
    return tuple([tuple([high - low for low, high in ends[n]]) for n in range(last + 1)])


def slots(graph: Graph) -> dict[str, int]:
    """Give each value that maps of a chain leave to others a place, which is used again when all have read it."""
    found: dict[str, int] = {}
    types: dict[int, np.dtype[Any]] = {}
    busy: dict[int, int] = {}  # until which step
    for n, step in enumerate(graph.steps[:-1]):
        for o, view in enumerate(step.mdhom.outputs):
            free = [slot for slot, until in busy.items() if until < n and types[slot] == view.dtype]
            slot = free[0] if free else len(types)
            found[view.name], types[slot] = slot, view.dtype
            busy[slot] = max(graph.readers(graph.firsts[n] + o), default=n)
    return found


class Tiles:
    """Tiles of a chain, which may follow each other along a dimension, `streamed`."""

    def __init__(self, h: Chain, streamed: int = -1) -> None:
        self._h, self._streamed = h, streamed
        self._beyond, self._slots = _reaches(h.graph), slots(h.graph)
        self._given = [
            [v for p, v in zip(step.inputs, step.mdhom.inputs, strict=True) if p < h.graph.given]
            for step in h.graph.steps
        ]
        self._kept: dict[int, tuple[Ring, ...]] = {}

    def sizes(self, tile: Sequence[int]) -> list[list[int]]:
        """Points of each map's region along each dimension."""
        return [
            [min(t + more, n) for t, more, n in zip(tile, beyond, one.extents, strict=True)]
            for beyond, one in zip(self._beyond, self._h.mdhoms, strict=True)
        ]

    def kept(self, tile: Sequence[int]) -> int:
        """Bytes of what maps leave to each other."""
        if (d := self._streamed) >= 0:
            if tile[d] not in self._kept:
                self._kept[tile[d]] = rings(self._h.graph, d, tile[d])
            each = zip(self._h.mdhoms[:-1], self.sizes(tile), self._kept[tile[d]], strict=False)
            return sum([
                prod(sizes) // sizes[d] * ring.points * view.dtype.itemsize
                for one, sizes, ring in each for view in one.outputs
            ])  # fmt: skip
        found: dict[int, int] = {}
        for one, sizes in zip(self._h.mdhoms[:-1], self.sizes(tile), strict=False):
            for view in one.outputs:
                slot = self._slots[view.name]
                found[slot] = max(found.get(slot, 0), prod(sizes) * view.dtype.itemsize)
        return sum(found.values())

    def moved(self, tile: Sequence[int]) -> int:
        """Bytes that are read of the arrays given, with what neighbours read, too, and written."""
        total = prod(tile) * sum([v.dtype.itemsize for v in self._h.outputs])
        for sizes, given in zip(self.sizes(tile), self._given, strict=True):
            for view in given:
                box = prod([view.box(axis, sizes) for axis in range(len(view.shape))])
                total += min(box, prod(sizes) * len(view.accesses)) * view.dtype.itemsize
        return total
