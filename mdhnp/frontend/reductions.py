"""Reductions of the array API standard, as NumPy has them: sums, products, extremes, tests, moments.

Each is one MDH on the operand's own axes, whose dimensions are kept (`cc`) or reduced (`pw`); a variance is two, the
mean first, then the mean of squared distances from it. How many elements a mean is of is an operand, so that one kernel
serves all shapes. Takes array-likes; it must not know devices.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from math import prod as product
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.operands import exact_type
from mdhnp.calls.ufuncs import silenced
from mdhnp.cost import NumpyWork
from mdhnp.frontend.contraction import Arrays, Functions
from mdhnp.frontend.manipulation import Axis
from mdhnp.frontend.map_reduce import (
    RAISES,
    axes_of,
    computed_type,
    convert,
    masked,
    moment,
    named,
    one_number,
    operand,
    reduction,
    total_type,
)
from mdhnp.frontend.pairwise import stand_in
from mdhnp.frontend.public import FIRST_PAPER, repeatable
from mdhnp.mdh import Graph, MdHom, Step, trace
from mdhnp.mdh.combine import Extreme, extreme
from mdhnp.mdh.function import identity_function

__all__ = ["all", "any", "count_nonzero", "max", "mean", "min", "prod", "std", "sum", "var"]

DType = np.dtype[Any]

_BOOL, _INDEX = np.dtype(np.bool_), np.dtype(np.int64)


# What is reduced of elements of a type, and how.


def _total(name: str, given: DType, wanted: DType | None) -> Functions:
    scalar = convert(given, wanted or total_type(given))
    return Functions(scalar, named(name, scalar.dtypes[0]))


@lru_cache(maxsize=64)
def _nonzero(given: DType) -> Functions:
    return Functions(trace(lambda x: x.astype(_BOOL).astype(_INDEX), [given]), named("add", _INDEX))


@lru_cache(maxsize=64)
def _mean(given: DType, counted: DType, result: DType | None = None) -> Functions:
    inner = computed_type(given)
    result = result or (given if given.char == "e" else inner)
    scalar = trace(lambda x, count: x.astype(inner), [given, counted])
    finish = trace(lambda total, x, count: (total / count).astype(result), [inner, given, counted])
    return Functions(scalar, named("add", inner), finish)


@lru_cache(maxsize=64)
def _spread(root: bool, given: DType, counted: DType) -> Functions:
    """The square of an element's distance from the mean, and the sum of these divided, or its root."""
    inner = computed_type(given)
    result = given if given.char == "e" else counted

    def square(x: Any, middle: Any, divisor: Any) -> Any:
        distance = x.astype(inner) - middle
        real, imaginary = distance.real, distance.imag
        return real * real if given.kind != "c" else real * real + imaginary * imaginary

    def finish(total: Any, x: Any, middle: Any, divisor: Any) -> Any:
        found = total / divisor
        return (np.sqrt(found) if root else found).astype(result)

    parameters = [given, inner, counted]
    scalar = trace(square, parameters)
    return Functions(scalar, named("add", scalar.dtypes[0]), trace(finish, [counted, *parameters]))


# From calls to MDHs.


def _describe(
    functions: Callable[..., Functions], arrays: Arrays, axes: tuple[int, ...], keepdims: bool, *wanted: DType | None
) -> MdHom:
    return reduction(functions(*[a.dtype for a in arrays], *wanted), arrays, axes, keepdims)


def _describe_extreme(which: Extreme, arrays: Arrays, axes: tuple[int, ...], keepdims: bool) -> MdHom:
    (x,) = arrays
    if not _count(x, axes):
        raise ValueError(f"an array of shape {x.shape} has no elements along axes {axes}, and so no {which}")
    return reduction(Functions(identity_function([x.dtype]), extreme(which, x.dtype)), arrays, axes, keepdims)


def _describe_mean(arrays: Arrays, axes: tuple[int, ...], keepdims: bool) -> Described:
    (x,) = arrays
    count = _number(_count(x, axes), x.dtype)
    return Described(_describe(_mean, (x, count), axes, keepdims), constants=(count,))


def _describe_spread(root: bool, arrays: Arrays, axes: tuple[int, ...], keepdims: bool, correction: float) -> Described:
    """Give the mean, and then the mean of squared distances from it."""
    (x,) = arrays
    number = _count(x, axes)
    left = number - correction if number > correction else 0
    count, divisor = _number(number, x.dtype), _number(left, x.dtype)
    first = reduction(_mean(x.dtype, count.dtype, computed_type(x.dtype)), (x, count), axes, True)
    (view,) = first.outputs
    middle = stand_in(view.shape, view.dtype)
    second = reduction(_spread(root, x.dtype, count.dtype), (x, middle, divisor), axes, keepdims)
    graph = Graph.ending(3, [Step(first, (0, 1)), Step(second, (0, 3, 2))])
    numpy = None
    if left and number and x.dtype.char != "e":  # of which NumPy's sums are less exact
        name, along = "std" if root else "var", None if len(axes) == x.ndim else axes
        numpys = getattr(np, name)
        compute = silenced(lambda x, *_: numpys(x, along, None, None, correction, keepdims))
        work = NumpyWork(second.outputs[0].dtype.char, 0, 2 * first.points, 4 * first.inputs[0].element_bytes, 0)
        numpy = NumpyFunction(f"numpy.{name}", compute, work)
    return Described(graph, constants=(count, divisor), numpy=numpy)


def _routine(name: str, describe: Callable[..., Any], *bound: Any, other: str = "dtype") -> Routine:
    """Make the routine of a function of that name, which NumPy has, too; `other` names its last argument, if any."""

    def compute(x: Any, axes: tuple[int, ...], keepdims: bool, last: Any = None) -> Any:
        return getattr(np, name)(x, **numpys_arguments(x, axes, keepdims), **({} if last is None else {other: last}))

    return Routine(name, partial(describe, *bound), compute)


def numpys_arguments(x: Any, axes: tuple[int, ...], keepdims: bool) -> dict[str, Any]:
    """Give NumPy's arguments; of what kernels do not take only those that say something, for not all take others."""
    if type(x) is np.ndarray and x.dtype.kind in "biufc":
        return {"axis": axes, "keepdims": keepdims}
    axis = None if len(axes) == np.ndim(x) else axes[0] if len(axes) == 1 else axes
    return {"axis": axis, "keepdims": True} if keepdims else {"axis": axis}


_COUNT_NONZERO = _routine("count_nonzero", _describe, _nonzero)
_MEAN = _routine("mean", _describe_mean)


# The public functions.

_reduction = partial(
    repeatable,
    x="array_like: Of booleans or numbers.",
    returns="Array, ndarray or scalar: Of the shape of `x` without these axes.",
    raises=RAISES,
    notes=f"Source: {FIRST_PAPER}, Section 2.",
)
_of_numbers = partial(
    _reduction,
    x="array_like: Of booleans or numbers; float16 is computed in float32.",
    dtype="dtype, optional: Type to compute in; by default that of `x`, or the 64-bit one of its kind for integers "
    "and booleans.",
)
_ordered = partial(
    _reduction,
    x="array_like: Complex numbers are ordered by their real parts, then by their imaginary ones.",
    raises=RAISES | {"ValueError": "If there is no element, or an axis is named twice."},
)
_averaged = partial(
    _reduction,
    dtype="dtype, optional: Of floats; elements are converted to it before. In other types they are added, and what "
    "they are divided to is cut off.",
)
_measured = partial(
    _averaged,
    dtype="dtype, optional: Of floats; elements are converted to it before. In other types they are added, and what "
    "they are divided to, and its root, is cut off; `std` takes those for one result only.",
    correction="float: What the number of elements is reduced by before the sum of squares is divided by it.",
    ddof="float: NumPy's other name of `correction`.",
    returns="Array, ndarray or scalar: Of the real type of `x`, or float64 for integers and booleans. NaN for no "
    "elements.",
)


def _called(routine: Routine, x: Any, axis: Axis, keepdims: bool, *dtypes: Any) -> Any:
    x = operand(x)
    if dtypes and dtypes[0] is not None:
        dtypes = (exact_type(dtypes[0]),)
    return call((routine, axes_of(axis, x.ndim), bool(keepdims), *dtypes), (x,), dtypes=dtypes)


def _totals(name: str, operator: str, ufunc: np.ufunc, neutral: int, what: str, example: str) -> Callable[..., Any]:
    """Make a function that adds or multiplies."""
    routine = _routine(name, _describe, partial(_total, operator))

    @_of_numbers(
        f"{what}, as ``numpy.{name}`` does.",
        name=name,
        returns=f"Array, ndarray or scalar: Of the shape of `x` without these axes. {neutral} for no elements.",
        example=f">>> {example}",
    )
    def function(
        x: Any, /, axis: Axis = None, *, dtype: Any = None, keepdims: Any = False, initial: Any = None,
        where: Any = True, schedule: Any = None,
    ) -> Any:  # fmt: skip
        if where is not True or initial is not None:
            return masked(function, ufunc, x, axis, keepdims, where, initial, neutral, dtype=dtype)
        return _called(routine, x, axis, keepdims, dtype)

    return function


sum = _totals("sum", "add", np.add, 0, "Add elements", "mdhnp.sum([[1, 2], [3, 4]], axis=0)\narray([4, 6])")
prod = _totals("prod", "mul", np.multiply, 1, "Multiply elements", "int(mdhnp.prod([2, 3, 4]))\n24")


def _tests(name: str, operator: str, neutral: int, what: str, example: str) -> Callable[..., Any]:
    """Make a function that says of how many elements something holds."""
    routine = _routine(name, _describe, lambda given: Functions(convert(given, _BOOL), named(operator, _BOOL)))

    @_reduction(f"{what}, as ``numpy.{name}`` does.", name=name, example=f">>> {example}")
    def function(
        x: Any, /, axis: Axis = None, *, keepdims: bool = False, where: Any = True, schedule: Any = None
    ) -> Any:
        if where is not True:
            return masked(function, None, x, axis, keepdims, where, None, neutral)
        return _called(routine, x, axis, keepdims)

    return function


_SOME = "mdhnp.any([[0.0, 2.0], [0.0, 0.0]], axis=1)\narray([ True, False])"
any = _tests("any", "or", 0, "Say whether some element is not 0", _SOME)
all = _tests("all", "and", 1, "Say whether no element is 0", "mdhnp.all([1, 2, 0]).item()\nFalse")


@_reduction(
    "Count the elements that are not 0, as ``numpy.count_nonzero`` does, in int64.",
    example=">>> mdhnp.count_nonzero([[0, 2], [3, 4]], axis=0)\narray([1, 2])",
)
def count_nonzero(x: Any, /, axis: Axis = None, *, keepdims: bool = False, schedule: Any = None) -> Any:
    return _called(_COUNT_NONZERO, x, axis, keepdims)


def _extremes(which: Extreme, ufunc: np.ufunc, what: str, example: str) -> Callable[..., Any]:
    """Make a function that gives the largest or the smallest elements."""
    routine = _routine(which, _describe_extreme, which)

    @_ordered(
        f"Give the {what} elements, as ``numpy.{which}`` does: NaN where there is one.", name=which, example=example
    )
    def function(
        x: Any, /, axis: Axis = None, *, keepdims: Any = False, initial: Any = None, where: Any = True,
        schedule: Any = None,
    ) -> Any:  # fmt: skip
        if where is not True or initial is not None:
            return masked(function, ufunc, x, axis, keepdims, where, initial, initial)
        return _called(routine, x, axis, keepdims)

    return function


max = _extremes("max", np.maximum, "largest", ">>> int(mdhnp.max([3, 1, 2]))\n3")
min = _extremes("min", np.minimum, "smallest", ">>> int(mdhnp.min([3, 1, 2]))\n1")


def _converted(x: Any, dtype: Any, kinds: str) -> tuple[Any, DType | None]:
    """Give elements in the type that a call names, if of these kinds and not real for complex ones; else it, too."""
    x, wanted = operand(x), exact_type(dtype)
    if wanted is not None and wanted.kind not in "biufc":
        raise TypeError(f"dtype: takes types of numbers, not {wanted}")
    if wanted is None or wanted.kind not in kinds or (x.dtype.kind == "c" and wanted.kind != "c"):
        return x, wanted
    return x.astype(wanted, copy=False), None


@_averaged(
    "Give the mean of elements, as ``numpy.mean`` does.",
    returns="Array, ndarray or scalar: Of the type of `x`, or float64 for integers and booleans. NaN for no elements.",
    example=">>> float(mdhnp.mean([1, 2, 4, 5]))\n3.0",
)
def mean(
    x: Any, /, axis: Axis = None, *, dtype: npt.DTypeLike | None = None, keepdims: bool = False, where: Any = True,
    schedule: Any = None,
) -> Any:  # fmt: skip
    x, wanted = _converted(x, dtype, "fc")
    if where is not True or wanted is not None:
        return moment("mean", x, axis, keepdims, where, dtype=wanted)
    return call((_MEAN, axes_of(axis, x.ndim, False), bool(keepdims)), (x,))


def _spreads(name: str, root: bool, what: str, example: str) -> Callable[..., Any]:
    """Make a function that says how far elements are from their mean."""
    routine = _routine(name, _describe_spread, root, other="correction")

    @_measured(what, name=name, example=f">>> {example}")
    def function(
        x: Any, /, axis: Any = None, *, dtype: Any = None, correction: Any = 0.0, keepdims: Any = False,
        where: Any = True, ddof: Any = 0, schedule: Any = None,
    ) -> Any:  # fmt: skip
        x, wanted = _converted(x, dtype, "f")
        given = one_number("correction", correction), one_number("ddof", ddof)
        if given[0] and given[1]:
            raise ValueError("ddof and correction are one argument; give one of them")
        less = given[0] or given[1]
        correction = int(less) if less.is_integer() else less  # which fractions are divided by
        if where is not True or wanted is not None:
            return moment(name, x, axis, keepdims, where, correction, wanted)
        return call((routine, axes_of(axis, x.ndim, False), bool(keepdims), correction), (x,))

    return function


_FROM_MEAN = "Give the variance of elements, as ``numpy.var`` does: the mean of squared distances from the mean."
_ROOT = "Give the square root of the variance, as ``numpy.std`` does."
var = _spreads("var", False, _FROM_MEAN, "float(mdhnp.var([1, 2, 3], correction=1))\n1.0")
std = _spreads("std", True, _ROOT, "mdhnp.std([[1.0, 3.0], [2.0, 2.0]], axis=1)\narray([1., 0.])")


def _count(x: Any, axes: tuple[int, ...]) -> int:
    """Count the elements that each result is of."""
    shape = x.shape
    return product([shape[d] for d in axes])


@lru_cache(maxsize=256)
def _number(value: float, given: DType) -> npt.NDArray[Any]:
    """Give a number in the type that sums of elements are divided in."""
    dtype = computed_type(given)
    return np.asarray(value, np.finfo(dtype).dtype if dtype.kind == "c" else dtype)
