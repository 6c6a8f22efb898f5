"""Our side: the plans of a call on Arrays, their kernels' time, what the compiler says of them, and their tuning."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from pyopencl import _cl

import mdhnp
from benchmarks.gpu.build_log import Resources, resources
from benchmarks.problem import Array, Call
from mdhnp.calls.kernels import staged
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import Kernels, SlicedKernels
from mdhnp.calls.store import forget
from mdhnp.runtime.devices import Device
from mdhnp.runtime.programs import build_options
from mdhnp.tuning.search.session import tune_stage

__all__ = ["Ours", "resources_of", "tune"]

#: Whole calls that are timed.
_CALLS = 7


@dataclass(frozen=True)
class Ours:
    """A call with the schedules known now.

    Attributes
    ----------
    result : ndarray or tuple of them
        What it gave.
    plans : tuple of Kernels
        What computed it.
    operands, outputs : tuple
        What each ran on, and memory for the results.
    call_seconds : float
        Of a whole call and a wait for the device.
    """

    result: Array | tuple[Array, ...]
    plans: tuple[Kernels, ...]
    operands: tuple[Sequence[Any], ...]
    outputs: tuple[Sequence[Any], ...]
    call_seconds: float

    @classmethod
    def of(cls, call: Call) -> "Ours":
        """Make the call's plans anew, and call it."""
        forget()
        with observe() as seen:
            result = _as_numpy(call())
        seen = [(plan, arrays) for plan, arrays in seen if not isinstance(plan, SlicedKernels)]
        plans = tuple(plan for plan, _ in seen)
        if not plans or not all(isinstance(plan, Kernels) for plan in plans):
            raise TypeError(f"kernels do not compute it, but {plans}")
        outputs = tuple(plan.make() for plan in plans)
        return cls(result, plans, tuple(arrays for _, arrays in seen), outputs, _whole(call, plans[0].device))

    def seconds(self, launches: int) -> float:
        """Give the kernels' time by the device's clock, each the least of several launches."""
        each = zip(self.plans, self.operands, self.outputs, strict=True)
        return sum(sum(plan.executable.profile(i, o, repeats=launches)) for plan, i, o in each)

    @property
    def schedules(self) -> list[str]:
        """Where each kernel's schedule is from, and the schedule."""
        return [
            f"{origin}: {schedule}"
            for plan in self.plans
            for origin, schedule in zip(plan.origins, plan.schedules, strict=True)
        ]


def _as_numpy(result: Any) -> Array | tuple[Array, ...]:
    if isinstance(result, tuple):
        return tuple([np.array(each.numpy()) for each in result])
    return np.array(result.numpy())


def _whole(call: Call, device: Device) -> float:
    taken = []
    for _ in range(_CALLS + 1):
        begin = time.perf_counter()
        result = call()
        mdhnp.synchronize(device)
        taken.append(time.perf_counter() - begin)
        del result
    return median(taken[1:])


def tune(found: Ours, seconds: float) -> None:
    """Search a schedule for each kernel."""
    for plan in found.plans:
        for stage in staged(plan.mdhom):
            tune_stage(stage.mdhom, plan.device, seconds, progress=False)


def resources_of(plan: Kernels) -> tuple[Resources, ...]:
    """Compile a plan's text once more and give what NVIDIA's compiler says of it; nothing of other compilers."""
    device = plan.device
    if device.runtime != "nvidia":
        return ()
    options = [option for option in build_options(device) if option != "-w"]  # which could keep it from saying so
    program = _cl._Program(device.context, plan.program.source)  # not pyopencl's other one, which warns of logs
    program._build(" ".join([*options, "-cl-nv-verbose"]).encode(), [device.cl])
    return resources("\n".join(text for _, text in program._get_build_logs()))
