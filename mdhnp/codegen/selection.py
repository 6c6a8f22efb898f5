"""Programs that select elements of an array: how many they are, and then which; see `opencl/selection.py`."""

from math import prod
from typing import Any

import numpy as np

from mdhnp.codegen.opencl import selection
from mdhnp.codegen.opencl.selection import Criterion
from mdhnp.codegen.program import Kernel, Program
from mdhnp.codegen.radix import offsets, work_group
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps

#: Elements of a tile for each work-item: 16 flags are one load of local memory.
_EACH = 16


def tiles(count: int, caps: DeviceCaps) -> int:
    """Give the number of tiles of an array of so many elements."""
    return -(-count // (work_group(caps)[1] * _EACH))


def counting(dtype: "np.dtype[Any]", count: int, caps: DeviceCaps, criterion: Criterion) -> Program:
    """Give the program that counts selected elements of an array of `count`.

    The outputs are of uint32: how many are in tiles before each tile, and one number, how many there are in all.
    """
    lanes, items = work_group(caps)
    source = selection.counting(dtype, criterion, lanes, items, _EACH, offsets=caps.offsets)
    x, counts, total = Argument("input", 0), Argument("output", 0), Argument("output", 1)
    number = tiles(count, caps)
    kernels = (
        Kernel("count", number * items, items, (x, counts, Argument("size", 0), *offsets((x, counts), caps))),
        Kernel("sum_counts", items, items, (counts, total, Argument("size", 1), *offsets((counts, total), caps))),
    )
    return Program(source, kernels, (), (count, number))


def writing(
    dtype: "np.dtype[Any]",
    shape: tuple[int, ...],
    caps: DeviceCaps,
    criterion: Criterion,
    values: "np.dtype[Any] | None",
) -> Program:
    """Give the program that writes what :func:`counting` counted.

    The inputs are the array and the numbers of tiles; the outputs places of int64, one array for each axis of `shape`.
    With a type of `values` the third input has these, of the same shape, and the output is those at the places.
    """
    lanes, items = work_group(caps)
    results = len(shape) if values is None else values
    source = selection.writing(dtype, criterion, lanes, items, _EACH, results, offsets=caps.offsets)
    arrays = [Argument("input", 0), Argument("input", 1)]
    if values is None:
        arrays += [Argument("output", axis) for axis in range(len(shape))]
    else:
        arrays += [Argument("input", 2), Argument("output", 0)]
    sizes = (prod(shape), *(shape[1:] if values is None else ()))
    given = (*arrays, *(Argument("size", n) for n in range(len(sizes))), *offsets(arrays, caps))
    return Program(source, (Kernel("write", tiles(prod(shape), caps) * items, items, given),), (), sizes)
