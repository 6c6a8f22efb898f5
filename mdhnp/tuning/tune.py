"""Tunes a call: finds its stages, searches a schedule for each, remembers the best for good."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from mdhnp.dispatch import forget, observe
from mdhnp.mdh import MdHom, canonical, stages
from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning.cache import TuningCache, cache
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.records import Entry, Key, Measurement
from mdhnp.tuning.search import Search
from mdhnp.tuning.worker import Task, Worker

__all__ = ["Tuned", "tune"]

_FINALISTS, _ROUNDS = 3, 3


@dataclass(frozen=True)
class Tuned:
    """What tuning one stage brought.

    Attributes
    ----------
    mdhom : MdHom
        The stage in canonical form.
    schedule : Schedule
        The best found.
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
        Its arguments; only their shapes, strides and types matter, the arrays are not changed.
    budget : float
        Seconds for each stage of the call.
    evaluations : int
        Most schedules to measure for each stage.
    seed : int
        Same seed, same candidates as long as measurements agree.
    progress : bool, optional
        Show a progress bar; by default where standard error is a terminal.

    Returns
    -------
    tuple of Tuned
        One a stage; fewer where another process is tuning the same stage at this moment.

    Notes
    -----
    Candidates are built and run on random arrays in a process of their own; one that fails, hangs or computes something
    else is recorded and passed over. Ctrl-C ends the search and keeps what was found.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> a = np.ones((64, 64), np.float32)
    >>> found = mdhnp.tune(mdhnp.matmul, a, a, budget=2.0, evaluations=5)  # doctest: +SKIP
    """
    with observe() as seen:
        function(*args, **kwargs)
    found = []
    done: set[Key] = set()
    for prepared, _ in seen:
        if prepared.plan is None:
            continue
        for stage in stages(prepared.mdhom):
            h = canonical(stage.mdhom)
            key = key_of(h, prepared.device)
            if key not in done:
                done.add(key)
                tuned = _tune_stage(h, prepared.device, key, _Budget(budget, evaluations, seed, _show(progress)))
                if tuned is not None:
                    found.append(tuned)
    forget()
    return tuple(found)


@dataclass(frozen=True)
class _Budget:
    """How long and how to search."""

    seconds: float
    evaluations: int
    seed: int
    show: bool


def _show(progress: bool | None) -> bool:
    return sys.stderr.isatty() if progress is None else progress


def _tune_stage(h: MdHom, device: Device, key: Key, budget: _Budget) -> Tuned | None:
    """Search under a claim, so that no two processes tune the same stage at once."""
    known = cache()
    owner = known.claim(key)
    if owner is None:
        return None
    try:
        return _search(h, device, key, budget, known)
    finally:
        known.release(key, owner)


def _search(h: MdHom, device: Device, key: Key, budget: _Budget, known: TuningCache) -> Tuned:
    start = default(h, device.caps)
    search = Search(h, device.caps, start, budget.seed)
    log = known.measurements(key)
    search.resume((m.schedule, m.seconds) for m in log)
    made: list[Measurement] = []
    task = Task(h, device.identity, start, budget.seed)
    end = time.monotonic() + budget.seconds
    with Worker(task) as worker, _bar(budget, h) as report:
        try:
            # Old times were taken under other conditions: the default is measured in every search.
            candidate: Schedule | None = start
            while candidate is not None and len(made) < budget.evaluations and time.monotonic() < end:
                measured = worker.measure(candidate, search.best[1] if made and search.best else None)
                known.record(key, measured)
                made.append(measured)
                search.tell(candidate, measured.seconds)
                report(len(made), search.best)
                candidate = search.ask()
        except KeyboardInterrupt:
            pass  # the user has had enough of searching; what was found counts
        best, seconds = _final(worker, search.finalists(_FINALISTS) or [start])
    entry = Entry(best, seconds, len(log) + len(made), datetime.now(UTC).isoformat(), str(h))
    known.put(key, entry, [])
    return Tuned(h, best, seconds, made[0].seconds or seconds if made else seconds, tuple(made))


def _final(worker: Worker, finalists: list[Schedule]) -> tuple[Schedule, float]:
    """Time the finalists again, in turn, so that the machine's moods hit all of them alike."""
    times: dict[Schedule, list[float]] = {s: [] for s in finalists}
    for _ in range(_ROUNDS):
        for s in finalists:
            measured = worker.measure(s, None)
            if measured.seconds is not None:
                times[s].append(measured.seconds)
    ranked = sorted((median(t), n, s) for n, (s, t) in enumerate(times.items()) if t)
    if not ranked:
        raise RuntimeError("tune: the default schedule cannot be measured on this device")
    return ranked[0][2], ranked[0][0]


class _bar:
    """A progress bar on standard error, or nothing."""

    def __init__(self, budget: _Budget, h: MdHom) -> None:
        self._budget = budget
        self._progress = Progress(
            TextColumn(str(h)[:40]), BarColumn(), TextColumn("{task.fields[best]}"), TimeRemainingColumn(),
            console=Console(stderr=True), disable=not budget.show, transient=True,
        )  # fmt: skip

    def __enter__(self) -> Callable[[int, tuple[Schedule, float] | None], None]:
        self._progress.start()
        task = self._progress.add_task("tuning", total=self._budget.evaluations, best="")

        def report(count: int, best: tuple[Schedule, float] | None) -> None:
            shown = f"best {best[1] * 1e6:.1f} µs" if best else ""
            self._progress.update(task, completed=count, best=shown)

        return report

    def __exit__(self, *error: object) -> None:
        self._progress.stop()
