"""Maps: what combines nothing can be computed wherever it is read, or tile by tile where that would cost more."""

from collections.abc import Iterator

from mdhnp.fusion.compose import composed_with
from mdhnp.fusion.rule import (
    Match,
    Rule,
    first_is_map,
    first_is_only_read,
    known,
    only_read_by_last,
    read_in_order,
    written_plainly,
)
from mdhnp.mdh import Graph, Step, chain, unfused
from mdhnp.mdh.graph import expanded

__all__ = ["CHAINS", "RULES"]

#: Maps of a chain at most: of more, compiling takes longer than they win.
_MOST = 8


def _each(graph: Graph) -> Iterator[Match]:
    yield from [(n,) for n in range(len(graph.steps))]


def _into_readers(graph: Graph, match: Match) -> Graph:
    (n,) = match
    inlined = dict.fromkeys(graph.values(n), graph.steps[n])
    return graph.edited({n: None} | {m: composed_with(graph, graph.steps[m], inlined) for m in graph.followers(n)})


def _pairs(graph: Graph) -> Iterator[Match]:
    """A step, and the only one that reads it."""
    for first in range(len(graph.steps)):
        if len(readers := graph.followers(first)) == 1:
            yield first, *readers


def few_maps(graph: Graph, match: Match) -> bool:
    """Both together are so few maps that they are compiled in a moment."""
    return sum([len(graph.steps[n].mdhom.mdhoms) for n in match]) <= _MOST


def is_a_chain(graph: Graph, match: Match) -> bool:
    """Both are maps, or chains of them, and read nothing of each other but what is near."""
    return _chained(graph, match) is not None


def _together(graph: Graph, match: Match) -> Graph:
    first, last = match
    step = _chained(graph, match)
    assert step is not None
    return graph.edited({first: None, last: step})


def _chained(graph: Graph, match: Match) -> Step | None:
    """Put two steps, and those of which they are made, into one."""
    part, given = graph.subgraph(match)
    made = chain(expanded(part, lambda h: unfused(h).steps))
    return None if made is None else Step(made, given)


RULES = (
    Rule(
        "F ∘ map(g) = F(g)",
        "Gorlatch & Steuwer, “Towards High-Level Programming for Systems with Many Cores”: map fusion",
        _each,
        (known, first_is_map, first_is_only_read, written_plainly, read_in_order),
        _into_readers,
    ),
)
CHAINS = (
    Rule(
        "map(f) ∘ map(g) = map(f) ∘ map(g), tile by tile",
        "Hagedorn, Stoltzfus, Steuwer, Gorlatch & Dubach, “High Performance Stencil Code Generation with Lift”: "
        "overlapped tiling",
        _pairs,
        (only_read_by_last, few_maps, is_a_chain),
        _together,
    ),
)
