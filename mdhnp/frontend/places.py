"""Where the largest and the smallest elements are: reductions of elements with their places, which are given."""

from collections.abc import Callable
from functools import lru_cache, partial
from operator import index as whole
from typing import Any

import numpy as np

from mdhnp.arrays.array import Array, view_of
from mdhnp.arrays.types import SUPPORTED
from mdhnp.calls import Described, Routine, call
from mdhnp.frontend.contraction import Arrays, Functions
from mdhnp.frontend.manipulation import reshape
from mdhnp.frontend.map_reduce import RAISES, axes_of, operand, reduction
from mdhnp.frontend.public import FIRST_PAPER, repeatable
from mdhnp.frontend.reductions import numpys_arguments
from mdhnp.mdh import MdHom, index, trace
from mdhnp.mdh.combine import Extreme, first_extreme

__all__ = ["argmax", "argmin"]

DType = np.dtype[Any]

_INDEX = np.dtype(np.int64)


@lru_cache(maxsize=256)
def _place(which: Extreme, axis: int, given: DType, place: DType) -> Functions:
    """An element and its place, of which the place is stored; among elements it is of type `place`."""
    scalar = trace(lambda x: (x, index(axis).astype(place)), [given])
    finish = trace(lambda value, place, x: place.astype(_INDEX), [given, place, given])
    return Functions(scalar, first_extreme(which, given, place), finish)


def _describe_place(
    which: Extreme, arrays: Arrays, axes: tuple[int, ...], keepdims: bool, flat: bool = False
) -> MdHom | Described:
    """Give the places along an axis; `flat` among all elements, in C order."""
    if flat:
        return Described(_places(which, _flat(arrays), axes, keepdims), _flat)
    return _places(which, arrays, axes, keepdims)


def _places(which: Extreme, arrays: Arrays, axes: tuple[int, ...], keepdims: bool) -> MdHom:
    (x,), (axis,) = arrays, axes
    if not x.shape[axis]:
        raise ValueError(f"an array of shape {x.shape} has no elements along axis {axis}")
    return reduction(_place(which, axis, x.dtype, place_type(x, axis)), arrays, axes, keepdims)


def place_type(x: Any, axis: int) -> DType:
    """Give the type of places among elements along an axis: if it is as wide as theirs, as many lie in vectors."""
    return np.dtype(np.int32 if x.dtype.itemsize <= 4 and x.shape[axis] <= np.iinfo(np.int32).max else np.int64)


def _place_by_numpy(numpys: Any, x: Any, axes: tuple[int, ...], keepdims: bool, flat: bool = False) -> Any:
    return numpys(x, **numpys_arguments(x, axes, keepdims) | {"axis": None if flat else axes[0]})


def _is_flat(x: Any) -> bool:
    """Whether elements of a type that kernels compute with lie one after the other, or where the host can copy them."""
    if x.dtype not in SUPPORTED:
        return False
    away = type(x) is Array and (x.device.own_memory or x.device.passing)
    return not away or bool(view_of(x).flags.c_contiguous)


def _flat(arrays: Arrays) -> Arrays:
    return tuple([a.reshape(-1) for a in arrays])


def _place_of(which: Extreme, what: str, example: str) -> Callable[..., Any]:
    """Make a function that says where the largest or the smallest elements are."""
    name = f"arg{which}"
    routine = Routine(name, partial(_describe_place, which), partial(_place_by_numpy, getattr(np, name)))

    @repeatable(
        f"Say where the {what} elements are, as ``numpy.{name}`` does: the first of equal ones, or of NaNs.",
        name=name,
        x="array_like: Complex numbers are ordered by their real parts, then by their imaginary ones.",
        axis="int, optional: Along which axis; by default among all elements, in C order.",
        returns="Array, ndarray or scalar: Of int64.",
        raises=RAISES | {"ValueError": "If there is no element, or an axis is named twice."},
        notes=f"Source: {FIRST_PAPER}, Section 2.",
        example=f">>> mdhnp.{name}([[1, 5, 5], [7, 3, 0]], axis=1)\narray({example})",
    )
    def function(x: Any, /, axis: int | None = None, *, keepdims: bool = False, schedule: Any = None) -> Any:
        x = operand(x)
        axes = () if axis is None else axes_of(whole(axis), x.ndim)
        if axes:
            return call((routine, axes, bool(keepdims)), (x,))
        if not keepdims and type(x) in (np.ndarray, Array) and _is_flat(x):
            return call((routine, (0,), False, True), (x,))
        x = np.asarray(x) if isinstance(x, np.matrix) else x  # which has two axes in each shape
        found = call((routine, (0,), False), (reshape(x, (-1,)),))
        return reshape(found, (1,) * x.ndim) if keepdims and x.ndim else found

    return function


argmax, argmin = _place_of("max", "largest", "[1, 0]"), _place_of("min", "smallest", "[0, 2]")
