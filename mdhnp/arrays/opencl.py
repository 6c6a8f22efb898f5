"""Arrays beside one's own OpenCL code: buffers and pyopencl's arrays as Arrays.

All kernels of a device run in the order of their calls, in one queue: ``device.queue``. Kernels of one's own that are
enqueued there need no events. Those in another queue of ``device.context`` do, both ways::

    cl.enqueue_barrier(mine, wait_for=[cl.enqueue_marker(device.queue)])  # what was called before is done first
    event = kernel(mine, ...)
    cl.enqueue_barrier(device.queue, wait_for=[event])  # what is called from now on comes after
"""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make
from mdhnp.arrays.types import checked_type

if TYPE_CHECKING:  # which load OpenCL
    import pyopencl as cl

    from mdhnp.runtime.handle import Device
    from mdhnp.runtime.layout import Layout

__all__ = ["Region", "adopted", "device_of", "elements_of"]


def adopted(array: Any) -> Array:
    """Return an array of pyopencl's as an Array: in its buffer where kernels can work there, else in a copy."""
    from mdhnp.runtime.devices import default_device

    elements = elements_of(array)
    if isinstance(elements, Array):
        return elements
    device = device_of(array.context) or default_device()
    return make(transfer.put(elements, device), device)


def elements_of(array: Any, copy: bool | None = None) -> Array | npt.NDArray[Any]:
    """Return an array of pyopencl's as an Array in its buffer where kernels can work, else as a copy on the host."""
    import pyopencl as cl

    if isinstance(array.base_data, cl.MemoryObjectHolder):
        region = Region(array.base_data, array.offset, array.strides, array.queue, array.events)
        return region.elements(array.shape, array.dtype, copy)
    if copy is False:
        raise ValueError("copy=False, but an array that is in no buffer has to be copied")
    return array.get() if array.size else np.empty(array.shape, array.dtype)


class Region(NamedTuple):
    """Where somebody else's elements are in a buffer."""

    #: What they are in.
    buffer: Any
    #: Bytes to the first element.
    offset: int
    #: Bytes from one element to the next along each axis; None: C order.
    strides: Sequence[int] | None
    #: In which to copy them.
    queue: Any
    #: When they are complete.
    events: Sequence[Any]

    def elements(self, shape: tuple[int, ...], dtype: npt.DTypeLike, copy: bool | None) -> Array | npt.NDArray[Any]:
        """Return an Array where kernels can work in the buffer, else a copy on the host."""
        import pyopencl as cl

        from mdhnp.runtime import resident

        wanted, device = checked_type(dtype), device_of(self.buffer.context)
        layout = self._layout(shape, wanted.itemsize)
        if device is not None and device.own_memory and device.context == self.buffer.context:
            if self.events:
                cl.enqueue_barrier(device.queue, wait_for=self.events)
            return make(resident.foreign(self.buffer, self.offset, shape, wanted, layout.strides), device)
        if copy is False:
            raise ValueError(f"copy=False, but the buffer has to be copied: {_why(device)}")
        return self._copied(layout, wanted)

    def _layout(self, shape: tuple[int, ...], itemsize: int) -> "Layout":
        """Return the elements' layout; they must be in the buffer, and where kernels can address them."""
        from mdhnp.runtime.layout import Layout

        packed = [itemsize * prod(shape[n + 1 :]) for n in range(len(shape))]
        strides = tuple(packed if self.strides is None else self.strides)
        if len(strides) != len(shape):
            raise ValueError(f"strides has {len(strides)} entries for {len(shape)} axes")
        if any(n % itemsize for n in (self.offset, *strides)):
            raise ValueError(f"offset and strides must be multiples of an element's {itemsize} bytes")
        layout = Layout(shape, strides, itemsize)
        begin = self.offset + layout.low
        if 0 not in shape and not 0 <= begin <= begin + layout.nbytes <= self.buffer.size:
            raise ValueError(f"elements lie outside of the buffer of {self.buffer.size} bytes")
        return layout

    def _copied(self, layout: "Layout", dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        import pyopencl as cl

        if 0 in layout.shape:
            return np.empty(layout.shape, dtype)
        memory = np.empty(layout.nbytes, np.uint8)
        queue, begin = self.queue or cl.CommandQueue(self.buffer.context), self.offset + layout.low
        cl.enqueue_copy(queue, memory, self.buffer, src_offset=begin, wait_for=list(self.events))
        return np.ndarray(layout.shape, dtype, memory, -layout.low, layout.strides)


def _why(device: "Device | None") -> str:
    if device is None:
        return "it is of none of mdhnp.devices()"
    if device.own_memory:
        return f"its context is not that of {device!r}; make it in device.context"
    return f"on {device!r} arrays are in the host's memory"


def device_of(context: "cl.Context") -> "Device | None":
    """Give the device that has a context, else one that is in it."""
    from mdhnp.runtime.devices import default_device, devices

    inside = [device for device in (default_device(), *devices()) if device.cl in context.devices]
    return next((device for device in inside if device.context == context), inside[0] if inside else None)
