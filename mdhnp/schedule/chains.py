"""Schedules of chains: one for the last map, whose local tile is what a work-group computes of it at a time.

The other maps have the same work-items and private tiles; their local tiles are their regions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice, product, zip_longest
from math import prod
from typing import NamedTuple

from mdhnp.cost import INSTRUCTION, ChainCost
from mdhnp.mdh import Chain, Computation, Footprint, MdHom, Ring, footprints, rings, slots
from mdhnp.schedule.layout import value_itemsize
from mdhnp.schedule.schedule import DeviceCaps, Schedule, require, shared_groups, tile_counts

#: Tiles that are looked at: along the innermost dimension, and along the others.
_INNER, _OUTER = (32, 64, 128, 256, 512, 1024, 4096, 16384), (1, 2, 4, 8, 16, 24, 32, 48, 64, 128)
#: Register tiles of CPUs, the best first: filters, rows and vectors, of at most so many filters that read the same.
_ROWS, _LINE, _FILTERS = ((1, 4, 1), (1, 2, 1), (1, 1, 1), (1, 2, 2)), ((1, 1, 1), (1, 1, 4)), 4
#: Points that could be computed in the time that a row takes besides.
_ROW = 32
#: Bytes from memory that take as long as a launch.
_LAUNCH = {"cpu": 1 << 16, "gpu": 1 << 25}
#: By what factor tiles that follow each other must cost less than others to be the default: costs are rough, and in two
#: dimensions both take about as long.
_SURE = 1.2
#: Candidates of each register tile, at most.
_OF_EACH = 12
#: Part of a CPU's second cache that local memory may take.
_CACHED = 0.75
#: Work-groups of a GPU's compute unit whose tiles have room beside each other.
_GROUPS = 4


def footprints_of(h: Chain, s: Schedule) -> tuple[Footprint, ...]:
    """What a work-group keeps of each map: all that a tile needs, along a streamed dimension what rings hold."""
    found = footprints(h.graph, s.local_tile)
    if s.streamed < 0:
        return found
    sizes = [list(region.sizes) for region in found]
    for each, ring in zip(sizes, rings_of(h, s), strict=True):
        each[s.streamed] = ring.points
    return tuple([region._replace(sizes=tuple(each)) for region, each in zip(found, sizes, strict=True)])


def rings_of(h: Chain, s: Schedule) -> tuple[Ring, ...]:
    return rings(h.graph, s.streamed, s.local_tile[s.streamed])


def places(h: Chain, s: Schedule) -> dict[str, int]:
    """Which place in local memory each value has; rings are needed all the time, so none is used again."""
    found = slots(h.graph)
    return found if s.streamed < 0 else {name: n for n, name in enumerate(found)}


def link(s: Schedule, h: MdHom, tile: Sequence[int], groups: Sequence[int] | None = None) -> Schedule:
    """The schedule of one map, given the chain's; it has one work-group, if not told how many."""
    count = len(h.inputs)
    return replace(
        s, local_tile=tuple(tile), num_wg=(1,) * h.rank if groups is None else tuple(groups),
        local_copies=(None,) * count, private_copies=(False,) * count, streamed=-1,
    )  # fmt: skip


def chain_memory(h: Chain, s: Schedule) -> int:
    """Bytes of local memory that a chain's kernel declares."""
    where, sizes = places(h, s), dict[int, int]()
    for one, region in zip(h.mdhoms[:-1], footprints_of(h, s), strict=False):
        for view in one.outputs:
            size = prod(region.sizes) * value_itemsize(view.dtype)
            sizes[where[view.name]] = max(sizes.get(where[view.name], 0), size)
    return sum(sizes.values())


def check_chain(h: Chain, s: Schedule) -> None:
    """Raise IllegalSchedule unless a schedule that is legal for a map like the last one is so for a chain."""
    require(not any(s.local_copies) and not any(s.private_copies), "local_copies: a chain copies no inputs")
    if s.streamed >= 0:
        d = s.streamed
        require(s.vector_width == 1 or d != s.vector_dim, f"streamed: {d} is the dimension of vectors")
        tiles = -(-h.extents[d] // s.local_tile[d])
        require(tiles > s.num_wg[d], f"streamed: work-groups have one tile each along {d}")
        least = min([one.extents[d] for one in h.mdhoms])
        require(s.local_tile[d] <= least, f"streamed: a tile is longer than a map's {least} points along {d}")
    if s.vector_width > 1:
        d = s.vector_dim
        require(d == h.rank - 1, f"vector_dim: {d}, while elements of regions are neighbours along {h.rank - 1}")
        require(_has_rows(h, s), f"vector_width: a region is shorter than {s.vector_width} points along the vectors")
        far = _beyond(h)
        require(far < s.vector_width, f"vector_width: up to {far} points beyond a border are read along the vectors")


def _has_rows(h: Chain, s: Schedule) -> bool:
    """Whether each region has room for a vector."""
    return s.vector_width == 1 or min([r.sizes[s.vector_dim] for r in footprints_of(h, s)]) >= s.vector_width


def _beyond(h: Chain) -> int:
    """How far beyond the ends of rows maps read what others leave to them."""
    each = [(s.mdhom, p, v) for s in h.graph.steps for p, v in s.reads]
    bounded = [(one, v) for one, p, v in each if p >= h.graph.given and v.boundary is not None]
    moving = [(one.extents[-1] - v.shape[-1], a[-1]) for one, v in bounded for a in v.accesses if a[-1].dims()]
    before = [-i.constant for _, i in moving]
    behind = [more + i.constant for more, i in moving]
    return max([*before, *behind], default=0)


def chain_candidates(h: Chain, caps: DeviceCaps) -> Iterator[Schedule]:
    """Yield the schedule that is expected to be the best, then the cheapest of each register tile by turns."""
    best = _best(h, caps)
    if best is None:
        return
    yield best
    tiles = (*_register_tiles(h, caps), *_streamed_tiles(h, caps))
    each = [islice(_ranked(h, caps, tile), _OF_EACH) for tile in tiles]
    yield from (s for s in dict.fromkeys(chain.from_iterable(zip_longest(*each))) if s not in (None, best))


def _best(h: Chain, caps: DeviceCaps) -> Schedule | None:
    """The cheapest schedule, None where no tile fits in local memory; streamed only where that is clearly cheaper."""
    whole = next(chain.from_iterable(_ranked(h, caps, tile) for tile in _register_tiles(h, caps)), None)
    tiles = _streamed_tiles(h, caps) if caps.kind == "cpu" else ()  # on GPUs it was not measured
    streams = [s for tile in tiles if (s := next(_ranked(h, caps, tile), None)) is not None]
    streamed = min(streams, key=lambda s: _cost_of(h, s, caps), default=None)
    if streamed is not None and (whole is None or _cost_of(h, whole, caps) > _SURE * _cost_of(h, streamed, caps)):
        return streamed
    return whole


def pays(h: Computation, s: Schedule, caps: DeviceCaps) -> bool:
    """Whether what is fused is expected to take less time than its MDHs one by one."""
    if not isinstance(h, Chain):
        return True
    apart = (len(h.mdhoms) - 1.0) * _LAUNCH[caps.kind]
    for one in h.mdhoms:
        moved = sum([min(v.elements(), one.points * len(v.accesses)) * v.dtype.itemsize for v in one.inputs])
        points = prod(one.extents[:-1]) * (one.extents[-1] + _ROW)
        apart += moved + sum([one.points * v.dtype.itemsize for v in one.outputs])
        apart += INSTRUCTION * points * _instructions(one)
    return _cost_of(h, s, caps) < apart


def _ranked(h: Chain, caps: DeviceCaps, register: "_RegisterTile") -> Iterator[Schedule]:
    """Schedules with a register tile and local tiles that fit, the cheapest first."""
    private, items, width, streamed = register
    step = [p * w for p, w in zip(private, items, strict=True)]
    sizes = [
        sorted({min(-(-t // k) * k, n) for t in (_INNER if d == h.rank - 1 else _OUTER)}) if d != streamed else [k]
        for d, (k, n) in enumerate(zip(step, h.extents, strict=True))
    ]
    memory = caps.shared_memory(_GROUPS) if caps.kind == "gpu" else min(caps.local_memory, int(_CACHED * caps.l2))
    cost = _cost(h, streamed, step[0], caps)
    plain = Schedule.plain(h.extents, len(h.inputs))
    for tile in sorted([t for t in product(*sizes) if cost.memory(t) <= memory], key=cost):
        s = replace(
            plain, local_tile=tile, private_tile=private, num_wi=items, num_wg=_groups(h, caps, tile, streamed),
            vector_dim=h.rank - 1 if width > 1 else -1, vector_width=width, streamed=streamed,
        )  # fmt: skip
        if chain_memory(h, s) <= memory and _has_rows(h, s):
            yield s


def _cost_of(h: Chain, s: Schedule, caps: DeviceCaps) -> float:
    return _cost(h, s.streamed, s.step(0), caps)(s.local_tile)


def _cost(h: Chain, streamed: int, planes: int, caps: DeviceCaps) -> ChainCost:
    groups = partial(_groups, h, caps)
    return ChainCost(h, streamed, _instructions, planes=planes, row=_ROW, groups=groups, units=caps.compute_units)


def _instructions(h: MdHom) -> int:
    return len(h.scalar.live()) + len(h.outputs)


class _RegisterTile(NamedTuple):
    """Private tile, work-items along each dimension, lanes, and the streamed dimension."""

    private: tuple[int, ...]
    items: tuple[int, ...]
    width: int
    streamed: int = -1


def _register_tiles(h: Chain, caps: DeviceCaps) -> Iterator[_RegisterTile]:
    """Some rows of vectors on CPUs, rows of work-items on GPUs."""
    inner, ones = h.rank - 1, (1,) * h.rank
    shortest = [min(n) for n in zip(*[one.extents for one in h.mdhoms], strict=True)]
    if caps.kind == "gpu":
        across = min(32, 1 << shortest[inner].bit_length() - 1)
        for wanted in (8, 4, 16) if h.rank > 1 else (1,):
            down = min(wanted, 1 << shortest[inner - 1].bit_length() - 1) if h.rank > 1 else 1
            items = tuple([across if d == inner else down if d == inner - 1 else 1 for d in range(h.rank)])
            yield _RegisterTile(ones, items, 1)
        return
    width = min(max(caps.vector_bytes // max([t.itemsize for t in h.dtypes]), 1), 16)
    while width > shortest[inner]:
        width //= 2
    width = width if _beyond(h) < width else 1
    beside = _read_by_all(h)
    filters = -(-shortest[beside] // -(-shortest[beside] // _FILTERS))  # as evenly as can be
    shared = ((filters, 2, 1), (2, 4, 1)) if beside >= 0 else ()
    for count, rows, vectors in (*shared, *(_ROWS if h.rank > 1 else _LINE)):
        sizes = {beside: count, inner - 1: rows, inner: width * vectors}
        private = tuple([sizes.get(d, 1) for d in range(h.rank)])
        if all([size <= n for size, n in zip(private, shortest, strict=True)]):
            yield _RegisterTile(private, ones, width)


def _read_by_all(h: Chain) -> int:
    """A dimension all of whose points read the same of an array, as filters do; -1 where there is none."""
    each = [(d, v) for one in h.mdhoms for v in one.inputs if len(v.shape) == h.rank for d in range(h.rank - 2)]
    return next((d for d, v in each if v.shape[d] > 1 and not any([a[d].dims() for a in v.accesses])), -1)


def _streamed_tiles(h: Chain, caps: DeviceCaps) -> Iterator[_RegisterTile]:
    """Some planes of a vector, or of the work-items; none where a work-group would not have two of them to go through.

    Each plane that is read is read for all results beside it, so that several at a time take fewer loads.
    """
    _, items, width, _ = next(_register_tiles(h, caps))
    least = min([one.extents[0] for one in h.mdhoms])
    for planes in (4, 2) if h.rank > 1 else ():
        if planes <= least and planes < h.extents[0]:
            yield _RegisterTile((planes, *(1,) * (h.rank - 2), width), (1, *items[1:]), width, 0)


def _groups(h: Chain, caps: DeviceCaps, tile: Sequence[int], streamed: int) -> tuple[int, ...]:
    """Work-groups along each dimension: a tile each, but for CPUs no more than keep all cores busy to the end.

    Where tiles follow each other, the fewest do that are enough, since each has to begin.
    """
    tiles = tile_counts(h.extents, tile)
    left = 16 * caps.compute_units if caps.kind == "cpu" or streamed >= 0 else prod(tiles)
    groups = shared_groups(tiles, sorted(range(h.rank), key=lambda d: d == streamed), left)
    if streamed >= 0:
        groups[streamed] = min(groups[streamed], -(-tiles[streamed] // 2))  # two tiles each at least
    return tuple(groups)
