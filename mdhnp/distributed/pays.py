"""Whether several devices compute a call on ndarrays sooner than one, by estimate."""

import os
from collections.abc import Sequence

from mdhnp.distributed.boxes import Box
from mdhnp.distributed.choose import Operand, choose
from mdhnp.distributed.handing import handing
from mdhnp.distributed.speeds import speeds, weights
from mdhnp.mdh import Computation, Graph
from mdhnp.placement.choice import choose as candidates
from mdhnp.placement.choice import nbytes
from mdhnp.placement.large import device_rates, host_rates
from mdhnp.runtime.groups import Group
from mdhnp.runtime.handle import Device

__all__ = ["pays"]

#: How much sooner it must be, since estimates are rough.
_SURE = 1.2


def pays(graph: Graph, group: Group) -> bool:
    """Say whether all steps together take less time on all devices than on the best one, or by NumPy."""
    one = several = 0.0
    for step in graph.steps:
        if 0 in step.mdhom.extents:
            continue
        best = candidates(step.mdhom, group.members).candidates
        if not best:
            return False
        one += best[0].seconds
        several += _seconds(step.mdhom, group)
    return several * _SURE < one


def _seconds(h: Computation, group: Group) -> float:
    """Estimate a step's time on all devices: that of the slowest one, but copies share one link."""
    nowhere = ((0, 0),) * len(group.members)
    operands = [
        Operand(Box(0, v.shape, tuple([s * v.dtype.itemsize for s in v.strides]), v.dtype.itemsize), nowhere, nowhere)
        for v in h.inputs
    ]
    found = choose(h, operands, weights(group), speeds(group))
    if found.cut is None:
        return float("inf")
    computing, copying = [], 0.0
    for n, part in zip(found.devices, found.cut.parts, strict=True):
        device = group.members[n]
        best = candidates(part.mdhom, (device,)).kernels
        if best is None:
            return float("inf")
        moved = _copies(part.mdhom, device)
        computing.append((best.seconds - moved) * _crowd(group.members, device))
        copying += moved
    joining = 2 * host_rates(group.members[0]).byte * sum(map(nbytes, h.outputs))  # each byte is read, and written
    return handing(group) + max(computing) + copying + joining


def _copies(h: Computation, device: Device) -> float:
    """Estimate the seconds in which a part's arrays are copied to a device, and its results back."""
    rates = device_rates(device)
    ways = [(v, rates.sending) for v in h.inputs] + [(v, rates.receiving) for v in h.outputs]
    return sum([start + each * nbytes(v) for v, (start, each) in ways])


def _crowd(devices: Sequence[Device], device: Device) -> float:
    """How many times as long a device takes beside others of the same processor."""
    if device.kind != "cpu":
        return 1.0
    cores = len(os.sched_getaffinity(0))
    return max(sum([d.caps.compute_units for d in devices if d.kind == "cpu"]) / cores, 1.0)
