"""Where the largest and the smallest elements are: reductions of elements with their places.

`argkmin` gives the smallest ones along an axis, in order: a reduction whose results are k values and their places,
sorted, and a map that puts these beside each other. Takes array-likes; it must not know devices.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import pairwise
from operator import index as whole
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from mdhnp.arrays.array import Array
from mdhnp.arrays.types import SUPPORTED
from mdhnp.calls import Described, Routine, call
from mdhnp.frontend.contraction import Arrays, Functions
from mdhnp.frontend.manipulation import reshape
from mdhnp.frontend.map_reduce import RAISES, axes_of, operand, pointwise, raveled, reduction
from mdhnp.frontend.pairwise import stand_in
from mdhnp.frontend.public import FIRST_PAPER, UNSUPPORTED, public, repeatable
from mdhnp.frontend.reductions import numpys_arguments
from mdhnp.mdh import Combine, Function, Graph, MdHom, Operator, Step, index, trace
from mdhnp.mdh.combine import Extreme, farthest, first_extreme

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
        return Described(_places(which, raveled(arrays), axes, keepdims), raveled)
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
    return not away or bool(x._view.flags.c_contiguous)


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

#: Elements that are kept at most: of more the operator would take seconds to compile.
_MOST = 32


@public(
    "Give the k smallest elements along an axis, in order, and where they are.",
    x="array_like: Of booleans or real numbers.",
    k="int: How many, 32 at most.",
    axis="int: Along which axis.",
    returns="tuple of (Array or ndarray): Values, of the type of `x`, and places, of int64; both have k elements along "
    "the axis.",
    raises={
        "ValueError": "If k is less than 1, more than 32, or more than there are elements along the axis.",
        "TypeError": f"Of complex numbers; {UNSUPPORTED[0].lower()}{UNSUPPORTED[1:]}",
    },
    notes="""These are the first elements of ``numpy.sort``, and of a stable ``numpy.argsort``: of equal ones the first
count, and NaN comes after all numbers. One pass: ``md_hom((x, index), (++, k least)) ∘ A[i,j]``. In a fused
function (:func:`mdhnp.fuse`), of distances of all pairs, it finds the k nearest neighbours without an array of all
distances.

Source: Charlier, Feydy, Glaunès, Collin & Durif, "Kernel Operations on the GPU, with Autodiff, without Memory
Overflows".""",
    example="""
>>> values, places = mdhnp.argkmin([[3, 1, 2], [5, 5, 4]], 2)
>>> values
array([[1, 2],
       [4, 5]])
>>> places
array([[1, 2],
       [2, 0]])""",
)
def argkmin(x: Any, k: int, /, axis: int = -1) -> tuple[Any, Any]:
    x, k = operand(x), whole(k)
    along = normalize_axis_index(whole(axis), x.ndim)
    if not 1 <= k <= min(x.shape[along], _MOST):
        raise ValueError(f"k is {k}; it must be 1 to {min(x.shape[along], _MOST)}, there are {x.shape[along]} elements")
    found = call((_ROUTINE, along, k), (x,))
    return found[0], found[1]


def _describe(arrays: Arrays, axis: int, k: int) -> Described:
    (x,) = arrays
    if x.dtype.kind == "c":
        raise TypeError("complex numbers have no order")
    least = reduction(_least(k, axis, x.dtype, place_type(x, axis)), (x,), (axis,), True)
    made = [stand_in(v.shape, v.dtype) for v in least.outputs]
    shape = tuple([k if d == axis else n for d, n in enumerate(x.shape)])
    beside = pointwise(_beside(axis, tuple([a.dtype for a in made])), made, shape)
    steps = [Step(least, (0,)), Step(beside, tuple(range(1, 1 + 2 * k)))]
    return Described(Graph.ending(1, steps), give=tuple)


@lru_cache(maxsize=64)
def _least(k: int, axis: int, given: DType, place: DType) -> Functions:
    """An element and its place, before others that come after all elements; and the k first of two such lists."""
    last = np.nan if given.kind == "f" else farthest("min", given), np.iinfo(place).max
    beyond = given.type(last[0]), place.type(last[1])
    types = [given] * k + [place] * k

    def scalar(x: Any) -> tuple[Any, ...]:
        return (x, *[beyond[0]] * (k - 1), index(axis).astype(place), *[beyond[1]] * (k - 1))

    def first(left: Any, right: Any) -> tuple[Any, ...]:
        values, places = list(left[:k]), list(left[k:])
        for n in range(k):
            values[n:], places[n:] = _inserted(values[n:], places[n:], right[n], right[k + n], last[1])
        return (*values, *places)

    identity = tuple([repr(v.item()) for v in (*[beyond[0]] * k, *[beyond[1]] * k)])
    operator = Operator(f"{k} least", trace(first, [*types, *types], types, group=2 * k), identity, False)
    return Functions(trace(scalar, [given], types), Combine("pw", operator))


def _inserted(values: list[Any], places: list[Any], value: Any, place: Any, last: int) -> tuple[list[Any], list[Any]]:
    """Put an element that comes later into a sorted list, whose last one goes."""
    behind = [_is_behind(v, p, value, last) for v, p in zip(values, places, strict=True)]
    moved = [*zip(values, places, behind, strict=True)]
    found = [(np.where(behind[0], value, values[0]), np.where(behind[0], place, places[0]))]
    for (v, p, after), (w, q, here) in pairwise(moved):
        found.append((np.where(after, v, np.where(here, value, w)), np.where(after, p, np.where(here, place, q))))
    return [v for v, _ in found], [p for _, p in found]


def _is_behind(value: Any, place: Any, new: Any, last: int) -> Any:
    """Whether an element of a list comes after a later one: it is greater, or NaN and that is none, or no element."""
    if value.dtype.kind != "f":
        return (new < value) | (place == last)
    return ~(value <= new) & (~np.isnan(new) | (place == last))


@lru_cache(maxsize=64)
def _beside(axis: int, types: tuple[DType, ...]) -> Function:
    """The values, and the places, of which a point's index along the axis says which one it is."""
    k = len(types) // 2

    def chosen(*given: Any) -> tuple[Any, Any]:
        at, value, place = index(axis), given[0], given[k]
        for n in range(1, k):
            value, place = np.where(at == n, given[n], value), np.where(at == n, given[k + n], place)
        return value, place

    return trace(chosen, types, [types[0], _INDEX])


def _by_numpy(x: Any, axis: int, k: int) -> tuple[Any, Any]:
    places = np.argsort(x, axis, kind="stable").take(range(k), axis)
    return np.take_along_axis(x, places, axis), places


_ROUTINE = Routine("argkmin", _describe, _by_numpy)
