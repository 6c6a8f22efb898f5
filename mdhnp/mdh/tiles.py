"""Tiles of a chain's results: what they need of its maps, and where that is kept. It must not know devices."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.mdh.graph import Graph

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
    along = [_along(graph, readers, d, tile[d]) for d in range(len(tile))]
    return tuple([
        Footprint(
            tuple([sizes[n] for sizes in along]),
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


def rings(graph: Graph, d: int, tile: int, *, borders: bool = True) -> tuple[Ring, ...]:
    """Give what is kept of each map where tiles of so many points follow each other along dimension `d`.

    With each tile every map advances by as many points: those that the maps which read it need to advance by as many.
    Without `borders`, as if arrays had none.
    """
    last = len(graph.steps) - 1
    found = {last: Ring(0, 0, tile)}
    for n in reversed(range(last)):
        extent = graph.steps[n].mdhom.extents[d]
        ahead, before, kept = [], [], []
        for m, each in _readers(graph, n).items():
            beyond = graph.steps[m].mdhom.extents[d] - extent
            for low, high in [_around(reach, beyond) if borders else reach[:2] for reach in each[d]]:
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
    for value in graph.values(n):
        views = [(m, v) for m in graph.readers(value) for p, v in graph.steps[m].reads if p == value]
        for m, view in views:
            for axis, ranges in enumerate(found.setdefault(m, [[] for _ in view.shape])):
                distances = [a[axis].constant for a in view.accesses]
                if not all([a[axis].dims() for a in view.accesses]):  # at constant places: all of the axis is needed
                    distances += [-graph.steps[m].mdhom.extents[axis], view.shape[axis]]
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


def overlaps(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Give, for each map of a chain and each dimension, how many points more than a tile has it computes at most."""
    each = [rings(graph, d, 1, borders=False) for d in range(graph.steps[-1].mdhom.rank)]
    return tuple([tuple([ring.ahead - ring.before for ring in along]) for along in zip(*each, strict=True)])


def slots(graph: Graph) -> dict[str, int]:
    """Give each value that maps of a chain leave to others a place, which is used again when all have read it."""
    slot_of: dict[str, int] = {}
    types: dict[int, np.dtype[Any]] = {}
    busy: dict[int, int] = {}  # until which step
    for n, step in enumerate(graph.steps[:-1]):
        for value, view in zip(graph.values(n), step.mdhom.outputs, strict=True):
            free = [slot for slot, until in busy.items() if until < n and types[slot] == view.dtype]
            slot = free[0] if free else len(types)
            slot_of[view.name], types[slot] = slot, view.dtype
            busy[slot] = max(graph.readers(value), default=n)
    return slot_of
