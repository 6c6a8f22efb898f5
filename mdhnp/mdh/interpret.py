"""Plain evaluation of an MDH with NumPy: slow, obvious, and the oracle of every test.

Follows the definition: the scalar function at every point, then each dimension combined from the last to the first.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.documentation import public
from mdhnp.mdh.combine import Operator
from mdhnp.mdh.function import Function, literal_value
from mdhnp.mdh.mdhom import Computation, MdHom
from mdhnp.mdh.regions import part_of
from mdhnp.mdh.scatter import scattered
from mdhnp.mdh.views import Affine, Indirect, View, bound_index

Arrays = list[npt.NDArray[Any]]

#: Beyond all axes.
_LARGE = np.uint64(1 << 62)


@singledispatch
@public(
    "Evaluate an MDH by its definition, or several that are fused.",
    h="Computation: What to compute. Strides in its views are not used: the arrays are indexed by their axes.",
    arrays="array_like: One array an input view, of the view's shape.",
    returns="ndarray or tuple of ndarray: One array an output view, of the view's shape and dtype.",
    raises={"ValueError": "If an array does not have its view's shape, or a reduction over nothing has no identity."},
    notes="Holds all points at once: memory grows with the product of the extents.",
    example="""
>>> dot = mdhnp.md_hom(np.multiply, {"k": mdhnp.pw("add")}, "x[k], y[k] -> z[]")
>>> mdhnp.interpret(dot.bind(np.arange(3), np.arange(3)), np.arange(3), np.arange(3))
array(5)""",
    guard=False,
)
def interpret(h: Computation, *arrays: "npt.ArrayLike") -> Any:
    raise TypeError(f"interpret: {type(h).__name__} is no computation")


@interpret.register
def _(h: MdHom, *arrays: npt.ArrayLike) -> Any:
    given = [np.asarray(a) for a in arrays]
    for view, array in zip(h.inputs, given, strict=True):
        if array.shape != view.shape:
            raise ValueError(f"{view.name}: array of shape {array.shape}, the MDH was made for {view.shape}")
    if h.scatters:
        small, sortings = scattered(h)
        return interpret(small, *given, *[made for s in sortings for made in s.sort(given[s.source])])
    if h.segments and 0 not in h.extents:
        return _each_segment(h, given)
    values = _apply(h, h.scalar, (), h.extents, given)
    for dim in reversed(range(h.rank)):
        combine = h.combine[dim]
        if combine.operator is not None:
            fold = _reduce if combine.kind == "pw" else _scan
            values = fold(values, dim, combine.operator)
    if h.finish is not None:
        final = tuple(n if c.kind != "pw" else 1 for n, c in zip(h.extents, h.combine, strict=True))
        values = _apply(h, h.finish, values, final, given)
    stored = [_store(h, view, value) for view, value in zip(h.outputs, values, strict=True)]
    return stored[0] if len(stored) == 1 else tuple(stored)


def _each_segment(h: MdHom, given: Arrays) -> Any:
    """Evaluate for each point of the dimension that a segment depends on, with the points that count then."""
    s, *others = h.segments
    whole, stored = replace(h, segments=tuple(others)), [np.empty(v.shape, v.dtype) for v in h.outputs]
    (d,) = h.segmented(s) or (None,)
    part: Any
    regions: Any
    for n in range(1 if d is None else h.extents[d]):
        point = [np.asarray(n if e == d else 0) for e in range(h.rank)]
        begin, end = (int(_load(h, s.source, access, given, point)) for access in s.ends)
        if s.trusted:
            begin, end = (int(_trusted(each, h.extents[s.dim] + 1)) for each in (begin, end))
        part, arrays, regions = whole, given, ((Ellipsis,),) * len(stored)
        if d is not None:
            made = part_of(whole, d, n, n + 1)
            part, arrays, regions = made.mdhom, made.reads(given), made.outputs
        if begin >= end:  # no part has no points
            none = replace(part, extents=tuple([0 if e == s.dim else m for e, m in enumerate(part.extents)]))
            values = interpret(none, *arrays)
        else:
            made = part_of(part, s.dim, begin, end)
            values = interpret(made.mdhom, *made.reads(arrays))
        for out, value, region in zip(stored, values if isinstance(values, tuple) else (values,), regions, strict=True):
            out[region] = value
    return stored[0] if len(stored) == 1 else tuple(stored)


def _grid(shape: tuple[int, ...]) -> Any:
    """Of each dimension an array of its indices."""
    return np.meshgrid(*(np.arange(n) for n in shape), indexing="ij", sparse=True) if shape else []


def place(h: MdHom, index: Affine, grid: Any, given: Sequence[npt.NDArray[Any]], *, counted: bool = True) -> Any:
    """Give what an index is at points, whose indices `grid` has by dimension; `given` are the inputs.

    Elements of theirs that are less than 0 are `counted` from the end, unless a boundary mode says what they mean.
    """
    if not isinstance(index, Indirect):
        return affine(index, grid)
    found = element(h, index, grid, given)
    if index.trusted:
        return _trusted(found, index.length)
    return affine(index, grid) + found + np.where(counted & (found < 0), index.length, 0)


def _trusted(found: Any, length: int) -> Any:
    """Give numbers of which the last one of an axis stands for those outside."""
    return np.where((np.asarray(found) < 0) | (np.asarray(found) >= length), length - 1, found)


def affine(index: Affine, grid: Any) -> Any:
    """Give the affine part of an index at points."""
    terms = [c * g for c, g in zip(index.coefficients, grid, strict=True)]
    return sum(terms, start=np.asarray(index.constant))


def element(h: MdHom, index: Indirect, grid: Any, given: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    """Give the elements that an index adds at points; those that no axis is as long as are very large."""
    found = _load(h, *index.source, given, grid)
    return (np.minimum(found, _LARGE) if found.dtype == np.uint64 else found).astype(np.int64)


def _apply(h: MdHom, function: Function, first: Sequence[Any], shape: tuple[int, ...], given: Arrays) -> Arrays:
    """Apply a function to `first` and all accesses at every point; where there is none, only types matter."""
    if 0 in shape:
        return [np.empty(shape, t) for t in function.dtypes]
    grid, used = _grid(shape), function.used_parameters()
    loaded = [
        _load(h, n, a, given, grid) if p in used else None for p, (n, a) in enumerate(h.accesses, start=len(first))
    ]
    return [np.broadcast_to(v, shape).copy() for v in function.evaluate([*first, *loaded], grid)]


def _load(h: MdHom, number: int, access: int, given: Sequence[npt.NDArray[Any]], grid: Any) -> npt.NDArray[Any]:
    view, places = h.inputs[number], list[Any]()
    outside: Any = False
    for axis, index in enumerate(view.accesses[access]):
        at = place(h, index, grid, given, counted=view.boundary is None)
        if view.boundary is not None:
            at = bound_index(at, view.shape[axis], view.boundary)
            outside = outside | (at < 0)
            at = np.maximum(at, 0)
        places.append(at)
    value = np.asarray(given[number][tuple(places)])
    return np.where(outside, literal_value(view.fill, view.dtype), value) if view.boundary == "constant" else value


def _reduce(values: Arrays, dim: int, op: Operator) -> Arrays:
    parts = [np.moveaxis(v, dim, 0) for v in values]
    if len(parts[0]) == 0:
        if op.identity is None:
            raise ValueError(f"combine: {op.name} has no identity, so nothing can be reduced over an extent of 0")
        empty = [np.full(p.shape[1:], literal_value(i, p.dtype)) for p, i in zip(parts, op.identity, strict=True)]
        return [np.expand_dims(e, dim) for e in empty]
    total = [p[0] for p in parts]
    for n in range(1, len(parts[0])):
        total = list(op.function.evaluate([*total, *(p[n] for p in parts)]))
    return [np.expand_dims(t, dim) for t in total]


def _scan(values: Arrays, dim: int, op: Operator) -> Arrays:
    parts = [np.moveaxis(v, dim, 0).copy() for v in values]
    for n in range(1, len(parts[0])):
        for p, t in zip(parts, op.function.evaluate([*(p[n - 1] for p in parts), *(p[n] for p in parts)]), strict=True):
            p[n] = t
    return [np.moveaxis(p, 0, dim) for p in parts]


def _store(h: MdHom, view: View, value: npt.NDArray[Any]) -> npt.NDArray[Any]:
    out = np.empty(view.shape, view.dtype)
    places = [place(h, index, _grid(value.shape), []) for index in view.accesses[0]]
    out[tuple(np.broadcast_arrays(*places))] = (
        value.reshape(np.broadcast_shapes(*(np.shape(p) for p in places), value.shape)) if places else value.reshape(())
    )
    return out
