"""Whether a challenger is faster: the rule, and the calls by turns that it is applied to."""

from __future__ import annotations

import random
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from separate import separate

from mdhnp.mdh import canonical, cc, md_hom, pw
from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning.measure import turns
from mdhnp.tuning.measure.bench import Bench, TuningTask
from mdhnp.tuning.measure.turns import ROUNDS, by_turns, is_faster


@pytest.mark.parametrize(
    ("rounds", "ratio", "wins"),
    [
        (0, 9.0, False), (1, 1.4, False), (1, 1.6, True), (2, 1.4, False), (3, 1.1, False), (3, 1.2, True),
        (9, 1.1, False), (10, 1.02, False), (10, 1.04, True), (30, 1.04, True), (30, 1.0, False), (30, 0.5, False),
    ],
)  # fmt: skip
def test_less_evidence_needs_more_margin(rounds: int, ratio: float, wins: bool) -> None:
    assert is_faster([1.0] * rounds, [ratio] * rounds) == wins


def test_a_challenger_must_be_faster_in_most_rounds() -> None:
    assert not is_faster([1.0] * 30, [1.2] * 20 + [0.99] * 10)
    assert is_faster([1.0] * 30, [1.2] * 25 + [0.5] * 5)


@pytest.mark.parametrize(("ratio", "fewest", "most"), [(1.0, 0, 2), (0.9, 0, 0), (1.1, 180, 200)])
def test_noise_picks_nobody(ratio: float, fewest: int, most: int) -> None:
    """Of 10 %, and bursts of others' work in which everything takes twice as long, for eight turns of sixty."""
    won, rng = 0, random.Random(1)
    for _ in range(200):
        begin = rng.randrange(60)
        moods = [(1.0 + abs(rng.gauss(0.0, 0.1))) * (2.0 if begin <= n < begin + 8 else 1.0) for n in range(60)]
        won += is_faster([m / ratio for m in moods[::2]], moods[1::2])
    assert fewest <= won <= most


class Works:
    """Calls of known lengths on a clock of its own; one is longer where another one was before."""

    def __init__(self, *seconds: float, first: float = 0.0) -> None:
        self.now, self.seconds, self.first, self.made = 0.0, seconds, first, list[tuple[int, int]]()

    def work(self, which: int, count: int) -> None:
        changed = not self.made or self.made[-1][0] != which
        self.made.append((which, count))
        self.now += count * self.seconds[which] + changed * self.first


def compared(works: Works, rounds: int, seconds: float, monkeypatch: pytest.MonkeyPatch) -> list[list[float]]:
    monkeypatch.setattr(turns, "time", SimpleNamespace(perf_counter=lambda: works.now))
    return by_turns([partial(works.work, n) for n in range(len(works.seconds))], rounds, seconds)


@pytest.mark.parametrize("seconds", [(1e-6, 2e-6), (1e-3, 1.1e-3), (0.01, 0.015)])
def test_all_take_turns_and_what_was_before_does_not_count(
    seconds: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    works = Works(*seconds, first=0.01)
    times = compared(works, ROUNDS, 60.0, monkeypatch)
    for found, true in zip(times, seconds, strict=True):
        assert len(found) == ROUNDS
        np.testing.assert_allclose(found, true)
    timed = [which for which, _ in works.made[-4 * ROUNDS :: 2]]
    assert timed == [0, 1, 1, 0] * (ROUNDS // 2)


@pytest.mark.parametrize(
    ("one", "seconds", "rounds"), [(1.0, 10.0, 4), (1.0, 1.0, 0), (0.02, 1.0, 11), (1e-4, 60.0, 30)]
)
def test_no_round_ends_too_late(one: float, seconds: float, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    works = Works(one, one)
    times = compared(works, ROUNDS, seconds, monkeypatch)
    assert [len(each) for each in times] == [rounds, rounds]
    assert works.now <= max(seconds, 2 * one) + 1e-9


@pytest.mark.parametrize("is_separate", [False, True])
def test_the_measuring_process_compares_whole_calls(
    device: Device, is_separate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a device with memory of its own they are enqueued in a row, on what is there already."""
    gemm = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]")
    h = canonical(gemm.bind(np.ones((33, 37), np.float32), np.ones((37, 35), np.float32)))
    where = separate(device) if is_separate else device
    monkeypatch.setattr("mdhnp.tuning.measure.bench.equal_devices", lambda _: [where])
    start, other = default(h, where.caps), Schedule.plain(h.extents, len(h.inputs))
    bench = Bench(TuningTask(h, where.identity, start))
    assert bench._plan(start).resident == where.own_memory
    for s in (start, other):
        found = bench.measure(s, None)
        assert (found.status, found.message) == ("ok", "")
        assert found.seconds is not None
        assert found.seconds > 0
    times = bench.turns([start, other], 4, 60.0)
    assert [len(each) for each in times] == [4, 4]
    bench.right = [r + 1 for r in bench.right]
    bench._checked.clear()
    assert bench.measure(other, None).status == "wrong"
