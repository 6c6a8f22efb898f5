"""Graphs: several MDHs that are computed one after the other, each on arrays given and on what others before it gave.

Values are numbered: first the arrays given, then the results of all steps, in order. All but the arrays given are
C-contiguous. It must not know devices.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from mdhnp.mdh.function import Function, Instruction
from mdhnp.mdh.interpret import interpret
from mdhnp.mdh.mdhom import Computation, MdHom
from mdhnp.mdh.views import View

__all__ = ["Graph", "Step", "expanded", "with_numbers"]


class Step(NamedTuple):
    """One of several computations, one after the other."""

    #: What it computes: an MDH, or several that are fused.
    mdhom: Computation
    #: The values that are its inputs. One of another shape than its view has as many elements, and they are read in C
    #: order.
    inputs: tuple[int, ...]


@dataclass(frozen=True)
class Graph:
    """Steps, and which values are wanted of them."""

    #: Number of arrays given.
    given: int
    #: In an order in which they can be computed.
    steps: tuple[Step, ...]
    #: The values wanted.
    results: tuple[int, ...]

    @classmethod
    def of(cls, mdhom: Computation) -> Self:
        """Make the graph of one step."""
        given = len(mdhom.inputs)
        return cls.ending(given, [Step(mdhom, tuple(range(given)))])

    @classmethod
    def ending(cls, given: int, steps: Sequence[Step]) -> Self:
        """Make the graph whose results are those of the last step."""
        last = given + sum([len(s.mdhom.outputs) for s in steps[:-1]])
        return cls(given, tuple(steps), tuple(range(last, last + len(steps[-1].mdhom.outputs))))

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

    @cached_property
    def _readers(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {}
        for n, step in enumerate(self.steps):
            for value in dict.fromkeys(step.inputs):
                found.setdefault(value, []).append(n)
        return {value: tuple(steps) for value, steps in found.items()}

    def interpret(self, *arrays: Any) -> tuple[Any, ...]:
        """Evaluate all by definition; slow, and what tests compare with."""
        values = [np.asarray(a) for a in arrays]
        for mdhom, inputs in self.steps:
            read = [values[p].reshape(v.shape) for p, v in zip(inputs, mdhom.inputs, strict=True)]
            found = interpret(mdhom, *read)
            values.extend(found if isinstance(found, tuple) else (found,))
        return tuple(values[r] for r in self.results)

    def __str__(self) -> str:
        shown = [
            f"{', '.join(f'v{first + o}' for o in range(len(s.mdhom.outputs)))} = "
            f"{s.mdhom} of {', '.join(f'v{p}' for p in s.inputs)}"
            for first, s in zip(self.firsts, self.steps, strict=True)
        ]
        return "\n".join([*shown, f"give {', '.join(f'v{r}' for r in self.results)}"])


def expanded(graph: Graph, parts: Callable[[Computation], Sequence[Step] | None]) -> Graph:
    """Put several steps in place of some; their inputs are that one's, which their results follow."""
    apart = [parts(step.mdhom) for step in graph.steps]
    if not any(apart):
        return graph
    found: list[Step] = []
    place = list(range(graph.given))
    values = graph.given
    for step, several in zip(graph.steps, apart, strict=True):
        here = [place[p] for p in step.inputs]
        for part in several or Graph.of(step.mdhom).steps:
            found.append(Step(part.mdhom, tuple([here[p] for p in part.inputs])))
            results = range(values, values + len(part.mdhom.outputs))
            here.extend(results)
            values = results.stop
        place.extend(results)
    return Graph(graph.given, tuple(found), tuple([place[r] for r in graph.results]))


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
            if s.op != "param":
                return s
            if s.position in place:
                return replace(s, position=place[s.position])
            number = numbers[step.inputs[h.accesses[s.position - before][0]]]
            return Instruction("const", (), s.dtype, literal=repr(number.item()))

        parameters = tuple([t for p, t in enumerate(function.parameters) if p in place])
        return replace(function, parameters=parameters, body=tuple([put(s) for s in function.body]))

    scalar = filled(h.scalar, 0)
    finish = None if h.finish is None else filled(h.finish, len(h.scalar.results))
    inputs = tuple([h.inputs[n] for n in left])
    return Step(replace(h, scalar=scalar, finish=finish, inputs=inputs), tuple([step.inputs[n] for n in left]))
