"""Other processes: which are still there, and those that work for this one."""

import math
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, NamedTuple

from mdhnp.process import PARENT

#: Finds modules where the parent does, then serves it.
_START = """
import sys
handle, *sys.path = sys.argv[1:]
from mdhnp.tuning.processes import serve
serve(int(handle))
"""

#: How often a process looks whether its parent is still there, in seconds.
_LOOK = 0.2
#: One whose parent was killed ends itself this many seconds after the parent would have ended it.
_GRACE = 10


class ProcessIdentity(NamedTuple):
    """A process, told from a later one that got the same number."""

    #: Machine, its boot and the name space that gives the number its meaning, so that containers with one cache folder
    #: do not take each other's processes for dead.
    host: str
    #: The process's number.
    pid: int
    #: Time of its start as the system writes it; empty where that is unknown.
    started: str

    @staticmethod
    def current() -> "ProcessIdentity":
        return ProcessIdentity(_host(), os.getpid(), _started(os.getpid()))

    def is_dead(self) -> bool:
        """Tell whether the process surely no longer runs; False where that cannot be known."""
        if self.host != _host() or os.name != "posix":
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except (OSError, OverflowError):  # another user's, or no process ever had this number
            pass
        return self.started != _started(self.pid)


@lru_cache(maxsize=1)
def _host() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot = space = ""
    return f"{platform.node()}|{boot}|{space}"


def _started(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


class Servant:
    """A Python process that calls functions for this one, one after the other, and runs nothing of its program.

    Its standard error goes to `errors`, else nowhere; of the `environment` it has variables besides the caller's.
    Ctrl-C in a terminal is not for it, and it ends with its parent. OSError if there can be no more processes or pipes.
    """

    def __init__(self, errors: IO[bytes] | None = None, environment: Mapping[str, str] | None = None) -> None:
        if os.name != "posix":
            raise OSError("another process cannot be given a pipe on this system")
        self._pipe, theirs = Pipe()
        self._owed = 0  # answers that nobody has read
        with theirs:
            handle, paths = theirs.fileno(), [path for path in sys.path if isinstance(path, str)]
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _START, str(handle), *paths],
                    pass_fds=(handle,),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors or subprocess.DEVNULL,
                    env={**os.environ, **(environment or {}), PARENT: str(os.getpid())},
                    process_group=0,
                )
            except BaseException:
                self._pipe.close()
                raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, limit: float, function: Callable[..., object], *arguments: Any) -> None:
        """Have a function called whose answer is passed over; like its arguments it can be pickled.

        EOFError or OSError if the process has ended.
        """
        self._pipe.send((limit, function, arguments))
        self._owed += 1

    def ask(self, limit: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have a function called, and give its answer; errors as of :meth:`send`.

        RuntimeError with the text of an error that it raises, TimeoutError if that takes more than `limit` seconds.
        """
        self.send(limit, function, *arguments)
        return self.answer(limit)

    def answer(self, limit: float) -> Any:
        """Wait for what was sent, if anything, and give the last answer; errors as of :meth:`ask`."""
        answer, error = None, ""
        while self._owed:
            if not self._pipe.poll(limit):
                raise TimeoutError
            answer, error = self._pipe.recv()
            self._owed -= 1
        if error:
            raise RuntimeError(error)
        return answer

    def kill(self) -> None:
        """End the process while another thread waits for its answer, which finds the pipe closed."""
        self._process.kill()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._pipe.close()

    def status(self) -> str:
        """Say how the process has ended, if it does within two seconds."""
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(2.0)
            return f"signal {-code}" if code < 0 else f"exit status {code}"
        return ""


def serve(handle: int) -> None:
    """Call functions for the parent, which sends limits, functions and arguments, until it is gone or closes the pipe.

    Each is answered with what the function gives, and the text of an error.
    """
    parent = int(os.environ[PARENT])

    def end_with_parent() -> None:
        # The pipe does not tell: children that the parent has forked hold its other end, too.
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends this process
    with Connection(handle) as pipe:
        while True:
            try:
                limit, function, arguments = pipe.recv()
            except (EOFError, OSError):
                return
            signal.alarm(math.ceil(limit) + _GRACE)  # what hangs may keep the thread above from running
            answer = None
            try:
                answer, error = function(*arguments), ""
            except Exception as reason:  # told to the parent
                error = f"{type(reason).__name__}: {reason}"
            signal.alarm(0)
            try:
                pipe.send((answer, error))
            except OSError:
                return
