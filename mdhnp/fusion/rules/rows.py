"""Reductions, and maps that read what they give: all of some rows at a time, which stay in a cache meanwhile."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from mdhnp.fusion.cost import ENOUGH, seconds_in_cache
from mdhnp.fusion.rule import Match, Rule
from mdhnp.fusion.rules import maps
from mdhnp.fusion.streamed import streamed
from mdhnp.mdh import Graph, MdHom, Rows, Step, View, along, is_product, rows

#: Bytes that stay in a core's cache.
_SMALL = 1 << 18
#: Steps that are looked at together, and what they may be at most when maps are put into others.
_MOST, _LINKS = 32, 10


def _groups(graph: Graph) -> Iterator[Match]:
    """A step with those before it that it has rows with: with all of them, or from one on that reduces.

    What those before it give nothing else needs, and all of them are known (:func:`along`).
    """
    for last in reversed(range(len(graph.steps))):
        h = graph.steps[last].mdhom.last
        groups: dict[Match, int] = {}  # with how many rows
        for d in h.dims("cc"):
            steps = tuple(sorted(along(graph, last, d)))[-_MOST:]
            groups[steps] = groups.get(steps, 1) * h.extents[d]
        for group in sorted([g for g, count in groups.items() if count >= ENOUGH], key=len, reverse=True):
            reduced = [k for k, n in enumerate(group) if graph.steps[n].mdhom.last.dims("pw")]
            for begin in dict.fromkeys([0, *reduced]) if reduced else ():
                if len(group) - begin > 1:
                    yield group[begin:]


def no_products(graph: Graph, match: Match) -> bool:
    """None of them is a product of matrices, or another one that reads elements again."""
    h, _ = _required(graph, match)
    return not any(map(is_product, h.mdhoms, h.shared))


def few_links(graph: Graph, match: Match) -> bool:
    """They are so few that they are compiled in a moment."""
    return len(_required(graph, match)[0].mdhoms) <= _LINKS


def has_rows(graph: Graph, match: Match) -> bool:
    """There are dimensions that all have, some of them reduces others, and it is not one step after all."""
    return _rows(graph, match) is not None


def rows_lie_together(graph: Graph, match: Match) -> bool:
    """Each row lies in one piece in all arrays that it is a part of."""
    h, _ = _required(graph, match)
    given = [(view, along) for _, along, view in _given(h)]
    outputs = [(view, h.shared[-1]) for view in h.outputs]
    return all([_whole(v, along) for v, along in given + outputs])


def shared_lie_along_results(graph: Graph, match: Match) -> bool:
    """What each few rows read of an array again is small, or lies in vectors of results: it is turned for none.

    Nor is it where vectors lie along rows.
    """
    h, _ = _required(graph, match)
    return streamed(h) is not None or all([_along_results(link, along, view) for link, along, view in _given(h)])


def _along_results(h: MdHom, along: Sequence[int], view: View) -> bool:
    steps = _steps(view)
    shared = along[-1] not in [d for d, n in enumerate(steps) if n]
    again = prod([n for d, n in enumerate(h.extents) if d not in along and view.depends_on(d)])
    turned = any([n == 1 and h.combine[d].kind == "pw" for d, n in enumerate(steps)])
    return not (shared and turned) or again * view.dtype.itemsize <= _SMALL


def _required(graph: Graph, match: Match) -> tuple[Rows, tuple[int, ...]]:
    found = _rows(graph, match)
    assert found is not None
    return found


def _given(h: Rows) -> list[tuple[MdHom, tuple[int, ...], View]]:
    """What is read of the arrays given, by which MDH, along which of its dimensions rows are."""
    return [
        (step.mdhom.last, along, view)
        for step, along in zip(h.graph.steps, h.shared, strict=True)
        for p, view in step.reads
        if p < h.graph.given
    ]


def _steps(view: View) -> list[int]:
    """How far each dimension moves an access."""
    return [abs(n) for n in view.linear(view.accesses[0]).coefficients] if view.shape else []


def _whole(view: View, along: Sequence[int]) -> bool:
    """Whether what a row reads of an array lies nearer together than rows do."""
    steps = _steps(view)
    of_rows = [n for d, n in enumerate(steps) if d in along and n]
    return not of_rows or max([n for d, n in enumerate(steps) if d not in along], default=0) <= min(of_rows)


def _together(graph: Graph, match: Match) -> Graph:
    return graph.edited(dict.fromkeys(match[:-1]) | {match[-1]: Step(*_required(graph, match))})


@lru_cache(maxsize=16)
def _rows(graph: Graph, match: Match) -> tuple[Rows, tuple[int, ...]] | None:
    """Make rows of some steps, and give their inputs.

    Of what they leave to each other there may be more than indices of 32 bits can say if tiles of it follow each other.
    """
    part, given = graph.subgraph(match)
    as_rows = rows(_simpler(part))
    many = as_rows is not None and any([link.wide for link in as_rows.mdhoms])
    return None if as_rows is None or (many and streamed(as_rows) is None) else (as_rows, given)


def _simpler(graph: Graph) -> Graph:
    """Put maps into what reads them, where that saves work: what lies in a cache is cheap, not free."""
    paid = sum([seconds_in_cache(s.mdhom.last) for s in graph.steps])
    for rule in (maps.FINISH, maps.INTO_READERS):
        for match in rule.found(graph):
            simpler = rule.rewrite(graph, match)
            if sum([seconds_in_cache(s.mdhom.last) for s in simpler.steps]) < paid:
                return _simpler(simpler)
    return graph


ROWS = Rule(
    "map(f) ∘ reduce(⊗) = map(f) ∘ reduce(⊗), some rows at a time",
    "Dao, Fu, Ermon, Rudra & Ré, “FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness”",
    _groups,
    (has_rows, few_links, rows_lie_together, shared_lie_along_results),
    _together,
)
#: The same for devices whose products want other kernels.
WITHOUT_PRODUCTS = replace(ROWS, conditions=(*ROWS.conditions, no_products))
