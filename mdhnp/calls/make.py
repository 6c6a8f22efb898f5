"""Who computes a call, and why: NumPy's function until a kernel is there that was measured to be faster.

From a request to its plan. It must not know how plans are found again.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from mdhnp.calls import kernels
from mdhnp.calls.before import spent_on
from mdhnp.calls.candidates import Choice, choose
from mdhnp.calls.debug import show
from mdhnp.calls.entry import Made
from mdhnp.calls.improve import builder, price, tuner
from mdhnp.calls.numpy_tier import NumpyFunction, numpy_function, roughly
from mdhnp.calls.plans import ByNumpy, Nothing, Plan
from mdhnp.calls.request import Request
from mdhnp.runtime.devices import Device
from mdhnp.tuning.policy import search
from mdhnp.tuning.times import KERNELS, NUMPY, measured

__all__ = ["make"]

#: Where NumPy surely takes so many times as long as compiling, its time is worth a closer look before it is spent.
_HEAVY = 2.0


def make(request: Request) -> Made:
    """Make the plan of a request, and what sees to it that there will be a better one.

    Raises
    ------
    NoDoublePrecision
        If kernels are to compute in float64 or complex128 on a device that cannot.
    BuildError
        If the runtime refuses the generated text.
    """
    begin = time.perf_counter()
    made = _make(request)
    show(request, made.plan, time.perf_counter() - begin)
    return made


def _make(request: Request) -> Made:
    h, mode = request.mdhom, request.mode
    if 0 in h.extents:
        return Made(Nothing(h, request.devices, "an extent is 0", mode.resident))
    if mode.resident:
        return _by_kernels(request, "its operands are on the device")
    if mode.host == "never":
        return _by_kernels(_placed(request), "config.host is 'never'")
    function = None if request.into else numpy_function(h)  # which gives new memory
    if function is not None and all(device.lost for device in request.devices):
        return Made(ByNumpy.of(request, "the devices were lost when this process was forked", function))
    if function is None:
        return _by_kernels(_placed(request), "NumPy has no function for it")
    if mode.specialise == "always" or mode.tuning == "full":
        return _by_estimate(request, function, choose(h, request.devices))
    return _numpy_first(request, function)


def _by_kernels(request: Request, why: str) -> Made:
    """Make kernels now: those that serve other sizes, too, or for these very sizes, tuned if the settings say so."""
    mode, kept = request.mode, True
    plan: Plan | None = None
    if mode.specialise == "auto" and mode.tuning in ("auto", "off"):
        plan = kernels.ready(request, why)
        if plan is None and (plan := kernels.general(request, why)) is not None:
            return Made(plan, builder(request, price(request)))
    elif mode.tuning == "full" and (untuned := kernels.untuned(request)):
        kept = search(untuned, request.device)  # else the next call tries again
    plan = plan or kernels.own(request, why)
    return Made(plan, tuner(request, plan), kept)


def _by_estimate(request: Request, function: NumpyFunction, choice: Choice) -> Made:
    """Choose by estimates alone."""
    best = choice.candidates[0]
    why = "estimated to be the fastest"
    if best.device is not None:
        return _by_kernels(replace(request, devices=(best.device,)), why)
    return Made(ByNumpy.of(request, why, function))


def _numpy_first(request: Request, function: NumpyFunction) -> Made:
    """Let NumPy compute, unless kernels are known to be faster, or NumPy alone takes longer than making them, too."""
    h, cost = request.mdhom, price(request)
    times = {device: known for device in request.devices if {KERNELS, NUMPY} <= (known := measured(h, device)).keys()}
    if times:
        return _as_measured(request, function, times)
    if roughly(function) > _HEAVY * cost:
        choice = choose(h, request.devices)
        host = next(c for c in choice.candidates if c.device is None)
        best = choice.kernels
        if best and best.device and host.seconds > cost + best.seconds:
            why = f"NumPy would take about {host.seconds:.2g} s, longer than compiling kernels"
            return _by_kernels(replace(request, devices=(best.device,)), why)
    return Made(ByNumpy.of(request, "no kernel was built for it yet", function), builder(request, cost, spent_on(h)))


def _as_measured(request: Request, function: NumpyFunction, times: dict[Device, Mapping[str, float]]) -> Made:
    """Choose by what was measured on some of the devices."""
    device = min(times, key=lambda each: times[each][KERNELS])
    one, ours, numpys = replace(request, devices=(device,)), times[device][KERNELS], times[device][NUMPY]
    why = f"measured: NumPy {numpys * 1e6:.1f} µs, kernels {ours * 1e6:.1f} µs"
    if ours < numpys:
        with suppress(RuntimeError, MemoryError, ValueError):  # of a binary that the driver refuses, say
            plan = kernels.in_parts(one, why) or kernels.ready(one, why)
            if plan is not None:
                return Made(plan, tuner(one, plan))
    host = ByNumpy.of(one, why, function)
    # Kernels that are known to pay are made at once where they are not on disk.
    return Made(host, builder(one, 0.0) if ours < numpys else tuner(one, host))


def _placed(request: Request) -> Request:
    """Choose a device for kernels."""
    if len(request.devices) == 1:
        return request
    best = choose(request.mdhom, request.devices).kernels
    return replace(request, devices=((best and best.device) or request.device,))
