"""Building an MDH out of parts of others: what is read, functions put together, and what is computed in place of reads.

A new MDH has dimensions of its own; of an old one that becomes part of it each index is an affine function of these.
Values are numbered as in the graph that the old ones come from.
"""

import string
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np

from mdhnp.mdh import Affine, Computation, Function, Graph, Instruction, MdHom, Step, View, trace
from mdhnp.mdh.combine import CC
from mdhnp.mdh.ctext import is_only_functions, returned_type
from mdhnp.mdh.trace import Recorder, Symbol
from mdhnp.mdh.views import Access, Place, composed, contiguous, in_place, row_major, unit

#: What was recorded of a function, and which values are its results.
Recorded = tuple[Recorder, Sequence[int]]


#: Terms of a reduction that are written out, and which of them are combined before the others.
_TERMS, _TOGETHER = 64, 8
#: Instructions of what is written out: more would take seconds to compile.
_INSTRUCTIONS = 1024
#: Results of each application, at most: an extreme and its place. What more results share would be written out again
#: and again.
_RESULTS = 2


def is_map(h: Computation) -> bool:
    """Whether nothing is combined, and the scalar function is known: so it can be computed wherever it is read."""
    return is_known(h) and all([c.kind == "cc" for c in h.last.combine])


def is_short(h: Computation) -> bool:
    """Whether it is a known reduction of few terms: written out, it is computed wherever it is read, as a map is."""
    if not is_known(h) or not h.last.dims("pw") or h.last.dims("ps") or h.last.nested:
        return False
    terms = prod([h.last.extents[d] for d in h.last.dims("pw")])
    functions = [h.last.scalar, *[c.operator.function for c in h.last.combine if c.operator is not None]]
    if any([len(f.results) > _RESULTS for f in functions]):
        return False
    return terms <= _TERMS and terms * sum([len(f.body) for f in functions]) <= _INSTRUCTIONS


def is_known(h: Computation) -> bool:
    """Whether it is one MDH that is computed point by point, also beside others and in expressions."""
    if len(h.mdhoms) > 1 or any([view.slices for view in h.last.inputs]):
        return False
    # OpenCL C text gives one result, of its own type, and brings nothing along that other text would see.
    texts = [one for f in h.last.functions for one in f.body if one.op == "text"]
    return all([returned_type(one.literal) == one.dtype and is_only_functions(one.literal) for one in texts])


class Reads:
    """What a new MDH reads, each access once, and its functions."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self._known: dict[tuple[int, View, Access], int] = {}

    def read(self, recorder: Recorder, value: int, view: View, access: Access, place: Place, before: int = 0) -> Symbol:
        """Record an element of a value, at a place; `before` parameters come before those that are read."""
        key = value, view.array, composed(access, place, self.rank)
        number = self._known.setdefault(key, len(self._known))
        return recorder.add(Instruction("param", (), view.dtype, before + number))

    def index(self, recorder: Recorder, place: Place) -> Callable[[int], int]:
        """Give what records the index that an old MDH had in a dimension."""

        def at(dim: int) -> int:
            index, whole = place[dim], np.dtype(np.int64)
            moved = [
                (recorder.add(Instruction("index", (), whole, d)), c) for d, c in enumerate(index.coefficients) if c
            ]
            terms = [found if c == 1 else found * c for found, c in moved]
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
        made = Function((), tuple(recorder.body), tuple(results), contract)
        return made.substituted(
            (*before, *[view.dtype for _, view, _ in order]),
            lambda s: s if s.position < len(before) else replace(s, position=places[s.position - len(before)]),
        )

    def map(self, recorder: Recorder, shape: tuple[int, ...], result: int) -> Step:
        """Make the map of what was recorded, that gives an array indexed by its dimensions."""
        function, (inputs, values) = self.function(recorder, (result,)), self.views()
        out = contiguous("O0", function.dtypes[0], shape, tuple(range(self.rank)))
        return Step(MdHom(shape, (CC,) * self.rank, function, inputs, (out,), checked=False), values)


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
        #: What was recorded to combine written-out terms.
        self._combining: set[int] = set()

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
        return self.reads.read(recorder, value, view, view.accesses[a], place, before).number

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
        """Record all results, at a place, of a map or of a short reduction, whose terms are written out."""
        h = step.mdhom.last
        reduced, found = h.dims("pw"), []
        for term in product(*[range(h.extents[d]) for d in reduced]):
            at = dict(zip(reduced, term, strict=True))
            own = [replace(unit(self.reads.rank), constant=at[d]) if d in at else i for d, i in enumerate(place)]
            found.append(self.combined(recorder, step, tuple(own), before))
        while len(found) > 1:
            few = [found[n : n + _TOGETHER] for n in range(0, len(found), _TOGETHER)]
            found = [reduce(partial(self._both, recorder, h), one) for one in few]
        return self.finished(recorder, step, place, found[0], before)

    def _both(self, recorder: Recorder, h: MdHom, left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
        begin = len(recorder.body)
        found = recorder.paste(h.combiner.function, [*left, *right])
        self._combining.update(range(begin, len(recorder.body)))
        return found

    def may_contract(self, recorder: Recorder) -> bool:
        """Whether products are added where written-out terms are combined, as a reduction does, and nowhere else."""
        body = recorder.body
        products = {n for n, step in enumerate(body) if step.op in ("multiply", "square")}
        adding = [n for n, step in enumerate(body) if step.op in ("add", "subtract") and products & {*step.args}]
        return bool(adding) and self._combining.issuperset(adding)

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
        return Step(MdHom(**(fields | others), checked=False), values)


def composed_with(graph: Graph, step: Step, inlined: Mapping[int, Step]) -> Step:
    """Give a step that computes some values, by maps, in place of reading them."""
    h = step.mdhom.last
    apart = splits(h, reshaped(graph, step, inlined))
    assert apart is not None  # `read_in_order`
    place, extents = parts(h, apart)
    composer = Composer(graph, len(extents), inlined, extents)
    scalar = Recorder()
    results = composer.combined(scalar, step, place)
    contract = h.scalar.contract or composer.may_contract(scalar)
    final = None
    if h.finish is not None:
        finish, types = Recorder(), h.scalar.dtypes
        final = finish, composer.finished(finish, step, place, finish.parameters(types), len(types))
    moved = [composed(v.accesses[0], place, len(extents)) for v in h.outputs]
    return composer.step(
        h, (scalar, results), final, extents=extents, contract=contract,
        combine=tuple([c for d, c in enumerate(h.combine) for _ in apart.get(d, (0,))]),
        outputs=tuple([replace(v, accesses=(access,)) for v, access in zip(h.outputs, moved, strict=True)]),
        names=tuple([f"i{d}" for d in range(len(extents))]) if apart else h.names,
    )  # fmt: skip


def written_out(graph: Graph, n: int) -> Step:
    """Give the map that computes what a short reduction of one result does: one that reads it, and has it inlined."""
    (made,) = graph.mdhom(n).outputs
    rank = len(made.shape)
    view = replace(made, accesses=(in_place(rank),))
    copy = MdHom(made.shape, (CC,) * rank, trace(lambda x: x, [made.dtype]), (view,), (view,), checked=False)
    return composed_with(graph, Step(copy, (graph.firsts[n],)), {graph.firsts[n]: graph.steps[n]})


def reshaped(graph: Graph, step: Step, values: Collection[int]) -> list[tuple[View, tuple[int, ...]]]:
    """Give the views through which a step sees values in other shapes than they were made in, and these."""
    seen = [(v, graph.view(p).shape) for p, v in step.reads if p in values]
    return [(v, shape) for v, shape in seen if v.shape != shape]


# Arrays read in another shape than they are made in: split and joined axes, moved into indices. Elements lie in
# C order in both shapes, so an index in one is an index in the other, as long as no dimension runs across the end of an
# axis; one that does is taken apart. Source: Hagedorn et al., "High Performance Stencil Code Generation with Lift",
# `split` and `join`, and the rules that move them through maps.

#: Dimensions that are taken apart, and the extents of their parts, outermost first.
Splits = dict[int, tuple[int, ...]]


def splits(h: MdHom, views: Sequence[tuple[View, tuple[int, ...]]]) -> Splits | None:
    """Say which dimensions must be taken apart so that views are of arrays of other shapes; None where none can be."""
    found: Splits = {}
    for view, shape in views:
        for access in view.accesses:
            for d, c in enumerate(_flat(access, view.shape, h.extents)[0]):
                sizes = _cut(h.extents[d], c, row_major(shape))
                if sizes is None or found.setdefault(d, sizes) != sizes:
                    return None
    found = {d: sizes for d, sizes in found.items() if len(sizes) > 1}
    combine = [h.combine[d] for d in found]
    if any([h.nested or c.kind == "ps" or (c.operator and not c.operator.commutative) for c in combine]):
        return None
    place, extents = parts(h, found)
    fits = all(
        [unraveled(composed(a, place, len(extents)), v.shape, shape, extents) for v, shape in views for a in v.accesses]
    )
    return found if fits else None


def _cut(extent: int, step: int, strides: Sequence[int]) -> tuple[int, ...] | None:
    """Take a dimension apart that moves by so much, where it runs across the ends of axes with such strides."""
    sizes, begin = list[int](), step
    for stride in sorted({s for s in strides if step < s < step * extent}):
        if step < 0 or stride % begin or extent % (stride // begin):
            return None
        sizes.insert(0, stride // begin)
        extent //= stride // begin
        begin = stride
    return (extent, *sizes)


def parts(h: MdHom, found: Splits) -> tuple[Place, tuple[int, ...]]:
    """Give the place of an MDH in one whose dimensions are the parts of its own, and the extents of these."""
    each = [found.get(d, (n,)) for d, n in enumerate(h.extents)]
    extents = tuple([n for sizes in each for n in sizes])
    place, first = [], 0
    for sizes in each:
        steps = [0] * len(extents)
        steps[first : first + len(sizes)] = row_major(sizes)
        place.append(Affine(tuple(steps)))
        first += len(sizes)
    return tuple(place), extents


def unraveled(access: Access, shape: tuple[int, ...], other: tuple[int, ...], extents: Sequence[int]) -> Access | None:
    """Give an access to an array of some shape as one to the same elements in another; None where it is no such one."""
    steps, constant = _flat(access, shape, extents)
    if min(steps, default=0) < 0:
        return None
    found = []
    for stride in row_major(other):
        here = [c // stride if c % stride == 0 else 0 for c in steps]
        steps = [c if c % stride else 0 for c in steps]
        at, constant = divmod(constant, stride)
        if constant + sum([c * (n - 1) for c, n in zip(steps, extents, strict=True)]) >= stride:
            return None
        found.append(Affine(tuple(here), at))
    return tuple(found)


def _flat(access: Access, shape: tuple[int, ...], extents: Sequence[int]) -> tuple[list[int], int]:
    """How far each dimension moves an access in C order, and where it begins."""
    steps, constant = [0] * len(extents), 0
    for index, stride in zip(access, row_major(shape), strict=True):
        constant += stride * index.constant
        for d in index.dims():
            steps[d] += stride * index.coefficients[d] * (extents[d] > 1)
    return steps, constant
