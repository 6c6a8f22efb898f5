"""Pieces on their way from one device's memory to another's, through pinned memory of the host.

Takes devices and views of their memory. It must not know who waits for which pieces.
"""

from typing import Any

import numpy.typing as npt
import pyopencl as cl

from mdhnp.runtime import pending
from mdhnp.runtime.handle import Device
from mdhnp.runtime.pinned import passage
from mdhnp.runtime.resident import changed, location
from mdhnp.runtime.transfers import noted

Array = npt.NDArray[Any]


class Piece:
    """The elements of a view in C order, which are being read, behind all that was enqueued before."""

    def __init__(self, device: Device, view: Array) -> None:
        block, offset = location(view)
        self._device, self._memory = device, passage(device, view.nbytes)
        with pending.errors(device), noted(False, view.nbytes):
            self._event = cl.enqueue_copy(
                device.queue, self._memory, block.buffer, src_offset=offset, is_blocking=False
            )
            device.queue.flush()

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

    def write(self, device: Device, view: Array) -> None:
        """Write them to a view in C order, as soon as what was enqueued before on its device is done.

        That this fails is told by whoever next waits for the device.
        """
        block, offset = location(view)
        with pending.errors(device), noted(True, view.nbytes):
            copy = cl.enqueue_copy(device.queue, block.buffer, self._memory, dst_offset=offset, is_blocking=False)
            device.queue.flush()
        pending.watch(device, copy)  # which holds the memory
        changed(view)
