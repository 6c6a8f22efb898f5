"""What was enqueued and not yet waited for, so that an error can name the call that failed.

Takes events and texts. It must not know arrays. A device has one queue, in order: all before something that is done is
done, too.
"""

import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyopencl as cl

from mdhnp.runtime.handle import Device

__all__ = ["LaunchError", "errors", "note", "settled", "synchronize"]

#: Launches that may wait in a queue: with more, a call waits until half of them are done.
_MOST = 1024
_PACKAGE = str(Path(__file__).parents[1])


class LaunchError(RuntimeError):
    """A device refused a kernel, or could not complete it."""


class _Record(NamedTuple):
    """A launch: its event, what was launched, and the caller's code and instruction."""

    event: Any
    what: str
    code: Any
    instruction: int

    def line(self) -> str:
        """Give the caller's line."""
        number = next((n for a, b, n in self.code.co_lines() if a <= self.instruction < b), None)
        return f"{self.code.co_filename}:{number}"


_waiting: dict[Device, deque[_Record]] = {}


def note(device: Device, event: cl.Event, what: str) -> None:
    """Keep what was just launched until it is done; waits where too much would wait."""
    frame = _caller()
    waiting = _waiting.get(device)
    if waiting is None:
        waiting = _waiting.setdefault(device, deque())
    waiting.append(_Record(event, what, frame.f_code, frame.f_lasti))
    if len(waiting) > _MOST:
        _drain(device, waiting, _MOST // 2)


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


def _drain(device: Device, waiting: "deque[_Record]", left: int) -> None:
    with errors(device), suppress(IndexError):  # other threads drain, too
        waiting[len(waiting) - left - 1].event.wait()
        while len(waiting) > left:
            waiting.popleft()


def settled(device: Device) -> None:
    """Forget what is known to be done: a copy after it has been waited for."""
    waiting = _waiting.get(device)
    while waiting:
        with suppress(IndexError):
            if waiting[0].event.command_execution_status != cl.command_execution_status.COMPLETE:
                return
            waiting.popleft()


@contextmanager
def errors(device: Device) -> Iterator[None]:
    """Turn an OpenCL error in this block into one that names the launch that failed.

    Raises
    ------
    LaunchError
        Names the kernel, and the line that called it.
    """
    try:
        yield
    except cl.Error as error:
        waiting = _waiting.pop(device, None) or ()
        failed = next((each for each in waiting if _status(each.event) < 0), None)
        if failed is None:
            raise LaunchError(f"{device.name} ({device.runtime}): {error}") from error
        raise LaunchError(f"{failed.what}, called at {failed.line()}: {error}") from error


def _status(event: Any) -> int:
    try:
        return int(event.command_execution_status)
    except cl.Error:
        return -1


def synchronize(device: Device) -> None:
    """Wait until all that was enqueued on a device is done.

    Raises
    ------
    LaunchError
        If a call failed; names the first one.
    """
    with errors(device):
        device.queue.finish()
        for each in tuple(_waiting.get(device, ())):
            if _status(each.event) < 0:
                each.event.wait()  # which raises
    settled(device)


def _after_fork_in_child() -> None:
    _waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
