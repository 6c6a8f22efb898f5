"""Elements that arrays of indices name: `take`, `take_along_axis`, and what an Array gives for a key of arrays.

Where an index is an element of an array, an MDH's view says so (:class:`mdhnp.mdh.views.Indirect`). Booleans stand for
the indices of those that are true, whose number is known only when they are read.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from itertools import compress
from math import prod
from operator import getitem, index
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_index

from mdhnp.arrays.array import Array, each, is_array
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.arrays import by_host, of_views
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.operands import addressable, deliver, dense, output
from mdhnp.cost import NumpyWork
from mdhnp.frontend.array_adapted import on_host, package
from mdhnp.frontend.creation import assign
from mdhnp.frontend.manipulation import moveaxis, reshape
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
#: What a part of a key is that names a view.
VIEWED = (int, np.integer, slice, type(None), type(Ellipsis))
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
    x, out = _array(dense(0, x)), output("take", out)
    if axis is not None:
        axis = normalize_axis_index(index(axis), max(x.ndim, 1))
    indices = _array(indices)
    if indices.dtype.kind not in "iub":
        raise TypeError(f"indices must be whole numbers, not {indices.dtype}")
    indices = indices.astype(np.intp) if indices.dtype.kind == "b" else indices  # 0 and 1
    if axis is None and type(x) is Array and not x.device.own_memory:
        return deliver("take", call((_TAKE_OF_ALL, mode), (x, indices)), out)
    if axis is None or not x.ndim:
        x = np.asarray(x) if isinstance(x, np.matrix) else x  # which has two axes in each shape
        x, axis = reshape(x, (-1,)), axis or 0
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
    if len(key) == 1 and is_mask(mask := key[0]) and type(mask) is Array and has_kernels(mask):
        check_mask(x, mask)
        if mask.shape == x.shape and mask.device is x.device:
            return values_where(mask, x)
        rows = reshape(x, (mask.size, *x.shape[mask.ndim :]))
        return take(rows, nonzero(reshape(mask, (-1,)))[0], 0, mode="clip")
    if (parsed := _parsed(x, key)) is None:
        return None
    x, parts = parsed
    if x.device.own_memory or not any(map(is_mask, parts)):
        view, selection, indices = _named(x, parts)
        return call((_INDEXED, selection), (view, *indices))
    keyed, arrays = _by_places(x.device, parts)

    @wraps(getitem)
    def elements(view: NDArray, *arrays: NDArray) -> Any:
        return view[keyed(arrays)]

    return by_host(elements, x, *arrays)


def _parsed(x: Array, key: tuple[Any, ...]) -> tuple[Array, list[Any]] | None:
    """Give a key's parts, which are those of views, whole numbers, and arrays, and the array that they are for.

    A truth without axes names elements along an axis of one, which that array has more. None for other keys.
    """
    parts, at = [np.asarray(p, None if np.size(p) else np.intp) if isinstance(p, list) else p for p in key], 0
    left = x.ndim - sum(map(_axes, parts))  # axes that an ellipsis stands for
    if sum([p is Ellipsis for p in parts]) > 1:
        raise IndexError("an index can have one ellipsis ('...') only")
    for n, part in enumerate(parts):
        if is_truth(part):
            x = x[(*[slice(None)] * at, None, ...)]
            parts[n] = np.zeros(int(bool(part)), np.intp)
        elif is_mask(part):
            check_mask(x, part, at)
        elif not isinstance(part, VIEWED) and not (isinstance(part, Array | np.ndarray) and part.dtype.kind in "iu"):
            return None
        at += left if part is Ellipsis else _axes(parts[n])
    return x, parts


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


def put(x: Array, key: Any, values: Any) -> bool:
    """Put values of its type where a key names elements into an Array: of several in one place the last one.

    The indices are read. False for keys with parts that no key has.
    """
    if (parsed := _parsed(x, key if isinstance(key, tuple) else (key,))) is None:
        return False
    view, (axes, place, _), indices = _named(*parsed)
    # Of each place along these axes, which come first now, the value that is put there last, by its number.
    m, target = package(), moveaxis(view, axes, tuple(range(len(axes))))
    last = np.full(target.shape[: len(axes)], -1)
    host = tuple(map(on_host, indices))
    shape, rest = last[host].shape, target.shape[len(axes) :]
    last[host] = np.arange(prod(shape)).reshape(shape)
    named = (*rest[:place], *shape, *rest[place:])
    while values.ndim > len(named) and values.shape[0] == 1:
        values = values[0]
    try:
        values = m.broadcast_to(values, named)
    except ValueError:
        raise ValueError(f"values of shape {values.shape} cannot be broadcast to {named}") from None
    if values.size:
        values = moveaxis(values, tuple(range(place, place + len(shape))), tuple(range(len(shape))))
        found = take(reshape(values, (prod(shape), *rest)), last, 0, mode="clip")
        assign(target, m.where((last >= 0)[(..., *[None] * len(rest))], found, target))
    return True


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


def _named(x: Array, parts: Sequence[Any]) -> tuple[Array, _Selection, list[Any]]:
    """Give a view, which of its axes have indices, and these: of booleans those that are true, which are read."""
    parts = [i for p in parts for i in (np.nonzero(on_host(p)) if is_mask(p) else (p,))]
    consumed = sum([p is not None and p is not Ellipsis for p in parts])
    if consumed > x.ndim:
        raise IndexError(f"too many indices: {consumed} for {x.ndim} axes")
    at = next((n for n, p in enumerate(parts) if p is Ellipsis), len(parts))
    parts[at : at + 1] = [slice(None)] * (x.ndim - consumed)
    # Whole numbers beside arrays are arrays of one element.
    arrays = [not (p is None or isinstance(p, slice)) for p in parts]
    kept = tuple([slice(None) if many else p for p, many in zip(parts, arrays, strict=True)])
    view = x if len(kept) == x.ndim and all([p == slice(None) for p in kept]) else x[kept]
    axes = tuple([n for n, many in enumerate(arrays) if many])
    # Arrays with an ellipsis of no axes among them are apart.
    among = consumed == x.ndim and axes[0] < at <= axes[-1]
    together = axes == tuple(range(axes[0], axes[-1] + 1)) and not among
    indices = [np.asarray(p) if isinstance(p, int | np.integer) else p for p in compress(parts, arrays)]
    return view, _Selection(axes, axes[0] if together else 0, "raise"), indices


def _axes(part: Any) -> int:
    """Axes that a part of a key is for."""
    return part.ndim if is_mask(part) else int(not (part is None or part is Ellipsis or is_truth(part)))


def is_mask(part: Any) -> bool:
    """Whether it is an array of booleans, with axes."""
    return isinstance(part, Array | np.ndarray) and part.dtype == bool and part.ndim > 0


def is_truth(part: Any) -> bool:
    """Whether it is true or false, without axes."""
    if isinstance(part, Array | np.ndarray):
        return not part.ndim and part.dtype.kind == "b"
    return isinstance(part, bool | np.bool_)


def check_mask(x: Array, mask: Any, first: int = 0) -> None:
    """Raise IndexError where booleans are not as many as an array has elements along axes."""
    if mask.shape != x.shape[first : first + mask.ndim]:
        raise IndexError(f"an array of booleans of shape {mask.shape} is no index for one of {x.shape}")


def _array(x: Any) -> Any:
    return x if isinstance(x, Array) or is_array(x) else np.asanyarray(x)


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
    axis, alone = axes[0], len(axes) == 1 and (mode != "raise" or np.can_cast(indices[0].dtype, np.intp))

    usual = 0 if any(whole[1:]) else axis  # where NumPy puts axes of indices that an ellipsis of no axes does not part
    moved = [range(begin, begin + len(shape)) for begin in (usual, place)]

    def by_keys(x: NDArray, *indices: NDArray) -> Any:
        key: Any = tuple([part for before, i in zip(whole, indices, strict=True) for part in (*before, i)])
        return np.asarray(np.moveaxis(x[key], *moved) if usual != place else x[key], order="C")

    by_numpy: Callable[..., Any] = (lambda x, i: x.take(i, axis, None, mode)) if alone else by_keys
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


_TAKE = Routine("take", _describe_take, lambda x, i, s: np.take(x, i, s.axes[0], mode=s.mode), addressable)
_TAKE_OF_ALL = Routine("take", _describe_take_of_all, lambda x, i, mode: np.take(x, i, mode=mode), addressable)
_INDEXED = Routine("getitem", _describe)
_ALONG = Routine("take_along_axis", _describe_along, np.take_along_axis, addressable)
