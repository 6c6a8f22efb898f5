"""OpenCL C text that sorts rows by digits, least significant first: it counts them, and moves elements accordingly.

A row is cut in tiles, one a work-group. `count` counts how often each digit occurs in each tile; `sum_counts` sums
these counts over the tiles before, for each digit; `move` finds each element's place in its tile and brings it to its
place in the row, through local memory, so that neighbours are stored together. Elements of a digit stay in their order,
so that after the last digit the row is sorted and equal elements are in the order they came.

Each subgroup counts for itself: items with the same digit find each other by one ballot for each of its bits. Where
items do not run together each one is such a subgroup.
"""

from typing import Any, NamedTuple

import numpy as np

from mdhnp.codegen.opencl.counts import UNSIGNED, declared, kernel, summing, sums_text
from mdhnp.codegen.opencl.ctypes import memory_type

#: Bits of a digit. 4 need twice the passes, 11 more counters than local memory has.
DIGIT = 8

#: Of the kernels of a pass: elements of a row, its tiles, and at which bit the digit begins.
_SIZES = ["n", "tiles", "shift"]

#: Bits in the order of what they mean: `KEYS` is their unsigned type.
_ORDERED = {
    "u": "static inline KEYS ordered(KEYS x) { return x; }\nstatic inline KEYS original(KEYS x) { return x; }\n",
    "i": "static inline KEYS ordered(KEYS x) { return x ^ SIGN; }\n"
    "static inline KEYS original(KEYS x) { return x ^ SIGN; }\n",
    "f": "static inline KEYS ordered(KEYS x) { return x & SIGN ? ~x : x | SIGN; }\n"
    "static inline KEYS original(KEYS x) { return x & SIGN ? x ^ SIGN : ~x; }\n",
}
#: Digits by which elements are compared: those of 0.0 for -0.0, and the largest of any NaN. Their bits stay.
_COMPARED = """
static inline KEYS compared(KEYS x) {
    if (x == (KEYS)(SIGN - 1)) return SIGN;
    return x < (KEYS)~(INFINITE | SIGN) || x > (KEYS)(INFINITE | SIGN) ? (KEYS)~(KEYS)0 : x;
}
"""
_SAME = "static inline KEYS compared(KEYS x) { return x; }\n"

RANKS = """
#define DIGITS 256
static inline uint digit_of(KEYS x, int shift) { return (uint)(compared(x) >> shift) & (DIGITS - 1); }

// Of an item's elements, how many with the same digit come before in the subgroup; `counted` becomes how many it has.
static inline void rank_in_subgroup(const KEYS *x, ushort *rank, __local ushort *counted, int shift) {
    const uint lane = get_local_id(0) % LANES;
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const uint digit = digit_of(x[e], shift), with = same(digit);
        const uint known = counted[digit], less = popcount(with & ((1u << lane) - 1));
        TOGETHER;
        if (less == 0)
            counted[digit] = known + popcount(with);
        TOGETHER;
        rank[e] = known + less;
    }
}
"""

#: Where tiles are few, one work-item sums the counts of one digit of one row.
_SUM_FEW = """\
    uint sum = 0;
    counts += (long)get_global_id(0) * tiles;
    for (int tile = 0; tile < tiles; ++tile) {
        const uint counted = counts[tile];
        counts[tile] = sum;
        sum += counted;
    }
    totals[get_global_id(0)] = sum;
"""

_COUNT = """\
    __local uint counted[DIGITS];
    const int item = get_local_id(0), row = get_group_id(0) / tiles, tile = get_group_id(0) % tiles;
    for (int digit = item; digit < DIGITS; digit += ITEMS)
        counted[digit] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int valid = min(TILE, n - tile * TILE);
    keys += (long)row * n + tile * TILE;
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = e * ITEMS + item;
        if (at < valid)
            atomic_inc(&counted[digit_of(first ? ordered(keys[at]) : keys[at], shift)]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int digit = item; digit < DIGITS; digit += ITEMS)
        counts[((long)row * DIGITS + digit) * tiles + tile] = counted[digit];
"""

_MOVE = """\
    __local ushort counted[SUBGROUPS][DIGITS];
    __local uint begins[DIGITS]; // of each digit: where its first element comes in the row, less where in the tile
    __local uint sums[SUBGROUPS];
    __local ulong tile_l[TILE * (PLACES && sizeof(KEYS) < 4 ? 4 : sizeof(KEYS)) / 8];
    __local KEYS *keys_l = (__local KEYS *)tile_l;
    const int item = get_local_id(0), lane = item % LANES, subgroup = item / LANES;
    const int row = get_group_id(0) / tiles, tile = get_group_id(0) % tiles, mine = subgroup * LANES * EACH + lane;
    const int valid = min(TILE, n - tile * TILE);
    const long begin = (long)row * n, here = begin + tile * TILE;
    for (int c = item; c < SUBGROUPS * DIGITS; c += ITEMS)
        counted[c / DIGITS][c % DIGITS] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    KEYS x[EACH];
    ushort rank[EACH];
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = mine + e * LANES; // what is beyond the row comes last
        x[e] = at >= valid ? (KEYS)~(KEYS)0 : first ? ordered(keys[here + at]) : keys[here + at];
    }
    rank_in_subgroup(x, rank, counted[subgroup], shift);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint in_tile = 0, in_row = 0;
    for (int chunk = 0; chunk < DIGITS; chunk += ITEMS) {
        const int digit = chunk + item;
        uint own = 0, total = 0, all;
        if (digit < DIGITS) {
            for (int s = 0; s < SUBGROUPS; ++s) {
                const uint c = counted[s][digit];
                counted[s][digit] = own;
                own += c;
            }
            total = totals[row * DIGITS + digit];
        }
        const uint from = in_tile + sum_before(own, sums, &all);
        in_tile += all;
        const uint to = in_row + sum_before(total, sums, &all);
        in_row += all;
        if (digit < DIGITS) {
            begins[digit] = to + counts[((long)row * DIGITS + digit) * tiles + tile] - from;
            for (int s = 0; s < SUBGROUPS; ++s)
                counted[s][digit] += from;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        rank[e] += counted[subgroup][digit_of(x[e], shift)];
        keys_l[rank[e]] = x[e];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint to[EACH];
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = e * ITEMS + item;
        const KEYS key = keys_l[at];
        to[e] = begins[digit_of(key, shift)] + at;
        if (at < valid && (VALUES || !last))
            moved[begin + to[e]] = last ? original(key) : key;
    }
"""

#: Places of elements are moved behind, through the same local memory.
_MOVE_PLACES = """
    __local uint *places_l = (__local uint *)tile_l;
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int e = 0; e < EACH; ++e) {
        const int at = mine + e * LANES;
        places_l[rank[e]] = at >= valid ? 0 : first ? tile * TILE + at : places[here + at];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int e = 0; e < EACH; ++e)
        if (e * ITEMS + item < valid)
            moved_places[begin + to[e]] = places_l[e * ITEMS + item];
"""


class Buffers(NamedTuple):
    """Which buffers a pass has beside its keys, the counts and the totals, in the order of its kernel's parameters."""

    moved: bool
    places: bool
    moved_places: bool


def buffers(first: bool, last: bool, values: bool, places: bool) -> Buffers:
    """Give what the kernel of a pass that moves elements works on."""
    return Buffers(values or not last, places and not first, places)


def names(first: bool, last: bool) -> tuple[str, str]:
    """Give the names of the kernels that count and move in a pass."""
    begins, ends = "_first" * first, "_last" * last
    return f"count{begins}", f"move{begins}{ends}"


def text(
    dtype: "np.dtype[Any]",
    lanes: int,
    items: int,
    each: int,
    *,
    digits: int,
    few_tiles: bool,
    values: bool,
    places: bool,
    offsets: bool,
) -> str:
    """Give the text that sorts elements of a type by work-groups of `items`, `lanes` of which run together.

    It is by so many `digits`. A tile has `each` elements for each item; where tiles are few, a work-item sums their
    counts, else a work-group. Results are `values`, `places` or both. With `offsets`, arrays begin anywhere in their
    buffers.
    """
    parts = [sums_text(lanes, items, each), keys_text(dtype, values, places), RANKS]
    passes = [(n == 0, n == digits - 1) for n in sorted({0, min(1, digits - 1), digits - 1})]
    few = kernel("sum_counts", ["__global uint *counts", "__global uint *totals"], ["tiles"], [], _SUM_FEW)
    kernels = [few if few_tiles else summing()]
    kernels += [_counting(first, offsets) for first in dict.fromkeys(first for first, _ in passes)]
    kernels += [_moving(first, last, buffers(first, last, values, places), offsets) for first, last in passes]
    return "".join([*parts, *kernels])


def keys_text(dtype: "np.dtype[Any]", values: bool, places: bool) -> str:
    """Give the text that says how elements are compared, and whether their `values` and `places` are results."""
    size, kind = dtype.itemsize, "u" if dtype.kind == "b" else dtype.kind
    suffix = "ul" if size == 8 else "u"
    defined = {
        "KEYS": UNSIGNED[size], "SIGN": f"{1 << (8 * size - 1):#x}{suffix}", "VALUES": int(values),
        "PLACES": int(places),
    }  # fmt: skip
    if kind == "f":
        defined["INFINITE"] = f"{int(np.array(np.inf, dtype).view(f'u{size}')):#x}{suffix}"
    head = f"// Elements of type {memory_type(dtype)}\n" + "".join(f"#define {n} {v}\n" for n, v in defined.items())
    return head + _ORDERED[kind] + (_COMPARED if kind == "f" else _SAME)


def _counting(first: bool, offsets: bool) -> str:
    parameters = ["__global const KEYS *keys", "__global uint *counts"]
    return kernel(
        names(first, False)[0], parameters, _SIZES, ["keys"] * (first and offsets), _which(first, False) + _COUNT
    )


def _moving(first: bool, last: bool, given: Buffers, offsets: bool) -> str:
    kinds = {"moved": "KEYS", "places": "const uint", "moved_places": "long" if last else "uint"}
    parameters, missing = declared(kinds, [name for name in kinds if getattr(given, name)])
    shifted = ["keys"] * first + ["moved"] * (last and given.moved) + ["moved_places"] * (last and given.moved_places)
    parameters = [
        "__global const KEYS *keys",
        *parameters,
        "__global const uint *counts",
        "__global const uint *totals",
    ]
    body = "".join([_which(first, last), missing, _MOVE, _MOVE_PLACES * given.moved_places])
    return kernel(names(first, last)[1], parameters, _SIZES, shifted if offsets else [], body)


def _which(first: bool, last: bool) -> str:
    return f"    const int first = {first:d}, last = {last:d};\n"
