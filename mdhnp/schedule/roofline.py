"""Rough estimates where the cost model of CPUs does not apply: kernels on GPUs, and scans.

What bounds a kernel from below is counted (arithmetic, loads, traffic, chains of dependent steps), and how much of the
device a schedule keeps busy. That sorts out what cannot be fast; which of the rest is fastest, only measuring tells.
"""

import numpy as np
import numpy.typing as npt

from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.choices import Choices, Facts

__all__ = ["gpu_seconds", "scan_seconds"]

Floats = npt.NDArray[np.float64]

#: Of one compute unit of a GPU: lanes, 32-bit registers, resident work-items and work-groups, clock.
_LANES, _REGISTERS, _RESIDENT, _GROUPS, _CLOCK = 128, 1 << 16, 2048, 32, 1.5e9
#: Work-items times independent results that hide latency on one unit, work-items that fill its memory's pipes, and
#: cycles that one step of a work-item takes at least.
_HIDING, _FILLING, _LATENCY = 1024, 512, 75
#: Bytes a second that one unit gets from memory and from the shared cache; bytes that one access brings at least.
_MEMORY, _CACHE, _SECTOR = 25e9, 45e9, 32
#: Lanes that one turn of loads serves; local memory a unit has for each byte a work-group may use.
_LOAD_LANES, _LOCAL = 32, 4
#: Seconds of a launch, and of combining work-items' results.
_LAUNCH, _TREE = 3e-6, 2e-6
#: Of one core of a CPU: clock, bytes a second, cycles between dependent operations, seconds to start a work-group.
_CORE_CLOCK, _CORE_MEMORY, _OP_LATENCY, _GROUP_OVERHEAD = 2.6e9, 12e9, 4, 1.5e-6


def gpu_seconds(facts: Facts, choices: Choices, caps: DeviceCaps) -> Floats:
    """Estimate the time of each schedule on a GPU, in seconds."""
    return _Gpu(facts, choices, caps).seconds()


class _Gpu:
    """The terms of the estimate, one number a schedule each."""

    def __init__(self, facts: Facts, c: Choices, caps: DeviceCaps) -> None:
        self.facts, self.c, self.caps = facts, c, caps
        self.private, self.items = c.private_tile.astype(float), c.num_wi.astype(float)
        step = self.private * self.items
        steps = np.ceil(c.local_tile / step)
        # As far as tiles reach: a partial one costs as much as a full one.
        self.local = steps * step
        self.per_group = np.ceil(np.ceil(np.array(facts.h.extents) / c.local_tile) / c.num_wg)
        self.groups = np.prod(c.num_wg, axis=1).astype(float)
        self.warps = np.ceil(np.prod(self.items, axis=1) / 32) * 32
        self.steps = np.prod(self.per_group * steps, axis=1)
        self.results = np.prod(self.private[:, list(facts.kept)], axis=1)

    def seconds(self) -> Floats:
        """Compute or memory, whichever is slower, some of the other, and what combining parts costs."""
        units, combined = self.caps.compute_units, list(self.facts.combined)
        registers, copied = self._registers(), self._copied()
        fitting = np.minimum(_RESIDENT / self.warps, np.minimum(_REGISTERS / (self.warps * registers), _GROUPS))
        fitting = np.maximum(np.floor(np.minimum(fitting, _LOCAL * self.caps.local_memory / (copied + 1))), 0.5)
        resident = np.minimum(fitting, np.ceil(self.groups / units))
        busy = np.minimum(1.0, resident * self.warps * np.minimum(self.results, 8) / _HIDING)
        step = np.prod(self.private, axis=1) * self.facts.operations + self._loads() * _LANES / _LOAD_LANES
        cycles = self.steps * np.maximum(step * self.warps * resident / _LANES / busy, _LATENCY)
        waves = np.ceil(self.groups / (units * resident))
        compute = waves * cycles / _CLOCK * np.where(registers > self.caps.registers, 4.0, 1.0)
        memory = self._memory() / np.minimum(units, self.groups) / np.minimum(1.0, resident * self.warps / _FILLING)
        tree = np.where(np.prod(self.items[:, combined], axis=1) > 1, _TREE, 0.0)
        second = np.where(np.prod(self.c.num_wg[:, combined], axis=1) > 1, _LAUNCH, 0.0)
        seconds: Floats = np.maximum(compute, memory) + 0.2 * np.minimum(compute, memory) + tree + second + _LAUNCH
        return seconds

    def _moved(self, sizes: Floats, n: int) -> Floats:
        """Points of a tile that move input `n`."""
        found: Floats = np.prod(sizes[:, sorted(self.facts.depends[n])], axis=1)
        return found

    def _registers(self) -> Floats:
        loaded = [np.minimum(self._moved(self.private, n), 16) for n in range(len(self.facts.h.inputs))]
        registers: Floats = np.sum([self.results, *loaded], axis=0) * max(self.facts.itemsize // 4, 1) + 24
        return registers

    def _copied(self) -> Floats:
        """Bytes of local memory."""
        total = np.zeros(len(self.groups))
        for n, view in enumerate(self.facts.h.inputs):
            total += np.where(self.c.packed[:, n], self._moved(self.local, n) * view.dtype.itemsize, 0.0)
        return total

    def _loads(self) -> Floats:
        """Turns of one work-item's loads in one step: from caches one a sector that lanes touch."""
        total = np.zeros(len(self.groups))
        for n, view in enumerate(self.facts.h.inputs):
            sectors = np.clip(self._spread(n) * view.dtype.itemsize / 4, 2.0, 32.0)
            loads = self._moved(self.private, n) * len(view.accesses)
            total += loads * np.where(self.c.packed[:, n], 1.0, sectors)
        return total

    def _memory(self) -> Floats:
        """Seconds for one unit to move everything: from memory once, from the shared cache once for every tile."""
        h = self.facts.h
        total = np.full(len(self.groups), (self.facts.bytes_read + self.facts.bytes_written) / _MEMORY)
        for n, view in enumerate(h.inputs):
            size = view.dtype.itemsize
            waste = np.where(self.c.packed[:, n], 1.0, np.clip(self._spread(n), 1.0, _SECTOR / size))
            tiles = np.prod(self.per_group, axis=1) * self.groups
            total += tiles * self._moved(self.local, n) * size * waste / _CACHE
        return total

    def _spread(self, n: int) -> Floats:
        """Elements between the addresses of neighbouring work-items in an input."""
        c, order = self.c, np.array(self.facts.loop_order[::-1], np.int64)
        if not len(order):  # one point
            return np.ones(len(c))
        several = c.num_wi[:, order] > 1
        fastest = order[np.argmax(several, axis=1)]
        # Work-items that exchange registers scan rows, in which neighbours have neighbouring points.
        rows = np.isin(fastest, self.facts.h.dims("ps") if self.caps.subgroup else ())
        points = np.where((c.vector_dim == fastest) | rows, 1, c.private_tile[np.arange(len(c)), fastest])
        jump = np.abs(np.array(self.facts.strides[n], np.int64))[fastest] * points
        spread: Floats = np.where(several.any(axis=1), jump, 1).astype(float)
        return spread


def scan_seconds(facts: Facts, c: Choices, caps: DeviceCaps) -> Floats:
    """Estimate the time of each schedule of a scan on a CPU, in seconds; one work-item a work-group."""
    h, (scanned,) = facts.h, facts.combined
    private, groups = c.private_tile.astype(float), np.prod(c.num_wg, axis=1)
    bodies = np.prod(np.ceil(np.array(h.extents) / private), axis=1)
    lines = np.prod(private[:, list(facts.kept)], axis=1) / c.vector_width
    points = lines * private[:, scanned]
    moves = np.zeros(len(groups))
    for strides in (*facts.strides, facts.output_strides):
        apart = np.zeros(len(groups), bool)
        for d in facts.kept:
            apart |= (c.vector_dim == d) & (abs(strides[d]) > 1)
        moves += points * np.where(apart, 1.5 * c.vector_width, 1.0)
    cycles = bodies * (
        np.maximum(np.maximum(points * facts.operations, moves) / 2, private[:, scanned] * _OP_LATENCY) + 3
    )
    # Over several work-groups the totals come first: everything is read and added twice.
    passes = np.where(c.num_wg[:, scanned] > 1, 2.0, 1.0)
    moved = facts.bytes_read + facts.bytes_written
    busy = np.minimum(groups, caps.compute_units)
    overhead = _GROUP_OVERHEAD * (groups / caps.compute_units + passes**2)
    seconds: Floats = passes * np.maximum(cycles / _CORE_CLOCK, moved / _CORE_MEMORY) / busy + overhead
    return seconds
