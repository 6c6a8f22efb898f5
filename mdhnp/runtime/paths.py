"""Where files that outlive a process are kept. Knows the user's folders, not what is put there."""

import os
from functools import cache
from pathlib import Path
from typing import Literal

__all__ = ["cache_folder", "data_folder"]


def cache_folder() -> Path:
    """Folder of everything that may be deleted at any time: compiled kernels and sources of failed builds.

    ``MDHNP_CACHE_DIR`` where that is set and not empty, else the user's cache folder for ``mdhnp``. The folder need not
    exist, nor be writable. A relative path is taken from the folder that was the current one at the first use.
    """
    return _chosen() or _users("cache")


def data_folder() -> Path:
    """Folder of what took long to make and is to be kept: tuned schedules and their measurements.

    ``MDHNP_CACHE_DIR``, as for :func:`cache_folder`, else the user's data folder for ``mdhnp``, which no cleaner of
    caches empties.
    """
    return _chosen() or _users("data")


def _chosen() -> Path | None:
    chosen = os.environ.get("MDHNP_CACHE_DIR")
    return _absolute(chosen) if chosen else None


def _users(kind: Literal["cache", "data"]) -> Path:
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
