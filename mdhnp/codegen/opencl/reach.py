"""OpenCL C text that says how far indices reach: of each work-group's elements the largest, counted from either end."""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl.counts import SHIFT, kernel
from mdhnp.codegen.opencl.ctypes import memory_type

#: An index of -1 reaches as far as 0, so that all are of an axis that is longer than the largest one.
_TEXT = """\
    __local ulong all[ITEMS];
    const int item = get_local_id(0);
    ulong own = 0;
    for (long at = get_global_id(0); at < n; at += get_global_size(0)) {{
        const TYPE x = indices[at];
        own = max(own, (ulong)({reach}));
    }}
    all[item] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int n = ITEMS / 2; n > 0; n /= 2) {{
        if (item < n)
            all[item] = max(all[item], all[item + n]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }}
    if (item == 0)
        largest[get_group_id(0)] = all[0];
"""


def text(dtype: "np.dtype[Any]", items: int, *, offsets: bool) -> str:
    """Give the text of ``reach`` for work-groups of `items`, which is a power of 2."""
    body = _TEXT.format(reach="x" if dtype.kind == "u" else "x < 0 ? ~x : x")
    parameters, arrays = ["__global const TYPE *indices", "__global ulong *largest"], ["indices", "largest"]
    head = f"#define TYPE {memory_type(dtype)}\n#define ITEMS {items}\n{SHIFT}"
    return head + kernel("reach", parameters, ["n"], arrays if offsets else [], body)
