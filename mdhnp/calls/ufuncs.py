"""Maps, reductions and scans by NumPy's ufuncs, on views of the inputs that have the MDH's dimensions for axes.

Takes MDHs, gives functions of their inputs. It must not know devices.

Large maps are computed block by block, so that what one ufunc gives is still in the caches when the next one reads
it, and into memory of earlier results. Ufuncs on whole arrays would mostly wait for memory, and for the system that
clears it: three operations on 64 MB take twice as long.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from mdhnp.cost.operations import passes
from mdhnp.mdh import Affine, Function, MdHom, View
from mdhnp.mdh.extremes import Which, extreme, first_extreme
from mdhnp.mdh.function import Instruction, evaluate_step, literal_value
from mdhnp.mdh.mdhom import contiguous
from mdhnp.mdh.views import Access
from mdhnp.runtime.results import LARGE, maker

__all__ = ["ByUfuncs", "einsum", "map_by_ufuncs", "reduction_by_ufunc", "row_sums"]

Compute = Callable[..., Any]

# `np.einsum` itself takes as long to call this as this takes for small arrays.
einsum: Compute = getattr(np._core.multiarray, "c_einsum", np.einsum)  # type: ignore[attr-defined]

#: Common operations that do not warn of single values, or only where results are too large for floats: to silence
#: NumPy takes 0.8 µs.
_SILENT = frozenset(
    """param const index add subtract multiply square negative positive absolute sign maximum minimum equal not_equal
    less less_equal greater greater_equal logical_and logical_or logical_not where isnan conjugate
    """.split()  # noqa: SIM905
)
#: Points of a sum that take as long as one of an einsum, and as one of a scan.
_FAST, _SCAN = 4, 32
#: Bytes of a block: a few of them fit a core's second cache, and calls on them take much longer than to begin them.
_BLOCK = 1 << 19
#: Elements that an einsum adds in a row, to lose no more by rounding than NumPy's sums do; from how many on it matters.
_ROW, _LONG = 512, 1 << 14

_WHICH: tuple[Which, ...] = ("max", "min")
_REDUCTIONS: dict[str, np.ufunc] = {
    f.__name__: f for f in (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or)
}


#: Name for people, what computes, and the points of an einsum that take as long.
ByUfuncs = tuple[str, Compute, int]
#: From an input to a view of it with axes for the MDH's dimensions, and the view's shape.
_Aligned = tuple[Compute, tuple[int, ...]]


def _aligned(view: View, access: Access, dims: Sequence[int], extents: Sequence[int], fewer: bool) -> _Aligned | None:
    """Align an access's axes with dimensions; None where an index is neither a number nor a dimension, maybe shifted.

    Where there may be fewer axes, those in front may be missing, as NumPy allows where it broadcasts.
    """
    missing = len(dims) - len(access)
    along = [replace(index, constant=0).dim() for index in access if index.dims()]
    moved = [d for d in along if d is not None]
    if view.boundary is not None or len({*moved}) < len(along):
        return None
    if (missing == 0 or (fewer and missing > 0)) and all([
        (index.dim() == d and size == extents[d]) or (size == 1 and not index.dims())
        for index, d, size in zip(access, dims[missing:], view.shape, strict=True)
    ]):  # fmt: skip
        return _itself, view.shape
    ranges = [slice(i.constant, i.constant + extents[i.dims()[0]]) if i.dims() else i.constant for i in access]
    axes = tuple(sorted(range(len(moved)), key=lambda n: dims.index(moved[n])))
    spread = (*[slice(None) if d in moved else None for d in dims], ...)  # without axes a view, too, no scalar
    shape = tuple([extents[d] if d in moved else 1 for d in dims])
    return lambda a: a[(*ranges, ...)].transpose(axes)[spread], shape


def _itself(a: Any) -> Any:
    return a


def map_by_ufuncs(h: MdHom) -> ByUfuncs | None:
    """Return what computes an MDH that reduces nothing of its inputs; None where some index is no dimension.

    Examples
    --------
    >>> from mdhnp.mdh import cc, md_hom
    >>> a = np.ones((2, 3))
    >>> name, compute, _ = map_by_ufuncs(md_hom(np.add, {"i": cc, "j": cc}, "A[i,j], B[j] -> C[i,j]").bind(a, a[0]))
    >>> name, compute(a, a[0]).shape
    ('numpy.add', (2, 3))
    """
    (out, *others), used = h.outputs, sorted(h.scalar.used_parameters())
    dims = [d for d in [index.dim() for index in out.accesses[0]] if d is not None]
    if others or h.finish or h.scalar.text or len(h.dims("cc")) < h.rank or sorted(dims) != list(range(h.rank)):
        return None
    accesses = [h.accesses[p] for p in used]
    found = [_aligned(h.inputs[n], h.inputs[n].accesses[a], dims, h.extents, True) for n, a in accesses]
    aligned = [each for each in found if each is not None]
    if len(aligned) < len(found):
        return None
    indices = [np.arange(n).reshape([n if e == d else 1 for e in dims]) for d, n in enumerate(h.extents)]
    grid, shapes = indices if h.scalar.used_indices() else [], [shape for _, shape in aligned]
    name, whole = _elementwise(h.scalar, grid)
    shape = np.broadcast_shapes((), *shapes, *[grid[d].shape for d in h.scalar.used_indices()])
    if shape == out.shape and not grid and out.element_bytes >= LARGE:
        whole = _in_blocks(whole, h.scalar, shapes, out)
    compute, views = whole, [(n, view) for (n, _), (view, _) in zip(accesses, aligned, strict=True)]
    if views != [(n, _itself) for n in range(len(h.inputs))]:
        compute = lambda *arrays: whole(*[view(arrays[n]) for n, view in views])  # noqa: E731
    if shape != out.shape:  # the same along dimensions that nothing moves with
        return name, lambda *arrays: np.array(np.broadcast_to(compute(*arrays), out.shape), order="C"), h.points
    return name, compute, passes(h.scalar) * h.points // _FAST


def _elementwise(function: Function, grid: Sequence[Any] = ()) -> tuple[str, Compute]:
    """Return NumPy's functions for a scalar function of one result: their name, and what computes without warnings.

    Takes an array for each parameter that is used, in order.
    """
    used, (last,), live = sorted(function.used_parameters()), function.results, function.live()
    final = {a: n for n in live for a in function.body[n].args}
    parameters: list[list[int]] = [[] for _ in used]
    constants, steps = {}, []
    for n in live:
        step = function.body[n]
        if step.op == "param":
            parameters[used.index(step.position)].append(n)
        elif step.op in ("const", "index"):
            constants[n] = evaluate_step(step, (), (), grid)
        else:
            done = [a for a in {*step.args} if final[a] == n]
            steps.append((n, _of_arrays(step, [function.body[a].dtype for a in step.args]), step.args, done))
    new = function.body[last].op not in ("param", "real", "imag")  # whose values may be views

    def compute(*arrays: Any) -> Any:
        values = {**constants, **{n: a for a, at in zip(arrays, parameters, strict=True) for n in at}}
        for n, each, args, done in steps:
            values[n] = each(*[values[a] for a in args])
            for a in done:  # so that its memory, which is in the caches, is the next one's
                del values[a]
        return np.array(values[last], order="C", copy=None if new else True)

    ops = [function.body[n].op for n in live]
    working = [op for op in ops if op not in ("param", "const", "index", "cast")]
    names = working or ["astype" if "cast" in ops else "copy"]
    direct = len(steps) == 1 and [[a] for a in steps[0][2]] == parameters and isinstance(steps[0][1], np.ufunc)
    best: Compute = partial(steps[0][1], order="C") if direct else compute
    if not _SILENT.issuperset(ops):
        best = np.errstate(all="ignore")(best)
    return (f"numpy.{names[0]}" if len(names) == 1 else f"numpy: {function}"), best


def _of_arrays(step: Instruction, args: Sequence[np.dtype[Any]]) -> Compute:
    """Return what computes an instruction of arrays of such types: the ufunc that gives its type, if one does."""
    ufunc = getattr(np, step.op, None)
    if isinstance(ufunc, np.ufunc) and (step.op, step.dtype.kind) not in (("power", "i"), ("expm1", "c")):
        with suppress(TypeError):  # of types that are converted before
            if ufunc.resolve_dtypes((*args, None)) == (*args, step.dtype):
                return ufunc
    return lambda *values: evaluate_step(step, values, (), ())


def _in_blocks(compute: Compute, function: Function, shapes: Sequence[tuple[int, ...]], out: View) -> Compute:
    """Have a scalar function computed block by block; operands have such shapes, which broadcast to the result's."""
    most = _BLOCK // max([function.body[n].dtype.itemsize for n in function.live()])
    make = maker([(out.shape, out.dtype)])
    # Operands may lack axes in front, and have one element along others.
    moves = [[(d, n > 1) for d, n in enumerate(shape, len(out.shape) - len(shape))] for shape in shapes]

    def in_blocks(*views: Any) -> Any:
        (result,) = make()
        for place in _places(out.shape, most):
            cut = [tuple([place[d] if along else slice(None) for d, along in axes]) for axes in moves]
            result[place] = compute(*[v[where] for v, where in zip(views, cut, strict=True)])
        return result

    return in_blocks


def _places(shape: tuple[int, ...], most: int) -> Iterator[tuple[slice, ...]]:
    """Cut an array into blocks of about so many elements at most, as they lie in memory.

    Examples
    --------
    >>> [[f"{s.start}:{s.stop}" for s in place[:2]] for place in _places((2, 3, 4), 10)]
    [['0:1', '0:2'], ['0:1', '2:3'], ['1:2', '0:2'], ['1:2', '2:3']]
    """
    axis = next(d for d in range(len(shape)) if prod(shape[d + 1 :]) <= most)
    size, rest = shape[axis], (slice(None),) * (len(shape) - axis - 1)
    step = -(-size // -(-size // max(most // prod(shape[axis + 1 :]), 1)))
    for outer in product(*[range(n) for n in shape[:axis]]):
        for start in range(0, size, step):
            yield (*[slice(n, n + 1) for n in outer], slice(start, min(start + step, size)), *rest)


def reduction_by_ufunc(h: MdHom) -> ByUfuncs | None:
    """Return the reduction or scan of NumPy's that computes an MDH; None where there is none.

    What the scalar function gives is an array as large as the largest operand, unless it only converts; one ufunc
    combines it, or `argmax` and its like say where an extreme is.

    Examples
    --------
    >>> import mdhnp
    >>> a = np.array([[1, 5], [7, 3]])
    >>> largest = mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc, "j": mdhnp.pw("max")}, "A[i,j] -> O[i]").bind(a)
    >>> name, compute, _ = reduction_by_ufunc(largest)
    >>> compute(a)
    array([5, 7])
    """
    dims = tuple([d for d, c in enumerate(h.combine) if c.kind != "cc"])
    if len({h.combine[d] for d in dims}) != 1 or len(h.outputs) != 1 or 0 in h.extents:
        return None
    if h.combine[dims[0]].kind == "ps" and (after := _after_identity(h, dims[0])) is not None:
        return after
    order, shape = range(h.rank), h.outputs[0].shape
    found = [_aligned(v, v.accesses[0], order, h.extents, False) if len(v.accesses) == 1 else None for v in h.inputs]
    aligned = [each for each in found if each is not None]
    kept = [d for i in h.outputs[0].accesses[0] for d in i.dims()]
    if len(aligned) < len(found) or kept != sorted(kept) or max([prod(shape) for _, shape in aligned]) < h.points:
        return None
    which = next((w for w in _WHICH if _is_place(h, w, dims)), None)
    if which is None:
        return _reduced(h, dims, aligned)
    (view, _), function = aligned[0], np.argmax if which == "max" else np.argmin
    return f"numpy.arg{which}", lambda a: _shaped(function(view(a), dims[0]), shape), h.points


def _reduced(h: MdHom, dims: tuple[int, ...], aligned: Sequence[_Aligned]) -> ByUfuncs | None:
    """Return what reduces or scans by a ufunc."""
    finish, ufunc, scans = h.finish, _operator(h), h.combine[dims[0]].kind == "ps"
    if ufunc is None or (scans and len(dims) > 1):
        return None
    (last,), dtype, shape = h.scalar.results, h.scalar.dtypes[0], h.outputs[0].shape
    if h.scalar.body[last].op == "cast" and dtype.char != "e":  # a ufunc converts as it reads
        mapped = replace(h.scalar, results=h.scalar.body[last].args)
    else:
        mapped = h.scalar
    whole = any([prod(aligned[p][1]) == h.points for p in mapped.used_parameters()])
    if not whole or any([f is not None and (f.text is not None or f.used_indices()) for f in (mapped, finish)]):
        return None
    values, after = _of_parameters(mapped), None if finish is None else _of_parameters(finish)
    inner = None if ufunc in (np.logical_and, np.logical_or) else np.float32 if dtype.char == "e" else dtype
    wide = finish is not None and not scans and any([h.inputs[p - 1].shape for p in finish.used_parameters() if p])
    if scans:
        combine: Compute = partial(ufunc.accumulate, axis=dims[0], dtype=inner)
    elif ufunc is np.add and (mapped.dtypes[0].char, dtype.char) == ("?", "l") and len(dims) == h.rank:
        combine = np.count_nonzero
    else:
        combine = partial(ufunc.reduce, axis=dims, dtype=inner, keepdims=wide)

    def compute(*arrays: Any) -> Any:
        views = [view(a) for (view, _), a in zip(aligned, arrays, strict=True)]
        total = combine(values(*views))
        if inner is np.float32:
            total = total.astype(dtype)
        return _shaped(total if after is None else after(total, *(views if wide or scans else arrays)), shape)

    name = f"numpy.{ufunc.__name__}.{'accumulate' if scans else 'reduce'}"
    return name, compute, h.points * (_SCAN if scans else passes(mapped)) // _FAST


def _of_parameters(f: Function) -> Compute:
    """Return what computes a function of arrays for all its parameters, used or not; of one of them itself nothing."""
    result = f.body[f.results[0]]
    if result.op == "param":
        return lambda *given: given[result.position]
    used, (_, compute) = sorted(f.used_parameters()), _elementwise(f)
    return lambda *given: compute(*[given[p] for p in used])


def _operator(h: MdHom) -> np.ufunc | None:
    """Return NumPy's ufunc behind the only operator, if it is one."""
    op, (dtype, *others) = h.operator, h.scalar.dtypes
    assert op is not None
    if dtype.kind == "c":  # whose order an operator has to spell out
        found = [op == extreme(which, dtype).operator for which in _WHICH]
        if any(found):
            return np.maximum if found[0] else np.minimum
    return None if others else _REDUCTIONS.get(op.ufuncs[0])


def _shaped(found: Any, shape: tuple[int, ...]) -> Any:
    """Return a C-contiguous array of a shape; a scalar where it has no axes."""
    return np.ascontiguousarray(found).reshape(shape) if shape else np.asarray(found).reshape(())[()]


def _is_place(h: MdHom, which: Which, dims: tuple[int, ...]) -> bool:
    """Whether an MDH gives the first place of an extreme of its only input along its only reduced dimension."""
    f, finish, op = h.scalar, h.finish, h.operator
    if len(h.inputs) != 1 or len(dims) != 1 or len(f.results) != 2 or finish is None or op is None:
        return False
    value, place, stored = f.body[f.results[0]], f.body[f.results[1]], finish.body[finish.results[0]]
    steps = value.op, place.op, place.position, stored.op, stored.position
    return steps == ("param", "index", dims[0], "param", 1) and op == first_extreme(which, value.dtype).operator


def _after_identity(h: MdHom, dim: int) -> ByUfuncs | None:
    """Return a scan whose first point is the identity, which stands before the first element."""
    (view, *others), op, rank = h.inputs, h.operator, h.rank
    before = tuple([Affine.of(d, rank, -(d == dim)) for d in range(rank)])
    extents = tuple([n - (d == dim) for d, n in enumerate(h.extents)])
    if others or view.boundary != "constant" or view.accesses != (before,) or h.finish or extents != view.shape:
        return None
    first = h.scalar.evaluate([literal_value(view.fill, view.dtype)])[0]
    if op is None or op.identity is None or first != literal_value(op.identity[0], h.scalar.dtypes[0]):
        return None
    plain = replace(view, boundary=None, accesses=(tuple([Affine.of(d, rank) for d in range(rank)]),))
    output = contiguous("O0", h.outputs[0].dtype, extents, tuple(range(rank)))
    rest = reduction_by_ufunc(replace(h, extents=extents, inputs=(plain,), outputs=(output,)))
    if rest is None:
        return None
    (name, scan, walked), start = rest, np.full([1 if d == dim else n for d, n in enumerate(extents)], first)
    return name, lambda a: np.concatenate([start, scan(a)], dim), walked


def row_sums(view: View, labels: str, output: str) -> Compute | None:
    """Return sums of floats over all but the output's axes, where an einsum would add too many in a row; else None.

    They are as exact as those of NumPy's reductions, in half of the time.
    """
    outer, row = len(labels), 1
    while outer and labels[outer - 1] not in output and view.strides[outer - 1] == row:
        outer -= 1
        row *= view.shape[outer]
    order = "".join([n for n in labels if n in output])
    if view.dtype.char not in "fd" or row < _LONG or order != output or len({*labels}) < len(labels):
        return None
    kept, others = view.shape[:outer], tuple([d for d in range(outer) if labels[d] not in output])
    whole = row // _ROW * _ROW

    def compute(a: Any) -> Any:
        a = a.reshape((*kept, row))
        rows = einsum("...a->...", a[..., :whole].reshape((*kept, -1, _ROW)))
        return np.add.reduce(rows, (*others, outer)) + np.add.reduce(einsum("...a->...", a[..., whole:]), others)

    return compute
