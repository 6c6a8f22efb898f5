"""Has work done while the program goes on: one job after the other, in a helper process that ends with this one.

Compiling and searching would take the interpreter from the program, and compilers hold locks. So a process of low
priority does both; here a thread hands it the jobs, those first that calls wait for, and passes its answers on. It must
not know what the jobs do.
"""

import atexit
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, ClassVar, Protocol

from mdhnp.process import process
from mdhnp.tuning.processes import PARENT, Servant

__all__ = ["Job", "ahead", "complain", "later", "serve", "submit", "wait"]

#: Seconds that the end of the program waits for the thread, which may be loading a kernel.
_PATIENCE = 10.0

#: Seconds without a job after which the process ends.
_IDLE = 30.0

#: How often the process looks whether its parent is still there, in seconds.
_LOOK = 0.2

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

    #: Module and name of the function that the process runs.
    serve: ClassVar[tuple[str, str]] = ("mdhnp.tuning.background", "serve")

    def __init__(self) -> None:
        self._tasks: list[_Task] = []
        self._at_work = False
        # Its lock is reentrant, for finalizers that make a call.
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._process: Servant | None = None
        self._owed = 0  # answers that nobody has read
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
            (self._process or self._start()).pipe.send(job)
            self._owed += 1

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
        try:
            pipe = (self._process or self._start()).pipe
        except OSError:  # there can be no more processes
            return job.run()
        answer, error = None, f"no answer within {job.limit:.0f} s"
        try:
            pipe.send(job)
            self._owed += 1
            while self._owed and pipe.poll(job.limit):
                answer, error = pipe.recv()
                self._owed -= 1
            if self._owed:
                self._close()
            elif not error:
                return answer
        except (EOFError, OSError):
            self._close()
            error = "the helper process ended"
        raise RuntimeError(error)

    def _start(self) -> Servant:
        with self._changed:
            if self._ending:
                raise RuntimeError("the program ends")
            self._process = Servant(*self.serve, None, _alone())
            return self._process

    def _close(self) -> None:
        with self._changed:
            servant, self._process, self._owed = self._process, None, 0
        if servant is not None:
            servant.close()


def _alone() -> dict[str, str]:
    """Give variables by which BLAS in the helper uses one thread, where there are many cores.

    The caller's own products have all of them: threads of low priority would wait for each other most of the time.
    Where there are few cores, kernels and NumPy are compared as they are in the caller.
    """
    return dict.fromkeys(_BLAS_THREADS, "1") if (os.cpu_count() or 1) > _FEW_CORES else {}


def serve(handle: int) -> None:
    """Do jobs for the parent until it closes the pipe: each is answered with what it gives and an error's text."""
    parent = int(os.environ[PARENT])

    def end_with_parent() -> None:
        # The pipe does not tell: children that the parent has forked hold its other end, too.
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    more = (_LONG if (os.cpu_count() or 1) > _FEW_CORES else _LONG_ON_FEW) - _NICE
    _give_way(_NICE)
    with Connection(handle) as pipe:
        while True:
            try:
                job = pipe.recv()
            except (EOFError, OSError):
                return
            if not job.urgent and more:
                _give_way(more)
                more = 0
            answer = None
            try:
                answer, error = job.run(), ""
            except Exception as reason:  # told to the parent
                error = f"{type(reason).__name__}: {reason}"
            try:
                pipe.send((answer, error))
            except OSError:
                return


def _give_way(more: int) -> None:
    """Lower the priority for good: no process may raise its own."""
    with suppress(AttributeError, OSError):
        os.nice(more)


def complain(text: str) -> None:
    """Warn about what could not be done meanwhile, from a thread in which no line of the user's is at work."""
    warnings.warn(text, RuntimeWarning, stacklevel=1)


_helper = _Helper()


@atexit.register
def _end() -> None:
    _helper.end()


process.at_fork(lambda: globals().update(_helper=_Helper()))  # the thread is not in a forked child
