"""Arrays beside one's own OpenCL code: buffers and pyopencl's arrays as Arrays, and Arrays as kernels' arguments.

All kernels of a device run in the order of their calls, in one queue: ``device.queue``. Kernels of one's own that are
enqueued there need no events. Those in another queue of ``device.context`` do, both ways::

    cl.enqueue_barrier(mine, wait_for=[cl.enqueue_marker(device.queue)])  # what was called before is done first
    event = kernel(mine, ...)
    cl.enqueue_barrier(device.queue, wait_for=[event])  # what is called from now on comes after
"""

import sys
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.errors import guarded

if TYPE_CHECKING:  # which load OpenCL
    import pyopencl as cl

    from mdhnp.arrays.array import Array
    from mdhnp.runtime.handle import Device
    from mdhnp.runtime.layout import Layout

__all__ = ["Arguments", "from_buffer", "is_array", "seen"]


class Arguments:
    """What kernels of one's own take of an Array, which has a ``_view`` and a ``device``."""

    __slots__ = ()

    _view: npt.NDArray[Any]
    device: "Device"

    @property
    def queue(self) -> "cl.CommandQueue":
        """The queue, in order, of all that its device does."""
        self._on_one("queue")
        return self.device.queue

    @property
    def buffer(self) -> "cl.Buffer":
        """The buffer that its elements are in, from `offset` on; only on a device with memory of its own."""
        return self._place("buffer").block.buffer

    @property
    def offset(self) -> int:
        """Bytes from the beginning of `buffer` to the first element; only on a device with memory of its own."""
        return self._place("offset").offset

    @property
    def svm(self) -> "cl.SVM":
        """Its elements, from the first on, as shared virtual memory; only where kernels work on the host's memory."""
        import pyopencl as cl

        self._on_one("svm")
        if self.device.own_memory or not self.device.svm:
            instead = ".buffer and .offset" if self.device.own_memory else ".numpy()"
            raise AttributeError(f"svm: kernels on {self.device.name} do not work on the host's memory; use {instead}")
        try:
            return cl.SVM(self._view)
        except ValueError:
            raise ValueError(
                f"svm: elements must lie one after the other, and not be read-only; strides are {self._view.strides}, "
                "copy() gives such an array"
            ) from None

    def changed(self) -> None:
        """Say that a kernel of one's own that was enqueued in `queue` changes the elements.

        Without that a copy that the host has might be taken for what they are. Where kernels work on the host's memory
        this waits until all kernels in the queue are done.
        """
        self._on_one("changed")
        if self.device.own_memory:
            from mdhnp.runtime import resident

            resident.changed(self._view)
        else:
            from mdhnp.runtime import pending

            pending.synchronize(self.device)

    def _on_one(self, name: str) -> None:
        if self.device.several:
            raise AttributeError(f"{name}: elements are on several devices; each of .parts is on one")

    def _place(self, name: str) -> Any:
        self._on_one(name)
        if not self.device.own_memory:
            instead = ".svm" if self.device.svm else ".numpy()"
            raise AttributeError(f"{name}: on {self.device.name} elements are in the host's memory; use {instead}")
        from mdhnp.runtime import resident

        return resident.location(self._view)


def is_array(x: Any) -> bool:
    """Whether something is an array of pyopencl's, which is not imported for that."""
    module = sys.modules.get("pyopencl.array")
    return module is not None and isinstance(x, module.Array)


def seen(array: Any, *, dtype: npt.DTypeLike | None = None, device: Any = None, copy: bool | None = None) -> "Array":
    """Give an array of pyopencl's as an Array, as :func:`mdhnp.asarray` does."""
    import pyopencl as cl

    from mdhnp.frontend.creation import asarray

    if isinstance(array.base_data, cl.MemoryObjectHolder):
        memory = _Memory(array.base_data, array.offset, array.strides, array.queue, array.events)
        found = memory.array("asarray", array.shape, array.dtype, copy)
        return asarray(found, dtype=dtype, device=device or _device_of(array.context), copy=copy)
    if copy is False:
        raise ValueError("asarray: copy=False, but an array that is in no buffer has to be copied")
    elements = array.get() if array.size else np.empty(array.shape, array.dtype)
    return asarray(elements, dtype=dtype, device=device or _device_of(array.context))


@guarded
def from_buffer(
    buffer: "cl.MemoryObjectHolder",
    /,
    shape: int | Sequence[int],
    dtype: npt.DTypeLike,
    *,
    offset: int = 0,
    strides: Sequence[int] | None = None,
    device: Any = None,
    copy: bool | None = None,
) -> "Array":
    """Give an array in an OpenCL buffer.

    Parameters
    ----------
    buffer : pyopencl.Buffer
        Held as long as the array or a view of it lives. What other queues write into it must be done.
    shape : int or sequence of int
        Elements along each axis.
    dtype : dtype
        Type of the elements.
    offset : int
        Bytes from the buffer's beginning to the first element.
    strides : sequence of int, optional
        Bytes from one element to the next along each axis; by default those of C order.
    device : str, int or Device, optional
        As in :func:`mdhnp.device`; by default the buffer's.
    copy : bool, optional
        Whether its memory is new. By default only where it has to be: where the buffer is of another context than
        ``device.context``, and on CPU devices, where arrays are in the host's memory.

    Returns
    -------
    Array
        Whoever writes into the buffer changes it, and the other way round.

    Raises
    ------
    ValueError
        If `copy` is false and a copy is needed; if elements would lie outside of the buffer, or not at multiples of
        their size.
    TypeError
        If kernels do not compute with the type.

    Examples
    --------
    >>> import numpy as np
    >>> import pyopencl as cl
    >>> import mdhnp
    >>> with mdhnp.device("cpu") as device:
    ...     buffer = cl.Buffer(device.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.arange(6.0))
    ...     mdhnp.from_buffer(buffer, (2, 2), float, offset=16).numpy()
    array([[2., 3.],
           [4., 5.]])
    """
    from mdhnp.frontend.creation import asarray

    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    found = _Memory(buffer, offset, strides, None, ()).array("from_buffer", sizes, dtype, copy)
    return asarray(found, device=device or _device_of(buffer.context), copy=copy)


class _Memory(NamedTuple):
    """Where somebody else's elements are.

    Attributes
    ----------
    buffer : pyopencl.MemoryObjectHolder
        What they are in.
    offset : int
        Bytes to the first element.
    strides : sequence of int or None
        Bytes from one element to the next along each axis; None: C order.
    queue : pyopencl.CommandQueue or None
        In which to copy them.
    events : sequence of pyopencl.Event
        When they are complete.
    """

    buffer: Any
    offset: int
    strides: Sequence[int] | None
    queue: Any
    events: Sequence[Any]

    def array(
        self, function: str, shape: tuple[int, ...], dtype: npt.DTypeLike, copy: bool | None
    ) -> "Array | npt.NDArray[Any]":
        """Give an Array where kernels can work in the buffer, else a copy on the host."""
        import pyopencl as cl

        from mdhnp.arrays.array import make
        from mdhnp.frontend.creation import checked_type
        from mdhnp.runtime import resident

        wanted, device = checked_type(dtype), _device_of(self.buffer.context)
        layout = self._layout(function, shape, wanted.itemsize)
        if device is not None and device.own_memory and device.context == self.buffer.context:
            if self.events:
                cl.enqueue_barrier(device.queue, wait_for=self.events)
            return make(resident.foreign(self.buffer, self.offset, shape, wanted, layout.strides), device)
        if copy is False:
            raise ValueError(f"{function}: copy=False, but the buffer has to be copied: {_why(device)}")
        return self._copied(layout, wanted)

    def _layout(self, function: str, shape: tuple[int, ...], itemsize: int) -> "Layout":
        """Give the elements' layout.

        Raises
        ------
        ValueError
            If they are not in the buffer, or not where kernels can address them.
        """
        from mdhnp.runtime.layout import Layout

        packed = [itemsize * prod(shape[n + 1 :]) for n in range(len(shape))]
        strides = tuple(packed if self.strides is None else self.strides)
        if len(strides) != len(shape):
            raise ValueError(f"{function}: strides has {len(strides)} entries for {len(shape)} axes")
        if any(n % itemsize for n in (self.offset, *strides)):
            raise ValueError(f"{function}: offset and strides must be multiples of an element's {itemsize} bytes")
        layout = Layout(shape, strides, itemsize)
        begin = self.offset + layout.low
        if 0 not in shape and not 0 <= begin <= begin + layout.nbytes <= self.buffer.size:
            raise ValueError(f"{function}: elements lie outside of the buffer of {self.buffer.size} bytes")
        return layout

    def _copied(self, layout: "Layout", dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """Copy the elements to the host."""
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


def _device_of(context: "cl.Context") -> "Device | None":
    """Give the device that has a context, else one that is in it."""
    from mdhnp.runtime.devices import default_device, devices

    inside = [device for device in (default_device(), *devices()) if device.cl in context.devices]
    return next((device for device in inside if device.context == context), inside[0] if inside else None)
