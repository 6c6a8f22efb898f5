"""Default schedules for GPUs: many work-items, tiles shared in local memory, neighbours on neighbouring addresses."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from math import prod

from mdhnp.mdh import MdHom
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.accuracy import chain_is_short, longest_chain
from mdhnp.schedule.batch import Batch, fallback
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.gpu_matrices import matrix_schedules
from mdhnp.schedule.gpu_products import product_tiles
from mdhnp.schedule.gpu_tiles import tiles
from mdhnp.schedule.layout import WIDEST, tile_itemsize
from mdhnp.schedule.model import seconds
from mdhnp.schedule.model_gpu import FEWEST_ITEMS, MOST_POINTS
from mdhnp.schedule.schedule import DeviceCaps, LocalCopy, Schedule, even_groups, tile_counts

# Chosen by times on an NVIDIA H200, but for what its data sheet says.
_WARP = 32
#: Points of a sum in a tile that is read in vectors.
_DEEP = 16
#: Work-items a compute unit, of which half are enough.
_MANY = 1024
#: Bytes that a bank of local memory gives at a time.
_WORD = 4
#: Scans: bytes that a work-item loads ahead; work-groups a compute unit; most tiles of a row for one work-group where
#: there are fewer; points of a tile where rows are scanned beside each other.
_UNDER_WAY, _SCANNING, _SHORT, _ROWS = 64, 32, 4, 64
#: Pairs: work-items, rows that each holds, and elements of these, at most; rows of a tile that they share, and its
#: bytes, at most; operations on a pair, at least; rows of each side, and work-groups, a compute unit.
_ITEMS, _ROWS_HELD, _HELD, _TILE, _SHARED, _WORTH, _PAIRED, _GROUPS = 128, 4, 32, 512, 18 << 10, 8, 512, 32


def gpu_candidates(h: MdHom, caps: DeviceCaps) -> Iterator[Schedule]:
    """Yield legal schedules: of scans, products, pairs, maps and other reductions; the last one is the fallback."""
    access = AccessPattern(h)
    for rule in (_scan, _product, _pairs, _tiles):
        yield from (s for s in rule(access, caps) if is_legal(h, s, caps))
    yield fallback(h)


def product_candidates(h: MdHom, caps: DeviceCaps, most: int) -> list[Schedule]:
    """Return the most promising schedules with matrix instructions, and the best without; none of other MDHs."""
    access = AccessPattern(h)
    plain = [s for s in _product(access, replace(caps, atoms=())) if is_legal(h, s, caps)][:1]
    found = matrix_schedules(access, caps, plain[0]) if plain else iter(())
    return [*(s for _, s in islice(found, most)), *plain]


def gpu_schedule(access: AccessPattern, batch: Batch, row: int) -> Schedule:
    """Return the schedule of one row of a batch whose results stay in registers."""
    h, units = access.h, access.contiguous_first
    x = access.sides[0].written if access.sides else units[0] if units else -1
    s = replace(of_tiles(access, {}, {}, {}), **batch.numbers(row))
    footprint = [s.footprint(d) for d in range(h.rank)]
    copies = tuple(_shared_tile(access, n, x, footprint) if p else None for n, p in enumerate(batch.packed[row]))
    s = replace(s, local_copies=copies)
    if any(s.num_wi[d] > 1 for d in access.combined):
        side = [d for d in access.walked if d in access.kept]
        s = replace(s, item_order=(*side, *(d for d in s.item_order if d not in side)))
    ordered = bool(h.dims("pw")) and h.operator is not None and not h.operator.commutative
    return replace(s, combine_on="local") if ordered or not chain_is_short(h, s) else s


def with_vectors(access: AccessPattern, s: Schedule, caps: DeviceCaps) -> Iterator[Schedule]:
    """Yield what a product of shared tiles is with vectors along what is written, and tiles that are copied ahead.

    Reading tiles takes as long as multiplying: 4096 x 4096 on an H200 takes 3.2 ms, by single elements 6.2.
    """
    if s.work_items == 1 or s.atom or access.sides is None or None in s.local_copies:
        return
    (x, y), width = (side.written for side in access.sides), WIDEST // access.itemsize
    inner = max(access.combined, key=lambda d: s.local_tile[d])
    if width == 1 or s.private_tile[x] % width:
        return
    # Rows that are written across the array's are in different banks.
    copies = [(v.strides[c.order[-1]] != 1, c) for v, c in zip(access.h.inputs, s.local_copies, strict=True) if c]
    padded = [replace(copy, pad=width * across) for across, copy in copies]
    s = replace(s, vector_dim=x, vector_width=width, local_copies=tuple(padded), stages=2)
    s = s.at(inner, local_tile=min(_DEEP, access.h.extents[inner]))
    many = s.work_groups * s.work_items >= _MANY * caps.compute_units
    if many and width == 4 and s.num_wi[y] % 2 == 0 and s.private_tile[y] * s.private_tile[x] == MOST_POINTS:
        yield s.at(y, num_wi=s.num_wi[y] // 2, private_tile=2 * s.private_tile[y])
    yield s


def _power_of_two(n: int) -> int:
    return 1 << (max(n, 1).bit_length() - 1)


def covering(n: int) -> int:
    """The smallest power of two from n."""
    return 1 << max(n - 1, 0).bit_length()


def _halves(n: int) -> list[int]:
    """A power of two, its half, and so on down to 1."""
    return [n >> k for k in range(n.bit_length())]


def of_tiles(access: AccessPattern, items: dict[int, int], points: dict[int, int], tiles: dict[int, int]) -> Schedule:
    """Return the schedule with so many work-items, private tiles and local tiles, one work-item and point by default.

    A local tile is one step of the work-items by default; in kept dimensions each work-group has one.
    """
    h, order = access.h, access.loop_order
    kept, combined = order[: len(access.kept)], order[len(access.kept) :]
    s = replace(
        Schedule.plain(h.extents, len(h.inputs)), results="private", private_copies=(True,) * len(h.inputs),
        global_order=order, local_order=order, private_order=(*combined, *kept),
        group_order=(*kept[::-1], *combined[::-1]), item_order=order[::-1],
    )  # fmt: skip
    for d, extent in enumerate(h.extents):
        num_wi, private = items.get(d, 1), points.get(d, 1)
        local = min(tiles.get(d, num_wi * private), extent)
        groups = -(-extent // local) if d in kept else 1
        s = s.at(d, num_wg=groups, num_wi=num_wi, local_tile=local, private_tile=private)
    return s


def _product(access: AccessPattern, caps: DeviceCaps) -> list[Schedule]:
    """Sums of products: tiles of both factors are shared in local memory, or matrix instructions multiply them."""
    h, sides = access.h, access.sides
    if sides is None:
        return []
    inner = max(access.combined, key=lambda d: h.extents[d])
    batch, plain = product_tiles(access, caps, sides, inner), []
    for row in range(len(batch)):
        s = replace(gpu_schedule(access, batch, row), combine_on="global")
        s = s if chain_is_short(h, s) else _short_chains(access, s, inner, caps)
        order = (*(d for d in s.global_order if d != inner), inner)
        plain.append(replace(s, global_order=order, local_order=order))
    for estimate, best in islice(matrix_schedules(access, caps, plain[0]) if plain else (), 1):
        if estimate < seconds(access, batch.take([0]), caps)[0]:
            return [best, *plain]
    return plain


def _short_chains(access: AccessPattern, s: Schedule, inner: int, caps: DeviceCaps) -> Schedule:
    """Split a long float sum over work-groups, or, where their parts would not fit, cut it into compensated ones."""
    h = access.h
    tiles, split = tile_counts(h.extents, s.local_tile), s
    left = -(-prod(tiles[d] for d in access.combined) * s.local_tile[inner] // longest_chain(h))
    for d in sorted(access.combined, key=lambda d: d == inner):  # the others first, which are walked over all the same
        split = split.at(d, num_wg=even_groups(tiles[d], max(left, s.num_wg[d])))
        left = -(-left // split.num_wg[d])
    size = sum(t.itemsize for t in h.scalar.dtypes) * prod(h.extents[d] for d in access.kept)
    if prod(split.num_wg[d] for d in access.combined) * size <= caps.max_allocation // 8 and chain_is_short(h, split):
        return split
    return replace(s, combine_on="local")


def _shared_tile(access: AccessPattern, n: int, x: int, footprint: Sequence[int]) -> LocalCopy | None:
    """An input's tile with the reduction outermost, so that work-items read neighbouring addresses.

    One that is turned is written across its rows, which have an odd number of words: so each is in another bank.
    """
    view = access.h.inputs[n]
    if not view.one_box:
        return None

    def innermost(axis: int) -> tuple[bool, bool, int]:
        dims = view.accesses[0][axis].dims()
        return (x in dims, any(d in access.kept for d in dims), -abs(view.strides[axis]))

    order = tuple(sorted(range(len(view.shape)), key=innermost))
    if access.sides or not access.turned(n):
        return LocalCopy(order)
    word = max(_WORD // tile_itemsize(view), 1)
    return LocalCopy(order, pad=(word - view.box(order[-1], footprint)) % (2 * word))


def _pairs(access: AccessPattern, caps: DeviceCaps) -> Iterator[Schedule]:
    """A reduction of what is computed of all pairs of rows: work-items hold those of one side and share the others."""
    h = access.h
    alone = (
        len(access.kept) == len(access.combined) == len(h.scalar.results) == 1 and not h.dims("ps") and not h.calls_text
    )
    if not alone or min(h.extents) < _PAIRED * caps.compute_units or access.operations < _WORTH:
        return
    (row,), (other,) = access.kept, access.combined
    held, shared = ([n for n, dims in enumerate(access.depends) if d in dims] for d in (row, other))
    if not held or not shared or set(held) & set(shared) or not all(h.inputs[n].one_box for n in shared):
        return
    elements = _ROWS_HELD * sum(len(h.inputs[n].accesses) for n in held)
    nbytes = _TILE * sum(len(h.inputs[n].accesses) * tile_itemsize(h.inputs[n]) for n in shared)
    if elements > _HELD or nbytes > _SHARED:
        return
    items, tile = {row: _ITEMS}, {other: min(_TILE, h.extents[other])}
    s = of_tiles(access, items, {row: _ROWS_HELD, other: _ROWS_HELD}, tile)
    copies = [LocalCopy(tuple(range(len(v.shape)))) if n in shared else None for n, v in enumerate(h.inputs)]
    s = replace(s, local_copies=tuple(copies))
    s = s if chain_is_short(h, s) else replace(s, combine_on="local")
    if h.operator is not None and h.operator.commutative and h.operator.identity is not None:
        s = _cut(s, other, h.extents[other], -(-_GROUPS * caps.compute_units // s.work_groups))
    yield s


def _tiles(access: AccessPattern, caps: DeviceCaps) -> Iterator[Schedule]:
    """Maps and reductions: the tiles that the cost model likes best."""
    if access.h.rank and not access.h.dims("ps"):
        batch = tiles(access, caps)
        yield from (gpu_schedule(access, batch, row) for row in range(len(batch)))


def _scan(access: AccessPattern, caps: DeviceCaps) -> Iterator[Schedule]:
    """A scan: rows side by side where there are many, else work-items share a row, and work-groups if it is long."""
    h = access.h
    for d in h.dims("ps"):
        able, rows = h.operator is not None and h.operator.identity is not None, h.points // h.extents[d]
        if caps.subgroup and able:
            yield from _exchanging_scan(access, caps, d)
        elif not able or (rows >= 64 * caps.compute_units and d not in access.contiguous_output):
            items = {k: min(64, covering(h.extents[k])) for k in access.contiguous_first[:1]}
            yield of_tiles(access, items, {}, {d: h.extents[d]})
        else:
            for count, size in ((256, 4), (128, 2), (32, 1), (1, 1)):
                if count * size <= h.extents[d]:
                    s = of_tiles(access, {d: count}, {d: size}, {d: count * size})
                    yield _cut(s, d, h.extents[d], 2 * caps.compute_units // rows if count * size >= 64 else 1)


def _exchanging_scan(access: AccessPattern, caps: DeviceCaps, d: int) -> Iterator[Schedule]:
    """A scan whose work-items exchange registers: across rows where results are contiguous so, else along a row."""
    h, units, row = access.h, access.contiguous_first, caps.subgroup
    # Registers have no less than 4 bytes.
    extent, most = h.extents[d], _power_of_two(_UNDER_WAY // sum(max(t.itemsize, 4) for t in h.scalar.dtypes))
    side = units and h.extents[units[0]] >= row and d not in access.contiguous_output
    if side or extent < row:
        items = {k: min(2 * row, covering(h.extents[k])) for k in units[:1]}
        s = of_tiles(access, items, {d: min(most, _power_of_two(extent))}, {d: _ROWS})
        yield _cut(s, d, extent, _SCANNING * caps.compute_units // s.work_groups)
        return
    for count, points in (*((8 * row, n) for n in _halves(most) if n > 1), *((row, n) for n in _halves(min(most, 8)))):
        if count * points <= extent:
            # A work-group has several short rows.
            beside = {k: min(FEWEST_ITEMS // row, covering(h.extents[k])) for k in units[:1] if count == row}
            s = of_tiles(access, {d: count, **beside}, {d: points}, {d: count * points})
            yield _cut(s, d, extent, _SCANNING * caps.compute_units // s.work_groups)


def _cut(s: Schedule, d: int, extent: int, wanted: int) -> Schedule:
    """Return the schedule with so many work-groups along a long dimension, one along a short one."""
    tiles = -(-extent // s.local_tile[d])
    return s.at(d, num_wg=even_groups(tiles, wanted if tiles > _SHORT else 1))
