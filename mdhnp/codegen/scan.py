"""The kernel schema of an MDH with one scanned dimension.

A work-group walks over its chunk of the scanned dimension tile by tile and carries the prefix along; in a tile each
work-item scans its own neighbouring points, the work-items' totals are scanned in local memory, and every prefix is
finished and stored (where work-items exchange registers: `subgroup_scan.py`). Chunks of several work-groups begin
from the scan of the chunks' totals (reduce, then scan: twice the loads of a sequential scan, whatever the extent).
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from mdhnp.codegen import reduce
from mdhnp.codegen.access import Context, Point
from mdhnp.codegen.ir.index import ONE, ZERO, Compare, Index, Var, constant, least, most, variable
from mdhnp.codegen.ir.statements import AllocLocal, Assign, Declare
from mdhnp.codegen.ir.values import Buffer, Load, Register, splat
from mdhnp.codegen.kernel import accumulate_coordinates
from mdhnp.codegen.layers import group_loops, ids, step_loops, steps_inside
from mdhnp.codegen.reduce import apply, elements, mark_seen, point_values, start
from mdhnp.codegen.store import store_prefix
from mdhnp.codegen.subgroup_scan import Places, across_subgroups
from mdhnp.codegen.tiles import declare_tiles
from mdhnp.codegen.work_items import items_index, mailbox

__all__ = ["before_chunks", "emit_scan"]


def emit_scan(c: Context, carried: bool) -> None:
    """Build the body; with `carried` it takes the prefixes before each work-group's chunk as S0, S1 and so on."""
    nest = c.nest
    d = nest.combined[0]
    declare_tiles(c)
    if nest.shared_slots:
        for n in range(len(nest.result_dtypes)):
            c.build.add(AllocLocal(mailbox(nest, n, nest.s.vector_width), len(elements(nest)) * nest.shared_slots))
    # Where chunks' totals come first, what they read last is read again first: it is still in the cache.
    ids(c, backwards=d if carried else None)
    outer = [k for k in nest.s.global_order if k in nest.kept]
    with group_loops(c, outer, all_dims=nest.s.global_order), ExitStack() as stack:
        step_loops(c, stack)
        carry = reduce.declare(c, "carry")
        if carried:
            _take_carry(c, carry, d)
        with group_loops(c, [d], all_dims=nest.s.global_order, first=False):
            _tile(c, carry, d)


def before_chunks(c: Context) -> tuple[Buffer, ...]:
    """The arguments that hold the prefixes before each work-group's chunk."""
    return tuple([Buffer(f"S{n}", dtype, constant=True) for n, dtype in enumerate(c.nest.result_dtypes)])


def _take_carry(c: Context, carry: reduce.Accumulators, d: int) -> None:
    """Begin from the totals of the chunks before."""
    nest = c.nest
    size = 1
    for k in nest.kept:
        size *= nest.h.extents[k]
    place, buffers = accumulate_coordinates(c), before_chunks(c)
    with c.build.when([Compare(nest.at(d, "g"), ">", ZERO)]):
        for offset, values in zip(elements(nest), carry.values, strict=True):
            point = dict(place(offset).point)
            valid = None
            if nest.s.vector_width > 1 and nest.partial(nest.s.vector_dim):
                first, valid = _clamped(c, nest.s.vector_dim, point)
                point[nest.s.vector_dim] = first
            where, step, stride = (nest.at(d, "g") - 1) * size, 1, 0
            for k in reversed(nest.kept):
                where = where + point[k] * step
                stride = step if k == nest.s.vector_dim else stride
                step *= nest.h.extents[k]
            for v, buffer in zip(values, buffers, strict=True):
                lanes = () if v.lanes == 1 else (v.lanes, constant(stride), valid or constant(v.lanes))
                c.build.assign(v, Load(buffer, where, v.dtype, *lanes))
        mark_seen(c, carry)


def _clamped(c: Context, vector: int, point: Mapping[int, Index]) -> tuple[Index, Index]:
    """Where a vector begins, kept inside the extent, and how many of its lanes lie inside."""
    extent = constant(c.nest.h.extents[vector])
    first = least(point[vector], extent - 1)
    return first, extent - first


def _tile(c: Context, carry: reduce.Accumulators, d: int) -> None:
    """Scan one local tile."""
    nest = c.nest
    place = accumulate_coordinates(c)
    checks = steps_inside(c, [k for k in nest.ragged if nest.width(k) > 1])
    unbounded = all(v.boundary is None for v in nest.h.inputs)

    def at(offset: dict[int, int], point: Index, local: Index) -> Point:
        base = place(offset)
        return replace(base, point={**base.point, d: point}, local={**base.local, d: local}, bounded=not unbounded)

    def careful(offset: dict[int, int], point: Index, local: Index) -> Point:
        base = at(offset, point, local)
        vector = nest.s.vector_dim
        if vector in nest.kept and nest.width(vector) > 1:
            first, valid = _clamped(c, vector, base.point)
            base = replace(base, point={**base.point, vector: first}, valid=valid)
        return base

    if nest.s.num_wi[d] > 1:
        # Its barriers must not stand in branches: PoCL miscompiles them even where all work-items agree.
        across = across_subgroups if nest.exchanging > 1 else _across_items
        across(c, carry, d, careful if checks else at)
        return
    c.build.either(checks, lambda: _sequential(c, carry, d, at), lambda: _sequential(c, carry, d, careful))


def _sequential(c: Context, carry: reduce.Accumulators, d: int, at: Places) -> None:
    """One work-item walks over the tile."""
    nest = c.nest
    step, count, var, here = nest.s.private_tile[d], nest.points(d), nest.var(d, "p"), nest.at(d, "p")

    def points(offsets: range) -> None:
        for o in offsets:
            local = here + o
            point = nest.begin(d) + local
            for offset, values in zip(elements(nest), carry.values, strict=True):
                where = at(offset, point, local)
                apply(c, values, point_values(c, nest.h.scalar, replace(where, lanes=nest.s.vector_width)), carry.seen)
                store_prefix(c, offset, where, values)
            mark_seen(c, carry)

    if step > 1:
        c.build.add(Declare(var, ZERO))
        with c.build.loop(var, None, Compare(here + step, "<=", count), step):
            points(range(step))
        if count.known is None or count.known % step:
            with c.build.loop(var, None, Compare(here, "<", count)):
                points(range(1))
        return
    with c.build.up_to(var, count):
        points(range(1))


def _across_items(c: Context, carry: reduce.Accumulators, d: int, at: Places) -> None:
    """Each work-item scans its points, then the work-items' totals are scanned in local memory."""
    nest, b = c.nest, c.build
    parts = elements(nest)
    scanned = [_scanned(c, d, at, offset) for offset in parts]
    me, kept_items = nest.at(d, "w"), nest.s.work_items // nest.s.num_wi[d]

    def slots(half: Index, element: int, item: Index) -> list[Load]:
        """Where that work-item's totals are of an element, in one half of the local memory."""
        number = items_index(nest, nest.kept) + element * kept_items
        slot = half * (len(parts) * nest.s.work_items) + number * nest.s.num_wi[d] + item
        lanes = nest.s.vector_width
        return [Load(mailbox(nest, n, lanes), slot, dtype, lanes) for n, dtype in enumerate(nest.result_dtypes)]

    # Rounds read one half of the memory and write the other.
    half = b.var("half", 0, 1, agreed=True)
    now, distance = variable(half), Var("d", low=1, high=nest.s.num_wi[d])
    b.add(Declare(half, ZERO))
    for e, rows in enumerate(scanned):
        for place, v in zip(slots(ZERO, e, me), rows[-1], strict=True):
            b.assign(place, v)
    with b.doubling(distance, nest.s.num_wi[d]):
        for e in range(len(scanned)):
            left = [b.name("l", v) for v in slots(now, e, most(me - variable(distance), ZERO))]
            right = [b.declare("y", v) for v in slots(now, e, me)]
            with b.when([Compare(me, ">=", variable(distance))]):
                _prepend(c, left, right)
            for place, v in zip(slots(ONE - now, e, me), right, strict=True):
                b.assign(place, v)
        b.add(Assign(half, ONE - now))
    for e, (offset, rows) in enumerate(zip(parts, scanned, strict=True)):
        prefix = [b.declare("y", v) for v in carry.values[e]]
        with b.when([Compare(me, ">", ZERO)]):
            apply(c, prefix, slots(now, e, me - 1))
        for p, row in enumerate(rows):
            point = nest.begin(d) + nest.item(d) + p
            _prepend(c, prefix, row)
            with b.when([Compare(point, "<", constant(nest.h.extents[d]))]):
                store_prefix(c, offset, at(offset, point, nest.item(d) + p), tuple(row))
        apply(c, carry.values[e], slots(now, e, constant(nest.s.num_wi[d] - 1)))


def _scanned(c: Context, d: int, at: Places, offset: dict[int, int]) -> list[list[Register]]:
    """The prefixes of the work-item's own points, of one element."""
    nest, op, lanes = c.nest, c.nest.h.operator, c.nest.s.vector_width
    assert op is not None and op.identity is not None
    rows: list[list[Register]] = []
    for p in range(nest.s.private_tile[d]):
        point, local = nest.begin(d) + nest.item(d) + p, nest.item(d) + p
        starts = zip(nest.result_dtypes, op.identity, strict=True)
        row = [c.build.declare("x", start(literal, dtype, lanes)) for dtype, literal in starts]
        with c.build.when([Compare(point, "<", constant(nest.h.extents[d]))]):
            found = point_values(c, nest.h.scalar, replace(at(offset, point, local), lanes=lanes))
            for v, f in zip(row, found, strict=True):
                c.build.assign(v, splat(f, lanes))
        if rows:
            _prepend(c, rows[-1], row)
        rows.append(row)
    return rows


def _prepend(c: Context, left: list[Register], right: list[Register]) -> None:
    """``right = left op right``."""
    joined = [c.build.declare("y", v) for v in left]
    apply(c, joined, right)
    for v, j in zip(right, joined, strict=True):
        c.build.assign(v, j)
