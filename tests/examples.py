"""Which cases run: of random examples each device's share, of all combinations those in which any two values meet.

With the same examples on each device a suite would pay for each twice, and see half as many. Most faults take one
value, or two; `--long` runs all combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, seed, settings

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

__all__ = ["meeting", "pairwise", "share"]

#: Of Intel's runtime, which compiles three times as slowly, and of others.
_SHARES, _SHARE = {"intel": 1 / 3}, 2 / 3


def share(device: Device, examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a test of `given` examples see a device's part of so many; in a thorough run as many as the profile says."""
    most = settings().max_examples
    thorough = most > 200

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        count = most if thorough else round(examples * _SHARES.get(device.runtime, _SHARE))
        chosen: Any = settings(max_examples=count, suppress_health_check=list(HealthCheck))(test)
        return chosen if thorough else seed(crc32(device.runtime.encode()))(chosen)

    return decorate


def pairwise(*values: Iterable[Any]) -> list[Any]:
    """Give a test's cases, one value of each list: few in which any two values meet, and as slow all others."""
    lists = [[*each] for each in values]
    few = set(meeting([len(each) for each in lists]))
    return [
        pytest.param(
            *[each[n] for each, n in zip(lists, case, strict=True)],
            id="-".join(str(each[n]) for each, n in zip(lists, case, strict=True)),
            marks=[] if case in few else pytest.mark.slow,
        )
        for case in product(*(range(len(each)) for each in lists))
    ]


def meeting(counts: Sequence[int]) -> list[tuple[int, ...]]:
    """Give tuples of numbers below `counts` in which any two numbers of two places meet: few, or all of two places."""
    if len(counts) < 3:
        return [*product(*map(range, counts))]
    missing = {
        ((a, i), (b, j))
        for a, b in combinations(range(len(counts)), 2)
        for i, j in product(range(counts[a]), range(counts[b]))
    }
    found = []
    while missing:
        case = dict(min(missing))
        for place in range(len(counts)):
            if place not in case:
                case[place] = max(range(counts[place]), key=lambda n: (len(_pairs(case | {place: n}) & missing), -n))
        missing -= _pairs(case)
        found.append(tuple(case[place] for place in range(len(counts))))
    return found


def _pairs(case: dict[int, int]) -> set[tuple[tuple[int, int], ...]]:
    return {*combinations(sorted(case.items()), 2)}
