"""Graphs: several MDHs that are computed one after the other, each on arrays given and on what others before it gave.

Values are numbered: first the arrays given, then the results of all steps, in order. All but the arrays given are
C-contiguous. It must not know devices.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from mdhnp.mdh.function import Function, Instruction
from mdhnp.mdh.interpret import interpret
from mdhnp.mdh.mdhom import Computation, MdHom
from mdhnp.mdh.views import Access, View


class Step(NamedTuple):
    """One of several computations, one after the other."""

    #: What it computes: an MDH, or several that are fused.
    mdhom: Computation
    #: The values that are its inputs. One of another shape than its view has as many elements, and they are read in C
    #: order.
    inputs: tuple[int, ...]

    @property
    def reads(self) -> list[tuple[int, View]]:
        """The value behind each input, and how it is seen."""
        return [*zip(self.inputs, self.mdhom.inputs, strict=True)]


@dataclass(frozen=True)
class Graph:
    """Steps, and which values are wanted of them."""

    #: Number of arrays given.
    given: int
    #: In an order in which they can be computed.
    steps: tuple[Step, ...]
    #: The values wanted.
    results: tuple[int, ...]
    #: Of each the first indices of the part that is wanted; none where all are wanted as a whole.
    parts: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, mdhom: Computation) -> Self:
        given = len(mdhom.inputs)
        return cls.ending(given, [Step(mdhom, tuple(range(given)))])

    @classmethod
    def ending(cls, given: int, steps: Sequence[Step]) -> Self:
        """Make the graph whose results are those of the last step."""
        last = given + sum([len(s.mdhom.outputs) for s in steps[:-1]])
        return cls(given, tuple(steps), tuple(range(last, last + len(steps[-1].mdhom.outputs))))

    @property
    def wanted(self) -> list[tuple[int, tuple[int, ...]]]:
        """Each value wanted, and the first indices of the part that is."""
        return [*zip(self.results, self.parts or ((),) * len(self.results), strict=True)]

    def results_of(self, values: Sequence[Any]) -> list[Any]:
        """Give what is wanted, of the arrays that all values are."""
        return [values[r][(*part, ...)] if part else values[r] for r, part in self.wanted]

    def mdhom(self, n: int) -> MdHom:
        """Give the MDH of a step that is not fused."""
        (h,) = self.steps[n].mdhom.mdhoms
        return h

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """For each step, the number of its first result."""
        counts = [len(s.mdhom.outputs) for s in self.steps]
        return tuple(accumulate([self.given, *counts]))[:-1]

    @cached_property
    def made_by(self) -> dict[int, tuple[int, int]]:
        """For each value that is none given, the step that makes it, and which of its results it is."""
        return {
            first + o: (n, o)
            for n, (first, s) in enumerate(zip(self.firsts, self.steps, strict=True))
            for o in range(len(s.mdhom.outputs))
        }

    def view(self, value: int) -> View:
        """Give the view through which a value that is none given is written."""
        n, o = self.made_by[value]
        return self.steps[n].mdhom.outputs[o]

    def readers(self, value: int) -> tuple[int, ...]:
        return self._readers.get(value, ())

    def followers(self, n: int) -> set[int]:
        """Give the steps that read what a step gives."""
        return {m for value in self.values(n) for m in self.readers(value)}

    def loads(self, n: int, value: int) -> Iterator[tuple[View, Access]]:
        yield from [(view, access) for p, view in self.steps[n].reads if p == value for access in view.accesses]

    @cached_property
    def _readers(self) -> dict[int, tuple[int, ...]]:
        readers: dict[int, list[int]] = {}
        for n, step in enumerate(self.steps):
            for value in dict.fromkeys(step.inputs):
                readers.setdefault(value, []).append(n)
        return {value: tuple(steps) for value, steps in readers.items()}

    def values(self, n: int) -> range:
        return range(self.firsts[n], self.firsts[n] + len(self.steps[n].mdhom.outputs))

    def reaches(self, first: int, *last: int) -> bool:
        """Whether some of the last steps need what the first one gives, at once or through others."""
        needed, pending = set(), [*last]
        while pending:
            n = pending.pop()
            for p in self.steps[n].inputs:
                if p in self.made_by and (m := self.made_by[p][0]) not in needed and m >= first:
                    needed.add(m)
                    pending.append(m)
        return first in needed

    def subgraph(self, steps: Sequence[int]) -> tuple["Graph", tuple[int, ...]]:
        """Give the graph of some steps, whose results are the last one's, and the values that it is given."""
        values = [v for n in steps for v in self.values(n)]
        given = tuple(dict.fromkeys([p for n in steps for p in self.steps[n].inputs if p not in values]))
        place = {p: k for k, p in enumerate([*given, *values])}
        parts = [Step(self.steps[n].mdhom, tuple([place[p] for p in self.steps[n].inputs])) for n in steps]
        return Graph.ending(len(given), parts), given

    def edited(self, new: Mapping[int, Step | None], moved: Mapping[int, tuple[int, int]] | None = None) -> "Graph":
        """Give the graph with some steps replaced by others, whose inputs are numbered as in this one, or by none.

        `moved` says of values that another step makes now, or another result of the same one: which step and result.
        """
        steps = {n: step for n, s in enumerate(self.steps) if (step := new.get(n, s)) is not None}
        made_by = self.made_by | dict(moved or {})
        order: dict[int, None] = {}
        opened: set[int] = set()
        pending = [made_by[r][0] for r in self.results if r in made_by][::-1]
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
        firsts = dict(zip(order, accumulate([self.given, *[len(s.mdhom.outputs) for _, s in ready]]), strict=False))

        def number(p: int) -> int:
            if p not in made_by:
                return p
            n, o = made_by[p]
            return firsts[n] + o

        numbered = tuple([Step(s.mdhom, tuple([number(p) for p in s.inputs])) for _, s in ready])
        return Graph(self.given, numbered, tuple([number(r) for r in self.results]), self.parts)

    def interpret(self, *arrays: Any) -> tuple[Any, ...]:
        """Evaluate all by definition; slow, and what tests compare with."""
        values = [np.asarray(a) for a in arrays]
        for step in self.steps:
            results = interpret(step.mdhom, *[values[p].reshape(v.shape) for p, v in step.reads])
            values.extend(results if isinstance(results, tuple) else (results,))
        return tuple(self.results_of(values))

    def __str__(self) -> str:
        shown = [
            f"{', '.join(f'v{first + o}' for o in range(len(s.mdhom.outputs)))} = "
            f"{s.mdhom} of {', '.join(f'v{p}' for p in s.inputs)}"
            for first, s in zip(self.firsts, self.steps, strict=True)
        ]
        given = [f"v{r}{[*part] or ''}" for r, part in self.wanted]
        return "\n".join([*shown, f"give {', '.join(given)}"])


def expanded(graph: Graph, parts: Callable[[Computation], Sequence[Step] | None]) -> Graph:
    """Put several steps in place of some; their inputs are that one's, which their results follow."""
    apart = [parts(step.mdhom) for step in graph.steps]
    if not any(apart):
        return graph
    steps: list[Step] = []
    place = list(range(graph.given))
    values = graph.given
    for step, several in zip(graph.steps, apart, strict=True):
        here = [place[p] for p in step.inputs]
        for part in several or Graph.of(step.mdhom).steps:
            steps.append(Step(part.mdhom, tuple([here[p] for p in part.inputs])))
            results = range(values, values + len(part.mdhom.outputs))
            here.extend(results)
            values = results.stop
        place.extend(results)
    return Graph(graph.given, tuple(steps), tuple([place[r] for r in graph.results]), graph.parts)


def with_numbers(step: Step, numbers: Mapping[int, npt.NDArray[Any]]) -> Step:
    """Put numbers into functions that read them from arrays without axes."""
    gone = [n for n, p in enumerate(step.inputs) if p in numbers]
    if not gone:
        return step
    (h,) = step.mdhom.mdhoms
    left = [n for n in range(len(h.inputs)) if n not in gone]
    kept = [p for p, (n, _) in enumerate(h.accesses) if n not in gone]

    def filled(function: Function, before: int) -> Function:
        place = {p: p for p in range(before)} | {before + p: before + n for n, p in enumerate(kept)}

        def put(s: Instruction) -> Instruction:
            if s.position in place:
                return replace(s, position=place[s.position])
            number = numbers[step.inputs[h.accesses[s.position - before][0]]]
            return Instruction("const", (), s.dtype, literal=repr(number.item()))

        return function.substituted([t for p, t in enumerate(function.parameters) if p in place], put)

    scalar = filled(h.scalar, 0)
    finish = None if h.finish is None else filled(h.finish, len(h.scalar.results))
    inputs = tuple([h.inputs[n] for n in left])
    return Step(replace(h, scalar=scalar, finish=finish, inputs=inputs), tuple([step.inputs[n] for n in left]))
