"""NumPy's reductions and scans in place of kernels, where each point of an MDH belongs to one element of an operand.

Takes MDHs, gives functions of their inputs. What the scalar function gives is an array as large as the largest
operand, unless it only converts; one of NumPy's ufuncs combines it, or `argmax` and its like say where an extreme is.
It must not know devices.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.mdh import Affine, Function, MdHom, View
from mdhnp.mdh.extremes import Which, extreme, first_extreme
from mdhnp.mdh.function import literal_value
from mdhnp.mdh.mdhom import contiguous
from mdhnp.placement.axes import Seen, seen
from mdhnp.placement.elements import ufuncs
from mdhnp.placement.products import einsum

__all__ = ["Found", "by_ufunc", "row_sums"]

Array = npt.NDArray[Any]
Compute = Callable[..., Any]

#: NumPy's functions behind operators, by name.
_UFUNCS: dict[str, np.ufunc] = {
    f.__name__: f for f in (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or)
}
_WHICH: tuple[Which, ...] = ("max", "min")
#: Elements that an einsum adds in a row, to lose no more by rounding than NumPy's sums do; from how many on it matters.
_ROW, _LONG = 512, 1 << 14
#: Points that are reduced in the time in which an einsum walks through one; times that it takes for one of a scan.
_FAST, _SCAN = 3, 8

_BOOL, _HALF, _INDEX, _SINGLE = (np.dtype(t) for t in (np.bool_, np.float16, np.int64, np.float32))


class Found(NamedTuple):
    """A function of NumPy's: what it is, for people; what computes; points that an einsum walks through meanwhile."""

    name: str
    compute: Compute
    walked: int


def by_ufunc(h: MdHom) -> Found | None:
    """Give the function that computes an MDH by a reduction or a scan of NumPy's; None where there is none.

    Examples
    --------
    >>> import mdhnp
    >>> a = np.array([[1, 5], [7, 3]])
    >>> largest = mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc, "j": mdhnp.pw("max")}, "A[i,j] -> O[i]").bind(a)
    >>> by_ufunc(largest).compute(a)
    array([5, 7])
    """
    dims = tuple([d for d, c in enumerate(h.combine) if c.kind != "cc"])
    if len({h.combine[d] for d in dims}) != 1 or len(h.outputs) != 1 or 0 in h.extents:
        return None
    if h.combine[dims[0]].kind == "ps" and (initial := _initial(h, dims[0])) is not None:
        return initial
    order = tuple(range(h.rank))
    found = [seen(v, v.accesses[0], order, h.extents) if len(v.accesses) == 1 else None for v in h.inputs]
    views = [v for v in found if v is not None]
    kept = [d for i in h.outputs[0].accesses[0] for d in i.dims()]
    if len(views) < len(found) or kept != sorted(kept) or max([prod(v.shape) for v in views]) < h.points:
        return None
    which = next((w for w in _WHICH if _is_place(h, w, dims)), None)
    return _combined(h, dims, views) if which is None else _placed(h, which, dims[0], views[0])


def _combined(h: MdHom, dims: tuple[int, ...], views: Sequence[Seen]) -> Found | None:
    """Give the function that reduces or scans by a ufunc."""
    finish, dtype = h.finish, h.scalar.dtypes[0]
    ufunc, scans = _ufunc(h), h.combine[dims[0]].kind == "ps"
    if ufunc is None or (scans and len(dims) > 1):
        return None
    mapped = _unconverted(h.scalar)
    whole = any([prod(views[p].shape) == h.points for p in mapped.used_parameters()])
    functions = [mapped] if finish is None else [mapped, finish]
    if not whole or any([f.text is not None or f.used_indices() for f in functions]):
        return None
    values, weight = _on_arrays(mapped)
    after = None if finish is None else _on_arrays(finish)[0]
    inner = _SINGLE if dtype == _HALF else None if ufunc in (np.logical_and, np.logical_or) else dtype
    wide = finish is not None and not scans and any([h.inputs[p - 1].shape for p in finish.used_parameters() if p])
    if scans:
        combine: Compute = partial(ufunc.accumulate, axis=dims[0], dtype=inner)
    elif ufunc is np.add and mapped.dtypes[0] == _BOOL and dtype == _INDEX and len(dims) == h.rank:
        combine = np.count_nonzero
    else:
        combine = partial(ufunc.reduce, axis=dims, dtype=inner, keepdims=wide)
    as_they_are = all([v.view is None for v in views])
    shape = h.outputs[0].shape

    def compute(*arrays: Array) -> Any:
        given = arrays if as_they_are else [v.of(a) for v, a in zip(views, arrays, strict=True)]
        found = combine(values(*given))
        if inner is _SINGLE:
            found = found.astype(dtype)
        if after is not None:
            found = after(found, *(given if wide or scans else arrays))
        return _result(found, shape)

    name = f"numpy.{ufunc.__name__}.{'accumulate' if scans else 'reduce'}"
    return Found(name, compute, h.points * _SCAN if scans else h.points * (weight + 1) // _FAST)


def _on_arrays(f: Function) -> tuple[Compute, int]:
    """Give what computes a function of arrays, and its weight beside a plain loop's; a parameter is no work."""
    if f.body[f.results[0]].op == "param":
        position = f.body[f.results[0]].position
        return lambda *given: given[position], 0
    used, found = sorted(f.used_parameters()), ufuncs(f)
    return lambda *given: found.compute(*[given[p] for p in used]), found.weight


def _ufunc(h: MdHom) -> np.ufunc | None:
    """Give NumPy's function behind the only operator, if it is one."""
    op, (dtype, *others) = h.operator, h.scalar.dtypes
    assert op is not None
    if others:
        return None
    if dtype.kind == "c":  # whose order an operator has to spell out
        for which, ufunc in zip(_WHICH, (np.maximum, np.minimum), strict=True):
            if op == extreme(which, dtype).operator:
                return ufunc
    return _UFUNCS.get(op.ufuncs[0])


def _unconverted(f: Function) -> Function:
    """Give a function without the conversion that comes last, which a ufunc does as it reads; not to what it widens."""
    (last,) = f.results
    step = f.body[last]
    return replace(f, results=step.args) if step.op == "cast" and step.dtype != _HALF else f


def _result(found: Any, shape: tuple[int, ...]) -> Any:
    """Give a C-contiguous array of a shape; a scalar where it has no axes."""
    if not shape:
        return found if type(found) is not np.ndarray else found.reshape(())[()]
    found = np.asarray(found)
    return np.ascontiguousarray(found if found.shape == shape else found.reshape(shape))


def _is_place(h: MdHom, which: Which, dims: tuple[int, ...]) -> bool:
    """Whether an MDH gives the first place of an extreme of its only input along its only reduced dimension."""
    f, finish, op = h.scalar, h.finish, h.operator
    if len(h.inputs) != 1 or len(dims) != 1 or len(f.results) != 2 or finish is None or op is None:
        return False
    value, place = (f.body[r] for r in f.results)
    stored = finish.body[finish.results[0]]
    return (
        value.op == "param"
        and (place.op, place.position) == ("index", dims[0])
        and (stored.op, stored.position) == ("param", 1)
        and op == first_extreme(which, value.dtype).operator
    )


def _placed(h: MdHom, which: Which, dim: int, view: Seen) -> Found:
    function: Compute = np.argmax if which == "max" else np.argmin
    shape, in_rows = h.outputs[0].shape, dim == h.rank - 1 and abs(h.inputs[0].strides[-1]) == 1
    walked = h.points // _FAST if in_rows else 2 * h.points
    return Found(f"numpy.arg{which}", lambda a: _result(function(view.of(a), dim), shape), walked)


def _initial(h: MdHom, dim: int) -> Found | None:
    """Give the function of a scan whose first point is the identity, which stands before the first element."""
    (view, *others), op, rank = h.inputs, h.operator, h.rank
    before = tuple([Affine.of(d, rank, -(d == dim)) for d in range(rank)])
    if others or view.boundary != "constant" or view.accesses != (before,) or h.finish is not None:
        return None
    extents = tuple([n - (d == dim) for d, n in enumerate(h.extents)])
    first = h.scalar.evaluate([literal_value(view.fill, view.dtype)])[0]
    assert op is not None
    if extents != view.shape or op.identity is None or first != literal_value(op.identity[0], h.scalar.dtypes[0]):
        return None
    plain = replace(view, boundary=None, accesses=(tuple([Affine.of(d, rank) for d in range(rank)]),))
    output = contiguous("O0", h.outputs[0].dtype, extents, tuple(range(rank)))
    rest = by_ufunc(replace(h, extents=extents, inputs=(plain,), outputs=(output,)))
    if rest is None:
        return None
    start = np.full([1 if d == dim else n for d, n in enumerate(extents)], first)
    return Found(rest.name, lambda a: np.concatenate([start, rest.compute(a)], dim), rest.walked)


def row_sums(view: View, axes: tuple[int, ...]) -> Compute | None:
    """Give the sum of an array of floats along axes, as fast as an einsum, where one would add too many in a row.

    Examples
    --------
    >>> from mdhnp.mdh.pattern import array_view
    >>> a = np.ones((3, 1 << 14), np.float32)
    >>> row_sums(array_view("A", a, ()), (1,))(a)
    array([16384., 16384., 16384.], dtype=float32)
    """
    outer, row = len(view.shape), 1
    while outer - 1 in axes and view.strides[outer - 1] == row:
        outer -= 1
        row *= view.shape[outer]
    if view.dtype.char not in "fd" or row < _LONG:
        return None
    kept, others = view.shape[:outer], tuple([d for d in axes if d < outer])
    whole = row // _ROW * _ROW

    def compute(a: Array) -> Any:
        a = a.reshape((*kept, row))
        rows = einsum("...a->...", a[..., :whole].reshape((*kept, -1, _ROW)))
        return np.add.reduce(rows, (*others, outer)) + np.add.reduce(einsum("...a->...", a[..., whole:]), others)

    return compute
