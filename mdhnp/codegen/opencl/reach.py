"""OpenCL C text that says how far indices reach: the largest of them, counted from either end.

Each work-group writes the largest of some elements, and one work-group the largest of these.
"""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl.counts import SHIFT, kernel
from mdhnp.codegen.opencl.ctypes import memory_type

#: An index of -1 reaches as far as 0, so that all are of an axis that is longer than the largest one.
_REACH = """
static inline ulong reach_of(TYPE x) {{ return {reach}; }}
static inline ulong largest(ulong x, __local ulong *all) {{
    const int item = get_local_id(0);
    all[item] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int n = ITEMS / 2; n > 0; n /= 2) {{
        if (item < n)
            all[item] = max(all[item], all[item + n]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }}
    return all[0];
}}
"""
_BODY = """\
    __local ulong all[ITEMS];
    ulong own = 0;
    for (long at = get_global_id(0); at < n; at += get_global_size(0))
        own = max(own, {element});
    own = largest(own, all);
    if (get_local_id(0) == 0)
        {result}[get_group_id(0)] = own;
"""


def text(dtype: "np.dtype[Any]", items: int, *, offsets: bool) -> str:
    """Give the text of ``reach`` and ``reach_of_all`` for work-groups of `items`, which is a power of 2."""
    kind = memory_type(dtype)
    reach = "x" if dtype.kind == "u" else "x < 0 ? ~x : x"
    head = f"#define TYPE {kind}\n#define ITEMS {items}\n{SHIFT}{_REACH.format(reach=reach)}"
    given, shifted = ["__global const TYPE *indices", "__global ulong *some"], ["indices"] if offsets else []
    first = head + kernel("reach", given, ["n"], shifted, _BODY.format(element="reach_of(indices[at])", result="some"))
    given, shifted = ["__global const ulong *some", "__global ulong *total"], ["total"] if offsets else []
    return first + kernel("reach_of_all", given, ["n"], shifted, _BODY.format(element="some[at]", result="total"))
