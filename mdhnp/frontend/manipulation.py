"""Functions of the array API standard that give the same elements in other axes, or more often.

Of an Array that is a view of its memory, or, where strides cannot say it, of a copy. What is no Array is left to NumPy.
"""

from collections.abc import Callable
from functools import wraps
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make
from mdhnp.calls.arrays import by_host, of_views
from mdhnp.frontend.creation import asarray
from mdhnp.frontend.public import NO_AXIS, repeatable

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "expand_dims", "flip", "matrix_transpose", "moveaxis",
    "permute_dims", "reshape", "squeeze", "swapaxes", "unstack",
]  # fmt: skip

broadcast_shapes = np.broadcast_shapes

Axis = int | tuple[int, ...] | None


@repeatable(
    "Give a view whose axes are in another order, as ``numpy.permute_dims`` does.",
    axes="sequence of int: For each axis of the result, which one of `x` it is.",
    returns="Array or ndarray: A view.",
    raises={"ValueError": "If `axes` does not name each axis once."},
    example='>>> mdhnp.permute_dims(mdhnp.asarray([[1, 2, 3]], device="cpu"), (1, 0)).shape\n(3, 1)',
)
def permute_dims(x: Any, /, axes: tuple[int, ...]) -> Any:
    return _viewed(x, np.permute_dims, axes)


@repeatable(
    "Give a view with the last two axes exchanged, as ``numpy.matrix_transpose`` does.",
    returns="Array or ndarray: A view, of shape (..., m, n) where `x` is (..., n, m).",
    raises={"ValueError": "If there are fewer than two axes."},
    example='>>> mdhnp.matrix_transpose(mdhnp.empty((2, 3, 4), device="cpu")).shape\n(2, 4, 3)',
)
def matrix_transpose(x: Any, /) -> Any:
    return _viewed(x, np.matrix_transpose)


@repeatable(
    "Give a view with two axes exchanged, as ``numpy.swapaxes`` does.",
    axis1="int: The one axis.",
    axis2="int: The other one.",
    returns="Array or ndarray: A view.",
    raises={"numpy.exceptions.AxisError": NO_AXIS},
    example='>>> mdhnp.swapaxes(mdhnp.empty((2, 3, 4), device="cpu"), 0, 2).shape\n(4, 3, 2)',
)
def swapaxes(x: Any, /, axis1: int, axis2: int) -> Any:
    return _viewed(x, np.swapaxes, axis1, axis2)


@repeatable(
    "Give a view with some axes elsewhere and the others in their order, as ``numpy.moveaxis`` does.",
    source="int or sequence of int: Which axes.",
    destination="int or sequence of int: Where they are in the result.",
    returns="Array or ndarray: A view.",
    raises={"numpy.exceptions.AxisError": NO_AXIS, "ValueError": "If they are not as many here as there."},
    example='>>> mdhnp.moveaxis(mdhnp.empty((2, 3, 4), device="cpu"), 0, -1).shape\n(3, 4, 2)',
)
def moveaxis(x: Any, /, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Any:
    return _viewed(x, np.moveaxis, source, destination)


@repeatable(
    "Give a view with new axes of one element, as ``numpy.expand_dims`` does.",
    axis="int or sequence of int: Where they are in the result.",
    returns="Array or ndarray: A view with so many axes more.",
    example='>>> mdhnp.expand_dims(mdhnp.empty(3, device="cpu"), axis=1).shape\n(3, 1)',
)
def expand_dims(x: Any, /, axis: int | tuple[int, ...] = 0) -> Any:
    return _viewed(x, np.expand_dims, axis)


@repeatable(
    "Give a view without axes of one element, as ``numpy.squeeze`` does.",
    axis="int or tuple of int, optional: Which ones; by default all.",
    returns="Array or ndarray: A view with fewer axes.",
    raises={"ValueError": "If one has more elements."},
    example='>>> mdhnp.squeeze(mdhnp.empty((3, 1), device="cpu"), axis=1).shape\n(3,)',
)
def squeeze(x: Any, /, axis: Axis = None) -> Any:
    return _viewed(x, np.squeeze, axis)


@repeatable(
    "Give a view in reverse order along some axes, as ``numpy.flip`` does.",
    axis="int or sequence of int, optional: Along which axes; by default along all.",
    returns="Array or ndarray: A view of the same shape.",
    example='>>> mdhnp.flip(mdhnp.asarray([1, 2, 3], device="cpu")).tolist()\n[3, 2, 1]',
)
def flip(x: Any, /, axis: Axis = None) -> Any:
    return _viewed(x, _flipped, axis)


def _flipped(a: npt.NDArray[Any], axis: Axis) -> npt.NDArray[Any]:
    """Give a view, where NumPy's function reads the element of an array without axes."""
    axes = range(a.ndim) if axis is None else normalize_axis_tuple(axis, a.ndim, "axis")
    turned: tuple[Any, ...] = tuple([slice(None, None, -1 if d in axes else 1) for d in range(a.ndim)])
    return a[(*turned, ...)]


@repeatable(
    "Give the parts along an axis as views, as ``numpy.unstack`` does.",
    axis="int: Along which axis.",
    returns="tuple of Array or ndarray: Views, each with an axis less, as many as there are elements along it.",
    raises={"ValueError": "If there is no axis at all."},
    example="""
>>> [part.tolist() for part in mdhnp.unstack(mdhnp.asarray([[1, 2], [3, 4]], device="cpu"), axis=1)]
[[1, 3], [2, 4]]""",
)
def unstack(x: Any, /, axis: int = 0) -> tuple[Any, ...]:
    if not isinstance(x, Array):
        return np.unstack(x, axis=axis)
    if not x.ndim:
        raise ValueError("the array has no axis")
    parts: tuple[Any, ...] = of_views(_unstacked, x, axis)
    return parts


@wraps(np.broadcast_arrays)
def _broadcast_together(*arrays: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    views = zip(np.broadcast_arrays(*arrays), arrays, strict=True)
    found = tuple([view.view() if view is a else view for view, a in views])  # those of this shape are given back
    for a in found:
        a.setflags(write=False)
    return found


def _unstacked(a: npt.NDArray[Any], axis: int) -> tuple[npt.NDArray[Any], ...]:
    moved = np.moveaxis(a, axis, 0)
    return tuple([moved[n, ...] for n in range(len(moved))])


@repeatable(
    "Give a read-only view with another shape, in which elements are repeated, as ``numpy.broadcast_to`` does.",
    returns="Array or ndarray: A view of that shape, which cannot be written to.",
    raises={"ValueError": "If the shapes do not match."},
    example='>>> mdhnp.broadcast_to(mdhnp.asarray([1, 2], device="cpu"), (2, 2)).tolist()\n[[1, 2], [1, 2]]',
)
def broadcast_to(x: Any, /, shape: tuple[int, ...]) -> Any:
    if not isinstance(x, Array):
        return np.broadcast_to(x, shape)
    if not x.device.own_memory:
        return of_views(np.broadcast_to, x, shape, reads=True)
    return make(transfer.fixed(np.broadcast_to(x._view, shape), x.device), x.device)


@repeatable(
    "Give read-only views of arrays, of one shape, as ``numpy.broadcast_arrays`` does.",
    arrays="array_like: Those that are no Arrays are brought to where the first Array is.",
    returns="tuple of Array: One for each.",
    raises={"ValueError": "If there is no such shape."},
    example="""
>>> a, b = mdhnp.broadcast_arrays(mdhnp.asarray([1, 2], device="cpu"), 3)
>>> b.tolist()
[3, 3]""",
)
def broadcast_arrays(*arrays: Any) -> tuple[Array, ...]:
    where = next((x.device for x in arrays if isinstance(x, Array)), None)
    if all([type(x) is Array and x.device is where and not x.device.own_memory for x in arrays]):
        return by_host(_broadcast_together, *arrays)
    found = [x if isinstance(x, Array) else asarray(x, device=where) for x in arrays]
    shape = np.broadcast_shapes(*[x.shape for x in found])
    return tuple([broadcast_to(x, shape) for x in found])


@repeatable(
    "Give the elements in another shape, as ``numpy.reshape`` does.",
    shape="int or sequence of int: The new shape; one of its numbers may be -1, for as many as there are.",
    order='str: In which order of axes elements are read and put: "C", the last axis first, "F", the first one first, '
    'or "A", which is "F" where that, and not "C", is how they lie in memory.',
    copy="bool, optional: Whether the memory is new; by default only where no strides give a view.",
    returns="Array or ndarray: Of that shape; a view where strides allow.",
    raises={"ValueError": "If there are more or fewer elements, or if `copy` is false and a copy is needed."},
    example='>>> mdhnp.reshape(mdhnp.asarray([1, 2, 3, 4], device="cpu"), (2, -1)).tolist()\n[[1, 2], [3, 4]]',
)
def reshape(x: Any, /, shape: int | tuple[int, ...], order: Any = "C", *, copy: bool | None = None) -> Any:
    if not isinstance(x, Array):
        return np.reshape(x, shape, order, copy=copy)
    shape = (index(shape),) if hasattr(shape, "__index__") else tuple(shape)
    if order != "C":
        like = np.empty((2, 3), order="F" if x._view.flags.fnc else "C")
        if like.reshape((3, 2), order=order).flags.fnc:  # NumPy knows which orders there are, and its errors
            np.reshape(np.broadcast_to(np.empty((), np.bool_), x.shape), shape)
            return reshape(x.T, shape[::-1], copy=copy).T
    if copy is not None and not isinstance(copy, bool):
        np.empty(0).reshape(0, copy=copy)  # NumPy knows what else there is, and its errors
    if not x.device.own_memory:
        return of_views(_reshaped, x, shape, copy, reads=True)
    if copy is not True:
        try:
            return make(np.reshape(x._view, shape, copy=False), x.device)
        except ValueError:
            # Where all elements have one address NumPy gives a view in any shape of as many, and its errors for others.
            np.reshape(np.broadcast_to(np.empty((), np.bool_), x.shape), shape)
            if copy is False:
                raise
    return make(np.reshape(asarray(x, copy=True)._view, shape, copy=False), x.device)


def _reshaped(a: npt.NDArray[Any], shape: int | tuple[int, ...], copy: bool | None) -> npt.NDArray[Any]:
    if copy is not True:
        try:
            return np.reshape(a, shape, copy=False)
        except ValueError:
            if copy is False:
                raise
    return np.reshape(transfer.converted(a, a.dtype), shape, copy=False)


def _viewed(x: Any, function: Callable[..., npt.NDArray[Any]], *others: Any) -> Any:
    """Apply a function of NumPy's that gives views."""
    if isinstance(x, Array):
        return of_views(function, x, *others)
    return function(np.asanyarray(x), *others)
