"""Maps: what combines nothing can be computed wherever it is read."""

from collections.abc import Iterator

from mdhnp.fusion.compose import composed_with
from mdhnp.fusion.edit import edited, values
from mdhnp.fusion.rule import Match, Rule
from mdhnp.fusion.rules.conditions import (
    first_is_map,
    first_is_only_read,
    known,
    read_in_order,
    written_plainly,
)
from mdhnp.mdh import Graph

__all__ = ["RULES"]


def _each(graph: Graph) -> Iterator[Match]:
    yield from [(n,) for n in range(len(graph.steps))]


def _into_readers(graph: Graph, match: Match) -> Graph:
    (n,) = match
    made = values(graph, n)
    readers = {m for v in made for m in graph.readers(v)}
    inlined = dict.fromkeys(made, graph.steps[n])
    return edited(graph, {n: None} | {m: composed_with(graph, graph.steps[m], inlined) for m in readers})


RULES = (
    Rule(
        "F ∘ map(g) = F(g)",
        "Gorlatch & Steuwer, “Towards High-Level Programming for Systems with Many Cores”: map fusion",
        _each,
        (known, first_is_map, first_is_only_read, written_plainly, read_in_order),
        _into_readers,
    ),
)
