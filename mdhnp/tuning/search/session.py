"""Tunes one stage of a call: searches, then compares the best by turns, and remembers the winner for good.

Takes a stage in canonical form and a device. It must not know which call it is from.
"""

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from mdhnp.mdh import Computation
from mdhnp.process import process
from mdhnp.runtime.devices import Device, equal_devices
from mdhnp.schedule import Schedule
from mdhnp.schedule.default import default
from mdhnp.settings import config
from mdhnp.tuning.cache import TuningCache, cache
from mdhnp.tuning.cache.records import BestSchedule, Measurement
from mdhnp.tuning.lookup import key_of, tuned_for
from mdhnp.tuning.measure.bench import TuningTask, runs_after
from mdhnp.tuning.measure.team import Team, WorkerError
from mdhnp.tuning.processes import cores
from mdhnp.tuning.search.search import Search
from mdhnp.warning import warn

_FINALISTS, _ROUNDS = 5, 7
#: Part of the budget that is kept for timing the finalists again.
_RESERVE = 0.2
#: Part of the budget that building one candidate may take, and the least and the most of it in seconds.
_BUILDING, _BUILDING_LIMITS = 0.5, (5.0, 20.0)
#: Most processes that compile: candidates of one batch do not profit from what the others tell. For a GPU they need
#: much more time than measuring does, a second each; but each has some of its memory.
_BUILDERS, _GPU_BUILDERS = 4, 8
#: What a run takes besides its kernels where it is not timed by turns.
_TRIP = 2e-5

# One search at a time in a process: two would disturb each other's measurements. A finalizer or signal handler amid a
# search must not wait for its own thread.
_searching = process.lock(reentrant=False)
_searcher: int | None = None

_Report = Callable[[int, tuple[Schedule, float] | None], None]


@dataclass(frozen=True)
class Tuned:
    """What tuning one stage brought.

    Attributes
    ----------
    mdhom : Computation
        The stage in canonical form.
    schedule : Schedule
        The best known now, which later calls use.
    seconds, default_seconds : float
        Its time and that of the default schedule, measured in the same run.
    measurements : tuple of Measurement
        Everything measured, in order.
    """

    mdhom: Computation
    schedule: Schedule
    seconds: float
    default_seconds: float
    measurements: tuple[Measurement, ...]

    def __str__(self) -> str:
        ratio = self.default_seconds / self.seconds
        return (
            f"{self.mdhom}: {self.seconds * 1e6:.1f} µs, {ratio:.2f} times as fast as the default schedule, "
            f"after {len(self.measurements)} measurements"
        )


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
) -> tuple[Tuned | None, bool]:
    """Search a schedule for one stage in canonical form, unless another thread or process is doing so.

    Takes what :func:`mdhnp.tune` takes, and devices equal to `device` that measure `beside` it; no number of
    evaluations means as many as there is time for. By default a progress bar is shown by the main thread on a
    terminal. Gives what that brought, None where another one holds the claim, and whether the user stopped it.
    """
    if progress is None:
        progress = sys.stderr.isatty() and threading.current_thread() is threading.main_thread()
    known, key = cache(), key_of(h, device)
    owner = known.claim(key)
    if owner is None:
        return None, False
    try:
        team = _team(h, (device, *beside), budget, seed)
        return _Tuning(h, device, known, owner, budget, evaluations, seed).run(team, progress)
    finally:
        known.release(key, owner)


def _team(h: Computation, members: Sequence[Device], budget: float, seed: int) -> Team:
    """Workers on the devices, which are known by their positions among equal ones."""
    first, *others = members
    task = TuningTask(h, first.identity, default(h, first.caps), seed)
    equal = equal_devices(task.device)
    least, most = _BUILDING_LIMITS
    limit = min(max(_BUILDING * budget, least), most)
    units, is_gpu = first.caps.compute_units, first.caps.kind == "gpu"
    if others or (units == 1 and not is_gpu):  # other devices' workers compile at the same time anyway
        builders = 0
    else:  # on a GPU's host one core is left for what measures
        builders = min(cores() - 1, _GPU_BUILDERS) if is_gpu else min(units, _BUILDERS)
    # While kernels are timed, by the clock of a GPU, others may be compiled.
    return Team(task, [equal.index(d) for d in members], limit, builders, overlaps=is_gpu and not first.svm)


class _Tuning:
    """One stage's search and final."""

    def __init__(
        self, h: Computation, device: Device, known: TuningCache, owner: str, budget: float, most: int | None, seed: int
    ) -> None:
        self._h, self._known, self._owner, self._budget, self._most = h, known, owner, budget, most
        key = self._key = key_of(h, device)
        start = default(h, device.caps)
        self._search = Search(h, device.caps, start, seed)
        self._log = known.measurements(key)
        self._search.resume((m.schedule, m.seconds) for m in self._log)
        tuned = tuned_for(h, device)
        self._used, self._is_tuned, self._by_turns = tuned or start, tuned is not None, device.svm
        self._made: list[Measurement] = []
        self._asked = 0
        self._end = math.inf

    def run(self, team: Team, show: bool) -> tuple[Tuned, bool]:
        """Search, then compare the best by turns; also whether the user ended it early."""
        stopped = False
        with team, _bar(show, self._most, self._h) as report:
            try:
                self._explore(team, report)
                best, seconds, compared = self._final(team)
            except KeyboardInterrupt:
                if self._search.best is None:
                    raise
                # The user has had enough of searching; what was found counts.
                (best, seconds), compared, stopped = self._search.best, False, True
        entry = BestSchedule(
            best, seconds, len(self._log) + len(self._made), datetime.now(UTC).isoformat(), str(self._h)
        )
        # Only an entry that was timed again, in the same minute, gives way to a slower time.
        if not self._known.put(self._key, entry, replace=compared):
            kept = self._known.get(self._key)
            best, seconds = (kept.schedule, kept.seconds) if kept is not None else (best, seconds)
        default_seconds = self._made[0].seconds if self._made else None
        return Tuned(self._h, best, seconds, default_seconds or seconds, tuple(self._made)), stopped

    def _explore(self, team: Team, report: _Report) -> None:
        """Measure what the search asks for; the default schedule comes first in every search, and alone."""
        candidates = self._ask(1)
        while candidates:
            ahead = self._ask(len(team)) if team.overlaps else []
            team.begin(ahead)
            fastest = self._search.best[1] if self._search.best else None
            try:
                for each in team.measure(candidates, fastest):
                    self._known.record(self._key, each)
                    self._known.claim(self._key, self._owner)  # renews it
                    self._made.append(each)
                    self._search.tell(each.schedule, each.seconds)
                    if team.serial and self._is_late():
                        break  # what is compiled is left
            except WorkerError:
                if fastest is None:
                    raise
                return
            report(len(self._made), self._search.best)
            if self._end == math.inf:  # processes start, and drivers load, until something is measured
                self._end = time.monotonic() + self._budget
            if self._is_late():
                return
            candidates = ahead or self._ask(len(team))

    def _ask(self, count: int) -> list[Schedule]:
        """Candidates, as many as wanted and allowed and there are."""
        if self._most is not None:
            count = min(count, self._most - self._asked)
        asked = [s for s in (self._search.ask() for _ in range(count)) if s is not None]
        self._asked += len(asked)
        return asked

    def _is_late(self) -> bool:
        return time.monotonic() + self._least() >= self._end - _RESERVE * self._budget

    def _least(self) -> float:
        """Seconds that one more candidate takes at least: a run to check it and one to time it."""
        return 2 * self._search.best[1] if self._search.best else 0.0

    def _final(self, team: Team) -> tuple[Schedule, float, bool]:
        """Time the finalists again, in turn, so that the machine's moods hit all of them alike.

        The schedule in use is among them, and gives way only to one that was faster in most rounds. Also whether one
        that was tuned before may give way: there is none, or it was compared.
        """
        told = {m.schedule: m.seconds for m in self._made if m.seconds is not None}
        times: dict[Schedule, list[float]] = {s: [] for s in self._search.finalists(_FINALISTS)}
        used = self._used
        if used not in told and time.monotonic() + self._least() < self._end:
            measured = self._again(team, used)
            if measured is not None:
                told[used] = measured
        if not times:
            message = self._made[0].message if self._made else ""
            raise RuntimeError(f"tune: the default schedule cannot be measured on this device: {message}")
        if used in told:
            times.setdefault(used, [])
        for _ in range(_ROUNDS if len(times) > 1 else 0):
            if time.monotonic() + sum(self._duration(told[s]) for s in times) > self._end:
                break
            for s, found in times.items():
                measured = self._again(team, s)
                found.append(told[s] if measured is None else measured)
        # Times of the search count only where there was no time for a round.
        rounds = {s: found or [told[s]] for s, found in times.items()}
        best = min(rounds, key=lambda s: median(rounds[s]))
        if used in rounds and median(b / u for b, u in zip(rounds[best], rounds[used], strict=True)) >= 1:
            best = used
        return best, median(rounds[best]), used in rounds or not self._is_tuned

    def _duration(self, seconds: float) -> float:
        """How long it takes to measure a schedule of this time again."""
        runs = runs_after(seconds, by_turns=self._by_turns)
        return (1 + 2 * runs) * seconds if self._by_turns else seconds + runs * (seconds + _TRIP)

    def _again(self, team: Team, s: Schedule) -> float | None:
        self._known.claim(self._key, self._owner)  # renews it
        try:
            return next(team.measure([s], None)).seconds
        except WorkerError:
            return None


@contextmanager
def _bar(show: bool, most: int | None, h: Computation) -> Iterator[_Report]:
    """A progress bar on standard error, or nothing."""
    if not show:
        yield lambda count, best: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn(str(h)[:40]), BarColumn(), TextColumn("{task.fields[best]}"), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True,
    ) as bar:  # fmt: skip
        task = bar.add_task("tuning", total=most, best="")

        def report(count: int, best: tuple[Schedule, float] | None) -> None:
            bar.update(task, completed=count, best=f"best {best[1] * 1e6:.1f} µs" if best else "")

        yield report
