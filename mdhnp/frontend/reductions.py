"""Reductions of the array API standard, as NumPy has them: sums, products, extremes and where they are, tests.

Each is one MDH on the operand's own axes, whose dimensions are kept (`cc`) or reduced (`pw`). Takes array-likes; it
must not know devices.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import prod as product
from operator import index as whole
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.calls import Routine, call
from mdhnp.calls.operands import exact_type
from mdhnp.errors import ARGUMENTS, raise_named
from mdhnp.frontend.manipulation import Axis, reshape
from mdhnp.frontend.pointwise import convert, pointwise
from mdhnp.frontend.public import public
from mdhnp.frontend.reducing import RAISES, axes_of, named, operand, reduction, total_type
from mdhnp.mdh import Function, MdHom, index, trace
from mdhnp.mdh.extremes import Which, extreme, first_extreme
from mdhnp.mdh.function import identity_function

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "max", "min", "prod", "sum"]

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
        guard=False,
    )
    def function(x: Any, /, axis: Axis = None, *, dtype: npt.DTypeLike | None = None, keepdims: bool = False) -> Any:
        try:
            x, wanted = operand(x), exact_type(dtype)
            return call((routine, axes_of(axis, x.ndim), bool(keepdims), wanted), (x,), dtypes=(wanted,))
        except ARGUMENTS as error:
            raise_named(name, error)

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
        guard=False,
    )
    def function(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
        try:
            x = operand(x)
            return call((routine, axes_of(axis, x.ndim), bool(keepdims)), (x,))
        except ARGUMENTS as error:
            raise_named(name, error)

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
        guard=False,
    )
    def function(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
        try:
            x = operand(x)
            ndim = x.ndim
            if axis is not None:
                return call((routine, axes_of(whole(axis), ndim), bool(keepdims)), (x,))
            found = call((routine, (0,), False), (reshape(x, (-1,)),))
            return reshape(found, (1,) * ndim) if keepdims and ndim else found
        except ARGUMENTS as error:
            raise_named(name, error)

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
