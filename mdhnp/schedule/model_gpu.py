"""How long schedules without matrix instructions take on a GPU, roughly.

What a kernel does is counted: instructions, lines of a unit's first cache that the loads of a warp touch together,
sectors that work-groups' tiles move from the shared cache and stores move to it. That takes longer the fewer work-items
are there to hide how long each of them waits. It sorts out what cannot be fast; which of the rest is fastest, only
measuring tells.
"""

from collections.abc import Sequence
from functools import cached_property
from math import gcd, prod

import numpy as np

from mdhnp.schedule.access import AccessPattern, Side
from mdhnp.schedule.batch import Batch, Floats, Tiling, longest, product
from mdhnp.schedule.matrices import multiplied
from mdhnp.schedule.schedule import DeviceCaps

#: Work-items of a group that keep enough loads in flight, and the most that do not wait for each other too often; the
#: most points of a work-item, so that their sums fit in registers: by times on an NVIDIA H200.
FEWEST_ITEMS, MOST_ITEMS, MOST_POINTS = 128, 256, 64
#: Work-items of NVIDIA's GPUs that issue one instruction together.
_WARP = 32
#: Bytes of a line of the first cache.
_LINE = 128


def gpu_seconds(access: AccessPattern, batch: Batch, caps: DeviceCaps) -> Floats:
    """Return the time of one launch of each schedule, in seconds; of products with copied tiles by a finer model."""
    model = _Gpu(access, batch, caps)
    found = model.seconds()
    if access.sides is None:
        return found
    products, copied = model.product_seconds(access.sides), batch.packed[:, access.summed].all(axis=1)
    usual = (np.prod(batch.num_wi, axis=1) <= MOST_ITEMS) & (np.prod(batch.private_tile, axis=1) <= MOST_POINTS)
    return np.where(copied & usual, products, np.maximum(found, products))


def _pieces(strides: Sequence[int | Floats], sizes: Sequence[Floats], element: float | Floats, piece: int) -> Floats:
    """Pieces of memory, so many bytes each, that a box of elements touches; its axes from the nearest neighbours on.

    Strides are in bytes.
    """
    run, count, whole = np.array(element, float), np.array(1.0), np.array(True)
    for stride, size in zip(strides, sizes, strict=True):
        near = stride <= np.maximum(run, piece)
        whole = whole & (near | (stride % piece == 0))
        run = run + np.where(near, stride * (size - 1), 0.0)
        count = count * np.where(near, 1.0, size)
    # Runs that begin anywhere lie in one more piece, in part.
    return np.asarray(count * np.where(whole & (run % piece == 0), run / piece, (run - element) / piece + 1))


class _Gpu(Tiling):
    """The terms of both estimates, one number a schedule each."""

    def __init__(self, access: AccessPattern, batch: Batch, caps: DeviceCaps) -> None:
        super().__init__(access, batch, caps)
        self.unit, self.items = caps.machine.unit, batch.num_wi.astype(float)
        self.step = self.pt * self.items
        full = np.floor(self.lt / self.step)
        rest = self.lt - full * self.step
        # As far as tiles reach: a partial one costs as much as a full one.
        self.local = np.ceil(self.lt / self.step) * self.step
        self.groups = np.prod(self.wg, axis=1)
        self.warps = np.ceil(np.prod(self.items, axis=1) / _WARP) * _WARP
        # What is left of a reduction's steps takes as long as it is long, one point after the other.
        summed = np.isin(np.arange(access.h.rank), access.combined)
        self.steps = np.prod(self.per_group * np.where(summed, full + rest / self.step, full + (rest > 0)), axis=1)
        self.serial = product(self.per_group * (full + np.ceil(rest / self.items)), access.combined)
        self.points = product(self.pt, access.kept)

    def seconds(self) -> Floats:
        """Seconds of instructions, of the unit's first cache and of the shared one, and of starting and combining.

        Of the first three none hides another. They take longer where few work-items hide how long each one waits.
        """
        unit, units, combined = self.unit, self.caps.compute_units, self.access.combined
        groups = self.groups / units
        at_work = np.minimum(self._resident, np.ceil(groups)) * self.warps / unit.hiding
        # Warps that have nothing to do take no time.
        reach = np.ceil(self.extents / self.step) * self.step
        used = product(np.where(self._across > 1, 1.0, self.extents / reach), self.access.kept)
        cycles = np.ceil(groups) * used * (self._instructions() / unit.lanes + self._lines() / unit.cache_lines)
        moving = self._traffic() / (unit.cache * np.minimum(self.groups, units))
        total = (cycles / unit.clock + moving) / np.sqrt(np.minimum(at_work, 1.0))
        rounds = np.ceil(groups / np.minimum(self._resident, np.ceil(groups)))
        total = np.maximum(total + rounds * self._waits() / unit.clock, self.groups * unit.start)
        tree = np.where(product(self.items, combined) > 1, unit.tree, 0.0)
        parts = product(self.wg, combined)
        second = np.where(parts > 1, unit.launch + unit.part * parts, 0.0)
        return np.asarray(total + tree + second + unit.launch)

    def _waits(self) -> Floats:
        """Cycles of a work-group in which each step waits for the one before: of sums, copies, and at borders."""
        unit, h = self.unit, self.access.h
        copied = [np.where(self.packed[:, n], self._tiles(n), 0.0) for n in range(len(h.inputs))]
        outside = np.where(self._sticking_out > 0, np.prod(self.pt, axis=1) / self.width, 0.0)
        steps = self.serial * product(self.per_group, self.access.kept)
        return np.asarray(
            steps * unit.step + np.sum(copied, axis=0, dtype=float) * unit.copied + self.steps * outside * unit.outside
        )

    @cached_property
    def _sticking_out(self) -> Floats:
        """Part of a map's work-groups whose tiles stick out of the extents, or read outside of arrays."""
        full, h = np.ones(len(self.groups)), self.access.h
        if self.access.combined:
            return np.zeros(len(self.groups))
        alone = (self.width > 1) | any(v.boundary is not None for v in h.inputs)
        for d in self.access.kept:
            tiles = np.ceil(self.extents[:, d] / self.step[:, d])
            whole = np.floor(self.extents[:, d] / self.step[:, d])
            bounded = any(v.boundary is not None and v.depends_on(d) for v in h.inputs)
            full = full * np.maximum(np.where(bounded, np.minimum(whole, tiles - 2), whole), 0) / tiles
        return np.where(alone, 1 - full, 0.0)

    def product_seconds(self, sides: tuple[Side, Side]) -> Floats:
        """Seconds of a product: of multiply-adds, local memory or its cache, whichever takes longest, on busy units."""
        unit, units, h, tiles = self.unit, self.caps.compute_units, self.access.h, self.items * self.pt
        useful = self.extents / (np.ceil(self.extents / tiles) * tiles)
        speed = np.minimum(np.prod(self.items, axis=1) / FEWEST_ITEMS, 1.0)
        each, sizes, reads = [], [], []
        for side in sides:
            each.append(product(self.pt, side.dims))
            sizes.append(product(tiles, side.dims))
            speed = speed * product(useful, side.dims)
            run = np.minimum(tiles, self.extents)[:, [side.written, side.read]].min(axis=1)
            reads.append(sizes[-1] / np.minimum(4 * run / unit.sector, 1.0))
        adds, local = each[0] * each[1] / unit.lanes, (each[0] + each[1]) / unit.load_lanes
        whole, cached = sizes[0] * sizes[1] / unit.lanes, (reads[0] + reads[1]) / unit.cache_words
        busy = self.groups / (np.ceil(self.groups / units) * units)
        speed = speed * busy * np.minimum(adds / np.maximum(adds, local), whole / np.maximum(whole, cached))
        added = h.points * max(multiplied(h), 1)
        near = self.access.contiguous_output[:1]
        stored = self.access.stored(product(self._across, near), unit.sector) * self.access.bytes_written
        best, rounds = added / (units * unit.lanes * unit.clock), h.points / prod(h.extents[d] for d in h.dims("cc"))
        # A second kernel reads what work-groups wrote of split sums.
        parts = product(self.wg, self.access.combined)
        combined = unit.combining + 2 * parts * self.access.bytes_written / (units * unit.cache)
        # Everybody waits for the first tiles.
        computing = best / (unit.plain * speed) * (1 + 0.5 * unit.plain_depth / rounds)
        moving = unit.write_adds / 4 * (self.access.bytes_read + stored) / (units * unit.lanes * unit.clock)
        return np.asarray(longest(3, computing, moving) + np.where(parts > 1, combined, 0.0))

    def _moved(self, sizes: Floats, n: int) -> Floats:
        """Points of a tile that move input `n`."""
        return product(sizes, self.access.depends[n])

    def _copied(self) -> Floats:
        """Bytes of local memory."""
        inputs = enumerate(self.access.h.inputs)
        sizes = [self.packed[:, n] * self._moved(self.local, n) * view.dtype.itemsize for n, view in inputs]
        return np.asarray(np.sum(sizes, axis=0, dtype=float))

    @cached_property
    def _registers(self) -> Floats:
        """Registers of a work-item."""
        loaded = [np.minimum(each, 16) for each in self._loaded]
        return np.asarray(np.sum([self.points, *loaded], axis=0) * max(self.access.itemsize // 4, 1) + 24)

    @cached_property
    def _resident(self) -> Floats:
        """Work-groups that fit on a unit at the same time, by work-items, registers and local memory."""
        unit = self.unit
        fitting = np.minimum(unit.resident / self.warps, unit.registers / (self.warps * self._registers))
        fitting = np.minimum(np.minimum(fitting, unit.groups), unit.local_memory / (self._copied() + 1))
        return np.asarray(np.maximum(np.floor(fitting), 1.0))

    @cached_property
    def _loaded(self) -> list[Floats]:
        """Elements of each input that a work-item's tile reads, each once: its points are neighbours if it is alone."""
        beside, apart = (np.where((self.items > 1) == several, self.pt, 1.0) for several in (False, True))
        found = []
        for n, view in enumerate(self.access.h.inputs):
            alone = np.minimum(self._moved(beside, n) * len(view.accesses), self._elements(n, beside))
            vectors = self._moved(self.pt, n) * len(view.accesses)
            found.append(np.where(self.width > 1, vectors, alone * self._moved(apart, n)))
        return found

    def _instructions(self) -> Floats:
        """Of a work-group, all work-items': of points, loads, stores and copies."""
        h, unit = self.access.h, self.unit
        applied = np.prod(self.pt, axis=1) * self.access.operations * max(self.access.itemsize // 4, 1)
        # Tiles that stick out are computed one point after the other.
        alone, copies = self._sticking_out, np.zeros(len(self.warps))
        for n, view in enumerate(h.inputs):
            borders = self._moved(self.pt, n) * len(view.accesses) * (1.0 if view.boundary is None else unit.border)
            loads = alone * borders + (1 - alone) * self._loaded[n]
            applied = applied + loads / self._lanes[n] * unit.address
            share = np.ceil(self._elements(n, self.local) / np.prod(self.items, axis=1))
            copies += self.packed[:, n] * self._tiles(n) * share * unit.address * (1 + len(view.shape))
        stores = sum([self._stores(n) for n in self._written]) * unit.address
        spilled = np.where(self._registers > self.caps.registers, 4.0, 1.0)
        return np.asarray(self.warps * (self.steps * applied * spilled + copies + stores))

    def _tiles(self, n: int) -> Floats:
        """Tiles of an input that a work-group reads, one after the other."""
        return product(self.per_group, sorted(self.access.depends[n]))

    def _lines(self) -> Floats:
        """Cycles of a work-group's loads and stores in the first cache: one for each line that a warp's touch."""
        warps, total = self.warps / _WARP, np.zeros(len(self.warps))
        for n in range(len(self.access.h.inputs)):
            packed = self.packed[:, n]
            total += self.steps * self._loaded[n] * np.where(packed, 1.0, self._warp(n, _LINE) / self._lanes[n])
            copied = self._elements(n, self.local) * np.prod(self.per_group, axis=1) / self.warps
            total += np.where(packed, 2 * copied, 0.0)
        for n in self._written:
            total += self._stores(n) * self._warp(n, _LINE)
        return np.asarray(total * warps)

    @cached_property
    def _written(self) -> range:
        """The outputs' numbers among all arrays."""
        return range(len(self.access.h.inputs), len(self.access.arrays))

    def _stores(self, n: int) -> Floats:
        """Stores of a work-item in all, of one output."""
        tiles = product(self.per_group * np.ceil(self.lt / self.step), self.access.kept)
        return np.asarray(tiles * self.points / self._lanes[n])

    @cached_property
    def _lanes(self) -> list[Floats]:
        """Elements of each array that one load or store takes: of vectors that begin at multiples of their size."""
        found, widest = [], int(self.width.max(initial=1))
        for array in self.access.arrays:
            lanes = np.ones(len(self.pt))
            for d, multiple in array.whole.items():
                lanes = np.where(self.moves[d], np.minimum(self.width, gcd(multiple, widest)), lanes)
            found.append(lanes)
        return found

    @cached_property
    def _across(self) -> Floats:
        """Work-items of a warp along each dimension."""
        order = self.access.loop_order[::-1]
        first = [d for d in self.access.walked if d in self.access.kept]
        sides = [*first, *(d for d in order if d not in first)]
        shared = product(self.items, self.access.combined) > 1
        found = np.ones_like(self.items)
        for rows, dims in ((~shared, order), (shared, sides)):
            left = np.full(len(rows), float(_WARP))
            for d in dims:
                lanes = np.minimum(self.items[:, d], np.ceil(left))
                found[rows, d] = lanes[rows]
                left = np.maximum(left / lanes, 1.0)
        return found

    def _warp(self, n: int, piece: int) -> Floats:
        """Pieces of memory that one load or store of a warp touches."""
        array = self.access.arrays[n]
        dims = sorted([d for d, s in enumerate(array.strides) if s], key=lambda d: abs(array.strides[d]))
        size = array.view.dtype.itemsize
        apart = [abs(array.strides[d]) * size * np.where(self.moves[d], self.width, 1.0) for d in dims]
        return _pieces(apart, [self._across[:, d] for d in dims], size * self._lanes[n], piece)

    def _boxes(self, n: int, points: Floats) -> list[Floats]:
        """Elements along each axis of an array, nearest first, that so many points in each dimension reach."""
        more = points - 1
        return [one + more @ np.array(each, float) for _, _, one, each in self.access.arrays[n].axes]

    def _elements(self, n: int, points: Floats) -> Floats:
        """Elements of an array that so many points in each dimension read."""
        return np.asarray(np.prod(self._boxes(n, points), axis=0) * np.ones(len(points)))

    def _traffic(self) -> Floats:
        """Bytes from and to the cache that units share."""
        unit, total = self.unit, np.zeros(len(self.groups))
        tile = np.minimum(self.local, self.extents)
        for n, view in enumerate(self.access.h.inputs):
            size, axes = view.dtype.itemsize, self.access.arrays[n].axes
            sizes = [np.minimum(box, axis[1]) for box, axis in zip(self._boxes(n, tile), axes, strict=True)]
            sectors = _pieces([axis[0] * size for axis in axes], sizes, size, unit.sector)
            total += unit.sector * self.groups * self._tiles(n) * sectors
        for n in self._written:
            stores = self.groups * self.warps / _WARP * self._stores(n)
            total += unit.stored * stores * self._warp(n, unit.stored)
        return total
