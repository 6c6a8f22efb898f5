"""What an MDH means, evaluated with NumPy for millions of points: `interpret`, but not written alike.

Arrays with a boundary are extended by NumPy's own `pad`, other indices are strides of a view; a reduction combines
neighbours until one is left, a scan doubles its reach. Both give what the definition gives where the operator is
associative, which sums of whole numbers are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mdhnp.mdh import Function, MdHom, View
from mdhnp.mdh.combine import Operator
from mdhnp.mdh.views import Access

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

#: What numpy.pad calls the boundaries.
_PAD = {"constant": "constant", "nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "wrap": "wrap"}


def evaluate(h: MdHom, arrays: Sequence[Array]) -> list[Array]:
    """The outputs, for extents that are not 0."""
    grid = _grid(h)
    loaded = _loaded(h, arrays)
    values = _applied(h.scalar, loaded, grid, h.extents)
    for d in reversed(range(h.rank)):
        operator = h.combine[d].operator
        if operator is not None:
            parts = [np.moveaxis(v, d, 0) for v in values]
            parts = _total(parts, operator) if h.combine[d].kind == "pw" else _prefixes(parts, operator)
            values = [np.moveaxis(p, 0, d) for p in parts]
    if h.finish is not None:
        first = tuple(slice(0, 1) if c.kind == "pw" else slice(None) for c in h.combine)
        values = _applied(h.finish, [*values, *(x[first] for x in loaded)], [g[first] for g in grid], values[0].shape)
    return [_written(view, value) for view, value in zip(h.outputs, values, strict=True)]


def largest_sum(h: MdHom, arrays: Sequence[Array]) -> float:
    """How large a sum of terms' absolute values may be: sums of floats below 2^24 are exact in any order."""
    reduced = tuple(d for d, c in enumerate(h.combine) if c.kind != "cc")
    values = _applied(h.scalar, _loaded(h, arrays), _grid(h), h.extents)
    floats = [v for v in values if v.dtype.kind in "fc"]
    return max((float(np.abs(v).sum(reduced, dtype=np.float64).max(initial=0)) for v in floats), default=0.0)


def _grid(h: MdHom) -> list[Array]:
    return [np.arange(n).reshape([-1 if d == e else 1 for e in range(h.rank)]) for d, n in enumerate(h.extents)]


def _loaded(h: MdHom, arrays: Sequence[Array]) -> list[Array]:
    return [_accessed(h.extents, h.inputs[n], h.inputs[n].accesses[a], arrays[n]) for n, a in h.accesses]


def _applied(f: Function, arguments: Sequence[Array], grid: Sequence[Array], shape: tuple[int, ...]) -> list[Array]:
    return [np.broadcast_to(v, shape) for v in f.evaluate(arguments, grid)]


def _accessed(extents: Shape, view: View, access: Access, array: Array) -> Array:
    """The elements that each point reads or writes, without copies: axes of the array become strides of dimensions."""
    starts = [index.constant for index in access]
    if view.boundary is not None:
        array, starts = _extended(extents, view, access, array)
    first = array[(*(slice(start, None) for start in starts), ...)]
    terms = list(zip(array.strides, access, strict=True))
    steps = [sum(s * i.coefficients[d] for s, i in terms) for d in range(len(extents))]
    return np.lib.stride_tricks.as_strided(first, extents, steps)


def _extended(extents: Shape, view: View, access: Access, array: Array) -> tuple[Array, list[int]]:
    """The array with what its boundary puts beside it, and where the access begins in it."""
    wide, starts, outside = array, [], np.zeros((1,) * array.ndim, bool)
    for axis, index in enumerate(access):
        low, high = index.span(extents)
        size = array.shape[axis]
        before, after = max(-low, 0), max(high - size + 1, 0)
        places = np.pad(np.arange(size), (before, after), _PAD[view.boundary or ""])  # type: ignore[call-overload]
        wide = np.take(wide, places, axis)
        beyond = np.arange(-before, size + after)
        flags = (beyond < 0) | (beyond >= size)
        outside = outside | flags.reshape([-1 if axis == a else 1 for a in range(array.ndim)])
        starts.append(index.constant + before)
    if view.boundary == "constant":
        wide = np.where(outside, np.asarray(view.fill).astype(float).astype(view.dtype), wide)
    return np.ascontiguousarray(wide), starts


def _total(parts: Sequence[Array], operator: Operator) -> list[Array]:
    """Neighbours combined until one is left."""
    while (n := len(parts[0])) > 1:
        pairs = operator.function.evaluate([*(p[: n - 1 : 2] for p in parts), *(p[1::2] for p in parts)])
        parts = [np.concatenate([pair, p[n - 1 :]]) if n % 2 else pair for pair, p in zip(pairs, parts, strict=True)]
    return list(parts)


def _prefixes(parts: Sequence[Array], operator: Operator) -> list[Array]:
    """Every element combined with what the elements before it have, which reach twice as far each time."""
    reach = 1
    while reach < len(parts[0]):
        longer = operator.function.evaluate([*(p[:-reach] for p in parts), *(p[reach:] for p in parts)])
        parts = [np.concatenate([p[:reach], new]) for p, new in zip(parts, longer, strict=True)]
        reach *= 2
    return list(parts)


def _written(view: View, value: Array) -> Array:
    out = np.zeros(view.shape, view.dtype)
    _accessed(value.shape, view, view.accesses[0], out)[...] = value
    return out
