"""Which of all combinations run."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from examples import meeting


@pytest.mark.parametrize("counts", [(3,), (1,), (2, 3)])
def test_of_one_list_or_two_all_are_taken(counts: tuple[int, ...]) -> None:
    assert meeting(counts) == [*product(*map(range, counts))]


@pytest.mark.parametrize("counts", [(2, 3, 4), (5, 2, 2), (1, 3, 1), (2, 2, 2, 2, 2)])
def test_any_two_values_meet_in_few(counts: tuple[int, ...]) -> None:
    found = meeting(counts)
    for a, b in combinations(range(len(counts)), 2):
        assert {(case[a], case[b]) for case in found} == {*product(range(counts[a]), range(counts[b]))}
    assert len({*found}) == len(found)
    largest = sorted(counts)
    assert largest[-1] * largest[-2] <= len(found) <= 2 * largest[-1] * largest[-2]
