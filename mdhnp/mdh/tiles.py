"""What tiles of a chain's results take: points of each map, bytes that are moved, bytes that are kept meanwhile.

As much for each tile: those at borders take no less here. What a byte or an operation costs is the business of those
who know devices, or none. It must not know devices.
"""

from collections.abc import Sequence
from math import prod

from mdhnp.mdh.chain import Chain
from mdhnp.mdh.regions import Ring, reaches, rings, slots

__all__ = ["Tiles"]


class Tiles:
    """Tiles of a chain, which may follow each other along a dimension, `streamed`."""

    def __init__(self, h: Chain, streamed: int = -1) -> None:
        self._h, self._streamed = h, streamed
        self._beyond, self._slots = reaches(h.graph), slots(h.graph)
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
        if self._streamed >= 0:
            return self._rings(tile)
        found: dict[int, int] = {}
        for one, sizes in zip(self._h.mdhoms[:-1], self.sizes(tile), strict=False):
            for view in one.outputs:
                slot = self._slots[view.name]
                found[slot] = max(found.get(slot, 0), prod(sizes) * view.dtype.itemsize)
        return sum(found.values())

    def _rings(self, tile: Sequence[int]) -> int:
        """The same where tiles follow each other."""
        d, total = self._streamed, 0
        if tile[d] not in self._kept:
            self._kept[tile[d]] = rings(self._h.graph, d, tile[d])
        for one, sizes, ring in zip(self._h.mdhoms[:-1], self.sizes(tile), self._kept[tile[d]], strict=False):
            total += prod(sizes) // sizes[d] * ring.points * sum([view.dtype.itemsize for view in one.outputs])
        return total

    def moved(self, tile: Sequence[int]) -> int:
        """Bytes that are read of the arrays given, with what neighbours read, too, and written."""
        total = prod(tile) * sum([v.dtype.itemsize for v in self._h.outputs])
        for sizes, given in zip(self.sizes(tile), self._given, strict=True):
            for view in given:
                box = prod([view.box(axis, sizes) for axis in range(len(view.shape))])
                total += min(box, prod(sizes) * len(view.accesses)) * view.dtype.itemsize
        return total
