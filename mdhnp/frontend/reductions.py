"""Reductions of the array API standard, as NumPy has them: sums, products, extremes and where they are, tests, moments.

Each is one MDH on the operand's own axes, whose dimensions are kept (`cc`) or reduced (`pw`); a variance is two, the
mean first, then the mean of squared distances from it. How many elements a mean is of is an operand, so that one kernel
serves all shapes. Takes array-likes; it must not know devices.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import prod as product
from operator import index as whole
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.operands import exact_type
from mdhnp.frontend.manipulation import Axis, reshape
from mdhnp.frontend.map_reduce import RAISES, axes_of, convert, named, operand, pointwise, reduction, total_type
from mdhnp.frontend.pairwise import stand_in
from mdhnp.frontend.public import public
from mdhnp.mdh import Function, Graph, MdHom, Step, index, trace
from mdhnp.mdh.extremes import Which, extreme, first_extreme
from mdhnp.mdh.function import identity_function

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "prod", "std", "sum", "var"]

DType = np.dtype[Any]
Arrays = Sequence[npt.NDArray[Any]]

_BOOL, _INDEX = np.dtype(np.bool_), np.dtype(np.int64)

_SOURCE = 'Source: Rasch & Gorlatch, "Multi-dimensional homomorphisms and their implementation in OpenCL", Section 2.'
_NOT_OF_NOTHING = RAISES | {"ValueError": "If there is no element, or an axis is named twice."}


# From calls to MDHs.


def _describe_total(name: str, arrays: Arrays, axes: tuple[int, ...], keepdims: bool, wanted: DType | None) -> MdHom:
    (x,) = arrays
    scalar = convert(x.dtype, wanted or total_type(x.dtype))
    return reduction(pointwise(scalar, arrays), axes, named(name, scalar.dtypes[0]), keepdims=keepdims)


def _describe_extreme(which: Which, arrays: Arrays, axes: tuple[int, ...], keepdims: bool) -> MdHom:
    (x,) = arrays
    if not product([x.shape[d] for d in axes]):
        raise ValueError(f"an array of shape {x.shape} has no elements along axes {axes}, and so no {which}")
    return reduction(pointwise(identity_function([x.dtype]), arrays), axes, extreme(which, x.dtype), None, keepdims)


def _describe_test(name: str, arrays: Arrays, axes: tuple[int, ...], keepdims: bool) -> MdHom:
    (x,) = arrays
    return reduction(pointwise(convert(x.dtype, _BOOL), arrays), axes, named(name, _BOOL), None, keepdims)


def _describe_count(arrays: Arrays, axes: tuple[int, ...], keepdims: bool) -> MdHom:
    (x,) = arrays
    return reduction(pointwise(_is_nonzero(x.dtype), arrays), axes, named("add", _INDEX), None, keepdims)


@lru_cache(maxsize=64)
def _is_nonzero(given: DType) -> Function:
    return trace(lambda x: x.astype(_BOOL).astype(_INDEX), [given])


def _describe_place(which: Which, arrays: Arrays, axes: tuple[int, ...], keepdims: bool) -> MdHom:
    (x,) = arrays
    if not x.shape[axes[0]]:
        raise ValueError(f"an array of shape {x.shape} has no elements along axis {axes[0]}")
    scalar, finish = _place_functions(x.dtype, axes[0])
    return reduction(pointwise(scalar, arrays), axes, first_extreme(which, x.dtype), finish, keepdims)


@lru_cache(maxsize=256)
def _place_functions(given: DType, axis: int) -> tuple[Function, Function]:
    """Give what is reduced, an element and its place, and what is stored of that."""
    scalar = trace(lambda x: (x, index(axis)), [given])
    return scalar, trace(lambda value, place, x: place, [given, _INDEX, given])


def _routine(name: str, describe: Callable[..., Any]) -> Routine:
    """Make the routine of a function of that name, which NumPy has, too."""

    def compute(x: Any, axes: tuple[int, ...], keepdims: bool, dtype: Any = None) -> Any:
        axis = axes[0] if name.startswith("arg") else axes
        return getattr(np, name)(x, axis=axis, keepdims=keepdims, **({} if dtype is None else {"dtype": dtype}))

    return Routine(name, describe, compute)


# The public functions: of a type to compute in, of others, and of places.


def _total(name: str, operator: str, summary: str, of_nothing: str, example: str) -> Callable[..., Any]:
    routine = _routine(name, partial(_describe_total, operator))

    @public(
        summary,
        x="array_like: Of booleans or numbers; float16 is computed in float32.",
        dtype="dtype, optional: Type to compute in; by default that of `x`, or the 64-bit one of its kind for integers "
        "and booleans.",
        returns=f"Array, ndarray or scalar: Of the shape of `x` without these axes. {of_nothing} for no elements.",
        raises=RAISES,
        notes=_SOURCE,
        example=example,
        name=name,
    )
    def function(x: Any, /, axis: Axis = None, *, dtype: npt.DTypeLike | None = None, keepdims: bool = False) -> Any:
        x, wanted = operand(x), exact_type(dtype)
        return call((routine, axes_of(axis, x.ndim), bool(keepdims), wanted), (x,), dtypes=(wanted,))

    return function


def _reduced(
    name: str,
    describe: Callable[..., Any],
    summary: str,
    example: str,
    raises: dict[str, str] = RAISES,
    kinds: str = "Of booleans or numbers.",
) -> Callable[..., Any]:
    routine = _routine(name, describe)

    @public(
        summary,
        x=f"array_like: {kinds}",
        returns="Array, ndarray or scalar: Of the shape of `x` without these axes.",
        raises=raises,
        notes=_SOURCE,
        example=example,
        name=name,
    )
    def function(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
        x = operand(x)
        return call((routine, axes_of(axis, x.ndim), bool(keepdims)), (x,))

    return function


def _placed(which: Which, summary: str, example: str) -> Callable[..., Any]:
    name = f"arg{which}"
    routine = _routine(name, partial(_describe_place, which))

    @public(
        summary,
        x=f"array_like: {_ORDERED}",
        axis="int, optional: Along which axis; by default among all elements, in C order.",
        returns="Array, ndarray or scalar: Of int64.",
        raises=_NOT_OF_NOTHING,
        notes=_SOURCE,
        example=example,
        name=name,
    )
    def function(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
        x = operand(x)
        ndim = x.ndim
        if axis is not None:
            return call((routine, axes_of(whole(axis), ndim), bool(keepdims)), (x,))
        found = call((routine, (0,), False), (reshape(x, (-1,)),))
        return reshape(found, (1,) * ndim) if keepdims and ndim else found

    return function


_ORDERED = "Complex numbers are ordered by their real parts, then by their imaginary ones."

sum = _total("sum", "add", "Add elements, as ``numpy.sum`` does.", "0", """
>>> mdhnp.sum([[1, 2], [3, 4]], axis=0)
array([4, 6])""")  # fmt: skip
prod = _total("prod", "mul", "Multiply elements, as ``numpy.prod`` does.", "1", """
>>> int(mdhnp.prod([2, 3, 4]))
24""")  # fmt: skip
any = _reduced(
    "any", partial(_describe_test, "or"), "Say whether some element is not 0, as ``numpy.any`` does.",
    ">>> mdhnp.any([[0.0, 2.0], [0.0, 0.0]], axis=1)\narray([ True, False])",
)  # fmt: skip
all = _reduced(
    "all", partial(_describe_test, "and"), "Say whether no element is 0, as ``numpy.all`` does.",
    ">>> mdhnp.all([1, 2, 0]).item()\nFalse",
)  # fmt: skip
count_nonzero = _reduced(
    "count_nonzero", _describe_count, "Count the elements that are not 0, as ``numpy.count_nonzero`` does, in int64.",
    ">>> mdhnp.count_nonzero([[0, 2], [3, 4]], axis=0)\narray([1, 2])",
)  # fmt: skip
_EXTREMES: tuple[tuple[Which, str, int, str], ...] = (("max", "largest", 3, "[1, 0]"), ("min", "smallest", 1, "[0, 2]"))
max, min = (
    _reduced(
        which, partial(_describe_extreme, which),
        f"Give the {what} elements, as ``numpy.{which}`` does: NaN where there is one.",
        f">>> int(mdhnp.{which}([3, 1, 2]))\n{number}", _NOT_OF_NOTHING, _ORDERED,
    )
    for which, what, number, _ in _EXTREMES
)  # fmt: skip
argmax, argmin = (
    _placed(
        which, f"Say where the {what} elements are, as ``numpy.arg{which}`` does: the first of equal ones, or of NaNs.",
        f">>> mdhnp.arg{which}([[1, 5, 5], [7, 3, 0]], axis=1)\narray({places})",
    )
    for which, what, _, places in _EXTREMES
)  # fmt: skip


# Moments.

_MEASURED = "array_like: Of booleans or numbers."


@public(
    "Give the mean of elements, as ``numpy.mean`` does.",
    x=_MEASURED,
    returns="Array, ndarray or scalar: Of the type of `x`, or float64 for integers and booleans. NaN for no elements.",
    raises=RAISES,
    example=">>> float(mdhnp.mean([1, 2, 4, 5]))\n3.0",
)
def mean(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    x = operand(x)
    axes = axes_of(axis, x.ndim)
    return call((_MEAN, axes, bool(keepdims)), (x, _number(_count(x, axes), x.dtype)))


def _spread(name: str, summary: str, example: str) -> Callable[..., Any]:
    """Make the public function of a variance, or of its root."""
    routine = Routine(name, partial(_describe_spread, name == "std"), partial(_spread_by_numpy, name))

    @public(
        summary,
        x=_MEASURED,
        correction="float: What the number of elements is reduced by before the sum of squares is divided by it.",
        returns="Array, ndarray or scalar: Of the real type of `x`, or float64 for integers and booleans. NaN for no "
        "elements.",
        raises=RAISES,
        example=example,
        name=name,
    )
    def function(x: Any, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Any:
        x = operand(x)
        axes = axes_of(axis, x.ndim)
        count = _count(x, axes)
        divisor = count - correction if count > correction else 0
        return call((routine, axes, bool(keepdims)), (x, _number(count, x.dtype), _number(divisor, x.dtype)))

    return function


def _count(x: Any, axes: tuple[int, ...]) -> int:
    """Count the elements that each result is of."""
    shape = x.shape
    return product([shape[d] for d in axes])


@lru_cache(maxsize=256)
def _number(value: float, given: DType) -> npt.NDArray[Any]:
    """Give a number in the type that sums of elements are divided in."""
    dtype = _mean_type(given)
    return np.asarray(value, np.finfo(dtype).dtype if dtype.kind == "c" else dtype)


def _mean_type(given: DType) -> DType:
    """Give the type in which means are computed."""
    if given.kind in "biu":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if given.char == "e" else given


def _describe_mean(arrays: Sequence[npt.NDArray[Any]], axes: tuple[int, ...], keepdims: bool) -> MdHom:
    x, count = arrays
    result = np.dtype(np.float16) if x.dtype.char == "e" else _mean_type(x.dtype)
    return _mean(x, count, axes, result, keepdims)


def _mean(
    x: npt.NDArray[Any], count: npt.NDArray[Any], axes: tuple[int, ...], result: DType, keepdims: bool = False
) -> MdHom:
    scalar, finish = _mean_functions(x.dtype, count.dtype, result)
    return reduction(pointwise(scalar, [x, count]), axes, named("add", scalar.dtypes[0]), finish, keepdims)


@lru_cache(maxsize=64)
def _mean_functions(given: DType, counted: DType, result: DType) -> tuple[Function, Function]:
    """Give what is added, and what is stored of the sum."""
    inner = _mean_type(given)
    scalar = trace(lambda x, count: x.astype(inner), [given, counted])
    return scalar, trace(lambda total, x, count: (total / count).astype(result), [inner, given, counted])


def _describe_spread(
    root: bool, arrays: Sequence[npt.NDArray[Any]], axes: tuple[int, ...], keepdims: bool
) -> Described:
    """Give the mean, and then the mean of squared distances from it."""
    x, count, divisor = arrays
    first = _mean(x, count, axes, _mean_type(x.dtype), keepdims=True)
    (view,) = first.outputs
    scalar, finish = _spread_functions(x.dtype, count.dtype, root)
    mapped = pointwise(scalar, [x, stand_in(view.shape, view.dtype), divisor])
    second = reduction(mapped, axes, named("add", scalar.dtypes[0]), finish, keepdims)
    return Described(Graph.ending(3, [Step(first, (0, 1)), Step(second, (0, 3, 2))]))


@lru_cache(maxsize=64)
def _spread_functions(given: DType, counted: DType, root: bool) -> tuple[Function, Function]:
    inner = _mean_type(given)
    result = given if given.char == "e" else counted

    def square(x: Any, middle: Any, divisor: Any) -> Any:
        distance = x.astype(inner) - middle
        real, imaginary = distance.real, distance.imag
        return real * real if given.kind != "c" else real * real + imaginary * imaginary

    def finish(total: Any, x: Any, middle: Any, divisor: Any) -> Any:
        found = total / divisor
        return (np.sqrt(found) if root else found).astype(result)

    parameters = [given, inner, counted]
    return trace(square, parameters), trace(finish, [counted, *parameters])


def _spread_by_numpy(
    name: str, x: Any, count: npt.NDArray[Any], divisor: npt.NDArray[Any], axes: tuple[int, ...], keepdims: bool
) -> Any:
    return getattr(np, name)(x, axes, correction=count - divisor, keepdims=keepdims)


_MEAN = Routine("mean", _describe_mean, lambda x, count, axes, keepdims: np.mean(x, axes, keepdims=keepdims))

var = _spread(
    "var", "Give the variance of elements, as ``numpy.var`` does: the mean of squared distances from the mean.",
    ">>> float(mdhnp.var([1, 2, 3], correction=1))\n1.0",
)  # fmt: skip
std = _spread(
    "std", "Give the square root of the variance, as ``numpy.std`` does.",
    ">>> mdhnp.std([[1.0, 3.0], [2.0, 2.0]], axis=1)\narray([1., 0.])",
)  # fmt: skip
