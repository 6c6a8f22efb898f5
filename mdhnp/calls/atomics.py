"""Elements of an Array changed where indices say, in any order, by kernels on the device that has them."""

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array
from mdhnp.calls.reach import COUNTED, reach
from mdhnp.calls.sorting import kinds, written

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.runtime.handle import Device

_ADDING = ("add", "subtract")
_OPERATIONS, _TYPES = (*_ADDING, "maximum", "minimum"), ("i4", "u4", "f4")


def has_atomics(operation: str, dtype: "np.dtype[Any]", device: "Device") -> bool:
    """Whether a device changes elements of a type by an operation, by its name in NumPy, in one step."""
    if dtype == np.float64:  # by an instruction of NVIDIA's, the only ones known to have subgroups
        return operation in _ADDING and device.caps.subgroup > 0
    return operation in _OPERATIONS and dtype in _TYPES


def combine_at(operation: str, a: Array, indices: Array, values: Array) -> bool:
    """Change rows of an Array where indices of the first axis say, each as often as it is named, in any order.

    The Arrays are in C order, not empty and on one device with memory of its own; values are of the type of `a`, one
    for each element of the rows that are named. False, and nothing is changed, where an index may be outside, or there
    are too many for kernels.
    """
    device, shape = a.device, (indices.size, prod(a.shape[1:]), a.shape[0])
    reached = reach(device, indices._view)
    if reached is None or reached > a.shape[0] or max(values.size, a.shape[0]) > COUNTED or transfer.is_fixed(a):
        return False
    from mdhnp.codegen.opencl.atomics import combining

    inputs, outputs, what = (indices._view, values._view), (a._view,), (operation, a.dtype, indices.dtype, shape)
    written(device, combining, kinds(inputs), kinds(outputs), *what)(inputs, outputs)
    transfer.changed(a)
    return True
