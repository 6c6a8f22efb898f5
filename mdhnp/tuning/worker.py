"""A process of its own that builds and times candidates: what crashes or hangs there harms nobody.

The process runs :func:`mdhnp.tuning.bench.serve` and nothing of the caller's program, which need not be importable. The
pipe between the two is theirs alone: what compilers print goes elsewhere.
"""

import subprocess
import tempfile
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import IO, Any, ClassVar

from mdhnp.schedule import Schedule
from mdhnp.tuning.bench import Task
from mdhnp.tuning.processes import start
from mdhnp.tuning.records import Measurement

__all__ = ["Task", "Worker", "WorkerError"]


class WorkerError(RuntimeError):
    """The measuring process cannot start, or cannot measure even the reference; the message says why."""


class Worker:
    """Measures candidates in another process; started anew after a crash or a hang.

    Parameters
    ----------
    task : Task
        The stage and device.
    limit : float
        Seconds that one candidate may take to build and run before the worker is ended.

    Attributes
    ----------
    serve : (str, str)
        Module and name of the function that the process runs.
    """

    serve: ClassVar[tuple[str, str]] = ("mdhnp.tuning.bench", "serve")

    def __init__(self, task: Task, limit: float = 20.0) -> None:
        self._task, self._limit = task, limit
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._said: IO[bytes] | None = None

    def measure(self, schedule: Schedule, best: float | None) -> Measurement:
        """Build, check and time one schedule; `best` is the fastest so far in seconds.

        Raises
        ------
        WorkerError
            If the process cannot start.
        """
        if self._pipe is None:
            self._start()
        pipe = self._pipe
        assert pipe is not None
        answer: Any = None
        try:
            pipe.send((schedule, best))
            if pipe.poll(self._limit):
                answer = pipe.recv()
                if not isinstance(answer, Measurement) or answer.schedule != schedule:
                    raise WorkerError("the measuring process answered something else than it was asked")
        except (EOFError, OSError):
            return Measurement(schedule, None, "crash", f"the measuring process died: {self._end()}")
        except BaseException:
            self.close()  # else its answer to this would be taken for the next one's
            raise
        if answer is None:
            self.close()
            return Measurement(schedule, None, "hang", f"no result within {self._limit:g} s")
        found: Measurement = answer
        return found

    def _start(self) -> None:
        try:
            self._spawn()
            pipe = self._pipe
            assert pipe is not None
            pipe.send((self._limit, self._task))
            limit = max(self._limit, 30.0)
            error = pipe.recv() if pipe.poll(limit) else f"not ready within {limit:g} s"
        except (EOFError, OSError) as reason:
            error = self._end() or str(reason)
        except BaseException:
            self.close()
            raise
        if error is not None:
            self.close()
            raise WorkerError(f"the measuring process did not start: {error}")

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
