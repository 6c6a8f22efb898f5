"""When calls are tuned: at once, when hot, meanwhile, never; and that calls go on whatever becomes of it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from separate import separate
from tiers import decide, own_helper

import mdhnp
from mdhnp import config
from mdhnp.calls import entry as entering
from mdhnp.calls import search as searching
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import Kernels
from mdhnp.calls.store import forget
from mdhnp.mdh import canonical
from mdhnp.runtime.devices import Device, default_device
from mdhnp.schedule import Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning import background, processes
from mdhnp.tuning.cache import cache
from mdhnp.tuning.cache.records import BestSchedule, Measurement
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.search import session
from mdhnp.tuning.search.session import Tuned, search

A = np.ones((33, 34), np.float32)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path / "cache"))
    forget()
    with mdhnp.device(default_device()), config(specialise="always"):  # and no other one, if there are several
        yield from own_helper(monkeypatch)
    forget()


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Record searches, all in this process, by their number of evaluations; they find a schedule that is no default."""
    found: list[int | None] = []

    def search(h: Any, device: Device, budget: float, evaluations: int | None = None) -> tuple[Any, bool]:
        found.append(evaluations)
        best = Schedule.plain(h.extents, len(h.inputs))
        assert best != default(h, device.caps)
        cache().put(key_of(h, device), BestSchedule(best, 1e-3, 1, "2026-01-01T00:00:00Z", str(h)))
        return Tuned(h, best, 1e-3, 1e-3, ()), False

    def submit(job: Any, then: Any, failed: Any) -> bool:
        then(job.run())
        return True

    monkeypatch.setattr(session, "tune_stage", search)
    monkeypatch.setattr(searching, "tune_stage", search)
    monkeypatch.setattr(background, "submit", submit)
    return found


def product(x: np.ndarray = A) -> Kernels:
    """Multiply, check, and give the plan that did it."""
    with observe() as seen:
        np.testing.assert_array_equal(mdhnp.matmul(x, x.T), np.full((33, 33), 34))
    plan = seen[0][0]
    assert isinstance(plan, Kernels)
    return plan


def test_calls_on_arrays_keep_the_plan_that_a_search_keeps(
    device: Device, searched: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They return before their kernels ran, so that they cannot try what was about as fast for the helper."""
    where = separate(device)
    monkeypatch.setattr(searching, "equal_devices", lambda _: [where])

    def search(h: Any, device: Device, budget: float, evaluations: int | None = None) -> tuple[Any, bool]:
        best, other = default(h, device.caps), Schedule.plain(h.extents, len(h.inputs))
        cache().put(key_of(h, device), BestSchedule(best, 1e-3, 1, "2026-01-01T00:00:00Z", str(h)))
        searched.append(evaluations)
        measurements = Measurement(best, 1e-3, "ok"), Measurement(other, 0.9e-3, "ok")
        return Tuned(h, best, 1e-3, 1e-3, measurements), False

    monkeypatch.setattr(searching, "tune_stage", search)
    with mdhnp.device(where), config(tuning="background"), observe() as seen:
        x = mdhnp.asarray(A, device=where)
        for _ in range(3):
            mdhnp.matmul(x, x.T)
    assert len(searched) == 1
    assert {plan.schedules for plan, _ in seen} == {(default(canonical(seen[0][0].mdhom), where.caps),)}


def test_off_never_searches(searched: list[int | None]) -> None:
    with config(tuning="off", budget=1e-9):
        assert [product().origins for _ in range(3)] == [("default",)] * 3
    assert searched == []


def test_full_searches_before_the_first_call(device: Device) -> None:
    with config(tuning="full", budget=0.5):
        plan = product()
    assert plan.origins == ("tuned",)
    (entry,) = cache().entries()
    assert entry[1].schedule == plan.schedules[0]


@pytest.mark.parametrize("specialise", ["auto", "always"])
def test_full_reaches_calls_that_have_run_before(searched: list[int | None], specialise: Any) -> None:
    with config(tuning="off", specialise=specialise):
        product()
    with config(tuning="full", specialise=specialise):
        assert [product().origins for _ in range(2)] == [("tuned",)] * 2
    assert searched == [None]


@pytest.mark.parametrize(("each", "calls"), [(0.25, 16), (1.0, 4), (5.0, 1)])
def test_auto_searches_when_calls_have_cost_as_much(
    searched: list[int | None], each: float, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then what was found is tried, which takes one call with the plan in use and this contest."""
    decide(monkeypatch)
    clock = iter(range(1000))
    monkeypatch.setattr(entering, "time", SimpleNamespace(perf_counter=lambda: next(clock) * each))
    with config(tuning="auto", budget=4.0, evaluations=7):
        origins = [product().origins[0] for _ in range(calls + 3)]
    assert searched == [7]
    assert origins == ["default"] * (calls + 1) + ["tuned"] * 2


def test_a_search_elsewhere_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    h = product().mdhom
    key = key_of(h, default_device())
    owner = cache().claim(key, "somebody else")
    with config(tuning="full", budget=0.2):
        assert product().origins == ("default",)
        cache().release(key, owner)
        assert product().origins == ("tuned",)


def test_one_search_at_a_time(searched: list[int | None]) -> None:
    untuned, device = [product().mdhom], default_device()
    with session._searching:
        patient = threading.Thread(target=search, args=(untuned, device))
        patient.start()
        assert searched == []
    patient.join()
    assert searched == [None]


def test_calls_go_on_where_tuning_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("no more processes")

    monkeypatch.setattr(session, "tune_stage", fail)
    with config(tuning="full"):
        with pytest.warns(RuntimeWarning, match="could not be tuned: no more processes"):
            product()
        product()  # is not tried again


def test_background_serves_meanwhile_and_swaps(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    decide(monkeypatch)
    with config(tuning="background", budget=60.0, evaluations=3):
        first = product()
        assert first.origins == ("default",)
        background.wait()
        product()
        plan = product()
    background.wait()
    (best,) = [entry.schedule for _, entry in cache().entries()]
    assert plan.schedules[0] == best or best == first.schedules[0]
    assert plan.origins == ("tuned",) or plan.schedules == first.schedules
    assert len(cache().measurements(key_of(plan.mdhom, device))) == 3


def test_background_says_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_START", "raise SystemExit(3)")
    said: list[str] = []
    monkeypatch.setattr(background.warnings, "warn", lambda text, *_, **__: said.append(text))
    with config(tuning="background"):
        product()
        background.wait()
        assert product().origins == ("default",)
    assert said == ["a call keeps the plan it has, since a better one could not be made: the helper process ended"]


def test_the_program_ends_amid_a_background_search() -> None:
    code = """
import numpy as np, mdhnp
from mdhnp.tuning import background
mdhnp.matmul(np.ones((64, 64)), np.ones((64, 64)))
while background._helper._process is None: pass
print(background._helper._process.pid)
"""
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "MDHNP_TUNING": "background"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert time.monotonic() - begin < 60  # not that of the budget, over and over
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_jobs_of_its_own() -> None:
    with session._searching:
        child = os.fork()
        if child == 0:
            free = session._searching.acquire(blocking=False) and background._helper._thread is None
            os._exit(0 if free else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_others_have_tuned_is_not_searched_again(searched: list[int | None]) -> None:
    with config(tuning="full"):
        assert search([canonical(product().mdhom)], default_device())
    assert searched == [None]


def test_a_call_amid_a_search_of_its_own_thread_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    untuned = [product().mdhom]

    def again() -> bool:
        return search(untuned, default_device())

    inner: list[bool] = []
    monkeypatch.setattr(session, "tune_stage", lambda *_: (inner.append(again()), False))
    again()
    assert inner == [False]
