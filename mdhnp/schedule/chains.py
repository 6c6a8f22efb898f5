"""Schedules of chains: one for the last map, whose local tile is what a work-group computes of it at a time.

The other maps have the same work-items and private tiles; their local tiles are their regions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, product, zip_longest
from math import prod
from typing import NamedTuple

from mdhnp.mdh import Chain, MdHom, Region, reaches, regions, slots
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.illegal import IllegalSchedule, require
from mdhnp.schedule.schedule import Schedule

__all__ = ["chain_default", "chain_memory", "chain_schedules", "check_chain", "link", "regions_of"]

#: Tiles that are looked at: along the innermost dimension, and along the others.
_INNER, _OUTER = (32, 64, 128, 256, 512, 1024, 4096, 16384), (1, 2, 4, 8, 16, 24, 32, 48, 64, 128)
#: Bytes from memory that take as long as one instruction of a vector or of all work-items, for each of its elements.
_INSTRUCTION = 0.2
#: Points that could be computed in the time that a row takes besides.
_ROW = 32
#: Part of a CPU's second cache that local memory may take.
_CACHED = 0.75


def regions_of(h: Chain, s: Schedule) -> tuple[Region, ...]:
    """What a work-group computes of each map."""
    return regions(h.graph, s.local_tile)


def link(s: Schedule, h: MdHom, tile: Sequence[int], groups: Sequence[int]) -> Schedule:
    """The schedule of one map, given the chain's."""
    count = len(h.inputs)
    return replace(
        s, local_tile=tuple(tile), num_wg=tuple(groups), local_copies=(None,) * count, private_copies=(False,) * count
    )


def chain_memory(h: Chain, s: Schedule) -> int:
    """Bytes of local memory that a chain's kernel declares."""
    where, sizes = slots(h.graph), dict[int, int]()
    for one, region in zip(h.links[:-1], regions_of(h, s), strict=False):
        for view in one.outputs:
            size = prod(region.sizes) * max(view.dtype.itemsize, 4 if view.dtype.kind == "b" else 1)
            sizes[where[view.name]] = max(sizes.get(where[view.name], 0), size)
    return sum(sizes.values())


def check_chain(h: Chain, s: Schedule) -> None:
    """Raise IllegalSchedule unless a schedule that is legal for a map like the last one is so for a chain."""
    require(not any(s.local_copies) and not any(s.private_copies), "local_copies: a chain copies no inputs")
    if s.vector_width > 1:
        d = s.vector_dim
        require(d == h.rank - 1, f"vector_dim: {d}, while elements of regions are neighbours along {h.rank - 1}")
        require(_has_rows(h, s), f"vector_width: a region is shorter than {s.vector_width} points along the vectors")
        far = _beyond(h)
        require(far < s.vector_width, f"vector_width: up to {far} points beyond a border are read along the vectors")


def _has_rows(h: Chain, s: Schedule) -> bool:
    """Whether each region has room for a vector."""
    return s.vector_width == 1 or min([r.sizes[s.vector_dim] for r in regions_of(h, s)]) >= s.vector_width


def _beyond(h: Chain) -> int:
    """How far beyond the ends of rows maps read what others leave to them."""
    each = [(s.mdhom, p, v) for s in h.graph.steps for p, v in zip(s.inputs, s.mdhom.inputs, strict=True)]
    bounded = [(one, v) for one, p, v in each if p >= h.graph.given and v.boundary is not None]
    before = [-a[-1].constant for _, v in bounded for a in v.accesses]
    behind = [one.extents[-1] + a[-1].constant - v.shape[-1] for one, v in bounded for a in v.accesses]
    return max([*before, *behind], default=0)


def chain_default(h: Chain, caps: DeviceCaps) -> Schedule:
    """The schedule that is expected to be the best; an IllegalSchedule, where no tile fits in local memory."""
    found = next(chain.from_iterable(_ranked(h, caps, tile) for tile in _register_tiles(h, caps)), None)
    if found is None:
        raise IllegalSchedule(f"local memory: what a tile of a chain needs does not fit in {caps.local_memory} bytes")
    return found


def chain_schedules(h: Chain, caps: DeviceCaps, count: int) -> list[Schedule]:
    """Schedules by what tiles read, write and compute twice, at most so many of each register tile, best first."""
    each = [islice(_ranked(h, caps, tile), count) for tile in _register_tiles(h, caps)]
    return [s for s in dict.fromkeys(chain.from_iterable(zip_longest(*each))) if s is not None]


def _ranked(h: Chain, caps: DeviceCaps, register: "_RegisterTile") -> Iterator[Schedule]:
    """Schedules with a register tile and local tiles that fit, the cheapest first."""
    private, items, width = register
    step = [p * w for p, w in zip(private, items, strict=True)]
    sizes = [
        sorted({min(-(-t // k) * k, n) for t in (_INNER if d == h.rank - 1 else _OUTER)})
        for d, (k, n) in enumerate(zip(step, h.extents, strict=True))
    ]
    memory = caps.local_memory if caps.kind == "gpu" else min(caps.local_memory, int(_CACHED * caps.l2))
    cost = _Cost(h, caps)
    plain = Schedule.plain(h.extents, len(h.inputs))
    for tile in sorted([t for t in product(*sizes) if cost.memory(t) <= memory], key=cost):
        s = replace(
            plain, local_tile=tile, private_tile=private, num_wi=items, num_wg=_groups(h, tile, caps),
            vector_dim=h.rank - 1 if width > 1 else -1, vector_width=width,
        )  # fmt: skip
        if chain_memory(h, s) <= memory and _has_rows(h, s):
            yield s


class _RegisterTile(NamedTuple):
    """Private tile, work-items along each dimension, and lanes."""

    private: tuple[int, ...]
    items: tuple[int, ...]
    width: int


def _register_tiles(h: Chain, caps: DeviceCaps) -> Iterator[_RegisterTile]:
    """Some rows of vectors on CPUs, rows of work-items on GPUs."""
    inner, ones = h.rank - 1, (1,) * h.rank
    shortest = [min(n) for n in zip(*[one.extents for one in h.links], strict=True)]
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
    for rows, vectors in ((4, 1), (2, 1), (1, 1), (2, 2)) if h.rank > 1 else ((1, 1), (1, 4)):
        if width * vectors <= shortest[inner] and (h.rank == 1 or rows <= shortest[inner - 1]):
            private = [width * vectors if d == inner else rows if d == inner - 1 else 1 for d in range(h.rank)]
            yield _RegisterTile(tuple(private), ones, width)


def _groups(h: Chain, tile: Sequence[int], caps: DeviceCaps) -> tuple[int, ...]:
    """Work-groups along each dimension: a tile each, but for CPUs no more than keep all cores busy to the end."""
    tiles = [-(-n // t) for n, t in zip(h.extents, tile, strict=True)]
    left = 16 * caps.compute_units if caps.kind == "cpu" else prod(tiles)
    found = []
    for count in tiles:
        each = -(-count // min(count, max(left, 1)))
        found.append(-(-count // each))
        left //= found[-1]
    return tuple(found)


class _Cost:
    """What a chain costs by its tile, in bytes to or from memory, roughly: regions at borders are no smaller here."""

    def __init__(self, h: Chain, caps: DeviceCaps) -> None:
        self._h, self._caps, self._beyond, self._slots = h, caps, reaches(h.graph), slots(h.graph)
        self._work = [len(one.scalar.live()) + len(one.outputs) for one in h.links]
        self._given = [
            [v for p, v in zip(step.inputs, step.mdhom.inputs, strict=True) if p < h.graph.given]
            for step in h.graph.steps
        ]

    def _sizes(self, tile: Sequence[int]) -> list[list[int]]:
        """Points of each map's region along each dimension."""
        return [
            [min(t + more, n) for t, more, n in zip(tile, beyond, one.extents, strict=True)]
            for beyond, one in zip(self._beyond, self._h.links, strict=True)
        ]

    def memory(self, tile: Sequence[int]) -> int:
        """Bytes of local memory."""
        found: dict[int, int] = {}
        for one, sizes in zip(self._h.links[:-1], self._sizes(tile), strict=False):
            for view in one.outputs:
                slot = self._slots[view.name]
                found[slot] = max(found.get(slot, 0), prod(sizes) * view.dtype.itemsize)
        return sum(found.values())

    def __call__(self, tile: Sequence[int]) -> float:
        """Bytes that all tiles move, and those that could be moved while they compute, on compute units that wait."""
        h = self._h
        moved, work = sum([prod(tile) * v.dtype.itemsize for v in h.outputs]), 0.0
        for sizes, weight, given in zip(self._sizes(tile), self._work, self._given, strict=True):
            work += prod(sizes[:-1]) * (sizes[-1] + _ROW) * weight
            for view in given:
                box = prod([view.box(axis, sizes) for axis in range(len(view.shape))])
                moved += min(box, prod(sizes) * len(view.accesses)) * view.dtype.itemsize
        groups = prod(_groups(h, tile, self._caps))
        waiting = -(-groups // self._caps.compute_units) * self._caps.compute_units / groups
        tiles = prod([-(-n // t) for n, t in zip(h.extents, tile, strict=True)])
        return tiles * waiting * (moved + _INSTRUCTION * work)
