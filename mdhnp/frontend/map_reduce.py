"""Maps of arrays that are broadcast, reductions of maps, and what the arguments of both mean.

A map applies a scalar function to elements that stand in the same place. Takes array-likes and MDHs of maps; it must
not know devices.
"""

import string
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from math import prod
from operator import index as whole
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from mdhnp.frontend.array_adapted import package
from mdhnp.frontend.contraction import Arrays, Functions
from mdhnp.frontend.public import UNSUPPORTED
from mdhnp.mdh import Affine, Function, MdHom, View, pw, trace
from mdhnp.mdh.combine import CC, Combine
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.views import broadcast_shapes, contiguous, row_major

DType = np.dtype[Any]

#: What reductions raise.
RAISES = {"ValueError": "If an axis is named twice.", "TypeError": UNSUPPORTED}


def pointwise(
    function: Function, arrays: Arrays, shape: tuple[int, ...] | None = None, order: tuple[int, ...] | None = None
) -> MdHom:
    """Make the MDH of a map of arrays, of which only types and layouts are used; its results are C-contiguous.

    Arrays are broadcast to `shape`, by default the smallest one. `order` has the axes as the results have them.
    """
    shape = broadcast_shapes(*[a.shape for a in arrays]) if shape is None else shape
    rank = len(shape)
    dims = tuple(range(rank)) if order is None else order
    first, each = Affine((0,) * rank), [Affine.of(d, rank) for d in range(rank)]
    inputs = []
    names = string.ascii_uppercase if len(arrays) <= 14 else [f"A{n}" for n in range(len(arrays))]
    for name, a in zip(names, arrays, strict=False):
        own = zip(a.shape, each[rank - a.ndim :], strict=True)
        inputs.append(array_view(name, a, (tuple([i if n != 1 else first for n, i in own]),)))
    outputs = tuple([contiguous(f"O{n}", t, shape, dims) for n, t in enumerate(function.dtypes)])
    return MdHom(shape, (CC,) * rank, function, tuple(inputs), outputs, None, dimension_names(rank), checked=False)


@lru_cache(maxsize=256)
def convert(given: np.dtype[Any], wanted: np.dtype[Any]) -> Function:
    return trace(lambda x: x.astype(wanted), [given])


def operand(x: Any) -> Any:
    """Give something with axes: what has any, or an ndarray."""
    if isinstance(x, Iterator):  # of which NumPy makes one object
        raise TypeError("takes arrays, lists and numbers, no iterator; give a list of what it yields")
    return x if hasattr(x, "ndim") else np.asarray(x)


def raveled(arrays: Arrays) -> Arrays:
    return tuple([a.reshape(-1) for a in arrays])


def total_type(given: DType) -> DType:
    """Give the type in which NumPy adds and multiplies elements of a type."""
    if given.kind in "bi":
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if given.kind == "u" else given


def computed_type(given: DType) -> DType:
    """Give the type in which sums of elements are divided, or multiplied by floats."""
    if given.kind in "biu":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if given.char == "e" else given  # of any byte order


def wide(factor: Any, common: DType) -> Any:
    """Give a factor, in a function being traced, in the type that sums of products are computed in for a result's."""
    return factor.astype(np.float32 if common == np.float16 else common)


def one_number(name: str, value: Any) -> float:
    """Give what an argument of that name says as a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {value!r}") from None


def axes_of(axis: Any, ndim: int, of_number: bool = True) -> tuple[int, ...]:
    """Give the axes that an argument names, counted from 0; `of_number` if a number is taken as if it had one."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and 0 <= axis < ndim:
        return (axis,)  # as it mostly is
    if of_number and not ndim and type(axis) is int and axis in (0, -1):
        return ()
    each = axis if isinstance(axis, tuple) else (axis,)
    if isinstance(axis, bool) or not all([hasattr(n, "__index__") for n in each]):
        raise TypeError(f"axis must be int or tuple of int, not {axis!r}")
    return normalize_axis_tuple(tuple(map(whole, each)), ndim, "axis")


@lru_cache(maxsize=256)
def named(name: str, dtype: DType) -> Combine:
    """Give the reduction by an operator with a name."""
    return pw(name).resolve([dtype])


def reduction(functions: Functions, arrays: Arrays, axes: Collection[int], keepdims: bool = False) -> MdHom:
    """Reduce a map of arrays along some axes, which the result lacks, or has one element along."""
    scalar, operator, finish = functions
    mapped = pointwise(scalar, arrays)
    extents = mapped.extents
    combine = tuple([operator if d in axes else CC for d in range(mapped.rank)])
    stay = [d for d in range(mapped.rank) if keepdims or d not in axes]
    shape = tuple([1 if d in axes else extents[d] for d in stay])
    none, strides = Affine((0,) * mapped.rank), row_major(shape)
    access = tuple([none if d in axes else Affine.of(d, mapped.rank) for d in stay])
    types = (finish or scalar).dtypes
    outputs = tuple([View(f"O{n}", t, shape, strides, 0, (access,)) for n, t in enumerate(types)])
    return MdHom(extents, combine, scalar, mapped.inputs, outputs, finish, mapped.names, checked=False)


# Reductions of those elements that a condition chooses, and of what comes before the first one: a few calls, of which
# the first puts what is neutral in place of other elements, and one kernel once they are fused.


def masked(
    function: Callable[..., Any], ufunc: Any, x: Any, axis: Any, keepdims: bool, where: Any, initial: Any,
    neutral: Any, **options: Any,
) -> Any:  # fmt: skip
    """Reduce the elements that a condition chooses, and what comes before the first one; others are made neutral."""
    x, name, options = operand(x), function.__name__, options | {"axis": axis, "keepdims": keepdims}
    if where is not True:
        if neutral is None:
            raise ValueError("has no identity, so where needs initial, too")
        x = np.where(_condition(where, x), x, x.dtype.type(neutral))
    if initial is None:
        return function(x, **options)
    if np.ndim(initial):
        raise ValueError(f"initial must be one number, not {np.ndim(initial)} axes of them")
    if name in ("max", "min") and not prod([x.shape[d] for d in axes_of(axis, x.ndim)]):
        return package().sum(x, dtype=x.dtype, **options) + x.dtype.type(initial)
    found = function(x, **options)
    return ufunc(found, found.dtype.type(initial))


def _condition(where: Any, x: Any) -> Any:
    """Give which elements are chosen, as many as an array has."""
    where = operand(where)
    if where.dtype != np.bool_:
        raise TypeError(f"where must be of booleans, not {where.dtype}")
    return np.broadcast_to(where, x.shape)


def moment(
    name: str, x: Any, axis: Any, keepdims: bool, where: Any, correction: float | None = None,
    dtype: DType | None = None,
) -> Any:  # fmt: skip
    """Give the mean of the elements that a condition chooses, or their variance or standard deviation.

    In a type that is named elements are added, and what they are divided to is cut off, as NumPy does.
    """
    axes, stays, given = axes_of(axis, x.ndim, where is not True), keepdims or correction is not None, x.dtype
    several = bool(x.ndim) if keepdims else len(axes) < x.ndim
    if name == "std" and dtype is not None and several and dtype.kind not in "fc":  # NumPy does so of one number only
        raise TypeError(f"dtype: standard deviations are not cut off to {dtype}")
    x = x.astype(computed_type(given), copy=False) if dtype is None else x
    real = np.dtype(np.float64) if dtype is not None else x.real.dtype
    options = {"axis": axis, "dtype": dtype}
    number: Any = float(prod([x.shape[d] for d in axes]))
    if where is not True:
        options["where"] = _condition(where, x)
        number = package().count_nonzero(options["where"], axis=axis, keepdims=stays).astype(real)

    def quotient(total: Any) -> Any:
        found = total / number
        return found if dtype is None else found.astype(dtype)

    found = quotient(package().sum(x, keepdims=stays, **options))
    if correction is not None:
        distance = x - found
        squares = distance * distance if distance.dtype.kind != "c" else distance.real**2 + distance.imag**2
        number = np.maximum(number - real.type(correction), real.type(0))
        number = number if keepdims or where is True else np.squeeze(number, axes)
        found = quotient(package().sum(squares, keepdims=keepdims, **options))
    if name == "std":
        found = np.sqrt(found) if dtype is None else np.sqrt(found).astype(dtype)
    return found.astype(np.float16) if dtype is None and given.char == "e" else found
