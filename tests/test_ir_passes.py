"""The passes over the loop-level IR, each by itself, index arithmetic, and what may stand where. Needs no device."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from ir_index import Evaluator
from ir_verify import InvalidProcedure, verify
from kernels import KERNELS
from random_functions import Picker, Seeded

from mdhnp.codegen import pipeline
from mdhnp.codegen.ir.accesses import element
from mdhnp.codegen.ir.builder import Builder
from mdhnp.codegen.ir.index import Compare, Index, Var, call, choice, clamp, constant, least, most, variable
from mdhnp.codegen.ir.passes import apart, lowered, place_barriers
from mdhnp.codegen.ir.show import show
from mdhnp.codegen.ir.statements import (
    AllocLocal,
    Assign,
    Barrier,
    Copy,
    Declare,
    For,
    If,
    Let,
    Procedure,
    Scope,
    Stmt,
    Store,
    Truth,
)  # fmt: skip
from mdhnp.codegen.ir.values import Apply, Buffer, Const, Load, Register, Shuffled
from mdhnp.mdh.mdhom import dimension_names

F4, BOOL = np.dtype("f4"), np.dtype(bool)
A, OUT = Buffer("A", F4, constant=True), Buffer("O", F4)
TILE, OTHER = Buffer("A_l", F4, "local"), Buffer("B_l", F4, "local")
HELD, OWN = Buffer("r_l", F4, "local", values=1), Buffer("o_l", F4, "local", values=1, own=True)
FIRST, SECOND = replace(HELD, phase=1), replace(HELD, phase=2)
W, K = Var("w", None, 0, 7), Var("k", None, 0, 9)
HALF = Var("half", 0, 0, 1, agreed=True)
X, Y, Z = (Register(stem, 0, F4) for stem in "xyz")
w, k, half = variable(W), variable(K), variable(HALF)
ONE = constant(1)


def load(buffer: Buffer, at: Index) -> Load:
    return Load(buffer, at)


def store(buffer: Buffer, at: Index) -> Store:
    return Store(buffer, at, X)


def copy(buffer: Buffer) -> Copy:
    return Copy(buffer, w, load(A, w))


def get(buffer: Buffer, at: Index) -> Assign:
    return Assign(X, load(buffer, at))


def loop(*body: Stmt) -> For:
    return For(K, Index(), Compare(k, "<", constant(10)), k + 1, body)


def when(*body: Stmt) -> If:
    return If((Compare(w, "==", Index()),), body)


def let(register: Register, buffer: Buffer, at: Index) -> Let:
    return Let(register, load(buffer, at))


R, T = Barrier(("r_l",)), Barrier(("A_l",))

#: Body, and what becomes of it; a device that needs barriers at the beginning of loops gets others.
BARRIERS: dict[str, tuple[tuple[Stmt, ...], tuple[Stmt, ...]]] = {
    "what another one wrote is read": ((store(HELD, w), get(HELD, w * 0)), (store(HELD, w), R, get(HELD, w * 0))),
    "what another one reads is written": ((get(HELD, w * 0), store(HELD, w)), (get(HELD, w * 0), R, store(HELD, w))),
    "two write the same": ((store(HELD, w), store(HELD, w)), (store(HELD, w), R, store(HELD, w))),
    "reads only": ((get(HELD, w), get(HELD, w + 1)),) * 2,
    "different elements": ((store(HELD, w), store(HELD, w + 8), get(HELD, w + 16)),) * 2,
    "elements of its own": ((store(OWN, w), get(OWN, w)),) * 2,
    "of one nest": ((store(FIRST, w), get(FIRST, k), store(FIRST, w)),) * 2,
    "of another nest": ((store(FIRST, w), get(SECOND, w * 0)), (store(FIRST, w), R, get(SECOND, w * 0))),
    "of none": ((store(HELD, w), get(FIRST, w * 0)), (store(HELD, w), R, get(FIRST, w * 0))),
    "of two nests, by turns": (
        (loop(store(FIRST, w), get(SECOND, w * 0)),), (loop(store(FIRST, w), R, get(SECOND, w * 0), R),),
    ),
    "another buffer": ((store(HELD, w), copy(TILE)),) * 2,
    "global memory": ((store(OUT, w), get(OUT, w)),) * 2,
    "the other half": ((store(HELD, half * 8 + w), get(HELD, (ONE - half) * 8 + w)),) * 2,
    "the other half, which changes": (
        (store(HELD, half * 8 + w), Assign(HALF, ONE - half), get(HELD, (ONE - half) * 8 + w)),
        (store(HELD, half * 8 + w), R, Assign(HALF, ONE - half), get(HELD, (ONE - half) * 8 + w)),
    ),
    "the other half, which a loop changes": (
        (store(HELD, half * 8 + w), loop(Assign(HALF, ONE - half), get(HELD, (ONE - half) * 8 + w))),
        (store(HELD, half * 8 + w), R, loop(Assign(HALF, ONE - half), get(HELD, (ONE - half) * 8 + w))),
    ),
    "the other half, which a branch changes": (
        (get(HELD, half * 8 + w), when(Assign(HALF, ONE - half)), store(HELD, (ONE - half) * 8 + w)),
        (get(HELD, half * 8 + w), R, when(Assign(HALF, ONE - half)), store(HELD, (ONE - half) * 8 + w)),
    ),
    "one barrier for two tiles, as early as can be": (
        (copy(TILE), copy(OTHER), Declare(X, Const("0", F4)), get(TILE, k), get(OTHER, k)),
        (copy(TILE), copy(OTHER), T, Declare(X, Const("0", F4)), get(TILE, k), get(OTHER, k)),
    ),
    "before a branch, not in it": (
        (when(copy(TILE)), when(get(TILE, k))), (when(copy(TILE)), T, when(get(TILE, k))),
    ),
    "a loop whose rounds read what others wrote in the last one": (
        (loop(when(store(HELD, w), get(HELD, k))),), (loop(when(store(HELD, w), get(HELD, k)), R),),
    ),
    "a loop that copies and reads": (
        (loop(copy(TILE), get(TILE, k)),), (loop(copy(TILE), T, get(TILE, k), T),),
    ),
    "loops one in the other": (
        (loop(loop(copy(TILE), get(TILE, k))),),
        (loop(loop(copy(TILE), T, get(TILE, k), T), Barrier()),),
    ),
    "a loop may be empty": (
        (copy(TILE), loop(store(HELD, w), get(HELD, w * 0)), copy(TILE), get(TILE, k)),
        (copy(TILE), loop(store(HELD, w), R, get(HELD, w * 0), R), copy(TILE), T, get(TILE, k)),
    ),
    "a loop of the branch's reads": ((copy(TILE), loop(when(get(TILE, k)))), (copy(TILE), T, loop(when(get(TILE, k))))),
}  # fmt: skip


@pytest.mark.parametrize("name", BARRIERS)
def test_barriers(name: str) -> None:
    body, expected = BARRIERS[name]
    assert place_barriers(body, first=False) == expected


def test_loops_begin_with_a_barrier_where_compilers_need_it() -> None:
    expected = (loop(Barrier(), loop(Barrier(), copy(TILE), T, get(TILE, k), T), Barrier()), loop(store(OUT, w)))
    assert place_barriers((loop(loop(copy(TILE), get(TILE, k))), loop(store(OUT, w))), first=True) == expected


def test_a_barrier_stands_between_statements_of_a_block() -> None:
    body = (Scope((copy(TILE),)), Scope((Declare(X, Const("0", F4)), get(TILE, k))))
    expected = (Scope((copy(TILE),)), T, Scope((Declare(X, Const("0", F4)), get(TILE, k))))
    assert place_barriers(body, first=False) == expected


#: A buffer that is loaded from twice, what stands between both, where the second load is, and whether one name serves.
SHARED: dict[str, tuple[Buffer, tuple[Stmt, ...], Index, bool]] = {
    "equal loads": (A, (), w, True),
    "other loads": (A, (), w + 1, False),
    "what is constant": (A, (copy(TILE), store(OUT, w)), w, True),
    "a tile that was copied again": (TILE, (copy(TILE),), w, False),
    "a tile that a loop copied again": (TILE, (loop(copy(TILE)),), w, False),
    "a tile that was written": (TILE, (when(store(TILE, w)),), w, False),
    "a tile": (TILE, (copy(OTHER), let(X, TILE, w)), w, True),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_loads_are_shared(name: str) -> None:
    buffer, between, at, expected = SHARED[name]
    build = Builder()
    first = build.shared("x", load(buffer, w))
    for s in between:
        build.add(s)
    assert (build.shared("y", load(buffer, at)) == first) == expected
    assert len(build.body()) == 1 + len(between) + (not expected)


def test_an_inner_body_shares_nothing_with_others() -> None:
    build = Builder()
    outer = build.shared("x", load(A, w))
    inner = []
    for _ in range(2):
        with build.when([Compare(w, "==", Index())]):
            inner += [build.shared("x", load(A, w)), build.shared("x", load(A, w))]
    assert [inner.index(r) for r in inner] == [0, 0, 2, 2] and outer not in inner
    assert build.shared("x", load(A, w)) == outer != build.name("x", load(A, w))


def _procedure(*body: Stmt) -> Procedure:
    found = (Let(W, call("local_id")), *body)
    return Procedure("mdh_0", "", 8, 4, False, False, True, (A, OUT), ("n",), (), (), found)


ZERO = Const("0", F4)
INVALID: dict[str, tuple[Stmt, ...]] = {
    "k is not declared": (Store(OUT, k, ZERO),),
    "x0 is not declared": (store(OUT, w),),
    "y0 is not declared": (Let(X, Apply("add", (ZERO, Y), F4)),),
    "z0 is not declared": (If((Truth(Z),), ()),),
    "is declared twice": (Let(X, ZERO), Let(X, ZERO)),
    "gets a new value": (Let(X, ZERO), Assign(X, ZERO)),
    "has no beginning": (replace(loop(), begin=None),),
    "A_l is not declared": (Let(X, load(TILE, w)),),
    "A_l cannot be written": (copy(TILE),),
    "A cannot be written": (Store(A, w, ZERO),),
    "A is no local buffer": (AllocLocal(A, 3),),
    "a barrier stands in a branch": (when(Barrier()),),
    "values are exchanged in a branch": (when(Let(X, Apply("add", (ZERO, Shuffled(ZERO, ONE)), F4))),),
    r"add of \[2, 4\] lanes gives 4": (
        Let(X, Apply("add", (Const("0", F4, 2), Const("0", F4, 4)), F4, 4)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", INVALID)
def test_what_may_not_stand_there_is_found(message: str) -> None:
    with pytest.raises(InvalidProcedure, match=message):
        verify(_procedure(*INVALID[message]))


def test_what_is_known_in_a_body_is_known_there_only() -> None:
    verify(_procedure(loop(Let(X, ZERO), store(OUT, k)), loop(Let(X, ZERO), store(OUT, k + variable(Var("n"))))))
    with pytest.raises(InvalidProcedure, match="x0 is not declared"):
        verify(_procedure(loop(Let(X, ZERO)), store(OUT, w)))


@pytest.mark.parametrize("name", KERNELS)
def test_each_pass_leaves_kernels_valid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is printed of them is of one line a statement."""
    seen: list[Procedure] = []

    def observed(p: Procedure, *, barrier_first: bool) -> Procedure:
        waiting = replace(p, body=place_barriers(p.body, first=barrier_first))
        found = lowered(p, barrier_first=barrier_first)
        for each in (p, waiting, found):
            verify(each)
            assert show(each).startswith(f"kernel {p.name}") and " object at " not in show(each)
        seen.append(found)
        return found

    monkeypatch.setitem(KERNELS[name].program.__globals__["generate"].__globals__, "lowered", observed)
    KERNELS[name].program()
    assert seen


# Index arithmetic

VARIABLES = (Var("a", None, -2, 3), Var("b", None, 0, 4), Var("c", None, 1, 2))


def _expression(p: Picker, depth: int) -> tuple[Index, Any]:
    """An index, and the function of the variables' values that gives it."""
    kind = p.integer(0, 9) if depth else p.integer(0, 1)
    if kind == 0:
        n = p.integer(-4, 4)
        return constant(n), lambda env: n
    if kind == 1:
        var = p.choice(VARIABLES)
        return variable(var), lambda env: env[var]
    (a, f), (b, g), (e, h) = (_expression(p, depth - 1) for _ in range(3))
    if kind == 2:
        return a - b, lambda env: f(env) - g(env)
    if kind == 3:
        return a * b, lambda env: f(env) * g(env)
    if kind == 4:
        return least(a, b), lambda env: min(f(env), g(env))
    if kind == 5:
        return most(a, b), lambda env: max(f(env), g(env))
    if kind == 6:
        low, high = a, most(a, b)
        return clamp(e, low, high), lambda env: min(max(h(env), f(env)), max(f(env), g(env)))
    if kind == 7:
        n = p.integer(1, 4)
        return (most(a, Index()) + 1) // n, lambda env: (max(f(env), 0) + 1) // n
    if kind == 8:
        n = p.integer(1, 4)
        return most(a, Index()) % n, lambda env: max(f(env), 0) % n
    test = Compare(a, "<", b)
    return choice((test,), e, a), lambda env: h(env) if f(env) < g(env) else f(env)


def _environments() -> list[dict[Var, int]]:
    ranges = [range(int(v.low), int(v.high) + 1) for v in VARIABLES]
    return [dict(zip(VARIABLES, values, strict=True)) for values in product(*ranges)]


@pytest.mark.parametrize("seed", range(150))
def test_index_arithmetic(seed: int) -> None:
    """Simplified indices give what they gave, in their ranges; what is said of conditions is so."""
    p = Seeded(seed)
    (a, f), (b, g) = _expression(p, 3), _expression(p, 2)
    test = Compare(a, p.choice(("<", "<=", ">", ">=", "==")), b)
    for env in _environments():
        evaluator = Evaluator(env)
        assert (evaluator.index(a), evaluator.index(b)) == (f(env), g(env))
        assert test.known in {None, evaluator.hold([test])}


@pytest.mark.parametrize("seed", range(150))
def test_places_that_are_said_to_be_apart_are(seed: int) -> None:
    p = Seeded(seed)
    agreed = Var("c", None, 1, 2, agreed=True)
    shift = [variable(agreed) * p.integer(-9, 9) + p.integer(-20, 20) for _ in range(2)]
    (a, f), (b, g) = _expression(p, 1), _expression(p, 1)
    values = [(f(env), g(other)) for env in _environments() for other in _environments()[::3]]
    alike = any(
        x + Evaluator({agreed: n}).index(shift[0]) == y + Evaluator({agreed: n}).index(shift[1])
        for x, y in set(values)
        for n in (1, 2)
    )
    assert not (apart(element(a + shift[0]), element(b + shift[1])) and alike)


def test_what_is_known_of_indices() -> None:
    a, b, c = map(variable, VARIABLES)
    assert str((a + 2) * 3 - a - b * (c - 1)) == "a * 2 + b - b * c + 6"
    assert [str(i) for i in (constant(7) - b, a * 1 - 3, constant(0), b - b)] == ["7 - b", "a - 3", "0", "0"]
    assert (least(b, constant(4)), most(b, constant(9)), clamp(b, ONE, constant(9))) == (b, constant(9), most(b, ONE))
    assert (b // 1, b % 1, constant(7) // 2, constant(7) % 2) == (b, Index(), constant(3), ONE)
    tests = {Compare(b, ">=", Index()): True, Compare(b, "<", Index()): False, Compare(a, ">=", Index()): None}
    assert {t: t.known for t in tests} == tests


def test_loops_of_pipelines_have_names_that_no_dimension_has() -> None:
    names = {var.stem for var in (pipeline.FILLED, pipeline.ROUND)}
    assert not names & {*dimension_names(40)}
