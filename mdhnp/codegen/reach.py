"""The program that says how far indices reach; see `opencl/reach.py`."""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl import reach
from mdhnp.codegen.program import Kernel, Program
from mdhnp.codegen.radix import offsets, work_group
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps

#: Work-groups a compute unit, and elements that a work-item has at least.
_GROUPS, _EACH = 8, 4


def reaching(dtype: "np.dtype[Any]", count: int, caps: DeviceCaps) -> Program:
    """Give the program for an array of `count` whole numbers, at least one and at most 2^31 - 1.

    The output is one number of uint64: the largest of them, where those less than 0 are counted from the end (-1 as 0).
    """
    _, items = work_group(caps)
    groups = min(-(-count // (items * _EACH)), caps.compute_units * _GROUPS)
    source = reach.text(dtype, items, offsets=caps.offsets)
    indices, some, total = Argument("input", 0), Argument("temporary", 0), Argument("output", 0)
    kernels = (
        Kernel("reach", groups * items, items, (indices, some, Argument("size", 0), *offsets([indices], caps))),
        Kernel("reach_of_all", items, items, (some, total, Argument("size", 1), *offsets([total], caps))),
    )
    return Program(source, kernels, (8 * groups,), (count, groups))
