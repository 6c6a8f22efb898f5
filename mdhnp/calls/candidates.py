"""Candidates for a call: NumPy's function and kernels on devices, with their estimated times, the fastest first.

Takes an MDH and devices. It must not know how calls are found again, nor how a plan is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from mdhnp.calls.numpy_tier import numpy_function, seconds_by_numpy
from mdhnp.cost import Link, Machine, numpy_seconds, seconds, work
from mdhnp.mdh import Computation, MdHom, Rows, View, canonical, stages
from mdhnp.runtime.devices import Device
from mdhnp.schedule import DeviceCaps, Schedule, model
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.default import default
from mdhnp.schedule.online import online_seconds
from mdhnp.tuning.measure.machine import machine_of

#: Seconds that a call of kernels takes beside the launch, for its plan and its result: on a Xeon of 2.6 GHz.
_OWN = 3e-6
#: Seconds of a call by NumPy, roughly, up to which it is small: rates of large calls are not measured for it.
_SMALL = 1e-4


@dataclass(frozen=True)
class Candidate:
    """Who could compute a call."""

    #: For people.
    name: str
    #: The whole call by estimate, with default schedules.
    seconds: float
    #: What the hardware takes for it at least, whatever the schedule.
    floor: float
    #: Where kernels would run; None for NumPy.
    device: Device | None = None


def choose(h: Computation, devices: Sequence[Device]) -> list[Candidate]:
    """Compare NumPy with kernels on devices, at least one, for what has no extents of 0: the fastest by estimate first.

    None is left if no device has the types, and NumPy has no function. This takes some milliseconds, and the first time
    of all what measuring takes.
    """
    function = numpy_function(h)
    large = seconds_by_numpy(function) > _SMALL
    found = [c for c in [on_device(h, device, large=large) for device in devices] if c is not None]
    if function is not None:
        rates = machine_of(devices[0], large=large).numpy
        found.append(Candidate(function.name, *numpy_seconds(function.work, rates)))
    return sorted(found, key=lambda c: (c.seconds, c.device is None))


def fastest_kernels(h: Computation, devices: Sequence[Device]) -> Candidate | None:
    """Give the best device; None if none can compute it."""
    return next((c for c in choose(h, devices) if c.device is not None), None)


def on_device(h: Computation, device: Device, *, large: bool) -> Candidate | None:
    """Say what kernels on a device take, by rates of `large` calls where that is wanted; None if it lacks the types."""
    if not device.caps.fp64 and any(t.char in "dD" for t in h.dtypes):
        return None
    times = kernel_times(h, device.caps, machine_of(device, large=large))
    return Candidate(f"{device.name} ({device.runtime})", *times, device=device)


def kernel_times(h: Computation, caps: DeviceCaps, machine: Machine) -> tuple[float, float]:
    """Return the seconds that a call of kernels takes by estimate, and that the device takes for it at least."""
    # The first copy's fixed part is in the smallest call.
    copies = _copies(h.inputs, machine.sending) + _copies(h.outputs, machine.receiving)
    computing, least = computing_times(h, caps, machine)
    floor = machine.launch + copies + least
    return max(machine.launch + _OWN + copies + computing, floor), floor


def computing_times(h: Computation, caps: DeviceCaps, machine: Machine) -> tuple[float, float]:
    """Return the seconds that kernels alone take by estimate, and at least."""
    asked = work(h)
    # Of what is fused the models know nothing but its MDHs.
    modelled = sum([_modelled(canonical(one), caps) for stage in stages(h) for one in stage.mdhom.mdhoms])
    return max(modelled, seconds(asked, machine)), seconds(asked, machine, cached=True)


def is_slower_than_apart(h: Computation, s: Schedule, caps: DeviceCaps) -> bool:
    """Whether products in one kernel, with nothing to correct between them or few rows, take longer than one by one."""
    together = online_seconds(h, s, caps) if isinstance(h, Rows) else 0.0
    return together > 0 and together > sum([_modelled(canonical(one), caps) for one in h.mdhoms])


@lru_cache(maxsize=1024)
def _modelled(h: MdHom, caps: DeviceCaps) -> float:
    """Return the seconds of a stage with its default schedule. Of segments the model takes each for all points."""
    return float(model.seconds(AccessPattern(h), [default(h, caps)], caps)[0]) * h.points / prod(h.extents)


def _copies(views: Sequence[View], link: Link) -> float:
    return max(len(views) - 1, 0) * link.start + sum([v.element_bytes for v in views]) / link.bandwidth
