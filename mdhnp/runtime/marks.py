"""Copies that go on beside kernels: they wait for a mark in the queue of calls, and not for what was enqueued since.

Takes a device and views of its memory. It must not know why what is copied is complete at the mark: that is for callers
to know.
"""

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy.typing as npt
import pyopencl as cl

from mdhnp.process import process
from mdhnp.runtime import pending, resident, transfers
from mdhnp.runtime.handle import Device

__all__ = ["Mark", "download", "filling", "mark", "pass_on", "upload_into"]

Array = npt.NDArray[Any]


class Mark:
    """A place in a device's queue of calls."""

    __slots__ = ("__weakref__", "event")

    def __init__(self, event: cl.Event) -> None:
        self.event = event
        _marks.add(self)


_marks: "weakref.WeakSet[Mark]" = weakref.WeakSet()


def mark(device: Device) -> Mark:
    """Mark what was enqueued so far; the device begins with it at once."""
    with pending.errors(device):
        return Mark(_mark(device.queue))


def download(device: Device, view: Array, after: Mark | None = None) -> Array:
    """Copy the elements of a view to the host, as soon as what was before the mark is done.

    Without one, when all that was enqueued is done. LaunchError, which names it, if a call before failed.
    """
    return resident.download(device, view, _reading(device, after))


def pass_on(device: Device, view: Array, put: Callable[[Array, int], cl.Event], after: Mark | None = None) -> None:
    """Copy the elements of a view, in C order, to elsewhere, as :func:`mdhnp.runtime.transfers.pass_on` does.

    Errors and order are those of :func:`download`.
    """
    block, offset = resident.location(view)
    transfers.pass_on(device, block.buffer, offset, view.nbytes, put, _reading(device, after))


def _reading(device: Device, after: Mark | None) -> cl.CommandQueue:
    if after is None:
        return device.queue
    _reach(device, after)
    return device.receiving_queue


def upload_into(device: Device, array: Array, view: Array, after: Mark | None = None) -> None:
    """Copy an ndarray to where a view is, both in C order, as soon as what was before the mark is done.

    Without one, when all that was enqueued is done. What is enqueued from now on comes after the copy; with a mark this
    is waited for. LaunchError if the copy, or one before, failed and that is known already; with a mark it is.
    """
    with _writing(device, after) as queue:
        resident.upload_into(device, array, view, queue)


@contextmanager
def filling(device: Device, view: Array, after: Mark | None = None) -> Iterator[Callable[[Array, int], cl.Event]]:
    """Give what puts bytes so far from the beginning of a view in C order; order as of :func:`upload_into`.

    That one of them fails is told by whoever next waits for the device; with a mark that is the end of this.
    """
    block, offset = resident.location(view)
    sent: list[cl.Event] = []
    with _writing(device, after) as queue, transfers.noted(True, view.nbytes):

        def put(some: Array, at: int) -> cl.Event:
            with pending.errors(device):
                event = cl.enqueue_copy(queue, block.buffer, some, dst_offset=offset + at, is_blocking=False)
                queue.flush()
                sent[:] = [*filter(_undone, sent), event]
                return event

        yield put
        for event in sent:
            pending.watch(device, event)
        resident.changed(view)


def _undone(event: cl.Event) -> bool:
    return bool(event.command_execution_status != cl.command_execution_status.COMPLETE)


@contextmanager
def _writing(device: Device, after: Mark | None) -> Iterator[cl.CommandQueue]:
    if after is None:
        yield device.queue
        return
    _reach(device, after)
    queue = device.sending_queue
    try:
        yield queue
    except BaseException:  # also Ctrl-C: the memory may be another array's next
        with suppress(cl.Error):  # the first error says more
            _mark(queue).wait()
        raise
    with pending.errors(device):
        _mark(queue).wait()  # here: see `_reach`


def _mark(queue: cl.CommandQueue) -> cl.Event:
    event = cl.enqueue_marker(queue)
    queue.flush()
    return event


def _reach(device: Device, after: Mark) -> None:
    """Wait here: on PoCL, what waits in a queue for an event that fails does so for ever."""
    with pending.errors(device):
        after.event.wait()


process.at_fork(lambda: process.inherit([each.event for each in _marks]))
