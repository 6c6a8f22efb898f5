"""Schedules for GPUs of sums of products by matrix instructions: along which dimensions, and in how large tiles.

One side of kept dimensions moves one factor, another the other; a few lines of estimate rank what is possible: how much
of the tiles is useful, how many work-groups there are for how many compute units, loads of local memory for each
instruction, and how much of what is read at once from memory is used.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from math import prod
from typing import NamedTuple

from mdhnp.schedule.accuracy import chain_is_short
from mdhnp.schedule.atoms import Atom
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.check import is_legal, tile_itemsize
from mdhnp.schedule.choices import Facts
from mdhnp.schedule.matrices import ACROSS, DOWN, allowed, factors, in_rows, packed
from mdhnp.schedule.schedule import LocalCopy, Schedule

__all__ = ["Candidate", "matrix_schedules", "plain_speed"]

#: Times that the lanes of an instruction lie along its rows, and along its columns, and a work-item's points of each.
_WARPS, _POINTS = (1, 2, 3, 4), (2, 4, 6, 8)
#: As the last, where registers hold one sum of each, and two elements.
_MORE_POINTS = (*_POINTS, 16)
#: Points along another dimension of a side.
_BESIDE = (1, 2, 4, 8)
#: Ways of a side that are tried with those of the other.
_TRIED = 24
#: Schedules that are made at a time.
_BATCH = 20
#: Most subgroups of a work-group, and most points of a work-item: each has two sums in registers.
_MOST_WARPS, _MOST_POINTS = 8, 64
#: Points of the sum in a tile, and how fast that is; at least in each part of it; tiles in flight.
_DEPTHS, _PART, _STAGES = {32: 0.97, 24: 0.98, 16: 1.0, 8: 0.85}, 64, (3, 2)
#: Multiply-adds for each that a compute unit makes without instructions for matrices; how many it makes while it reads
#: a word from the cache behind it, and while it writes one to memory.
_FASTER = {"3xtf32": 2.4, "tf32": 2.6, "f16": 12.0, "f64": 1.0, "f64 of 16 rows": 2.0, "f64 of 16 terms": 2.0}
_READ, _WRITE = 13.0, 30.0
#: As the first, where factors are rounded: the time of each product is that of each of three.
_ROUNDED = {"tf32": 3 * _FASTER["3xtf32"]}
#: What is left of the speed with split sums, in large work-groups, and in those of so many subgroups.
_SPLIT, _CROWDED, _ALONE = 0.9, 0.85, {1: 0.6, 2: 0.85}
#: By how much each further turn of loads from the same bank adds to all time.
_TURN = 0.15
#: What is reached without matrix instructions.
_PLAIN = 0.45
#: Words of the smallest part of memory that is read at once; banks of local memory; bytes that are copied at once.
_SECTOR, _BANKS, _WIDE = 8, 32, 16
#: What is left of the memory's speed where lanes write far from each other, and where neighbours are read by turns.
_SCATTERED, _POINTWISE = 0.125, 0.3
#: Bytes of a compute unit's local memory, and subgroups that keep it at work.
_SHARED, _WORKING = 224 << 10, 10
#: Registers that are loaded at once where lanes point at rows.
_AT_ONCE = 4
#: Work-groups of a compute unit from which on it has always something to do.
_RESIDENT = 2


class Candidate(NamedTuple):
    """A schedule, and what part of the device's multiply-adds without matrix instructions it is expected to make."""

    speed: float
    schedule: Schedule


class _Side(NamedTuple):
    """Work-items and points along the dimensions of a side, the atom's first; what is useful of tiles and of reads."""

    items: dict[int, int]
    points: dict[int, int]
    useful: float
    read: float

    @property
    def each(self) -> int:
        """Points of a work-item."""
        return prod(self.points.values())

    @property
    def size(self) -> int:
        """Points of a work-group."""
        return prod(self.items.values()) * self.each


def matrix_schedules(facts: Facts, caps: DeviceCaps, plain: Schedule) -> Iterator[Candidate]:
    """Give legal schedules, the most promising first.

    Parameters
    ----------
    facts : Facts
        Of any MDH.
    caps : DeviceCaps
        Of a GPU.
    plain : Schedule
        One with the orders that suit the MDH.
    """
    shapes = iter(sorted(_shapes(facts, caps), key=lambda shape: -shape.speed))
    while some := [*islice(shapes, _BATCH)]:
        made = [(shape.speed, s) for shape in some if (s := _schedule(facts, caps, plain, shape)) is not None]
        # How work-items meet in banks is known only now, and can cost as much as all the rest.
        found = [Candidate(speed / (1 + _TURN * (_turns_of(facts, s) - 2)), s) for speed, s in made]
        yield from sorted(found, key=lambda candidate: -candidate.speed)


def plain_speed(facts: Facts, speed: float) -> float:
    """Give what to compare with the speed of candidates: that of a schedule without matrix instructions.

    Parameters
    ----------
    facts : Facts
        Of a sum of products.
    speed : float
        What part of the multiply-adds are useful ones, as :mod:`mdhnp.schedule.gpu_products` estimates it.
    """
    rounds = prod(facts.h.extents[d] for d in facts.combined) / min(_DEPTHS)
    return rounds / (rounds + 0.5) / (1 / (_PLAIN * speed) + _moved(facts, {1.0}, 1.0))


class _Shape(NamedTuple):
    """Everything that a schedule is made of."""

    speed: float
    atom: Atom
    rows: _Side
    columns: _Side
    terms: int
    depth: int


def _shapes(facts: Facts, caps: DeviceCaps) -> Iterator[_Shape]:
    """Everything that is tried."""
    h, found = facts.h, factors(facts.h)
    if found is None or not facts.combined:
        return
    atoms = [atom for atom in allowed(h) if atom.name in caps.atoms]
    (one, _), (other, _) = found
    reduced = prod(h.extents[d] for d in facts.combined)
    for atom, (a, b) in product(atoms, [(one, other), (other, one)]):
        left = [d for d in facts.kept if d in facts.depends[a] and d not in facts.depends[b]]
        right = [d for d in facts.kept if d in facts.depends[b] and d not in facts.depends[a]]
        single = _single(facts, atom)
        points = _MORE_POINTS if single else _POINTS
        ways = (_ways(facts, left, a, points, atom.shape[0] // DOWN), _ways(facts, right, b, points, 0))
        for rows, columns in product(*ways):
            warps = prod((*rows.items.values(), *columns.items.values())) // atom.lanes
            if warps > _MOST_WARPS or rows.each * columns.each > _MOST_POINTS * (2 if single else 1):
                continue
            speed = _speed(facts, caps, atom, rows, columns, warps)
            for terms in facts.depends[a] & facts.depends[b] & {*facts.combined}:
                size = _STAGES[0] * (rows.size + columns.size) * atom.itemsize
                depths = [d for d in _DEPTHS if d % atom.shape[2] == 0]
                best, depth = max((_deep(h.extents[terms], reduced, warps, size, d), d) for d in depths)
                if best:
                    yield _Shape(speed * best, atom, rows, columns, terms, depth)


def _single(facts: Facts, atom: Atom) -> bool:
    """Whether one sum of each result is exact enough: results are rounded to the few bits of factors."""
    return atom.packed > 1 and all(v.dtype.itemsize == atom.itemsize for v in facts.h.outputs)


def _deep(extent: int, reduced: int, warps: int, size: int, depth: int) -> float:
    """Give what is left of the speed with tiles of so many terms: 0 with too many.

    The sum has `reduced` points, `extent` of them along the atom's terms; a tile takes `size` bytes for each.
    """
    if depth >= extent:
        return 0.0
    # Everybody waits for the first tiles; and for all of them where few are at work.
    rounds = reduced / depth
    at_work = min(warps * (_SHARED // (size * depth)) / _WORKING, 1.0)
    return _DEPTHS[depth] * extent / (-(-extent // depth) * depth) * at_work * rounds / (rounds + 0.5)


def _ways(facts: Facts, side: list[int], n: int, points: Sequence[int], halves: int) -> list[_Side]:
    """Ways to lay lanes and points along a side: along rows in so many parts, or, where it is 0, along columns."""
    h = facts.h
    near = next((d for d in side if facts.near(n, d) and h.extents[d] > 1), None)
    # Short sums are walked over point by point.
    far = _POINTWISE if any(facts.near(n, d) and 1 < h.extents[d] < _SECTOR for d in facts.combined) else 1.0
    found = []
    for main in side:
        beside = near if near is not None and near != main else None
        ways = [
            _Side(items, laid, useful, far if near is None else min(tiles[near] / _SECTOR, 1.0))
            for items, laid, tiles in _laid(h.extents, main, beside, points, halves)
            if (useful := prod(h.extents[d] / (-(-h.extents[d] // t) * t) for d, t in tiles.items()))
        ]
        # Large tiles need fewer reads, small ones leave more work-groups: some of each.
        ways.sort(key=lambda way: -way.useful * way.read * way.each / (way.each + 2))
        found += ways[: max(_TRIED // len(side), _TRIED // 3)]
    return found


def _laid(
    extents: tuple[int, ...], main: int, beside: int | None, counts: Sequence[int], halves: int
) -> Iterator[tuple[dict[int, int], dict[int, int], dict[int, int]]]:
    """Lay lanes along a dimension, and points along that and another one; the tile of each, none twice as large."""
    lanes = DOWN if halves else ACROSS
    for warps, points in product(_WARPS, counts if halves != 1 else (1, *counts)):
        for others in (1,) if beside is None else _BESIDE:
            laid = {main: points} if beside is None else {main: points, beside: min(others, extents[beside])}
            tiles = {d: p * (lanes * warps if d == main else 1) for d, p in laid.items()}
            fits = tiles[main] < 2 * extents[main] or tiles[main] <= lanes * max(halves, 2)
            if fits and prod(laid.values()) <= _MOST_POINTS // 4:
                yield {main: lanes * warps}, laid, tiles


def _speed(facts: Facts, caps: DeviceCaps, atom: Atom, rows: _Side, columns: _Side, warps: int) -> float:
    """Give the part of the device's plain multiply-adds that are made, roughly: time for products, loads and reads."""
    h, each = facts.h, rows.each * columns.each
    products = (3 if atom.split else 1) * each * DOWN * ACROSS / (atom.shape[0] * atom.shape[1])
    loads = rows.each * DOWN / atom.shape[0] * atom.registers(atom.a) + columns.each / 2 * atom.registers(atom.b)
    loads /= _AT_ONCE if atom.packed > 1 else 1
    faster = _ROUNDED[atom.name] if atom.rounded and h.precision == "default" else _FASTER[atom.name]
    computing = (1 + loads / products) / faster
    reading = _READ * atom.itemsize / 4 * (1 / rows.size / columns.read + 1 / columns.size / rows.read)
    tiles = {d: side.items.get(d, 1) * p for side in (rows, columns) for d, p in side.points.items()}
    groups = prod(-(-h.extents[d] // tiles.get(d, 1)) for d in facts.kept)
    parts = _parts(facts, caps, groups)
    turns = -(-groups * parts // caps.compute_units)
    even = groups * parts / (turns * caps.compute_units)
    busy = even * min(1.0, (0.5 + turns * warps / 8) / 1.5) * (_SPLIT if parts > 1 else 1.0)
    # What is not read or written in whole sectors takes as long as these; lanes write along rows and columns only.
    near = [d for d in facts.kept if abs(facts.output_strides[d]) == facts.output_step]
    lanes = {next(iter(side.points)) for side in (rows, columns)}
    run = min(tiles[near[0]] / _SECTOR, 1.0) if lanes & {*near[:1]} else _SCATTERED
    moved = _moved(facts, {rows.read, columns.read}, run)
    crowded = _CROWDED if warps > _MOST_WARPS // 2 else _ALONE.get(warps, 1.0)
    return rows.useful * columns.useful * busy * crowded / (computing + reading + moved)


def _moved(facts: Facts, read: set[float], run: float) -> float:
    """Give the time to move everything from and to memory once, as multiply-adds for each of the points."""
    h = facts.h
    words = sum(v.elements() * v.dtype.itemsize for v in h.inputs) / min(read)
    words += sum(v.elements() * v.dtype.itemsize for v in h.outputs) / run
    return _WRITE * words / 4 / h.points


def _parts(facts: Facts, caps: DeviceCaps, groups: int) -> int:
    """Into how many parts the sums are split, where there are few work-groups."""
    reduced = prod(facts.h.extents[d] for d in facts.combined)
    return min(max(_RESIDENT * caps.compute_units // groups, 1), max(reduced // (4 * _PART), 1))


def _schedule(facts: Facts, caps: DeviceCaps, plain: Schedule, shape: _Shape) -> Schedule | None:
    """Make a legal schedule with as many tiles in flight as fit; None where there is none."""
    h, (_, atom, rows, columns, terms, depth) = facts.h, shape
    (row, *_), (column, *_) = rows.points, columns.points
    items, points = rows.items | columns.items, rows.points | columns.points | {terms: atom.shape[2]}
    num_wi = tuple(items.get(d, 1) for d in range(h.rank))
    private = tuple(points.get(d, 1) for d in range(h.rank))
    local = [min(i * p, n) for i, p, n in zip(num_wi, private, h.extents, strict=True)]
    local[terms] = depth
    tiles = [-(-n // t) for n, t in zip(h.extents, local, strict=True)]
    groups = [tiles[d] if d in facts.kept else 1 for d in range(h.rank)]
    parts = _parts(facts, caps, prod(groups))
    for d in sorted(facts.combined, key=lambda d: d == terms):
        wanted = min(parts, tiles[d])
        groups[d] = -(-tiles[d] // -(-tiles[d] // wanted))
        parts = -(-parts // groups[d])
    kept = [d for d in plain.global_order if d in facts.kept]
    order = (*kept, *(d for d in plain.global_order if d in facts.combined and d != terms), terms)
    s = replace(
        plain, num_wg=tuple(groups), num_wi=num_wi, local_tile=tuple(local), private_tile=private, vector_dim=column,
        vector_width=2, results="private", global_order=order, local_order=order, combine_on="local", atom=atom.name,
        atom_dims=(row, column, terms), private_order=(*(d for d in order if d in facts.combined), *kept),
        private_copies=(True,) * len(h.inputs),
    )  # fmt: skip
    s = replace(s, local_copies=tuple(_copy(facts, n, s) for n in range(len(h.inputs))))
    if _single(facts, atom):
        s = replace(s, combine_on="global")
        s = s if chain_is_short(h, s) or rows.each * columns.each > _MOST_POINTS else replace(s, combine_on="local")
    for stages in _STAGES:
        ahead = replace(s, stages=stages)
        if is_legal(h, ahead, caps):
            return ahead
    return None


def _copy(facts: Facts, n: int, s: Schedule) -> LocalCopy | None:
    """An input's tile in the array's order, with rows padded so that an instruction's lanes find different banks."""
    view, depends = facts.h.inputs[n], facts.depends[n]
    if len(depends & {*s.atom_dims}) != 2 or len(view.accesses) != 1:
        return None
    order = tuple(sorted(range(len(view.shape)), key=lambda axis: (-abs(view.strides[axis]), axis)))
    padded = [LocalCopy(order, (), pad) for pad in range(0, _BANKS, _WIDE // tile_itemsize(view, packed=packed(s)))]
    return min(padded, key=lambda copy: (_turns(facts, n, s, copy), copy.pad))


def _turns_of(facts: Facts, s: Schedule) -> int:
    """In how many turns all elements are loaded, at least two."""
    return sum(_turns(facts, n, s, copy) for n, copy in enumerate(s.local_copies) if copy)


def _turns(facts: Facts, n: int, s: Schedule, copy: LocalCopy) -> int:
    """In how many turns lanes load one element each: of those whose words lie in the same bank one a turn."""
    view, points = facts.h.inputs[n], [s.step(d) if d in facts.kept else t for d, t in enumerate(s.local_tile)]
    strides, step = [0] * facts.h.rank, 1
    for axis in reversed(copy.order):
        for d, coefficient in enumerate(view.accesses[0][axis].coefficients):
            strides[d] += coefficient * step
        step *= view.box(axis, points)
        step += copy.pad if axis == copy.order[-1] else 0
    rows, columns, terms = s.atom_dims
    across, factor = (rows if rows in facts.depends[n] else columns), (n, 0)
    size = tile_itemsize(view, packed=packed(s))
    turned = in_rows(facts.h, replace(s, local_copies=(copy,) * len(facts.h.inputs)), factor, across)
    if turned is not None:
        along = strides[terms if turned else across]
        return max(Counter(row * along * size // _WIDE % (4 * _BANKS // _WIDE) for row in range(DOWN)).values())
    words = max(size // 4, 1)
    lanes = [(g, t) for g in range(DOWN // words) for t in range(ACROSS)]
    banks = Counter((g * strides[across] + t * strides[terms]) % (_BANKS // words) for g, t in lanes)
    return max(banks.values())
