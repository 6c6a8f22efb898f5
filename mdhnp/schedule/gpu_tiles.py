"""Tiles of maps and reductions on a GPU: changed step by step, as long as the cost model says that they get faster.

A row of whole numbers stands for a schedule: work-items and points of each in every dimension, which inputs' tiles are
copied, along which dimension vectors lie, and how many work-groups a compute unit share its reductions. The rest
follows. Rows begin with neighbouring work-items on neighbouring elements of one array or another.
"""

from itertools import product

import numpy as np
import numpy.typing as npt

from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.accuracy import float_sums, longest_chain
from mdhnp.schedule.batch import PRIVATE, Batch
from mdhnp.schedule.layout import WIDEST, tile_itemsize
from mdhnp.schedule.model import seconds
from mdhnp.schedule.model_gpu import FEWEST_ITEMS
from mdhnp.schedule.schedule import DeviceCaps

Ints = npt.NDArray[np.int64]

#: Rows that are kept each time, and how often they are changed, at most.
_KEPT, _CHANGES = 16, 12
#: Work-items of a work-group to begin with, all in one dimension or so many, and at most.
_BEGUN, _BESIDE, _MOST = 256, 32, 1024
#: Points of a work-item, at most, in all and along a dimension; extents, at most, that have a work-item a point.
_POINTS, _ALONG, _WHOLE = 16, 16, 32
#: Rows of a sum's largest input that a work-item reads at the same time, at most: they are far from each other.
_ROWS = 4
#: Elements of an array that a work-item holds in registers while it reduces others, at most.
_HELD = 128
#: Work-groups a compute unit over which a reduction is split.
_SPLITS = (0, 1, 2, 4, 8, 16)


def tiles(access: AccessPattern, caps: DeviceCaps) -> Batch:
    """Return schedules of a map or a reduction, the fastest by the cost model first."""
    search = _Tiles(access, caps)
    rows = new = search.begun()
    for _ in range(_CHANGES):
        before = rows
        rows, batch = search.possible(np.unique(np.concatenate([rows, *search.changed(new)]), axis=0))
        best = np.argsort(seconds(access, batch, caps), kind="stable")[:_KEPT]
        rows, batch = rows[best], batch.take(best)
        new = rows[~(rows[:, None] == before).all(axis=2).any(axis=1)]
        if not len(new):
            break
    return batch


class _Tiles:
    """Rows for one MDH and device: which there are to begin with, what changes of them, and what they mean."""

    def __init__(self, access: AccessPattern, caps: DeviceCaps) -> None:
        self.access, self.caps, h = access, caps, access.h
        self.extents = np.array(h.extents, np.int64)
        self.kept = np.isin(np.arange(h.rank), access.kept)
        self.copied = [n for n in range(len(h.inputs)) if access.copies_pay(n)]
        self.shares = h.operator is None or h.operator.commutative
        self.splits = h.operator is not None  # whose parts, of neighbouring points each, are combined in order
        self.vectors = [(-1, 1), *self._vectors()]
        #: Of inputs that a whole reduction reads again and again: how many elements at a point, and their dimensions.
        self.held = [
            (len(v.accesses), [d for d in access.kept if v.depends_on(d)])
            for v in h.inputs if access.combined and not any(map(v.depends_on, access.combined))
        ]  # fmt: skip
        # Columns of a row.
        self.items, self.points = slice(h.rank), slice(h.rank, 2 * h.rank)
        self.copies = slice(2 * h.rank, 2 * h.rank + len(self.copied))
        self.vector, self.split = self.copies.stop, self.copies.stop + 1

    def _vectors(self) -> list[tuple[int, int]]:
        """Dimensions along which the largest input or the map's results are contiguous, with a load's most elements.

        None of reductions in order: vectors of what they choose by comparing took twice as long (linked records on an
        H200, 18.8 ms instead of 9).
        """
        h = self.access.h
        size = max(v.dtype.itemsize for v in (*h.inputs, *h.outputs))
        lanes = WIDEST // size
        results = () if self.access.combined else self.access.contiguous_output
        near = sorted({*self.access.walked, *results})
        anyhow = h.operator is None or (h.operator.commutative and h.operator.identity is not None)
        return [(d, lanes) for d in near if h.extents[d] >= lanes > 1 and anyhow and not h.calls_text]

    def begun(self) -> Ints:
        """Rows in which neighbours are neighbours in one array, or each half of them in one of two."""
        h, usual = self.access.h, self.access.loop_order[::-1]
        orders = [usual]
        for strides in (*self.access.strides, self.access.output_strides):
            apart = {d: abs(n) for d, n in enumerate(strides) if n}
            orders.append((*sorted(apart, key=apart.__getitem__), *(d for d in usual if d not in apart)))
        orders += [(*one[:1], *(d for d in other if d not in one[:1])) for one in orders for other in orders]
        rows = []
        for order, most, split in product(dict.fromkeys(orders), (_BEGUN, _BESIDE), (0, 4) if self.splits else (0,)):
            row, left = np.ones(self.split + 1, np.int64), _BEGUN
            row[self.copies], row[self.vector], row[self.split] = 0, 0, split
            for d in order:
                if self.kept[d] or self.shares:
                    row[d] = min(left, most, 1 << (h.extents[d] - 1).bit_length())
                    left //= row[d]
            rows.append(row)
        return np.array(rows)

    def changed(self, rows: Ints) -> list[Ints]:
        """Rows that differ from the given ones in one decision, or in two that belong together."""
        found, rank = list[Ints](), self.access.h.rank

        def scaled(*factors: tuple[int, float]) -> None:
            new = rows.copy()
            for column, factor in factors:
                new[:, column] = new[:, column] * 2 if factor > 1 else -(-new[:, column] // 2)
            found.append(new)

        def put(column: int, value: int) -> None:
            new = rows.copy()
            new[:, column] = value
            found.append(new)

        for column in range(2 * rank):
            scaled((column, 2))
            scaled((column, 0.5))
            for other in range(2 * rank):
                if other != column and (other // rank == column // rank or other % rank == column % rank):
                    scaled((column, 2), (other, 0.5))
            if self.extents[column % rank] <= (_WHOLE if column < rank else _ALONG):
                put(column, self.extents[column % rank])
        for column in range(self.copies.start, self.copies.stop):
            found.append(rows.copy())
            found[-1][:, column] ^= 1
        for n in range(len(self.vectors)):
            put(self.vector, n)
        if self.splits:
            for n in _SPLITS:
                put(self.split, n)
        return found

    def possible(self, rows: Ints) -> tuple[Ints, Batch]:
        """The rows that stand for legal schedules, and these."""
        access, extents = self.access, self.extents
        dims, lanes = (np.array(each, np.int64)[rows[:, self.vector]] for each in zip(*self.vectors, strict=True))
        items, points = rows[:, self.items], rows[:, self.points]
        along = np.where(dims[:, None] == np.arange(len(extents)), lanes[:, None], 1)
        step = items * points
        able = (np.prod(items, axis=1) <= min(_MOST, self.caps.max_work_group)) & (np.prod(points, axis=1) <= _POINTS)
        able &= (points <= _ALONG).all(axis=1) & (points % along == 0).all(axis=1)
        able &= ((step < 2 * extents) | (step == 1)).all(axis=1) & (points <= np.maximum(extents, along)).all(axis=1)
        for count, held in self.held:
            each = np.prod(points[:, held], axis=1)
            able &= (each == 1) | (count * each <= _HELD)
        if self.access.combined:
            if not any(self.kept[d] for d in self.access.walked):
                able &= np.prod(points[:, self.kept], axis=1) <= _ROWS
        else:
            able &= np.prod(items, axis=1) >= min(FEWEST_ITEMS, self.access.h.points)
        if not self.shares:
            able &= (items[:, ~self.kept] == 1).all(axis=1)
        rows, items, points, step, dims, lanes, along = (
            each[able] for each in (rows, items, points, step, dims, lanes, along)
        )
        packed = np.zeros((len(rows), len(access.h.inputs)), bool)
        packed[:, self.copied] = rows[:, self.copies] > 0
        local = np.where(self.kept, np.minimum(step, extents), 1)
        groups = np.where(self.kept, -(-extents // local), 1)
        self._reduce(rows, items, step, along, packed, local, groups)
        batch = Batch(groups, items, local, points, dims, lanes, packed, np.full(len(rows), PRIVATE))
        fits = self._memory(batch) <= self.caps.local_memory
        return rows[fits], batch.take(fits)

    def _reduce(
        self, rows: Ints, items: Ints, step: Ints, along: Ints, packed: npt.NDArray[np.bool_], local: Ints, groups: Ints
    ) -> None:
        """Set tiles and work-groups of reduced dimensions: whole, but for chains, copies and parts."""
        access, h = self.access, self.access.h
        chain = np.full(len(rows), longest_chain(h) if float_sums(h) else 1 << 40)
        for d in reversed(access.loop_order[len(access.kept) :]):
            inside = items[:, d] * along[:, d]
            few = np.maximum(chain, 1) * inside
            few = np.where(few >= self.extents[d], self.extents[d], np.maximum(few // step[:, d], 1) * step[:, d])
            read = packed[:, [d in moved for moved in access.depends]].any(axis=1)
            few = np.where(read, step[:, d], few)
            local[:, d] = np.minimum(few, self.extents[d])
            chain = chain // -(-local[:, d] // inside)
        wanted = rows[:, self.split] * self.caps.compute_units
        left = -(-wanted // np.prod(groups, axis=1))
        for d in access.loop_order[len(access.kept) :]:
            # A part is a whole number of steps.
            tile = np.maximum(-(-self.extents[d] // np.maximum(left, 1)), 1)
            tile = np.minimum(-(-tile // step[:, d]) * step[:, d], self.extents[d])
            local[:, d] = np.where(left > 1, np.minimum(local[:, d], tile), local[:, d])
            count = -(-self.extents[d] // local[:, d])
            each = -(-count // np.clip(left, 1, count))
            groups[:, d] = -(-count // each)
            left = -(-left // groups[:, d])

    def _memory(self, batch: Batch) -> Ints:
        """Bytes of local memory of copied tiles, with a pad a row, and of what work-items share."""
        h, total = self.access.h, np.zeros(len(batch), np.int64)
        step = batch.private_tile * batch.num_wi
        footprint = -(-batch.local_tile // step) * step
        for n, view in enumerate(h.inputs):
            size = self.access.tile_elements(n, footprint) * tile_itemsize(view) * 9 // 8
            total += np.where(batch.packed[:, n], size, 0)
        return total
