"""The kernel of a chain: before a tile of the last map's results, what it needs of all maps before.

Each map has a loop nest of its own, whose dimensions begin where its region does. What it gives lies in local memory.
Indices are those of the whole array, which is nowhere.

Where tiles are streamed along a dimension, a map's region is what it advances by, and a ring of the last points is kept
of its results: 2.5-dimensional blocking in space, and in time.

Source: Nguyen, Satish, Chhugani, Kim & Dubey, "3.5-D Blocking Optimization for Stencil Computations on Modern CPUs and
GPUs".
"""

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from mdhnp.codegen.access import Context
from mdhnp.codegen.ir.index import ZERO, Compare, Index, Var, clamp, constant, least, most, variable
from mdhnp.codegen.ir.statements import AllocLocal
from mdhnp.codegen.ir.values import Buffer
from mdhnp.codegen.kernel import map_tile
from mdhnp.codegen.layers import group_loops, ids, tile_count
from mdhnp.codegen.nest import Nest
from mdhnp.mdh import Chain, Footprint, MdHom, View
from mdhnp.mdh.mdhom import row_major
from mdhnp.schedule.chains import footprints_of, link, places, rings_of

__all__ = ["emit_chain"]

#: Of values in local memory, by name: its part, and the distance of neighbours along each axis.
_Kept = Mapping[str, Buffer]
_Strides = Mapping[str, tuple[int, ...]]


def emit_chain(c: Context, chain: Chain) -> None:
    """Build the body of a chain."""
    s = c.nest.s
    each = footprints_of(chain, s)
    strides = {v.name: row_major(r.sizes) for h, r in zip(chain.mdhoms[:-1], each, strict=False) for v in h.outputs}
    kept = _declare(c, chain, each)
    ids(c)
    others = [d for d in s.global_order if d != s.streamed]
    with group_loops(c, others):
        if s.streamed < 0:
            _tile(c, chain, kept, each, strides)
        else:
            _stream(c, chain, kept, each, strides)


def _tile(c: Context, chain: Chain, kept: _Kept, each: tuple[Footprint, ...], strides: _Strides) -> None:
    """All that one tile needs, and the tile."""
    s, last = c.nest.s, len(chain.mdhoms) - 1
    origins = _origins(c, chain, each)
    moved = _all_moved(chain, strides, origins)
    for n, h in enumerate(chain.mdhoms[:-1]):
        part = _parted(h, each[n].sizes, strides)
        nest = Nest(part, link(s, h, each[n].sizes), origin=origins[n], moved=moved, pulls=s.work_items == 1)
        _hold(c, kept, h, n)
        with c.build.block():
            _map(c, c.of(nest))
    _hold(c, kept, chain.mdhoms[last], last)
    final = _parted(chain.mdhoms[last], chain.extents, strides)
    map_tile(c.of(Nest(final, link(s, final, s.local_tile, s.num_wg), moved=moved)))


def _stream(c: Context, chain: Chain, kept: _Kept, each: tuple[Footprint, ...], strides: _Strides) -> None:
    """Tiles that follow each other along a dimension: with each of them all maps advance by as many points.

    The first rounds are for the maps that are ahead only; later ones begin where the one before ended.
    """
    s, d, last = c.nest.s, c.nest.s.streamed, len(chain.mdhoms) - 1
    tile, held = s.local_tile[d], rings_of(chain, s)
    begin, end = c.nest.group_range(d)
    early = -(-max([ring.ahead - ring.before for ring in held]) // tile) * tile
    now = Var(f"{c.nest.name(d)}_s", low=-early, high=c.nest.var(d, "l").high)
    at = [variable(now) + ring.ahead for ring in held]
    origins = _origins(c, chain, each, {n: at[n] for n in range(last)})
    moved = _all_moved(chain, strides, origins, d)
    rings = {v.name: (d, ring.points) for h, ring in zip(chain.mdhoms[:-1], held, strict=False) for v in h.outputs}
    with c.build.loop(now, begin - early, Compare(variable(now), "<", end), tile):
        for n, (h, ring) in enumerate(zip(chain.mdhoms[:-1], held, strict=False)):
            low, high = most(begin + ring.before, ZERO), least(end + ring.ahead, constant(h.extents[d]))
            sizes = (*each[n].sizes[:d], tile, *each[n].sizes[d + 1 :])
            nest = Nest(
                _parted(h, sizes, strides), link(s, h, sizes), origin=origins[n], moved=moved,
                pulls=s.work_items == 1, limits={d: (low, high)}, rings=rings,
            )  # fmt: skip
            _hold(c, kept, h, n)
            with c.build.when([Compare(at[n] + tile, ">", low), Compare(at[n], "<", high)]), c.build.block():
                _map(c, c.of(nest))
        part = _parted(chain.mdhoms[last], chain.extents, strides)
        _hold(c, kept, chain.mdhoms[last], last)
        final = c.of(Nest(part, link(s, part, s.local_tile, s.num_wg), moved=moved, rings=rings))
        with c.build.when([Compare(variable(now), ">=", begin)]), c.build.block():
            c.build.let(final.nest.var(d, "l"), variable(now))
            tile_count(final, d)
            map_tile(final)


def _map(c: Context, one: Context) -> None:
    """One map's region, given its own nest."""
    for d in range(one.nest.h.rank):
        if one.nest.s.num_wi[d] > 1:
            c.build.let(one.nest.var(d, "w"), c.nest.at(d, "w"))
    with group_loops(one, one.nest.s.global_order):
        map_tile(one)


def _declare(c: Context, chain: Chain, each: tuple[Footprint, ...]) -> dict[str, Buffer]:
    """Declare local memory, and give the part of it where each map's results are."""
    where, sizes, kept = places(chain, c.nest.s), dict[Buffer, int](), dict[str, Buffer]()
    for h, region in zip(chain.mdhoms[:-1], each, strict=False):
        for view in h.outputs:
            buffer = kept[view.name] = Buffer(f"t{where[view.name]}_l", view.dtype, "local")
            sizes[buffer] = max(sizes.get(buffer, 0), prod(region.sizes))
    for buffer, size in sizes.items():
        c.build.add(AllocLocal(buffer, size))
    return kept


def _hold(c: Context, kept: _Kept, h: MdHom, n: int) -> None:
    """Have the views of a map be of that memory; it writes nothing that it reads."""
    for view in (*h.inputs, *h.outputs):
        if view.name in kept:
            c.hold(view, replace(kept[view.name], phase=n + 1))


def _origins(
    c: Context, chain: Chain, each: tuple[Footprint, ...], streamed: Mapping[int, Index] | None = None
) -> dict[int, tuple[Index, ...]]:
    """Name where the maps' regions begin: those of the last ones first, since they say where others do.

    The last map's tile counts as whole: vectors that would stick out of it are moved inside. Where tiles are streamed,
    it is given where maps begin along that dimension.
    """
    last = len(chain.mdhoms) - 1
    wholes = [max(n - t, 0) for n, t in zip(chain.extents, c.nest.s.local_tile, strict=True)]
    found = {last: tuple([least(c.nest.begin(d), constant(whole)) for d, whole in enumerate(wholes)])}
    for n in reversed(range(last)):
        h, region = chain.mdhoms[n], each[n]
        begins = []
        for d, (size, extent) in enumerate(zip(region.sizes, h.extents, strict=True)):
            if streamed is not None and d == c.nest.s.streamed:
                begins.append(streamed[n])
                continue
            first, *others = [found[m][d] + distances[d] for m, distances in region.reads]
            for other in others:
                first = least(first, other)
            begin = Var(f"{h.names[d]}_s", low=0, high=extent - size)
            inside = clamp(first, ZERO, constant(extent - size))
            begins.append(inside if inside.known is not None else c.build.let(begin, inside))
        found[n] = tuple(begins)
    return found


def _all_moved(
    chain: Chain, strides: _Strides, origins: Mapping[int, tuple[Index, ...]], streamed: int = -1
) -> dict[str, Index]:
    """Where arrays' first elements would lie, from where those of their regions do, but for a streamed dimension."""
    found = dict.fromkeys(strides, ZERO)
    for n, h in enumerate(chain.mdhoms[:-1]):
        for view in h.outputs:
            for d, (stride, begin) in enumerate(zip(strides[view.name], origins[n], strict=True)):
                if d != streamed:
                    found[view.name] = found[view.name] - begin * stride
    return found


def _parted(h: MdHom, extents: tuple[int, ...], strides: _Strides) -> MdHom:
    """A map of a region's points, between arrays of which regions are in memory."""

    def seen(view: View) -> View:
        return replace(view, strides=strides[view.name]) if view.name in strides else view

    inputs = tuple(map(seen, h.inputs))
    outputs = tuple([replace(seen(v), shape=extents) for v in h.outputs])
    return replace(h, extents=extents, inputs=inputs, outputs=outputs)
