"""Copies that go on beside kernels: they wait for a mark in the queue of calls, and not for what was enqueued since.

Takes a device and views of its memory. It must not know why what is copied is complete at the mark: that is for callers
to know.
"""

import os
import weakref
from typing import Any

import numpy.typing as npt
import pyopencl as cl

from mdhnp.runtime import pending, resident
from mdhnp.runtime.handle import Device

__all__ = ["Mark", "download", "mark", "upload_into"]

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
        event = cl.enqueue_marker(device.queue)
        device.queue.flush()
        return Mark(event)


def download(device: Device, view: Array, after: Mark) -> Array:
    """Copy the elements of a view to the host, as soon as what was before the mark is done.

    Raises
    ------
    LaunchError
        If a call before the mark failed; names it.
    """
    _reach(device, after)
    return resident.download(device, view, device.receiving_queue)


def upload_into(device: Device, array: Array, view: Array, after: Mark) -> None:
    """Copy an ndarray to where a view is, both in C order, as soon as what was before the mark is done.

    What is enqueued from now on waits for the copy.
    """
    _reach(device, after)
    queue = device.sending_queue
    with pending.errors(device):
        try:
            resident.upload_into(device, array, view, queue)
        finally:  # also after Ctrl-C: the memory may be another array's next
            sent = cl.enqueue_marker(queue)
            queue.flush()
            cl.enqueue_barrier(device.queue, wait_for=[sent])


def _reach(device: Device, after: Mark) -> None:
    """Wait here: on PoCL, what waits in a queue for an event that fails does so for ever."""
    with pending.errors(device):
        after.event.wait()


def _after_fork_in_child() -> None:
    _kept.extend([each.event for each in _marks])  # what frees events calls into a runtime that may be dead


_kept: list[Any] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
