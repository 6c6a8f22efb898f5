"""Partial results of one work-item: declared, accumulated point by point, combined across lanes and work-items.

Order of combination (source: Rasch, Schulze & Gorlatch, "Generating Portable High-Performance Code via
Multi-Dimensional Homomorphisms", Listing 1): in private memory first, then across work-items by a tree in local memory;
across work-groups by a second kernel.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from mdhnp.codegen.access import LOCAL, Context, Place, load
from mdhnp.codegen.ctypes import Value, as_vector, constant, select, value_type
from mdhnp.codegen.nest import Linear, Nest
from mdhnp.codegen.scalar import emit
from mdhnp.codegen.tiles import tile_start
from mdhnp.codegen.writer import advance
from mdhnp.mdh import Function

__all__ = [
    "Accumulators",
    "across_items",
    "apply",
    "declare",
    "declare_lost",
    "declare_shared",
    "elements",
    "flatten_lanes",
    "is_first_item",
    "items_index",
    "point_values",
    "reduce_loops",
    "tile_points",
]


@dataclass(frozen=True)
class Accumulators:
    """Variables of one work-item's partial results.

    Attributes
    ----------
    values : tuple of tuple of Value
        For each element of the private tile (kept dimensions), one variable a result.
    tails : tuple of tuple of Value
        The same in scalars, for what is left of a vectorised reduction; empty otherwise.
    seen : str
        Variable that says whether anything was combined yet; empty for operators with an identity.
    """

    values: tuple[tuple[Value, ...], ...]
    tails: tuple[tuple[Value, ...], ...] = ()
    seen: str = ""


def elements(nest: Nest) -> list[dict[int, int]]:
    """Offsets of the kept dimensions' points (or vectors) of the private tile, in private order."""
    kept = [d for d in nest.s.private_order if d in nest.kept]
    return [dict(zip(kept, combo, strict=True)) for combo in product(*(nest.offsets(d) for d in kept))]


def declare(c: Context, prefix: str) -> Accumulators:
    """Declare and initialise accumulators."""
    nest, op = c.nest, c.nest.h.operator
    assert op is not None
    lanes = nest.s.vector_width
    seen = ""
    if op.identity is None:
        seen = c.writer.fresh(f"{prefix}_seen")
        c.writer.line(f"int {seen} = 0;")
    across = nest.s.vector_dim in nest.combined

    def variables(name: str, width: int) -> tuple[tuple[Value, ...], ...]:
        return tuple(
            tuple(_variable(c, name, n, width) for n in range(len(nest.result_dtypes))) for _ in elements(nest)
        )

    return Accumulators(variables(prefix, lanes), variables(f"{prefix}_tail", 1) if across else (), seen)


def declare_lost(c: Context, total: Accumulators, sums: Sequence[int]) -> list[dict[int, Value]]:
    """Declare what rounding loses of each accumulator's results `sums`, first the values', then the tails'."""
    named = [*(("lost", v) for v in total.values), *(("lost_tail", v) for v in total.tails)]
    return [{n: _zero(c, prefix, values[n]) for n in sums} for prefix, values in named]


def _variable(c: Context, prefix: str, result: int, lanes: int) -> Value:
    op, dtype = c.nest.h.operator, c.nest.result_dtypes[result]
    assert op is not None
    return _initialised(c, prefix, op.identity[result] if op.identity is not None else "0", dtype, lanes)


def _zero(c: Context, prefix: str, like: Value) -> Value:
    return _initialised(c, prefix, "0", like.dtype, like.lanes)


def _initialised(c: Context, prefix: str, literal: str, dtype: np.dtype[Any], lanes: int) -> Value:
    name = c.writer.fresh(prefix)
    start = as_vector(Value(constant(literal, dtype), dtype), lanes)
    c.writer.line(f"{value_type(dtype, lanes)} {name} = {start.text};")
    return Value(name, dtype, lanes)


def apply(
    c: Context,
    left: Sequence[Value],
    right: Sequence[Value],
    seen: str = "",
    *,
    before: bool = False,
    lost: Mapping[int, Value] | None = None,
) -> None:
    """Combine `right` into the variables `left`, of which it is the left operand where it comes `before`.

    Of the results that `lost` names, sums of floats, it keeps what rounding loses.
    """
    lost = lost or {}
    wide = [as_vector(v, left[0].lanes) for v in right]
    if seen and len(left) > 1:
        wide = [c.writer.declare("f", v) for v in wide]
    rest = [n for n in range(len(left)) if n not in lost]
    results = _combined(c, left, wide, before) if rest else []
    for n in rest:
        if seen:
            results[n] = select(Value(seen, np.dtype(bool)), results[n], wide[n])
        if len(left) > 1:
            results[n] = c.writer.declare("n", results[n])
    for n, error in lost.items():
        _add_compensated(c, left[n], wide[n], error)
    for n in rest:
        c.writer.line(f"{left[n].text} = {results[n].text};")


def _combined(c: Context, left: Sequence[Value], right: Sequence[Value], before: bool) -> list[Value]:
    """The operator's results; a sum of products is added term by term, each one fused multiply-add."""
    op, lanes = c.nest.h.operator, left[0].lanes
    assert op is not None
    terms = [adds and c.nest.h.scalar.contract and v.is_sum for adds, v in zip(op.adds, right, strict=True)]
    parameters = dict(enumerate((*right, *left) if before else (*left, *right)))
    results = [] if all(terms) else emit(op.function, parameters, {}, c.writer, c.helpers)
    return [
        Value(f"{v.atom} + {w.text}", v.dtype, lanes) if terms[n] else as_vector(results[n], lanes)
        for n, (v, w) in enumerate(zip(left, right, strict=True))
    ]


def _add_compensated(c: Context, t: Value, p: Value, e: Value) -> None:
    """Add `p` to `t` and keep what rounding loses for the next addition in `e` (Kahan's summation).

    Nothing is lost where the sum is infinite: infinity minus itself would make NaN of all later sums.
    """
    add = c.writer.declare("add", Value(f"{p.atom} - {e.atom}", t.dtype, t.lanes))
    new = c.writer.declare("sum", Value(f"{t.atom} + {add.atom}", t.dtype, t.lanes))
    zero = as_vector(Value(constant("0", t.dtype), t.dtype), t.lanes).text
    finite = f"{new.text} - {new.text} == {zero}"
    c.writer.line(f"{e.text} = {finite} ? ({new.text} - {t.text}) - {add.text} : {zero};")
    c.writer.line(f"{t.text} = {new.text};")


def point_values(
    c: Context, function: Function, place: Place, given: Mapping[int, Value], cache: dict[str, Value], first: int = 0
) -> list[Value]:
    """Apply a function to the accesses at a place; parameters before `first` are given."""
    parameters = dict(given)
    for p in sorted(function.used_parameters()):
        if p >= first:
            number, access = c.nest.h.accesses[p - first]
            value = load(c, number, access, place)
            if c.nest.s.private_copies[number]:
                if value.text not in cache:
                    cache[value.text] = c.writer.declare(c.nest.h.inputs[number].name + "_", value)
                value = cache[value.text]
            parameters[p] = value
    indices = {d: _index_value(c, d, place) for d in function.used_indices()}
    return emit(function, parameters, indices, c.writer, c.helpers)


def _index_value(c: Context, d: int, place: Place) -> Value:
    dtype = np.dtype(np.int64)
    text = f"(long)({place.point[d]})"
    if place.lanes > 1 and d == c.nest.s.vector_dim:
        lanes = ", ".join(str(n) for n in range(place.lanes))
        return Value(f"(long{place.lanes})({text}) + (long{place.lanes})({lanes})", dtype, place.lanes)
    return Value(text, dtype)


@dataclass(frozen=True)
class _Run:
    """How one combined dimension is walked in the loop being written: first point, offsets, lanes."""

    point: Linear
    local: Linear
    offsets: tuple[int, ...]
    lanes: int


def reduce_loops(c: Context, acc: Accumulators, place: Callable[[dict[int, int]], Place]) -> None:
    """Loop over the local tile's combined dimensions and accumulate; `place` gives an element's kept coordinates."""
    _loops(c, list(c.nest.combined), {}, acc, place)


def _loops(
    c: Context, dims: list[int], runs: dict[int, _Run], acc: Accumulators, place: Callable[[dict[int, int]], Place]
) -> None:
    if not dims:
        _accumulate(c, runs, acc, place)
        return
    d, rest = dims[0], dims[1:]
    nest, t, name = c.nest, c.nest.index_type, c.nest.name(d)
    step, items, width = nest.s.step(d), nest.s.num_wi[d], nest.width(d)
    count = tile_points(nest, d)
    start = tile_start(nest, d)
    here = Linear(((f"{name}_p", 1),))

    def loop(head: str, local: Linear, offsets: tuple[int, ...], lanes: int) -> None:
        if not head:
            _loops(c, rest, {**runs, d: _Run(start + local, local, offsets, lanes)}, acc, place)
            return
        with c.writer.block(head):
            _loops(c, rest, {**runs, d: _Run(start + local, local, offsets, lanes)}, acc, place)

    if nest.ordered(d) and items > 1:
        size = nest.s.private_tile[d]
        first = Linear(((f"{name}_w", size),))
        limit = nest.literal(int(count)) if count.isdigit() else count
        last = f"min({first + size}, {limit})" if nest.index_type == "int" else f"min((long)({first + size}), {limit})"
        loop(f"for ({t} {name}_p = {first}; {name}_p < {last}; ++{name}_p)", here, (0,), 1)
        return
    exact = count.isdigit() and int(count) % step == 0
    if exact and int(count) == step:
        item = Linear(((f"{name}_w", nest.item_stride(d)),)) if items > 1 else Linear()
        loop("", item, nest.offsets(d), width)
        return
    item = here + Linear(((f"{name}_w", nest.item_stride(d)),)) if items > 1 else here
    if step <= nest.s.local_tile[d]:
        condition = f"{name}_p + {step} <= {count}" if step > 1 else f"{name}_p < {count}"
        loop(f"for ({t} {name}_p = 0; {condition}; {advance(f'{name}_p', step)})", item, nest.offsets(d), width)
    # What is left of the steps: whole vectors first.
    vectors = width * items
    if width > 1 and vectors < step and not (count.isdigit() and int(count) % step < vectors):
        begin = _covered(count, step)
        head = f"for ({t} {name}_p = {begin}; {name}_p + {vectors} <= {count}; {advance(f'{name}_p', vectors)})"
        loop(head, item, (0,), width)
        step = vectors
    if step > 1 and not (count.isdigit() and int(count) % step == 0):
        begin = _covered(count, step) + (f" + {name}_w" if items > 1 else "")
        loop(f"for ({t} {name}_p = {begin}; {name}_p < {count}; {advance(f'{name}_p', items)})", here, (0,), 1)


def _covered(count: str, step: int) -> str:
    """How many of the points whole steps cover."""
    return str(int(count) // step * step) if count.isdigit() else f"{count} / {step} * {step}"


def tile_points(nest: Nest, d: int) -> str:
    """Points of the current local tile."""
    if not nest.several(d):
        return str(nest.extent(d))
    return str(nest.s.local_tile[d]) if nest.even(d) else f"{nest.name(d)}_n"


def _accumulate(c: Context, runs: dict[int, _Run], acc: Accumulators, place: Callable[[dict[int, int]], Place]) -> None:
    """Apply the scalar function to every point of the private tile and combine."""
    nest = c.nest
    vector = nest.s.vector_dim
    tail = vector in runs and runs[vector].lanes == 1 and nest.s.vector_width > 1
    targets = acc.tails if tail else acc.values
    position = {tuple(sorted(e.items())): n for n, e in enumerate(elements(nest))}
    axes = [(d, runs[d].offsets if d in runs else nest.offsets(d)) for d in nest.s.private_order]
    cache: dict[str, Value] = {}
    started: set[int] = set()
    for combo in product(*(offsets for _, offsets in axes)):
        offset = {d: o for (d, _), o in zip(axes, combo, strict=True)}
        kept = {d: o for d, o in offset.items() if d in nest.kept}
        at = place(kept)
        point = {**at.point, **{d: runs[d].point + offset[d] for d in runs}}
        local = {**at.local, **{d: runs[d].local + offset[d] for d in runs}}
        lanes = 1 if tail else nest.s.vector_width
        results = point_values(c, nest.h.scalar, replace(at, point=point, local=local, lanes=lanes), {}, cache)
        element = position[tuple(sorted(kept.items()))]
        apply(c, targets[element], results, "" if element in started else acc.seen)
        started.add(element)
    if acc.seen:
        c.writer.line(f"{acc.seen} = 1;")


def flatten_lanes(c: Context, acc: Accumulators) -> Accumulators:
    """Combine the lanes of a vectorised reduction, halves first, then with the scalars left over."""
    if not acc.tails:
        return acc
    flat = []
    for values, tails in zip(acc.values, acc.tails, strict=True):
        current = list(values)
        while current[0].lanes > 1:
            half = current[0].lanes // 2
            low = []
            for v in current:
                name = c.writer.fresh("h")
                c.writer.line(f"{value_type(v.dtype, half)} {name} = {v.text}.lo;")
                low.append(Value(name, v.dtype, half))
            apply(c, low, [Value(f"{v.text}.hi", v.dtype, half) for v in current])
            current = low
        current = [_scalar_mask(c, v) for v in current]
        apply(c, current, tails)
        flat.append(tuple(current))
    return Accumulators(tuple(flat), (), acc.seen)


def _scalar_mask(c: Context, v: Value) -> Value:
    """A boolean lane is 0 or -1; as a scalar it is 0 or 1."""
    if v.dtype.kind == "b":
        c.writer.line(f"{v.text} = -{v.text};")
    return v


def items_index(nest: Nest, dims: Sequence[int]) -> str:
    """Row-major number of a work-item among those that differ in the given dimensions."""
    total = Linear()
    size = 1
    for d in reversed(dims):
        if nest.s.num_wi[d] > 1:
            total = total + Linear(((f"{nest.name(d)}_w", size),))
        size *= nest.s.num_wi[d]
    return str(total)


def declare_shared(c: Context) -> None:
    """Declare the local memory of the tree across work-items.

    Without "volatile" Intel's compiler (2026.22) forwards values across barriers to the wrong work-item.
    """
    nest = c.nest
    if nest.reduced_items == 1:
        return
    lanes = 1 if nest.s.vector_dim in nest.combined else nest.s.vector_width
    for n, dtype in enumerate(nest.result_dtypes):
        c.writer.line(f"volatile {LOCAL} {value_type(dtype, lanes)} r{n}_l[{len(elements(nest)) * nest.s.work_items}];")
    assert nest.h.operator is not None
    if nest.h.operator.identity is None:
        c.writer.line(f"volatile {LOCAL} int seen_l[{nest.s.work_items}];")


def across_items(c: Context, acc: Accumulators) -> None:
    """Combine the work-items' results by a tree, and give all of them the outcome."""
    nest, w = c.nest, c.writer
    count = nest.reduced_items
    if count == 1:
        return
    kept_items = nest.s.work_items // count
    mine = items_index(nest, nest.combined_in_order)
    group = items_index(nest, nest.kept)

    def slot(element: int, other: str) -> str:
        base = (
            Linear(((f"({group})", count),), element * kept_items * count)
            if group != "0"
            else Linear((), element * count)
        )
        return f"{base} + {other}" if base.terms or base.constant else other

    w.line("// The work-items' results together, in a tree")
    m = w.fresh("m")
    w.line(f"const int {m} = {mine};")
    for e, values in enumerate(acc.values):
        for n, v in enumerate(values):
            w.line(f"r{n}_l[{slot(e, m)}] = {v.text};")
    if acc.seen:
        w.line(f"seen_l[{slot(0, m)}] = {acc.seen};")
    w.barrier()
    with w.block(f"for (int d = 1; d < {count}; d *= 2)"):
        test = f"{m} % (2 * d) == 0 && {m} + d < {count}"
        if acc.seen:
            test += f" && seen_l[{slot(0, f'{m} + d')}]"
        with w.block(f"if ({test})"):
            for e, values in enumerate(acc.values):
                left = [Value(f"r{n}_l[{slot(e, m)}]", v.dtype, v.lanes) for n, v in enumerate(values)]
                right = [Value(f"r{n}_l[{slot(e, f'{m} + d')}]", v.dtype, v.lanes) for n, v in enumerate(values)]
                apply(c, left, right, f"seen_l[{slot(0, m)}]" if acc.seen else "")
            if acc.seen:
                w.line(f"seen_l[{slot(0, m)}] = 1;")
        w.barrier()
    for e, values in enumerate(acc.values):
        for n, v in enumerate(values):
            w.line(f"{v.text} = r{n}_l[{slot(e, '0')}];")
    if acc.seen:
        w.line(f"{acc.seen} = seen_l[{slot(0, '0')}];")


def is_first_item(nest: Nest) -> str:
    """Condition for the work-item that holds the combined result; empty where each holds its own."""
    dims = [d for d in nest.combined if nest.s.num_wi[d] > 1]
    return " && ".join(f"{nest.name(d)}_w == 0" for d in dims)
