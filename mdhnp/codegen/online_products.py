"""Both products of the online form: by matrix instructions, or again by multiply-adds; and what they read.

Tiles of right factors lie in local memory, and so does the left factor of scores for all rows of a work-group. The
other left factor is made of scores, in registers: the instruction adds up its terms in any order, so that they are
those whose scores a lane has.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from mdhnp.codegen.access import Point, load, swizzled
from mdhnp.codegen.factors import BITS, look, parts
from mdhnp.codegen.ir import statements as st
from mdhnp.codegen.ir.index import ONE, ZERO, Compare, Index, Var, constant, divided, least, variable
from mdhnp.codegen.ir.values import SINGLE, Apply, Buffer, Const, Load, Outside, Register, Value, half, splat
from mdhnp.codegen.matrix import multiplied_parts
from mdhnp.codegen.online_steps import BLOCK, HALVES, RowValues, Steps
from mdhnp.codegen.scalar import applied
from mdhnp.schedule.layout import ALIGNED, WIDEST
from mdhnp.schedule.matrices import ACROSS, DOWN
from mdhnp.schedule.online import Multiplied, beside, pitch, sizes, stride, together
from mdhnp.schedule.schedule import Schedule

#: Parts of numbers from 2**-149 on, the least of float32, are exact of those so many times as large: with such scores
#: instructions multiply, so that their sums are to be multiplied by `SMALLER`.
_LARGER, SMALLER = "18446744073709551616.0", "5.421010862427522e-20"

#: Queries below which parts of keys are exact enough.
_BELOW = "1099511627776.0"

#: Of each row, sums of some blocks of columns; what gives them, added to others if there are such.
Sums = Sequence[Sequence[Register]]
Columns = Callable[..., Sums]


def _lanes(value: Value) -> list[Value]:
    """The lanes of a vector, one by one."""
    if value.lanes == 1:
        return [value]
    return [lane for u in (False, True) for lane in _lanes(half(value, value.lanes // 2, upper=u))]


class Products:
    """The local memory of factors, and sums of their products."""

    def __init__(self, s: Steps) -> None:
        f, self._s, self._build, self._atom = s.fragments, s, s.build, s.atom
        self._terms, self._wide = f.widths
        counts = [n // s.atom.itemsize for n in sizes(f, s.atom, s.rows, s.points)]
        dtype, packed = np.dtype(s.atom.operand), s.atom.packed > 1
        self._queries, self._first, self._second = (
            Buffer(f"{name}_l", dtype, "local", packed=packed) for name in ("queries", "first", "second")
        )
        self._factors = (f.scores, self._first), (f.result, self._second)
        for buffer, size in zip((self._queries, self._first, self._second), counts, strict=True):
            s.build.add(st.AllocLocal(buffer, size, ALIGNED if s.atom.wide else WIDEST))
        #: Where scores wait that are multiplied without instructions.
        self._scores = replace(self._first, dtype=SINGLE, packed=False)

    def copy_queries(self, watched: Register | None) -> None:
        """Compute the left factor of scores for all rows of the work-group."""
        b, n, apart = self._build, self._s.fragments.queries, stride(self._atom, self._terms)
        lanes = WIDEST // self._atom.itemsize
        vectors = self._terms // lanes
        e = Var("e", None, 0, self._s.rows * vectors - 1)
        end = Compare(variable(e), "<", constant(self._s.rows * vectors))
        with b.loop(e, self._s.item, end, self._s.c.s.work_items):
            row, column = b.named("y", variable(e) // vectors), b.named("x", variable(e) % vectors * lanes)
            at = b.named("at", self._s.kept(self._s.first + row))
            (value,) = self._s.apply(n, self._s.form.mdhoms[n].scalar, 0, 0, self._s.point(n, at, column, lanes), {})
            value = b.name("q", splat(value, lanes))
            if watched is not None:
                look(self._s.c, watched, _lanes(value), _BELOW if self._s.weighing else "")
            b.add(st.Store(replace(self._queries, phase=1), row * apart + column, value, ONE))

    def fill(self, begin: Index, slot: Index) -> None:
        """Start to copy the tiles of both right factors from a point on."""
        for product, buffer in self._factors:
            h, (number, _) = self._s.form.mdhoms[product.step], product.right
            name = self._s.each[product.step].buffer(h.inputs[number]).name
            self._build.comment(f"The next tile of {name} to local memory")
            for row, column, target in self._shares(product, slot):
                point = self._build.named("at", begin + row)
                source = self._of_right(product, point, column)
                if self._s.ragged:
                    guard = (Compare(point, "<", constant(self._s.all)),)
                    source = replace(source, guard=guard, outside=Outside("0", source.dtype))
                self._build.add(st.Copy(buffer, target, source, asynchronous=True))

    def _of_right(self, product: Multiplied, point: Index, column: Index) -> Load:
        """Some neighbours of a row of a right factor in memory."""
        n, across, lanes = product.step, self._across(product), together(self._s.fragments, product)
        h = self._s.form.mdhoms[n]
        s = replace(Schedule.plain(h.extents, len(h.inputs)), vector_dim=across, vector_width=lanes)
        at = dict(self._s.point(n, ZERO).point) | {self._s.form.streamed[n]: point, across: column}
        source = load(replace(self._s.each[n], s=s), *product.right, Point(at, at, lanes))
        assert isinstance(source, Load)
        return source

    def look_at_values(self, watched: Register) -> None:
        """Look at all of the second right factor, in memory."""
        b, product = self._build, self._s.fragments.result
        lanes = together(self._s.fragments, product)
        vectors = self._wide // lanes
        e = Var("e", None, 0, self._s.all * vectors - 1)
        end = Compare(variable(e), "<", constant(self._s.all * vectors))
        with b.loop(e, self._s.item, end, self._s.c.s.work_items):
            value = b.name("seen", self._of_right(product, variable(e) // vectors, variable(e) % vectors * lanes))
            look(self._s.c, watched, _lanes(value))

    def look(self, watched: Register, slot: Index) -> None:
        """Look at what the work-item has copied of the current tiles."""
        for one, buffer in self._factors:
            for _, _, target in self._shares(one, slot):
                each = [Load(buffer, target + n) for n in range(together(self._s.fragments, one))]
                look(self._s.c, watched, [self._build.name("seen", value) for value in each])

    def _across(self, product: Multiplied) -> int:
        """The dimension of a right factor along which its rows in local memory are."""
        return product.terms if self._s.form.streamed[product.step] == product.columns else product.columns

    def _shares(self, product: Multiplied, slot: Index) -> Iterator[tuple[Index, Index, Index]]:
        """What a work-item copies of a tile, some neighbours of a row at once: rows, columns, and where they lie."""
        b, lanes, points = self._build, together(self._s.fragments, product), self._s.points
        wide = self._s.form.mdhoms[product.step].extents[self._across(product)]
        near, apart, total = beside(self._atom, wide), pitch(self._atom, wide), points * wide // lanes
        for first in range(0, total, self._s.c.s.work_items):
            e = self._s.item + first
            panel, rest = divided(e, points * near // lanes) if near < wide else (ZERO, e)
            row, vector = divided(rest, near // lanes)
            # Swizzled rows of so many elements have their 16 bytes in different orders.
            swizzles, column = self._atom.wide, vector * lanes
            lies = swizzled(row * near, column, near, self._atom.itemsize) if swizzles else row * apart + column
            at = slot * (points * apart) + panel * (points * near) + lies
            with b.when([Compare(e, "<", constant(total))]):
                yield b.named("y", row), b.named("x", panel * near + column), at

    def _zeros(self, first: int, last: int) -> list[list[Register]]:
        zero = splat(Const("0.0", SINGLE), 2)
        return [[self._build.declare("acc", zero) for _ in range(first, last)] for _ in range(HALVES)]

    def load_queries(self) -> list[tuple[Register, ...]]:
        """Load the subgroup's rows of the left factor of scores, some terms after the other; to stay in registers."""
        return [self._queries_at(constant(k)) for k in range(0, self._terms, self._atom.shape[2])]

    def _queries_at(self, k: Index) -> tuple[Register, ...]:
        apart, wide, lane = stride(self._atom, self._terms), WIDEST // self._atom.itemsize, self._s.lane
        row = self._s.warp * (DOWN * HALVES) + lane % DOWN + lane // DOWN % 2 * DOWN
        return self._matrices(self._queries, row * apart + lane // (2 * DOWN) * wide + k, 4)

    def scores_by_atoms(self, slot: Index, queries: Sequence[tuple[Register, ...]] | None) -> list[list[Register]]:
        """The scores of a tile: a subgroup's rows by all points, some terms after the other.

        The rows are in registers, or loaded for each tile.
        """
        b, sums, depth = self._build, self._zeros(0, self._s.points // BLOCK), self._atom.shape[2]
        if queries is not None and self._atom.wide:
            together, points = beside(self._atom, self._terms), self._s.points
            terms = [k // together * points * together + k % together for k in range(0, self._terms, depth)]
            where = [slot * (points * self._terms) + k for k in terms]
            self._multiply_wide(sums, queries, self._first, where, together, turned=False)
            return sums
        apart, wide, lane = stride(self._atom, self._terms), WIDEST // self._atom.itemsize, self._s.lane
        near, block, half_ = lane % DOWN, lane // DOWN % 2, lane // (2 * DOWN)
        keys = b.named("from", slot * (self._s.points * apart) + (near + half_ * BLOCK) * apart + block * wide)
        if queries is not None:
            for n, left in enumerate(queries):
                self._add_scores(sums, left, keys + n * depth)
            return sums
        k = Var("k", None, 0, self._terms - depth)
        with b.up_to(k, self._terms, depth):
            self._add_scores(sums, self._queries_at(variable(k)), keys + variable(k))
        return sums

    def _add_scores(self, sums: Sums, queries: Sequence[Value], keys: Index) -> None:
        """Add what some terms make of the scores."""
        one, apart = self._s.fragments.scores, stride(self._atom, self._terms)
        left = self._parts(one, "a", queries)
        for first in range(0, self._s.points // BLOCK, 2):
            found = self._matrices(self._first, keys + first * BLOCK * apart, 4)
            for n in range(2):
                self._multiply(sums, first + n, left, self._parts(one, "b", found[2 * n : 2 * n + 2]))

    def _matrices(self, buffer: Buffer, at: Index, blocks: int, *, turned: bool = False) -> tuple[Register, ...]:
        dtype = BITS if self._atom.packed > 1 else buffer.dtype
        into = tuple([self._build.register("f", dtype) for _ in range(blocks)])
        self._build.add(st.LoadMatrix(into, buffer, at, turned))
        return into

    def _parts(self, product: Multiplied, stem: str, values: Sequence[Value]) -> tuple[tuple[Value, ...], ...]:
        if self._atom.packed > 1:
            return (tuple(values),)
        return parts(self._s.each[product.step], self._atom, stem, product.left[0], tuple(values))

    def _multiply(
        self, sums: Sums, block: int, left: Sequence[tuple[Value, ...]],
        right: Sequence[tuple[Value, ...]],
    ) -> None:  # fmt: skip
        into = tuple([row[block] for row in sums])
        for a, b in multiplied_parts(self._atom):
            self._build.add(st.MatrixProduct(self._atom.name, into, tuple(left[a]), tuple(right[b])))

    def _multiply_wide(
        self, sums: Sums, left: Sequence[Sequence[Value]], buffer: Buffer, where: Sequence[Index], near: int, *,
        turned: bool,
    ) -> Sums:  # fmt: skip
        """Add products, some terms after the other; swizzled rows, of `near` elements, are of columns if `turned`."""
        into = tuple([total for totals in zip(*sums, strict=True) for total in totals])
        row = near * self._atom.itemsize
        panel = self._s.points * row if turned else DOWN * row
        matrices = [st.Matrix(buffer, at, panel, DOWN * row, row, turned) for at in where]
        products = tuple([st.WideProduct(into, tuple(a), b) for a, b in zip(left, matrices, strict=True)])
        self._build.add(st.WideProducts(self._atom.name, products))
        self._build.add(st.WaitProducts(sums=(into,)))
        return sums

    def result_by_atoms(self, left: RowValues, slot: Index) -> Columns:
        """What multiplies what was made of scores by some blocks of the second right factor's columns."""
        depth = self._atom.shape[2] // BLOCK
        factors = [
            self._left_factor([some[n : n + depth] for some in left]) for n in range(0, self._s.points // BLOCK, depth)
        ]
        if self._atom.wide:
            near, begin = beside(self._atom, self._wide), slot * (self._s.points * self._wide)
            where = [begin + n * depth * BLOCK * near for n in range(len(factors))]
            single = [a for (a,) in factors]
            return lambda _first, _last, sums: self._multiply_wide(sums, single, self._second, where, near, turned=True)
        load = self._turned(slot) if self._atom.packed > 1 else self._element(slot)

        def product(first: int, last: int, into: Sequence[Sequence[Register]] | None = None) -> Sums:
            sums = self._zeros(first, last) if into is None else into
            for n, factor in enumerate(factors):
                for block in range(first, last, 2):
                    for k, values in enumerate(load(n, block, min(last - block, 2))):
                        right = self._parts(self._s.fragments.result, "b", values)
                        self._multiply(sums, block + k - first, factor, right)
            return sums

        return product

    def _element(self, slot: Index) -> Callable[[int, int, int], list[tuple[Value, ...]]]:
        """What loads some blocks of the second right factor by elements, of the terms whose scores a lane has."""
        b, apart = self._build, stride(self._atom, self._wide)
        at = b.named("from", (slot * self._s.points + self._s.beside * 2) * apart + self._s.lane // ACROSS)

        def loaded(n: int, block: int, count: int) -> list[tuple[Value, ...]]:
            first = at + (n * BLOCK * apart + block * BLOCK)
            each = [first + k * BLOCK for k in range(count)]
            return [tuple([b.name("b", Load(self._second, where + t * apart)) for t in range(2)]) for where in each]

        return loaded

    def _turned(self, slot: Index) -> Callable[[int, int, int], list[tuple[Value, ...]]]:
        """The same by matrices of 2-byte elements, which are turned: lanes point at rows of terms."""
        b, apart, lane = self._build, stride(self._atom, self._wide), self._s.lane
        row = slot * self._s.points + lane % (2 * DOWN)
        at = b.named("from", row * apart + lane // (2 * DOWN) * BLOCK)

        def loaded(n: int, block: int, count: int) -> list[tuple[Value, ...]]:
            where = at + (n * 2 * BLOCK * apart + block * BLOCK)
            found = self._matrices(self._second, where, 2 * count, turned=True)
            return [found[2 * k : 2 * k + 2] for k in range(count)]

        return loaded

    def _left_factor(self, rows: Sequence[Sequence[Register]]) -> tuple[tuple[Value, ...], ...]:
        """Blocks of scores as the instruction takes them: neighbours in a register, or half of its terms apart."""
        b, found = self._build, list[Value]()
        if self._atom.packed > 1:
            for pairs in zip(*rows, strict=True):
                each = [tuple([half(pair, 1, upper=u) for u in (False, True)]) for pair in pairs]
                found += [b.name("a", Apply("pack_halves", pair, BITS)) for pair in each]
            return (tuple(found),)
        for upper in (False, True):
            for (pair,) in rows:
                value = half(pair, 1, upper=upper)
                found.append(b.name("a", applied("multiply", value, Const(_LARGER, SINGLE))))
        return self._parts(self._s.fragments.result, "a", found)

    def scores_by_terms(self, begin: Index) -> list[list[Register]]:
        b, f, apart = self._build, self._s.fragments, stride(self._atom, self._terms)
        sums, n = self._zeros(0, self._s.points // BLOCK), f.scores.step
        k = Var("k", None, 0, self._terms - 1)
        with b.up_to(k, self._terms):
            left = [b.name("a", Load(self._queries, row * apart + variable(k))) for row in self._s.local]
            for block in range(self._s.points // BLOCK):
                at = self._s.place(n, 0, block, begin)
                at = replace(at, point={**at.point, f.scores.terms: variable(k)})
                right = b.name("b", load(self._s.each[n], *f.scores.right, at))
                for p, value in enumerate(left):
                    term = Apply("multiply", (value, right), SINGLE, 2)
                    b.assign(sums[p][block], Apply("add", (sums[p][block], term), SINGLE, 2))
        return sums

    def result_by_terms(self, left: RowValues, begin: Index) -> Columns:
        """The same of the second product, through local memory, since lanes have terms of their own."""
        b, f, n = self._build, self._s.fragments, self._s.fragments.result.step
        for row, some in zip(self._s.local, left, strict=True):
            for block, pair in enumerate(some):
                for u in (False, True):
                    where = row * self._s.points + (self._s.beside * 2 + block * BLOCK + u)
                    b.add(st.Store(self._scores, where, half(pair, 1, upper=u)))
        end = least(constant(self._s.points), constant(self._s.all) - begin)

        def product(first: int, last: int) -> Sums:
            sums, k = self._zeros(first, last), Var("k", None, 0, self._s.points - 1)
            with b.loop(k, ZERO, Compare(variable(k), "<", end)):
                values = [b.name("a", Load(self._scores, row * self._s.points + variable(k))) for row in self._s.local]
                for block in range(first, last):
                    at = self._s.place(n, 0, block, begin)
                    at = replace(at, point={**at.point, f.result.terms: begin + variable(k)})
                    right = b.name("b", load(self._s.each[n], *f.result.right, at))
                    for p, value in enumerate(values):
                        term = Apply("multiply", (value, right), SINGLE, 2)
                        target = sums[p][block - first]
                        b.assign(target, Apply("add", (target, term), SINGLE, 2))
            return [[*some] for some in sums]

        return product
