"""Room: what a part gives lies in memory with room beside it, where the next step's halo is put.

A step of an iteration reads of what the one before gave a block and some of its neighbours' elements. Where the block's
memory has room for these, nothing else has to be copied. Pure: it must not know devices.
"""

from itertools import pairwise
from typing import NamedTuple

from mdhnp.mdh import Cut

__all__ = ["Room", "rooms_of"]


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


def rooms_of(made: Cut) -> tuple[Room, ...] | None:
    """Give the room beside each part's result: as much as the part reads of its neighbours' of an input of that shape.

    None where a part reads nothing of its neighbours', or more than one of them has; and of parts of several results,
    or that are not concatenated.
    """
    h = made.mdhom
    if h.combine[made.dim].kind != "cc" or len(h.outputs) > 1:
        return None
    out = h.outputs[0]
    axis = next(a for a, index in enumerate(out.accesses[0]) if index.coefficients[made.dim])
    read = [[p.inputs[n][axis] for p in made.parts] for n, v in enumerate(h.inputs) if v.shape == out.shape]
    most = max([one.stop - two.start for regions in read for one, two in pairwise(regions)], default=0)
    if not 0 < most <= min([p.mdhom.extents[made.dim] for p in made.parts]):
        return None
    ends = [(p.outputs[0][axis].start, out.shape[axis] - p.outputs[0][axis].stop) for p in made.parts]
    return tuple([Room(axis, min(most, before), min(most, after)) for before, after in ends])
