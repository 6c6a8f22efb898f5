"""Whether an MDH has a meaning: its parts fit, operators mix, accesses stay inside, results are written once."""

from typing import TYPE_CHECKING, get_args

from mdhnp.mdh.views import Indirect, Slice, View
from mdhnp.settings import Level

if TYPE_CHECKING:
    from mdhnp.mdh.mdhom import MdHom


def check(h: "MdHom") -> None:
    """Raise ValueError, TypeError or IndexError, as :class:`~mdhnp.mdh.mdhom.MdHom` says, where it has none."""
    _check_counts(h)
    _check_operators(h)
    _check_slices(h)
    _check_sources(h)
    for view in (*h.inputs, *h.outputs):
        _check_bounds(h, view)
    for view in h.outputs:
        _check_written_once(h, view)


def _check_counts(h: "MdHom") -> None:
    if len(h.combine) != h.rank or len(h.names) != h.rank:
        raise ValueError(f"combine: {len(h.combine)} operators and {len(h.names)} names for {h.rank} extents")
    for function in (h.scalar, *([h.finish] if h.finish is not None else [])):
        if max(function.used_indices(), default=-1) >= h.rank:
            raise IndexError(f"index: {max(function.used_indices())} is none of {h.rank} dimensions, numbered from 0")
    if h.precision not in get_args(Level):
        raise ValueError(f"precision: {h.precision!r} is none of {', '.join(map(repr, get_args(Level)))}")
    if any(n < 0 for n in h.extents):
        raise ValueError(f"extents: {h.extents} has a negative one")
    parameters = tuple(h.inputs[n].dtype for n, _ in h.accesses)
    if h.scalar.parameters != parameters:
        raise ValueError(f"scalar: takes {h.scalar.parameters}, the inputs' accesses give {parameters}")
    final = h.scalar
    if h.finish is not None:
        if h.finish.parameters != (*h.scalar.dtypes, *parameters):
            raise ValueError("finish: must take the results and then every access of the inputs")
        final = h.finish
        for p in h.finish.used_parameters():
            if p >= len(h.scalar.results):
                n, a = h.accesses[p - len(h.scalar.results)]
                for index in h.inputs[n].accesses[a]:
                    if index not in h.places and any(h.combine[d].kind == "pw" for d in index.dims()):
                        raise ValueError(f"finish: {h.inputs[n].name} moves with a reduced dimension")
    if final.dtypes != tuple(v.dtype for v in h.outputs):
        raise ValueError(
            f"outputs: types {[v.dtype.name for v in h.outputs]} for results {[t.name for t in final.dtypes]}"
        )
    for view in (*h.inputs, *h.outputs):
        for access in view.accesses:
            if len(access) != len(view.shape) or len(view.strides) != len(view.shape):
                raise ValueError(f"{view.name}: {len(access)} indices for an array of {len(view.shape)} axes")
            if any([len(index.coefficients) != h.rank for index in access]):
                raise ValueError(f"{view.name}: an index does not have one coefficient for each of {h.rank} dimensions")
    if any(len(view.accesses) != 1 for view in h.outputs):
        raise ValueError("outputs: each is written through one access")


def _check_operators(h: "MdHom") -> None:
    kinds = {c.operator for c in h.combine if c.operator is not None}
    results = h.scalar.dtypes
    for op in kinds:
        if op.function.parameters != (*results, *results) or op.function.dtypes != results:
            raise ValueError(
                f"combine: operator {op.name} does not combine results of types {[t.name for t in results]}"
            )
    if len(kinds) > 1 and not h.nested:
        shown = ", ".join(sorted({op.name for op in kinds}))
        raise ValueError(
            f"combine: {shown} are mixed, which is no homomorphism unless they distribute over each other; "
            "pass nested=True to fix the order of combination by nesting, last dimension first"
        )


def _check_slices(h: "MdHom") -> None:
    """Check that text walks over all slices, by itself: an address and a step are all that it is given."""
    asked = () if h.finish is None else [p - len(h.scalar.results) for p in h.finish.used_parameters()]
    for number, (n, a) in enumerate(h.accesses):
        view = h.inputs[n]
        for stride, index in zip(view.strides, view.accesses[a], strict=True):
            if not isinstance(index, Slice):
                continue
            if not h.scalar.texts or number in asked:
                raise ValueError(f"{view.name}: only a scalar function of OpenCL C text takes slices; combine by pw")
            if view.boundary is not None:
                raise ValueError(f"{view.name}: slices have no boundary mode")
            if max(index.length, abs(stride) * index.length) >= 2**31:
                raise ValueError(f"{view.name}: a slice of {index.length} elements, {abs(stride)} apart, is too long")


def _check_sources(h: "MdHom") -> None:
    """Check that indices are elements of arrays of whole numbers, in the end of such as are indexed without others."""
    for s in h.segments:
        if h.combine[s.dim].kind != "pw":
            raise ValueError(f"segments: {h.names[s.dim]} is no reduced dimension")
        behind = [d for d in h.combined if d > s.dim]
        if behind and (h.operator is None or not h.operator.commutative):
            inner, outer = h.names[behind[0]], h.names[s.dim]
            raise ValueError(
                f"combine: {inner} is combined before {outer}, whose points are those of segments, by another operator "
                f"or one that does not commute; put {inner} before {outer} where that is meant, or reduce it by itself"
            )
        view = h.inputs[s.source]
        if view.dtype.kind not in "iu":
            raise TypeError(f"{view.name}: offsets must be integers, not {view.dtype.name}")
        if len(h.segmented(s)) > 1:
            raise ValueError(f"segments: {view.name} is read by several dimensions, not by one")
        if view.indirect or view.boundary is not None or any([h.combine[d].kind != "cc" for d in h.segmented(s)]):
            raise ValueError(f"segments: {view.name} is not read where points of concatenated dimensions are")
    if h.scatters:
        _check_scattered(h)
    asked = () if h.finish is None else [p - len(h.scalar.results) for p in h.finish.used_parameters()]
    for parameter, (n, a) in enumerate(h.accesses):
        view = h.inputs[n]
        for axis, index in enumerate(view.accesses[a]):
            if not isinstance(index, Indirect):
                continue
            if parameter in asked and index not in h.places:
                raise ValueError(f"finish: {view.name} is read where an element of another array says")
            _check_source(h, view, index, n)
            if index.trusted and (view.boundary is not None or any(index.coefficients) or index.constant):
                raise ValueError(f"{view.name}: an index that is trusted is an element, with nothing added, as it is")
            if index.length != view.shape[axis]:
                raise ValueError(f"{view.name}: an index of {index.length} elements along axis {axis}, of another one")


def _check_scattered(h: "MdHom") -> None:
    """Check that each output has the same element of an array for one index, of which others are combined."""
    every = [(v, axis, i) for v in h.outputs for axis, i in enumerate(v.accesses[0]) if isinstance(i, Indirect)]
    view, _, index = every[0]
    if len(every) != len(h.outputs) or any([i != index for _, _, i in every]):
        raise ValueError("outputs: each must have the same element of an array for one of its indices")
    if any(index.coefficients) or index.constant:
        raise ValueError(f"{view.name}: an element of an array is an index of an output as it is")
    if any([i.length != v.shape[axis] for v, axis, i in every]):
        raise ValueError(f"{view.name}: an index of {index.length} elements, along an axis of others")
    _check_source(h, view, index, -1)
    number, access = index.source
    source = h.inputs[number]
    dims = [i.dim() for i in source.accesses[access]]
    walked = [None if d is None else h.extents[d] for d in dims]
    if not dims or source.indirect or len({*dims}) != len(dims) or walked != [*source.shape]:
        raise ValueError(f"{source.name}: an array that says where results go is indexed by dimensions as they are")
    if h.nested or h.segments or h.dims("ps") or any([h.combine[d].kind != "pw" for d in dims if d is not None]):
        raise ValueError(f"outputs: what {source.name} says where to put is reduced, and nothing scanned or nested")
    if h.operator is not None and h.operator.identity is None:
        raise ValueError(f"combine: {h.operator.name} has no identity, for elements of {view.name} that get nothing")
    if any([d in f.used_indices() for d in dims for f in (h.scalar, h.finish) if f is not None]):
        raise ValueError(f"index: of dimensions that move {source.name}, which are sorted by it, there is none")


def _check_source(h: "MdHom", view: View, index: Indirect, reader: int) -> None:
    number, access = index.source
    if not (0 <= number < len(h.inputs) and 0 <= access < len(h.inputs[number].accesses)):
        raise ValueError(f"{view.name}: an index is an element of input {number}, access {access}, which there is not")
    source = h.inputs[number]
    if source.dtype.kind not in "iu":
        raise TypeError(f"{source.name}: indices must be integers, not {source.dtype.name}")
    if source.boundary is not None or source.slices:
        raise ValueError(f"{source.name}: an array of indices has no boundary mode and no slices")
    moving = {d for i in source.accesses[access] for d in i.dims()}
    if index.through != tuple([d in moving for d in range(h.rank)]):
        raise ValueError(f"{view.name}: an index moves with other dimensions than the element of {source.name} does")
    inner = [i for i in source.accesses[access] if isinstance(i, Indirect)]
    if any([i.source[0] == reader for i in inner]):
        raise ValueError(f"{view.name}: its indices are elements that it says itself where to read")


def _check_bounds(h: "MdHom", view: View) -> None:
    if 0 in h.extents:
        return
    for access in view.accesses:
        for axis, index in enumerate(access):
            if isinstance(index, Indirect):
                continue  # known when elements are: `indices.py`
            dim = index.dim()
            if dim is not None and h.extents[dim] <= view.shape[axis]:
                continue  # as most are
            low, high = index.span(h.extents)
            if view.boundary is not None:
                if low < -(2**62) or high >= 2**62:
                    raise IndexError(
                        f"{view.name}: index {index.show(h.names)} runs over {low}..{high}, beyond 62 bits"
                    )
            elif low < 0 or high >= view.shape[axis]:
                raise IndexError(
                    f"{view.name}: index {index.show(h.names)} runs over {low}..{high}, "
                    f"axis {axis} has {view.shape[axis]} elements"
                )


def _check_written_once(h: "MdHom", view: View) -> None:
    """Check for a bijection from the kept dimensions' points to the elements: mixed-radix coefficients, no gaps."""
    kept = [d for d in range(h.rank) if h.combine[d].kind != "pw"]
    used: set[int] = set()
    for axis, index in enumerate(view.accesses[0]):
        if isinstance(index, Indirect):
            continue
        expected = 1
        steps = {d: abs(index.coefficients[d]) for d in index.dims() if h.extents[d] != 1}
        for d in sorted(steps, key=steps.__getitem__):
            if h.combine[d].kind == "pw" or d in used or steps[d] != expected:
                raise ValueError(f"{view.name}: index {index.show(h.names)} does not write each element once")
            used.add(d)
            expected *= h.extents[d]
        if 0 not in h.extents and expected != view.shape[axis]:
            raise ValueError(
                f"{view.name}: axis {axis} has {view.shape[axis]} elements, {index.show(h.names)} writes {expected}"
            )
    missing = [h.names[d] for d in kept if d not in used and h.extents[d] > 1]
    if missing:
        raise ValueError(
            f"{view.name}: does not depend on {', '.join(missing)}, so its elements would be written several times"
        )
