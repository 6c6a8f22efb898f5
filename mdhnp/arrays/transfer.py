"""Between the host's memory and a device's.

Where kernels work on the host's memory nothing is copied.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mdhnp.runtime.results import new

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.arrays.array import Array
    from mdhnp.runtime.handle import Device

#: Bytes up to which an operand is kept on the device for the next call: weights, factors.
FEW = 1024
#: Small operands that are kept on each device, since they come again in most programs.
_MOST = 256
_constants: dict[tuple[Any, ...], npt.NDArray[Any]] = {}


def changed(array: "Array") -> None:
    """Note that an array's memory changes, so that copies of it are outdated."""
    if array.device.own_memory:
        array.device.memory.changed(array._view)


def fixed(view: npt.NDArray[Any], device: "Device") -> npt.NDArray[Any]:
    """Give a read-only view through which, and through whose views, nobody can put elements into an Array."""
    if not device.own_memory:
        found = view.view()
        found.flags.writeable = False
        return found
    return device.memory.fixed(view)


def is_fixed(array: "Array") -> bool:
    """Whether elements cannot be put into an array."""
    if not array.device.own_memory:
        return not array._view.flags.writeable
    return bool(array.device.memory.is_fixed(array._view))


def put(array: npt.NDArray[Any], device: "Device") -> npt.NDArray[Any]:
    """Give the view of an ndarray on a device: itself, or that of a copy there."""
    if not device.own_memory:
        return array
    return device.memory.upload(device, array)


def constant(few: npt.NDArray[Any], device: "Device") -> npt.NDArray[Any]:
    """Give the view of a copy of some elements on a device, which nobody may change; those used last are kept there."""
    if device.passing:
        return put(few, device)
    key = (device, few.dtype.char, few.shape, few.tobytes())
    if (found := _constants.pop(key, None)) is None:
        found = put(np.ascontiguousarray(few).reshape(few.shape), device)
    _constants[key] = found  # the last one now
    if len(_constants) > _MOST:
        with suppress(StopIteration, RuntimeError):  # other threads put some in, too
            _constants.pop(next(iter(_constants)), None)
    return found


def converted(view: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Give elements in the host's memory in a type, in new memory and C order."""
    made = empty(view.shape, dtype, None)
    made[...] = view
    return made


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], device: "Device | None") -> npt.NDArray[Any]:
    """Give the view of new memory on a device, or of the host, of whatever values are there."""
    if device is None or not device.own_memory:
        return new(shape, dtype)
    return device.memory.maker(device, [(shape, dtype)])()[0]
