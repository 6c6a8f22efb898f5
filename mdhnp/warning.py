"""Warnings about what a call could not have: at the line of the user's that made it, and never in the call's way."""

import sys
import warnings
from contextlib import suppress

__all__ = ["warn"]


def warn(text: str) -> None:
    """Issue a RuntimeWarning where the package was entered; a filter that makes warnings errors does not end the call.

    Examples
    --------
    >>> warn("nothing was lost")
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_globals.get("__name__", "").split(".")[0] == "mdhnp" and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    with suppress(RuntimeWarning):
        warnings.warn(text, RuntimeWarning, stacklevel=level + 1)
