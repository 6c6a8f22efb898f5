"""Runs procedures with values, on NumPy's arrays: what their kernels compute, without a device that has them.

Each work-item is a generator that stops where it meets others: all of a group at a barrier, those of a subgroup at
matrix instructions and where they exchange registers. Local memory is garbage at first, and so is what an asynchronous
copy writes until the work-item waits for it; that nobody reads what others are just writing, :mod:`ir_walk` sees.

What one work-item does, :mod:`ir_item` has, and :mod:`ir_values`, what registers hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from guards import garbage
from ir_index import Codes
from ir_item import Item
from ir_values import Functions

from mdhnp.codegen.ir import statements as st
from mdhnp.codegen.ir import values as ir
from mdhnp.codegen.program import Program
from mdhnp.mdh.stages import Argument
from mdhnp.runtime.layout import Layout
from mdhnp.schedule.atoms import ATOMS, Atom, Fragment

__all__ = ["SUBGROUP", "elements", "product", "run"]

Array = np.ndarray[Any, Any]

#: Work-items that run together.
SUBGROUP = 32
#: Bits of a float32's significand that units for its first 11 leave out.
_LEFT_OUT = 13
#: Barriers of a group.
_BARRIERS = 16
#: Bytes of a row that a work-item points at.
_ROW = 16


def run(
    program: Program, built: Sequence[st.Procedure], inputs: Sequence[Array], outputs: Sequence[Array]
) -> list[list[set[bool]]]:
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
    list of list of set of bool
        For each kernel what each condition on values was found to be, in the order in which they were met first.
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
        truths: dict[st.Truth, set[bool]] = {}
        known: tuple[Codes, Functions] = {}, Functions()
        with np.errstate(all="ignore"):
            for group in range(kernel.global_size // kernel.local_size):
                _group(p, group, dict(buffers), truths, known)
        found.append([*truths.values()])
    return found


def _flat(array: Array) -> Array:
    """The memory from an array's lowest element to its highest one; of complex numbers their parts."""
    lowest = array[(..., *(slice(None, None, -1 if stride < 0 else 1) for stride in array.strides))]
    size = Layout.of(array).nbytes // array.itemsize
    flat = np.lib.stride_tricks.as_strided(lowest, (size,), (array.itemsize,))
    return flat.view(np.finfo(array.dtype).dtype) if array.dtype.kind == "c" else flat


def _group(
    p: st.Procedure,
    group: int,
    memory: dict[str, Array],
    truths: dict[st.Truth, set[bool]],
    known: tuple[Codes, Functions],
) -> None:
    """Run a work-group: one subgroup after the other up to the next barrier, the last first in every other group."""
    items = [Item(group, item, p.work_items, memory, truths, *known) for item in range(p.work_items)]
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


def _subgroup(items: Sequence[Item], body: tuple[st.Stmt, ...]) -> Iterator[tuple[int, int, bool]]:
    """Run work-items that meet at more than barriers; of these it gives the number, for how many, if they wait."""
    runs = [item.run(body) for item in items]
    under_way = list[list[tuple[st.WideProduct, Atom, int, Array | int]]]()  # done as late as they may be
    while True:
        first, *others = [next(run, None) for run in runs]
        assert all(other is first for other in others), "work-items meet at different statements"
        match first:
            case None:
                assert not under_way, "products are never waited for"
                return
            case st.MatrixProduct():
                _multiply(first, items)
            case st.WideProducts():
                under_way.append([*_begun(first, items)])
            case st.WaitProducts():
                while len(under_way) > first.pending:
                    for begun in under_way.pop(0):
                        _multiply_wide(*begun, items)
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


def _exchange(target: ir.Register, shuffled: ir.Shuffled, items: Sequence[Item]) -> None:
    given = [item.value(shuffled.value) for item in items]
    for n, item in enumerate(items):
        source = n + item.index(shuffled.distance)
        item.registers[target] = given[source if 0 <= source < len(items) else n]


def _load_matrix(s: st.LoadMatrix, items: Sequence[Item]) -> None:
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


def _multiply(s: st.MatrixProduct, items: Sequence[Item]) -> None:
    atom = ATOMS[s.atom]
    assert len(items) == atom.lanes, f"{atom.name} needs {atom.lanes} work-items"
    a, b = ([[item.value(v) for v in factor] for item in items] for factor in (s.a, s.b))
    c = [np.concatenate([item.registers[r] for r in s.into]) for item in items]
    results = product(atom, np.array(a), np.array(b), np.array(c))
    for item, values in zip(items, results, strict=True):
        item.registers.update(zip(s.into, values.reshape(len(s.into), -1), strict=True))


def _begun(s: st.WideProducts, items: Sequence[Item]) -> Iterator[tuple[st.WideProduct, Atom, int, Array | int]]:
    """Products that one of the subgroups begins: of each where the second factor lies, and the first one, or where."""
    for p in s.products:
        (b,) = {item.index(p.b.at) for item in items}
        if isinstance(p.a, st.Matrix):
            (a,) = {item.index(p.a.at) for item in items}
            yield p, ATOMS[s.atom], b, a
        else:
            held = np.array([[item.value(v) for v in p.a] for item in items])
            yield p, ATOMS[s.atom], b, -held if p.negated else held


def _multiply_wide(p: st.WideProduct, atom: Atom, at: int, a: Array | int, items: Sequence[Item]) -> None:
    """What one of the subgroups has of a product."""
    if isinstance(a, int):
        assert isinstance(p.a, st.Matrix)
        assert not p.negated
        first = items[0].item // SUBGROUP % atom.warps * atom.shape[0]
        a = _elements(p.a, a, first, atom, atom.a, items)
    for block in range(len(p.into) // 2):
        b = _elements(p.b, at, block * atom.b.rows, atom, atom.b, items)
        into = p.into[2 * block : 2 * block + 2]
        c = np.concatenate([np.array([item.registers[r] for item in items]) for r in into], axis=1)
        for item, values in zip(items, product(atom, a, b, c), strict=True):
            item.registers.update(zip(into, values.reshape(2, -1), strict=True))


def _elements(m: st.Matrix, at: int, first: int, atom: Atom, fragment: Fragment, items: Sequence[Item]) -> Array:
    """Elements of a matrix in local memory, from a row or column on, as lanes would hold them."""
    n, k = first + np.arange(fragment.rows)[:, None], np.arange(fragment.columns)[None, :]
    memory, size = items[0].memory[m.buffer.name], atom.itemsize
    if m.swizzled:
        where = _swizzled(m, at * size, size, n, k) // size
    else:
        where = at + (n // 8 * m.beside + n % 8 * _ROW + k * size // _ROW * m.below + k * size % _ROW) // size
    found: Array = memory.view(atom.operand if atom.packed > 1 else memory.dtype)[where][elements(fragment)]
    return found


def _swizzled(m: st.Matrix, at: int, size: int, n: Array, k: Array) -> Array:
    """Byte of an element of row or column n and term k, each of 1 or 2 bytes, of a buffer at a multiple of 1024."""
    along, across, further = (n, k, m.beside) if m.turned else (k, n, 0)
    each = m.swizzled // size
    assert m.turned or at % m.swizzled + size * int(k.max()) < m.swizzled
    assert size == 2 or not m.turned
    down = m.below if m.turned else m.beside
    byte = at + along // each * further + along % each * size + across // 8 * down + across % 8 * m.swizzled
    return byte ^ (byte >> 7 & m.swizzled // 16 - 1) << 4


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
    if atom.double:  # a chain of multiply-adds: of products of 53 bits or less, which tests of bits have
        exact = np.add.accumulate([total, *(left.T[:, :, None] * right.T[:, None, :])])[-1]
    else:
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
