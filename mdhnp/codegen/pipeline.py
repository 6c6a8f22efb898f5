"""The loop over a reduction's local tiles that fills them ahead: while some are used, the next are being copied."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from math import gcd, inf, prod

from mdhnp.codegen.access import Context, TileLayout, element
from mdhnp.codegen.ir.index import (
    ONE,
    ZERO,
    Compare,
    Index,
    Var,
    clamp,
    constant,
    divided,
    even_part,
    least,
    open_tests,
    variable,
)
from mdhnp.codegen.ir.statements import MANY_STAGES, Copy, Let, Pipeline
from mdhnp.codegen.ir.values import HALF, Load, Outside
from mdhnp.codegen.layers import tile_count
from mdhnp.codegen.nest import Nest
from mdhnp.codegen.producers import prepare_operand
from mdhnp.codegen.tiles import Tile, local_tile
from mdhnp.schedule.layout import PREPARED, PRODUCERS, producers, registers, swizzles
from mdhnp.schedule.matrices import operands

# No dimension is named so.
FILLED, ROUND = Var("ahead", None, 0, inf), Var("now", None, 0, inf, agreed=True)
_PRODUCER = Var("producer", None, 0, PRODUCERS - 1)
#: Registers that a place along an axis takes where it is kept from round to round, with what tests it.
_KEPT = 3
#: Bytes that can be copied asynchronously at once, at least and at most.
_NARROW, _WIDE = 4, 16
#: Bytes that neighbours read beside each other at least: two sectors of memory.
_SEGMENT = 64


@contextmanager
def pipeline(c: Context, dims: Sequence[int]) -> Iterator[Index]:
    """Write one loop over a work-group's local tiles in all of some dimensions; inside of it one tile is there.

    It gives how many were there before.
    """
    counts = {d: c.build.named("tiles", c.rounds(d)) for d in dims if c.moving(d)}
    rounds = ONE
    for count in counts.values():
        rounds = rounds * count
    lanes = {n: _lanes(c, n) if c.async_copies else 0 for n in c.staged}
    asynchronous, behind = all(lanes.values()), producers(c.s)
    beyond = asynchronous and not behind and c.s.stages >= MANY_STAGES
    with c.build.part() as fill:
        _begin(c, FILLED, counts, rounds - 1 if beyond else None)
        with c.build.part() as copies:
            places = sum([_fill(c, n, lanes[n] if asynchronous else 1, asynchronous) for n in c.staged])
        if behind:
            _, left = registers(c.s) or (0, 255)
            many = places * _KEPT > left
            c.build.add(Let(_PRODUCER, variable(c.item_id) % behind, unknown_to="assembler" if many else ""))
        for statement in copies:
            c.build.add(statement)
    with c.build.part() as prepare:
        if behind and not swizzles(c.s):
            _begin(c, ROUND, counts)
            c.build.let(_PRODUCER, variable(c.item_id) % behind)
            prepare_operand(c, _item(c), variable(ROUND) % PREPARED)
    with c.build.part() as work:
        _begin(c, ROUND, counts)
        yield variable(ROUND)
    c.build.add(
        Pipeline(
            FILLED, ROUND, rounds, c.s.stages, asynchronous, tuple(fill), tuple(work), behind, tuple(prepare),
            registers(c.s) if behind else None,
        )
    )  # fmt: skip


def _item(c: Context) -> Index:
    """The work-item's number among those that fill; before producers there are multiples of as many others."""
    if producers(c.s):
        return variable(_PRODUCER)
    return variable(c.item_id) if c.s.work_items > 1 else ZERO


def _begin(c: Context, number: Var, counts: dict[int, Index], last: Index | None = None) -> None:
    """Name the slot of a round, and where its tile begins; the last dimension's tiles change fastest.

    Rounds beyond the `last` one are where that is.
    """
    left = variable(number)
    c.build.let(c.slot, left % c.s.stages)
    left = left if last is None else c.build.named("inside", least(left, last))
    if number == FILLED and len(counts) > 1 and c.subgroup:
        # NVIDIA's compiler makes quotient and remainder of `now + 1` in 8 bits where they fit, and takes the 1 out of a
        # remainder that is negative without it: addresses were 256 elements off (driver 580).
        tile = c.build.var("tile", 0, inf)
        c.build.add(Let(tile, left, unknown_to="compiler"))
        left = variable(tile)
    found = {}
    for place, (d, count) in reversed([*enumerate(counts.items())]):
        found[d] = left % count if place else left
        left = left // count
    for d in counts:
        c.build.let(c.var(d, "l"), c.tile_range(d)[0] + found[d] * c.s.local_tile[d])
        tile_count(c, d)


def _fill(c: Context, number: int, lanes: int, asynchronous: bool) -> int:
    """Copy an input's tile, so many elements at once; all who fill take part, neighbours beside each other.

    It gives how many places along axes addresses are made of.
    """
    item, items = _item(c), producers(c.s) or c.s.work_items
    tile = local_tile(c, number)
    layout, last = tile.layout, _last_term(c, number, tile)
    outside = range(len(tile.corner)) if tile.before else tile.beyond
    total = prod(layout.extents) // lanes
    c.build.comment(f"The next tile of {layout.view.name} to local memory")
    names: dict[Index, Index] = {}
    for first in range(0, total, items):
        e = item + first
        places = _places(c, layout, e, lanes, names)
        with c.build.when([Compare(e, "<", constant(total))]):
            target = variable(c.slot) * layout.size + layout.at(places)
            source = _source(c, layout, tile.indices(places), outside, lanes, last)
            if isinstance(source, Outside):
                for n in range(lanes):
                    c.build.add(Copy(c.tile(layout.view), target + n, source))
            else:
                c.build.add(Copy(c.tile(layout.view), target, source, asynchronous))
    return len(names)


def _places(c: Context, layout: TileLayout, e: Index, lanes: int, names: dict[Index, Index]) -> list[Index]:
    """Where in the tile the copy with a number begins; in addresses of several only a constant differs if it can.

    Where rows are no power of two long, neighbours walk some columns first, so that nothing is divided by the length.
    """
    places, digits = [ZERO for _ in layout.extents], list[tuple[int, int, int]]()
    for axis in sorted(range(len(places)), key=lambda a: (abs(layout.view.strides[a]), -a)):
        wide = lanes if axis == layout.contiguous else 1
        digits.append((axis, layout.extents[axis] // wide, wide))
    (axis, count, wide), *others = digits
    near = even_part(count)
    if near < count and near * wide * layout.view.dtype.itemsize >= _SEGMENT:
        digits = [(axis, near, wide), *others, (axis, count // near, near * wide)]
    for axis, count, step in digits:
        if count > 1:
            e, place = divided(e, count)
            moving = place - place.constant
            if moving not in names:
                names[moving] = c.build.named(f"x{axis}_", moving)
            places[axis] = places[axis] + (names[moving] + place.constant) * step
    return places


def _last_term(nest: Nest, number: int, tile: Tile) -> tuple[int, Index] | None:
    """Give the tile's axis along an atom's terms, and the last index that is one; None where all tiles are whole.

    What lies behind it in a tile must be 0 in both factors, whatever the array has there.
    """
    if not nest.s.atom or nest.even(nest.s.atom_dims[2]):
        return None
    terms = nest.s.atom_dims[2]
    for factor in chain(*operands(nest.h, *nest.s.atom_dims) or ()):
        axis = nest.h.inputs[factor[0]].axis_of(terms, factor[1])
        if factor[0] == number and axis is not None:
            row = next(n for n, group in enumerate(tile.groups) if axis in group)
            count = nest.extent(terms) + nest.h.inputs[number].accesses[factor[1]][axis].constant
            return row, count * tile.inside[row] - 1
    return None


def _source(
    c: Context, layout: TileLayout, indices: list[Index], outside: Collection[int], lanes: int,
    last_term: tuple[int, Index] | None,
) -> Load | Outside:  # fmt: skip
    """What is copied from some indices, of which those of the axes `outside` may lie outside of the array.

    Then it is 0, which costs no access. Were it the array's last row instead, work-groups would wait for each other at
    the few lines of it: a contraction whose tiles stick out by a quarter took three times as long. Only C text gets
    that, as it might fail on values that are not in the array; but 0 where the array has zeros around it.
    """
    guard = []
    for axis, index in enumerate(indices):
        wide = lanes if axis == layout.contiguous else 1
        ends = last_term is not None and axis == last_term[0]
        if last_term is not None and ends:
            guard.append(Compare(index, "<=", last_term[1] + (1 - wide)))
        if axis not in outside or (ends and layout.view.boundary is None):
            continue  # there are terms in the array only
        if c.h.calls_text and layout.view.boundary is None:
            indices[axis] = clamp(index, ZERO, c.last(layout.view, axis) + (1 - wide))
        else:
            guard.append(Compare(index, ">=", ZERO))
            guard.append(Compare(index, "<=", c.last(layout.view, axis) + (1 - wide)))
    unknown = open_tests(guard)
    if unknown is None:
        return Outside("0", layout.view.dtype)
    source = element(c, layout.view, indices)
    source = replace(source, lanes=lanes, stride=ONE) if lanes > 1 else source
    if unknown:
        source = replace(source, guard=unknown, outside=Outside("0", layout.view.dtype))
    return source


def _lanes(c: Context, number: int) -> int:
    """How many neighbours can be copied at once and asynchronously: all of a row begin at multiples of them.

    That is so in array and tile; the address of the array itself is not known here. It is 0 where they are too few.
    """
    layout = c.layouts[number]
    size = layout.view.dtype.itemsize
    if layout.view.dtype == HALF and not c.packed:
        return 0  # it changes its type
    wide = gcd(*_steps(c, layout, local_tile(c, number), number), _WIDE // size)
    return wide if wide * size >= _NARROW else 0


def _steps(nest: Nest, layout: TileLayout, tile: Tile, number: int) -> list[int]:
    """Numbers that say where rows begin and end: with those that all are multiples of, something can be copied."""
    view, rows, row = tile.layout.view, tile.layout, tile.layout.contiguous
    if row is None or rows.strides[row] != 1:
        return [1]
    found = [view.offset, view.shape[row], rows.extents[row], rows.size]
    for axis, (stride, inner) in enumerate(zip(view.strides, rows.strides, strict=True)):
        if axis != row:
            found += [stride, inner]
    # Inside of its first axis a row has all of the array's elements.
    first, inside = tile.groups[row][0], tile.inside[row]
    found.append(layout.low[first] * inside)
    last = _last_term(nest, number, tile)
    if last is not None and last[0] == row:
        found.append(nest.h.extents[nest.s.atom_dims[2]] * inside)
    for d, coefficient in enumerate(layout.view.accesses[0][first].coefficients):
        found.append(coefficient * inside * nest.s.local_tile[d])
        found.append(min(coefficient, 0) * inside * (layout.footprints[d] - 1))
    return found
