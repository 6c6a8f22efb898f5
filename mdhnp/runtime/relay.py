"""Relay: elements that go from one device's memory to another's by way of the host's, in pieces.

Takes a device and views of its memory; it must not know why elements are moved.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy.typing as npt
import pyopencl as cl

from mdhnp.runtime import pending, resident, transfers
from mdhnp.runtime.handle import Device

__all__ = ["filling", "pass_on"]

Array = npt.NDArray[Any]


def pass_on(device: Device, view: Array, put: Callable[[Array, int], cl.Event]) -> None:
    """Copy the elements of a view, in C order, to elsewhere, as :func:`mdhnp.runtime.transfers.pass_on` does."""
    block, offset = resident.location(view)
    transfers.pass_on(device, block.buffer, offset, view.nbytes, put)


@contextmanager
def filling(device: Device, view: Array) -> Iterator[Callable[[Array, int], cl.Event]]:
    """Give what puts bytes so far from the beginning of a view in C order, in the queue of calls.

    That one of them fails is told by whoever next waits for the device.
    """
    block, offset = resident.location(view)
    sent: list[cl.Event] = []
    with transfers.noted(True, view.nbytes):

        def put(some: Array, at: int) -> cl.Event:
            with pending.errors(device):
                event = cl.enqueue_copy(device.queue, block.buffer, some, dst_offset=offset + at, is_blocking=False)
                device.queue.flush()
                sent[:] = [*filter(_undone, sent), event]
                return event

        yield put
        for event in sent:
            pending.watch(device, event)
        resident.changed(view)


def _undone(event: cl.Event) -> bool:
    return bool(event.command_execution_status != cl.command_execution_status.COMPLETE)
