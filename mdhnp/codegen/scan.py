"""The kernel schema of an MDH with one scanned dimension.

A work-group walks over its part of the scanned dimension tile by tile and carries the prefix along; in a tile each
work-item scans its own neighbouring points, the work-items' totals are scanned in local memory, and every prefix is
finished and stored. Parts of several work-groups begin from the scan of the parts' totals (reduce, then scan: twice
the loads of a sequential scan, whatever the extent).

Where work-items exchange registers, each subgroup has a run of the tile's points, in rows of as many as it has
work-items: work-item k has point k of each row, so that neighbours read and write neighbouring addresses, of all rows
at once. Rows are scanned by exchanges, then follow one another in registers; one total of each subgroup goes through
local memory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from mdhnp.codegen import reduce
from mdhnp.codegen.access import Context, Point
from mdhnp.codegen.ir.index import ONE, ZERO, Compare, Index, Var, constant, least, most, variable
from mdhnp.codegen.ir.statements import Assign, Declare
from mdhnp.codegen.ir.values import Buffer, Load, Register, Shuffled, splat
from mdhnp.codegen.kernel import accumulate_coordinates
from mdhnp.codegen.layers import group_loops, ids, step_loops, steps_inside
from mdhnp.codegen.reduce import apply, elements, mark_seen, point_values, start
from mdhnp.codegen.store import store_prefix
from mdhnp.codegen.tiles import declare_tiles
from mdhnp.codegen.work_items import declare_shared, items_index, left_at

_Values = Sequence[Register]
#: Gives the place of an element's point, from where that is in the tile along the scanned dimension.
_Places = Callable[[dict[int, int], Index], Point]


def emit_scan(c: Context, carried: bool) -> None:
    """Build the body; with `carried` it takes the prefixes before each work-group's part as S0, S1 and so on."""
    d = c.combined[0]
    declare_tiles(c)
    declare_shared(c)
    # Where parts' totals come first, what they read last is read again first: it is still in the cache.
    ids(c, backwards=d if carried else None)
    outer = [k for k in c.s.global_order if k in c.kept]
    with group_loops(c, outer, all_dims=c.s.global_order), step_loops(c):
        carry = reduce.declare(c, "carry")
        if carried:
            _take_carry(c, carry, d)
        with group_loops(c, [d], all_dims=c.s.global_order, first=False):
            _tile(c, carry, d)


def before_parts(c: Context) -> tuple[Buffer, ...]:
    """The arguments that hold the prefixes before each work-group's part."""
    return tuple([Buffer(f"S{n}", dtype, constant=True) for n, dtype in enumerate(c.h.scalar.dtypes)])


def _take_carry(c: Context, carry: reduce.Accumulators, d: int) -> None:
    """Begin from the totals of the parts before."""
    size = prod(c.h.extents[k] for k in c.kept)
    place, buffers = accumulate_coordinates(c), before_parts(c)
    with c.build.when([Compare(c.at(d, "g"), ">", ZERO)]):
        for offset, values in zip(elements(c), carry.values, strict=True):
            point = dict(place(offset).point)
            valid = None
            if c.s.vector_width > 1 and c.partial(c.s.vector_dim):
                first, valid = _clamped(c, c.s.vector_dim, point)
                point[c.s.vector_dim] = first
            where, step, stride = (c.at(d, "g") - 1) * size, 1, 0
            for k in reversed(c.kept):
                where = where + point[k] * step
                stride = step if k == c.s.vector_dim else stride
                step *= c.h.extents[k]
            for v, buffer in zip(values, buffers, strict=True):
                lanes = () if v.lanes == 1 else (v.lanes, constant(stride), valid or constant(v.lanes))
                c.build.assign(v, Load(buffer, where, *lanes))
        mark_seen(c, carry)


def _clamped(c: Context, vector: int, point: Mapping[int, Index]) -> tuple[Index, Index]:
    """Where a vector begins, kept inside the extent, and how many of its lanes lie inside."""
    extent = constant(c.h.extents[vector])
    first = least(point[vector], extent - 1)
    return first, extent - first


def _tile(c: Context, carry: reduce.Accumulators, d: int) -> None:
    """Scan one local tile."""
    place = accumulate_coordinates(c)
    checks = steps_inside(c, [k for k in c.ragged if c.width(k) > 1])
    bounded = any(v.boundary is not None for v in c.h.inputs)

    def at(offset: dict[int, int], local: Index) -> Point:
        base = place(offset)
        point = {**base.point, d: c.begin(d) + local}
        return Point(point, {**base.local, d: local}, c.s.vector_width, bounded=bounded)

    def careful(offset: dict[int, int], local: Index) -> Point:
        base = at(offset, local)
        vector = c.s.vector_dim
        if vector in c.kept and c.width(vector) > 1:
            first, valid = _clamped(c, vector, base.point)
            base = replace(base, point={**base.point, vector: first}, valid=valid)
        return base

    if c.s.num_wi[d] > 1:
        # Its barriers must not stand in branches: PoCL miscompiles them even where all work-items agree.
        across = _across_subgroups if c.exchanging > 1 else _across_items
        across(c, carry, d, careful if checks else at)
        return
    c.build.either(checks, lambda: _sequential(c, carry, d, at), lambda: _sequential(c, carry, d, careful))


def _sequential(c: Context, carry: reduce.Accumulators, d: int, at: _Places) -> None:
    """One work-item walks over the tile."""
    step, count, var, here = c.s.private_tile[d], c.points(d), c.var(d, "p"), c.at(d, "p")

    def points(offsets: range) -> None:
        for o in offsets:
            for offset, values in zip(elements(c), carry.values, strict=True):
                where = at(offset, here + o)
                apply(c, values, point_values(c, c.h.scalar, where), carry.seen)
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


def _across_items(c: Context, carry: reduce.Accumulators, d: int, at: _Places) -> None:
    """Each work-item scans its points, then the work-items' totals are scanned in local memory."""
    b = c.build
    parts, items, me = elements(c), c.s.num_wi[d], c.at(d, "w")
    scanned = [_scanned(c, d, at, offset) for offset in parts]

    def slots(half: Index, element: int, item: Index) -> tuple[Load, ...]:
        """Where that work-item's totals are of an element, in one half of the local memory."""
        return _slots(c, d, element, items, item, half * (len(parts) * c.s.work_items))

    # Rounds read one half of the memory and write the other.
    half = b.var("half", 0, 1, agreed=True)
    now, distance = variable(half), Var("d", low=1, high=items)
    b.add(Declare(half, ZERO))
    for e, rows in enumerate(scanned):
        c.build.assign_all(slots(ZERO, e, me), rows[-1])
    with b.doubling(distance, items):
        for e in range(len(scanned)):
            left = [b.name("l", v) for v in slots(now, e, most(me - variable(distance), ZERO))]
            right = [b.declare("y", v) for v in slots(now, e, me)]
            with b.when([Compare(me, ">=", variable(distance))]):
                _prepend(c, left, right)
            c.build.assign_all(slots(ONE - now, e, me), right)
        b.add(Assign(half, ONE - now))
    for e, (offset, rows) in enumerate(zip(parts, scanned, strict=True)):
        prefix = [b.declare("y", v) for v in carry.values[e]]
        with b.when([Compare(me, ">", ZERO)]):
            apply(c, prefix, slots(now, e, me - 1))
        for p, row in enumerate(rows):
            _prepend(c, prefix, row)
            with b.when([_inside(c, d, c.item(d) + p)]):
                store_prefix(c, offset, at(offset, c.item(d) + p), row)
        apply(c, carry.values[e], slots(now, e, constant(items - 1)))


def _scanned(c: Context, d: int, at: _Places, offset: dict[int, int]) -> list[list[Register]]:
    """The prefixes of the work-item's own points, of one element."""
    rows: list[list[Register]] = []
    for p in range(c.s.private_tile[d]):
        row = _identities(c)
        with c.build.when([_inside(c, d, c.item(d) + p)]):
            _load(c, at(offset, c.item(d) + p), row)
        if rows:
            _prepend(c, rows[-1], row)
        rows.append(row)
    return rows


def _inside(c: Context, d: int, local: Index) -> Compare:
    return Compare(c.begin(d) + local, "<", constant(c.h.extents[d]))


def _prepend(c: Context, left: _Values, right: _Values) -> None:
    """``right = left op right``."""
    joined = [c.build.declare("y", v) for v in left]
    apply(c, joined, right)
    c.build.assign_all(right, joined)


def _identities(c: Context) -> list[Register]:
    """Declare the values of a point, which count for nothing at first."""
    starts = zip(c.h.combiner.neutral, c.h.scalar.dtypes, strict=True)
    return [c.build.declare("x", start(literal, dtype, c.s.vector_width)) for literal, dtype in starts]


def _load(c: Context, where: Point, values: _Values) -> None:
    """Let values be those of a point."""
    c.build.assign_all(values, [splat(f, where.lanes) for f in point_values(c, c.h.scalar, where)])


def _slots(c: Context, d: int, element: int, members: int, member: Index, begin: Index = ZERO) -> tuple[Load, ...]:
    """Where in local memory a member of those along the scanned dimension leaves its totals of an element."""
    number = items_index(c, c.kept) + element * (c.s.work_items // c.s.num_wi[d])
    return left_at(c, begin + number * members + member)


@dataclass(frozen=True)
class _Tile:
    """Which points of the tile a work-item has."""

    #: The scanned dimension.
    d: int
    at: _Places
    #: Points of a row.
    row: int
    #: The work-item's number in a row.
    lane: Index
    #: The number of its subgroup along the dimension.
    subgroup: Index
    #: Its point of the first row, counted from the tile's beginning.
    first: Index


def _across_subgroups(c: Context, carry: reduce.Accumulators, d: int, at: _Places) -> None:
    """Scan one tile; the carry is its total then."""
    b = c.build
    row, points, me = c.exchanging, c.s.private_tile[d], c.at(d, "w")
    subgroups = c.s.num_wi[d] // row
    lane, subgroup = (b.named("lane", me % row), b.named("part", me // row)) if subgroups > 1 else (me, ZERO)
    tile = _Tile(d, at, row, lane, subgroup, b.named("first", subgroup * (row * points) + lane))
    # The identity outside.
    scanned = [[_identities(c) for _ in range(points)] for _ in elements(c)]
    _each_point(c, tile, scanned, lambda _, where, values: _load(c, where, values))
    _scan_rows(c, tile, [values for rows in scanned for values in rows])
    totals = [_joined(c, tile, rows) for rows in scanned]
    prefixes = [[b.declare("before", v) for v in values] for values in carry.values]
    if subgroups > 1:
        _through_local_memory(c, tile, carry, prefixes, totals)
    else:
        for carried, total in zip(carry.values, totals, strict=True):
            apply(c, carried, total)
    for rows, prefix in zip(scanned, prefixes, strict=True):
        for values in rows:
            apply(c, values, prefix, before=True)
    _each_point(c, tile, scanned, partial(store_prefix, c))


def _each_point(
    c: Context, t: _Tile, scanned: Sequence[Sequence[_Values]], do: Callable[[dict[int, int], Point, _Values], None]
) -> None:
    """Do something with each point of the work-item that lies inside, and its registers."""

    def do_all(checked: bool) -> None:
        for offset, rows in zip(elements(c), scanned, strict=True):
            for p, values in enumerate(rows):
                local = t.first + p * t.row
                with c.build.when([_inside(c, t.d, local)] if checked else []):
                    do(offset, t.at(offset, local), values)

    whole = Compare(c.begin(t.d) + c.s.step(t.d), "<=", constant(c.h.extents[t.d]))
    c.build.either([whole], lambda: do_all(False), lambda: do_all(True))


def _scan_rows(c: Context, t: _Tile, rows: Sequence[_Values]) -> None:
    """Scan all rows at once, each by itself."""
    var = Var("d", low=1, high=t.row // 2)
    distance = variable(var)
    with c.build.doubling(var, t.row):
        others = [[_of(c, v, distance * -1) for v in values] for values in rows]
        with c.build.when([Compare(t.lane, ">=", distance)]):
            for values, before in zip(rows, others, strict=True):
                apply(c, values, before, before=True)


def _joined(c: Context, t: _Tile, rows: Sequence[_Values]) -> _Values:
    """Let rows go on where the ones before end, and give the last prefix of all."""
    last = t.lane * -1 + (t.row - 1)
    ends = [[_of(c, v, last) for v in values] for values in rows]
    total = [c.build.declare("total", v) for v in ends[0]]
    for values, end in zip(rows[1:], ends[1:], strict=True):
        apply(c, values, total, before=True)
        apply(c, total, end)
    return total


def _of(c: Context, value: Register, distance: Index) -> Register:
    """Another work-item's value."""
    return c.build.name("other", Shuffled(value, distance))


def _through_local_memory(
    c: Context, t: _Tile, carry: reduce.Accumulators, prefixes: Sequence[_Values], totals: Sequence[_Values]
) -> None:
    """Each work-item goes through the subgroups' totals, and sees on its way what comes before its own subgroup."""
    b, subgroups = c.build, c.s.num_wi[t.d] // t.row
    with b.when([Compare(t.lane, "==", ZERO)]):
        for e, total in enumerate(totals):
            c.build.assign_all(_slots(c, t.d, e, subgroups, t.subgroup), total)
    var = Var("s", low=0, high=subgroups - 1, agreed=True)
    with b.up_to(var, subgroups):
        with b.when([Compare(variable(var), "==", t.subgroup)]):
            for prefix, values in zip(prefixes, carry.values, strict=True):
                c.build.assign_all(prefix, values)
        for e, values in enumerate(carry.values):
            apply(c, values, _slots(c, t.d, e, subgroups, variable(var)))
