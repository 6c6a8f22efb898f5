"""Warnings about what a call could not have: at the line of the user's that made it, and never in the call's way."""

import sys
import warnings
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar

from mdhnp.process import having

_collecting: ContextVar[list[str] | None] = ContextVar("mdhnp_warnings", default=None)


def collected() -> AbstractContextManager[list[str]]:
    """Have warnings in a block, and in threads that run in a copy of its context, collected and not issued.

    The stack of such a thread does not have the user's line: who began it issues them.
    """
    return having(_collecting, list[str]())


def warn(text: str) -> None:
    """Issue a RuntimeWarning where the package was entered; a filter that makes it an error does not end the call."""
    texts = _collecting.get()
    if texts is not None:
        texts.append(text)
        return
    level, frame = 1, sys._getframe(1)
    while frame.f_globals.get("__name__", "").split(".")[0] == "mdhnp" and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    with suppress(RuntimeWarning):
        warnings.warn(text, RuntimeWarning, stacklevel=level + 1)
