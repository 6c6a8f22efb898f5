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
from mdhnp.frontend.manipulation import Axis, reshape
from mdhnp.frontend.pointwise import convert, pointwise
from mdhnp.frontend.reducing import axes_of, named, operand, reduction, total_type
from mdhnp.mdh import Function, MdHom, index, trace
from mdhnp.mdh.extremes import Which, extreme, first_extreme
from mdhnp.mdh.function import identity_function

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "max", "min", "prod", "sum"]

DType = np.dtype[Any]

_BOOL, _INDEX = np.dtype(np.bool_), np.dtype(np.int64)


def sum(x: Any, /, axis: Axis = None, *, dtype: npt.DTypeLike | None = None, keepdims: bool = False) -> Any:
    """Add elements, as ``numpy.sum`` does.

    Parameters
    ----------
    x : array_like
        Of booleans or numbers; float16 is added in float32.
    axis : int or tuple of int, optional
        Along which axes; by default along all.
    dtype : dtype, optional
        Type to compute in; by default that of `x`, or the 64-bit one of its kind for integers and booleans.
    keepdims : bool
        Whether axes that were reduced stay, with one element.

    Returns
    -------
    Array, ndarray or scalar
        Of the shape of `x` without these axes. 0 for no elements.

    Raises
    ------
    numpy.exceptions.AxisError
        If there is no such axis.
    ValueError
        If an axis is named twice.
    TypeError
        If kernels do not compute with a type and NumPy is not allowed to.

    Notes
    -----
    Source: Rasch & Gorlatch, "Multi-dimensional homomorphisms and their implementation in OpenCL", Section 2.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.sum([[1, 2], [3, 4]], axis=0)
    array([4, 6])
    """
    return _total(_SUM, x, axis, dtype, keepdims)


def prod(x: Any, /, axis: Axis = None, *, dtype: npt.DTypeLike | None = None, keepdims: bool = False) -> Any:
    """Multiply elements, as ``numpy.prod`` does; 1 for no elements. All else as in :func:`sum`.

    Examples
    --------
    >>> import mdhnp
    >>> int(mdhnp.prod([2, 3, 4]))
    24
    """
    return _total(_PROD, x, axis, dtype, keepdims)


def max(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Give the largest elements, as ``numpy.max`` does: NaN where there is one.

    Parameters
    ----------
    x, axis, keepdims
        As in :func:`sum`. Complex numbers are ordered by their real parts, then by their imaginary ones.

    Raises
    ------
    ValueError
        If there is no element; as in :func:`sum`.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.max([[1, 5], [7, 3]], axis=1)
    array([5, 7])
    """
    return _reduced(_MAX, x, axis, keepdims)


def min(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Give the smallest elements, as ``numpy.min`` does; parameters and errors as in :func:`max`.

    Examples
    --------
    >>> import mdhnp
    >>> int(mdhnp.min([3, 1, 2]))
    1
    """
    return _reduced(_MIN, x, axis, keepdims)


def any(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Say whether some element is not 0, as ``numpy.any`` does; parameters and errors as in :func:`sum`.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.any([[0.0, 2.0], [0.0, 0.0]], axis=1)
    array([ True, False])
    """
    return _reduced(_ANY, x, axis, keepdims)


def all(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Say whether no element is 0, as ``numpy.all`` does; parameters and errors as in :func:`sum`.

    Examples
    --------
    >>> import mdhnp
    >>> bool(mdhnp.all([1, 2, 0]))
    False
    """
    return _reduced(_ALL, x, axis, keepdims)


def count_nonzero(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Count the elements that are not 0, as ``numpy.count_nonzero`` does, in int64; all else as in :func:`sum`.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.count_nonzero([[0, 2], [3, 4]], axis=0)
    array([1, 2])
    """
    return _reduced(_COUNT, x, axis, keepdims)


def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Say where the largest elements are, as ``numpy.argmax`` does: the first NaN, or the first of equal ones.

    Parameters
    ----------
    x : array_like
        As in :func:`max`.
    axis : int, optional
        Along which axis; by default among all elements, in C order.
    keepdims : bool
        As in :func:`sum`, which has the errors, too.

    Returns
    -------
    Array, ndarray or scalar
        Of int64.

    Raises
    ------
    ValueError
        If there is no element.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.argmax([[1, 5, 5], [7, 3, 0]], axis=1)
    array([1, 0])
    """
    return _placed(_ARGMAX, x, axis, keepdims)


def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Say where the smallest elements are, as ``numpy.argmin`` does; all else as in :func:`argmax`.

    Examples
    --------
    >>> import mdhnp
    >>> int(mdhnp.argmin([3, 1, 2]))
    1
    """
    return _placed(_ARGMIN, x, axis, keepdims)


# From arguments to calls.


def _reduced(routine: Routine, x: Any, axis: Axis, keepdims: bool, *others: Any) -> Any:
    x = operand(x)
    return call((routine, axes_of(axis, x.ndim), bool(keepdims), *others), (x,), dtypes=others)


def _total(routine: Routine, x: Any, axis: Axis, dtype: Any, keepdims: bool) -> Any:
    return _reduced(routine, x, axis, keepdims, exact_type(dtype))


def _placed(routine: Routine, x: Any, axis: int | None, keepdims: bool) -> Any:
    x = operand(x)
    ndim = x.ndim
    if axis is not None:
        return call((routine, axes_of(whole(axis), ndim), bool(keepdims)), (x,))
    found = call((routine, (0,), False), (reshape(x, (-1,)),))
    return reshape(found, (1,) * ndim) if keepdims and ndim else found


# From calls to MDHs.


def _describe_total(
    name: str, arrays: Sequence[npt.NDArray[Any]], axes: tuple[int, ...], keepdims: bool, wanted: DType | None
) -> MdHom:
    (x,) = arrays
    scalar = convert(x.dtype, wanted or total_type(x.dtype))
    return reduction(pointwise(scalar, arrays), axes, named(name, scalar.dtypes[0]), keepdims=keepdims)


def _describe_extreme(which: Which, arrays: Sequence[npt.NDArray[Any]], axes: tuple[int, ...], keepdims: bool) -> MdHom:
    (x,) = arrays
    if not product([x.shape[d] for d in axes]):
        raise ValueError(f"{which}: an array of shape {x.shape} has no elements along axes {axes}, and so no {which}")
    return reduction(pointwise(identity_function([x.dtype]), arrays), axes, extreme(which, x.dtype), None, keepdims)


def _describe_test(name: str, arrays: Sequence[npt.NDArray[Any]], axes: tuple[int, ...], keepdims: bool) -> MdHom:
    (x,) = arrays
    return reduction(pointwise(convert(x.dtype, _BOOL), arrays), axes, named(name, _BOOL), None, keepdims)


def _describe_count(arrays: Sequence[npt.NDArray[Any]], axes: tuple[int, ...], keepdims: bool) -> MdHom:
    (x,) = arrays
    return reduction(pointwise(_is_nonzero(x.dtype), arrays), axes, named("add", _INDEX), None, keepdims)


@lru_cache(maxsize=64)
def _is_nonzero(given: DType) -> Function:
    return trace(lambda x: x.astype(_BOOL).astype(_INDEX), [given])


def _describe_place(which: Which, arrays: Sequence[npt.NDArray[Any]], axes: tuple[int, ...], keepdims: bool) -> MdHom:
    (x,) = arrays
    if not x.shape[axes[0]]:
        raise ValueError(f"arg{which}: an array of shape {x.shape} has no elements along axis {axes[0]}")
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


_SUM = _routine("sum", partial(_describe_total, "add"))
_PROD = _routine("prod", partial(_describe_total, "mul"))
_MAX = _routine("max", partial(_describe_extreme, "max"))
_MIN = _routine("min", partial(_describe_extreme, "min"))
_ANY = _routine("any", partial(_describe_test, "or"))
_ALL = _routine("all", partial(_describe_test, "and"))
_COUNT = _routine("count_nonzero", _describe_count)
_ARGMAX = _routine("argmax", partial(_describe_place, "max"))
_ARGMIN = _routine("argmin", partial(_describe_place, "min"))
