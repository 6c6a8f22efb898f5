"""Parameters of users' own: spaces, techniques, conditions that end a search, and kernels as cost functions."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mdhnp
from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.tuning import (
    Abort,
    DifferentialEvolution,
    Exhaustive,
    InvalidConfiguration,
    ModelGuided,
    RandomSearch,
    SimulatedAnnealing,
    Space,
    duration,
    evaluations,
    kernel,
    parameter,
    space,
    speedup,
    stalled,
    tune,
)
from mdhnp.tuning.search import own
from mdhnp.tuning.search.abort import SearchProgress

TECHNIQUES: list[Any] = [Exhaustive, RandomSearch, SimulatedAnnealing, DifferentialEvolution, ModelGuided]


def small() -> Space:
    return space(
        parameter("group", lambda tile: range(1, tile + 1), lambda group, tile: tile % group == 0),
        parameter("tile", range(1, 65), lambda tile: 96 % tile == 0),
        parameter("unroll", [False, True], lambda unroll, group: group > 2 or not unroll),
        parameter("kind", ["a", "b"]),
    )


def cost(c: dict[str, Any]) -> float:
    return 1 + abs(math.log2(c["tile"] / 12)) + abs(c["group"] - 4) + (c["kind"] == "a") + (not c["unroll"])


# Spaces.


@given(st.integers(0, 2**32))
def test_a_space_is_the_product_without_what_is_not_allowed(seed: int) -> None:
    """Each parameter reads some of the others, listed before or behind it."""
    draw = Random(seed)
    names = ["p", "q", "r", "s"]
    values = {name: draw.sample(range(9), draw.randint(1, 5)) for name in names}
    reads = {name: draw.sample(names[:n], draw.randint(0, min(n, 2))) for n, name in enumerate(names)}

    def allows(name: str, of: dict[str, int]) -> bool:
        return bool((of[name] + 3 * sum(of[r] for r in reads[name]) + seed) % 3)

    def constraint(name: str) -> Any:
        return eval(f"lambda {', '.join([name, *reads[name]])}: allows('{name}', locals())", {"allows": allows})

    listed = [parameter(name, values[name], constraint(name)) for name in draw.sample(names, 4)]
    combinations = [dict(zip(names, each, strict=True)) for each in product(*values.values())]
    right = [c for c in combinations if all(allows(name, c) for name in names)]
    found = space(*listed)
    if not right:
        with pytest.raises(ValueError, match="allow no combination"):
            _ = found.size
        return
    assert sorted(map(repr, right)) == sorted(repr({n: c[n] for n in names}) for c in found)
    assert len(found) == len(right)
    for c in found:
        assert list(c) == [p.name for p in listed]
        assert found.at(found.coordinates(c) or []) == c
    assert all((c in found) == (c in right) for c in combinations)
    assert found.at([draw.choice([0.0, 1.0, draw.random()]) for _ in names]) in found


def test_what_is_not_allowed_is_never_made() -> None:
    """2^60 combinations and more: constraints see a value once for all that is the same before them."""
    seen: list[int] = []

    def smaller(n: int) -> Any:
        return eval(f"lambda p{n}, p{n - 1}: seen.append(n) or p{n} <= p{n - 1}", {"seen": seen, "n": n})

    pairs = [
        p
        for n in range(0, 40, 2)
        for p in (parameter(f"p{n}", range(32)), parameter(f"p{n + 1}", range(32), smaller(n + 1)))
    ]
    every = space(*pairs)
    assert every.size == (32 * 33 // 2) ** 20
    assert len(seen) == 20 * 32 * 32
    assert every[every.size - 1] in every and every[-1] == every[every.size - 1]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: parameter("a b", [1]), "name: 'a b' is no Python name"),
        (lambda: parameter("if", [1]), "name: 'if' is no Python name"),
        (lambda: parameter("a", []), "there are none for 'a'"),
        (lambda: parameter("a", [[1]]), "not all have a hash"),
        (lambda: parameter("a", lambda a: [a]), "a function of 'a' itself"),
        (lambda: parameter("a", [1], lambda *a: True), "takes parameters by their names"),
        (lambda: space(parameter("a", [1]), parameter("a", [2])), "each of its own name"),
        (space, "one parameter or more"),
        (lambda: space(3), "takes what mdhnp.tuning.parameter gives, not 3"),
        (lambda: space(parameter("a", [1], lambda a, b: a < b)), "'a' reads 'b', which is no parameter"),
        (
            lambda: space(parameter("a", [1], lambda a, b: a < b), parameter("b", [1], lambda a, b: a < b)),
            "a, b read each other",
        ),
        (lambda: small()[10**9], "of 164 combinations"),
        (lambda: duration(0), "seconds: 0 is not positive"),
        (lambda: evaluations(1.5), "evaluations: count must be int, not 1.5"),
        (lambda: stalled(1.5), "stalled: count must be int, not 1.5"),
        (lambda: tune(cost, 3), "space: takes what mdhnp.tuning.space gives"),
        (lambda: tune(cost, small(), abort=3), "abort: takes a condition"),
        (lambda: tune(cost, small(), 3), "tune: technique: takes one as mdhnp.tuning.RandomSearch, not 3"),
        (
            lambda: tune(cost, small(), lambda s, seed: None),
            "technique: is to make an object with ask and tell, not None",
        ),
        (lambda: tune(cost, small(), int), "technique: is to make an object with ask and tell of a space"),
        (lambda: tune(3, small()), "tune: cost: takes a function of configurations, not 3"),
        (lambda: Schedule.plain("abc", 2), "plain: takes extents, and how many inputs there are, not 'abc', 2"),
        (lambda: Schedule.plain((3,), 1).at(0, local_tile="a"), "at: local_tile must be a whole number, not 'a'"),
        (lambda: Schedule.plain((3,), 1).at(0, vector_dim=1), "at: 'vector_dim' is none of num_wg, num_wi"),
        (lambda: Schedule.plain((3,), 1).at("x", num_wg=1), "at: 'x' is none of 1 dimensions"),
        (lambda: mdhnp.SparseArray("x"), "as .tocsr() is, not a str"),
        (lambda: mdhnp.attention([[1.0]], [[1.0]], [[1.0]], causal="no"), "attention: causal must be True or False"),
        (lambda: tune(cost, small(), start={"tile": 5}), "start: {'tile': 5} is not in the space"),
        (lambda: tune(lambda c: "fast", small()), "which is no number"),
        (lambda: kernel("", "f", [3], 4), "number 0 is 3; takes arrays, and NumPy scalars"),
        (lambda: kernel("", "f", [], (1, 2, 3, 4)), "one to three whole numbers"),
        (lambda: kernel("", "f", [], 4, reference=[np.ones(3)]), "1 arrays for the 0 among the arguments"),
        (lambda: mdhnp.tune(mdhnp.dot, [1.0], [1.0], abort=3), "abort: takes a condition"),
    ],
)
def test_wrong_arguments(make: Any, says: str) -> None:
    with pytest.raises((TypeError, ValueError, IndexError)) as error:
        make()
    assert says in str(error.value)


# Techniques.


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_techniques_find_the_best_of_a_small_space(technique: Any) -> None:
    every = small()
    found = tune(cost, every, technique, evaluations(1000) | duration(20))
    assert found.best == {"group": 4, "tile": 12, "unroll": True, "kind": "b"}
    assert found.cost == 1 == min(e.cost for e in found.evaluations)
    assert all(e.configuration in every and e.cost == cost(e.configuration) for e in found.evaluations)
    assert len({repr(e.configuration) for e in found.evaluations}) == len(found.evaluations) <= every.size


@pytest.mark.parametrize("technique", [SimulatedAnnealing, DifferentialEvolution, ModelGuided])
def test_techniques_that_learn_are_better_than_chance(technique: Any) -> None:
    """Of a space of 2 million, by the same number of evaluations, in the mean of some seeds."""
    names = ["a", "b", "c"]
    every = space(*[parameter(name, range(1, 129)) for name in names])

    def bowl(c: dict[str, Any]) -> float:
        return 1 + sum([math.log2(c[name] / best) ** 2 for name, best in zip(names, (5, 40, 90), strict=True)])

    def mean(chosen: Any) -> float:
        return float(np.mean([tune(bowl, every, chosen, evaluations(120), seed=seed).cost for seed in range(5)]))

    assert mean(technique) < mean(RandomSearch)


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_the_same_seed_gives_the_same_search(technique: Any) -> None:
    first, again, other = (tune(cost, small(), technique, evaluations(25), seed=seed) for seed in (1, 1, 2))
    assert first.evaluations == again.evaluations
    assert (first.evaluations != other.evaluations) is (technique is not Exhaustive)


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_what_fails_is_passed_over(technique: Any) -> None:
    def fails(c: dict[str, Any]) -> float:
        if c["kind"] == "b":
            raise InvalidConfiguration("no b")
        return math.nan if c["tile"] == 12 else cost(c)

    found = tune(fails, small(), technique, evaluations(60))
    assert found.best["kind"] == "a" and found.best["tile"] != 12
    assert {e.message for e in found.evaluations if e.cost is None} <= {"no b", "its cost is nan"}
    with pytest.raises(RuntimeError, match="no configuration can be used: no b"):
        tune(fails, space(parameter("kind", ["b"])), technique, evaluations(5))


def test_the_first_objective_that_differs_decides() -> None:
    found = tune(lambda c: (c["kind"] == "a", -c["tile"], c["group"]), small(), Exhaustive)
    assert (found.best, found.cost) == ({"group": 1, "tile": 48, "unroll": False, "kind": "b"}, (0.0, -48.0, 1.0))


def test_the_start_is_evaluated_first_and_ctrl_c_keeps_what_was_found() -> None:
    start = {"group": 1, "tile": 1, "unroll": False, "kind": "a"}
    calls: list[dict[str, Any]] = []

    def interrupted(c: dict[str, Any]) -> float:
        calls.append(c)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return cost(c)

    found = tune(interrupted, small(), start=start)
    assert found.evaluations[0].configuration == calls[0] == start
    assert len(found.evaluations) == 3 and "best of 3 (0 failed)" in str(found)
    calls[:] = [start] * 3
    with pytest.raises(KeyboardInterrupt):  # nothing was found
        tune(interrupted, small())


# Conditions.


@pytest.mark.parametrize(
    ("abort", "text", "ends"),
    [
        (duration(3), "duration(3)", [3, 4]),
        (evaluations(2), "evaluations(2)", [2, 3, 4]),
        (speedup(2), "speedup(2)", [3, 4]),
        (stalled(1), "stalled(1)", [4]),
        (duration(4) | evaluations(3), "duration(4) | evaluations(3)", [3, 4]),
        (speedup(2) & stalled(1), "speedup(2) & stalled(1)", [4]),
        ((duration(9) | evaluations(1)) & stalled(1), "(duration(9) | evaluations(1)) & stalled(1)", [4]),
    ],
)
def test_conditions(abort: Abort, text: str, ends: list[int]) -> None:
    """One evaluation a second: nothing, 8, 6, 4, then another 4."""
    steps = (
        [SearchProgress()]
        + [SearchProgress(n, n, 0, 8.0, 10.0 - 2 * n) for n in (1, 2, 3)]
        + [SearchProgress(4, 4, 1, 8.0, 4.0)]
    )
    assert [n for n, p in enumerate(steps) if abort.reached(p)] == ends
    assert repr(abort) == text


def test_a_search_ends_when_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    every, now = small(), [0.0]
    monkeypatch.setattr(own.time, "perf_counter", lambda: now[0])

    def slow(c: dict[str, Any]) -> float:
        now[0] += 2.0
        return cost(c)

    run = partial(tune, slow, every, RandomSearch)
    assert len(run(abort=evaluations(7)).evaluations) == 7
    assert len(run(abort=duration(7)).evaluations) == 4
    assert len(run().evaluations) == 5  # ten seconds
    ended = run(abort=stalled(6))
    costs = [e.cost for e in ended.evaluations]
    assert costs.index(min(costs)) == len(costs) - 7
    fast = run(abort=speedup(1.5) | evaluations(70)).evaluations
    assert fast[0].cost >= 1.5 * fast[-1].cost and all(fast[0].cost < 1.5 * e.cost for e in fast[:-1])


def test_conditions_end_the_search_of_a_call(device: Device) -> None:
    a = np.ones((40, 50), np.float32)
    (found,) = mdhnp.tune(mdhnp.matmul, a, a.T, abort=evaluations(2), progress=False)
    assert len(found.measurements) == 2


# Kernels.

SUMS = """
__kernel void sums(__global const float *x, __global float *y, const int n) {
  const int i = get_global_id(0);
#if WRONG
  y[i] = 0;
#else
  float sum = 0;
  for (int k = 0; k < EACH; ++k) sum += x[i * EACH + k];
  for (int k = 0; k < EACH; ++k) y[i * EACH + k] = n * sum;
#endif
}
"""
X = np.arange(64, dtype=np.float32)


def test_a_kernel_is_tuned(device: Device) -> None:
    cost = kernel(SUMS, "sums", [X, np.zeros_like(X), np.int32(2)], lambda EACH: 64 // EACH, lambda items: (items,))
    each = parameter("EACH", [4])
    items = parameter("items", range(1, 65), lambda items, EACH: (64 // EACH) % items == 0)
    every = space(each, items, parameter("WRONG", [False]))
    found = tune(cost, every, Exhaustive)
    assert [e.configuration["items"] for e in found.evaluations] == [1, 2, 4, 8, 16]
    assert 0 < found.cost < 1
    assert cost.device is device
    x, y = cost.results(found.best)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, np.repeat(2 * X.reshape(16, 4).sum(axis=1), 4))


@pytest.mark.parametrize(
    ("configuration", "says"),
    [
        ({"EACH": 4, "WRONG": True}, "its results are wrong: array 1 has 0.0 at (0,), not 6.0"),
        ({"EACH": 4, "WRONG": "does not compile"}, "did not compile"),
        ({"EACH": 4, "WRONG": 0, "items": 3}, "local size (3,) does not divide global size (16,)"),
        ({"EACH": 100, "WRONG": 0}, "there are no work-items"),
    ],
)
def test_kernels_that_cannot_be_used(device: Device, configuration: dict[str, Any], says: str) -> None:
    right = np.repeat(X.reshape(16, 4).sum(axis=1), 4)
    items = (lambda items: items) if "items" in configuration else None
    cost = kernel(SUMS, "sums", [X, X, np.int32(1)], lambda EACH: 64 // EACH, items, reference=[X, right])
    with pytest.raises(InvalidConfiguration) as error:
        cost(configuration)
    assert says in str(error.value)
    assert cost({"EACH": 4, "WRONG": 0, "items": 4}) > 0  # goes on


def test_what_does_not_fit_a_kernel_is_said(device: Device) -> None:
    with pytest.raises(InvalidConfiguration, match="kernel sums takes 3 arguments, 2 are given"):
        kernel(SUMS, "sums", [X, X], 4)({"EACH": 4, "WRONG": 0})
    with pytest.raises(ValueError, match="global_size reads 'FOO', which is no parameter; there are EACH, WRONG"):
        kernel(SUMS, "sums", [X, X, np.int32(1)], lambda FOO: FOO)({"EACH": 4, "WRONG": 0})


def test_a_kernel_of_another_name(device: Device) -> None:
    with pytest.raises(InvalidConfiguration, match="other"):
        kernel(SUMS, "other", [X, X, np.int32(1)], 4)({"EACH": 4, "WRONG": 0})


# Objectives.


def sums(objective: Any) -> Any:
    return kernel(SUMS, "sums", [X, X, np.int32(1)], lambda EACH: 64 // EACH, objective=objective)


def test_a_kernel_costs_what_it_is_asked_for(device: Device) -> None:
    c = {"EACH": 4, "WRONG": 0}
    size = sums("code_size")(c)
    assert isinstance(size, int)
    assert size > 100
    seconds, same = sums(lambda time, code_size: (time, code_size))(c)
    assert (0 < seconds < 1, same) == (True, size)
    assert sums(lambda time: time > 1)(c) is False


@pytest.mark.parametrize("objective", ["speed", lambda speed: speed, 3, lambda *measured: measured])
def test_what_is_not_measured_is_no_objective(objective: Any, device: Device) -> None:
    with pytest.raises((ValueError, TypeError), match="kernel: objective: takes"):
        sums(objective)
