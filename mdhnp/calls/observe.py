"""Who looks on: the plans and arrays of all calls made inside of a block."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from mdhnp.process import process

if TYPE_CHECKING:
    from mdhnp.calls.plans import Leaf, SlicedKernels

__all__ = ["Observed", "note", "observe", "slices_of"]

#: Plans of a call, with their arrays.
Observed = Sequence[tuple[Any, Sequence[Any]]]

#: Blocks open in any thread: as long as there are none, no call asks for its own.
blocks = 0
_counting = process.lock()
#: Lists of what was seen, each with whether it is to have whole plans.
_lists: ContextVar[tuple[tuple[list[Any], bool], ...]] = ContextVar("mdhnp_observed", default=())
#: Whether a part of a plan is being computed.
_in_slices: ContextVar[bool] = ContextVar("mdhnp_in_slices", default=False)


def note(plan: "Leaf", arrays: Sequence[npt.NDArray[Any]]) -> None:
    """Tell this thread's blocks that a plan is about to run on arrays."""
    for seen, whole in _lists.get():
        if not (whole and _in_slices.get()):
            seen.append((plan, arrays))


@contextmanager
def slices_of(plan: "SlicedKernels", arrays: Sequence[npt.NDArray[Any]]) -> Iterator[None]:
    """Tell blocks that want it of a plan whose parts run in this one."""
    for seen, whole in _lists.get():
        if whole:
            seen.append((plan, arrays))
    token = _in_slices.set(True)
    try:
        yield
    finally:
        _in_slices.reset(token)


@contextmanager
def observe(*, whole: bool = False) -> Iterator[list[tuple[Any, Sequence[npt.NDArray[Any]]]]]:
    """Collect the plans and arrays of all calls made inside the block, in order.

    Blocks nest, and the outer ones see the calls of the inner. A block sees the calls of its own thread or
    asynchronous task only. Of calls that several plans compute it sees each: no plan but those that compute
    themselves; with `whole` those that compute in parts, and not their parts.
    """
    seen: list[tuple[Any, Sequence[npt.NDArray[Any]]]] = []
    token = _lists.set((*_lists.get(), (seen, whole)))
    _count(1)
    try:
        yield seen
    finally:
        _count(-1)
        _lists.reset(token)


def _count(change: int) -> None:
    global blocks  # noqa: PLW0603
    with _counting:
        blocks += change
