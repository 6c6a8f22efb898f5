"""Order by kernels, on devices with memory of their own: by digits, merging, halving, counting what comes before.

Long rows are sorted by digits (`calls/sorting.py`), short ones by passes, each of which merges pairs of sorted runs. A
pass is one MDH: at every place it looks for the element that comes there, by halving how many are of the first run.
What is true, or new among ordered elements, is counted and written. Types are those that OpenCL C text takes; others
are the host's.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from mdhnp.arrays.array import Array
from mdhnp.calls import sorting
from mdhnp.frontend.array_adapted import package
from mdhnp.frontend.computation import Computation, md_hom
from mdhnp.mdh import cc
from mdhnp.mdh.ctext import type_name

#: Types whose elements are converted for text, which keeps their order.
_CONVERTED = {"?": np.dtype(np.uint8), "e": np.dtype(np.float32), "q": np.dtype(np.int64), "Q": np.dtype(np.uint64)}
#: Rows are sorted by digits from so many elements on, and so many for each row, as digits of each row are counted: of
#: shorter or more ones merges are faster (an H200, 2026-11: 64 rows of 4096 float32 0.25 ms beside 0.51, 1024 of 16384
#: 2.8 beside 2.3).
_LONG, _SHARE = 1 << 12, 32
#: Bytes of elements that are written where others say.
_MOVED = (1, 2, 4, 8, 16)
#: Places are int32.
_MOST = np.iinfo(np.int32).max

_BEFORE = """
static int before(const TYPE a, const TYPE b) {
    return a < b || (a == a && b != b); // NaN comes last
}
"""
#: Of the runs from `begin` and `begin + run` on, where the element is that comes at place `k` after both are merged.
_PLACE = (
    _BEFORE
    + """
static uint place(const global TYPE *keys, const uint n, const uint k, const uint run) {
    const uint begin = k / (2 * run) * (2 * run), other = min(begin + run, n);
    const uint first = other - begin, second = min(run, n - other), both = k - begin;
    const global TYPE *a = keys + begin, *b = keys + other;
    uint low = both > second ? both - second : 0, high = min(both, first);
    while (low < high) {
        const uint middle = (low + high) / 2;
        if (before(b[both - 1 - middle], a[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    const uint rest = both - low;
    return low < first && (rest >= second || !before(b[rest], a[low])) ? begin + low : other + rest;
}
"""
)
_MERGE = (
    _PLACE
    + """
TYPE merged(const global TYPE *keys, int n, int step, int k, int run) {
    return keys[place(keys, n, k, run)];
}
"""
)
_MERGE_PLACES = (
    _PLACE
    + """
void merged(const global TYPE *keys, int n, int step, const global int *places, int m, int across, int k, int run,
            TYPE *key, int *at) {
    const uint found = place(keys, n, k, run);
    *key = keys[found];
    *at = places[found];
}
"""
)
_SEARCH = (
    _BEFORE
    + """
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
)
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
def _computation(text: str, char: str, views: str) -> Computation:
    results = (np.dtype(char), np.dtype(np.int32)) if text is _MERGE_PLACES else None
    dimensions = {"i": cc, "k": cc} if "k" in views else {"i": cc}
    return md_hom(text.replace("TYPE", type_name(np.dtype(char))), dimensions, views, results=results)


def sorted_along(x: Array, axis: int) -> Array:
    """Give elements in order along an axis; equal ones stay in their order."""
    if _is_by_digits(x, axis):
        return _along(sorting.sort_rows(_whole(x, axis), values=True)[0], x, axis)
    rows, at = _rows(x, axis)
    for run in _runs(rows):
        rows = _computation(_MERGE, rows.dtype.char, "A[i,:], k[k], run[] -> B[i,k]")(rows, at, run)
    return _along(rows, x, axis).astype(x.dtype, copy=False)


def order_along(x: Array, axis: int) -> tuple[Array, Array]:
    """Give elements in order along an axis, and which ones they are, of int64; equal ones stay in their order."""
    if _is_by_digits(x, axis):
        values, places = sorting.sort_rows(_whole(x, axis), values=True, places=True)
        return _along(values, x, axis), _along(places, x, axis)
    rows, at = _rows(x, axis)
    places = package().broadcast_to(at, rows.shape)
    for run in _runs(rows):
        merge = _computation(_MERGE_PLACES, rows.dtype.char, "A[i,:], P[i,:], k[k], run[] -> B[i,k], Q[i,k]")
        rows, places = merge(rows, places, at, run)
    found = _along(rows, x, axis).astype(x.dtype, copy=False)
    return found, _along(places, x, axis).astype(np.int64)


def places_along(x: Array, axis: int) -> Array:
    """Give which elements come in order along an axis, of int64; equal ones stay in their order."""
    if _is_by_digits(x, axis):
        return _along(sorting.sort_rows(_whole(x, axis), places=True)[0], x, axis)
    return order_along(x, axis)[1]


def search(ordered: Array, values: Array, side: str) -> Array:
    """Give how many of ordered elements, of one axis, come before each value, by side "right" or equal it."""
    common: Any = np.result_type(ordered.dtype, values.dtype)
    common = _CONVERTED.get(common.char, common)
    ordered, flat = _in_line(ordered.astype(common, copy=False)), values.reshape(-1).astype(common, copy=False)
    text = _SEARCH.replace("CONDITION", SIDES[side])
    return _computation(text, common.char, "A[:], v[i] -> n[i]")(ordered, flat).reshape(values.shape)


def places_of(x: Array) -> tuple[Array, ...]:
    """Give the indices of elements that are not 0, along each axis; their number is read."""
    return sorting.places_of(_in_order(x), "true") if x.size else tuple(_no_places(x) for _ in x.shape)


def values_where(mask: Array, x: Array) -> Array:
    """Give the elements where a mask of the same shape is true, whose number is read."""
    if not x.size or x.itemsize not in _MOVED:
        return package().take(x.reshape(-1), places_of(mask.reshape(-1))[0], mode="clip")
    return sorting.values_of(_in_order(mask), "true", _in_order(x))


def _no_places(x: Array) -> Array:
    return package().empty(0, dtype=np.int64, device=x.device)


def unique_of(x: Array) -> tuple[Array, Array, Array, Array]:
    """Give values in order, the places of their first elements, which value each element is, and how many are each."""
    m = package()
    found, order = order_along(x.reshape(-1), 0)
    new = _begins(found)
    first = places_of(new)[0]
    number = m.cumulative_sum(new, dtype=np.int64) - 1
    _, back = order_along(order.astype(np.int32), 0)
    ends = m.concat([first[1:], m.full(min(found.size, 1), found.size, dtype=np.int64, device=x.device)])
    named = [m.take(found, first, mode="clip"), m.take(order, first, mode="clip")] if found.size else [found, order]
    inverse = m.take(number, back, mode="clip") if found.size else number
    return named[0], named[1], inverse.reshape(x.shape), ends - first


def values_of(x: Array) -> Array:
    """Give values in order, without repetition."""
    found = sorted_along(x.reshape(-1), 0)
    return sorting.values_of(found, "new", found) if found.size else found


def _begins(found: Array) -> Array:
    """Say of ordered elements which ones differ from those before; each NaN does."""
    m = package()
    return m.concat([m.ones(min(found.size, 1), dtype=np.bool_, device=found.device), found[1:] != found[:-1]])


def _is_by_digits(x: Array, axis: int) -> bool:
    count = x.shape[axis]
    return count >= _LONG and 0 < x.size <= count * count // _SHARE


def _whole(x: Array, axis: int) -> Array:
    """Give an Array's elements along an axis as rows in C order."""
    return _in_order(package().moveaxis(x, axis, -1).reshape(-1, x.shape[axis]))


def _in_order(x: Array) -> Array:
    return x if x._view.flags.c_contiguous else x.copy()


def _rows(x: Array, axis: int) -> tuple[Array, Array]:
    """Give an Array's elements along an axis as rows, of a type that text takes, and the places in these."""
    m = package()
    rows = m.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]) if x.size else x.reshape(0, 1)
    char = rows.dtype.char
    rows = rows.astype(_CONVERTED[char]) if char in _CONVERTED else _in_line(rows)
    return rows, m.arange(rows.shape[1], dtype=np.int32, device=x.device)


def _in_line(rows: Array) -> Array:
    """Give rows whose elements lie one after the other, which is what the text reads."""
    return rows if rows.strides[-1] == rows.itemsize else rows.copy()


def _along(rows: Array, x: Array, axis: int) -> Array:
    m = package()
    shape = m.moveaxis(x, axis, -1).shape
    return m.moveaxis(rows.reshape(shape), -1, axis)


def _runs(rows: Array) -> list[Any]:
    """Give the lengths of runs that are merged, pass by pass."""
    count = rows.shape[1]
    return [np.asarray(1 << n, np.int32) for n in range(max(count - 1, 0).bit_length())] if rows.size else []
