"""The program that sorts rows by digits, least significant first: it counts them, and moves elements accordingly.

A row is cut in tiles, one a work-group. `count` counts how often each digit occurs in each tile; `sum_counts` sums
these counts over the tiles before, for each digit; `move` finds each element's place in its tile and brings it to its
place in the row, through local memory, so that neighbours are stored together. Elements of a digit stay in their order,
so that after the last digit the row is sorted and equal elements are in the order they came.

Each subgroup counts for itself: items with the same digit find each other by one ballot for each of its bits. Where
items do not run together each one is such a subgroup.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mdhnp.codegen.opencl.counts import summing, sums_text
from mdhnp.codegen.opencl.ctypes import memory_type
from mdhnp.codegen.opencl.handwritten import UNSIGNED, Arrays, kernel, macros, work_group
from mdhnp.codegen.program import Kernel, Program
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps

#: Bits of a digit. 4 need twice the passes, 11 more counters than local memory has.
DIGIT = 8
_DIGITS = 1 << DIGIT

#: Bytes of keys of each item, of which there are 16 at most (the fastest of 8 to 20 on an H200: few stores of part of a
#: sector, and still five work-groups a compute unit).
_BYTES, _MOST = 64, 16
#: So many counts of a digit one work-item sums, more a work-group.
_FEW_TILES = 32

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


@dataclass(frozen=True)
class RowSort:
    """What is sorted: rows of how many elements, for which results."""

    dtype: "np.dtype[Any]"
    rows: int
    count: int
    caps: DeviceCaps
    values: bool
    places: bool
    #: Digits that differ, each of which takes a pass.
    digits: int

    @property
    def most(self) -> int:
        """The largest number of elements of a work-item."""
        return min(_BYTES // self.dtype.itemsize, _MOST)

    def keys_text(self) -> str:
        """Give the text that says how elements are compared, and whether their values and places are results."""
        size, kind = self.dtype.itemsize, "u" if self.dtype.kind == "b" else self.dtype.kind
        suffix = "ul" if size == 8 else "u"
        defined = {
            "KEYS": UNSIGNED[size], "SIGN": f"{1 << (8 * size - 1):#x}{suffix}", "VALUES": int(self.values),
            "PLACES": int(self.places),
        }  # fmt: skip
        if kind == "f":
            defined["INFINITE"] = f"{int(np.array(np.inf, self.dtype).view(f'u{size}')):#x}{suffix}"
        head = f"// Elements of type {memory_type(self.dtype)}\n{macros(**defined)}"
        return head + _ORDERED[kind] + (_COMPARED if kind == "f" else _SAME)


def declared(arrays: dict[str, Argument | None]) -> tuple[dict[str, Argument], str]:
    """Give the arrays that a kernel is given, and its lines for the others, None, which stand for them there."""
    missing = "".join(f"    __global {array} = 0;\n" for array, given in arrays.items() if given is None)
    return {array: given for array, given in arrays.items() if given is not None}, missing


_COUNTS, _TOTALS = Argument("temporary", 0), Argument("temporary", 1)


def by_digits(sort: RowSort) -> Program:
    """Give the program that counts digits and moves elements, in a pass for each digit.

    A tile has as many elements for each item as those of the type may be; where tiles are few, a work-item sums their
    counts, else a work-group.
    """
    lanes, items = work_group(sort.caps)
    rows, count, size = sort.rows, sort.count, sort.dtype.itemsize
    tiles = -(-count // (items * sort.most))
    few = tiles <= _FEW_TILES
    passes = _Passes(sort, (rows * tiles * items, items))
    summed = rows * _DIGITS * (1 if few else items), items
    if few:
        arrays = {"uint *counts": _COUNTS, "uint *totals": _TOTALS}
        sums = kernel("sum_counts", arrays, {"tiles": 1}, _SUM_FEW, summed, sort.caps)
    else:
        sums = summing(_COUNTS, _TOTALS, summed, sort.caps)
    counting = [passes.counting(n) for n in range(sort.digits)]
    moving = [passes.moving(n) for n in range(sort.digits)]
    # Passes between the first one and the last have one text.
    texts = dict.fromkeys(text for text, _ in (sums, *counting, *moving))
    launches = [each for (_, count), (_, move) in zip(counting, moving, strict=True) for each in (count, sums[1], move)]
    totals = rows * _DIGITS * 4
    keys, indices = [rows * count * size] * passes.exchanged, [rows * count * 4] * (passes.exchanged * sort.places)
    sizes = (count, tiles, *range(0, sort.digits * DIGIT, DIGIT))
    source = "".join([sums_text(lanes, items, sort.most), sort.keys_text(), RANKS, *texts])
    return Program(source, tuple(launches), (totals * tiles, totals, *keys, *indices), sizes)


@dataclass(frozen=True)
class _Passes:
    """Kernels of each pass, by so many work-items: the first pass reads the input, the last one writes the outputs."""

    sort: RowSort
    items: tuple[int, int]

    @property
    def exchanged(self) -> int:
        """Buffers that passes exchange, of keys, and of places."""
        return min(self.sort.digits - 1, 2)

    def counting(self, n: int) -> tuple[str, Kernel]:
        arrays = {"const KEYS *keys": self._keys(n), "uint *counts": _COUNTS}
        return self._kernel(n, f"count{'_first' * (not n)}", arrays, _which(not n, False) + _COUNT)

    def moving(self, n: int) -> tuple[str, Kernel]:
        sort, first, last = self.sort, n == 0, n == self.sort.digits - 1
        moved = Argument("output", 0) if last else Argument("temporary", 2 + n % 2)
        ordered = Argument("output", int(sort.values)) if last else self._indices(n)
        results, missing = declared({
            "KEYS *moved": moved if sort.values or not last else None,
            "const uint *places": self._indices(n - 1) if sort.places and not first else None,
            f"{'long' if last else 'uint'} *moved_places": ordered if sort.places else None,
        })  # fmt: skip
        arrays = {
            "const KEYS *keys": self._keys(n), **results, "const uint *counts": _COUNTS, "const uint *totals": _TOTALS,
        }  # fmt: skip
        body = "".join([_which(first, last), missing, _MOVE, _MOVE_PLACES * sort.places])
        return self._kernel(n, f"move{'_first' * first}{'_last' * last}", arrays, body)

    def _kernel(self, n: int, name: str, arrays: Arrays, body: str) -> tuple[str, Kernel]:
        return kernel(name, arrays, {"n": 0, "tiles": 1, "shift": 2 + n}, body, self.items, self.sort.caps)

    def _keys(self, n: int) -> Argument:
        return Argument("temporary", 2 + (n - 1) % 2) if n else Argument("input", 0)

    def _indices(self, n: int) -> Argument:
        return Argument("temporary", 2 + self.exchanged + n % 2)


def _which(first: bool, last: bool) -> str:
    return f"    const int first = {first:d}, last = {last:d};\n"
