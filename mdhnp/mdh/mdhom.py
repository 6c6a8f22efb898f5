"""Computation, what one step computes, and MdHom: one multi-dimensional homomorphism on given arrays.

``md_hom(f, (op_1, …, op_d)) ∘ views`` with extents, types and strides filled in (source: Rasch & Gorlatch,
"Multi-dimensional homomorphisms and their implementation in OpenCL", Definition 6; views as in Rasch, Schulze &
Gorlatch, "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms", Section V-C).
"""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field, replace
from math import prod
from typing import Any, NamedTuple, Self

import numpy as np

from mdhnp.documentation import exported
from mdhnp.mdh.check import check
from mdhnp.mdh.combine import Combine, Operator
from mdhnp.mdh.function import Function
from mdhnp.mdh.views import Indirect, View
from mdhnp.settings import Level


class Computation:
    """What one step computes: an MDH, or several that are fused (:class:`mdhnp.mdh.fused.Fused`)."""

    #: Points in each dimension of the MDH that gives the results.
    extents: tuple[int, ...]
    #: Of the arrays given, and of the results.
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    precision: Level

    @property
    def mdhoms(self) -> tuple["MdHom", ...]:
        """The MDHs that are computed, in order."""
        raise NotImplementedError

    @property
    def last(self) -> "MdHom":
        """The MDH that gives the results."""
        return self.mdhoms[-1]

    @property
    def loops(self) -> "MdHom":
        """The MDH whose loops over results are those of all, with names for people."""
        return replace(self.last, names=dimension_names(self.rank))

    @property
    def divisible(self) -> tuple[int, ...]:
        """Dimensions along which it may be cut (`cut.py`)."""
        return ()

    def relaid(self, inputs: Sequence[View]) -> Self:
        """The same on inputs that lie elsewhere in memory, as these views say."""
        raise NotImplementedError

    @property
    def rank(self) -> int:
        return len(self.extents)

    @property
    def points(self) -> int:
        """Applications of the scalar function that gives the results."""
        return prod(self.extents)

    @property
    def functions(self) -> tuple[Function, ...]:
        """All that is computed: of each MDH the scalar function, `finish`, the operators' functions."""
        return tuple([f for h in self.mdhoms for f in h.functions])

    @property
    def calls_text(self) -> bool:
        """Whether some function is OpenCL C text, which takes scalars and might fail on values that no array holds."""
        return any([bool(f.texts) for f in self.functions])

    @property
    def dtypes(self) -> frozenset[np.dtype[Any]]:
        """All types that are read, computed with and written."""
        views = {v.dtype for h in self.mdhoms for v in (*h.inputs, *h.outputs)}
        return frozenset(views.union(*({f.body[n].dtype for n in f.live()} for f in self.functions)))

    @property
    def wide(self) -> bool:
        """Whether some offset or index needs more than 32 bits."""
        reach = [v.offset + v.elements() for v in (*self.inputs, *self.outputs)]
        for view in self.inputs:
            if view.boundary is not None and view.indirect:
                return True  # elements may be any whole numbers
            if view.boundary is not None and 0 not in self.extents:
                reach += [abs(end) for access in view.accesses for i in access for end in i.span(self.extents)]
        return max(*reach, *self.extents, 0, 0) >= 2**31 - 2**16


class Segment(NamedTuple):
    """Of a reduced dimension the points that count: from an element of an array up to before another one's number."""

    dim: int
    #: The input, and which of its accesses give where points begin and end.
    source: int
    ends: tuple[int, int]
    #: Whether ends are not looked at in each call. Where one is outside of the dimension, its last end is meant.
    trusted: bool = False


@exported
@dataclass(frozen=True)
class MdHom(Computation):
    """A multi-dimensional homomorphism, ready to be scheduled.

    Attributes
    ----------
    extents : tuple of int
        Points in each dimension.
    combine : tuple of Combine
        One operator a dimension.
    scalar : Function
        From all accesses of all inputs, in order, to the results.
    inputs, outputs : tuple of View
        Outputs have one access each, one output a result, and are written once at each of their elements; but for
        those with elements of an input among their indices, where what belongs to an element is combined.
    finish : Function or None
        Applied once to each combined result before it is stored: from the results and then all accesses of all inputs
        (of which it may use those that do not move with a reduced dimension, but for an output's own index) to the
        outputs' values.
    names : tuple of str
        Dimensions as printed.
    nested : bool
        The order of combination is fixed by nesting, innermost (last) dimension first; needed where different
        operators are mixed.
    segments : tuple of Segment
        Reduced dimensions of which some points only count, which an array of offsets says.
    precision : {"highest", "default", "fixed"}
        What products of float32 are asked to be, at least: as exact as the type, or what matrix instructions give of
        three products of parts of the factors, or of factors rounded to 11 bits. "fixed" is as exact as the type, with
        every product rounded and floats combined in the one order that the MDH alone decides.

    Raises
    ------
    ValueError
        If ranks, counts or types disagree, an operator mix has no meaning without nesting, or outputs are not written
        exactly once; if slices are given to anything but OpenCL C text, or lie beyond 31 bits.
    IndexError
        If an access leaves its array and no boundary mode says what that means, or is beyond 62 bits; if a function
        uses the index in a dimension that there is not.

    Examples
    --------
    >>> import mdhnp
    >>> import numpy as np
    >>> dot = mdhnp.md_hom(np.multiply, {"k": mdhnp.pw("add")}, "x[k], y[k] -> z[]")
    >>> print(dot.bind(np.ones(3), np.ones(3)))
    md_hom(*, (+,)) ∘ (x[k], y[k]) -> z[]
    """

    extents: tuple[int, ...]
    combine: tuple[Combine, ...]
    scalar: Function
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    finish: Function | None = None
    names: tuple[str, ...] = field(default=(), compare=False)
    nested: bool = False
    precision: Level = field(default="highest", repr=False)
    #: Of reduced dimensions of which other points count for each point of the others: rows of entries.
    segments: tuple[Segment, ...] = field(default=(), repr=False)
    #: Of one whose parts fit by construction no checks are made: they take as long as all else that describes an
    #: einsum. The tests make them all the same.
    checked: InitVar[bool] = True

    def __post_init__(self, checked: bool) -> None:
        if not self.names:
            object.__setattr__(self, "names", tuple(f"i{d}" for d in range(self.rank)))
        if not checked:
            return
        check(self)

    @property
    def mdhoms(self) -> tuple["MdHom", ...]:
        return (self,)

    @property
    def loops(self) -> "MdHom":
        return self

    @property
    def divisible(self) -> tuple[int, ...]:
        kept = self.dims("cc") if self.scatters else range(self.rank)
        return tuple([d for d in kept if all(d != s.dim for s in self.segments)])

    def relaid(self, inputs: Sequence[View]) -> Self:
        return replace(self, inputs=tuple(inputs))

    def dims(self, kind: str) -> tuple[int, ...]:
        """Dimensions whose combine operator is of the kind."""
        return tuple([d for d, c in enumerate(self.combine) if c.kind == kind])

    @property
    def combined(self) -> tuple[int, ...]:
        """Reduced and scanned dimensions."""
        return tuple([d for d, c in enumerate(self.combine) if c.kind != "cc"])

    @property
    def accesses(self) -> tuple[tuple[int, int], ...]:
        """(input, access) of every parameter of the scalar function."""
        return tuple([(n, a) for n, view in enumerate(self.inputs) for a in range(len(view.accesses))])

    @property
    def index_sources(self) -> tuple[int, ...]:
        """Inputs whose elements are indices of other arrays, in order."""
        views = (*self.inputs, *self.outputs)
        indices = [i for v in views if v.indirect for access in v.accesses for i in access]
        found = {i.source[0] for i in indices if isinstance(i, Indirect)} | {s.source for s in self.segments}
        return tuple(sorted(found))

    @property
    def looked_at(self) -> tuple[int, ...]:
        """Those of them that are looked at in each call: no boundary mode says what any number means."""
        found = {i.source[0] for i, _, _ in self.bounded if not i.trusted}
        return tuple(sorted(found | {s.source for s in self.segments if not s.trusted}))

    @property
    def points(self) -> int:
        apart = {d for s in self.segments for d in self.segmented(s)}
        return prod([n for d, n in enumerate(self.extents) if d not in apart])

    @property
    def scatters(self) -> bool:
        """Whether elements of an input say where results go (`scatter.py`)."""
        return any([v.indirect for v in self.outputs])

    @property
    def bounded(self) -> list[tuple[Indirect, View, int]]:
        """Indices that elements say, where no boundary mode says what any number means, of which array and axis."""
        views = [(v, access) for v in (*self.outputs, *self.inputs) if v.boundary is None for access in v.accesses]
        return [(i, v, axis) for v, access in views for axis, i in enumerate(access) if isinstance(i, Indirect)]

    @property
    def places(self) -> frozenset[Indirect]:
        """Indices of outputs that elements of an input say; there is one at most."""
        return frozenset({i for v in self.outputs for i in v.accesses[0] if isinstance(i, Indirect)})

    def segmented(self, s: Segment) -> tuple[int, ...]:
        """Dimensions for whose points other points of a reduced one count."""
        view = self.inputs[s.source]
        return tuple(sorted({d for access in s.ends for i in view.accesses[access] for d in i.dims()}))

    @property
    def operator(self) -> Operator | None:
        """The operator of the reduced and scanned dimensions, if there is one."""
        return next((c.operator for c in self.combine if c.operator is not None), None)

    @property
    def combiner(self) -> Operator:
        """The operator of an MDH that is known to reduce or to scan."""
        assert self.operator is not None
        return self.operator

    @property
    def functions(self) -> tuple[Function, ...]:
        operators = dict.fromkeys(c.operator.function for c in self.combine if c.operator is not None)
        return (self.scalar, *([self.finish] if self.finish is not None else []), *operators)

    def __str__(self) -> str:
        operators = ", ".join(map(self._operator_shown, range(self.rank)))
        operators += "," if self.rank == 1 else ""
        inputs = ", ".join(v.show(self.names, self.inputs) for v in self.inputs)
        outputs = ", ".join(v.show(self.names, self.inputs) for v in self.outputs)
        scalar = {"x0 * x1": "*", "x0": "id"}.get(str(self.scalar), str(self.scalar))
        finish = f" >> {self.finish}" if self.finish is not None else ""
        return f"md_hom({scalar}, ({operators})) ∘ ({inputs}) -> {outputs}{finish}"

    def _operator_shown(self, d: int) -> str:
        s = next((s for s in self.segments if s.dim == d), None)
        if s is None:
            return str(self.combine[d])
        begin, end = (self.inputs[s.source].shown(access, self.names, self.inputs) for access in s.ends)
        return f"{self.combine[d]} {begin}:{end}"


def dimension_names(rank: int) -> tuple[str, ...]:
    """Name the dimensions of a canonical form, or of what else has no names of its own."""
    return tuple("ijklmnopqrstuv"[d] if d < 14 else f"i{d}" for d in range(rank))
