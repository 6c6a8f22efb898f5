"""A few schedules for a family of sizes: which of those that were found for some of them serve all, and where.

Draws sizes from distributions. Takes stages that differ in extents and were tuned each for itself. What was found for
one is moved to the extents of all others and timed there, by turns. Sizes that nobody tuned take the one that is the
fastest about the nearest size that was.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, inf, log
from statistics import fmean, median
from typing import Any

import numpy as np

from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.schedule.default import default
from mdhnp.schedule.general import moved
from mdhnp.settings import require_whole
from mdhnp.tuning.cache import cache
from mdhnp.tuning.cache.tuning_cache import distance
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.measure.team import Team
from mdhnp.tuning.measure.turns import is_faster
from mdhnp.tuning.search.session import Tuned, team_of

#: How many times as fast as the default a schedule must be at a size and at those near to it.
_WORTH = 1.05
#: Rounds by turns, and how many times the fastest one's time those take at most that take part.
_ROUNDS, _CLOSE = 30, 1.5


def drawn(sizes: Any, draws: int, seed: int) -> list[tuple[Any, ...]]:
    """Draw different arguments of a function of sizes from what :func:`mdhnp.tune` takes: so many, or all there are."""
    require_whole("tune: draws", draws, 1)
    rng = np.random.default_rng(seed)
    if isinstance(sizes, Mapping) and sizes:
        return [*dict.fromkeys(zip(*[_values(name, of, draws, rng) for name, of in sizes.items()], strict=True))]
    try:
        sample = np.asarray(sizes)
    except ValueError:  # of different lengths
        sample = np.empty(0)
    if sample.dtype.kind not in "iu" or sample.ndim not in (1, 2) or not sample.size:
        raise TypeError(f"tune: sizes: takes distributions by name, or a list of tuples of numbers, not {sizes!r:.80}")
    return [*dict.fromkeys(map(tuple, rng.permutation(sample.reshape(len(sample), -1)).tolist()))][:draws]


def _values(name: str, of: Any, draws: int, rng: np.random.Generator) -> list[Any]:
    """Draw values of one argument: one of each of so many parts that are equally likely, but by `rvs`.

    Such a Latin square has sizes that nobody draws nearer to those drawn, by a tenth where there are three arguments.
    """
    parts = (rng.permutation(draws) + rng.random(draws)) / draws
    match of:
        case (int() | np.integer() as least, int() | np.integer() as most) if isinstance(of, tuple):
            if not 0 < least <= most:
                raise ValueError(f"tune: sizes: {name}: {of}: the least is to be 1 or more and at most the most")
            return [int(n) for n in int(least) * ((int(most) + 1) / int(least)) ** parts]
        case np.ndarray() if of.dtype.kind in "iu" and of.ndim == 1 and of.size:
            return [int(of[int(n)]) for n in len(of) * parts]
        case range() | list() if of:
            return [of[int(n)] for n in len(of) * parts]
        case _ if hasattr(of, "rvs"):
            return [round(n) for n in np.asarray(of.rvs(size=draws, random_state=rng)).tolist()]
    raise TypeError(f"tune: sizes: {name}: takes a range, a list, a pair (least, most) or what has rvs, not {of!r:.80}")


def share(found: Sequence[Tuned], device: Device, budget: float, seed: int) -> list[Tuned]:
    """Choose what sizes near to those of some stages take, of what was found for these, and keep it.

    Each size takes twice `budget` seconds at most, but for starting processes.
    """
    tried = [
        [default(t.mdhom, device.caps), *(moved(t.mdhom, o.schedule, o.mdhom.extents, device.caps) for o in found)]
        for t in found
    ]
    rounds = [_times(t, schedules, device, budget, seed) for t, schedules in zip(found, tried, strict=True)]
    each = [{s: median(r) for s, r in some.items()} for some in rounds]
    times = [
        [_counted(some, s, schedules[0]) for s in schedules] for schedules, some in zip(tried, rounds, strict=True)
    ]
    known, shared = cache(), [*found]
    for at, number in choose(times, [t.mdhom.extents for t in found]).items():
        t, chosen, seconds = _fastest(found[at], rounds[at]), tried[at][number], each[at]
        key = key_of(t.mdhom, device)
        entry = known.get(key)
        if entry is not None:
            entry = replace(entry, schedule=t.schedule, seconds=t.seconds, near=chosen if number else "default")
            known.put(key, entry)
        # Seconds of another moment are compared by those of its own schedule, which was timed at both.
        ratio = seconds[chosen] / seconds[t.schedule] if {chosen, t.schedule} <= seconds.keys() else None
        shared[at] = replace(t, family_seconds=ratio and ratio * t.seconds)
    return shared


def _counted(
    rounds: Mapping[Schedule | None, Sequence[float]], schedule: Schedule | None, usual: Schedule | None
) -> float:
    """Give the seconds of a schedule: those of the default one where it is not faster by the rule that decides."""
    if not (own := rounds.get(schedule)):
        return inf
    seconds, usually = median(own), rounds.get(usual, own)
    count = min(len(own), len(usually))
    return seconds if is_faster(own[:count], usually[:count]) else max(seconds, median(usually))


def _fastest(t: Tuned, rounds: Mapping[Schedule | None, Sequence[float]]) -> Tuned:
    """Take for a size what was found for another one, where that was faster by turns."""
    best = min([s for s in rounds if s is not None], key=lambda s: median(rounds[s]))
    own = rounds.get(t.schedule, ())
    if len(own) != len(rounds[best]) or not is_faster(rounds[best], own):
        return t
    return replace(t, schedule=best, seconds=t.seconds * median(rounds[best]) / median(own))


def choose(times: Sequence[Sequence[float]], extents: Sequence[Sequence[int]]) -> dict[int, int]:
    """Choose the number of the schedule for each size, by the seconds of each size (row) and schedule, and extents.

    It is the one that gains most, there and at sizes near to it, over number 0, the default, if that is enough. Number
    n + 1 was found for size n, and is taken to gain there what it gains elsewhere: more says nothing of others. Sizes
    whose default did not work say nothing, and there is no choice for them; nor is one where fewer than two are left.
    """
    said = [n for n, row in enumerate(times) if row[0] < inf]
    if len(said) < 2:
        return {}
    # Where a schedule cannot be used the default is.
    gains = {n: [log(times[n][0] / seconds) if seconds < inf else 0.0 for seconds in times[n]] for n in said}
    for n in said:
        gains[n][n + 1] = min(gains[n][n + 1], fmean([gains[m][n + 1] for m in said if m != n]))
    distances = {n: {m: distance(extents[n], extents[m]) for m in said} for n in said}
    usual = fmean([min([row[m] for m in said if m != n]) for n, row in distances.items()]) or 1.0
    found = {}
    for n in said:
        weights = [exp(-distances[n][m] / usual) for m in said]
        each = [fmean([gains[m][s] for m in said], weights) if times[n][s] < inf else 0.0 for s in range(len(times[n]))]
        best = max(each)
        found[n] = each.index(best) if best > log(_WORTH) else 0
    return found


def _times(
    own: Tuned, schedules: Sequence[Schedule | None], device: Device, budget: float, seed: int
) -> dict[Schedule | None, list[float]]:
    """Give the seconds of a stage by its own schedule and by others, the default one first, of those that work.

    They are those of rounds by turns, where a schedule was not much slower than others when it was first measured.
    """
    each = list(dict.fromkeys([s for s in (schedules[0], own.schedule, *schedules[1:]) if s is not None]))
    with team_of(own.mdhom, (device,), budget, seed, len(each)) as team:
        team.start()
        once = _once(team, each, budget)
        finalists = [s for s, seconds in once.items() if s in each[:2] or seconds <= _CLOSE * min(once.values())]
        turns = team.turns(finalists, _ROUNDS, budget) if len(finalists) > 1 else {}
    return {s: turns.get(s) or [seconds] for s, seconds in once.items()}


def _once(team: Team, schedules: Sequence[Schedule], budget: float) -> dict[Schedule, float]:
    """Measure schedules, the first one alone, while there is time; those that work, with their seconds."""
    found, end = dict[Schedule, float](), inf
    for some in (schedules[:1], schedules[1:]):
        team.begin(some)
        for each in team.measure(some, min(found.values(), default=None)):
            if each.seconds is not None:
                found[each.schedule] = each.seconds
            if time.monotonic() > end:
                return found
        end = time.monotonic() + budget  # drivers load until something is measured
    return found
