"""Leases: arrays over all bytes of a block of memory, which is free again when no array sees them any more.

Takes memory, and where it goes when it is free. It must not know what kind of memory it is. NumPy keeps a lease as the
base of all arrays over it, since its type is another than theirs: it dies last, however they were made.
"""

import sys
from typing import Any, Protocol

import numpy as np

from mdhnp import native

__all__ = ["Home", "Lease", "lease"]


class Home(Protocol):
    """Where free blocks are: a list, or what has its ``append``, which may be called at any line of any thread."""

    def append(self, block: Any, /) -> None:
        """Take a block that is free again."""


class _InPython(np.ndarray[Any, Any]):
    """All bytes of a block."""

    __slots__ = ("block", "home")

    #: What is leased. Slices and copies of a lease have its type, but no block.
    block: Any
    #: Where it goes; None of somebody else's memory.
    home: Home | None

    # What it needs lies in its defaults: at the end of the process the module's names go before the last array.
    def __del__(self, ending: Any = sys.is_finalizing) -> None:
        if (home := getattr(self, "home", None)) is not None and not ending():
            home.append(self.block)


Lease: Any = _InPython if native.Lease is None else native.Lease


def lease(memory: Any, block: Any, home: Home | None) -> Any:
    """Give an array over memory of a block that goes home when nobody sees it any more.

    The memory is no ndarray: of arrays over an array over an ndarray NumPy keeps the last one alive, not the lease.
    """
    made = np.ndarray.__new__(Lease, (len(memory),), np.uint8, memory)
    made.block, made.home = block, home
    return made
