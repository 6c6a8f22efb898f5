"""The program that sorts rows: by comparing, in a work-group, or in passes of three kernels, as they get longer.

Rows which a work-group can hold are read and written once. Elements of a very short one each count who comes before
them. A longer one is sorted by digits, as tiles are in `radix.py`: work-items rank the elements that they hold, and
exchange them through local memory. All keep equal elements in their order.
"""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl.counts import sums_text
from mdhnp.codegen.opencl.handwritten import ITEMS_ALONE, of_each, one_kernel, work_group
from mdhnp.codegen.opencl.radix import DIGIT, RANKS, RowSort, by_digits, declared
from mdhnp.codegen.program import Program
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps

#: Items of a work-group for one row hold multiples of so many elements, so that rows of many lengths have one text.
_STEP = 4

#: Rows of so many elements are sorted by comparing all with all (an H200, 2^24 float32: rows of 32 in 0.43 ms beside
#: 1.6 by digits, of 64 in 0.80 beside 0.84, of 128 in 1.6 beside 0.46).
_FEW = 64

_COMPARE = """\
    const long at = get_global_id(0), row = at / n;
    if (row >= rows)
        return;
    const uint place = at - row * n;
    keys += row * n;
    const KEYS key = keys[place], own = compared(ordered(key));
    uint rank = 0;
    for (uint other = 0; other < n; ++other) {
        const KEYS its = compared(ordered(keys[other]));
        rank += its < own || (its == own && other < place);
    }
    if (VALUES)
        moved[row * n + rank] = key;
    if (PLACES)
        moved_places[row * n + rank] = place;
"""

_EXCHANGE = """\
    __local ushort counted[SUBGROUPS][DIGITS];
    __local uint sums[SUBGROUPS];
    __local ulong tile_l[TILE * (PLACES && sizeof(KEYS) == 1 ? 2 : sizeof(KEYS)) / 8];
    __local KEYS *keys_l = (__local KEYS *)tile_l;
    __local ushort *places_l = (__local ushort *)tile_l;
    const int item = get_local_id(0), lane = item % LANES, subgroup = item / LANES;
    const int mine = subgroup * LANES * EACH + lane;
    const int own_digits = (DIGITS + ITEMS - 1) / ITEMS, digits = item * own_digits;
    const long begin = (long)get_group_id(0) * n;
    KEYS x[EACH];
    ushort places[EACH], rank[EACH];
    #pragma unroll
    for (int e = 0; e < EACH; ++e) { // what is beyond the row comes last
        const int at = mine + e * LANES;
        x[e] = at < n ? ordered(keys[begin + at]) : (KEYS)~(KEYS)0;
        places[e] = at;
    }
    for (int shift = 0; shift < 8 * (int)sizeof(KEYS); shift += 8) {
        for (int c = item; c < SUBGROUPS * DIGITS; c += ITEMS)
            counted[c / DIGITS][c % DIGITS] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        rank_in_subgroup(x, rank, counted[subgroup], shift);
        barrier(CLK_LOCAL_MEM_FENCE);
        uint own = 0, all;
        for (int digit = digits; digit < min(digits + own_digits, DIGITS); ++digit)
            for (int s = 0; s < SUBGROUPS; ++s) {
                const uint c = counted[s][digit];
                counted[s][digit] = own;
                own += c;
            }
        const uint from = sum_before(own, sums, &all);
        for (int digit = digits; digit < min(digits + own_digits, DIGITS); ++digit)
            for (int s = 0; s < SUBGROUPS; ++s)
                counted[s][digit] += from;
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (int e = 0; e < EACH; ++e) {
            rank[e] += counted[subgroup][digit_of(x[e], shift)];
            keys_l[rank[e]] = x[e];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (int e = 0; e < EACH; ++e)
            x[e] = keys_l[mine + e * LANES];
        if (PLACES) {
            barrier(CLK_LOCAL_MEM_FENCE);
            #pragma unroll
            for (int e = 0; e < EACH; ++e)
                places_l[rank[e]] = places[e];
            barrier(CLK_LOCAL_MEM_FENCE);
            #pragma unroll
            for (int e = 0; e < EACH; ++e)
                places[e] = places_l[mine + e * LANES];
        }
    }
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = mine + e * LANES;
        if (VALUES && at < n)
            moved[begin + at] = original(x[e]);
        if (PLACES && at < n)
            moved_places[begin + at] = places[e];
    }
"""


def sorting(
    dtype: "np.dtype[Any]", rows: int, count: int, caps: DeviceCaps, *, values: bool, places: bool,
    bits: int | None = None,
) -> Program:  # fmt: skip
    """Give the program that sorts rows of `count` elements each, equal ones in their order.

    The input is one array of rows, in C order. The outputs are the `values`, their `places` in the row, of int64, or
    both. There are at most 2^31 - 1 elements, and at least one. Where it is known that whole numbers differ in their
    last `bits` only, fewer passes sort them.
    """
    sort = RowSort(dtype, rows, count, caps, values, places, -(-(bits or 8 * dtype.itemsize) // DIGIT))
    return comparing(sort) if count <= _FEW else exchanging(sort) or by_digits(sort)


def comparing(sort: RowSort) -> Program:
    """Give the program that compares all elements of each row with all, an element a work-item."""
    (arrays, missing), sizes = _arrays(sort), {"n": sort.count, "rows": sort.rows}
    body, results = missing + _COMPARE, sort.rows * sort.count
    return of_each("compare", arrays, sizes, body, results, sort.caps, text=sort.keys_text())


def exchanging(sort: RowSort) -> Program | None:
    """Give the program that sorts each row by digits in a work-group, None if that has no room for one."""
    lanes, _ = work_group(sort.caps)
    items = max(lanes, ITEMS_ALONE)
    while items * sort.most < sort.count:
        items *= 2
    each = -(-sort.count // (items * _STEP)) * _STEP
    counted, sums = 2 << DIGIT, 4
    room = items * each * max(sort.dtype.itemsize, 2 * sort.places) + items // lanes * (counted + sums)
    if items > sort.caps.max_work_group or room > sort.caps.local_memory:
        return None
    arrays, missing = _arrays(sort)
    begin, every = sums_text(lanes, items, each) + sort.keys_text() + RANKS, (sort.rows * items, items)
    return one_kernel(begin, "exchange", arrays, {"n": sort.count}, missing + _EXCHANGE, every, sort.caps)


def _arrays(sort: RowSort) -> tuple[dict[str, Argument], str]:
    return declared({
        "const KEYS *keys": Argument("input", 0),
        "KEYS *moved": Argument("output", 0) if sort.values else None,
        "long *moved_places": Argument("output", int(sort.values)) if sort.places else None,
    })  # fmt: skip
