"""Room: what a part gives lies in memory with room beside it, where the next step's halo is put; and its borders.

A step of an iteration reads of what the one before gave a block and some of its neighbours' elements. Where the block's
memory has room for these, nothing else has to be copied. Where a part's borders, which are all that neighbours read and
that reads what they have, are computed apart from its inside, halos move while the inside is computed. Pure: it must
not know devices.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from mdhnp.mdh import Cut, Part
from mdhnp.mdh.regions import part_of

__all__ = ["Room", "pieces_of", "rooms_of"]


class Room(NamedTuple):
    """For how many elements along an axis there is room before a result, and after it."""

    axis: int
    before: int
    after: int

    def around(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Give the shape of the memory of a result."""
        return tuple([n + (self.before + self.after) * (a == self.axis) for a, n in enumerate(shape)])

    def inside(self, shape: tuple[int, ...]) -> tuple[slice, ...]:
        """Say where the result is in that memory."""
        return tuple([slice(self.before, self.before + n) if a == self.axis else slice(n) for a, n in enumerate(shape)])


class _Ends(NamedTuple):
    """Along the axis of a result that is cut: where parts of it, and what they read of inputs of its shape, end."""

    axis: int
    parts: list[tuple[int, int]]
    reads: list[tuple[int, int]]


def rooms_of(made: Cut) -> tuple[Room, ...] | None:
    """Give the room beside each part's result: as much as the part reads of its neighbours' of an input of that shape.

    None where a part reads nothing of its neighbours', or more than one of them has; and of parts of several results,
    or that are not concatenated.
    """
    found = _ends(made)
    if found is None:
        return None
    axis, parts, reads = found
    most = max([one[1] - two[0] for one, two in pairwise(reads)], default=0)
    if not 0 < most <= min([p.mdhom.extents[made.dim] for p in made.parts]):
        return None
    extent = made.mdhom.outputs[0].shape[axis]
    return tuple([Room(axis, min(most, begin), min(most, extent - end)) for begin, end in parts])


def pieces_of(made: Cut) -> tuple[tuple[Part, ...], ...]:
    """Give each part in pieces: its borders, then what is inside of them; one that has no inside is one piece.

    Parts have room beside them, by :func:`rooms_of`.
    """
    found = _ends(made)
    assert found is not None
    _, parts, reads = found
    if [stop for _, stop in parts] != [*accumulate([p.mdhom.extents[made.dim] for p in made.parts])]:
        return tuple([(part,) for part in made.parts])  # along 2*i+j, say, there are more elements than points
    between = [max(one[1] - end, end - two[0]) for (_, end), (one, two) in zip(parts, pairwise(reads), strict=False)]
    around = max(-reads[0][0], reads[-1][1] - parts[-1][1])  # of a boundary that wraps
    widths = [max(width, 0) for width in (around, *between, around)]
    each = zip(made.parts, parts, pairwise(widths), strict=True)
    return tuple([_in_pieces(made, part, *ends, *borders) for part, ends, borders in each])


def _in_pieces(made: Cut, part: Part, begin: int, end: int, low: int, high: int) -> tuple[Part, ...]:
    first, last = begin + low, end - high
    if first >= last or not (low or high):
        return (part,)
    spans = [(b, e) for b, e in ((begin, first), (last, end), (first, last)) if b < e]
    return tuple([part_of(made.mdhom, made.dim, b, e) for b, e in spans])


def _ends(made: Cut) -> _Ends | None:
    h = made.mdhom
    if made.kind != "cc" or len(h.outputs) > 1:
        return None
    out = h.outputs[0]
    axis = next(a for a, index in enumerate(out.accesses[0]) if index.coefficients[made.dim])
    parts = [(p.outputs[0][axis].start, p.outputs[0][axis].stop) for p in made.parts]
    same = [n for n, v in enumerate(h.inputs) if v.shape == out.shape]
    if not same:
        return None
    each = [
        [_unwrapped(p.inputs[n][axis], stop, out.shape[axis]) for n in same]
        for p, (_, stop) in zip(made.parts, parts, strict=True)
    ]
    return _Ends(axis, parts, [_hull(spans) for spans in each])


def _unwrapped(read: slice, stop: int, extent: int) -> tuple[int, int]:
    """What the first part reads of the axis's end is before its beginning."""
    away = extent if read.stop > extent and read.start >= stop else 0
    return read.start - away, read.stop - away


def _hull(spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return min([begin for begin, _ in spans]), max([end for _, end in spans])
