"""Functions that put elements into a new array: `concat`, `stack`, `roll`, `tile`, `repeat`, `pad`.

Each part of the result is one call that puts elements there, but for `pad`, one map that reads beyond its operand's
borders. What is no Array is left to NumPy.
"""

from collections.abc import Sequence
from functools import wraps
from itertools import product
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from mdhnp.arrays.array import Array, is_array
from mdhnp.calls import Routine, call
from mdhnp.calls.arrays import by_host, device_of
from mdhnp.frontend.array_adapted import by_numpy, on_host
from mdhnp.frontend.creation import asarray, assign, checked_type, empty
from mdhnp.frontend.generators import full
from mdhnp.frontend.indexing import take
from mdhnp.frontend.manipulation import Axis, expand_dims, reshape
from mdhnp.frontend.map_reduce import Arrays
from mdhnp.frontend.public import repeatable
from mdhnp.mdh import Affine, MdHom
from mdhnp.mdh.combine import CC
from mdhnp.mdh.function import identity_function, literal_value
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.views import contiguous

__all__ = ["concat", "pad", "repeat", "roll", "stack", "tile"]


#: What NumPy's modes are called in views.
_BOUNDARIES = {
    "constant": "constant", "edge": "nearest", "reflect": "mirror", "symmetric": "reflect", "wrap": "wrap",
}  # fmt: skip

_Pairs = tuple[tuple[int, int], ...]
_JOINED = "Array or ndarray: Of their common type."


@repeatable(
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
    dtype, device = checked_type(np.result_type(*[a.dtype for a in given])), device_of("concat", given)
    if axis is None:
        if not device.own_memory:
            return by_host(_concatenated, *given)
        given, axis = [reshape(a, (-1,)) for a in given], 0
    if not min([a.ndim for a in given]):
        raise ValueError("an array has no axes; use stack")
    axis = normalize_axis_index(index(axis), given[0].ndim)
    if len({(a.ndim, a.shape[:axis], a.shape[axis + 1 :]) for a in given}) > 1:
        raise ValueError(f"arrays of shapes {_shapes(given)} differ in another axis than {axis}")
    if not device.own_memory:
        return by_host(_concatenated, *given, axis=axis)
    ends = np.cumsum([a.shape[axis] for a in given]).tolist()
    shape = (*given[0].shape[:axis], ends[-1], *given[0].shape[axis + 1 :])
    result = empty(shape, dtype=dtype, device=device)
    for a, end in zip(given, ends, strict=True):
        assign(result[(*[slice(None)] * axis, slice(end - a.shape[axis], end))], a)
    return result


@wraps(np.concat)
def _concatenated(*arrays: npt.NDArray[Any], axis: int | None = None) -> npt.NDArray[Any]:
    return np.concatenate(arrays, axis)


@repeatable(
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
    axis = normalize_axis_index(index(axis), given[0].ndim + 1)
    if not device_of("stack", given).own_memory:
        checked_type(np.result_type(*[a.dtype for a in given]))
        return by_host(_stacked, *given, axis=axis)
    return concat([expand_dims(a, axis) for a in given], axis)


@wraps(np.stack)
def _stacked(*arrays: npt.NDArray[Any], axis: int) -> npt.NDArray[Any]:
    return np.stack(arrays, axis)


@repeatable(
    "Move elements along axes, those that leave at one end to the other end, as ``numpy.roll`` does.",
    shift="int or sequence of int: How far: one number for all axes, or one each.",
    axis="int or sequence of int, optional: Along which axes; by default all elements move, in C order.",
    returns="Array or ndarray: New, of the same shape.",
    raises={"ValueError": "If there are not as many numbers as axes."},
    example='>>> mdhnp.roll(mdhnp.asarray([1, 2, 3], device="cpu"), 1).tolist()\n[3, 1, 2]',
)
def roll(x: Any, /, shift: int | tuple[int, ...], axis: Axis = None) -> Any:
    if not isinstance(x, Array):
        return np.roll(x, shift, axis)
    if not x.device.own_memory:
        return by_host(np.roll, x, shift, axis)
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


@repeatable(
    "Repeat the whole array along its axes, as ``numpy.tile`` does.",
    repetitions="int or sequence of int: How often along each axis, the last ones if they are fewer; more make new "
    "axes before those of `x`.",
    returns="Array or ndarray: New; each axis is as many times as long.",
    raises={"ValueError": "If a number is negative."},
    example='>>> mdhnp.tile(mdhnp.asarray([1, 2], device="cpu"), (2, 2)).tolist()\n[[1, 2, 1, 2], [1, 2, 1, 2]]',
)
def tile(x: Any, repetitions: int | tuple[int, ...], /) -> Any:
    if not isinstance(x, Array):
        return np.tile(x, repetitions)
    times = [index(n) for n in (repetitions if isinstance(repetitions, tuple | list) else (repetitions,))]
    if times and min(times) < 0:
        raise ValueError(f"repetitions are {repetitions}, which must not be negative")
    if not x.device.own_memory:
        return by_host(np.tile, x, tuple(times))
    rank = max(len(times), x.ndim)
    times, shape = [1] * (rank - len(times)) + times, (1,) * (rank - x.ndim) + x.shape
    parts = [each for pair in zip(times, shape, strict=True) for each in pair]
    result = empty(tuple(parts), dtype=x.dtype, device=x.device)
    assign(result, reshape(x, shape)[(None, slice(None)) * rank])
    return reshape(result, tuple([n * size for n, size in zip(times, shape, strict=True)]))


@repeatable(
    "Repeat each element, as ``numpy.repeat`` does.",
    repeats="int or array_like: How often; several numbers, one an element along the axis, are read.",
    axis="int, optional: Along which axis; by default all elements, in C order.",
    returns="Array or ndarray: New; the axis is `repeats` times as long. Without `axis` of one axis.",
    raises={
        "ValueError": "If a number is negative, or there are not as many as elements.",
        "TypeError": "If they are no whole numbers.",
    },
    example='>>> mdhnp.repeat(mdhnp.asarray([1, 2], device="cpu"), 2).tolist()\n[1, 1, 2, 2]',
)
def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> Any:
    if not isinstance(x, Array):
        return np.repeat(x, repeats, axis)
    counts = not isinstance(repeats, int | np.integer)
    if not counts and repeats < 0:
        raise ValueError(f"repeats is {repeats}, which must not be negative")
    if not x.device.own_memory:
        return by_host(np.repeat, x, repeats, axis)
    if counts:
        n = x.size if axis is None else x.shape[normalize_axis_index(index(axis), x.ndim)]
        return take(x, np.repeat(np.arange(n), on_host(repeats)), axis)  # what is to be read is known when these are
    if axis is None or not x.ndim:
        x, axis = reshape(x, (-1,)), 0 if axis is None else axis
    axis = normalize_axis_index(index(axis), x.ndim)
    before, (n, *after) = x.shape[:axis], x.shape[axis:]
    result = empty((*before, n, repeats, *after), dtype=x.dtype, device=x.device)
    assign(result, expand_dims(x, axis + 1))
    return reshape(result, (*before, n * repeats, *after))


@repeatable(
    "Put elements around an array, as ``numpy.pad`` does.",
    pad_width="int, sequence or dict: How many elements before and after: one number for all axes, a pair for all, or "
    "a pair for each axis.",
    mode='str: "constant", "edge", "reflect", "symmetric" or "wrap". Others are left to NumPy.',
    options="``constant_values``, numbers as in `pad_width`; by default 0. Others are left to NumPy.",
    returns="Array or ndarray: New, of the type of `x`.",
    raises={
        "ValueError": "If `pad_width` is not for as many axes or negative, if there is no such mode or option, or if "
        "an axis without elements is to have others than constants.",
        "TypeError": "If `pad_width` is no whole numbers, or what NumPy would have to compute is of an Array.",
    },
    example="""
>>> mdhnp.pad(mdhnp.asarray([1, 2, 3], device="cpu"), (1, 2), mode="edge").tolist()
[1, 1, 2, 3, 3, 3]""",
)
def pad(x: Any, /, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    if not isinstance(x, Array):
        return np.pad(x, pad_width, mode, **options)
    if not callable(mode):
        np.pad(np.empty(0), 0, mode, **dict.fromkeys(options, 0))  # NumPy knows modes and their options, and its errors
    if callable(mode) or mode not in _BOUNDARIES or options.keys() - {"constant_values"}:
        said = ", ".join([f"mode is {mode!r}", *[f"{name} {value!r:.40}" for name, value in options.items()]])
        return by_numpy(np.pad, said, x, pad_width, mode, **options)
    widths = _widths(pad_width, x.ndim)
    if mode != "constant":
        empty = [d for d, n in enumerate(x.shape) if not n and any(widths[d])]
        if empty:
            raise ValueError(f"can't extend empty axis {empty[0]} using modes other than 'constant' or 'empty'")
        return _padded(x, widths, mode)
    given = np.asarray(options.get("constant_values", 0)).astype(x.dtype)
    values = _pairs(given, x.ndim)
    if given.size == 1:
        return _padded(x, widths, mode, given.item())
    none = [(0, 0)] * x.ndim
    for d, (before, after) in enumerate(widths):  # later axes have the corners
        x = _padded(x, (*none[:d], (before, 0), *none[d + 1 :]), mode, values[d, 0])
        x = _padded(x, (*none[:d], (0, after), *none[d + 1 :]), mode, values[d, 1])
    return x


def _of_arrays(operands: Sequence[Any]) -> bool:
    """Whether an array on a device is among them."""
    return any([isinstance(a, Array) or is_array(a) for a in operands])


def _with_axes(a: Any) -> Any:
    return a if isinstance(a, Array) else asarray(a) if is_array(a) else np.asarray(a)


def _shapes(operands: Sequence[Any]) -> str:
    return ", ".join([str(a.shape) for a in operands])


def _widths(given: Any, ndim: int) -> _Pairs:
    """Read `pad_width` as NumPy does."""
    if isinstance(given, dict):
        pairs = [(0, 0)] * ndim
        for axis, width in given.items():
            pairs[axis] = width if isinstance(width, tuple) else (width, width)
        given = pairs
    widths = np.asarray(given)
    if widths.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    if widths.size and widths.min() < 0:
        raise ValueError("index can't contain negative values")
    return tuple([(int(before), int(after)) for before, after in _pairs(widths, ndim)])


def _pairs(given: npt.NDArray[Any], ndim: int) -> npt.NDArray[Any]:
    return np.broadcast_to(given.ravel() if given.size == 1 else given, (ndim, 2))


def _padded(x: Array, widths: _Pairs, mode: str, value: Any = 0) -> Any:
    if x.size:
        return call((_PAD, widths, mode, repr(x.dtype.type(value).item())), (x,))
    shape = [before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)]
    return full(tuple(shape), value, dtype=x.dtype, device=x.device)


def _describe(arrays: Arrays, widths: _Pairs, mode: str, fill: str) -> MdHom:
    (x,) = arrays
    rank = x.ndim
    shape = tuple([before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)])
    read = tuple([Affine.of(d, rank, -before) for d, (before, _) in enumerate(widths)])
    boundary = _BOUNDARIES[mode] if any(map(any, widths)) else None
    view = array_view("A", x, (read,), boundary, fill)
    out = contiguous("O0", x.dtype, shape, tuple(range(rank)))
    return MdHom(shape, (CC,) * rank, identity_function([x.dtype]), (view,), (out,), None, dimension_names(rank))


def _by_numpy(x: Any, widths: _Pairs, mode: Any, fill: str) -> Any:
    return np.pad(x, widths, mode, **({"constant_values": literal_value(fill, x.dtype)} if mode == "constant" else {}))


_PAD = Routine("pad", _describe, _by_numpy)
