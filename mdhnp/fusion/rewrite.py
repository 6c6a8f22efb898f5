"""Rewriting: rules are applied as long as one makes a graph cheaper, which is why that ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from mdhnp.cost import Machine
from mdhnp.fusion.cost import bytes_of, cost_of_step, cost_on_gpu
from mdhnp.fusion.rule import Rule
from mdhnp.fusion.rules import RULES
from mdhnp.fusion.rules.alike import ALIKE
from mdhnp.fusion.rules.rows import ROWS, WITHOUT_PRODUCTS
from mdhnp.mdh import Affine, Computation, Graph, MdHom, Rows, Step, unfused
from mdhnp.mdh.graph import expanded

#: Names of the rewriting by all rules, and of the one by none; others are without one of them.
ALL, NONE = "all rules", "as written"


@dataclass(frozen=True)
class Applied:
    """A rule that made a graph cheaper."""

    rule: Rule
    #: What it was applied to, and what it made of that.
    before: Graph
    after: Graph


@dataclass(frozen=True)
class Rewriting:
    """How a graph was rewritten; printing it shows both graphs, the rules, and the bytes moved in both."""

    #: As it was, and as it is computed.
    before: Graph
    after: Graph
    #: The rules, in order.
    applied: tuple[Applied, ...]
    #: Which of several it is: "all rules", "without" one of them, or "as written".
    name: str = ALL

    def __str__(self) -> str:
        lines = ["before", *_indented(self.before), *[f"rule    {a.rule.name}" for a in self.applied]]
        lines += ["after", *_indented(self.after)]
        lines += [] if self.name == ALL else [f"chosen  {self.name}: measured to be the fastest"]
        return "\n".join([*lines, f"moved   {bytes_of(self.before)} bytes before, {bytes_of(self.after)} after"])


def _indented(graph: Graph) -> list[str]:
    return [f"  {line}" for line in str(graph).splitlines()]


def rewriting(
    graph: Graph, rules: Sequence[Rule] = RULES, price: Callable[[Computation], float] = cost_of_step
) -> Rewriting:
    """Rewrite a graph by rules, as long as one makes it cheaper.

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
    # Rows take maps and reductions that other rules would put into others, or in one: it may be cheaper to have them
    # first, last, or not at all.
    of_rows, still = (ROWS, WITHOUT_PRODUCTS), _still(graph)
    each = [rule for rule in rules if rule != ALIKE]
    others, own = [rule for rule in each if rule not in of_rows], [rule for rule in each if rule in of_rows]
    orders = dict.fromkeys([tuple(others), tuple(each), (*others, *own)])
    # Steps that are alike become one last, since steps made of several do not; or first, where that is cheaper.
    alike = [ALIKE] if ALIKE in rules else []
    works = [_Work(still, price).apply(order, alike) for order in orders]
    if alike and any(ALIKE.found(still)):
        works.append(_Work(still, price).apply(alike).apply(each, alike))
    work = min(works, key=lambda work: work.paid)
    return Rewriting(graph, work.graph if work.applied else graph, tuple(work.applied))


def _still(graph: Graph) -> Graph:
    """Give the same graph whose views do not depend on dimensions of one point: one view may name them, another not.

    Where one has a boundary all are left alone: rules for stencils know an axis by its dimension.
    """
    if any([view.boundary for step in graph.steps for h in step.mdhom.mdhoms for view in h.inputs]):
        return graph
    steps = []
    for step in graph.steps:
        h = step.mdhom
        if isinstance(h, MdHom) and (ones := [d for d, extent in enumerate(h.extents) if extent == 1]):
            still = lambda i, ones=ones: i.still(ones) if type(i) is Affine else i  # noqa: E731
            inputs, outputs = ([view.indexed(still) for view in views] for views in (h.inputs, h.outputs))
            h = replace(h, inputs=tuple(inputs), outputs=tuple(outputs))
        steps.append(Step(h, step.inputs))
    return replace(graph, steps=tuple(steps))


def rewriting_of(graph: Graph, name: str) -> Rewriting:
    """Rewrite a graph in the way of a name; by all rules, where it names a rule that there is no more."""
    left_out = [rule for rule in RULES if name == f"without {rule}"]
    rules = () if name == NONE else [rule for rule in RULES if rule not in left_out]
    return replace(rewriting(graph, rules), name=name if name == NONE or left_out else ALL)


def on_gpu(found: Rewriting, machine: Machine) -> Rewriting:
    """Give a rewriting for a GPU: steps that are alike become one where that, with copies, takes less time."""
    if found.name in (NONE, f"without {ALIKE}"):
        return found
    more = rewriting(found.after, (ALIKE,), partial(cost_on_gpu, machine=machine))
    return replace(found, after=more.after, applied=found.applied + more.applied)


def apart(h: Computation) -> Graph:
    """Give the steps of what is not computed as one: those of rows as the other rules would have them.

    Where some of the rows are products, these are taken apart only.
    """
    others = [rule for rule in RULES if rule != ROWS]
    for rules in ((WITHOUT_PRODUCTS, *others), others) if isinstance(h, Rows) else ():
        found = rewriting(unfused(h), rules).after
        if found == Graph.ending(found.given, found.steps) and len(found.steps) > 1:
            return found
    return unfused(h)


def all_apart(graph: Graph, stays: Callable[[Computation], bool]) -> Graph:
    """Take fused steps apart, and what they are made of, but for those that may stay."""

    def steps(h: Computation) -> Sequence[Step] | None:
        return None if len(h.mdhoms) == 1 or stays(h) else all_apart(apart(h), stays).steps

    return expanded(graph, steps)


def rewritings(graph: Graph, gpu: Machine | None = None) -> dict[str, Rewriting]:
    """Rewrite a graph in several ways, to be measured: by all rules, without each of those that help, and by none.

    A `gpu` is the one that is to compute it, if it is one.
    What costs decide is left to them but for one rule at a time: it cannot be left out here and applied there.
    """
    finished = (lambda r: r) if gpu is None else partial(on_gpu, machine=gpu)
    whole = finished(rewriting(graph))
    names = [*dict.fromkeys([f"without {applied.rule}" for applied in whole.applied]), NONE]
    by_graph = {whole.after: whole}
    for name in names if whole.applied else ():
        other = finished(rewriting_of(graph, name))
        # Of ways that are the same, as where the only rule is left out, the simplest name stays.
        if other.after not in by_graph or by_graph[other.after] is not whole:
            by_graph[other.after] = other
    return {r.name: r for r in by_graph.values()}


class _Work:
    """A graph that is rewritten by rules, what it costs, and what was applied to it."""

    def __init__(self, graph: Graph, price: Callable[[Computation], float]) -> None:
        self._price = price
        self._prices: dict[int, tuple[Computation, float]] = {}  # by identity: equality looks at all of it
        self.graph, self.paid = graph, self._cost(graph)
        self.applied: list[Applied] = []

    def apply(self, rules: Sequence[Rule], last: Sequence[Rule] = ()) -> Self:
        """Apply rules, each as often as it helps, then all of them again; the last ones where no other one helps."""
        while any([self._apply(rule) for rule in rules]) or any([self._apply(rule) for rule in last]):
            pass
        return self

    def _cost(self, graph: Graph) -> float:
        for h in [s.mdhom for s in graph.steps if id(s.mdhom) not in self._prices]:
            self._prices[id(h)] = h, self._price(h)
        return sum([self._prices[id(s.mdhom)][1] for s in graph.steps])

    def _apply(self, rule: Rule) -> bool:
        """Apply a rule from the first step to the last one, as often as it makes the graph cheaper; whether it did."""
        begin, count = 0, len(self.applied)
        helping = True
        while helping:
            helping = False
            for match in rule.found(self.graph, begin):
                rewritten = rule.rewrite(self.graph, match)
                _require_same_results(rule, self.graph, rewritten)
                if (paid := self._cost(rewritten)) < self.paid:
                    self.applied.append(Applied(rule, self.graph, rewritten))
                    self.graph, self.paid = rewritten, paid
                    begin, helping = min(match), True
                    break
        return len(self.applied) > count


def _require_same_results(rule: Rule, graph: Graph, rewritten: Graph) -> None:
    kinds = [
        [(v.shape[len(part) :], v.dtype) for r, part in g.wanted if r in g.made_by for v in (g.view(r),)]
        for g in (graph, rewritten)
    ]
    if kinds[0] != kinds[1]:
        raise AssertionError(f"the rule {rule.name} changed the results {kinds[0]} to {kinds[1]}")
