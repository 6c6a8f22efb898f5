"""Private tiles computed by matrix instructions: products of tiles in local memory, by work-items together.

Each work-item has the results that it has anyway: an atom's lanes are laid over the work-items so that its result's
fragment is what the schedule's work-items, pairs and points say. Elements of the factors are loaded for the whole
atom, of which a work-item holds some for the others.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, product

from mdhnp.codegen.access import Context, Point, load
from mdhnp.codegen.factors import BITS, look, parts
from mdhnp.codegen.ir.index import ZERO, Compare, Index, constant, variable
from mdhnp.codegen.ir.statements import LoadMatrix, MatrixProduct, WideProduct, WideProducts
from mdhnp.codegen.ir.values import Apply, Load, Register, Value
from mdhnp.codegen.producers import operand_buffer, prepared_at
from mdhnp.codegen.reduce import Accumulators, elements
from mdhnp.codegen.scalar import applied
from mdhnp.schedule.atoms import ATOMS, Atom, Fragment
from mdhnp.schedule.layout import PREPARED, WIDEST, WORDS, is_wide, wide_operand
from mdhnp.schedule.matrices import ACROSS, DOWN, Factor, in_rows, operands, oriented


def accumulate_products(c: Context, acc: Accumulators, watched: Register | None, before: Index) -> None:
    """Add the products of one local tile's points; `before` counts the tiles before."""
    with ExitStack() as loops:
        others = [d for d in c.combined if d != c.s.atom_dims[2]]
        local = {d: c.local(d) for d in c.kept}
        for d in others:
            local[d] = ZERO
            if c.points(d).known != 1:
                loops.enter_context(c.build.up_to(c.var(d, "p"), c.points(d)))
                local[d] = c.at(d, "p")
        found = _Products(c, acc, local, watched)
        if is_wide(c.s):
            found.wide(before % PREPARED)
        else:
            found.all()


class _Products:
    """All products of a local tile; `local` is where it is in each dimension but the atom's terms."""

    def __init__(self, c: Context, acc: Accumulators, local: dict[int, Index], watched: Register | None) -> None:
        self._c, self._local, self._watched = c, local, watched
        self._atom: Atom = ATOMS[c.s.atom]
        # Elements that are loaded for one register.
        self._together = self._atom.packed if self._atom.places == 1 else 1
        self._rows, self._columns, self._terms = c.s.atom_dims
        found, sides = oriented(c.h, *c.s.atom_dims), operands(c.h, *c.s.atom_dims)
        assert found is not None and sides is not None
        self._sums, (self._left, self._right) = found, sides
        self._results: dict[tuple[tuple[int, int], ...], tuple[Register | Load, ...]] = {}
        for offset, values in zip(elements(c), acc.values, strict=True):
            self._results[tuple(sorted(offset.items()))] = values
        across, down = c.at(self._columns, "w"), c.at(self._rows, "w")
        self._beside, self._below = across // ACROSS, down // DOWN
        self._across = {f: d for some, d in zip(sides, (self._rows, self._columns), strict=True) for f in some}
        loaded = [*self._left, *(() if is_wide(c.s) else self._right)]
        self._turned = {factor: in_rows(c.h, c.s, factor, self._across[factor]) for factor in loaded}
        if None in self._turned.values():
            self._term = c.build.named("term", across % ACROSS * self._atom.packed)
            self._column = c.build.named("column", across // ACROSS * DOWN + down % DOWN)
        if {*self._turned.values()} != {None}:
            lane = variable(c.item_id) % self._atom.lanes
            self._row_of_block = c.build.named("row", lane % DOWN)
            self._block = [c.build.named("block", lane // n % 2) for n in (DOWN, 2 * DOWN)]
            self._first_row = self._local[self._rows] + (down // DOWN * DOWN - down)
            self._first_column = across // ACROSS * DOWN

    def all(self) -> None:
        """One step of the atom's terms after the other, and in each all points of the private tile."""
        others = [d for d in self._c.kept if d not in (self._rows, self._columns)]
        for step in range(self._c.s.local_tile[self._terms] // self._atom.shape[2]):
            for combo in product(*(self._c.offsets(d) for d in others)):
                self._step(step, dict(zip(others, combo, strict=True)))

    def _step(self, step: int, others: dict[int, int]) -> None:
        """Load the elements of the factors, then multiply; part by part, so that sums do not wait for each other."""
        c, atom = self._c, self._atom
        halves, first = atom.shape[0] // DOWN, step * atom.shape[2]
        rows, columns = c.offsets(self._rows), c.offsets(self._columns)
        downs: list[Sequence[int]] = [rows[n : n + halves] for n in range(0, len(rows), halves)]
        single: list[Sequence[int]] = [(column,) for column in columns]
        loaded = [
            {
                f: [parts(c, atom, stem, f[0], v) for v in self._loaded(stem, f, fragment, some, first, others)]
                for f in side
            }
            for stem, side, fragment, some in (("a", self._left, atom.a, downs), ("b", self._right, atom.b, single))
        ]
        left, right = loaded
        who = (self._beside, self._columns, ACROSS), (self._below, self._rows, DOWN)
        for factors, (item, d, lanes) in zip(loaded, who, strict=True):
            self._watch([*chain(*factors.values())], item, c.s.num_wi[d] // lanes, step)
        negative = {p.left: [*map(self._negative, left[p.left])] for some in self._sums for p in some if p.negated}
        for one, other in _terms(atom):
            for n, p in ((n, p) for n, some in enumerate(self._sums) for p in some):
                a, b = negative[p.left] if p.negated else left[p.left], right[p.right]
                i, j = p.bytes or (one, other)
                for (offsets, x), (o, y) in product(zip(downs, a, strict=True), zip(columns, b, strict=True)):
                    c.build.add(MatrixProduct(atom.name, self._into(n, offsets, o, others), x[i], y[j]))

    def wide(self, turn: Index) -> None:
        """All steps at once: subgroups wait for their sums, while others multiply."""
        c, atom, found = self._c, self._atom, list[WideProduct]()
        halves, depth = atom.shape[0] // DOWN, atom.shape[2]
        rows, number = c.offsets(self._rows), self._right[0][0]
        operand = wide_operand(c.h, c.s, number)
        along = [d for d in c.kept if d not in (self._rows, self._columns, *dict(operand.kept))]
        beside = [dict(zip(dict(operand.kept), n, strict=True)) for n in _points(c, dict(operand.kept))]
        across = [*product(beside, c.offsets(self._columns))]
        for combo in _points(c, along):
            others = dict(zip(along, combo, strict=True))
            for n in range(0, len(rows), halves):
                downs = rows[n : n + halves]
                into = [
                    tuple([r for near, column in across for r in self._into(m, downs, column, others | near)])
                    for m in range(len(self._sums))
                ]
                for step in range(c.s.local_tile[self._terms] // depth):
                    first, zeros = step * depth, others | dict.fromkeys(beside[0], 0)
                    left = {}
                    for factor in self._left:
                        (a,) = self._loaded("a", factor, atom.a, [downs], first, zeros)
                        left[factor] = parts(c, atom, "a", factor[0], a)
                    self._watch([*left.values()], ZERO, 1, 0)
                    at = constant(first // (WORDS * atom.packed))
                    for one, other in _terms(atom):
                        for m, p in ((m, p) for m, some in enumerate(self._sums) for p in some):
                            part = self._right.index(p.right) * (operand.parts // len(self._right)) + other
                            where = prepared_at(operand, turn, part, self._local, at, ZERO)
                            found.append(WideProduct(into[m], left[p.left][one], where, p.negated))
        apart = DOWN * WIDEST, operand.width * WIDEST
        c.build.add(WideProducts(atom.name, tuple(found), operand_buffer(c, number), *apart))

    def _negative(self, parts: tuple[tuple[Value, ...], ...]) -> tuple[tuple[Value, ...], ...]:
        """Parts of the number that has the other sign."""
        some = parts[:2] if self._atom.split else parts
        return tuple([tuple([self._c.build.name("negative", applied("negative", v)) for v in part]) for part in some])

    def _into(self, n: int, rows: Sequence[int], column: int, others: dict[int, int]) -> tuple[Register, ...]:
        """The sums of a result."""
        points = [{**others, self._rows: row, self._columns: column} for row in rows]
        found = [self._results[tuple(sorted(point.items()))][n] for point in points]
        return tuple([value for value in found if isinstance(value, Register)])

    def _loaded(
        self, stem: str, factor: Factor, fragment: Fragment, groups: Sequence[Sequence[int]], first: int,
        others: dict[int, int],
    ) -> list[tuple[Value, ...]]:  # fmt: skip
        """The work-item's elements of a factor for some terms, in one tuple for each group of offsets."""
        turned = self._turned[factor]
        places = [
            (offsets[row // DOWN], first + term)
            for offsets in groups
            for row, term in map(fragment.place, fragment.numbers[:: self._together])
        ]
        if turned is None:
            found = [self._element(stem, factor, place, others) for place in places]
        else:
            found = self._rows_of_blocks(stem, factor, places, others, turned)
        count = len(fragment.numbers) // self._together
        return [tuple(found[n : n + count]) for n in range(0, len(found), count)]

    def _element(self, stem: str, factor: Factor, place: tuple[int, int], others: dict[int, int]) -> Value:
        """A register, or an element, of which several registers have a byte.

        The lane's column, of the factor with columns, is that of its number down.
        """
        number, access = factor
        local = {d: where + others.get(d, 0) for d, where in self._local.items()}
        if self._across[factor] == self._rows:
            local[self._rows] = self._local[self._rows] + place[0]
        else:
            local[self._columns] = self._column + place[0]
        build, values = self._c.build, list[Value]()
        name = build.shared if self._c.s.private_copies[number] else build.name
        for n in range(self._together):
            local[self._terms] = self._term + (place[1] + n)
            values.append(load(self._c, number, access, Point(dict(local), dict(local))))
        return name(stem, values[0] if len(values) == 1 else Apply("pack", tuple(values), BITS))

    def _rows_of_blocks(
        self, stem: str, factor: Factor, places: list[tuple[int, int]], others: dict[int, int], turned: bool
    ) -> list[Value]:
        """Load as many blocks at once as can be: each lane points at a row, and gets its elements of all of them."""
        c, (number, access), across = self._c, factor, self._across[factor]
        begin = self._first_row if across == self._rows else self._first_column
        dtype = BITS if self._atom.packed > 1 else c.h.inputs[number].dtype
        found: list[Value] = []
        while len(found) < len(places):
            some = places[len(found) : len(found) + 4]
            some = some if len(some) == 4 else some[:2]
            # Blocks differ from the first one by what the second does, what the third does, or by both.
            (where, term), *steps = some[:3]
            local = {d: at + others.get(d, 0) for d, at in self._local.items()}
            local[across], local[self._terms] = begin + where, constant(term)
            for bit, (other_where, other_term) in zip(self._block, steps, strict=False):
                local[across] = local[across] + bit * (other_where - where)
                local[self._terms] = local[self._terms] + bit * (other_term - term)
            pointed = self._terms if turned else across
            local[pointed] = local[pointed] + self._row_of_block
            source = load(c, number, access, Point(local, local))
            assert isinstance(source, Load)
            into = tuple(c.build.register(stem, dtype) for _ in some)
            c.build.add(LoadMatrix(into, source.buffer, source.offset, turned))
            found += into
        return found

    def _watch(self, factors: Sequence[tuple[tuple[Value, ...], ...]], who: Index, count: int, step: int) -> None:
        """Of the work-items that load the same elements some look at them."""
        if self._watched is None:
            return
        with self._c.build.when([Compare(who, "==", constant(step % count))]):
            for factor in factors:
                look(self._c, self._watched, factor[2])


def _points(c: Context, dims: Collection[int]) -> Iterator[tuple[int, ...]]:
    """Offsets of the private tile's points along some dimensions."""
    return product(*map(c.offsets, dims))


def _terms(atom: Atom) -> Sequence[tuple[int, int]]:
    """Which parts of both factors are multiplied: of those that are split the smallest products first."""
    return ((1, 0), (0, 1), (0, 0)) if atom.split else ((0, 0),)
