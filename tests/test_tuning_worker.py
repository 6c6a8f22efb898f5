"""The processes that compile and measure candidates, and teams of them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdhnp.mdh import canonical, cc, md_hom, pw
from mdhnp.runtime import programs
from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning import processes
from mdhnp.tuning.cache.records import Measurement
from mdhnp.tuning.measure import bench as bench_module
from mdhnp.tuning.measure import team as team_module
from mdhnp.tuning.measure.bench import Bench, TuningTask
from mdhnp.tuning.measure.team import Team, Worker, WorkerError

GEMM = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]")


def task(device: Device) -> TuningTask:
    h = canonical(GEMM.bind(np.ones((33, 37), np.float32), np.ones((37, 35), np.float32)))
    return TuningTask(h, device.identity, default(h, device.caps))


class BadBench(Bench):
    """One whose candidates misbehave as the environment says; the reference is well."""

    def __init__(self, task: TuningTask, measures: bool) -> None:
        super().__init__(task, measures)
        self.how = os.environ["MDHNP_TEST_CANDIDATE"]
        if self.how == "wrong":
            self.right = [r + 1 for r in self.right]
            self._checked.clear()
        elif self.how == "build":
            self._built.clear()
            good = bench_module.generate
            bench_module.generate = lambda *a: replace(good(*a), source="this is no OpenCL C")
        elif self.how == "loud":
            os.write(1, b"noise " * 100_000)
            os.write(2, b"noise " * 100_000)

    def measure(self, schedule: Schedule, best: float | None, binary: bytes | None = None) -> Measurement:
        misbehaviour(self.how, "measuring")
        return super().measure(schedule, best, binary)


class BadCompiler(Bench):
    """The same for what compiles."""

    def compile(self, schedule: Schedule) -> bytes | Measurement:
        misbehaviour(os.environ["MDHNP_TEST_CANDIDATE"], "compiling")
        return super().compile(schedule)


#: Who meets whom.
MEETING = {"measuring": "compiling", "compiling": "measuring"}


def misbehaviour(how: str, kind: str) -> None:
    if how == "hang":
        time.sleep(3600)
    if how == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "slowly":
        time.sleep(1.0)
    if how == "meet":  # what measures waits for what compiles, and the other way round
        mine, other = (Path(os.environ["MDHNP_TEST_MEETING"]) / name for name in (kind, MEETING[kind]))
        mine.touch()
        end = time.monotonic() + 60
        while not other.exists():
            if time.monotonic() > end:
                raise TimeoutError(f"{kind} alone")
            time.sleep(0.01)


class BadTurns(Bench):
    """The same for turns."""

    def turns(self, schedules: Sequence[Schedule], rounds: int, seconds: float) -> list[list[float]]:
        misbehaviour(os.environ["MDHNP_TEST_CANDIDATE"], "measuring")
        return super().turns(schedules, rounds, seconds)


class BothBad(BadBench, BadCompiler):
    """Whatever it does."""


class NoCompiler(Bench):
    """One that cannot start to compile."""

    def __init__(self, task: TuningTask, measures: bool) -> None:
        if not measures:
            raise ImportError("there is no such library")
        super().__init__(task)


def misbehave(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setenv("MDHNP_TEST_CANDIDATE", how)
    monkeypatch.setattr(Worker, "kind", BadBench)


@pytest.mark.parametrize(
    ("how", "status"),
    [("wrong", "wrong"), ("build", "build"), ("hang", "hang"), ("die", "crash"), ("loud", "ok")],
)
def test_worker_survives_bad_candidates(device: Device, monkeypatch, how: str, status: str):
    todo = task(device)
    misbehave(monkeypatch, how)
    limit, best = (0.5, 1e-3) if how == "hang" else (20.0, 1.0)
    with closing(Worker(todo, limit)) as worker:
        found = worker.measure(todo.reference, best)
        assert found.status == status
        assert "signal 9" in found.message or how != "die"
        monkeypatch.setattr(Worker, "kind", Bench)
        # A worker that died is started anew, without the trouble.
        assert worker.measure(todo.reference, None).status == ("ok" if status in ("hang", "crash") else status)


@pytest.mark.parametrize(("how", "rounds"), [("die", 0), ("well", 3)])
def test_turns_that_fail_are_none(device: Device, monkeypatch, how: str, rounds: int):
    todo = task(device)
    both = [todo.reference, Schedule.plain(todo.mdhom.extents, 2)]
    monkeypatch.setenv("MDHNP_TEST_CANDIDATE", how)
    monkeypatch.setattr(Worker, "kind", BadTurns)
    with Team(todo, (0,), 20.0) as team:
        times = team.turns(both, 3, 60.0)
        assert [len(times[s]) for s in both] == [rounds, rounds]
        monkeypatch.setenv("MDHNP_TEST_CANDIDATE", "well")
        if how == "die":  # it is started anew
            assert [len(each) for each in team.turns(both, 3, 60.0).values()] == [3, 3]


def test_an_interrupted_measurement_leaves_no_answer_behind(device: Device, monkeypatch):
    todo = task(device)
    other = Schedule.plain(todo.mdhom.extents, 2)
    misbehave(monkeypatch, "slowly")
    with closing(Worker(todo)) as worker:
        assert worker.measure(todo.reference, None).status == "ok"
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            worker.measure(todo.reference, None)
        assert worker.measure(other, None).schedule == other


def test_an_interrupted_team_goes_on(device: Device, monkeypatch):
    todo = task(device)
    both = [todo.reference, Schedule.plain(todo.mdhom.extents, 2)]
    misbehave(monkeypatch, "slowly")
    with Team(todo, (0, 0), 20.0) as team:
        assert [m.status for m in team.measure(both, None)] == ["ok", "ok"]
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            list(team.measure(both, None))
        assert [(m.schedule, m.status) for m in team.measure(both[::-1], None)] == [(s, "ok") for s in both[::-1]]


@pytest.mark.parametrize(("how", "status"), [("hang", "hang"), ("die", "ok"), ("well", "ok")])
def test_candidates_are_compiled_side_by_side(device: Device, monkeypatch, how: str, status: str):
    todo = task(device)
    both = [todo.reference, Schedule.plain(todo.mdhom.extents, 2)]
    monkeypatch.setenv("MDHNP_TEST_CANDIDATE", how)
    monkeypatch.setattr(Worker, "kind", BadCompiler)
    with Team(todo, (0,), 0.5 if how == "hang" else 60.0, builders=2) as team:
        assert len(team) == 2
        (first,) = team.measure(both[:1], None)
        assert first.status == "ok"
        assert [m.status for m in team.measure(both, 1.0)] == [status, status]
        monkeypatch.setenv("MDHNP_TEST_CANDIDATE", "well")
        for builder in team._builders:
            builder._limit = 60.0  # on a slow machine what is well takes long, too
        assert [m.status for m in team.measure(both, None)] == ["ok", "ok"]


def test_the_next_candidates_are_compiled_while_one_is_measured(device: Device, monkeypatch, tmp_path):
    todo = task(device)
    misbehave(monkeypatch, "meet")
    monkeypatch.setenv("MDHNP_TEST_MEETING", str(tmp_path))
    monkeypatch.setattr(Worker, "kind", BothBad)
    other = Schedule.plain(todo.mdhom.extents, 2)
    with Team(todo, (0,), 90.0, builders=2, overlaps=True) as team:
        team.begin([other])
        assert [m.status for m in team.measure([todo.reference], None)] == ["ok"]
        assert [(m.schedule, m.status) for m in team.measure([other], 1.0)] == [(other, "ok")]


def test_a_team_ends_what_it_has_begun(device: Device, monkeypatch):
    """Nobody waits for a compiler that hangs, or for its turn at one."""
    todo = task(device)
    monkeypatch.setenv("MDHNP_TEST_CANDIDATE", "hang")
    monkeypatch.setattr(Worker, "kind", BadCompiler)
    limit = 300.0
    before = time.monotonic()
    with Team(todo, (0,), limit, builders=1, overlaps=True) as team:
        team.begin([todo.reference, Schedule.plain(todo.mdhom.extents, 2)])
    assert time.monotonic() - before < limit


def test_an_interrupted_compilation_leaves_the_team_usable(device: Device, monkeypatch):
    todo = task(device)
    both = [todo.reference, Schedule.plain(todo.mdhom.extents, 2)]
    monkeypatch.setenv("MDHNP_TEST_CANDIDATE", "slowly")
    monkeypatch.setattr(Worker, "kind", BadCompiler)
    with Team(todo, (0,), 20.0, builders=2) as team:
        assert [m.status for m in team.measure(both[:1], None)] == ["ok"]
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            list(team.measure(both, None))
        assert [(m.schedule, m.status) for m in team.measure(both[::-1], None)] == [(s, "ok") for s in both[::-1]]


def test_a_team_starts_side_by_side(device: Device, monkeypatch):
    todo, order = task(device), list[str]()

    class Noted(processes.Servant):
        def send(self, *arguments: Any) -> None:
            order.append("begins")
            super().send(*arguments)

        def answer(self, limit: float) -> Any:
            order.append("is waited for")
            return super().answer(limit)

    monkeypatch.setattr(team_module, "Servant", Noted)
    with Team(todo, (0, 0), 20.0, builders=1) as team:
        team.start()
        assert order == ["begins"] * 3 + ["is waited for"] * 3
        assert [m.status for m in team.measure([todo.reference] * 2, None)] == ["ok", "ok"]
    monkeypatch.setattr(Worker, "kind", NoCompiler)
    with Team(todo, (0,), 20.0, builders=2) as team:
        team.start()
        assert len(team) == 1
        assert [m.status for m in team.measure([todo.reference], None)] == ["ok"]
    monkeypatch.setattr(processes, "_START", "raise ImportError('there is no such library')")
    with Team(todo, (0, 0), 20.0) as team, pytest.raises(WorkerError, match="no such library"):
        team.start()


def test_without_room_for_compilers_the_worker_compiles(device: Device, monkeypatch):
    todo = task(device)
    both = [todo.reference, Schedule.plain(todo.mdhom.extents, 2)]
    monkeypatch.setattr(Worker, "kind", NoCompiler)
    with Team(todo, (0,), 20.0, builders=2) as team:
        assert [m.status for m in team.measure(both, None)] == ["ok", "ok"]
        assert len(team) == 1
    monkeypatch.undo()
    with Team(todo, (0,), 20.0, builders=2) as team:
        monkeypatch.setattr(team_module, "ThreadPoolExecutor", no_thread)
        assert [m.status for m in team.measure(both, None)] == ["ok", "ok"]
        assert len(team) == 1


def no_thread(count: int) -> None:
    raise RuntimeError("can't start new thread")


def test_the_worker_takes_what_was_compiled(device: Device, monkeypatch):
    todo = task(device)
    other = Schedule.plain(todo.mdhom.extents, 2)
    binary = Bench(todo, measures=False).compile(other)
    assert isinstance(binary, bytes)
    bench = Bench(todo)
    monkeypatch.setattr(programs, "_from_source", None)  # to call it fails
    assert bench.measure(other, None, binary).status == "ok"


def test_a_worker_that_cannot_start_says_why(device: Device, monkeypatch):
    monkeypatch.setattr(processes, "_START", "raise ImportError('there is no such library')")
    with (
        closing(Worker(task(device))) as worker,
        pytest.raises(WorkerError, match="exit status 1, ImportError: there is no such"),
    ):
        worker.measure(task(device).reference, None)
    with closing(Worker(replace(task(device), device="no such device"))) as worker:
        monkeypatch.undo()
        with pytest.raises(WorkerError, match="no such device"):
            worker.measure(task(device).reference, None)
