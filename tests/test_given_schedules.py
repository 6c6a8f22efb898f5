"""Schedules that the user says: a call computes by exactly these, or tells which rule one breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tuning_entries import stage_of

import mdhnp
from mdhnp.calls import tune as tune_module
from mdhnp.calls.store import forget
from mdhnp.runtime.devices import Device
from mdhnp.schedule import LocalCopy, Schedule
from mdhnp.tuning.cache import BestSchedule, cache
from mdhnp.tuning.lookup import key_of

RNG = np.random.default_rng(0)
A, B, C = (RNG.random(shape, np.float32) for shape in ((37, 41), (41, 23), (23, 19)))
#: The canonical form of A @ B.
PLAIN = Schedule.plain((37, 23, 41), 2)

KEYS = {"a": np.arange(6, dtype=np.int32), "b": np.arange(6, dtype=np.int32) % 2}

NESTED = mdhnp.md_hom(lambda x: x, {"i": mdhnp.pw("add"), "j": mdhnp.pw("max")}, "A[i,j] -> O[]", nested=True)
CALLS: dict[str, Callable[..., Any]] = {
    "product": lambda a, b, c: mdhnp.matmul(a, b),
    "three operands": lambda a, b, c: mdhnp.einsum("ij,jk,kl->il", a, b, c),
    "operators that nest": lambda a, b, c: NESTED(a),
    "scan": lambda a, b, c: mdhnp.cumulative_sum(a, axis=1),
    "map": lambda a, b, c: mdhnp.outer(a[0], b[0]),
    "rows": mdhnp.fuse(lambda a, b, c: mdhnp.exp(a - mdhnp.max(a, axis=1, keepdims=True))),
}


@pytest.fixture(autouse=True)
def settings() -> Any:
    forget()
    with mdhnp.config(host="never", tuning="off"):
        yield
    forget()


@pytest.mark.parametrize("specialise", ["auto", "always"])
@pytest.mark.parametrize("resident", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_what_explain_prints_repeats_the_call(device: Device, name: str, resident: bool, specialise: Any) -> None:
    arrays = [mdhnp.asarray(a, device=device) if resident else a for a in (A, B, C)]
    with mdhnp.config(specialise=specialise):
        first = mdhnp.explain(CALLS[name], *arrays)
        right = np.asarray(mdhnp.asarray(CALLS[name](*arrays)).numpy())
    lines = str(first).splitlines()
    printed = [eval(line, {"Schedule": Schedule, "LocalCopy": LocalCopy}) for line in lines if line[:9] == "Schedule("]
    assert tuple(printed) == first.schedules
    with mdhnp.config(schedule=printed):
        again = mdhnp.explain(CALLS[name], *arrays)
        found = np.asarray(mdhnp.asarray(CALLS[name](*arrays)).numpy())
    assert again.schedules == first.schedules
    assert {origin for plan in again.launches for origin in plan.origins} == {"given"}
    np.testing.assert_allclose(found, right, rtol=1e-5)


@pytest.mark.parametrize(
    "schedule",
    [
        PLAIN,
        PLAIN.at(0, num_wg=4, local_tile=10, num_wi=2),
        PLAIN.at(2, num_wg=3, local_tile=14),  # a split reduction, by a default second kernel
        replace(PLAIN.at(2, num_wg=3, local_tile=14), second=Schedule.plain((851, 3), 1)),
        replace(PLAIN.at(1, private_tile=4, local_tile=20), vector_dim=1, vector_width=4),
        replace(PLAIN, local_copies=(LocalCopy((1, 0)), None), private_copies=(True, True)),
    ],
    ids=["plain", "groups", "split", "second", "vectors", "copies"],
)
def test_a_call_computes_by_the_schedule(device: Device, schedule: Schedule) -> None:
    with mdhnp.config(schedule=schedule):
        np.testing.assert_allclose(mdhnp.matmul(A, B), A @ B, rtol=1e-5)
        assert mdhnp.explain(mdhnp.matmul, A, B).schedules == (schedule,)
    assert mdhnp.explain(mdhnp.matmul, A, B).schedules != (schedule,)


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        (PLAIN.at(0, local_tile=99), "local_tile: 99 in dimension 0 of extent 37"),
        (Schedule.plain((37, 23), 2), "num_wg: 2 values for 3 dimensions"),
        (replace(PLAIN, vector_width=3), "vector_width: 3 is none of 1, 2, 4, 8, 16"),
        (
            replace(PLAIN.at(2, num_wg=3, local_tile=14), second=PLAIN),
            "second: num_wg: 3 values for 2 dimensions (md_hom(id, (++, +))",
        ),
        (
            replace(PLAIN, second=Schedule.plain((851, 3), 1)),
            "second: no work-groups share a reduction, so that no kernel",
        ),
        ((PLAIN, PLAIN), "2 for a call of 1 kernels; explain(…).schedules has one for each"),
    ],
    ids=["tile", "rank", "vectors", "second", "no second", "count"],
)
def test_what_is_illegal_is_said(device: Device, schedule: Any, says: str) -> None:
    for asked in (lambda: mdhnp.matmul(A, B), lambda: mdhnp.linalg.matmul(A, B, schedule=schedule)):
        with mdhnp.config(schedule=schedule), pytest.raises(mdhnp.IllegalSchedule, match=r"^matmul: schedule: ") as e:
            asked()
        assert says in str(e.value)


def test_scans_have_no_second_schedule(device: Device) -> None:
    with pytest.raises(mdhnp.IllegalSchedule, match="second: parts of a scan go on from totals"):
        mdhnp.cumulative_sum(A[0], schedule=replace(Schedule.plain((41,), 1), second=Schedule.plain((2,), 1)))


def test_numpy_does_not_compute_and_nothing_is_tuned(device: Device) -> None:
    with mdhnp.config(host="auto", tuning="full", schedule=PLAIN):
        shown = mdhnp.explain(mdhnp.matmul, A, B)
        assert (shown.launches[0].why, shown.schedules) == ("schedule says how", (PLAIN,))
        (ready,) = mdhnp.prepare(mdhnp.matmul, A, B)  # by the schedules that are chosen
        assert ready.device is device


def test_a_call_by_a_schedule_is_not_tuned(device: Device) -> None:
    """Nor is it one of several that is: what was found would not be used."""
    with pytest.raises(ValueError, match=r"^tune: schedule: the call is always computed by the one that"):
        mdhnp.tune(mdhnp.matmul, A, B, schedule=PLAIN, budget=1.0, evaluations=1, progress=False)
    with mdhnp.config(schedule=PLAIN), pytest.raises(ValueError, match=r"^tune: schedule: the call is always comp"):
        mdhnp.tune(mdhnp.matmul, A, B, budget=1.0, evaluations=1, progress=False)
    both = lambda: mdhnp.matmul(A.T, mdhnp.matmul(A, B, schedule=PLAIN))  # noqa: E731
    (found,) = mdhnp.tune(both, budget=1.0, evaluations=1, progress=False)
    assert found.mdhom.extents == (41, 23, 37)


def test_of_several_calls_none_is_tuned_where_one_is_given_a_schedule(device: Device, monkeypatch) -> None:
    monkeypatch.setattr(tune_module, "tune_stage", None)  # to call it fails
    calls = [lambda: mdhnp.matmul(A, B), lambda: mdhnp.matmul(A, B, schedule=PLAIN)]
    with pytest.raises(ValueError, match=r"^tune: schedule: the call is always computed by the one that"):
        mdhnp.tune(calls=calls, progress=False)


def test_rewritings_leave_calls_by_a_schedule_out(device: Device) -> None:
    x = np.ones((20, 30), np.float32)
    rows = mdhnp.fuse(lambda a: mdhnp.sum(a * 2 + 1, axis=1) * 3)
    both = lambda: (mdhnp.matmul(A, B, schedule=PLAIN), rows(x))  # noqa: E731
    found = mdhnp.tune(both, budget=0.2, evaluations=1, progress=False)
    assert found
    assert (37, 23, 41) not in [t.mdhom.extents for t in found]


def test_kept_schedules_say_nothing_of_kernels_that_are_not(device: Device, monkeypatch, tmp_path: Path) -> None:
    """As those of earlier versions may, so that what `explain` gives can be given."""
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    h = stage_of(A, B)
    kept = replace(PLAIN, second=Schedule.plain((851, 3), 1))
    cache().put(key_of(h, device), BestSchedule(kept, 1e-4, 3, "2026-01-01T00:00:00Z", str(h)))
    forget()
    (shown,) = mdhnp.explain(mdhnp.matmul, A, B).schedules
    assert shown == PLAIN
    np.testing.assert_allclose(mdhnp.matmul(A, B, schedule=shown), A @ B, rtol=1e-5)


#: Functions of each kind that takes a schedule, with as many kernels as their calls have.
TAKING: dict[str, Callable[..., Any]] = {
    "matmul": lambda **how: mdhnp.matmul(A, B, **how),
    "matmul, into": lambda **how: mdhnp.matmul(A, B, np.empty((37, 23), np.float32), **how),
    "matmul, lists": lambda **how: mdhnp.matmul(A.tolist(), B.tolist(), **how),
    "matmul, semiring": lambda **how: mdhnp.matmul(A, B, semiring=mdhnp.semiring.min_plus, **how),
    "linalg.matmul": lambda **how: mdhnp.linalg.matmul(A, B, **how),
    "vecmat": lambda **how: mdhnp.vecmat(A[:, 0], A, **how),
    "einsum": lambda **how: mdhnp.einsum("ij,jk,kl->il", A, B, C, **how),
    "dot": lambda **how: mdhnp.dot(A, B, **how),
    "tensordot": lambda **how: mdhnp.tensordot(A, B, 1, **how),
    "multi_dot": lambda **how: mdhnp.linalg.multi_dot([A, B, C], **how),
    "gemv": lambda **how: mdhnp.gemv(A, A[0], A[:, 0], 2, 3, **how),
    "gemm": lambda **how: mdhnp.gemm(A, B, **how),
    "conv1d": lambda **how: mdhnp.conv1d(A[None], A[None, :, :3], **how),
    "stencil": lambda **how: mdhnp.stencil(A, A[:3, :3], **how),
    "prl": lambda **how: mdhnp.prl(KEYS, KEYS, m=0.9, **how).weight,
    "sum": lambda **how: mdhnp.sum(A, axis=0, **how),
    "sum, where": lambda **how: mdhnp.sum(A, axis=0, where=A > 0.5, **how),
    "std": lambda **how: mdhnp.std(A, axis=1, **how),
    "argmax": lambda **how: mdhnp.argmax(A, axis=1, **how),
    "cumulative_sum": lambda **how: mdhnp.cumulative_sum(A, axis=1, **how),
    "attention": lambda **how: mdhnp.attention(A[:, :8], A[:, 8:16], A[:, 16:], **how),
    "md_hom": lambda **how: NESTED(A, **how),
}


@pytest.mark.parametrize("name", TAKING)
def test_functions_take_a_schedule(device: Device, name: str) -> None:
    """And nothing of it is left for other calls, nor found by those that say another one."""
    call = TAKING[name]
    first = mdhnp.explain(call)
    given = tuple([replace(s, group_order=s.group_order[::-1], item_order=s.item_order[::-1]) for s in first.schedules])
    for how in ({"schedule": given}, {"schedule": first.schedules}, {}, {"schedule": list(given)}) * 2:
        shown = mdhnp.explain(call, **how)
        assert shown.schedules == (tuple(how["schedule"]) if how else first.schedules)
        np.testing.assert_allclose(call(**how), call(), rtol=1e-4)
    with pytest.raises(ValueError, match=r"^\w+: schedule: 3 is neither None nor a mdhnp\.tuning\.Schedule"):
        call(schedule=3)
    with pytest.raises(mdhnp.IllegalSchedule, match=r"^\w+: schedule: 9 for a call of \d kernels"):
        call(schedule=[PLAIN] * 9)


def test_a_call_inside_of_a_fused_function_takes_none() -> None:
    product = mdhnp.fuse(lambda a, b: mdhnp.matmul(a, b, schedule=PLAIN) + 1)
    with pytest.raises(mdhnp.TracingError, match=r"^matmul: schedule: cannot be given in line \d+ of"):
        product(A, B)
    with pytest.raises(TypeError, match="schedule"):
        mdhnp.reshape(A, (-1,), schedule=PLAIN)
