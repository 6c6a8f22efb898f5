"""How long products by matrix instructions take on a GPU, by a few lines of arithmetic on the sizes of tiles.

The time of each multiply-add is that of products and loads from local memory, of reading the tiles, and of parts of
sectors as often as they are read again. What is left of that speed is how much of the tiles is useful, how many
work-groups there are for how many compute units, and how long all wait for the first tiles. Beside it everything is
moved from and to memory once, in the sectors that stores touch, and a group's tiles wait for each other; where sums are
split a second kernel follows. Loads that meet in the same bank of local memory make everything longer. All speeds are
parts of the multiply-adds that the device makes without matrix instructions.

Where producers copy, each tile takes what takes longest: multiplying, copying and preparing, or the cache.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations
from math import ceil, gcd, prod
from typing import NamedTuple

from mdhnp.mdh import View, interleaved
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.atoms import ATOMS, Atom
from mdhnp.schedule.batch import longest
from mdhnp.schedule.layout import PRODUCERS, WIDEST, is_wide, packed, swizzles, tile_itemsize, tile_strides
from mdhnp.schedule.matrices import ACROSS, DOWN, in_rows, multiplied, operands
from mdhnp.schedule.schedule import DeviceCaps, Schedule

#: Registers that are loaded at once where lanes point at rows.
_AT_ONCE = 4
#: Work-items of a subgroup, and bytes that can be copied asynchronously, at least.
_WARP, _ASYNCHRONOUS = 32, 4
#: Work-groups of a unit that end at the same time.
_FEW_TURNS = 6


class FactorTile(NamedTuple):
    """Work-items and points along the dimensions that move one factor only, the atom's first.

    With them the points of a work-item, and of a work-group, in each dimension and in all; what part is useful.
    """

    items: dict[int, int]
    points: dict[int, int]
    each: int
    tiles: dict[int, int]
    size: int
    useful: float

    @classmethod
    def of(cls, extents: Sequence[int], items: dict[int, int], points: dict[int, int]) -> "FactorTile":
        each, tiles = prod(points.values()), {d: p * items.get(d, 1) for d, p in points.items()}
        useful = prod(extents[d] / (-(-extents[d] // t) * t) for d, t in tiles.items())
        return cls(items, points, each, tiles, prod(items.values()) * each, useful)


class TermTile(NamedTuple):
    """The dimension of the atom's terms, points along combined dimensions and in all, tiles, and what speed is left."""

    terms: int
    tile: dict[int, int]
    points: int
    rounds: int
    left: float

    @classmethod
    def of(cls, access: AccessPattern, caps: DeviceCaps, atom: Atom, terms: int, tile: dict[int, int]) -> "TermTile":
        extents, points = access.h.extents, prod(tile.values())
        rounds = prod(-(-extents[d] // t) for d, t in tile.items())
        useful = prod(extents[d] / t for d, t in tile.items()) / rounds
        unit, nbytes = caps.machine.unit, points * atom.itemsize
        table = unit.deep
        if atom.double:
            table, nbytes = unit.deep_double, nbytes * (1 if multiplied(access.h) == 1 else 2)
        deep = next(left for least, left in table.items() if nbytes >= least)
        # Everybody waits for the first tiles.
        return cls(terms, tile, points, rounds, deep * useful * rounds / (rounds + 0.5))


class TileRead(NamedTuple):
    """Elements of a factor's tile, the part of each memory sector that is of use, and copies of up to 16 bytes.

    Those that take more instructions count for more than one. Of less than 4 bytes they are waited for.
    """

    elements: int
    run: float
    copies: float
    small: bool

    @classmethod
    def of(
        cls, access: AccessPattern, caps: DeviceCaps, inputs: Sequence[int], side: FactorTile, terms: TermTile
    ) -> "TileRead":
        """Those of inputs that move alike, real and imaginary parts for example."""
        view, points = access.h.inputs[inputs[0]], [1] * access.h.rank
        for d, tile in (side.tiles | terms.tile).items():
            points[d] = tile
        boxes, run, inside = (
            [view.box(axis, points) for axis in range(len(view.shape))],
            _beside(access, inputs),
            list[int](),
        )
        for axis in sorted(range(len(boxes)), key=lambda axis: abs(view.strides[axis])):
            if abs(view.strides[axis]) > run:
                break
            inside.append(axis)
            run *= min(boxes[axis], view.shape[axis]) if view.strides[axis] else 1
            if boxes[axis] < view.shape[axis] and view.strides[axis]:
                break
        part = min(run * view.dtype.itemsize / caps.machine.unit.sector, 1.0)
        # Copies are of as many elements as all rows' beginnings, in array and tile, are multiples of.
        rows = [stride for axis, stride in enumerate(view.strides) if axis not in inside]
        rows += [view.shape[axis] * view.strides[axis] for axis in inside[-1:]]
        wide = gcd(run, view.offset, WIDEST // view.dtype.itemsize, *rows)
        padded, unit = _padded(access, view), caps.machine.unit
        wide = wide if not padded and _beside(access, inputs) == 1 else 1
        elements = len(inputs) * prod(boxes)
        inner = sorted(range(len(boxes)), key=lambda axis: abs(view.strides[axis]))[:-1]
        divided = sum(boxes[axis] & (boxes[axis] - 1) > 0 for axis in inner)
        copies = elements / wide * (1 + unit.copy_divided * divided + unit.copy_bordered * padded)
        return cls(elements, part, copies, small=wide * view.dtype.itemsize < _ASYNCHRONOUS)


def _padded(access: AccessPattern, view: View) -> bool:
    """Whether what is read sticks out of an array along the axis whose neighbours are neighbours."""
    for axis in [axis for axis, stride in enumerate(view.strides) if stride == 1 and view.boundary is not None]:
        for index in {each[axis] for each in view.accesses}:
            moved = [c * (access.h.extents[d] - 1) for d, c in enumerate(index.coefficients)]
            low, high = (index.constant + sum(m for m in moved if m * sign > 0) for sign in (-1, 1))
            if low < 0 or high >= view.shape[axis]:
                return True
    return False


def _beside(access: AccessPattern, inputs: Sequence[int]) -> int:
    """How many elements lie beside each other of which each is another input's."""
    views = [access.h.inputs[n] for n in inputs]
    return 2 if any(interleaved(a, b) for a, b in permutations(views, 2)) else 1


class ResultTile:
    """Tiles of both factors, along an atom's rows and columns, and the parts of the estimate that they determine.

    A work-group has `warps` subgroups; along kept dimensions there are `groups` work-groups. At each point some
    products are `multiplied`.
    """

    def __init__(
        self, access: AccessPattern, caps: DeviceCaps, atom: Atom, inputs: tuple[Sequence[int], Sequence[int]],
        rows: FactorTile, columns: FactorTile, multiplied: int,
    ) -> None:  # fmt: skip
        h, each, unit = access.h, rows.each * columns.each, caps.machine.unit
        added = h.points * multiplied
        self._unit, self._units, self._itemsize = unit, caps.compute_units, atom.itemsize
        self._plain = added / (caps.compute_units * unit.lanes * unit.clock)
        self._added = rows.size * columns.size * multiplied
        self.warps = prod((*rows.items.values(), *columns.items.values())) // atom.lanes
        parts = 3 if atom.split else atom.places * (atom.places + 1) // 2
        products = parts * multiplied * each * DOWN * ACROSS / (atom.shape[0] * atom.shape[1])
        loads = [n * len(some) for n, some in zip(_loads(atom, rows.each, columns.each), inputs, strict=True)]
        together = _AT_ONCE if atom.packed > 1 and atom.places == 1 else 1
        reads = sum(loads) / together
        # Where factors are rounded the time of each product is that of each of three.
        rounded = atom.rounded and h.precision != "highest"
        faster = 3 * ATOMS["3xtf32"].speed if rounded else atom.speed
        tiles = rows.tiles | columns.tiles
        self.groups = prod(-(-h.extents[d] // tiles.get(d, 1)) for d in access.kept)
        # Where tiles of float64 are copied behind the work subgroups wait less for each other.
        self._double = atom.double and multiplied == 1
        # Float16 that becomes float32 in a tile is not copied asynchronously.
        self._changes = any(
            tile_itemsize(h.inputs[n], packed=atom.operand == "float16") != h.inputs[n].dtype.itemsize
            for some in inputs
            for n in some
        )
        many = self.warps > unit.few and not self._double
        crowded = unit.crowded if many else unit.alone.get(self.warps, 1.0)
        self._part = rows.useful * columns.useful * crowded
        # Lanes lie down the rows, or across pairs of columns, which are stored at once if they are aligned and inside.
        row, column = (next(iter(side.points)) for side in (rows, columns))
        near, aligned = access.contiguous_output[:1], gcd(access.whole_output, h.extents[column]) % 2 == 0
        down = near == (row,) or (aligned and near == (column,) and tiles[column] <= h.extents[column])
        lanes, apart = (DOWN, 1) if down else (ACROSS, 2) if near == (column,) else (1, 1)
        stored = access.stored(lanes, unit.sector, apart)
        further = sum(max(sum(n > 1 for n in side.tiles.values()) - 1, 0) for side in (rows, columns))
        self._longer = unit.further_dimension**further * (unit.split_alone if atom.split and not atom.wide else 1.0)
        self._computing = (1 + reads / products) / faster
        self._speed = atom.speed * (unit.wide_pairs if multiplied > 1 else 1.0)
        self._rows, self._results, self._alone = (
            rows.size * len(inputs[0]),
            rows.size * columns.size,
            self.warps == atom.warps,
        )
        moved = unit.write_adds / 4 / added
        self._moving = self._plain * moved * (stored * access.bytes_written + access.bytes_read) / unit.memory
        sizes = [(n[0], sum(h.inputs[each].span_bytes for each in n) // _beside(access, n)) for n in inputs]
        self._again = [moved * _passes(access, caps, n, size, tiles) * size for n, size in sizes]
        self._wide, self._columns = atom.wide, columns.size
        self._packed, self._planes = atom.packed, len(inputs[1])
        self._parts = prod(h.extents[d] for d in access.kept) * h.scalar.dtypes[0].itemsize

    def seconds(self, terms: TermTile, reads: tuple[TileRead, TileRead], stages: int, parts: int) -> float:
        """Return the estimated time, in seconds, with so many stages in flight and sums split into so many parts."""
        estimated = (
            self._wide_seconds(terms, reads, parts) if self._wide else self._seconds(terms, reads, stages, parts)
        )
        return self._longer * estimated

    def _seconds(self, terms: TermTile, reads: tuple[TileRead, TileRead], stages: int, parts: int) -> float:
        """Return the estimated time where the work subgroups copy tiles themselves."""
        (a, b), itemsize, unit = reads, self._itemsize, self._unit
        size = stages * (a.elements + b.elements) * itemsize
        # The rest of a sector is often there when its turn comes.
        loaded = a.elements / a.run**0.5 + b.elements / b.run**0.5
        points = self._added * terms.points
        reading = unit.read_adds * itemsize / 4 * loaded / points
        computing = self._computing
        if self._changes or a.small or b.small:
            each = (a.elements + b.elements) * unit.one_by_one / (self.warps * _WARP)
            computing += each * unit.lanes * unit.clock / points
        # Where few are at work all wait for all tiles, and in a group each tile for the one before.
        together = max(min(unit.local_memory // size, unit.resident // (self.warps * _WARP)), 1)
        at_work = 1.0 if self._double else min(self.warps * together / unit.working, 1.0)
        turns = ceil(self.groups * parts / (self._units * together))
        waiting = turns * terms.rounds / parts * unit.copied / unit.clock
        # Whole sectors are read while others compute; parts of them cost as much again each time.
        again = sum(n * (x.run**-0.5 - 1) for n, x in zip(self._again, reads, strict=True))
        speed = self._part * self._busy(parts) * terms.left * at_work / (computing + reading + again)
        # Results of some groups leave while others multiply, but not all.
        return max(float(longest(2, self._plain / speed, self._moving)), waiting) + self._combining(parts)

    def _wide_seconds(self, terms: TermTile, reads: tuple[TileRead, TileRead], parts: int) -> float:
        """Return the estimated time where producers copy tiles, and prepare the factor with columns."""
        (a, b), unit, points = reads, self._unit, terms.points
        multiplying = self._added * points / (unit.lanes * self._speed * unit.wide_speed)
        if self._packed == 1:  # else instructions read both factors where they are copied
            multiplying += self._rows * points * unit.wide_row
        multiplying = multiplying * (1 + unit.wide_alone * self._alone) + unit.wide_step
        copying = (a.copies + b.copies) * unit.copy
        if self._changes or a.small or b.small:
            copying = (a.elements + b.elements) * unit.one_by_one * unit.clock / PRODUCERS
        preparing = self._planes * self._columns * points * unit.prepare if self._packed == 1 else 0.0
        loading = (a.elements / a.run + b.elements / b.run) * self._itemsize / unit.wide_bytes
        tile = longest(4, multiplying, copying + preparing, loading)
        group = (terms.rounds / parts * tile + self._results * unit.wide_result) / unit.clock
        turns = self.groups * parts / self._units
        # Many groups end one after the other.
        working = group * (ceil(turns) if turns <= _FEW_TURNS else turns + 0.5)
        return float(longest(3, working, self._moving)) + self._combining(parts)

    def _combining(self, parts: int) -> float:
        """Seconds of a second kernel, and in which others than the first one's results are written and read."""
        if parts == 1:
            return 0.0
        return self._unit.combining + 2 * parts * self._parts / (self._units * self._unit.cache)

    def _busy(self, parts: int) -> float:
        """Part of the compute units' time in which they work, where sums are split into so many parts."""
        turns = -(-self.groups * parts // self._units)
        even = self.groups * parts / (turns * self._units)
        return even * min(1.0, (0.5 + turns * self.warps / 8) / 1.5) * (self._unit.split if parts > 1 else 1.0)


def _loads(atom: Atom, rows: int, columns: int) -> tuple[float, float]:
    """Registers that a lane loads of both factors for so many points along rows and columns."""
    return rows * DOWN / atom.shape[0] * atom.registers(atom.a), columns / 2 * atom.registers(atom.b)


def _passes(access: AccessPattern, caps: DeviceCaps, n: int, size: int, tiles: Mapping[int, int]) -> float:
    """How often an input is read from memory: once if the cache holds it, else for each step of outer loops.

    Work-groups walk the dimensions in the order of the results; those that are at work share what they read.
    """
    unit = caps.machine.unit
    if size <= caps.l2 * unit.held:
        return 1.0
    order = sorted(access.kept, key=lambda d: -abs(access.output_strides[d]))
    counts = [-(-access.h.extents[d] // tiles.get(d, 1)) for d in order]
    inner = next((k for k, d in enumerate(order) if d in access.depends[n] and counts[k] > 1), len(order))
    at_once = unit.busy_groups * caps.compute_units / prod(counts[inner:])
    return max(prod(counts[:inner]) / max(at_once, 1.0), 1.0)


def matrix_seconds(access: AccessPattern, caps: DeviceCaps, s: Schedule) -> float:
    """Return the estimated time of a legal schedule with a matrix instruction, in seconds."""
    row, column, terms = s.atom_dims
    found = operands(access.h, row, column, terms)
    assert found is not None
    a, b = ([*dict.fromkeys(number for number, _ in side)] for side in found)
    rows, columns = (_factor_tile(access, s, *side) for side in ((row, a[0], b[0]), (column, b[0], a[0])))
    atom = ATOMS[s.atom]
    tile = TermTile.of(access, caps, atom, terms, {d: s.local_tile[d] for d in access.combined})
    reads = TileRead.of(access, caps, a, rows, tile), TileRead.of(access, caps, b, columns, tile)
    result = ResultTile(access, caps, atom, (a, b), rows, columns, multiplied(access.h))
    parts = prod(s.num_wg[d] for d in access.combined)
    return result.seconds(tile, reads, s.stages, parts) * bank_waiting(access, caps, s)


def _factor_tile(access: AccessPattern, s: Schedule, main: int, n: int, other: int) -> FactorTile:
    """The tile of the dimensions that move an input and not the other one."""
    side = (main, *access.only(n, other))
    items = {d: s.num_wi[d] for d in side if d == main or s.num_wi[d] > 1}
    return FactorTile.of(access.h.extents, items, {d: s.private_tile[d] for d in side})


def bank_waiting(access: AccessPattern, caps: DeviceCaps, s: Schedule) -> float:
    """Return the factor by which loads that meet in banks of local memory lengthen all time."""
    row, column, _ = s.atom_dims
    above, across = _loads(ATOMS[s.atom], s.private_tile[row], s.private_tile[column])
    further = 0.0
    for n, copy in enumerate(s.local_copies):
        if copy is not None:
            further += (above if row in access.depends[n] else across) * (bank_turns(access, caps, n, s) - 1)
    turn = caps.machine.unit.wide_turn if is_wide(s) else caps.machine.unit.turn
    return 1 + 2 * turn * further / (above + across)


def bank_turns(access: AccessPattern, caps: DeviceCaps, n: int, s: Schedule) -> int:
    """Return the turns in which lanes load one element each of a copy: the most words in one bank."""
    copy, banks = s.local_copies[n], caps.machine.unit.banks
    assert copy is not None
    if swizzles(s):
        return 1
    view, points = access.h.inputs[n], [s.step(d) if d in access.kept else t for d, t in enumerate(s.local_tile)]
    strides = [0] * access.h.rank
    for stride, index in zip(tile_strides(view, copy, points, s).strides, view.accesses[0], strict=True):
        for d, coefficient in enumerate(index.coefficients):
            strides[d] += coefficient * stride
    rows, columns, terms = s.atom_dims
    across, factor = (rows if rows in access.depends[n] else columns), (n, 0)
    size = tile_itemsize(view, packed=packed(s))
    if is_wide(s) and across == columns:
        # Producers read 16 bytes of terms of neighbouring columns, or one element of each.
        if strides[terms] == 1:
            return max(
                Counter(n * strides[columns] * size // WIDEST % (4 * banks // WIDEST) for n in range(DOWN)).values()
            )
        return max(Counter(n * strides[columns] % banks for n in range(banks)).values())
    turned = in_rows(access.h, s, factor, across)
    if turned is not None:
        along = strides[terms if turned else across]
        return max(Counter(row * along * size // WIDEST % (4 * banks // WIDEST) for row in range(DOWN)).values())
    words, packed_terms = max(size // 4, 1), ATOMS[s.atom].packed * strides[terms]
    lanes = [(g, t) for g in range(DOWN // words) for t in range(ACROSS)]
    places = {(g * strides[across] + t * packed_terms) * size // (4 * words) for g, t in lanes}
    return max(Counter(place % (banks // words) for place in places).values())
