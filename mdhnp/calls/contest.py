"""Which of several plans is the fastest, found out in the caller's own calls.

No call is made for the sake of measuring. The time that slower plans take longer is spent from a surplus: at every
moment at most `_SHARE` of all that the computation has cost, without what candidates gain (conservative bandits).

The plans take turns, in rounds of more and more samples; those that are clearly slower are left out of the next. A
sample is the median of several calls where these are short. No single one decides: of so few the helper's times must
say the same, or another turn. The first calls after a change count for nothing, nor do those for which threads of the
plan before may still spin. The plan in use stays unless another one is faster by the one rule for that
(`tuning/measure/turns.py`): else noise would pick plans, and with them the last bits.
"""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from mdhnp.calls.entry import Entry, Spent, Watcher
from mdhnp.calls.plans import Plan
from mdhnp.errors import warn
from mdhnp.tuning.measure.turns import MARGINS, is_faster

#: Part of all time spent that slower plans may have cost.
_SHARE = 0.05

#: Samples of each plan, round by round, and how many times the fastest one's time a plan may take to stay in: what is
#: left is what the last samples are to decide.
_ROUNDS = MARGINS

#: How many times as fast as the plan in use the only candidate must be, before as in the first round, to win with that.
_CLEAR = 2.0

#: A turn that was cut short after fewer samples is taken once more before it decides.
_FEW = _ROUNDS[1][0]

#: Seconds after a change that count for nothing, since kernels of some µs take a sixth longer until a runtime's other
#: threads, which the first one wakes, sleep again; and seconds that the short calls of a sample take together.
_AWAKE, _FILL = 1.8e-3, 3e-4

#: The part of its time that a plan is taken to lose while threads of another one take a core from it, until it is seen
#: to lose more: where they take all of 16 cores it loses nine tenths.
_DISTURBED = 0.5


class _Guarded:
    """A candidate, in whose place the plan in use computes where it fails."""

    def __init__(self, plan: Plan, instead: Plan) -> None:
        self._plan, self._instead = plan, instead
        self.error = ""

    def run(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        if not self.error:
            try:
                return self._plan.run(arrays)
            except (RuntimeError, MemoryError) as error:  # not what a signal handler raises
                self.error = str(error) or type(error).__name__  # the error itself would hold the arrays
        return self._instead.run(arrays)


class _Arm:
    """A plan, how long its calls took, and its time relative to the plan in use as far as is known, now and before."""

    def __init__(self, plan: Plan, runs: Plan, ratio: float) -> None:
        self.plan, self.runs, self.ratio, self.known = plan, runs, ratio, ratio
        self.times: list[float] = []
        self.cut = False  # whether a turn was cut short after few samples
        self.price = 0.0  # seconds that a turn is taken to lose, at least

    @property
    def seconds(self) -> float:
        return median(self.times)


class Contest(Watcher):
    """Tries candidates, each with its time relative to the plan in use as far as is known, beside the plan `used`.

    `spent` is what calls have cost so far, `rest` the seconds for which calls of the plan in use disturb those after
    them. At the end `settle` takes the entry, the plan that is to go on, and the seconds of each call of those
    that were timed.
    """

    each = True

    def __init__(
        self,
        used: Plan,
        candidates: Sequence[tuple[Plan, float]],
        spent: Spent,
        rest: float,
        settle: Callable[[Entry, Plan, Sequence[tuple[Plan, Sequence[float]]]], None],
    ) -> None:
        super().__init__()
        self._used = _Arm(used, used, 1.0)
        self._others = [_Arm(plan, _Guarded(plan, used), ratio) for plan, ratio in candidates]
        self._spent, self._rest, self._settle = spent, rest, settle
        # With a pause before every turn there is one long one.
        self._rounds = _ROUNDS[-1:] if rest else _ROUNDS
        self._lost, self._round = 0.0, 0
        self._due = [self._used, *self._others]  # in this round
        self._out: list[_Arm] = []
        self._begin(self._used)

    def _begin(self, arm: _Arm) -> None:
        """Begin a turn: its calls, the samples of those that count, and the calls of the next sample."""
        self._arm, self._since, self._before = arm, time.perf_counter(), self._lost
        self._all, self._samples, self._next_one = list[float](), list[float](), list[float]()

    @property
    def plan(self) -> Plan:
        return self._arm.runs

    def see(self, entry: Entry, plan: Plan, seconds: float, calls: int) -> None:
        """Count a call, and say who makes the next one."""
        arm = self._arm
        self._spent.add(seconds, calls)
        if plan is not arm.runs:  # the call began before the turn did
            return
        if arm is not self._used:
            self._lost += max(seconds - self._usual, 0.0)
        if isinstance(arm.runs, _Guarded) and arm.runs.error:
            self._leave_out(arm)
            warn(f"a kernel failed, and is not used: {arm.runs.error}")
        elif arm in self._due:
            # The first ones after a change count for nothing, nor do those that the plan in use disturbs.
            rest = _AWAKE if arm is self._used else max(self._rest, _AWAKE)
            if self._all and time.perf_counter() - seconds - self._since >= rest:
                self._next_one.append(seconds)
                if len(self._next_one) * self._next_one[0] >= _FILL or seconds >= _FILL:
                    self._samples.append(median(self._next_one))
                    self._next_one.clear()
            self._all.append(seconds)
            if len(self._samples) == self._rounds[self._round][0]:
                arm.times = self._samples
                arm.ratio = arm.seconds / self._usual
                self._due.remove(arm)
            elif arm is self._used or self._lost <= _SHARE * self._spent.seconds:
                return
            elif len(self._all) < _FEW and not arm.cut:  # the surplus is gone, maybe by something else's fault
                arm.cut = True
            elif not self._samples and seconds < self._rest:  # this tells the disturbance, not what the plan takes
                arm.price = 2.0 * (self._lost - self._before)
            else:  # next time all of the turn must fit into it
                seen = self._samples if self._samples and self._rest else self._all
                arm.ratio = max(arm.ratio, median(seen) / self._usual)
                if arm.ratio > _ROUNDS[0][1]:
                    arm.times = seen
                    self._leave_out(arm)
        self._next(entry)

    @property
    def _usual(self) -> float:
        return self._used.seconds if self._used.times else self._spent.seconds / max(self._spent.calls, 1)

    def _next(self, entry: Entry) -> None:
        """Choose who makes the next call: the next plan of the round, or that in use until there is time to lose."""
        if not self._due and self._ends():
            best = min((self._used, *self._others), key=lambda arm: arm.seconds)
            won = best if self._beats(best) else self._used
            timed = [arm for arm in (self._used, *self._others, *self._out) if arm.times]
            self._settle(entry, won.plan, [(arm.plan, arm.times) for arm in timed])
            return
        arm = self._due[0] if self._can_pay(self._due[0]) else self._used
        if arm is not self._arm:
            self._begin(arm)
        entry.put(self.plan, self)

    def _can_pay(self, arm: _Arm) -> bool:
        one = arm.ratio * self._usual
        lasts = max(one, _AWAKE) + self._rounds[self._round][0] * max(one, _FILL)
        slower = lasts * max(1.0 - 1.0 / arm.ratio, 0.0)
        # One that takes less than half of the usual time loses nothing to that one even then.
        disturbed = max(1.0 - (1.0 - _DISTURBED) / arm.ratio, 0.0) * self._rest
        price = 0.0 if arm is self._used else max(slower + disturbed, arm.price)
        return self._lost + price <= _SHARE * self._spent.seconds

    def _leave_out(self, arm: _Arm) -> None:
        self._others.remove(arm)
        self._out.append(arm)
        self._due = [each for each in self._due if each is not arm]

    def _ends(self) -> bool:
        """Leave out who is clearly slower than another plan; tell whether that leaves one, or was the last round."""
        limit = self._rounds[self._round][1]
        best = min(arm.seconds for arm in (self._used, *self._others))
        alone = self._rounds[self._round][0] < _FEW
        for arm in list(self._others):
            if arm.seconds > limit * best and not (alone and arm.known <= limit):
                self._leave_out(arm)
        self._round += 1
        beaten = len(self._others) == 1 and self._beats(self._others[0])
        if beaten and self._round == 1:
            beaten = max(self._others[0].known, best / self._used.seconds) * _CLEAR <= 1.0
        if self._round == len(self._rounds) or not self._others or beaten:
            return True
        self._due = [self._used, *self._others]
        return False

    def _beats(self, arm: _Arm) -> bool:
        """Whether a plan takes the place of the one in use; several calls in a row make no pairs, but ranks do."""
        return is_faster(sorted(arm.times), sorted(self._used.times))
