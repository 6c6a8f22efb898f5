"""Where files that outlive a process are kept. Knows the user's folders, not what is put there."""

import os
from functools import cache
from pathlib import Path

import platformdirs

__all__ = ["cache_folder", "data_folder"]


def cache_folder() -> Path:
    """Folder of everything that may be deleted at any time: compiled kernels and sources of failed builds.

    Returns
    -------
    Path
        ``MDHNP_CACHE_DIR`` where that is set and not empty, else the user's cache folder for ``mdhnp``. The
        folder need not exist, nor be writable. A relative path is taken from the folder that was the current one
        at the first use.

    Examples
    --------
    >>> cache_folder().is_absolute()
    True
    """
    return _chosen() or Path(platformdirs.user_cache_dir("mdhnp", appauthor=False))


def data_folder() -> Path:
    """Folder of what took long to make and is to be kept: tuned schedules and their measurements.

    Returns
    -------
    Path
        ``MDHNP_CACHE_DIR``, as for :func:`cache_folder`, else the user's data folder for ``mdhnp``, which no cleaner
        of caches empties.

    Examples
    --------
    >>> data_folder().is_absolute()
    True
    """
    return _chosen() or Path(platformdirs.user_data_dir("mdhnp", appauthor=False))


def _chosen() -> Path | None:
    chosen = os.environ.get("MDHNP_CACHE_DIR")
    return _absolute(chosen) if chosen else None


@cache
def _absolute(path: str) -> Path:
    return Path(path).absolute()  # once: a program that changes its folder must not leave a cache in each
