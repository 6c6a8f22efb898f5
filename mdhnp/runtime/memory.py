"""How arrays reach kernels: in place, as buffers over the host's memory, copied to the device, or lying there already.

Takes a device and the arrays' layouts, gives what is set as kernel arguments. It must not know kernels. In all these
ways an argument points at the *lowest* address of the array's elements: for a reversed array that is its last
element, and the code generator's offsets count from there.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl

from mdhnp.runtime.handle import Device
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.pool import Block, pool, require_buffer
from mdhnp.runtime.resident import location
from mdhnp.runtime.results import maker
from mdhnp.runtime.transfers import receive, send

_SVM: Any = cl.SVM


class Bound(NamedTuple):
    """What a call sets as kernels' arguments."""

    #: One for each input, then each output, then each temporary.
    arguments: list[Any]
    #: Of each input and output the bytes from its argument to its lowest element; where kernels take them.
    offsets: Sequence[Any] = ()
    #: Of the device's memory, for this call only.
    blocks: tuple[Block, ...] = ()


class Memory:
    """What brings arrays to kernels and back; one object serves one call at a time.

    `bind` gives kernels' arguments, for arrays of the layouts; `complete` waits for the last launch, and sees that the
    results are in the outputs. Temporaries are bytes of what kernels write and read in between.
    """

    #: Whether what `bind` gives dies with the call, so that kernels must let go of it.
    transient = False

    def __init__(
        self, device: Device, inputs: Sequence[Layout], outputs: Sequence[Layout], temporaries: Sequence[int]
    ) -> None:
        self._device, self._inputs, self._outputs, self._sizes = device, inputs, outputs, temporaries
        self._layouts = [*inputs, *outputs]
        #: Of each input, then each output, the bytes from its first element to the lowest; zero or less.
        self.lows = tuple([layout.low for layout in self._layouts])
        self._prepare()

    def _prepare(self) -> None:
        """Set what a kind of memory has besides; MemoryError as of :func:`memory_for`."""

    def bind(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> Bound:
        raise NotImplementedError

    def complete(self, event: cl.Event, bound: Bound, outputs: Sequence[Any]) -> None:
        """By default nothing: nobody waits for views."""

    def _brought(self, inputs: Sequence[Any], bring: Callable[[int, Any], cl.Buffer]) -> list[cl.Buffer]:
        """Give a buffer of each input, the same one of what is given twice, which `bring` makes of its bytes."""
        found, brought = [], dict[tuple[int, int], cl.Buffer]()
        for n, (layout, array) in enumerate(zip(self._inputs, inputs, strict=True)):
            view = layout.bytes_of(array)
            key = (ctypes.addressof(view), layout.nbytes)
            if key not in brought:
                brought[key] = bring(n, view)
            found.append(brought[key])
        return found

    def _checked_sizes(self) -> list[int]:
        """Give bytes of all arrays and temporaries; MemoryError where a buffer of the device cannot be so large."""
        sizes = [*(layout.nbytes for layout in self._layouts), *self._sizes]
        require_buffer(self._device, max(sizes, default=0))
        return sizes


class SystemMemory(Memory):
    """Kernels work on the arrays' own memory: nothing is made, nothing copied."""

    def _prepare(self) -> None:
        self._direct = [layout.contiguous for layout in self._layouts]
        self.temporaries = maker([((nbytes,), np.dtype(np.uint8)) for nbytes in self._sizes])

    def bind(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> Bound:
        own = [_SVM(memory) for memory in self.temporaries()]
        return Bound([*(self._pointer(n, array) for n, array in enumerate((*inputs, *outputs))), *own])

    def _pointer(self, n: int, array: Any) -> Any:
        if self._direct[n]:
            try:
                return _SVM(array)
            except ValueError:  # pyopencl refuses an array that is read-only; the next one will be, too
                self._direct[n] = False
        return _SVM(self._layouts[n].bytes_of(array))

    def complete(self, event: cl.Event, bound: Bound, outputs: Sequence[Any]) -> None:
        """Wait: on PoCL and Intel, waiting for the event takes half the time of finishing the queue."""
        event.wait()


class HostBuffers(Memory):
    """Buffers laid over the arrays' memory for the time of a call: CPU devices without shared virtual memory."""

    transient = True

    def _prepare(self) -> None:
        self._checked_sizes()

    def bind(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> Bound:
        """Make the buffers; an array given twice gets one, since two over the same memory are undefined."""
        bound = self._brought(inputs, lambda _, view: self._buffer(cl.mem_flags.READ_ONLY, view))
        for layout, array in zip(self._outputs, outputs, strict=True):
            bound.append(self._buffer(cl.mem_flags.READ_WRITE, layout.bytes_of(array)))
        own = [cl.Buffer(self._device.context, cl.mem_flags.READ_WRITE, nbytes) for nbytes in self._sizes]
        return Bound([*bound, *own])

    def _buffer(self, access: int, view: ctypes.Array[ctypes.c_char]) -> cl.Buffer:
        return cl.Buffer(self._device.context, access | cl.mem_flags.USE_HOST_PTR, hostbuf=view)

    def complete(self, event: cl.Event, bound: Bound, outputs: Sequence[Any]) -> None:
        """Map each output: only then must a runtime that worked on a copy bring the host's memory up to date."""
        first, queue = len(self._inputs), self._device.queue
        for buffer in bound.arguments[first : first + len(self._outputs)]:
            mapped, _ = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 0, (buffer.size,), np.dtype(np.uint8))
            mapped.base.release(queue).wait()


class DeviceBuffers(Memory):
    """Blocks of the device's memory for the time of a call; inputs are copied in and outputs out."""

    def _prepare(self) -> None:
        self._pool, self._sizes = pool(self._device), self._checked_sizes()
        self._offsets = [np.int64(0)] * len(self._layouts)

    def bind(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> Bound:
        """Copy the inputs; gaps between elements go along, because kernels have the strides built in."""
        blocks = self._pool.take_all(self._sizes)
        arguments = [block.buffer for block in blocks]

        def sent(n: int, view: Any) -> cl.Buffer:
            send(self._device, view, arguments[n], 0)
            return arguments[n]

        try:
            arguments[: len(inputs)] = self._brought(inputs, sent)
        except BaseException:
            self._pool.give_back(*blocks)
            raise
        return Bound(arguments, self._offsets, blocks)

    def complete(self, event: cl.Event, bound: Bound, outputs: Sequence[Any]) -> None:
        """Copy the outputs, which waits for the kernels before: the queue is in order."""
        for array, buffer in zip(outputs, bound.arguments[len(self._inputs) :], strict=False):
            receive(self._device, array, buffer, 0)


class Resident(Memory):
    """Views of the device's memory (`resident.py`): nothing is copied, and nobody waits."""

    def bind(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> Bound:
        places = [location(view) for view in (*inputs, *outputs)]
        blocks = pool(self._device).take_all(self._sizes)
        offsets = [np.int64(at.offset + low) for at, low in zip(places, self.lows, strict=True)]
        return Bound([*(at.block.buffer for at in places), *(block.buffer for block in blocks)], offsets, blocks)


def memory_for(
    device: Device, inputs: Sequence[Layout], outputs: Sequence[Layout], temporaries: Sequence[int], *, resident: bool
) -> Memory:
    """Give the fastest way from arrays to kernels on `device`; MemoryError if one is larger than its largest buffer.

    A GPU gets copies even if it can reach the host's memory, which then is slow. `resident` ones are views.
    """
    if resident:
        return Resident(device, inputs, outputs, temporaries)
    kind = DeviceBuffers if device.own_memory else SystemMemory if device.svm else HostBuffers
    return kind(device, inputs, outputs, temporaries)


def largest_array(device: Device) -> int | None:
    """Give the bytes of the largest array that kernels on `device` can be given; None where there is no limit."""
    return None if not device.own_memory and device.svm else device.caps.max_allocation
