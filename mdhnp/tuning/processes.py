"""Other processes: which are still there, and those that serve this one."""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from multiprocessing import Pipe
from pathlib import Path
from typing import IO, NamedTuple

__all__ = ["PARENT", "Process", "Servant", "cores"]

#: Environment variable that tells the process who started it, who may be gone before it can ask.
PARENT = "MDHNP_PARENT"

#: Finds modules where the parent does, then runs a function on the pipe's end.
_START = """
import sys
module, function, handle, *sys.path = sys.argv[1:]
from importlib import import_module
getattr(import_module(module), function)(int(handle))
"""


class Process(NamedTuple):
    """A process, told from a later one that got the same number."""

    #: Machine, its boot and the name space that gives the number its meaning, so that containers with one cache folder
    #: do not take each other's processes for dead.
    host: str
    #: The process's number.
    pid: int
    #: Time of its start as the system writes it; empty where that is unknown.
    started: str

    @staticmethod
    def current() -> "Process":
        return _process(os.getpid())

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
def _process(pid: int) -> Process:
    return Process(_host(), pid, _started(pid))


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


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Servant:
    """A Python process that runs a function on its end of a pipe, and nothing of the caller's program.

    The function is given a file descriptor, for ``multiprocessing.connection.Connection``. Its standard error goes to
    `errors`, else nowhere; of the `environment` it has variables besides the caller's. Ctrl-C in a terminal is not for
    it. OSError if there can be no more processes or pipes.
    """

    def __init__(
        self, module: str, function: str, errors: IO[bytes] | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.pipe, theirs = Pipe()
        with theirs:
            handle, paths = theirs.fileno(), [path for path in sys.path if isinstance(path, str)]
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _START, module, function, str(handle), *paths],
                    pass_fds=(handle,),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors or subprocess.DEVNULL,
                    env={**os.environ, **(environment or {}), PARENT: str(os.getpid())},
                    process_group=0,
                )
            except BaseException:
                self.pipe.close()
                raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """End the process while another thread waits for its answer, which finds the pipe closed."""
        self._process.kill()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self.pipe.close()

    def status(self) -> str:
        """Say how the process has ended, if it does within two seconds."""
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(2.0)
            return f"signal {-code}" if code < 0 else f"exit status {code}"
        return ""
