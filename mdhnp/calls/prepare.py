"""Makes calls ready ahead of time: their kernels compiled, and measured beside NumPy's functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mdhnp.calls import kernels
from mdhnp.calls.arrays import OnHost
from mdhnp.calls.build import Build, compare
from mdhnp.calls.observe import Observed, observe
from mdhnp.calls.operands import fallback_counts
from mdhnp.calls.plans import Kernels, Nothing, SlicedKernels
from mdhnp.calls.request import Request
from mdhnp.calls.store import forget
from mdhnp.documentation import public
from mdhnp.errors import warn
from mdhnp.mdh import Computation
from mdhnp.runtime import programs
from mdhnp.runtime.devices import Device
from mdhnp.runtime.layout import Layout
from mdhnp.settings import Mode, config
from mdhnp.tuning import background
from mdhnp.tuning.times import KERNELS, NUMPY, remember

#: Settings by which kernels with the best schedules known compute all calls.
BY_KERNELS: dict[str, Any] = {"tuning": "off", "host": "never", "specialise": "always", "schedule": None}


@public(
    title="Attributes",
    mdhom="Computation: What is computed.",
    device="Device: Where its kernels run.",
    seconds="float or None: Of a call by kernels; None where NumPy has no function to compare with, operands are on a "
    "device, or memory for both is short.",
    numpy_seconds="float or None: Of a call by NumPy.",
    example="""
>>> (ready,) = mdhnp.prepare(mdhnp.matmul, np.ones((3, 4)), np.ones((4, 5)))
>>> ready.mdhom.extents, ready.device in mdhnp.devices()
((3, 5, 4), True)""",
)
@dataclass(frozen=True)
class Prepared:
    """What was made ready."""

    mdhom: Computation
    device: Device
    seconds: float | None
    numpy_seconds: float | None

    def __str__(self) -> str:
        if self.seconds is None or self.numpy_seconds is None:
            return f"{self.mdhom}: kernels on {self.device.name}"
        faster = "kernels" if self.seconds < self.numpy_seconds else "NumPy"
        times = f"kernels {self.seconds * 1e6:.1f} µs, NumPy {self.numpy_seconds * 1e6:.1f} µs"
        return f"{self.mdhom}: {times}: {faster} on {self.device.name}"


@public(
    "Compile a call's kernels and measure them beside NumPy; later calls, in all processes, begin with the faster.",
    function="callable: Any of this package's functions, or one that calls them.",
    args="Its arguments. The call itself runs once, by kernels; with ``out=`` it writes there.",
    kwargs="",
    returns="tuple of Prepared: One for each computation of the call; none, with a RuntimeWarning that says why, "
    "where kernels compute nothing.",
    raises={"TypeError": "If `function` is none."},
    example="""
>>> a = np.ones((300, 300), np.float32)
>>> (ready,) = mdhnp.prepare(mdhnp.matmul, a, a)
>>> print(ready.mdhom)
md_hom(*, (++, ++, +)) ∘ (A[i,k], B[k,j]) -> C[i,j]""",
    guard=False,
)
def prepare(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Prepared, ...]:
    if not callable(function):
        raise TypeError(f"prepare: takes a function, not {function!r}")
    try:
        return tuple(map(settle, requests_of(partial(function, *args, **kwargs), "prepare")))
    finally:
        forget()


def requests_of(call: Callable[[], Any], asking: str) -> list[Request]:
    """Make a call by kernels, and give what is asked for in it, but for copies into memory that was there.

    Where there are none, a warning says why in the name of the function that is `asking`.
    """
    before = fallback_counts()
    with config(**BY_KERNELS), observe() as seen:
        call()
        mode = config.mode
    parts = {id(part) for plan, _ in seen if isinstance(plan, SlicedKernels) for part, _ in plan.parts}
    requests = [
        _request(plan, tuple(arrays), mode)
        for plan, arrays in seen
        if isinstance(plan, SlicedKernels) or (isinstance(plan, Kernels) and not plan.into and id(plan) not in parts)
    ]
    if not requests:
        left = [name for name, count in fallback_counts().items() if count > before.get(name, 0)]
        warn(f"{asking}: the call has no kernels with schedules: {_why_none(seen, left)}")
    return list(dict.fromkeys(requests))


def _request(plan: Kernels | SlicedKernels, arrays: tuple[Any, ...], mode: Mode) -> Request:
    layouts = tuple(map(Layout.of, arrays))
    mode = mode.of_views if isinstance(plan, Kernels) and plan.executable.resident else mode
    given = () if plan.own is None else arrays  # else temporaries would be held
    said = plan.schedules if isinstance(plan, Kernels) and "given" in plan.origins else ()
    return Request("", plan.mdhom, layouts, plan.devices, mode, own=plan.own, given=given, schedules=said)


def _why_none(seen: Observed, left: Sequence[str]) -> str:
    """Say why no kernels of a call have schedules, of which plans were `seen` and functions `left` to NumPy."""
    plans = [plan for plan, _ in seen]
    if left:
        return f"{', '.join(left)} of such operands is left to NumPy"
    if hosts := [plan.name for plan in plans if isinstance(plan, OnHost)]:
        return f"the host computes {', '.join(hosts)}"
    if any([isinstance(plan, Nothing) for plan in plans]):
        return "an extent is 0"
    if plans:
        return "it only moves elements into memory that was there"
    return "it calls no function of this package that has such kernels"


def settle(request: Request) -> Prepared:
    """Measure the kernels of a request beside NumPy's function, where that may compute it, and keep them."""
    plan = kernels.own(request, "")
    measured = None if request.mode.resident else compare(plan, request)
    if isinstance(measured, str):
        raise RuntimeError(f"prepare: {request.mdhom}: {measured}")
    if measured is not None:
        remember(request.mdhom, request.device, {KERNELS: measured[0], NUMPY: measured[1]})
    if isinstance(plan, Kernels):
        kernels.keep(plan)
    if request.device.runtime in programs.UNASKED and not request.mode.resident:
        # The helper asks, for later programs.
        job = Build(request.mdhom, request.layouts, (request.device.identity,), None)
        background.submit(job, lambda _: None, lambda _: None)
        background.wait()
    return Prepared(request.mdhom, request.device, *(measured or (None, None)))
