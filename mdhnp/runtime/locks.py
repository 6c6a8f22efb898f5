"""Files that keep other threads and processes out for a while."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["file_lock"]


@contextmanager
def file_lock(path: Path, patience: float, *, shared: bool = False) -> Iterator[None]:
    """Keep other threads and processes out while the block runs; when a process ends, so do its locks.

    Parameters
    ----------
    path : Path
        File to lock, made if it is missing.
    patience : float
        Seconds to wait for another one.
    shared : bool
        Whether others that share it may be in their blocks meanwhile.

    Raises
    ------
    OSError
        If the file cannot be made, or another one holds it for too long.
    """
    try:
        import fcntl
    except ImportError:  # not POSIX
        yield
        return
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    with _opened(path) as file:
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(file, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # closing is not enough where a forked child has the file open, too


def _opened(path: Path) -> IO[bytes]:
    """Open a file to lock: for reading, too, without which network file systems give no shared locks."""
    try:
        return open(path, "a+b")
    except PermissionError:  # another user's file, which can be locked all the same
        return open(path, "rb")
