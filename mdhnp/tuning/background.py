"""Has work done while the program goes on: one job after the other, in a helper process that ends with this one.

Compiling and searching would take the interpreter from the program, and compilers hold locks. So a process of low
priority does both; here a thread hands it the jobs, those first that calls wait for, and passes its answers on. It must
not know what the jobs do.
"""

import atexit
import multiprocessing
import os
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from mdhnp.process import process
from mdhnp.tuning.processes import Servant

#: Seconds that the end of the program waits for the thread, which may be loading a kernel.
_PATIENCE = 10.0

#: Seconds without a job after which the process ends.
_IDLE = 30.0

#: Its priority, below the caller's, for jobs that calls wait for: a quarter of a core that others want. With less, what
#: they take from others is no less, but a program that has all cores at work waits for a minute for its first kernel.
_NICE = 5
#: Its priority from the first other job on, which goes on for long: a tenth, or where there are few cores a twentieth.
_LONG, _LONG_ON_FEW = 10, 15

#: Cores up to which BLAS in the helper may use all of them, and what says how many threads it uses.
_FEW_CORES = 4
_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


class Job(Protocol):
    """What the process is to do, a picklable object.

    Those that are urgent come before others. After `limit` seconds the process counts as hanging, and is ended.
    """

    @property
    def urgent(self) -> bool: ...

    @property
    def limit(self) -> float: ...

    def run(self) -> Any:
        """Do it, and give a picklable answer."""


#: A job, what to do with its answer, and what with the reason why there is none. No job: there is nothing to ask.
_Task = tuple[Job | None, Callable[[Any], object], Callable[[str], object]]


def submit(job: Job, then: Callable[[Any], object], failed: Callable[[str], object]) -> bool:
    """Have a job done, and then, in another thread, one of two functions called: with the answer, or with the reason.

    Gives False where nobody can do it: the program ends, there is no interpreter to start (a frozen program), this is a
    daemonic process of multiprocessing, which may have no children, or the system allows no more threads. Where it
    allows no more processes the thread does the job.
    """
    return _can() and _helper.submit((job, then, failed))


def ahead(job: Job) -> None:
    """Have the process started and do a job that prepares it for others; nobody waits for it, and it may fail."""
    if _can():
        _helper.submit((None, lambda _: _helper.ahead(job), lambda _: None))


def _can() -> bool:
    return bool(sys.executable) and not getattr(sys, "frozen", False) and not multiprocessing.current_process().daemon


def later(work: Callable[[], object]) -> None:
    """Have something done in another thread; at once where there can be none."""
    if not _helper.submit((None, lambda _: work(), lambda _: None)):
        work()


def wait() -> None:
    _helper.wait()


class _Helper:
    """The tasks of this process, the thread that sees to them, and the process; both end when idle for long."""

    def __init__(self) -> None:
        self._tasks: list[_Task] = []
        self._at_work = False
        # Its lock is reentrant, for finalizers that make a call.
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._process: Servant | None = None
        self._nice = 0  # by how much its priority was lowered
        self._ending = False

    def submit(self, task: _Task) -> bool:
        with self._changed:
            if self._ending:
                return False
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="mdhnp-helper", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the process may have no more threads
                    return False
                self._thread = thread
            self._tasks.append(task)
            self._changed.notify_all()
            return True

    def wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._tasks and not self._at_work)

    def end(self) -> None:
        with self._changed:
            self._ending = True
            left = [then for job, then, _ in self._tasks if job is None]
            self._tasks.clear()
            self._changed.notify_all()
            thread = self._thread
            if self._process is not None:
                self._process.kill()
        if thread is not None:
            thread.join(_PATIENCE)
        for then in left:  # times to be kept
            with suppress(Exception):
                then(None)

    def ahead(self, job: Job) -> None:
        """Give the process a job whose answer is passed over, in the thread."""
        with suppress(OSError):  # there can be no more processes, or it has ended: the next job will tell
            servant = self._process or self._start()
            self._give_way(servant, job)
            servant.send(job.limit, job.run)

    def _work(self) -> None:
        while (task := self._next()) is not None:
            job, then, failed = task
            try:
                then(None if job is None else self._answer(job))
            except Exception as error:  # the program runs as well without
                if not self._ending:
                    with suppress(Exception):  # a warning that is an error, a closed file: the thread must not end
                        failed(str(error))

    def _next(self) -> _Task | None:
        """Wait for a task; None when there was none for long, or the program ends: then the process has ended."""
        with self._changed:
            self._at_work = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._tasks or self._ending, _IDLE)
            if self._tasks and not self._ending:
                urgent = (n for n, (job, _, _) in enumerate(self._tasks) if job is None or job.urgent)
                self._at_work = True
                return self._tasks.pop(next(urgent, 0))
            self._close()  # before another thread begins, and starts another process
            self._thread = None
            return None

    def _answer(self, job: Job) -> Any:
        """Have the process do a job; another process where it was killed, which says nothing of the job, but once."""
        for again in (True, False):
            try:
                servant = self._process or self._start()
            except OSError:  # there can be no more processes
                return job.run()
            try:
                self._give_way(servant, job)
                return servant.ask(job.limit, job.run)
            except TimeoutError:
                error, again = f"no answer within {job.limit:.0f} s", False
            except (EOFError, OSError):
                error = "the helper process ended"
            self._close()
            if not again:
                break
        raise RuntimeError(error)

    def _give_way(self, servant: Servant, job: Job) -> None:
        """Lower the process's priority to a job's, for good: no process may raise its own."""
        least = _NICE if job.urgent else _LONG if (os.cpu_count() or 1) > _FEW_CORES else _LONG_ON_FEW
        if least > self._nice and hasattr(os, "nice"):
            servant.send(job.limit, os.nice, least - self._nice)
            self._nice = least

    def _start(self) -> Servant:
        with self._changed:
            if self._ending:
                raise RuntimeError("the program ends")
            # The caller's own products have all cores: threads of low priority would wait for each other most of the
            # time. Where there are few, kernels and NumPy are compared as they are in the caller.
            alone = dict.fromkeys(_BLAS_THREADS, "1") if (os.cpu_count() or 1) > _FEW_CORES else {}
            self._process, self._nice = Servant(None, alone), 0
            return self._process

    def _close(self) -> None:
        with self._changed:
            servant, self._process = self._process, None
        if servant is not None:
            servant.close()


def complain(text: str) -> None:
    """Warn about what could not be done meanwhile, from a thread in which no line of the user's is at work."""
    warnings.warn(text, RuntimeWarning, stacklevel=1)


_helper = _Helper()


@atexit.register
def _end() -> None:
    _helper.end()


process.at_fork(lambda: globals().update(_helper=_Helper()))  # the thread is not in a forked child
