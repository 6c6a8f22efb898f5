"""`patch`: other people's calls run here, in the threads that asked for it, and NumPy is restored."""

import asyncio
import pickle
import threading
from collections.abc import Iterator

import numpy as np
import opt_einsum
import pytest

import mdhnp
from mdhnp.calls.observe import observe

A, B = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5)
V = np.arange(4.0)
#: What code that one does not own may do.
CALLS = {
    "einsum": lambda: np.einsum("ij,jk", A, B),
    "matmul": lambda: np.matmul(A, B),
    "matvec": lambda: np.matvec(A, V),
    "vecdot": lambda: np.vecdot(A, V),
    "vecmat": lambda: np.vecmat(V, B),
    "dot": lambda: np.dot(A, B),
    "vdot": lambda: np.vdot(A, A),
    "inner": lambda: np.inner(A, V),
    "outer": lambda: np.outer(A, V),
    "tensordot": lambda: np.tensordot(A, B, 1),
    "kron": lambda: np.kron(A, V),
    "trace": lambda: np.trace(A),
    "linalg.matmul": lambda: np.linalg.matmul(A, B),
    "linalg.multi_dot": lambda: np.linalg.multi_dot([A, B, B.T]),
    "linalg.outer": lambda: np.linalg.outer(V, V),
    "linalg.tensordot": lambda: np.linalg.tensordot(A, B, axes=1),
    "linalg.trace": lambda: np.linalg.trace(A),
    "linalg.vecdot": lambda: np.linalg.vecdot(A, V),
}
ORIGINAL = {**vars(np)}, {**vars(np.linalg)}


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    assert all(vars(np)[name] is value for name, value in ORIGINAL[0].items() if name in CALLS)
    assert all(vars(np.linalg)[name[7:]] is ORIGINAL[1][name[7:]] for name in CALLS if name.startswith("linalg."))


def runs_here() -> bool:
    with observe() as seen:
        np.dot(A, B)
    return bool(seen)


@pytest.mark.parametrize("name", CALLS)
def test_calls_run_here(device, name):
    expected = CALLS[name]()
    with observe() as seen, mdhnp.patch():
        result = CALLS[name]()
    assert len(seen) == (2 if name == "linalg.multi_dot" else 1)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("stack", [(), (3,)])
def test_what_numpy_computes_in_a_block_is_its_own_function(stack):
    a, b = np.ones((*stack, 140, 3)), np.ones((*stack, 3, 150))  # a result that NumPy's matmul computes
    with mdhnp.config(host="auto", tuning="off"), mdhnp.patch():
        before = mdhnp.host_counts().get("matmul", 0)
        np.testing.assert_array_equal(np.matmul(a, b), 3)
        assert mdhnp.host_counts()["matmul"] == before + 1


def test_blocks_nest_and_end_by_exceptions():
    with mdhnp.patch():
        with pytest.raises(ZeroDivisionError), mdhnp.patch():
            assert runs_here()
            raise ZeroDivisionError
        assert runs_here()
    assert not runs_here()


def test_threads_enter_and_leave_in_any_order():
    turns = [threading.Event() for _ in range(5)]
    seen = []

    def first() -> None:
        with mdhnp.patch():
            turns[0].set()
            turns[1].wait(60)
            seen.append(runs_here())
        seen.append(not runs_here())  # although the other one is inside
        turns[2].set()

    def second() -> None:
        turns[0].wait(60)
        with mdhnp.patch():
            turns[1].set()
            turns[2].wait(60)
            seen.append(runs_here())
            turns[3].set()
            turns[4].wait(60)

    threads = [threading.Thread(target=f) for f in (first, second)]
    for t in threads:
        t.start()
    turns[3].wait(60)
    seen.append(not runs_here())
    turns[4].set()
    for t in threads:
        t.join(60)
    assert seen == [True] * 4


def test_many_threads_at_once():
    wrong = []

    def work(n: int) -> None:
        for k in range(50):
            if (n + k) % 3:
                with mdhnp.patch():
                    wrong.append(not runs_here())
            else:
                wrong.append(runs_here())

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert len(wrong) == 400 and not any(wrong)


def test_tasks_have_their_own():
    async def inside(entered: asyncio.Event, asked: asyncio.Event) -> bool:
        with mdhnp.patch():
            entered.set()
            await asked.wait()
            return runs_here()

    async def both() -> tuple[bool, bool]:
        entered, asked = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(inside(entered, asked))
        await entered.wait()
        outside = runs_here()
        asked.set()
        return await task, outside

    assert asyncio.run(both()) == (True, False)


@pytest.mark.parametrize("name", [*CALLS, "mdhnp.dot"])
def test_what_goes_to_numpy_is_counted_once(monkeypatch, name):
    for array in "ABV":
        monkeypatch.setitem(globals(), array, globals()[array].astype(np.longdouble))
    call = CALLS.get(name, lambda: mdhnp.dot(A, B))
    expected, function = call(), name.rpartition(".")[2]
    before = mdhnp.fallback_counts()
    with mdhnp.patch():
        result = call()
    np.testing.assert_array_equal(result, expected)
    assert mdhnp.fallback_counts() == before | {function: before.get(function, 0) + 1}


def test_what_others_put_in_place_stays():
    def other(*args):
        return "other"

    kept = np.dot
    try:
        with mdhnp.patch():
            np.dot = other
        assert np.dot is other
        with mdhnp.patch():
            np.testing.assert_array_equal(np.dot(A, B), kept(A, B))
        assert np.dot is other
    finally:
        np.dot = kept


def test_functions_keep_their_attributes():
    with mdhnp.patch():
        assert np.matmul.signature == "(n?,k),(k,m?)->(n?,m?)"
        assert (np.dot.__name__, np.dot.__module__) == ("dot", "numpy")
        data = pickle.dumps([np.dot, np.matmul, np.linalg.multi_dot])
    assert pickle.loads(data) == [np.dot, np.matmul, np.linalg.multi_dot]


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [("ij,jk,kl->il", ((3, 4), (4, 5), (5, 2))), ("ij,ij->", ((3, 4), (3, 4))), ("ab,bc,cd,de->ea", ((2, 3),) * 4)],
)
def test_opt_einsum_takes_us_for_a_backend(device, subscripts, shapes):
    arrays = [np.random.default_rng(n).random(s[:: 1 - 2 * (n % 2)] if len(shapes) == 4 else s)
              for n, s in enumerate(shapes)]  # fmt: skip
    with observe() as seen:
        result = opt_einsum.contract(subscripts, *arrays, backend="mdhnp")
    assert len(seen) >= len(arrays) - 1
    np.testing.assert_allclose(result, np.einsum(subscripts, *arrays), rtol=1e-12)
