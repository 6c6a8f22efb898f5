"""Our side: a call on Arrays as users have it once it is prepared, and once it is tuned; what computes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import mdhnp
from benchmarks.gpu.problems import Problem
from benchmarks.problem import Array, Call
from benchmarks.tuning import empty_cache
from mdhnp.calls.plans import Kernels
from mdhnp.runtime.devices import Device

__all__ = ["PREPARED", "TUNED", "Ours", "arrived", "prepared", "tuned"]

#: Names of what users have: after `mdhnp.prepare`, and after `mdhnp.tune`.
PREPARED, TUNED = "prepared", "tuned"
#: What tells calls apart that have one schedule or the other, in one process: both have kernels for their very sizes.
_SPECIALISE: dict[str, Any] = {PREPARED: "auto", TUNED: "always"}


@dataclass(frozen=True)
class Ours:
    """A call with the schedules of one time.

    Attributes
    ----------
    call : callable
        Without arguments.
    variant : str
        `PREPARED` or `TUNED`: calls are made inside of `settings` only.
    result : ndarray or tuple of them
        What it gave.
    schedules : tuple of str
        Of each kernel, and where it is from.
    atoms : tuple of str
        The matrix instructions of all kernels.
    kernel_seconds : float
        Of all kernels, by the device's clock.
    """

    call: Call
    variant: str
    result: Array | tuple[Array, ...]
    schedules: tuple[str, ...]
    atoms: tuple[str, ...]
    kernel_seconds: float

    @contextmanager
    def settings(self) -> Iterator[None]:
        """The process's settings under which calls have these schedules."""
        with _settings(self.variant):
            yield

    @classmethod
    def of(cls, call: Call, variant: str) -> "Ours":
        """Call it, as it is prepared or tuned, and see what computes it."""
        with _settings(variant):
            result = _as_numpy(call())
            seen = mdhnp.explain(call)
        kernels = [plan for plan in seen.launches if isinstance(plan, Kernels)]
        if not kernels or len(kernels) < len(seen.launches):
            raise TypeError(f"kernels do not compute it, but {[*seen.launches]}")
        each = [(s, origin) for plan in kernels for s, origin in zip(plan.schedules, plan.origins, strict=True)]
        return cls(
            call,
            variant,
            result,
            tuple(dict.fromkeys(f"{origin}: {s}" for s, origin in each)),
            tuple(dict.fromkeys(s.atom for s, _ in each if s.atom)),
            sum(map(sum, seen.kernel_seconds)),
        )


@contextmanager
def _settings(variant: str) -> Iterator[None]:
    """Set them for the process, as users do: a block's settings would be looked up in each call."""
    config = mdhnp.config
    before = config.tuning, config.host, config.specialise
    config.tuning, config.host, config.specialise = "off", "never", _SPECIALISE[variant]
    try:
        yield
    finally:
        config.tuning, config.host, config.specialise = before


def _as_numpy(result: Any) -> Array | tuple[Array, ...]:
    if isinstance(result, tuple):
        return tuple([np.array(each.numpy()) for each in result])
    return np.array(result.numpy())


def arrived(problem: Problem, device: Device) -> Call:
    """Give the call of Arrays."""
    return partial(problem.ours, *[mdhnp.asarray(a, device=device) for a in problem.operands])


def prepared(problem: Problem, device: Device) -> Call:
    """Give the call of Arrays, once it is prepared: its kernels are on disk, for the sizes that they have."""
    call = arrived(problem, device)
    with _settings(PREPARED):
        mdhnp.prepare(call)
    return call


def tuned(call: Call, seconds: float) -> Ours:
    """Search each kernel's schedule for some seconds, from a cache without any."""
    with empty_cache():
        mdhnp.tune(call, budget=seconds, progress=False)
        return Ours.of(call, TUNED)
