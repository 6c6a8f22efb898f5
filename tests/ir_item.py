"""Runs what one work-item of a procedure does, with values, on NumPy's arrays; see :mod:`ir_run`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from guards import garbage
from ir_index import MODES, Codes, Evaluator
from ir_values import HALF, SINGLE, Functions, held

from mdhnp.codegen.ir import statements as st
from mdhnp.codegen.ir import values as ir
from mdhnp.codegen.ir.index import IndexElement, Var

__all__ = ["Item"]

Array = np.ndarray[Any, Any]


class Item(Evaluator):
    """One work-item of `count`; `truths` gets what conditions on values are. Ranges of indices are seen elsewhere."""

    def __init__(
        self, group: int, item: int, count: int, memory: dict[str, Array], truths: dict[st.Truth, set[bool]],
        codes: Codes, functions: Functions,
    ) -> None:  # fmt: skip
        super().__init__({}, None, codes)
        self._functions = functions
        self.item, self.count = item, count
        self._ids, self._strict = {"group_id": group, "local_id": item}, False
        self.memory, self._truths = memory, truths
        self._started: list[list[tuple[Array, Any]]] = [[]]
        self.registers: dict[ir.Register, Any] = {}

    def _one(self, lane: Var, number: int, element: ir.Load | ir.Outside) -> Any:
        self._env[lane] = number
        return self.value(element)

    def _element(self, atom: IndexElement) -> int:
        found = int(self.memory[atom.buffer.name][self.index(atom.offset)])
        return found + atom.length if found < 0 and atom.length else found

    def run(self, body: Iterable[st.Stmt]) -> Iterator[st.Stmt]:
        """Do what stands in a body, up to statements that need others, too."""
        for s in body:
            if not self._functions.meets(s):
                self._do(s)
                continue
            match s:
                case st.Scope():
                    yield from self.run(s.body)
                case st.For():
                    for inner in self._rounds(s):
                        yield from self.run(inner)
                case st.If():
                    yield from self.run(s.inside if self.hold(s.tests) else s.elsewhere)
                case st.Roles():
                    yield from self.run(self._role(s))
                case _:
                    yield s

    def _rounds(self, s: st.For) -> Iterator[Iterable[st.Stmt]]:
        """The body of a loop, as often as it runs."""
        if s.begin is not None:
            self._env[s.var] = self.index(s.begin)
        body = s.body if isinstance(s.body, tuple) else (s.body,)
        while self.hold([s.test]):
            yield body
            self._env[s.var] = self.index(s.following)

    def _role(self, s: st.Roles) -> st.Body:
        return s.work if self._ids["local_id"] < s.workers else s.fill

    def _all(self, body: Iterable[st.Stmt]) -> None:
        for s in body:
            self._do(s)

    def hold(self, tests: Iterable[st.Test]) -> bool:
        """Whether conditions hold."""
        for t in tests:
            if isinstance(t, st.Truth):
                holds = bool(self.value(t.value))
                self._truths.setdefault(t, set()).add(holds)
            else:
                holds = super().hold([t])
            if not holds:
                return False
        return True

    def _do(self, s: st.Stmt) -> None:
        match s:
            case st.Let() | st.Declare() | st.Assign():
                if isinstance(s.target, ir.Register):
                    self.registers[s.target] = self.value(s.value)  # type: ignore[arg-type]
                else:
                    self._env[s.target] = self.index(s.value)  # type: ignore[arg-type]
            case st.Scope():
                self._all(s.body)
            case st.For():
                for inner in self._rounds(s):
                    self._all(inner)
            case st.If():
                self._all(s.inside if self.hold(s.tests) else s.elsewhere)
            case st.Roles():
                self._all(self._role(s))
            case st.Comment() | st.Publish() | st.Prefetch():
                pass
            case st.AllocLocal():
                lanes = [s.buffer.values] if s.buffer.values > 1 else []
                dtype = SINGLE if s.buffer.dtype == HALF and not s.buffer.packed else s.buffer.dtype
                if s.buffer.name not in self.memory:
                    self.memory[s.buffer.name] = garbage([s.size, *lanes], dtype)
            case st.Clear():
                self.memory[s.buffer.name][...] = 0
            case st.Transpose():
                rows = np.arange(s.lanes)[:, None]
                read = self.index(s.source_at) + rows * self.index(s.source_stride) + rows.T
                written = self.index(s.at) + rows * self.index(s.stride) + rows.T
                self.memory[s.target.name][written] = self.memory[s.source.name][read].T
            case st.FillLanes():
                lanes = [self._one(s.lane, n, s.element) for n in range(s.target.lanes)]
                self.registers[s.target] = np.array(lanes)
            case st.Store():
                self._store(s)
            case st.StoreWords():
                at, words = self.index(s.at), np.array([self.registers[r] for r in s.words], np.uint32)
                assert at >= 0 and at % len(words.view(s.buffer.dtype)) == 0
                self.memory[s.buffer.name][at : at + words.nbytes // s.buffer.dtype.itemsize] = words.view(
                    s.buffer.dtype
                )
            case st.Copy():
                at, value = self.index(s.at), self.value(s.source)
                assert at >= 0
                target = self.memory[s.target.name][at : at + s.source.lanes]
                if s.asynchronous:
                    target.view(np.uint8)[...] = 0xFF
                    self._started[-1].append((target, value))
                else:
                    target[...] = value
            case st.Commit():
                self._started.append([])
            case st.Wait():
                arrived = max(len(self._started) - 1 - s.pending, 0)
                for target, value in [each for group in self._started[:arrived] for each in group]:
                    target[...] = value
                self._started = self._started[arrived:]
            case _:
                raise NotImplementedError(s)

    def _store(self, s: st.Store) -> None:
        memory, at, value = self.memory[s.buffer.name], self.index(s.offset), self.value(s.value)
        if s.buffer.values or s.value.lanes == 1:
            assert at >= 0
            memory[at] = value
            return
        stride = self.index(s.stride)
        first = 0 if s.done is None else self.index(s.done)
        last = s.value.lanes if s.valid is None else min(self.index(s.valid), s.value.lanes)
        for n in range(first, last):
            assert at + n * stride >= 0
            memory[at + n * stride] = value[n]
            if s.imaginary is not None:
                memory[at + n * stride + 1] = self.value(s.imaginary)[n]

    def load(self, v: ir.Load) -> Any:
        if not self.hold(v.guard):
            assert v.outside is not None
            return self.value(v.outside)
        memory, at = self.memory[v.buffer.name], self.index(v.offset)
        if v.lanes == 1 or v.buffer.values:
            assert at >= 0
            return held(memory[at], v.dtype)
        last, stride = v.lanes - 1 if v.valid is None else self.index(v.valid) - 1, self.index(v.stride)
        places = at + np.minimum(np.arange(v.lanes), last) * stride
        assert np.min(places) >= 0
        return held(memory[places], v.dtype)

    def value(self, v: ir.Value) -> Any:
        """A value."""
        return self._functions.of(v)(self)

    def load_row(self, v: ir.LoadRow) -> Any:
        return np.array([self._of_row(v, n) for n in range(v.lanes)])

    def _of_row(self, v: ir.LoadRow, n: int) -> Any:
        """One of the neighbours along an axis, or what stands for it outside of the array."""
        place, length = self.index(v.first) + n, v.length if self.hold(v.guard) else 0
        if v.mode == "constant" and not 0 <= place < length:
            return self.value(v.outside)
        place = place if v.mode == "constant" else MODES[v.mode](place, length)
        return held(self.memory[v.buffer.name][self.index(v.start) + place * self.index(v.stride)], v.dtype)
