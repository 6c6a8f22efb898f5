"""Schedules for GPUs of sums of products: tiles of factors in local memory, tiles of results in registers.

One side of kept dimensions moves one factor, another the other. Each work-item computes some points of one side times
some of the other. How many, and of which dimensions, is tried, and ranked by the cost model. Limits were chosen by
times on an NVIDIA H200.
"""

from itertools import product
from math import prod

import numpy as np

from mdhnp.schedule.access import AccessPattern, Side
from mdhnp.schedule.batch import PRIVATE, Batch
from mdhnp.schedule.model import seconds
from mdhnp.schedule.model_gpu import MOST_ITEMS, MOST_POINTS
from mdhnp.schedule.model_matrices import FactorTile
from mdhnp.schedule.schedule import DeviceCaps, even_groups

#: Points of a work-item along a side, and work-items along one.
_POINTS, _ITEMS = (1, 2, 3, 4, 6, 8), (4, 8, 16, 32)
#: Points of a sum at least in each part of it.
_PART = 64
#: Points of a dimension up to which tiles of its side extend along a second one, too (on an H200 contractions of
#: extents from 8 to 72 gained).
SHORT = 96
#: Elements of the smallest part of memory that is read at once.
SECTOR = 8
#: Work-item tiles of a side that are tried with those of the other, and results.
_TRIED, _KEPT = 16, 4
#: Points of a sum in a tile, and elements of a side and of both from which on fewer are faster: then more groups fit.
_DEPTHS, _WIDE = (16, 8), (32, 192)


def product_tiles(access: AccessPattern, caps: DeviceCaps, sides: tuple[Side, Side], inner: int) -> Batch:
    """Return tiles of work-groups, the fastest by the cost model first, with several points along `inner` in each.

    The sides are those of both factors; `inner` is a reduced dimension.
    """
    h, operator = access.h, access.h.operator
    most = max(h.extents[inner] // _PART, 1) if operator is not None and operator.identity is not None else 1
    items, points, depths, groups = [], [], [], []
    for one, other in product(*(_side_tiles(access, side) for side in sides)):
        laid, tile = one.items | other.items, one.points | other.points
        if one.each * other.each > MOST_POINTS or prod(laid.values()) > min(MOST_ITEMS, caps.max_work_group):
            continue
        items.append([laid.get(d, 1) for d in range(h.rank)])
        points.append([tile.get(d, 1) for d in range(h.rank)])
        depths.append(_depth(h.extents[inner], one.size, other.size))
        # Sums are split into parts where kept dimensions keep too few compute units busy.
        tiles = [-(-n // (laid.get(d, 1) * tile.get(d, 1))) if d in access.kept else 1 for d, n in enumerate(h.extents)]
        parts = min(-(-2 * caps.compute_units // prod(tiles)), most)
        tiles[inner] = even_groups(-(-h.extents[inner] // depths[-1]), parts)
        groups.append(tiles)
    num_wi, private, num_wg = (np.array(each, np.int64).reshape(-1, h.rank) for each in (items, points, groups))
    local = np.where([d in access.kept for d in range(h.rank)], np.minimum(num_wi * private, h.extents), 1)
    local[:, inner] = depths
    count = len(items)
    batch = Batch(
        num_wg, num_wi, local, private, np.full(count, -1), np.ones(count, np.int64),
        np.tile(access.summed, (count, 1)), np.full(count, PRIVATE),
    )  # fmt: skip
    return batch.take(np.argsort(seconds(access, batch, caps), kind="stable")[:_KEPT])


def _depth(extent: int, one: int, other: int) -> int:
    """Points of the sum in a tile: eight in large ones, and where sixteen leave much of the last one empty."""
    deep, flat = (-(-extent // depth) * depth for depth in _DEPTHS)
    wide = min(one, other) >= _WIDE[0] and one + other >= _WIDE[1]
    return min(_DEPTHS[wide or deep > 1.1 * flat], extent)


def _side_tiles(access: AccessPattern, side: Side) -> list[FactorTile]:
    """Tiles along the dimensions of a side in which neighbours are written and read, the most promising first.

    Where that is one, and short, further ones lie along its neighbour in the results, too.
    """
    found = _tiles_along(access, side, side.read)
    if found and side.written == side.read and access.h.extents[side.written] <= SHORT:
        beside = [d for d in access.contiguous_first if d in side.dims and d != side.written]
        found += [tile for d in beside[:1] for tile in _tiles_along(access, side, d)]
    return found


def _tiles_along(access: AccessPattern, side: Side, other: int) -> list[FactorTile]:
    """Tiles along the dimension in which neighbours are written, and another one of its side."""
    extents, dims, near = access.h.extents, {side.written, other}, {side.written, side.read}
    several, more = ((1, 2, 4, 8, 16), _POINTS) if len(dims) > 1 else ((1,), (1,))
    ranked = list[tuple[float, FactorTile]]()
    for count, across, each, beside in product(_ITEMS, several, _POINTS, more):
        items = {other: across, side.written: count // across}
        points = {other: beside, side.written: each}
        idle = any(items[d] > 1 and items[d] >= 2 * extents[d] for d in dims)
        outside = any(points[d] > 1 and items[d] * (points[d] - 1) >= extents[d] for d in dims)
        if count % across == 0 and each * beside <= _POINTS[-1] and not idle and not outside:
            found = FactorTile.of(extents, items, points)
            run = min(1.0, min(min(found.tiles[d], extents[d]) for d in near) / SECTOR)
            ranked.append((found.useful * found.each / (found.each + 3) * run, found))
    ranked.sort(key=lambda tile: -tile[0])
    return [tile for _, tile in ranked[:_TRIED]]
