"""What a group's devices give: their shares of the work, their machines, and whether all beat the best one.

Of unlike devices rates are measured, once for each; equal ones have equal shares, and what such devices usually give.
What it takes to hand parts to the devices, or to their threads, is measured once in a process.
"""

from collections.abc import Sequence
from dataclasses import astuple, replace
from functools import cache, partial
from math import inf, sqrt
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp import system
from mdhnp.calls import candidates
from mdhnp.cost import Link, Machine
from mdhnp.distributed import threads
from mdhnp.distributed.choose import Operand, choose
from mdhnp.distributed.exchange import fetch
from mdhnp.distributed.placement import Shard, flat, lent, view_on
from mdhnp.distributed.spans import NOTHING, StridedBox, stretch
from mdhnp.mdh import Computation, Graph
from mdhnp.runtime.groups import Group
from mdhnp.runtime.handle import Device
from mdhnp.runtime.layout import Layout
from mdhnp.tuning.measure.check import timed
from mdhnp.tuning.measure.machine import machine_of

NDArray = npt.NDArray[Any]

#: Seconds in which it is found out who has what a device needs, and in which one piece is copied: two halves of a CPU.
_ASKING = 4e-5
#: How many times as fast several devices must be by estimate, since estimates are rough.
_SURE = 1.2
#: How often handing over is measured.
_RUNS = 16


def weights(group: Group) -> tuple[float, ...]:
    """Return the share of the work of each device: equal ones, or, of unlike devices, by their measured rates."""
    if _equal(group):
        return (1.0,) * len(group.members)
    each = [machine_of(d, large=True) for d in group.members]
    return tuple([sqrt(m.memory / each[0].memory * m.float32 / each[0].float32) for m in each])


def machines(group: Group) -> tuple[Machine, ...]:
    """Return what the devices give; handing something to one of its own memory, without threads, is a launch."""
    equal, found = _equal(group), []
    threads_take = None if all([d.own_memory for d in group.members]) else _handing(group) / len(group.members)
    for device in group.members:
        m = device.caps.machine if equal else machine_of(device, large=True)
        # By way of the host, or read and written there.
        byte = max(1 / m.sending.bandwidth + 1 / m.receiving.bandwidth, 2 / m.memory)
        fetching = Link(_ASKING + m.sending.start + m.receiving.start, 1 / byte)
        found.append(replace(m, fetching=fetching, handing=m.launch if threads_take is None else threads_take))
    return tuple(found)


def _equal(group: Group) -> bool:
    return len({d.identity for d in group.members}) == 1


def pays(graph: Graph, group: Group) -> bool:
    """Return whether all steps together take less time on all devices than on the best one, or by NumPy."""
    one = several = 0.0
    for step in graph.steps:
        if 0 in step.mdhom.extents:
            continue
        best = candidates.choose(step.mdhom, group.members)
        if not best:
            return False
        one += best[0].seconds
        several += _seconds(step.mdhom, group)
    return several * _SURE < one


def _seconds(h: Computation, group: Group) -> float:
    """Return the estimated seconds of a step on all devices: that of the slowest one, but copies share one link."""
    nowhere = (NOTHING,) * len(group.members)
    operands = [Operand(StridedBox(0, *astuple(Layout.of_view(v))), nowhere, nowhere) for v in h.inputs]
    found = choose(h, operands, weights(group), machines(group))
    parts = max(found.partition.stages, key=len)
    if len(parts) < 2:
        return inf
    computing, copying = [], 0.0
    for part in parts:
        device = group.members[found.devices[part.part]]
        best = candidates.fastest_kernels(part.mdhom, (device,))
        if best is None:
            return inf
        m = machine_of(device, large=True)
        copied = [m.sending.seconds(v.element_bytes) for v in part.mdhom.inputs]
        moved = sum(copied) + sum([m.receiving.seconds(v.element_bytes) for v in part.mdhom.outputs])
        computing.append((best.seconds - moved) * _crowd(group.members, device))
        copying += moved
    # Each byte is read, and written.
    joining = 2 * sum([v.element_bytes for v in h.outputs]) / machine_of(group.members[0], large=True).numpy.memory
    return _handing(group) + max(computing) + copying + joining


def _crowd(devices: Sequence[Device], device: Device) -> float:
    """Return how many times as long a device takes beside others of the same processor."""
    if device.kind != "cpu":
        return 1.0
    return max(sum([d.caps.compute_units for d in devices if d.kind == "cpu"]) / system.cores(), 1.0)


@cache
def _handing(group: Group) -> float:
    """Return the seconds in which parts of an array are handed to the devices, and results joined.

    All that a call does but to compute, on an element a device: the median, since threads wake up sooner at times, and
    much later at others. Where devices have memory of their own, what it takes to begin each result's way back is in
    it, which others count again, so that one device is preferred by some microseconds more.
    """
    elements = np.zeros(len(group.members), np.uint8)
    hand = threads.in_turn if all([d.own_memory for d in group.members]) else threads.on_all

    def handed() -> None:
        whole = lent(elements)
        jobs = [partial(fetch, whole[n : n + 1], device) for n, device in enumerate(group.members)]
        each = enumerate(zip(group.members, hand(group.members, jobs), strict=True))
        shards = [Shard(device, flat(view, device), stretch(n, n + 1)) for n, (device, view) in each]
        fetch(view_on(shards, elements.shape, elements.dtype), None)

    return median(timed(handed, 0.0, _RUNS, _RUNS))
