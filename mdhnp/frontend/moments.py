"""Moments of the array API standard: `mean`, `var` and `std`, as NumPy has them.

A mean is one MDH, a variance two: the mean first, then the mean of squared distances from it. The number of elements
is an operand, too, so that one kernel serves all shapes. Takes array-likes; it must not know devices.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.calls import Described, Routine, call
from mdhnp.errors import ARGUMENTS, raise_named
from mdhnp.frontend.manipulation import Axis
from mdhnp.frontend.pairwise import stand_in
from mdhnp.frontend.pointwise import pointwise
from mdhnp.frontend.public import public
from mdhnp.frontend.reducing import RAISES, axes_of, named, operand, reduction
from mdhnp.mdh import Function, Graph, MdHom, Step, trace

__all__ = ["mean", "std", "var"]

DType = np.dtype[Any]


_MEASURED = "array_like: Of booleans or numbers."


@public(
    "Give the mean of elements, as ``numpy.mean`` does.",
    x=_MEASURED,
    returns="Array, ndarray or scalar: Of the type of `x`, or float64 for integers and booleans. NaN for no elements.",
    raises=RAISES,
    example=">>> float(mdhnp.mean([1, 2, 4, 5]))\n3.0",
    guard=False,
)
def mean(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    try:
        x = operand(x)
        axes = axes_of(axis, x.ndim)
        return call((_MEAN, axes, bool(keepdims)), (x, _number(_count(x, axes), x.dtype)))
    except ARGUMENTS as error:
        raise_named("mean", error)


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
        guard=False,
    )
    def function(x: Any, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Any:
        try:
            x = operand(x)
            axes = axes_of(axis, x.ndim)
            count = _count(x, axes)
            divisor = count - correction if count > correction else 0
            return call((routine, axes, bool(keepdims)), (x, _number(count, x.dtype), _number(divisor, x.dtype)))
        except ARGUMENTS as error:
            raise_named(name, error)

    return function


def _count(x: Any, axes: tuple[int, ...]) -> int:
    """Count the elements that each result is of."""
    shape = x.shape
    return prod([shape[d] for d in axes])


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
