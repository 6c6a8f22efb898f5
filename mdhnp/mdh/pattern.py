"""Write an MDH down by hand: `md_hom` makes a pattern, binding it to arrays makes an :class:`MdHom`.

The views are given in the papers' notation, ``"A[i,k], B[k,j] -> C[i,j]"``; extents come from the arrays.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.mdh.combine import Combine, CombineSpec
from mdhnp.mdh.ctext import returned_type
from mdhnp.mdh.function import Function
from mdhnp.mdh.laws import Source
from mdhnp.mdh.mdhom import Computation, MdHom, Segment
from mdhnp.mdh.notation import Buffer, buffers, sources
from mdhnp.mdh.trace import trace, trace_text
from mdhnp.mdh.views import BOUNDARIES, Access, Affine, Indirect, Slice, View, row_major

#: The scalar function, the combine operators and `finish` for some types of parameters.
_Traced = tuple[Function, tuple[Combine, ...], Function | None]


@dataclass(frozen=True)
class Pattern:
    """An MDH before it meets arrays: call :meth:`bind` with arrays (or their shapes' stand-ins) to get an MdHom.

    Python functions are traced once for each combination of parameter types, so that what they compute stays the same.
    """

    scalar: Any
    combine: tuple[tuple[str, CombineSpec], ...]
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    finish: Any
    boundary: tuple[tuple[str, str], ...]
    results: tuple[np.dtype[Any], ...] | None
    nested: bool
    segments: tuple[Segment, ...] = ()
    _known: dict[tuple[np.dtype[Any], ...], _Traced] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def bind(self, *arrays: npt.ArrayLike, **extents: int) -> MdHom:
        """Fill in types, shapes and strides of one array an input, in the order of the views.

        `extents` are those of dimensions that the arrays' shapes do not fix. Raises ValueError if an array has the
        wrong number of axes, shapes disagree about an extent, or one cannot be found; TypeError if one is no whole
        number, or a function cannot be traced.
        """
        given = [np.asarray(a) for a in arrays]
        if len(given) != len(self.inputs):
            raise ValueError(f"{len(given)} arrays given, {len(self.inputs)} inputs in the views")
        names = tuple(n for n, _ in self.combine)
        views = []
        for buffer, array in zip(self.inputs, given, strict=True):
            if (indices := {len(access) for access in buffer.accesses}) != {array.ndim}:
                count = (indices - {array.ndim}).pop()
                raise ValueError(f"{buffer.name}: array of {array.ndim} axes, {count} are needed")
            accesses = tuple([_whole(access, array.shape) for access in buffer.accesses])
            views.append(array_view(buffer.name, array, accesses, dict(self.boundary).get(buffer.name)))
        known, count = whole_extents(extents), 0
        if (to := self._scattered) is not None and (count := known.pop(to, -1)) < 0:
            raise ValueError(f"extents: how many results {to} says where to put is not known; pass it as {to}=10")
        sizes = _extents(names, views, known)
        scalar, combine, finish = self._traced(tuple(v.dtype for v in views for _ in v.accesses))
        dtypes = (finish or scalar).dtypes
        if len(dtypes) != len(self.outputs):
            raise ValueError(f"{len(dtypes)} results for {len(self.outputs)} outputs in the views")
        outputs = []
        for buffer, dtype in zip(self.outputs, dtypes, strict=True):
            (access,) = buffer.accesses
            access = tuple([replace(i, length=count) if isinstance(i, Indirect) else i for i in access])
            shape = tuple([_length(i, sizes) for i in access])
            outputs.append(View(buffer.name, dtype, shape, row_major(shape), 0, (access,)))
        return MdHom(
            sizes, combine, scalar, tuple(views), tuple(outputs), finish, names, self.nested, segments=self.segments
        )

    @property
    def _scattered(self) -> str | None:
        """The input whose elements say where results go."""
        indices = [i for buffer in self.outputs for i in buffer.accesses[0] if isinstance(i, Indirect)]
        return self.inputs[indices[0].source[0]].name if indices else None

    def _traced(self, parameters: tuple[np.dtype[Any], ...]) -> _Traced:
        if parameters not in self._known:
            given = [n < buffer.given for buffer in self.inputs for n in range(len(buffer.accesses))]
            accesses = [access for buffer in self.inputs for access in buffer.accesses]
            slices = [sum([isinstance(index, Slice) for index in access]) for access in accesses]
            scalar = self._function(self.scalar, parameters, "scalar", given, slices)
            combine = self._operators(scalar)
            finish = None
            if self.finish is not None:
                first = scalar.dtypes
                finish = self._function(self.finish, (*first, *parameters), "finish", [*[True] * len(first), *given])
            # Where two threads trace at once, the first one's result is kept by both.
            self._known.setdefault(parameters, (scalar, combine, finish))
        return self._known[parameters]

    def _operators(self, scalar: Function) -> tuple[Combine, ...]:
        """The operators on the scalar function's results, from the last dimension to the first as they are applied."""
        kept = frozenset(d for d, (_, spec) in enumerate(self.combine) if spec.kind == "cc")
        accesses = [access for buffer in self.inputs for access in buffer.accesses]
        fixed = frozenset(p for p, access in enumerate(accesses) if all(kept.issuperset(i.dims()) for i in access))
        found: list[Combine] = []
        before: dict[Function, None] = {}
        for _, spec in reversed(self.combine):
            combine = spec.resolve(scalar.dtypes, Source(scalar, fixed, kept, tuple(before)))
            if combine.operator is not None and not combine.operator.function.texts:
                before[combine.operator.function] = None
            found.append(combine)
        return tuple(reversed(found))

    def _function(
        self, given: Any, parameters: Sequence[np.dtype[Any]], what: str, takes: Sequence[bool],
        slices: Sequence[int] = (),
    ) -> Function:  # fmt: skip
        """A function of all accesses, of which the user's takes some."""
        if not all(takes):
            if isinstance(given, str):
                raise ValueError(f"{what}: OpenCL C text reads no elements that another array names; use a function")
            place = [p for p, taken in enumerate(takes) if taken]
            found = trace(given, [parameters[p] for p in place], None, what)
            return found.substituted(parameters, lambda s: replace(s, position=place[s.position]))
        if isinstance(given, str):
            known = returned_type(given)
            results = self.results or (() if known is None else (known,))
            if not results:
                raise ValueError(f"{what}: results, the types that OpenCL C text returns, must be given")
            return trace_text(given, parameters, results, slices=slices)
        return trace(given, parameters, None, what)


def md_hom(
    scalar: Callable[..., Any] | str,
    combine: Mapping[str, CombineSpec],
    views: str,
    *,
    finish: Callable[..., Any] | None = None,
    boundary: Mapping[str, str] | None = None,
    results: Sequence[npt.DTypeLike] | npt.DTypeLike | None = None,
    nested: bool = False,
    segments: Mapping[str, str] | None = None,
) -> Pattern:
    """Make the :class:`Pattern` of an MDH; parameters and errors are those of :func:`mdhnp.md_hom`.

    Examples
    --------
    >>> import numpy as np
    >>> gemm = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]")
    >>> print(gemm.bind(np.ones((2, 3)), np.ones((3, 4))))
    md_hom(*, (++, ++, +)) ∘ (A[i,k], B[k,j]) -> C[i,j]
    """
    for argument, given, fits, takes in (
        ("scalar", scalar, callable(scalar) or isinstance(scalar, str), "a function of values, or OpenCL C text"),
        ("combine", combine, isinstance(combine, Mapping), "operators by dimension, as in {'i': cc, 'k': pw('add')}"),
        ("views", views, isinstance(views, str), "text such as 'A[i,k], B[k,j] -> C[i,j]'"),
        ("boundary", boundary, isinstance(boundary, Mapping | None), "modes by input, as in {'A': 'nearest'}"),
        ("segments", segments, isinstance(segments, Mapping | None), "text by dimension: {'k': 'at[i]:at[i+1]'}"),
    ):
        if not fits:
            raise TypeError(f"{argument}: takes {takes}, not {given!r:.80}")
    for name, spec in combine.items():
        if not isinstance(spec, CombineSpec):
            raise TypeError(f"combine: {spec!r} for {name} is no combine operator; use cc, pw(...) or ps(...)")
        if not (isinstance(name, str) and name.isidentifier()):
            raise ValueError(f"combine: {name!r} is no name for a dimension; use one such as 'i'")
    names = tuple(combine)
    left, arrow, right = views.partition("->")
    if not arrow:
        raise ValueError("views: write 'inputs -> outputs', as in 'A[i,k], B[k,j] -> C[i,j]'")
    ends = [_ends(name, text, names) for name, text in (segments or {}).items()]
    inputs = buffers(left, names, [*[end for both in ends for end in both], *sources(right)])
    outputs = _written(right, names, inputs)
    written = [index for buffer in outputs for access in buffer.accesses for index in access]
    if any([isinstance(index, Slice) for index in written]):
        raise ValueError(f"views: {right.strip()!r} has a slice; a point writes one element of an output")
    for name, mode in (boundary or {}).items():
        if name not in (known := [buffer.name for buffer in inputs]):
            raise ValueError(f"boundary: {name!r} is none of the inputs {', '.join(known)}")
        if mode not in BOUNDARIES:
            raise ValueError(f"boundary: {mode!r} for {name} is none of {', '.join(BOUNDARIES)}")
    types: tuple[np.dtype[Any], ...] | None = None
    if results is not None:
        types = tuple(np.dtype(t) for t in (results if isinstance(results, list | tuple) else (results,)))
    return Pattern(
        scalar, tuple(combine.items()), inputs, outputs, finish,
        tuple((boundary or {}).items()), types, nested, _segments(inputs, names, segments or {}, ends),
    )  # fmt: skip


def _written(text: str, names: tuple[str, ...], inputs: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """The outputs, of which elements of inputs may be indices."""
    every = buffers(text, names)
    place = {buffer.name: n for n, buffer in enumerate(inputs)}

    def of_input(index: Affine) -> Affine:
        if not isinstance(index, Indirect):
            return index
        number, access = index.source
        known = inputs[place[every[number].name]]
        at = known.accesses.index(every[number].accesses[access], known.given)
        return replace(index, source=(place[known.name], at))

    if any([b.given and len(b.accesses) > b.given for b in every]):
        raise ValueError(f"views: {text.strip()!r} reads where to write of an array that is written")
    if clash := [b.name for b in every if not b.given and b.name in names]:
        raise ValueError(f"views: {clash[0]} says where to write, and is a dimension, too; give it another name")
    return tuple([b._replace(accesses=tuple([tuple(map(of_input, a)) for a in b.accesses])) for b in every if b.given])


def _length(index: Affine, sizes: Sequence[int]) -> int:
    """Elements along an axis of an output."""
    if isinstance(index, Indirect):
        return index.length
    return max(index.span(sizes)[1] + 1, 0) if 0 not in sizes else prod([sizes[d] for d in index.dims()])


def _ends(name: str, text: str, names: tuple[str, ...]) -> tuple[str, str]:
    """Both accesses of ``begin[i]:end[i]``."""
    begin, colon, end = str(text).partition(":")
    if name not in names:
        raise ValueError(f"segments: {name!r} is none of the dimensions {', '.join(names)}")
    if not colon or "[" not in begin or "[" not in end:
        raise ValueError(f"segments: {text!r} is no pair of elements such as 'offsets[i]:offsets[i+1]'")
    return begin.strip(), end.strip()


def _segments(
    inputs: Sequence[Buffer], names: tuple[str, ...], segments: Mapping[str, str], ends: Sequence[tuple[str, str]]
) -> tuple[Segment, ...]:
    found = []
    for name, (begin, end) in zip(segments, ends, strict=True):
        (first,), (last,) = buffers(begin, names), buffers(end, names)
        if first.name != last.name:
            raise ValueError(f"segments: {begin} and {end} are of two arrays")
        number = next(n for n, buffer in enumerate(inputs) if buffer.name == first.name)
        known = inputs[number].accesses[inputs[number].given :]
        places = tuple([inputs[number].given + known.index(each.accesses[0]) for each in (first, last)])
        found.append(Segment(names.index(name), number, (places[0], places[1])))
    return tuple(found)


def array_view(
    name: str, array: npt.NDArray[Any], accesses: tuple[Access, ...], boundary: str | None = None, fill: str = "0"
) -> View:
    """Describe an array as it lies in memory; its strides must be whole elements."""
    size = max(array.itemsize, 1)
    strides = tuple([s // size for s in array.strides])
    offset = sum([-s * (n - 1) for s, n in zip(strides, array.shape, strict=True) if s < 0 and n > 0])
    return View(name, array.dtype, array.shape, strides, offset, accesses, boundary, fill)


def as_lying(h: Computation, arrays: Sequence[npt.NDArray[Any]]) -> Computation:
    """The same on arrays of these shapes as they lie in memory."""
    each = zip(h.inputs, arrays, strict=True)
    return h.relaid([array_view(v.name, a, v.accesses, v.boundary, v.fill) for v, a in each])


def whole_extents(given: Mapping[str, Any]) -> dict[str, int]:
    """Give the extents passed by name as ints; raises TypeError for anything but whole numbers."""
    if not isinstance(given, Mapping):
        raise TypeError(f"extents: {given!r} is no mapping of names to whole numbers")
    found = {}
    for name, value in given.items():
        try:
            found[name] = operator.index(value)
        except TypeError:
            raise TypeError(f"extents: {name}={value!r} is no whole number") from None
        if abs(found[name]) >= 2**63:
            raise ValueError(f"extents: {name}={value!r} is beyond 64 bits")
    return found


def _whole(access: Access, shape: tuple[int, ...]) -> Access:
    """An access whose slices are as long as the array, and whose indices are of axes as long."""
    asked = zip(access, shape, strict=True)
    return tuple([replace(i, length=n) if isinstance(i, Slice | Indirect) else i for i, n in asked])


def _extents(names: tuple[str, ...], views: list[View], given: Mapping[str, int]) -> tuple[int, ...]:
    """Find each dimension's extent: as given, else the largest that keeps every index inside its axis."""
    known: dict[int, int] = {}
    for name, value in given.items():
        if name not in names:
            raise ValueError(f"extents: {name!r} is none of the dimensions {', '.join(names)}")
        known[names.index(name)] = value
    every = [(v, axis, i) for v in views for access in v.accesses for axis, i in enumerate(access)]
    indices = [(v, axis, i) for v, axis, i in every if not isinstance(i, Indirect)]
    alone: dict[int, int] = {}  # by axes that nothing but dimensions as they are index
    for v in views:
        for axis, size in enumerate(v.shape):
            dims = {None if isinstance(access[axis], Indirect) else access[axis].dim() for access in v.accesses}
            for d in () if None in dims else dims:
                if d is not None and d not in known and alone.setdefault(d, size) != size:
                    lengths = f"{size} elements, dimension {names[d]} has {alone[d]} elsewhere"
                    raise ValueError(f"{v.name}: axis {axis} has {lengths}")
    while True:
        found: dict[int, int] = {}
        beyond: dict[int, int] = {}  # by sums that may leave their array
        for v, axis, i in indices:
            unknown = [d for d in i.dims() if d not in known]
            if len(unknown) == 1 and i.coefficients[unknown[0]] > 0:
                d, coefficient = unknown[0], i.coefficients[unknown[0]]
                if v.boundary is not None:
                    # Indices may leave the array, so that its length decides, whatever is added.
                    size = -(-v.shape[axis] // coefficient)
                    if len(i.dims()) > 1:
                        beyond[d] = min(beyond.get(d, size), size)
                        continue
                else:
                    others = sum(max(c * (known[e] - 1), 0) for e, c in enumerate(i.coefficients) if c and e != d)
                    size = max((v.shape[axis] - 1 - i.constant - others) // coefficient + 1, 0)
                found[d] = min(found.get(d, size), size)
        # Plain indices decide before sums such as p+r, whose other part they fix.
        plain_dims = {i.dims()[0] for _, _, i in indices if len(i.dims()) == 1 and i.dims()[0] in found}
        found |= {d: min(found.get(d, n), n) for d, n in beyond.items() if d not in plain_dims}
        if not found:
            break
        known.update({d: n for d, n in found.items() if d in plain_dims} or found)
    missing = [names[d] for d in range(len(names)) if d not in known]
    if missing:
        raise ValueError(f"extents: cannot be found for {', '.join(missing)}; pass them by name")
    return tuple(known[d] for d in range(len(names)))
