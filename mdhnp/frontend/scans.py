"""Scans of the array API standard, sums and products of all elements so far, and differences of neighbours.

A scan is one MDH whose dimension along the axis keeps every prefix (`ps`). Takes array-likes; it must not know devices.
"""

from collections.abc import Sequence
from functools import partial
from operator import index as whole
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_index

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.operands import exact_type
from mdhnp.frontend.joining import concat
from mdhnp.frontend.manipulation import reshape
from mdhnp.frontend.pointwise import convert, pointwise
from mdhnp.frontend.reducing import named, operand, total_type
from mdhnp.mdh import Affine, MdHom, trace
from mdhnp.mdh.combine import CC, Combine
from mdhnp.mdh.mdhom import contiguous
from mdhnp.mdh.pattern import array_view

__all__ = ["cumulative_prod", "cumulative_sum", "diff"]

_ALL = slice(None)


def cumulative_sum(
    x: Any,
    /,
    axis: int | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    include_initial: bool = False,
) -> Any:
    """Give the sums of all elements up to each one, as ``numpy.cumulative_sum`` does.

    Parameters
    ----------
    x : array_like
        Sums of float16 are float32 ones, each rounded once.
    axis : int, optional
        Along which axis; may be left out if there is one only.
    dtype : dtype, optional
        As in :func:`mdhnp.sum`.
    include_initial : bool
        Whether the sum of no elements, 0, comes first; the result is longer by one then.

    Raises
    ------
    ValueError
        If there are several axes and none is named.
    numpy.exceptions.AxisError
        If there is no such axis.
    TypeError
        If kernels do not compute with a type and NumPy is not allowed to.

    Notes
    -----
    Source: Rasch & Gorlatch, "Multi-dimensional homomorphisms and their implementation in OpenCL", Section 2.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.cumulative_sum([1, 2, 3], include_initial=True)
    array([0, 1, 3, 6])
    """
    return _scanned(_SUM, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any,
    /,
    axis: int | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    include_initial: bool = False,
) -> Any:
    """Give the products of all elements up to each one, as ``numpy.cumulative_prod`` does.

    The product of no elements is 1; all else as in :func:`cumulative_sum`.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.cumulative_prod([[1, 2], [3, 4]], axis=0)
    array([[1, 2],
           [3, 8]])
    """
    return _scanned(_PROD, x, axis, dtype, include_initial)


def diff(x: Any, /, axis: int = -1, *, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """Give the differences of neighbours, as ``numpy.diff`` does.

    Parameters
    ----------
    x : array_like
        Of booleans neighbours that differ are true.
    axis : int
        Along which axis.
    n : int
        How often: differences, differences of these, and so on.
    prepend, append : array_like, optional
        What stands before and behind `x` along the axis; a number stands there once.

    Raises
    ------
    ValueError
        If there is no axis at all, or `n` is negative.
    numpy.exceptions.AxisError
        If there is no such axis.
    TypeError
        If kernels do not compute with a type and NumPy is not allowed to.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.diff([1, 4, 9, 16], n=2)
    array([2, 2])
    """
    x = operand(x)
    if whole(n) < 0:
        raise ValueError(f"diff: n is {n}, which must not be negative")
    if not n:
        return x
    if not x.ndim:
        raise ValueError("diff: the array has no axis")
    axis = normalize_axis_index(whole(axis), x.ndim)
    if prepend is not None or append is not None:
        ends = [None if end is None else _slab(end, x, axis) for end in (prepend, append)]
        x = concat([part for part in (ends[0], x, ends[1]) if part is not None], axis)
    for _ in range(n):
        x = call((_DIFF, axis), (x,))
    return x


def _slab(end: Any, x: Any, axis: int) -> Any:
    """Give what stands at one end: numbers as an array of one element along the axis."""
    end = operand(end)
    return end if end.ndim else np.broadcast_to(end, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))


def _scanned(routine: Routine, x: Any, axis: int | None, dtype: Any, include_initial: bool) -> Any:
    x, wanted = operand(x), exact_type(dtype)
    if axis is None and x.ndim > 1:
        raise ValueError(f"{routine.name}: an array of {x.ndim} axes; name one by axis")
    x = x if x.ndim else reshape(x, (1,))
    axis = normalize_axis_index(0 if axis is None else whole(axis), x.ndim)
    return call((routine, axis, bool(include_initial), wanted), (x,), dtypes=(wanted,))


def _describe_scan(
    name: str, arrays: Sequence[npt.NDArray[Any]], axis: int, include_initial: bool, wanted: np.dtype[Any] | None
) -> MdHom:
    (x,) = arrays
    scalar = convert(x.dtype, wanted or total_type(x.dtype))
    result = scalar.dtypes[0]
    scanned = Combine("ps", named(name, result).operator)
    mapped = pointwise(scalar, arrays)
    combine = tuple([scanned if d == axis else CC for d in range(x.ndim)])
    extents, inputs = mapped.extents, mapped.inputs
    if include_initial:
        # The element before the first one is the operator's identity.
        extents = (*extents[:axis], extents[axis] + 1, *extents[axis + 1 :])
        access = tuple([Affine.of(d, x.ndim, -1 if d == axis else 0) for d in range(x.ndim)])
        inputs = (array_view("A", x, (access,), "constant", "0" if name == "add" else "1"),)
    outputs = (contiguous("O0", result, extents, tuple(range(x.ndim))),)
    return MdHom.unchecked(extents, combine, scalar, inputs, outputs, None, mapped.names)


def _describe_diff(arrays: Sequence[npt.NDArray[Any]], axis: int) -> Described:
    def take(arrays: Sequence[npt.NDArray[Any]]) -> Sequence[npt.NDArray[Any]]:
        (a,) = arrays
        return a[(*(_ALL,) * axis, slice(1, None))], a[(*(_ALL,) * axis, slice(None, -1))]

    (x,) = arrays
    difference = np.not_equal if x.dtype == np.bool_ else np.subtract
    return Described(pointwise(trace(difference, [x.dtype] * 2), take(arrays)), take)


def _by_numpy(name: str, x: Any, axis: int, include_initial: bool, wanted: np.dtype[Any] | None) -> Any:
    return getattr(np, name)(x, axis=axis, dtype=wanted, include_initial=include_initial)


_SUM, _PROD = (
    Routine(name, partial(_describe_scan, operator), partial(_by_numpy, name))
    for name, operator in (("cumulative_sum", "add"), ("cumulative_prod", "mul"))
)
_DIFF = Routine("diff", _describe_diff, lambda x, axis: np.diff(x, axis=axis))
