"""The kernel of a chain: before a tile of the last map's results, what it needs of all maps before.

Each map has a loop nest of its own, whose dimensions begin where its region does. What it gives lies in local memory.
Indices are those of the whole array, which is nowhere.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from mdhnp.codegen.access import Context
from mdhnp.codegen.ir.index import ZERO, Index, Var, clamp, constant, least
from mdhnp.codegen.ir.statements import AllocLocal
from mdhnp.codegen.ir.values import Buffer
from mdhnp.codegen.kernel import map_tile
from mdhnp.codegen.layers import group_loops, ids
from mdhnp.codegen.nest import Nest
from mdhnp.mdh import Chain, MdHom, Region, View, slots
from mdhnp.mdh.mdhom import row_major
from mdhnp.schedule.chains import link, regions_of

__all__ = ["emit_chain"]


def emit_chain(c: Context, chain: Chain) -> None:
    """Build the body of a chain."""
    s, last = c.nest.s, len(chain.links) - 1
    each = regions_of(chain, s)
    strides = {v.name: row_major(r.sizes) for h, r in zip(chain.links[:-1], each, strict=False) for v in h.outputs}
    kept = _declare(c, chain, each)
    ids(c)
    with group_loops(c, s.global_order):
        origins = _origins(c, chain, each)
        moved = {v.name: _moved(strides[v.name], origins[n]) for n, h in enumerate(chain.links[:-1]) for v in h.outputs}
        for n, h in enumerate(chain.links[:-1]):
            part = _parted(h, each[n].sizes, strides)
            _hold(c, kept, h, n)
            with c.build.block():
                one = c.of(
                    Nest(
                        part,
                        link(s, h, each[n].sizes, (1,) * h.rank),
                        origin=origins[n],
                        moved=moved,
                        pulls=s.work_items == 1,
                    )
                )
                for d in range(chain.rank):
                    if s.num_wi[d] > 1:
                        c.build.let(one.nest.var(d, "w"), c.nest.at(d, "w"))
                with group_loops(one, s.global_order):
                    map_tile(one)
        _hold(c, kept, chain.links[last], last)
        final = _parted(chain.links[last], chain.extents, strides)
        map_tile(c.of(Nest(final, link(s, final, s.local_tile, s.num_wg), moved=moved)))


def _declare(c: Context, chain: Chain, each: tuple[Region, ...]) -> dict[str, Buffer]:
    """Declare local memory, and give the part of it where each map's results are."""
    where, sizes, kept = slots(chain.graph), dict[Buffer, int](), dict[str, Buffer]()
    for h, region in zip(chain.links[:-1], each, strict=False):
        for view in h.outputs:
            buffer = kept[view.name] = Buffer(f"t{where[view.name]}_l", view.dtype, "local")
            sizes[buffer] = max(sizes.get(buffer, 0), prod(region.sizes))
    for buffer, size in sizes.items():
        c.build.add(AllocLocal(buffer, size))
    return kept


def _hold(c: Context, kept: Mapping[str, Buffer], h: MdHom, n: int) -> None:
    """Have the views of a map be of that memory; it writes nothing that it reads."""
    for view in (*h.inputs, *h.outputs):
        if view.name in kept:
            c.hold(view, replace(kept[view.name], phase=n + 1))


def _origins(c: Context, chain: Chain, each: tuple[Region, ...]) -> dict[int, tuple[Index, ...]]:
    """Name where the maps' regions begin: those of the last ones first, since they say where others do.

    The last map's tile counts as whole: vectors that would stick out of it are moved inside.
    """
    last = len(chain.links) - 1
    wholes = [max(n - t, 0) for n, t in zip(chain.extents, c.nest.s.local_tile, strict=True)]
    found = {last: tuple([least(c.nest.begin(d), constant(whole)) for d, whole in enumerate(wholes)])}
    for n in reversed(range(last)):
        h, region = chain.links[n], each[n]
        begins = []
        for d, (size, extent) in enumerate(zip(region.sizes, h.extents, strict=True)):
            first, *others = [found[m][d] + distances[d] for m, distances in region.reads]
            for other in others:
                first = least(first, other)
            begin = Var(f"{h.names[d]}_s", low=0, high=extent - size)
            inside = clamp(first, ZERO, constant(extent - size))
            begins.append(inside if inside.known is not None else c.build.let(begin, inside))
        found[n] = tuple(begins)
    return found


def _moved(strides: tuple[int, ...], origin: tuple[Index, ...]) -> Index:
    """Where an array's first element would lie, from where that of its region does."""
    total = ZERO
    for stride, begin in zip(strides, origin, strict=True):
        total = total - begin * stride
    return total


def _parted(h: MdHom, extents: tuple[int, ...], strides: Mapping[str, tuple[int, ...]]) -> MdHom:
    """A map of a region's points, between arrays of which regions are in memory."""

    def seen(view: View) -> View:
        return replace(view, strides=strides[view.name]) if view.name in strides else view

    inputs = tuple(map(seen, h.inputs))
    outputs = tuple([replace(seen(v), shape=extents) for v in h.outputs])
    return replace(h, extents=extents, inputs=inputs, outputs=outputs)
