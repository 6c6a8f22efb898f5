"""What a rule is: data, so that all of them can be listed, tried, explained and tested alike."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mdhnp.mdh import Graph

__all__ = ["Condition", "Match", "Rule"]

#: Steps of a graph that a rule is about.
Match = tuple[int, ...]

#: Says of a match whether something holds; false where that is not known.
Condition = Callable[[Graph, Match], bool]


@dataclass(frozen=True)
class Rule:
    """A graph that may stand in place of another, since both compute the same."""

    #: The equation; ``f ∘ g`` applies `g` first, ``(f, g)`` gives the results of both.
    name: str
    #: Where it is from.
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
            if max(match) >= begin and all(holds(graph, match) for holds in self.conditions):
                yield match
