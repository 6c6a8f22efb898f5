"""OpenCL C text that sorts rows which a work-group can hold, so that memory is read and written once.

Elements of a very short row each count who comes before them. A longer one is sorted by digits, as tiles are in
`radix.py`: work-items rank the elements that they hold, and exchange them through local memory.
"""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl.counts import SHIFT, declared, kernel, sums_text
from mdhnp.codegen.opencl.radix import DIGIT, RANKS, keys_text

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


def comparing(dtype: "np.dtype[Any]", items: int, *, values: bool, places: bool, offsets: bool) -> str:
    """Give the text that sorts rows by comparing, `compare`, an element a work-item; arguments as of `radix.text`."""
    head = f"#define ITEMS {items}\n{SHIFT}" + keys_text(dtype, values, places)
    return head + _kernel("compare", ["n", "rows"], values, places, offsets, _COMPARE)


def exchanging(
    dtype: "np.dtype[Any]", lanes: int, items: int, each: int, *, values: bool, places: bool, offsets: bool
) -> str:
    """Give the text that sorts rows by digits, `exchange`, a row a work-group; arguments as of `radix.text`."""
    head = sums_text(lanes, items, each) + keys_text(dtype, values, places) + RANKS
    return head + _kernel("exchange", ["n"], values, places, offsets, _EXCHANGE)


def local_memory(dtype: "np.dtype[Any]", lanes: int, items: int, each: int, *, places: bool) -> int:
    """Give the bytes of local memory that a work-group takes for a row of `each` elements an item."""
    counted, sums = 2 << DIGIT, 4
    return items * each * max(dtype.itemsize, 2 * places) + items // lanes * (counted + sums)


def _kernel(name: str, sizes: list[str], values: bool, places: bool, offsets: bool, body: str) -> str:
    kinds = {"keys": "const KEYS", "moved": "KEYS", "moved_places": "long"}
    given = ["keys"] + ["moved"] * values + ["moved_places"] * places
    parameters, missing = declared(kinds, given)
    return kernel(name, parameters, sizes, given if offsets else [], missing + body)
