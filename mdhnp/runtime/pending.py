"""What was enqueued and not yet waited for, so that an error can name the call that failed.

Takes events and texts. It must not know arrays. A device has one queue of calls, in order: all before something that
is done is done, too. An event costs a third of a launch (2 of 7 µs on an H100), so that there is one
for each few launches only: an error names these few. With the environment variable MDHNP_SYNCHRONOUS=1 every call is
waited for, and an error is that call's.
"""

import os
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import pyopencl as cl

from mdhnp.documentation import exported
from mdhnp.process import process
from mdhnp.runtime.handle import Device

#: Launches to an event, and events that may be waited for: with more, a call waits until half of them are done.
EACH, _MOST = 1 if os.environ.get("MDHNP_SYNCHRONOUS", "") not in ("", "0") else 32, 32
#: The beginning of the names of the package's files.
PACKAGE = str(Path(__file__).parents[1]) + os.sep


#: What OpenCL says where memory is full.
FULL = (
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.OUT_OF_HOST_MEMORY,
    cl.status_code.INVALID_BUFFER_SIZE,
)

#: What was launched, and the caller's code and instruction.
Caller = tuple[str, Any, int]


@exported
class LaunchError(RuntimeError):
    """A device refused a kernel, or could not complete it."""


class _Few(NamedTuple):
    """Some launches in a row, and the event of the last one, if it has one."""

    callers: Sequence[Caller]
    event: Any

    def status(self) -> int:
        try:
            return 1 if self.event is None else int(self.event.command_execution_status)
        except cl.Error:
            return -1


@dataclass(eq=False)
class Waiting:
    """What of a device was not yet waited for: launches with an event, and the last ones, which have none yet."""

    device: Device
    few: deque[_Few] = field(default_factory=deque)
    last: list[Caller] = field(default_factory=list)
    #: How often an error was told: what was enqueued before one may not be there.
    failures: int = 0

    def put(self, event: cl.Event) -> None:
        """Note that the last launch has an event; waits where too much would wait, with the errors of these calls."""
        self.add(_Few(self.drop(len(self.last)), event))
        if EACH == 1:
            synchronize(self.device)

    def add(self, some: _Few) -> None:
        """Keep what has an event until it is done; waits, and errors, as of :meth:`put`."""
        self.few.append(some)
        if len(self.few) > _MOST:
            with errors(self.device), suppress(IndexError):  # other threads wait, too
                self.few[_MOST // 2].event.wait()
            settled(self.device)

    def put_address(self, event: int) -> None:
        self.put(cl.Event.from_int_ptr(event, retain=False))

    def drain(self) -> list[_Few]:
        found = [*self.few, _Few(self.drop(len(self.last)), None)]
        self.few.clear()
        return found

    def drop(self, count: int) -> list[Caller]:
        """Take the first of the last launches, one by one: other threads put some, and take some."""
        found: list[Caller] = []
        with suppress(IndexError):
            found.extend(map(self.last.pop, repeat(0, count)))
        return found


_waiting: dict[Device, Waiting] = {}


def waiting(device: Device) -> Waiting:
    """Give what waits on a device, the same object at every call."""
    found = _waiting.get(device)
    return _waiting.setdefault(device, Waiting(device)) if found is None else found


def note(device: Device, event: cl.Event, what: str) -> None:
    """Keep what was just launched until it is done; errors as of :meth:`Waiting.put`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    here = waiting(device)
    here.last.append((what, frame.f_code, frame.f_lasti))
    if len(here.last) >= EACH:
        here.put(event)


def watch(device: Device, event: cl.Event) -> None:
    """Keep the event of something else than a launch, in whatever queue, until it is done; errors of what was before.

    Where too much would wait, as of :meth:`Waiting.put`.
    """
    _left(device)
    waiting(device).add(_Few((), event))


def _described(caller: Caller) -> str:
    what, code, instruction = caller
    line = next((n for a, b, n in code.co_lines() if a <= instruction < b), None)
    return f"{what}, called at {code.co_filename}:{line}"


def settled(device: Device) -> None:
    """Forget what is done; LaunchError, which names it, if the next one failed."""
    first, failed = _left(device)
    if failed:
        with errors(device):
            first.event.wait()  # which raises


def _left(device: Device) -> tuple[Any, bool]:
    """Forget what is done; gives the next one, or None, and whether it failed."""
    few = waiting(device).few
    with suppress(IndexError):  # other threads forget, too
        while (status := (first := few[0]).status()) == cl.command_execution_status.COMPLETE:
            few.popleft()
        return first, status < 0
    return None, False


class errors:
    """Turn an OpenCL error in this block into MemoryError, if the device is full, or LaunchError.

    That names the launches among which one failed: the kernels, and the lines that called them.
    """

    __slots__ = ("_device",)

    def __init__(self, device: Device) -> None:
        self._device = device

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, cl.Error):
            raise _told(self._device, error) from error


def _told(device: Device, error: cl.Error) -> Exception:
    waiting(device).failures += 1
    if error.code in FULL:
        return MemoryError(f"{device.name} ({device.runtime}) has no room: {error}")
    done = cl.command_execution_status.COMPLETE
    left = [few for few in waiting(device).drain() if few.status() != done]
    likely = next((few for few in reversed(left) if few.callers), _Few((), None))
    failed = next((few for few in left if few.status() < 0), likely)
    names = list(dict.fromkeys(map(_described, failed.callers)))
    if len(names) > 1:
        names = [f"one of these calls failed (MDHNP_SYNCHRONOUS=1 tells which): {'; '.join(names)}"]
    return LaunchError(": ".join([*(names or [f"{device.name} ({device.runtime})"]), str(error)]))


def synchronize(device: Device) -> None:
    """Wait until all that was enqueued on a device is done; LaunchError, which names it, if a call failed."""
    here = waiting(device)
    before = len(here.last)
    with errors(device):
        device.queue.finish()
        for few in tuple(here.few):
            if few.status() < 0:
                few.event.wait()  # which raises
    settled(device)
    here.drop(before)


process.at_fork(lambda: process.inherit([each.drain() for each in _waiting.values()]))
