"""Candidate schedules for CPUs: one work-item a work-group, explicit vectors, register tiles, packed local tiles."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, product
from math import prod

import numpy as np
import numpy.typing as npt

from mdhnp.mdh import MdHom
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.accuracy import MOST_TILES, float_sums, longest_chain
from mdhnp.schedule.batch import GLOBAL, PRIVATE, RESULTS, Batch, Floats, fallback, global_order
from mdhnp.schedule.check import UNROLL_LIMIT, is_legal
from mdhnp.schedule.layout import tile_itemsize
from mdhnp.schedule.model import seconds
from mdhnp.schedule.schedule import DeviceCaps, LocalCopy, Schedule, even_groups, tile_counts

#: Rows of register tiles that are ranked, the most of them, the most points in two dimensions, and vectors a row.
_ROWS, _MOST_ROWS, _MOST_POINTS, _VECTORS = (2, 3, 4, 5, 6, 8), 14, 16, (1, 2, 3, 4, 5)
#: Bytes of AVX2's vectors, with which two things were measured (EPYC, Zen 3). Register tiles of 3 vectors and 4 rows
#: take all 16 registers and read 7 times for 12 multiply-adds, where 2 and 6 read 8 times: columns they divide took
#: 0.5 to 1.0 of the time. Tiles of an even part of the rows for each core, copied beside the columns': 0.62 to 0.88.
_AVX2_BYTES, _FULL_TILE = 32, (3, 4)
#: Results of one product of a stack from which on register tiles stay inside of it.
_SHARED = 64
#: Terms of a sum that are written out, and of sums of which some are: fitted to convolutions of 1 to 64 channels.
_WRITTEN_OUT, _TERMS = 32, 128
#: Terms of each sum that are written out in products of so many points, where so many sums are independent: 1024³ and
#: 2048³ took 0.90 to 0.96 of the time of single ones (EPYC, Zen 3), on a Xeon with AVX-512 0.92 to 0.99. With eight
#: Intel's compiler runs out of registers in some tiles, of 4 or 5 rows and 2 vectors say: 2.3 times as long (EPYC).
_AT_ONCE, _LARGE, _INDEPENDENT = 4, 1 << 28, 8
#: Terms of a sum from which its results may lie scattered.
_LONG = 256
#: Register tiles (half of them of any dimension of vectors) and schedules that are kept, sizes of local tiles of each.
_KEEP_TILES, _KEEP_SIZES, _LOCAL_TILES = 8, 300, 400


def cpu_candidates(h: MdHom, caps: DeviceCaps) -> Iterator[Schedule]:
    """Yield legal schedules as the cost model ranks them; the last one is the fallback."""
    access = AccessPattern(h)
    found = _scans(access, caps) if h.dims("ps") else _by_model(access, cpu_batch(h, caps), caps)
    yield from (s for s in found if is_legal(h, s, caps))
    yield fallback(h)


@lru_cache(maxsize=1)  # a search's default schedule and first candidates are of one
def cpu_batch(h: MdHom, caps: DeviceCaps) -> Batch:
    """Return what schedules without scans are chosen from, in no order: register tiles, copies, tiles, work-groups.

    All who ask for it share its arrays: nobody may change them.
    """
    access = AccessPattern(h)
    return _with_groups(access, _with_local_tiles(access, _register_tiles(access, caps), caps), caps)


def _by_model(access: AccessPattern, batch: Batch, caps: DeviceCaps) -> Iterator[Schedule]:
    for row in np.argsort(seconds(access, batch, caps), kind="stable"):
        s = cpu_schedule(access, batch, row, caps)
        yield from dict.fromkeys((_with_terms(access, s), s))


def _with_terms(access: AccessPattern, s: Schedule) -> Schedule:
    """Write some terms of a long sum out, where copies are read as fast as they are multiplied; else give it as it is.

    The model takes them for alike; their text takes the compiler 0.15 s longer, so that it is for long calls only.
    """
    inner = access.loop_order[-1] if access.combined else None
    results = prod(s.private_tile) // s.vector_width
    if inner not in access.combined or inner == s.vector_dim or s.private_tile[inner] > 1:
        return s
    fits = s.local_tile[inner] % _AT_ONCE == 0 and results * _AT_ONCE <= UNROLL_LIMIT
    if not (fits and any(s.local_copies) and results >= _INDEPENDENT and access.h.points >= _LARGE):
        return s
    return replace(s, private_tile=tuple(_AT_ONCE if d == inner else n for d, n in enumerate(s.private_tile)))


def alike(h: MdHom, s: Schedule, caps: DeviceCaps) -> Iterator[Schedule]:
    """Yield legal schedules with the register tile, vectors and copies of one of other extents, as the model ranks."""
    access, one = AccessPattern(h), Batch.of([s])
    lanes = np.where(np.arange(h.rank) == s.vector_dim, s.vector_width, 1)
    extents = np.array(h.extents, np.int64)
    tiles = np.minimum(one.private_tile, -(-extents // lanes) * lanes)
    batch = _with_local_tiles(access, replace(one, private_tile=tiles), caps)
    batch = _with_groups(access, batch.take(np.flatnonzero((batch.packed == one.packed).all(axis=1))), caps)
    yield from (found for found in _by_model(access, batch, caps) if is_legal(h, found, caps))


def vectorisations(access: AccessPattern, caps: DeviceCaps) -> list[tuple[int, int]]:
    """(dimension, width): contiguous in the output or an input, or in the copy of one; scalars last."""
    h, full = access.h, min(max(caps.vector_bytes // access.itemsize, 1), 16)
    operator = h.operator
    reducible = operator is None or (operator.commutative and operator.identity is not None)
    found = []
    for d in range(0 if h.calls_text else h.rank):
        unit = d in access.contiguous_output or access.contiguous_any(d)
        # Copies make a strided dimension contiguous; a long sum pays for scattering its results.
        long = prod(h.extents[k] for k in access.combined) >= _LONG and h.extents[d] >= full
        copied = long and d in access.kept and any(d in access.depends[n] for n in access.reused)
        if h.extents[d] > 1 and (unit or copied) and (d in access.kept or (h.combine[d].kind == "pw" and reducible)):
            width = full
            while width > 2 and width > h.extents[d]:
                width //= 2
            found.append((d, width))
    return [c for c in found if c[1] > 1] + [(-1, 1)]


def _register_tiles(access: AccessPattern, caps: DeviceCaps) -> Batch:
    """Register tiles of up to two rows' dimensions and some vectors, with everything else in one local tile."""
    h = access.h
    volume = prod(h.extents[d] for d in access.combined)
    # Worth rows are dimensions that some input does not move with, if they are long enough.
    shared = tuple(d for d in access.kept if not all(d in moved for moved in access.depends))
    rowed = shared if prod(h.extents[d] for d in shared) >= _SHARED else access.kept
    tiles, vectors = [], []
    for vector, width in vectorisations(access, caps):
        small = _unrolled(h, [d for d in access.combined if d != vector] if volume <= _TERMS else [])
        # Of tiles that the model cannot tell apart the first stays: one of long dimensions.
        others = sorted((d for d in rowed if d != vector), key=lambda d: -h.extents[d])
        for rows in _rows(h, others):
            for count in _VECTORS if vector >= 0 else (1,):
                full = (
                    access.combined
                    and caps.vector_bytes == _AVX2_BYTES
                    and (count, prod(n for _, n in rows)) == _FULL_TILE
                )
                exact = full and h.extents[vector] % (width * count) == 0
                if vector >= 0 and not (exact or _worthwhile(count, -(-h.extents[vector] // width))):
                    continue
                private = dict(rows) | {d: h.extents[d] for d in small} | {vector: width * count}
                if prod(private.values()) > UNROLL_LIMIT * width:
                    continue
                tiles.append([private.get(d, 1) for d in range(h.rank)])
                vectors.append((vector, width))
    count = len(tiles)
    batch = Batch(
        num_wg=np.ones((count, h.rank), np.int64),
        num_wi=np.ones((count, h.rank), np.int64),
        local_tile=np.tile(np.array(h.extents, np.int64), (count, 1)),
        private_tile=np.array(tiles, np.int64).reshape(count, h.rank),
        vector_dim=np.array([v for v, _ in vectors], np.int64),
        vector_width=np.array([w for _, w in vectors], np.int64),
        packed=np.tile(np.array([n in access.reused for n in range(len(h.inputs))], bool), (count, 1)),
        results=np.full(count, GLOBAL if access.combined else PRIVATE, np.int64),
    )
    # With tiles of everything at once, only the register tile decides. No dimension of vectors takes all places.
    ranked = batch.take(np.argsort(seconds(access, batch, caps), kind="stable"))
    best = [np.flatnonzero(ranked.vector_dim == d)[: _KEEP_TILES // 2] for d in np.unique(ranked.vector_dim)]
    places = np.concatenate([*best, np.arange(min(_KEEP_TILES // 2, len(ranked)))])
    return ranked.take(np.unique(places))


def _unrolled(h: MdHom, dims: Sequence[int]) -> list[int]:
    """Give the short dimensions, from the innermost one on, whose terms are written out."""
    found: list[int] = []
    for d in reversed(dims):
        if h.extents[d] > 8 or h.extents[d] * prod(h.extents[k] for k in found) > _WRITTEN_OUT:
            break
        found.append(d)
    return found


def _rows(h: MdHom, dims: list[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    """None, one or two of the dimensions with the points that a register tile has in them."""
    sizes = [[(d, r) for r in sorted({*_ROWS, h.extents[d]}) if 1 < r <= min(h.extents[d], _MOST_ROWS)] for d in dims]
    yield ()
    for one in sizes:
        yield from ((row,) for row in one)
    for one, other in combinations(sizes, 2):
        yield from ((a, b) for a in one for b in other if a[1] * b[1] <= _MOST_POINTS)


def _worthwhile(count: int, vectors: int) -> bool:
    """Whether a register tile of so many vectors is none too long, and three or five of them leave fewer idle."""
    if count > 1 and count >= 2 * vectors:
        return False
    if count not in (3, 5):
        return True
    covering, before, pairs = (-(-vectors // n) * n for n in (count, count - 1, 2))
    return covering <= 0.95 * before and covering <= pairs


def _with_local_tiles(access: AccessPattern, tiles: Batch, caps: DeviceCaps) -> Batch:
    """Combine each register tile with copies, local tiles and a place for results; keep the best for one core."""
    batches = []
    for row in range(len(tiles)):
        for packed in _packings(access, tiles, row):
            listed = list(product(*_tile_sizes(access, tiles, row, sum(packed), caps)))
            sizes = np.array(listed, np.int64).reshape(len(listed), access.h.rank)
            batch = tiles.take(np.full(len(sizes), row))
            private = (batch.private_tile >= sizes)[:, list(access.kept)].all(axis=1)
            batches.append(
                replace(
                    batch,
                    local_tile=sizes,
                    packed=np.tile(np.array(packed, bool), (len(sizes), 1)),
                    results=np.where(private, PRIVATE, GLOBAL),
                )
            )
    batch = Batch.join(batches)
    batch = batch.take(np.flatnonzero(fitting(access, batch, caps, _room(access, batch, caps))))
    alone = replace(caps, compute_units=1)
    return batch.take(np.argsort(seconds(access, batch, alone), kind="stable")[:_KEEP_SIZES])


def _packings(access: AccessPattern, tiles: Batch, row: int) -> list[tuple[bool, ...]]:
    """No copies, copies of the vector's operands, of the others, and of all that is used again."""
    vector = int(tiles.vector_dim[row])
    private = [int(n) for n in tiles.private_tile[row]]
    able = [n for n in access.reused if packed_layout(access, n, private, vector)]
    operands = [n for n in able if vector in access.depends[n] and vector in access.kept]
    others = [n for n in able if n not in operands]
    count = range(len(access.h.inputs))
    return list(dict.fromkeys(tuple(n in chosen for n in count) for chosen in ([], operands, others, able)))


def _tile_sizes(access: AccessPattern, tiles: Batch, row: int, copies: int, caps: DeviceCaps) -> list[list[int]]:
    """Local tiles of each dimension: the vector's wide, other register tiles some high, reductions cut for caches."""
    h, core = access.h, caps.machine.core
    sizes: list[list[int]] = []
    inner = access.loop_order[-1] if h.rank else -1
    long = prod(h.extents[d] for d in access.combined) > 512
    for d in range(h.rank):
        extent, step = h.extents[d], int(tiles.private_tile[row][d])
        wanted = [extent]
        if d in access.combined:
            if d == inner and extent > 64:
                wanted = [8, core.followed, 128, 256, 512, 4096, extent]
            elif d != inner and long:
                # Of a dimension that an input is contiguous in, a tile takes whole cache lines.
                few = [1, 4, 8] if access.reused else [1, 8]
                wanted = [1, 4, 16, 32, extent] if access.contiguous_any(d) else [*few, 32, extent]
        elif d == tiles.vector_dim[row]:
            wanted = [step, 64, 128, 256, 384, 512, extent] if copies else [step, 512, 2048, extent]
        elif step > 1:
            wanted = [step, 8 * step, 64, extent] if copies else [step, 8 * step, extent]
            if copies > 1 and caps.vector_bytes == _AVX2_BYTES:
                wanted.append(-(-extent // caps.compute_units))
        else:
            wanted = [1, 16] if copies else [1, extent]
        sizes.append(sorted({min(extent, -(-w // step) * step) for w in wanted}))
    while prod(map(len, sizes)) > _LOCAL_TILES:
        longest = max(sizes, key=len)
        del longest[(len(longest) - 1) // 2]
    return sizes


def fitting(access: AccessPattern, batch: Batch, caps: DeviceCaps, room: Floats | None = None) -> npt.NDArray[np.bool_]:
    """Return which schedules' copies fit in local memory, results may wait where they do, and float sums are short.

    Copies fit in `room` bytes of it, for each schedule, where that is given.
    """
    h = access.h
    need = np.zeros(len(batch))
    for n, view in enumerate(h.inputs):
        size = access.tile_elements(n, batch.local_tile) * tile_itemsize(view)
        need += np.where(batch.packed[:, n], size, 0)
    same = h.finish is None and h.scalar.dtypes == tuple(v.dtype for v in h.outputs)
    waiting = same and h.operator is not None and h.operator.identity is not None
    combined = list(access.combined)
    once = (batch.local_tile[:, combined] == np.array(h.extents, np.int64)[combined]).all(axis=1)
    vectors = np.where(batch.vector_dim[:, None] == np.array(combined, np.int64), batch.vector_width[:, None], 1)
    chain = np.prod(-(-batch.local_tile[:, combined] // (batch.num_wi[:, combined] * vectors)), axis=1)
    tiles = np.prod(-(-np.array(h.extents, np.int64)[combined] // batch.local_tile[:, combined]), axis=1)
    short = (chain <= longest_chain(h)) & ((batch.results == PRIVATE) | (tiles <= MOST_TILES))
    accurate = short if float_sums(h) else np.full(len(batch), True)
    split = (batch.num_wg[:, combined] > 1).any(axis=1)
    allowed = (batch.results == PRIVATE) | ((once | waiting) & ~split)
    return np.asarray((need <= (caps.local_memory if room is None else room)) & accurate & allowed)


def _room(access: AccessPattern, batch: Batch, caps: DeviceCaps) -> Floats:
    """Bytes of local memory that each default schedule's copies may take.

    Results that do not lie together take a line of the second-level cache each, and are left half of it. (A contraction
    with them took 1.5 times as long with copies of 0.9 of the cache as with 0.3 of it: EPYC, Zen 3.)
    """
    together = np.isin(batch.vector_dim, [*access.contiguous_output]) | (batch.vector_dim < 0)
    return np.where(together, caps.local_memory, min(caps.local_memory, caps.l2 // 2))


def _with_groups(access: AccessPattern, batch: Batch, caps: DeviceCaps) -> Batch:
    """Each schedule alone, and with work-groups along each of its dimensions that may be split."""
    h = access.h
    tiles = -(-np.array(h.extents) // batch.local_tile)
    results = prod(h.extents[d] for d in access.kept)
    batches = [batch]
    for d in range(h.rank):
        if d in access.combined and (h.operator is None or results > 1 << 16):
            continue
        for wanted in (n * caps.compute_units for n in (1, 2, 4, 8)):
            # A tile each where there are fewer; with half as many or less, a smaller number does the same.
            able = tiles[:, d] > (wanted // 2 if wanted > caps.compute_units else 1)
            if d in access.combined:
                able &= batch.results == PRIVATE
            rows = np.flatnonzero(able)
            per_group = -(-tiles[rows, d] // np.minimum(wanted, tiles[rows, d]))
            num_wg = batch.num_wg[rows].copy()
            num_wg[:, d] = -(-tiles[rows, d] // per_group)
            batches.append(replace(batch.take(rows), num_wg=num_wg))
    return Batch.join(batches)


def _scans(access: AccessPattern, caps: DeviceCaps) -> Iterator[Schedule]:
    """Scans with vectors along a contiguous kept dimension, then scalars; in parts first for want of other work."""
    h = access.h
    (d,) = h.dims("ps")
    order = (*(k for k in access.loop_order if k != d), d)
    plain = replace(
        Schedule.plain(h.extents, len(h.inputs)), local_tile=(1,) * h.rank,
        results="private", global_order=order, local_order=order, private_order=order, group_order=order[::-1],
    ).at(d, local_tile=h.extents[d], private_tile=4 if h.extents[d] >= 4 else 1)  # fmt: skip
    for vector, width in vectorisations(access, caps):
        if vector in access.combined:
            continue
        # Rows of a few vectors: with one, each step of the scan takes one line of another page.
        most = max(h.extents[vector] // (4 * caps.compute_units), width)
        lanes = next(n * width for n in (8, 4, 2, 1) if n * width <= most)
        s = replace(plain, vector_dim=vector, vector_width=width)
        if vector >= 0:
            s = s.at(vector, private_tile=lanes, local_tile=min(lanes, h.extents[vector]))
        tiles = tile_counts(h.extents, s.local_tile)
        if prod(tiles) < caps.compute_units and h.extents[d] >= 1 << 14:
            size = -(-h.extents[d] // (2 * caps.compute_units))
            yield s.at(d, local_tile=size, num_wg=-(-h.extents[d] // size))
        widest = max(range(h.rank), key=lambda k: tiles[k])
        yield s.at(widest, num_wg=even_groups(tiles[widest], 4 * caps.compute_units if h.points > 4096 else 1))


def cpu_schedule(access: AccessPattern, batch: Batch, row: int, caps: DeviceCaps) -> Schedule:
    """Return the schedule of one row of a batch, for one work-item a work-group."""
    numbers, packed, results = batch.numbers(row), batch.packed[row].tolist(), int(batch.results[row])
    layout = numbers["private_tile"], numbers["vector_dim"]
    order = global_order(access, packed, results)
    return Schedule(
        **numbers,
        local_copies=tuple(packed_layout(access, n, *layout) if p else None for n, p in enumerate(packed)),
        private_copies=(True,) * len(packed),
        results=RESULTS[results],
        global_order=order,
        local_order=access.loop_order,
        private_order=_private_order(access, *layout, numbers["vector_width"], caps),
        group_order=order[::-1],
        item_order=access.loop_order[::-1],
        combine_on="local" if results == PRIVATE and access.h.dims("pw") else "global",
    )


def _private_order(
    access: AccessPattern, private_tile: Sequence[int], vector_dim: int, vector_width: int, caps: DeviceCaps
) -> tuple[int, ...]:
    """Loop order over the points of a register tile: reductions, and the operand whose loads wait innermost.

    All of its loads wait in registers for each one of the other's, since compilers leave them in the order of the text.
    Those are vectors where registers hold them beside the results, else the fewest. Contractions with other orders took
    1.1 to 1.7 times as long where registers are few (EPYC, Zen 3), 1.07 to 1.29 times with scalars waiting (AVX-512).
    """
    if access.h.dims("ps"):
        return access.loop_order
    counts = [n // (vector_width if d == vector_dim else 1) for d, n in enumerate(private_tile)]
    results = len(access.h.scalar.dtypes) * prod(counts[d] for d in access.kept)
    # Dimensions of results that an operand moves with and others do not; a complex one is two that move alike.
    operands = [dims - {*access.combined} for dims in access.depends if not dims.isdisjoint(access.combined)]
    own = [dims - frozenset.intersection(*operands) for dims in operands]

    def rank(dims: frozenset[int]) -> tuple[bool, int]:
        loads = own.count(dims) * prod(counts[d] for d in dims)
        return vector_dim not in dims or results + loads >= caps.registers, loads

    waiting = min(filter(None, own), key=rank, default=frozenset[int]())
    return (*access.combined, *sorted(access.kept, key=lambda d: (d in waiting, d in waiting and d == vector_dim)))


def packed_layout(access: AccessPattern, n: int, private_tile: Sequence[int], vector_dim: int) -> LocalCopy | None:
    """Return how an input is packed: axes of register tiles blocked and innermost, then the reduction, then others.

    An axis of vectors that cannot be blocked, since neighbours along it are read, is innermost. None for inputs that
    cannot be copied as one box.
    """
    view = access.h.inputs[n]
    if not view.one_box:
        return None
    alone = {x: d for x in range(len(view.shape)) if (d := view.sole_dimension(x)) in access.kept}
    blocked = sorted([x for x, d in alone.items() if private_tile[d] > 1], key=lambda x: alone[x] == vector_dim)

    def outermost(x: int) -> tuple[bool, bool, int]:
        dims = view.accesses[0][x].dims()
        inner = x not in blocked and vector_dim in dims
        return (inner, any(d in access.combined for d in dims), -abs(view.strides[x]))

    return LocalCopy(tuple(sorted(range(len(view.shape)), key=outermost)), tuple(blocked))
