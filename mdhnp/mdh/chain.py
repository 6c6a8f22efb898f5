"""Chain: maps one after the other that are computed as one, tile by tile of the last one's results.

What all but the last one give is needed nowhere else, and is never in memory as a whole: of each map a work-group
computes what its tile depends on, a region that overlaps with its neighbours'. This is overlapped tiling; with one
stencil again and again, temporal blocking. It must not know devices.

Source: Hagedorn, Stoltzfus, Steuwer, Gorlatch & Dubach, "High Performance Stencil Code Generation with Lift", whose
tiles overlap; Krishnamoorthy et al., "Effective Automatic Parallelization of Stencil Computations".
"""

from dataclasses import replace

from mdhnp.mdh.fused import Fused, given_views, is_one_kernel
from mdhnp.mdh.graph import Graph, Step
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.mdh.views import View, in_place

__all__ = ["Chain", "chain"]

#: What lies outside of an array and is a constant, or an element near its border.
_NEAR = (None, "constant", "nearest", "reflect", "mirror")


class Chain(Fused):
    """Maps one after the other, with views of one name for each value, and no dimension's name twice."""


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
    inputs, h = given_views(named), named.steps[last].mdhom
    return None if inputs is None else Chain(named, h.extents, inputs, h.outputs)


def _is_link(graph: Graph, n: int) -> bool:
    """Whether a step is a map that may be one of a chain."""
    step, rank = graph.steps[n], graph.steps[-1].mdhom.rank
    h = step.mdhom.last
    if not is_one_kernel(step.mdhom) or h.rank != rank or len({*step.inputs}) < len(step.inputs):
        return False  # or some value is seen in two ways
    if any([c.kind != "cc" for c in h.combine]) or any([v.accesses[0] != in_place(rank) for v in h.outputs]):
        return False
    return all([_is_near(graph, p, v) for p, v in zip(step.inputs, h.inputs, strict=True) if p in graph.made_by])


def _is_near(graph: Graph, value: int, read: View) -> bool:
    """Whether each access to what another map gives is at a constant distance, however long, from the point."""
    if read.shape != graph.view(value).shape or read.boundary not in _NEAR:
        return False
    return all([replace(i, constant=0).dim() == d for access in read.accesses for d, i in enumerate(access)])


def _named(graph: Graph, n: int) -> Step:
    """A step whose views have one name for each value, and whose dimensions have names of their own."""
    h, values, last = graph.mdhom(n), graph.steps[n].inputs, n == len(graph.steps) - 1
    inputs = [
        replace(v, name=f"{'I' if p < graph.given else 'T'}{p}") for p, v in zip(values, h.inputs, strict=True)
    ]  # fmt: skip
    outputs = [replace(v, name=f"O{o}" if last else f"T{graph.firsts[n] + o}") for o, v in enumerate(h.outputs)]
    # Whose number is not at the end, where those of other variables are in kernels.
    names = tuple([name if last else f"m{n}{name}" for name in dimension_names(h.rank)])
    return Step(replace(h, inputs=tuple(inputs), outputs=tuple(outputs), names=names), values)
