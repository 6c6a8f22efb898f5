"""Arrays made of nothing, of numbers, of other arrays, and in other libraries' memory; and elements put into them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdhnp import runtime
from mdhnp.arrays import transfer
from mdhnp.arrays.array import HOST, Array, is_array, make
from mdhnp.arrays.opencl import device_of, elements_in, elements_of
from mdhnp.arrays.types import SUPPORTED, checked_type
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.arrays import of_views
from mdhnp.calls.operands import is_sparse
from mdhnp.frontend.map_reduce import Arrays, convert, pointwise
from mdhnp.frontend.public import public
from mdhnp.mdh.pattern import array_view

if TYPE_CHECKING:  # which load OpenCL
    import pyopencl as cl

    from mdhnp.runtime.handle import Device


#: What functions raise that take a shape.
SHAPED = {
    "ValueError": "If an extent is negative.",
    "TypeError": "If `shape` is not whole numbers; if kernels do not compute with the type.",
    "MemoryError": "If there is no room.",
}
shaped = partial(public, raises=SHAPED)
_converting = partial(
    public,
    obj="array_like: An Array, an ndarray, nested lists, a number, or an array of pyopencl's.",
    dtype="dtype, optional: Type of the elements; by default as ``numpy.asarray`` has it.",
    device="str, int or Device, optional: As in :func:`mdhnp.device`; by default that of an Array, else the default "
    "one.",
    raises={
        "ValueError": "If `copy` is false and a copy is needed.",
        "TypeError": "If kernels do not compute with the type.",
    },
)


@_converting(
    "Give an array on a device.",
    copy="bool, optional: Whether its memory is new. By default only where it has to be: on a CPU device an ndarray's "
    "own memory is used, so that changes of the one are seen in the other; as is, on other devices, the buffer of a "
    "pyopencl array in ``device.context``.",
    returns="Array: Of the shape of `obj`; `obj` itself where it is one of that type and device.",
    example="""
>>> mdhnp.asarray([1.0, 2.0], dtype="float32", device="cpu").numpy()
array([1., 2.], dtype=float32)""",
)
def asarray(obj: Any, /, *, dtype: npt.DTypeLike | None = None, device: Any = None, copy: bool | None = None) -> Array:
    if is_array(obj):
        device = device or device_of(obj.context)
        obj = elements_of(obj, copy)
    where = device_for(device, obj)
    if isinstance(obj, Array):
        wanted = obj.dtype if dtype is None else checked_type(dtype)
        if wanted == obj.dtype and where is obj.device and not copy:
            return obj
        if copy is False:
            raise ValueError("copy=False, but another type or device needs a copy")
        if device is None and not where.own_memory:
            return of_views(transfer.converted, obj, wanted, reads=True)
        if where is obj.device:
            made = make(transfer.empty(obj.shape, wanted, where), where)
            assign(made, obj)
            return made
        obj, copy = obj.numpy(), True if copy is None and not where.own_memory else copy
    if where.own_memory and copy is False:
        raise ValueError("copy=False, but a device with memory of its own needs a copy")
    elements = on_host(obj, dtype, None if where.own_memory else copy)
    return make(transfer.put(elements, where), where)


def on_host(obj: Any, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
    """Give an array-like as an ndarray that kernels can address; new memory where that has to be, or as `copy` says."""
    if is_sparse(obj):
        raise TypeError(
            f"a sparse {type(obj).__name__} is no array of elements: mdhnp.SparseArray keeps SciPy's matrices on a "
            "device, and their .toarray() makes them dense"
        )
    elements = np.asarray(obj, dtype, copy=copy)
    if elements.dtype in SUPPORTED and elements.flags.aligned:
        return elements
    native = checked_type(elements.dtype)
    if copy is False:
        raise ValueError("copy=False, but another byte order or alignment needs a copy")
    return np.require(elements.astype(native, copy=False), requirements="A")


@_converting(
    "Give an array on a device as :func:`mdhnp.asarray` does, but in new memory unless `copy` says otherwise.",
    returns="Array: Of the shape of `obj`.",
    example=""">>> a = mdhnp.asarray([1.0, 2.0], device="cpu")\n>>> mdhnp.array(a) is a\nFalse""",
)
def array(obj: Any, /, dtype: npt.DTypeLike | None = None, *, copy: bool | None = True, device: Any = None) -> Array:
    return asarray(obj, dtype=dtype, device=device, copy=copy)


@shaped(
    "Give a new array of whatever values are in memory.",
    returns="Array: New, of that shape.",
    example=""">>> mdhnp.empty((2, 3), device="cpu").shape\n(2, 3)""",
)
def empty(shape: Any, *, dtype: npt.DTypeLike | None = None, device: Any = None) -> Array:
    where, wanted = device_for(device), checked_type(dtype)
    return make(transfer.empty(checked_shape(shape), wanted, where), where)


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
    buffer: "cl.MemoryObjectHolder", /, shape: int | Sequence[int], dtype: npt.DTypeLike, *, offset: int = 0,
    strides: Sequence[int] | None = None, device: Any = None, copy: bool | None = None,
) -> Array:  # fmt: skip
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    elements = elements_in(buffer, sizes, dtype, copy, offset=offset, strides=strides)
    return asarray(elements, device=device or device_of(buffer.context), copy=copy)


# Elements put into arrays, and what arguments mean.


def assign(array: Array, value: Any) -> None:
    """Put elements into an array, broadcast, and converted as ``ndarray.__setitem__`` does."""
    if is_array(value):
        value = asarray(value, device=array.device)
    if isinstance(value, Array) and value.device is not array.device:
        raise ValueError(f"the value is on {value.device.name}, the array on {array.device.name}; use to_device")
    if not array.device.own_memory:
        array._view[...] = value._view if isinstance(value, Array) else value
        return
    if not isinstance(value, Array):
        value = asarray(np.asarray(value, array.dtype), device=array.device)
    if transfer.is_fixed(array):
        raise ValueError("assignment destination is read-only: its elements are at several places")
    source = _broadcast(value._view, array.shape)
    if not array.size:
        return
    if np.may_share_memory(source, array._view):
        source = _broadcast(asarray(value, copy=True)._view, array.shape)
    call((_ASSIGN,), (make(source, array.device), array))
    transfer.changed(array)


def _broadcast(view: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Broadcast what is put into an array; axes of one element at the front are left out."""
    try:
        return np.broadcast_to(view.reshape(view.shape[max(view.ndim - len(shape), 0) :], copy=False), shape)
    except ValueError:
        raise ValueError(f"could not broadcast input array from shape {view.shape} into shape {shape}") from None


def _describe_assign(arrays: Arrays) -> Described:
    """Describe a copy into given memory."""
    source, target = arrays
    h = pointwise(convert(source.dtype, target.dtype), [source])
    into = array_view("O0", target, h.outputs[0].accesses)
    return Described(replace(h, outputs=(into,)), None, into=True)


_ASSIGN = Routine("assign", _describe_assign)


def device_for(given: Any, like: Any = None) -> "Device":
    """Give the device that an argument names; by default that of an Array, the first in lists, else the default one."""
    if given is None:
        while isinstance(like, list | tuple) and like:
            like = like[0]
        if isinstance(like, Array):
            return like.device
    known = runtime.devices
    if type(given) is known.Device or getattr(given, "passing", False):
        return given
    return known.target_or_default(given)


def checked_shape(shape: Any) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    found = tuple(map(index, sizes))
    if found and min(found) < 0:
        raise ValueError(f"shape {found} has a negative extent")
    return found
