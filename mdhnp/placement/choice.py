"""The choice between NumPy and kernels on a device: the candidates with their estimated times, and the faster one.

Takes an MDH and a device. It must not know how calls are found again, nor how a plan is made.
"""

from dataclasses import dataclass

from mdhnp.mdh import MdHom
from mdhnp.placement.costs import Costs, costs_of
from mdhnp.placement.numpys import NumpyFunction, numpy_function
from mdhnp.runtime.devices import Device

__all__ = ["Candidate", "Choice", "choose", "only"]

#: Of more points than this nothing is asked: what small calls differ in no longer counts.
_SMALL = 2**22

#: Seconds that a call of kernels takes beside the launch, for its plan and its result; and to wake the other cores.
_OURS, _WAKE = 3e-6, 5e-6


@dataclass(frozen=True)
class Candidate:
    """Who could compute a call, and in how many seconds by estimate; None where nothing was estimated."""

    name: str
    seconds: float | None = None


@dataclass(frozen=True)
class Choice:
    """The candidates, and the function of NumPy's where that is the fastest.

    Attributes
    ----------
    candidates : tuple of Candidate
        The one chosen first.
    host : NumpyFunction or None
        None where kernels compute.
    """

    candidates: tuple[Candidate, ...]
    host: NumpyFunction | None = None


def only(device: Device) -> Choice:
    """Choose the device, there being nothing else."""
    return Choice((Candidate(_name(device)),))


def _name(device: Device) -> str:
    return f"{device.name} ({device.runtime})"


def choose(h: MdHom, device: Device) -> Choice:
    """Compare NumPy with kernels on the device.

    Parameters
    ----------
    h : MdHom
        What is computed, without extents of 0.
    device : Device
        Where kernels would run.
    """
    function = numpy_function(h) if h.points <= _SMALL else None
    if function is None:
        return only(device)
    costs = costs_of(device)
    host = Candidate(function.name, _numpys(function, h, costs))
    kernels = Candidate(_name(device), _kernels(h, device, costs))
    assert host.seconds is not None and kernels.seconds is not None
    if host.seconds >= kernels.seconds:
        return Choice((kernels, host))
    return Choice((host, kernels), function)


def _numpys(function: NumpyFunction, h: MdHom, costs: Costs) -> float:
    result = h.outputs[0].dtype.name
    walked = function.walked * costs.slow.get(result, costs.einsum)
    point, element, turned = costs.product.get(result, costs.product["float32"])
    multiplied = function.multiplied * point + function.elements * element if function.multiplied else 0.0
    return costs.call + walked + multiplied + function.copied * element + function.turned * turned


def _kernels(h: MdHom, device: Device, costs: Costs) -> float:
    """One core computes about as fast as NumPy's matrix product."""
    point, _, _ = costs.product.get(h.outputs[0].dtype.name, costs.product["float32"])
    alone = h.points * point
    return costs.launch + _OURS + min(alone, _WAKE + alone / device.caps.compute_units)
