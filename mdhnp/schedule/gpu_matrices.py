"""Schedules for GPUs of sums of products by matrix instructions: along which dimensions, and in how large tiles.

One side of kept dimensions moves one factor, another the other; both move along the sums. What is possible is ranked
by :mod:`mdhnp.schedule.model_matrices`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import product
from math import prod
from operator import attrgetter
from typing import Literal, NamedTuple

from mdhnp.mdh import MdHom
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.accuracy import LONGEST, chain_is_short
from mdhnp.schedule.atoms import ATOMS, Atom
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.gpu_products import SECTOR, SHORT
from mdhnp.schedule.layout import PREPARED, WIDEST, is_wide, packed, swizzles, tile_itemsize
from mdhnp.schedule.matrices import ACROSS, DOWN, MOST_COLUMNS, MOST_ROUNDED, allowed, multiplied, one_sum, products
from mdhnp.schedule.model_gpu import MOST_POINTS
from mdhnp.schedule.model_matrices import FactorTile, ResultTile, TermTile, TileRead, bank_turns, bank_waiting
from mdhnp.schedule.schedule import DeviceCaps, LocalCopy, Schedule, even_groups, put, tile_counts

#: Times that the lanes of an instruction lie along its rows, and along its columns, and a work-item's points of each.
_WARPS, _POINTS = (1, 2, 3, 4), (2, 4, 6, 8)
#: As the last, where registers hold one sum of each, and two elements, or sums are exact enough to be added up rarely.
_MORE_POINTS = (*_POINTS, 16)
#: Points along another dimension of a side.
_BESIDE = (1, 2, 4, 8)
#: Subgroups of a work-group that compute wide instructions, and columns of these.
_WIDE_WARPS, _WIDE = (4, 8), (16, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 256)
#: Ways of a side that are tried with those of the other.
_TRIED = 24
#: Most subgroups of a work-group.
_MOST_WARPS = 8
#: Points of a sum in each of its parts, at least.
_PART = 128
#: Schedules that wait for others which may be faster, at most.
_MADE = 24
#: Terms of a tile; the most points of a sum in it; along another combined dimension whose neighbours are neighbours in
#: an array; and extents of which there are all in a tile, or one.
_DEPTHS, _MOST_DEPTH, _RUNS, _WINDOW = (64, 32, 24, 16, 8), 128, (4, 8), 8
#: Tiles in flight: by default, and all that are worth trying.
_STAGES, _IN_FLIGHT = (3, 2), (2, 3, 4)
#: Where they are asked for behind the work: 48.9 instead of 41.7 Tflop/s in float64, but 12.4 instead of 13.1 in
#: complex128 (NVIDIA H100). Of complex64 each further tile in flight costs 1.5 %.
_DOUBLE_STAGES, _PAIR_STAGES = (4, 3, 2), (2,)
#: The same with producers.
_WIDE_STAGES, _WIDE_IN_FLIGHT = (4, 3), (3, 4, 5, 6)


def matrix_schedules(access: AccessPattern, caps: DeviceCaps, plain: Schedule) -> Iterator[tuple[float, Schedule]]:
    """Yield estimated seconds and legal schedules, the fastest first; `plain` has the orders that suit the MDH."""
    made: list[tuple[float, int, Schedule]] = []
    # Among equally fast shapes those come first whose work-items have about as many rows as columns, then those with
    # fewest rows, as instructions that follow each other share rows.
    each = attrgetter("rows.each", "columns.each")
    best_first = sorted(_shapes(access, caps), key=lambda shape: (shape.seconds, max(each(shape)), shape.rows.each))
    for number, shape in enumerate(best_first):
        while made and (made[0][0] <= shape.seconds or len(made) == _MADE):
            yield heappop(made)[::2]
        s = _schedule(access, caps, plain, shape)
        if s is not None:
            # How work-items meet in banks is known only now, and can cost as much as all the rest.
            heappush(made, (shape.seconds * bank_waiting(access, caps, s), number, s))
    while made:
        yield heappop(made)[::2]


def matrix_neighbours(access: AccessPattern, caps: DeviceCaps, s: Schedule) -> Iterator[Schedule]:
    """Yield schedules that differ in one thing each from one with a matrix instruction; some may be illegal."""
    (row, column, terms), parts = s.atom_dims, prod(s.num_wg[d] for d in access.combined)
    tile = {d: s.local_tile[d] for d in access.combined}
    for d, step in ((row, DOWN), (column, ACROSS)):
        for items in {s.num_wi[d] - step, s.num_wi[d] + step, 2 * s.num_wi[d]} - {0}:
            yield _laid_out(access, caps, s.at(d, num_wi=items), tile, parts)
    for d in access.kept:
        # Atoms have points in pairs.
        pairs = {row, column} & {d}
        for points in {s.private_tile[d] // 2, 2 * s.private_tile[d], s.private_tile[d] + 2} if pairs else _BESIDE:
            if points not in (0, s.private_tile[d]) and points <= max(2, access.h.extents[d]):
                yield _laid_out(access, caps, s.at(d, private_tile=points), tile, parts)
    for d, points in tile.items():
        others = _DEPTHS if d == terms else {1, *_RUNS, min(access.h.extents[d], _WINDOW)}
        yield from (_laid_out(access, caps, s, tile | {d: other}, parts) for other in others if other != points)
    yield from (_laid_out(access, caps, s, tile, other) for other in {1, parts // 2, parts + 1, 2 * parts} - {0, parts})
    in_flight = _WIDE_IN_FLIGHT if is_wide(s) else _IN_FLIGHT
    yield from (replace(s, stages=stages) for stages in in_flight if stages != s.stages)
    for n, copy in enumerate(s.local_copies):
        if copy is not None and copy.pad:
            yield replace(s, local_copies=put(s.local_copies, n, replace(copy, pad=0)))
    for d in {row, column} - {s.group_order[0]}:
        yield replace(s, group_order=(d, *(other for other in s.group_order if other != d)))
    other: Literal["local", "global"] = "local" if s.combine_on == "global" else "global"
    yield _laid_out(access, caps, replace(s, combine_on=other), tile, parts)


class _Shape(NamedTuple):
    """The sizes that determine a schedule, and its estimated seconds before the layout of tiles is known."""

    seconds: float
    atom: Atom
    rows: FactorTile
    columns: FactorTile
    sums: TermTile
    parts: int


def _shapes(access: AccessPattern, caps: DeviceCaps) -> Iterator[_Shape]:
    """Yield the best split of sums for each instruction and pair of factor tiles."""
    h, found = access.h, [p for some in products(access.h) or () for p in some]
    if not found or not access.combined:
        return
    atoms = [atom for atom in allowed(h) if atom.name in caps.atoms]
    every = dict.fromkeys(number for p in found for number, _ in (p.left, p.right))
    # Those that move as the first product's factors.
    one, other = ([n for n in every if access.depends[n] == access.depends[m]] for m, _ in found[0][:2])
    reduced = prod(h.extents[d] for d in access.combined)
    for atom, (left, right) in product(atoms, [(one, other), (other, one)]):
        a, b = left[0], right[0]
        single, fit = atom.packed > 1 and one_sum(h), caps.local_memory // atom.itemsize
        points = _POINTS if atom.rounds and not single else _MORE_POINTS
        most = MOST_POINTS * (2 if single else 1) // (len(h.outputs) * atom.places)
        sums = [*_sums(access, caps, atom, access.depends[a] & access.depends[b] & {*access.combined})]
        rows = _factor_tiles(access, access.only(a, b), a, atom, points, atom.shape[0] // DOWN)
        columns = _factor_tiles(access, access.only(b, a), b, atom, points, 0)
        read = [
            [(x, [TileRead.of(access, caps, inputs, x, s) for s in sums]) for x in some]
            for inputs, some in ((left, rows), (right, columns))
        ]
        for (x, above), (y, across) in product(*read):
            if x.each * y.each > most:
                continue
            result = ResultTile(access, caps, atom, (left, right), x, y, len(found))
            if result.warps > _MOST_WARPS:
                continue
            # Parts of sums, at most.
            wanted = caps.machine.unit.busy_groups * caps.compute_units // result.groups
            limit, best = min(max(wanted, 1), max(reduced // _PART, 1)), dict[int, _Shape]()
            for s, left_tile, right_tile in zip(sums, above, across, strict=True):
                in_flight = _in_flight(h, atom)
                prepared = PREPARED * (2 if atom.split else 1) * len(right) * y.size * s.points
                room = fit - (prepared if atom.wide and atom.packed == 1 else 0)
                stages = min(room // (left_tile.elements + right_tile.elements), in_flight[0])
                if stages < in_flight[-1]:
                    continue
                for parts in dict.fromkeys((1, limit)):
                    real = prod(_parted(access, s.tile, s.terms, parts).values())
                    seconds = result.seconds(s, (left_tile, right_tile), stages, real)
                    if s.terms not in best or seconds < best[s.terms].seconds:
                        best[s.terms] = _Shape(seconds, atom, x, y, s, parts)
            yield from best.values()


def _in_flight(h: MdHom, atom: Atom) -> tuple[int, ...]:
    """Return how many tiles may be in flight, most first."""
    if atom.wide:
        return _WIDE_STAGES
    if atom.double:
        return _DOUBLE_STAGES if multiplied(h) == 1 else _STAGES
    return _PAIR_STAGES if atom.split and multiplied(h) > 1 else _STAGES


def _sums(access: AccessPattern, caps: DeviceCaps, atom: Atom, both: frozenset[int]) -> Iterator[TermTile]:
    """Tiles of the combined dimensions; the atom's terms are along one that moves both factors.

    Of the others a tile has one point, or all of a window's, or, where neighbours along one are neighbours in an
    array, as many as are read at once.
    """
    extents = access.h.extents
    for terms in both:
        others = [d for d in access.combined if d != terms]
        ones = dict.fromkeys(others, 1)
        window = {d: extents[d] for d in others if 1 < extents[d] <= _WINDOW}
        near = [d for d in others if extents[d] > _WINDOW and access.contiguous_any(d)]
        tiles = [ones, *([ones | window] if window else []), *(ones | {d: run} for d, run in product(near, _RUNS))]
        # Where other combined dimensions move, all of a short one can be in a tile.
        whole = [extents[terms]] if others and extents[terms] <= _DEPTHS[0] else []
        # As many bytes of bytes as of float16.
        more = max(atom.packed // 2, 1)
        for depth, tile in product(dict.fromkeys((*[depth * more for depth in _DEPTHS], *whole)), tiles):
            few = depth * prod(tile.values()) <= _MOST_DEPTH * more or depth == atom.shape[2]
            if (depth < extents[terms] or depth in whole) and depth % atom.shape[2] == 0 and few:
                yield TermTile.of(access, caps, atom, terms, {**tile, terms: depth})


def _factor_tiles(
    access: AccessPattern, side: list[int], n: int, atom: Atom, points: Sequence[int], halves: int
) -> list[FactorTile]:
    """Return tiles of a factor, the most promising first; `halves` of the instruction's rows, 0 for columns."""
    extents = access.h.extents
    near = next((d for d in side if access.contiguous(n, d) and extents[d] > 1), None)
    found = []
    for main in side:
        ways = list[FactorTile]()
        # None: along no second dimension.
        for beside in dict.fromkeys([_beside(access, n, side, main, near), near if near != main else None]):
            if atom.wide:
                ways += _wide_laid(extents, main, beside, halves)
            else:
                ways += _laid(extents, main, beside, points, halves)
        # Large tiles need fewer reads, small ones leave more work-groups: some of each.
        ways.sort(key=lambda way: -way.useful * _run(way, near) * way.each / (way.each + 2))
        found += ways[: max(_TRIED // len(side), _TRIED // 3)]
    return found


def _beside(access: AccessPattern, n: int, side: list[int], main: int, near: int | None) -> int | None:
    """Return the second dimension of a tile: the contiguous one, else, where the first is short, its neighbour.

    Tiles along a short one alone are small, or stick out of it.
    """
    if near not in (None, main):
        return near
    others = [d for d in side if d != main and access.h.extents[d] > 1] if access.h.extents[main] <= SHORT else []
    return min(others, key=lambda d: abs(access.strides[n][d]), default=None)


def _run(way: FactorTile, near: int | None) -> float:
    """Return the part of a memory sector that a tile reads along its contiguous dimension."""
    return 1.0 if near is None else min(way.tiles[near] / SECTOR, 1.0)


def _laid(
    extents: tuple[int, ...], main: int, beside: int | None, counts: Sequence[int], halves: int
) -> Iterator[FactorTile]:
    """Yield tiles with lanes along one dimension, points along that and another; none twice as long as the extent."""
    lanes = DOWN if halves else ACROSS
    for warps, points in product(_WARPS, counts if halves != 1 else (1, *counts)):
        for others in (1,) if beside is None else _BESIDE:
            laid = {main: points} if beside is None else {main: points, beside: min(others, extents[beside])}
            tile = lanes * warps * points
            fits = tile < 2 * extents[main] or tile <= lanes * max(halves, 2)
            if fits and prod(laid.values()) <= MOST_POINTS // 4:
                yield FactorTile.of(extents, {main: lanes * warps}, laid)


def _wide_laid(extents: tuple[int, ...], main: int, beside: int | None, halves: int) -> Iterator[FactorTile]:
    """Yield tiles of wide instructions: rows by subgroups along one dimension and another, columns by points."""
    if halves:
        for warps in _WIDE_WARPS:
            for down in [n for n in range(1, warps + 1) if warps % n == 0 and (beside is not None or n == warps)]:
                tile = DOWN * halves * down
                if tile < 2 * extents[main] and (beside is None or warps // down < 2 * extents[beside]):
                    items = {main: DOWN * down} | ({} if beside is None else {beside: warps // down})
                    yield FactorTile.of(extents, items, {main: halves} | ({} if beside is None else {beside: 1}))
        return
    for count, others in product(_WIDE, (1,) if beside is None else _BESIDE):
        if count < 2 * extents[main] and count * others <= MOST_COLUMNS:
            laid = {} if beside is None else {beside: min(others, extents[beside])}
            yield FactorTile.of(extents, {main: ACROSS}, {main: count // ACROSS} | laid)


def _schedule(access: AccessPattern, caps: DeviceCaps, plain: Schedule, shape: _Shape) -> Schedule | None:
    """Return a legal schedule with as many tiles in flight as fit; None where there is none."""
    h, (_, atom, rows, columns, sums, parts) = access.h, shape
    (row, *_), (column, *_), terms = rows.points, columns.points, sums.terms
    items, points = rows.items | columns.items, rows.points | columns.points | {terms: atom.shape[2]}
    num_wi = tuple(items.get(d, 1) for d in range(h.rank))
    private = tuple(points.get(d, 1) for d in range(h.rank))
    kept = [d for d in plain.global_order if d in access.kept]
    order = (*kept, *(d for d in plain.global_order if d in access.combined and d != terms), terms)
    s = replace(
        plain, num_wi=num_wi, private_tile=private, vector_dim=column, vector_width=2, results="private",
        global_order=order, local_order=order, combine_on="local", atom=atom.name, atom_dims=(row, column, terms),
        private_order=(*(d for d in order if d in access.combined), *kept), private_copies=(True,) * len(h.inputs),
    )  # fmt: skip
    if swizzles(s):
        s = replace(s, item_order=(row, *(d for d in s.item_order if d != row)))
    s = _laid_out(access, caps, s, sums.tile, parts)
    if one_sum(h) or not atom.rounds:
        whole = replace(s, combine_on="global", combine_every=1)
        s = whole if chain_is_short(h, whole) or rows.each * columns.each > MOST_POINTS else s
    for stages in _in_flight(h, atom):
        ahead = replace(s, stages=stages)
        if is_legal(h, ahead, caps):
            return ahead
    return None


def _laid_out(access: AccessPattern, caps: DeviceCaps, s: Schedule, sums: Mapping[int, int], parts: int) -> Schedule:
    """Return a schedule with the local tiles, work-groups and copies that follow from its work-items and points."""
    h, terms = access.h, s.atom_dims[2]
    local = tuple(sums.get(d, min(s.step(d), n)) for d, n in enumerate(h.extents))
    tiles = tile_counts(h.extents, local)
    parted = _parted(access, sums, terms, parts)
    groups = [parted[d] if d in parted else tiles[d] for d in range(h.rank)]
    # Sums that are exact enough are combined as rarely as a chain may be long.
    rarely = s.combine_on == "local" and (not ATOMS[s.atom].rounds or is_wide(s))
    most = MOST_ROUNDED // max(map(len, products(h) or ())) if ATOMS[s.atom].rounds else LONGEST
    every = max(most // prod(sums.values()), 1) if rarely else 1
    same = all([groups[d] == s.num_wg[d] for d in access.combined])  # else the second kernel is another
    second = s.second if same else None
    s = replace(s, local_tile=local, num_wg=tuple(groups), combine_every=every, second=second)
    return replace(s, local_copies=tuple(_copy(access, caps, n, s) for n in range(len(h.inputs))))


def _parted(access: AccessPattern, sums: Mapping[int, int], terms: int, parts: int) -> dict[int, int]:
    """Return work-groups along combined dimensions, `parts` or a few more in all; those along the terms come last."""
    found = {}
    for d in sorted(access.combined, key=lambda d: d == terms):
        tiles = -(-access.h.extents[d] // sums.get(d, access.h.extents[d]))
        found[d] = even_groups(tiles, parts)
        parts = -(-parts // found[d])
    return found


def _copy(access: AccessPattern, caps: DeviceCaps, n: int, s: Schedule) -> LocalCopy | None:
    """An input's tile in the array's order, with rows padded so that an instruction's lanes find different banks."""
    view, depends = access.h.inputs[n], access.depends[n]
    terms = s.atom_dims[2]
    if terms not in depends or len(depends & {*s.atom_dims}) != 2 or len(view.accesses) != 1:
        return None  # no factor: what is read at the end moves along rows and columns
    order = tuple(sorted(range(len(view.shape)), key=lambda axis: (-abs(view.strides[axis]), axis)))
    if swizzles(s):
        return _swizzled(access, n, s, order)
    found: list[tuple[int, LocalCopy]] = []
    size = tile_itemsize(view, packed=packed(s))
    for pad in range(0, caps.machine.unit.banks * max(4 // size, 1), WIDEST // size):
        copy = LocalCopy(order, (), pad)
        found.append((bank_turns(access, caps, n, replace(s, local_copies=put(s.local_copies, n, copy))), copy))
        if found[-1][0] == 1:
            break
    return min(found, key=lambda each: each[0])[1]


def _swizzled(access: AccessPattern, n: int, s: Schedule, order: Sequence[int]) -> LocalCopy | None:
    """The copy of which an instruction reads swizzled rows: along the array's, else along the terms."""
    view, (row, column, terms) = access.h.inputs[n], s.atom_dims
    across = row if row in access.depends[n] else column
    others = [d for d in access.kept if d != across and d in access.depends[n] and s.step(d) > 1]
    axes = [view.axis_of(d) for d in (terms, across, *others)]
    if None in axes:
        return None
    along, down, *beside = [axis for axis in axes if axis is not None]
    turned = view.strides[down] == 1
    last = (*beside, down, along) if turned else (along, *beside, down)
    return LocalCopy((*(axis for axis in order if axis not in last), *last), (down if turned else along,))
