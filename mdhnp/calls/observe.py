"""Who looks on: the plans and arrays of all calls made inside of a block."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mdhnp.process import process

#: Plans of a call, with their arrays.
Observed = list[tuple[Any, Sequence[Any]]]

#: Blocks open in any thread: as long as there are none, no call asks for its own.
blocks = 0
_counting = process.lock()
_lists: ContextVar[tuple[Observed, ...]] = ContextVar("mdhnp_observed", default=())


def note(plan: Any, arrays: Sequence[Any]) -> None:
    """Tell this thread's blocks that a plan is about to run on arrays."""
    for seen in _lists.get():
        seen.append((plan, arrays))


@contextmanager
def observe() -> Iterator[Observed]:
    """Collect the plans and arrays of all calls made inside the block, in order.

    Blocks nest, and the outer ones see the calls of the inner. A block sees the calls of its own thread or
    asynchronous task only. Of calls that several plans compute it sees each, and what computes part by part before
    the plans of its parts, those of equal parts once.
    """
    global blocks  # noqa: PLW0603
    seen: Observed = []
    token = _lists.set((*_lists.get(), seen))
    with _counting:
        blocks += 1
    try:
        yield seen
    finally:
        with _counting:
            blocks -= 1
        _lists.reset(token)


@contextmanager
def unseen() -> Iterator[None]:
    """Keep calls of this thread made inside of the block from all blocks of :func:`observe` around it."""
    token = _lists.set(())
    try:
        yield
    finally:
        _lists.reset(token)
