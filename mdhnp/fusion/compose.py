"""An MDH that computes what others before it gave, in place of reading it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from mdhnp.fusion.reads import Place, Reads, composed, paste, unit
from mdhnp.fusion.shapes import parts, splits, unraveled
from mdhnp.mdh import Computation, Graph, Instruction, Step, View
from mdhnp.mdh.trace import Recorder
from mdhnp.mdh.views import Access

__all__ = ["Composer", "composed_with", "is_map", "loads", "place_in", "reshaped"]


def is_map(h: Computation) -> bool:
    """Whether nothing is combined, and the scalar function is known: so it can be computed wherever it is read."""
    return is_known(h) and all([c.kind == "cc" for c in h.last.combine])


def is_known(h: Computation) -> bool:
    """Whether it is one MDH whose functions are more than OpenCL C text: so it can be computed point by point."""
    return len(h.mdhoms) == 1 and not h.calls_text


def loads(graph: Graph, n: int, value: int) -> Iterator[tuple[View, Access]]:
    """Give the accesses of a step to a value."""
    step = graph.steps[n]
    for p, view in zip(step.inputs, step.mdhom.inputs, strict=True):
        if p == value:
            for access in view.accesses:
                yield view, access


def place_in(made: View, access: Access, rank: int, of: int) -> Place:
    """Give the place of an MDH in one that reads its result: its output's view, an access to it, and both ranks."""
    found = [unit(of)] * rank
    for index, read in zip(made.accesses[0], access, strict=True):
        for d in index.dims():  # one, with coefficient 1: `written_plainly`
            found[d] = read
    return tuple(found)


class Composer:
    """Records functions of a new MDH in which those of old ones are computed in place of being read.

    Parameters
    ----------
    graph : Graph
        Where the old ones are.
    rank : int
        Of the new one.
    inlined : mapping of int to Step
        Values that are computed, and by which maps.
    extents : sequence of int
        Of the new one, where values are computed that are read in another shape than they were made in.
    """

    def __init__(self, graph: Graph, rank: int, inlined: Mapping[int, Step], extents: Sequence[int] = ()) -> None:
        self.graph, self.reads, self._inlined, self._extents = graph, Reads(rank), inlined, extents

    def operands(self, recorder: Recorder, step: Step, place: Place, before: int = 0) -> list[int]:
        """Record what a step reads at a place; `before` parameters come before those that are read."""
        return [self._operand(recorder, step, n, a, place, before) for n, a in step.mdhom.last.accesses]

    def _operand(self, recorder: Recorder, step: Step, n: int, a: int, place: Place, before: int) -> int:
        view, value = step.mdhom.inputs[n], step.inputs[n]
        if value in self._inlined:
            made = self._inlined[value]
            o = self.graph.made_by[value][1]
            access = tuple([composed(index, place, self.reads.rank) for index in view.accesses[a]])
            written = made.mdhom.outputs[o]
            if view.shape != written.shape:
                other = unraveled(access, view.shape, written.shape, self._extents)
                assert other is not None  # `read_in_order`
                access = other
            inner = place_in(written, access, made.mdhom.rank, self.reads.rank)
            return self.mapped(recorder, made, inner, before)[o]
        number = self.reads.number(value, view, view.accesses[a], place)
        return recorder.add(Instruction("param", (), view.dtype, before + number)).number

    def mapped(self, recorder: Recorder, step: Step, place: Place, before: int = 0) -> tuple[int, ...]:
        """Record all results of a map at a place."""
        h, at = step.mdhom.last, self.reads.index(recorder, place)
        given = self.operands(recorder, step, place, before)
        results = paste(recorder, h.scalar, given, at)
        return results if h.finish is None else paste(recorder, h.finish, [*results, *given], at)


def composed_with(graph: Graph, step: Step, inlined: Mapping[int, Step]) -> Step:
    """Give a step that computes some values, by maps, in place of reading them."""
    h = step.mdhom.last
    apart = splits(h, reshaped(graph, step, inlined))
    assert apart is not None  # `read_in_order`
    place, extents = parts(h, apart)
    composer = Composer(graph, len(extents), inlined, extents)
    scalar = Recorder()
    at = composer.reads.index(scalar, place)
    results = paste(scalar, h.scalar, composer.operands(scalar, step, place), at)
    finish, final, types = Recorder(), None, h.scalar.dtypes
    if h.finish is not None:
        combined = parameters(finish, types)
        given = composer.operands(finish, step, place, len(types))
        final = paste(finish, h.finish, [*combined, *given], composer.reads.index(finish, place))
    inputs, values = composer.reads.views()
    made = replace(
        h,
        extents=extents,
        combine=tuple([c for d, c in enumerate(h.combine) for _ in apart.get(d, (0,))]),
        scalar=composer.reads.function(scalar, results, (), h.scalar.contract),
        finish=None if final is None else composer.reads.function(finish, final, types),
        inputs=inputs,
        outputs=tuple([replace(v, accesses=(_moved(v.accesses[0], place, len(extents)),)) for v in h.outputs]),
        names=() if apart else h.names,
    )
    return Step(made, values)


def _moved(access: Access, place: Place, rank: int) -> Access:
    return tuple([composed(index, place, rank) for index in access])


def reshaped(graph: Graph, step: Step, values: Collection[int]) -> list[tuple[View, tuple[int, ...]]]:
    """Give the views through which a step sees values in other shapes than they were made in, and these."""
    seen = [(v, graph.view(p).shape) for p, v in zip(step.inputs, step.mdhom.inputs, strict=True) if p in values]
    return [(v, shape) for v, shape in seen if v.shape != shape]


def parameters(recorder: Recorder, types: Sequence[object]) -> list[int]:
    """Record the first parameters of a function, of some types."""
    return [recorder.add(Instruction("param", (), t, n)).number for n, t in enumerate(types)]  # type: ignore[arg-type]
