"""Runs the loops and indices of a procedure, without values: where it reads and writes, and what its variables hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from ir_index import MODES, Evaluator, Values
from ir_verify import verify

from mdhnp.codegen.ir.accesses import FIELDS
from mdhnp.codegen.ir.index import IndexElement, Var
from mdhnp.codegen.ir.statements import (
    AllocLocal,
    Assign,
    Barrier,
    Clear,
    Commit,
    Copy,
    Declare,
    FillLanes,
    For,
    If,
    Let,
    LoadMatrix,
    Matrix,
    NamedBarrier,
    Procedure,
    Roles,
    Scope,
    Stmt,
    Store,
    StoreWords,
    Transpose,
    Wait,
    WaitProducts,
    WideProducts,
)  # fmt: skip
from mdhnp.codegen.ir.values import Buffer, Load, LoadRow, Shuffled
from mdhnp.codegen.program import Program
from mdhnp.mdh import Stage, View
from mdhnp.schedule.atoms import ATOMS, Atom

__all__ = ["TooLong", "Walk", "walk_all"]


class TooLong(Exception):
    """More steps than a test should take."""


class Walk(Evaluator):
    """What the work-items of a procedure do, one after the other.

    Each variable is seen to lie in its range, and each access in its buffer; no work-item touches an element of local
    memory that another one writes between the same two barriers, but for copies of the same element. An asynchronous
    copy writes at any time until it is waited for, and nobody else touches its element then. All come to the same
    barriers and exchanges of values, in the same order. `written` has the elements of each global buffer that are
    stored.
    """

    def __init__(
        self, procedure: Procedure, groups: int, elements: Mapping[str, int], sizes: Mapping[str, int], *, steps: int
    ) -> None:
        super().__init__({}, sizes)
        self.written: dict[str, set[int]] = defaultdict(set)
        self._steps = steps
        self._known: dict[int, tuple[Any, tuple[Any, ...]]] = {}  # what a node reads, by the id of the node
        self._elements = {**elements, **{alias.name: elements[b.name] for alias, b in procedure.aliases}}
        for group in range(groups):
            self._touched: dict[tuple[str, int, int], tuple[int, bool, bool]] = {}
            met = set()
            for item in range(procedure.work_items):
                self._env = Values({}, sizes)
                self._ids = {"group_id": group, "local_id": item}
                self._phase, self._apart = 0, False
                self._started: list[list[tuple[str, int, int]]] = [[]]
                self._exchanges: list[tuple[int, Shuffled]] = []
                self._all(procedure.body)
                met.add((self._phase, *self._exchanges))
                assert not any(self._started), "a copy is never waited for"
            assert len(met) == 1, "not all work-items come to the same barriers and exchanges"

    def _set(self, var: Any, value: Any) -> None:
        if isinstance(var, Var):
            self._env[var] = self.index(value)
            assert var.low <= self._env[var] <= var.high, f"{var} is {self._env[var]}"

    def _all(self, body: Iterable[Stmt]) -> None:
        for s in body:
            self._steps -= 1
            if self._steps < 0:
                raise TooLong
            self._one(s)

    def _one(self, s: Stmt) -> None:
        match s:
            case Let() | Declare() | Assign():
                self._reads(s)
                self._set(s.target, s.value)
            case StoreWords():
                at, count = self.index(s.at), 4 * len(s.words) // s.buffer.dtype.itemsize
                assert at % count == 0
                self._touch(s.buffer, range(at, at + count), write=True)
            case Store() | Copy() | Transpose():
                self._reads(s)
                self._writes(s)
            case Scope():
                self._all(s.body)
            case Barrier():
                self._phase += 1
            case Roles():
                self._apart = True  # who waits for whom there is seen as kernels are run
                self._all(s.work if self._ids["local_id"] < s.workers else s.fill)
                self._apart = False
            case NamedBarrier():
                assert self._apart and 0 < self.index(s.number) < 16
            case WideProducts():
                for p in s.products:
                    self._matrix(p.b, len(p.into) // 2, ATOMS[s.atom])
                    if isinstance(p.a, Matrix):
                        self._matrix(p.a, ATOMS[s.atom].shape[0] * ATOMS[s.atom].warps // 8, ATOMS[s.atom])
            case WaitProducts():
                pass
            case Commit():
                self._started.append([])
            case Wait():
                arrived = max(len(self._started) - 1 - s.pending, 0)
                for name, offset, since in [each for group in self._started[:arrived] for each in group]:
                    for phase in range(since, self._phase + 1):
                        self._share(name, offset, True, True, phase)
                self._started = self._started[arrived:]
            case For():
                self._for(s)
            case If():
                self._all(s.inside if self.hold(s.tests) else s.elsewhere)
            case AllocLocal():
                self._elements[s.buffer.name] = s.size
            case Clear():
                assert self._elements[s.buffer.name] == s.size
            case FillLanes():
                for n in range(s.target.lanes):
                    self._env[s.lane] = n
                    self._reads(s.element)
            case LoadMatrix():
                if self._ids["local_id"] % 32 < 8 * len(s.into):
                    at, wide = self.index(s.at), 16 // max(s.buffer.dtype.itemsize, 4 * (s.buffer.dtype.char == "e"))
                    assert at % wide == 0, f"{s.buffer.name}[{at}] begins no row of 16 bytes"
                    self._touch(s.buffer, range(at, at + wide))
            case _:
                self._reads(s)

    def _matrix(self, m: Matrix, blocks: int, atom: Atom) -> None:
        """The ends of a matrix of so many blocks of 8 rows or columns."""
        size, at = atom.itemsize, self.index(m.at)
        assert at * size % 16 == 0
        last = (blocks - 1) * m.beside + (atom.shape[2] * size // 16 - 1) * m.below + 8 * 16
        if m.swizzled:  # whole rows of 128 bytes, of which there are as many as terms if they are turned
            panels = -(-blocks * 16 // m.swizzled) if m.turned else blocks
            at, last = at // 64 * 64, (panels - 1) * m.beside + (m.below if m.turned else 0) + 8 * m.swizzled
        self._touch(m.buffer, (at, at + last // size - 1))

    def _for(self, s: For) -> None:
        if s.begin is not None:
            self._env[s.var] = self.index(s.begin)
        while self._goes_on(s):
            assert s.var.low <= self._env[s.var] <= s.var.high, f"{s.var} is {self._env[s.var]}"
            self._all(s.body if isinstance(s.body, tuple) else [s.body])
            self._strict = False  # where no other round comes, its variable may be beyond its range
            self._env[s.var] = self.index(s.following)
            self._strict = True

    def _goes_on(self, s: For) -> bool:
        self._strict = False
        found = self.hold([s.test])
        self._strict = True
        return found

    def _touch(self, buffer: Buffer, offsets: Iterable[int], *, write: bool = False, copy: bool = False) -> None:
        for offset in offsets:
            assert 0 <= offset < self._elements[buffer.name], f"{buffer.name}[{offset}]"
            if buffer.space == "local":
                under_way = any((buffer.name, offset) == each[:2] for group in self._started for each in group)
                assert not under_way, f"{buffer.name}[{offset}] is still being copied"
                self._share(buffer.name, offset, write, copy, self._phase)
            elif write:
                self.written[buffer.name].add(offset)

    def _element(self, atom: IndexElement) -> int:
        self._touch(atom.buffer, [self.index(atom.offset)])
        return super()._element(atom)

    def _share(self, name: str, offset: int, write: bool, copy: bool, phase: int) -> None:
        if self._apart:
            return
        item, place = self._ids["local_id"], (name, offset, phase)
        before = self._touched.setdefault(place, (item, write, copy))
        alone = before[0] == item or not (write or before[1]) or (copy and before[2])
        assert alone, f"{name}[{offset}] of work-items {before[0]} and {item}"
        self._touched[place] = (item, write or before[1], copy and before[2])

    def _reads(self, node: Any) -> None:
        """Note all that a statement or a value reads."""
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = node, tuple(_readers(node))
        for reader in known[1]:
            self._read(reader)

    def _read(self, node: Load | LoadRow | Shuffled) -> None:
        match node:
            case Load():
                if self.hold(node.guard):
                    lanes, at, stride = range(node.lanes), self.index(node.offset), self.index(node.stride)
                    last = node.lanes - 1 if node.valid is None else self.index(node.valid) - 1
                    whole = range(1) if node.buffer.values or (not node.stride.terms and not stride) else lanes
                    self._touch(node.buffer, [at + min(n, last) * stride for n in whole])
            case Shuffled():
                self.index(node.distance)  # which may be each work-item's own
                self._exchanges.append((self._phase, node))
            case LoadRow():
                if self.hold(node.guard) and node.length:
                    start, stride, first = (self.index(i) for i in (node.start, node.stride, node.first))
                    indices = [first + n for n in range(node.lanes)]
                    if node.buffer.space == "local":  # the nearest vector inside
                        inside = min(max(first, 0), node.length - node.lanes)
                        indices = [inside + n for n in range(node.lanes)]
                    elif node.mode != "constant":
                        indices = [MODES[node.mode](i, node.length) for i in indices]
                    self._touch(node.buffer, [start + i * stride for i in indices if 0 <= i < node.length])

    def _writes(self, s: Stmt) -> None:
        match s:
            case Store():
                at, stride = self.index(s.offset), self.index(s.stride)
                first = 0 if s.done is None else self.index(s.done)
                last = s.value.lanes if s.valid is None else min(self.index(s.valid), s.value.lanes)
                lanes = range(1) if s.buffer.values else range(first, last)
                if s.imaginary is not None:
                    stride, lanes = 1, range(2 * s.value.lanes)
                self._touch(s.buffer, [at + n * stride for n in lanes], write=True)
            case Copy():
                at, lanes = self.index(s.at), s.source.lanes
                assert at % lanes == 0, f"{s.target.name}[{at}] of {lanes} lanes"
                if s.asynchronous:
                    assert isinstance(s.source, Load) and self.index(s.source.offset) % lanes == 0
                    self._started[-1] += [(s.target.name, at + n, self._phase) for n in range(lanes)]
                else:
                    self._touch(s.target, range(at, at + lanes), write=True, copy=True)
            case Transpose():
                for row in range(s.lanes):
                    begin = self.index(s.source_at) + row * self.index(s.source_stride)
                    self._touch(s.source, range(begin, begin + s.lanes))
                    begin = self.index(s.at) + row * self.index(s.stride)
                    self._touch(s.target, range(begin, begin + s.lanes), write=True, copy=True)


def _readers(node: Any) -> Iterator[Load | LoadRow | Shuffled]:
    """What reads memory, or other work-items' registers, in a statement or a value."""
    if isinstance(node, Load | LoadRow | Shuffled):
        yield node
    if not isinstance(node, Load | LoadRow):
        parts = node if isinstance(node, tuple) else [getattr(node, name) for name in FIELDS.get(type(node), ())]
        for part in parts:
            yield from _readers(part)


def walk_all(program: Program, built: Sequence[Procedure], chain: Sequence[Stage], *, steps: int) -> None:
    """Walk through all kernels of a program; every element of an output is written."""
    views = {}
    for stage in chain:
        views |= dict(zip(stage.inputs, stage.mdhom.inputs, strict=True))
        views |= dict(zip(stage.outputs, stage.mdhom.outputs, strict=True))
    sizes = iter(program.sizes)
    for kernel, procedure in zip(program.kernels, built, strict=True):
        elements = {}
        for argument, buffer in zip(kernel.arguments, procedure.buffers, strict=False):
            if argument.role == "temporary":
                elements[buffer.name] = program.temporaries[argument.position] // buffer.dtype.itemsize
            else:
                view = views[argument]
                ends = [max(s * (n - 1), 0) for s, n in zip(view.strides, view.shape, strict=True)]
                elements[buffer.name] = 1 + view.offset + sum(ends)
        for _, real in procedure.aliases:
            elements[real.name] += 1
        verify(procedure)
        given = {name: next(sizes) for name in procedure.sizes}
        walk = Walk(procedure, kernel.global_size // kernel.local_size, elements, given, steps=steps)
        for argument, buffer in zip(kernel.arguments, procedure.buffers, strict=False):
            if not buffer.constant and not procedure.aliases:
                assert walk.written[buffer.name] == _addresses(views.get(argument), elements[buffer.name])


def _addresses(view: View | None, elements: int) -> set[int]:
    """Where the elements of an output lie, or of an array between kernels."""
    if view is None:
        return set(range(elements))
    strides = [np.arange(n) * s for n, s in zip(view.shape, view.strides, strict=True)]
    return {int(sum(place)) + view.offset for place in product(*strides)}
