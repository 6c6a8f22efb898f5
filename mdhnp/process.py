"""What a process has one of: locks, tables of its objects, and what happens to them when it forks.

A forked child has the memory of its parent, but none of the parent's other threads, so locks that these held are never
released; and OpenCL runtimes, whose threads are gone, must not be called, not even to free an object. So whatever a
module keeps for the whole process is made here, and one hook puts all of it right. Once its parent has devices, a
child uses none: see ``Device.check``. (``subprocess`` starts other programs; it neither waits nor needs any of this.)

This module imports nothing of the package.
"""

import gc
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Value = TypeVar("Value")

#: Environment variable that tells a process which other one it works for, that may be gone before it can ask.
PARENT = "MDHNP_PARENT"

_PATIENCE = 10.0  # seconds that a fork waits at most


class Process:
    """The locks and tables of one process, and the functions that its forks call."""

    def __init__(self) -> None:
        self._locks: weakref.WeakSet[Any] = weakref.WeakSet()
        self._tables: list[dict[Any, Any]] = []
        self._before: list[Callable[[], object]] = []
        self._in_parent: list[Callable[[], object]] = []
        self._in_child: list[Callable[[], object]] = []
        self._inherited: list[object] = []
        self.forks = 0  # between the first of this process's ancestors that loaded the package, and this one
        self._forking = threading.RLock()  # one fork at a time, but for those of signal handlers amid one
        self._gate = threading.Condition()
        self._busy: dict[int, int] = {}  # thread -> how many `unforked` blocks it is in, one inside the other

    def lock(self, *, reentrant: bool = True) -> Any:
        """Give a new lock that a forked child finds free.

        Locks that are waited for must be reentrant: the garbage collector may come at any line, and run a finalizer
        that makes a call.
        """
        made = threading.RLock() if reentrant else threading.Lock()
        self._locks.add(made)
        return made

    def table(self) -> dict[Any, Any]:
        """Give a new dictionary that a forked child finds empty. What the parent had in it is never freed there."""
        made: dict[Any, Any] = {}
        self._tables.append(made)
        return made

    def at_fork(
        self,
        in_child: Callable[[], object],
        *,
        before: Callable[[], object] | None = None,
        in_parent: Callable[[], object] | None = None,
    ) -> None:
        """Have a function called in forked children, and others in the parent before and after a fork.

        Functions before a fork are called in the reverse order of these calls, the others in their order.
        """
        self._in_child.append(in_child)
        if before is not None:
            self._before.insert(0, before)
        if in_parent is not None:
            self._in_parent.append(in_parent)

    def inherit(self, value: object) -> None:
        """Keep what a child has of its parent as long as the child lives: freeing it would call a dead runtime."""
        self._inherited.append(value)

    @contextmanager
    def unforked(self) -> Iterator[None]:
        """Let no other thread fork this process inside the block; blocks nest.

        For drivers that are being loaded and modules half imported: a child would inherit their locks, held by threads
        that it does not have, and hang where it wants to load them itself. A fork waits for the end of such blocks, for
        ten seconds at most, and they wait for the end of a fork.
        """
        me = threading.get_ident()
        outside = self._busy.get(me, 0)  # nobody else changes it
        try:
            with self._gate:
                self._busy[me] = outside + 1
            yield
        finally:
            with self._gate:
                if outside:
                    self._busy[me] = outside
                else:
                    self._busy.pop(me, None)
                self._gate.notify_all()

    def _before_fork(self) -> None:
        self._forking.acquire()
        try:
            for function in self._before:
                function()
        finally:  # whatever fails or interrupts them: the fork comes all the same
            self._gate.acquire()
        self._gate.wait_for(lambda: self._busy.keys() <= {threading.get_ident()}, _PATIENCE)

    def _after_fork_in_parent(self) -> None:
        with ExitStack() as stack:  # the last one first, and each one, whatever others raise
            stack.callback(self._forking.release)
            for function in reversed(self._in_parent):
                stack.callback(function)
            stack.callback(self._gate.release)

    def _after_fork_in_child(self) -> None:
        self.forks += 1
        self._forking = threading.RLock()
        self._gate = threading.Condition()
        self._busy.clear()
        for lock in self._locks:
            if not (hasattr(lock, "_is_owned") and lock._is_owned()):  # else the thread that forked will release it
                lock._at_fork_reinit()
        for table in self._tables:
            self._inherited.append(dict(table))
            table.clear()
        with ExitStack() as stack:
            for function in reversed(self._in_child):
                stack.callback(function)


process = Process()
unforked = process.unforked


def take_for_old() -> None:
    """Have the garbage collector take all objects that there are for old ones, at which it seldom looks.

    Modules and drivers leave some ten thousand that stay: looking at them takes 45 ms of whichever call comes next.
    Only after these have come: garbage becomes old, too.
    """
    with unforked():  # a child would have all frozen
        if not gc.get_freeze_count():  # what others have frozen would thaw
            gc.freeze()
            gc.unfreeze()


@contextmanager
def having(variable: ContextVar[Any], value: Value) -> Iterator[Value]:
    """Have a variable have a value inside of a block, in this thread or task; gives the value."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=process._before_fork,
        after_in_parent=process._after_fork_in_parent,
        after_in_child=process._after_fork_in_child,
    )
