"""Tunes while the program goes on: one job after the other, in a process that the end of this one ends.

The search has a process of its own, not only its measurements: it would take the interpreter from the program. Here a
thread waits for it, keeps what it found, and says that there is something new.
"""

import atexit
import os
import subprocess
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, ClassVar

from mdhnp.mdh import MdHom
from mdhnp.tuning.cache import cache
from mdhnp.tuning.cache.records import Entry, Key
from mdhnp.tuning.lookup import tuned_for
from mdhnp.tuning.processes import start
from mdhnp.tuning.search.session import tune_stage

__all__ = ["Job", "serve", "submit", "wait"]

#: Seconds that the end of the program waits for the thread, which may be compiling.
_PATIENCE = 10.0

#: Seconds after which it is asked again whether another process has tuned the same.
_PAUSE = 1.0


@dataclass(frozen=True)
class Job:
    """Kernels to tune on one device: stages in canonical form and their keys, seconds and evaluations for each."""

    stages: tuple[MdHom, ...]
    keys: tuple[Key, ...]
    budget: float
    evaluations: int


def submit(job: Job, then: Callable[[], Any]) -> None:
    """Tune a job when those before it are done, and call `then` in another thread if anything was found."""
    _tuner.submit(job, then)


def wait() -> None:
    """Wait until all jobs are done."""
    _tuner.wait()


class _Tuner:
    """The jobs of this process and the thread that sees to them, which lives as long as there are any."""

    #: Module and name of the function that the process runs.
    serve: ClassVar[tuple[str, str]] = ("mdhnp.tuning.background", "serve")

    def __init__(self) -> None:
        self._jobs: deque[tuple[Job, Callable[[], Any]]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._ending = False

    def submit(self, job: Job, then: Callable[[], Any]) -> None:
        with self._changed:
            if self._ending:
                return
            self._jobs.append((job, then))
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="mdhnp-tuning", daemon=True)
                with suppress(RuntimeError):  # the process may have no more threads; the next job tries again
                    thread.start()
                    self._thread = thread

    def wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._thread is None)

    def end(self) -> None:
        """Stop, at the end of the program."""
        with self._changed:
            self._ending = True
            self._jobs.clear()
            thread, process = self._thread, self._process
            if process is not None:
                process.kill()
        if thread is not None:
            thread.join(_PATIENCE)

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._jobs:
                    self._thread = None
                    self._changed.notify_all()
                    return
                job, then = self._jobs.popleft()
            try:
                if self._tune(job) and not self._ending:
                    then()
            except Exception as error:  # the program runs as well without
                with suppress(RuntimeWarning):  # an error under -W error, which must not end this thread
                    warnings.warn(f"a call could not be tuned in the background: {error}", RuntimeWarning, stacklevel=1)

    def _tune(self, job: Job) -> bool:
        with self._changed:
            if self._ending:
                return False
            process, pipe = start(*self.serve, None)
            self._process = process
        try:
            with pipe:
                pipe.send(job)
                found: list[tuple[Key, Entry]] | str = pipe.recv()
        except (EOFError, OSError):
            if self._ending:
                return False
            found = "the process ended"
        finally:
            with self._changed:
                self._process = None
            process.kill()
            process.wait()
        if isinstance(found, str):
            raise RuntimeError(found)
        for key, entry in found:
            cache().put(key, entry)  # there already, unless the file cannot be written
        return bool(found)


def serve(handle: int) -> None:
    """Tune one job for the parent: it is answered with entries, or an error's text."""
    from mdhnp.runtime.devices import devices

    with Connection(handle) as pipe:
        job: Job = pipe.recv()
        threading.Thread(target=_end_with_parent, args=(pipe,), daemon=True).start()
        found: list[tuple[Key, Entry]] | str = []
        try:
            device = next(d for d in devices() if d.identity == job.keys[0].device)
            for h in job.stages:
                while tuned_for(h, device) is None and tune_stage(h, device, job.budget, job.evaluations)[0] is None:
                    time.sleep(_PAUSE)  # another process is tuning it: what that finds is for this one's parent, too
            entries = ((key, cache().get(key)) for key in job.keys)
            found = [(key, entry) for key, entry in entries if entry is not None]
        except Exception as error:  # told to the parent, which warns
            found = f"{type(error).__name__}: {error}"
        pipe.send(found)


def _end_with_parent(pipe: Connection) -> None:
    with suppress(OSError):
        pipe.poll(None)  # no more is sent: the end of the parent, which a signal may have killed, ends the wait
    os._exit(1)


_tuner = _Tuner()


@atexit.register
def _end() -> None:
    _tuner.end()


def _after_fork_in_child() -> None:
    global _tuner  # noqa: PLW0603
    _tuner = _Tuner()  # the thread is not here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
