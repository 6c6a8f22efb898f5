"""Programs beside the one that sorts indices (`radix.py`): which say its keys, and where those of each one begin."""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl import grouping
from mdhnp.codegen.program import Kernel, Program
from mdhnp.codegen.radix import offsets, work_group
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps


def key_type(extent: int) -> "np.dtype[Any]":
    """Give the shortest type of numbers less than `extent`, of which each byte takes a pass of sorting."""
    return np.dtype(np.uint8 if extent <= 1 << 8 else np.uint16 if extent <= 1 << 16 else np.uint32)


def keys(dtype: "np.dtype[Any]", count: int, extent: int, caps: DeviceCaps) -> Program:
    """Give the program that makes of `count` indices of an axis of `extent` elements numbers from 0 on."""
    _, items = work_group(caps)
    source = grouping.keys(dtype, key_type(extent), items, offsets=caps.offsets)
    return _of_each(source, "keys", count, (count, extent), caps)


def begins(count: int, extent: int, caps: DeviceCaps) -> Program:
    """Give the program that finds, in `count` sorted keys, where each begins, and where the last one ends."""
    _, items = work_group(caps)
    source = grouping.begins(key_type(extent), items, offsets=caps.offsets)
    return _of_each(source, "begins", extent + 1, (count, extent + 1), caps)


def _of_each(source: str, name: str, results: int, sizes: tuple[int, int], caps: DeviceCaps) -> Program:
    """Give the program of one kernel, of which each work-item gives a result."""
    _, items = work_group(caps)
    arrays = [Argument("input", 0), Argument("output", 0)]
    arguments = (*arrays, Argument("size", 0), Argument("size", 1), *offsets(arrays, caps))
    return Program(source, (Kernel(name, -(-results // items) * items, items, arguments),), (), sizes)
