"""Graphs with some steps replaced: in an order in which they can be computed, and numbered anew."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from mdhnp.mdh import Graph, Step

__all__ = ["edited", "reaches", "subgraph", "values"]


def edited(graph: Graph, new: Mapping[int, Step | None], moved: Mapping[int, tuple[int, int]] | None = None) -> Graph:
    """Give a graph with some steps replaced by others, whose inputs are numbered as in the old graph, or by none.

    `moved` says of values that another step makes now, or another result of the same one: which step and result.
    """
    steps = {n: found for n, s in enumerate(graph.steps) if (found := new.get(n, s)) is not None}
    made_by = graph.made_by | dict(moved or {})
    order: dict[int, None] = {}
    opened: set[int] = set()
    pending = [made_by[r][0] for r in graph.results if r in made_by][::-1]
    while pending:  # depth first, so that what nobody needs is left out; a path may be long
        n = pending[-1]
        needed = [made_by[p][0] for p in steps[n].inputs if p in made_by]
        missing = [m for m in needed if m not in order]
        if missing:
            if n in opened:
                raise AssertionError("a rule made steps that need each other's results")
            opened.add(n)
            pending += missing[::-1]
        else:
            order.setdefault(pending.pop())
    ready = [(n, steps[n]) for n in order]
    firsts = dict(zip(order, accumulate([graph.given, *[len(s.mdhom.outputs) for _, s in ready]]), strict=False))

    def number(p: int) -> int:
        if p not in made_by:
            return p
        n, o = made_by[p]
        return firsts[n] + o

    made = tuple([Step(s.mdhom, tuple([number(p) for p in s.inputs])) for _, s in ready])
    return Graph(graph.given, made, tuple([number(r) for r in graph.results]))


def reaches(graph: Graph, first: int, *last: int) -> bool:
    """Whether some of the last steps need what the first one gives, at once or through others."""
    needed, pending = set(), [*last]
    while pending:
        n = pending.pop()
        for p in graph.steps[n].inputs:
            if p in graph.made_by and (m := graph.made_by[p][0]) not in needed and m >= first:
                needed.add(m)
                pending.append(m)
    return first in needed


def subgraph(graph: Graph, steps: Sequence[int]) -> tuple[Graph, tuple[int, ...]]:
    """Give the graph of some steps, whose results are the last one's, and the values that it is given."""
    made = [v for n in steps for v in values(graph, n)]
    given = tuple(dict.fromkeys([p for n in steps for p in graph.steps[n].inputs if p not in made]))
    place = {p: k for k, p in enumerate([*given, *made])}
    each = [Step(graph.steps[n].mdhom, tuple([place[p] for p in graph.steps[n].inputs])) for n in steps]
    return Graph.ending(len(given), each), given


def values(graph: Graph, n: int) -> range:
    return range(graph.firsts[n], graph.firsts[n] + len(graph.steps[n].mdhom.outputs))
