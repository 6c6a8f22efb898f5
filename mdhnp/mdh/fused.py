"""Fused: MDHs that one kernel computes, some of the results at a time, so that what is between them stays in caches.

There are two kinds, by how they are joined: maps whose tiles overlap (`chain.py`), and MDHs that share rows
(`rows.py`). A fused step holds MDHs and is none: a homomorphism has one operator a dimension, this has several
functions of several operators. It must not know devices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Self

from mdhnp.mdh.graph import Graph, Step
from mdhnp.mdh.interpret import interpret
from mdhnp.mdh.mdhom import Computation, MdHom, dimension_names
from mdhnp.mdh.views import View

__all__ = ["Fused", "given_views", "is_one_kernel", "unfused"]


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

    @property
    def loops(self) -> MdHom:
        """The last MDH under other names than those within: the loops over results, which all MDHs share."""
        return replace(self.last, names=dimension_names(self.rank))

    @property
    def divisible(self) -> tuple[int, ...]:
        return ()

    def relaid(self, inputs: Sequence[View]) -> Self:
        known, steps = dict(enumerate(inputs)), []
        for s in self.graph.steps:
            pairs = [(v, known.get(p, v)) for p, v in zip(s.inputs, s.mdhom.inputs, strict=True)]
            views = [replace(v, strides=new.strides, offset=new.offset) for v, new in pairs]
            steps.append(Step(s.mdhom.relaid(views), s.inputs))
        return replace(self, inputs=tuple(inputs), graph=replace(self.graph, steps=tuple(steps)))

    def __str__(self) -> str:
        shown = [str(h) for h in self.mdhoms]
        return " ; ".join(shown if len(shown) < 4 else [shown[0], f"… {len(shown) - 2} more …", shown[-1]])


def given_views(graph: Graph) -> tuple[View, ...] | None:
    """Give the first view of each array given; None where no step reads one, or some see it in another shape."""
    read = [pair for s in graph.steps for pair in zip(s.inputs, s.mdhom.inputs, strict=True) if pair[0] < graph.given]
    alike = {(p, replace(v.array, boundary=None, fill="0")) for p, v in read}
    views = dict(reversed(read))
    return tuple([views[p] for p in range(graph.given)]) if len(views) == len(alike) == graph.given else None


def is_one_kernel(h: Computation) -> bool:
    """Whether it is one MDH that may be one of several in a kernel, of values that are one each in kernels."""
    plain = len(h.mdhoms) == 1 and h.rank > 0 and 0 not in h.extents and not h.calls_text and not h.wide
    return plain and not any([t.kind == "c" or t.char == "e" for t in h.dtypes])


@singledispatch
def unfused(h: Computation) -> Graph:
    """Give the graph of the MDHs that a step computes."""
    return Graph.of(h)


@unfused.register
def _(h: Fused) -> Graph:
    return h.graph


@interpret.register
def _(h: Fused, *arrays: Any) -> Any:
    found = h.graph.interpret(*arrays)
    return found if len(found) > 1 else found[0]
