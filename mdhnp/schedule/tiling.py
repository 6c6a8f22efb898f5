"""Tiles and work-groups of a batch of schedules: one NumPy row a schedule, one column a dimension."""

from collections.abc import Iterable
from math import gcd

import numpy as np
import numpy.typing as npt

from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.batch import Batch, global_order
from mdhnp.schedule.caps import DeviceCaps

__all__ = ["Floats", "Tiling", "product"]

Floats = npt.NDArray[np.float64]


class Tiling:
    """What all terms of a CPU's model need of a batch."""

    def __init__(self, access: AccessPattern, batch: Batch, caps: DeviceCaps) -> None:
        self.access, self.caps, self.core = access, caps, caps.machine.core
        self.packed, self.results = batch.packed, batch.results
        #: Dimensions of the loops over local tiles, outermost first.
        self.order = _orders(access, batch)
        #: Private tiles, local tiles and work-groups; local tiles in all, and for each work-group.
        self.pt = batch.private_tile.astype(float)
        self.lt = batch.local_tile.astype(float)
        self.wg = batch.num_wg.astype(float)
        self.extents = np.array(access.h.extents, float).reshape(1, -1)
        self.tiles = np.ceil(self.extents / self.lt)
        self.per_group = np.ceil(self.tiles / self.wg)
        #: Lanes of a vector, and the registers that it takes.
        self.width = batch.vector_width.astype(float)
        self.registers = np.maximum(self.width * access.itemsize / caps.vector_bytes, 1)
        #: Whether vectors lie along a dimension.
        self.moves = {d: (batch.vector_dim == d) & (self.width > 1) for d in range(access.h.rank)}

    def vectors_along(self, dims: Iterable[int]) -> npt.NDArray[np.bool_]:
        """Whether vectors lie along one of the dimensions."""
        along = np.zeros(len(self.pt), bool)
        for d in dims:
            along |= self.moves[d]
        return along

    def in_order(self, columns: Floats) -> Floats:
        """Each schedule's columns as its loops over local tiles stand, outermost first; one line a loop."""
        return np.asarray(np.take_along_axis(columns, self.order, axis=1).T)

    def moved(self, n: int) -> npt.NDArray[np.bool_]:
        """Whether the loops over local tiles move an input; one line a loop."""
        moved = np.array([d in self.access.depends[n] for d in range(self.access.h.rank)], bool)
        return np.asarray(moved[self.order].T)

    def clashing(self, way: int, itemsize: int) -> npt.NDArray[np.bool_]:
        """Whether a vector's lanes are stored so far apart that few of a cache's sets have to hold them all."""
        clashing = np.zeros(len(self.pt), bool)
        for d in self.access.kept:
            apart = abs(self.access.output_strides[d]) * itemsize
            clashing |= self.moves[d] & (apart > self.core.line and gcd(apart, way) * self.core.few_sets > way)
        return clashing


def _orders(access: AccessPattern, batch: Batch) -> npt.NDArray[np.int64]:
    """Loop order over local tiles of each schedule: one for every choice of copies and place of results."""
    bits = 1 << np.arange(batch.packed.shape[1])
    kinds, kind = np.unique(batch.results * (1 << len(bits)) + batch.packed @ bits, return_inverse=True)
    listed = [global_order(access, ((k & bits) > 0).tolist(), int(k >> len(bits))) for k in kinds]
    return np.array(listed, np.int64).reshape(len(kinds), access.h.rank)[kind]


def product(columns: Floats, dims: Iterable[int]) -> Floats:
    """Product along the given columns, one number a row."""
    result: Floats = np.ones(len(columns))
    for d in dims:
        result = result * columns[:, d]
    return result
