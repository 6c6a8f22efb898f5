"""Processes that work on a search side by side: several compile, or several measure, each on a device of its own.

Compilers of CPU devices need the cores that kernels run on. So candidates are compiled together, one a core, and then
measured one after the other. A GPU's compilers do not: they go on with the next candidates while kernels are timed.

Of equal devices, each measures a candidate of its own. The papers split the space among devices (Rasch, Schulze &
Gorlatch, "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms", section VI). Here they share
one search instead, so that each goes on from what all have measured; candidates are asked for and told in an order that
does not depend on which device is first.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

from mdhnp.schedule import Schedule
from mdhnp.tuning.cache.records import Measurement
from mdhnp.tuning.measure.bench import Task
from mdhnp.tuning.measure.worker import Builder, Worker

__all__ = ["Team"]

T = TypeVar("T")

#: Seconds after which processes are ended again that a thread may have started meanwhile.
_AGAIN = 0.1


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
    overlaps : bool, optional
        Whether they may compile while the worker measures.
    """

    def __init__(
        self, task: Task, positions: Sequence[int], limit: float, builders: int = 0, *, overlaps: bool = False
    ) -> None:
        self._workers = [Worker(replace(task, position=n), limit) for n in positions]
        self._builders = [Builder(task, limit) for _ in range(builders)]
        self._free: SimpleQueue[Builder] = SimpleQueue()
        for builder in self._builders:
            self._free.put(builder)
        self._threads: ThreadPoolExecutor | None = None
        self._begun: dict[Schedule, Future[bytes | Measurement]] = {}
        self.overlaps = overlaps and builders > 0

    @property
    def serial(self) -> bool:
        """Whether candidates are measured one after the other."""
        return len(self._workers) == 1

    def __len__(self) -> int:
        """How many candidates keep all processes busy."""
        return max(len(self._workers), len(self._builders))

    def begin(self, schedules: Sequence[Schedule]) -> None:
        """Have schedules compiled that are to be measured later; returns at once."""
        if not self._builders:
            return
        try:
            self._threads = self._threads or ThreadPoolExecutor(len(self._builders))
            for schedule in schedules:
                if schedule not in self._begun:
                    self._begun[schedule] = self._threads.submit(self._compile, schedule)
        except RuntimeError:  # no thread to be had
            self._dismiss()

    def measure(self, schedules: Sequence[Schedule], best: float | None) -> Iterator[Measurement]:
        """Measure schedules in their order, at most as many as keep the team busy; WorkerError as of a worker."""
        if not self.serial and len(schedules) > 1:
            pairs = zip(self._workers, schedules, strict=False)
            yield from self._together([partial(worker.measure, s, best) for worker, s in pairs])
            return
        if len(schedules) > 1 and not self.overlaps:
            self.begin(schedules)
        ready = {} if self.overlaps else {s: self._compiled(s) for s in schedules}
        for schedule in schedules:
            made = self._compiled(schedule) if self.overlaps else ready[schedule]
            yield made if isinstance(made, Measurement) else self._workers[0].measure(schedule, best, made)

    def _compile(self, schedule: Schedule) -> bytes | Measurement:
        """Compile by a process that has nothing to do; there are as many threads as such processes."""
        builder = self._free.get()
        try:
            return builder.compile(schedule)
        finally:
            self._free.put(builder)

    def _compiled(self, schedule: Schedule) -> bytes | Measurement | None:
        """A binary, or why there is none; None where the worker is to compile."""
        begun = self._begun.get(schedule)
        try:
            made = None if begun is None else begun.result()
        except RuntimeError:  # no process to be had
            self._dismiss()
            return None
        except BaseException:
            self._dismiss_begun()
            raise
        self._begun.pop(schedule, None)
        # What kills a builder may be its neighbours' need of memory: the worker tries again, alone.
        return None if isinstance(made, Measurement) and made.status == "crash" else made

    def _dismiss(self) -> None:
        """Do without builders, where there is no room for more processes, say."""
        self._dismiss_begun()
        self._builders = []
        self.overlaps = False

    def _dismiss_begun(self) -> None:
        """End what is being compiled; builders start anew when they are asked again."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        running = {each for each in self._begun.values() if not each.cancelled()}
        while running:
            for builder in self._builders:
                builder.kill()  # else the threads would be waited for
            running = wait(running, _AGAIN).not_done
        self._threads, self._begun = None, {}
        for builder in self._builders:
            builder.close()  # else one that nobody waited for would be taken to run

    def _together(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Results of all, done at the same time."""
        interrupted = False
        try:
            with ThreadPoolExecutor(len(tasks)) as threads:
                try:
                    return [each.result() for each in [threads.submit(task) for task in tasks]]
                except RuntimeError:  # of a task, or for want of a thread: the other tasks end in time
                    raise
                except BaseException:
                    interrupted = True
                    for worker in self._workers:
                        worker.kill()  # else the threads would be waited for
                    raise
        finally:
            if interrupted:
                for worker in self._workers:
                    worker.close()  # else one that nobody waited for would be taken to run

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, *error: object) -> None:
        self._dismiss_begun()
        for worker in self._workers:
            worker.close()
