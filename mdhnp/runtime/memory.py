"""How NumPy arrays reach kernels: in place, as buffers over the host's memory, or copied to the device.

Takes a device and the arrays' layouts, gives what is set as kernel arguments. It must not know kernels. In all three
ways an argument points at the *lowest* address of the array's elements: for a reversed array that is its last
element, and the code generator's offsets count from there.
"""

import ctypes
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyopencl as cl

from mdhnp.runtime.handle import Device
from mdhnp.runtime.layout import Layout

__all__ = ["DeviceBuffers", "HostBuffers", "Memory", "SystemMemory", "largest_array", "memory_for"]

_ALIGNMENT = 64  # bytes: a cache line, and the widest vector
_LARGE = 1024**2  # bytes: waiting for a copy of this size costs little beside the copy
_SVM: Any = cl.SVM


class Memory(Protocol):
    """What brings arrays to kernels and back; one object serves one call at a time.

    Attributes
    ----------
    transient : bool
        Whether what `bind` gives dies with the call, so that kernels must let go of it.
    nbytes : int
        Bytes of the device's memory that it holds between calls, besides temporaries.
    """

    transient: bool
    nbytes: int

    def bind(self, queue: cl.CommandQueue, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        """Give kernel arguments: one for each input, then for each output."""

    def complete(self, event: cl.Event, queue: cl.CommandQueue, bound: list[Any], outputs: Sequence[Any]) -> None:
        """Wait for the last launch, and see that the results are in `outputs`."""

    def temporary(self, nbytes: int) -> Any:
        """Allocate memory for kernels only, as a kernel argument that owns it."""


class SystemMemory:
    """Kernels work on the arrays' own memory: nothing is made, nothing copied."""

    transient = False
    nbytes = 0

    def __init__(self, device: Device, inputs: Sequence[Layout], outputs: Sequence[Layout]) -> None:
        self._layouts = [*inputs, *outputs]
        self._direct = [layout.contiguous for layout in self._layouts]

    @property
    def lows(self) -> tuple[int, ...]:
        """Of each input, then each output, the bytes from its first element to the lowest; zero or less."""
        return tuple(layout.low for layout in self._layouts)

    def bind(self, queue: cl.CommandQueue, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        """Give the arrays' addresses."""
        return [self._pointer(n, array) for n, array in enumerate((*inputs, *outputs))]

    def _pointer(self, n: int, array: Any) -> Any:
        if self._direct[n]:
            try:
                return _SVM(array)
            except ValueError:  # pyopencl refuses an array that is read-only; the next one will be, too
                self._direct[n] = False
        return _SVM(self._layouts[n].bytes_of(array))

    def complete(self, event: cl.Event, queue: cl.CommandQueue, bound: list[Any], outputs: Sequence[Any]) -> None:
        """Wait: on PoCL and Intel, waiting for the event takes half the time of finishing the queue."""
        event.wait()

    def temporary(self, nbytes: int) -> Any:
        """Give NumPy memory on a cache line's boundary."""
        memory = np.empty(nbytes + _ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % _ALIGNMENT
        return _SVM(memory[start : start + nbytes])


class HostBuffers:
    """Buffers laid over the arrays' memory for the time of a call: CPU devices without shared virtual memory."""

    transient = True
    nbytes = 0

    def __init__(self, device: Device, inputs: Sequence[Layout], outputs: Sequence[Layout]) -> None:
        _check_sizes(device, [layout.nbytes for layout in (*inputs, *outputs)])
        self._device = device
        self._inputs = inputs
        self._outputs = outputs

    def bind(self, queue: cl.CommandQueue, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        """Make the buffers; an array given twice gets one, since two over the same memory are undefined."""
        shared: dict[tuple[int, int], cl.Buffer] = {}
        bound = []
        for layout, array in zip(self._inputs, inputs, strict=True):
            view = layout.bytes_of(array)
            key = (ctypes.addressof(view), layout.nbytes)
            if key not in shared:
                shared[key] = self._buffer(cl.mem_flags.READ_ONLY, view)
            bound.append(shared[key])
        for layout, array in zip(self._outputs, outputs, strict=True):
            bound.append(self._buffer(cl.mem_flags.READ_WRITE, layout.bytes_of(array)))
        return bound

    def _buffer(self, access: int, view: ctypes.Array[ctypes.c_char]) -> cl.Buffer:
        return cl.Buffer(self._device.context, access | cl.mem_flags.USE_HOST_PTR, hostbuf=view)

    def complete(self, event: cl.Event, queue: cl.CommandQueue, bound: list[Any], outputs: Sequence[Any]) -> None:
        """Map each output: only then must a runtime that worked on a copy bring the host's memory up to date."""
        for buffer in bound[len(self._inputs) :]:
            mapped, _ = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 0, (buffer.size,), np.dtype(np.uint8))
            mapped.base.release(queue).wait()

    def temporary(self, nbytes: int) -> Any:
        """Give a buffer."""
        _check_sizes(self._device, [nbytes])
        return cl.Buffer(self._device.context, cl.mem_flags.READ_WRITE, nbytes)


class DeviceBuffers:
    """Buffers in the device's memory, kept from call to call; inputs are copied in and outputs out."""

    transient = False

    def __init__(self, device: Device, inputs: Sequence[Layout], outputs: Sequence[Layout]) -> None:
        _check_sizes(device, [layout.nbytes for layout in (*inputs, *outputs)])
        self._device = device
        self._inputs = inputs
        self._outputs = outputs
        self._buffers = [
            *(cl.Buffer(device.context, cl.mem_flags.READ_ONLY, layout.nbytes) for layout in inputs),
            *(cl.Buffer(device.context, cl.mem_flags.READ_WRITE, layout.nbytes) for layout in outputs),
        ]
        self.nbytes = sum(layout.nbytes for layout in (*inputs, *outputs))
        self._copies: list[cl.Event] = []

    def bind(self, queue: cl.CommandQueue, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        """Copy the inputs; gaps between elements go along, because kernels have the strides built in."""
        self._copies = [
            cl.enqueue_copy(queue, buffer, layout.bytes_of(array), is_blocking=layout.nbytes > _LARGE)
            for layout, array, buffer in zip(self._inputs, inputs, self._buffers, strict=False)
        ]
        return self._buffers

    def complete(self, event: cl.Event, queue: cl.CommandQueue, bound: list[Any], outputs: Sequence[Any]) -> None:
        """Copy the outputs, which waits for the kernels before, in an in-order queue."""
        for array, buffer in zip(outputs, bound[len(self._inputs) :], strict=True):
            cl.enqueue_copy(queue, array, buffer, is_blocking=True)
        self._copies = []  # not earlier: pyopencl waits for a copy when its event goes

    def temporary(self, nbytes: int) -> Any:
        """Give a buffer."""
        _check_sizes(self._device, [nbytes])
        return cl.Buffer(self._device.context, cl.mem_flags.READ_WRITE, nbytes)


def memory_for(device: Device, inputs: Sequence[Layout], outputs: Sequence[Layout]) -> Memory:
    """Give the fastest way from NumPy to `device`.

    Parameters
    ----------
    device : Device
        A GPU gets copies even if it can reach the host's memory, which then is slow.
    inputs, outputs : sequence of Layout
        Of the arrays to come. Outputs must be contiguous.

    Raises
    ------
    MemoryError
        An array is larger than the device's largest buffer.

    Examples
    --------
    >>> memory_for(find_device("intel"), [Layout((4,), (4,), 4)], []).transient  # doctest: +SKIP
    False
    """
    if device.kind == "gpu":
        return DeviceBuffers(device, inputs, outputs)
    return SystemMemory(device, inputs, outputs) if device.svm else HostBuffers(device, inputs, outputs)


def largest_array(device: Device) -> int | None:
    """Give the bytes of the largest array that kernels on `device` can be given; None where there is no limit."""
    return None if device.kind == "cpu" and device.svm else device.caps.max_allocation


def _check_sizes(device: Device, sizes: Sequence[int]) -> None:
    largest = max(sizes, default=0)
    if largest > device.caps.max_allocation:
        raise MemoryError(
            f"an array of {largest} bytes is larger than {device.name} ({device.runtime}) can hold in one buffer "
            f"({device.caps.max_allocation} bytes)"
        )
