"""Tunes one stage of a call: searches, then compares the best by turns with what is in use, and remembers the winner.

Takes a stage in canonical form and a device. It must not know which call it is from.
"""

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from statistics import median
from typing import Any

from mdhnp.documentation import public
from mdhnp.errors import warn
from mdhnp.mdh import Computation
from mdhnp.process import process
from mdhnp.runtime.devices import Device, equal_devices
from mdhnp.schedule import DeviceCaps, Schedule
from mdhnp.schedule.default import default
from mdhnp.settings import config
from mdhnp.system import cores
from mdhnp.tuning.cache import TuningCache, cache
from mdhnp.tuning.cache.records import BestSchedule, Measurement
from mdhnp.tuning.lookup import family_schedule, key_of, similar, tuned_for
from mdhnp.tuning.measure.bench import TuningTask
from mdhnp.tuning.measure.objective import Objective
from mdhnp.tuning.measure.team import Team, WorkerError
from mdhnp.tuning.measure.turns import HEATS, MARGINS, ROUNDS, heats, is_faster, time_taken
from mdhnp.tuning.search.abort import Abort, SearchProgress, duration, evaluations
from mdhnp.tuning.search.described import SpaceSearch
from mdhnp.tuning.search.own import Cost, InvalidConfiguration, as_tuple, checked, scalar
from mdhnp.tuning.search.search import Search

#: Rounds in which a challenger that is faster by little is found to be so.
_DECIDING = MARGINS[-1][0]
#: Part of the budget that is kept for timing the finalists again, unless all of that takes less, and at most where the
#: rounds that decide take longer. In seconds it is no more than the last number.
_RESERVE, _MOST_RESERVE, _PATIENCE = 0.2, 0.5, 60.0
#: Part of the budget that building one candidate may take, and the least and the most of it in seconds.
_BUILDING, _BUILDING_LIMITS = 0.5, (5.0, 20.0)
#: Most processes that compile: candidates of one batch do not profit from what the others tell. For a GPU they need
#: much more time than measuring does, a second each; but each has some of its memory.
_BUILDERS, _GPU_BUILDERS = 4, 8
#: Candidates on a CPU whose building takes about what one such process takes to start, a second: fewer have none.
_FEW = 5

# One search at a time in a process: two would disturb each other's measurements. A finalizer or signal handler amid a
# search must not wait for its own thread.
_searching = process.lock(reentrant=False)
_searcher: int | None = None

#: Makes the search of a stage in a user's space, of the stage, the device, the first schedule and a seed.
_Described = Callable[[Computation, DeviceCaps, Schedule, int], SpaceSearch]
_Report = Callable[[int, str], None]

TIME = Objective("time")


@public(
    title="Attributes",
    mdhom="Computation: The stage in canonical form.",
    schedule="Schedule: What later calls use: the best that was found, or what was in use before if that is about as "
    "fast.",
    seconds="float: Of a call by it and by the default schedule, measured in the same run.",
    default_seconds="",
    measurements="tuple of Measurement: Everything measured, in order.",
    family_seconds="float or None: Of a call by what sizes near to this one use, where several were tuned together.",
    cost="float or tuple of float, or None: Of both schedules, what `objective` makes of them; None where that is the "
    "time, or passes over the schedule.",
    default_cost="",
)
@dataclass(frozen=True)
class Tuned:
    """What tuning one stage brought."""

    mdhom: Computation
    schedule: Schedule
    seconds: float
    default_seconds: float
    measurements: tuple[Measurement, ...]
    family_seconds: float | None = None
    cost: Any = None
    default_cost: Any = None

    def __str__(self) -> str:
        ratio = self.default_seconds / self.seconds
        cost = "" if self.cost is None else f"cost {self.cost}, of the default schedule {self.default_cost}: "
        said = (
            f"{self.mdhom}: {cost}{self.seconds * 1e6:.1f} µs, {ratio:.2f} times as fast as the default schedule, "
            f"after {len(self.measurements)} measurements"
        )
        return said if self.family_seconds is None else f"{said}; {self.family_seconds * 1e6:.1f} µs by the family's"


def search(untuned: Sequence[Computation], device: Device) -> bool:
    """Search schedules of stages in canonical form now, `config.budget` seconds each, after another thread's search.

    Gives whether to leave it at that: not where another process is searching, or this thread.
    """
    global _searcher  # noqa: PLW0603
    if not _searching.acquire(blocking=_searcher != threading.get_ident()):
        return False
    _searcher = threading.get_ident()
    try:
        for h in untuned:
            if tuned_for(h, device) is not None:  # since the plan was made, by another call, thread or process
                continue
            tuned, stopped = tune_stage(h, device, config.budget)
            if tuned is None or stopped:
                return stopped
        return True
    except Exception as error:  # whatever keeps a call from being tuned must not keep it from running
        warn(f"a call could not be tuned: {error}")
        return True
    finally:
        _searcher = None
        _searching.release()


def tune_stage(
    h: Computation,
    device: Device,
    budget: float,
    evaluations: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
    beside: Sequence[Device] = (),
    abort: Abort | None = None,
    described: _Described | None = None,
    objective: Objective = TIME,
) -> tuple[Tuned | None, bool]:
    """Search a schedule for one stage in canonical form, unless another thread or process is doing so.

    Takes what :func:`mdhnp.tune` takes, devices equal to `device` that measure `beside` it, and what searches a space
    that is `described`, or for another objective than the time; no number of evaluations means as many as there is time
    for. By default a progress bar is shown by the main thread on a terminal. Gives what that brought, None where
    another one holds the claim, and whether the user stopped it.
    """
    if progress is None:
        progress = sys.stderr.isatty() and threading.current_thread() is threading.main_thread()
    objective.require_counters(device)
    known, key = cache(), key_of(h, device)
    owner = known.claim(key)
    if owner is None:
        return None, False
    try:
        team = team_of(h, (device, *beside), budget, seed, evaluations)
        made = _Tuning(h, device, known, owner, budget, evaluations, seed, abort, described, objective)
        return made.run(team, progress)
    finally:
        known.release(key, owner)


def team_of(h: Computation, members: Sequence[Device], budget: float, seed: int, count: int | None = None) -> Team:
    """Workers on the devices, which are known by their positions among equal ones, for so many candidates at most."""
    first, *others = members
    task = TuningTask(h, first.identity, default(h, first.caps), seed)
    equal = equal_devices(task.device)
    least, most = _BUILDING_LIMITS
    limit = min(max(_BUILDING * budget, least), most)
    units, is_gpu = first.caps.compute_units, first.caps.kind == "gpu"
    few = units == 1 or (count is not None and count < _FEW)
    if others or (few and not is_gpu):  # other devices' workers compile at the same time anyway
        builders = 0
    else:  # on a GPU's host one core is left for what measures
        builders = min(cores() - 1, _GPU_BUILDERS) if is_gpu else min(units, _BUILDERS)
    # While kernels are timed, by the clock of a GPU, others may be compiled.
    return Team(task, [equal.index(d) for d in members], limit, builders, overlaps=is_gpu and not first.svm)


class _Tuning:
    """One stage's search and final."""

    def __init__(
        self, h: Computation, device: Device, known: TuningCache, owner: str, budget: float, most: int | None,
        seed: int, abort: Abort | None, described: _Described | None, objective: Objective,
    ) -> None:  # fmt: skip
        self._h, self._known, self._owner, self._budget, self._most = h, known, owner, budget, most
        key = self._key = key_of(h, device)
        start = default(h, device.caps)
        shared = family_schedule(h, device)
        likely = [*([] if shared is None else [shared]), *similar(h, device)]
        self._search = (
            described(h, device.caps, start, seed) if described else Search(h, device.caps, start, seed, likely)
        )
        self._log = known.measurements(key)
        self._search.resume((m.schedule, m.seconds) for m in self._log)
        #: What is in use: calls go on with it if nothing is faster. What was tuned for something else may be slow:
        #: then the default schedule stands for it.
        self._used = tuned_for(h, device, "time" if objective.is_time else None) or shared or start
        self._start = start
        self._made: list[Measurement] = []
        self._objective = objective
        #: What those cost that worked, in order.
        self._costs: dict[Schedule, Cost] = {}
        #: Why the objective passed over the last one that it did.
        self._passed = ""
        self._asked = 0
        self._end = math.inf
        limits = [duration(budget), abort, None if most is None else evaluations(most)]
        #: When the search ends.
        self._abort = reduce(or_, [limit for limit in limits if limit is not None])

    def run(self, team: Team, show: bool) -> tuple[Tuned, bool]:
        """Search, then compare the best with what is in use; also whether the user ended the search."""
        stopped = False
        with team, _bar(show, self._most, self._h) as report:
            try:
                self._explore(team, report)
            except KeyboardInterrupt:
                if self._search.best is None:
                    raise
                stopped = True  # the user has had enough of searching; what was found counts if it is faster
            try:
                if self._objective.is_time:
                    best, seconds, default_seconds = self._final(team, hurried=stopped)
                else:
                    best, seconds, default_seconds = self._cheapest(team)
            except KeyboardInterrupt:  # enough of this, too: all stays as it was
                told = self._told()
                seconds = told.get(self._used) or told[self._search.finalists(1)[0]]
                return self._tuned(self._used, seconds, told.get(self._start, seconds)), True
        before = self._known.get(self._key)
        entry = BestSchedule(
            best, seconds, len(self._log) + len(self._made), datetime.now(UTC).isoformat(), str(self._h),
            near=None if before is None else before.near, objective=self._objective.name,
        )  # fmt: skip
        self._known.put(self._key, entry)
        return self._tuned(best, seconds, default_seconds), stopped

    def _tuned(self, schedule: Schedule, seconds: float, default_seconds: float) -> Tuned:
        costs = () if self._objective.is_time else (self._costs.get(schedule), self._costs.get(self._start))
        return Tuned(self._h, schedule, seconds, default_seconds, tuple(self._made), None, *costs)

    def _told(self) -> dict[Schedule, float]:
        return {m.schedule: m.seconds for m in self._made if m.seconds is not None}

    def _explore(self, team: Team, report: _Report) -> None:
        """Measure what the search asks for; the default schedule comes first in every search, and alone."""
        team.start()
        candidates = self._ask(1)
        while candidates:
            ahead = self._ask(len(team)) if team.overlaps else []
            team.begin(ahead)
            fastest = min(self._told().values(), default=None)
            try:
                # A slow one may be the best by another objective.
                for each in team.measure(candidates, fastest if self._objective.is_time else None):
                    self._known.record(self._key, each)
                    self._known.claim(self._key, self._owner)  # renews it
                    self._made.append(each)
                    self._search.tell(each.schedule, scalar(self._cost(team, each)))
                    if team.serial and self._is_late():
                        break  # what is compiled is left
            except WorkerError:
                if fastest is None:
                    raise
                return
            report(len(self._made), self._shown())
            if self._end == math.inf:  # drivers load until something is measured
                self._end = time.monotonic() + self._budget
            if self._is_late():
                return
            candidates = ahead or self._ask(len(team))

    def _cost(self, team: Team, made: Measurement) -> Cost | None:
        """Give what a schedule costs that was measured, and keep it; None if it cannot be used."""
        if made.seconds is None:
            return None
        known: dict[str, float] | Measurement = {"time": made.seconds}
        if {*self._objective.wanted} - {"time"}:
            known = team.measured(made.schedule, self._objective.wanted, made.seconds)
        if isinstance(known, Measurement):
            return None
        try:
            cost = self._costs[made.schedule] = checked(self._objective(known), "tune: objective")
        except InvalidConfiguration as error:  # also of the default schedule: others may be what is wanted
            self._passed = str(error)
            return None
        return cost

    def _shown(self) -> str:
        """Say what the best one costs so far."""
        if not self._costs:
            return ""
        least = min(self._costs.values(), key=as_tuple)
        return f"best {least * 1e6:.1f} µs" if self._objective.is_time else f"best {least}"

    def _ask(self, count: int) -> list[Schedule]:
        """Candidates, as many as wanted and allowed and there are."""
        asked: list[Schedule] = []
        while len(asked) < count and not self._abort.reached(self._progress(self._asked + len(asked))):
            if (candidate := self._search.ask()) is None:
                break
            asked.append(candidate)
        self._asked += len(asked)
        return asked

    def _progress(self, count: int) -> SearchProgress:
        """How far the search is with so many candidates."""
        seconds = 0.0 if self._end == math.inf else time.monotonic() - (self._end - self._budget)
        costs = [*map(as_tuple, self._costs.values())]
        stalled = len(costs) - 1 - costs.index(min(costs)) if costs else 0
        return SearchProgress(seconds, count, stalled, costs[0][0] if costs else None, min(costs)[0] if costs else None)

    def _is_late(self) -> bool:
        """Whether the search is to end, as where one more candidate and the final take longer than there is time."""
        told = self._told()
        best = min(told.values(), default=0.0)
        last = [best, *(told.get(s, best) for s in {self._used, self._start})]
        done, sizes = self._progress(len(self._made)), heats(len(told))
        # Run once to be checked, and once to be timed; before, it is compiled.
        one = max(2 * best, done.seconds / max(len(self._made) - 1, 1))
        whole = sum(time_taken([best] * size, HEATS) for size in sizes) + time_taken(last, ROUNDS)
        whole += one * (sizes[0] - sizes[-1])  # they are built again
        decided = min(time_taken(last, _DECIDING), _MOST_RESERVE * self._budget)
        reserve = min(max(_RESERVE * self._budget, decided), whole, _PATIENCE)
        more = one if self._used in told else 2 * one  # it is measured before the final
        return self._abort.reached(replace(done, seconds=done.seconds + more + reserve))

    def _cheapest(self, team: Team) -> tuple[Schedule, float, float]:
        """Give the schedule of the least cost, that in use where it costs no more; its seconds, and the default's."""
        told = self._told()
        if self._used not in told:
            with suppress(WorkerError):
                for each in team.measure([self._used], None):
                    self._cost(team, each)
                    told |= {each.schedule: each.seconds} if each.seconds is not None else {}
        if not self._costs:
            raise self._nothing()
        best = min(self._costs, key=lambda s: (as_tuple(self._costs[s]), s != self._used))
        return best, told[best], told.get(self._start, told[best])

    def _nothing(self) -> RuntimeError:
        if self._passed:
            return RuntimeError(f"tune: objective: passes over all schedules that were measured: {self._passed}")
        message = self._made[0].message if self._made else ""
        return RuntimeError(f"tune: the default schedule cannot be measured on this device: {message}")

    def _final(self, team: Team, *, hurried: bool) -> tuple[Schedule, float, float]:
        """Give the schedule that calls are to use, its seconds, and the default's.

        The winner among the fastest of the search, by turns, is the challenger of what is in use, in new rounds: its
        place is its own only where it is faster in these. Whoever is `hurried` takes the fastest of the search.
        """
        told, used, start = self._told(), self._used, self._start
        left = self._search.finalists((sizes := heats(len(told)))[0])
        if not left:
            raise self._nothing()
        if used not in told:
            with suppress(WorkerError):
                told |= {m.schedule: m.seconds for m in team.measure([used], None) if m.seconds is not None}
            used = used if used in told else start  # what fails here or is wrong is no incumbent
        challengers = [s for s in left if s != used]
        longest = max(told.get(used, 0.0), told[left[0]])
        last = [told.get(s, longest) for s in dict.fromkeys([used, *challengers[:1], start])]
        for size in [] if hurried else sizes:
            several, left_over = challengers[:size], self._left() - time_taken(last, _DECIDING)
            while len(several) > 1 and time_taken([told[s] for s in several], HEATS) > left_over:
                several = several[:-1]
            if len(several) > 1:
                self._known.claim(self._key, self._owner)  # renews it
                times = team.turns(several, HEATS, left_over)
                challengers = sorted(several, key=lambda s: median(times[s] or [math.inf]))
        self._known.claim(self._key, self._owner)
        rounds = team.turns([used, *challengers[:1], start], ROUNDS, self._left() if challengers else 0.0)
        won = next((s for s in challengers[:1] if is_faster(rounds[s], rounds[used])), used)
        seconds = median(rounds[won] or [told.get(won, longest)])
        return won, seconds, median(rounds[start] or [told.get(start, seconds)])

    def _left(self) -> float:
        return min(self._end - time.monotonic(), _PATIENCE)


@contextmanager
def _bar(show: bool, most: int | None, h: Computation) -> Iterator[_Report]:
    """A progress bar on standard error, or nothing."""
    if not show:
        yield lambda count, said: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn(str(h)[:40]), BarColumn(), TextColumn("{task.fields[best]}"), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True,
    ) as bar:  # fmt: skip
        task = bar.add_task("tuning", total=most, best="")

        def report(count: int, said: str) -> None:
            bar.update(task, completed=count, best=said)

        yield report
