"""Tunes a call: finds its stages, searches a schedule for each, remembers the best for good."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any

from mdhnp.dispatch import forget, observe
from mdhnp.mdh import MdHom, canonical, stages
from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.default import default
from mdhnp.settings import config
from mdhnp.tuning.bench import runs_after
from mdhnp.tuning.cache import TuningCache, cache
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.records import Entry, Key, Measurement
from mdhnp.tuning.search import Search
from mdhnp.tuning.worker import Task, Worker, WorkerError

__all__ = ["Tuned", "tune", "tune_stage"]

_FINALISTS, _ROUNDS = 3, 3
#: Part of the budget that is kept for timing the finalists again.
_RESERVE = 0.15

_Report = Callable[[int, tuple[Schedule, float] | None], None]


@dataclass(frozen=True)
class Tuned:
    """What tuning one stage brought.

    Attributes
    ----------
    mdhom : MdHom
        The stage in canonical form.
    schedule : Schedule
        The best known now, which later calls use.
    seconds, default_seconds : float
        Its time and that of the default schedule, measured in the same run.
    measurements : tuple of Measurement
        Everything measured, in order.
    """

    mdhom: MdHom
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


def tune(
    function: Callable[..., Any],
    *args: Any,
    budget: float = 10.0,
    evaluations: int = 50,
    seed: int = 0,
    progress: bool | None = None,
    **kwargs: Any,
) -> tuple[Tuned, ...]:
    """Search a schedule for every kernel of a call; later calls, in this and other processes, use what was found.

    Parameters
    ----------
    function : callable
        Any of this package's functions, or one that calls them.
    *args, **kwargs
        Its arguments. The call itself runs once, as always: with ``out=`` it writes there.
    budget : float
        Seconds for each stage of the call. At least the default schedule is measured, however long that takes.
    evaluations : int
        Most schedules to measure for each stage; those timed again at the end do not count.
    seed : int
        Same seed, same candidates as long as measurements agree.
    progress : bool, optional
        Show a progress bar; by default where standard error is a terminal.

    Returns
    -------
    tuple of Tuned
        One a stage; fewer where another process is tuning the same stage at this moment.

    Raises
    ------
    RuntimeError
        If the measuring process cannot start, or not even the default schedule can be measured.

    Notes
    -----
    Candidates are built and run in a process of their own, on random arrays of their own; one that fails, hangs or
    computes something else is recorded and passed over. Ctrl-C ends the search of this stage, leaves out later ones,
    and keeps what was found.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> a = np.ones((64, 64), np.float32)
    >>> found = mdhnp.tune(mdhnp.matmul, a, a, budget=2.0, evaluations=5)  # doctest: +SKIP
    """
    with config(tuning="off"), observe() as seen:
        function(*args, **kwargs)
    todo: dict[Key, tuple[MdHom, Device]] = {}
    for prepared, _ in seen:
        if prepared.plan is None:
            continue
        for stage in stages(prepared.mdhom):
            h = canonical(stage.mdhom)
            todo.setdefault(key_of(h, prepared.device), (h, prepared.device))
    found = []
    try:
        for h, device in todo.values():
            tuned, stopped = tune_stage(h, device, budget, evaluations, seed, progress)
            found += [tuned] if tuned is not None else []
            if stopped:
                break
    finally:
        forget()
    return tuple(found)


@dataclass(frozen=True)
class _Budget:
    """How long and how to search."""

    seconds: float
    evaluations: int | None
    seed: int
    show: bool


def tune_stage(
    h: MdHom,
    device: Device,
    budget: float,
    evaluations: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> tuple[Tuned | None, bool]:
    """Search a schedule for one stage in canonical form, unless another thread or process is doing so.

    Takes what :func:`tune` takes; no number of evaluations means as many as there is time for. By default a progress
    bar is shown by the main thread on a terminal.

    Returns
    -------
    Tuned or None
        None where another one holds the claim.
    bool
        Whether the user stopped it.
    """
    if progress is None:
        progress = sys.stderr.isatty() and threading.current_thread() is threading.main_thread()
    known, key = cache(), key_of(h, device)
    owner = known.claim(key)
    if owner is None:
        return None, False
    try:
        return _Tuning(h, device, key, _Budget(budget, evaluations, seed, progress), known, owner).run()
    finally:
        known.release(key, owner)


class _Tuning:
    """One stage's search and final."""

    def __init__(self, h: MdHom, device: Device, key: Key, budget: _Budget, known: TuningCache, owner: str) -> None:
        self._h, self._key, self._budget, self._known, self._owner = h, key, budget, known, owner
        self._start = default(h, device.caps)
        self._search = Search(h, device.caps, self._start, budget.seed)
        self._log = known.measurements(key)
        self._search.resume((m.schedule, m.seconds) for m in self._log)
        entry = known.get(key)
        self._used = entry.schedule if entry is not None and is_legal(h, entry.schedule, device.caps) else None
        self._made: list[Measurement] = []
        self._task = Task(h, device.identity, self._start, budget.seed)
        self._end = time.monotonic() + budget.seconds

    def run(self) -> tuple[Tuned, bool]:
        """Search, then compare the best by turns; also whether the user ended it early."""
        stopped = False
        with Worker(self._task) as worker, _bar(self._budget, self._h) as report:
            try:
                self._explore(worker, report)
                best, seconds = self._final(worker)
                compared = True
            except KeyboardInterrupt:
                if self._search.best is None:
                    raise
                # The user has had enough of searching; what was found counts.
                (best, seconds), compared, stopped = self._search.best, False, True
        entry = Entry(best, seconds, len(self._log) + len(self._made), _now(), str(self._h))
        # Only an entry that was timed again, in the same minute, gives way to a slower time.
        if not self._known.put(self._key, entry, replace=compared):
            kept = self._known.get(self._key)
            best, seconds = (kept.schedule, kept.seconds) if kept is not None else (best, seconds)
        default_seconds = self._made[0].seconds if self._made else None
        return Tuned(self._h, best, seconds, default_seconds or seconds, tuple(self._made)), stopped

    def _explore(self, worker: Worker, report: _Report) -> None:
        """Measure what the search asks for; the default schedule comes first in every search."""
        last = self._end - _RESERVE * self._budget.seconds
        candidate = self._search.ask()
        while candidate is not None:
            try:
                measured = worker.measure(candidate, self._search.best[1] if self._search.best else None)
            except WorkerError:
                if self._search.best is None:
                    raise
                return
            self._known.record(self._key, measured)
            self._made.append(measured)
            self._search.tell(candidate, measured.seconds)
            report(len(self._made), self._search.best)
            if len(self._made) == self._budget.evaluations or time.monotonic() >= last:
                return
            candidate = self._search.ask()

    def _final(self, worker: Worker) -> tuple[Schedule, float]:
        """Time the finalists again, in turn, so that the machine's moods hit all of them alike.

        The schedule in use is among them unless this search found it slow, so that it is replaced for a reason.
        """
        times: dict[Schedule, list[float]] = {s: [] for s in self._search.finalists(_FINALISTS)}
        told = {m.schedule: m.seconds for m in self._made if m.seconds is not None}
        if self._used is not None and self._used not in {m.schedule for m in self._made}:
            measured = self._again(worker, self._used)
            if measured is not None:
                told[self._used] = measured
                times[self._used] = []
        if not times:
            message = self._made[0].message if self._made else ""
            raise RuntimeError(f"tune: the default schedule cannot be measured on this device: {message}")
        for _ in range(_ROUNDS if len(times) > 1 else 0):
            if time.monotonic() + sum(_duration(told[s]) for s in times) > self._end:
                break
            for s, found in times.items():
                measured = self._again(worker, s)
                if measured is not None:
                    found.append(measured)
        # Times of the search count only where there was no time for a round.
        compared = {s: median(t) for s, t in times.items() if t} or {s: told[s] for s in times}
        best = min(compared, key=lambda s: compared[s])
        return best, compared[best]

    def _again(self, worker: Worker, s: Schedule) -> float | None:
        self._known.claim(self._key, self._owner)  # renews it
        try:
            return worker.measure(s, None).seconds
        except WorkerError:
            return None


def _duration(seconds: float) -> float:
    """How long it takes to measure a schedule of this time again."""
    return (1 + runs_after(seconds)) * seconds


def _now() -> str:
    return datetime.now(UTC).isoformat()


@contextmanager
def _bar(budget: _Budget, h: MdHom) -> Iterator[_Report]:
    """A progress bar on standard error, or nothing."""
    if not budget.show:
        yield lambda count, best: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn(str(h)[:40]), BarColumn(), TextColumn("{task.fields[best]}"), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True,
    ) as bar:  # fmt: skip
        task = bar.add_task("tuning", total=budget.evaluations, best="")

        def report(count: int, best: tuple[Schedule, float] | None) -> None:
            bar.update(task, completed=count, best=f"best {best[1] * 1e6:.1f} µs" if best else "")

        yield report
