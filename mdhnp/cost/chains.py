"""What a chain costs by the tile of its results that a work-group computes at a time, before or with a schedule."""

from collections.abc import Callable, Sequence
from math import inf, prod

from mdhnp.cost.work import at_borders, loads, operation_count
from mdhnp.mdh import Chain, MdHom, Ring, overlaps, rings, slots

#: Bytes from memory that take as long as one instruction of a vector or of all work-items, for each of its elements.
INSTRUCTION = 0.2
#: What a byte from a cache costs.
_AGAIN = 0.2
#: How much longer it takes to go through rings whose rows begin anywhere, so that vectors lie across lines of a cache.
_ACROSS = 1.5


def weighed(h: MdHom) -> float:
    """Return the instructions for a point of a map, as far as they are known without its kernel."""
    return operation_count(h) / h.points + at_borders(h) + loads(h) + len(h.outputs)


class ChainCost:
    """What a chain costs by its tile, in bytes to or from memory, roughly; tiles may follow each other, `streamed`.

    Of a schedule it is known that a work-item computes so many `planes` at a time, and the work-groups along each
    dimension, by tile and streamed dimension, of which `units` run at a time; of a kernel, what `instructions` a point
    of a map takes, and that a row takes as long as so many points besides.
    """

    def __init__(
        self, h: Chain, streamed: int = -1, instructions: Callable[[MdHom], float] = weighed, *, planes: float = inf,
        row: int = 0, groups: Callable[[Sequence[int], int], Sequence[int]] | None = None, units: int = 1,
    ) -> None:  # fmt: skip
        self._h, self._streamed, self._units = h, streamed, units
        self._groups = groups or (lambda tile, streamed: (1,) * h.rank)
        self._instructions, self._row = [*map(instructions, h.mdhoms)], row
        self._overlaps, self._slots = overlaps(h.graph), slots(h.graph)
        self._rings: dict[int, tuple[Ring, ...]] = {}
        beside = 0
        for view in [v for one in h.mdhoms for v in one.inputs if v.shape]:
            distances = [a[0].constant for a in view.accesses]
            beside += (max(distances) - min(distances)) * view.dtype.itemsize
        self._beside = _AGAIN * beside / planes

    def __call__(self, tile: Sequence[int]) -> float:
        """Return bytes that all tiles move, and those that could be while they compute, on compute units that wait."""
        h, tile = self._h, self._stretch(tile) if self._streamed >= 0 else tile
        moved, work = self._moved(tile) + prod(tile) * self._beside, 0.0
        for each, sizes in zip(self._instructions, self._sizes(tile), strict=True):
            across = _ACROSS if self._streamed >= 0 and sizes[-1] < h.extents[-1] else 1
            work += each * prod(sizes[:-1]) * (sizes[-1] + self._row) * across
        groups = prod(self._groups(tile, -1))
        waiting = -(-groups // self._units) * self._units / groups
        tiles = prod([-(-n // t) for n, t in zip(h.extents, tile, strict=True)])
        return tiles * waiting * (moved + INSTRUCTION * work)

    def memory(self, tile: Sequence[int]) -> int:
        """Return the bytes of what maps leave to each other."""
        d, found = self._streamed, dict[int, int]()
        if d >= 0 and tile[d] not in self._rings:
            self._rings[tile[d]] = rings(self._h.graph, d, tile[d])
        for n, (one, sizes) in enumerate(zip(self._h.mdhoms[:-1], self._sizes(tile), strict=False)):
            points = prod(sizes) if d < 0 else prod(sizes) // sizes[d] * self._rings[tile[d]][n].points
            for view in one.outputs:
                slot = self._slots[view.name] if d < 0 else len(found)  # rings are needed all the time
                found[slot] = max(found.get(slot, 0), points * view.dtype.itemsize)
        return sum(found.values())

    def _sizes(self, tile: Sequence[int]) -> list[list[int]]:
        """Points of each map's region along each dimension."""
        return [
            [min(t + more, n) for t, more, n in zip(tile, beyond, one.extents, strict=True)]
            for beyond, one in zip(self._overlaps, self._h.mdhoms, strict=True)
        ]

    def _moved(self, tile: Sequence[int]) -> int:
        """Bytes that are read of the arrays given, with what neighbours read, too, and written."""
        total = prod(tile) * sum([v.dtype.itemsize for v in self._h.outputs])
        for sizes, step in zip(self._sizes(tile), self._h.graph.steps, strict=True):
            for p, view in step.reads:
                if p < self._h.graph.given:
                    box = prod([view.box(axis, sizes) for axis in range(len(view.shape))])
                    total += min(box, prod(sizes) * len(view.accesses)) * view.dtype.itemsize
        return total

    def _stretch(self, tile: Sequence[int]) -> tuple[int, ...]:
        """All that a work-group computes where its tiles follow each other, which costs as much as one such tile."""
        d = self._streamed
        groups = self._groups(tile, d)[d]
        each = -(-self._h.extents[d] // (tile[d] * groups)) * tile[d]
        return (*tile[:d], min(each, self._h.extents[d]), *tile[d + 1 :])
