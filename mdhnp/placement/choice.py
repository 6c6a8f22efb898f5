"""The choice between NumPy and kernels on devices: all candidates with their estimated times, the fastest first.

Takes an MDH and devices. It must not know how calls are found again, nor how a plan is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

from mdhnp.calls.numpy_tier import NumpyFunction, numpy_function, roughly
from mdhnp.mdh import Computation, MdHom, View, canonical, stages
from mdhnp.placement.costs import Costs, costs_of
from mdhnp.placement.large import DeviceRates, HostRates, device_rates, host_rates, usual_rates
from mdhnp.runtime.devices import Device
from mdhnp.schedule import DeviceCaps
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.default import default
from mdhnp.schedule.model import seconds

__all__ = ["Candidate", "Choice", "choose", "computing_times", "kernel_times", "nbytes", "numpy_times"]

#: Seconds that a call of kernels takes beside the launch, for its plan and its result.
_OURS = 3e-6

#: Seconds of a call by NumPy's, roughly, up to which it is small: rates of large ones are not measured for it.
_SMALL = 1e-4

#: Multiply-adds up to which NumPy's product takes as long for each as for matrices of 64 x 64: beyond it uses threads.
_THREADED = 1 << 20


#: Bytes of arrays that a CPU's last cache may hold already: to read them takes less than memory's bandwidth says.
_CACHED = 64 << 20


@dataclass(frozen=True)
class Candidate:
    """Who could compute a call.

    Attributes
    ----------
    name : str
        For people.
    seconds : float
        The whole call by estimate, with default schedules.
    floor : float
        What the hardware takes for it at least, whatever the schedule.
    device : Device or None
        Where kernels would run; None for NumPy.
    function : NumpyFunction or None
        NumPy's; None for kernels.
    """

    name: str
    seconds: float
    floor: float
    device: Device | None = None
    function: NumpyFunction | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Choice:
    """The candidates, the fastest by estimate first.

    Attributes
    ----------
    candidates : tuple of Candidate
        Empty if the MDH is in double precision, no device has it, and NumPy has no function.
    """

    candidates: tuple[Candidate, ...]

    @property
    def kernels(self) -> Candidate | None:
        """The device that is the fastest; None if none can compute it."""
        return next((c for c in self.candidates if c.device is not None), None)

    @property
    def host(self) -> NumpyFunction | None:
        """The function of NumPy's where that is the fastest."""
        return self.candidates[0].function if self.candidates else None


def _name(device: Device) -> str:
    return f"{device.name} ({device.runtime})"


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
    small = function is not None and roughly(function) <= _SMALL
    found = []
    if function is not None:
        rates = None if small else host_rates(devices[0])
        found.append(
            Candidate(function.name, *numpy_times(function, h, costs_of(devices[0]), rates), function=function)
        )
    double = any(t.char in "dD" for t in h.dtypes)
    for device in devices:
        if device.caps.fp64 or not double:
            known = usual_rates(device.caps) if small else device_rates(device)
            times = kernel_times(h, device.caps, costs_of(device), known)
            found.append(Candidate(_name(device), *times, device=device))
    return Choice(tuple(sorted(found, key=lambda c: (c.seconds, c.device is None))))


def numpy_times(function: NumpyFunction, h: Computation, costs: Costs, rates: HostRates | None) -> tuple[float, float]:
    """Give the seconds that a function of NumPy's takes by estimate, and at least; `rates` for large calls."""
    result = h.outputs[0].dtype
    one = "float64" if result.char in "dD" else "float32"
    parts = 4 if result.char in "FD" else 1  # multiply-adds of real numbers in one of complex ones
    point, element, turned = costs.product[one]
    walked = function.work.walked * costs.slow.get(result.name, costs.einsum)
    multiplied = parts * function.work.multiplied
    moved = sum(map(nbytes, (*h.inputs, *h.outputs)))
    touched = sum([prod(v.shape) for v in (*h.inputs, *h.outputs)]) * element if multiplied else 0.0
    if rates is None:
        multiplying = multiplied * point + touched
        seconds = multiplying + function.work.copied / result.itemsize * turned
        return costs.call + walked + seconds, costs.call
    few, large = min(multiplied, _THREADED), min(rates.product[one], point)
    multiplying = few * point + (multiplied - few) * large
    reading = moved * rates.byte
    copying = function.work.copied * rates.copied
    floor = costs.call + max(multiplied * large, max(moved - _CACHED, 0) * rates.byte)
    # BLAS reads ahead while it multiplies; loops that walk through arrays wait for them.
    return costs.call + max(multiplying, reading) + walked + copying, floor


def kernel_times(h: Computation, caps: DeviceCaps, costs: Costs, rates: DeviceRates) -> tuple[float, float]:
    """Give the seconds that a call of kernels takes by estimate, and that the device takes for it at least."""
    copies = _copies(h.inputs, rates.sending) + _copies(h.outputs, rates.receiving)
    computing, least = computing_times(h, caps, rates)
    floor = costs.launch + copies + least
    return max(costs.launch + _OURS + copies + computing, floor), floor


def computing_times(h: Computation, caps: DeviceCaps, rates: DeviceRates) -> tuple[float, float]:
    """Give the seconds that kernels alone take by estimate, and at least."""
    moved = sum(map(nbytes, (*h.inputs, *h.outputs)))
    least = (max(moved - _CACHED, 0) if caps.kind == "cpu" else moved) / rates.bandwidth
    model, computing = 0.0, 0.0
    # Of what is fused the models know nothing but its MDHs.
    for own in [canonical(one) for stage in stages(h) for one in stage.mdhom.mdhoms]:
        model += _model(own, caps)
        dtype = "float64" if any(t.char == "d" for t in own.dtypes) else "float32"
        computing += own.points * _instructions(own) / rates.peak.get(dtype, rates.peak["float32"])
    return max(model, moved / rates.bandwidth), max(least, computing)


@lru_cache(maxsize=1024)
def _model(h: MdHom, caps: DeviceCaps) -> float:
    """Give the time of a stage with its default schedule."""
    return float(seconds(AccessPattern(h), [default(h, caps)], caps)[0])


def _instructions(h: MdHom) -> float:
    """Instructions of one point at least: a multiplication and an addition are one."""
    free = ("param", "const", "index", "cast")
    count = sum(h.scalar.body[n].op not in free for n in h.scalar.live()) + (h.operator is not None)
    return max(count / 2, 1.0)


def _copies(views: Sequence[View], copying: tuple[float, float]) -> float:
    """Seconds of copies of all arrays; the first one's fixed part is in the smallest call."""
    fixed, byte = copying
    return max(len(views) - 1, 0) * fixed + sum(map(nbytes, views)) * byte


def nbytes(view: View) -> int:
    """Give the bytes of all elements of an array."""
    return prod(view.shape) * view.dtype.itemsize
