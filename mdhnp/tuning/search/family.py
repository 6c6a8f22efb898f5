"""A few schedules for a family of sizes: which of those that were found for some of them serve all, and where.

Takes stages that differ in extents and were tuned each for itself. What was found for one is moved to the extents of
all others and timed there, by turns. Few of them that are fast on average are kept: sizes that nobody tuned take the
one that is the fastest at the nearest size that was.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from math import exp, inf, log
from statistics import fmean, median

from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.schedule.default import default
from mdhnp.schedule.general import moved
from mdhnp.tuning.cache import cache
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.measure.team import Team, WorkerError
from mdhnp.tuning.search.session import Tuned, team_of

#: Schedules besides the default ones, at most, and how many times as fast each makes a call on average, at least.
_MOST, _WORTH = 3, 1.05
#: Rounds by turns, and how many times the fastest one's time those take at most that take part.
_ROUNDS, _CLOSE = 30, 1.5


def share(found: Sequence[Tuned], device: Device, budget: float, seed: int) -> list[Tuned]:
    """Choose what sizes near to those of some stages take, of what was found for these, and keep it.

    Each size takes twice `budget` seconds at most, but for starting processes.
    """
    tried = [
        [default(t.mdhom, device.caps), *(moved(t.mdhom, o.schedule, o.mdhom.extents, device.caps) for o in found)]
        for t in found
    ]
    each = [_times(t, schedules, device, budget, seed) for t, schedules in zip(found, tried, strict=True)]
    # Sizes whose default did not work say nothing, and are left as they are.
    said = [n for n, seconds in enumerate(each) if tried[n][0] in seconds]
    times = [[each[n].get(tried[n][c], inf) for c in (0, *(m + 1 for m in said))] for n in said]
    numbers = {n: (0, *(m + 1 for m in said))[c] for n, c in zip(said, few(times), strict=True)} if said[1:] else {}
    known, shared = cache(), [*found]
    for n, number in numbers.items():
        t, schedules, seconds = found[n], tried[n], each[n]
        key, chosen = key_of(t.mdhom, device), schedules[number]
        entry = known.get(key)
        if entry is not None:
            known.put(key, replace(entry, near=chosen if number else "default"))
        # Seconds of another moment are compared by those of its own schedule, which was timed at both.
        ratio = seconds[chosen] / seconds[t.schedule] if {chosen, t.schedule} <= seconds.keys() else None
        shared[n] = replace(t, family_seconds=ratio and ratio * t.seconds)
    return shared


def few(times: Sequence[Sequence[float]]) -> list[int]:
    """Choose, by the seconds of each size (row) and schedule, the number of the schedule for each size.

    Number 0, the default, which works everywhere, is that of sizes where no other of those chosen is clearly faster.
    Number n + 1 was found for size n, and is taken to gain there what it gains elsewhere: more says nothing of others.
    """
    expected = [[*row] for row in times]
    for n, row in enumerate(expected):
        gain = fmean([log(other[n + 1] / other[0]) for size, other in enumerate(times) if size != n])
        row[n + 1] = max(row[n + 1], row[0] * exp(gain))

    def mean(numbers: Sequence[int]) -> float:
        """The logarithm of the seconds on average, by the fastest of some schedules at each size."""
        return fmean([log(min([row[n] for n in numbers])) for row in expected])

    chosen = [0]
    while len(chosen) <= _MOST:
        more = min([[*chosen, n] for n in range(len(times[0]))], key=mean)
        if mean(chosen) - mean(more) < log(_WORTH):
            break
        chosen = more
    fastest = [min(chosen, key=lambda n: row[n]) for row in expected]
    return [n if row[0] > _WORTH * row[n] else 0 for n, row in zip(fastest, expected, strict=True)]


def _times(
    own: Tuned, schedules: Sequence[Schedule | None], device: Device, budget: float, seed: int
) -> dict[Schedule | None, float]:
    """Give the seconds of a stage by its own schedule and by others, the default one first, of those that work."""
    each = list(dict.fromkeys([s for s in (schedules[0], own.schedule, *schedules[1:]) if s is not None]))
    with team_of(own.mdhom, (device,), budget, seed) as team:
        once = _once(team, each, budget)
        finalists = [s for s, seconds in once.items() if s in each[:2] or seconds <= _CLOSE * min(once.values())]
        turns = _turns(team, finalists, budget)
    return {s: median(turns.get(s) or [seconds]) for s, seconds in once.items()}


def _once(team: Team, schedules: Sequence[Schedule], budget: float) -> dict[Schedule, float]:
    """Measure schedules, the first one alone, while there is time; those that work, with their seconds."""
    found, end = dict[Schedule, float](), inf
    left = [list(schedules[:1]), *(list(schedules[n : n + len(team)]) for n in range(1, len(schedules), len(team)))]
    for some in left:
        for each in team.measure(some, min(found.values(), default=None)):
            if each.seconds is not None:
                found[each.schedule] = each.seconds
        end = min(end, time.monotonic() + budget)  # processes start until something is measured
        if time.monotonic() > end:
            break
    return found


def _turns(team: Team, schedules: Sequence[Schedule], seconds: float) -> dict[Schedule, list[float]]:
    try:
        return team.turns(schedules, _ROUNDS, seconds) if len(schedules) > 1 else {}
    except WorkerError:
        return {}
