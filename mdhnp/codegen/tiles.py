"""Copies of inputs' local tiles to local memory, in the order and blocking the schedule asks for (packing)."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import NamedTuple

from mdhnp.codegen.access import (
    Context,
    TileLayout,
    bounded_element,
    bounded_index,
    element,
    flat,
    folded,
    outside_value,
)
from mdhnp.codegen.ir.index import ZERO, Compare, Index, Var, choice, clamp, constant, least, open_tests, variable
from mdhnp.codegen.ir.statements import AllocLocal, Clear, Copy, For, Transpose
from mdhnp.codegen.ir.values import HALF, Load, Outside
from mdhnp.codegen.nest import Nest
from mdhnp.schedule.layout import ALIGNED, WIDEST
from mdhnp.schedule.schedule import LocalCopy


class Tile(NamedTuple):
    """An input's local tile as it is copied: axes are joined that lie one inside the other in array and tile alike.

    So long axes are copied in whole blocks and with fewer loops. The layout is for that only: it has no accesses.
    """

    layout: TileLayout
    #: Where the tile begins along each of its axes.
    corner: list[Index]
    #: The array's axes that each one is made of, the outermost first, with all of the inner ones.
    groups: list[list[int]]
    #: How many elements lie inside of one index of the outermost.
    inside: list[int]
    #: Conditions for the tile not to begin before the array, and by axis not to end beyond it; none that must hold.
    before: list[Compare]
    beyond: dict[int, Compare]

    def indices(self, places: Sequence[Index]) -> list[Index]:
        """Where in the array an element of the tile is."""
        return [begin + place for begin, place in zip(self.corner, places, strict=True)]


def declare_tiles(c: Context) -> None:
    for number, copy in enumerate(c.s.local_copies):
        if copy is not None:
            layout = c.layouts[number]
            staged, tile = number in c.staged, c.tile(layout.view)
            begins = (ALIGNED if layout.swizzled else WIDEST) * (staged or tile.aligned)
            c.build.add(AllocLocal(tile, layout.size * (c.s.stages if staged else 1), begins))


def copy_tiles(c: Context, numbers: Sequence[int]) -> None:
    """Copy the current local tiles of the given inputs; all work-items take part."""
    for number in numbers:
        tile = local_tile(c, number)
        view, beyond = tile.layout.view, list(tile.beyond.values())
        c.build.comment(f"The tile of {view.name} to local memory")
        # C text might fail on values that are not in the array.
        if c.s.work_items > 1 or view.boundary is not None or tile.before or c.h.calls_text:
            copy = partial(_copy_guarded, c, tile)
            c.build.either([*tile.before, *beyond], partial(copy, True), partial(copy, False))
        else:
            c.build.either(beyond, partial(_copy, c, tile, {}), partial(_copy_part, c, tile))


def local_tile(c: Context, number: int) -> Tile:
    """The current local tile of an input."""
    layout = c.layouts[number]
    axes, joins = range(len(layout.extents)), layout.view.boundary is None and not c.general
    corner = [_corner(c, layout, axis) for axis in axes]
    groups = _groups(layout, corner) if joins else [[axis] for axis in axes]
    inside = [prod(layout.extents[axis] for axis in group[1:]) for group in groups]
    before = [Compare(begin, ">=", ZERO) for begin in corner]
    ends = [Compare(corner[a], "<=", c.last(layout.view, a) + (1 - layout.extents[a])) for a in axes]
    place = {axis: n for n, group in enumerate(groups) for axis in group}
    return Tile(
        _joined(layout, groups, place) if joins else layout,
        [corner[group[0]] * count for group, count in zip(groups, inside, strict=True)],
        groups,
        inside,
        [t for t in before if not t.known],
        {place[axis]: t for axis, t in enumerate(ends) if not t.known},
    )


def _corner(nest: Nest, layout: TileLayout, axis: int) -> Index:
    """Index along an axis of the tile's first element."""
    index = layout.view.accesses[0][axis]
    total = constant(layout.low[axis])
    for d, coefficient in enumerate(index.coefficients):
        total = total + nest.begin(d) * coefficient
        if coefficient < 0:
            total = total + coefficient * (layout.footprints[d] - 1)
    return total


def _groups(layout: TileLayout, corner: Sequence[Index]) -> list[list[int]]:
    """The axes that can be joined."""
    view, groups = layout.view, list[list[int]]()
    for axis in sorted(range(len(corner)), key=lambda a: -view.strides[a]):
        outer = groups[-1][-1] if groups else axis
        size = view.shape[axis]
        nested = all(strides[outer] == size * strides[axis] for strides in (view.strides, layout.strides))
        whole = layout.extents[axis] == size and corner[axis] == ZERO
        if groups and nested and whole and not layout.blocks[outer] and not layout.blocks[axis]:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


def _joined(layout: TileLayout, groups: Sequence[Sequence[int]], place: Mapping[int, int]) -> TileLayout:
    """The layout with axes joined; `place` says in which group each one is."""

    def taken(values: Sequence[int]) -> tuple[int, ...]:
        return tuple(values[group[-1]] for group in groups)

    def multiplied(values: Sequence[int]) -> tuple[int, ...]:
        return tuple(prod(values[axis] for axis in group) for group in groups)

    view, copy = layout.view, layout.copy
    order, blocked = (tuple(dict.fromkeys(place[axis] for axis in axes)) for axes in (copy.order, copy.blocked))
    return replace(
        layout,
        view=replace(view, shape=multiplied(view.shape), strides=taken(view.strides), accesses=()),
        copy=LocalCopy(order, blocked),
        extents=multiplied(layout.extents),
        strides=taken(layout.strides),
        blocks=taken(layout.blocks),
        block_strides=taken(layout.block_strides),
        low=(),
        footprints=(),
    )


def _copy_guarded(c: Context, tile: Tile, inside: bool) -> None:
    """Where a tile is not `inside` the array, row by row, or with a test or function for every index."""
    row = tile.layout.contiguous
    if c.s.work_items > 1:
        with ExitStack() as loops:
            _element(c, tile, *_share(c, tile.layout, loops), inside)
    elif inside:
        _copy(c, tile, {})
    elif tile.layout.view.boundary is not None and row is not None:
        _copy_rows(c, tile, row)
    else:
        with ExitStack() as loops:
            _element(c, tile, *_walk(c, tile.layout, loops, {}), False)


def _copy_rows(c: Context, tile: Tile, row: int) -> None:
    """Copy a tile that sticks out of an array with a boundary: only the ends of its rows need tests or functions."""
    layout, begin = tile.layout, tile.corner[row]
    view, width = layout.view, constant(layout.extents[row])
    x = Var(f"x{row}", None, 0, layout.extents[row] - 1)
    outside: Load | Outside
    with ExitStack() as loops:
        places, target = _walk(c, layout, loops, {}, rows=row)
        indices, tests = folded(view, tile.indices(places), row)
        for axis in (a for a in range(len(indices)) if a != row and view.boundary != "constant"):
            # Computed once a row.
            indices[axis] = c.build.named(f"r{axis}_", indices[axis])
        first = c.build.named("first", clamp(begin * -1, ZERO, width))
        end = clamp(constant(view.shape[row]) - begin, first, width)
        guard = open_tests(tests)  # where one does not hold, no element of the row lies in the array
        last = c.build.named("last", first if guard is None else choice(guard, end, first))
        indices[row] = begin + variable(x)
        inside, outside = element(c, view, indices), outside_value(view)
        if view.boundary != "constant":
            indices[row] = bounded_index(view, row, indices[row])
            outside = element(c, view, indices)
        at = target + variable(x) * layout.strides[row]
        for low, high, source in ((ZERO, first, outside), (first, last, inside), (last, width, outside)):
            copy = Copy(c.tile(view), at, source)
            c.build.add(For(x, low, Compare(variable(x), "<", high), variable(x) + 1, copy))


def _copy_part(c: Context, tile: Tile) -> None:
    """What of the tile lies in the array; the rest, of which no result depends that is kept, is 0."""
    layout = tile.layout
    c.build.add(Clear(c.tile(layout.view), layout.size))
    ends = {}
    for axis in tile.beyond:
        rest = c.last(layout.view, axis) + 1 - tile.corner[axis]
        ends[axis] = c.build.named(f"n{axis}_", least(constant(layout.extents[axis]), rest))
    _copy(c, tile, ends)


def _copy(c: Context, tile: Tile, ends: Mapping[int, Index]) -> None:
    """One work-item copies a tile up to the given ends of axes: in blocks turned in registers where it can be."""
    layout = tile.layout
    blocks = _transposable(c, layout)
    if blocks is None:
        with ExitStack() as loops:
            _element(c, tile, *_walk(c, layout, loops, ends), True)
        return
    view, lanes = layout.view, blocks.lanes
    with ExitStack() as loops:
        places, target = _walk(c, layout, loops, ends, blocks)
        source = flat(c, view, tile.indices(places))
        into, out = constant(layout.strides[blocks.axis]), c.strides(view)[blocks.inner]
        c.build.add(Transpose(c.tile(view), target, into, c.buffer(view), source, out, lanes))
    for rest in (blocks.axis, blocks.inner):
        if rest in ends or (layout.blocks[rest] or layout.extents[rest]) % lanes:
            with ExitStack() as loops:
                _element(c, tile, *_walk(c, layout, loops, ends, blocks, rest), True)


def _element(c: Context, tile: Tile, places: Sequence[Index], target: Index, inside: bool) -> None:
    """Copy one element."""
    view, indices = tile.layout.view, tile.indices(places)
    source: Load | Outside
    if inside:
        source = element(c, view, indices)
    elif view.boundary is not None:
        source = bounded_element(c, view, indices)
    else:
        last = [c.last(view, axis) for axis in range(len(indices))]
        source = element(c, view, [clamp(i, ZERO, n) for i, n in zip(indices, last, strict=True)])
    c.build.add(Copy(c.tile(view), target, source))


@dataclass(frozen=True)
class _Blocks:
    """A tile copied in square blocks: contiguous along `axis` in the array and along `inner` in local memory."""

    axis: int
    inner: int
    lanes: int


def _transposable(nest: Nest, layout: TileLayout) -> _Blocks | None:
    """How a tile can be turned in registers, where its innermost axis is not the array's; not while it changes type."""
    copy, axis = layout.copy, layout.contiguous
    inner = copy.blocked[-1] if copy.blocked else copy.order[-1]
    size = layout.blocks[inner] or layout.extents[inner]
    lanes = nest.s.vector_width
    while lanes > 4 and size % lanes:
        lanes //= 2
    if layout.view.dtype == HALF:
        return None
    if axis is None or axis == inner or lanes < 4 or min(size, layout.extents[axis]) < lanes:
        return None
    return _Blocks(axis, inner, lanes)


def _walk(
    c: Context, layout: TileLayout, loops: ExitStack, ends: Mapping[int, Index], blocks: _Blocks | None = None,
    rest: int | None = None, rows: int | None = None,
) -> tuple[list[Index], Index]:  # fmt: skip
    """One work-item: loops in the order of the tile, so that it is written one element after the other.

    With `blocks` the loops stop at the corner of each block; with `rest` they walk over what blocks leave over along
    that axis: all of it along the array's contiguous one, of the rest what is over along the other. With `rows` they
    stop at the beginning of each row along that axis.
    """
    copy = layout.copy
    places, target = [ZERO for _ in layout.extents], [ZERO]

    def loop(var: Var, axis: int, end: Index) -> None:
        begin, step = ZERO, 1
        if blocks and axis in (blocks.axis, blocks.inner):
            whole = end.covered(blocks.lanes)
            if rest is None:
                step, end = blocks.lanes, whole
            elif rest == axis:
                begin = whole
            elif axis == blocks.axis:
                end = whole
        loops.enter_context(c.build.loop(var, begin, Compare(variable(var), "<", end), step))

    def cut(axis: int) -> None:
        block, count = layout.blocks[axis], -(-layout.extents[axis] // layout.blocks[axis])
        if count > 1:
            var = Var(f"x{axis}", None, 0, count - 1)
            x = variable(var)
            test = Compare(x * block, "<", ends[axis]) if axis in ends else Compare(x, "<", constant(count))
            loops.enter_context(c.build.loop(var, ZERO, test))
            places[axis] = x * block
            target[0] = target[0] + x * layout.block_strides[axis]

    def walk(axis: int) -> None:
        var, end = Var(f"x{axis}", None, 0, layout.extents[axis] - 1), ends.get(axis, constant(layout.extents[axis]))
        if layout.blocks[axis]:
            var, end = Var(f"y{axis}", None, 0, layout.blocks[axis] - 1), constant(layout.blocks[axis])
            if axis in ends:
                end = c.build.named(f"m{axis}_", least(end, ends[axis] - places[axis]))
        elif layout.extents[axis] == 1:
            return
        loop(var, axis, end)
        places[axis] = places[axis] + variable(var)
        target[0] = target[0] + variable(var) * layout.strides[axis]

    # Blocks last, along the array's contiguous axis in the innermost loop, which reads a few rows at a time.
    turned = () if blocks is None else (blocks.inner, blocks.axis)
    for axis in (a for a in copy.order if a != rows and (a not in turned or layout.blocks[a])):
        (cut if layout.blocks[axis] else walk)(axis)
    for axis in (*(a for a in copy.blocked if a not in turned), *turned):
        walk(axis)
    return places, target[0]


def _share(c: Context, layout: TileLayout, loops: ExitStack) -> tuple[list[Index], Index]:
    """Many work-items: neighbours read neighbouring addresses."""
    total = prod(layout.extents)
    e = Var("e", None, 0, total - 1)
    test = Compare(variable(e), "<", constant(total))
    loops.enter_context(c.build.loop(e, variable(c.item_id), test, c.s.work_items))
    places = [ZERO for _ in layout.extents]
    target, divisor = ZERO, 1
    for axis in sorted(range(len(places)), key=lambda a: (abs(layout.view.strides[a]), -a)):
        extent = layout.extents[axis]
        if extent == 1:
            continue
        place = variable(e) // divisor
        x = c.build.let(Var(f"x{axis}", None, 0, extent - 1), place if divisor * extent == total else place % extent)
        places[axis] = x
        block = layout.blocks[axis]
        if block:
            target = target + x // block * layout.block_strides[axis] + x % block * layout.strides[axis]
        else:
            target = target + x * layout.strides[axis]
        divisor *= extent
    return places, target
