"""Elements that arrays of indices name: `take`, `take_along_axis`, and what an Array gives for a key of arrays.

Where an index is an element of an array, an MDH's view says so (:class:`mdhnp.mdh.views.Indirect`). Booleans stand for
the indices of those that are true, whose number is known only when they are read.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from operator import getitem, index
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_index

from mdhnp.arrays.array import Array, is_array
from mdhnp.arrays.nested import each
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.host import by_host, of_views
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.operands import addressable, deliver, dense, output
from mdhnp.cost import NumpyWork
from mdhnp.frontend.array_adapted import on_host, package
from mdhnp.frontend.manipulation import reshape
from mdhnp.frontend.ordering import has_kernels, nonzero, values_where
from mdhnp.frontend.public import NO_AXIS, UNSUPPORTED, public, repeatable
from mdhnp.mdh import Affine, MdHom, trace
from mdhnp.mdh.combine import CC
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.views import Access, Indirect, contiguous

if TYPE_CHECKING:  # which loads OpenCL
    from mdhnp.runtime.handle import Device

__all__ = ["take", "take_along_axis"]

NDArray = npt.NDArray[Any]
Mode = Literal["raise", "wrap", "clip"]
#: What an index outside means, by NumPy's modes, as boundary modes of views.
_BOUNDARIES = {"raise": None, "wrap": "wrap", "clip": "nearest"}
_OUTSIDE = "If an index is less than -n, or n or more, of n elements."


class _Selection(NamedTuple):
    """Which axes of an array have indices from arrays, and before which of the others the axes of these come."""

    axes: tuple[int, ...]
    place: int
    mode: Mode


@repeatable()
@public(
    "Give elements along an axis by their indices, as ``numpy.take`` does.",
    indices="array_like: Whole numbers, of any shape; those less than 0 count from the end.",
    axis="int, optional: Along which axis; by default all elements, in C order.",
    mode='str: What indices outside mean: "raise" an error, "wrap" around, or "clip" to the nearest one; the last two '
    "do not count from the end.",
    returns="ndarray or Array: The type of `x`; its axis is replaced by those of `indices`.",
    raises={
        "IndexError": _OUTSIDE,
        "TypeError": f"If indices are no whole numbers. {UNSUPPORTED}",
        "ValueError": "If there is no such mode.",
    },
    notes="Devices with memory of their own are waited for, so that indices can be looked at: once, until they are "
    "changed.",
    example=">>> mdhnp.take(np.array([5.0, 6.0, 7.0]), [2, 0, -1])\narray([7., 5., 7.])",
)
def take(x: Any, /, indices: Any, axis: int | None = None, out: Any = None, mode: Mode = "raise") -> Any:
    if mode not in _BOUNDARIES:
        raise ValueError(f"mode: {mode!r} is none of {', '.join(map(repr, _BOUNDARIES))}")
    x, indices, out = _array(dense(0, x)), _indices(indices), output("take", out)
    if axis is None and type(x) is Array and not x.device.own_memory:
        return deliver("take", call((_TAKE_OF_ALL, mode), (x, indices)), out)
    if axis is None or not x.ndim:
        x = np.asarray(x) if isinstance(x, np.matrix) else x  # which has two axes in each shape
        x, axis = reshape(x, (-1,)), 0 if axis is None else axis
    axis = normalize_axis_index(index(axis), x.ndim)
    found = call((_TAKE, _Selection((axis,), axis, mode)), (x, indices))
    return deliver("take", found, out)


@repeatable()
@public(
    "Give, for each index along an axis, the element that it names there, as ``numpy.take_along_axis`` does.",
    indices="array_like: Whole numbers, of as many axes as `x`; other axes than `axis` are broadcast.",
    axis="int: Along which axis.",
    returns="ndarray or Array: Of the type of `x` and the shape of `indices`.",
    raises={
        "IndexError": f"{_OUTSIDE} If indices are no whole numbers.",
        "ValueError": "If there are not as many axes, or they cannot be broadcast.",
        "numpy.exceptions.AxisError": NO_AXIS,
    },
    example=">>> x = np.array([[3, 1, 2]])\n>>> mdhnp.take_along_axis(x, np.argsort(x, axis=1), axis=1)\n"
    "array([[1, 2, 3]])",
)
def take_along_axis(x: Any, indices: Any, /, axis: int = -1) -> Any:
    x, indices = _array(x), _array(indices)
    if indices.dtype.kind not in "iu":
        raise IndexError(f"indices must be integers, not {indices.dtype}")
    if x.ndim != indices.ndim:
        raise ValueError(f"indices have {indices.ndim} axes, x has {x.ndim}")
    return deliver("take_along_axis", call((_ALONG, normalize_axis_index(index(axis), x.ndim)), (x, indices)))


def selected(x: Array, key: tuple[Any, ...]) -> Any:
    """Give the elements that a key with arrays of indices or of booleans among its parts names, as NumPy does.

    None for a key with parts that are neither these nor parts of views. Booleans are read, for which their device is
    waited for.
    """
    if len(key) == 1 and _is_truth(key[0]):
        return _by_parts(x[None], [np.zeros(int(bool(key[0])), np.intp)])  # a new axis, of one element or none
    if len(key) == 1 and isinstance(key[0], Array) and key[0].dtype == bool and has_kernels(key[0]):
        return _where_true(x, key[0])
    parts, at, here = list[Any](), 0, not x.device.own_memory
    masks, left = False, x.ndim - sum(map(_axes, key))  # axes that an ellipsis stands for
    for part in key:
        given = np.asarray(part) if isinstance(part, list) else part
        if isinstance(given, Array | np.ndarray) and given.dtype == bool and given.ndim:
            _check_mask(x, given, at)
            masks = True
            parts += [given] if here else np.nonzero(given.numpy() if isinstance(given, Array) else given)
        elif isinstance(given, Array | np.ndarray) and given.dtype.kind in "iu":
            parts.append(given)
        elif isinstance(given, np.ndarray) and not given.size and isinstance(part, list):
            parts.append(given.astype(np.intp))
        elif isinstance(given, int | np.integer | slice | None | type(Ellipsis)) and not isinstance(given, bool):
            parts.append(given)
        else:
            return None
        at += left if part is Ellipsis else _axes(part)
    if here and masks:
        keyed, arrays = _by_places(x.device, parts)

        @wraps(getitem)
        def elements(view: NDArray, *arrays: NDArray) -> Any:
            return view[keyed(arrays)]

        return by_host(elements, x, *arrays)
    return _by_parts(x, parts)


def put_on_host(x: Array, parts: Sequence[Any], value: Any) -> None:
    """Put elements where a key of these parts says, as NumPy does, into an Array in the host's memory."""
    keyed, arrays = _by_places(x.device, parts)
    value = package().asarray(value, device=x.device) if is_array(value) else value
    of_views(lambda view, value, *arrays: view.__setitem__(keyed(arrays), value), x, value, *arrays, reads=True)


def _by_places(
    device: "Device", parts: Sequence[Any]
) -> tuple[Callable[[Sequence[Any]], tuple[Any, ...]], list[Array]]:
    """Give what makes a key of parts, given the Arrays among them, and these; those elsewhere are copied."""
    parts = [on_host(p) if type(p) is Array and p.device is not device else p for p in parts]
    places = [n for n, p in enumerate(parts) if type(p) is Array]
    arrays, others = [parts[n] for n in places], [None if type(p) is Array else p for p in parts]

    def keyed(given: Sequence[Any]) -> tuple[Any, ...]:
        key = others.copy()
        for n, a in zip(places, given, strict=True):
            key[n] = a
        return tuple(key)

    return keyed, arrays


def elements_for(x: Array, values: Any) -> Any:
    """Give values in an Array's type, as NumPy converts what is put into one: whole numbers of Python's must fit."""
    if isinstance(values, Array) or is_array(values):
        return values if values.dtype == x.dtype else package().astype(values, x.dtype)
    return np.asarray(each(values, on_host), x.dtype)


def put(x: Array, key: Any, values: Any) -> Any:
    """Give the elements of an Array with values where a key for its first axes names them: of several the last one.

    The values are of its type. The indices are read. None for other keys, which have an ellipsis or new axes.
    """
    parts = key if isinstance(key, tuple) else (key,)
    parts = tuple([np.asarray(part, None if part else np.intp) if isinstance(part, list) else part for part in parts])
    if any([p is None or p is Ellipsis or isinstance(p, bool) for p in parts]):
        return None
    axes = sum([p.ndim if isinstance(p, Array | np.ndarray) and p.dtype == bool else 1 for p in parts])
    if axes > x.ndim:
        raise IndexError(f"too many indices: {axes} for {x.ndim} axes")
    # Of each place the value that is put there last, by its number.
    last = np.full(x.shape[:axes], -1)
    host = tuple([p.numpy() if isinstance(p, Array) else p for p in parts])
    shape, rest = last[host].shape, x.shape[axes:]
    last[host] = np.arange(prod(shape)).reshape(shape)
    m = package()
    while values.ndim > len(shape) + len(rest) and values.shape[0] == 1:
        values = values[0]
    try:
        values = m.broadcast_to(values, (*shape, *rest))
    except ValueError:
        raise ValueError(f"values of shape {values.shape} cannot be broadcast to {(*shape, *rest)}") from None
    if not values.size:
        return x
    found = take(reshape(values, (prod(shape), *rest)), last, 0, mode="clip")
    return m.where((last >= 0)[(..., *[None] * len(rest))], found, x)


def spread(values: Any, mask: Any, shape: tuple[int, ...]) -> Any:
    """Give an array of a shape that has values, one after the other, where a mask for its first axes is true.

    Elsewhere are any of the values. The number of those that are true is read.
    """
    m, rest = package(), shape[mask.ndim :]
    if not rest and values.ndim > 1:
        raise TypeError(f"values of shape {values.shape} have more axes than the elements where a mask is true")
    count = int(m.count_nonzero(mask))
    try:
        values = m.broadcast_to(values, (count, *rest))
    except ValueError:
        raise ValueError(f"values of shape {values.shape} cannot be put where {count} of a mask are true") from None
    if not count:
        return np.zeros((), values.dtype)
    places = m.cumulative_sum(reshape(mask, (-1,)), dtype=np.int64) - 1
    return reshape(take(values, places, 0, mode="clip"), (*mask.shape, *rest))


def _by_parts(x: Array, parts: list[Any]) -> Any:
    """The same of parts of which those that are arrays are indices."""
    consumed = _consumed(parts)
    if consumed > x.ndim:
        raise IndexError(f"too many indices: {consumed} for {x.ndim} axes")
    at = _ellipsis(parts)
    if at is None:
        at = len(parts)
        parts.append(Ellipsis)
    parts[at : at + 1] = [slice(None)] * (x.ndim - consumed)
    # Whole numbers beside arrays are arrays of one element.
    named = [not (p is None or isinstance(p, slice)) for p in parts]
    kept = tuple([slice(None) if many else p for p, many in zip(parts, named, strict=True)])
    view = x if len(kept) == x.ndim and all([p == slice(None) for p in kept]) else x[kept]
    axes = tuple([n for n, many in enumerate(named) if many])
    together = axes == tuple(range(axes[0], axes[-1] + 1)) and not _apart(at, x.ndim - consumed, axes)
    indices = [np.asarray(p) if isinstance(p, int | np.integer) else p for p in parts if p is not None]
    indices = [p for p in indices if not isinstance(p, slice)]
    return call((_INDEXED, _Selection(axes, axes[0] if together else 0, "raise")), (view, *indices))


def _apart(at: int, count: int, axes: tuple[int, ...]) -> bool:
    """Whether an ellipsis of no axes stands among arrays, which are apart then."""
    return count == 0 and axes[0] < at <= axes[-1]


def _axes(part: Any) -> int:
    """Axes that a part of a key is for."""
    given = np.asarray(part) if isinstance(part, list) else part
    if isinstance(given, Array | np.ndarray) and given.dtype == bool:
        return given.ndim
    return int(given is not None and given is not Ellipsis)


def _consumed(parts: Sequence[Any]) -> int:
    """Axes that parts of a key are for."""
    return sum([p is not None and p is not Ellipsis for p in parts])


def _ellipsis(parts: Sequence[Any]) -> int | None:
    return next((n for n, p in enumerate(parts) if p is Ellipsis), None)


def _is_truth(part: Any) -> bool:
    """Whether it is true or false, without axes."""
    if isinstance(part, Array | np.ndarray):
        return not part.ndim and part.dtype.kind == "b"
    return isinstance(part, bool | np.bool_)


def _where_true(x: Array, mask: Array) -> Any:
    """Give the elements where a mask for the first axes is true, whose number alone is read."""
    _check_mask(x, mask, 0)
    if mask.shape == x.shape and mask.device is x.device:
        return values_where(mask, x)
    rows = reshape(x, (mask.size, *x.shape[mask.ndim :]))
    return take(rows, nonzero(reshape(mask, (-1,)))[0], 0, mode="clip")


def _check_mask(x: Array, mask: Any, first: int) -> None:
    if mask.shape != x.shape[first : first + mask.ndim]:
        raise IndexError(f"an array of booleans of shape {mask.shape} is no index for one of {x.shape}")


def _array(x: Any) -> Any:
    return x if isinstance(x, Array) or is_array(x) else np.asanyarray(x)


def _indices(given: Any) -> Any:
    """Indices as integers; booleans are 0 and 1."""
    found = _array(given)
    if found.dtype.kind not in "iub":
        raise TypeError(f"indices must be whole numbers, not {found.dtype}")
    return found.astype(np.intp) if found.dtype.kind == "b" else found


def _describe(arrays: Sequence[NDArray], selection: _Selection) -> Described:
    x, *indices = arrays
    axes, place, mode = selection
    try:
        shape = np.broadcast_shapes(*[i.shape for i in indices])
    except ValueError:
        shapes = " ".join([str(i.shape) for i in indices])
        raise IndexError(f"indices of shapes {shapes} cannot be broadcast together") from None
    others = [a for a in range(x.ndim) if a not in axes]
    # Dimensions are the result's axes.
    dims = {a: n if n < place else n + len(shape) for n, a in enumerate(others)}
    extents = [x.shape[a] for a in others]
    extents[place:place] = shape
    rank = len(extents)
    read = [_broadcast(i, range(place + len(shape) - i.ndim, place + len(shape)), rank) for i in indices]
    sources = dict(zip(axes, range(1, len(arrays)), strict=True))
    access = tuple([
        _indirect(sources[a], read[sources[a] - 1], x.shape[a], rank) if a in sources else Affine.of(dims[a], rank)
        for a in range(x.ndim)
    ])  # fmt: skip

    whole = tuple([(slice(None),) * (a - b - 1) for a, b in zip(axes, (-1, *axes), strict=False)])  # before each index
    apart = any(whole[1:])
    alone = len(axes) == 1 and (mode != "raise" or np.can_cast(indices[0].dtype, np.intp))

    def by_numpy(x: NDArray, *indices: NDArray) -> Any:
        if alone:
            return x.take(indices[0], axes[0], mode=mode)
        key: tuple[Any, ...] = (*whole[0], *indices)
        if apart:
            key = tuple([part for before, i in zip(whole, indices, strict=True) for part in (*before, i)])
        return np.asarray(x[key], order="C")

    name = "numpy.ndarray.take" if len(axes) == 1 else "numpy.ndarray.__getitem__"
    return _described(x, access, indices, read, tuple(extents), mode, name, by_numpy)


def _describe_take(arrays: Sequence[NDArray], selection: _Selection) -> Described:
    (axis,) = selection.axes
    nothing = 0 in arrays[0].shape[:axis]  # where NumPy takes nothing, it looks at no indices
    return _describe(arrays, selection._replace(mode="clip") if nothing else selection)


def _describe_take_of_all(arrays: Sequence[NDArray], mode: Mode) -> Described:
    flat = lambda arrays: (arrays[0].reshape(-1), arrays[1])  # noqa: E731
    return _describe_take(flat(arrays), _Selection((0,), 0, mode))._replace(take=flat)


def _describe_along(arrays: Sequence[NDArray], axis: int) -> Described:
    x, indices = arrays
    apart = [n if a == axis else m for a, (n, m) in enumerate(zip(indices.shape, x.shape, strict=True))]
    extents = np.broadcast_shapes(indices.shape, tuple(apart))
    rank = len(extents)
    read = _broadcast(indices, range(rank), rank)
    access = list(_broadcast(x, range(rank), rank))
    access[axis] = _indirect(1, read, x.shape[axis], rank)
    along = lambda x, indices: np.take_along_axis(x, indices, axis)  # noqa: E731
    return _described(x, tuple(access), [indices], [read], extents, "raise", "numpy.take_along_axis", along)


def _broadcast(a: NDArray, dims: Sequence[int], rank: int) -> Access:
    """An access by these dimensions, one an axis, of which those of one element stay where they are."""
    still = Affine((0,) * rank)
    return tuple([still if n == 1 else Affine.of(d, rank) for n, d in zip(a.shape, dims, strict=True)])


def _indirect(number: int, read: Access, length: int, rank: int) -> Indirect:
    moving = {d for i in read for d in i.dims()}
    return Indirect((0,) * rank, 0, (number, 0), tuple([d in moving for d in range(rank)]), length)


def _described(
    x: NDArray, access: Access, indices: Sequence[NDArray], read: Sequence[Access], extents: tuple[int, ...],
    mode: Mode, numpys: str, by_numpy: Callable[..., Any],
) -> Described:  # fmt: skip
    """The MDH that reads elements where others say, and NumPy's function of that meaning."""
    boundary = _BOUNDARIES[mode]
    if boundary is not None and 0 not in extents and 0 in x.shape:
        raise IndexError("nothing can be taken from an axis without elements")
    names = ["indices"] if len(indices) == 1 else [f"indices{n}" for n in range(len(indices))]
    views = [array_view("x", x, (access,), boundary)]
    views += [array_view(name, i, (a,)) for name, i, a in zip(names, indices, read, strict=True)]
    out = contiguous("O0", x.dtype, extents, tuple(range(len(extents))))
    scalar = trace(lambda element, *_: element, [v.dtype for v in views])
    h = MdHom(extents, (CC,) * len(extents), scalar, tuple(views), (out,))
    moved = sum([v.element_bytes for v in (*h.outputs, *h.inputs[1:])]) + h.outputs[0].element_bytes
    work = NumpyWork(x.dtype.char, 0, h.points, moved, 0)
    return Described(h, numpy=NumpyFunction(numpys, by_numpy, work))


def _numpys_take(x: Any, indices: Any, selection: _Selection) -> Any:
    return np.take(x, indices, selection.axes[0], mode=selection.mode)


_TAKE = Routine("take", _describe_take, _numpys_take, addressable)
_TAKE_OF_ALL = Routine("take", _describe_take_of_all, lambda x, i, mode: np.take(x, i, mode=mode), addressable)
_INDEXED = Routine("getitem", _describe)
_ALONG = Routine("take_along_axis", _describe_along, np.take_along_axis, addressable)
