"""Rows in their online form: what a dimension is reduced to is carried along its tiles, which follow each other.

Attention's scores, say, are as many as queries times keys; with keys a tile at a time there are only those of a tile.
What later reductions combine may depend on an earlier one, as exp(h - max h) does, which is known after the last tile
only. Each tile combines as if the maximum so far was the last one, and what tiles before have combined is corrected:
Σ exp(h - m) · w becomes Σ exp(h - m') · w when it is multiplied by exp(m - m'), since products distribute over sums.

Source: Tang et al., "RedFuser: An Automatic Operator Fusion Framework for Cascaded Reductions on AI Accelerators",
whose condition `kind_of` looks for: a function of an earlier result that is a factor of all that is combined. Dao, Fu,
Ermon, Rudra & Ré, "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness", Algorithm 1.

The form is rows itself: a graph that computes the same when there is one tile, so that the interpreter evaluates it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, nan
from typing import Any, NamedTuple

import numpy as np

from mdhnp.fusion.bounds import last_that_counts
from mdhnp.fusion.dependence import FREE, Kind, kind_of
from mdhnp.fusion.rule import ufunc
from mdhnp.mdh import Affine, Function, Graph, MdHom, Rows, Step, View, is_product, rows, trace
from mdhnp.mdh.combine import CC
from mdhnp.mdh.complex import where
from mdhnp.mdh.function import literal_value
from mdhnp.mdh.trace import Recorder, Symbol
from mdhnp.mdh.views import row_major, unit


@dataclass(frozen=True)
class Streamed(Rows):
    """Rows whose steps are computed before, for each tile of a dimension, and after all tiles."""

    #: Of each MDH the dimension along which tiles follow each other; -1 where it has none.
    streamed: tuple[int, ...]
    #: The same of the rows' last MDH.
    dim: int
    #: Where the steps of each tile begin, and where those after all tiles do.
    begin: int
    end: int
    #: Of values that are carried: what a tile begins with, and what it leaves to the next one in the same memory.
    carried: tuple[tuple[int, int], ...]
    #: How far beyond a row's index the last point is that counts, if all points count for none of the rows.
    until: int | None
    #: Steps whose exponentials are factors of what is combined, the largest of them 1.
    weights: frozenset[int]


@lru_cache(maxsize=64)
def streamed(h: Rows) -> Streamed | None:
    """Give the online form of rows whose last MDH reduces what a product made; None where the law does not hold.

    It has one dimension for each of the last MDH's, of which the reduced ones have one point. What is read of such
    extents, and not computed, is read row by row instead.
    """
    for d in () if h.mdhoms[-1].nested else h.mdhoms[-1].dims("pw"):
        if (dims := _dimensions(h.graph, d)) is None:
            continue
        each = zip(h.mdhoms, h.shared, dims, strict=True)
        products = [one for one, along, dim in each if dim in one.dims("cc") and is_product(one, along)]
        if products and (form := _Form(h, dims).whole()) is not None:
            return form
    return None


def _dimensions(graph: Graph, dim: int) -> list[int] | None:
    """Of each MDH the dimension whose index is that of the last one's, -1 for none; None where they differ."""
    count = len(graph.steps)
    found, axes, pending = [-1] * (count - 1) + [dim], dict[int, int](), [count - 1]

    def agrees(n: int, d: int | None) -> bool:
        if d is None or found[n] not in (-1, d):
            return False
        if found[n] < 0:
            found[n] = d
            pending.append(n)
        return True

    while pending:
        n = pending.pop()
        step = graph.steps[n]
        for p, view in step.reads:
            for axis in {a for access in view.accesses for a, i in enumerate(access) if found[n] in i.dims()}:
                if p in graph.made_by and axes.setdefault(p, axis) != axis:
                    return None
        first = graph.firsts[n]
        for p, view in enumerate(step.mdhom.outputs, first):
            for axis in [a for a, i in enumerate(view.accesses[0]) if found[n] in i.dims()]:
                axes[p] = axis
        for p, axis in axes.items():
            if not agrees(graph.made_by[p][0], graph.view(p).accesses[0][axis].dim()):
                return None
            for reader in graph.readers(p):
                if not all([agrees(reader, access[axis].dim()) for _, access in graph.loads(reader, p)]):
                    return None
    extents = {graph.mdhom(n).extents[d] for n, d in enumerate(found) if d >= 0}
    return found if len(extents) == 1 else None


class _Added(NamedTuple):
    """A step of the online form, whose values have numbers of their own: arrays given, then in the order of making."""

    step: Step
    outputs: tuple[int, ...]
    #: The dimension that is streamed, or -1.
    dim: int
    #: Whether its exponential is a factor of what is combined.
    weighs: bool


class _Form:
    """The online form as it grows: of rows, of each of whose steps it is known which dimension is streamed."""

    def __init__(self, h: Rows, dims: Sequence[int]) -> None:
        self._h, self._graph, self._dims = h, h.graph, dims
        self._before, self._tile, self._after = list[_Added](), list[_Added](), list[_Added]()
        self._count = h.graph.given
        self._carried: list[tuple[int, int]] = []
        #: Of values of the rows: those of the form; which are known after all tiles only; how others depend on maxima.
        self._place = {p: p for p in range(h.graph.given)}
        self._late: set[int] = set()
        self._kinds: dict[int, Kind | None] = dict.fromkeys(self._place, FREE)
        #: Of maxima: what tiles subtract, and by what sums of tiles before are multiplied.
        self._subtracted: dict[int, int] = {}
        self._corrections: dict[int, int] = {}
        #: Of values from where on they are -inf, and of reductions from where on they find nothing that counts.
        self._bounds: dict[int, int | None] = {}
        self._ends: list[int | None] = []

    def whole(self) -> Streamed | None:
        if not all(self._add_step(n) for n in range(len(self._graph.steps))):
            return None
        added = [*self._before, *self._tile, *self._after]
        number = {p: p for p in range(self._graph.given)}
        for part in added:
            number |= {p: len(number) + k for k, p in enumerate(part.outputs)}
        steps = [Step(part.step.mdhom, tuple([number[p] for p in part.step.inputs])) for part in added]
        whole = rows(Graph.ending(self._graph.given, steps))
        if whole is None or whole.shared[-1] != self._h.shared[-1]:
            return None
        begin, end = len(self._before), len(self._before) + len(self._tile)
        carried = tuple([(number[a], number[b]) for a, b in self._carried])
        dims = tuple([part.dim for part in added])
        fields = whole.graph, whole.extents, whole.inputs, whole.outputs, whole.shared
        ends = [n for n in self._ends if n is not None]
        until = max(ends) if len(ends) == len(self._ends) else None
        weights = frozenset([n for n, part in enumerate(added) if part.weighs])
        return Streamed(*fields, dims, self._dims[-1], begin, end, carried, until, weights)

    def _add(
        self, part: list[_Added], h: MdHom, inputs: Sequence[int], dim: int = -1, *, weighs: bool = False
    ) -> tuple[int, ...]:
        """Add a step to one of the parts, and give the numbers of its results."""
        outputs = tuple(range(self._count, self._count + len(h.outputs)))
        self._count += len(outputs)
        part.append(_Added(Step(h, tuple(inputs)), outputs, dim, weighs))
        return outputs

    def _add_step(self, n: int) -> bool:
        """Add what a step of the rows is in the form; whether it is anything."""
        step, dim, values = self._graph.steps[n], self._dims[n], self._graph.values(n)
        if dim < 0:
            late = not self._late.isdisjoint(step.inputs)
            inputs = [self._place[p] for p in step.inputs]
            results = self._add(self._after if late else self._before, step.mdhom.last, inputs)
            self._place |= zip(values, results, strict=True)
            self._late |= {*values} if late else set()
            self._kinds |= dict.fromkeys(values, None if late else FREE)
            return True
        h = step.mdhom.last
        if self._is_normalised(n):
            return True
        given = [self._kind_read(step.inputs[k]) for k, _ in h.accesses]
        kind = kind_of(h.scalar, given)
        if len(values) > 1 or kind is None or (kind.name != "free" and h.dims("pw") and ufunc(h) != "add"):
            return False
        if h.combine[dim].kind == "pw":
            return self._reduce(n, kind)
        kind = kind if h.finish is None else kind_of(h.finish, [kind, *given])
        self._kinds[values[0]] = kind
        self._bounds[values[0]] = last_that_counts(h.finish or h.scalar, dim, self._h.shared[n][-1])
        inputs, views = self._operands(n)
        weighs = kind is not None and kind.name == "scaled" and [one.op for one in h.scalar.body].count("exp") == 1
        self._place[values[0]] = self._add(self._tile, replace(h, inputs=views), inputs, dim, weighs=weighs)[0]
        return kind is not None

    def _is_normalised(self, n: int) -> bool:
        """Whether a step divides exponentials by their sum: then they stay, and what they are added up to is divided.

        Σ (x / y) · w = (Σ x · w) / y, where y is the same for all terms, and not 0 since the largest x is 1.
        """
        step, h = self._graph.steps[n], self._graph.mdhom(n)
        root, (value, *others) = h.scalar.body[h.scalar.results[0]], self._graph.values(n)
        read = [h.scalar.body[a] for a in root.args]
        if others or h.finish is not None or root.op != "divide" or any([s.op != "param" for s in read]):
            return False
        (top, a), (total, _) = [
            (step.inputs[k], h.inputs[k].accesses[a]) for k, a in [h.accesses[s.position] for s in read]
        ]
        kind, maker = self._kinds[top], self._graph.made_by.get(total)
        if kind is None or kind.name != "scaled" or kind.over >= 0 or maker is None or a != h.outputs[0].accesses[0]:
            return False
        sums = self._graph.mdhom(maker[0])
        added = ufunc(sums) == "add" and sums.finish is None and self._graph.steps[maker[0]].inputs == (top,)
        if not added or sums.scalar.body[sums.scalar.results[0]].op != "param":
            return False
        self._kinds[value], self._place[value] = kind._replace(over=total), self._place[top]
        return True

    def _kind_read(self, value: int) -> Kind | None:
        kind = self._kinds[value]
        return kind._replace(of=value) if kind is not None and kind.name == "free" else kind

    def _operands(self, n: int) -> tuple[list[int], tuple[View, ...]]:
        """What a step of each tile reads: of a product, what no tile moves is laid down for all of them before."""
        step, dim, along = self._graph.steps[n], self._dims[n], self._h.shared[n]
        h, values, views = step.mdhom.last, list[int](), list[View]()
        product = is_product(h, along)
        for p, view in step.reads:
            value = self._subtracted.get(p, self._place[p])
            if product and p < self._graph.given and not view.depends_on(dim) and view.depends_on(along[-1]):
                copied = _copied(h, view)
                if copied is not None:
                    copy, view = copied
                    (value,) = self._add(self._before, copy, [p])
            values.append(value)
            views.append(view)
        return values, tuple(views)

    def _reduce(self, n: int, kind: Kind) -> bool:
        """Add a reduction along tiles: what it begins with, each tile's part, and what becomes of it after all."""
        step = self._graph.steps[n]
        h, (value,) = step.mdhom.last, self._graph.values(n)
        operator, (dtype,) = h.operator, h.scalar.dtypes
        if operator is None or operator.identity is None or not ufunc(h):
            return False
        once = tuple([1 if c.kind == "pw" else extent for c, extent in zip(h.combine, h.extents, strict=True)])
        out = replace(h.outputs[0], dtype=dtype, strides=row_major(h.outputs[0].shape), offset=0)
        neutral = dtype.type(literal_value(operator.identity[0], dtype))
        like = MdHom(once, (CC,) * h.rank, trace(lambda: neutral, [], [dtype]), (), (out,), names=h.names)
        (start,) = self._add(self._before, like, [])

        scalar, places = _alone(h.scalar, h)
        inputs, views = self._operands(n)
        read = [*[inputs[k] for k in places], start]
        seen = [*[views[k] for k in places], replace(out, name="")]
        if kind.name == "scaled":
            read.append(self._corrections[kind.largest])
            seen.append(self._row(kind.largest, n))
        elif kind.name != "free":
            return False
        parameters = (*scalar.parameters, *[v.dtype for v in seen[len(places) :]])
        finish = Recorder()
        total, *_, old, last = (Symbol(finish, p) for p in finish.parameters((dtype, *parameters)))
        if kind.name == "free":
            results = finish.paste(operator.function, [last.number, total.number])
        else:
            results = ((total + _corrected(old, last)).number,)
        final = Function((dtype, *parameters), tuple(finish.body), results, True)
        part = replace(
            h, scalar=replace(scalar, parameters=parameters), inputs=tuple(seen), outputs=(out,), finish=final
        )
        (carried,) = self._add(self._tile, part, read, self._dims[n])
        self._late.add(value)
        self._kinds[value] = None
        if self._is_largest(n, kind):
            correction, subtracted, top = self._add(self._tile, _turned(like), [start, carried], weighs=True)
            self._kinds[value] = Kind("largest", value, kind.of)
            self._corrections[value], self._subtracted[value], carried = correction, subtracted, top
        self._carried.append((start, carried))
        counts = kind.name == "scaled" or self._kinds[value] is not None
        self._ends.append(self._bounds.get(kind.of) if counts else None)
        self._place[value] = carried if self._kinds[value] else self._finished(n, like, carried, kind)
        return True

    def _finished(self, n: int, like: MdHom, carried: int, kind: Kind) -> int:
        """Add what is done with what all tiles have combined, and give its number.

        Where the maximum is infinite or NaN, h - maximum is NaN somewhere, and so is the sum.
        """
        step = self._graph.steps[n]
        h, (dtype,) = step.mdhom.last, step.mdhom.last.scalar.dtypes
        rest, places = (None, []) if h.finish is None else _alone(h.finish, h, 1)
        seen, read = [like.outputs[0]], [carried]
        if kind.name == "scaled":
            seen.append(self._row(kind.largest, n))
            read.append(self._place[kind.largest])
        if kind.over >= 0:
            seen.append(self._row(kind.over, n))
            read.append(self._place[kind.over])
        before = len(seen)
        seen += [h.inputs[k] for k in places]
        read += [self._place[step.inputs[k]] for k in places]
        recorder = Recorder()
        types = [v.dtype for v in seen for _ in v.accesses]
        numbers = recorder.parameters(types)
        total: Any = Symbol(recorder, numbers[0])
        if kind.name == "scaled":
            top: Any = Symbol(recorder, numbers[1])
            total = where(np.isnan(top - top), dtype.type(nan), total)
        if kind.over >= 0:
            total = total / Symbol(recorder, numbers[2])
        results = (total.number,) if rest is None else recorder.paste(rest, [total.number, *numbers[before:]])
        function = Function(tuple(types), tuple(recorder.body), results)
        done = replace(like, scalar=function, inputs=tuple(seen), outputs=h.outputs)
        return self._add(self._after, done, read)[0]

    def _is_largest(self, n: int, kind: Kind) -> bool:
        """Whether it is the maximum, of each row, of what others may be compared with, and is read by a step."""
        h, along = self._graph.mdhom(n), self._h.shared[n]
        plain = h.finish is None and h.scalar.body[h.scalar.results[0]].op == "param"
        alone = all([d in along or h.extents[d] == 1 for d in h.dims("cc")])
        largest = plain and alone and ufunc(h) == "maximum" and h.scalar.dtypes[0].char in "fd"
        return kind.of >= 0 and largest and bool(self._graph.readers(self._graph.values(n)[0]))

    def _row(self, value: int, n: int) -> View:
        """How a step sees what there is one of for each row: as another step of the rows made it."""
        m, _ = self._graph.made_by[value]
        view, rank = self._graph.view(value), self._graph.mdhom(n).rank
        place = dict(zip(self._h.shared[m], self._h.shared[n], strict=True))
        dims = [[d for d in i.dims() if d in place] for i in view.accesses[0]]
        access = tuple([Affine.of(place[d[0]], rank) if d else unit(rank) for d in dims])
        return replace(view, strides=row_major(view.shape), offset=0, accesses=(access,))


def _alone(f: Function, h: MdHom, before: int = 0) -> tuple[Function, list[int]]:
    """Give a function of an MDH as one of the inputs that it uses, and which these are.

    Some parameters come before those that are read.
    """
    used = {h.accesses[p - before][0] for p in f.used_parameters() if p >= before}
    kept = [*range(before), *[before + p for p, (k, _) in enumerate(h.accesses) if k in used]]
    types = tuple([f.parameters[p] for p in kept])
    recorder = Recorder()
    results = recorder.paste(f, dict(zip(kept, recorder.parameters(types), strict=True)))
    return Function(types, tuple(recorder.body), results, f.contract), sorted(used)


def _corrected(total: Any, factor: Any) -> Any:
    """Give what tiles before added up for the maximum so far: nothing where it is infinite and does not count."""
    return where((factor == 0) & np.isinf(total), total.dtype.type(0), factor * total)


def _copied(h: MdHom, view: View) -> tuple[MdHom, View] | None:
    """Give the map that copies what an MDH reads of an array, and how it sees the copy; None where that is no map."""
    (access, *others), dims = view.accesses, [d for d, n in enumerate(h.extents) if n > 1 and view.depends_on(d)]
    if others or view.boundary is not None or any([i.dims() and i.dim() is None for i in access]):
        return None
    if not any([h.combine[d].kind == "pw" for d in dims]):
        return None
    extents, rank = tuple([h.extents[d] for d in dims]), len(dims)
    copy = View("", view.dtype, extents, row_major(extents), 0, (tuple([Affine.of(d, rank) for d in range(rank)]),))
    given = replace(view, accesses=(tuple([i.in_order(dims) for i in access]),))
    seen = replace(copy, accesses=(tuple([Affine.of(d, h.rank) for d in dims]),))
    return MdHom(extents, (CC,) * rank, trace(lambda x: x, [view.dtype]), (given,), (copy,), checked=False), seen


def _turned(like: MdHom) -> MdHom:
    """Give what becomes of maxima: by what sums before are multiplied, what is subtracted, and the maximum so far.

    Where nothing is larger than -inf yet, all of it is so far below any number.
    """
    (view,) = like.outputs

    def function(old: Any, new: Any) -> Any:
        one, zero = view.dtype.type(1), view.dtype.type(0)
        return np.where(old == new, one, np.exp(old - new)), np.where(new == -inf, zero, new), new

    scalar = trace(function, [view.dtype] * 2, [view.dtype] * 3)
    outputs = tuple([replace(view, name=name) for name in ("c", "s", "t")])
    inputs = tuple([replace(view, name=name) for name in ("a", "b")])
    return replace(like, scalar=scalar, inputs=inputs, outputs=outputs)
