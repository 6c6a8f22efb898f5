"""Arrays beside one's own OpenCL code: buffers and pyopencl's arrays as Arrays.

All kernels of a device run in the order of their calls, in one queue: ``device.queue``. Kernels of one's own that are
enqueued there need no events. Those in another queue of ``device.context`` do, both ways::

    cl.enqueue_barrier(mine, wait_for=[cl.enqueue_marker(device.queue)])  # what was called before is done first
    event = kernel(mine, ...)
    cl.enqueue_barrier(device.queue, wait_for=[event])  # what is called from now on comes after
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdhnp import runtime
from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make
from mdhnp.arrays.types import checked_type
from mdhnp.mdh.views import row_major
from mdhnp.runtime.layout import Layout

if TYPE_CHECKING:  # which load OpenCL
    import pyopencl as cl

    from mdhnp.runtime.handle import Device


def adopted(array: Any) -> Array:
    """Return an array of pyopencl's as an Array: in its buffer where kernels can work there, else in a copy."""
    elements = elements_of(array)
    if isinstance(elements, Array):
        return elements
    device = device_of(array.context) or runtime.devices.default_device()
    return make(transfer.put(elements, device), device)


def elements_of(array: Any, copy: bool | None = None) -> Array | npt.NDArray[Any]:
    """Return an array of pyopencl's as an Array in its buffer where kernels can work, else as a copy on the host."""
    import pyopencl as cl

    if isinstance(array.base_data, cl.MemoryObjectHolder):
        where = {"offset": array.offset, "strides": array.strides, "queue": array.queue, "events": array.events}
        return elements_in(array.base_data, array.shape, array.dtype, copy, **where)
    if copy is False:
        raise ValueError("copy=False, but an array that is in no buffer has to be copied")
    return array.get() if array.size else np.empty(array.shape, array.dtype)


def elements_in(
    buffer: Any,
    shape: tuple[int, ...],
    dtype: npt.DTypeLike,
    copy: bool | None,
    *,
    offset: int,
    strides: Sequence[int] | None,
    queue: Any = None,
    events: Sequence[Any] = (),
) -> Array | npt.NDArray[Any]:
    """Return somebody else's elements in a buffer: an Array where kernels can work there, else a copy on the host.

    They are complete after the events, and are copied in the queue; without strides they lie in C order.
    """
    import pyopencl as cl

    wanted, device = checked_type(dtype), device_of(buffer.context)
    layout = _layout(buffer, shape, wanted.itemsize, offset, strides)
    if device is not None and device.own_memory and device.context == buffer.context:
        if events:
            cl.enqueue_barrier(device.queue, wait_for=events)
        return make(device.memory.foreign(buffer, offset, shape, wanted, layout.strides), device)
    if copy is False:
        raise ValueError(f"copy=False, but the buffer has to be copied: {_why(device)}")
    if 0 in shape:
        return np.empty(shape, wanted)
    memory = np.empty(layout.nbytes, np.uint8)
    queue = queue or cl.CommandQueue(buffer.context)
    cl.enqueue_copy(queue, memory, buffer, src_offset=offset + layout.low, wait_for=list(events))
    return np.ndarray(shape, wanted, memory, -layout.low, layout.strides)


def _layout(buffer: Any, shape: tuple[int, ...], itemsize: int, offset: int, strides: Sequence[int] | None) -> Layout:
    """Return the elements' layout; they must be in the buffer, and where kernels can address them."""
    steps = tuple([itemsize * step for step in row_major(shape)] if strides is None else strides)
    if len(steps) != len(shape):
        raise ValueError(f"strides has {len(steps)} entries for {len(shape)} axes")
    if any(n % itemsize for n in (offset, *steps)):
        raise ValueError(f"offset and strides must be multiples of an element's {itemsize} bytes")
    layout = Layout(shape, steps, itemsize)
    begin = offset + layout.low
    if 0 not in shape and not 0 <= begin <= begin + layout.nbytes <= buffer.size:
        raise ValueError(f"elements lie outside of the buffer of {buffer.size} bytes")
    return layout


def _why(device: "Device | None") -> str:
    if device is None:
        return "it is of none of mdhnp.devices()"
    if device.own_memory:
        return f"its context is not that of {device!r}; make it in device.context"
    return f"on {device!r} arrays are in the host's memory"


def device_of(context: "cl.Context") -> "Device | None":
    """Give the device that has a context, else one that is in it."""
    known = runtime.devices
    inside = [d for d in (known.default_device(), *known.devices()) if d.cl in context.devices]
    return next((device for device in inside if device.context == context), inside[0] if inside else None)
