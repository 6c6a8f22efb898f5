"""Halo: what a part gives lies in memory with room beside it, into which the next step's neighbours are fetched.

A step of an iteration reads of what the one before gave a block and some of its neighbours' elements. Where the block's
memory has room for these, nothing else has to be copied. Pure: it must not know devices.
"""

from mdhnp.mdh import Cut
from mdhnp.mdh.regions import Region

__all__ = ["halos"]


def halos(made: Cut) -> tuple[Region, ...] | None:
    """Give what each part's memory has room for: its result, and as much beside as parts read of their neighbours'.

    Where a boundary wraps, the first and the last part are neighbours: regions begin before the array, or end behind
    it. None where a part reads nothing of its neighbours', or more than one of them has; and of parts of several
    results, or that are fused or not concatenated.
    """
    h = made.mdhom
    if made.kind != "cc" or len(h.outputs) > 1 or len(h.mdhoms) > 1:
        return None
    out = h.outputs[0]
    axis = next(a for a, index in enumerate(out.accesses[0]) if index.coefficients[made.dim])
    extent, same = out.shape[axis], [n for n, v in enumerate(h.inputs) if v.shape == out.shape]
    if not same:
        return None
    writes = [p.outputs[0] for p in made.parts]
    parts = [(region[axis].start, region[axis].stop) for region in writes]
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
    rooms = [slice(max(begin - before, -beyond), min(end + after, extent + beyond)) for begin, end in parts]
    return tuple([(*own[:axis], room, *own[axis + 1 :]) for own, room in zip(writes, rooms, strict=True)])


def _unwrapped(read: slice, stop: int, extent: int) -> tuple[int, int]:
    """What the first part reads of the axis's end is before its beginning."""
    away = extent if read.stop > extent and read.start >= stop else 0
    return read.start - away, read.stop - away
