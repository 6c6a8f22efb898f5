"""Private tiles computed by matrix instructions: products of tiles in local memory, by work-items together.

Each work-item has the results that it has anyway: an atom's lanes are laid over the work-items so that its result's
fragment is what the schedule's work-items, pairs and points say. Elements of the factors are loaded for the whole
atom, of which a work-item holds some for the others.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, product

from mdhnp.codegen.access import Context, Point, load, place_of
from mdhnp.codegen.factors import BITS, look, parts
from mdhnp.codegen.ir import statements as st
from mdhnp.codegen.ir.index import ZERO, Compare, Index, constant, variable
from mdhnp.codegen.ir.values import BOOL, HALF, Apply, IndexValue, Load, Register, Shuffled, Value, half
from mdhnp.codegen.layers import points_inside
from mdhnp.codegen.producers import operand_buffer, prepared_at
from mdhnp.codegen.reduce import Accumulators, elements
from mdhnp.codegen.scalar import applied
from mdhnp.codegen.store import element_point, finished
from mdhnp.schedule.atoms import ATOMS, Atom, Fragment
from mdhnp.schedule.layout import PREPARED, WIDEST, WORDS, is_wide, swizzles, waits_later, wide_operand
from mdhnp.schedule.matrices import ACROSS, DOWN, Factor, in_rows, operands, oriented, panels


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
        if swizzles(c.s):
            found.swizzled()
        elif is_wide(c.s):
            found.wide(before % PREPARED)
        else:
            found.all()


def await_products(c: Context, acc: Accumulators) -> None:
    """Wait for the sums of the last tile, where they are not waited for in each."""
    if waits_later(c.s):
        c.build.add(st.WaitProducts(sums=tuple([_registers(some) for some in zip(*acc.values, strict=True)])))


def _registers(values: Sequence[Register | Load]) -> tuple[Register, ...]:
    return tuple([value for value in values if isinstance(value, Register)])


def are_words(c: Context) -> bool:
    """Whether four lanes beside each other exchange float16, so that each stores the 16 bytes of a block of columns."""
    first, view, column = len(c.h.scalar.dtypes), c.h.outputs[0], c.s.atom_dims[1]
    if len(c.h.outputs) > 1 or view.dtype != HALF or len(c.offsets(column)) % ACROSS:
        return False
    reads = c.h.finish is not None and any([p >= first for p in c.h.finish.used_parameters()])
    at = view.linear(view.accesses[0])
    others = [n for d, n in enumerate(at.coefficients) if d != column]
    whole = not any(n % (WIDEST // HALF.itemsize) for n in (c.h.extents[column], at.constant, *others))
    return at.coefficients[column] == 1 and whole and not view.indirect and not reads


def store_words(c: Context, acc: Accumulators) -> None:
    """Store results of float16, by the 16 bytes of a row of a block."""
    b, column = c.build, c.s.atom_dims[1]
    lane = b.named("beside", c.at(column, "w") % ACROSS)
    offsets, found = c.offsets(column), dict[tuple[tuple[int, int], ...], list[Register]]()
    for offset, values in zip(elements(c), acc.values, strict=True):
        (value,) = finished(c, element_point(c, offset, values[0].lanes), values)
        pair = [half(value, 1, upper=u) for u in (False, True)]
        words = found.setdefault(tuple((d, o) for d, o in offset.items() if d != column), [])
        words.append(b.name("word", Apply("pack_halves", tuple(pair), BITS)))
    for others, every in found.items():
        for n in range(0, len(every), ACROSS):
            words = every[n : n + ACROSS]
            for step in (1, 2):  # those whose numbers differ in one digit exchange half of what they have
                upper = IndexValue(lane // step % 2, BOOL)
                for k in [k for k in range(ACROSS) if not k & step]:
                    one, two = words[k], words[k + step]
                    given = b.name("given", Apply("where", (upper, one, two), BITS))
                    got = b.name("other", Shuffled(given, constant(step) - lane // step % 2 * (2 * step)))
                    words[k] = b.name("word", Apply("where", (upper, got, one), BITS))
                    words[k + step] = b.name("word", Apply("where", (upper, two, got), BITS))
            point = dict(element_point(c, dict(others) | {column: offsets[n]}, 1).point)
            point[column] = point[column] + lane * (offsets[1] - offsets[0] - 2)
            with b.when(points_inside(c, point, c.ragged)):
                b.add(st.StoreWords(c.buffer(c.h.outputs[0]), place_of(c, 0, Point(point, point))[0], tuple(words)))


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
        self._across = {f: d for some, d in zip(sides, (self._rows, self._columns), strict=True) for f in some}
        if swizzles(c.s):
            return
        across, down = c.at(self._columns, "w"), c.at(self._rows, "w")
        self._beside, self._below = across // ACROSS, down // DOWN
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
        for one, other in multiplied_parts(atom):
            for n, p in ((n, p) for n, some in enumerate(self._sums) for p in some):
                a, b = negative[p.left] if p.negated else left[p.left], right[p.right]
                i, j = p.bytes or (one, other)
                for (offsets, x), (o, y) in product(zip(downs, a, strict=True), zip(columns, b, strict=True)):
                    c.build.add(st.MatrixProduct(atom.name, self._into(n, offsets, o, others), x[i], y[j]))

    def wide(self, turn: Index) -> None:
        """All steps at once: subgroups wait for their sums, while others multiply."""
        c, atom, found = self._c, self._atom, list[st.WideProduct]()
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
                    at = constant(first // WORDS)
                    for one, other in multiplied_parts(atom):
                        for m, p in ((m, p) for m, some in enumerate(self._sums) for p in some):
                            part = self._right.index(p.right) * (operand.parts // len(self._right)) + other
                            where = prepared_at(operand, turn, part, self._local, at, ZERO)
                            right = st.Matrix(operand_buffer(c, number), where, DOWN * WIDEST, operand.width * WIDEST)
                            found.append(st.WideProduct(into[m], left[p.left][one], right, p.negated))
        c.build.add(st.WideProducts(atom.name, tuple(found)))
        c.build.add(st.WaitProducts())

    def swizzled(self) -> None:
        """All steps at once, of both factors as they were copied; of those of the tile before sums may be under way."""
        c, atom, ((left,), (right,)) = self._c, self._atom, (self._left, self._right)
        others = [d for d in c.kept if d not in (self._rows, self._columns)]
        across = [*product([dict(zip(others, n, strict=True)) for n in _points(c, others)], c.offsets(self._columns))]
        halves = c.offsets(self._rows)
        into = tuple([r for near, column in across for r in self._into(0, halves, column, near)])
        group = variable(c.item_id) // (atom.lanes * atom.warps)
        a, b = self._lying(left, group, atom.shape[0] * atom.warps), self._lying(right, ZERO, 0)
        steps = range(0, c.s.local_tile[self._terms], atom.shape[2])
        c.build.add(st.WideProducts(atom.name, tuple([st.WideProduct(into, a(step), b(step)) for step in steps])))
        c.build.add(st.WaitProducts(1) if waits_later(c.s) else st.WaitProducts(sums=(into,)))

    def _lying(self, factor: Factor, group: Index, rows: int) -> Callable[[int], st.Matrix]:
        """What tells where a factor's tile lies from a term on, for a group of subgroups that has so many rows."""
        c, across = self._c, self._across[factor]
        found = panels(c.h, c.s, factor, across)
        assert found is not None
        row, panel, turned = found
        begin = load(c, *factor, Point(self._local, self._local | dict.fromkeys((*c.kept, self._terms), ZERO)))
        assert isinstance(begin, Load)
        at, size = begin.offset, self._atom.itemsize
        at = at + group * (rows // row * panel if turned else rows * row)
        blocks = DOWN * row * size

        def matrix(term: int) -> st.Matrix:
            where = at + (term * row if turned else term // row * panel + term % row)
            return st.Matrix(begin.buffer, where, panel * size if turned else blocks, blocks, row * size, turned)

        return matrix

    def _negative(self, parts: tuple[tuple[Value, ...], ...]) -> tuple[tuple[Value, ...], ...]:
        """Parts of the number that has the other sign."""
        some = parts[:2] if self._atom.split else parts
        return tuple([tuple([self._c.build.name("negative", applied("negative", v)) for v in part]) for part in some])

    def _into(self, n: int, rows: Sequence[int], column: int, others: dict[int, int]) -> tuple[Register, ...]:
        """The sums of a result."""
        points = [{**others, self._rows: row, self._columns: column} for row in rows]
        return _registers([self._results[tuple(sorted(point.items()))][n] for point in points])

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
            c.build.add(st.LoadMatrix(into, source.buffer, source.offset, turned))
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


def multiplied_parts(atom: Atom) -> Sequence[tuple[int, int]]:
    """Which parts of both factors are multiplied: of those that are split the smallest products first."""
    return ((1, 0), (0, 1), (0, 0)) if atom.split else ((0, 0),)
