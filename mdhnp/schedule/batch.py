"""Batches of schedules as columns of numbers, so that thousands are judged in milliseconds.

A :class:`Batch` holds tile sizes, work-groups, work-items, vectors, copies and where results wait as NumPy arrays, one
row a schedule; the rest of a :class:`Schedule` is derived from these. A :class:`Tiling` adds what models need of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import gcd
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from mdhnp.mdh import MdHom
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.accuracy import longest_chain
from mdhnp.schedule.schedule import SIZES, DeviceCaps, Schedule
from mdhnp.schedule.shared import shared

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Where partial results wait, by number.
RESULTS: tuple[Literal["private", "local", "global"], ...] = ("private", "local", "global")
PRIVATE, GLOBAL = 0, 2


@dataclass(frozen=True)
class Batch:
    """Schedules of one MDH without matrix instructions."""

    #: As in :class:`Schedule`.
    num_wg: Ints
    num_wi: Ints
    local_tile: Ints
    private_tile: Ints
    #: As in :class:`Schedule`; -1 and 1 for scalars.
    vector_dim: Ints
    vector_width: Ints
    #: Which inputs' local tiles are copied to local memory.
    packed: npt.NDArray[np.bool_]
    #: Index into RESULTS.
    results: Ints

    def __len__(self) -> int:
        return len(self.results)

    def take(self, rows: Any) -> Self:
        return type(self)(*(getattr(self, f.name)[rows] for f in fields(self)))

    def distinct(self) -> Self:
        """The rows without those that are equal to an earlier one."""
        columns = np.column_stack([getattr(self, f.name) for f in fields(self)])
        return self.take(np.sort(np.unique(columns, axis=0, return_index=True)[1]))

    def numbers(self, row: int) -> dict[str, Any]:
        """The fields of a schedule that a row gives."""
        sizes = {name: tuple(getattr(self, name)[row].tolist()) for name in SIZES}
        return sizes | {"vector_dim": int(self.vector_dim[row]), "vector_width": int(self.vector_width[row])}

    @classmethod
    def of(cls, schedules: Sequence[Schedule]) -> Self:
        sizes = np.array([(s.num_wg, s.num_wi, s.local_tile, s.private_tile) for s in schedules], np.int64)
        others = np.array([(s.vector_dim, s.vector_width, RESULTS.index(s.results)) for s in schedules], np.int64)
        copies = np.array([[c is not None for c in s.local_copies] for s in schedules], bool)
        num_wg, num_wi, local, private = np.moveaxis(sizes, 1, 0)
        vector, width, results = others.T
        return cls(num_wg, num_wi, local, private, vector, width, copies.reshape(len(schedules), -1), results)

    @classmethod
    def join(cls, batches: Sequence["Batch"]) -> "Batch":
        return cls(*(np.concatenate([getattr(b, f.name) for b in batches]) for f in fields(cls)))


def global_order(access: AccessPattern, packed: Sequence[bool], results: int) -> tuple[int, ...]:
    """Loop order over local tiles: the packed operand's dimensions outside, so that its tile is copied least often."""
    kept = [d for d in access.loop_order if d in access.kept]
    combined = [d for d in access.loop_order if d in access.combined]
    copied = [n for n, p in enumerate(packed) if p]
    first = [d for d in kept if copied and d in access.depends[copied[-1]]]
    rest = [d for d in kept if d not in first]
    return (*first, *combined, *rest) if results == GLOBAL else (*first, *rest, *combined)


def fallback(h: MdHom) -> Schedule:
    """Return the schedule of one work-item, one result after the other, which is legal on every device."""
    tile = [1] * h.rank
    for d in h.dims("pw")[-1:]:
        tile[d] = min(h.extents[d], longest_chain(h))
    for d in h.dims("ps"):
        tile[d] = h.extents[d]
    order = (*h.dims("cc"), *h.combined)
    return replace(
        Schedule.plain(h.extents, len(h.inputs)), local_tile=tuple(tile), results="private",
        combine_on="local" if h.dims("pw") else "global", global_order=order, local_order=order, private_order=order,
    )  # fmt: skip


class Tiling:
    """Tiles and work-groups of a batch as floats, one line a schedule, one column a dimension."""

    def __init__(self, access: AccessPattern, batch: Batch, caps: DeviceCaps) -> None:
        self.access, self.caps, self.core = access, caps, caps.machine.core
        self.batch, self.packed, self.results = batch, batch.packed, batch.results
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

    @cached_property
    def operations(self) -> Floats:
        """Vector operations of all points of a private tile, where those that several of them need are done once.

        Of CPUs: a GPU hides them behind loads, and is faster by smaller tiles (blur and gradient of 4096 x 4096 pixels
        in 68 µs on an H200, instead of 79).
        """
        points = np.prod(self.pt, axis=1)
        count: Floats = self.access.operations * points
        for value in shared(self.access.h):
            # Along vectors a neighbour is another lane.
            once = [np.where(self.moves[d], np.inf, value.computed(self.pt, d)) for d in self.access.kept]
            count = count - value.weight * (len(value.places) * points - np.min(once, axis=0, initial=np.inf))
        return count

    @cached_property
    def order(self) -> Ints:
        """Dimensions of the loops over local tiles, outermost first."""
        kind = self.batch.results
        for copied in self.packed.T[self.packed.any(axis=0)]:  # one after the other: there may be more than bits
            kind = np.unique(2 * kind + copied, return_inverse=True)[1]
        _, rows, kind = np.unique(kind, return_index=True, return_inverse=True)
        listed = [global_order(self.access, self.packed[r].tolist(), int(self.batch.results[r])) for r in rows]
        return np.array(listed, np.int64).reshape(len(rows), self.access.h.rank)[kind]

    def vectors_along(self, dims: Iterable[int]) -> npt.NDArray[np.bool_]:
        """Whether vectors lie along one of the dimensions."""
        along = np.zeros(len(self.pt), bool)
        for d in dims:
            along |= self.moves[d]
        return along

    def of_vectors(self, values: Mapping[int, float | Floats], otherwise: float) -> Floats:
        """The value of the dimension along which vectors lie."""
        found = np.full(len(self.pt), otherwise)
        for d, value in values.items():
            found = np.where(self.moves[d], value, found)
        return found

    def in_order(self, columns: Floats) -> Floats:
        """Each schedule's columns as its loops over local tiles stand, outermost first; one line a loop."""
        return np.asarray(np.take_along_axis(columns, self.order, axis=1).T)

    def moved(self, n: int) -> npt.NDArray[np.bool_]:
        """Whether the loops over local tiles move an input; one line a loop."""
        moved = np.array([d in self.access.depends[n] for d in range(self.access.h.rank)], bool)
        return np.asarray(moved[self.order].T)

    def clashing(self, way: int, itemsize: int) -> npt.NDArray[np.bool_]:
        """Whether a vector's lanes are stored at distances whose cache lines fall into few of a cache's sets."""
        clashing = np.zeros(len(self.pt), bool)
        for d in self.access.kept:
            apart = abs(self.access.output_strides[d]) * itemsize
            clashing |= self.moves[d] & (apart > self.core.line and gcd(apart, way) * self.core.few_sets > way)
        return clashing


def longest(power: int, *seconds: Any) -> Any:
    """What takes as long as the longest of several things at a time, and a little more where they take alike.

    For the third power by `cbrt`: the last bit decides between schedules that tie.
    """
    total = sum([each**power for each in seconds])
    return np.cbrt(total) if power == 3 else total ** (1 / power)


def product(columns: Floats, dims: Iterable[int]) -> Floats:
    """Product along the given columns, one number a row."""
    return np.asarray(np.prod(columns[:, [*dims]], axis=1))
