"""The user's folders: where they are, and how nobody else can put files there that are loaded; and locks on files.

Takes paths and bytes; it must not know what the files hold. A folder is opened first and looked at then, and its files
are reached through what was opened, so that nobody can put another one in its place in between.
"""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Literal

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

#: Version of the tuning cache's tables, to be raised when they change: installations of different versions each keep a
#: file of their own instead of setting each other's aside.
TABLES = 4

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class UnsafeError(PermissionError):
    """Others can change a folder or a file, or made it; the message says how to put that right."""


def cache_folder() -> Path:
    """Folder of everything that may be deleted at any time: compiled kernels and sources of failed builds.

    ``MDHNP_CACHE_DIR`` where that is set and not empty, else the user's cache folder for ``mdhnp``. The folder need not
    exist, nor be writable. A relative path is taken from the folder that was the current one at the first use.
    """
    return _folder("cache")


def data_folder() -> Path:
    """Folder of what took long to make and is to be kept: tuned schedules and their measurements.

    ``MDHNP_CACHE_DIR``, as for :func:`cache_folder`, else the user's data folder for ``mdhnp``, which no cleaner of
    caches empties.
    """
    return _folder("data")


def tuning_file() -> Path:
    """File of the tuning cache, which need not exist; here, since `tuning` is loaded only where it does."""
    return data_folder() / f"tuning-{TABLES}.sqlite"


def _folder(kind: Literal["cache", "data"]) -> Path:
    if chosen := os.environ.get("MDHNP_CACHE_DIR"):
        return _absolute(chosen)
    import platformdirs  # only here: it takes 2 ms

    folder = platformdirs.user_cache_dir if kind == "cache" else platformdirs.user_data_dir
    try:
        path = folder("mdhnp", appauthor=False)
    except RuntimeError:  # this user has no home folder
        path = ""
    # Earlier versions of platformdirs then give a path that begins with "~", a folder of that name in the current one.
    return Path(path) if os.path.isabs(path) else Path(os.devnull, "mdhnp")  # which nobody can make


@cache
def _absolute(path: str) -> Path:
    return Path(path).absolute()  # once: a program that changes its folder must not leave a cache in each


def make(folder: Path) -> None:
    """Make a folder and those above it, where they are missing, for this user alone whatever the umask says."""
    for each in (*reversed(folder.parents), folder):
        if not each.is_dir():
            each.mkdir(0o700, exist_ok=True)


@contextmanager
def opened(folder: Path, *, missing_ok: bool = False) -> Iterator[int]:
    """Open a folder to which, and to the one that it lies in, only this user can write.

    The folder above it may be reached by symbolic links; the folder itself may be none. With `missing_ok` it is made.

    Gives a file descriptor, for :func:`read` and :func:`write`. UnsafeError if other users can write to one of the two,
    or one is another user's, or all users can rename a folder on the way there; OSError if it cannot be opened or made.
    """
    if not hasattr(os, "geteuid"):
        raise UnsafeError(f"this system does not say who can write to {folder}")
    if missing_ok:
        make(folder)
    above = Path(os.path.realpath(folder.parent, strict=True))
    for each in reversed(above.parents):
        mode = os.stat(each).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise UnsafeError(
                f"{above} can be replaced by other users, since {each} can be written by all "
                f"(mode {stat.S_IMODE(mode):04o}): chmod o-w or chmod +t that"
            )
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    outer = os.open(above, flags)
    try:
        _check(outer, above)
        inner = os.open(folder.name, flags, dir_fd=outer)
    finally:
        os.close(outer)
    try:
        _check(inner, above / folder.name)
        yield inner
    finally:
        os.close(inner)


def read(folder: int, name: str) -> bytes:
    """Give what a file holds; UnsafeError if others wrote it, or can, OSError if there is none or a symbolic link."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # opening a pipe must not wait for its writer
    with open(os.open(name, flags, dir_fd=folder), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise UnsafeError(f"{name} is not a file")
        _check(file.fileno(), name)
        return file.read()


def write(folder: int, name: str, content: bytes) -> None:
    """Write a file, in place of what was there; others see the old file or the new one, never a part."""
    part = f"{name}.{os.urandom(8).hex()}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with open(os.open(part, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(content)
        os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise


def _check(handle: int, name: object) -> None:
    status, me = os.fstat(handle), os.geteuid()
    if status.st_uid != me:
        raise UnsafeError(f"{name} belongs to user {status.st_uid}, and this process to user {me}")
    if status.st_mode & _OTHERS:
        raise UnsafeError(f"{name} can be written by others (mode {stat.S_IMODE(status.st_mode):04o}): chmod go-w it")


@contextmanager
def file_lock(path: Path, patience: float, *, shared: bool = False) -> Iterator[None]:
    """Keep other threads and processes out while the block runs; when a process ends, so do its locks.

    The file is made if it is missing. OSError if it cannot be, or if another one holds it for more than `patience`
    seconds. Those that share it may be in their blocks at the same time.
    """
    if fcntl is None:
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
