"""Random rows: reductions, products and maps of some rows; values are whole numbers, so that results are exact.

With a ring's operations (`random_functions.ring`) values are any integers, which sums and weights that are odd combine:
what is lost, or counted twice, changes the results.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from random_functions import Picker, any_integers
from running import lowered
from schedules import CAPS, MATRICES
from strategies import Array

import mdhnp
from mdhnp.codegen import Program, generate
from mdhnp.mdh import Affine, Combine, Graph, MdHom, Rows, Step, View, pw, rows, stages, trace
from mdhnp.mdh.combine import CC
from mdhnp.mdh.views import contiguous, row_major
from mdhnp.schedule.default import candidates, default

__all__ = ["online_program", "program", "random_rows"]


def random_rows(p: Picker, longest: int = 12, *, in_ring: bool = False) -> tuple[Rows, list[Array]]:
    """Rows of two to five steps along one or two dimensions; what is given may have rows, or be shared by all."""
    while True:
        made = _Steps(p, longest, in_ring)
        for _ in range(p.integer(2, 5)):
            made.add()
        found = rows(Graph.ending(made.given, made.ordered()))
        if found is not None and in_ring:
            return found, [any_integers(p, s, made.dtype) for s in made.arrays]
        if found is not None:
            values = [np.arange(np.prod(s)).reshape(s) * 7 % 5 - 2 * (made.dtype.kind != "u") for s in made.arrays]
            return found, [np.asarray(a).astype(made.dtype) for a in values]


class _Steps:
    """Steps as they are added: each reads what was made last."""

    def __init__(self, p: Picker, longest: int, in_ring: bool) -> None:
        self._p, self._in_ring = p, in_ring
        self.dtype = np.dtype(p.choice(("i4", "u4", "i8", "u1") if in_ring else ("f4", "i4", "f8", "i8", "u1")))
        self._rows = tuple([p.integer(2, longest) for _ in range(p.integer(1, 2))])
        self._sizes = [p.integer(2, longest) for _ in range(3)]
        #: Shapes of the arrays given, and of what steps give, and the steps: of values by shape, or ("given", number).
        self.arrays: list[tuple[int, ...]] = []
        self._made: list[tuple[int, ...]] = []
        self._steps: list[tuple[MdHom, list[tuple[bool, int]]]] = []

    @property
    def given(self) -> int:
        return len(self.arrays)

    def _new(self, shape: tuple[int, ...]) -> tuple[bool, int]:
        self.arrays.append(shape)
        return True, len(self.arrays) - 1

    def _shape(self, value: tuple[bool, int]) -> tuple[int, ...]:
        given, n = value
        return self.arrays[n] if given else self._made[n]

    def add(self) -> None:
        """Add a reduction, a product or a map of what was made last, or else of an array."""
        p, width = self._p, self._p.choice(self._sizes)
        last = (False, len(self._made) - 1) if self._made else self._new((*self._rows, width))
        inner = self._shape(last)[len(self._rows) :]
        kind = p.choice(("reduce", "product", "map", "map")) if inner and inner != (1,) else "map"
        rank = len(self._rows)
        of_rows = tuple(range(rank))
        if kind == "map":
            few = [(False, n) for n, s in enumerate(self._made[:-1]) if s in ((*self._rows, *inner), self._rows)]
            others = [v for v in few if p.integer(0, 1)]
            wide = not inner and p.integer(0, 1)
            if wide:
                others.append(self._new((*self._rows, width)))
            elif p.integer(0, 2) == 0:
                others.append(self._new(inner or self._rows))
            extents = (*self._rows, *((width,) if wide else inner))
            reads = [(v, tuple(range(len(self._shape(v))))) for v in [last, *others]]
            reads = [(v, (rank,) if self._shape(v) == inner and inner != self._rows else d) for v, d in reads]
            self._step(extents, len(extents), reads, tuple(range(len(extents))), None)
        elif kind == "reduce":
            operator = p.choice(("add",) if self._in_ring else ("add", "maximum"))
            kept = bool(p.integer(0, 1))
            self._step(
                (*self._rows, *inner), rank, [(last, (*of_rows, rank))], (*of_rows, -1) if kept else of_rows, operator
            )
        else:
            batch = of_rows[: p.integer(0, rank - 1)] if rank > 1 else ()
            shared = self._new((*[self._rows[d] for d in batch], *inner, width))
            reads = [(last, (*of_rows, rank + 1)), (shared, (*batch, rank + 1, rank))]
            self._step((*self._rows, width, *inner), rank + 1, reads, (*of_rows, rank), "add")

    def _step(
        self, extents: tuple[int, ...], kept: int, reads: list[Any], written: tuple[int, ...], operator: str | None
    ) -> None:
        """One step; dimensions from `kept` on are reduced; -1 is an axis of one element."""
        rank, views = len(extents), []
        for k, (value, dims) in enumerate(reads):
            shape = self._shape(value)
            dims = (*dims, -1)[: len(shape)]
            access = tuple([Affine((0,) * rank) if shape[a] == 1 else Affine.of(d, rank) for a, d in enumerate(dims)])
            views.append(View(f"x{k}", self.dtype, shape, row_major(shape), 0, (access,)))
        product = len(reads) == 2 and operator == "add"
        low, high = self.dtype.type(0 if self.dtype.kind == "u" else -3), self.dtype.type(3)

        def function(*x: Any) -> Any:
            if product:
                return x[0] * x[1]
            if self._in_ring and not operator:
                return sum([self.dtype.type(2 * n + 3) * v for n, v in enumerate(x)], self.dtype.type(1))
            return x[0] if operator else np.minimum(np.maximum(sum(x[1:], x[0] + high), low), high)

        f = trace(function, [self.dtype] * len(reads))
        shape = tuple([1 if d < 0 else extents[d] for d in written])
        access = tuple([Affine((0,) * rank) if d < 0 else Affine.of(d, rank) for d in written])
        output = View("y", self.dtype, shape, row_major(shape), 0, (access,))
        combine: tuple[Combine, ...] = (CC,) * kept
        if operator:
            combine = (
                *combine,
                *[pw({"add": "add", "maximum": "max"}[operator]).resolve([self.dtype]) for _ in range(rank - kept)],
            )
        self._steps.append((MdHom(extents, combine, f, tuple(views), (output,)), [v for v, _ in reads]))
        self._made.append(shape)

    def ordered(self) -> list[Step]:
        """The steps, with all values numbered: arrays given first."""
        return [Step(h, tuple([n if given else len(self.arrays) + n for given, n in v])) for h, v in self._steps]


def program() -> Program:
    """A kernel that shows how rows are computed: means of rows, and what is left of their elements."""
    dtype = np.dtype("f4")
    read, mean = contiguous("x", dtype, (40, 20), (0, 1)), contiguous("m", dtype, (40, 20), (0,))
    total = trace(lambda x: x, [dtype])
    added = MdHom((40, 20), (CC, pw("add").resolve([dtype])), total, (read,), (mean,))
    less = trace(lambda x, m: x - m * dtype.type(0.05), [dtype, dtype])
    rest = MdHom((40, 20), (CC, CC), less, (read, mean), (contiguous("y", dtype, (40, 20), (0, 1)),))
    made = rows(Graph.ending(1, [Step(added, (0,)), Step(rest, (0, 1))]))
    assert made is not None
    (few,) = [s for s in candidates(made, CAPS) if s.local_tile == (4, 20)]
    return generate(stages(made), [few], CAPS, default)


def online_program() -> Program:
    """A kernel that shows the online form by matrix instructions: attention in float16, causal, of two heads."""
    q, k = np.empty((2, 1000, 32), np.float16), np.empty((2, 700, 32), np.float16)
    (step,) = mdhnp.fuse(lambda q, k, v: mdhnp.attention(q, k, v, causal=True)).rewriting(q, k, k).after.steps
    (stage,) = lowered(step.mdhom)
    return generate([stage], [default(stage.mdhom, MATRICES)], MATRICES, default)
