"""Which plan is the fastest, found out in the caller's calls: by simulation, with times that are drawn."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from statistics import median
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mdhnp.calls import contest as contests
from mdhnp.calls import entry as entering
from mdhnp.calls.contest import Contest
from mdhnp.calls.entry import Entry, Spent, Start
from mdhnp.calls.lifecycle import Event, Lifecycle, State
from mdhnp.calls.plans import Plan

#: What the contest promises, and when it must have ended.
SHARE, MOST_CALLS = 0.05, 50_000


class Fake:
    """A plan that takes as long as it is told."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def run(self, arrays: Any) -> Any:
        return (np.zeros(1),)


class Simulated:
    """A contest of plans in calls whose times are drawn: the first plan is in use."""

    def __init__(
        self, seconds: Sequence[float], rest: float, draw: Callable[[float], float], patch: pytest.MonkeyPatch,
        ratios: Sequence[float] | None = None, spent: float = 0.3, slowed: float = 2.0,
    ) -> None:  # fmt: skip
        self.clock, self.draw, self.rest, self.slowed = 0.0, draw, rest, slowed
        patch.setattr(contests, "time", SimpleNamespace(perf_counter=lambda: self.clock))
        self.plans = [Fake(s) for s in seconds]
        self.won: Plan | None = None
        before = Spent()
        before.seconds, before.calls = spent, max(round(spent / seconds[0]), 1)
        self.spent, self.lost, self.calls = before.seconds, 0.0, 0
        others = list(zip(self.plans[1:], ratios or [1.0] * (len(seconds) - 1), strict=True))
        self.contest = Contest(self.plans[0], others, before, rest, self._settle)
        self.entry = Entry(Start(self.contest.plan, self.contest), None, None)
        self.usual_until = 0.0

    def _settle(self, entry: Entry, plan: Plan, times: Sequence[tuple[Plan, Sequence[float]]]) -> None:
        self.won, self.times = plan, times
        entry.put(plan)

    def call(self) -> float:
        """Make a call; give what it took longer than the plan in use does, if that is due to a candidate."""
        plan, watcher = self.entry._now
        assert watcher is not None
        fake = getattr(plan, "_plan", plan)
        seconds = self.draw(fake.seconds)
        if fake is self.plans[0]:
            self.usual_until = self.clock + seconds + self.rest
        elif self.clock < self.usual_until:  # threads of NumPy's still spin
            seconds *= self.slowed
        self.clock += seconds
        self.spent, self.calls = self.spent + seconds, self.calls + 1
        excess = 0.0 if fake is self.plans[0] else max(seconds - self.plans[0].seconds, 0.0)
        self.lost += excess
        watcher.see(self.entry, plan, seconds, 1)
        return excess

    def run(self, check: Callable[[float], None]) -> None:
        while self.won is None:
            check(self.call())
            assert self.calls < MOST_CALLS


def noisy(rng: random.Random) -> Callable[[float], float]:
    """Noise of 4 %, and one in 20 samples takes half as long again."""
    return lambda seconds: seconds * (1.0 + abs(rng.gauss(0.0, 0.04))) * (1.5 if rng.random() < 0.05 else 1.0)


def cases(count: int, usual: Sequence[float]) -> list[list[float]]:
    """Seconds of the plan in use, and of one to three candidates."""
    rng = random.Random(1)
    others = [[rng.uniform(0.3, 3.0) for _ in range(rng.choice((1, 1, 2, 3)))] for _ in range(count)]
    return [[u, *(u * ratio for ratio in each)] for each in others for u in [rng.choice(usual)]]


@pytest.mark.parametrize(("rest", "usual"), [(0.0, (1e-6, 1e-4, 1e-2, 1.0)), (0.13, (1e-3, 1e-2, 1.0))])
def test_the_loss_is_bounded_at_every_moment_and_the_winner_good(
    rest: float, usual: Sequence[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lost so far is at most 5 % of the time spent, and one sample's excess: that of the one which used the rest up.

    This holds exactly for what the contest reckons, relative to the median of the plan in use; relative to that plan's
    least time within a tenth, a few of its calls, and half a rest: what is usual is not known better than samples are.
    """
    near = []
    for seed, seconds in enumerate(cases(150, usual)):
        simulated = Simulated(seconds, rest, noisy(random.Random(seed)), monkeypatch)
        most = 0.0

        def check(excess: float, it: Simulated = simulated) -> None:
            nonlocal most
            most = max(most, excess)
            allowed = SHARE * it.spent + most + 1e-12
            assert it.contest._lost <= allowed
            assert it.lost <= 1.1 * allowed + 10 * it.plans[0].seconds + it.rest / 2

        simulated.run(check)
        near.append(simulated.won.seconds / min(seconds))
    assert sum(each <= 1.05 for each in near) >= 0.97 * len(near)
    assert max(near) < 1.25


@pytest.mark.parametrize("ratio", [0.3, 0.9, 1.0, 1.02, 1.4, 3.0])
@pytest.mark.parametrize("rest", [0.0, 0.13])
def test_without_noise_the_faster_wins_and_ties_keep_the_plan_in_use(
    ratio: float, rest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for known in (ratio, 1.0):  # as measured elsewhere, or nothing
        simulated = Simulated([1e-3, ratio * 1e-3], rest, lambda seconds: seconds, monkeypatch, [known])
        most = 0.0

        def check(excess: float, it: Simulated = simulated, known: float = known) -> None:
            nonlocal most
            most = max(most, excess)
            foreseen = rest == 0.0 and known == ratio
            assert it.lost <= SHARE * it.spent + (0.0 if foreseen else most) + 1e-12

        simulated.run(check)
        assert (simulated.won is simulated.plans[1]) == (ratio < 0.97)


@pytest.mark.parametrize("ratio", [0.3, 0.8, 1.4, 20.0])
@pytest.mark.parametrize("slowed", [3.0, 10.0, 50.0])
@pytest.mark.parametrize("usual", [2e-4, 1e-3])
def test_calls_that_many_threads_disturb_say_nothing_of_a_plan(
    usual: float, slowed: float, ratio: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on 16 cores, all of which NumPy's threads take for a while."""
    simulated = Simulated([usual, ratio * usual], 0.13, lambda seconds: seconds, monkeypatch, slowed=slowed)
    most = 0.0

    def check(excess: float) -> None:
        nonlocal most
        most = max(most, excess)
        assert simulated.lost <= SHARE * simulated.spent + most + 1e-12

    simulated.run(check)
    assert simulated.won is simulated.plans[ratio < 1.0]


@pytest.mark.parametrize(("ratio", "known", "calls"), [(0.4, 0.4, 4), (0.4, 1.0, 12), (0.6, 0.4, 12), (0.4, 0.6, 12)])
def test_who_is_twice_as_fast_here_as_in_the_helper_wins_at_once(
    ratio: float, known: float, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one sample of both, and one before each that does not count."""
    simulated = Simulated([1e-2, ratio * 1e-2], 0.0, lambda seconds: seconds, monkeypatch, [known])
    simulated.run(lambda excess: None)
    assert simulated.won is simulated.plans[1]
    assert simulated.calls == calls


@pytest.mark.parametrize("usual", [3e-6, 1e-5, 1e-4])
@pytest.mark.parametrize("ratio", [0.7, 0.9, 1.4])
def test_short_calls_are_not_judged_by_the_first_ones(
    ratio: float, usual: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For most of a millisecond after a change of plans kernels take twice as long."""
    simulated = Simulated([usual, ratio * usual], 0.0, lambda seconds: seconds, monkeypatch)
    kernels = simulated.plans[1].seconds
    simulated.draw = lambda seconds: (
        seconds * (1 + (seconds == kernels and simulated.clock - simulated.contest._since < 8e-4))
    )
    simulated.run(lambda excess: None)
    assert simulated.won is simulated.plans[ratio < 1.0]


@pytest.mark.parametrize("rest", [0.0, 0.13])
@pytest.mark.parametrize("outlier", range(16))
@pytest.mark.parametrize(("ratio", "disturbed"), [(0.6, 0.6), (0.6, 1.0), (1.5, 1.5), (1.5, 1.0)])
def test_one_outlier_does_not_decide(
    ratio: float, disturbed: float, outlier: int, rest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever call of a plan it is."""
    left = [outlier]

    def draw(seconds: float) -> float:
        left[0] -= seconds == disturbed * 1e-3
        return seconds * (100.0 if left[0] == -1 and seconds == disturbed * 1e-3 else 1.0)

    simulated = Simulated([1e-3, ratio * 1e-3], rest, draw, monkeypatch)
    simulated.run(lambda excess: None)
    assert simulated.won is simulated.plans[ratio < 1.0]


def test_a_candidate_that_fails_is_left_out_and_its_calls_have_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contests, "_AWAKE", 0.0)
    monkeypatch.setattr(contests, "_FILL", 0.0)  # these calls take less than any other

    class Broken(Fake):
        def run(self, arrays: Any) -> Any:
            raise RuntimeError("out of resources")

    settled: list[Any] = []
    plans = [Fake(1e-3), Broken(1e-4), Fake(5e-4)]
    contest = Contest(
        plans[0], [(p, 1.0) for p in plans[1:]], Spent(), 0.0, lambda e, p, t: (e.put(p), settled.append(p))
    )
    entry = Entry(Start(contest.plan, contest), None, None)
    with pytest.warns(RuntimeWarning, match="a kernel failed, and is not used: out of resources") as caught:
        for _ in range(100_000):  # real ones, of which noise decides how many are needed
            assert entry.run(()).tolist() == [0.0]
            if settled:
                break
    assert len(caught) == 1
    assert len(settled) == 1
    assert settled[0] is not plans[1]


def test_late_calls_are_of_the_plan_that_made_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that another thread began before the turn did counts as spent, and nothing else."""
    simulated = Simulated([1e-3, 5e-4], 0.0, lambda seconds: seconds, monkeypatch)
    while simulated.won is None:
        now, _ = simulated.entry._now
        for other in simulated.plans:
            if other is not getattr(now, "_plan", now):
                before = simulated.contest._spent.seconds, list(simulated.contest._samples), simulated.contest._lost
                simulated.contest.see(simulated.entry, other, 9.0, 1)
                after = simulated.contest._spent.seconds, list(simulated.contest._samples), simulated.contest._lost
                assert after == (before[0] + 9.0, *before[1:])
        simulated.call()
    assert [(plan is simulated.plans[1], round(median(seconds), 6)) for plan, seconds in simulated.times] == [
        (False, 1e-3), (True, 5e-4),
    ]  # fmt: skip


# Until calls have cost a price


class Spending(Lifecycle):
    """Does something once calls by a plan have cost a price."""

    def __init__(self, plan: Any, price: float, act: Callable[..., None], spent: Spent | None = None) -> None:
        row = lambda p, _: True, lambda p, _: act(p.entry, p.plan, p.spent), State.BUILDING
        super().__init__({(State.FIRST, Event.PAID): [row]}, [SimpleNamespace()], None, spent)
        self.plan, self.state, self.least = plan, State.FIRST, price
        self.follow()

    def price(self) -> float | None:
        return self.least if self.state is State.FIRST else None


def entry_of(plan: Any, *how: Any) -> Entry:
    return Entry(Start(plan, Spending(plan, *how)), None, None)


@pytest.mark.parametrize(("price", "calls"), [(0.0, 1), (0.3, 1), (0.9, 3), (0.91, 4)])
def test_it_acts_once_in_the_call_in_which_the_sum_reaches_the_price(price: float, calls: int) -> None:
    acts: list[Any] = []
    entry = entry_of(Fake(0.3), price, lambda *arguments: acts.append(arguments))
    for n in range(1, 7):
        plan, watcher = entry._now
        if watcher is not None:
            watcher.saw(entry, plan, 0.3 + 1e-9)
        assert len(acts) == (n >= calls)
    ((_, plan, spent),) = acts
    assert (plan, spent.calls, round(spent.seconds, 3)) == (entry.plan, calls, round(0.3 * calls, 3))


def test_what_calls_have_cost_before_counts() -> None:
    acts: list[Any] = []
    before = Spent()
    before.add(0.5)
    entry = entry_of(Fake(0.3), 0.7, lambda *arguments: acts.append(arguments), before)
    plan, watcher = entry._now
    assert watcher is not None
    watcher.saw(entry, plan, 0.3)
    ((_, _, spent),) = acts
    assert (spent.calls, spent.seconds, spent.least) == (2, 0.8, 0.3)


def test_one_caller_improves_while_others_go_on() -> None:
    """Calls that come meanwhile run the old plan, and do not look for a better one as well."""
    first, second = Fake(1.0), Fake(1.0)
    ran: list[Plan] = []

    def better(entry: Entry, plan: Plan, _: Spent) -> None:
        for _each in range(3):
            entry.run(())
            ran.append(entry.plan)
        entry.put(second)

    entry = entry_of(first, 0.0, better)
    entry.run(())
    assert ran == [first] * 3
    assert entry.plan is second


def test_many_threads_reach_a_price_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entering, "time", SimpleNamespace(perf_counter=iter(range(10**9)).__next__))
    acts: list[Any] = []
    entry = entry_of(Fake(1.0), 1000.0, lambda *arguments: acts.append(arguments))
    threads = [threading.Thread(target=lambda: [entry.run(()) for _ in range(2000)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(acts) == 1


def test_ctrl_c_puts_it_off_and_other_errors_do_not() -> None:
    errors: list[BaseException] = [KeyboardInterrupt(), RuntimeError("no")]

    def act(*_: Any) -> None:
        raise errors.pop(0)

    entry = entry_of(Fake(1.0), 0.0, act)
    with pytest.raises(KeyboardInterrupt):
        entry.run(())
    with pytest.warns(RuntimeWarning, match="keeps the plan it has, since a better one could not be made: no"):
        entry.run(())
    entry.run(())
    assert errors == []
