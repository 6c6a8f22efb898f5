"""A batch of schedules as the cost model sees it: one NumPy row a schedule, one column a dimension."""

from collections.abc import Iterable
from math import gcd

import numpy as np
import numpy.typing as npt

from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.choices import Choices, Facts, global_order

__all__ = ["LINE", "PAGE", "PAGES", "SCATTERED", "Columns", "Floats", "product"]

Floats = npt.NDArray[np.float64]

#: Bytes of a cache line.
LINE = 64
#: Bytes of a memory page, and how many the first level of address translation remembers.
PAGE, PAGES = 4096, 64
#: Cycles to load or store an element that the first-level cache does not keep.
SCATTERED = 6.0
#: As few sets of a cache as thrash.
_FEW_SETS = 8


class Columns:
    """What all terms of the estimate need of the schedules.

    Attributes
    ----------
    pt, lt, wg : ndarray of shape (n, rank)
        Private tiles, local tiles, work-groups.
    extents : ndarray of shape (1, rank)
        Of the MDH.
    tiles, per_group : ndarray of shape (n, rank)
        Local tiles in all, and for each work-group.
    width, registers : ndarray of shape (n,)
        Lanes of a vector, and the registers that it takes.
    packed, results : ndarray
        As in :class:`Choices`.
    order : ndarray of shape (n, rank)
        Dimensions of the loops over local tiles, outermost first.
    moves : dict of int to ndarray of bool
        Whether vectors lie along a dimension.
    """

    def __init__(self, facts: Facts, choices: Choices, caps: DeviceCaps) -> None:
        self.facts, self.caps = facts, caps
        self.packed, self.results = choices.packed, choices.results
        self.order = _orders(facts, choices)
        self.pt = choices.private_tile.astype(float)
        self.lt = choices.local_tile.astype(float)
        self.wg = choices.num_wg.astype(float)
        self.extents = np.array(facts.h.extents, float).reshape(1, -1)
        self.tiles = np.ceil(self.extents / self.lt)
        self.per_group = np.ceil(self.tiles / self.wg)
        self.width = choices.vector_width.astype(float)
        self.registers = np.maximum(self.width * facts.itemsize / caps.vector_bytes, 1)
        self.moves = {d: (choices.vector_dim == d) & (self.width > 1) for d in range(facts.h.rank)}

    def in_order(self, columns: Floats) -> Floats:
        """Each schedule's columns as its loops over local tiles stand, outermost first; one line a loop."""
        found: Floats = np.take_along_axis(columns, self.order, axis=1).T
        return found

    def moved(self, n: int) -> npt.NDArray[np.bool_]:
        """Whether the loops over local tiles move an input; one line a loop."""
        moved = np.array([d in self.facts.depends[n] for d in range(self.facts.h.rank)], bool)
        return np.asarray(moved[self.order].T)

    def clashing(self, way: int, itemsize: int) -> npt.NDArray[np.bool_]:
        """Whether a vector's lanes are stored so far apart that few of a cache's sets have to hold them all."""
        clashing = np.zeros(len(self.pt), bool)
        for d in self.facts.kept:
            apart = abs(self.facts.output_strides[d]) * itemsize
            clashing |= self.moves[d] & (apart > LINE and gcd(apart, way) * _FEW_SETS > way)
        return clashing


def _orders(facts: Facts, choices: Choices) -> npt.NDArray[np.int64]:
    """Loop order over local tiles of each schedule: one for every choice of copies and place of results."""
    bits = 1 << np.arange(choices.packed.shape[1])
    kinds, kind = np.unique(choices.results * (1 << len(bits)) + choices.packed @ bits, return_inverse=True)
    listed = [global_order(facts, ((k & bits) > 0).tolist(), int(k >> len(bits))) for k in kinds]
    return np.array(listed, np.int64).reshape(len(kinds), facts.h.rank)[kind]


def product(columns: Floats, dims: Iterable[int]) -> Floats:
    """Product along the given columns, one number a row."""
    result: Floats = np.ones(len(columns))
    for d in dims:
        result = result * columns[:, d]
    return result
