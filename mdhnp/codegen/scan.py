"""The kernel schema of an MDH with one scanned dimension.

A work-group walks over its chunk of the scanned dimension tile by tile and carries the prefix along; in a tile each
work-item scans its own neighbouring points, the work-items' totals are scanned in local memory, and every prefix is
finished and stored. Chunks of several work-groups begin from the scan of the chunks' totals (reduce, then scan: twice
the loads of a sequential scan, whatever the extent).
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace

from mdhnp.codegen import reduce
from mdhnp.codegen.access import GLOBAL, LOCAL, Context, Place
from mdhnp.codegen.ctypes import Value, as_vector, constant, memory_type, value_type
from mdhnp.codegen.kernel import accumulate_coordinates
from mdhnp.codegen.layers import group_loops, head, ids, step_inside, step_loops
from mdhnp.codegen.nest import Linear
from mdhnp.codegen.reduce import apply, elements, items_index, point_values, tile_points
from mdhnp.codegen.store import store_results
from mdhnp.codegen.tiles import declare_tiles, tile_start
from mdhnp.codegen.writer import advance

__all__ = ["emit_scan"]

Places = Callable[[dict[int, int], Linear, Linear], Place]


def emit_scan(c: Context, name: str, carried: bool) -> None:
    """Write the kernel; with `carried` it takes the prefixes before each work-group's chunk as S0, S1 and so on."""
    nest = c.nest
    d = nest.combined[0]
    extra = (
        [f"{GLOBAL} const {memory_type(t)} *restrict S{n}" for n, t in enumerate(nest.result_dtypes)] if carried else []
    )
    with head(c, name, extra):
        declare_tiles(c)
        if nest.s.num_wi[d] > 1:
            for n, dtype in enumerate(nest.result_dtypes):
                size = 2 * len(elements(nest)) * nest.s.work_items
                c.writer.line(f"volatile {LOCAL} {value_type(dtype, nest.s.vector_width)} r{n}_l[{size}];")
        ids(c)
        outer = [k for k in nest.s.global_order if k in nest.kept]
        with group_loops(c, outer, all_dims=nest.s.global_order), ExitStack() as stack:
            step_loops(c, stack)
            carry = reduce.declare(c, "carry")
            if carried:
                _take_carry(c, carry, d)
            with group_loops(c, [d], all_dims=nest.s.global_order, first=False):
                _tile(c, carry, d)


def _take_carry(c: Context, carry: reduce.Accumulators, d: int) -> None:
    """Begin from the totals of the chunks before."""
    nest = c.nest
    size = 1
    for k in nest.kept:
        size *= nest.h.extents[k]
    before = f"({nest.name(d)}_g - 1)"
    place = accumulate_coordinates(c)
    with c.writer.block(f"if ({nest.name(d)}_g > 0)"):
        for offset, values in zip(elements(nest), carry.values, strict=True):
            point = dict(place(offset).point)
            valid = ""
            if nest.s.vector_width > 1 and nest.partial(nest.s.vector_dim):
                first, valid = _clamped(c, nest.s.vector_dim, point)
                point[nest.s.vector_dim] = first
            where, step = Linear(((before, size),)), 1
            stride = 0
            for k in reversed(nest.kept):
                where = where + point[k] * step
                stride = step if k == nest.s.vector_dim else stride
                step *= nest.h.extents[k]
            for n, v in enumerate(values):
                c.writer.line(f"{v.text} = {_totals_read(c, n, v, where, stride, valid)};")
        if carry.seen:
            c.writer.line(f"{carry.seen} = 1;")


def _clamped(c: Context, vector: int, point: Mapping[int, Linear]) -> tuple[Linear, str]:
    """Where a vector begins, kept inside the extent, and how many of its lanes lie inside."""
    extent = c.nest.h.extents[vector]
    first = Linear(((f"min({point[vector]}, {c.nest.literal(extent - 1)})", 1),))
    return first, f"{extent} - {first}"


def _totals_read(c: Context, n: int, v: Value, where: Linear, stride: int, valid: str) -> str:
    name = memory_type(v.dtype)
    if v.lanes == 1:
        return f"S{n}[{where}] != 0" if v.dtype.kind == "b" else f"S{n}[{where}]"
    function = c.helpers.gather_part(name, v.lanes, GLOBAL)
    text = f"{function}(S{n} + {where}, {stride}, {valid or v.lanes})"
    return f"convert_int{v.lanes}({text} != (uchar{v.lanes})(0))" if v.dtype.kind == "b" else text


def _tile(c: Context, carry: reduce.Accumulators, d: int) -> None:
    """Scan one local tile."""
    nest = c.nest
    place = accumulate_coordinates(c)
    checks = [step_inside(c, k) for k in nest.kept if nest.partial(k) and nest.width(k) > 1]
    unbounded = all(v.boundary is None for v in nest.h.inputs)

    def at(offset: dict[int, int], point: Linear, local: Linear) -> Place:
        base = place(offset)
        return replace(base, point={**base.point, d: point}, local={**base.local, d: local}, bounded=not unbounded)

    def careful(offset: dict[int, int], point: Linear, local: Linear) -> Place:
        base = at(offset, point, local)
        vector = nest.s.vector_dim
        if vector in nest.kept and nest.width(vector) > 1:
            first, valid = _clamped(c, vector, base.point)
            base = replace(base, point={**base.point, vector: first}, valid=valid)
        return base

    if nest.s.num_wi[d] > 1:
        # Its barriers must not stand in branches: PoCL miscompiles them even where all work-items agree.
        _across_items(c, carry, d, careful if checks else at)
        return
    c.writer.either(checks, lambda: _sequential(c, carry, d, at), lambda: _sequential(c, carry, d, careful))


def _sequential(c: Context, carry: reduce.Accumulators, d: int, at: Places) -> None:
    """One work-item walks over the tile."""
    nest, name, t = c.nest, c.nest.name(d), c.nest.index_type
    step = nest.s.private_tile[d]
    count = tile_points(nest, d)

    def points(offsets: range) -> None:
        cache: dict[str, Value] = {}
        for o in offsets:
            local = Linear(((f"{name}_p", 1),), o)
            point = tile_start(nest, d) + local
            for offset, values in zip(elements(nest), carry.values, strict=True):
                where = at(offset, point, local)
                found = point_values(c, nest.h.scalar, replace(where, lanes=nest.s.vector_width), {}, cache)
                apply(c, values, found, carry.seen)
                _store_point(c, offset, where, values)
            if carry.seen:
                c.writer.line(f"{carry.seen} = 1;")

    if step > 1:
        c.writer.line(f"{t} {name}_p = 0;")
        with c.writer.block(f"for (; {name}_p + {step} <= {count}; {advance(f'{name}_p', step)})"):
            points(range(step))
        if not (count.isdigit() and int(count) % step == 0):
            with c.writer.block(f"for (; {name}_p < {count}; ++{name}_p)"):
                points(range(1))
        return
    with c.writer.block(f"for ({t} {name}_p = 0; {name}_p < {count}; ++{name}_p)"):
        points(range(1))


def _store_point(c: Context, offset: dict[int, int], where: Place, values: tuple[Value, ...]) -> None:
    """Store one prefix of one element, if it lies inside."""
    nest, vector = c.nest, c.nest.s.vector_dim
    lanes = values[0].lanes
    point = {**where.point, **{k: nest.base(k) + o for k, o in offset.items()}}
    partial = [k for k in nest.kept if nest.partial(k)]
    tests = [f"{point[k]} < {nest.h.extents[k]}" for k in partial]
    valid = f"{nest.h.extents[vector]} - {point[vector].atom}" if vector in partial and lanes > 1 else ""
    with ExitStack() as stack:
        if tests:
            stack.enter_context(c.writer.block(f"if ({' && '.join(tests)})"))
        store_results(c, replace(where, point=point, lanes=lanes, valid=valid), values, {})


def _across_items(c: Context, carry: reduce.Accumulators, d: int, at: Places) -> None:
    """Each work-item scans its points, then the work-items' totals are scanned in local memory."""
    nest, w, name = c.nest, c.writer, c.nest.name(d)
    size, items = nest.s.private_tile[d], nest.s.num_wi[d]
    parts = elements(nest)
    lanes = nest.s.vector_width
    op = nest.h.operator
    assert op is not None and op.identity is not None
    scanned: list[list[list[Value]]] = []
    item = Linear(((f"{name}_w", size),))
    for offset in parts:
        rows: list[list[Value]] = []
        for p in range(size):
            point = tile_start(nest, d) + item + p
            row = []
            for dtype, literal in zip(nest.result_dtypes, op.identity, strict=True):
                variable = w.fresh("x")
                start = as_vector(Value(constant(literal, dtype), dtype), lanes)
                w.line(f"{value_type(dtype, lanes)} {variable} = {start.text};")
                row.append(Value(variable, dtype, lanes))
            with w.block(f"if ({point} < {nest.h.extents[d]})"):
                found = point_values(c, nest.h.scalar, replace(at(offset, point, item + p), lanes=lanes), {}, {})
                for v, f in zip(row, found, strict=True):
                    w.line(f"{v.text} = {as_vector(f, lanes).text};")
            if rows:
                _prepend(c, rows[-1], row)
            rows.append(row)
        scanned.append(rows)
    kept_items = nest.s.work_items // items
    group = items_index(nest, nest.kept)

    def slot(half: str, element: int, other: str) -> str:
        size = len(parts) * kept_items * items
        base = Linear(() if half == "0" else ((half if half.isidentifier() else f"({half})", size),))
        base = base + Linear(((f"({group})", items),) if group != "0" else (), element * kept_items * items)
        return f"{base} + {other}" if base.terms or base.constant else other

    me = f"{name}_w"
    for e, rows in enumerate(scanned):
        for n, v in enumerate(rows[-1]):
            w.line(f"r{n}_l[{slot('0', e, me)}] = {v.text};")
    half = w.fresh("half")
    w.line(f"int {half} = 0;")
    w.barrier()
    with w.block(f"for (int d = 1; d < {items}; d *= 2)"):
        for e, rows in enumerate(scanned):
            left = [
                w.declare("l", Value(f"r{n}_l[{slot(half, e, f'max({me} - d, 0)')}]", v.dtype, lanes))
                for n, v in enumerate(rows[-1])
            ]
            right = [
                _variable(c, Value(f"r{n}_l[{slot(half, e, me)}]", v.dtype, lanes)) for n, v in enumerate(rows[-1])
            ]
            with w.block(f"if ({me} >= d)"):
                _prepend(c, left, right)
            for n, v in enumerate(right):
                w.line(f"r{n}_l[{slot(f'1 - {half}', e, me)}] = {v.text};")
        w.line(f"{half} = 1 - {half};")
        w.barrier()
    for e, (offset, rows) in enumerate(zip(parts, scanned, strict=True)):
        prefix = [_variable(c, v) for v in carry.values[e]]
        with w.block(f"if ({me} > 0)"):
            before = [Value(f"r{n}_l[{slot(half, e, f'{me} - 1')}]", v.dtype, lanes) for n, v in enumerate(prefix)]
            apply(c, prefix, before)
        for p, row in enumerate(rows):
            point = tile_start(nest, d) + item + p
            _prepend(c, prefix, row)
            with w.block(f"if ({point} < {nest.h.extents[d]})"):
                _store_point(c, offset, at(offset, point, item + p), tuple(row))
        total = [Value(f"r{n}_l[{slot(half, e, str(items - 1))}]", v.dtype, lanes) for n, v in enumerate(prefix)]
        apply(c, carry.values[e], total)


def _variable(c: Context, value: Value) -> Value:
    name = c.writer.fresh("y")
    c.writer.line(f"{value_type(value.dtype, value.lanes)} {name} = {value.text};")
    return Value(name, value.dtype, value.lanes)


def _prepend(c: Context, left: list[Value], right: list[Value]) -> None:
    """``right = left op right``."""
    joined = [_variable(c, v) for v in left]
    apply(c, joined, right)
    for v, j in zip(right, joined, strict=True):
        c.writer.line(f"{v.text} = {j.text};")
