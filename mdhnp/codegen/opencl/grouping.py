"""OpenCL C text for what is done before and after indices are sorted: keys of them, where each one's begin, pieces."""

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
#: Pieces begin where segments do and at each `piece`-th key, in this order; of those that begin together the latter is
#: first. So which one begins at a place is known from how many of both are before.
_PIECES = """\
    const long at = get_global_id(0);
    if (at < count) {
        const long here = begin[at];
        first[at] = at + here / piece;
        pieces[at + here / piece] = here;
    }
    if (at < n / piece) {
        const long end = (at + 1) * piece;
        pieces[at + 1 + keys[end - 1]] = end;
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


def pieces(key: "np.dtype[Any]", items: int, *, offsets: bool) -> str:
    """Give the text of ``cut``: each segment's first piece, and where pieces of at most `piece` keys begin."""
    parameters = [
        "__global const long *begin", f"__global const {UNSIGNED[key.itemsize]} *keys", "__global long *first",
        "__global long *pieces",
    ]  # fmt: skip
    shifted = ["begin", "keys", "first", "pieces"] if offsets else []
    return f"#define ITEMS {items}\n{SHIFT}" + kernel("cut", parameters, ["n", "count", "piece"], shifted, _PIECES)
