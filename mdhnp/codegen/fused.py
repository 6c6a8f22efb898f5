"""Kernels of several MDHs: chains and rows. Each MDH has a loop nest of its own.

What one gives to others lies in local memory. Indices are those of the whole array, which is nowhere.

*Chains*: before a tile of the last map's results, what it needs of all maps before. A map's dimensions begin where its
region does. Where tiles are streamed along a dimension, a map's region is what it advances by, and a ring of the last
points is kept of its results: 2.5-dimensional blocking in space, and in time.

Source: Nguyen, Satish, Chhugani, Kim & Dubey, "3.5-D Blocking Optimization for Stencil Computations on Modern CPUs and
GPUs".

*Rows*: for some of them at a time all MDHs, one after the other, inside of the loops over rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import prod

from mdhnp.codegen.access import Context
from mdhnp.codegen.ir.index import ZERO, Compare, Index, Var, call, clamp, constant, least, most, variable
from mdhnp.codegen.ir.statements import AllocLocal
from mdhnp.codegen.ir.values import Buffer
from mdhnp.codegen.kernel import declare_local, emit_tiles, map_tile
from mdhnp.codegen.layers import group_ids, group_loops, ids, item_ids, tile_count
from mdhnp.codegen.link import NestLink
from mdhnp.fusion.streamed import Streamed
from mdhnp.mdh import Chain, MdHom, Rows, View
from mdhnp.mdh.views import row_major
from mdhnp.schedule import chains
from mdhnp.schedule.rows import at_once, form, links, places, tiled
from mdhnp.schedule.schedule import Schedule


def emit_chain(chain: Chain, c: Context) -> None:
    emitter, s = _Chain(chain, c), c.s
    ids(c)
    with group_loops(c, [d for d in s.global_order if d != s.streamed]):
        if s.streamed < 0:
            emitter.tile()
        else:
            emitter.stream()


class _Chain:
    """What the loop nests of a chain share: where each value lies in local memory, and the strides of its axes."""

    def __init__(self, chain: Chain, c: Context) -> None:
        self._c, self._chain, self._s = c, chain, c.s
        *self._first, self._last = chain.mdhoms
        self._footprints = chains.footprints_of(chain, self._s)
        self._strides = dict[str, tuple[int, ...]]()
        self._kept = dict[str, Buffer]()
        where, sizes = chains.places(chain, self._s), dict[Buffer, int]()
        for h, footprint in zip(self._first, self._footprints, strict=False):
            for view in h.outputs:
                buffer = self._kept[view.name] = Buffer(f"t{where[view.name]}_l", view.dtype, "local")
                sizes[buffer] = max(sizes.get(buffer, 0), prod(footprint.sizes))
                self._strides[view.name] = row_major(footprint.sizes)
        for buffer, size in sizes.items():
            c.build.add(AllocLocal(buffer, size))

    def tile(self) -> None:
        """Build all that one tile needs, and the tile."""
        origins = self._origins({})
        moved = self._moved(origins)
        for n, h in enumerate(self._first):
            self._map(n, h, self._footprints[n].sizes, NestLink(origins[n], moved=moved))
        map_tile(self._results(NestLink(moved=moved)))

    def stream(self) -> None:
        """Build tiles that follow each other along a dimension: with each all maps advance by as many points.

        The first rounds are for the maps that are ahead only; later ones begin where the one before ended.
        """
        c, d, held = self._c, self._s.streamed, chains.rings_of(self._chain, self._s)
        tile, (begin, end) = self._s.local_tile[d], c.group_range(d)
        early = -(-max([ring.ahead - ring.before for ring in held]) // tile) * tile
        now = Var(f"{c.h.names[d]}_s", low=-early, high=c.var(d, "l").high)
        at = [variable(now) + ring.ahead for ring in held]
        origins = self._origins(dict(enumerate(at)))
        moved = self._moved(origins)
        rings = {v.name: (d, ring.points) for h, ring in zip(self._first, held, strict=False) for v in h.outputs}
        with c.build.loop(now, begin - early, Compare(variable(now), "<", end), tile):
            for n, (h, ring) in enumerate(zip(self._first, held, strict=False)):
                low, high = most(begin + ring.before, ZERO), least(end + ring.ahead, constant(h.extents[d]))
                sizes = tuple([tile if a == d else size for a, size in enumerate(self._footprints[n].sizes)])
                with c.build.when([Compare(at[n] + tile, ">", low), Compare(at[n], "<", high)]):
                    self._map(n, h, sizes, NestLink(origins[n], moved=moved, limits={d: (low, high)}, rings=rings))
            final = self._results(NestLink(moved=moved, rings=rings))
            with c.build.when([Compare(variable(now), ">=", begin)]), c.build.block():
                c.build.let(final.var(d, "l"), variable(now))
                tile_count(final, d)
                map_tile(final)

    def _map(self, n: int, h: MdHom, sizes: tuple[int, ...], link: NestLink) -> None:
        """Build the points of one map that a tile needs, in a loop nest of its own."""
        s = chains.link(self._s, h, sizes)
        nest = self._nest(n, h, sizes, s, replace(link, pulls=s.work_items == 1))
        with self._c.build.block():
            for d in range(h.rank):
                if s.num_wi[d] > 1:
                    self._c.build.let(nest.var(d, "w"), self._c.at(d, "w"))
            with group_loops(nest, s.global_order):
                map_tile(nest)

    def _results(self, link: NestLink) -> Context:
        """The loop nest of the last map."""
        h, extents = self._last, self._chain.extents
        s = chains.link(self._s, h, self._s.local_tile, self._s.num_wg)
        return self._nest(len(self._first), h, extents, s, link)

    def _nest(self, n: int, h: MdHom, extents: tuple[int, ...], s: Schedule, link: NestLink) -> Context:
        """The loop nest of a map of a region's points, between arrays of which regions are in memory.

        It writes nothing that it reads.
        """
        inputs, outputs = (
            tuple([replace(v, strides=self._strides.get(v.name, v.strides)) for v in views])
            for views in (h.inputs, h.outputs)
        )
        for view in (*inputs, *outputs):
            if view.name in self._kept:
                self._c.hold(view, replace(self._kept[view.name], phase=n + 1))
        outputs = tuple([replace(v, shape=extents) for v in outputs])
        return self._c.inner(replace(h, extents=extents, inputs=inputs, outputs=outputs), s, link)

    def _origins(self, streamed: Mapping[int, Index]) -> dict[int, tuple[Index, ...]]:
        """Name where the maps' regions begin: those of the last ones first, since they say where others do.

        The last map's tile counts as whole: vectors that would stick out of it are moved inside. Where tiles are
        streamed, it is given where maps begin along that dimension.
        """
        c, last = self._c, len(self._first)
        wholes = [max(n - t, 0) for n, t in zip(self._chain.extents, self._s.local_tile, strict=True)]
        origins = {last: tuple([least(c.begin(d), constant(whole)) for d, whole in enumerate(wholes)])}
        for n, h in reversed([*enumerate(self._first)]):
            begins = []
            for d, (size, extent) in enumerate(zip(self._footprints[n].sizes, h.extents, strict=True)):
                if d == self._s.streamed:
                    begins.append(streamed[n])
                    continue
                first, *others = [origins[m][d] + distances[d] for m, distances in self._footprints[n].reads]
                for other in others:
                    first = least(first, other)
                begin = Var(f"{h.names[d]}_s", low=0, high=extent - size)
                inside = clamp(first, ZERO, constant(extent - size))
                begins.append(inside if inside.known is not None else c.build.let(begin, inside))
            origins[n] = tuple(begins)
        return origins

    def _moved(self, origins: Mapping[int, tuple[Index, ...]]) -> dict[str, Index]:
        """Where arrays' first elements would lie, from where those of regions do, but for a streamed dimension."""
        moved = dict.fromkeys(self._strides, ZERO)
        for n, h in enumerate(self._first):
            for view in h.outputs:
                for d, (stride, begin) in enumerate(zip(self._strides[view.name], origins[n], strict=True)):
                    if d != self._s.streamed:
                        moved[view.name] = moved[view.name] - begin * stride
        return moved


def emit_rows(h: Rows, c: Context) -> None:
    h, shared = form(h, c.s), h.shared[-1]
    nests = _nests(c, h)
    for nest in nests:
        declare_local(nest)
    group_ids(c)
    with group_loops(c, shared, all_dims=shared):
        if not isinstance(h, Streamed):
            _emit_nests(c, shared, nests)
            return
        for d in shared:
            if not c.even(d):
                c.build.let(_first(c, d), least(c.at(d, "l"), constant(c.h.extents[d] - c.s.local_tile[d])))
        _emit_nests(c, shared, nests[: h.begin])
        with _tiles(h, c, c.s.streamed):
            for n in range(h.begin, h.end):
                with c.build.weighing(n in h.weights):
                    _emit_nests(c, (*shared, c.s.streamed), [nests[n]])
        _emit_nests(c, shared, nests[h.end :])


@contextmanager
def _tiles(h: Streamed, c: Context, d: int) -> Iterator[None]:
    """The loop over tiles of what is streamed, but for those that none of the current rows has points of."""
    if h.until is None or not c.several(d):
        with group_loops(c, [d], first=False):
            yield
        return
    row = h.shared[-1][-1]
    end = least(constant(c.h.extents[d]), _rows_begin(c, row) + (c.s.local_tile[row] + h.until))
    with c.build.loop(c.var(d, "l"), ZERO, Compare(c.at(d, "l"), "<", end), c.s.local_tile[d]):
        tile_count(c, d)
        yield


def _first(c: Context, d: int) -> Var:
    """Where rows begin of which there are as many in each tile."""
    return Var(f"{c.h.names[d]}_s", low=0, high=c.h.extents[d] - c.s.local_tile[d])


def _rows_begin(c: Context, d: int) -> Index:
    """Where what lies in local memory of a dimension begins."""
    return variable(_first(c, d)) if d != c.s.streamed >= 0 and not c.even(d) else c.begin(d)


def _emit_nests(c: Context, dims: Sequence[int], nests: Sequence[Context]) -> None:
    """Build MDHs inside of the loops over tiles of some dimensions, which each has for its own."""
    for nest in nests:
        with _work_items(c, nest):
            for d, own in zip(dims, nest.link.opened, strict=False):
                if nest.several(own):
                    c.build.let(nest.var(own, "l"), _rows_begin(c, d) if own in nest.link.whole else c.at(d, "l"))
                    tile_count(nest, own)
            emit_tiles(nest)


@contextmanager
def _work_items(c: Context, nest: Context) -> Iterator[None]:
    """A block in which an MDH's work-items have their ids: all of the group, or the first ones of them."""
    every, own = c.s.work_items, nest.s.work_items
    with ExitStack() as stack:
        stack.enter_context(c.build.block())
        if own < every:
            item = c.build.let(c.item_id, call("local_id"))
            stack.enter_context(c.build.when([Compare(item, "<", constant(own))]))
        item_ids(nest)
        yield


def _nests(c: Context, h: Rows) -> list[Context]:
    """The loop nests of all MDHs, after what they leave to others was declared."""
    s, last, nests = c.s, len(h.mdhoms) - 1, list[Context]()
    where, tile = places(h), s.local_tile[s.streamed] if s.streamed >= 0 else 0
    buffers, moved = dict(enumerate(map(c.buffer, h.inputs))), dict[str, Index]()
    for n, (step, part, own) in enumerate(zip(h.graph.steps, links(h, at_once(h, s), tile), s.steps, strict=True)):
        results = [*enumerate(part.outputs, h.graph.firsts[n])]
        for value, view in results:
            if n < last and where[value] != value:
                buffers[value] = buffers[where[value]]
            elif n < last:
                buffers[value] = Buffer(f"t{value}_l", view.dtype, "local")
                c.build.add(AllocLocal(buffers[value], prod(view.shape)))
            else:
                buffers[value] = c.buffer(h.outputs[value - results[0][0]])
        for value, view in (*zip(step.inputs, part.inputs, strict=True), *results):
            c.hold(view, replace(buffers[value], phase=n + 1))
            if buffers[value].space == "local":
                moved[view.name] = _row_moved(c, h, n, view)
        inputs, outputs = (
            tuple([replace(v, strides=lying.strides) for v, lying in zip(views, parts, strict=True)])
            for views, parts in ((step.mdhom.inputs, part.inputs), (step.mdhom.outputs, part.outputs))
        )
        whole = replace(step.mdhom.last, inputs=inputs, outputs=outputs)
        even = h.shared[n] if isinstance(h, Streamed) and n < last else ()
        link = NestLink(moved=moved, opened=tiled(h, n), whole=even, prefix=f"m{n}")
        nests.append(c.inner(whole, own, link, c.subgroup))
    return nests


def _row_moved(c: Context, h: Rows, n: int, view: View) -> Index:
    """Where an array's first element would lie, from where that of the rows in local memory does."""
    total = ZERO
    for d, own in zip((*h.shared[-1], c.s.streamed), tiled(h, n), strict=False):
        for stride, index in zip(view.strides, view.accesses[0], strict=True):
            total = total - _rows_begin(c, d) * (stride if own in index.dims() else 0)
    return total
