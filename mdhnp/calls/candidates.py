"""Candidates for a call: NumPy's function and kernels on devices, with their estimated times, the fastest first.

Takes an MDH and devices. It must not know how calls are found again, nor how a plan is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from mdhnp.calls.numpy_tier import NumpyFunction, numpy_function, roughly
from mdhnp.cost import Link, Machine, numpy_seconds, seconds, work
from mdhnp.mdh import Computation, MdHom, View, canonical, stages
from mdhnp.runtime.devices import Device
from mdhnp.schedule import DeviceCaps, model
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.default import default
from mdhnp.tuning.measure.machine import machine_of

__all__ = ["Candidate", "Choice", "choose", "computing_times", "kernel_times"]

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
    #: NumPy's; None for kernels.
    function: NumpyFunction | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Choice:
    """The candidates, the fastest by estimate first; none if no device has the types, and NumPy has no function."""

    candidates: tuple[Candidate, ...]

    @property
    def kernels(self) -> Candidate | None:
        """The device that is the fastest; None if none can compute it."""
        return next((c for c in self.candidates if c.device is not None), None)


def choose(h: Computation, devices: Sequence[Device]) -> Choice:
    """Compare NumPy with kernels on devices; takes some milliseconds, and the first time of all what measuring takes.

    Parameters
    ----------
    h : Computation
        What is computed, without extents of 0.
    devices : sequence of Device
        Where kernels could run, at least one.
    """
    function = numpy_function(h)
    large = function is None or roughly(function) > _SMALL
    found = []
    if function is not None:
        rates = machine_of(devices[0], large=large).numpy
        found.append(Candidate(function.name, *numpy_seconds(function.work, rates), function=function))
    double = any(t.char in "dD" for t in h.dtypes)
    for device in devices:
        if device.caps.fp64 or not double:
            times = kernel_times(h, device.caps, machine_of(device, large=large))
            found.append(Candidate(f"{device.name} ({device.runtime})", *times, device=device))
    return Choice(tuple(sorted(found, key=lambda c: (c.seconds, c.device is None))))


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


@lru_cache(maxsize=1024)
def _modelled(h: MdHom, caps: DeviceCaps) -> float:
    """Return the seconds of a stage with its default schedule."""
    return float(model.seconds(AccessPattern(h), [default(h, caps)], caps)[0])


def _copies(views: Sequence[View], link: Link) -> float:
    return max(len(views) - 1, 0) * link.start + sum([v.element_bytes for v in views]) / link.bandwidth
