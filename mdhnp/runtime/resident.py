"""Arrays in the memory of a device that has its own: their views, their results, and copies of them.

Takes a device and ndarrays; gives views. A *view* is an ndarray over addresses that nobody can read (`pool.Addresses`);
its base is a *lease* of them (`results.py`), held by all views of the same array. So NumPy slices and transposes them,
and a block is free again when the last one dies, however they were made.
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
from mdhnp.runtime.pool import Addresses, Block, pool
from mdhnp.runtime.results import Lease, lease
from mdhnp.runtime.transfers import receive, send

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
    return lambda: tuple([np.ndarray(s, t, leased(source.block(n), source.home(n))) for n, s, t in sizes])


def free(device: Device) -> int:
    """Give the bytes of a device's memory that this process may still take."""
    info = pool(device).info(0)
    return info.limit - info.used


def leased(block: Addresses, home: Any = None) -> Array:
    """Give what views are of: addresses that go home when the last one dies."""
    return lease(block.addresses, block, home)


def foreign(buffer: cl.Buffer, offset: int, shape: tuple[int, ...], dtype: Any, strides: Sequence[int]) -> Array:
    """Give a view of somebody else's buffer, held as long as it is seen."""
    block = Block(buffer, buffer.size)
    block.shared = True
    return np.ndarray(shape, dtype, leased(block), offset, strides)


def lease_of(view: Any) -> Any:
    """Give what dies with the last view of the same memory."""
    base = view.base
    while type(base) is not Lease:
        base = base.base
    return base


def block_of(view: Array) -> Any:
    """Give the :class:`Addresses` that a view is of."""
    return lease_of(view).block


def location(view: Array) -> Location:
    block = block_of(view)
    return Location(block, view.__array_interface__["data"][0] - block.start)


def bytes_of(view: Array) -> Array:
    """Give the view of all bytes from the lowest to the highest element of a view that has some."""
    if view.flags.c_contiguous:
        return view.reshape(-1).view(np.uint8)
    layout = Layout.of(view)
    return np.ndarray((layout.nbytes,), np.uint8, lease_of(view), location(view).offset + layout.low)


def fixed(view: Array) -> Array:
    """Give a view, through which, and through whose views, nothing may be put into its memory."""
    return np.ndarray(view.shape, view.dtype, lease_of(view).view(Fixed), location(view).offset, view.strides)


def is_fixed(view: Array) -> bool:
    """Whether it is one of :func:`fixed`, or a view of such."""
    base = view.base
    while type(base) is not Lease and type(base) is not Fixed:
        base = base.base  # type: ignore[union-attr]
    return type(base) is Fixed


def version(view: Array) -> int:
    """Give a number that is another one when the memory behind a view may have changed; somebody else's always may."""
    block: Addresses = block_of(view)
    block.version += block.shared
    return block.version


def changed(view: Array) -> None:
    block_of(view).version += 1


def unsent(device: Device, array: Array) -> tuple[Array, Array]:
    """Give an array, or a copy in C order if its elements do not lie one after the other, and a new view for it.

    MemoryError if there is no room.
    """
    if array.size:
        layout = Layout.of(array)
        array = np.ascontiguousarray(array) if not layout.contiguous or layout.low else array
    source = pool(device)
    block = source.take(array.nbytes)
    return array, np.ndarray(array.shape, array.dtype, leased(block, source.home(block.size)), 0, array.strides)


def upload(device: Device, array: Array) -> Array:
    """Copy an ndarray to a device, and give the view of the copy; errors as of :func:`unsent`."""
    array, view = unsent(device, array)
    upload_into(device, array, view)
    return view


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


def upload_into(device: Device, array: Array, view: Array, queue: cl.CommandQueue | None = None) -> None:
    """Copy an ndarray to where a view is, both in the same order, in the queue of calls or another one."""
    if view.size:
        block, offset = location(view)
        send(device, Layout.of(array).bytes_of(array), block.buffer, offset, queue)
        changed(view)


def move(device: Device, source: Array, target: Array) -> None:
    """Copy the elements of a view to where another one is, both in C order and apart, in the queue of calls."""
    if source.size:
        (block, offset), (other, at) = location(source), location(target)
        with pending.errors(device):
            copy = cl.enqueue_copy(
                device.queue, other.buffer, block.buffer, byte_count=source.nbytes, src_offset=offset, dst_offset=at
            )
        pending.watch(device, copy)
        changed(target)


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
