"""Batches of schedules as columns of numbers, so that thousands are judged in milliseconds.

A :class:`Batch` holds tile sizes, work-groups, work-items, vectors, copies and where results wait as NumPy arrays, one
row a schedule. `cpu_schedule` turns a row into a :class:`Schedule`: loop orders and the layout of packed tiles are
derived, not searched.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from mdhnp.mdh import MdHom
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.accuracy import longest_chain
from mdhnp.schedule.schedule import LocalCopy, Schedule

__all__ = ["GLOBAL", "PRIVATE", "RESULTS", "Batch", "cpu_schedule", "fallback", "global_order", "packed_layout"]

Ints = npt.NDArray[np.int64]

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


def packed_layout(access: AccessPattern, n: int, private_tile: Sequence[int], vector_dim: int) -> LocalCopy | None:
    """How to pack an input: axes of register tiles blocked and innermost, the reduction just outside, others around.

    Where the axis of vectors cannot be blocked, because neighbours along it are read as well, it is innermost. None for
    inputs that cannot be copied as one box.
    """
    view = access.h.inputs[n]
    if not view.one_box:
        return None
    blocked = []
    for x, index in enumerate(view.accesses[0]):
        dims = index.dims()
        plain = len(dims) == 1 and len({a[x] for a in view.accesses}) == 1 and index.coefficients[dims[0]] == 1
        if plain and dims[0] in access.kept and private_tile[dims[0]] > 1:
            blocked.append(x)
    blocked.sort(key=lambda x: view.accesses[0][x].dims()[0] == vector_dim)

    def outermost(x: int) -> tuple[bool, bool, int]:
        dims = view.accesses[0][x].dims()
        inner = x not in blocked and vector_dim in dims
        return (inner, any(d in access.combined for d in dims), -abs(view.strides[x]))

    return LocalCopy(tuple(sorted(range(len(view.shape)), key=outermost)), tuple(blocked))


def fallback(h: MdHom) -> Schedule:
    """One work-item that computes one result after the other: legal for every stage on every device."""
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


def cpu_schedule(access: AccessPattern, batch: Batch, row: int) -> Schedule:
    """The schedule of one row of a batch, for one work-item a work-group."""
    private = tuple(int(n) for n in batch.private_tile[row])
    vector = int(batch.vector_dim[row])
    packed = [bool(p) for p in batch.packed[row]]
    results = int(batch.results[row])
    order = global_order(access, packed, results)
    return Schedule(
        num_wg=tuple(int(n) for n in batch.num_wg[row]),
        num_wi=tuple(int(n) for n in batch.num_wi[row]),
        local_tile=tuple(int(n) for n in batch.local_tile[row]),
        private_tile=private,
        vector_dim=vector,
        vector_width=int(batch.vector_width[row]),
        local_copies=tuple(packed_layout(access, n, private, vector) if p else None for n, p in enumerate(packed)),
        private_copies=(True,) * len(packed),
        results=RESULTS[results],
        global_order=order,
        local_order=access.loop_order,
        private_order=access.loop_order if access.h.dims("ps") else (*access.combined, *access.kept),
        group_order=order[::-1],
        item_order=access.loop_order[::-1],
        combine_on="local" if results == PRIVATE and access.h.dims("pw") else "global",
    )
