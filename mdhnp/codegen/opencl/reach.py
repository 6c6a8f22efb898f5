"""The program that says how far indices reach: of each work-group's elements the largest, counted from either end."""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl.ctypes import memory_type
from mdhnp.codegen.opencl.written import head, one_kernel, work_group
from mdhnp.codegen.program import Program
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps

#: Work-groups a compute unit, and elements that a work-item has at least.
_GROUPS, _EACH = 8, 4
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


def groups(count: int, caps: DeviceCaps) -> int:
    """Give how many work-groups look at so many elements."""
    return min(-(-count // (work_group(caps)[1] * _EACH)), caps.compute_units * _GROUPS)


def reaching(dtype: "np.dtype[Any]", count: int, caps: DeviceCaps) -> Program:
    """Give the program for an array of `count` whole numbers, at least one and at most 2^31 - 1.

    The output has one number of uint64 of each work-group: the largest of some of them, where those less than 0 are
    counted from the end (-1 as 0).
    """
    (_, items), every = work_group(caps), groups(count, caps)
    arrays = {"const TYPE *indices": Argument("input", 0), "ulong *largest": Argument("output", 0)}
    body = _TEXT.format(reach="x" if dtype.kind == "u" else "x < 0 ? ~x : x")
    begin = head(items, TYPE=memory_type(dtype))
    return one_kernel(begin, "reach", arrays, {"n": count}, body, (every * items, items), caps)
