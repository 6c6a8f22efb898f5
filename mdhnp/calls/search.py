"""The helper process's part in tuning: it searches schedules, and makes kernels of the best for the caller to try."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from mdhnp.arrays import transfer
from mdhnp.arrays.array import make
from mdhnp.calls import kernels
from mdhnp.calls.build import Built, pack
from mdhnp.calls.call import call
from mdhnp.calls.request import Described, Request, Routine, results
from mdhnp.calls.tune import Tuning
from mdhnp.fusion.rewrite import rewriting
from mdhnp.mdh import Computation, Graph, put_indices
from mdhnp.runtime.devices import Device, equal_devices
from mdhnp.runtime.devices import device as use
from mdhnp.runtime.layout import Layout
from mdhnp.schedule import Schedule
from mdhnp.settings import Level, config
from mdhnp.tuning.cache import cache
from mdhnp.tuning.cache.records import BestSchedule, Key, Times
from mdhnp.tuning.lookup import Scheduled, key_of, tuned_for
from mdhnp.tuning.measure.check import filled
from mdhnp.tuning.search.session import Tuned, tune_stage
from mdhnp.tuning.times import measured

#: Seconds after which it is asked again whether another process has tuned the same.
_PAUSE = 1.0

#: Schedules that the caller tries, and how many times the best one's time they took here.
_TRIED, _CLOSE = 3, 1.15


@dataclass(frozen=True)
class SearchResult:
    """What a search brought: entries of the tuning cache, kernels to try, and seconds of calls by name of rewriting."""

    entries: tuple[tuple[Key, BestSchedule], ...] = ()
    candidates: tuple[Built, ...] = ()
    times: Times = field(default_factory=dict)


@dataclass(frozen=True)
class SearchJob:
    """A job: search schedules for the stages of a computation that have none."""

    #: As in :class:`mdhnp.calls.request.Request`.
    mdhom: Computation
    layouts: tuple[Layout, ...]
    #: Identity.
    device: str
    #: Seconds and measurements for each stage.
    budget: float
    evaluations: int

    urgent = False

    @property
    def limit(self) -> float:
        """Seconds; another process may be at the same, and each stage has its budget."""
        return 600.0 + 20 * self.budget

    def run(self) -> SearchResult:
        """Search, and compile what is to be tried."""
        device = equal_devices(self.device)[0]
        request = Request("", self.mdhom, self.layouts, (device,), config.mode)
        stages = [s.mdhom for s in kernels.staged(request)]
        tuned = [self._tuned(h, device) for h in stages]
        best = [tuned_for(h, device) for h in stages]
        tried = [best] if len(stages) > 1 or tuned[0] is None else [[s] for s in _finalists(tuned[0], best[0])]
        # Calls that cannot time them go on with the first, which was faster by turns, or in use before.
        candidates = tuple(
            pack(kernels.fixed(request, [Scheduled(s, "tuned") for s in each if s is not None], ""), device, ratio)
            for each, ratio in zip(tried, (1.0, *[_CLOSE] * _TRIED), strict=False)
            if None not in each
        )
        return SearchResult(entries_of([key_of(h, device) for h in stages]), candidates)

    def _tuned(self, h: Computation, device: Device) -> Tuned | None:
        while tuned_for(h, device) is None:
            found, _ = tune_stage(h, device, self.budget, self.evaluations)
            if found is not None:
                return found
            time.sleep(_PAUSE)  # another process is tuning it: what that finds is for this one's parent, too
        return None


def entries_of(keys: Iterable[Key]) -> tuple[tuple[Key, BestSchedule], ...]:
    """Give the tuning cache's entries of some keys, of those that it has."""
    found = ((key, cache().get(key)) for key in keys)
    return tuple((key, entry) for key, entry in found if entry is not None)


def learn(entries: Iterable[tuple[Key, BestSchedule]]) -> None:
    """Put what the helper has found into this process's tuning cache, where the file could not be written."""
    for key, tuned in entries:
        if cache().get(key) is None:
            cache().put(key, tuned)


def _finalists(tuned: Tuned, best: Schedule | None) -> list[Schedule | None]:
    """The winner, then the others that were about as fast."""
    ranked = sorted((m for m in tuned.measurements if m.status == "ok"), key=lambda m: m.seconds or 0.0)
    others = [m.schedule for m in ranked if m.schedule != best and (m.seconds or 0.0) <= _CLOSE * tuned.seconds]
    return [best, *others[: _TRIED - 1]]


@dataclass(frozen=True)
class SearchRewritings:
    """A job: time all rewritings of a graph, and tune the fastest."""

    #: As the function is written.
    written: Graph
    #: The arrays that it takes.
    given: tuple[tuple[Layout, np.dtype[Any]], ...]
    #: Identity.
    device: str
    #: Whether these are in the device's own memory.
    resident: bool
    #: As in :class:`mdhnp.settings.Config`.
    precision: Level
    #: Seconds and measurements for each stage.
    budget: float
    evaluations: int

    urgent = False

    @property
    def limit(self) -> float:
        """Seconds; two rewritings are tuned, and each stage of them has its budget."""
        return 600.0 + 20 * self.budget * len(self.written.steps)

    def run(self) -> SearchResult:
        device, rng = equal_devices(self.device)[0], np.random.default_rng(0)
        if known := measured(self.written, device):  # for another entry
            return SearchResult(times=dict(known))
        arrays: list[Any] = [filled(layout, dtype, rng) for layout, dtype in self.given]
        for step in self.written.steps:
            put_indices(step.mdhom.last, [arrays[n] if n < len(arrays) else None for n in step.inputs], rng)
        if self.resident:
            arrays = [make(transfer.put(a, device), device) for a in arrays]
        tuning = Tuning(self.budget, self.evaluations, progress=False)
        with use(device), config(precision=self.precision):
            tuning.tune_rewritings(partial(call, (_FUSED, self.written), tuple(arrays)), self.written, device)
        return SearchResult(entries_of(tuning.keys), times=dict(measured(self.written, device)))


_FUSED = Routine("fuse", lambda _, written: Described(rewriting(written).after, None, results, written=written))
