"""A process of its own that builds and times candidates: what crashes or hangs there harms nobody.

The process runs `serve` of `bench.py` and nothing of the caller's program, which need not be importable. The
pipe between the two is theirs alone: what compilers print goes elsewhere.
"""

import tempfile
from contextlib import suppress
from typing import IO, Any, ClassVar

from mdhnp.schedule import Schedule
from mdhnp.tuning.cache.records import Measurement
from mdhnp.tuning.measure.bench import Task
from mdhnp.tuning.processes import Servant

__all__ = ["Builder", "Task", "Worker", "WorkerError"]

#: Seconds to start in, and for a schedule that nothing is known to compare with.
_START = 60.0
#: How many times the fastest one's time a candidate may run, all its runs together.
_SLOWEST = 20.0


class WorkerError(RuntimeError):
    """The measuring process cannot start, or cannot measure even the reference; the message says why."""


class Worker:
    """Measures candidates in another process; started anew after a crash or a hang.

    Parameters
    ----------
    task : Task
        The stage and device.
    limit : float
        Seconds that one candidate may take to build before the worker is ended; it may run as long as `_SLOWEST` times
        the fastest so far. The first one may take `_START` seconds at least.
    """

    #: Module and name of the function that the process runs.
    serve: ClassVar[tuple[str, str]] = ("mdhnp.tuning.measure.bench", "serve")
    #: What it is, for messages.
    what: ClassVar[str] = "measuring process"

    def __init__(self, task: Task, limit: float = 20.0) -> None:
        self._task, self._limit = task, limit
        self._servant: Servant | None = None
        self._said: IO[bytes] | None = None

    def measure(self, schedule: Schedule, best: float | None, binary: bytes | None = None) -> Measurement:
        """Build, check and time one schedule; WorkerError if the process cannot start.

        The fastest so far takes `best` seconds; `binary` is what was built already.
        """
        limit = max(self._limit, _START) if best is None else self._limit + _SLOWEST * best
        found = self._ask("measure", (schedule, best, binary), schedule, limit)
        assert isinstance(found, Measurement)
        return found

    def _ask(self, method: str, arguments: tuple[Any, ...], schedule: Schedule, limit: float) -> bytes | Measurement:
        """Have a method of the process's object called; a crash or hang is a measurement of the schedule, too."""
        pipe = (self._servant or self._start()).pipe
        answer: Any = None
        try:
            pipe.send((method, arguments, limit))
            if pipe.poll(limit):
                answer = pipe.recv()
                if not isinstance(answer, bytes | Measurement) or getattr(answer, "schedule", schedule) != schedule:
                    raise WorkerError(f"the {self.what} answered something else than it was asked")
        except (EOFError, OSError):
            return Measurement(schedule, None, "crash", f"the {self.what} died: {self._end()}")
        except BaseException:
            self.close()  # else its answer to this would be taken for the next one's
            raise
        if answer is None:
            self.close()
            return Measurement(schedule, None, "hang", f"no result within {limit:.3g} s")
        made: bytes | Measurement = answer
        return made

    def _start(self) -> Servant:
        try:
            with suppress(OSError):
                self._said = tempfile.TemporaryFile()  # noqa: SIM115
            servant = self._servant = Servant(*self.serve, self._said)
            servant.pipe.send((_START, self._task))
            error = servant.pipe.recv() if servant.pipe.poll(_START) else f"not ready within {_START:g} s"
        except (EOFError, OSError) as reason:
            error = self._end() or str(reason)
        except BaseException:
            self.close()
            raise
        if error is not None:
            self.close()
            raise WorkerError(f"the {self.what} did not start: {error}")
        return servant

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
        """End the process, whatever it is doing."""
        servant, said = self._servant, self._said
        self._servant = self._said = None
        for each in (servant, said):
            if each is not None:
                each.close()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Builder(Worker):
    """Compiles candidates in another process, one a core: on a CPU a search spends most of its time on that.

    Nothing is measured meanwhile, which would disturb both; what measures gets binaries.
    """

    serve: ClassVar[tuple[str, str]] = ("mdhnp.tuning.measure.bench", "serve_compiler")
    what: ClassVar[str] = "compiling process"

    def compile(self, schedule: Schedule) -> bytes | Measurement:
        """Give the binary of one schedule's kernels, or why there is none; WorkerError if the process cannot start."""
        return self._ask("compile", (schedule,), schedule, self._limit)
