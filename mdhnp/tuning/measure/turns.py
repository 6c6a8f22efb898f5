"""Whether a challenger takes the place of what is in use: whole calls by turns, and the one rule that decides.

Takes functions that make calls, gives seconds; takes seconds, gives a verdict. It must not know what is compared:
schedules of a search, rewritings of a graph, or plans in the caller's own calls.

Times of a search do not decide: the least of many noisy ones is too small (the winner's curse), and what is in use was
timed at another moment. So both are timed anew, by turns, as calls are made in use.
"""

import time
from collections.abc import Callable, Sequence
from math import isqrt
from statistics import median

#: Rounds, and how many times as fast a challenger must be in the median of so many or more.
MARGINS = ((1, 1.5), (3, 1.15), (10, 1.03))
#: Part of the rounds in which it must be faster, however little.
_MOSTLY = 0.75

#: Rounds for a verdict, and seconds of calls in one turn. A schedule against itself, on two cores where others worked
#: in bursts of 0.15 s, never won in 137 comparisons of four calls (4 to 700 µs); by the median alone in 0 to 4 % of
#: them, and in turns of 0.01 s in 0 to 3 %, by the median alone in up to 36 %.
ROUNDS, TURN = 30, 0.003
#: The fastest of a search, at least, that are timed again, and rounds of each heat among them.
_FINALISTS, HEATS = 5, 3
#: A call that takes less, in seconds, is timed by so many in a row to know how many fill a turn. Before one that takes
#: longer than the third number none is made that does not count: what was before leaves it less than its noise.
_SHORT, _AWAKE, _LONG = 1e-3, 20, 0.03


def is_faster(challenger: Sequence[float], incumbent: Sequence[float]) -> bool:
    """Whether a challenger is faster, by seconds of as many rounds as of the incumbent's; ties stay with that one."""
    needed = [margin for rounds, margin in MARGINS if len(challenger) >= rounds]
    ratios = sorted(i / c for c, i in zip(challenger, incumbent, strict=True))
    return bool(needed) and median(ratios) > needed[-1] and ratios[int((1 - _MOSTLY) * len(ratios))] > 1.0


def heats(measured: int) -> list[int]:
    """Give how many of a search's schedules each heat has: of many measured the root, then half of them, to the last.

    Of a thousand noisy times the five least are luck: with five, nine of fifteen searches of 480 s kept the default,
    although faster schedules were known (a Xeon all of whose cores searched, 620 to 2,482 schedules each).
    """
    found = [max(_FINALISTS, isqrt(measured))]
    while found[-1] > _FINALISTS:
        found.append(found[-1] // 2)
    return found


def time_taken(calls: Sequence[float], rounds: int) -> float:
    """Give the seconds that so many rounds by turns take, of calls that take so many seconds."""
    known = sum((_AWAKE + 2 if one < _SHORT else 2 if one < _LONG else 1) * one for one in calls)
    return known + rounds * sum((_calls(one) + (one < _LONG)) * one for one in calls)


def by_turns(works: Sequence[Callable[[int], object]], rounds: int, seconds: float) -> list[list[float]]:
    """Give the seconds of a call of each, round by round: at most so many, and none that would end too late.

    Each makes as many calls in a row as it is told, and returns when they are done. All take turns in each round, by
    turns from the first and from the last on. A short call that is the first after
    others' counts for nothing.
    """
    end = time.perf_counter() + seconds
    each = [_seconds(work) for work in works]
    counts = [_calls(one) for one in each]
    lasts = sum((count + (one < _LONG)) * one for count, one in zip(counts, each, strict=True))
    times: list[list[float]] = [[] for _ in works]
    for number in range(rounds):
        if time.perf_counter() + lasts > end:
            break
        for at in range(len(works))[:: -1 if number % 2 else 1]:
            if each[at] < _LONG:
                works[at](1)
            times[at].append(_run(works[at], counts[at]))
    return times


def _calls(one: float) -> int:
    """How many calls fill a turn, of which one takes so many seconds."""
    return max(round(TURN / max(one, 1e-9)), 1)


def _run(work: Callable[[int], object], count: int) -> float:
    begin = time.perf_counter()
    work(count)
    return (time.perf_counter() - begin) / count


def _seconds(work: Callable[[int], object]) -> float:
    one = _run(work, 1)  # which may build what the first call needs
    one = _run(work, 1) if one < _LONG else one
    return _run(work, _AWAKE) if one < _SHORT else one
