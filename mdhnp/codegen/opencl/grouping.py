"""Programs beside the one that sorts indices (`radix.py`): its keys, where those of each one begin, and pieces."""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl.ctypes import memory_type
from mdhnp.codegen.opencl.written import UNSIGNED, head, of_each, work_group
from mdhnp.codegen.program import Program
from mdhnp.mdh.stages import Argument
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


def key_type(extent: int) -> "np.dtype[Any]":
    """Give the shortest type of numbers less than `extent`."""
    return np.dtype(np.uint8 if extent <= 1 << 8 else np.uint16 if extent <= 1 << 16 else np.uint32)


def _keys(extent: int, *, const: str = "const ") -> str:
    return f"{const}{UNSIGNED[key_type(extent).itemsize]} *keys"


def keys(dtype: "np.dtype[Any]", count: int, extent: int, caps: DeviceCaps) -> Program:
    """Give the program that makes of `count` indices of an axis of `extent` elements numbers from 0 on."""
    arrays = {"const TYPE *indices": Argument("input", 0), _keys(extent, const=""): Argument("output", 0)}
    body = _KEYS.format(key="x" if dtype.kind == "u" else "x < 0 ? x + count : x")
    begin = head(work_group(caps)[1], TYPE=memory_type(dtype))
    return of_each(begin, "keys", arrays, {"n": count, "count": extent}, body, count, caps)


def begins(count: int, extent: int, caps: DeviceCaps) -> Program:
    """Give the program that finds, in `count` sorted keys, where each begins, and where the last one ends."""
    arrays = {_keys(extent): Argument("input", 0), "long *begin": Argument("output", 0)}
    sizes, results = {"n": count, "count": extent + 1}, extent + 1
    return of_each(head(work_group(caps)[1]), "begins", arrays, sizes, _BEGINS, results, caps)


def pieces(count: int, extent: int, piece: int, caps: DeviceCaps) -> Program:
    """Give the program that cuts the segments of `count` sorted keys into pieces (:class:`~mdhnp.mdh.scatter.Sorting`).

    The inputs are where segments begin, and the keys; the outputs are each segment's first piece, and where pieces
    begin.
    """
    arrays = {
        "const long *begin": Argument("input", 0), _keys(extent): Argument("input", 1),
        "long *first": Argument("output", 0), "long *pieces": Argument("output", 1),
    }  # fmt: skip
    sizes, results = {"n": count, "count": extent + 1, "piece": piece}, max(extent + 1, count // piece)
    return of_each(head(work_group(caps)[1]), "cut", arrays, sizes, _PIECES, results, caps)
