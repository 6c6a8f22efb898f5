"""Tuning a call, and the process that measures for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tuning_entries import stage_of

import mdhnp
from mdhnp.calls import tune
from mdhnp.calls.request import Request
from mdhnp.calls.store import forget
from mdhnp.mdh import Graph, canonical, cc, md_hom, pw
from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.tuning import processes, times
from mdhnp.tuning.cache import cache
from mdhnp.tuning.cache.records import BestSchedule
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.measure.team import WorkerError
from mdhnp.tuning.search import session as session_module

GEMM = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests' entries are of the same families."""
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path / "cache"))


def test_a_call_that_cannot_be_measured_says_why(device: Device, monkeypatch):
    monkeypatch.setattr(processes, "_START", "raise ImportError('there is no such library')")
    a = np.ones((20, 30), np.float32)
    with pytest.raises(WorkerError, match="no such library"):
        mdhnp.tune(mdhnp.matmul, a, a.T, budget=5.0, evaluations=2, progress=False)
    assert cache().measurements(key_of(stage_of(a, a.T), device)) == []


SCRIPT = """
import numpy as np, mdhnp
print("once")
a = np.ones((30, 40), np.float32)
for shape in ((30, 40), (20, 50)):
    a = np.ones(shape, np.float32)
    print(len(mdhnp.tune(mdhnp.matmul, a, a.T, budget=5.0, evaluations=1, progress=False)))
"""


@pytest.mark.parametrize("how", ["file", "stdin"])
def test_a_script_needs_no_guard(tmp_path: Path, how: str):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, str(file) if how == "file" else "-"]
    said = subprocess.run(command, input=SCRIPT, capture_output=True, text=True, env=env, timeout=120, check=False)
    assert said.stdout.split() == ["once", "1", "1"], said.stderr


def test_tune_works_where_nothing_can_be_written(device: Device, tmp_path: Path):
    (tmp_path / "cache").touch()
    a = np.ones((20, 30), np.float32)
    with pytest.warns(RuntimeWarning, match="MDHNP_CACHE_DIR"):
        (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, budget=5.0, evaluations=3, progress=False)
    assert mdhnp.explain(mdhnp.matmul, a, a.T).launches[0].schedules == (found.schedule,)
    assert len(mdhnp.tune(mdhnp.matmul, a, a.T, budget=5.0, evaluations=2, progress=False)) == 1


def test_an_entry_that_is_too_fast_is_replaced(device: Device):
    a = np.ones((30, 31), np.float32)
    h = stage_of(a, a.T)
    slow = Schedule.plain(h.extents, len(h.inputs))
    cache().put(key_of(h, device), BestSchedule(slow, 1e-12, 3, "2999-01-01T00:00:00Z", str(h)))
    (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, budget=20.0, evaluations=1, progress=False)
    kept = cache().get(key_of(h, device))
    assert kept is not None
    assert (kept.schedule, kept.seconds) == (found.schedule, found.seconds)
    assert found.seconds > 1e-9


def test_ctrl_c_keeps_what_was_found(device: Device, monkeypatch):
    a = np.ones((30, 31), np.float32)
    record, count = session_module.TuningCache.record, [0]

    def interrupting(*args):
        record(*args)
        count[0] += 1
        if count[0] == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(session_module.TuningCache, "record", interrupting)
    (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, budget=60.0, progress=False)
    assert 1 <= len(found.measurements) <= 3
    kept = cache().get(key_of(found.mdhom, device))
    assert kept is not None
    assert kept.schedule == found.schedule


def test_ctrl_c_in_a_later_stage_keeps_what_earlier_ones_found(device: Device, monkeypatch):
    really, stages, limit = tune.tune_stage, [], [2]

    def interrupted(h, *how):
        stages.append(h)
        if len(stages) == limit[0]:
            raise KeyboardInterrupt
        return really(h, *how)

    monkeypatch.setattr(tune, "tune_stage", interrupted)
    calls = [partial(mdhnp.matmul, a, a.T) for a in (np.ones((20, n), np.float32) for n in (30, 31, 32))]
    assert len(mdhnp.tune(calls=calls, budget=5.0, evaluations=1, progress=False)) == 1
    stages.clear()
    limit[0] = 1
    with pytest.raises(KeyboardInterrupt):  # nothing was found
        mdhnp.tune(calls=calls, budget=5.0, evaluations=1, progress=False)


def test_importing_mdhnp_loads_no_progress_bar():
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    code = "import sys, mdhnp; assert 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], env=env, timeout=60, check=True)


@pytest.mark.parametrize("dtype", ["f4", "f2", "c8"])
def test_tune_leaves_the_arrays_alone_and_is_used_afterwards(device: Device, dtype: str):
    rng = np.random.default_rng(0)
    a, b = (rng.random(shape).astype(dtype) for shape in ((40, 50), (50, 60)))
    before = a.copy(), b.copy()
    (found,) = mdhnp.tune(mdhnp.matmul, a, b, budget=20.0, evaluations=4, progress=False)
    assert np.array_equal(a, before[0])
    assert np.array_equal(b, before[1])
    assert 1 <= len(found.measurements) <= 4
    # How many work-items a GPU's registers suffice for, only its compiler knows.
    assert {m.status for m in found.measurements} <= {"ok", "slow"} | ({"build"} if device.kind == "gpu" else set())
    assert mdhnp.explain(mdhnp.matmul, a, b).launches[0].schedules == (found.schedule,)
    assert np.allclose(mdhnp.matmul(a, b), a @ b, rtol=1e-3 if dtype == "f2" else 1e-5)
    again = mdhnp.tune(mdhnp.matmul, a, b, budget=20.0, evaluations=2, progress=False)
    assert len(cache().measurements(key_of(found.mdhom, device))) == len(found.measurements) + len(
        again[0].measurements
    )


def test_a_stage_claimed_elsewhere_is_not_tuned_twice_and_tune_says_so(device: Device):
    a = np.ones((20, 30), np.float32)

    def both() -> None:
        mdhnp.matmul(a, a.T)
        mdhnp.matmul(a.T, a)

    h = canonical(mdhnp.explain(mdhnp.matmul, a, a.T).launches[0].mdhom)
    key = key_of(h, device)
    owner = cache().claim(key)
    try:
        with pytest.raises(RuntimeError, match=r"another process is tuning .* of 20×20×30 at this moment"):
            mdhnp.tune(mdhnp.matmul, a, a.T, budget=5.0, evaluations=2, progress=False)
        with pytest.warns(RuntimeWarning, match=r"another process is tuning .* of 20×20×30 at this moment") as said:
            (tuned,) = mdhnp.tune(both, budget=5.0, evaluations=2, progress=False)
        assert said[0].filename == __file__
        assert tuned.mdhom.extents == (30, 30, 20)
    finally:
        cache().release(key, owner)


@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_calls_with_0d_operands_and_results_are_tuned(device: Device, dtype: str):
    a, one = np.ones(4000, dtype), np.ones((), dtype)
    for function, *operands in ((mdhnp.vdot, a, a), (partial(mdhnp.einsum, ",i->i"), one, a)):
        (found,) = mdhnp.tune(function, *operands, budget=20.0, evaluations=2, progress=False)
        assert found.measurements[0].status == "ok"


def _standardised(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=0)) / x.std(axis=0)


@pytest.mark.parametrize("fastest", ["all rules", "as written"])
def test_the_fastest_rewriting_is_remembered(device: Device, monkeypatch: pytest.MonkeyPatch, fastest: str) -> None:
    x = np.random.default_rng(0).normal(size=(60, 50)).astype(np.float32)
    fused = mdhnp.fuse(_standardised)
    tried: list[str] = []

    def timed(
        call: Callable[[], object], graph: Graph, name: str, where: Device, enough: float = 1.0
    ) -> tuple[float, list[Request]]:
        tried.append(name)
        _, seen = really(call, graph, name, where, enough)
        return (1e-3 if name == fastest else 1.0), seen

    really = tune._timed
    monkeypatch.setattr(tune, "_timed", timed)
    monkeypatch.setattr(tune, "by_turns", lambda works, *_: [[1e-3] * 3, [1.0] * 3])
    mdhnp.tune(fused, x, budget=0.1, evaluations=1, progress=False)
    assert {"all rules", "as written", "without F ∘ map(g) = F(g)"} <= {*tried}
    monkeypatch.setattr(times, "_devices", {})  # as in another process
    forget()
    with mdhnp.config(host="never"):
        shown = mdhnp.explain(fused, x)
        np.testing.assert_allclose(fused(x), _standardised(x), rtol=1e-4, atol=1e-5)
    found = fused.rewriting(x)
    assert len(shown.launches) == len((found.after if fastest == "all rules" else found.before).steps)
    assert ("chosen  as written: measured" in str(shown)) == (fastest == "as written")
    other = x[:30]  # of other extents nothing is known
    assert len(mdhnp.explain(fused, other).launches) == len(fused.rewriting(other).after.steps)
