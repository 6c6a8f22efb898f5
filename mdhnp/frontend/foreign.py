"""Arrays in other libraries' memory: DLPack's, and OpenCL's buffers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import HOST, Array
from mdhnp.arrays.opencl import device_of, elements_in
from mdhnp.frontend.creation import asarray
from mdhnp.frontend.public import public

if TYPE_CHECKING:  # which loads OpenCL
    import pyopencl as cl

__all__ = ["from_buffer", "from_dlpack"]


@public(
    "Give an array of another library's, which has the protocol DLPack.",
    x="object: Has ``__dlpack__`` and ``__dlpack_device__``.",
    device="str, int or Device, optional: As in :func:`mdhnp.asarray`: by default where an Array is, else the default "
    "device.",
    copy="bool, optional: Whether its memory is new. By default only where it has to be: elements in the host's memory "
    "are used there by CPU devices.",
    returns="Array: Read-only if the other library's array is.",
    raises={
        "BufferError": "If `copy` is false and a copy is needed, or the other library cannot give its elements to the "
        "host.",
        "AttributeError": "If `x` has no such protocol.",
        "TypeError": "If kernels do not compute with the type.",
    },
    example="""
>>> a = np.arange(3.0)
>>> b = mdhnp.from_dlpack(a, device="cpu")
>>> a[0] = 7.0
>>> b.numpy()
array([7., 1., 2.])""",
)
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    if type(x) is not Array:
        kind, _ = x.__dlpack_device__()
        x = np.from_dlpack(x, copy=copy) if kind == HOST else np.from_dlpack(x, device="cpu", copy=copy)
        copy = None if copy else copy  # which is done
    try:
        return asarray(x, device=device, copy=copy)
    except ValueError as error:
        raise BufferError(str(error).removeprefix("asarray: ")) from None


@public(
    "Give an array in an OpenCL buffer.",
    buffer="pyopencl.Buffer: Held as long as the array or a view of it lives. What other queues write into it must be "
    "done.",
    shape="int or sequence of int: Elements along each axis.",
    dtype="dtype: Type of the elements.",
    offset="int: Bytes from the buffer's beginning to the first element.",
    strides="sequence of int, optional: Bytes from one element to the next along each axis; by default those of C "
    "order.",
    device="str, int or Device, optional: As in :func:`mdhnp.device`; by default the buffer's.",
    copy="bool, optional: Whether its memory is new. By default only where it has to be: where the buffer is of "
    "another context than ``device.context``, and on CPU devices, where arrays are in the host's memory.",
    returns="Array: Whoever writes into the buffer changes it, and the other way round.",
    raises={
        "ValueError": "If `copy` is false and a copy is needed; if elements would lie outside of the buffer, or not at "
        "multiples of their size.",
        "TypeError": "If kernels do not compute with the type.",
    },
    example="""
>>> import pyopencl as cl
>>> with mdhnp.device("cpu") as device:
...     buffer = cl.Buffer(device.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.arange(6.0))
...     mdhnp.from_buffer(buffer, (2, 2), float, offset=16).numpy()
array([[2., 3.],
       [4., 5.]])""",
)
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
) -> Array:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    elements = elements_in(buffer, sizes, dtype, copy, offset=offset, strides=strides)
    return asarray(elements, device=device or device_of(buffer.context), copy=copy)
