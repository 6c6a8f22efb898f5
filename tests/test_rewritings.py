"""Calls of fused functions have the ways of rewriting them searched meanwhile, and take the fastest from then on."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextvars import Context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from separate import separate

import mdhnp
from mdhnp import config, system
from mdhnp.calls import build, tune
from mdhnp.calls import search as searching
from mdhnp.calls.observe import observe
from mdhnp.calls.search import SearchRewritings
from mdhnp.calls.store import forget
from mdhnp.fusion.rewrite import ALL, NONE
from mdhnp.fusion.rewrite import rewritings as rewritings_of
from mdhnp.runtime.devices import Device
from mdhnp.tuning import background
from mdhnp.tuning.times import measured, remember

X = np.random.default_rng(3).normal(size=(40, 50)).astype(np.float32)


@mdhnp.fuse
def longer(x: Any) -> Any:
    return np.sqrt(x * x + np.float32(1))


WRITTEN = longer.rewriting(X).before
#: Steps by ways of rewriting them.
WAYS = {name: len(found.after.steps) for name, found in rewritings_of(WRITTEN).items()}


class Jobs:
    """The helper's part, done at once; which way is the fastest is made up."""

    def __init__(self) -> None:
        self.seen: list[SearchRewritings] = []
        self.fastest = ALL
        self.error = self.fails = ""
        self.ratio = 2.0  # how many times as fast it is by turns

    def submit(self, job: Any, then: Any, failed: Any) -> bool:
        if not isinstance(job, SearchRewritings):  # of schedules
            return True
        self.seen.append(job)
        if self.error:
            failed(self.error)
        else:
            sent = pickle.loads(pickle.dumps(job))  # as it travels, and where no blocks are open
            then(pickle.loads(pickle.dumps(Context().run(sent.run))))
        return True


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path / "cache"))
    forget()
    made, timed, equal = Jobs(), tune._timed, searching.equal_devices

    def told(call: Any, graph: Any, name: str, device: Device, enough: float = 0.0) -> Any:
        if name == made.fails:
            raise MemoryError
        return 1e-6 if name == made.fastest else 1e-3, timed(call, graph, name, device)[1]

    monkeypatch.setattr(tune, "_timed", told)
    monkeypatch.setattr(tune, "by_turns", lambda works, *_: [[1e-3] * 10, [1e-3 * made.ratio] * 10])
    monkeypatch.setattr(tune, "_FEWEST", 1)
    monkeypatch.setattr(tune, "_FILL", 0.0)
    monkeypatch.setattr(tune, "tune_stage", lambda *_: (None, False))
    apart = "|separate"  # which no other process could find
    monkeypatch.setattr(
        searching, "equal_devices",
        lambda name: [separate(d) for d in equal(name[: -len(apart)])] if name.endswith(apart) else equal(name),
    )  # fmt: skip
    monkeypatch.setattr(background, "submit", made.submit)
    with config(specialise="always", tuning="background"):
        yield made
    forget()


def kernels(x: Any) -> int:
    """Call it, check, and give how many kernels' plans that took."""
    with observe() as seen:
        np.testing.assert_allclose(np.asarray(longer(x)), np.sqrt(X * X + 1), rtol=1e-6)
    return len(seen)


@pytest.mark.parametrize("fastest", WAYS)
@pytest.mark.parametrize("resident", [False, True])
def test_calls_take_the_fastest_way_that_was_found(device: Device, jobs: Jobs, fastest: str, resident: bool) -> None:
    jobs.fastest = fastest
    where = separate(device) if resident else device
    with mdhnp.device(where), config(host="never"):
        x = mdhnp.asarray(X, device=where) if resident else X
        numbers = [kernels(x) for _ in range(3)]
        steps = WAYS[fastest]
        assert numbers == [WAYS[ALL], steps, steps]
        known = measured(WRITTEN, where)
        assert min(known, key=lambda name: known[name]) == fastest
        forget()
        assert kernels(x) == steps  # and of new plans
    assert [job.resident for job in jobs.seen] == [resident]


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.02])
def test_a_way_that_is_not_faster_by_turns_is_not_taken(device: Device, jobs: Jobs, ratio: float) -> None:
    jobs.fastest, jobs.ratio = NONE, ratio
    with mdhnp.device(device), config(host="never"):
        assert [kernels(X) for _ in range(3)] == [WAYS[ALL]] * 3
        known = measured(WRITTEN, device)
    assert {*known} == {*WAYS}
    assert min(known, key=lambda name: known[name]) == ALL


def test_a_way_that_cannot_be_computed_is_none(device: Device, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs.fastest, jobs.fails = NONE, NONE
    with mdhnp.device(device), config(host="never"):
        assert [kernels(X) for _ in range(2)] == [WAYS[ALL]] * 2
        known = measured(WRITTEN, device)
    assert known
    assert NONE not in known


def test_a_search_that_fails_leaves_the_plan(device: Device, jobs: Jobs) -> None:
    jobs.error = "no more processes"
    with mdhnp.device(device), config(host="never"):
        with pytest.warns(RuntimeWarning, match="fused function keeps the plan it has.*no more processes"):
            kernels(X)
        assert [kernels(X) for _ in range(2)] == [1, 1]
    assert len(jobs.seen) == 1


def _searched_before(device: Device, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    remember(WRITTEN, device, {ALL: 1.0})
    return {}


def _little_memory(device: Device, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """More than for the arrays given, less than for all that is written as the function stands."""
    monkeypatch.setattr(build, "_MEMORY", 1.0)
    monkeypatch.setattr(system, "memory", lambda: 6 * X.nbytes)
    return {}


def _off(device: Device, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    return {"tuning": "off"}


@pytest.mark.parametrize("why", [_searched_before, _little_memory, _off], ids=lambda f: f.__name__)
def test_what_is_not_searched(device: Device, jobs: Jobs, why: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with mdhnp.device(device), config(host="never", **why(device, monkeypatch)):
        kernels(X)
    assert jobs.seen == []


@pytest.mark.parametrize("resident", [False, True])
def test_empty_arrays_are_not_searched(device: Device, jobs: Jobs, resident: bool) -> None:
    where = separate(device) if resident else device
    with mdhnp.device(where), config(host="never"):
        assert longer(mdhnp.asarray(X[:0], device=where) if resident else X[:0]).shape == (0, 50)
    assert jobs.seen == []


def test_arrays_that_lie_otherwise(device: Device, jobs: Jobs) -> None:
    """The search has such, too; those that reach far beyond memory only by their strides."""
    large = np.broadcast_to(X[:1], (1 << 33, 50))
    part = mdhnp.fuse(lambda x, y: np.sqrt(np.abs(x[:40] * y[::2])))
    with mdhnp.device(device), config(host="never"):
        found = part(large, np.repeat(X, 2, axis=0))
    np.testing.assert_allclose(found, np.sqrt(np.abs(X[:1] * X)), rtol=1e-6)
    assert len(jobs.seen) == 1


def test_a_function_with_one_way_is_tuned_like_a_call(device: Device, jobs: Jobs) -> None:
    with mdhnp.device(device), config(host="never"):
        mdhnp.fuse(np.sqrt)(X * X)
    assert jobs.seen == []
