"""Order by kernels, on devices with memory of their own: sorting, places among ordered elements, sets.

Rows are sorted, and elements selected, by programs (`calls/handwritten.py`). Places among ordered elements are one MDH
that halves where to look; its types are those that OpenCL C text takes. Complex numbers are the host's.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from mdhnp.arrays.array import Array
from mdhnp.calls import handwritten
from mdhnp.frontend.array_adapted import package
from mdhnp.frontend.computation import Computation, md_hom
from mdhnp.mdh import cc
from mdhnp.mdh.ctext import type_name

#: Types whose elements are converted for text, which keeps their order.
_CONVERTED = {"?": np.dtype(np.uint8), "e": np.dtype(np.float32), "q": np.dtype(np.int64), "Q": np.dtype(np.uint64)}
#: Bytes of elements that are written where others say.
_MOVED = (1, 2, 4, 8, 16)
#: Kernels count up to so many elements.
_MOST = np.iinfo(np.int32).max

_SEARCH = """
static int before(const TYPE a, const TYPE b) {
    return a < b || (a == a && b != b); // NaN comes last
}
long count(const global TYPE *ordered, int n, int step, TYPE value) {
    uint low = 0, high = n;
    while (low < high) {
        const uint middle = (low + high) / 2;
        if (CONDITION)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
"""
SIDES = {"left": "before(ordered[middle], value)", "right": "!before(value, ordered[middle])"}


def has_kernels(*arrays: Any) -> bool:
    """Whether kernels order such Arrays: where the host would have to copy them."""
    for x in arrays:  # mostly the first answer is no
        if type(x) is not Array or not x.device.own_memory or x.device.several or x.device.passing:
            return False
        if x.dtype.kind not in "biuf" or x.size >= _MOST:
            return False
    return True


@lru_cache(maxsize=64)
def _counting(text: str, char: str) -> Computation:
    return md_hom(text.replace("TYPE", type_name(np.dtype(char))), {"i": cc}, "A[:], v[i] -> n[i]")


def order_along(x: Array, axis: int, *, values: bool = False, places: bool = False) -> tuple[Array, ...]:
    """Give elements in order along an axis, which ones they are, of int64, or both; equal ones stay in their order."""
    m = package()
    if not x.size:
        return (x.copy(),) * values + (m.zeros(x.shape, dtype=np.int64, device=x.device),) * places
    moved = m.moveaxis(x, axis, -1)
    found = handwritten.sort_rows(in_order(moved.reshape(-1, x.shape[axis])), values=values, places=places)
    return tuple([m.moveaxis(rows.reshape(moved.shape), -1, axis) for rows in found])


def search(ordered: Array, values: Array, side: str) -> Array:
    """Give how many of ordered elements, of one axis, come before each value, by side "right" or equal it."""
    common: Any = np.result_type(ordered.dtype, values.dtype)
    common = _CONVERTED.get(common.char, common)
    ordered, flat = in_order(ordered.astype(common, copy=False)), values.reshape(-1).astype(common, copy=False)
    text = _SEARCH.replace("CONDITION", SIDES[side])
    return _counting(text, common.char)(ordered, flat).reshape(values.shape)


def nonzero(x: Array) -> tuple[Array, ...]:
    """Give the indices of elements that are not 0, along each axis; their number is read."""
    if not x.size:
        return tuple([package().empty(0, dtype=np.int64, device=x.device) for _ in x.shape])
    return handwritten.selected(in_order(x), "true")


def values_where(mask: Array, x: Array) -> Array:
    """Give the elements where a mask of the same shape is true, whose number is read."""
    if not x.size or x.itemsize not in _MOVED:
        return package().take(x.reshape(-1), nonzero(mask.reshape(-1))[0], mode="clip")
    return handwritten.selected(in_order(mask), "true", in_order(x))[0]


def unique_of(x: Array) -> tuple[Array, Array, Array, Array]:
    """Give values in order, the places of their first elements, which value each element is, and how many are each."""
    m = package()
    found, order = order_along(x.reshape(-1), 0, values=True, places=True)
    # Which elements in order differ from those before; each NaN does.
    new = m.concat([m.ones(min(found.size, 1), dtype=np.bool_, device=found.device), found[1:] != found[:-1]])
    first = nonzero(new)[0]
    number = m.cumulative_sum(new, dtype=np.int64) - 1
    (back,) = order_along(order.astype(np.int32), 0, places=True)
    ends = m.concat([first[1:], m.full(min(found.size, 1), found.size, dtype=np.int64, device=x.device)])
    named = [m.take(found, first, mode="clip"), m.take(order, first, mode="clip")] if found.size else [found, order]
    inverse = m.take(number, back, mode="clip") if found.size else number
    return named[0], named[1], inverse.reshape(x.shape), ends - first


def unique_values(x: Array) -> Array:
    """Give values in order, without repetition."""
    (found,) = order_along(x.reshape(-1), 0, values=True)
    return handwritten.selected(found, "new", found)[0] if found.size else found


def in_order(x: Array) -> Array:
    """Give an Array whose elements lie one after the other, in C order, as kernels read them."""
    return x if x._view.flags.c_contiguous else x.copy()
