"""The program that sorts rows: by comparing, in a work-group, or in passes of three kernels, as they get longer.

All keep equal elements in their order; `opencl/short_rows.py` and `opencl/radix.py` say how they work.
"""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl.radix import DIGIT, RowSort, by_digits
from mdhnp.codegen.opencl.short_rows import comparing, exchanging
from mdhnp.codegen.program import Program
from mdhnp.schedule.schedule import DeviceCaps

#: Rows of so many elements are sorted by comparing all with all (an H200, 2^24 float32: rows of 32 in 0.43 ms beside
#: 1.6 by digits, of 64 in 0.80 beside 0.84, of 128 in 1.6 beside 0.46).
_FEW = 64


def sorting(
    dtype: "np.dtype[Any]", rows: int, count: int, caps: DeviceCaps, *, values: bool, places: bool,
    bits: int | None = None,
) -> Program:  # fmt: skip
    """Give the program that sorts rows of `count` elements each, equal ones in their order.

    The input is one array of rows, in C order. The outputs are the `values`, their `places` in the row, of int64, or
    both. There are at most 2^31 - 1 elements, and at least one. Where it is known that whole numbers differ in their
    last `bits` only, fewer passes sort them.
    """
    sort = RowSort(dtype, rows, count, caps, values, places, -(-(bits or 8 * dtype.itemsize) // DIGIT))
    return comparing(sort) if count <= _FEW else exchanging(sort) or by_digits(sort)
