"""Programs that are written by hand, on Arrays of a device with memory of its own.

Rows are sorted, indices grouped, elements selected, or changed where indices say; and it is said how far indices reach.
See `short_rows.py`, `grouping.py`, `selection.py` and `atomics.py` in `codegen/opencl`.
"""

import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make
from mdhnp.calls import loading
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
    outputs = [(view.shape, t) for t, wanted in ((view.dtype, values), (_INDEX, places)) if wanted]
    options = {"values": values, "places": places, "bits": bits}
    found = computed(device, loading.short_rows.sorting, (view,), outputs, view.dtype, *view.shape, **options)
    return tuple([make(each, device) for each in found])


def group(indices: Array, extent: int, piece: int = 0) -> tuple[Array, ...]:
    """Give what a :class:`~mdhnp.mdh.scatter.Sorting` by indices does, of so many results.

    The Array has one axis, is in C order and not empty, on a device with memory of its own; all its elements are of an
    axis of `extent` elements, those less than 0 from its end.
    """
    device, count = indices.device, indices.size
    ordered, places = _ordered(indices, extent, places=True)
    begin = _begins(ordered, extent)
    cut: tuple[Any, ...] = ()
    if piece:
        outputs = [((extent + 1,), _INDEX), ((extent + count // piece + 1,), _INDEX)]
        cut = computed(device, loading.grouping.pieces, (begin, ordered._view), outputs, count, extent, piece)
    return tuple([make(each, device) for each in (places._view.reshape(-1), begin, *cut)])


def beginnings(indices: Array, extent: int) -> Array:
    """Give where the indices of each result begin once they are sorted, and the last one's end, as `group` does."""
    (ordered,) = _ordered(indices, extent, places=False)
    return make(_begins(ordered, extent), indices.device)


def _ordered(indices: Array, extent: int, *, places: bool) -> tuple[Array, ...]:
    """Give indices as numbers from 0 on, sorted, and their places if these are wanted."""
    (device, view), count = (indices.device, indices._view), indices.size
    outputs = [((1, count), loading.grouping.key_type(extent))]
    (found,) = computed(device, loading.grouping.keys, (view,), outputs, view.dtype, count, extent)
    bits = max(extent - 1, 1).bit_length()
    return sort_rows(make(found, device), values=True, places=places, bits=bits)


def _begins(ordered: Array, extent: int) -> Any:
    """Give the view of where each index begins among sorted ones."""
    program, outputs = loading.grouping.begins, [((extent + 1,), _INDEX)]
    return computed(ordered.device, program, (ordered._view,), outputs, ordered.size, extent)[0]


def selected(x: Array, criterion: "Criterion", values: Array | None = None) -> tuple[Array, ...]:
    """Give the indices along each axis, of int64, of elements that are ``"true"`` or ``"new"``; their number is read.

    With `values`, an Array of the same shape, give one with those of its elements. Both are in C order and not empty,
    on a device with memory of its own.
    """
    device, view = x.device, x._view
    outputs = [((loading.selection.tiles(view.size, device.caps),), _COUNT), ((1,), _COUNT)]
    counts, total = computed(device, loading.selection.counting, (view,), outputs, view.dtype, view.size, criterion)
    count = int(make(total, device).numpy()[0])
    types = [_INDEX] * x.ndim if values is None else [values.dtype]
    found = device.memory.maker(device, [((count,), t) for t in types])()
    if count:
        inputs = (view, counts) if values is None else (view, counts, values._view)
        each = tuple([((1,), t) for t in types])  # as many as are selected, which no text says
        what = view.dtype, view.shape, criterion, None if values is None else values.dtype
        written(device, loading.selection.writing, kinds(inputs), each, *what)(inputs, found)
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
    layouts = [[Layout((prod(shape),), (t.itemsize,), t.itemsize) for shape, t in kinds] for kinds in (inputs, outputs)]
    described = program(*arguments, **options, caps=device.caps)
    return loading.executable.Executable(device, described, *layouts, resident=True, results=outputs)


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


# How far indices reach: asked on the device once, for as long as they are not changed.

#: Views and memories whose reach is remembered.
_MOST = 128
#: Elements that kernels count.
COUNTED = 2**31 - 1
_REACHED = np.dtype(np.uint64)


class _Known(NamedTuple):
    """The reach of a view, or of a part of a memory, at which change of that."""

    of: "weakref.ref[Any]"
    version: int
    reach: int


#: By a view's id, or by the address of the first element, which stands for one on the device, and the layout.
_known: dict[int | tuple[int, tuple[int, ...], tuple[int, ...], str], _Known] = {}


def reach(device: "Device", view: npt.NDArray[Any]) -> int | None:
    """Give the least n for which an axis of n elements has all indices of a view, also those less than 0.

    None where no kernel says: for elements that do not lie one after the other. The device is waited for, unless the
    indices were asked for before, and their memory was not changed since.
    """
    resident = device.memory
    version = resident.version(view)
    known = _known.get(id(view))
    if known is not None and known.of() is view and known.version == version:
        return known.reach
    key = (view.__array_interface__["data"][0], view.shape, view.strides, view.dtype.char)
    memory, known = resident.lease_of(view), _known.get(key)
    if known is not None and known.of() is memory and known.version == version:
        reached = known.reach
    else:
        layout = Layout.of(view)
        if not view.size or not layout.contiguous or view.size > COUNTED:
            return None if view.size else 0
        outputs = [((loading.grouping.groups(view.size, device.caps),), _REACHED)]
        (largest,) = computed(device, loading.grouping.reaching, (view,), outputs, view.dtype, view.size)
        found = np.empty(largest.size, largest.dtype)  # a number of each work-group: few, and no second launch
        resident.download_into(device, largest, found, device.queue)
        reached = int(found.max()) + 1
        _keep(key, _Known(weakref.ref(memory), version, reached))
    _keep(id(view), _Known(weakref.ref(view), version, reached))
    return reached


def _keep(key: Any, known: _Known) -> None:
    """Remember what was known last, as the last in line."""
    _known.pop(key, None)
    _known[key] = known
    if len(_known) > _MOST:
        with suppress(StopIteration, RuntimeError):  # other threads put some in, too
            _known.pop(next(iter(_known)), None)


# Elements changed where indices say, in any order.

_ADDING = ("add", "subtract")
_OPERATIONS, _TYPES = (*_ADDING, "maximum", "minimum"), ("i4", "u4", "f4")


def has_atomics(operation: str, dtype: "np.dtype[Any]", device: "Device") -> bool:
    """Whether a device changes elements of a type by an operation, by its name in NumPy, in one step."""
    if dtype == np.float64:  # by an instruction of NVIDIA's, the only ones known to have subgroups
        return operation in _ADDING and device.caps.subgroup > 0
    return operation in _OPERATIONS and dtype in _TYPES


def combine_at(operation: str, a: Array, indices: Array, values: Array) -> bool:
    """Change rows of an Array where indices of the first axis say, each as often as it is named, in any order.

    The Arrays are in C order, not empty and on one device with memory of its own; values are of the type of `a`, one
    for each element of the rows that are named. False, and nothing is changed, where an index may be outside, or there
    are too many for kernels.
    """
    device, shape = a.device, (indices.size, prod(a.shape[1:]), a.shape[0])
    reached = reach(device, indices._view)
    if reached is None or reached > a.shape[0] or max(values.size, a.shape[0]) > COUNTED or transfer.is_fixed(a):
        return False
    inputs, outputs, what = (indices._view, values._view), (a._view,), (operation, a.dtype, indices.dtype, shape)
    written(device, loading.atomics.combining, kinds(inputs), kinds(outputs), *what)(inputs, outputs)
    transfer.changed(a)
    return True
