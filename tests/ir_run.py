"""Runs procedures with values, on NumPy's arrays: what their kernels compute, without a device that has them.

Each work-item is a generator that stops where it meets others: all of a group at a barrier, those of a subgroup at
matrix instructions and where they exchange registers. Local memory is garbage at first, and so is what an asynchronous
copy writes until the work-item waits for it; that nobody reads what others are just writing, :mod:`ir_walk` sees.

Values are what registers hold: scalars, and arrays of lanes; float16 is float32 there. Left out are the nodes that
sums of products have no use for, which are errors here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from guards import garbage
from ir_walk import MODES, Evaluator

from mdhnp.codegen.ir import statements as st
from mdhnp.codegen.ir import values as ir
from mdhnp.codegen.ir.index import IndexElement, Var
from mdhnp.codegen.program import Program
from mdhnp.mdh.stages import Argument
from mdhnp.runtime.layout import Layout
from mdhnp.schedule.atoms import ATOMS, Atom, Fragment

__all__ = ["SUBGROUP", "elements", "product", "run"]

Array = np.ndarray[Any, Any]

#: Work-items that run together.
SUBGROUP = 32
_HALF, _SINGLE = np.dtype(np.float16), np.dtype(np.float32)
#: Operations that are none of NumPy's.
_IN_REGISTERS = {
    "splat",
    "convert",
    "retype",
    "lower",
    "upper",
    "lanes",
    "high_bits",
    "bits",
    "from_bytes",
    "pack",
    "pack_halves",
    "pack_bytes",
    "rounding_error",
    "exp_of_rounded",
}
#: Bits of a float32's significand that units for its first 11 leave out.
_LEFT_OUT = 13
#: Barriers of a group.
_BARRIERS = 16
#: Bytes of a row that a work-item points at.
_ROW = 16


def run(
    program: Program, built: Sequence[st.Procedure], inputs: Sequence[Array], outputs: Sequence[Array]
) -> list[set[bool]]:
    """Run a program's kernels in order.

    Parameters
    ----------
    program : Program
        How they are launched.
    built : sequence of Procedure
        What they do.
    inputs, outputs : sequence of ndarray
        Of the whole program.

    Returns
    -------
    list of set of bool
        For each kernel what conditions on values were found to be.
    """
    memory = {Argument("input", n): _flat(a) for n, a in enumerate(inputs)}
    memory |= {Argument("output", n): _flat(a) for n, a in enumerate(outputs)}
    found = []
    for kernel, p in zip(program.kernels, built, strict=True):
        buffers = {}
        for argument, buffer in zip(kernel.arguments, p.buffers, strict=False):
            if argument.role == "temporary" and argument not in memory:
                memory[argument] = garbage(
                    [program.temporaries[argument.position] // buffer.dtype.itemsize], buffer.dtype
                )
            buffers[buffer.name] = memory[argument]
        buffers |= {alias.name: buffers[buffer.name] for alias, buffer in p.aliases}
        truths: set[bool] = set()
        with np.errstate(all="ignore"):
            for group in range(kernel.global_size // kernel.local_size):
                _group(p, group, dict(buffers), truths)
        found.append(truths)
    return found


def _flat(array: Array) -> Array:
    """The memory from an array's lowest element to its highest one; of complex numbers their parts."""
    lowest = array[(..., *(slice(None, None, -1 if stride < 0 else 1) for stride in array.strides))]
    size = Layout.of(array).nbytes // array.itemsize
    flat = np.lib.stride_tricks.as_strided(lowest, (size,), (array.itemsize,))
    return flat.view(np.finfo(array.dtype).dtype) if array.dtype.kind == "c" else flat


def _group(p: st.Procedure, group: int, memory: dict[str, Array], truths: set[bool]) -> None:
    """Run a work-group: one subgroup after the other up to the next barrier, the last first in every other group."""
    items = [_Item(group, item, p.work_items, memory, truths) for item in range(p.work_items)]
    runs = {n: _subgroup(items[n : n + SUBGROUP], p.body) for n in range(0, len(items), SUBGROUP)}
    come: dict[int, dict[int, bool]] = {}  # who has come to each barrier, and whether they wait
    going = [*runs]
    while going:
        n = going.pop(0 if group % 2 == 0 else -1)
        met = next(runs[n], None)
        if met is None:
            continue
        number, count, waits = met
        here = come.setdefault(number, {})
        assert n not in here, "a subgroup comes to a barrier again that others are to come to"
        here[n] = waits
        if not waits:
            going.append(n)
        there = sum([len(items[m : m + SUBGROUP]) for m in here])
        assert there <= count, "more work-items come to a barrier than it is for"
        if there == count:
            going += [m for m, waiting in here.items() if waiting]
            del come[number]
    assert not any(waiting for here in come.values() for waiting in here.values()), "some wait for ever"


def _subgroup(items: Sequence[_Item], body: tuple[st.Stmt, ...]) -> Iterator[tuple[int, int, bool]]:
    """Run work-items that meet at more than barriers; of these it gives the number, for how many, if they wait."""
    runs = [item.run(body) for item in items]
    while True:
        first, *others = [next(run, None) for run in runs]
        assert all(other is first for other in others), "work-items meet at different statements"
        match first:
            case None:
                return
            case st.MatrixProduct():
                _multiply(first, items)
            case st.WideProducts():
                _multiply_wide(first, items)
            case st.LoadMatrix():
                _load_matrix(first, items)
            case st.Let(target=ir.Register() as target, value=ir.Shuffled() as value):
                _exchange(target, value, items)
            case st.NamedBarrier():
                (number,) = {item.index(first.number) for item in items}
                assert 0 < number < _BARRIERS
                yield number, first.items, first.wait
            case _:
                yield 0, items[0].count, True


def _exchange(target: ir.Register, shuffled: ir.Shuffled, items: Sequence[_Item]) -> None:
    given = [item.value(shuffled.value) for item in items]
    for n, item in enumerate(items):
        source = n + item.index(shuffled.distance)
        item.registers[target] = given[source if 0 <= source < len(items) else n]


def _load_matrix(s: st.LoadMatrix, items: Sequence[_Item]) -> None:
    """Rows of 16 bytes that work-items point at, those of each block after the other."""
    assert len(items) == SUBGROUP
    memory = items[0].memory[s.buffer.name]
    narrow = s.buffer.packed or s.buffer.dtype.itemsize == 1
    wide = _ROW // memory.itemsize
    for n, register in enumerate(s.into):
        rows = []
        for item in items[8 * n : 8 * n + 8]:
            at = item.index(s.at)
            assert at >= 0 and at % wide == 0
            rows.append(memory[at : at + wide])
        block = np.array(rows).T if s.turned else np.array(rows)
        words = np.ascontiguousarray(block).view(np.uint32) if narrow else block
        for item, word in zip(items, words.flat, strict=True):
            item.registers[register] = word


def _multiply(s: st.MatrixProduct, items: Sequence[_Item]) -> None:
    atom = ATOMS[s.atom]
    assert len(items) == atom.lanes, f"{atom.name} needs {atom.lanes} work-items"
    a, b = ([[item.value(v) for v in factor] for item in items] for factor in (s.a, s.b))
    c = [np.concatenate([item.registers[r] for r in s.into]) for item in items]
    results = product(atom, np.array(a), np.array(b), np.array(c))
    for item, values in zip(items, results, strict=True):
        item.registers.update(zip(s.into, values.reshape(len(s.into), -1), strict=True))


def _multiply_wide(s: st.WideProducts, items: Sequence[_Item]) -> None:
    """What one of the subgroups has of the products."""
    atom = ATOMS[s.atom]
    wide, (_, columns, terms) = _ROW // atom.itemsize, atom.shape
    n, k = np.arange(columns)[:, None], np.arange(terms)[None, :]
    for p in s.products:
        (at,) = {item.index(p.at) for item in items}
        a = np.array([[item.value(v) for v in p.a] for item in items])
        a = -a if p.negated else a
        for block in range(len(p.into) // 2):
            # Counted in elements, of which a register may have several.
            where = at * atom.packed + (block * s.beside + k // wide * s.below) // atom.itemsize + n * wide + k % wide
            memory = items[0].memory[s.buffer.name]
            b = memory.view(atom.operand if atom.packed > 1 else memory.dtype)[where][elements(atom.b)]
            into = p.into[2 * block : 2 * block + 2]
            c = np.concatenate([np.array([item.registers[r] for item in items]) for r in into], axis=1)
            for item, values in zip(items, product(atom, a, b, c), strict=True):
                item.registers.update(zip(into, values.reshape(2, -1), strict=True))


def product(atom: Atom, a: Array, b: Array, c: Array) -> Array:
    """What lanes hold of the sum after a matrix instruction: rows are lanes, columns their registers."""
    if atom.packed > 1:
        a, b = (np.ascontiguousarray(x).view(atom.operand) for x in (a, b))
    if atom.operand == "float32":
        a, b = ((x.view(np.uint32) >> _LEFT_OUT << _LEFT_OUT).view(np.float32) for x in (a, b))
    whole = [np.zeros((f.rows, f.columns)) for f in (atom.a, atom.b, atom.c)]
    for matrix, fragment, held in zip(whole, (atom.a, atom.b, atom.c), (a, b, c), strict=True):
        matrix[elements(fragment)] = held
    left, right, total = whole
    exact = total + left @ right.T
    result = (exact.astype(np.int64) if atom.result == "int32" else exact).astype(atom.result)
    if atom.rounds:  # the unit cuts off what does not fit
        too_far = np.abs(result.astype(np.float64)) > np.abs(exact)
        result[too_far] = np.nextafter(result[too_far], result.dtype.type(0))
    return result[elements(atom.c)]


@lru_cache
def elements(fragment: Fragment) -> tuple[Array, Array]:
    """Row and column of each lane's registers."""
    rows, columns = fragment.place(np.array(fragment.firsts)[:, None] + np.array(fragment.numbers))
    return rows, columns


def _held(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value of a type as registers have it."""
    return np.asarray(value).astype(_SINGLE if dtype == _HALF else dtype)[()]


def _constant(literal: str, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return np.bool_(literal in {"True", "1"})
    return _held(float(literal) if dtype.kind == "f" else int(literal), dtype)


class _Item(Evaluator):
    """One work-item of `count`; `truths` gets what conditions on values are. Ranges of indices are seen elsewhere."""

    def __init__(self, group: int, item: int, count: int, memory: dict[str, Array], truths: set[bool]) -> None:
        super().__init__({})
        self.count = count
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
            match s:
                case st.Scope():
                    yield from self.run(s.body)
                case st.For():
                    if s.begin is not None:
                        self._env[s.var] = self.index(s.begin)
                    while self.hold([s.test]):
                        yield from self.run(s.body if isinstance(s.body, tuple) else [s.body])
                        self._env[s.var] = self.index(s.following)
                case st.If():
                    yield from self.run(s.inside if self.hold(s.tests) else s.elsewhere)
                case st.Roles():
                    yield from self.run(s.work if self._ids["local_id"] < s.workers else s.fill)
                case (
                    st.Barrier() | st.NamedBarrier() | st.LoadMatrix() | st.MatrixProduct() | st.WideProducts()
                    | st.Let(value=ir.Shuffled())
                ):  # fmt: skip
                    yield s
                case _:
                    self._do(s)

    def hold(self, tests: Iterable[st.Test]) -> bool:
        """Whether conditions hold."""
        for t in tests:
            if isinstance(t, st.Truth):
                holds = bool(self.value(t.value))
                self._truths.add(holds)
            else:
                holds = super().hold([t])
            if not holds:
                return False
        return True

    def _do(self, s: st.Stmt) -> None:
        match s:
            case st.Comment() | st.Publish():
                pass
            case st.Let() | st.Declare() | st.Assign():
                if isinstance(s.target, ir.Register):
                    self.registers[s.target] = self.value(s.value)  # type: ignore[arg-type]
                else:
                    self._env[s.target] = self.index(s.value)  # type: ignore[arg-type]
            case st.AllocLocal():
                lanes = [s.buffer.values] if s.buffer.values > 1 else []
                dtype = _SINGLE if s.buffer.dtype == _HALF and not s.buffer.packed else s.buffer.dtype
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

    def _load(self, v: ir.Load) -> Any:
        if not self.hold(v.guard):
            assert v.outside is not None
            return self.value(v.outside)
        memory, at = self.memory[v.buffer.name], self.index(v.offset)
        places: Any = at
        if v.lanes > 1 and not v.buffer.values:
            last, stride = v.lanes - 1 if v.valid is None else self.index(v.valid) - 1, self.index(v.stride)
            places = at + np.minimum(np.arange(v.lanes), last) * stride
        assert np.min(places) >= 0
        return _held(memory[places], v.dtype)

    def value(self, v: ir.Value) -> Any:
        """A value."""
        match v:
            case ir.Register():
                return self.registers[v]
            case ir.Const() | ir.Outside():
                return _constant(v.literal, v.dtype)
            case ir.Load():
                return self._load(v)
            case ir.LoadRow():
                return np.array([self._of_row(v, n) for n in range(v.lanes)])
            case ir.Apply():
                args = [self.value(a) for a in v.args]
                return self._in_registers(v, args) if v.op in _IN_REGISTERS else self._applied(v.op, args, v.dtype)
            case ir.IndexValue():
                return _held(self.index(v.index) + np.arange(v.lanes) if v.lanes > 1 else self.index(v.index), v.dtype)
        raise NotImplementedError(v)

    def _of_row(self, v: ir.LoadRow, n: int) -> Any:
        """One of the neighbours along an axis, or what stands for it outside of the array."""
        place, length = self.index(v.first) + n, v.length if self.hold(v.guard) else 0
        if v.mode == "constant" and not 0 <= place < length:
            return self.value(v.outside)
        place = place if v.mode == "constant" else MODES[v.mode](place, length)
        return _held(self.memory[v.buffer.name][self.index(v.start) + place * self.index(v.stride)], v.dtype)

    def _in_registers(self, v: ir.Apply, args: Sequence[Any]) -> Any:
        match v.op:
            case "lanes":
                return np.array(args)
            case "splat":
                return np.full(v.lanes, args[0])
            case "convert":
                return _held(self._applied("cast", args, v.dtype), v.dtype)
            case "retype":
                return args[0]
            case "lower" | "upper":
                return np.split(args[0], 2)[v.op == "upper"].reshape(v.lanes if v.lanes > 1 else ())[()]
            case "high_bits":
                left_out = np.finfo(v.dtype).nmant + 1 - int(args[1])
                bits = np.asarray(args[0]).view(np.uint32) + np.uint32(1 << left_out - 1)
                return (bits >> left_out << left_out).view(v.dtype)[()]
            case "from_bytes":
                return np.asarray(args[0]) != 0
            case "bits":
                return np.asarray(args[0]).view(v.dtype)[()]
            case "pack":
                return np.array(args, v.args[0].dtype).view(v.dtype)[0]
            case "pack_halves":
                return np.array(args).astype(_HALF).view(v.dtype)[0]
            case "pack_bytes":
                *values, byte = args
                chosen = [int(x) >> 8 * int(byte) & 255 for x in values]
                return np.array(chosen, np.uint8).view(v.dtype)[0]
            case "exp_of_rounded":
                return np.exp2(np.asarray(args[0]) * v.dtype.type(np.log2(np.e)))[()]
            case "rounding_error":
                total, before, added = args
                return np.where(total - total == 0, (total - before) - added, 0).astype(v.dtype)[()]
        raise NotImplementedError(v)

    @staticmethod
    def _applied(op: str, args: Sequence[Any], dtype: np.dtype[Any]) -> Any:
        result = np.asarray(args[0]).astype(dtype) if op == "cast" else getattr(np, op)(*args)
        return _held(result, dtype)
