"""Pieces on their way from one device's memory to another's, through pinned memory of the host.

Takes devices and views of their memory. It must not know who waits for which pieces. A piece is one of the things that
a device does in turn, or it goes beside kernels, in queues for that: then it is read when all is done that its device
was given before a *mark*, and written after the mark of where it goes to, and calls go on until they are told to wait.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy.typing as npt
import pyopencl as cl

from mdhnp.runtime import pending
from mdhnp.runtime.handle import Device
from mdhnp.runtime.pinned import passage
from mdhnp.runtime.resident import changed, location
from mdhnp.runtime.transfers import noted

Array = npt.NDArray[Any]


def mark(device: Device) -> cl.Event:
    """Give the event of all that a device was given being done."""
    with pending.errors(device):
        event = cl.enqueue_marker(device.queue)
        device.queue.flush()
    return event


def wait_for(device: Device, written: Sequence[cl.Event]) -> None:
    """Have all calls on a device from now on wait for what is written there."""
    with pending.errors(device):
        cl.enqueue_barrier(device.queue, wait_for=[*written])


class Piece:
    """The elements of a view in C order, which are being read: in turn, or beside kernels after a mark."""

    def __init__(self, device: Device, view: Array, after: cl.Event | None) -> None:
        block, offset = location(view)
        self._device, self._memory = device, passage(device, view.nbytes)
        queue, waits = (device.queue, None) if after is None else (device.queue_of("receiving"), [after])
        with pending.errors(device), noted(False, view.nbytes):
            self._event = cl.enqueue_copy(
                queue, self._memory, block.buffer, src_offset=offset, is_blocking=False, wait_for=waits
            )
            queue.flush()

    def is_read(self) -> bool:
        """Whether they have been; LaunchError if that, or a call before, failed."""
        status = self._event.command_execution_status
        if status > cl.command_execution_status.COMPLETE:
            return False
        if status < 0:
            with pending.errors(self._device):
                self._event.wait()  # which raises, but with some runtimes
                raise cl.RuntimeError(cl._cl._ErrorRecord("a copy from the device failed", status, "clWaitForEvents"))
        pending.settled(self._device)
        return True

    def abandon(self) -> None:
        """Have nobody else get the memory before it was read, which nobody waits for."""
        with suppress(pending.LaunchError, MemoryError):  # what fails is being told
            pending.watch(self._device, self._event)

    def write(self, device: Device, view: Array, after: cl.Event | None, written: list[cl.Event]) -> None:
        """Write them to a view in C order, in turn or after a mark of its device, and add the event of that.

        That this fails is told by whoever next waits for the device.
        """
        block, offset = location(view)
        queue, waits = (device.queue, None) if after is None else (device.queue_of("sending"), [after])
        with pending.errors(device), noted(True, view.nbytes):
            copy = cl.enqueue_copy(
                queue, block.buffer, self._memory, dst_offset=offset, is_blocking=False, wait_for=waits
            )
            written.append(copy)  # before anything fails
            queue.flush()
        pending.watch(device, copy)  # which holds the memory
        changed(view)
