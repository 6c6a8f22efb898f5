"""Compiled kernels on disk, shared by all processes of a user.

Takes and gives bytes under a key; it must not know OpenCL. Whatever goes wrong with the disk, the caller only finds
less in the cache: a missing, cut or damaged file counts as absent, and so does one that others can write. A folder that
this user cannot write, or that others can, and a full disk are reported once a process.
"""

import hashlib
import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mdhnp.runtime.private import UnsafeError, cache_folder, file_lock, opened, read, write

_MAGIC = b"mdhnp-binary-1\n"
_DIGEST = hashlib.sha256().digest_size
#: Seconds to wait for another process that compiles the same.
_PATIENCE = 5.0
_LIMIT = 256 * 1024**2  # bytes of all files together, checked once a process

#: What is done once a process, until it was.
_left = {"prune": True, "warn": True}


def load(key: str) -> bytes | None:
    """Give the bytes that were stored under `key`, letters and digits, or None.

    A checksum guards them, because drivers crash on a cut binary. RuntimeWarning if other users can write to the
    folder, who could have this process run what they like.
    """
    try:
        with opened(_folder()) as folder:
            return _content(folder, f"{key}.bin")
    except UnsafeError as error:
        _warn(error)
    except OSError:
        pass
    return None


def _content(folder: int, name: str) -> bytes | None:
    with suppress(UnsafeError):  # it is only this file, which `store` replaces
        content = read(folder, name)
        head, payload = content[: len(_MAGIC) + _DIGEST], content[len(_MAGIC) + _DIGEST :]
        if head == _MAGIC + hashlib.sha256(payload).digest():
            with suppress(OSError):
                os.utime(name, dir_fd=folder)  # the oldest are removed first
            return payload
    return None


def store(key: str, payload: bytes) -> None:
    """Keep bytes under `key`, in place of what was there; RuntimeWarning if they cannot be kept."""
    try:
        with opened(_folder(), missing_ok=True) as folder:
            write(folder, f"{key}.bin", _MAGIC + hashlib.sha256(payload).digest() + payload)
            if _left.pop("prune", False):
                _prune(folder)
    except OSError as error:
        _warn(error)


def has(key: str) -> bool:
    """Tell whether something is stored under `key`, which may turn out to be damaged."""
    return (_folder() / f"{key}.bin").exists()


@contextmanager
def alone(key: str) -> Iterator[None]:
    """Keep other processes from making what is stored under `key` while the block runs.

    Where none can be kept out, or one takes too long, the block runs all the same.
    """
    path = _folder() / f"{key}.lock"
    with ExitStack() as block:
        try:
            with opened(_folder(), missing_ok=True):
                block.enter_context(file_lock(path, _PATIENCE))
            block.callback(path.unlink, missing_ok=True)
        except OSError:
            pass
        yield


def _folder() -> Path:
    return cache_folder() / "binaries"


def _warn(error: OSError) -> None:
    if _left.pop("warn", False):
        warnings.warn(
            f"compiled kernels are not kept, so every process compiles them again: {error}. "
            "Put that right, or set MDHNP_CACHE_DIR to a folder of your own that only you can write",
            RuntimeWarning,
            stacklevel=3,
        )


def _prune(folder: int) -> None:
    """Remove the files used longest ago until half of the limit is left, if there are more than the limit."""
    files = []
    with os.scandir(folder) as found:
        for file in found:
            with suppress(OSError):  # another process may have removed it
                status = file.stat(follow_symlinks=False)
                files.append((status.st_mtime, status.st_size, file.name))
    total = sum(size for _, size, _ in files)
    if total <= _LIMIT:
        return
    for _, size, name in sorted(files):
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        total -= size
        if total <= _LIMIT // 2:
            return
