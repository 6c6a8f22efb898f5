"""Where files that outlive a process are kept. Knows the user's folders, not what is put there."""

import os
from pathlib import Path

import platformdirs

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """Folder of everything that may be deleted at any time: compiled kernels and sources of failed builds.

    Returns
    -------
    Path
        ``MDHNP_CACHE_DIR`` where that is set and not empty, else the user's cache folder for ``mdhnp``. The
        folder need not exist, nor be writable.

    Examples
    --------
    >>> cache_folder().is_absolute()
    True
    """
    chosen = os.environ.get("MDHNP_CACHE_DIR")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("mdhnp", appauthor=False))
