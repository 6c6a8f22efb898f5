"""Rows of Arrays sorted, indices grouped, and elements selected, by kernels on the device that has them.

See `codegen/radix.py`, and `grouping.py` and `selection.py` in `codegen/opencl`.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

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
    from mdhnp.codegen.radix import sorting

    view, device = rows._view, rows.device
    outputs = [(view.shape, t) for t, wanted in ((view.dtype, values), (_INDEX, places)) if wanted]
    options = {"values": values, "places": places, "bits": bits}
    found = computed(device, sorting, (view,), outputs, view.dtype, *view.shape, **options)
    return tuple([make(each, device) for each in found])


def group(indices: Array, extent: int, piece: int = 0) -> tuple[Array, ...]:
    """Give what a :class:`~mdhnp.mdh.scatter.Sorting` by indices does, of so many results.

    The Array has one axis, is in C order and not empty, on a device with memory of its own; all its elements are of an
    axis of `extent` elements, those less than 0 from its end.
    """
    from mdhnp.codegen.opencl.grouping import pieces

    device, count = indices.device, indices.size
    ordered, places = _ordered(indices, extent, places=True)
    begin = _begins(ordered, extent)
    cut: tuple[Any, ...] = ()
    if piece:
        outputs = [((extent + 1,), _INDEX), ((extent + count // piece + 1,), _INDEX)]
        cut = computed(device, pieces, (begin, ordered._view), outputs, count, extent, piece)
    return tuple([make(each, device) for each in (places._view.reshape(-1), begin, *cut)])


def beginnings(indices: Array, extent: int) -> Array:
    """Give where the indices of each result begin once they are sorted, and the last one's end, as `group` does."""
    (ordered,) = _ordered(indices, extent, places=False)
    return make(_begins(ordered, extent), indices.device)


def _ordered(indices: Array, extent: int, *, places: bool) -> tuple[Array, ...]:
    """Give indices as numbers from 0 on, sorted, and their places if these are wanted."""
    from mdhnp.codegen.opencl.grouping import key_type, keys

    (device, view), count = (indices.device, indices._view), indices.size
    (found,) = computed(device, keys, (view,), [((1, count), key_type(extent))], view.dtype, count, extent)
    bits = max(extent - 1, 1).bit_length()
    return sort_rows(make(found, device), values=True, places=places, bits=bits)


def _begins(ordered: Array, extent: int) -> Any:
    """Give the view of where each index begins among sorted ones."""
    from mdhnp.codegen.opencl.grouping import begins

    (found,) = computed(ordered.device, begins, (ordered._view,), [((extent + 1,), _INDEX)], ordered.size, extent)
    return found


def selected(x: Array, criterion: "Criterion", values: Array | None = None) -> tuple[Array, ...]:
    """Give the indices along each axis, of int64, of elements that are ``"true"`` or ``"new"``; their number is read.

    With `values`, an Array of the same shape, give one with those of its elements. Both are in C order and not empty,
    on a device with memory of its own.
    """
    from mdhnp.codegen.opencl.selection import counting, tiles, writing
    from mdhnp.runtime import resident

    device, view = x.device, x._view
    outputs = [((tiles(view.size, device.caps),), _COUNT), ((1,), _COUNT)]
    counts, total = computed(device, counting, (view,), outputs, view.dtype, view.size, criterion)
    count = int(make(total, device).numpy()[0])
    types = [_INDEX] * x.ndim if values is None else [values.dtype]
    found = resident.maker(device, [((count,), t) for t in types])()
    if count:
        inputs = (view, counts) if values is None else (view, counts, values._view)
        each = tuple([((1,), t) for t in types])  # as many as are selected, which no text says
        what = view.dtype, view.shape, criterion, None if values is None else values.dtype
        written(device, writing, kinds(inputs), each, *what)(inputs, found)
    return tuple([make(each, device) for each in found])


@lru_cache(maxsize=512)
def written(
    device: "Device",
    program: "Callable[..., Program]",
    inputs: tuple[_Kind, ...],
    outputs: tuple[_Kind, ...],
    *arguments: Any,
    **options: Any,
) -> "Executable":
    """Make a program that is written by hand ready for arrays in C order; `program` describes it for a device."""
    from mdhnp.runtime.executable import Executable

    layouts = [[Layout((prod(shape),), (t.itemsize,), t.itemsize) for shape, t in kinds] for kinds in (inputs, outputs)]
    described = program(*arguments, **options, caps=device.caps)
    return Executable(device, described, *layouts, resident=True, results=outputs)


def kinds(views: Sequence[npt.NDArray[Any]]) -> tuple[_Kind, ...]:
    """Give the shapes and types of what a program is given."""
    return tuple([(view.shape, view.dtype) for view in views])


def computed(
    device: "Device",
    program: "Callable[..., Program]",
    inputs: Sequence[npt.NDArray[Any]],
    outputs: Sequence[_Kind],
    *arguments: Any,
    **options: Any,
) -> tuple[Any, ...]:
    """Give what a program makes of views of Arrays in C order: the views of new ones of these kinds."""
    return written(device, program, kinds(inputs), tuple(outputs), *arguments, **options).new(inputs)
