"""Elements put in order, found and counted: sorting, searching, sets, as NumPy and the array API standard have them.

The host computes them (`calls/arrays.py`), but kernels those of real numbers on devices with memory of their own.
"""

from collections.abc import Callable, Sequence
from functools import partial
from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from mdhnp.arrays.array import Array, is_array
from mdhnp.arrays.opencl import adopted
from mdhnp.calls.arrays import by_host
from mdhnp.frontend import ordering
from mdhnp.frontend.indexing import take
from mdhnp.frontend.manipulation import flip
from mdhnp.frontend.public import NO_AXIS, ON_HOST, repeatable

__all__ = [
    "argsort", "nonzero", "searchsorted", "sort", "unique", "unique_all", "unique_counts", "unique_inverse",
    "unique_values",
]  # fmt: skip

_ordering = partial(
    repeatable,
    axis="int: Along which axis.",
    kind='str, optional: "stable" or "mergesort" as ``stable=True``, "quicksort" or "heapsort" as ``stable=False``.',
    descending="bool: Whether the largest come first, and then NaN before them; else NaN are last.",
    stable="bool: Whether elements that are equal stay in their order.",
    raises={"numpy.exceptions.AxisError": NO_AXIS, "ValueError": "If `kind` is none of those."},
)
_ORDERED = f"Real numbers on devices with memory of their own are put in order by kernels. Of others: {ON_HOST}"
_SIZE = f"How many there are depends on values. {_ORDERED}"


@_ordering(
    "Put elements in order along an axis, as ``numpy.sort`` does.",
    returns="ndarray or Array: Of the shape and type of `x`.",
    notes=f"Floats are sorted sooner with ``stable=False``, which may exchange 0.0 and -0.0. {_ORDERED}",
    example=">>> mdhnp.sort(np.array([3, 1, 2]), descending=True)\narray([3, 2, 1])",
)
def sort(x: Any, /, axis: int = -1, kind: Any = None, *, descending: bool = False, stable: bool = True) -> Any:
    x, stable = _array(x), _is_stable(kind, stable)
    turned = descending and stable and x.dtype.kind not in "biu"  # so that equal ones, as zeros, stay in their order
    x = flip(x, axis=axis) if turned else x
    if ordering.has_kernels(x) and x.ndim:
        (found,) = ordering.order_along(x, normalize_axis_index(index(axis), x.ndim), values=True)
    else:
        seen = stable and x.dtype.kind not in "biu"  # integers that are equal are the same
        found = by_host(np.sort, x, axis=axis, kind="stable" if seen else None)
    return flip(found, axis=axis) if descending else found


@_ordering(
    "Give the indices that put elements in order along an axis, as ``numpy.argsort`` does.",
    returns="ndarray or Array: Of the shape of `x`, int64.",
    notes=_ORDERED,
    example=">>> mdhnp.argsort(np.array([3, 1, 2]))\narray([1, 2, 0])",
)
def argsort(x: Any, /, axis: int = -1, kind: Any = None, *, descending: bool = False, stable: bool = True) -> Any:
    x, stable = _array(x), _is_stable(kind, stable)
    if not descending:
        return _order(x, axis, stable)
    backwards = _order(flip(x, axis=axis), axis, stable)  # so that equal ones stay in their order
    return x.shape[axis] - 1 - flip(backwards, axis=axis)


def _is_stable(kind: Any, stable: bool) -> bool:
    """Say whether equal elements stay in their order: as a kind of NumPy's does, which it reads the first letter of."""
    if kind is None:
        return stable
    if not isinstance(kind, str):
        raise TypeError(f"kind must be str, not {kind!r}")
    if kind[:1].lower() not in {*"qhms"}:
        raise ValueError(f"kind must be quicksort, heapsort, mergesort or stable, not {kind!r}")
    return kind[0] in "msMS"


def _order(x: Any, axis: int, stable: bool) -> Any:
    if ordering.has_kernels(x) and x.ndim:
        return ordering.order_along(x, normalize_axis_index(index(axis), x.ndim), places=True)[0]
    return by_host(np.argsort, x, axis=axis, kind="stable" if stable else None)


@repeatable(
    "Give where values would be put in between sorted ones, as ``numpy.searchsorted`` does.",
    x1="array_like: The sorted values, of one axis.",
    x2="array_like: Values.",
    side='str: Whether before ("left") or after ("right") those that are equal.',
    sorter="array_like, optional: Indices that put `x1` in order, where it is in none.",
    returns="ndarray or Array: Indices from 0 to the length of `x1`, of the shape of `x2`, int64.",
    raises={"ValueError": "If `x1` has more axes than one, or there is no such side."},
    notes=_ORDERED,
    example=">>> mdhnp.searchsorted(np.array([1, 2, 4]), np.array([2, 3]))\narray([1, 2])",
)
def searchsorted(x1: Any, x2: Any, /, side: Any = "left", sorter: Any = None) -> Any:
    kernels = ordering.has_kernels(x1, x2) and (
        sorter is None or (ordering.has_kernels(sorter) and sorter.shape == x1.shape)
    )
    if kernels and x1.ndim == 1 and side in ordering.SIDES:
        return ordering.search(x1 if sorter is None else take(x1, sorter), x2, side)
    if sorter is None:
        return by_host(np.searchsorted, x1, x2, side=side)
    return by_host(np.searchsorted, x1, x2, side, sorter)


@repeatable(
    "Give the indices of elements that are not 0, as ``numpy.nonzero`` does.",
    returns="tuple of ndarray or of Array: For each axis, the indices along it, int64.",
    raises={"ValueError": "If `x` has no axes."},
    notes=_SIZE,
    example=">>> mdhnp.nonzero(np.array([3, 0, 2]))\n(array([0, 2]),)",
)
def nonzero(x: Any, /) -> Any:
    return ordering.nonzero(x) if ordering.has_kernels(x) and x.ndim else by_host(np.nonzero, x)


@repeatable(
    "Give the elements without repetition, as ``numpy.unique`` does.",
    options="Those of ``numpy.unique``, by name.",
    returns="ndarray or Array, or a tuple of them: The values in order, and what options ask for.",
    raises={"TypeError": "If there is no such option."},
    notes=f"How many there are depends on values. {ON_HOST}",
    example=">>> mdhnp.unique(np.array([3, 1, 3]), return_counts=True)\n(array([1, 3]), array([1, 2]))",
)
def unique(x: Any, /, **options: Any) -> Any:
    return by_host(np.unique, x, **options)


_distinct = partial(
    repeatable, notes=f"Each NaN is a value of its own. {_SIZE}", raises={"TypeError": "If elements have no order."}
)


def _of_unique(name: str, parts: Sequence[int], what: str, returns: str, example: str) -> Callable[..., Any]:
    """Make a function that gives some of what is known of elements without repetition, as NumPy's named tuple."""
    numpys: Any = getattr(np, name)
    result = type(numpys(0))

    @_distinct(
        f"Give the elements without repetition, and {what}, as ``numpy.{name}`` does.",
        name=name,
        returns=f"namedtuple of ndarray or of Array: {returns}",
        example=f">>> mdhnp.{name}(np.array([3, 1, 3])){example}",
    )
    def function(x: Any, /) -> Any:
        if not ordering.has_kernels(x):
            return by_host(numpys, x)
        found = ordering.unique_of(x)
        return result(*[found[n] for n in parts])

    return function


unique_all = _of_unique(
    "unique_all", range(4), "where they are",
    "``values``; ``indices``, of their first ones; ``inverse_indices``, which value each element is, of the shape of "
    "`x`; ``counts``.", ".inverse_indices\narray([1, 0, 1])",
)  # fmt: skip
unique_counts = _of_unique(
    "unique_counts", (0, 3), "how often each is there", "``values`` and ``counts``.", ".counts\narray([1, 2])"
)
unique_inverse = _of_unique(
    "unique_inverse", (0, 2), "which one each is", "``values``, and ``inverse_indices`` of the shape of `x`.",
    ".values\narray([1, 3])",
)  # fmt: skip


@_distinct(
    "Give the elements without repetition, in order; ``numpy.unique_values`` may give another one.",
    returns="ndarray or Array: The values, in order.",
    example=">>> mdhnp.unique_values(np.array([3, 1, 3]))\narray([1, 3])",
)
def unique_values(x: Any, /) -> Any:
    if ordering.has_kernels(x):
        return ordering.unique_values(x)
    return by_host(np.unique, x, equal_nan=False)  # `numpy.unique_values` gives them in no order since 2.3


def _array(x: Any) -> Any:
    return x if type(x) is Array else adopted(x) if is_array(x) else np.asanyarray(x)
