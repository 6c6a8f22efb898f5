"""Halo: what a part gives lies in memory with room beside it, into which the next step's neighbours are fetched.

A step of an iteration reads of what the one before gave a block and some of its neighbours' elements. Where the block's
memory has room for these, nothing else has to be copied. Pure: it must not know devices.
"""

from typing import NamedTuple

from mdhnp.mdh import Cut

__all__ = ["Halo", "halos"]


class Halo(NamedTuple):
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


def halos(made: Cut) -> tuple[Halo, ...] | None:
    """Give the room beside each part's result: as much as parts read of their neighbours' of an input of that shape.

    Where a boundary wraps, the first and the last part are neighbours. None where a part reads nothing of its
    neighbours', or more than one of them has; and of parts of several results, or that are fused or not concatenated.
    """
    h = made.mdhom
    if made.kind != "cc" or len(h.outputs) > 1 or len(h.mdhoms) > 1:
        return None
    out = h.outputs[0]
    axis = next(a for a, index in enumerate(out.accesses[0]) if index.coefficients[made.dim])
    extent, same = out.shape[axis], [n for n, v in enumerate(h.inputs) if v.shape == out.shape]
    if not same:
        return None
    parts = [(p.outputs[0][axis].start, p.outputs[0][axis].stop) for p in made.parts]
    reads = [
        [_unwrapped(p.inputs[n][axis], stop, extent) for n in same]
        for p, (_, stop) in zip(made.parts, parts, strict=True)
    ]
    pairs = [(part, read) for part, each in zip(parts, reads, strict=True) for read in each]
    before = max([begin - first for (begin, _), (first, _) in pairs])
    after = max([last - end for (_, end), (_, last) in pairs])
    before, after = max(before, 0), max(after, 0)
    if not 0 < max(before, after) <= min([p.mdhom.extents[made.dim] for p in made.parts]):
        return None
    beyond = extent if any([first < 0 or last > extent for _, (first, last) in pairs]) else 0
    return tuple([Halo(axis, min(before, begin + beyond), min(after, extent - end + beyond)) for begin, end in parts])


def _unwrapped(read: slice, stop: int, extent: int) -> tuple[int, int]:
    """What the first part reads of the axis's end is before its beginning."""
    away = extent if read.stop > extent and read.start >= stop else 0
    return read.start - away, read.stop - away
