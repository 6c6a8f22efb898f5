"""Steps of the online form in registers: maps, and reductions of rows.

A lane has two rows, eight apart, and of each block of eight columns a pair of neighbours; four lanes beside each other
have a row together, as matrix instructions give it.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mdhnp.codegen.access import Context, Point, load
from mdhnp.codegen.ir.index import ONE, ZERO, Index, call, constant, least
from mdhnp.codegen.ir.values import BOOL, Apply, Const, IndexValue, Register, Shuffled, Value, half, splat
from mdhnp.codegen.link import NestLink
from mdhnp.codegen.scalar import emit
from mdhnp.mdh import Function
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.matrices import ACROSS, DOWN
from mdhnp.schedule.online import Fragments, weighing
from mdhnp.schedule.schedule import Schedule

#: Rows of a lane, and columns of a block.
HALVES, BLOCK = 2, 8

#: Of a value: for each of the lane's rows the registers that it has, scalars or pairs of neighbours.
RowValues = tuple[tuple[Register, ...], ...]


class Steps:
    """Where a lane's elements are, and the registers of each value that is known."""

    def __init__(self, f: Fragments, c: Context) -> None:
        self.fragments, self.form, self.c, self.build, self.atom = f, f.form, c, c.build, ATOMS[c.s.atom]
        self.row = f.form.shared[-1][-1]
        self.rows, self.points = c.s.local_tile[self.row], c.s.local_tile[c.s.streamed]
        #: If so, right factors are not looked at: what their parts lack shows in results, if anywhere.
        self.weighing = weighing(f)
        #: Of rows, and of points that are streamed, how many there are.
        self.count, self.all = c.h.extents[self.row], f.form.mdhoms[f.result.step].extents[f.result.terms]
        self.ragged = self.all % self.points > 0
        self.each = [self._context(n) for n in range(len(f.form.mdhoms))]
        self.values: dict[int, RowValues] = {}

    def name_places(self) -> None:
        """Name where the work-item is: its lane, and its rows in the work-group, in arrays, and kept inside of them."""
        b, c = self.build, self.c
        self.item = b.let(c.item_id, call("local_id"))
        self.lane, self.warp = b.named("lane", self.item % ATOMS[c.s.atom].lanes), b.named("warp", self.item // 32)
        self.beside = b.named("beside", self.lane % ACROSS)
        #: The work-group's first row.
        self.first = c.at(self.row, "g") * self.rows if c.groups(self.row) != ONE else ZERO
        own = self.warp * (DOWN * HALVES) + self.lane // ACROSS
        self.local = [b.named("row", own + p * DOWN) for p in range(HALVES)]
        self.places = [self.first + n for n in self.local]
        self.inside = [b.named("inside", self.kept(n)) for n in self.places]

    def kept(self, row: Index) -> Index:
        """A row, or the last one where there are none any more."""
        return least(row, constant(self.count - 1)) if self.count % self.rows else row

    def _context(self, n: int) -> Context:
        """Of a step's MDH: pairs of neighbours along a row."""
        c, step = self.c, self.form.graph.steps[n]
        h = step.mdhom.last
        s = Schedule.plain(h.extents, len(h.inputs))
        if self.fragments.columns[n] >= 0:
            s = replace(s, vector_dim=self.fragments.columns[n], vector_width=2)
        for value, view in step.reads:
            if value < self.form.graph.given:
                c.hold(view, c.buffer(self.form.inputs[value]))
        if n == len(self.form.mdhoms) - 1:
            for view, own in zip(self.form.outputs, h.outputs, strict=True):
                c.hold(own, c.buffer(view))
        return c.inner(h, s, NestLink(), c.subgroup)

    def point(self, n: int, row: Index, column: Index = ZERO, lanes: int = 1) -> Point:
        """The place of an element of a row."""
        at = dict.fromkeys(range(self.form.mdhoms[n].rank), ZERO)
        for own, d in zip(self.form.shared[n], self.form.shared[-1], strict=True):
            at[own] = row if d == self.row else self.c.at(d, "g") if self.c.groups(d) != ONE else ZERO
        if self.fragments.columns[n] < 0:
            return Point(at, at)
        at[self.fragments.columns[n]] = column
        return Point(at, at, lanes)

    def place(self, n: int, p: int, block: int, begin: Index = ZERO) -> Point:
        """The place of a pair; beyond the last point it is where that is."""
        column = self.beside * 2 + block * BLOCK
        if not self._is_tile(n):
            return self.point(n, self.inside[p], column, 2)
        if not self.ragged:
            return self.point(n, self.inside[p], begin + column, 2)
        near = least(begin + column, constant(self.all - 1))
        return replace(self.point(n, self.inside[p], near, 2), valid=constant(self.all) - near)

    def _is_tile(self, n: int) -> bool:
        return self.form.streamed[n] >= 0 and self.fragments.columns[n] == self.form.streamed[n]

    def blocks(self, n: int) -> int:
        if self.fragments.columns[n] < 0:
            return 1
        return (self.points if self._is_tile(n) else self.form.mdhoms[n].extents[self.fragments.columns[n]]) // BLOCK

    def apply(
        self, n: int, function: Function, p: int, block: int, at: Point, known: Mapping[int, Value], first: int = 0
    ) -> list[Value]:
        """Apply a function of a step to what there is at a place; its parameters before `first` are known."""
        step, nest, given = self.form.graph.steps[n], self.each[n], dict(known)
        for number in sorted(function.used_parameters()):
            if number in given:
                continue
            k, access = nest.h.accesses[number - first]
            value = self.values.get(step.inputs[k])
            if value is None:
                given[number] = self.build.shared("x", load(nest, k, access, at))
            else:
                given[number] = value[p][block] if len(value[p]) > 1 else value[p][0]
        indices: dict[int, Value] = {}
        for d in function.used_indices():
            lanes = at.lanes if d == self.fragments.columns[n] else 1
            indices[d] = IndexValue(at.point[d], np.dtype(np.int64), lanes)
        return emit(function, given, indices, self.build)

    def step(self, n: int, begin: Index = ZERO) -> None:
        """A map, or a reduction of each row, of what is in registers."""
        h, numbers = self.form.mdhoms[n], self.form.graph.values(n)
        if any([h.extents[d] > 1 for d in h.dims("pw")]):
            self._reduce(n, begin)
            return
        found: list[list[tuple[Register, ...]]] = [[] for _ in numbers]
        for p in range(HALVES):
            every: list[list[Register]] = [[] for _ in numbers]
            for block in range(self.blocks(n)):
                results = self.mapped(n, h.scalar, p, block, begin, {}, 0)
                if h.finish is not None:
                    known = dict(enumerate(results))
                    results = self.mapped(n, h.finish, p, block, begin, known, len(results))
                for one, value in zip(every, results, strict=True):
                    one.append(value)
            for some, one in zip(found, every, strict=True):
                some.append(tuple(one))
        self.values |= {v: tuple(some) for v, some in zip(numbers, found, strict=True)}

    def mapped(
        self, n: int, function: Function, p: int, block: int, begin: Index, known: Mapping[int, Value], first: int
    ) -> list[Register]:
        at = self.place(n, p, block, begin)
        results = self.apply(n, function, p, block, at, known, first)
        return [self.build.name("s", splat(value, at.lanes)) for value in results]

    def _reduce(self, n: int, begin: Index) -> None:
        """Reduce what four lanes have of each row; then all of them have the result."""
        b, h, totals = self.build, self.form.mdhoms[n], list[tuple[Register, ...]]()
        operator = h.combiner
        for p in range(HALVES):
            total: Register | None = None
            for block in range(self.blocks(n)):
                (value,) = self.mapped(n, h.scalar, p, block, begin, {}, 0)
                value = self.counted(value, block, begin, operator.neutral[0])
                total = value if total is None else self._both(operator.function, total, value)
            assert total is not None
            total = self._both(operator.function, *[b.name("h", half(total, 1, upper=u)) for u in (False, True)])
            for distance in (1, 2):
                # The lane that differs in one digit of its number.
                other = constant(distance) - self.beside // distance % 2 * (2 * distance)
                total = self._both(operator.function, total, b.name("other", Shuffled(total, other)))
            if h.finish is not None:
                at = self.point(n, self.inside[p])
                (last,) = self.apply(n, h.finish, p, 0, at, {0: total}, 1)
                total = b.name("r", last)
            totals.append((total,))
        self.values[self.form.graph.values(n)[0]] = tuple(totals)

    def _both(self, function: Function, left: Value, right: Value) -> Register:
        (value,) = emit(function, {0: left, 1: right}, {}, self.build)
        return self.build.name("r", value)

    def counted(self, value: Register, block: int, begin: Index, otherwise: str) -> Register:
        """A pair of which what lies beyond the last point is something else."""
        if not self.ragged:
            return value
        where = IndexValue(begin + self.beside * 2 + block * BLOCK, np.dtype(np.int64), 2)
        inside = Apply("less", (where, Const(str(self.all), where.dtype)), BOOL, 2)
        other = splat(Const(otherwise, value.dtype), 2)
        return self.build.name("s", Apply("where", (inside, value, other), value.dtype, 2))
