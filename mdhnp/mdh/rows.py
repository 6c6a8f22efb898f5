"""Rows: MDHs one after the other that are computed as one, some rows of the last one's results at a time.

A row is what all of them compute for one index of the dimensions that all of them have: of a matrix's softmax, what a
row's maximum is, what its exponentials are, their sum, the results. What all but the last one give of the rows is
needed nowhere else, and is never in memory as a whole. It must not know devices.

Source: Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness", which computes a
softmax and the product that reads it so; the tiles are those of the other MDHs here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mdhnp.mdh.fused import Fused, given_views, is_one_kernel
from mdhnp.mdh.graph import Graph, Step
from mdhnp.mdh.mdhom import MdHom, dimension_names, packed
from mdhnp.mdh.regions import Part, Region, part_of
from mdhnp.mdh.views import View

__all__ = ["Rows", "along", "is_product", "rows", "sized"]


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
    last = len(graph.steps) - 1
    if last < 1 or graph != Graph.ending(graph.given, graph.steps) or (shared := _aligned(graph)) is None:
        return None
    if all([not s.mdhom.last.dims("pw") for s in graph.steps]):
        return None
    views = given_views(graph)
    if views is None:
        return None
    # The first MDH that reads it may have more dimensions than the last one: what it reads outside is its own business.
    inputs = [replace(v, name=f"I{p}", boundary=None) for p, v in enumerate(views)]
    h = graph.steps[last].mdhom
    outputs = tuple([replace(v, name=f"O{o}") for o, v in enumerate(h.outputs)])
    named = Graph(graph.given, tuple([_named(graph, n) for n in range(last + 1)]), graph.results)
    return Rows(named, h.extents, tuple(inputs), outputs, shared)


def _is_link(graph: Graph, step: Step) -> bool:
    """Whether a step may be one of rows: it is computed by one kernel."""
    h = step.mdhom.last
    operators = {c.operator for c in h.combine if c.operator is not None}
    if not is_one_kernel(step.mdhom) or h.dims("ps") or len(operators) > 1:
        return False
    read = [(graph.view(p), v) for p, v in zip(step.inputs, h.inputs, strict=True) if p in graph.made_by]
    return all([v.shape == made.shape and v.boundary is None for made, v in read])


def _aligned(graph: Graph) -> tuple[tuple[int, ...], ...] | None:
    """Give of each step of a graph the dimensions that all have; None where there are none, or some can be no rows."""
    last, count = graph.steps[-1].mdhom.last, len(graph.steps)
    each = [along(graph, count - 1, d) for d in last.dims("cc") if last.extents[d] > 1]
    found = [tuple([dims[n] for n in range(count)]) for dims in each if len(dims) == count]
    return tuple(zip(*found, strict=True)) if found else None


def along(graph: Graph, last: int, dim: int) -> dict[int, int]:
    """Give the steps that a step needs, and nothing else does, along whose dimensions its own goes on, with these."""
    found = {last: dim} if _is_link(graph, graph.steps[last]) else {}
    for n in reversed(range(last)):
        own = graph.values(n)
        readers = {m for p in own for m in graph.readers(p)}
        if readers and readers <= found.keys() and not {*own} & {*graph.results} and _is_link(graph, graph.steps[n]):
            dims = {
                _before(graph, p, view, found[m])
                for m in readers
                for p, view in zip(graph.steps[m].inputs, graph.steps[m].mdhom.inputs, strict=True)
                if p in own
            }
            one = dims.pop() if len(dims) == 1 else None
            if one is not None and graph.steps[n].mdhom.extents[one] == graph.steps[last].mdhom.extents[dim]:
                found[n] = one
    return found


def is_product(h: MdHom, along: Sequence[int]) -> bool:
    """Whether an MDH reduces what it reads again for other results of the same row, as a product of matrices does."""
    reduced = [v for v in h.inputs if any(map(v.depends_on, h.dims("pw")))]
    others = [d for d in h.dims("cc") if d not in along and h.extents[d] > 1]
    return any([not v.depends_on(d) for v in reduced for d in others])


def _before(graph: Graph, value: int, view: View, dim: int) -> int | None:
    """The dimension of what makes a value whose index is that of a reader's dimension, everywhere; None for none."""
    axes = {tuple([a for a, i in enumerate(access) if dim in i.dims()]) for access in view.accesses}
    if len(axes) != 1 or len(axis := axes.pop()) != 1 or any([a[axis[0]].dim() is None for a in view.accesses]):
        return None
    return graph.view(value).accesses[0][axis[0]].dim()


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
    steps = [
        Step(_between(part.mdhom.last, step, graph.given), step.inputs)
        for step, part in zip(graph.steps, pieces, strict=True)
    ]
    made = rows(Graph(graph.given, tuple(steps), graph.results))
    if made is None:
        raise error
    return Part(made, tuple([regions[p] for p in range(graph.given)]), pieces[-1].outputs)


def _between(h: MdHom, step: Step, given: int) -> MdHom:
    """Give a part of a link; what links leave to each other is C-contiguous, whatever it is a part of."""
    each = zip(step.inputs, h.inputs, packed(h.inputs), strict=True)
    inputs = tuple([v if p < given else plain for p, v, plain in each])
    return replace(h, inputs=inputs, outputs=packed(h.outputs))


def _named(graph: Graph, n: int) -> Step:
    """A step with names of its own for all views and dimensions: they stand in one kernel with the others'."""
    h, values = graph.mdhom(n), graph.steps[n].inputs
    inputs = [replace(v, name=f"m{n}I{k}") for k, v in enumerate(h.inputs)]
    outputs = [replace(v, name=f"m{n}O{o}") for o, v in enumerate(h.outputs)]
    dims = tuple([f"m{n}{name}" for name in dimension_names(h.rank)])
    return Step(replace(h, inputs=tuple(inputs), outputs=tuple(outputs), names=dims), values)


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
