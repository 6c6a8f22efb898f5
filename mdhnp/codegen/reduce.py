"""Partial results of one work-item: declared, accumulated point by point, combined across lanes.

Order of combination (source: Rasch, Schulze & Gorlatch, "Generating Portable High-Performance Code via
Multi-Dimensional Homomorphisms", Listing 1): in private memory first, then across work-items (`work_items.py`); across
work-groups by a second kernel.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from mdhnp.codegen.access import Context, Point, load, read_back, segment, store
from mdhnp.codegen.ir.index import ZERO, Compare, Index, least
from mdhnp.codegen.ir.values import BOOL, Address, Apply, Const, IndexValue, Load, Outside, Register, Value, half, splat
from mdhnp.codegen.nest import Nest
from mdhnp.codegen.scalar import applied, emit, may_contract
from mdhnp.mdh import Function

_Variable = Register | Load


@dataclass(frozen=True)
class Accumulators:
    """Variables of one work-item's partial results, in registers or in local memory."""

    #: For each element of the private tile (kept dimensions), one variable a result.
    values: tuple[tuple[_Variable, ...], ...]
    #: The same in scalars, for what is left of a vectorised reduction; empty otherwise.
    tails: tuple[tuple[_Variable, ...], ...] = ()
    #: Variable that says whether anything was combined yet; None for operators with an identity.
    seen: _Variable | None = None

    def mapped(self, function: Callable[[_Variable], _Variable]) -> "Accumulators":
        """Other variables of the same meaning."""
        values, tails = (tuple([tuple(map(function, one)) for one in many]) for many in (self.values, self.tails))
        return Accumulators(values, tails, function(self.seen) if self.seen else None)

    def assign(self, c: Context, others: "Accumulators") -> None:
        for mine, other in zip((*self.values, *self.tails), (*others.values, *others.tails), strict=True):
            c.build.assign_all(mine, other)
        if self.seen and others.seen:
            c.build.assign(self.seen, others.seen)


def start(literal: str, dtype: np.dtype[Any], lanes: int) -> Value:
    return splat(Const(literal, dtype), lanes)


def elements(nest: Nest) -> list[dict[int, int]]:
    """Offsets of the kept dimensions' points (or vectors) of the private tile, in private order."""
    kept = [d for d in nest.s.private_order if d in nest.kept]
    return [dict(zip(kept, combo, strict=True)) for combo in product(*(nest.offsets(d) for d in kept))]


def _beginning(c: Context) -> tuple[str, ...]:
    """What accumulators hold before anything is combined: the identity, where there is one."""
    return c.h.combiner.identity or ("0",) * len(c.h.scalar.dtypes)


def declare(c: Context, prefix: str) -> Accumulators:
    """Declare accumulators that begin with what changes nothing."""
    literals, has_identity = _beginning(c), c.h.combiner.identity is not None
    seen = None if has_identity else c.build.declare(f"{prefix}_seen", Const("0", BOOL))
    across = c.s.vector_dim in c.combined

    def variables(name: str, lanes: int) -> tuple[tuple[Register, ...], ...]:
        starts = [start(literal, t, lanes) for literal, t in zip(literals, c.h.scalar.dtypes, strict=True)]
        return tuple([tuple([c.build.declare(name, value) for value in starts]) for _ in elements(c)])

    return Accumulators(variables(prefix, c.s.vector_width), variables(f"{prefix}_tail", 1) if across else (), seen)


def restart(c: Context, acc: Accumulators) -> None:
    """Let accumulators hold what they were declared with."""
    for values in (*acc.values, *acc.tails):
        for variable, literal in zip(values, _beginning(c), strict=True):
            c.build.assign(variable, start(literal, variable.dtype, variable.lanes))
    if acc.seen:
        c.build.assign(acc.seen, Const("0", BOOL))


def mark_seen(c: Context, acc: Accumulators) -> None:
    if acc.seen:
        c.build.assign(acc.seen, Const("1", BOOL))


def declare_lost(c: Context, total: Accumulators, sums: Sequence[int]) -> list[dict[int, Register]]:
    """Declare what rounding loses of each accumulator's results `sums`, first the values', then the tails'."""
    named = [*(("lost", v) for v in total.values), *(("lost_tail", v) for v in total.tails)]
    return [{n: c.build.declare(stem, start("0", v[n].dtype, v[n].lanes)) for n in sums} for stem, v in named]


def apply(
    c: Context, left: Sequence[_Variable], right: Sequence[Value], seen: Value | None = None, *, before: bool = False,
    lost: Mapping[int, Register] | None = None,
) -> None:  # fmt: skip
    """Combine `right` into the variables `left`, of which it is the left operand where it comes `before`.

    Of the results that `lost` names, sums of floats, it keeps what rounding loses.
    """
    lost = lost or {}
    wide = [splat(v, left[0].lanes) for v in right]
    if seen is not None and len(left) > 1:
        wide = [c.build.name("f", v) for v in wide]
    rest = [n for n in range(len(left)) if n not in lost]
    results = _combined(c, left, wide, before) if rest else []
    for n in rest:
        if seen is not None:
            results[n] = applied("where", seen, results[n], wide[n])
        if len(left) > 1:
            results[n] = c.build.name("n", results[n])
    for n, error in lost.items():
        _add_compensated(c, left[n], wide[n], error)
    for n in rest:
        c.build.assign(left[n], results[n])


def _combined(c: Context, left: Sequence[Value], right: Sequence[Value], before: bool) -> list[Value]:
    """The operator's results; a sum of products is added term by term, each one fused multiply-add.

    Compilers fuse them where they may. Where the order of combination is fixed, so are its roundings.
    """
    op, lanes = c.h.combiner, left[0].lanes
    fused = c.h.precision == "fixed" and may_contract(c.h)
    summed = [adds and (fused or c.h.scalar.contract) for adds in op.adds]
    operations = {"add", "subtract", *(["multiply"] if fused else [])}
    operands = zip(summed, right, strict=True)
    terms = [s and isinstance(v, Apply) and v.op in operations and v.dtype.kind == "f" for s, v in operands]
    parameters = dict(enumerate((*right, *left) if before else (*left, *right)))
    results = [] if all(terms) else emit(op.function, parameters, {}, c.build)
    return [
        _added(v, w, lanes, fused) if terms[n] else splat(results[n], lanes)
        for n, (v, w) in enumerate(zip(left, right, strict=True))
    ]


def _added(total: Value, terms: Value, lanes: int, fused: bool) -> Value:
    if isinstance(terms, Apply) and terms.op in {"add", "subtract"}:
        first, last = terms.args
        total = _added(total, first, lanes, fused)
        if not (fused and isinstance(last, Apply) and last.op == "multiply"):
            return Apply(terms.op, (total, last), total.dtype, lanes)
        x, y = last.args
        terms = last if terms.op == "add" else applied("multiply", applied("negative", x), y)
    if fused and isinstance(terms, Apply) and terms.op == "multiply":
        return Apply("multiply_add", (*terms.args, total), total.dtype, lanes)
    return Apply("add", (total, terms), total.dtype, lanes)


def _add_compensated(c: Context, total: _Variable, value: Value, error: Register) -> None:
    """Add a value to the total and keep what rounding loses for the next addition (Kahan's summation).

    Nothing is lost where the sum is infinite: infinity minus itself would make NaN of all later sums.
    """
    added = c.build.name("add", applied("subtract", value, error))
    new = c.build.name("sum", applied("add", total, added))
    c.build.assign(error, Apply("rounding_error", (new, total, added), new.dtype, new.lanes))
    c.build.assign(total, new)


def point_values(
    c: Context, function: Function, place: Point, given: Mapping[int, Value] | None = None, first: int = 0
) -> list[Value]:
    """Apply a function to the accesses at a place; parameters before `first` are given."""
    parameters = dict(given or {})
    for p in sorted(function.used_parameters()):
        if p >= first:
            number, access = c.h.accesses[p - first]
            value = load(c, number, access, place)
            if c.s.private_copies[number] and not isinstance(value, Address | Outside):
                value = c.build.shared(f"{c.h.inputs[number].name}_", value)
            parameters[p] = value
    indices = {d: _index_value(c, d, place) for d in function.used_indices()}
    return emit(function, parameters, indices, c.build)


def _index_value(c: Context, d: int, place: Point) -> Value:
    lanes = place.lanes if d == c.s.vector_dim else 1
    return IndexValue(place.point[d], np.dtype(np.int64), lanes)


@dataclass(frozen=True)
class _Walk:
    """How one combined dimension is walked in the loop being written: first point in the tile, offsets, lanes."""

    local: Index
    offsets: tuple[int, ...]
    lanes: int


def reduce_loops(
    c: Context,
    acc: Accumulators,
    place: Callable[[dict[int, int]], Point],
    runs: Mapping[int, _Walk] = MappingProxyType({}),
) -> None:
    """Write the loops over the combined dimensions, of which some are open already, and accumulate their points."""
    if len(runs) == len(c.combined):
        _accumulate(c, runs, acc, place)
        return
    d = c.combined[len(runs)]
    items, width = c.sharing(d), c.width(d)
    step = c.s.private_tile[d] * items
    count, item, here = c.points(d), c.item(d), c.at(d, "p")

    def walk(local: Index, offsets: tuple[int, ...], lanes: int) -> None:
        reduce_loops(c, acc, place, {**runs, d: _Walk(local, offsets, lanes)})

    def loop(
        begin: Index, end: Index, by: int, local: Index, offsets: tuple[int, ...], lanes: int, all_of: int
    ) -> None:
        """A loop whose rounds take `all_of` points."""
        test = Compare(here + all_of, "<=", end) if all_of > 1 else Compare(here, "<", end)
        with c.build.loop(c.var(d, "p"), begin, test, by):
            walk(local, offsets, lanes)

    ends = segment(c, d, place({e: 0 for e in c.kept}).point)
    if ends is not None:
        begin, end = ends
        if step > items:
            loop(begin, end, step, here + item, c.offsets(d), width, step)
            begin = begin + (end - begin).covered(step)
        first = c.at(d, "w") if items > 1 else ZERO
        loop(begin + first, end, items, here, (0,), 1, 1)
        return
    if c.ordered(d) and items > 1:
        last = least(item + c.s.private_tile[d], count)
        loop(item, last, 1, here, (0,), 1, 1)
        return
    if count.known == step:
        walk(item, c.offsets(d), width)
        return
    if step <= c.s.local_tile[d]:
        loop(ZERO, count, step, here + item, c.offsets(d), width, step)
    # What is left of the steps: whole vectors first.
    left = step - 1 if count.known is None else count.known % step
    vectors = width * items
    if (width > 1 or c.fixed) and vectors < step and left >= vectors:
        loop(count.covered(step), count, vectors, here + item, (0,), width, vectors)
        step = vectors
    if step > 1 and (count.known is None or count.known % step):
        if c.fixed:  # the first one has all
            count, left = c.tile_points(d), min(width - 1, 1)  # lanes, fewer than the others have
            begin = count.covered(vectors) + (c.at(d, "w") * vectors if c.s.num_wi[d] > 1 else ZERO)
            loop(begin, count, 1, here, (0,), left, 1)
            return
        number = c.at(d, "w") if items > 1 else ZERO
        loop(count.covered(step) + number, count, items, here, (0,), 1, 1)


def _accumulate(
    c: Context, runs: Mapping[int, _Walk], acc: Accumulators, place: Callable[[dict[int, int]], Point]
) -> None:
    """Apply the scalar function to every point of the private tile and combine."""
    vector = c.s.vector_dim
    tail = vector in runs and runs[vector].lanes < c.s.vector_width
    targets = acc.tails if tail else acc.values
    position = {tuple(sorted(e.items())): n for n, e in enumerate(elements(c))}
    axes = [(d, runs[d].offsets if d in runs else c.offsets(d)) for d in c.s.private_order]
    started: set[int] = set()
    for combo in product(*(offsets for _, offsets in axes)):
        offset = {d: o for (d, _), o in zip(axes, combo, strict=True)}
        kept = {d: o for d, o in offset.items() if d in c.kept}
        at = place(kept)
        inner = {d: run.local + offset[d] for d, run in runs.items()}
        point, local = {**at.point, **{d: c.begin(d) + o for d, o in inner.items()}}, {**at.local, **inner}
        lanes = 1 if tail else c.s.vector_width
        at = replace(at, point=point, local=local, lanes=lanes)
        results = point_values(c, c.h.scalar, at)
        if c.h.scatters:  # combined with those that wait where they go
            there = [c.build.declare("there", read_back(c, n, at)) for n in range(len(results))]
            apply(c, there, results)
            for n, value in enumerate(there):
                store(c, n, at, value)
            continue
        element = position[tuple(sorted(kept.items()))]
        apply(c, targets[element], results, None if element in started else acc.seen)
        started.add(element)
    mark_seen(c, acc)


def _half(v: Value, upper: bool, lanes: int) -> Value:
    """Half of a vector's lanes; a single one of booleans is no mask any more, whose order is the other way round."""
    part = half(v, lanes, upper=upper)
    return Apply("from_mask", (part,), BOOL) if lanes == 1 and v.dtype == BOOL else part


def flatten_lanes(c: Context, acc: Accumulators) -> Accumulators:
    """Combine the lanes of a vectorised reduction, halves first, then with the scalars left over."""
    if not acc.tails:
        return acc
    flat = []
    for values, tails in zip(acc.values, acc.tails, strict=True):
        current: Sequence[_Variable] = values
        while current[0].lanes > 1:
            half = current[0].lanes // 2
            low = [c.build.declare("h", _half(v, False, half)) for v in current]
            apply(c, low, [_half(v, True, half) for v in current])
            current = low
        apply(c, current, tails)
        flat.append(tuple(current))
    return Accumulators(tuple(flat), (), acc.seen)
