"""Rewriting: rules are applied as long as one makes a graph cheaper, which is why that ends."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mdhnp.fusion.cost import bytes_of, cost
from mdhnp.fusion.rule import Rule
from mdhnp.fusion.rules import RULES
from mdhnp.mdh import Graph

__all__ = ["Applied", "Rewriting", "rewriting"]


@dataclass(frozen=True)
class Applied:
    """A rule that made a graph cheaper.

    Attributes
    ----------
    rule : Rule
        Which one.
    before, after : Graph
        What it was applied to, and what it made of that.
    """

    rule: Rule
    before: Graph
    after: Graph


@dataclass(frozen=True)
class Rewriting:
    """How a graph was rewritten; printing it shows both graphs, the rules, and the bytes moved in both.

    Attributes
    ----------
    before, after : Graph
        As it was, and as it is computed.
    applied : tuple of Applied
        The rules, in order.
    seconds : float
        That it took.
    """

    before: Graph
    after: Graph
    applied: tuple[Applied, ...]
    seconds: float

    def __str__(self) -> str:
        lines = ["before", *_indented(self.before), *[f"rule    {a.rule.name}" for a in self.applied]]
        lines += ["after", *_indented(self.after)]
        return "\n".join([*lines, f"moved   {bytes_of(self.before)} bytes before, {bytes_of(self.after)} after"])


def _indented(graph: Graph) -> list[str]:
    return [f"  {line}" for line in str(graph).splitlines()]


def rewriting(graph: Graph, rules: Sequence[Rule] = RULES, price: Callable[[Graph], float] = cost) -> Rewriting:
    """Rewrite a graph by rules, as long as one makes it cheaper.

    Parameters
    ----------
    graph : Graph
        What is computed.
    rules : sequence of Rule
        In the order in which they are tried.
    price : callable
        What a graph costs.

    Raises
    ------
    AssertionError
        If a rule changes the shape or type of a result; names the rule.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import Step, cc, md_hom, pw
    >>> x = np.ones((100, 100), np.float32)
    >>> square = md_hom(lambda x: x * x, {"i": cc, "j": cc}, "X[i,j] -> Y[i,j]").bind(x)
    >>> total = md_hom(lambda y: y, {"i": cc, "j": pw("add")}, "Y[i,j] -> Z[i]").bind(x)
    >>> print(rewriting(Graph(1, (Step(square, (0,)), Step(total, (1,))), (2,))))
    before
      v1 = md_hom(x0 * x0, (++, ++)) ∘ (X[i,j]) -> Y[i,j] of v0
      v2 = md_hom(id, (++, +)) ∘ (Y[i,j]) -> Z[i] of v1
      give v2
    rule    F ∘ map(g) = F(g)
    after
      v1 = md_hom(x0 * x0, (++, +)) ∘ (A[i,j]) -> Z[i] of v0
      give v1
    moved   120400 bytes before, 40400 after
    """
    begin, now, found = time.perf_counter(), graph, list[Applied]()
    while (better := _better(now, rules, price)) is not None:
        found.append(better)
        now = better.after
    return Rewriting(graph, now, tuple(found), time.perf_counter() - begin)


def _better(graph: Graph, rules: Sequence[Rule], price: Callable[[Graph], float]) -> Applied | None:
    """The first rule that makes a graph cheaper, and what it makes of it."""
    paid = price(graph)
    for rule in rules:
        for made in rule.applied(graph):
            _require_same_results(rule, graph, made)
            if price(made) < paid:
                return Applied(rule, graph, made)
    return None


def _require_same_results(rule: Rule, graph: Graph, made: Graph) -> None:
    kinds = [[(v.shape, v.dtype) for r in g.results if r in g.made_by for v in (g.view(r),)] for g in (graph, made)]
    assert kinds[0] == kinds[1], f"the rule {rule.name} changed the results {kinds[0]} to {kinds[1]}"
