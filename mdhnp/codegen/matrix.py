"""Private tiles computed by matrix instructions: products of tiles in local memory, by work-items together.

Each work-item has the results that it has anyway: an atom's lanes are laid over the work-items so that its result's
fragment is what the schedule's work-items, pairs and points say. Elements of the factors are loaded for the whole
atom, of which a work-item holds some for the others.

Units that multiply fewer bits take each factor in two parts, x = high + low, and three products (source: Ootomo and
Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak
performance", 2022). That fails for numbers whose low part is too small for the unit, and for infinities, so the factors
are watched; where one is such, the work-group computes its results again, by multiply-adds.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain, product

import numpy as np

from mdhnp.codegen.access import Context, Point, load
from mdhnp.codegen.ir.index import ZERO, Compare, Index, constant, variable
from mdhnp.codegen.ir.statements import AllocLocal, Copy, LoadMatrix, MatrixProduct, Store, Truth
from mdhnp.codegen.ir.values import BOOL, Apply, Buffer, Const, Load, Outside, Register, Value, half
from mdhnp.codegen.reduce import Accumulators, elements, start
from mdhnp.codegen.scalar import applied
from mdhnp.schedule.atoms import ATOMS, Atom, Fragment
from mdhnp.schedule.matrices import ACROSS, DOWN, Factor, in_rows, operands, oriented

_BITS = np.dtype(np.uint32)
#: Twice the bits of a float32, less one, are below this for 0 < |x| < 2^-102: the last bit of its low part may be below
#: 2^-126, where a unit need not tell numbers from 0.
_SMALLEST = (25 << 24) - 1
_MOST = 2**32 - 1
#: Whether some work-item of the group doubts its results.
_DOUBT = Buffer("doubtful_l", np.dtype(np.int32), "local", values=1)


def declare_doubt(c: Context) -> None:
    """Declare what work-items tell each other of their factors; at the kernel's beginning, as all local memory."""
    if c.s.atom and ATOMS[c.s.atom].split:
        c.build.add(AllocLocal(_DOUBT, 1))


def watch(c: Context) -> Register | None:
    """Declare what is known of the factors, where their parts may not be what they are."""
    return c.build.declare("least", Const(str(_MOST), _BITS)) if ATOMS[c.s.atom].split else None


def accumulate_products(c: Context, acc: Accumulators, watched: Register | None) -> None:
    """Add the products of one local tile's points."""
    with ExitStack() as loops:
        others = [d for d in c.combined if d != c.s.atom_dims[2]]
        local = {d: c.local(d) for d in c.kept}
        for d in others:
            local[d] = ZERO
            if c.points(d).known != 1:
                loops.enter_context(c.build.up_to(c.var(d, "p"), c.points(d)))
                local[d] = c.at(d, "p")
        _Products(c, acc, local, watched).all()


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
        self._turned = {factor: in_rows(c.h, c.s, factor, d) for factor, d in self._across.items()}
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
            {f: [self._parts(stem, f, v) for v in self._loaded(stem, f, fragment, some, first, others)] for f in side}
            for stem, side, fragment, some in (("a", self._left, atom.a, downs), ("b", self._right, atom.b, single))
        ]
        left, right = loaded
        who = (self._beside, self._columns, ACROSS), (self._below, self._rows, DOWN)
        for factors, (item, d, lanes) in zip(loaded, who, strict=True):
            self._watch([*chain(*factors.values())], item, c.s.num_wi[d] // lanes, step)
        negative = {p.left: [*map(self._negative, left[p.left])] for some in self._sums for p in some if p.negated}
        for one, other in ((1, 0), (0, 1), (0, 0)) if atom.split else ((0, 0),):
            for n, p in ((n, p) for n, some in enumerate(self._sums) for p in some):
                a, b = negative[p.left] if p.negated else left[p.left], right[p.right]
                i, j = p.bytes or (one, other)
                for (offsets, x), (o, y) in product(zip(downs, a, strict=True), zip(columns, b, strict=True)):
                    c.build.add(MatrixProduct(atom.name, self._into(n, offsets, o, others), x[i], y[j]))

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
        return name(stem, values[0] if len(values) == 1 else Apply("pack", tuple(values), _BITS))

    def _rows_of_blocks(
        self, stem: str, factor: Factor, places: list[tuple[int, int]], others: dict[int, int], turned: bool
    ) -> list[Value]:
        """Load as many blocks at once as can be: each lane points at a row, and gets its elements of all of them."""
        c, (number, access), across = self._c, factor, self._across[factor]
        begin = self._first_row if across == self._rows else self._first_column
        dtype = _BITS if self._atom.packed > 1 else c.h.inputs[number].dtype
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

    def _parts(self, stem: str, factor: Factor, values: tuple[Value, ...]) -> tuple[tuple[Value, ...], ...]:
        """Elements as the unit takes them, rounded if need be; or their high and low parts, then themselves."""
        if self._c.h.inputs[factor[0]].dtype.name not in self._atom.values:
            return (tuple([self._c.build.name(f"{stem}_rounded", _rounded(v, self._atom.bits)) for v in values]),)
        if self._atom.places > 1:
            return tuple([self._bytes(stem, n, values) for n in range(self._atom.places)])
        if not self._atom.split:
            return (values,)
        high = [self._c.build.name(f"{stem}_high", _high(v, self._atom.bits)) for v in values]
        low = [self._c.build.name(f"{stem}_low", applied("subtract", v, h)) for v, h in zip(values, high, strict=True)]
        return tuple(high), tuple(low), values

    def _bytes(self, stem: str, byte: int, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """A byte of each integer, several in a register."""
        number, each = Const(str(byte), _BITS), self._atom.packed
        some = [(*values[n : n + each], number) for n in range(0, len(values), each)]
        return tuple([self._c.build.name(f"{stem}_byte", Apply("pack_bytes", args, _BITS)) for args in some])

    def _watch(self, factors: Sequence[tuple[tuple[Value, ...], ...]], who: Index, count: int, step: int) -> None:
        """Of the work-items that load the same elements some look at them."""
        if self._watched is None:
            return
        with self._c.build.when([Compare(who, "==", constant(step % count))]):
            for factor in factors:
                for value in factor[2]:
                    bits = Apply("bits", (value,), _BITS)
                    twice = Apply("subtract", (Apply("add", (bits, bits), _BITS), Const("1", _BITS)), _BITS)
                    self._c.build.assign(self._watched, Apply("minimum", (self._watched, twice), _BITS))


def _high(value: Value, bits: int) -> Value:
    """As many of a float's bits as the unit takes."""
    return Apply("high_bits", (value, Const(str(bits), _BITS)), value.dtype)


def _rounded(value: Value, bits: int) -> Value:
    """Give a float with as many bits as the unit takes; NaN as it is, since a carry may make it a number."""
    return applied("where", Apply("equal", (value, value), BOOL), _high(value, bits), value)


def doubtful(c: Context, total: Accumulators, watched: Register) -> Value:
    """Whether some work-item of the group has seen a factor that is not the sum of its parts, or has no finite results.

    A factor that is not finite makes results that are not.
    """
    b, flag = c.build, _DOUBT
    with b.when([Compare(variable(c.item_id), "==", ZERO)]):
        b.add(Store(flag, ZERO, Const("0", flag.dtype)))
    nothing: Value | None = None
    for result in chain(*total.values):
        none = Apply("multiply", (result, start("0.0", result.dtype, result.lanes)), result.dtype, result.lanes)
        nothing = none if nothing is None else Apply("add", (nothing, none), result.dtype, result.lanes)
    assert nothing is not None
    pair = b.name("nothing", nothing)
    halves = [half(pair, 1, upper=upper) for upper in (False, True)]
    small = Apply("less", (watched, Const(str(_SMALLEST), _BITS)), BOOL)
    first, second = (Apply("not_equal", (h, Const("0.0", h.dtype)), BOOL) for h in halves)
    strange = Apply("logical_or", (small, Apply("logical_or", (first, second), BOOL)), BOOL)
    with b.when([Truth(strange)]):
        b.add(Copy(flag, ZERO, Outside("1", flag.dtype)))
    return Apply("not_equal", (Load(flag, ZERO), Const("0", flag.dtype)), BOOL)
