"""Processes that build and time candidates, several side by side: what crashes or hangs there harms nobody.

Compilers of CPU devices need the cores that kernels run on. So candidates are compiled together, one a core, and then
measured one after the other. A GPU's compilers do not: they go on with the next candidates while kernels are timed.

Of equal devices, each measures a candidate of its own. The papers split the space among devices (Rasch, Schulze &
Gorlatch, "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms", section VI). Here they share
one search instead, so that each goes on from what all have measured; candidates are asked for and told in an order that
does not depend on which device is first.
"""

import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import IO, Any, ClassVar

from mdhnp.schedule import Schedule
from mdhnp.tuning.cache.records import Measurement
from mdhnp.tuning.measure.bench import Bench, TuningTask, begin, perform
from mdhnp.tuning.processes import Servant

#: Seconds to start in, and for a schedule that nothing is known to compare with.
_START = 60.0
#: How many times the fastest one's time a candidate may run, all its runs together.
_SLOWEST = 20.0
#: Seconds after which processes are ended again that a thread may have started meanwhile.
_AGAIN = 0.1


class WorkerError(RuntimeError):
    """The measuring process cannot start, or cannot measure even the reference; the message says why."""


class Worker:
    """Measures candidates in another process, or only compiles them; started anew after a crash or a hang.

    What compilers print goes to a file. One candidate may take `limit` seconds to build, and may run as long as
    `_SLOWEST` times the fastest so far. The first one may take `_START` seconds at least.
    """

    #: What the process has.
    kind: ClassVar[type[Bench]] = Bench

    def __init__(self, task: TuningTask, limit: float = 20.0, *, measures: bool = True) -> None:
        self._task, self._limit, self._measures = task, limit, measures
        self._what = "measuring process" if measures else "compiling process"
        self._servant: Servant | None = None
        self._said: IO[bytes] | None = None

    def measure(self, schedule: Schedule, best: float | None, binary: bytes | None = None) -> Measurement:
        """Build, check and time one schedule; WorkerError if the process cannot start.

        The fastest so far takes `best` seconds; `binary` is what was built already.
        """
        limit = max(self._limit, _START) if best is None else self._limit + _SLOWEST * best
        found: Measurement = self._ask(schedule, limit, "measure", schedule, best, binary)
        return found

    def turns(self, schedules: Sequence[Schedule], rounds: int, seconds: float) -> list[list[float]]:
        """Give the seconds of a call by each schedule, round by round, as many as there is time for.

        There are none where something fails, or the process cannot start.
        """
        limit, found = _START + self._limit * len(schedules) + 2 * seconds, None  # they may have to be built again
        with suppress(WorkerError):
            found = self._ask(schedules[0], limit, "turns", schedules, rounds, seconds)
        return found if isinstance(found, list) else [[] for _ in schedules]

    def measured(self, schedule: Schedule, wanted: Sequence[str], seconds: float) -> dict[str, float] | Measurement:
        """Give what an objective wants of a schedule that takes so many seconds, or how that failed."""
        found: dict[str, float] | Measurement = self._ask(schedule, _START, "measured", schedule, wanted, seconds)
        return found

    def compile(self, schedule: Schedule) -> bytes | Measurement:
        """Give the binary of one schedule's kernels, or why there is none; WorkerError if the process cannot start."""
        found: bytes | Measurement = self._ask(schedule, self._limit, "compile", schedule)
        return found

    def _ask(self, schedule: Schedule, limit: float, method: str, *arguments: Any) -> Any:
        """Have a method called; a crash or hang is a measurement of the schedule, too."""
        servant = self.ready()
        try:
            return servant.ask(limit, perform, method, *arguments)
        except TimeoutError:
            failed = Measurement(schedule, None, "hang", f"no result within {limit:.3g} s")
        except (EOFError, OSError):
            failed = Measurement(schedule, None, "crash", f"the {self._what} died: {self._end()}")
        except RuntimeError as error:
            failed = Measurement(schedule, None, "crash", str(error))
        except BaseException:
            self.close()  # else its answer to this would be taken for the next one's
            raise
        self.close()
        return failed

    def start(self) -> None:
        """Have the process start, without waiting for it; WorkerError if there can be none."""
        if self._servant is not None:
            return
        try:
            with suppress(OSError):
                self._said = tempfile.TemporaryFile()  # noqa: SIM115
            self._servant = Servant(self._said)
            self._servant.send(_START, begin, self.kind, self._task, self._measures)
        except (EOFError, OSError) as reason:
            raise self._failed(self._end() or str(reason)) from reason

    def ready(self) -> Servant:
        """Wait until the process has started, and give it; WorkerError if it cannot."""
        self.start()
        servant = self._servant
        assert servant is not None
        try:
            servant.answer(_START)
        except TimeoutError:
            error = f"not ready within {_START:g} s"
        except (EOFError, OSError) as reason:
            error = self._end() or str(reason)
        except RuntimeError as reason:
            error = str(reason)
        except BaseException:
            self.close()
            raise
        else:
            return servant
        raise self._failed(error)

    def _failed(self, why: str) -> WorkerError:
        self.close()
        return WorkerError(f"the {self._what} did not start: {why}")

    def _end(self) -> str:
        """Close, and say how the process ended: its status, and the last thing it printed."""
        status, last = self._servant.status() if self._servant is not None else "", ""
        if self._said is not None:
            with suppress(OSError):
                self._said.seek(max(self._said.seek(0, 2) - 2000, 0))
                last = (self._said.read().decode("utf-8", "replace").strip().splitlines() or [""])[-1]
        self.close()
        return ", ".join(filter(None, (status, last)))

    def kill(self) -> None:
        """End the process while another thread waits for it, which gets a failed measurement."""
        if (servant := self._servant) is not None:
            servant.kill()

    def close(self) -> None:
        servant, said = self._servant, self._said
        self._servant = self._said = None
        for each in (servant, said):
            if each is not None:
                each.close()


class Team:
    """A worker for each device; or one worker, and processes that compile for it.

    Devices are known by their `positions` among those of the task's identity; the first is the one for results that are
    compared. `overlaps` says whether builders may compile while the worker measures.
    """

    def __init__(
        self, task: TuningTask, positions: Sequence[int], limit: float, builders: int = 0, *, overlaps: bool = False
    ) -> None:
        self._workers = [Worker(replace(task, position=n), limit) for n in positions]
        self._builders = [Worker(task, limit, measures=False) for _ in range(builders)]
        self._free: SimpleQueue[Worker] = SimpleQueue()
        for builder in self._builders:
            self._free.put(builder)
        self._threads: ThreadPoolExecutor | None = None
        self._begun: dict[Schedule, Future[bytes | Measurement]] = {}
        self.overlaps = overlaps and builders > 0
        #: Whether candidates are measured one after the other.
        self.serial = len(positions) == 1

    def __len__(self) -> int:
        return max(len(self._workers), len(self._builders))

    def start(self) -> None:
        """Start all processes, side by side; WorkerError as of a worker. What follows is search alone."""
        for each in (*self._workers, *self._builders):
            with suppress(WorkerError):  # it is asked again below
                each.start()
        for worker in self._workers:
            worker.ready()
        try:
            for builder in self._builders:
                builder.ready()
        except WorkerError:  # no process to be had
            self._dismiss()

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
            yield from self._together(schedules, best)
            return
        if len(schedules) > 1 and not self.overlaps:
            self.begin(schedules)
        ready = {} if self.overlaps else {s: self._compiled(s) for s in schedules}
        for schedule in schedules:
            made = self._compiled(schedule) if self.overlaps else ready[schedule]
            yield made if isinstance(made, Measurement) else self._workers[0].measure(schedule, best, made)

    def turns(self, schedules: Sequence[Schedule], rounds: int, seconds: float) -> dict[Schedule, list[float]]:
        """Give the seconds of a call by each schedule on the first device, as :meth:`Worker.turns` does."""
        each = list(dict.fromkeys(schedules))
        found = self._workers[0].turns(each, rounds, seconds) if seconds > 0 else [[] for _ in each]
        return dict(zip(each, found, strict=True))

    def measured(self, schedule: Schedule, wanted: Sequence[str], seconds: float) -> dict[str, float] | Measurement:
        """Give what an objective wants of a schedule on the first device, as :meth:`Worker.measured` does."""
        return self._workers[0].measured(schedule, wanted, seconds)

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

    def _together(self, schedules: Sequence[Schedule], best: float | None) -> list[Measurement]:
        pairs = list(zip(self._workers, schedules, strict=False))
        interrupted = False
        try:
            with ThreadPoolExecutor(len(pairs)) as threads:
                try:
                    return [each.result() for each in [threads.submit(w.measure, s, best) for w, s in pairs]]
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
