"""Sizes that are tuned together: what is chosen for all of them, what sizes near to them use, and how it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from schedules import CAPS, MATRICES
from scipy.stats import uniform
from tuning_entries import fresh_cache, stage_of

import mdhnp
from mdhnp import config
from mdhnp.calls.store import forget
from mdhnp.mdh import MdHom, canonical, cc, md_hom, pw
from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.default import candidates, default
from mdhnp.schedule.general import moved
from mdhnp.schedule.schedule import tile_counts
from mdhnp.tuning.cache import TuningCache, cache
from mdhnp.tuning.cache.records import BestSchedule
from mdhnp.tuning.lookup import family_schedule, key_of, tuned_for
from mdhnp.tuning.search import family
from mdhnp.tuning.search.family import choose, drawn
from mdhnp.tuning.search.session import Tuned

PRODUCT = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]")

pytestmark = pytest.mark.usefixtures("binaries_on_disk")


@pytest.fixture(autouse=True)
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TuningCache]:
    with config(host="never", specialise="always", tuning="off"):
        forget()
        yield from fresh_cache(tmp_path, monkeypatch)
        forget()


def product(i: int, j: int, k: int) -> MdHom:
    return canonical(PRODUCT.bind(np.zeros((i, k), np.float32), np.zeros((k, j), np.float32)))


def operands(i: int, j: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(i + j + k)
    return rng.random((i, k), np.float32), rng.random((k, j), np.float32)


@pytest.mark.parametrize(
    ("times", "chosen"),
    [
        ([[2, 1, 2], [2, 1, 2]], [1, 1]),
        ([[2, 1, 2], [2, 2, 1]], [0, 0]),  # each is fast where it was found, and nowhere else
        ([[2, 1, 1], [2, 1, 1]], [1, 1]),  # one, where another is no faster
        ([[2, 1.9, 2], [2, 1, 2]], [1, 1]),  # one that wins where it was not found
        ([[2, 1.98, 2], [2, 1.97, 2]], [0, 0]),  # none that is clearly faster than the default one
        ([[1, 2, 2], [2, 1, 2]], [0, 1]),
        ([[2, 1, inf, 2], [2, 1, inf, 2], [2, inf, 2, 2]], [1, 1, 0]),  # one that fails at a size
        ([[1, inf, inf], [1, inf, inf]], [0, 0]),
        (
            [[1, 2, 2, 2, 0.5], [1, 0.3, 2, 2, 2], [1, 2, 2, 0.7, 2], [1, 2, 0.4, 2, 2]],
            [4, 1, 0, 2],
        ),
    ],
)  # fmt: skip
def test_few_that_are_fast_on_average_are_chosen(times: list[list[float]], chosen: list[int]) -> None:
    assert choose(times, [(10**n,) for n in range(len(times))]) == dict(enumerate(chosen))


def test_a_size_takes_what_is_fast_at_sizes_near_to_it() -> None:
    first, second = [1, 0.5, 9, 1.1, 9, 9, 9], [1, 1.1, 9, 0.6, 9, 9, 9]
    noisy = [1, 0.95, 9, 0.9, 9, 9, 9]
    times, extents = [first, first, noisy, second, second, second], [(100,), (110,), (120,), (300,), (320,), (340,)]
    assert choose(times, extents) == {0: 1, 1: 1, 2: 1, 3: 3, 4: 3, 5: 3}
    extents[2] = (310,)
    assert choose(times, extents) == {0: 1, 1: 1, 2: 3, 3: 3, 4: 3, 5: 3}
    assert {*choose(times, [(100,)] * 6).values()} <= {1, 3}, "all of one size, which differ in strides"
    times[0] = [inf] * 7
    assert choose(times, extents).keys() == {1, 2, 3, 4, 5}, "its default did not work"
    assert choose([[inf] * 3, [2, 1, 1]], [(3,), (4,)]) == {}


def test_what_counts_as_faster_is_what_the_rule_says(device: Device) -> None:
    usual, other = (Schedule.plain((n,), 1) for n in (3, 4))
    rounds: dict[Schedule | None, list[float]] = {usual: [2.0] * 30, other: [1.0] * 30}
    assert family._counted(rounds, other, usual) == 1.0
    assert family._counted({**rounds, other: [1.0, 3.0] * 14 + [1.0] * 2}, other, usual) == 2.0, "not mostly faster"
    assert family._counted({**rounds, other: [3.0]}, other, usual) == 3.0
    assert family._counted({other: [1.0]}, other, usual) == 1.0
    assert family._counted(rounds, None, usual) == inf


class Always:
    """A distribution of one number, as SciPy's."""

    def rvs(self, size: int, random_state: Any) -> np.ndarray:
        return np.full(size, 6.7)


@pytest.mark.parametrize(
    ("of", "least", "most"),
    [
        (range(10, 20), 10, 19),
        ([3, 5, 8], 3, 8),
        ((100, 10_000), 100, 10_000),
        ((7, 7), 7, 7),
        ((np.int64(7), np.int64(7)), 7, 7),
        (np.array([3, 5, 8]), 3, 8),
        (Always(), 7, 7),
        (uniform(30, 10), 30, 40),
    ],
)
def test_sizes_are_drawn_from_distributions(of: Any, least: int, most: int) -> None:
    values = sorted(n for (n,) in drawn({"n": of}, 400, 0))
    assert all(type(n) is int for n in values)
    assert len({*values}) == len(values) >= len(range(least, most + 1)) / 30
    assert (values[0], values[-1]) == (least, most) or isinstance(of, tuple)
    assert least <= values[0] <= values[-1] <= most
    if most == 10_000:
        assert values[len(values) // 2] == pytest.approx((least * most) ** 0.5, rel=0.1), "logarithms are uniform"
    assert drawn({"n": of}, 9, 3) == drawn({"n": of}, 9, 3)


def test_what_is_drawn_is_spread_evenly() -> None:
    rows = drawn({"m": (100, 1000), "n": range(80)}, 8, 5)
    assert {n // 10 for _, n in rows} == {*range(8)}
    assert sorted(m for m, _ in rows) != [m for m, _ in rows]


def test_of_observed_sizes_those_that_come_often_are_drawn_sooner() -> None:
    sample = [(100, 7)] * 900 + [(5, 6)] * 90 + [(n, n) for n in range(10)]
    assert {*drawn(sample, 2, 1)} == {(100, 7), (5, 6)}
    assert drawn(np.array(sample), 2, 1) == drawn(sample, 2, 1)
    assert {*drawn([8, 9, 9], 8, 0)} == {(8,), (9,)}


@pytest.mark.parametrize(
    ("sizes", "draws", "error", "why"),
    [
        ({}, 3, TypeError, "sizes: takes distributions by name"),
        ([], 3, TypeError, "sizes: takes distributions by name, or a list of tuples"),
        ([(1, 2), (3,)], 3, TypeError, "sizes: takes"),
        ([(1.5, 2.0)], 3, TypeError, "sizes: takes"),
        ({"n": (0, 5)}, 3, ValueError, r"sizes: n: \(0, 5\): the least is to be 1 or more and at most the most"),
        ({"n": (20, 10)}, 3, ValueError, r"sizes: n: \(20, 10\): the least"),
        ({"n": (20, 10, 5)}, 3, TypeError, r"sizes: n: takes a range, .* not \(20, 10, 5\)"),
        ({"q": range(5)}, 3, TypeError, "sizes: q: is no argument of calls, which takes n"),
        ({"n": range(0)}, 3, TypeError, "sizes: n: takes"),
        ({"n": 5}, 3, TypeError, "sizes: n: takes"),
        ([4], 0, ValueError, "draws: takes 1 or more, not 0"),
        ([4], 1.5, TypeError, "draws: takes a whole number, not 1.5"),
    ],
)
def test_what_are_no_sizes_is_refused(sizes: Any, draws: Any, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=f"^tune: {why}"):
        mdhnp.tune(calls=lambda n: print, sizes=sizes, draws=draws)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"function": print}, "sizes: are those of calls=, a function"),
        ({"function": print, "calls": print}, "takes a function with its arguments, or calls"),
        ({"calls": [print]}, "calls: takes a function that makes calls of sizes, not"),
        ({"calls": lambda n: 3 * n}, "calls: takes functions without arguments, .* not 15"),
    ],
)
def test_sizes_are_those_of_a_function_that_makes_calls(arguments: Any, why: str) -> None:
    with pytest.raises(TypeError, match=f"^tune: {why}"):
        mdhnp.tune(**arguments, sizes=[5])


def test_sizes_whose_default_was_not_measured_are_left_as_they_are(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [Tuned(product(n, n, n), default(product(n, n, n), device.caps), 1.0, 1, {}) for n in (64, 70, 80)]
    for lost in ({64}, {64, 70, 80}, {64, 70}):
        monkeypatch.setattr(
            family,
            "_times",
            lambda own, schedules, *_, lost=lost: {
                s: [1.0] for s in schedules if s is not None and (own.mdhom.extents[0] not in lost or s != schedules[0])
            },
        )
        shared = family.share(found, device, 1.0, 0)
        assert [t.family_seconds is None for t in shared] == [
            len(lost) > 1 or t.mdhom.extents[0] in lost for t in found
        ]
        assert [t.mdhom for t in shared] == [t.mdhom for t in found]


def test_a_size_takes_what_was_found_for_another_one_and_is_faster_there(
    device: Device, known: TuningCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [stage_of(*operands(*at)) for at in [(60, 70, 80), (80, 70, 60), (70, 70, 70)]]
    others = (s for s in candidates(sizes[0], device.caps) if s != default(sizes[0], device.caps))
    first = next(others)
    there = moved(sizes[1], first, sizes[0].extents, device.caps)
    second = next(s for s in others if moved(sizes[1], s, sizes[0].extents, device.caps) != there)
    own = [moved(h, s, h.extents, device.caps) for h, s in zip(sizes, [first, second, second], strict=True)]
    found = [Tuned(h, s, 1e-3, 2e-3, ()) for h, s in zip(sizes, own, strict=True)]
    for t in found:
        known.put(key_of(t.mdhom, device), BestSchedule(t.schedule, t.seconds, 1, "2026-01-01T00:00:00Z", ""))
    faster = [moved(h, first, sizes[0].extents, device.caps) for h in sizes]

    def rounds(own: Tuned, schedules: list[Schedule | None], *_: Any) -> dict[Schedule | None, list[float]]:
        """The first one is twice as fast as all others, but at the last size, where it was timed once."""
        last = own.mdhom is sizes[2]
        each = {s: [2.0] * 30 for s in (*schedules, own.schedule) if s is not None}
        return each | {faster[sizes.index(own.mdhom)]: [1.9] if last else [1.0] * 30}

    monkeypatch.setattr(family, "_times", rounds)
    shared = family.share(found, device, 1.0, 0)
    assert [t.schedule for t in shared] == [faster[0], faster[1], found[2].schedule]
    assert [t.seconds for t in shared] == [1e-3, 5e-4, 1e-3]
    for t in shared:
        assert known.get(key_of(t.mdhom, device)).schedule == t.schedule


@pytest.mark.parametrize(
    ("calls", "error"), [((c for c in ()), ValueError), (3, TypeError), ([3], TypeError), (partial(print), TypeError)]
)
def test_what_are_no_calls_is_refused(calls: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^tune: calls: "):
        mdhnp.tune(calls=calls)


SIZES = [(61, 67, 71), (200, 60, 300), (7, 5, 9), (1000, 2, 64)]


@pytest.mark.parametrize("at", SIZES)
@pytest.mark.parametrize("caps", [CAPS, MATRICES], ids=["cpu", "gpu"])
def test_what_makes_a_schedule_moves_with_it(caps: Any, at: tuple[int, int, int]) -> None:
    h, near = product(300, 310, 320), product(*at)
    for s in [each for each, _ in zip(candidates(h, caps), range(20), strict=False) if not each.second]:
        found = moved(near, s, h.extents, caps)
        if found is None:
            continue
        assert is_legal(near, found, caps)
        assert moved(h, s, h.extents, caps) is not None
        assert (found.vector_dim, found.vector_width) == (s.vector_dim, s.vector_width)
        assert [c is None for c in found.local_copies] == [c is None for c in s.local_copies]
        large = all(n >= p for n, p in zip(at, s.private_tile, strict=True))
        assert found.private_tile == s.private_tile or not large
        if caps.kind == "gpu" and large:
            walked = [np.ceil(tile_counts(h.extents, s.local_tile)[d] / s.num_wg[d]) for d in (0, 1)]
            walks = [np.ceil(tile_counts(at, found.local_tile)[d] / found.num_wg[d]) for d in (0, 1)]
            assert all(m <= n for m, n in zip(walks, walked, strict=True)), "tiles that a work-group walks over"


def share(device: Device, at: tuple[int, int, int], near: Any = "another") -> Schedule:
    """Keep an entry of a size with what others near to it are to take, which is not their default schedule."""
    h, unseen = stage_of(*operands(*at)), product(50, 60, 70)
    own, usual = (default(each, device.caps) for each in (h, unseen))
    other = next(s for s in candidates(h, device.caps) if moved(unseen, s, at, device.caps) not in (usual, None))
    entry = BestSchedule(own, 1e-5, 3, "2026-01-01T00:00:00Z", str(h), near=other if near == "another" else near)
    cache().put(key_of(h, device), entry)
    return other


def origins(at: tuple[int, int, int]) -> tuple[tuple[str, ...], np.ndarray]:
    forget()
    a, b = operands(*at)
    explanation = mdhnp.explain(mdhnp.matmul, a, b)
    np.testing.assert_allclose(mdhnp.matmul(a, b), a @ b, rtol=1e-4)
    (plan,) = explanation.launches
    assert ("tuned for sizes near to this" in explanation.summary) == ("family" in plan.origins)
    return plan.origins, plan.schedules


def test_sizes_near_to_those_that_were_tuned_together_use_what_was_found(device: Device) -> None:
    assert origins((50, 60, 70))[0] == ("default",)  # which is kept, as a program on disk
    other = share(device, (64, 64, 64))
    (origin,), (used,) = origins((50, 60, 70))
    assert origin == "family"
    assert used == moved(stage_of(*operands(50, 60, 70)), other, (64, 64, 64), device.caps)
    assert origins((64, 64, 64))[0] == ("tuned",), "a size of its own has its own"
    assert origins((20, 15, 70))[0] == ("default",), "too small"
    assert origins((50, 60, 400))[0] == ("default",), "too large"
    share(device, (40, 60, 70), near="default")
    assert origins((45, 60, 70))[0] == ("default",), "the nearest size decides"
    assert origins((60, 61, 62))[0] == ("family",)
    share(device, (61, 61, 62), near=None)
    assert origins((60, 61, 62))[0] == ("family",), "of sizes that were tuned together"


def test_a_size_that_is_tuned_begins_with_what_its_family_uses(device: Device) -> None:
    share(device, (64, 64, 64))
    a, b = operands(50, 60, 70)
    (found,) = mdhnp.tune(mdhnp.matmul, a, b, budget=30.0, evaluations=2, progress=False)
    h = found.mdhom
    assert [m.schedule for m in found.measurements] == [default(h, device.caps), family_schedule(h, device)]
    entry = cache().get(key_of(h, device))
    assert entry is not None
    assert entry.near is None


def test_calls_are_tuned_together(device: Device, known: TuningCache) -> None:
    sizes = [(40, 50, 60), (50, 40, 70), (80, 60, 50)]
    calls = [partial(mdhnp.matmul, *operands(*at)) for at in sizes]
    calls.append(partial(mdhnp.einsum, "ij->i", np.ones((30, 40), np.float32)))
    *products, total = mdhnp.tune(calls=calls, budget=2.0, evaluations=2, progress=False)
    assert [t.mdhom.extents for t in products] == sizes
    assert total.family_seconds is None
    assert "by the family's" not in str(total)
    for t in products:
        entry = known.get(key_of(t.mdhom, device))
        assert entry is not None
        assert entry.near is not None
        assert (entry.schedule, tuned_for(t.mdhom, device)) == (t.schedule, t.schedule)
        assert t.family_seconds is not None
        assert t.family_seconds > 0
        assert str(t).endswith("by the family's")
    before = entry.near
    mdhnp.tune(calls[2], budget=5.0, evaluations=1, progress=False)
    entry = known.get(key_of(products[2].mdhom, device))
    assert entry is not None
    assert entry.near == before, "a size that is tuned again does not leave its family"
    assert origins((45, 45, 65))[0][0] in ("family", "default")


def test_calls_of_drawn_sizes_are_tuned_together(device: Device, known: TuningCache) -> None:
    def make(m: int, n: int = 30) -> Any:
        return partial(mdhnp.matmul, np.ones((m, 40), np.float32), np.ones((40, n), np.float32))

    once = {"budget": 2.0, "evaluations": 1, "progress": False}
    found = mdhnp.tune(calls=make, sizes={"n": (50, 60), "m": range(60, 90)}, draws=2, **once)
    assert all(50 <= t.mdhom.extents[1] <= 60 <= t.mdhom.extents[0] < 90 for t in found)
    near = [known.get(key_of(t.mdhom, device)).near for t in found]
    assert near == ["default"] * 2 or (device.kind == "gpu" and None not in near)  # of these one may serve both
    observed = mdhnp.tune(calls=make, sizes=[31, 31, 47], **once)
    assert sorted(t.mdhom.extents for t in observed) == [(31, 30, 40), (47, 30, 40)]


def test_one_call_in_a_list_is_a_call(device: Device, known: TuningCache) -> None:
    (found,) = mdhnp.tune(calls=[partial(mdhnp.matmul, *operands(40, 50, 60))], budget=5.0, evaluations=1)
    entry = known.get(key_of(found.mdhom, device))
    assert entry is not None
    assert (entry.near, found.family_seconds) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ({}, TypeError, "takes a function and its arguments, as .*, and none is given"),
        ({"function": 3}, TypeError, "not 3"),
        ({"function": mdhnp.matmul, "budget": "5"}, TypeError, "budget: takes a number of seconds, not '5'"),
        ({"function": mdhnp.matmul, "evaluations": 1.5}, TypeError, "evaluations: takes a whole number, not 1.5"),
        ({"function": mdhnp.matmul, "evaluations": 0}, ValueError, "evaluations: takes 1 or more, not 0"),
        (
            {"function": mdhnp.matmul, "budget": np.nan},
            ValueError,
            "budget: takes a positive number of seconds, not nan",
        ),
        ({"function": mdhnp.matmul, "budget": True}, TypeError, "budget: takes a number of seconds, not True"),
        ({"function": mdhnp.matmul, "budget": np.float32(0)}, ValueError, "budget: takes a positive number of seconds"),
        ({"function": mdhnp.matmul, "budget": -(10**400)}, ValueError, "budget: takes a positive number of seconds"),
        ({"function": mdhnp.matmul, "seed": "x"}, TypeError, "seed: takes a whole number, not 'x'"),
        ({"function": mdhnp.matmul, "seed": -1}, ValueError, "seed: takes 0 or more, not -1"),
        (
            {"function": mdhnp.matmul, "devices": "cpu"},
            TypeError,
            "devices: takes a list of devices, as .0, 1., not 'cpu'",
        ),
        ({"function": mdhnp.matmul, "devices": 0}, TypeError, "devices: takes a list of devices, as .0, 1., not 0"),
        ({"function": mdhnp.matmul, "objective": lambda t: t}, ValueError, "objective: .*; 't' is none of them"),
        ({"function": mdhnp.matmul, "objective": lambda: 1}, ValueError, "objective: takes time, energy, code_size"),
        ({"calls": []}, ValueError, "calls: is empty"),
        ({"calls": [np.ones(3)]}, TypeError, "functions without arguments, as partial"),
        ({"function": mdhnp.matmul, "calls": [mdhnp.matmul]}, TypeError, "not both"),
    ],
)
def test_what_is_no_list_of_calls_is_an_error(arguments: Any, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=f"tune: .*{why}"):
        mdhnp.tune(**arguments)


def test_entries_without_what_others_take_are_written_as_before() -> None:
    plain = BestSchedule(Schedule.plain((3,), 1), 1e-3, 1, "2026-01-01T00:00:00Z", "")
    assert "near" not in plain.fields()
    assert replace(plain, near="default").fields()["near"] == "default"
