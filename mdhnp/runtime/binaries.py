"""Compiled kernels on disk, shared by all processes of a user.

Takes and gives bytes under a key; it must not know OpenCL. Whatever goes wrong with the disk, the caller only finds
less in the cache: a missing, cut or damaged file counts as absent, and a folder that cannot be written is reported
once and then left alone.
"""

import hashlib
import os
import tempfile
import threading
import warnings
from contextlib import suppress
from pathlib import Path

from mdhnp.runtime.paths import cache_folder

__all__ = ["load", "store"]

_MAGIC = b"mdhnp-binary-1\n"
_DIGEST = hashlib.sha256().digest_size
_LIMIT = 256 * 1024**2  # bytes of all files together, checked once a process

_once = threading.Lock()
_state = {"pruned": False, "warned": False}


def load(key: str) -> bytes | None:
    """Give what was stored under `key`, or None.

    Parameters
    ----------
    key : str
        Letters and digits, part of a file's name.

    Returns
    -------
    bytes or None
        Exactly the bytes stored: a checksum guards them, because drivers crash on a cut binary.

    Examples
    --------
    >>> load("0000") is None
    True
    """
    try:
        content = _file(key).read_bytes()
    except OSError:
        return None
    head, payload = content[: len(_MAGIC) + _DIGEST], content[len(_MAGIC) + _DIGEST :]
    if head != _MAGIC + hashlib.sha256(payload).digest():
        return None
    with suppress(OSError):
        os.utime(_file(key))  # the oldest are removed first
    return payload


def store(key: str, payload: bytes) -> None:
    """Keep `payload` under `key`, in place of what was there.

    Other processes see the old file or the new one, never a part: it is written beside and then renamed.

    Parameters
    ----------
    key : str
        As in :func:`load`.
    payload : bytes
        What to keep.

    Warns
    -----
    RuntimeWarning
        Once a process, if the folder cannot be written or the disk is full.

    Examples
    --------
    >>> store("0000", b"code")  # doctest: +SKIP
    """
    file = _file(key)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=file.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, file)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        if _first("warned"):
            warnings.warn(
                f"compiled kernels are not kept, so every process compiles them again: {error}. "
                "Set MDHNP_CACHE_DIR to a folder that can be written",
                RuntimeWarning,
                stacklevel=2,
            )
        return
    if _first("pruned"):
        _prune(file.parent)


def _file(key: str) -> Path:
    return cache_folder() / "binaries" / f"{key}.bin"


def _first(what: str) -> bool:
    with _once:
        done, _state[what] = _state[what], True
        return not done


def _prune(folder: Path) -> None:
    """Remove the files used longest ago until half of the limit is left, if there are more than the limit."""
    files = []
    for file in folder.iterdir():
        with suppress(OSError):  # another process may have removed it
            status = file.stat()
            files.append((status.st_mtime, status.st_size, file))
    total = sum(size for _, size, _ in files)
    if total <= _LIMIT:
        return
    for _, size, file in sorted(files):
        with suppress(OSError):
            file.unlink()
        total -= size
        if total <= _LIMIT // 2:
            return


def _after_fork_in_child() -> None:
    global _once  # noqa: PLW0603
    _once = threading.Lock()  # a thread that is not here may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
