"""A process of its own that builds and times candidates: what crashes or hangs there harms nobody.

The process runs `serve` of `bench.py` and nothing of the caller's program, which need not be importable. The
pipe between the two is theirs alone: what compilers print goes elsewhere.
"""

import subprocess
import tempfile
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import IO, Any, ClassVar

from mdhnp.schedule import Schedule
from mdhnp.tuning.cache.records import Measurement
from mdhnp.tuning.measure.bench import Task
from mdhnp.tuning.processes import start

__all__ = ["Task", "Worker", "WorkerError"]


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

    Attributes
    ----------
    serve : (str, str)
        Module and name of the function that the process runs.
    what : str
        What it is, for messages.
    """

    serve: ClassVar[tuple[str, str]] = ("mdhnp.tuning.measure.bench", "serve")
    what: ClassVar[str] = "measuring process"

    def __init__(self, task: Task, limit: float = 20.0) -> None:
        self._task, self._limit = task, limit
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._said: IO[bytes] | None = None

    def measure(self, schedule: Schedule, best: float | None, binary: bytes | None = None) -> Measurement:
        """Build, check and time one schedule; `best` is the fastest so far in seconds, `binary` what was built already.

        Raises
        ------
        WorkerError
            If the process cannot start.
        """
        limit = max(self._limit, _START) if best is None else self._limit + _SLOWEST * best
        found = self._ask("measure", (schedule, best, binary), schedule, limit)
        assert isinstance(found, Measurement)
        return found

    def _ask(self, method: str, arguments: tuple[Any, ...], schedule: Schedule, limit: float) -> bytes | Measurement:
        """Have a method of the process's object called; a crash or hang is a measurement of the schedule, too."""
        if self._pipe is None:
            self._start()
        pipe = self._pipe
        assert pipe is not None
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

    def _start(self) -> None:
        try:
            self._spawn()
            pipe = self._pipe
            assert pipe is not None
            pipe.send((_START, self._task))
            error = pipe.recv() if pipe.poll(_START) else f"not ready within {_START:g} s"
        except (EOFError, OSError) as reason:
            error = self._end() or str(reason)
        except BaseException:
            self.close()
            raise
        if error is not None:
            self.close()
            raise WorkerError(f"the {self.what} did not start: {error}")

    def _spawn(self) -> None:
        with suppress(OSError):
            self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._process, self._pipe = start(*self.serve, self._said)

    def _end(self) -> str:
        """Close, and say how the process ended: its status, and the last thing it printed."""
        process, said = self._process, self._said
        status, last = "", ""
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(2.0)
            if process.returncode is not None and process.returncode < 0:
                status = f"signal {-process.returncode}"
            elif process.returncode is not None:
                status = f"exit status {process.returncode}"
        if said is not None:
            with suppress(OSError):
                said.seek(max(said.seek(0, 2) - 2000, 0))
                last = (said.read().decode("utf-8", "replace").strip().splitlines() or [""])[-1]
        self.close()
        return ", ".join(filter(None, (status, last)))

    def kill(self) -> None:
        """End the process while another thread waits for it, which gets a failed measurement."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        process, pipe, said = self._process, self._pipe, self._said
        self._process = self._pipe = self._said = None
        if process is not None:
            process.kill()
            process.wait()
        for part in (pipe, said):
            if part is not None:
                part.close()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
