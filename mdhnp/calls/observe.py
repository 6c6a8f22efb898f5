"""Who looks on: the plans and arrays of all calls made inside of a block."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

if TYPE_CHECKING:
    from mdhnp.calls.plans import Leaf

__all__ = ["note", "observe"]

_Seen = "list[tuple[Leaf, Sequence[npt.NDArray[Any]]]]"

#: Blocks open in any thread: as long as there are none, no call asks for its own.
blocks = 0
_lists: ContextVar[tuple[Any, ...]] = ContextVar("mdhnp_observed", default=())


def note(plan: "Leaf", arrays: Sequence[npt.NDArray[Any]]) -> None:
    """Tell this thread's blocks that a plan is about to run on arrays."""
    for seen in _lists.get():
        seen.append((plan, arrays))


@contextmanager
def observe() -> Iterator["list[tuple[Leaf, Sequence[npt.NDArray[Any]]]]"]:
    """Collect the plans and arrays of all calls made inside the block, in order.

    Blocks nest, and the outer ones see the calls of the inner. A block sees the calls of its own thread or
    asynchronous task only. Of calls that several plans compute it sees each: no plan but those that compute
    themselves.
    """
    global blocks  # noqa: PLW0603
    seen: list[tuple[Leaf, Sequence[npt.NDArray[Any]]]] = []
    token = _lists.set((*_lists.get(), seen))
    blocks += 1
    try:
        yield seen
    finally:
        blocks -= 1
        _lists.reset(token)
