"""Arrays in the memory of a device that has its own: their views, their results, and copies of them.

Takes a device and ndarrays; gives views. A *view* is an ndarray over addresses that nobody can read (`pool.Block`); its
base is a *lease* of the block (`results.py`), held by all views of the same array. So NumPy slices and transposes them,
and the block is free again when the last one dies, however they were made.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from mdhnp.runtime import pending, results, transfers
from mdhnp.runtime.handle import Device
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.pool import Block, pool
from mdhnp.runtime.results import Home, Lease, lease
from mdhnp.runtime.transfers import receive, send

__all__ = [
    "Location", "Upload", "bytes_of", "changed", "download", "download_into", "filling", "fixed", "foreign", "is_fixed",
    "location", "maker", "pass_on", "upload", "upload_into", "version",
]  # fmt: skip

Array = npt.NDArray[Any]


class Fixed(np.ndarray[Any, Any]):
    """Stands between a lease and views that are read-only. NumPy's own flag says so of all: it must not write there."""


class Location(NamedTuple):
    """Where a view's first element is: in which block, and how many bytes from its beginning."""

    block: Block
    offset: int


def maker(device: Device, outputs: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]) -> Callable[[], tuple[Array, ...]]:
    """Give what makes views of new memory, as :func:`mdhnp.runtime.results.maker` does on the host."""
    source = pool(device)
    sizes = [(source.size_of(prod(shape) * dtype.itemsize), shape, dtype) for shape, dtype in outputs]
    return lambda: tuple([np.ndarray(s, t, _lease(source.block(n), source.home(n))) for n, s, t in sizes])


def _lease(block: Block, home: Home | None) -> Array:
    found: Array = lease(block.addresses, block, home)
    return found


def foreign(buffer: cl.Buffer, offset: int, shape: tuple[int, ...], dtype: Any, strides: Sequence[int] | None) -> Array:
    """Give a view of somebody else's buffer, held as long as it is seen; without strides, in C order."""
    return np.ndarray(shape, dtype, _lease(Block(buffer, buffer.size), None), offset, strides)


def _lease_of(view: Any) -> Any:
    base = view.base
    while type(base) is not Lease:
        base = base.base
    return base


def location(view: Array) -> Location:
    block = _lease_of(view).block
    return Location(block, view.__array_interface__["data"][0] - block.start)


def bytes_of(view: Array) -> Array:
    """Give the view of all bytes from the lowest to the highest element of a view that has some."""
    layout = Layout.of(view)
    return np.ndarray((layout.nbytes,), np.uint8, _lease_of(view), location(view).offset + layout.low)


def fixed(view: Array) -> Array:
    """Give a view, through which, and through whose views, nothing may be put into its memory."""
    return np.ndarray(view.shape, view.dtype, _lease_of(view).view(Fixed), location(view).offset, view.strides)


def is_fixed(view: Array) -> bool:
    """Whether it is one of :func:`fixed`, or a view of such."""
    base = view.base
    while type(base) is not Lease and type(base) is not Fixed:
        base = base.base  # type: ignore[union-attr]
    return type(base) is Fixed


def version(view: Array) -> int:
    """Give a number that is another one when the memory behind a view may have changed; somebody else's always may."""
    found = _lease_of(view)
    if found.home is None:
        found.block.version += 1
    version: int = found.block.version
    return version


def changed(view: Array) -> None:
    _lease_of(view).block.version += 1


class Upload:
    """An ndarray's way to a device; MemoryError if there is no room.

    `view` is of the copy, in C order if the array's elements do not lie one after the other; complete when it was sent.
    """

    def __init__(self, device: Device, array: Array) -> None:
        layout = Layout.of(array) if array.size else None
        if layout is not None and (not layout.contiguous or layout.low):
            array = np.ascontiguousarray(array)
        self._device, self._array = device, array
        self._block = pool(device).take(array.nbytes)
        leased = _lease(self._block, pool(device).home(self._block.size))
        self.view = np.ndarray(array.shape, array.dtype, leased, 0, array.strides)
        self._sent = layout is None

    def send(self, queue: cl.CommandQueue | None = None) -> None:
        """Copy, in the queue of calls or another one; only once."""
        if not self._sent:
            send(self._device, Layout.of(self._array).bytes_of(self._array), self._block.buffer, 0, queue)
            self._sent = True


def upload(device: Device, array: Array) -> Array:
    """Copy an ndarray to a device, and give the view of the copy; errors and order as of :class:`Upload`."""
    way = Upload(device, array)
    way.send()
    return way.view


def download(device: Device, view: Array) -> Array:
    """Copy the elements of a view to the host, when all that was enqueued before, in the queue of calls, is done.

    LaunchError, which names it, if a call before failed.
    """
    if not view.size:
        return np.empty(view.shape, view.dtype)
    layout, (block, offset) = Layout.of(view), location(view)
    (memory,) = results.maker([((layout.nbytes,), np.dtype(np.uint8))])()
    receive(device, memory, block.buffer, offset + layout.low)
    return np.ndarray(view.shape, view.dtype, memory, -layout.low, view.strides)


def download_into(device: Device, view: Array, array: Array, queue: cl.CommandQueue) -> None:
    """Copy the elements of a view to an ndarray, both in C order; errors as of :func:`download`."""
    if view.size:
        block, offset = location(view)
        receive(device, array, block.buffer, offset, queue)


def upload_into(device: Device, array: Array, view: Array) -> None:
    """Copy an ndarray to where a view is, both in C order, in the queue of calls."""
    if view.size:
        block, offset = location(view)
        send(device, Layout.of(array).bytes_of(array), block.buffer, offset)
        changed(view)


def pass_on(device: Device, view: Array, put: Callable[[Array, int], cl.Event]) -> None:
    """Copy the elements of a view, in C order, to elsewhere, as :func:`mdhnp.runtime.transfers.pass_on` does."""
    block, offset = location(view)
    transfers.pass_on(device, block.buffer, offset, view.nbytes, put)


@contextmanager
def filling(device: Device, view: Array) -> Iterator[Callable[[Array, int], cl.Event]]:
    """Give what puts bytes so far from the beginning of a view in C order, in the queue of calls.

    That one of them fails is told by whoever next waits for the device.
    """
    block, offset = location(view)
    sent, done = list[cl.Event](), cl.command_execution_status.COMPLETE
    with transfers.noted(True, view.nbytes):

        def put(some: Array, at: int) -> cl.Event:
            with pending.errors(device):
                event = cl.enqueue_copy(device.queue, block.buffer, some, dst_offset=offset + at, is_blocking=False)
                device.queue.flush()
                sent[:] = [e for e in (*sent, event) if e.command_execution_status != done]
                return event

        yield put
        for event in sent:
            pending.watch(device, event)
        changed(view)
