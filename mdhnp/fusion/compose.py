"""Building an MDH out of parts of others: what is read, functions put together, and what is computed in place of reads.

A new MDH has dimensions of its own; of an old one that becomes part of it each index is an affine function of these.
Values are numbered as in the graph that the old ones come from.
"""

import string
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mdhnp.fusion.shapes import parts, splits, unraveled
from mdhnp.mdh import Computation, Function, Graph, Instruction, MdHom, Step, View
from mdhnp.mdh.trace import Recorder
from mdhnp.mdh.views import Access, Place, composed, unit

__all__ = ["Composer", "Reads", "composed_with", "is_known", "is_map", "reshaped"]

#: What was recorded of a function, and which values are its results.
Recorded = tuple[Recorder, Sequence[int]]


def is_map(h: Computation) -> bool:
    """Whether nothing is combined, and the scalar function is known: so it can be computed wherever it is read."""
    return is_known(h) and all([c.kind == "cc" for c in h.last.combine])


def is_known(h: Computation) -> bool:
    """Whether it is one MDH whose functions are more than OpenCL C text: so it can be computed point by point."""
    return len(h.mdhoms) == 1 and not h.calls_text


class Reads:
    """What a new MDH reads, each access once, and its functions."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self._known: dict[tuple[int, View, Access], int] = {}

    def number(self, value: int, view: View, access: Access, place: Place) -> int:
        return self._known.setdefault((value, view.array, composed(access, place, self.rank)), len(self._known))

    def index(self, recorder: Recorder, place: Place) -> Callable[[int], int]:
        """Give what records the index that an old MDH had in a dimension."""

        def at(dim: int) -> int:
            index, whole = place[dim], np.dtype(np.int64)
            terms = [
                recorder.add(Instruction("index", (), whole, d)) * c for d, c in enumerate(index.coefficients) if c
            ]
            if index.constant or not terms:
                terms.append(recorder.constant(index.constant, whole))
            return int(sum(terms[1:], start=terms[0]).number)

        return at

    def views(self) -> tuple[tuple[View, ...], tuple[int, ...]]:
        together: dict[tuple[int, View], list[Access]] = {}
        for value, view, access in self._known:
            together.setdefault((value, view), []).append(access)
        names = string.ascii_uppercase if len(together) <= 14 else [f"A{n}" for n in range(len(together))]
        inputs = [
            replace(view, name=name, accesses=tuple(accesses))
            for name, ((_, view), accesses) in zip(names, together.items(), strict=False)
        ]
        return tuple(inputs), tuple([value for value, _ in together])

    def function(
        self, recorder: Recorder, results: Iterable[int], before: Sequence[np.dtype[Any]] = (), contract: bool = False
    ) -> Function:
        """Make the function of what was recorded; its parameters are some of those types, then all that is read."""
        inputs, values = self.views()
        order = [(n, view, access) for n, view in zip(values, inputs, strict=True) for access in view.accesses]
        places = {
            self._known[value, view.array, access]: len(before) + n for n, (value, view, access) in enumerate(order)
        }
        made = Function((), tuple(recorder.body), tuple(results), None, contract)
        return made.substituted(
            (*before, *[view.dtype for _, view, _ in order]),
            lambda s: s if s.position < len(before) else replace(s, position=places[s.position - len(before)]),
        )


class Composer:
    """Makes an MDH of `rank` dimensions in whose functions those of old ones, of a graph, are computed.

    Values `inlined` are computed by maps in place of being read; where in another shape than they were made in,
    `extents` are the new MDH's.
    """

    def __init__(
        self, graph: Graph, rank: int, inlined: Mapping[int, Step] | None = None, extents: Sequence[int] = ()
    ) -> None:
        self.graph, self.reads, self._inlined, self._extents = graph, Reads(rank), inlined or {}, extents
        self.known: dict[int, int | Instruction] = {}

    def _operands(self, recorder: Recorder, step: Step, place: Place, before: int) -> list[int]:
        return [self._operand(recorder, step, n, a, place, before) for n, a in step.mdhom.last.accesses]

    def _operand(self, recorder: Recorder, step: Step, n: int, a: int, place: Place, before: int) -> int:
        view, value = step.mdhom.inputs[n], step.inputs[n]
        if value in self.known:
            known = self.known[value]
            return known if isinstance(known, int) else recorder.add(known).number
        if value in self._inlined:
            made = self._inlined[value]
            o = self.graph.made_by[value][1]
            access = composed(view.accesses[a], place, self.reads.rank)
            written = made.mdhom.outputs[o]
            if view.shape != written.shape:
                other = unraveled(access, view.shape, written.shape, self._extents)
                assert other is not None  # `read_in_order`
                access = other
            inner = [unit(self.reads.rank)] * made.mdhom.rank
            for index, read in zip(written.accesses[0], access, strict=True):
                for d in index.dims():  # one, with coefficient 1: `written_plainly`
                    inner[d] = read
            return self.mapped(recorder, made, tuple(inner), before)[o]
        number = self.reads.number(value, view, view.accesses[a], place)
        return recorder.add(Instruction("param", (), view.dtype, before + number)).number

    def combined(self, recorder: Recorder, step: Step, place: Place, before: int = 0) -> tuple[int, ...]:
        """Record what a step combines at a place; `before` parameters come before those that are read."""
        given, at = self._operands(recorder, step, place, before), self.reads.index(recorder, place)
        return recorder.paste(step.mdhom.last.scalar, given, at)

    def finished(
        self, recorder: Recorder, step: Step, place: Place, combined: Sequence[int], before: int = 0
    ) -> tuple[int, ...]:
        """Record a step's results from what it has combined."""
        finish = step.mdhom.last.finish
        if finish is None:
            return tuple(combined)
        given = self._operands(recorder, step, place, before)
        return recorder.paste(finish, [*combined, *given], self.reads.index(recorder, place))

    def mapped(self, recorder: Recorder, step: Step, place: Place, before: int = 0) -> tuple[int, ...]:
        """Record all results of a map at a place."""
        return self.finished(recorder, step, place, self.combined(recorder, step, place, before), before)

    def step(self, like: MdHom, scalar: Recorded, finish: Recorded | None = None, **others: Any) -> Step:
        """Make the step of what was recorded, like an MDH but for some fields.

        `contract` says whether products that are added in its scalar function may be fused.
        """
        inputs, values = self.reads.views()
        types = [scalar[0].body[n].dtype for n in scalar[1]]
        final = None if finish is None else self.reads.function(*finish, types)
        fields = {name: getattr(like, name) for name in ("extents", "combine", "outputs", "names", "nested")}
        fields |= {"precision": like.precision, "inputs": inputs, "finish": final}
        fields["scalar"] = self.reads.function(*scalar, (), others.pop("contract", False))
        return Step(MdHom.unchecked(**(fields | others)), values)


def composed_with(graph: Graph, step: Step, inlined: Mapping[int, Step]) -> Step:
    """Give a step that computes some values, by maps, in place of reading them."""
    h = step.mdhom.last
    apart = splits(h, reshaped(graph, step, inlined))
    assert apart is not None  # `read_in_order`
    place, extents = parts(h, apart)
    composer = Composer(graph, len(extents), inlined, extents)
    scalar = Recorder()
    results = composer.combined(scalar, step, place)
    final = None
    if h.finish is not None:
        finish, types = Recorder(), h.scalar.dtypes
        final = finish, composer.finished(finish, step, place, finish.parameters(types), len(types))
    moved = [composed(v.accesses[0], place, len(extents)) for v in h.outputs]
    return composer.step(
        h, (scalar, results), final, extents=extents, contract=h.scalar.contract,
        combine=tuple([c for d, c in enumerate(h.combine) for _ in apart.get(d, (0,))]),
        outputs=tuple([replace(v, accesses=(access,)) for v, access in zip(h.outputs, moved, strict=True)]),
        names=tuple([f"i{d}" for d in range(len(extents))]) if apart else h.names,
    )  # fmt: skip


def reshaped(graph: Graph, step: Step, values: Collection[int]) -> list[tuple[View, tuple[int, ...]]]:
    """Give the views through which a step sees values in other shapes than they were made in, and these."""
    seen = [(v, graph.view(p).shape) for p, v in step.reads if p in values]
    return [(v, shape) for v, shape in seen if v.shape != shape]
