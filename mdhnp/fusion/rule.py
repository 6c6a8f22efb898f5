"""What a rule is: data, so that all of them can be listed, tried, explained and tested alike. And what rules ask."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mdhnp.fusion.compose import is_known, is_map, is_short, reshaped, splits
from mdhnp.mdh import Graph, MdHom

#: Steps of a graph that a rule is about.
Match = tuple[int, ...]

#: Says of a match whether something holds; false where that is not known.
Condition = Callable[[Graph, Match], bool]


@dataclass(frozen=True)
class Rule:
    """A graph that may stand in place of another, since both compute the same."""

    #: The equation; ``f ∘ g`` applies `g` first, ``(f, g)`` gives the results of both.
    name: str
    source: str
    #: From a graph to the steps that it may be about.
    matches: Callable[[Graph], Iterator[Match]]
    #: What has to hold, each said by a function's name.
    conditions: tuple[Condition, ...]
    #: From a graph and a match to the graph that takes its place.
    rewrite: Callable[[Graph, Match], Graph]

    def __str__(self) -> str:
        return self.name

    def found(self, graph: Graph, begin: int = 0) -> Iterator[Match]:
        """Give the matches for which all conditions hold, but those of steps before one of them alone."""
        for match in self.matches(graph):
            if (
                max(match) >= begin
                and all_affine(graph, match)
                and all(holds(graph, match) for holds in self.conditions)
            ):
                yield match


def all_affine(graph: Graph, match: Match) -> bool:
    """No step, and none that reads what it gives, reads where elements of arrays say: rules are of affine indices."""
    steps = {*match, *[follower for n in match for follower in graph.followers(n)]}
    return not any([graph.steps[n].mdhom.last.index_sources for n in steps])


def known(graph: Graph, match: Match) -> bool:
    """All are computed point by point, and no extent is 0."""
    return all([is_known(graph.steps[n].mdhom) and 0 not in graph.steps[n].mdhom.extents for n in match])


def first_is_map(graph: Graph, match: Match) -> bool:
    """The first step combines nothing."""
    return is_map(graph.steps[match[0]].mdhom)


def first_is_short(graph: Graph, match: Match) -> bool:
    """The first step reduces few terms, which are compiled in a moment where they are written out."""
    return is_short(graph.steps[match[0]].mdhom)


def last_is_map(graph: Graph, match: Match) -> bool:
    """The last step combines nothing."""
    return is_map(graph.steps[match[-1]].mdhom)


def first_is_only_read(graph: Graph, match: Match) -> bool:
    """What the first step gives is read by others, and is none of the results."""
    return not set(graph.values(match[0])) & set(graph.results) and bool(graph.followers(match[0]))


def only_read_by_last(graph: Graph, match: Match) -> bool:
    """Nothing but the last step needs what the first one gives."""
    return not set(graph.values(match[0])) & set(graph.results) and graph.followers(match[0]) <= {match[-1]}


def written_plainly(graph: Graph, match: Match) -> bool:
    """Each axis of what the first step gives is a dimension of it, or has one element."""
    accesses = [v.accesses[0] for v in graph.steps[match[0]].mdhom.outputs]
    return all([not index.dims() or index.dim() is not None for access in accesses for index in access])


def read_as_written(graph: Graph, match: Match) -> bool:
    """All that read what the first step gives, and not only steps of the match, see its shape and stay inside of it."""
    for value in graph.values(match[0]):
        written = graph.view(value)
        for n in graph.readers(value):
            if not is_known(graph.steps[n].mdhom):
                return False
            if any([v.shape != written.shape or v.boundary is not None for v, _ in graph.loads(n, value)]):
                return False
    return True


def read_in_order(graph: Graph, match: Match) -> bool:
    """All that read what the first step gives stay inside, and see its axes, or axes that were split or joined."""
    values = graph.values(match[0])
    for n in graph.followers(match[0]):
        step = graph.steps[n]
        if not is_known(step.mdhom) or any([v.boundary is not None for p, v in step.reads if p in values]):
            return False
        if splits(step.mdhom.last, reshaped(graph, step, values)) is None:
            return False
    return True


def ufunc(h: MdHom) -> str:
    """NumPy's function that the first of an MDH's results is combined by; nothing where that is another."""
    return h.operator.ufuncs[0] if h.operator is not None else ""


def pairs(graph: Graph) -> Iterator[Match]:
    """A step, and one that reads what it gives."""
    for last, step in enumerate(graph.steps):
        yield from [(first, last) for first in sorted({graph.made_by[p][0] for p in step.inputs if p in graph.made_by})]


def pairs_of_one_result(graph: Graph) -> Iterator[Match]:
    """A step that combines one result, and one that reads it and does so, too."""
    for match in pairs(graph):
        if all([len(graph.steps[n].mdhom.last.scalar.results) == 1 for n in match]):
            yield match


def reads_its_own(graph: Graph, match: Match) -> bool:
    """The last step reads the only result of the first one once, at its own point."""
    first, last = match
    (written, *others), read = graph.steps[first].mdhom.outputs, graph.loads(last, graph.firsts[first])
    return not others and [(v.shape, v.boundary, a) for v, a in read] == [(written.shape, None, written.accesses[0])]


def independent(graph: Graph, match: Match) -> bool:
    """Neither step needs what the other one gives."""
    first, second = match
    return not graph.reaches(first, second) and not graph.reaches(second, first)
