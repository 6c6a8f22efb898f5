"""OpenCL C text for what is done before and after indices are sorted: keys of them, and where each one's begin."""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl.counts import SHIFT, UNSIGNED, kernel
from mdhnp.codegen.opencl.ctypes import memory_type

_KEYS = """\
    const int at = get_global_id(0);
    if (at < n) {{
        const TYPE x = indices[at];
        keys[at] = {key};
    }}
"""
#: Keys are less than `count` - 1, so that the last one to begin is where the others end.
_BEGINS = """\
    const int at = get_global_id(0);
    if (at < count) {
        int low = 0, high = n;
        while (low < high) {
            const int middle = low + (high - low) / 2;
            if (keys[middle] < (uint)at)
                low = middle + 1;
            else
                high = middle;
        }
        begin[at] = low;
    }
"""


def keys(dtype: "np.dtype[Any]", key: "np.dtype[Any]", items: int, *, offsets: bool) -> str:
    """Give the text of ``keys``: indices of `count` elements as numbers from 0 on, those less than 0 from the end."""
    own = "x" if dtype.kind == "u" else "x < 0 ? x + count : x"
    parameters = ["__global const TYPE *indices", f"__global {UNSIGNED[key.itemsize]} *keys"]
    body = kernel("keys", parameters, ["n", "count"], ["indices", "keys"] if offsets else [], _KEYS.format(key=own))
    return f"#define TYPE {memory_type(dtype)}\n#define ITEMS {items}\n{SHIFT}{body}"


def begins(key: "np.dtype[Any]", items: int, *, offsets: bool) -> str:
    """Give the text of ``begins``: how many of sorted keys are less than each number from 0 up to before `count`."""
    parameters = [f"__global const {UNSIGNED[key.itemsize]} *keys", "__global long *begin"]
    shifted = ["keys", "begin"] if offsets else []
    return f"#define ITEMS {items}\n{SHIFT}" + kernel("begins", parameters, ["n", "count"], shifted, _BEGINS)
