"""Programs on indices, beside the one that sorts them (`radix.py`): how far they reach, keys, segments, and pieces."""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl.ctypes import memory_type
from mdhnp.codegen.opencl.handwritten import UNSIGNED, given, of_each, work_group
from mdhnp.codegen.program import Program
from mdhnp.schedule.schedule import DeviceCaps

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

#: Work-groups a compute unit, and elements that a work-item has at least.
_GROUPS, _EACH = 8, 4
#: An index of -1 reaches as far as 0, so that all are of an axis that is longer than the largest one.
_REACH = """\
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


def key_type(extent: int) -> "np.dtype[Any]":
    """Give the shortest type of numbers less than `extent`."""
    return np.dtype(np.uint8 if extent <= 1 << 8 else np.uint16 if extent <= 1 << 16 else np.uint32)


def _keys(extent: int, *, const: str = "const ") -> str:
    return f"{const}{UNSIGNED[key_type(extent).itemsize]} *keys"


def keys(dtype: "np.dtype[Any]", count: int, extent: int, caps: DeviceCaps) -> Program:
    """Give the program that makes of `count` indices of an axis of `extent` elements numbers from 0 on."""
    arrays, sizes = given(["const TYPE *indices"], [_keys(extent, const="")]), {"n": count, "count": extent}
    body = _KEYS.format(key="x" if dtype.kind == "u" else "x < 0 ? x + count : x")
    return of_each("keys", arrays, sizes, body, count, caps, TYPE=memory_type(dtype))


def begins(count: int, extent: int, caps: DeviceCaps) -> Program:
    """Give the program that finds, in `count` sorted keys, where each begins, and where the last one ends."""
    arrays, sizes = given([_keys(extent)], ["long *begin"]), {"n": count, "count": extent + 1}
    return of_each("begins", arrays, sizes, _BEGINS, extent + 1, caps)


def pieces(count: int, extent: int, piece: int, caps: DeviceCaps) -> Program:
    """Give the program that cuts the segments of `count` sorted keys into pieces (:class:`~mdhnp.mdh.scatter.Sorting`).

    The inputs are where segments begin, and the keys; the outputs are each segment's first piece, and where pieces
    begin.
    """
    arrays = given(["const long *begin", _keys(extent)], ["long *first", "long *pieces"])
    sizes, results = {"n": count, "count": extent + 1, "piece": piece}, max(extent + 1, count // piece)
    return of_each("cut", arrays, sizes, _PIECES, results, caps)


def groups(count: int, caps: DeviceCaps) -> int:
    """Give how many work-groups look at so many elements."""
    return min(-(-count // (work_group(caps)[1] * _EACH)), caps.compute_units * _GROUPS)


def reaching(dtype: "np.dtype[Any]", count: int, caps: DeviceCaps) -> Program:
    """Give the program that says how far indices reach, of `count` whole numbers, at least one and at most 2^31 - 1.

    The output has one number of uint64 of each work-group: the largest of some of them, where those less than 0 are
    counted from the end (-1 as 0).
    """
    arrays, results = given(["const TYPE *indices"], ["ulong *largest"]), groups(count, caps) * work_group(caps)[1]
    body = _REACH.format(reach="x" if dtype.kind == "u" else "x < 0 ? ~x : x")
    return of_each("reach", arrays, {"n": count}, body, results, caps, TYPE=memory_type(dtype))
