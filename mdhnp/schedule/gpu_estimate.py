"""What matrix instructions are expected to compute, by a few lines of arithmetic on the sizes of tiles.

The time of each multiply-add is that of products and loads from local memory, of reading the tiles, and of moving
everything from and to memory once, parts of sectors as often as they are read again. What is left of that is how much
of the tiles is useful, how many work-groups there are for how many compute units, how long all wait for the first
tiles, and what a second kernel takes where sums are split.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from mdhnp.schedule.atoms import ATOMS, Atom
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.choices import Facts
from mdhnp.schedule.matrices import ACROSS, DOWN, operands
from mdhnp.schedule.schedule import Schedule

__all__ = [
    "SECTOR", "Pair", "Read", "Side", "Sums", "expected", "loads", "parts_of", "plain_speed", "read",
    "split",
]  # fmt: skip

#: Multiply-adds for each that a compute unit makes without instructions for matrices; how many it makes while it reads
#: a word from the cache behind it, and while it writes one to memory.
_FASTER = {"3xtf32": 2.4, "tf32": 2.6, "f16": 12.0, "f64": 1.0, "f64 of 16 rows": 2.0, "f64 of 16 terms": 2.0}
_READ, _WRITE = 13.0, 30.0
#: As the first, where factors are rounded: the time of each product is that of each of three.
_ROUNDED = {"tf32": 3 * _FASTER["3xtf32"]}
#: What is left of the speed with split sums, in large work-groups, and in those of so many subgroups.
_SPLIT, _CROWDED, _ALONE = 0.9, 0.85, {1: 0.6, 2: 0.85}
#: The same with so many bytes of a row's terms in a tile, or more.
_DEEP = {128: 0.97, 96: 0.98, 64: 1.0, 0: 0.85}
#: Points of a sum for each of its parts at least, and work-groups of a compute unit that always have something to do.
_PART, _RESIDENT = 32, 2
#: What is reached without matrix instructions, and with how many terms in a tile.
_PLAIN, _PLAIN_DEPTH = 0.45, 8
#: Words of the smallest part of memory that is read at once; registers that are loaded at once where lanes point at
#: rows.
SECTOR, _AT_ONCE = 8, 4
#: What is left of the memory's speed where lanes write far from each other.
_SCATTERED = 0.125
#: Bytes of a compute unit's local memory, and subgroups that keep it at work.
_SHARED, _WORKING = 224 << 10, 10
#: Multiply-adds that a compute unit could make while a second kernel begins and adds up the parts.
_COMBINING = 1.9e5
#: What part of the last cache holds an input beside all else.
_HELD = 0.5
#: Most subgroups that are not crowded.
_FEW = 4


class Side(NamedTuple):
    """Work-items and points along the dimensions of a side, the atom's first, and what follows from them.

    Points of a work-item, and of a work-group, in each dimension and in all; what part of the tiles is useful.
    """

    items: dict[int, int]
    points: dict[int, int]
    each: int
    tiles: dict[int, int]
    size: int
    useful: float

    @classmethod
    def of(cls, extents: Sequence[int], items: dict[int, int], points: dict[int, int]) -> "Side":
        """Lay so many work-items and points along dimensions of some extents."""
        each, tiles = prod(points.values()), {d: p * items.get(d, 1) for d, p in points.items()}
        useful = prod(extents[d] / (-(-extents[d] // t) * t) for d, t in tiles.items())
        return cls(items, points, each, tiles, prod(items.values()) * each, useful)


class Sums(NamedTuple):
    """The atom's terms, points of a tile along each combined dimension and in all, and what is left of the speed."""

    terms: int
    tile: dict[int, int]
    points: int
    left: float

    @classmethod
    def of(cls, facts: Facts, atom: Atom, terms: int, tile: dict[int, int]) -> "Sums":
        """Tiles of so many points."""
        extents, points = facts.h.extents, prod(tile.values())
        rounds = prod(-(-extents[d] // t) for d, t in tile.items())
        useful = prod(extents[d] / t for d, t in tile.items()) / rounds
        deep = next(left for least, left in _DEEP.items() if points * atom.itemsize >= least)
        # Everybody waits for the first tiles.
        return cls(terms, tile, points, deep * useful * rounds / (rounds + 0.5))


class Read(NamedTuple):
    """Elements of a factor's tile, and what part is of use of what is read at once."""

    elements: int
    run: float


class Pair:
    """One factor's side and another's, rows and columns of an atom: what does not depend on tiles of the sums.

    Parameters
    ----------
    facts, caps : Facts, DeviceCaps
        Of a sum of products, and of a GPU.
    atom : Atom
        The instruction.
    inputs : tuple of int
        Which inputs the factors are.
    rows, columns : Side
        How work-items lie along the factors' dimensions.

    Attributes
    ----------
    warps : int
        Subgroups of a work-group.
    groups : int
        Work-groups along kept dimensions.
    """

    def __init__(
        self,
        facts: Facts,
        caps: DeviceCaps,
        atom: Atom,
        inputs: tuple[int, int],
        rows: Side,
        columns: Side,
    ) -> None:
        h, each = facts.h, rows.each * columns.each
        self._itemsize, self._results = atom.itemsize, rows.size * columns.size
        self.warps = prod((*rows.items.values(), *columns.items.values())) // atom.lanes
        products = (3 if atom.split else 1) * each * DOWN * ACROSS / (atom.shape[0] * atom.shape[1])
        reads = sum(loads(atom, rows.each, columns.each)) / (_AT_ONCE if atom.packed > 1 else 1)
        faster = _ROUNDED[atom.name] if atom.rounded and h.precision == "default" else _FASTER[atom.name]
        tiles = rows.tiles | columns.tiles
        self.groups = prod(-(-h.extents[d] // tiles.get(d, 1)) for d in facts.kept)
        self._units = caps.compute_units
        crowded = _CROWDED if self.warps > _FEW else _ALONE.get(self.warps, 1.0)
        self._part = rows.useful * columns.useful * crowded
        # What is not written in whole sectors takes as long as these; lanes write along rows and columns only.
        near = [d for d in facts.kept if abs(facts.output_strides[d]) == facts.output_step]
        lanes = {next(iter(side.points)) for side in (rows, columns)}
        run = min(tiles[near[0]] / SECTOR, 1.0) if lanes & {*near[:1]} else _SCATTERED
        self._computing = (1 + reads / products) / faster
        sizes = [h.inputs[n].nbytes for n in inputs]
        self._written = _moved(facts.bytes_written, h.points) / run
        self._read = _moved(facts.bytes_read, h.points)
        self._again = [
            _moved(_passes(facts, caps, n, size, tiles) * size, h.points) for n, size in zip(inputs, sizes, strict=True)
        ]
        self._combining = _COMBINING * caps.compute_units / h.points

    def speed(self, sums: Sums, read: tuple[Read, Read], stages: int, parts: int) -> float:
        """Give the part of the device's plain multiply-adds that are made.

        Parameters
        ----------
        sums : Sums
            The tiles of the sums.
        read : tuple of Read
            Of both factors' tiles.
        stages : int
            Tiles in flight.
        parts : int
            Into how many sums are split.
        """
        (a, b), itemsize = read, self._itemsize
        size = stages * (a.elements + b.elements) * itemsize
        reading = _READ * itemsize / 4 * (a.elements / a.run + b.elements / b.run) / (self._results * sums.points)
        # Where few are at work all wait for all tiles.
        at_work = min(self.warps * (_SHARED // size) / _WORKING, 1.0)
        # Whole sectors are read while others compute; parts of them cost as much again each time.
        moved = self._written + self._read + sum(n * (1 / x.run - 1) for n, x in zip(self._again, read, strict=True))
        left = self._part * self._busy(parts) * sums.left * at_work / (self._computing + reading + moved)
        return left / (1 + left * self._combining) if parts > 1 else left

    def _busy(self, parts: int) -> float:
        """Say how well so many parts of the sums keep compute units at work."""
        turns = -(-self.groups * parts // self._units)
        even = self.groups * parts / (turns * self._units)
        return even * min(1.0, (0.5 + turns * self.warps / 8) / 1.5) * (_SPLIT if parts > 1 else 1.0)


def loads(atom: Atom, rows: int, columns: int) -> tuple[float, float]:
    """Count the registers that a lane loads for so many of its points along rows, and along columns."""
    return rows * DOWN / atom.shape[0] * atom.registers(atom.a), columns / 2 * atom.registers(atom.b)


def _passes(facts: Facts, caps: DeviceCaps, n: int, size: int, tiles: Mapping[int, int]) -> float:
    """How often an input is read from memory: what the cache does not hold is read again for each turn of outer loops.

    Work-groups walk the dimensions in the order of the results; those that are at work share what they read.
    """
    if size <= caps.l2 * _HELD:
        return 1.0
    order = sorted(facts.kept, key=lambda d: -abs(facts.output_strides[d]))
    counts = [-(-facts.h.extents[d] // tiles.get(d, 1)) for d in order]
    inner = next((k for k, d in enumerate(order) if d in facts.depends[n] and counts[k] > 1), len(order))
    at_once = _RESIDENT * caps.compute_units / prod(counts[inner:])
    return max(prod(counts[:inner]) / max(at_once, 1.0), 1.0)


def read(facts: Facts, n: int, side: Side, sums: Sums) -> Read:
    """Say how a factor's tile is read."""
    view, points = facts.h.inputs[n], [1] * facts.h.rank
    for d, tile in (side.tiles | sums.tile).items():
        points[d] = tile
    boxes = [view.box(axis, points) for axis in range(len(view.shape))]
    run = 1
    for axis in sorted(range(len(boxes)), key=lambda axis: abs(view.strides[axis])):
        if not view.strides[axis]:
            continue
        if abs(view.strides[axis]) > run:
            break
        run *= min(boxes[axis], view.shape[axis])
        if boxes[axis] < view.shape[axis]:
            break
    return Read(prod(boxes), min(run * view.dtype.itemsize / 4 / SECTOR, 1.0))


def expected(facts: Facts, caps: DeviceCaps, s: Schedule) -> float:
    """Give what part of the device's plain multiply-adds a schedule is expected to make: what candidates' speed is.

    How work-items meet in banks of local memory is left out.

    Parameters
    ----------
    facts : Facts
        Of a sum of products.
    caps : DeviceCaps
        Of a GPU.
    s : Schedule
        A legal one with a matrix instruction.
    """
    row, column, terms = s.atom_dims
    found = operands(facts.h, row, column, terms)
    assert found is not None
    (a, _), (b, _) = found
    rows, columns = (_side_of(facts, s, *side) for side in ((row, a, b), (column, b, a)))
    atom = ATOMS[s.atom]
    sums = Sums.of(facts, atom, terms, {d: s.local_tile[d] for d in facts.combined})
    pair = Pair(facts, caps, atom, (a, b), rows, columns)
    return pair.speed(sums, (read(facts, a, rows, sums), read(facts, b, columns, sums)), s.stages, parts_of(facts, s))


def _side_of(facts: Facts, s: Schedule, main: int, n: int, other: int) -> Side:
    """Give the side of a schedule that moves an input and not the other one."""
    side = (main, *facts.only(n, other))
    return Side.of(facts.h.extents, {main: s.num_wi[main]}, {d: s.private_tile[d] for d in side})


def plain_speed(facts: Facts, speed: float) -> float:
    """Give what to compare with the speed of candidates: that of a schedule without matrix instructions.

    Parameters
    ----------
    facts : Facts
        Of a sum of products.
    speed : float
        What part of the multiply-adds are useful ones, as :mod:`mdhnp.schedule.gpu_products` estimates it.
    """
    h = facts.h
    rounds = prod(h.extents[d] for d in facts.combined) / _PLAIN_DEPTH
    moved = _moved(facts.bytes_read + facts.bytes_written, h.points)
    return rounds / (rounds + 0.5) / (1 / (_PLAIN * speed) + moved)


def _moved(size: float, points: int) -> float:
    """Give the time to move so many bytes from or to memory once, as multiply-adds for each of the points."""
    return _WRITE * size / 4 / points


def split(facts: Facts, caps: DeviceCaps, groups: int) -> int:
    """Into how many parts the sums may be split, where there are few work-groups."""
    reduced = prod(facts.h.extents[d] for d in facts.combined)
    return min(max(_RESIDENT * caps.compute_units // groups, 1), max(reduced // (4 * _PART), 1))


def parts_of(facts: Facts, s: Schedule) -> int:
    """Into how many parts a schedule splits the sums."""
    return prod(s.num_wg[d] for d in facts.combined)
