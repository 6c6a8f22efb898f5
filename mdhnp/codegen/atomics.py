"""The program that combines values with elements where indices say, in any order; see `opencl/atomics.py`."""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl import atomics
from mdhnp.codegen.program import Program
from mdhnp.codegen.radix import of_each, work_group
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps

#: Neighbours that one instruction adds.
_WIDE = 4


def combining(
    operation: str, dtype: "np.dtype[Any]", index: "np.dtype[Any]", shape: tuple[int, int, int], caps: DeviceCaps
) -> Program:
    """Give the program for so many indices, columns of each row, and rows of the array that is changed.

    The inputs are indices and values, one for each of their columns; the output is the array, all in C order. There are
    at most 2^31 - 1 values, and rows.
    """
    number, columns, rows = shape
    _, items = work_group(caps)
    wide = caps.wide_atomics and dtype == np.float32 and operation in ("add", "subtract") and columns % _WIDE == 0
    each = _WIDE if wide else 1
    # Only NVIDIA's GPUs are known to have subgroups.
    source = atomics.text(operation, dtype, index, items, each, nvidia=caps.subgroup > 0, offsets=caps.offsets)
    arrays = [Argument("input", 0), Argument("input", 1), Argument("output", 0)]
    return of_each(source, "combine_all", arrays, number * columns // each, (number * columns, columns, rows), caps)
