"""OpenCL C text that selects elements: counts those of each tile, and writes where they are, or others at their places.

Selected are elements that are not 0 (`"true"`), or that differ from the one before (`"new"`; the first one does).
"""

from typing import Any, Literal

import numpy as np

from mdhnp.codegen.opencl.counts import UNSIGNED, kernel, summing, sums_text
from mdhnp.codegen.opencl.ctypes import memory_type

Criterion = Literal["true", "new"]

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


def _header(dtype: "np.dtype[Any]", criterion: Criterion, lanes: int, items: int, each: int) -> str:
    kind = memory_type(dtype)
    element = "vload_half(at, x)" if kind == "half" else "x[at]"
    value = "float" if kind == "half" else kind
    return (
        f"#define TYPE {kind}\n{sums_text(lanes, items, each)}\n"
        f"static inline {value} element(__global const TYPE *x, int at) {{ return {element}; }}"
        + _FLAG.format(selected=_SELECTED[criterion])
    )


def counting(dtype: "np.dtype[Any]", criterion: Criterion, lanes: int, items: int, each: int, *, offsets: bool) -> str:
    """Give the text of ``count`` and ``sum_counts``: how many are selected in tiles before each one, and in all."""
    parameters = ["__global const TYPE *x", "__global uint *counts"]
    text = _header(dtype, criterion, lanes, items, each) + summing(["counts", "totals"] if offsets else [])
    return text + kernel("count", parameters, ["n"], ["x", "counts"] if offsets else [], _COUNT)


def writing(
    dtype: "np.dtype[Any]", criterion: Criterion, lanes: int, items: int, each: int, results: "int | np.dtype[Any]",
    *, offsets: bool,
) -> str:  # fmt: skip
    """Give the text of ``write``: the places of what is selected, or elements of another array that are there.

    `results` says which: for places the number of axes, each with an array; else the elements' type. The other array
    has as many elements as the selecting one, both in C order.
    """
    parameters, sizes = ["__global const TYPE *x", "__global const uint *counts"], ["n"]
    if isinstance(results, int):
        outputs = [f"places{axis}" for axis in range(results)]
        parameters += [f"__global long *{name}" for name in outputs]
        sizes += [f"extent{axis}" for axis in range(1, results)]
        lines = [
            f"places{d}[begin + k] = at % (uint)extent{d};\n        at /= extent{d};" for d in range(results - 1, 0, -1)
        ]
        lines += ["places0[begin + k] = at;"]
        shifted = ["x", "counts", *outputs]
    else:
        kind = UNSIGNED[results.itemsize]
        parameters += [f"__global const {kind} *values", f"__global {kind} *found"]
        lines, shifted = ["found[begin + k] = values[at];"], ["x", "counts", "values", "found"]
    body = _LIST + "".join(f"        {line}\n" for line in lines) + "    }\n"
    return _header(dtype, criterion, lanes, items, each) + kernel(
        "write", parameters, sizes, shifted if offsets else [], body
    )
