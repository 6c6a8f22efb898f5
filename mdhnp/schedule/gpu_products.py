"""Default schedules for GPUs of sums of products: tiles of operands in local memory, tiles of results in registers.

Two *sides* of kept dimensions: those that one operand moves along and the other does not, and the other way round. Each
work-item computes some points of one side times some of the other. How many, and of which dimensions, is what a few
lines of estimate say: arithmetic, reads of local memory and of the cache behind it, work-groups for all compute units.
"""

from collections.abc import Iterator
from itertools import islice, product
from math import prod
from typing import NamedTuple

from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.choices import Facts

__all__ = ["Tile", "tiles"]

#: Points of a work-item along a side, and work-items along one.
_POINTS, _ITEMS = (1, 2, 3, 4, 6, 8), (4, 8, 16, 32)
#: Points of a work-item: their sums take as many registers.
_MOST_POINTS = 64
#: Points of a sum at least in each part of it.
_PART = 64
#: Of a compute unit in a clock: multiply-adds, words read from local memory, words from the cache behind it.
_ADDS, _LOCAL, _CACHED = 128, 32, 3
#: Words of the smallest part of memory that is read at once.
_SECTOR = 8
#: Work-items of a group: with fewer too few reads are under way, with more they wait for each other too often.
_GROUP = (128, 256)
#: Ways of a side that are tried with those of the other.
_TRIED = 16
#: Points of a sum in a tile, and elements of a side and of both from which on fewer are faster: then more groups fit.
_DEPTHS, _WIDE = (16, 8), (32, 192)


class _Side(NamedTuple):
    """Work-items and points along the dimensions of one side, and how much of the tiles' reads and points is useful."""

    items: dict[int, int]
    points: dict[int, int]
    size: int
    each: int
    useful: float
    read: float


class Tile(NamedTuple):
    """Work-items and points of kept dimensions, points of the sum, into how many parts it is to be split.

    And what part of the device's multiply-adds are useful ones, roughly.
    """

    items: dict[int, int]
    points: dict[int, int]
    depth: int
    parts: int
    speed: float


def tiles(facts: Facts, caps: DeviceCaps, x: int, y: int, inner: int) -> Iterator[Tile]:
    """Give tiles for work-groups, by estimate the best ones first.

    Parameters
    ----------
    facts : Facts
        Of a sum of products.
    caps : DeviceCaps
        Of a GPU.
    x, y : int
        A kept dimension of each side: `x` moves an operand that `y` does not, and the other way round.
    inner : int
        The reduced dimension that tiles have several points of.
    """
    h = facts.h
    splits = h.operator is not None and h.operator.identity is not None
    most = max(h.extents[inner] // _PART, 1) if splits else 1
    found = []
    for one, other in product(_ways(facts, x), _ways(facts, y)):
        items, points = one.items | other.items, one.points | other.points
        group = prod(items.values())
        if one.each * other.each > _MOST_POINTS or group > min(_GROUP[1], caps.max_work_group):
            continue
        groups = prod(-(-h.extents[d] // (items.get(d, 1) * points.get(d, 1))) for d in facts.kept)
        parts = min(max(-(-2 * caps.compute_units // groups), 1), most)
        speed = _speed(one, other, groups * parts, caps) * min(group / _GROUP[0], 1.0)
        found.append((speed, Tile(items, points, _depth(h.extents[inner], one.size, other.size), parts, speed)))
    found.sort(key=lambda each: -each[0])
    yield from (tile for _, tile in islice(found, 4))


def _depth(extent: int, one: int, other: int) -> int:
    """Give the points of the sum in a tile: eight in large ones, and where sixteen leave much of the last one empty."""
    deep, flat = (-(-extent // depth) * depth for depth in _DEPTHS)
    wide = min(one, other) >= _WIDE[0] and one + other >= _WIDE[1]
    return min(_DEPTHS[wide or deep > 1.1 * flat], extent)


def _speed(one: _Side, other: _Side, groups: int, caps: DeviceCaps) -> float:
    """Give the part of the device's multiply-adds that are made, roughly."""
    adds = one.each * other.each / _ADDS
    local = (one.each + other.each) / _LOCAL
    whole = one.size * other.size / _ADDS
    cached = (one.size / one.read + other.size / other.read) / _CACHED
    busy = groups / (-(-groups // caps.compute_units) * caps.compute_units)
    return one.useful * other.useful * busy * min(adds / max(adds, local), whole / max(whole, cached))


def _ways(facts: Facts, d: int) -> list[_Side]:
    """Give ways to lay work-items and points along the side of a dimension, the most promising ones."""
    h = facts.h
    pattern = [d in moved for moved in facts.depends]
    side = [k for k in facts.kept if [k in moved for moved in facts.depends] == pattern and h.extents[k] > 1]
    written = min(side or [d], key=lambda k: abs(facts.output_strides[k]))
    near = [k for n, moved in enumerate(facts.depends) if d in moved for k in side if facts.near(n, k)]
    read = near[0] if near else written
    found = [
        way
        for count in _ITEMS
        for across in ((1,) if read == written else (1, 2, 4, 8, 16))
        if count % across == 0
        for points in product(_POINTS, (1,) if read == written else _POINTS)
        if prod(points) <= _POINTS[-1] and (way := _way(facts, (written, read), (count // across, across), points))
    ]
    found.sort(key=lambda way: -way.useful * way.each / (way.each + 3) * way.read)
    return found[:_TRIED]


def _way(facts: Facts, dims: tuple[int, int], items: tuple[int, int], points: tuple[int, int]) -> _Side | None:
    """Give one way; None where it has more work-items or points than a dimension has."""
    laid: dict[int, tuple[int, int]] = {}
    for d, i, p in zip(dims, items, points, strict=True):
        before = laid.get(d, (1, 1))
        laid[d] = before[0] * i, before[1] * p
    useful = 1.0
    for d, (i, p) in laid.items():
        extent = facts.h.extents[d]
        if (i > 1 and i >= 2 * extent) or (p > 1 and i * (p - 1) >= extent):
            return None
        useful *= extent / (-(-extent // (i * p)) * i * p)
    size = prod(i * p for i, p in laid.values())
    written, read = (min(prod(laid[d]), facts.h.extents[d]) for d in dims)
    wide = min(1.0, min(written, read) / _SECTOR)
    return _Side(
        {d: i for d, (i, _) in laid.items()}, {d: p for d, (_, p) in laid.items()}, size,
        prod(p for _, p in laid.values()), useful, wide,
    )  # fmt: skip
