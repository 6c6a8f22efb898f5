"""Functions of the array API standard that put elements into a new array: `concat`, `stack`, `roll`, `tile`, `repeat`.

Each part of the result is one call that puts elements there. What is no Array is left to NumPy.
"""

from collections.abc import Sequence
from itertools import product
from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from mdhnp.arrays.array import Array, is_array
from mdhnp.calls.arrays import device_of
from mdhnp.calls.operands import fallback
from mdhnp.frontend.creation import asarray, assign, empty
from mdhnp.frontend.manipulation import Axis, expand_dims, reshape
from mdhnp.frontend.public import public

__all__ = ["concat", "repeat", "roll", "stack", "tile"]


_JOINED = "Array or ndarray: Of their common type."


@public(
    "Put arrays one behind the other, as ``numpy.concat`` does.",
    arrays="sequence of array_like: With as many elements along each other axis.",
    axis="int or None: Along which axis; None for all elements of each, in C order.",
    returns=_JOINED,
    raises={
        "ValueError": "If shapes differ in another axis, an array has no axes, there is none, or they are on several "
        "devices."
    },
    example="""
>>> x = mdhnp.asarray([1, 2], device="cpu")
>>> mdhnp.concat([x, x]).tolist()
[1, 2, 1, 2]""",
)
def concat(arrays: Sequence[Any], /, axis: int | None = 0) -> Any:
    arrays = tuple(arrays)
    if not _of_arrays(arrays):
        return np.concat(arrays, axis=axis)
    given = [_with_axes(a) for a in arrays]
    if axis is None:
        given, axis = [reshape(a, (-1,)) for a in given], 0
    if not min([a.ndim for a in given]):
        raise ValueError("an array has no axes; use stack")
    axis = normalize_axis_index(index(axis), given[0].ndim)
    if len({(a.ndim, a.shape[:axis], a.shape[axis + 1 :]) for a in given}) > 1:
        raise ValueError(f"arrays of shapes {_shapes(given)} differ in another axis than {axis}")
    ends = np.cumsum([a.shape[axis] for a in given]).tolist()
    shape = (*given[0].shape[:axis], ends[-1], *given[0].shape[axis + 1 :])
    result = _new("concat", shape, given)
    for a, end in zip(given, ends, strict=True):
        assign(result[(*_all(axis), slice(end - a.shape[axis], end))], a)
    return result


@public(
    "Put arrays beside each other, along a new axis, as ``numpy.stack`` does.",
    arrays="sequence of array_like: Of one shape.",
    axis="int: Where the new axis is in the result.",
    returns=_JOINED,
    raises={"ValueError": "If shapes differ, there is no array, or they are on several devices."},
    example="""
>>> x = mdhnp.asarray([1, 2], device="cpu")
>>> mdhnp.stack([x, x], axis=1).tolist()
[[1, 1], [2, 2]]""",
)
def stack(arrays: Sequence[Any], /, axis: int = 0) -> Any:
    arrays = tuple(arrays)
    if not _of_arrays(arrays):
        return np.stack(arrays, axis=axis)
    given = [_with_axes(a) for a in arrays]
    if len({a.shape for a in given}) > 1:
        raise ValueError(f"arrays of shapes {_shapes(given)}, which must be one shape")
    shape = given[0].shape
    axis = normalize_axis_index(index(axis), len(shape) + 1)
    result = _new("stack", (*shape[:axis], len(given), *shape[axis:]), given)
    for n, a in enumerate(given):
        assign(result[(*_all(axis), n)], a)
    return result


@public(
    "Move elements along axes, those that leave at one end to the other end, as ``numpy.roll`` does.",
    shift="int or tuple of int: How far: one number for all axes, or one each.",
    axis="int or tuple of int, optional: Along which axes; by default all elements move, in C order.",
    raises={"ValueError": "If there are not as many numbers as axes."},
    example='>>> mdhnp.roll(mdhnp.asarray([1, 2, 3], device="cpu"), 1).tolist()\n[3, 1, 2]',
)
def roll(x: Any, /, shift: int | tuple[int, ...], axis: Axis = None) -> Any:
    if not isinstance(x, Array):
        return np.roll(x, shift, axis)
    if axis is None:
        return reshape(roll(reshape(x, (-1,)), shift, 0), x.shape)
    axes = normalize_axis_tuple(axis, x.ndim, "axis", allow_duplicate=True)
    far = [0] * x.ndim
    for distance, d in np.broadcast(shift, axes):
        far[d] += distance
    parts = [_turned(n, distance % max(n, 1)) for n, distance in zip(x.shape, far, strict=True)]
    result = empty(x.shape, dtype=x.dtype, device=x.device)
    for part in product(*parts):
        assign(result[tuple([to for to, _ in part])], x[tuple([of for _, of in part])])
    return result


def _turned(n: int, distance: int) -> list[tuple[slice, slice]]:
    """Give where the parts of an axis go, and where they are."""
    if not distance:
        return [(slice(None), slice(None))]
    return [(slice(distance, n), slice(0, n - distance)), (slice(0, distance), slice(n - distance, n))]


@public(
    "Repeat the whole array along its axes, as ``numpy.tile`` does.",
    repetitions="int or tuple of int: How often along each axis, the last ones if they are fewer; more make new axes "
    "before those of `x`.",
    raises={"ValueError": "If a number is negative."},
    example='>>> mdhnp.tile(mdhnp.asarray([1, 2], device="cpu"), (2, 2)).tolist()\n[[1, 2, 1, 2], [1, 2, 1, 2]]',
)
def tile(x: Any, repetitions: int | tuple[int, ...], /) -> Any:
    if not isinstance(x, Array):
        return np.tile(x, repetitions)
    times = [index(n) for n in (repetitions if isinstance(repetitions, tuple | list) else (repetitions,))]
    if times and min(times) < 0:
        raise ValueError(f"repetitions are {repetitions}, which must not be negative")
    rank = max(len(times), x.ndim)
    times, shape = [1] * (rank - len(times)) + times, (1,) * (rank - x.ndim) + x.shape
    parts = [each for pair in zip(times, shape, strict=True) for each in pair]
    result = empty(tuple(parts), dtype=x.dtype, device=x.device)
    assign(result, reshape(x, shape)[(None, slice(None)) * rank])
    return reshape(result, tuple([n * size for n, size in zip(times, shape, strict=True)]))


@public(
    "Repeat each element, as ``numpy.repeat`` does.",
    repeats="int: How often. Several numbers, one an element, are left to NumPy: which element comes where is not "
    "affine.",
    axis="int, optional: Along which axis; by default all elements, in C order.",
    raises={
        "ValueError": "If it is a negative number.",
        "TypeError": "If there are several and NumPy is not allowed to.",
    },
    example='>>> mdhnp.repeat(mdhnp.asarray([1, 2], device="cpu"), 2).tolist()\n[1, 1, 2, 2]',
)
def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> Any:
    if not isinstance(x, Array):
        return np.repeat(x, repeats, axis)
    if not isinstance(repeats, int | np.integer):
        found = fallback("repeat", "repeats has several numbers", lambda: np.repeat(x.numpy(), repeats, axis), (x,))
        return asarray(found, device=x.device)
    if repeats < 0:
        raise ValueError(f"repeats is {repeats}, which must not be negative")
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = normalize_axis_index(index(axis), x.ndim)
    before, (n, *after) = x.shape[:axis], x.shape[axis:]
    result = empty((*before, n, repeats, *after), dtype=x.dtype, device=x.device)
    assign(result, expand_dims(x, axis + 1))
    return reshape(result, (*before, n * repeats, *after))


def _of_arrays(operands: Sequence[Any]) -> bool:
    """Whether an array on a device is among them."""
    return any([isinstance(a, Array) or is_array(a) for a in operands])


def _with_axes(a: Any) -> Any:
    return a if isinstance(a, Array) else asarray(a) if is_array(a) else np.asarray(a)


def _new(function: str, shape: tuple[int, ...], operands: Sequence[Any]) -> Array:
    """Give an array for elements of all operands, where those are."""
    return empty(shape, dtype=np.result_type(*[a.dtype for a in operands]), device=device_of(function, operands))


def _all(axes: int) -> tuple[slice, ...]:
    """Give what selects all elements along the first axes."""
    return (slice(None),) * axes


def _shapes(operands: Sequence[Any]) -> str:
    return ", ".join([str(a.shape) for a in operands])
