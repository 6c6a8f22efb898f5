"""Maps, reductions and scans by NumPy's ufuncs, on views of the inputs that have the MDH's dimensions for axes.

Takes MDHs, gives functions of their inputs. It must not know devices.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import Context
from dataclasses import replace
from functools import partial
from itertools import takewhile
from math import prod
from typing import Any, cast

import numpy as np

from mdhnp.cost import passes
from mdhnp.mdh import Function, Instruction, MdHom, View
from mdhnp.mdh.combine import Extreme, extreme, first_extreme
from mdhnp.mdh.function import evaluate_step, integer_power, literal_value
from mdhnp.mdh.views import broadcast_shapes
from mdhnp.runtime.results import maker

Compute = Callable[..., Any]

# `np.einsum` itself takes as long to call this as this takes for small arrays.
einsum: Compute = getattr(np._core.multiarray, "c_einsum", np.einsum)  # type: ignore[attr-defined]

#: Common operations that do not warn of single values, or only where results are too large for floats.
_SILENT = frozenset(
    """param const index add subtract multiply square negative positive absolute sign maximum minimum equal not_equal
    less less_equal greater greater_equal logical_and logical_or logical_not where isnan conjugate
    """.split()  # noqa: SIM905
)
#: Operations that take the truth of any values.
_LOGICAL = ("logical_and", "logical_or", "logical_xor", "logical_not")
#: Operations whose results may be views.
_VIEWS = ("param", "real", "imag")
#: Points of a sum that take as long as one of an einsum, and as one of a scan.
FAST, _SCAN = 4, 32
#: Bytes of a map's result from which on it is computed block by block, since malloc does not keep memory of this size:
#: that takes half of the time. Bytes of a block: a few of them fit a core's second cache.
LARGE, _BLOCK = 32 << 20, 1 << 19
#: Bytes of a temporary from which on a ufunc's result takes its place, as in NumPy's own expressions.
_IN_PLACE = 1 << 18
#: Elements that an einsum adds in a row, to lose no more by rounding than NumPy's sums do; from how many elements in
#: all such rows take half as long as these. Of fewer elements, an einsum takes half as long as a ufunc to begin.
ROW, MANY = 512, 1 << 14

_EXTREMES: dict[Extreme, np.ufunc] = {"max": np.maximum, "min": np.minimum}
_REDUCTIONS: dict[str, np.ufunc] = {
    f.__name__: f for f in (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or)
}


def suits_einsum(h: MdHom, text: str) -> bool:
    """Whether an einsum, or BLAS, is to compute what ufuncs may be able to, too.

    Ufuncs begin anew with every row that they sum, and with every row of an outer product: einsums of rows of 8 take a
    quarter of their time, sums along other axes than the last ones two thirds, outer products of integers half (but not
    where these are so large that ufuncs compute block by block; and einsums add to 0, so that -0.0 becomes 0.0).
    """
    dtype, dims, result = h.outputs[0].dtype, h.dims("pw"), h.outputs[0].element_bytes
    if not dims:
        outer = len(h.inputs) == 2 and max([v.element_bytes for v in h.inputs]) < result < LARGE
        return outer and dtype.kind in "iu" and {v.dtype for v in h.inputs} == {dtype}
    if "," in text or h.points < MANY:
        return True
    # Einsums add complex numbers one after the other. Along other axes ufuncs add one after the other, too.
    kept, read = text.partition("->")[2], h.inputs[0]
    axes = sorted(zip(map(abs, read.strides), read.shape, text, strict=False))
    row = prod([size for _, size, _ in takewhile(lambda axis: axis[2] not in kept, axes)])
    return row <= (ROW // 8 if dtype.kind == "c" else ROW)


def grouped(labels: str, groups: Sequence[Sequence[str]], extents: Mapping[str, int]) -> tuple[Compute | None, int]:
    """Return what gives an array an axis for each group of labels, None if it has, and how many elements it copies."""
    axes = tuple([labels.index(n) for group in groups for n in group])
    shape = tuple([prod([extents[n] for n in group]) for group in groups])
    copied = any(["".join(group) not in labels for group in groups])
    if axes != tuple(range(len(axes))):
        return (lambda x: x.transpose(axes).reshape(shape)), copied * prod(shape)
    if all([len(group) == 1 for group in groups]):
        return None, 0
    return (lambda x: x.reshape(shape)), copied * prod(shape)


def by_ufuncs(h: MdHom) -> tuple[str, Compute, int] | None:
    """Return a map, a reduction, a scan along one dimension, or the first place of an extreme, by NumPy's ufuncs.

    That is a name for people, what computes, and how many points of an einsum take as long. None where an index is no
    dimension, or where what is combined would be larger than the operands.
    """
    kept = [index.dim() for index in h.outputs[0].accesses[0] if index.dims()]
    dims = [d for d in kept if d is not None] + list(h.dims("pw"))
    if sorted(dims) != list(range(h.rank)) or h.calls_text:
        return None
    if kept == sorted(dims[: len(kept)]):
        dims.sort()  # as operands mostly have them
    place, last = _place_of(h), h.scalar.body[h.scalar.results[0]]
    scalar, finish, count = h.scalar, None if place else h.finish, len(h.scalar.results)
    if place is not None:
        scalar = replace(scalar, results=scalar.results[:1])
    elif h.operator is not None and count == 1 and last.op == "cast" and last.dtype.char != "e":
        scalar = replace(scalar, results=last.args)  # a ufunc converts as it reads
    read = scalar.used_parameters() | {p - count for p in (finish.used_parameters() if finish else ()) if p >= count}
    aligned = {p: _aligned(h, h.inputs[h.accesses[p][0]], h.accesses[p][1], dims) for p in read}
    shapes = [each[1] for p, each in aligned.items() if each and p in scalar.used_parameters()]
    shapes += [tuple([h.extents[d] if d == e else 1 for e in dims]) for d in scalar.used_indices()]
    full, shape = tuple([h.extents[d] for d in dims]), h.outputs[0].shape
    combined = _combination(h, scalar, dims, place, keepdims=finish is not None)
    if None in aligned.values() or combined is None or (h.operator is not None and full not in shapes):
        return None
    name, combine = combined
    small = h.points * max([v.dtype.itemsize for v in (*h.inputs, *h.outputs)]) < _IN_PLACE
    if combine is _count and small:
        scalar = replace(scalar, results=(_before_truth(scalar, scalar.results[0]),))
    values = _evaluator(scalar, h.extents, dims, small)
    ending, final = None if finish is None else _evaluator(finish, h.extents, dims, small), finish or scalar
    copy = True if (finish or combine is None) and final.body[final.results[0]].op in _VIEWS else None
    if combine is None and broadcast_shapes(*shapes) != full:  # the same along what nothing moves with
        combine, copy = partial(np.broadcast_to, shape=full), True
    elif h.operator is None and not scalar.used_indices() and h.outputs[0].element_bytes >= LARGE:
        values, copy = _in_blocks(values, full, h.outputs[0].dtype), None
    views = [(n, known[0] if (known := aligned.get(p)) else None) for p, (n, _) in enumerate(h.accesses)]
    plain = views == [(n, None) for n in range(len(h.inputs))]

    def compute(*arrays: Any) -> Any:
        given = arrays if plain else [arrays[n] if view is None else view(arrays[n]) for n, view in views]
        found = values(*given)
        if combine is not None:
            found = combine(found)
        if ending is not None:
            found = ending(found, *given)
        found = np.array(found, order="C", copy=copy)
        if found.shape != shape:
            found = found.reshape(shape)
        return found if shape else found[()]

    natural = full if h.dims("ps") else tuple([h.extents[d] for d in kept if d is not None])
    itself = len(h.accesses) == 1 and scalar.body[scalar.results[0]].op == "param"
    best: Compute = compute
    ordered = isinstance(values, partial) or (small and final.body[final.results[0]].op not in _VIEWS)
    # Operands all of which lack axes of one element give a result without them.
    complete = any([len(h.inputs[n].accesses[access]) == len(dims) for n, access in h.accesses])
    if copy and itself and combine is ending is None and full == shape and (turned := views[0][1]):
        best = lambda a: turned(a).copy()  # noqa: E731
    elif plain and combine is ending is None and ordered and full == shape and complete:
        best = values
    elif plain and combine and ending and small and final.body[final.results[0]].op not in _VIEWS:
        best = lambda *arrays: ending(combine(values(*arrays)), *arrays).reshape(shape)  # noqa: E731
    elif plain and itself and h.operator and combine and ending is None and natural == shape and len(shape) < 2:
        best = combine  # whose result is contiguous, or a scalar
    silent = [f.body[n].op in _SILENT for f in (scalar, final) for n in f.live()]
    walked = h.points * (_SCAN if h.dims("ps") else passes(scalar)) // FAST
    return name, best if all(silent) else silenced(best), walked


#: Where NumPy does not warn: to enter a copy takes less time than `np.errstate`.
_QUIET = Context()
_QUIET.run(lambda: np.seterr(all="ignore"))


def silenced(compute: Compute) -> Compute:
    """Have a function of NumPy's not warn."""
    return lambda *arrays: _QUIET.copy().run(compute, *arrays)


def _combination(
    h: MdHom, scalar: Function, dims: Sequence[int], place: Extreme | None, *, keepdims: bool
) -> tuple[str, Compute | None] | None:
    """Return a name, and what combines values of a scalar function whose axes are dimensions, if anything does."""
    axes, dtype = tuple([n for n, d in enumerate(dims) if h.combine[d].kind != "cc"]), h.scalar.dtypes[0]
    if h.operator is None:
        ops = [scalar.body[n].op for n in scalar.live()]
        working = [op for op in ops if op not in ("param", "const", "index", "cast")]
        names = working or ["astype" if "cast" in ops else "copy"]
        return (f"numpy.{names[0]}" if len(names) == 1 else f"numpy: {scalar}"), None
    if place is not None:
        return f"numpy.arg{place}", partial(getattr(np.ndarray, f"arg{place}"), axis=axes[0])
    ufunc, scans = _REDUCTIONS.get(h.operator.ufuncs[0]), h.dims("ps")
    if dtype.kind == "c":  # whose order an operator has to spell out
        ufunc = {extreme(w, dtype).operator: f for w, f in _EXTREMES.items()}.get(h.operator, ufunc)
    several = len({c for c in h.combine if c.kind != "cc"}) > 1 or (scans and len(axes) > 1)
    if ufunc is None or several or len(scalar.results) > 1 or 0 in h.extents:
        return None
    logical = ufunc in (np.logical_and, np.logical_or)  # which take any type
    options: dict[str, Any] = {"axis": axes[0] if scans else axes, "dtype": None if logical else dtype}
    if dtype.char == "e":
        options["dtype"] = np.float32
    if scans:
        combine: Compute = partial(ufunc.accumulate, **options)
    elif ufunc is np.add and (scalar.dtypes[0].char, dtype.char, len(axes)) == ("?", "l", h.rank) and not keepdims:
        return "numpy.count_nonzero", _count
    elif ufunc is np.add and dtype.char in "fd" and axes == tuple(range(axes[0], h.rank)) and h.points >= MANY:
        combine = partial(_sum_of_rows, keepdims=keepdims, **options)
    else:
        reduce: Compute = ufunc.reduce
        combine = partial(reduce, keepdims=keepdims, **options)
    name = f"numpy.{ufunc.__name__}.{'accumulate' if scans else 'reduce'}"
    return name, combine if dtype.char != "e" else lambda values: combine(values).astype(dtype)


def _count(a: Any) -> Any:
    return np.intp(np.count_nonzero(a))


def _sum_of_rows(a: Any, axis: tuple[int, ...], dtype: np.dtype[Any], keepdims: bool) -> Any:
    """Sum floats along the last axes: as exactly as NumPy's reductions do, in half of the time."""
    kept, reduce = a.shape[: axis[0]], cast(Compute, np.add.reduce)
    rows = a.reshape((*kept, -1)) if a.flags.c_contiguous else a
    if a.dtype != dtype or not a.flags.c_contiguous or rows.shape[-1] < ROW:
        return reduce(a, axis, dtype, keepdims=keepdims)
    whole = rows.shape[-1] // ROW * ROW
    total = reduce(einsum("...a->...", rows[..., :whole].reshape((*kept, -1, ROW))), -1)
    total = total + reduce(rows[..., whole:], -1)
    return total.reshape((*kept, *[1 for _ in axis])) if keepdims else total


def _place_of(h: MdHom) -> Extreme | None:
    """Return of which extreme of its only input an MDH gives the first place along its only reduced dimension."""
    f, finish, dims = h.scalar, h.finish, h.dims("pw")
    if len(h.inputs) != 1 or len(dims) != 1 or len(f.results) != 2 or finish is None:
        return None
    value, place, stored = (
        f.body[f.results[0]],
        _before_casts(f, f.results[1]),
        _before_casts(finish, finish.results[0]),
    )
    steps = value.op, place.op, place.position, stored.op, stored.position
    if steps != ("param", "index", dims[0], "param", 1):
        return None
    return next((w for w in _EXTREMES if h.operator == first_extreme(w, *f.dtypes).operator), None)


def _before_casts(f: Function, n: int) -> Instruction:
    """Return the value of a function of integers that another one of its values is, as another type."""
    step = f.body[n]
    return _before_casts(f, step.args[0]) if step.op == "cast" else step


def _before_truth(f: Function, n: int) -> int:
    """Return the value that another one of a function is the truth of, for what takes the truth of any."""
    step = f.body[n]
    return _before_truth(f, step.args[0]) if (step.op, step.dtype.kind) == ("cast", "b") else n


def _aligned(h: MdHom, view: View, access: int, dims: Sequence[int]) -> tuple[Compute | None, tuple[int, ...]] | None:
    """Return what gives a view with axes for dimensions, None for the array itself, and its shape.

    None where there is no such view, since an index is neither a number nor a dimension, maybe shifted.
    """
    indices = view.accesses[access]
    moved = [replace(index, constant=0).dim() for index in indices if index.dims()]
    shape = tuple([h.extents[d] if d in moved else 1 for d in dims])
    scanned = [h.combine[d].kind == "ps" for d in dims]
    if view.boundary == "constant" and any(scanned) and moved == dims and [-i.constant for i in indices] == scanned:
        axis, wall = scanned.index(True), literal_value(view.fill, view.dtype)  # which stands before all others
        first = np.full([1 if d == axis else n for d, n in enumerate(shape)], wall)
        exclusive = view.shape == tuple([n - s for n, s in zip(shape, scanned, strict=True)])
        return ((lambda a: np.concatenate([first, a], axis)), shape) if exclusive else None
    if view.boundary is not None or None in moved or len({*moved}) < len(moved):
        return None
    missing = len(dims) - len(indices)  # axes in front, as NumPy allows where it broadcasts
    if (missing == 0 or (missing > 0 and h.operator is None)) and all([
        (index.dim() == d and size == h.extents[d]) or (size == 1 and not index.dims())
        for index, d, size in zip(indices, dims[missing:], view.shape, strict=True)
    ]):  # fmt: skip
        return None, shape
    ranges = [slice(i.constant, i.constant + h.extents[i.dims()[0]]) if i.dims() else i.constant for i in indices]
    axes = tuple(sorted(range(len(moved)), key=lambda n: dims.index(moved[n])))
    spread = (*[slice(None) if d in moved else None for d in dims], ...)  # without axes a view, too, no scalar
    if view.shape == tuple([h.extents[d] for d in moved if d is not None]):
        ordered = moved == [d for d in dims if d in moved]
        return (lambda a: a[spread]) if ordered else (lambda a: a.transpose(axes)[spread]), shape
    return (lambda a: a[(*ranges, ...)].transpose(axes)[spread]), shape


def _evaluator(f: Function, extents: Sequence[int], dims: Sequence[int], small: bool) -> Compute:
    """Return NumPy's functions for a scalar function of one result, on arrays, one a parameter.

    The result is in C order where it is `small`.
    """
    body = [
        replace(step, args=tuple([_before_truth(f, a) for a in step.args])) if step.op in _LOGICAL else step
        for step in f.body
    ]
    f = replace(f, body=tuple(body))
    (last,), live = f.results, f.live()
    final = {a: n for n in live for a in f.body[n].args}
    grid = [np.arange(n).reshape([n if d == e else 1 for e in dims]) for d, n in enumerate(extents)]
    given = {n: f.body[n].position for n in live if f.body[n].op == "param"}
    fixed = {n: evaluate_step(f.body[n], (), (), grid) for n in live if f.body[n].op in ("const", "index")}
    steps = [
        (n, _function_of(f, n), f.body[n].args, [a for a in {*f.body[n].args} if final[a] == n])
        for n in live
        if n not in given and n not in fixed
    ]

    own = {n for n, each, _, _ in steps if isinstance(each, np.ufunc)}
    # For each ufunc the temporary of its type that goes with it.
    places = {
        n: a for n in own for a in f.body[n].args if a in own and final[a] == n and f.body[a].dtype == f.body[n].dtype
    }

    def compute(*arrays: Any) -> Any:
        values = {**fixed, **{n: arrays[p] for n, p in given.items()}}
        for n, each, args, done in steps:
            known, place = [values[a] for a in args], values.get(places.get(n, -1))
            if place is None or place.nbytes < _IN_PLACE or any([np.shape(v) not in ((), place.shape) for v in known]):
                values[n] = each(*known)
            else:
                values[n] = each(*known, out=place)
            for a in done:  # so that its memory, which is in the caches, is the next one's
                del values[a]
        return values[last]

    if not steps and last in given:
        return lambda *arrays: arrays[given[last]]
    only = steps[0][1] if len(steps) == 1 and [given.get(a) for a in steps[0][2]] == [*range(len(given))] else None
    if isinstance(only, np.ufunc) and len(given) == len(f.parameters):
        return partial(only, order="C")
    called = [(n, each, args) for n, each, args, _ in steps]
    return _written(called, given, fixed, len(f.parameters)) if small and steps else compute


def _written(
    steps: Sequence[tuple[int, Compute, Sequence[int]]], given: Mapping[int, int], fixed: Mapping[int, Any], count: int
) -> Compute:
    """Return what computes steps one after the other, without a loop, of which the last one is in C order.

    Steps are the number of their value, a function, and the numbers of its operands; `given` are those of parameters.
    """
    names = {n: f"x{p}" for n, p in given.items()} | {n: f"c{n}" for n in fixed} | {n: f"v{n}" for n, _, _ in steps}
    lines = [f"v{n} = f{n}({', '.join([names[a] for a in args])})" for n, _, args in steps]
    last, each, _ = steps[-1]
    if isinstance(each, np.ufunc):
        lines[-1] = f"{lines[-1][:-1]}, order='C')"
    else:
        lines.append(f"v{last} = asarray(v{last}, order='C')")
    text = "\n    ".join([f"def compute({', '.join([f'x{p}' for p in range(count)])}):", *lines, f"return v{last}"])
    scope: dict[str, Any] = {f"c{n}": value for n, value in fixed.items()} | {f"f{n}": each for n, each, _ in steps}
    scope["asarray"] = np.asarray
    exec(text, scope)
    return cast(Compute, scope["compute"])


def _function_of(f: Function, n: int) -> Compute:
    """Return what computes an instruction of arrays: the ufunc that gives its type, if one does."""
    step = f.body[n]
    ufunc, types = getattr(np, step.op, None), tuple([f.body[a].dtype for a in step.args])
    if step.op == "where" and types[1:] == (step.dtype,) * 2:
        return np.where
    if (step.op, step.dtype.kind) == ("power", "i"):
        return integer_power
    if isinstance(ufunc, np.ufunc) and (step.op, step.dtype.kind) != ("expm1", "c"):
        with suppress(TypeError):  # of types that are converted before
            if ufunc.resolve_dtypes((*types, None)) == (*types, step.dtype):
                return ufunc
    return lambda *values: evaluate_step(step, values, (), ())


def _in_blocks(values: Compute, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Compute:
    """Have a map computed by so many rows at a time that what a ufunc gives is in the caches for the next one."""
    make, rows = maker([(shape, dtype)]), max(_BLOCK * shape[0] // (prod(shape) * dtype.itemsize), 1)

    def in_blocks(*views: Any) -> Any:
        (result,) = make()
        moving = [v.ndim == len(shape) and len(v) > 1 for v in views]
        for n in range(0, shape[0], rows):
            part = slice(n, n + rows)
            result[part] = values(*[v[part] if moves else v for v, moves in zip(views, moving, strict=True)])
        return result

    return in_blocks
