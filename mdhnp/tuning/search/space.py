"""The space of schedules to search: random samples, and the neighbours of schedules, thousands of rows at a time.

Samples are drawn a dimension at a time from one table of sizes each; what only several dimensions together decide
(registers, local memory, work-items and work-groups in all) is sorted out by rejection. Rows are repaired first, so
that few are rejected: tiles fit extents, work-groups fit tiles. Never enumerated: the space of a 7-dimensional
contraction has more members than could be counted.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mdhnp.schedule import DeviceCaps, Schedule
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.batch import GLOBAL, PRIVATE, Batch
from mdhnp.schedule.cpu import cpu_schedule, fitting, vectorisations
from mdhnp.schedule.fixed_order import in_fixed_order, is_fixed
from mdhnp.schedule.gpu import gpu_schedule

Ints = npt.NDArray[np.int64]

_POINTS = (1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16)
_VECTORS = (1, 1, 2, 2, 3, 4, 4, 5, 6, 8)
_STEPS = (1, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512)
_GROUPS = (1, 1, 1, 1, 2, 2, 4, 4, 8, 16)
#: The same of a GPU's reductions.
_GPU_GROUPS = (1, 1, 1, 1, 2, 4, 8, 16, 64, 256, 1024)
_FACTORS = (0.25, 0.5, 0.75, 1.5, 2.0, 4.0)
#: Points of one work-item of a GPU along a dimension to try, and logarithms of all its points and of all work-items.
_GPU_POINTS, _LOG_POINTS, _LOG_ITEMS = (1, 2, 4, 8), (0, 0, 1, 2, 3, 4, 4, 5, 6), (5, 6, 7, 7, 8, 8, 8, 9, 10)
#: How likely work-items share a reduction, compared with a kept dimension.
_SHARED = 0.2
#: Tiles a work-group walks over along a kept dimension of a GPU.
_WALKS = (1, 1, 1, 1, 2, 4)
#: Most points of a private tile, in vectors on CPUs, that are worth compiling, and with small reductions unrolled
#: wholly. Where vectors stick out it is a third of that: the border's code takes ten times as long to compile.
_UNROLLED, _GPU_UNROLLED, _WHOLE = 64, 128, 256


def sample(access: AccessPattern, caps: DeviceCaps, count: int, rng: np.random.Generator) -> Batch:
    """Draw `count` rows of schedules, one work-item a work-group on CPUs, and keep those that can be legal."""
    h, gpu = access.h, caps.kind == "gpu"
    options = vectorisations(access, caps)
    weights = np.array([1.0 if d >= 0 or gpu else 0.1 for d, _ in options])
    picked = rng.choice(len(options), count, p=weights / weights.sum())
    vector = np.array([d for d, _ in options])[picked]
    width = np.array([w for _, w in options])[picked]
    if gpu:
        points, items = _spread(access, count, _LOG_POINTS, rng), _spread(access, count, _LOG_ITEMS, rng)
    else:
        points, items = rng.choice(_POINTS, (count, h.rank)), np.ones((count, h.rank), np.int64)
        points = np.where(vector[:, None] == np.arange(h.rank), rng.choice(_VECTORS, (count, 1)), points)
    private, local, groups = (np.ones((count, h.rank), np.int64) for _ in range(3))
    for d, extent in enumerate(h.extents):
        lanes = np.where(vector == d, width, 1)
        # Tiles beyond the extent waste work; a vector may stick out by less than its own width.
        private[:, d] = np.minimum(points[:, d], -(-extent // lanes)) * lanes
        # At most the least power of two that covers the extent.
        covering = 1 << np.ceil(np.log2(-(-extent // private[:, d]))).astype(np.int64)
        items[:, d] = np.minimum(items[:, d], covering)
        step = private[:, d] * items[:, d]
        local[:, d] = np.where(rng.random(count) < 0.25, extent, step * rng.choice(_STEPS, count))
        groups[:, d] = rng.choice(_GPU_GROUPS if gpu else _GROUPS, count)
        if gpu and d in access.kept:
            groups[:, d] = -(-extent // step // rng.choice(_WALKS, count))
    packed = (rng.random((count, len(h.inputs))) < 0.5) & np.isin(np.arange(len(h.inputs)), _copied(access, caps))
    results = np.full(count, PRIVATE)
    return _possible(access, Batch(groups, items, local, private, vector, width, packed, results), caps)


def _spread(access: AccessPattern, count: int, logarithms: Sequence[int], rng: np.random.Generator) -> Ints:
    """Powers of two whose product has one of the logarithms, spread over the dimensions unevenly."""
    shares = rng.random((count, access.h.rank)) ** 3
    shares[:, list(access.combined)] *= _SHARED
    total = rng.choice(logarithms, count)
    return 1 << rng.multinomial(total, shares / shares.sum(axis=1, keepdims=True))


def neighbours(access: AccessPattern, parents: Batch, caps: DeviceCaps, count: int, rng: np.random.Generator) -> Batch:
    """Change one thing about each of `count` parents taken at random, and keep what can be legal.

    Local tile and private tile of a dimension move together; otherwise work-groups, work-items, copies, or the
    dimension of vectors change.
    """
    moves: list[_Move] = [_move_tile, _move_tile, _move_tile, _move_groups, _move_copies, _move_vector]
    moves += [_move_items, _move_items] if caps.kind == "gpu" else []
    shares = rng.multinomial(count, np.full(len(moves), 1 / len(moves)))
    taken, ends = parents.take(rng.integers(len(parents), size=count)), np.cumsum(shares)
    moved = [
        move(access, taken.take(slice(end - share, end)), caps, rng)
        for move, share, end in zip(moves, shares, ends, strict=True)
    ]
    largest = float(np.max(np.prod(parents.private_tile, axis=1) / parents.vector_width))
    return _possible(access, Batch.join(moved), caps, largest)


def schedule(access: AccessPattern, batch: Batch, row: int, caps: DeviceCaps) -> Schedule:
    """The schedule of one row: loop orders, layouts of copies and the like follow from it, and a fixed order if any."""
    found = gpu_schedule(access, batch, row) if caps.kind == "gpu" else cpu_schedule(access, batch, row, caps)
    return in_fixed_order(access.h, found) if is_fixed(access.h) else found


def _copied(access: AccessPattern, caps: DeviceCaps) -> list[int]:
    """Inputs whose copies may pay; a CPU's only where elements are read again."""
    inputs = range(len(access.h.inputs))
    return [n for n in inputs if access.copies_pay(n) and (caps.kind == "gpu" or n in access.reused)]


def _possible(access: AccessPattern, c: Batch, caps: DeviceCaps, unrolled: float = 0.0) -> Batch:
    """The rows, repaired, that are within work-items and work-groups, can be legal, and are quick to compile.

    As large a private tile as `unrolled` is allowed in any case: a schedule in use may have it.
    """
    c = _repaired(access, c, caps)
    points, combined = np.prod(c.private_tile, axis=1), list(access.combined)
    groups, items = np.prod(c.num_wg, axis=1), np.prod(c.num_wi, axis=1)
    able = fitting(access, c, caps) & (items <= caps.max_work_group)
    if caps.kind == "gpu":
        step = c.private_tile * c.num_wi
        idle = (c.num_wi > 1) & (step >= 2 * np.array(access.h.extents, np.int64))
        able &= ~idle.any(axis=1) & (points <= _GPU_UNROLLED)
    else:
        extents = np.array(access.h.extents, np.int64)
        whole = (c.private_tile[:, combined] >= extents[combined]).all(axis=1) & bool(combined)
        vectors = c.vector_dim[:, None] == np.arange(access.h.rank)
        ragged = (vectors & (extents % c.private_tile != 0)).any(axis=1)
        most = np.where(whole, _WHOLE, _UNROLLED) / np.where(ragged, 3, 1)
        able &= points / c.vector_width <= np.maximum(most, unrolled)
        able &= groups <= 32 * caps.compute_units
    return c.take(np.flatnonzero(able))


def _repaired(access: AccessPattern, c: Batch, caps: DeviceCaps) -> Batch:
    """Tiles no larger than extents, in whole steps; as many work-groups as have a tile; results where they fit."""
    h = access.h
    extents, step = np.array(h.extents, np.int64), c.private_tile * c.num_wi
    kept = np.isin(np.arange(h.rank), access.kept)
    local = np.minimum(c.local_tile, extents)
    if caps.kind == "gpu" or h.dims("ps"):  # results stay in registers: one step a tile
        local = np.where(kept, np.minimum(step, extents), local)
    else:
        local = np.where(kept & (local < extents), np.minimum(-(-local // step) * step, extents), local)
    if h.dims("ps") or (h.operator is not None and not h.operator.commutative):  # combined in order
        local = np.where(~kept & (c.num_wi > 1), np.minimum(step, extents), local)
    tiles = -(-extents // local)
    per_group = -(-tiles // np.clip(c.num_wg, 1, tiles))
    single = (step >= local)[:, kept].all(axis=1)
    results = np.where(single | (not access.combined), PRIVATE, GLOBAL)
    return replace(c, local_tile=local, num_wg=-(-tiles // per_group), results=results)


_Move = Callable[[AccessPattern, Batch, DeviceCaps, np.random.Generator], Batch]


def _one_dim(access: AccessPattern, c: Batch, rng: np.random.Generator) -> tuple[Ints, Ints]:
    return np.arange(len(c)), rng.integers(access.h.rank, size=len(c))


def _changed(values: Ints, at: tuple[Ints, Ints], new: Ints) -> Ints:
    found = values.copy()
    found[at] = new
    return found


def _scaled(values: Ints, rng: np.random.Generator) -> Ints:
    return np.maximum(np.rint(values * rng.choice(_FACTORS, len(values))).astype(np.int64), 1)


def _move_tile(access: AccessPattern, c: Batch, caps: DeviceCaps, rng: np.random.Generator) -> Batch:
    at = _one_dim(access, c, rng)
    extents = np.array(access.h.extents, np.int64)[at[1]]
    width = np.where(at[1] == c.vector_dim, c.vector_width, 1)
    sizes = sorted(set(_GPU_POINTS if caps.kind == "gpu" else _POINTS))
    # As many points as the extent has, in whole vectors.
    points = np.minimum(rng.choice(sizes, len(c)), -(-extents // width)) * width
    private = np.where(rng.random(len(c)) < 0.6, points, c.private_tile[at])
    tile = np.where(rng.random(len(c)) < 0.15, extents, _scaled(c.local_tile[at], rng))
    local = np.where(rng.random(len(c)) < 0.6, tile, c.local_tile[at])
    moved = replace(c, private_tile=_changed(c.private_tile, at, private), local_tile=_changed(c.local_tile, at, local))
    return _same_walk(access, c, moved, caps)


def _same_walk(access: AccessPattern, old: Batch, new: Batch, caps: DeviceCaps) -> Batch:
    """On a GPU, keep the tiles that each work-group walks over along kept dimensions, not the work-groups."""
    if caps.kind != "gpu":
        return new
    extents, kept = np.array(access.h.extents, np.int64), np.isin(np.arange(access.h.rank), access.kept)
    tiles = -(-extents // np.minimum(new.private_tile * new.num_wi, extents))
    walk = -(-extents // (old.local_tile * old.num_wg))
    return replace(new, num_wg=np.where(kept, -(-tiles // walk), new.num_wg))


def _move_groups(access: AccessPattern, c: Batch, caps: DeviceCaps, rng: np.random.Generator) -> Batch:
    at = _one_dim(access, c, rng)
    first = rng.choice((2, 4, caps.compute_units), len(c))
    groups = np.where(c.num_wg[at] > 1, _scaled(c.num_wg[at], rng), first)
    return replace(c, num_wg=_changed(c.num_wg, at, groups))


def _move_items(access: AccessPattern, c: Batch, caps: DeviceCaps, rng: np.random.Generator) -> Batch:
    """Other work-items in one dimension, or moved from one dimension to another."""
    at, other = _one_dim(access, c, rng), _one_dim(access, c, rng)
    count = 1 << rng.integers(0, 9, len(c))
    traded = (rng.random(len(c)) < 0.5) & (c.num_wi[at] > 1) & (at[1] != other[1])
    items = _changed(c.num_wi, at, np.where(traded, c.num_wi[at] // 2, count))
    items[other] = np.where(traded, 2 * items[other], items[other])
    local = c.local_tile * items // c.num_wi
    return _same_walk(access, c, replace(c, num_wi=items, local_tile=np.maximum(local, 1)), caps)


def _move_copies(access: AccessPattern, c: Batch, caps: DeviceCaps, rng: np.random.Generator) -> Batch:
    copied = _copied(access, caps)
    if not copied:
        return c
    at = np.arange(len(c)), rng.choice(copied, len(c))
    packed = c.packed.copy()
    packed[at] ^= True
    return replace(c, packed=packed)


def _move_vector(access: AccessPattern, c: Batch, caps: DeviceCaps, rng: np.random.Generator) -> Batch:
    options = vectorisations(access, caps)
    picked = rng.integers(len(options), size=len(c))
    vector, width = np.array([d for d, _ in options])[picked], np.array([w for _, w in options])[picked]
    dims = np.arange(access.h.rank)
    before = np.where(dims == c.vector_dim[:, None], c.vector_width[:, None], 1)
    after = np.where(dims == vector[:, None], width[:, None], 1)
    private = np.maximum(c.private_tile // before, 1) * after
    return replace(c, private_tile=private, vector_dim=vector, vector_width=width)
