"""Keeps fork() away from what no child survives: OpenCL drivers that are being loaded, and modules half imported.

A child inherits their locks, held by threads that it does not have, and hangs where it wants to load them itself. So a
fork waits for them, and they for a fork. Once its parent has devices, a child uses none: see ``Device.check``.
(``subprocess`` starts other programs and never waits.)
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["unforked"]

_PATIENCE = 10.0  # seconds that a fork waits at most

_gate = threading.Condition()
_busy: dict[int, int] = {}  # thread -> how many blocks it is in, one inside the other


@contextmanager
def unforked() -> Iterator[None]:
    """Let no other thread fork this process inside the block; blocks nest.

    Examples
    --------
    >>> with unforked():
    ...     pass
    """
    me = threading.get_ident()
    outside = _busy.get(me, 0)  # nobody else changes it
    try:
        with _gate:
            _busy[me] = outside + 1
        yield
    finally:
        with _gate:
            if outside:
                _busy[me] = outside
            else:
                _busy.pop(me, None)
            _gate.notify_all()


def _before_fork() -> None:
    _gate.acquire()
    _gate.wait_for(lambda: _busy.keys() <= {threading.get_ident()}, _PATIENCE)


def _after_fork_in_parent() -> None:
    _gate.release()


def _after_fork_in_child() -> None:
    global _gate  # noqa: PLW0603
    _gate = threading.Condition()
    _busy.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
