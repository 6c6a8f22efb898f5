"""Fused: MDHs that one kernel computes, some of the results at a time, so that what is between them stays in caches.

A fused step holds MDHs and is none: a homomorphism has one operator a dimension, this has several functions of several
operators. What all but the last one give is needed nowhere else, and is never in memory as a whole. Of two kinds:

A :class:`Chain` is maps, tile by tile of the last one's results: of each map a work-group computes what its tile
depends on, a region that overlaps with its neighbours'. This is overlapped tiling; with one stencil again and again,
temporal blocking (Hagedorn, Stoltzfus, Steuwer, Gorlatch & Dubach, "High Performance Stencil Code Generation with
Lift"; Krishnamoorthy et al., "Effective Automatic Parallelization of Stencil Computations").

:class:`Rows` are MDHs some rows of the last one's results at a time. A row is what all of them compute for one index of
the dimensions that all of them have: of a matrix's softmax, what a row's maximum is, what its exponentials are, their
sum, the results (Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness", which
computes a softmax and the product that reads it so; the tiles are those of the other MDHs here).

It must not know devices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from mdhnp.mdh.graph import Graph, Step
from mdhnp.mdh.interpret import interpret
from mdhnp.mdh.mdhom import Computation, MdHom, dimension_names
from mdhnp.mdh.regions import Part, Region, part_of
from mdhnp.mdh.views import View, in_place, numbered, packed

#: Boundary modes of what lies outside of an array and is a constant, or an element near its border.
_LOCAL_MODES = (None, "constant", "nearest", "reflect", "mirror")


@dataclass(frozen=True)
class Fused(Computation):
    """Several MDHs as one computation; its results are the last one's."""

    #: The MDHs. What all but the last one give is needed nowhere else.
    graph: Graph
    extents: tuple[int, ...]
    #: The arrays given, each as the first MDH sees it that reads it.
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]

    precision = "highest"

    @property
    def mdhoms(self) -> tuple[MdHom, ...]:
        return tuple([h for s in self.graph.steps for h in s.mdhom.mdhoms])

    def relaid(self, inputs: Sequence[View]) -> Self:
        known, steps = dict(enumerate(inputs)), []
        for s in self.graph.steps:
            pairs = [(v, known.get(p, v)) for p, v in s.reads]
            views = [replace(v, strides=new.strides, offset=new.offset) for v, new in pairs]
            steps.append(Step(s.mdhom.relaid(views), s.inputs))
        return replace(self, inputs=tuple(inputs), graph=replace(self.graph, steps=tuple(steps)))

    def __str__(self) -> str:
        shown = [str(h) for h in self.mdhoms]
        return " ; ".join(shown if len(shown) < 4 else [shown[0], f"… {len(shown) - 2} more …", shown[-1]])


def _gives_last(graph: Graph) -> bool:
    return len(graph.steps) > 1 and graph == Graph.ending(graph.given, graph.steps)


def _given_views(graph: Graph) -> tuple[View, ...] | None:
    """Give the first view of each array given; None where no step reads one, or some see it in another shape."""
    read = [(p, v) for s in graph.steps for p, v in s.reads if p < graph.given]
    alike = {(p, replace(v.array, boundary=None, fill="0")) for p, v in read}
    views = dict(reversed(read))
    return tuple([views[p] for p in range(graph.given)]) if len(views) == len(alike) == graph.given else None


def _is_one_kernel(h: Computation) -> bool:
    """Whether it is one MDH that may be one of several in a kernel, of values that are one each in kernels."""
    plain = len(h.mdhoms) == 1 and h.rank > 0 and 0 not in h.extents and not h.calls_text
    return plain and not any([t.kind == "c" for t in h.dtypes])


def unfused(h: Computation) -> Graph:
    """Give the graph of the MDHs that a step computes."""
    return h.graph if isinstance(h, Fused) else Graph.of(h)


@interpret.register
def _(h: Fused, *arrays: Any) -> Any:
    found = h.graph.interpret(*arrays)
    return found if len(found) > 1 else found[0]


class Chain(Fused):
    """Maps one after the other, with views of one name for each value, and no dimension's name twice."""


def chain(graph: Graph) -> Chain | None:
    """Make a chain of a graph; None where it is none.

    All steps are maps of as many dimensions, one for each axis of what they give. Each reads what others before it gave
    at constant distances from its own point, and beyond a border nothing far from it; or, along some axes, at the same
    places for all of its points, as all channels. Only what the last one gives is wanted.
    """
    if not _gives_last(graph) or not all([_is_near_map(graph, s) for s in graph.steps]):
        return None
    named = replace(graph, steps=tuple([_with_values_named(graph, n) for n in range(len(graph.steps))]))
    inputs, h = _given_views(named), named.steps[-1].mdhom
    return None if inputs is None else Chain(named, h.extents, inputs, h.outputs)


def _is_near_map(graph: Graph, step: Step) -> bool:
    """Whether a step is a map that may be one of a chain."""
    h, rank = step.mdhom.last, graph.steps[-1].mdhom.rank
    narrow = not h.wide and all([t.char != "e" for t in h.dtypes])
    if not narrow or not _is_one_kernel(step.mdhom) or h.rank != rank or len({*step.inputs}) < len(step.inputs):
        return False  # or some value is seen in two ways
    if any([c.kind != "cc" for c in h.combine]) or any([v.accesses[0] != in_place(rank) for v in h.outputs]):
        return False
    return all([_is_near(graph, p, v) for p, v in step.reads if p in graph.made_by])


def _is_near(graph: Graph, value: int, read: View) -> bool:
    """Whether all that is read of another map is at constant distances from the point, or at places inside."""
    if read.shape != graph.view(value).shape or read.boundary not in _LOCAL_MODES:
        return False
    indices = [(d, i) for access in read.accesses for d, i in enumerate(access)]
    return all([replace(i, constant=0).dim() == d if i.dims() else 0 <= i.constant < read.shape[d] for d, i in indices])


def _with_values_named(graph: Graph, n: int) -> Step:
    """A step whose views have one name for each value, and whose dimensions have names of their own."""
    h, values, last = graph.mdhom(n), graph.steps[n].inputs, n == len(graph.steps) - 1
    inputs = [replace(v, name=f"{'I' if p < graph.given else 'T'}{p}") for p, v in zip(values, h.inputs, strict=True)]
    outputs = numbered(h.outputs, "O") if last else [
        replace(v, name=f"T{p}") for p, v in zip(graph.values(n), h.outputs, strict=True)
    ]  # fmt: skip
    names = dimension_names(h.rank) if last else _dimensions(n, h)
    return Step(replace(h, inputs=tuple(inputs), outputs=tuple(outputs), names=names), values)


@dataclass(frozen=True)
class Rows(Fused):
    """MDHs one after the other, each with names of its own for its views and dimensions."""

    #: Of each MDH, the dimensions that all of them have, in the order of the last one's.
    shared: tuple[tuple[int, ...], ...]

    @property
    def divisible(self) -> tuple[int, ...]:
        """The dimensions that all MDHs have."""
        return self.shared[-1]


def rows(graph: Graph) -> Rows | None:
    """Make rows of a graph; None where it is none.

    Of what a step gives to others these read, for each point, nothing of other rows. Some step reduces: maps alone are
    a :func:`chain`, or one map. Only what the last step gives is wanted.
    """
    if not _gives_last(graph) or not any([s.mdhom.last.dims("pw") for s in graph.steps]):
        return None
    for link in [s.mdhom.last for s in graph.steps[:-1]]:
        copied = link.finish is None and all([link.scalar.body[n].op == "param" for n in link.scalar.results])
        if not copied and any([v.dtype.char == "e" for v in link.outputs]):
            return None  # others read from where it is kept what is not rounded to itself
    shared, views = _aligned(graph), _given_views(graph)
    if shared is None or views is None:
        return None
    # The first MDH that reads it may have more dimensions than the last one: what it reads outside is its own business.
    inputs = tuple([replace(v, boundary=None) for v in numbered(views, "I")])
    h = graph.steps[-1].mdhom
    named = replace(graph, steps=tuple([_named(s, n) for n, s in enumerate(graph.steps)]))
    return Rows(named, h.extents, inputs, numbered(h.outputs, "O"), shared)


def _is_link(graph: Graph, step: Step) -> bool:
    """Whether a step may be one of rows: it is computed by one kernel."""
    h = step.mdhom.last
    operators = {c.operator for c in h.combine if c.operator is not None}
    if not _is_one_kernel(step.mdhom) or h.dims("ps") or len(operators) > 1:
        return False
    read = [(graph.view(p), v) for p, v in step.reads if p in graph.made_by]
    return all([v.shape == written.shape and v.boundary is None for written, v in read])


def _aligned(graph: Graph) -> tuple[tuple[int, ...], ...] | None:
    """Give of each step of a graph the dimensions that all have; None where there are none, or some can be no rows."""
    last, count = graph.steps[-1].mdhom.last, len(graph.steps)
    followed = [along(graph, count - 1, d) for d in last.dims("cc") if last.extents[d] > 1]
    of_all = [tuple([dims[n] for n in range(count)]) for dims in followed if len(dims) == count]
    return tuple(zip(*of_all, strict=True)) if of_all else None


def along(graph: Graph, last: int, dim: int) -> dict[int, int]:
    """Give the steps that a step needs, and nothing else does, along whose dimensions its own goes on, with these."""
    followed = {last: dim} if _is_link(graph, graph.steps[last]) else {}
    for n in reversed(range(last)):
        own = graph.values(n)
        readers = graph.followers(n)
        if readers and readers <= followed.keys() and not {*own} & {*graph.results} and _is_link(graph, graph.steps[n]):
            dims = {_before(graph, p, v, followed[m]) for m in readers for p, v in graph.steps[m].reads if p in own}
            own_dim = dims.pop() if len(dims) == 1 else None
            if own_dim is not None and graph.steps[n].mdhom.extents[own_dim] == graph.steps[last].mdhom.extents[dim]:
                followed[n] = own_dim
    return followed


def is_product(h: MdHom, along: Sequence[int]) -> bool:
    """Whether an MDH reduces what it reads again for other results of the same row, as a product of matrices does."""
    reduced = [v for v in h.inputs if any(map(v.depends_on, h.dims("pw")))]
    others = [d for d in h.dims("cc") if d not in along and h.extents[d] > 1]
    return any([not v.depends_on(d) for v in reduced for d in others])


def _before(graph: Graph, value: int, view: View, dim: int) -> int | None:
    """The dimension of what makes a value whose index is that of a reader's dimension, everywhere; None for none."""
    axis = view.axis_along(dim)
    return None if axis is None else graph.view(value).accesses[0][axis].dim()


@part_of.register
def _(h: Rows, dim: int, begin: int, end: int) -> Part:
    """Rows of which each MDH is cut; of what is needed of a row only, nothing leaves the part that it is in.

    One row is none, nor is what reads other elements of one array in several of its MDHs, or asks for indices.
    """
    graph, place = h.graph, h.shared[-1].index(dim)
    pieces = [part_of(s.mdhom.last, dims[place], begin, end) for s, dims in zip(graph.steps, h.shared, strict=True)]
    error = ValueError(f"dim: {begin} to {end} of {dimension_names(h.rank)[dim]} are no rows; cut their `mdhoms`")
    regions: dict[int, Region] = {}
    for first, step, part in zip(graph.firsts, graph.steps, pieces, strict=True):
        pairs = zip(step.inputs, part.inputs, strict=True)
        if part.begin or any([regions.setdefault(p, region) != region for p, region in pairs]):
            raise error
        regions.update(zip(range(first, first + len(part.outputs)), part.outputs, strict=True))
    steps = []
    for step, part in zip(graph.steps, pieces, strict=True):
        link = part.mdhom.last
        # What links leave to each other is C-contiguous, whatever it is a part of.
        each = zip(step.inputs, link.inputs, packed(link.inputs), strict=True)
        inputs = tuple([v if p < graph.given else plain for p, v, plain in each])
        steps.append(Step(replace(link, inputs=inputs, outputs=packed(link.outputs)), step.inputs))
    made = rows(Graph(graph.given, tuple(steps), graph.results))
    if made is None:
        raise error
    return Part(made, tuple([regions[p] for p in range(graph.given)]), pieces[-1].outputs)


def _named(step: Step, n: int) -> Step:
    """A step with names of its own for all views and dimensions: they stand in one kernel with the others'."""
    h = step.mdhom.last
    inputs, outputs = numbered(h.inputs, f"m{n}I"), numbered(h.outputs, f"m{n}O")
    return Step(replace(h, inputs=inputs, outputs=outputs, names=_dimensions(n, h)), step.inputs)


def _dimensions(n: int, h: MdHom) -> tuple[str, ...]:
    """Names whose number is not at the end, where those of other variables are in kernels."""
    return tuple([f"m{n}{name}" for name in dimension_names(h.rank)])


def sized(h: MdHom, along: Sequence[int], points: Sequence[int]) -> MdHom:
    """Give an MDH of so many points along some of its dimensions, at the beginning of the arrays."""
    extents = list(h.extents)
    for d, count in zip(along, points, strict=True):
        extents[d] = count

    def cut(view: View) -> View:
        if view.boundary is not None:
            return view
        moved = [any([d in i.dims() for d in along for i in axis]) for axis in zip(*view.accesses, strict=True)]
        ends = [max([i.span(extents)[1] for i in axis]) + 1 for axis in zip(*view.accesses, strict=True)]
        return replace(view, shape=tuple([e if m else n for m, e, n in zip(moved, ends, view.shape, strict=True)]))

    inputs, outputs = tuple(map(cut, h.inputs)), tuple(map(cut, h.outputs))
    return replace(h, extents=tuple(extents), inputs=inputs, outputs=outputs)
