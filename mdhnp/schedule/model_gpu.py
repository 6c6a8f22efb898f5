"""How long schedules without matrix instructions take on a GPU, roughly.

What bounds a kernel from below is counted (arithmetic, loads, traffic, chains of dependent steps), and how much of the
device a schedule keeps busy. That sorts out what cannot be fast; which of the rest is fastest, only measuring tells.
"""

from math import prod

import numpy as np

from mdhnp.schedule.access import AccessPattern, Side
from mdhnp.schedule.batch import Batch, Floats, Tiling, product
from mdhnp.schedule.matrices import multiplied
from mdhnp.schedule.schedule import DeviceCaps

#: Work-items of a group that keep enough loads in flight, and the most that do not wait for each other too often; the
#: most points of a work-item, so that their sums fit in registers: by times on an NVIDIA H200.
FEWEST_ITEMS, MOST_ITEMS, MOST_POINTS = 128, 256, 64


def gpu_seconds(access: AccessPattern, batch: Batch, caps: DeviceCaps) -> Floats:
    """Return the time of one launch of each schedule, in seconds; of products with copied tiles by a finer model."""
    model = _Gpu(access, batch, caps)
    found = model.seconds()
    if access.sides is None:
        return found
    products, copied = model.product_seconds(access.sides), batch.packed[:, access.summed].all(axis=1)
    usual = (np.prod(batch.num_wi, axis=1) <= MOST_ITEMS) & (np.prod(batch.private_tile, axis=1) <= MOST_POINTS)
    return np.where(copied, np.where(usual, products, np.maximum(found, products)), found)


class _Gpu(Tiling):
    """The terms of both estimates, one number a schedule each."""

    def __init__(self, access: AccessPattern, batch: Batch, caps: DeviceCaps) -> None:
        super().__init__(access, batch, caps)
        self.unit, self.items = caps.machine.unit, batch.num_wi.astype(float)
        step = self.pt * self.items
        steps = np.ceil(self.lt / step)
        # As far as tiles reach: a partial one costs as much as a full one.
        self.local = steps * step
        self.groups = np.prod(self.wg, axis=1)
        self.warps = np.ceil(np.prod(self.items, axis=1) / 32) * 32
        self.steps = np.prod(self.per_group * steps, axis=1)
        self.points = product(self.pt, access.kept)

    def seconds(self) -> Floats:
        """Seconds to compute or to move data, whichever takes longer, a part of the other, and combining parts."""
        unit, units, h, combined = self.unit, self.caps.compute_units, self.access.h, self.access.combined
        copied, loaded = self._copied(), [np.minimum(self._moved(self.pt, n), 16) for n in range(len(h.inputs))]
        registers = np.sum([self.points, *loaded], axis=0) * max(self.access.itemsize // 4, 1) + 24
        fitting = np.minimum(unit.resident / self.warps, unit.registers / (self.warps * registers))
        fitting = np.minimum(np.minimum(fitting, unit.groups), unit.local_memory / (copied + 1))
        fitting = np.maximum(np.floor(fitting), 0.5)
        resident = np.minimum(fitting, np.ceil(self.groups / units))
        busy = np.minimum(1.0, resident * self.warps * np.minimum(self.points, 8) / unit.hiding)
        applied = np.prod(self.pt, axis=1) * self.access.operations
        step = applied + self._loads() * unit.lanes / unit.load_lanes
        cycles = self.steps * np.maximum(step * self.warps * resident / unit.lanes / busy, unit.latency)
        waves = np.ceil(self.groups / (units * resident))
        compute = waves * cycles / unit.clock * np.where(registers > self.caps.registers, 4.0, 1.0)
        memory = self._memory() / np.minimum(units, self.groups)
        memory = memory / np.minimum(1.0, resident * self.warps / unit.filling)
        tree = np.where(product(self.items, combined) > 1, unit.tree, 0.0)
        second = np.where(product(self.wg, combined) > 1, unit.launch, 0.0)
        return np.asarray(np.maximum(compute, memory) + 0.2 * np.minimum(compute, memory) + tree + second + unit.launch)

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
        moved = unit.write_adds / 4 * (self.access.bytes_read + self.access.bytes_written) / added
        best, rounds = added / (units * unit.lanes * unit.clock), h.points / prod(h.extents[d] for d in h.dims("cc"))
        # Everybody waits for the first tiles.
        return np.asarray(best * (1 / (unit.plain * speed) + moved) * (1 + 0.5 * unit.plain_depth / rounds))

    def _moved(self, sizes: Floats, n: int) -> Floats:
        """Points of a tile that move input `n`."""
        return product(sizes, self.access.depends[n])

    def _copied(self) -> Floats:
        """Bytes of local memory."""
        inputs = enumerate(self.access.h.inputs)
        sizes = [self.packed[:, n] * self._moved(self.local, n) * view.dtype.itemsize for n, view in inputs]
        return np.asarray(np.sum(sizes, axis=0, dtype=float))

    def _loads(self) -> Floats:
        """Cycles of one work-item's loads in one step: from caches one for each sector that the lanes touch."""
        total = np.zeros(len(self.groups))
        for n, view in enumerate(self.access.h.inputs):
            sectors = np.clip(self._spread(n) * view.dtype.itemsize / 4, 2.0, 32.0)
            loads = self._moved(self.pt, n) * len(view.accesses)
            total += loads * np.where(self.packed[:, n], 1.0, sectors)
        return total

    def _memory(self) -> Floats:
        """Seconds of one unit to move all data from memory once, and from the shared cache once for every tile."""
        h = self.access.h
        total = np.full(len(self.groups), (self.access.bytes_read + self.access.bytes_written) / self.unit.memory)
        for n, view in enumerate(h.inputs):
            size = view.dtype.itemsize
            waste = np.where(self.packed[:, n], 1.0, np.clip(self._spread(n), 1.0, self.unit.sector / size))
            tiles = np.prod(self.per_group, axis=1) * self.groups
            total += tiles * self._moved(self.local, n) * size * waste / self.unit.cache
        return total

    def _spread(self, n: int) -> Floats:
        """Elements between the addresses of neighbouring work-items in an input."""
        c, order = self.batch, np.array(self.access.loop_order[::-1], np.int64)
        if not len(order):  # one point
            return np.ones(len(c))
        several = c.num_wi[:, order] > 1
        fastest = order[np.argmax(several, axis=1)]
        # Work-items that exchange registers scan rows, in which neighbours have neighbouring points.
        rows = np.isin(fastest, self.access.h.dims("ps") if self.caps.subgroup else ())
        points = np.where((c.vector_dim == fastest) | rows, 1, c.private_tile[np.arange(len(c)), fastest])
        jump = np.abs(np.array(self.access.strides[n], np.int64))[fastest] * points
        return np.where(several.any(axis=1), jump, 1).astype(float)
