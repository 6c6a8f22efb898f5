"""An analytical cost model: how long schedules should take on a CPU, before anything is compiled.

Counts what a schedule makes the machine do, per private tile (vector operations, loads, dependent chains, registers),
per local tile (copies, stores) and in all (memory traffic, uneven work-groups), and turns the counts into seconds with
a handful of machine constants. It ranks candidates, thousands in milliseconds; it does not predict seconds to better
than a small factor.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import gcd

import numpy as np
import numpy.typing as npt

from mdhnp.mdh import View
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.choices import GLOBAL, PRIVATE, Choices, Facts, global_order

__all__ = ["cpu_seconds"]

Floats = npt.NDArray[np.float64]

_CLOCK = 2.6e9
_FMA_LATENCY = 4
#: Bytes a second that one core draws from main memory and from the shared cache.
_MEMORY, _CACHE = 18e9, 28e9
#: Bytes a cycle from the second-level cache.
_L2_BYTES = 40
#: Cycles an element to copy a tile as it lies; turned in registers, or rows with neighbours; and one by one.
_COPY = (0.2, 1.0, 1.5)
#: Cycles to read a vector of neighbours that may lie outside of the array.
_BORDER = 12.0
#: Cycles to begin in another row of an array of which a stencil reads neighbours.
_ROW = 2.0
#: Bytes in a row that an array's next axis lengthens a run to, at most: beyond, prefetchers gain nothing.
_ROW_END = 1024
#: Bytes of a cache line, and how many of an input are lost between two runs: prefetchers begin late and go too far.
_LINE, _GAP = 64, 512
#: Ways of the second-level cache, one of which holds `l2 / _WAYS` bytes in a row; as few sets as thrash.
_WAYS, _FEW_SETS = 16, 8
#: How much longer a line takes that is stored to for one element and none of its neighbours in a row.
_CLASH = 2
#: Part of the shorter of computing and moving data that the longer one does not hide.
_EXPOSED = 0.4
_GROUP_OVERHEAD = 1.5e-6
#: Cycles to load or store an element that the first-level cache does not keep.
_SCATTERED = 6.0
#: Bytes of a memory page, and how many the first level of address translation remembers.
_PAGE, _PAGES = 4096, 64
#: How much longer one work-group a core takes than many, for want of balance.
_STRAGGLE = 0.15
#: Waking the other cores' threads.
_WAKE = 5e-6
#: Launch of the kernel that combines a split reduction's parts.
_SECOND_KERNEL = 8e-6


def cpu_seconds(facts: Facts, choices: Choices, caps: DeviceCaps) -> Floats:
    """Estimate the time of one launch of each schedule, in seconds; one work-item a work-group."""
    return _Model(facts, choices, caps).seconds()


class _Model:
    """The terms of the estimate, one number a schedule each."""

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
        self.vector, self.width = choices.vector_dim, choices.vector_width.astype(float)
        self.registers = np.maximum(self.width * facts.itemsize / caps.vector_bytes, 1)
        self.moves = {d: (self.vector == d) & (self.width > 1) for d in range(facts.h.rank)}

    def seconds(self) -> Floats:
        """Compute or memory, whichever is slower, some of the other, and what work-groups cost."""
        facts, units = self.facts, self.caps.compute_units
        groups = _product(self.wg, range(facts.h.rank))
        bodies = np.ones(len(groups))
        for d in range(facts.h.rank):
            inside = np.maximum(self.extents[:, d] / self.pt[:, d], 1)
            bodies = bodies * (inside if d in facts.combined else np.ceil(inside))
        visits = _product(np.ceil(self.extents / self.pt), facts.kept) * _product(self.tiles, facts.combined)
        cycles = bodies * self._body() + visits * self._visit() + self._copies() * groups + self._border()
        busy = np.minimum(groups, units)
        rounds = np.where(groups >= units, np.ceil(groups / units) * units / groups, 1.0)
        # The slowest unit: whole rounds of work-groups, each with the most tiles any group has.
        ragged = _product(self.per_group * self.wg / self.tiles, range(facts.h.rank))
        compute = cycles / _CLOCK / busy * rounds * ragged
        memory = self._memory() / busy
        slower, faster = np.maximum(compute, memory), np.minimum(compute, memory)
        # Few work-groups a core wait for the slowest core; more of them level out.
        slower = slower * np.where(groups > 1, 1 + _STRAGGLE * np.minimum(units / groups, 1) ** 2, 1.0)
        second = np.where(_product(self.wg, facts.combined) > 1, _SECOND_KERNEL, 0.0)
        woken = np.where(groups > 1, _WAKE, 0.0)
        seconds: Floats = slower + _EXPOSED * faster + _GROUP_OVERHEAD * (groups / units + 1) + second + woken
        return seconds

    def _body(self) -> Floats:
        """Cycles of one private tile of one step: the busiest of arithmetic, loads, dependent chain; spills on top."""
        facts = self.facts
        everything = range(facts.h.rank)
        arithmetic = _product(self.pt, everything) / self.width * facts.operations / 2 * self.registers
        loads, live, far, paged = (np.zeros(len(self.pt)) for _ in range(4))
        for n, view in enumerate(facts.h.inputs):
            lanes = np.zeros(len(self.pt), bool)
            stride = np.zeros(len(self.pt))
            for d in facts.depends[n]:
                lanes |= self.moves[d]
                stride = np.where(self.moves[d], abs(facts.strides[n][d]), stride)
            stride = np.where(lanes & self.packed[:, n], self._packed_stride(n), stride)
            points = _product(self.pt, facts.depends[n]) / np.where(lanes, self.width, 1)
            vectors, waiting, lines = self._neighbours(view, points)
            paged += _ROW * lines * bool(facts.depends[n])
            loads += vectors * np.where(lanes, self._vector_load(stride, view.dtype.itemsize), 1.0)
            live += np.where(lanes, np.maximum(np.minimum(vectors, 4), waiting) * self.registers, 1.0)
            count = vectors * np.where(lanes, self.registers, 1.0)
            far += self._far(n, count, np.where(lanes, self.caps.vector_bytes, facts.h.inputs[n].dtype.itemsize))
            paged += self._paged(n, count)
        reduced = np.zeros(len(self.pt), bool)
        for d in facts.combined:
            reduced |= self.moves[d]
        results = len(facts.h.scalar.dtypes)
        accumulators = results * _product(self.pt, facts.kept) / np.where(reduced, 1.0, self.width) * self.registers
        chain = np.zeros(len(self.pt))
        if facts.combined:
            chain = _product(self.pt, facts.combined) / np.where(reduced, self.width, 1.0) * _FMA_LATENCY
        spilled = np.maximum(0.0, accumulators + live - self.caps.registers)
        busiest = np.maximum(np.maximum(arithmetic, loads / 2), np.maximum(chain, far))
        cycles: Floats = busiest + paged + 2 * spilled + 1.0
        return cycles

    def _vector_load(self, stride: Floats, itemsize: int) -> Floats:
        """Loads that one vector takes: itself, two that are shuffled, or its lanes one by one, each from its page."""
        lane = np.where(stride * itemsize < _PAGE, 1.5, _SCATTERED)
        apart = np.where(stride == 2, 3 * self.registers, lane * self.width)
        cycles: Floats = np.where(stride <= 1, self.registers, apart)
        return cycles

    def _packed_stride(self, n: int) -> Floats:
        """Distance of lanes in a packed tile: 1 where the vector's axis is blocked, which register tiles are."""
        stride = np.ones(len(self.pt))
        for d in self.facts.combined:
            stride = np.where(
                self.moves[d] & (d in self.facts.depends[n]) & (d != self.facts.loop_order[-1]), 2.0, stride
            )
        return stride

    def _neighbours(self, view: View, points: Floats) -> tuple[Floats, Floats, Floats]:
        """Loads of a private tile, how many of them wait in registers for the tile's other rows, and the array's rows.

        A stencil that fills its box loads each of the tile's neighbours once, at every distance along the vectors.
        """
        spans = []
        for axis in range(len(view.shape)):
            constants = [a[axis].constant for a in view.accesses]
            spans.append(max(constants) - min(constants))
        if len(view.accesses) == 1:
            return points, np.zeros(len(points)), np.zeros(len(points))
        loads, waiting, lines = (np.ones(len(points)) for _ in range(3))
        again = np.zeros(len(points), bool)
        for index, span in zip(view.accesses[0], spans, strict=True):
            rows, moves = np.ones(len(points)), np.zeros(len(points), bool)
            for d in index.dims():
                rows = rows * self.pt[:, d]
                moves |= self.moves[d]
            # Of neighbouring vectors one is aligned; the others lie across two cache lines and count twice.
            here = np.where(moves, rows / self.width * (2 * span + 1), rows + span)
            again |= ~moves & (rows > 1) & (span > 0)
            loads = loads * here
            waiting = waiting * np.where(moves, rows / self.width * (span + 1), rows)
            lines = lines * np.where(moves, 1.0, rows + span)
        if np.prod([span + 1 for span in spans]) != len(view.accesses):
            # A cross, say: few neighbours are shared.
            return points * len(view.accesses), points * (len(view.accesses) - 1), lines
        return loads, np.where(again, waiting, 0.0), lines

    def _trips(self, n: int) -> Floats:
        """Private tiles that the innermost loops of a reduction walk through in an input."""
        dims = [d for d in self.facts.combined if d in self.facts.depends[n]]
        return _product(self.lt / self.pt, dims)

    def _far(self, n: int, count: Floats, width: Floats) -> Floats:
        """Cycles to bring loads from the second-level cache while the innermost reduction runs."""
        facts = self.facts
        if not facts.combined or facts.loop_order[-1] not in facts.depends[n]:
            return np.zeros(len(count))
        swept = _product(self.pt, facts.depends[n]) * self._trips(n) * facts.h.inputs[n].dtype.itemsize
        return np.where(swept > 0.75 * self.caps.l1, count * width / _L2_BYTES, 0.0)

    def _paged(self, n: int, count: Floats) -> Floats:
        """Cycles lost on loads from more pages than the first level of address translation remembers."""
        facts = self.facts
        inner = facts.loop_order[-1] if facts.combined else -1
        if inner not in facts.depends[n]:
            return np.zeros(len(count))
        stride = abs(facts.strides[n][inner]) * facts.h.inputs[n].dtype.itemsize
        if stride < 512:
            return np.zeros(len(count))
        pages = np.where(self.packed[:, n], 0.0, self._trips(n) * min(stride, _PAGE) / _PAGE)
        return np.where(pages > _PAGES, 1.5 * count + 4.0 * min(stride / _PAGE, 1.0), 0.0)

    def _visit(self) -> Floats:
        """Cycles to start and store one private tile."""
        facts = self.facts
        elements = _product(self.pt, facts.kept)
        contiguous = np.zeros(len(elements), bool)
        for d in facts.kept:
            contiguous |= self.moves[d] & (abs(facts.output_strides[d]) == facts.output_step)
        lanes = elements / self.width
        cycles: Floats
        if not facts.combined:
            cycles = lanes * np.where(contiguous | (self.width == 1), 1.0, 2.0 * self.width) + 6
            return cycles
        kept = np.zeros(len(elements), bool)
        for d in facts.kept:
            kept |= self.moves[d]
        scattered = np.where(self._clashing(_PAGE, facts.h.outputs[0].dtype.itemsize), _SCATTERED, 0.8) * self.width
        vector_stores = lanes * np.where(contiguous, 1.0, scattered)
        scalar_stores = elements * (2 + np.where(self.width > 1, 3 * (1 + np.log2(self.width)), 0.0))
        stores = np.where(kept, vector_stores, scalar_stores)
        passes = _product(self.tiles, facts.combined)
        cycles = np.where(
            self.results == PRIVATE,
            3 + elements / self.width + (20 + 3 * stores) / np.maximum(passes, 1),
            20 + stores * (2 + np.where((passes > 1) & (self.results == GLOBAL), 2.0, 1.0)),
        )
        return cycles

    def _border(self) -> Floats:
        """Cycles for vectors with neighbours outside of an array, where no copy holds those."""
        facts, total = self.facts, np.zeros(len(self.pt))
        for n, view in enumerate(facts.h.inputs):
            if view.boundary is None:
                continue
            inside = np.ones(len(total))
            for axis, index in enumerate(view.accesses[0]):
                spans = [a[axis].span(facts.h.extents) for a in view.accesses]
                beyond = (-min(low for low, _ in spans), max(high for _, high in spans) - view.shape[axis] + 1)
                for d in (d for d in index.dims() if d in facts.kept):
                    width = np.where(self.moves[d], self.width, 1.0) * abs(index.coefficients[d])
                    lost = sum((np.ceil(max(reach, 0) / width) * width for reach in beyond), np.zeros(len(total)))
                    inside *= np.maximum(1 - lost / abs(index.coefficients[d]) / self.extents[:, d], 0.0)
            vectors = facts.h.points * (1 - inside) / self.width * len(view.accesses)
            total += np.where(self.packed[:, n], 0.0, _BORDER * vectors)
        return total

    def _copies(self) -> Floats:
        """Cycles one work-group spends copying tiles to local memory."""
        facts, total = self.facts, np.zeros(len(self.pt))
        trips = self._in_order(self.per_group)
        for n in np.flatnonzero(self.packed.any(axis=0)).tolist():
            times = np.ones(len(total))
            pending = np.ones(len(total))
            for count, moved in zip(trips, self._moved(n), strict=True):
                pending = pending * count
                # A loop that moves the tile copies it anew, with all loops around it.
                times = np.where(moved & (count > 1), pending, times)
            size = facts.tile_elements(n, self.lt)
            unit = [d for d in facts.depends[n] if facts.near(n, d)]
            straight = np.zeros(len(total), bool)
            for d in unit:
                straight |= (self.vector == d) if d in facts.kept else False
            # Neighbours make rows longer than whole vectors, and their ends may lie outside of the array.
            straight &= len(facts.h.inputs[n].accesses) == 1
            cycles = np.where(straight, _COPY[0], _COPY[1 if unit else 2])
            total += np.where(self.packed[:, n], times * (size * cycles + 30), 0.0)
        return total

    def _memory(self) -> Floats:
        """Time to move what the caches cannot keep, by one core."""
        facts, caps = self.facts, self.caps
        total = np.zeros(len(self.pt))
        for n, view in enumerate(facts.h.inputs):
            size = view.elements() * view.dtype.itemsize
            again, pending = np.ones(len(total)), np.ones(len(total))
            if size > caps.l2 // 2:
                # Loops around an inner loop that moves the input bring it in again, as do work-groups.
                for count, moved in zip(self._in_order(self.per_group), self._moved(n), strict=True):
                    again = np.where(moved & (count > 1), pending, again)
                    pending = np.where(moved, pending, pending * count)
                again = again * _product(self.wg, set(range(facts.h.rank)) - facts.depends[n])
            waste = self._waste(facts.strides[n], facts.depends[n], size, view.dtype.itemsize, _GAP)
            total += size * again * waste / (_MEMORY if size > 8 * caps.l2 else _CACHE)
            total += size * again * (self._walks(n) - 1) / _CACHE
        passes = np.where(self.results == GLOBAL, _product(self.tiles, facts.combined), 1.0)
        for view in facts.h.outputs:
            size = view.elements() * view.dtype.itemsize
            waste = self._waste(facts.output_strides, facts.kept, size, view.dtype.itemsize, _LINE)
            clashing = self._clashing(caps.l2 // _WAYS, view.dtype.itemsize)
            waste = np.where(clashing, _CLASH * _LINE / view.dtype.itemsize, waste)
            total += size * waste * (2 * passes - 0.5) / (_MEMORY if size > 8 * caps.l2 else _CACHE)
        return total

    def _clashing(self, way: int, itemsize: int) -> npt.NDArray[np.bool_]:
        """Whether a vector's lanes are stored so far apart that few of a cache's sets have to hold them all."""
        clashing = np.zeros(len(self.pt), bool)
        for d in self.facts.kept:
            apart = abs(self.facts.output_strides[d]) * itemsize
            clashing |= self.moves[d] & (apart > _LINE and gcd(apart, way) * _FEW_SETS > way)
        return clashing

    def _walks(self, n: int) -> Floats:
        """How often a local tile that lies in the input, and the second-level cache cannot keep, is walked through.

        Loops over private tiles that do not move the input walk again through what the loops inside of them move.
        """
        facts, times = self.facts, np.ones(len(self.pt))
        walked = facts.tile_elements(n, self.lt) * facts.h.inputs[n].dtype.itemsize
        for d in (d for d in facts.loop_order if d in facts.kept):
            steps = np.ceil(self.lt[:, d] / self.pt[:, d])
            if d in facts.depends[n]:
                walked = walked / steps
            else:
                times = times * np.where(walked > 0.75 * self.caps.l2, steps, 1.0)
        return np.where(self.packed[:, n], 1.0, times)

    def _waste(self, strides: Sequence[int], dims: Iterable[int], size: int, itemsize: int, gap: int) -> Floats:
        """How many times as much is moved because a local tile's elements lie in short runs.

        Beyond the caches, as much as `gap` bytes is lost between two runs.
        """
        run = self._run(strides, dims, _ROW_END / itemsize) * itemsize
        waste: Floats = 1 + gap / run if size > self.caps.l2 else np.maximum(1.0, _LINE / run)
        return waste

    def _run(self, strides: Sequence[int], dims: Iterable[int], most: float) -> Floats:
        """Elements of a local tile in a row: of more than one axis where it takes whole ones, up to `most`."""
        order = sorted(dims, key=lambda d: abs(strides[d]))
        run = np.ones(len(self.lt))
        for d in order:
            run = np.maximum(run, self.lt[:, d] if abs(strides[d]) in (1, 2) else 1.0)
        whole = np.full(len(run), bool(order) and abs(strides[order[0]]) in (1, 2))
        for inner, d in pairwise(order):
            extent, step = self.facts.h.extents[inner], abs(strides[inner])
            whole &= (self.lt[:, inner] >= extent) & (abs(strides[d]) == extent * step)
            run = np.where(whole, np.maximum(run, np.minimum(run * self.lt[:, d], most)), run)
        return run

    def _in_order(self, columns: Floats) -> Floats:
        """Each schedule's columns as its loops over local tiles stand, outermost first; one line a loop."""
        found: Floats = np.take_along_axis(columns, self.order, axis=1).T
        return found

    def _moved(self, n: int) -> npt.NDArray[np.bool_]:
        """Whether those loops move an input."""
        moved = np.array([d in self.facts.depends[n] for d in range(self.facts.h.rank)], bool)
        return np.asarray(moved[self.order].T)


def _orders(facts: Facts, choices: Choices) -> npt.NDArray[np.int64]:
    """Loop order over local tiles of each schedule: one for every choice of copies and place of results."""
    bits = 1 << np.arange(choices.packed.shape[1])
    kinds, kind = np.unique(choices.results * (1 << len(bits)) + choices.packed @ bits, return_inverse=True)
    listed = [global_order(facts, ((k & bits) > 0).tolist(), int(k >> len(bits))) for k in kinds]
    return np.array(listed, np.int64).reshape(len(kinds), facts.h.rank)[kind]


def _product(columns: Floats, dims: Iterable[int]) -> Floats:
    """Product along the given columns, one number a row."""
    result: Floats = np.ones(len(columns))
    for d in dims:
        result = result * columns[:, d]
    return result
