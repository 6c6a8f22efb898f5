"""Programs beside the one that sorts indices (`radix.py`): its keys, where those of each one begin, and pieces."""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl import grouping
from mdhnp.codegen.program import Program
from mdhnp.codegen.radix import of_each, work_group
from mdhnp.mdh.stages import Argument
from mdhnp.schedule.schedule import DeviceCaps

_ARRAYS = [Argument("input", 0), Argument("output", 0)]


def key_type(extent: int) -> "np.dtype[Any]":
    """Give the shortest type of numbers less than `extent`."""
    return np.dtype(np.uint8 if extent <= 1 << 8 else np.uint16 if extent <= 1 << 16 else np.uint32)


def keys(dtype: "np.dtype[Any]", count: int, extent: int, caps: DeviceCaps) -> Program:
    """Give the program that makes of `count` indices of an axis of `extent` elements numbers from 0 on."""
    _, items = work_group(caps)
    source = grouping.keys(dtype, key_type(extent), items, offsets=caps.offsets)
    return of_each(source, "keys", _ARRAYS, count, (count, extent), caps)


def begins(count: int, extent: int, caps: DeviceCaps) -> Program:
    """Give the program that finds, in `count` sorted keys, where each begins, and where the last one ends."""
    _, items = work_group(caps)
    source = grouping.begins(key_type(extent), items, offsets=caps.offsets)
    return of_each(source, "begins", _ARRAYS, extent + 1, (count, extent + 1), caps)


def pieces(count: int, extent: int, piece: int, caps: DeviceCaps) -> Program:
    """Give the program that cuts the segments of `count` sorted keys into pieces (:class:`~mdhnp.mdh.scatter.Sorting`).

    The inputs are where segments begin, and the keys; the outputs are each segment's first piece, and where pieces
    begin.
    """
    _, items = work_group(caps)
    source = grouping.pieces(key_type(extent), items, offsets=caps.offsets)
    arrays = [Argument("input", 0), Argument("input", 1), Argument("output", 0), Argument("output", 1)]
    results = max(extent + 1, count // piece)
    return of_each(source, "cut", arrays, results, (count, extent + 1, piece), caps)
