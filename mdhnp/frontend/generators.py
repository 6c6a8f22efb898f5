"""New arrays whose elements follow from where they are: zeros, ranges, diagonals, triangles.

On a device with memory of its own they are computed there, but for `linspace`; on others by NumPy, whose memory it is.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil
from operator import index as whole
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make
from mdhnp.calls import Routine, call
from mdhnp.calls.arrays import by_host, of_views
from mdhnp.frontend.array_adapted import on_host
from mdhnp.frontend.creation import SHAPED, asarray, assign, checked_shape, checked_type, device_for, empty, shaped
from mdhnp.frontend.manipulation import broadcast_to
from mdhnp.frontend.map_reduce import Arrays, operand, pointwise
from mdhnp.frontend.public import Function as Public
from mdhnp.frontend.public import public, repeatable
from mdhnp.mdh import MdHom, index, trace

__all__ = [
    "arange", "empty_like", "eye", "full", "full_like", "linspace", "meshgrid", "ones", "ones_like", "tril", "triu",
    "zeros", "zeros_like",
]  # fmt: skip


@shaped(
    "Give a new array with one value everywhere.",
    dtype="dtype, optional: Type of the elements; by default that of the value.",
    returns="Array: New, of that shape.",
    example='>>> mdhnp.full(3, 2.5, device="cpu").numpy()\narray([2.5, 2.5, 2.5])',
)
def full(shape: Any, fill_value: Any, *, dtype: npt.DTypeLike | None = None, device: Any = None) -> Array:
    if dtype is None:
        dtype = fill_value.dtype if isinstance(fill_value, Array) else np.asarray(fill_value).dtype
    wanted = checked_type(dtype)
    where = device_for(device, fill_value)
    if not where.own_memory and not isinstance(fill_value, Array):
        return make(_filled(checked_shape(shape), wanted, fill_value), where)
    made = make(transfer.empty(checked_shape(shape), wanted, where), where)
    assign(made, fill_value if isinstance(fill_value, Array) else _converted(fill_value, wanted))
    return made


def _converted(value: Any, dtype: np.dtype[Any]) -> Any:
    """Convert a value, but whole numbers, which their type must hold."""
    holds = isinstance(value, int) or (type(value) is float and dtype.kind in "fc")
    return value if holds else np.asarray(value).astype(dtype)


def _filled(shape: tuple[int, ...], dtype: np.dtype[Any], value: Any) -> npt.NDArray[Any]:
    made = transfer.new(shape, dtype)
    made[...] = _converted(value, dtype)
    return made


@shaped(
    "Give a new array of zeros.",
    returns="Array: New, of that shape.",
    example="""
>>> mdhnp.zeros((2, 2), dtype="int8", device="cpu").numpy()
array([[0, 0],
       [0, 0]], dtype=int8)""",
)
def zeros(shape: Any, *, dtype: npt.DTypeLike | None = None, device: Any = None) -> Array:
    where, wanted = device_for(device), checked_type(dtype)
    if not where.own_memory:  # the system's memory is 0 until it is written to
        return make(np.zeros(checked_shape(shape), wanted), where)
    return full(shape, 0, dtype=wanted, device=where)


@shaped(
    "Give a new array of ones.",
    returns="Array: New, of that shape.",
    example='>>> mdhnp.ones(3, device="cpu").numpy()\narray([1., 1., 1.])',
)
def ones(shape: Any, *, dtype: npt.DTypeLike | None = None, device: Any = None) -> Array:
    return full(shape, 1, dtype=checked_type(dtype), device=device)


def _like(what: str, example: str) -> Callable[[Public], Public]:
    """Document a function that gives an array like another one."""
    return repeatable(
        f"Give a new array of an array's shape, {what}.",
        x="array_like: The other one.",
        dtype="dtype, optional: Type of the elements; by default that of `x`.",
        device="str, int or Device, optional: Where to; by default where `x` is, else the default device.",
        returns="Array: New, of the shape of `x`.",
        raises=SHAPED,
        example=f'>>> x = mdhnp.asarray([1, 2], device="cpu")\n>>> {example}',
    )


def _of_shape(
    make: Callable[..., Array], made: Callable[..., Any], x: Any, dtype: Any, device: Any, *value: Any
) -> Array:
    """Make an array of another one's shape: by what makes Arrays, or, where that one is the host's, ndarrays."""
    x = operand(x)
    wanted = checked_type(x.dtype if dtype is None else dtype)
    if type(x) is Array and not x.device.own_memory and (device is None or device is x.device):
        return of_views(lambda view: made(view.shape, wanted, *value), x, reads=True)
    return make(x.shape, *value, dtype=wanted, device=device_for(device, x))


@_like("whatever values are in memory", "mdhnp.empty_like(x).shape\n(2,)")
def empty_like(x: Any, /, *, dtype: npt.DTypeLike | None = None, device: Any = None) -> Array:
    return _of_shape(empty, transfer.new, x, dtype, device)


@_like("with one value everywhere", "mdhnp.full_like(x, 7).numpy()\narray([7, 7])")
def full_like(x: Any, /, fill_value: Any, *, dtype: npt.DTypeLike | None = None, device: Any = None) -> Array:
    if isinstance(fill_value, Array):
        x = operand(x)
        where = device_for(device, fill_value if isinstance(x, np.ndarray) else x)
        return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=where)
    return _of_shape(full, _filled, x, dtype, device, fill_value)


@_like("of zeros", "mdhnp.zeros_like(x).numpy()\narray([0, 0])")
def zeros_like(x: Any, /, *, dtype: npt.DTypeLike | None = None, device: Any = None) -> Array:
    return _of_shape(zeros, np.zeros, x, dtype, device)


@_like("of ones", "mdhnp.ones_like(x).numpy()\narray([1, 1])")
def ones_like(x: Any, /, *, dtype: npt.DTypeLike | None = None, device: Any = None) -> Array:
    return full_like(x, 1, dtype=dtype, device=device)


@public(
    "Give numbers of equal distance, as ``numpy.arange`` does.",
    start="number: The first one; one number alone is `stop`, and 0 the first.",
    stop="number, optional: Before which they end.",
    step="number: Their distance.",
    dtype="dtype, optional: Type of the elements; by default that of the arguments.",
    returns="Array: New, of one axis with ``ceil((stop - start) / step)`` elements, or none.",
    raises={"ZeroDivisionError": "If `step` is 0.", **SHAPED, "ValueError": "If a number cannot be converted."},
    example='>>> mdhnp.arange(2, 8, 3, device="cpu").numpy()\narray([2, 5])',
)
def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: npt.DTypeLike | None = None, device: Any = None
) -> Array:
    first, end = (0, start) if stop is None else (start, stop)
    where = device_for(device)
    whole_numbers = type(first) is type(end) is type(step) is int
    if dtype is None:
        dtype = np.intp if whole_numbers else np.result_type(np.intp, *[np.asarray(n) for n in (first, end, step)])
    wanted = checked_type(dtype)
    count = max(ceil((end - first) / step), 0)
    if not where.own_memory or count < 3 or wanted.kind == "b":
        return make(transfer.put(np.arange(first, end, step, dtype=wanted), where), where)
    # As in NumPy the first two numbers are converted, and numbers of 16 bits then computed with 32.
    computed = np.dtype(np.float32) if wanted.char == "e" else wanted
    begin, second = [np.asarray(wanted.type(n)).astype(computed) for n in (first, first + step)]
    return _made(_ARANGE, (count,), wanted, where, (begin, second, np.subtract(second, begin)))


@public(
    "Give `num` numbers of equal distance, as ``numpy.linspace`` does.",
    start="number: The first one. Of an Array without axes its element is read.",
    stop="number: The last one, or where `endpoint` is false the one after it.",
    num="int: How many.",
    dtype="dtype, optional: Type of the elements; by default float64, or complex128.",
    endpoint="bool: Whether `stop` is the last one.",
    returns="Array: New, of shape (num,).",
    raises=SHAPED | {"ValueError": "If `num` is negative."},
    example='>>> mdhnp.linspace(0, 1, 3, device="cpu").numpy()\narray([0. , 0.5, 1. ])',
)
def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: npt.DTypeLike | None = None, device: Any = None, endpoint: bool = True
) -> Array:
    where = device_for(device, next((n for n in (start, stop) if isinstance(n, Array)), None))
    start, stop = on_host(start), on_host(stop)
    if dtype is None and not {type(start), type(stop)} <= {int, float}:
        dtype = np.result_type(start, stop, 0.0)
    wanted = checked_type(dtype)
    elements = np.linspace(start, stop, whole(num), endpoint, dtype=wanted)
    return make(transfer.put(elements, where), where)


_DIAGONAL = "int: How far the diagonal is above the main one."


@shaped(
    "Give a matrix with ones on a diagonal and zeros elsewhere, as ``numpy.eye`` does.",
    n_rows="int: How many rows it has.",
    n_cols="int, optional: How many columns; by default as many.",
    k=_DIAGONAL,
    returns="Array: New, of shape (n_rows, n_cols).",
    example="""
>>> mdhnp.eye(2, 3, k=1, device="cpu").numpy()
array([[0., 1., 0.],
       [0., 0., 1.]])""",
)
def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: npt.DTypeLike | None = None, device: Any = None
) -> Array:
    shape = checked_shape((n_rows, n_rows if n_cols is None else n_cols))
    where, wanted = device_for(device), checked_type(dtype)
    if not where.own_memory:
        return make(np.eye(shape[0], shape[1], whole(k), dtype=wanted), where)
    diagonal = np.int64(min(max(whole(k), -shape[0]), shape[1]))  # further ones are outside, too
    return _made(_EYE, shape, wanted, where, (wanted.type(1), diagonal))


@repeatable(
    "Give the coordinates of all points of a grid, as ``numpy.meshgrid`` does: new arrays.",
    arrays="array_like: Coordinates along each axis: of one axis each.",
    indexing='{"xy", "ij"}: Whether the first two axes of the results are exchanged.',
    returns="tuple of Array or of ndarray: One for each axis, all of the grid's shape; Arrays where one is given.",
    raises={"ValueError": "If `indexing` is none of those."},
    example="""
>>> x, y = mdhnp.meshgrid(mdhnp.asarray([1, 2], device="cpu"), mdhnp.asarray([3, 4], device="cpu"))
>>> y.tolist()
[[3, 3], [4, 4]]""",
)
def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is 'xy' or 'ij', not {indexing!r}")
    grid: Any = np.meshgrid
    given, devices = [operand(x) for x in arrays], [x.device for x in arrays if isinstance(x, Array)]
    if not devices:
        return tuple(grid(*given, indexing=indexing))
    if all([type(x) is Array and not x.device.own_memory for x in arrays]):
        return by_host(grid, *arrays, indexing=indexing)
    every = [x if isinstance(x, Array) else asarray(x, device=devices[0]) for x in given]
    views = grid(*[x._view for x in every], indexing=indexing, copy=False)
    return tuple([asarray(make(view, x.device), copy=True) for view, x in zip(views, every, strict=True)])


def _triangle(name: str, zeros: str, example: str) -> Callable[..., Any]:
    """Make a function that keeps a triangle of matrices."""
    by_numpy, routine = getattr(np, name), Routine(name, partial(_describe_triangle, name == "triu"))

    @public(
        f"Give the matrices of a stack with zeros {zeros} a diagonal, as ``numpy.{name}`` does.",
        name=name,
        x="array_like: Of shape (..., n, m), or (n,): each row of a matrix (n, n).",
        k=_DIAGONAL,
        returns="Array or ndarray: New, of that shape.",
        raises={"ValueError": "If there are no axes."},
        example=f'>>> mdhnp.{name}(mdhnp.asarray([[1, 2], [3, 4]], device="cpu")).tolist()\n{example}',
    )
    def function(x: Any, /, *, k: int = 0) -> Any:
        x = operand(x)
        if not x.ndim:
            raise ValueError("x has no axes, a matrix has two or more")
        x = broadcast_to(x, x.shape * 2) if x.ndim == 1 else x
        if not isinstance(x, Array):
            return by_numpy(x, whole(k))
        if not x.device.own_memory:
            return make(by_numpy(x._view, whole(k)), x.device)
        return call((routine,), (x, np.array(whole(k), np.int64)))

    return function


def _made(routine: Routine, shape: tuple[int, ...], dtype: np.dtype[Any], device: Any, numbers: Sequence[Any]) -> Array:
    """Compute an array from numbers and each element's place."""
    given = [make(transfer.constant(np.asarray(n), device), device) for n in numbers]
    return call((routine, shape, dtype), tuple(given))


def _describe_placed(
    function: Callable[..., Any], arrays: Arrays, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> MdHom:
    return pointwise(trace(function, [a.dtype for a in arrays], [dtype]), arrays, shape)


def _describe_triangle(upper: bool, arrays: Arrays) -> MdHom:
    x, k = arrays
    rank = x.ndim

    def kept(value: Any, k: Any) -> Any:
        above = index(rank - 1) - index(rank - 2)
        return np.where(above >= k if upper else above <= k, value, x.dtype.type(0))

    return pointwise(trace(kept, [x.dtype, k.dtype], [x.dtype]), arrays)


def _ramp(first: Any, second: Any, step: Any) -> Any:
    return np.where(index(0) == 1, second, first + index(0).astype(first.dtype) * step)


_ARANGE = Routine("arange", partial(_describe_placed, _ramp))
_EYE = Routine(
    "eye", partial(_describe_placed, lambda one, k: np.where(index(1) - index(0) == k, one, one.dtype.type(0)))
)
tril = _triangle("tril", "above", "[[1, 0], [3, 4]]")
triu = _triangle("triu", "below", "[[1, 2], [0, 4]]")
