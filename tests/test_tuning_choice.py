"""What a search measures within its budget, and which schedule is used after it, by workers whose times are made up."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from zlib import crc32

import numpy as np
import pytest
from tuning_entries import stage_of

import mdhnp
from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning.cache import cache
from mdhnp.tuning.cache.records import BestSchedule, Measurement
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.measure import bench as bench_module
from mdhnp.tuning.measure import team as team_module
from mdhnp.tuning.measure import turns as turns_module
from mdhnp.tuning.measure.bench import TuningTask
from mdhnp.tuning.search import session as session_module


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests' entries are of the same families."""
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path / "cache"))


class FakeWorker:
    """Measures by a rule, on a clock of its own; stands for the workers of all devices.

    By turns calls take what a rule of its own says, by default the same.
    """

    def __init__(self, seconds: float | Callable[[Schedule], float], true: Callable[[Schedule], float] | None) -> None:
        self.rule = seconds if callable(seconds) else lambda _: seconds
        self.true = true or self.rule
        self.compared: list[tuple[int, Schedule]] = []
        self.now = 0.0
        self.measured: list[tuple[int, Schedule]] = []
        self.limits: list[float] = []
        #: Seconds that each process takes to start, and whether it has.
        self.startup, self.started = 0.0, False

    def __call__(self, task: TuningTask, limit: float, *, measures: bool = True) -> FakeWorker:
        one = copy.copy(self)
        if measures:
            self.limits.append(limit)
        one.position, one.all = task.position, self
        return one

    def start(self) -> None:
        pass

    def ready(self) -> None:
        self.all.now += 0.0 if self.started else self.all.startup
        self.started = True

    def compile(self, schedule: Schedule) -> bytes:
        self.ready()
        return b""

    def measure(self, schedule: Schedule, best: float | None, binary: bytes | None = None) -> Measurement:
        self.ready()
        seconds = self.rule(schedule)
        self.all.now += (1 + bench_module.runs_after(seconds, in_a_row=False)) * seconds
        self.measured.append((self.position, schedule))
        return Measurement(schedule, seconds, "ok")

    def turns(self, schedules: list[Schedule], rounds: int, seconds: float) -> list[list[float]]:
        def work(schedule: Schedule, count: int) -> None:
            self.compared.append((self.position, schedule))
            drawn = min(count, 10)  # of the thousands of calls that fill a turn
            self.all.now += count / drawn * sum(self.true(schedule) for _ in range(drawn))

        return turns_module.by_turns([partial(work, s) for s in schedules], rounds, seconds)

    def kill(self) -> None:
        pass

    def close(self) -> None:
        pass


def use_fake(
    monkeypatch: pytest.MonkeyPatch,
    seconds: float | Callable[[Schedule], float],
    true: Callable[[Schedule], float] | None = None,
) -> FakeWorker:
    worker = FakeWorker(seconds, true)
    monkeypatch.setattr(team_module, "Worker", worker)
    monkeypatch.setattr(turns_module, "time", SimpleNamespace(perf_counter=lambda: worker.now))
    monkeypatch.setattr(session_module.time, "monotonic", lambda: worker.now)
    return worker


@pytest.mark.parametrize(("seconds", "most"), [(3.0, 3.0), (0.9, 0.9), (0.3, 1.3), (0.05, 1.3), (1e-4, 1.1)])
def test_the_final_counts_in_the_budget(device: Device, monkeypatch, seconds: float, most: float):
    a = np.ones((30, 31), np.float32)
    worker = use_fake(monkeypatch, seconds)
    mdhnp.tune(mdhnp.matmul, a, a.T, budget=1.0, progress=False)
    assert worker.now <= most
    mdhnp.tune(mdhnp.matmul, a, a.T, budget=1.0, progress=False)
    assert worker.now <= 2 * most


@pytest.mark.parametrize("seconds", [0.02, 0.1, 0.2])
def test_rounds_of_the_final_are_enough_for_a_small_gain(device: Device, monkeypatch, seconds: float):
    """Also where so long calls are few in the budget; those that are faster by 15 % would need three."""
    start = None

    def rule(schedule: Schedule) -> float:
        nonlocal start
        start = start or schedule
        return seconds if schedule == start else 0.93 * seconds

    use_fake(monkeypatch, rule)
    a = np.ones((30, 31), np.float32)
    (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, budget=10.0, progress=False)
    assert (found.seconds, found.default_seconds) == pytest.approx((0.93 * seconds, seconds))
    assert found.schedule != start


def test_rounds_are_kept_for_the_default_schedule_too(device: Device, monkeypatch):
    """It is timed beside what is in use and its challenger."""
    a = np.ones((30, 31), np.float32)
    h = stage_of(a, a.T)
    start, used = default(h, device.caps), Schedule.plain(h.extents, 2)
    cache().put(key_of(h, device), BestSchedule(used, 0.1, 3, "2026-01-01T00:00:00Z", str(h)))
    cache().record(key_of(h, device), Measurement(used, 0.1, "ok"))
    use_fake(monkeypatch, lambda s: {start: 0.35, used: 0.1}.get(s, 0.09))
    (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, budget=20.0, evaluations=1000, progress=False)
    assert (found.seconds, found.default_seconds) == pytest.approx((0.09, 0.35))


def test_no_more_than_a_minute_is_kept_for_the_final(device: Device, monkeypatch):
    a = np.ones((30, 31), np.float32)
    worker = use_fake(monkeypatch, lambda s: ends.append(worker.now) or 10.0)
    ends: list[float] = []
    mdhnp.tune(mdhnp.matmul, a, a.T, budget=600.0, evaluations=1000, progress=False)
    assert max(ends[:-1]) >= 500.0, "when the last measurements of the search began"
    assert worker.now <= 610.0


def test_the_start_of_processes_does_not_count_in_the_budget(device: Device, monkeypatch):
    a = np.ones((30, 31), np.float32)
    worker = use_fake(monkeypatch, 1e-4)
    worker.startup = 30.0
    (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, budget=1.0, evaluations=8, progress=False)
    assert len(found.measurements) == 8


@pytest.mark.parametrize(("budget", "limit"), [(0.5, 5.0), (10.0, 5.0), (30.0, 15.0), (600.0, 20.0)])
def test_a_candidate_may_not_take_most_of_the_budget(device: Device, monkeypatch, budget: float, limit: float):
    a = np.ones((30, 31), np.float32)
    worker = use_fake(monkeypatch, 1e-4)
    mdhnp.tune(mdhnp.matmul, a, a.T, budget=budget, evaluations=2, progress=False)
    assert worker.limits == [limit]


@pytest.mark.parametrize(("cores", "builders"), [(1, 0), (2, 1), (5, 4), (64, 8)])
def test_a_gpu_s_candidates_are_compiled_ahead(device: Device, monkeypatch, cores: int, builders: int):
    """One core is left for what measures; the others are at work from the beginning, and while it measures."""
    other = copy.copy(device)
    other.caps, other.svm = replace(device.caps, kind="gpu"), False
    worker = use_fake(monkeypatch, lambda s: 1e-4 / np.prod(s.private_tile))
    monkeypatch.setattr(session_module, "equal_devices", lambda _: [other])
    monkeypatch.setattr(session_module, "cores", lambda: cores)
    begun, ahead, begin, measure = [], [], team_module.Team.begin, team_module.Team.measure

    def noted_begin(team, schedules):
        begun.extend(schedules)
        begin(team, schedules)

    def noted_measure(team, schedules, best):
        ahead.append(len(begun) - len(worker.measured))
        return measure(team, schedules, best)

    monkeypatch.setattr(team_module.Team, "begin", noted_begin)
    monkeypatch.setattr(team_module.Team, "measure", noted_measure)
    a = np.ones((30, 31), np.float32)
    found, _ = session_module.tune_stage(stage_of(a, a.T), other, 60.0, 20, progress=False)
    asked = [m.schedule for m in found.measurements]
    assert len({*asked}) == len(asked) == 20
    assert {*begun} == {*(asked[1:] if builders else [])}
    assert ahead[0] == builders
    if builders:  # until all that may be measured are begun
        assert min(ahead[: 20 // builders - 1]) >= builders


@pytest.mark.parametrize(("units", "count", "builders"), [(3, None, 3), (3, 5, 3), (3, 4, 0), (1, None, 0)])
def test_processes_compile_for_a_cpu_s_candidates_from_five_on(
    device: Device, monkeypatch, units: int, count: int | None, builders: int
):
    other = copy.copy(device)
    other.caps = replace(device.caps, kind="cpu", compute_units=units)
    monkeypatch.setattr(session_module, "equal_devices", lambda _: [other])
    monkeypatch.setattr(session_module, "Team", lambda *given, **_: given)
    a = np.ones((30, 31), np.float32)
    *_, found = session_module.team_of(stage_of(a, a.T), (other,), 60.0, 0, count)
    assert found == builders


def test_what_was_tuned_for_another_objective_has_to_be_faster(device: Device, monkeypatch):
    """Runs take so long that nothing is compared by turns: what is in use then stays."""
    a = np.ones((30, 31), np.float32)
    h = stage_of(a, a.T)
    small = BestSchedule(Schedule.plain(h.extents, 2), 5.0, 3, "2026-01-01T00:00:00Z", str(h), objective="code_size")
    for objective, expected in (("code_size", default(h, device.caps)), ("time", small.schedule)):
        cache().put(key_of(h, device), replace(small, objective=objective))
        use_fake(monkeypatch, lambda s: 5.0 if s == small.schedule else 3.0)
        (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, budget=1.0, evaluations=1, progress=False)
        kept = cache().get(key_of(h, device))
        assert kept is not None
        assert (found.schedule, kept.schedule, kept.objective) == (expected, expected, "time")


def test_a_resumed_search_keeps_what_is_best(device: Device, monkeypatch):
    """A schedule in use that seems slow once, while it is searched for, is not lost."""
    a = np.ones((30, 31), np.float32)
    h = stage_of(a, a.T)
    good = Schedule.plain(h.extents, len(h.inputs))
    cache().put(key_of(h, device), BestSchedule(good, 1e-4, 3, "2026-01-01T00:00:00Z", str(h)))
    cache().record(key_of(h, device), Measurement(good, 1e-4, "ok"))
    moods = iter([5e-3])
    use_fake(monkeypatch, lambda s: next(moods, 1e-4) if s == good else 2e-4)
    for _ in range(2):
        (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, budget=1.0, evaluations=8, progress=False)
        assert (found.schedule, found.seconds) == (good, pytest.approx(1e-4))
    assert next(moods, None) is None, "it was searched for"


@pytest.mark.parametrize(("slower", "wins"), [(0.8, True), (0.95, True), (0.99, False), (1.0, False), (1.2, False)])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_who_seems_fast_in_the_search_must_be_faster_by_turns(
    device: Device, monkeypatch: pytest.MonkeyPatch, slower: float, wins: bool, noise: float
) -> None:
    """Times of a search are the least of many and of other moments: here all but the default's are a half."""
    a, rng = np.ones((30, 31), np.float32), Random(1)
    h = stage_of(a, a.T)
    start = default(h, device.caps)
    drawn = lambda: 1.0 + abs(rng.gauss(0.0, noise))  # noqa: E731
    use_fake(
        monkeypatch,
        lambda s: 1e-4 if s == start else 5e-5 * drawn(),
        lambda s: (1e-4 if s == start else slower * 1e-4) * drawn(),
    )
    (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, budget=5.0, evaluations=8, progress=False)
    assert (found.schedule != start) == wins
    kept = cache().get(key_of(h, device))
    assert kept is not None
    assert (kept.schedule, kept.seconds) == (found.schedule, found.seconds)
    assert found.default_seconds / found.seconds == pytest.approx(1 / slower if wins else 1.0, rel=0.05)
    assert len(cache().measurements(key_of(h, device))) == 8, "they are for a search that goes on"


def test_of_many_schedules_a_fast_one_wins_although_others_seemed_faster(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 200 one in 24 seemed twice as fast in the search, by luck: more than five, in whose place none was seen."""
    a = np.ones((30, 31), np.float32)
    start = default(stage_of(a, a.T), device.caps)

    def drawn(s: Schedule) -> int:
        return 1 if s == start else crc32(repr(s).encode()) % 24

    lucky = set()

    def rule(s: Schedule) -> float:
        lucky.update([s] if drawn(s) == 0 else [])
        return {0: 0.5e-4, 2: 0.8e-4}.get(drawn(s), 1e-4)

    use_fake(monkeypatch, rule, lambda s: 0.8e-4 if drawn(s) == 2 else 1e-4)
    (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, budget=1e3, evaluations=200, progress=False)
    assert 5 <= len(lucky) < 14
    assert drawn(found.schedule) == 2


def test_what_is_in_use_is_what_must_be_beaten(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be faster than the default, and than all that a search finds."""
    a = np.ones((30, 31), np.float32)
    h = stage_of(a, a.T)
    used = Schedule.plain(h.extents, len(h.inputs))
    cache().put(key_of(h, device), BestSchedule(used, 1.0, 3, "2026-01-01T00:00:00Z", str(h)))
    worker = use_fake(monkeypatch, lambda s: 2e-4 if s == used else 1e-4, lambda s: 1e-4 if s == used else 1.1e-4)
    (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, budget=5.0, evaluations=8, progress=False)
    assert found.schedule == used
    assert found.default_seconds / found.seconds == pytest.approx(1.1)
    assert used in {s for _, s in worker.compared}


@pytest.mark.parametrize("is_tuned", [False, True])
def test_ctrl_c_amid_the_turns_keeps_what_is_in_use(
    device: Device, monkeypatch: pytest.MonkeyPatch, is_tuned: bool
) -> None:
    a = np.ones((30, 31), np.float32)
    h = stage_of(a, a.T)
    key, used = key_of(h, device), default(h, device.caps)
    before = None
    if is_tuned:
        used = Schedule.plain(h.extents, len(h.inputs))
        before = BestSchedule(used, 1e-4, 3, "2026-01-01T00:00:00Z", str(h))
        cache().put(key, before)
    calls = iter(range(1000))

    def interrupted(s: Schedule) -> float:
        if next(calls) == 500:
            raise KeyboardInterrupt
        return 1e-4 if s == used else 1e-5

    use_fake(monkeypatch, interrupted)
    (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, budget=5.0, evaluations=8, progress=False)
    assert next(calls) > 500
    assert found.schedule == used
    assert cache().get(key) == before
    assert len(cache().measurements(key)) == 8


def test_ctrl_c_amid_the_search_leads_to_the_turns(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.ones((30, 31), np.float32)
    h = stage_of(a, a.T)
    used, others = default(h, device.caps), list[Schedule]()

    def searched(s: Schedule) -> float:
        if s != used:
            others.append(s)
        if len(others) > 3:
            raise KeyboardInterrupt
        return 1e-4 if s == used else 5e-5 / len(others)

    use_fake(monkeypatch, searched, lambda s: {used: 1e-4, others[2]: 9e-5}[s])
    (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, budget=5.0, progress=False)
    assert found.schedule == others[2], "the fastest so far, and it is faster"


def test_equal_devices_share_a_search(device: Device, monkeypatch):
    twin = copy.copy(device)
    monkeypatch.setattr(session_module, "equal_devices", lambda _: [device, twin])
    a = np.ones((30, 31), np.float32)
    h, rounds = stage_of(a, a.T), []
    for n in range(2):
        monkeypatch.setenv("MDHNP_CACHE_DIR", f"{os.environ['MDHNP_CACHE_DIR']}-{n}")
        worker = use_fake(monkeypatch, lambda s: 1e-4 / np.prod(s.private_tile))
        found, stopped = session_module.tune_stage(h, twin, 60.0, 20, progress=False, beside=(device,))
        assert found is not None
        assert not stopped
        assert len({m.schedule for m in found.measurements}) == 20
        assert len({s for _, s in worker.measured}) == 20, "each measures its own"
        assert {p for p, _ in worker.measured} == {0, 1}
        assert {p for p, _ in worker.compared} == {1}, "the first device's, which is the twin"
        rounds.append([m.schedule for m in found.measurements])
    assert rounds[0] == rounds[1]


def test_devices_that_share_a_search_must_be_equal(device: Device):
    a = np.ones((3, 4), np.float32)
    others = [d for d in mdhnp.devices() if d.identity != device.identity]
    for wrong in ([], [device, device], *([device, d] for d in others)):
        with pytest.raises(ValueError, match="devices"):
            mdhnp.tune(mdhnp.matmul, a, a.T, devices=wrong, progress=False)
    (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, devices=[device], budget=5.0, evaluations=2, progress=False)
    assert found.measurements[0].status == "ok"
