"""The helper process's part in a call: it makes kernels, checks them, and sees how they compare.

Takes a computation, arrays' layouts and devices; gives what the caller's process needs to run the kernels without
compiling anything. What it allocates is its own: no array of the caller's is written to.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from mdhnp import system
from mdhnp.calls import kernels
from mdhnp.calls.candidates import fastest_kernels, on_device
from mdhnp.calls.numpy_tier import NumpyFunction, numpy_function
from mdhnp.calls.plans import ByNumpy, Kernels, Plan, SlicedKernels
from mdhnp.calls.request import Array, Request
from mdhnp.codegen import Program
from mdhnp.mdh import Computation
from mdhnp.runtime.devices import Device, equal_devices
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.programs import build, compiled, load
from mdhnp.settings import config
from mdhnp.system import spinning
from mdhnp.tuning.cache import cache
from mdhnp.tuning.lookup import Scheduled, key_of
from mdhnp.tuning.measure.check import filled, is_close, timed
from mdhnp.tuning.times import KERNELS, NUMPY, judge, remember

#: Kernels that take so many times as long as NumPy here are not tried in calls. Others use the machine meanwhile.
_HOPELESS = 3.0

#: Kernels that take less than this part of NumPy's time in the caller are fast enough, whatever NumPy takes here.
_CLEAR = 0.5

#: Part of the machine's memory up to which the operands of a check are allocated; bytes of one that does not tell.
_MEMORY, _UNKNOWN = 1 / 16, 1 << 32

#: Runs of one in a row: enough to fill this time in seconds, within these counts.
_FILL, _FEWEST, _MOST = 0.02, 2, 20


@dataclass(frozen=True)
class Built:
    """Kernels that are ready, by schedules and binary."""

    #: Identity of the device they are for.
    device: str
    #: The schedule of each stage; empty for what is computed in parts, each of which has its own.
    found: tuple[Scheduled, ...]
    #: Their program; None for what is computed in parts.
    program: Program | None
    #: Text and binary of all programs.
    binaries: tuple[tuple[str, bytes], ...]
    #: Their time relative to that of the plan in use, as far as is known; 1 where it is not.
    ratio: float
    #: Seconds of a processor that it took to compile them; None where nothing was compiled.
    price: float | None


@dataclass(frozen=True)
class Hopeless:
    """Kernels are not to be tried; `why` says why, for people."""

    why: str
    #: Whether times said so, which other work on the machine may have made.
    timed: bool = False


@dataclass(frozen=True)
class Build:
    """A job: make kernels for a computation on the best of some devices."""

    #: As in :class:`mdhnp.calls.request.Request`.
    mdhom: Computation
    layouts: tuple[Layout, ...]
    #: Identities of the candidates.
    devices: tuple[str, ...]
    #: Seconds that calls take by NumPy; None where kernels are made whatever NumPy takes.
    usual: float | None

    urgent = True
    limit = 300.0

    def run(self) -> Built | Hopeless:
        """Choose the device, compile, check on operands and results of its own, and time by turns with NumPy."""
        best = self._best()
        if isinstance(best, Hopeless):
            return best
        request = Request("", self.mdhom, self.layouts, (best,), config.mode)
        begin, before = time.process_time(), compiled()
        plan = kernels.own(request, "")
        price = time.process_time() - begin if compiled() > before else None  # others have compiled it
        compared = None if self.usual is None else compare(plan, request, self.usual)
        if isinstance(compared, str):
            return Hopeless(compared)
        if compared is not None and compared[0] > _HOPELESS * compared[1]:
            return Hopeless(f"kernels take {compared[0] / compared[1]:.1f} times as long as NumPy", timed=True)
        return pack(plan, best, 1.0 if compared is None else compared[0] / compared[1], price)

    def _best(self) -> Device | Hopeless:
        candidates = [d for identity in self.devices for d in equal_devices(identity)]
        if not candidates:
            raise RuntimeError(f"no device {self.devices[0]} in a process started by this one")
        if len(candidates) == 1:  # then what its memory and arithmetic give is not measured
            best = on_device(self.mdhom, candidates[0], large=False)
        else:
            best = fastest_kernels(self.mdhom, candidates)
        if best is None or best.device is None:
            return Hopeless("no device can compute it")
        if self.usual is not None and best.floor >= self.usual:
            return Hopeless(f"NumPy takes {self.usual * 1e6:.1f} µs, no kernel less than {best.floor * 1e6:.1f} µs")
        return best.device


def pack(plan: Kernels | SlicedKernels, device: Device, ratio: float, price: float | None = None) -> Built:
    """Give what another process needs to run these kernels."""
    each = {id(one): one for one, _ in plan.parts}.values() if isinstance(plan, SlicedKernels) else [plan]
    texts = sorted({one.program.source for one in each})
    binaries = tuple((text, bytes(build(device, text).binaries[0])) for text in texts)
    if isinstance(plan, SlicedKernels):
        return Built(device.identity, (), None, binaries, ratio, price)
    found = tuple(map(Scheduled, plan.schedules, plan.origins))
    return Built(device.identity, found, plan.program, binaries, ratio, price)


def install(request: Request, built: Built) -> Kernels | SlicedKernels:
    """Make the plan of what the helper has built for the request's device; compiles nothing."""
    why = "is tried beside the plan before"
    # As long as they are held they are found again by their texts.
    held = [load(request.device, text, binary) for text, binary in built.binaries]
    if built.program is None:
        plan: Kernels | SlicedKernels = kernels.own(request, why)
    else:
        plan = kernels.fixed(request, built.found, why, built.program)
    del held
    return plan


def compare(
    plan: Kernels | SlicedKernels, request: Request, usual: float | None = None
) -> tuple[float, float] | str | None:
    """Check kernels beside NumPy's function, and time both by turns.

    Gives the seconds of a call by kernels and by NumPy, medians of three rounds, so that no single one decides; why
    kernels are not to be used; or None where the operands would take too much memory. `usual` is what NumPy takes in
    the caller's process. That is taken for its time where kernels take less than half of it here, and on a GPU: NumPy
    here, of low priority, would wait for the cores that the caller's own products have, and its time would say nothing.

    A function that the call itself brings is only timed, on the arrays of a call: indices among them must name
    elements, and weights be those it is for; and of any numbers sums in another order may differ by more than a check
    allows.
    """
    function = request.own or numpy_function(request.mdhom)
    views = (*request.mdhom.inputs, *request.mdhom.outputs)
    if function is None or not affordable(2 * sum(v.span_bytes for v in views)):
        return None
    try:
        if request.own is None:
            rng, pairs = np.random.default_rng(0), zip(request.layouts, request.mdhom.inputs, strict=True)
            arrays = tuple([filled(layout, v.dtype, rng) for layout, v in pairs])
            if not _is_right(plan, function, arrays):
                return "the kernels' result differs from NumPy's"
        else:
            arrays = request.given
        if usual is not None:
            ours = median([_least(partial(plan.run, arrays)) for _ in range(3)])
            if request.device.kind == "gpu" or ours < _CLEAR * usual:
                return ours, usual
        rest = spinning() if function.work.multiplied else 0.0
        rounds = []
        for _ in range(3):
            rounds.append((_least(partial(plan.run, arrays)), _least(partial(function.compute, *arrays))))
            time.sleep(rest)
    except MemoryError:
        return None
    return median([ours for ours, _ in rounds]), median([numpys for _, numpys in rounds])


def _is_right(plan: Kernels | SlicedKernels, function: NumpyFunction, arrays: Sequence[Array]) -> bool:
    """Whether kernels give what NumPy's function gives."""
    right = np.asarray(function.compute(*arrays))
    results = plan.make()
    for result in results:  # what is not written must not look right
        result.reshape(-1).view(np.uint8).fill(0xA5)
    plan.compute(arrays, results)
    return is_close(results[0], right)


def _least(work: Callable[[], Any]) -> float:
    return min(timed(work, _FILL, _FEWEST, _MOST))  # whatever else the machine does adds to it


def affordable(nbytes: int) -> bool:
    """Whether the helper allocates so many bytes for operands and results of its own."""
    return nbytes <= _MEMORY * (system.memory() or _UNKNOWN)


def keep(request: Request, won: Plan, calls: Mapping[str, Sequence[float]]) -> None:
    """Keep the seconds of calls by name of a plan, and the winner: for other processes, and later calls of this one."""
    seconds = {plan: median(each) for plan, each in calls.items()}
    remember(request.mdhom, request.device, seconds)
    if len(calls) > 1:
        judge(request.mdhom, request.device, NUMPY if isinstance(won, ByNumpy) else KERNELS, calls)
    if not isinstance(won, Kernels) or won.origins == ("general",):
        return
    stages = kernels.staged(request)
    if len(stages) == 1:
        key, schedule = key_of(stages[0].mdhom, request.device), won.schedules[0]
        known = cache().get(key)
        if known is not None and known.schedule != schedule and known.objective == "time":
            now = datetime.now(UTC).isoformat()
            tuned = replace(known, schedule=schedule, seconds=seconds[KERNELS], tuned_at=now, source="tuned")
            cache().put(key, tuned)
            won = replace(won, origins=("tuned",))
    kernels.keep(won)
