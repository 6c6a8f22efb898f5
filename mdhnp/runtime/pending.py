"""What was enqueued and not yet waited for, so that an error can name the call that failed.

Takes events and texts. It must not know arrays. A device has one queue, in order: all before something that is done is
done, too. An event costs half as much as a launch, so that there is one for each few launches only: an error names
these few. With the environment variable MDHNP_SYNCHRONOUS=1 every call is waited for, and an error is that call's.
"""

import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyopencl as cl

from mdhnp.runtime.handle import Device

__all__ = ["FULL", "LaunchError", "errors", "note", "settled", "synchronize", "wants_event"]

#: Launches to an event, and events that may be waited for: with more, a call waits until half of them are done.
_EACH, _MOST = 1 if os.environ.get("MDHNP_SYNCHRONOUS", "") not in ("", "0") else 8, 128
_PACKAGE = str(Path(__file__).parents[1])


#: What OpenCL says where memory is full.
FULL = (
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.OUT_OF_HOST_MEMORY,
    cl.status_code.INVALID_BUFFER_SIZE,
)


class LaunchError(RuntimeError):
    """A device refused a kernel, or could not complete it."""


class _Record(NamedTuple):
    """What was launched, and the caller's code and instruction."""

    what: str
    code: Any
    instruction: int

    def __str__(self) -> str:
        line = next((n for a, b, n in self.code.co_lines() if a <= self.instruction < b), None)
        return f"{self.what}, called at {self.code.co_filename}:{line}"


@dataclass(eq=False)
class _Few:
    """Some launches in a row, and the event of the last one, when there is one."""

    records: list[_Record] = field(default_factory=list)
    event: Any = None

    def status(self) -> int:
        try:
            return 1 if self.event is None else int(self.event.command_execution_status)
        except cl.Error:
            return -1


_waiting: dict[Device, deque[_Few]] = {}


def wants_event(device: Device) -> bool:
    """Say whether the next launch is to have an event."""
    waiting = _waiting.get(device)
    return _EACH == 1 if not waiting else len(waiting[-1].records) >= _EACH - 1


def note(device: Device, event: cl.Event | None, what: str) -> None:
    """Keep what was just launched until it is done; waits where too much would wait.

    Raises
    ------
    LaunchError
        Of a call that was waited for.
    """
    frame = _caller()
    if (waiting := _waiting.get(device)) is None:
        waiting = _waiting.setdefault(device, deque())
    try:
        few = waiting[-1]
    except IndexError:
        few = _Few()
        waiting.append(few)
    few.records.append(_Record(what, frame.f_code, frame.f_lasti))
    if event is None:
        return
    few.event = event
    waiting.append(_Few())
    if _EACH == 1:
        synchronize(device)
    elif len(waiting) > _MOST:
        with errors(device), suppress(IndexError):  # other threads wait, too
            waiting[_MOST // 2].event.wait()
        settled(device)


def _caller() -> Any:
    """Give the frame outside of the package that made a call; most are as far away as the one before."""
    global _distance  # noqa: PLW0603
    try:
        if not _inside(frame := sys._getframe(_distance)) and _inside(sys._getframe(_distance - 1)):
            return frame
    except ValueError:  # the stack is shorter
        pass
    frame, distance = sys._getframe(1), 1
    while frame.f_back is not None and _inside(frame):
        frame, distance = frame.f_back, distance + 1
    _distance = distance
    return frame


_distance = 1


def _inside(frame: Any) -> bool:
    return bool(frame.f_code.co_filename.startswith(_PACKAGE))


def settled(device: Device) -> None:
    """Forget what is done."""
    waiting = _waiting.get(device)
    with suppress(IndexError):  # other threads forget, too
        while waiting and waiting[0].event is not None and waiting[0].status() == cl.command_execution_status.COMPLETE:
            waiting.popleft()


@contextmanager
def errors(device: Device) -> Iterator[None]:
    """Turn an OpenCL error in this block into one that names the launches among which one failed.

    Raises
    ------
    LaunchError
        Names the kernels, and the lines that called them.
    MemoryError
        If it means that the device's memory is full.
    """
    try:
        yield
    except cl.Error as error:
        if error.code in FULL:
            raise MemoryError(f"{device.name} ({device.runtime}) has no room: {error}") from error
        waiting = _waiting.pop(device, None) or ()
        left = [few for few in waiting if few.status() != cl.command_execution_status.COMPLETE and few.records]
        failed = next((few for few in left if few.status() < 0), left[-1] if left else _Few())
        names = list(dict.fromkeys(map(str, failed.records)))
        if len(names) > 1:
            names = [f"one of these calls failed (MDHNP_SYNCHRONOUS=1 tells which): {'; '.join(names)}"]
        raise LaunchError(": ".join([*(names or [f"{device.name} ({device.runtime})"]), str(error)])) from error


def synchronize(device: Device) -> None:
    """Wait until all that was enqueued on a device is done.

    Raises
    ------
    LaunchError
        If a call failed; names it.
    """
    with errors(device):
        device.queue.finish()
        for few in tuple(_waiting.get(device, ())):
            if few.status() < 0:
                few.event.wait()  # which raises
    waiting = _waiting.get(device)
    with suppress(IndexError):
        while waiting and waiting[0].event is not None:
            waiting.popleft()


def _after_fork_in_child() -> None:
    _waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
