"""Chain: maps one after the other that are computed as one, tile by tile of the last one's results.

What all but the last one give is needed nowhere else, and is never in memory as a whole: of each map a work-group
computes what its tile depends on, a region that overlaps with its neighbours'. This is overlapped tiling; with one
stencil again and again, temporal blocking. It must not know devices.

Source: Hagedorn, Stoltzfus, Steuwer, Gorlatch & Dubach, "High Performance Stencil Code Generation with Lift", whose
tiles overlap; Krishnamoorthy et al., "Effective Automatic Parallelization of Stencil Computations".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mdhnp.mdh.function import Function
from mdhnp.mdh.graph import Graph, Step
from mdhnp.mdh.interpret import interpret
from mdhnp.mdh.mdhom import MdHom, dimension_names
from mdhnp.mdh.views import Affine, View

__all__ = ["Chain", "chain", "given_view", "relaid"]

#: What lies outside of an array and is a constant, or an element near its border.
_NEAR = (None, "constant", "nearest", "reflect", "mirror")
_NONE = Graph(0, (), ())


@dataclass(frozen=True)
class Chain(MdHom):
    """Maps one after the other, as one MDH: its results are the last one's, its inputs what all of them are given.

    Attributes
    ----------
    graph : Graph
        The maps, with views of one name for each value, and no dimension's name twice. As an MDH, a chain is the last
        one; only its inputs are not, each of which is as the first map sees it that reads it.
    """

    graph: Graph = _NONE

    def __post_init__(self) -> None:
        """Its maps were checked, and how they fit by :func:`chain`."""

    @property
    def links(self) -> tuple[MdHom, ...]:
        """All of them, in order."""
        return tuple([s.mdhom for s in self.graph.steps])

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions of all maps."""
        return tuple([f for h in self.links for f in h.functions])

    @property
    def dtypes(self) -> frozenset[np.dtype[Any]]:
        """All types that maps read, compute with and write."""
        return frozenset().union(*[h.dtypes for h in self.links])

    def __str__(self) -> str:
        shown = [str(h) for h in self.links]
        return " ; ".join(shown if len(shown) < 4 else [shown[0], f"… {len(shown) - 2} more …", shown[-1]])


def chain(graph: Graph) -> Chain | None:
    """Make a chain of a graph; None where it is none.

    All steps are maps of as many dimensions, one for each axis of what they give. Each reads what others before it gave
    at constant distances from its own point, and beyond a border nothing far from it. Only what the last one gives is
    wanted.
    """
    last = len(graph.steps) - 1
    if (
        last < 1
        or graph != Graph.ending(graph.given, graph.steps)
        or not all([_is_link(graph, n) for n in range(last + 1)])
    ):
        return None
    named = Graph(graph.given, tuple([_named(graph, n) for n in range(last + 1)]), graph.results)
    inputs = [v for p in range(graph.given) if (v := given_view(named, p)) is not None]
    if len(inputs) < graph.given:
        return None
    h = named.steps[last].mdhom
    return Chain(h.extents, h.combine, h.scalar, tuple(inputs), h.outputs, h.finish, h.names, graph=named)


def _is_link(graph: Graph, n: int) -> bool:
    """Whether a step is a map that may be one of a chain."""
    step, rank = graph.steps[n], graph.steps[-1].mdhom.rank
    h = step.mdhom
    if isinstance(h, Chain) or h.rank != rank or rank == 0 or 0 in h.extents or h.calls_text or h.wide:
        return False
    plain = tuple([Affine.of(d, rank) for d in range(rank)])
    if any([c.kind != "cc" for c in h.combine]) or any([v.accesses[0] != plain for v in h.outputs]):
        return False
    if any([t.kind == "c" or t.char == "e" for t in h.dtypes]) or len({*step.inputs}) < len(step.inputs):
        return False  # which are several values in kernels, or change where they go to memory; or seen in two ways
    return all([_is_near(graph, p, v) for p, v in zip(step.inputs, h.inputs, strict=True) if p in graph.made_by])


def _is_near(graph: Graph, value: int, read: View) -> bool:
    """Whether each access to what another map gives is at a constant distance, however long, from the point."""
    if read.shape != graph.view(value).shape or read.boundary not in _NEAR:
        return False
    return all([replace(i, constant=0).dim() == d for access in read.accesses for d, i in enumerate(access)])


def _named(graph: Graph, n: int) -> Step:
    """A step whose views have one name for each value, and whose dimensions have names of their own."""
    (h, values), last = graph.steps[n], n == len(graph.steps) - 1
    inputs = [
        replace(v, name=f"{'I' if p < graph.given else 'T'}{p}") for p, v in zip(values, h.inputs, strict=True)
    ]  # fmt: skip
    outputs = [replace(v, name=f"O{o}" if last else f"T{graph.firsts[n] + o}") for o, v in enumerate(h.outputs)]
    # Whose number is not at the end, where those of other variables are in kernels.
    names = tuple([name if last else f"m{n}{name}" for name in dimension_names(h.rank)])
    return Step(replace(h, inputs=tuple(inputs), outputs=tuple(outputs), names=names), values)


def given_view(graph: Graph, value: int) -> View | None:
    """Give the view of an array given; None where no step reads it, or some see it in another shape."""
    readers = [graph.steps[n] for n in graph.readers(value)]
    found = [v for s in readers for p, v in zip(s.inputs, s.mdhom.inputs, strict=True) if p == value]
    alike = {replace(v, name="", accesses=(), boundary=None, fill="0") for v in found}
    return found[0] if len(alike) == 1 else None


def relaid(h: MdHom, inputs: Sequence[View]) -> MdHom:
    """Put others in place of an MDH's inputs that differ in where they lie in memory; of a chain in all links."""
    if not isinstance(h, Chain):
        return replace(h, inputs=tuple(inputs))
    graph = h.graph
    steps = [Step(_relaid(s, dict(enumerate(inputs))), s.inputs) for s in graph.steps]
    return replace(h, inputs=tuple(inputs), graph=replace(graph, steps=tuple(steps)))


def _relaid(step: Step, given: dict[int, View]) -> MdHom:
    views = zip(step.mdhom.inputs, [given.get(p) for p in step.inputs], strict=True)
    seen = [v if new is None else replace(v, strides=new.strides, offset=new.offset) for v, new in views]
    return replace(step.mdhom, inputs=tuple(seen))


@interpret.register
def _interpret_chain(h: Chain, *arrays: Any) -> Any:
    found = h.graph.interpret(*arrays)
    return found if len(found) > 1 else found[0]
