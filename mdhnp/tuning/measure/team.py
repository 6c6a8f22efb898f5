"""Processes that work on a search side by side: several compile, or several measure, each on a device of its own.

Compilers of CPU devices need the cores that kernels run on. So candidates are compiled together, one a core, and then
measured one after the other.

Of equal devices, each measures a candidate of its own. The papers split the space among devices (Rasch, Schulze &
Gorlatch, "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms", section VI). Here they share
one search instead, so that each goes on from what all have measured; candidates are asked for and told in an order that
does not depend on which device is first.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TypeVar

from mdhnp.schedule import Schedule
from mdhnp.tuning.cache.records import Measurement
from mdhnp.tuning.measure.bench import Task
from mdhnp.tuning.measure.builder import Builder
from mdhnp.tuning.measure.worker import Worker

__all__ = ["Team"]

T = TypeVar("T")


class Team:
    """A worker for each device; or one worker, and processes that compile for it.

    Parameters
    ----------
    task : Task
        What to tune.
    positions : sequence of int
        Of the devices, among devices of the task's identity; the first is the one for results that are compared.
    limit : float
        As of :class:`Worker`.
    builders : int, optional
        Processes that compile, for one device; none, and the worker does it.
    """

    def __init__(self, task: Task, positions: Sequence[int], limit: float, builders: int = 0) -> None:
        self._workers = [Worker(replace(task, position=n), limit) for n in positions]
        self._builders = [Builder(task, limit) for _ in range(builders)]

    @property
    def serial(self) -> bool:
        """Whether candidates are measured one after the other."""
        return len(self._workers) == 1

    def __len__(self) -> int:
        """How many candidates keep all processes busy."""
        return max(len(self._workers), len(self._builders))

    def measure(self, schedules: Sequence[Schedule], best: float | None) -> Iterator[Measurement]:
        """Measure schedules, at most as many as keep the team busy; in their order.

        Raises
        ------
        WorkerError
            If one of the processes that measure cannot start.
        """
        if not self.serial and len(schedules) > 1:
            pairs = zip(self._workers, schedules, strict=False)
            yield from self._together([partial(worker.measure, s, best) for worker, s in pairs])
            return
        for schedule, made in zip(schedules, self._compiled(schedules), strict=True):
            yield made if isinstance(made, Measurement) else self._workers[0].measure(schedule, best, made)

    def _compiled(self, schedules: Sequence[Schedule]) -> Sequence[bytes | Measurement | None]:
        """Binaries, or why there is none; None where the worker is to compile."""
        if len(schedules) == 1 or not self._builders:
            return [None] * len(schedules)
        try:
            made = self._together([partial(b.compile, s) for b, s in zip(self._builders, schedules, strict=False)])
        except RuntimeError:  # no process, or no thread, to be had
            self._dismiss()
            return [None] * len(schedules)
        # What kills a builder may be its neighbours' need of memory: the worker tries again, alone.
        return [None if isinstance(each, Measurement) and each.status == "crash" else each for each in made]

    def _dismiss(self) -> None:
        """Do without builders, where there is no room for more processes, say."""
        for builder in self._builders:
            builder.close()
        self._builders = []

    def _together(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Results of all, done at the same time."""
        processes, interrupted = (*self._workers, *self._builders), False
        try:
            with ThreadPoolExecutor(len(tasks)) as threads:
                try:
                    return [each.result() for each in [threads.submit(task) for task in tasks]]
                except RuntimeError:  # of a task, or for want of a thread: the other tasks end in time
                    raise
                except BaseException:
                    interrupted = True
                    for process in processes:
                        process.kill()  # else the threads would be waited for
                    raise
        finally:
            if interrupted:
                for process in processes:
                    process.close()  # else one that nobody waited for would be taken to run

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, *error: object) -> None:
        for process in (*self._workers, *self._builders):
            process.close()
