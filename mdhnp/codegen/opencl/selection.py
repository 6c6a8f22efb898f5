"""Programs that select elements of an array: how many they are, and then which; see `counts.py`.

Selected are elements that are not 0 (`"true"`), or that differ from the one before (`"new"`; the first one does).
"""

from math import prod
from typing import Any, Literal

import numpy as np

from mdhnp.codegen.opencl.counts import summing, sums_text
from mdhnp.codegen.opencl.ctypes import memory_type
from mdhnp.codegen.opencl.handwritten import UNSIGNED, kernel, one_kernel, work_group
from mdhnp.codegen.program import Program
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps

Criterion = Literal["true", "new"]

#: Elements of a tile for each work-item: 16 flags are one load of local memory.
_EACH = 16

_SELECTED: dict[Criterion, str] = {
    "true": "element(x, at) != 0",
    "new": "at == 0 || element(x, at) != element(x, at - 1)",
}

_FLAG = """
static inline int is_selected(__global const TYPE *x, int at, int n) {{ return at < n && ({selected}); }}
"""
_COUNT = """\
    __local uint sums[SUBGROUPS];
    const int item = get_local_id(0), tile = get_group_id(0);
    uint own = 0, all;
    #pragma unroll
    for (int e = 0; e < EACH; ++e)
        own += is_selected(x, tile * TILE + e * ITEMS + item, n);
    sum_before(own, sums, &all);
    if (item == 0)
        counts[tile] = all;
"""
#: Of a tile, in order: `places_l`, of which there are `all`, and how many come in tiles before.
_LIST = """\
    __local uint sums[SUBGROUPS];
    __local uchar selected_l[TILE] __attribute__((aligned(16)));
    __local ushort places_l[TILE];
    const int item = get_local_id(0), tile = get_group_id(0);
    #pragma unroll
    for (int e = 0; e < EACH; ++e)
        selected_l[e * ITEMS + item] = is_selected(x, tile * TILE + e * ITEMS + item, n);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint own = 0, all;
    #pragma unroll
    for (int e = 0; e < EACH; ++e)
        own += selected_l[item * EACH + e];
    uint next = sum_before(own, sums, &all);
    #pragma unroll
    for (int e = 0; e < EACH; ++e)
        if (selected_l[item * EACH + e])
            places_l[next++] = item * EACH + e;
    barrier(CLK_LOCAL_MEM_FENCE);
    const long begin = counts[tile];
    for (int k = item; k < all; k += ITEMS) {
        uint at = tile * TILE + places_l[k];
"""


def _head(dtype: "np.dtype[Any]", criterion: Criterion, caps: DeviceCaps) -> str:
    kind = memory_type(dtype)
    element = "vload_half(at, x)" if kind == "half" else "x[at]"
    value = "float" if kind == "half" else kind
    return (
        f"#define TYPE {kind}\n{sums_text(*work_group(caps), _EACH)}\n"
        f"static inline {value} element(__global const TYPE *x, int at) {{ return {element}; }}"
        + _FLAG.format(selected=_SELECTED[criterion])
    )


def tiles(count: int, caps: DeviceCaps) -> int:
    """Give the number of tiles of an array of so many elements."""
    return -(-count // (work_group(caps)[1] * _EACH))


def counting(dtype: "np.dtype[Any]", count: int, criterion: Criterion, caps: DeviceCaps) -> Program:
    """Give the program that counts selected elements of an array of `count`.

    The outputs are of uint32: how many are in tiles before each tile, and one number, how many there are in all.
    """
    (_, items), every = work_group(caps), tiles(count, caps)
    counts, total = Argument("output", 0), Argument("output", 1)
    arrays = {"const TYPE *x": Argument("input", 0), "uint *counts": counts}
    sum_text, sums = summing(counts, total, (items, items), caps)
    text, counted = kernel("count", arrays, {"n": 0}, _COUNT, (every * items, items), caps)
    return Program(_head(dtype, criterion, caps) + sum_text + text, (counted, sums), (), (count, every))


def writing(
    dtype: "np.dtype[Any]",
    shape: tuple[int, ...],
    criterion: Criterion,
    values: "np.dtype[Any] | None",
    caps: DeviceCaps,
) -> Program:
    """Give the program that writes what :func:`counting` counted.

    The inputs are the array and the numbers of tiles; the outputs places of int64, one array for each axis of `shape`.
    With a type of `values` the third input has these, of the same shape, and the output is those at the places.
    """
    (_, items), rank = work_group(caps), len(shape)
    arrays = {"const TYPE *x": Argument("input", 0), "const uint *counts": Argument("input", 1)}
    sizes = {"n": prod(shape)}
    if values is None:
        arrays |= {f"long *places{axis}": Argument("output", axis) for axis in range(rank)}
        sizes |= {f"extent{axis}": shape[axis] for axis in range(1, rank)}
        lines = [
            f"places{d}[begin + k] = at % (uint)extent{d};\n        at /= extent{d};" for d in range(rank - 1, 0, -1)
        ]
        lines += ["places0[begin + k] = at;"]
    else:
        kind = UNSIGNED[values.itemsize]
        arrays |= {f"const {kind} *values": Argument("input", 2), f"{kind} *found": Argument("output", 0)}
        lines = ["found[begin + k] = values[at];"]
    body = _LIST + "".join(f"        {line}\n" for line in lines) + "    }\n"
    every = tiles(prod(shape), caps) * items, items
    return one_kernel(_head(dtype, criterion, caps), "write", arrays, sizes, body, every, caps)
