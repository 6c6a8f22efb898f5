"""Copies of inputs' local tiles to local memory, in the order and blocking the schedule asks for (packing)."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from mdhnp.codegen.access import LOCAL, Context, TileLayout, bounded_read, element, tile_layout
from mdhnp.codegen.ctypes import local_type
from mdhnp.codegen.nest import Linear, Nest
from mdhnp.mdh.views import Affine

__all__ = ["copy_tiles", "declare_tiles", "tile_start"]


def declare_tiles(c: Context) -> None:
    """Declare the local tiles of a kernel."""
    for number, copy in enumerate(c.nest.s.local_copies):
        if copy is not None:
            layout = tile_layout(c.nest, number)
            c.writer.line(f"{LOCAL} {local_type(layout.view.dtype)} {layout.view.name}_l[{layout.size}];")


def tile_start(nest: Nest, d: int) -> Linear:
    """Where the current local tile begins."""
    return Linear() if nest.tiles(d) == 1 else Linear(((f"{nest.name(d)}_l", 1),))


def copy_tiles(c: Context, numbers: Sequence[int]) -> None:
    """Copy the current local tiles of the given inputs; all work-items take part."""
    if not numbers:
        return
    shared = c.nest.s.work_items > 1
    for number in numbers:
        layout = tile_layout(c.nest, number)
        corner = [_corner(c.nest, layout, axis) for axis in range(len(layout.extents))]
        checks = _checks(c.nest, layout, corner)
        c.writer.line(f"// The tile of {layout.view.name} to local memory")
        c.writer.either(
            checks, partial(_copy, c, layout, corner, inside=True), partial(_copy, c, layout, corner, inside=False)
        )
    if shared:
        c.writer.barrier()


def _corner(nest: Nest, layout: TileLayout, axis: int) -> Linear:
    """Index along an axis of the tile's first element."""
    index = layout.view.accesses[0][axis]
    total = Linear((), layout.low[axis])
    for d, coefficient in enumerate(index.coefficients):
        total = total + tile_start(nest, d) * coefficient
        if coefficient < 0:
            total = total + coefficient * (layout.footprints[d] - 1)
    return total


def _checks(nest: Nest, layout: TileLayout, corner: Sequence[Linear]) -> list[str]:
    """Conditions for the whole tile to lie inside the array; none for axes where it always does."""
    checks = []
    for axis, size in enumerate(layout.view.shape):
        low, high = _range(nest, layout.view.accesses[0][axis], layout, axis)
        if low < 0:
            checks.append(corner[axis].at_least(0))
        if high >= size:
            checks.append(corner[axis].at_most(size - layout.extents[axis]))
    return checks


def _range(nest: Nest, index: Affine, layout: TileLayout, axis: int) -> tuple[int, int]:
    low, high = layout.low[axis], layout.low[axis]
    for d, coefficient in enumerate(index.coefficients):
        last = (nest.tiles(d) - 1) * nest.s.local_tile[d]
        edge = coefficient * (layout.footprints[d] - 1) if coefficient < 0 else 0
        low += edge + min(0, coefficient * last)
        high += edge + max(0, coefficient * last)
    return low, high + layout.extents[axis] - 1


def _copy(c: Context, layout: TileLayout, corner: Sequence[Linear], inside: bool) -> None:
    with ExitStack() as loops:
        if c.nest.s.work_items > 1:
            places, target = _share(c, layout, loops)
        else:
            places, target = _walk(c, layout, loops)
        indices = [corner[axis] + places[axis] for axis in range(len(places))]
        view = layout.view
        if inside:
            offset = Linear((), view.offset)
            for index, stride in zip(indices, view.strides, strict=True):
                offset = offset + index * stride
            source = element(view, view.name, offset)
        elif view.boundary is not None:
            source = bounded_read(c, view, indices)
        else:
            offset = Linear((), view.offset)
            for index, stride, size in zip(indices, view.strides, view.shape, strict=True):
                offset = (
                    offset + Linear(((f"clamp({index}, {c.nest.literal(0)}, {c.nest.literal(size - 1)})", 1),)) * stride
                )
            source = element(view, view.name, offset)
        c.writer.line(f"{view.name}_l[{target}] = {source};")


def _walk(c: Context, layout: TileLayout, loops: ExitStack) -> tuple[list[Linear], Linear]:
    """One work-item: loops in the order of the tile, so that it is written one element after the other."""
    copy = c.nest.s.local_copies[c.nest.h.inputs.index(layout.view)]
    assert copy is not None
    t = c.nest.index_type
    places = [Linear() for _ in layout.extents]
    target = Linear()
    for axis in copy.order:
        block = layout.blocks[axis]
        count = -(-layout.extents[axis] // block) if block else layout.extents[axis]
        if count > 1:
            loops.enter_context(c.writer.block(f"for ({t} x{axis} = 0; x{axis} < {count}; ++x{axis})"))
            places[axis] = Linear(((f"x{axis}", block or 1),))
            target = target + Linear(((f"x{axis}", layout.block_strides[axis] if block else layout.strides[axis]),))
    for axis in copy.blocked:
        loops.enter_context(c.writer.block(f"for ({t} y{axis} = 0; y{axis} < {layout.blocks[axis]}; ++y{axis})"))
        places[axis] = places[axis] + Linear(((f"y{axis}", 1),))
        target = target + Linear(((f"y{axis}", layout.strides[axis]),))
    return places, target


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
