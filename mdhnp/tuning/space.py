"""The space of schedules to search: random samples, and the neighbours of a schedule.

Samples are drawn a dimension at a time from one table of (work-groups, local tile, private tile) rows each; what only
several dimensions together decide (registers, local memory, work-groups in all) is sorted out by rejection, thousands
of rows at a time. Never enumerated: the space of a 7-dimensional contraction has more members than could be counted.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mdhnp.schedule import DeviceCaps, Schedule
from mdhnp.schedule.adapt import adapt
from mdhnp.schedule.choices import GLOBAL, PRIVATE, RESULTS, Choices, Facts, complete, packed_layout
from mdhnp.schedule.cpu import fitting, vector_choices

__all__ = ["neighbour", "rows", "sample"]

_POINTS = (1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16)
_VECTORS = (1, 1, 2, 2, 3, 4, 4, 6, 8)
_STEPS = (1, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512)
_GROUPS = (1, 1, 1, 1, 2, 2, 4, 4, 8, 16)
_FACTORS = (0.25, 0.5, 0.75, 1.5, 2.0, 4.0)
#: Most accumulators, in vectors, worth compiling.
_REGISTERS = 64


def sample(facts: Facts, caps: DeviceCaps, count: int, rng: np.random.Generator) -> Choices:
    """Draw `count` rows of schedules for one work-item a work-group and keep those that can be legal.

    Parameters
    ----------
    facts : Facts
        Of a stage in canonical form.
    caps : DeviceCaps
        A CPU.
    count : int
        Rows to draw before rejection.
    rng : numpy.random.Generator
        Source of randomness.
    """
    h = facts.h
    options = vector_choices(facts, caps)
    weights = np.array([1.0 if d >= 0 else 0.1 for d, _ in options])
    picked = rng.choice(len(options), count, p=weights / weights.sum())
    vector = np.array([d for d, _ in options])[picked]
    width = np.array([w for _, w in options])[picked]
    private, local, groups = (np.ones((count, h.rank), np.int64) for _ in range(3))
    for d, extent in enumerate(h.extents):
        points = np.where(vector == d, width * rng.choice(_VECTORS, count), rng.choice(_POINTS, count))
        # Tiles beyond the extent waste work; a vector may stick out by less than its own width.
        points = np.minimum(points, np.where(vector == d, -(-extent // width) * width, extent))
        tile = np.minimum(points * rng.choice(_STEPS, count), extent)
        tile = np.where(rng.random(count) < 0.25, extent, tile)
        tiles = -(-extent // tile)
        per_group = -(-tiles // np.minimum(rng.choice(_GROUPS, count), tiles))
        private[:, d], local[:, d], groups[:, d] = points, tile, -(-tiles // per_group)
    able = [n in facts.reused and packed_layout(facts, n, [1] * h.rank, -1) is not None for n in range(len(h.inputs))]
    packed = (rng.random((count, len(h.inputs))) < 0.5) & np.array(able, bool)
    kept = list(facts.kept)
    single = (private[:, kept] >= local[:, kept]).all(axis=1)
    results = np.where(single | (not facts.combined), PRIVATE, GLOBAL)
    choices = Choices(groups, np.ones_like(groups), local, private, vector, width, packed, results)
    return choices.take(np.flatnonzero(_worthwhile(facts, choices, caps)))


def _worthwhile(facts: Facts, c: Choices, caps: DeviceCaps) -> npt.NDArray[np.bool_]:
    """Rows within registers and work-groups, and what a schedule must keep to anyway."""
    registers = np.prod(c.private_tile, axis=1) / c.vector_width
    groups = np.prod(c.num_wg, axis=1)
    return np.asarray(fitting(facts, c, caps) & (registers <= _REGISTERS) & (groups <= 32 * caps.compute_units))


def neighbour(facts: Facts, s: Schedule, caps: DeviceCaps, rng: np.random.Generator) -> Schedule | None:
    """Change one thing about a schedule; None where that gives nothing new and legal.

    Local tile and private tile of a dimension move together; otherwise work-groups, work-items, copies, or the
    dimension of vectors change.
    """
    moves = [_move_tile, _move_tile, _move_tile, _move_groups, _move_copies, _move_vector, _move_items]
    changed = moves[int(rng.integers(len(moves)))](facts, s, caps, rng)
    if changed is None:
        return None
    fitted = adapt(facts.h, _followed(facts, changed), caps)
    return None if fitted == s else fitted


def rows(schedules: Sequence[Schedule]) -> Choices:
    """A batch of the given schedules, for the cost model."""

    def column(field: str) -> npt.NDArray[np.int64]:
        return np.array([getattr(s, field) for s in schedules], np.int64)

    copies = np.array([[c is not None for c in s.local_copies] for s in schedules], bool)
    return Choices(
        num_wg=column("num_wg"),
        num_wi=column("num_wi"),
        local_tile=column("local_tile"),
        private_tile=column("private_tile"),
        vector_dim=column("vector_dim"),
        vector_width=column("vector_width"),
        packed=copies.reshape(len(schedules), -1),
        results=np.array([RESULTS.index(s.results) for s in schedules], np.int64),
    )


def _scaled(value: int, rng: np.random.Generator) -> int:
    return max(1, round(value * float(rng.choice(_FACTORS))))


def _with(values: Sequence[int], d: int, value: int) -> tuple[int, ...]:
    return tuple(value if k == d else v for k, v in enumerate(values))


def _move_tile(facts: Facts, s: Schedule, caps: DeviceCaps, rng: np.random.Generator) -> Schedule | None:
    del caps
    d = int(rng.integers(facts.h.rank))
    width = s.vector_width if d == s.vector_dim else 1
    point, tile = s.private_tile[d], s.local_tile[d]
    if rng.random() < 0.6:
        options = [n for n in sorted(set(_POINTS)) if n == 1 or n * width < facts.h.extents[d] + width]
        point = int(rng.choice(options)) * width
    if rng.random() < 0.6:
        tile = facts.h.extents[d] if rng.random() < 0.15 else _scaled(tile, rng)
    return replace(s, private_tile=_with(s.private_tile, d, point), local_tile=_with(s.local_tile, d, tile))


def _move_groups(facts: Facts, s: Schedule, caps: DeviceCaps, rng: np.random.Generator) -> Schedule | None:
    d = int(rng.integers(facts.h.rank))
    count = _scaled(s.num_wg[d], rng) if s.num_wg[d] > 1 else int(rng.choice((2, 4, caps.compute_units)))
    return replace(s, num_wg=_with(s.num_wg, d, count))


def _move_items(facts: Facts, s: Schedule, caps: DeviceCaps, rng: np.random.Generator) -> Schedule | None:
    if caps.kind == "cpu":
        return None
    d = int(rng.integers(facts.h.rank))
    count = 1 << int(rng.integers(0, 9))
    tile = min(max(s.local_tile[d] * count // s.num_wi[d], 1), facts.h.extents[d])
    return replace(s, num_wi=_with(s.num_wi, d, count), local_tile=_with(s.local_tile, d, tile))


def _move_copies(facts: Facts, s: Schedule, caps: DeviceCaps, rng: np.random.Generator) -> Schedule | None:
    del caps
    if not facts.reused:
        return None
    n = int(rng.choice(facts.reused))
    copy = None if s.local_copies[n] is not None else packed_layout(facts, n, s.private_tile, s.vector_dim)
    if copy is not None and s.work_items > 1:
        copy = replace(copy, blocked=())
    return replace(s, local_copies=tuple(copy if k == n else c for k, c in enumerate(s.local_copies)))


def _move_vector(facts: Facts, s: Schedule, caps: DeviceCaps, rng: np.random.Generator) -> Schedule | None:
    options = vector_choices(facts, caps)
    d, width = options[int(rng.integers(len(options)))]
    private = list(s.private_tile)
    if s.vector_dim >= 0:
        private[s.vector_dim] = max(private[s.vector_dim] // s.vector_width, 1)
    if d >= 0:
        private[d] *= width
    return replace(s, vector_dim=d, vector_width=width, private_tile=tuple(private))


def _followed(facts: Facts, s: Schedule) -> Schedule:
    """What is derived from tiles and copies follows them: packed layouts, where results wait, loop orders."""
    if facts.h.dims("ps") or s.work_items > 1:
        return s
    single = all(s.private_tile[d] >= min(s.local_tile[d], facts.h.extents[d]) for d in facts.kept)
    results = np.array([PRIVATE if single or not facts.combined else GLOBAL])
    return complete(facts, replace(rows([s]), results=results), 0)
