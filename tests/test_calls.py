"""Plans: found again, dropped in time, never outdated; and who sees which calls."""

import gc
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from weakref import ref

import numpy as np
import pytest
from tiers import decide, own_helper

import mdhnp
from mdhnp import native
from mdhnp.calls import Described, Routine, build, call, kernels, steps
from mdhnp.calls import observe as observing
from mdhnp.calls import store as storing
from mdhnp.calls.entry import Entry, Start
from mdhnp.calls.observe import observe
from mdhnp.calls.request import Request
from mdhnp.calls.store import entries, forget, store
from mdhnp.runtime.devices import Device
from mdhnp.runtime.programs import BuildError
from mdhnp.schedule import IllegalSchedule, Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning import background


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    forget()
    yield
    forget()


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the plans made, and make them without a compiler: an extent of 0 has nothing to launch."""
    sizes: list[int] = []
    original = steps.start

    def counted(request: Request, *rest: Any) -> Start | None:
        sizes.append(request.layouts[0].shape[1])
        return original(request, *rest)

    monkeypatch.setattr(steps, "start", counted)
    return sizes


SUM = mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc, "j": mdhnp.pw("add")}, "A[i,j] -> B[i]")
EMPTY = Routine("empty", lambda arrays: Described(SUM.bind(*arrays)))


def empty_sum(n: int) -> None:
    call((EMPTY,), (np.empty((0, n), np.float32),))


def test_a_device_without_double_precision(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy computes what is double, also where it only becomes so, and only that; or it is an error."""
    monkeypatch.setattr(device, "caps", replace(device.caps, fp64=False))
    single, whole = np.ones((3, 5), np.float32), np.ones((3, 5), np.int32)
    double, wide = np.ones((3, 5)), np.ones((3, 5), np.complex128)
    with mdhnp.config(fallback="error"):
        for a in (single, whole, single.astype("f2"), single.astype("c8")):
            assert np.array_equal(mdhnp.matmul(a, a.T), a @ a.T)
        assert "double" not in mdhnp.explain(mdhnp.einsum, "ij,kj", single, single).source
    calls = {
        "einsum": [(mdhnp.einsum, np.einsum, ("ij,kj", a, b)) for a, b in [(double, double), (single, whole)]],
        "matmul": [(mdhnp.matmul, np.matmul, (a, b.T)) for a, b in [(wide, single), (single, whole)]],
        "dot": [(mdhnp.dot, np.dot, (a, b.T)) for a, b in [(double, single), (whole, single)]],
        "gemm": [(mdhnp.gemm, np.matmul, (a, b.T)) for a, b in [(double, single), (whole, single)]],
    }
    for name, all_of_it in calls.items():
        for ours, numpys, arguments in all_of_it:
            before = mdhnp.fallback_counts().get(name, 0)
            found, wanted = ours(*arguments), numpys(*arguments)
            assert np.array_equal(found, wanted) and found.dtype == wanted.dtype
            assert mdhnp.fallback_counts()[name] == before + 1
            with mdhnp.config(fallback="error"), pytest.raises(TypeError, match=r"float64|complex128"):
                ours(*arguments)
    half = mdhnp.md_hom(lambda n: n / 2, {"i": mdhnp.cc, "j": mdhnp.cc}, "x[i,j] -> y[i,j]")
    assert np.array_equal(half(single), single / 2)
    for a in (double, whole):
        with pytest.raises(TypeError, match="double precision"):
            half(a)
    with pytest.raises(TypeError, match="double precision"):
        mdhnp.stencil(double, np.ones((1, 2)))


def test_nested_blocks_see_their_calls_and_end() -> None:
    a = np.ones((4, 4), np.float32)
    with observe() as outer:
        mdhnp.matmul(a, a)
        with observe() as inner:
            mdhnp.matmul(a, a)
        with observe() as equal:  # an empty list equals another empty list
            pass
    mdhnp.matmul(a, a)
    assert (len(outer), len(inner), len(equal)) == (2, 1, 0)
    nested = mdhnp.explain(lambda: mdhnp.explain(mdhnp.matmul, a, a))
    assert len(nested.launches) == 2
    assert observing._lists.get() == ()
    assert observing.blocks == 0


def test_a_block_sees_its_own_thread_only() -> None:
    a = np.ones((4, 4), np.float32)
    with observe() as seen:
        thread = threading.Thread(target=mdhnp.matmul, args=(a, a))
        thread.start()
        thread.join()
    assert seen == []


def test_a_plan_in_use_outlives_many_others(planned: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "_CAPACITY", 8)
    for n in range(1, 50):
        empty_sum(1000)
        empty_sum(n)
        assert len(store.young) + len(store.old) <= 8
    assert planned.count(1000) == 1
    empty_sum(1)
    assert planned.count(1) == 2  # long out of use


def test_plans_go_with_their_computation() -> None:
    a = np.ones((3, 5), np.float32)
    twice = mdhnp.md_hom(lambda x: x * 2, {"i": mdhnp.cc, "j": mdhnp.pw("add")}, "A[i,j] -> B[i]")
    other = mdhnp.md_hom(lambda x: x * 3, {"i": mdhnp.cc, "j": mdhnp.pw("add")}, "A[i,j] -> B[i]")
    for computation, expected in ((twice, 10), (other, 15), (twice, 10)):
        np.testing.assert_array_equal(computation(a), expected)
    twice(a[:2])
    assert len(entries) == 3
    del twice, computation
    gc.collect()
    assert len(entries) == 1
    np.testing.assert_array_equal(other(a), 15)


def test_a_plan_begun_before_forget_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.ones((4, 4), np.float32)
    original = steps.start

    def overtaken(request: Request, *rest: Any) -> Start | None:
        found = original(request, *rest)
        forget()  # as another thread does that has found a better schedule meanwhile
        return found

    with monkeypatch.context() as patch:
        patch.setattr(steps, "start", overtaken)
        np.testing.assert_array_equal(mdhnp.matmul(a, a), 4)
    assert not entries
    mdhnp.matmul(a, a)
    assert len(entries) == 1


@pytest.mark.parametrize("error", [IllegalSchedule("second"), BuildError("no", "", None)])
def test_a_tuned_schedule_that_cannot_be_used_gives_way(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.ones((4, 4), np.float32)
    generate = kernels.generate
    bad: list[Schedule] = []

    def tuned(h: Any, device: Device) -> Schedule:
        s = default(h, device.caps)
        bad.append(replace(s, second=s))
        return bad[-1]

    def refusing(stages: Any, schedules: Any, *rest: Any) -> Any:
        if schedules[0] in bad:
            raise error
        return generate(stages, schedules, *rest)

    monkeypatch.setattr(kernels, "tuned_for", tuned)
    monkeypatch.setattr(kernels, "generate", refusing)
    said = [] if isinstance(error, IllegalSchedule) else ["tuned kernels could not be used: no"]
    with mdhnp.config(specialise="always"):
        with observe() as seen, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.testing.assert_array_equal(mdhnp.matmul(a, a), 4)
        assert [str(w.message) for w in caught] == said
        assert seen[0][0].schedules[0].second is None
        monkeypatch.setattr(kernels, "tuned_for", lambda *_: None)
        monkeypatch.setattr(kernels, "generate", lambda *_: (_ for _ in ()).throw(IllegalSchedule("always")))
        with pytest.raises(IllegalSchedule, match="always"):
            mdhnp.matmul(a[:3], a)


@pytest.fixture
def at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have better plans made in the first call already."""
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    decide(monkeypatch)
    yield from own_helper(monkeypatch)


def fail(*_: Any) -> Any:
    raise RuntimeError("no")


@pytest.mark.parametrize("error", [BuildError("hopeless", "", None), MemoryError("hopeless"), RuntimeError("hopeless")])
def test_a_call_keeps_its_kernels_where_better_ones_cannot_be_made(
    device: Device, error: Exception, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its general kernel has computed the result: that is given, and later calls go on with it."""
    background.wait()  # what earlier tests have left would fail, too
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    made: list[Any] = []
    original = build.install

    def failing(request: Any, found: Any) -> Any:
        if request.mdhom.extents != (3, 3, 4):  # a call of an earlier test
            return original(request, found)
        made.append(request)
        raise error

    monkeypatch.setattr(build, "install", failing)
    with mdhnp.config(specialise="auto", tuning="off"), observe() as seen:
        said = "keeps the plan it has, since a better one could not be made: hopeless"
        with pytest.warns(RuntimeWarning, match=said) as caught:
            np.testing.assert_array_equal(mdhnp.matmul(a, a.T), a @ a.T)
            background.wait()
        assert sum(said in str(w.message) for w in caught) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(3):
                np.testing.assert_array_equal(mdhnp.matmul(a, a.T), a @ a.T)
    assert len(made) == 1
    assert [plan.origins for plan, _ in seen] == [("general",)] * 4
    assert seen[-1][0].why == "no better kernels: hopeless"


@pytest.mark.parametrize("where", ["submit", "install"])
def test_warnings_as_errors_do_not_take_a_call_s_result(
    device: Device, where: str, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor end the thread in which they are issued."""
    monkeypatch.setattr(*((background, "submit") if where == "submit" else (build, "install")), fail)
    a = np.ones((3, 4), np.float32)
    with mdhnp.config(specialise="auto", tuning="off"), warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(mdhnp.matmul(a, a.T), 4)
        background.wait()


def test_warnings_are_about_the_user_s_line(device: Device, at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "submit", fail)
    a = np.ones((3, 4), np.float32)
    for call_it in (lambda: mdhnp.matmul(a, a.T), lambda: mdhnp.einsum("ij,jk,kl", a[:2], a.T, a)):
        with mdhnp.config(specialise="auto", tuning="off"), pytest.warns(RuntimeWarning) as caught:
            call_it()
        assert {w.filename for w in caught} == {__file__}


def test_ctrl_c_while_better_kernels_are_ordered_puts_it_off(
    device: Device, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, original = np.ones((3, 4), np.float32), background.submit
    interrupts, ordered = [KeyboardInterrupt()], []

    def interrupted(*arguments: Any) -> Any:
        if interrupts:
            raise interrupts.pop()
        ordered.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(background, "submit", interrupted)
    with mdhnp.config(specialise="auto", tuning="off"), observe() as seen:
        with pytest.raises(KeyboardInterrupt):
            mdhnp.matmul(a, a.T)
        for _ in range(3):
            np.testing.assert_array_equal(mdhnp.matmul(a, a.T), 4)
            background.wait()
    assert [plan.origins[0] for plan, _ in seen][:2] == ["general", "general"]
    assert (len(seen), len(ordered)) == (4, 1)


@pytest.mark.parametrize("host", ["auto", "never"])
def test_only_operands_of_the_same_kind_find_a_plan(host: Literal["auto", "never"]) -> None:
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    odd = np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(np.float32).reshape(4, 4)
    others = [a, a.astype(a.dtype.newbyteorder()), odd, a.view(np.matrix), a.tolist(), a.T, a.astype(np.float64)]
    with mdhnp.config(host=host):
        for x in others * 2:
            for y in (a, x):
                found = mdhnp.matmul(x, y)
                expected = np.matmul(x, y)
                np.testing.assert_array_equal(found, expected)
                assert found.dtype == expected.dtype
                assert type(found) is type(expected)
        for integer in (np.int64, np.longlong):
            assert mdhnp.matmul(a.astype(integer), a.astype(integer)).dtype.num == np.dtype(integer).num


WEIGHTS = np.ones((2, 2), np.float32)
#: Every public function, on matrices of 6 × 6 elements.
EVERY = {
    "einsum": lambda a, b: mdhnp.einsum("ij,jk", a, b),
    "einsum, strided": lambda a, b: mdhnp.einsum("ij,jk", a.T, b[::-1]),
    "einsum of three": lambda a, b: mdhnp.einsum("ij,jk,kl->il", a, b, a),
    "einsum with keywords": lambda a, b: mdhnp.einsum("ij,jk", a, b, order="F", dtype="f8"),
    "matmul": mdhnp.matmul,
    "matmul with keywords": lambda a, b: mdhnp.matmul(a, b, axes=[(1, 0), (0, 1), (0, 1)]),
    "vecdot": lambda a, b: mdhnp.vecdot(a, b, axis=0),
    "dot": mdhnp.dot,
    "inner": mdhnp.inner,
    "outer": mdhnp.outer,
    "tensordot": lambda a, b: mdhnp.tensordot(a, b, ([0], [1])),
    "kron": mdhnp.kron,
    "vdot": lambda a, b: mdhnp.vdot(a, b.reshape(4, 9)),
    "trace": lambda a, b: mdhnp.trace(a, 1),
    "multi_dot": lambda a, b: mdhnp.linalg.multi_dot([a, b, a]),
    "gemv": lambda a, b: mdhnp.gemv(a, b[0], y=b[1], alpha=2, beta=3),
    "gemm": lambda a, b: mdhnp.gemm(a, b, a, alpha=2),
    "stencil": lambda a, b: mdhnp.stencil(a, WEIGHTS, "wrap"),
    "stencil of a function": lambda a, b: mdhnp.stencil(a, lambda n: n[0, 1] - n[1, 0]),
    "md_hom": lambda a, b: SUM(a),
    "prl": lambda a, b: mdhnp.prl({"x": a[0]}, {"x": b[0]}, m=0.9, thresholds=(0, 1)),
}


@pytest.mark.parametrize("host", ["auto", "never"])
@pytest.mark.parametrize("name", EVERY)
def test_a_second_call_runs_what_the_first_one_made_and_keeps_no_operand(
    device: Device, name: str, host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 3, (6, 6)).astype(np.float32) for _ in range(2))
    with mdhnp.config(host=host, tuning="auto"):
        first = EVERY[name](a, b)
        monkeypatch.setattr(sys.modules["mdhnp.calls.call"], "_planned", lambda *_: pytest.fail("made again"))
        again = EVERY[name](a, b)
        copies = EVERY[name](a.copy(), b.copy())
    for other in (again, copies):
        for one, two in zip(np.atleast_1d(first), np.atleast_1d(other), strict=True):
            np.testing.assert_array_equal(one, two)
    alive = [ref(a), ref(b)]
    del a, b
    gc.collect()
    assert [operand() for operand in alive] == [None, None]


@pytest.mark.skipif(native.Method is None, reason="not compiled")
def test_repeat_calls_of_kernels_run_no_entry_in_python_unless_something_is_prepared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mdhnp.config, "host", "never")
    rng, run, made = np.random.default_rng(0), Entry.run, list[int]()
    monkeypatch.setattr(Entry, "run", lambda entry, operands: made.append(1) or run(entry, operands))
    a, b, j = rng.integers(0, 9, (13, 29)), rng.integers(0, 9, 29), np.array([3, 0, 12])
    for text, given, order, noted in (
        ("ij,j->i", (a, b), "K", 0), ("ij,j->", (a, b), "K", 0), ("ij,j->ij", (a, b), "F", 0),
        ("jk,j[i]->ik", (a, j), "K", 1),
    ):  # fmt: skip
        first = [mdhnp.einsum(text, *given, order=order) for _ in range(4)][-1]
        made.clear()
        again = mdhnp.einsum(text, *given, order=order)
        np.testing.assert_array_equal(again, first, strict=True)
        assert type(again) is type(first)
        assert np.asarray(again).strides == np.asarray(first).strides
        assert len(made) == noted
