"""Rows of Arrays sorted, indices grouped, and elements selected, by kernels on the device that has them.

See `codegen/radix.py`, `codegen/grouping.py` and `codegen/selection.py`.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from mdhnp.arrays.array import Array, make
from mdhnp.runtime.layout import Layout

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.codegen.opencl.selection import Criterion
    from mdhnp.codegen.program import Program
    from mdhnp.runtime.executable import Executable
    from mdhnp.runtime.handle import Device

_Shape = tuple[int, ...]
_Kind = tuple[_Shape, "np.dtype[Any]"]
_INDEX, _COUNT = np.dtype(np.int64), np.dtype(np.uint32)


def sort_rows(rows: Array, *, values: bool = False, places: bool = False, bits: int | None = None) -> tuple[Array, ...]:
    """Give an Array's rows in order, equal elements as they came: the `values`, their `places` of int64, or both.

    The Array has two axes, is in C order and not empty, on a device with memory of its own. Where it is known that
    whole numbers differ in their last `bits` only, that takes less time.
    """
    view, device = rows._view, rows.device
    found = _sorted(device, view.dtype, view.shape, values, places, bits).new((view,))
    return tuple([make(each, device) for each in found])


def group(indices: Array, extent: int, piece: int = 0) -> tuple[Array, ...]:
    """Give what a :class:`~mdhnp.mdh.scatter.Sorting` by indices does, of so many results.

    The Array has one axis, is in C order and not empty, on a device with memory of its own; all its elements are of an
    axis of `extent` elements, those less than 0 from its end.
    """
    device, count = indices.device, indices.size
    ordered, places = _ordered(indices, extent, places=True)
    (begin,) = _begins(device, count, extent).new((ordered._view,))
    cut = _pieces(device, count, extent, piece).new((begin, ordered._view)) if piece else ()
    return tuple([make(each, device) for each in (places._view.reshape(-1), begin, *cut)])


def beginnings(indices: Array, extent: int) -> Array:
    """Give where the indices of each result begin once they are sorted, and the last one's end, as `group` does."""
    (ordered,) = _ordered(indices, extent, places=False)
    (begin,) = _begins(indices.device, indices.size, extent).new((ordered._view,))
    return make(begin, indices.device)


def _ordered(indices: Array, extent: int, *, places: bool) -> tuple[Array, ...]:
    """Give indices as numbers from 0 on, sorted, and their places if these are wanted."""
    (keys,) = _keys(indices.device, indices.dtype, indices.size, extent).new((indices._view,))
    bits = max(extent - 1, 1).bit_length()
    return sort_rows(make(keys, indices.device), values=True, places=places, bits=bits)


def selected_places(x: Array, criterion: "Criterion") -> tuple[Array, ...]:
    """Give the indices along each axis, of int64, of elements that are ``"true"`` or ``"new"``; their number is read.

    The Array is in C order and not empty, on a device with memory of its own.
    """
    return _selected(x, criterion, None)


def selected_values(x: Array, criterion: "Criterion", values: Array) -> Array:
    """Give the elements of `values` where those of `x` are ``"true"`` or ``"new"``; their number is read.

    Both Arrays have the same shape, are in C order and not empty, on a device with memory of its own.
    """
    return _selected(x, criterion, values)[0]


def _selected(x: Array, criterion: "Criterion", values: Array | None) -> tuple[Array, ...]:
    from mdhnp.runtime import resident

    device, view = x.device, x._view
    counts, total = _counting(device, view.dtype, view.shape, criterion).new((view,))
    count = int(make(total, device).numpy()[0])
    types = [_INDEX] * x.ndim if values is None else [values.dtype]
    found = resident.maker(device, [((count,), t) for t in types])()
    if count:
        write = _writing(device, view.dtype, view.shape, criterion, None if values is None else values.dtype)
        write((view, counts) if values is None else (view, counts, values._view), found)
    return tuple([make(each, device) for each in found])


@lru_cache(maxsize=64)
def _sorted(
    device: "Device", dtype: "np.dtype[Any]", shape: _Shape, values: bool, places: bool, bits: int | None
) -> "Executable":
    from mdhnp.codegen.radix import sorting

    program = sorting(dtype, shape[0], shape[1], device.caps, values=values, places=places, bits=bits)
    results = [(shape, t) for t, wanted in ((dtype, values), (_INDEX, places)) if wanted]
    return executable(device, program, [(shape, dtype)], results)


@lru_cache(maxsize=64)
def _keys(device: "Device", dtype: "np.dtype[Any]", count: int, extent: int) -> "Executable":
    from mdhnp.codegen.opencl.grouping import key_type, keys

    program = keys(dtype, count, extent, device.caps)
    return executable(device, program, [((count,), dtype)], [((1, count), key_type(extent))])


@lru_cache(maxsize=64)
def _begins(device: "Device", count: int, extent: int) -> "Executable":
    from mdhnp.codegen.opencl.grouping import begins, key_type

    program = begins(count, extent, device.caps)
    return executable(device, program, [((1, count), key_type(extent))], [((extent + 1,), _INDEX)])


@lru_cache(maxsize=64)
def _pieces(device: "Device", count: int, extent: int, piece: int) -> "Executable":
    from mdhnp.codegen.opencl.grouping import key_type, pieces

    given = [((extent + 1,), _INDEX), ((1, count), key_type(extent))]
    found = [((extent + 1,), _INDEX), ((extent + count // piece + 1,), _INDEX)]
    return executable(device, pieces(count, extent, piece, device.caps), given, found)


@lru_cache(maxsize=64)
def _counting(device: "Device", dtype: "np.dtype[Any]", shape: _Shape, criterion: "Criterion") -> "Executable":
    from mdhnp.codegen.opencl.selection import counting

    program = counting(dtype, prod(shape), device.caps, criterion)
    return executable(device, program, [(shape, dtype)], [((n,), _COUNT) for n in (program.sizes[1], 1)])


@lru_cache(maxsize=64)
def _writing(
    device: "Device", dtype: "np.dtype[Any]", shape: _Shape, criterion: "Criterion", values: "np.dtype[Any] | None"
) -> "Executable":
    from mdhnp.codegen.opencl.selection import writing

    program = writing(dtype, shape, device.caps, criterion, values)
    others = [] if values is None else [(shape, values)]
    written = [_INDEX] * len(shape) if values is None else [values]  # as many of each as are selected
    return executable(device, program, [(shape, dtype), ((1,), _COUNT), *others], [((1,), t) for t in written])


def executable(device: "Device", program: "Program", inputs: Sequence[_Kind], outputs: Sequence[_Kind]) -> "Executable":
    """Make a program ready for arrays in C order."""
    from mdhnp.runtime.executable import Executable

    layouts = [[Layout((prod(shape),), (t.itemsize,), t.itemsize) for shape, t in kinds] for kinds in (inputs, outputs)]
    return Executable(device, program, *layouts, resident=True, results=tuple(outputs))
