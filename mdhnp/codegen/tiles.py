"""Copies of inputs' local tiles to local memory, in the order and blocking the schedule asks for (packing)."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from mdhnp.codegen.access import (
    LOCAL,
    Context,
    TileLayout,
    bounded_index,
    bounded_read,
    element,
    flat,
    folded,
    outside_value,
    tile_layout,
)
from mdhnp.codegen.ctypes import local_type, memory_type
from mdhnp.codegen.nest import Linear, Nest
from mdhnp.codegen.writer import advance
from mdhnp.mdh.views import Affine
from mdhnp.schedule.schedule import LocalCopy

__all__ = ["copy_tiles", "declare_tiles", "tile_start"]


def declare_tiles(c: Context) -> None:
    """Declare the local tiles of a kernel."""
    for number, copy in enumerate(c.nest.s.local_copies):
        if copy is not None:
            layout = tile_layout(c.nest, number)
            c.writer.line(f"{LOCAL} {local_type(layout.view.dtype)} {layout.view.name}_l[{layout.size}];")


def tile_start(nest: Nest, d: int) -> Linear:
    """Where the current local tile begins."""
    return Linear(((f"{nest.name(d)}_l", 1),)) if nest.several(d) else Linear()


def copy_tiles(c: Context, numbers: Sequence[int]) -> None:
    """Copy the current local tiles of the given inputs; all work-items take part."""
    if not numbers:
        return
    shared = c.nest.s.work_items > 1
    for number in numbers:
        layout = tile_layout(c.nest, number)
        corner = [_corner(c.nest, layout, axis) for axis in range(len(layout.extents))]
        before, beyond = _checks(c.nest, layout, corner)
        if layout.view.boundary is None and not c.nest.general:
            layout, corner, joined = _joined(layout, corner)
            beyond = {joined[axis]: test for axis, test in beyond.items()}
        c.writer.line(f"// The tile of {layout.view.name} to local memory")
        # C text might fail on values that are not in the array.
        if shared or layout.view.boundary is not None or before or c.nest.h.scalar.text is not None:
            copy = _copy_shared if shared else _copy_guarded
            tests = [*before, *beyond.values()]
            c.writer.either(tests, partial(copy, c, layout, corner, True), partial(copy, c, layout, corner, False))
        else:
            c.writer.either(
                list(beyond.values()), partial(_copy, c, layout, corner), partial(_copy_part, c, layout, corner, beyond)
            )
    if shared:
        c.writer.barrier()


def _joined(layout: TileLayout, corner: Sequence[Linear]) -> tuple[TileLayout, list[Linear], list[int]]:
    """Join axes that lie one inside the other in array and tile alike, with all of the inner one; each axis's number.

    Long axes are copied in whole blocks and with fewer loops. The layout is for these only: it has no accesses.
    """
    view, copy, groups = layout.view, layout.copy, list[list[int]]()
    for axis in sorted(range(len(corner)), key=lambda a: -view.strides[a]):
        outer = groups[-1][-1] if groups else axis
        size = view.shape[axis]
        nested = all(strides[outer] == size * strides[axis] for strides in (view.strides, layout.strides))
        whole = layout.extents[axis] == size and corner[axis] == Linear()
        if groups and nested and whole and not layout.blocks[outer] and not layout.blocks[axis]:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    number = [next(n for n, group in enumerate(groups) if axis in group) for axis in range(len(corner))]

    def taken(values: Sequence[int]) -> tuple[int, ...]:
        return tuple(values[group[-1]] for group in groups)

    def multiplied(values: Sequence[int]) -> tuple[int, ...]:
        return tuple(prod(values[axis] for axis in group) for group in groups)

    order, blocked = (tuple(dict.fromkeys(number[axis] for axis in axes)) for axes in (copy.order, copy.blocked))
    joined = replace(
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
    return joined, [corner[g[0]] * prod(layout.extents[axis] for axis in g[1:]) for g in groups], number


def _corner(nest: Nest, layout: TileLayout, axis: int) -> Linear:
    """Index along an axis of the tile's first element."""
    index = layout.view.accesses[0][axis]
    total = Linear((), layout.low[axis])
    for d, coefficient in enumerate(index.coefficients):
        total = total + tile_start(nest, d) * coefficient
        if coefficient < 0:
            total = total + coefficient * (layout.footprints[d] - 1)
    return total


def _checks(nest: Nest, layout: TileLayout, corner: Sequence[Linear]) -> tuple[list[str], dict[int, str]]:
    """Conditions for the tile not to begin before the array, and by axis not to end beyond it; none where it cannot."""
    before, beyond = [], {}
    for axis, size in enumerate(layout.view.shape):
        index = layout.view.accesses[0][axis]
        low, high = _range(nest, index, layout, axis)
        if low < 0 or (nest.general and any(c < 0 for c in index.coefficients)):
            before.append(corner[axis].at_least(0))
        if high >= size or nest.general:
            beyond[axis] = corner[axis].at_most(nest.last(layout.view, axis) + (1 - layout.extents[axis]))
    return before, beyond


def _range(nest: Nest, index: Affine, layout: TileLayout, axis: int) -> tuple[int, int]:
    low, high = layout.low[axis], layout.low[axis]
    for d, coefficient in enumerate(index.coefficients):
        last = nest.last_tile(d)
        edge = coefficient * (layout.footprints[d] - 1) if coefficient < 0 else 0
        low += edge + min(0, coefficient * last)
        high += edge + max(0, coefficient * last)
    return low, high + layout.extents[axis] - 1


def _copy_shared(c: Context, layout: TileLayout, corner: Sequence[Linear], inside: bool) -> None:
    with ExitStack() as loops:
        _element(c, layout, corner, *_share(c, layout, loops), inside)


def _copy_guarded(c: Context, layout: TileLayout, corner: Sequence[Linear], inside: bool) -> None:
    """One work-item; where a tile is not `inside` the array, row by row, or with a test or function for every index."""
    if inside:
        _copy(c, layout, corner)
    elif layout.view.boundary is not None and layout.contiguous is not None:
        _copy_rows(c, layout, corner, layout.contiguous)
    else:
        with ExitStack() as loops:
            _element(c, layout, corner, *_walk(c, layout, loops, {}), False)


def _copy_rows(c: Context, layout: TileLayout, corner: Sequence[Linear], row: int) -> None:
    """Copy a tile that sticks out of an array with a boundary: only the ends of its rows need tests or functions."""
    t, view, x = c.nest.index_type, layout.view, Linear(((f"x{row}", 1),))
    width = c.nest.literal(layout.extents[row])
    with ExitStack() as loops:
        places, target = _walk(c, layout, loops, {}, rows=row)
        indices, tests = folded(c, view, _indices(corner, places), row)
        for axis in (a for a in range(len(indices)) if a != row and view.boundary != "constant"):
            # Computed once a row.
            name = c.writer.fresh(f"r{axis}_")
            c.writer.line(f"const {t} {name} = {indices[axis]};")
            indices[axis] = Linear(((name, 1),))
        first, last = c.writer.fresh("first"), c.writer.fresh("last")
        begin, beyond = (c.nest.literal(corner[row] * -1 + n) for n in (0, view.shape[row]))
        end = f"clamp({beyond}, {first}, {width})"
        end = f"{' && '.join(tests)} ? {end} : {first}" if tests else end
        c.writer.line(f"const {t} {first} = clamp({begin}, {c.nest.literal(0)}, {width});")
        c.writer.line(f"const {t} {last} = {end};")
        indices[row] = corner[row] + x
        inside = element(view, view.name, flat(c, view, indices))
        if view.boundary == "constant":
            outside = outside_value(view)
        else:
            indices[row] = Linear(((bounded_index(c, view, row, indices[row]), 1),))
            outside = element(view, view.name, flat(c, view, indices))
        for start, stop, value in (("0", first, outside), (first, last, inside), (last, width, outside)):
            head = f"for ({t} {x} = {start}; {x} < {stop}; ++{x})"
            c.writer.line(f"{head} {view.name}_l[{target + x * layout.strides[row]}] = {value};")


def _copy_part(c: Context, layout: TileLayout, corner: Sequence[Linear], beyond: Mapping[int, str]) -> None:
    """What of the tile lies in the array; the rest, of which no result depends that is kept, is 0."""
    t, name = c.nest.index_type, layout.view.name
    c.writer.line(f"for ({t} e = 0; e < {layout.size}; ++e) {name}_l[e] = 0;")
    ends = {}
    for axis in beyond:
        ends[axis] = c.writer.fresh(f"n{axis}_")
        rest = f"{c.nest.literal(c.nest.last(layout.view, axis) + 1)} - {corner[axis].atom}"
        c.writer.line(f"const {t} {ends[axis]} = min({c.nest.literal(layout.extents[axis])}, {rest});")
    _copy(c, layout, corner, ends)


def _copy(c: Context, layout: TileLayout, corner: Sequence[Linear], ends: Mapping[int, str] | None = None) -> None:
    """One work-item copies a tile up to the given ends of axes: in blocks turned in registers where it can be."""
    ends = ends or {}
    blocks = _transposable(c.nest, layout)
    if blocks is None:
        with ExitStack() as loops:
            _element(c, layout, corner, *_walk(c, layout, loops, ends), True)
        return
    view, lanes = layout.view, blocks.lanes
    with ExitStack() as loops:
        places, target = _walk(c, layout, loops, ends, blocks)
        source = flat(c, view, _indices(corner, places))
        c.writer.line(
            f"{c.helpers.transpose(local_type(view.dtype), lanes)}({view.name} + {source}, "
            f"{c.nest.strides(view)[blocks.inner]}, {view.name}_l + {target}, {layout.strides[blocks.axis]});"
        )
    for rest in (blocks.axis, blocks.inner):
        if rest in ends or (layout.blocks[rest] or layout.extents[rest]) % lanes:
            with ExitStack() as loops:
                _element(c, layout, corner, *_walk(c, layout, loops, ends, blocks, rest), True)


def _element(
    c: Context, layout: TileLayout, corner: Sequence[Linear], places: Sequence[Linear], target: Linear, inside: bool
) -> None:
    """Copy one element."""
    view = layout.view
    indices = _indices(corner, places)
    if inside:
        source = element(view, view.name, flat(c, view, indices))
    elif view.boundary is not None:
        source = bounded_read(c, view, indices)
    else:
        last = [c.nest.literal(c.nest.last(view, axis)) for axis in range(len(indices))]
        clamped = [f"clamp({i}, {c.nest.literal(0)}, {n})" for i, n in zip(indices, last, strict=True)]
        source = element(view, view.name, flat(c, view, [Linear(((text, 1),)) for text in clamped]))
    c.writer.line(f"{view.name}_l[{target}] = {source};")


def _indices(corner: Sequence[Linear], places: Sequence[Linear]) -> list[Linear]:
    """Where in the array an element of the tile is."""
    return [begin + place for begin, place in zip(corner, places, strict=True)]


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
    if local_type(layout.view.dtype) != memory_type(layout.view.dtype):
        return None
    if axis is None or axis == inner or lanes < 4 or min(size, layout.extents[axis]) < lanes:
        return None
    return _Blocks(axis, inner, lanes)


def _walk(
    c: Context,
    layout: TileLayout,
    loops: ExitStack,
    ends: Mapping[int, str],
    blocks: _Blocks | None = None,
    rest: int | None = None,
    rows: int | None = None,
) -> tuple[list[Linear], Linear]:
    """One work-item: loops in the order of the tile, so that it is written one element after the other.

    With `blocks` the loops stop at the corner of each block; with `rest` they walk over what blocks leave over along
    that axis: all of it along the array's contiguous one, of the rest what is over along the other. With `rows` they
    stop at the beginning of each row along that axis.
    """
    t, copy = c.nest.index_type, layout.copy
    places, target = [Linear() for _ in layout.extents], [Linear()]

    def step(axis: int, name: str, stride: int) -> None:
        target[0] = target[0] + Linear(((name, stride),))

    def loop(name: str, axis: int, end: str) -> None:
        begin, step = "0", 1
        if blocks and axis in (blocks.axis, blocks.inner):
            whole = (
                str(int(end) // blocks.lanes * blocks.lanes)
                if end.isdigit()
                else f"{end} / {blocks.lanes} * {blocks.lanes}"
            )
            if rest is None:
                step, end = blocks.lanes, whole
            elif rest == axis:
                begin = whole
            elif axis == blocks.axis:
                end = whole
        loops.enter_context(c.writer.block(f"for ({t} {name} = {begin}; {name} < {end}; {advance(name, step)})"))

    def cut(axis: int) -> None:
        block, count = layout.blocks[axis], -(-layout.extents[axis] // layout.blocks[axis])
        if count > 1:
            head = f"x{axis} * {block} < {ends[axis]}" if axis in ends else f"x{axis} < {count}"
            loops.enter_context(c.writer.block(f"for ({t} x{axis} = 0; {head}; ++x{axis})"))
            places[axis] = Linear(((f"x{axis}", block),))
            step(axis, f"x{axis}", layout.block_strides[axis])

    def walk(axis: int) -> None:
        name, end = f"x{axis}", ends.get(axis, str(layout.extents[axis]))
        if layout.blocks[axis]:
            name, end = f"y{axis}", str(layout.blocks[axis])
            if axis in ends:
                left = f"min({c.nest.literal(int(end))}, {ends[axis]} - {places[axis].atom})"
                end = c.writer.fresh(f"m{axis}_")
                c.writer.line(f"const {t} {end} = {left};")
        elif layout.extents[axis] == 1:
            return
        loop(name, axis, end)
        places[axis] = places[axis] + Linear(((name, 1),))
        step(axis, name, layout.strides[axis])

    # Blocks last, along the array's contiguous axis in the innermost loop, which reads a few rows at a time.
    turned = () if blocks is None else (blocks.inner, blocks.axis)
    for axis in (a for a in copy.order if a != rows and (a not in turned or layout.blocks[a])):
        (cut if layout.blocks[axis] else walk)(axis)
    for axis in (*(a for a in copy.blocked if a not in turned), *turned):
        walk(axis)
    return places, target[0]


def _share(c: Context, layout: TileLayout, loops: ExitStack) -> tuple[list[Linear], Linear]:
    """Many work-items: neighbours read neighbouring addresses."""
    t = c.nest.index_type
    total = 1
    for n in layout.extents:
        total *= n
    loops.enter_context(c.writer.block(f"for ({t} e = w; e < {total}; e += {c.nest.s.work_items})"))
    places = [Linear() for _ in layout.extents]
    target, divisor = Linear(), 1
    for axis in sorted(range(len(places)), key=lambda a: (abs(layout.view.strides[a]), -a)):
        extent = layout.extents[axis]
        if extent == 1:
            continue
        text = "e" if divisor == 1 else f"e / {divisor}"
        text = text if divisor * extent == total else f"{text} % {extent}"
        c.writer.line(f"const {t} x{axis} = {text};")
        places[axis] = Linear(((f"x{axis}", 1),))
        block = layout.blocks[axis]
        if block:
            outer, inner = (
                (f"x{axis} / {block}", layout.block_strides[axis]),
                (f"x{axis} % {block}", layout.strides[axis]),
            )
            target = target + Linear(((f"({outer[0]})", outer[1]), (f"({inner[0]})", inner[1])))
        else:
            target = target + Linear(((f"x{axis}", layout.strides[axis]),))
        divisor *= extent
    return places, target
