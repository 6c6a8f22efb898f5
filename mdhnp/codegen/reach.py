"""The program that says how far indices reach; see `opencl/reach.py`."""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl import reach
from mdhnp.codegen.program import Program
from mdhnp.codegen.radix import one_kernel, work_group
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps

#: Work-groups a compute unit, and elements that a work-item has at least.
_GROUPS, _EACH = 8, 4


def reaching(dtype: "np.dtype[Any]", count: int, caps: DeviceCaps) -> Program:
    """Give the program for an array of `count` whole numbers, at least one and at most 2^31 - 1.

    The output has one number of uint64 of each work-group: the largest of some of them, where those less than 0 are
    counted from the end (-1 as 0).
    """
    _, items = work_group(caps)
    groups = min(-(-count // (items * _EACH)), caps.compute_units * _GROUPS)
    source = reach.text(dtype, items, offsets=caps.offsets)
    arrays = [Argument("input", 0), Argument("output", 0)]
    return one_kernel(source, "reach", arrays, (groups * items, items), (count,), caps)
