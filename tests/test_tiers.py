"""Calls from the first one on: NumPy, then kernels that the helper process has built, wherever these are faster."""

from __future__ import annotations

import subprocess
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiers import (
    Counting,
    Differing,
    Failing,
    First,
    Kept,
    Promising,
    Slower,
    binaries,
    compilations,
    decide,
    own_helper,
    program,
    result,
)

import mdhnp
from mdhnp import config
from mdhnp.calls import build, steps
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import ByNumpy, Kernels, Leaf
from mdhnp.calls.request import Request
from mdhnp.calls.store import entries, forget
from mdhnp.runtime.devices import Device
from mdhnp.runtime.devices import device as use
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.programs import compiled
from mdhnp.tuning import background
from mdhnp.tuning.times import KERNELS, NUMPY, measured

A = np.arange(35 * 36, dtype=np.float32).reshape(35, 36) % 7


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path / "cache"))
    forget()
    with config(host="auto", tuning="off"):
        yield from own_helper(monkeypatch)
    forget()


def product() -> Leaf:
    """Multiply, check, have all done that is to be done meanwhile, and give the plan that was in use."""
    with observe() as seen:
        np.testing.assert_array_equal(mdhnp.matmul(A, A.T), A @ A.T)
    background.wait()
    return seen[0][0]  # the others, if any, are of a comparison made in place


def kinds(count: int) -> list[type[Leaf]]:
    return [type(product()) for _ in range(count)]


@pytest.mark.parametrize("tuning", ["off", "auto"])
def test_numpy_computes_until_kernels_are_there(device: Device, tuning: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled in this process; what was measured is kept."""
    decide(monkeypatch)
    before, hosted = compiled(), mdhnp.host_counts().get("matmul", 0)
    with config(tuning=tuning):
        assert kinds(5) == [ByNumpy, ByNumpy, Kernels, Kernels, Kernels]
        assert product().why == "measured: NumPy 2.0 µs, kernels 1.0 µs"
        forget()
        plan = product()
    assert isinstance(plan, Kernels)
    assert plan.why == "measured: NumPy 2.0 µs, kernels 1.0 µs"
    assert compiled() == before
    assert mdhnp.host_counts()["matmul"] == hosted + 2
    assert dict(measured(plan.mdhom, device)) == {NUMPY: 2e-6, KERNELS: 1e-6}


def test_numpy_is_not_timed_beside_kernels_that_are_much_faster(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Than NumPy was in the caller's process; nor is a device compared with none."""
    with config(host="never", specialise="always"), observe() as seen:
        mdhnp.matmul(A, A.T)
    layouts = (Layout.of(A), Layout.of(A.T))
    timed: list[float] = []
    monkeypatch.setattr(build, "_least", lambda work, rest=0.0: timed.append(1.0) or 1.0)
    monkeypatch.delattr(build, "fastest_kernels")
    for usual, samples in ((2.1, 3), (1.9, 9)):
        timed.clear()
        found = build.Build(seen[0][0].mdhom, layouts, (device.identity,), usual).run()
        assert isinstance(found, build.Built)
        alone = samples == 3 or device.caps.kind == "gpu"
        assert (found.ratio, len(timed)) == (pytest.approx(1 / usual if alone else 1.0), 3 if alone else 9)


def test_one_round_does_not_decide_in_the_helper(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    with config(host="never", specialise="always"), observe() as seen:
        mdhnp.matmul(A, A.T)
    plan = seen[0][0]
    assert isinstance(plan, Kernels)
    request = Request("", plan.mdhom, (Layout.of(A), Layout.of(A.T)), (device,), config.mode)
    for odd in (1e-9, 1.0):  # the second round of NumPy, and of kernels
        for disturbed in (2, 3):
            times = [1e-4, 2e-4, 1e-4, 2e-4, 1e-4, 2e-4]
            times[disturbed] = odd
            monkeypatch.setattr(build, "_least", lambda work, left=times: left.pop(0))
            assert build.compare(plan, request) == (1e-4, 2e-4)


def softmax(a: Any) -> Any:
    powers = np.exp(a - a.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def test_fused_functions_are_computed_as_written_until_kernels_are_there(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose rules make one pass of a softmax's maximum and sum, which NumPy has no function for."""
    decide(monkeypatch)
    monkeypatch.setattr(steps, "price_of_kernels", lambda request: 1e-9)
    monkeypatch.setattr(steps, "HEAVY", 1e9)
    before, fused, found = compiled(), mdhnp.fuse(softmax), []
    for _ in range(2):
        with observe() as seen:
            np.testing.assert_allclose(fused(A), softmax(A), rtol=1e-5, atol=1e-30)
        background.wait()
        found.append([plan for plan, _ in seen])
    assert {plan.why for plan in found[0]} == {"as written: no kernels were built yet for what rules make of it"}
    assert {type(plan) for plan in found[0]} == {ByNumpy}
    assert len(found[1]) < len(found[0])
    assert isinstance(found[1][0], Kernels)
    assert compiled() == before
    forget()
    with observe() as seen:
        fused(A)
    assert isinstance(seen[0][0], Kernels)  # found on disk


def test_fused_functions_stay_as_written_where_no_kernels_can_be_built(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(monkeypatch, Failing)
    monkeypatch.setattr(steps, "price_of_kernels", lambda request: 1e-9)
    monkeypatch.setattr(steps, "HEAVY", 1e9)
    fused = mdhnp.fuse(softmax)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(4):
            with observe() as seen:
                np.testing.assert_allclose(fused(A), softmax(A), rtol=1e-5, atol=1e-30)
            background.wait()
            assert {type(plan) for plan, _ in seen} == {ByNumpy}
    assert [str(w.message)[:27] for w in caught] == ["a call keeps the plan it ha"]


def test_where_kernels_are_asked_for_this_process_compiles(device: Device) -> None:
    before = compiled()
    other = np.ones((53, 59), np.float32)  # which no other test multiplies
    with config(host="never", specialise="always"):
        np.testing.assert_array_equal(mdhnp.matmul(other, other.T), 59)
    assert compiled() == before + 1


STAYING = [
    (Promising, Kept, "measured: NumPy 1.0 µs, kernels 2.0 µs", 0),
    (Slower, First, "kernels take 10.0 times as long as NumPy", 0),
    (Differing, First, "the kernels' result differs from NumPy's", 0),
    (Failing, First, "no better kernels: RuntimeError: the compiler has had enough", 1),
]


@pytest.mark.parametrize(("job", "contest", "why", "said"), STAYING, ids=[each[0].__name__ for each in STAYING])
def test_numpy_stays_where_kernels_are_not_better(
    device: Device, job: Any, contest: Any, why: str, said: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(monkeypatch, job, contest)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert kinds(5) == [ByNumpy] * 5
    assert product().why == why
    assert f"because   {why}\n" in mdhnp.explain(mdhnp.matmul, A, A.T).summary
    assert [w.category for w in caught] == [RuntimeWarning] * said


@pytest.mark.parametrize("where", ["process", "thread"])
def test_where_there_is_no_helper(device: Device, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without processes another thread compiles, without threads the call itself."""
    decide(monkeypatch)

    def none(*_: Any, **__: Any) -> Any:
        raise OSError("no more") if where == "process" else RuntimeError("can't start new thread")

    owner, name = (subprocess, "Popen") if where == "process" else (threading.Thread, "start")
    monkeypatch.setattr(owner, name, none)
    before = compiled()
    assert kinds(4) == [ByNumpy, ByNumpy, Kernels, Kernels]
    assert compiled() > before


def test_threads_begin_at_once(device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every result is right, and one text is compiled, by the helper."""
    decide(monkeypatch)
    before, right = compiled(), A @ A.T
    start, wrong = threading.Barrier(8), []

    def work() -> None:
        with use(device), config(host="auto", tuning="off"):
            start.wait()
            wrong.extend(n for n in range(50) if not np.array_equal(mdhnp.matmul(A, A.T), right))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    background.wait()
    product()
    assert isinstance(product(), Kernels)
    assert wrong == []
    assert compiled() == before
    assert compilations() == len(binaries()) > 0


def test_deterministic_settings_start_nothing(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    decide(monkeypatch)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 61, 61))
    with config(tuning="off", host="never", specialise="always"), observe() as seen:
        found = [mdhnp.matmul(a, b).tobytes() for _ in range(30)]
    assert len(set(found)) == 1
    assert len({id(plan) for plan, _ in seen}) == 1
    assert background._helper._thread is None
    assert background._helper._process is None


# Other processes, each with what it prints at its end


def test_another_process_begins_with_kernels_and_compiles_nothing(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(monkeypatch)
    assert kinds(3)[-1] is Kernels
    code = """
from mdhnp.calls.loading import load
load()
right = np.array_equal(mdhnp.matmul(A, A.T), A @ A.T)
report(right=right)
"""
    found = result(program(code, MDHNP_DEVICE=device.runtime))
    assert found == {"opencl": True, "hosted": {}, "compiled": 0, "right": True}


def test_processes_that_begin_at_once_compile_once(device: Device, tmp_path: Path) -> None:
    code = """
import pytest
from tiers import decide, own_helper
from mdhnp.tuning import background
patch = pytest.MonkeyPatch()
helper = own_helper(patch)
next(helper)
decide(patch)
right = []
for _ in range(4):
    right.append(bool(np.array_equal(mdhnp.matmul(A, A.T), A @ A.T)))
    background.wait()
report(right=all(right))
next(helper, None)
"""
    running = [program(code, MDHNP_DEVICE=device.runtime) for _ in range(3)]
    for each in running:
        assert result(each) == {"opencl": True, "hosted": {"matmul": 2}, "compiled": 0, "right": True}
    assert compilations() == len(binaries()) > 0


@pytest.mark.parametrize("contest", [False, True])
def test_calls_that_are_not_told_one_by_one_are_counted(contest: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones are counted several at a time, but in a contest, whose samples they are."""
    if contest:
        decide(monkeypatch, contest=Counting)
    a = np.ones((4, 4), np.float32, order="F")  # which is described at once
    mdhnp.matmul(a, a)
    background.wait()
    mdhnp.matmul(a, a)
    (entry,) = [e for e in entries.values() if e.watcher is not None]
    before, noted = entry.watcher.spent.calls, entry.watcher.noted if contest else 0
    for _ in range(100):
        mdhnp.matmul(a, a)
    counted = entry.watcher.spent.calls - before
    assert counted == 100 if contest else 84 < counted <= 116
    assert not contest or entry.watcher.noted == noted + 100
