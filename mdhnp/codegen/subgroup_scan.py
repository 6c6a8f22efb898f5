"""A tile of a scan whose work-items exchange registers.

Each subgroup has a run of the tile's points, in rows of as many as it has work-items: work-item k has point k of each
row, so that neighbours read and write neighbouring addresses, of all rows at once. Rows are scanned by exchanges, then
follow one another in registers; one total of each subgroup goes through local memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from mdhnp.codegen.access import Context, Point
from mdhnp.codegen.ir.index import ZERO, Compare, Index, Var, constant, variable
from mdhnp.codegen.ir.values import Load, Register, Shuffled, splat
from mdhnp.codegen.reduce import Accumulators, apply, elements, point_values, start
from mdhnp.codegen.store import store_prefix
from mdhnp.codegen.work_items import items_index, mailbox

__all__ = ["across_subgroups"]

Values = tuple[Register, ...]
Places = Callable[[dict[int, int], Index, Index], Point]


@dataclass(frozen=True)
class _Tile:
    """Which points of the tile a work-item has."""

    #: The scanned dimension.
    d: int
    #: Gives the place of an element.
    at: Places
    #: Points of a row.
    row: int
    #: The work-item's number in a row.
    lane: Index
    #: The number of its subgroup along the dimension.
    subgroup: Index
    #: Its point of the first row, counted from the tile's beginning.
    first: Index


def across_subgroups(c: Context, carry: Accumulators, d: int, at: Places) -> None:
    """Scan one tile; the carry is its total then."""
    nest, b = c.nest, c.build
    row, points, me = nest.exchanging, nest.s.private_tile[d], nest.at(d, "w")
    subgroups = nest.s.num_wi[d] // row
    lane, subgroup = (b.named("lane", me % row), b.named("part", me // row)) if subgroups > 1 else (me, ZERO)
    tile = _Tile(d, at, row, lane, subgroup, b.named("first", subgroup * (row * points) + lane))
    scanned = _loaded(c, tile)
    _scan_rows(c, tile, [values for rows in scanned for values in rows])
    totals = [_joined(c, tile, rows) for rows in scanned]
    prefixes = tuple([tuple([b.declare("before", v) for v in values]) for values in carry.values])
    if subgroups > 1:
        _through_local_memory(c, tile, carry, prefixes, totals)
    else:
        for values, total in zip(carry.values, totals, strict=True):
            apply(c, values, total)
    for rows, prefix in zip(scanned, prefixes, strict=True):
        for values in rows:
            apply(c, values, prefix, before=True)
    _each_point(c, tile, scanned, partial(store_prefix, c))


def _each_point(
    c: Context, t: _Tile, scanned: Sequence[Sequence[Values]], do: Callable[[dict[int, int], Point, Values], None]
) -> None:
    """Do something with each point of the work-item that lies inside, and its registers."""
    nest = c.nest
    extent = constant(nest.h.extents[t.d])

    def do_all(checked: bool) -> None:
        for offset, rows in zip(elements(nest), scanned, strict=True):
            for p, values in enumerate(rows):
                local = t.first + p * t.row
                point = nest.begin(t.d) + local
                with c.build.when([Compare(point, "<", extent)] if checked else []):
                    do(offset, t.at(offset, point, local), values)

    whole = Compare(nest.begin(t.d) + nest.s.step(t.d), "<=", extent)
    c.build.either([whole], lambda: do_all(False), lambda: do_all(True))


def _loaded(c: Context, t: _Tile) -> list[list[Values]]:
    """The values of the work-item's points, of each element and row; the identity outside."""
    nest, lanes, op = c.nest, c.nest.s.vector_width, c.nest.h.operator
    assert op is not None and op.identity is not None
    starts = [start(literal, dtype, lanes) for literal, dtype in zip(op.identity, nest.result_dtypes, strict=True)]
    scanned = [
        [tuple([c.build.declare("x", value) for value in starts]) for _ in range(nest.s.private_tile[t.d])]
        for _ in elements(nest)
    ]

    def load(_: dict[int, int], where: Point, values: Values) -> None:
        found = point_values(c, nest.h.scalar, replace(where, lanes=lanes))
        for v, f in zip(values, found, strict=True):
            c.build.assign(v, splat(f, lanes))

    _each_point(c, t, scanned, load)
    return scanned


def _scan_rows(c: Context, t: _Tile, rows: Sequence[Values]) -> None:
    """Scan all rows at once, each by itself."""
    var = Var("d", low=1, high=t.row // 2)
    distance = variable(var)
    with c.build.doubling(var, t.row):
        others = [[_of(c, v, distance * -1) for v in values] for values in rows]
        with c.build.when([Compare(t.lane, ">=", distance)]):
            for values, before in zip(rows, others, strict=True):
                apply(c, values, before, before=True)


def _joined(c: Context, t: _Tile, rows: Sequence[Values]) -> Values:
    """Let rows go on where the ones before end, and give the last prefix of all."""
    last = t.lane * -1 + (t.row - 1)
    ends = [[_of(c, v, last) for v in values] for values in rows]
    total = tuple([c.build.declare("total", v) for v in ends[0]])
    for values, end in zip(rows[1:], ends[1:], strict=True):
        apply(c, values, total, before=True)
        apply(c, total, end)
    return total


def _of(c: Context, value: Register, distance: Index) -> Register:
    """Another work-item's value."""
    return c.build.name("other", Shuffled(value, distance, value.dtype, value.lanes))


def _through_local_memory(
    c: Context, t: _Tile, carry: Accumulators, prefixes: Sequence[Values], totals: Sequence[Values]
) -> None:
    """Each work-item goes through the subgroups' totals, and sees on its way what comes before its own subgroup."""
    nest, b = c.nest, c.build
    subgroups = nest.s.num_wi[t.d] // t.row
    group, groups = items_index(nest, nest.kept), nest.s.work_items // nest.s.num_wi[t.d]

    def slots(element: int, subgroup: Index) -> list[Load]:
        where = (group + element * groups) * subgroups + subgroup
        lanes = nest.s.vector_width
        return [Load(mailbox(nest, n, lanes), where, dtype, lanes) for n, dtype in enumerate(nest.result_dtypes)]

    with b.when([Compare(t.lane, "==", ZERO)]):
        for e, total in enumerate(totals):
            for slot, v in zip(slots(e, t.subgroup), total, strict=True):
                b.assign(slot, v)
    var = Var("s", low=0, high=subgroups - 1, agreed=True)
    with b.up_to(var, subgroups):
        with b.when([Compare(variable(var), "==", t.subgroup)]):
            for prefix, values in zip(prefixes, carry.values, strict=True):
                for v, value in zip(prefix, values, strict=True):
                    b.assign(v, value)
        for e, values in enumerate(carry.values):
            apply(c, values, slots(e, variable(var)))
