"""Shows how a call is computed: its MDH, schedules, loops, OpenCL C text and times."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mdhnp.calls.arrays import OnHost
from mdhnp.calls.candidates import choose
from mdhnp.calls.kernels import procedures_of, repeating, staged
from mdhnp.calls.loading import load
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import ByNumpy, Kernels, Leaf
from mdhnp.calls.rewritings import by_name, name_of
from mdhnp.calls.steps import InSteps
from mdhnp.codegen.ir.show import show
from mdhnp.distributed import exchange
from mdhnp.documentation import public
from mdhnp.frontend.fuse import Fused
from mdhnp.fusion.rewrite import Rewriting
from mdhnp.runtime.devices import NoDeviceError
from mdhnp.runtime.transfers import Transfer, watched
from mdhnp.schedule import Schedule
from mdhnp.tuning.cache import cache
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.times import KERNELS, NUMPY, measured

_ORIGINS = {
    "tuned": "tuned", "family": "tuned for sizes near to this", "default": "default", "general": "for all sizes",
    "given": "as the call says",
}  # fmt: skip


@public(
    title="Attributes",
    launches="tuple of Leaf: The plans that computed, one for each MDH the call ran, in order.",
    seconds="float: The whole call, with everything prepared.",
    kernel_seconds="tuple of tuple of float: For each MDH, the time of each of its kernels on the device.",
    copies="tuple of Copy: What the call copied to and from devices.",
    exchanges="tuple of Exchange: What devices exchanged, where there are several.",
    rewriting="Rewriting or None: Of a fused function: its calls as they are written, the rules, and what they made of "
    "them.",
    host="tuple of OnHost: Functions that the host has computed, in order.",
    memory="tuple of str: For each computation in several steps whose temporaries were too large: how they keep within "
    "the limit.",
    example="""
>>> explanation = mdhnp.explain(mdhnp.stencil, np.arange(6.0), [1.0, 2.0, 1.0])
>>> "__kernel" in explanation.source
True""",
)
@dataclass(frozen=True)
class Explanation:
    """What :func:`explain` found; printing it shows everything."""

    launches: tuple[Leaf, ...]
    seconds: float
    kernel_seconds: tuple[tuple[float, ...], ...]
    copies: tuple[Transfer, ...]
    exchanges: tuple[exchange.Exchange, ...] = ()
    rewriting: Rewriting | None = None
    host: tuple[OnHost, ...] = ()
    memory: tuple[str, ...] = ()

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """One for each kernel, in order, for the call's ``schedule=`` to repeat it, or to begin from."""
        return tuple([s for plan in self.launches if isinstance(plan, Kernels) for s in repeating(plan)])

    @property
    def loops(self) -> str:
        """All kernels as they are before they are written in OpenCL C: loops, loads, stores, copies and barriers."""
        kernels = [p for plan in self.launches if isinstance(plan, Kernels) for p in procedures_of(plan)]
        return "\n".join(map(show, kernels))

    @property
    def source(self) -> str:
        """OpenCL C text of all kernels."""
        return "\n".join(plan.program.source for plan in self.launches if isinstance(plan, Kernels))

    @property
    def candidates(self) -> tuple[str, ...]:
        """A line for NumPy and each device: what a call takes by estimate, at least, and as it was measured."""
        return tuple(line for plan in self.launches for line in _candidates(plan))

    @property
    def summary(self) -> str:
        """All but the loops and the OpenCL C text."""
        lines = [] if self.rewriting is None else [str(self.rewriting)]
        for plan, seconds in zip(self.launches, self.kernel_seconds, strict=True):
            lines.append(f"mdh       {plan.mdhom}")
            lines.append(f"extents   {dict(zip(plan.mdhom.loops.names, plan.mdhom.extents, strict=True))}")
            if plan.mdhom.precision != "highest":
                lines.append(f"precision {plan.mdhom.precision}")
            lines.append(f"device    {' or '.join(f'{d.name} ({d.platform})' for d in plan.devices) or 'none'}")
            refused = [d.refused for d in plan.devices if d.refused]
            lines.extend(f"without   matrix instructions of several subgroups: {why}" for why in refused)
            lines.extend(f"candidate {text}" for text in _candidates(plan))
            lines.append(f"because   {plan.why}")
            if isinstance(plan, ByNumpy):
                lines.append(f"computed  by NumPy: {plan.function.name}")
            elif isinstance(plan, Kernels):
                for n, (schedule, origin) in enumerate(zip(plan.schedules, plan.origins, strict=True)):
                    aim = _aim(plan, n) if origin == "tuned" else ""
                    lines.append(f"schedule  {_ORIGINS[origin]}{aim}: {schedule}")
                    lines += [f"then      {later}" for later in schedule.following]
                times = [f"{k.name} {s * 1e6:.1f} µs" for k, s in zip(plan.program.kernels, seconds, strict=True)]
                lines.append(f"kernels   {', '.join(times)}")
            else:
                lines.append("kernels   none: an extent is 0")
        where = {True: "copies of arrays", False: "arrays where they are"}
        lines.extend(f"host      {each.name}, on {where[each.copied]}" for each in self.host)
        if not self.launches and not self.host:
            lines.append("mdh       none: the call was left to NumPy")
        lines.extend(f"memory    {said}" for said in self.memory)
        lines.extend(_copied(self.copies))
        if self.exchanges:
            moved = sum(each.nbytes for each in self.exchanges)
            lines.append(f"exchanged {moved} bytes between devices, in {len(self.exchanges)} pieces")
        lines.append(f"call      {self.seconds * 1e6:.1f} µs")
        return "\n".join(lines)

    def __str__(self) -> str:
        if not self.source:
            return self.summary
        stages = [stage.mdhom for plan in self.launches if isinstance(plan, Kernels) for stage in staged(plan)]
        shown = [
            f"# {h} of {'×'.join(map(str, h.extents))}\n{s!r}" for h, s in zip(stages, self.schedules, strict=True)
        ]
        schedules = "\n".join(shown)
        return f"{self.summary}\nschedules\n{schedules}\nloops\n{self.loops}\nsource\n{self.source}"


@public(
    """Run a call and tell how it is computed.

The function runs twice (once to prepare and see everything, once to be timed), and after that each kernel three times
more on the first run's arrays, so it should have no side effects. Calls that it makes in other threads are not
seen.""",
    function="callable: Any of this package's functions, or one that calls them.",
    args="Its arguments.",
    kwargs="",
    returns="Explanation: Printed, it shows everything.",
    raises={"TypeError": "If `function` is none."},
    example="""
>>> with mdhnp.config(host="never"):  # else NumPy computes this one, being small
...     explanation = mdhnp.explain(mdhnp.matmul, np.ones((4, 5)), np.ones((5, 6)))
>>> print(explanation.launches[0].mdhom)
md_hom(*, (++, ++, +)) ∘ (A[i,k], B[k,j]) -> C[i,j]""",
    guard=False,
)
def explain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    if not callable(function):
        raise TypeError(f"explain: takes a function, not {function!r}")
    trouble = ""
    try:
        load()
    except NoDeviceError as error:
        trouble = f"there is no device for kernels: {error}"
    with observe() as every:
        function(*args, **kwargs)
    seen = [(plan, arrays) for plan, arrays in every if isinstance(plan, Leaf)]
    with watched() as copies, exchange.watched() as exchanges:
        begin = time.perf_counter()
        function(*args, **kwargs)
        seconds = time.perf_counter() - begin
    kernels = [tuple(plan.profile(arrays)) if isinstance(plan, Kernels) else () for plan, arrays in seen]
    rewriting = None
    if isinstance(function, Fused):
        rewriting = function.rewriting(*args, **kwargs)
        devices = seen[0][0].devices if seen else ()
        rewriting = by_name(rewriting, name_of(rewriting.before, devices), devices) if devices else rewriting
    unloaded = [bool(trouble) and isinstance(plan, ByNumpy) and not plan.devices for plan, _ in seen]
    plans = tuple([replace(plan, why=trouble) if u else plan for (plan, _), u in zip(seen, unloaded, strict=True)])
    host = tuple(plan for plan, _ in every if isinstance(plan, OnHost))
    memory = tuple([plan.said for plan, _ in every if isinstance(plan, InSteps)])
    return Explanation(plans, seconds, tuple(kernels), tuple(copies), tuple(exchanges), rewriting, host, memory)


def _copied(copies: Sequence[Transfer]) -> Iterator[str]:
    """Say what was copied each way, how many bytes, and how long the caller waited for it."""
    for way, to_device in (("to", True), ("from", False)):
        made = [copy for copy in copies if copy.to_device is to_device]
        if made:
            nbytes, seconds = sum(copy.nbytes for copy in made), sum(copy.seconds for copy in made)
            rate = nbytes / max(seconds, 1e-9) / 1e9
            yield f"copied    {nbytes} bytes {way} the device in {seconds * 1e6:.1f} µs, {rate:.2g} GB/s"


def _aim(plan: Kernels, n: int) -> str:
    """Say for which objective the schedule of a stage was tuned, if not for the time."""
    entry = cache().get(key_of(staged(plan)[n].mdhom, plan.device))
    if entry is None or entry.objective == "time" or entry.schedule != plan.schedules[n]:
        return ""
    return f" for {entry.objective}"


def _candidates(plan: Leaf) -> Iterator[str]:
    """Say of NumPy and each device what a call takes: by estimate, at least, and as it was measured."""
    if 0 in plan.mdhom.extents or not plan.devices:
        return
    for one in choose(plan.mdhom, plan.devices):
        times = measured(plan.mdhom, one.device or plan.devices[0])
        known = times.get(NUMPY if one.device is None else KERNELS)
        said = "" if known is None else f", measured {known * 1e6:.1f} µs"
        yield f"{one.name}: about {one.seconds * 1e6:.1f} µs, at least {one.floor * 1e6:.1f} µs{said}"
