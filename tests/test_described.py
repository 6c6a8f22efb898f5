"""The search of a call's schedules in a space that parameters describe, by any technique."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_tuning_search import CAPS, GPU, gemm, stages

import mdhnp
from mdhnp.mdh import MdHom
from mdhnp.runtime.devices import Device
from mdhnp.runtime.programs import build
from mdhnp.schedule import DeviceCaps, Schedule
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.default import default
from mdhnp.tuning import (
    DifferentialEvolution,
    Exhaustive,
    InvalidConfiguration,
    LocalCopy,
    ModelGuided,
    RandomSearch,
    SimulatedAnnealing,
    Space,
    duration,
    evaluations,
    parameter,
    space,
)
from mdhnp.tuning.cache import cache
from mdhnp.tuning.lookup import key_of
from mdhnp.tuning.search.described import SpaceSearch


@pytest.fixture(autouse=True)
def a_cache_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As tests beside this one tune the same computations."""
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))


TECHNIQUES: list[Any] = [Exhaustive, RandomSearch, SimulatedAnnealing, DifferentialEvolution, ModelGuided]


def searched(
    h: MdHom, caps: DeviceCaps, every: Space | None, technique: Any = None, count: int = 150
) -> list[Schedule]:
    """Ask and tell with times that only the schedule decides; the largest private tiles are the best."""
    search, found = SpaceSearch(h, caps, default(h, caps), 0, every, technique), list[Schedule]()
    while len(found) < count and (s := search.ask()) is not None:
        found.append(s)
        search.tell(s, 1e-3 / np.prod(s.private_tile))
    return found


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_what_is_searched_is_what_parameters_describe(technique: Any) -> None:
    h = gemm(70, 90, 110)
    start = default(h, CAPS)
    rows = parameter("private_tile_0", [2, 3, 5])
    tile = parameter(
        "local_tile_0", range(1, 71), lambda local_tile_0, private_tile_0: local_tile_0 % private_tile_0 == 0
    )
    wide = parameter("local_copies_1", [False, True])
    first, *found = searched(h, CAPS, space(rows, tile, wide), technique, 150 if technique is Exhaustive else 50)
    assert first == start
    assert len(set(found)) == len(found) > 20
    for s in found:
        assert s.private_tile[0] in (2, 3, 5) and s.local_tile[0] % s.private_tile[0] == 0
        assert s.private_tile[1:] == start.private_tile[1:] and s.num_wi == start.num_wi
        assert is_legal(h, s, CAPS)
    assert {s.local_copies[1] is None for s in found} == {True, False}
    if technique is Exhaustive:
        assert len(found) == 2 * (35 + 23 + 14)


@pytest.mark.parametrize("caps", [CAPS, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("name", stages())
def test_a_technique_alone_searches_what_is_usual(name: str, caps: DeviceCaps) -> None:
    h = stages()[name]
    first, *found = searched(h, caps, None, RandomSearch, 30)
    assert first == default(h, caps)
    assert len(set(found)) == len(found) >= 10
    assert all(is_legal(h, s, caps) for s in found)


#: Values for each field of a schedule of 70×90×110, or for one of its numbers.
VALUES: dict[str, Any] = {
    "num_wg": (2, 1, 1), "num_wi_0": 2, "local_tile": (16, 64, 55), "private_tile_0": 7, "vector_dim": 1,
    "vector_width": 4, "local_copies_0": LocalCopy((1, 0)), "local_copies": (None, None), "private_copies_0": False,
    "results": "global", "global_order": (2, 1, 0), "local_order": (1, 0, 2), "private_order": (1, 0, 2),
    "group_order": (0, 2, 1), "item_order": (1, 0, 2), "combine_on": "local", "second": Schedule.plain((6300, 2), 1),
    "streamed": -1, "stages": 1, "combine_every": 1, "atom": "", "atom_dims": (), "steps": (),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_each_field_can_be_named(name: str) -> None:
    field, _, number = name.rpartition("_") if name[-1].isdigit() else (name, "", "")
    halves = [parameter("num_wg_2", [2]), parameter("local_tile_2", [55])] if name == "second" else []
    found = searched(gemm(70, 90, 110), CAPS, space(parameter(name, [VALUES[name]]), *halves))[-1]
    got = getattr(found, field)
    assert (got[int(number)] if number else got) == VALUES[name]


def test_all_fields_have_values_above() -> None:
    assert {f.name for f in fields(Schedule)} == {re.sub(r"_\d$", "", name) for name in VALUES}


def test_orders_are_searched() -> None:
    """Beside other parameters: those that are legal, in which dimensions that are kept enclose others."""
    orders = parameter("private_order", permutations(range(3)))
    found = searched(gemm(70, 90, 110), CAPS, space(orders, parameter("private_tile_0", [2, 3])), Exhaustive)
    assert len({(s.private_order, s.private_tile[0]) for s in found[1:]}) == len(found) - 1 >= 4


def test_what_is_not_of_schedules_is_an_error() -> None:
    h = gemm(70, 90, 110)
    for name in ("local_tile_3", "tiles", "tile_0", "local_copies_2", "second_0"):
        with pytest.raises(ValueError, match=f"tune: space: '{name}' is none of .*local_tile_0, local_tile_1"):
            searched(h, CAPS, space(parameter(name, [1])))
    with pytest.raises(mdhnp.IllegalSchedule, match="local_tile: 71 in dimension 0 of extent 70"):
        searched(h, CAPS, space(parameter("local_tile_0", [71, 71.0])))
    halves = (parameter("num_wg_2", [2]), parameter("local_tile_2", [55]))
    other = parameter("second", [Schedule.plain((7,) * 5, 3)])
    with pytest.raises(mdhnp.IllegalSchedule, match=r"second: num_wg: 5 values for 2 dimensions .* of 6300×2\)$"):
        searched(h, CAPS, space(*halves, other))
    assert searched(h, CAPS, space(*halves, parameter("second", [VALUES["second"]])))[-1].second == VALUES["second"]
    with pytest.raises(mdhnp.IllegalSchedule, match="second: no work-groups share a reduction"):
        searched(h, CAPS, space(parameter("second", [VALUES["second"]])))
    with pytest.raises(mdhnp.IllegalSchedule, match="vector_width: 3 is none of 1, 2, 4, 8, 16"):
        searched(h, CAPS, space(parameter("vector_width", [3])))
    assert len(searched(h, CAPS, space(parameter("stages", [1, 2])))) == 1, "the default one"


def test_a_call_is_tuned_so(device: Device) -> None:
    a, b = np.ones((60, 70), np.float32), np.ones((70, 50), np.float32)
    every = space(parameter("local_tile_2", np.array([7, 35])), parameter("num_wg_0", [1]))
    with mdhnp.config(host="never"):
        (found,) = mdhnp.tune(
            mdhnp.matmul, a, b, space=every, technique=Exhaustive, abort=duration(60), budget=60.0, progress=False
        )
        used = mdhnp.explain(mdhnp.matmul, a, b).schedules
    start, *others = found.measurements
    assert {m.schedule.local_tile[2] for m in others} <= {7, 35}
    assert {m.status for m in others} <= {"ok", "slow"} and len(others) == 2
    assert all(m.schedule == replace(m.schedule, num_wi=start.schedule.num_wi) for m in others)
    assert used == (found.schedule,)


def test_of_several_kernels_those_are_searched_that_have_the_fields(device: Device) -> None:
    a, b = np.ones((60, 70), np.float32), np.ones((70, 50), np.float32)
    left = pytest.warns(RuntimeWarning, match=r"tune: space: .* md_hom\(.*: it is left as it is$")
    both = mdhnp.fuse(lambda x, w: (np.cumsum(x @ w, axis=0), np.cumsum(x, axis=1)))
    every = space(parameter("num_wg_2", [1]))
    with left:
        found = mdhnp.tune(both, a, b, space=every, budget=1.0, evaluations=2, abort=evaluations(1), progress=False)
    assert found and all([one.mdhom.rank > 2 and len(one.measurements) == 1 for one in found])
    calls = [partial(mdhnp.sum, a), partial(mdhnp.matmul, a, b)]
    how: dict[str, Any] = {"budget": 5.0, "evaluations": 2, "progress": False}
    tiles = [space(parameter("local_tile", [(30, 50, 70)])), space(parameter("local_tile_0", [50]))]
    for one in (every, *(tiles if device.kind == "cpu" else [])):  # a GPU's tiles are its work-items' steps
        with left:
            assert len(mdhnp.tune(calls=calls, space=one, **how)) == 1
    with pytest.raises(ValueError, match="'num_wg_3' is none of"):
        mdhnp.tune(both, a, b, space=space(parameter("num_wg_3", [1])), budget=1.0, progress=False)


def test_the_objective_decides(device: Device) -> None:
    """By its own measure; what calls run is what was found, and what the cache keeps are times."""
    a, b = np.ones((61, 72), np.float32), np.ones((72, 54), np.float32)
    every = space(parameter("private_tile_0", [1, 8]))
    how: dict[str, Any] = {"space": every, "technique": Exhaustive, "abort": duration(60), "budget": 60.0}

    def size(s: Schedule) -> int:
        source = mdhnp.explain(mdhnp.matmul, a, b, schedule=s).source
        return len(build(device, source, keep=False).binaries[0])

    with mdhnp.config(host="never"):
        (small,) = mdhnp.tune(mdhnp.matmul, a, b, objective="code_size", progress=False, **how)
        assert sum([m.status == "ok" for m in small.measurements]) >= 2
        assert small.cost <= small.default_cost and "cost" in str(small)
        assert mdhnp.explain(mdhnp.matmul, a, b).schedules == (small.schedule,)
        worst = lambda time, code_size: (time > 10, -code_size)  # noqa: E731
        (large,) = mdhnp.tune(mdhnp.matmul, a, b, objective=worst, progress=False, **how)
        assert large.cost[0] == 0 and -large.cost[1] > small.cost
        shown = mdhnp.explain(mdhnp.matmul, a, b)
        assert shown.schedules == (large.schedule,) != (small.schedule,)
        assert "schedule  tuned for a function of time, code_size: " in shown.summary
        # Binaries of the same text differ by some bytes, and on PoCL by what has run.
        assert size(small.schedule) < size(large.schedule)
    entry = cache().get(key_of(small.mdhom, device))
    assert entry is not None and entry.objective == "a function of time, code_size"
    kept = cache().measurements(key_of(small.mdhom, device))
    assert kept and all([m.seconds is None or m.seconds < 10 for m in kept])
    with pytest.raises(ValueError, match=r"^tune: objective: takes time, energy, code_size, or a function of these"):
        mdhnp.tune(mdhnp.matmul, a, b, objective="speed")


def test_what_the_objective_passes_over_is_passed_over(device: Device) -> None:
    """The default schedule, which is measured first, as any other; where that is all, the error says why."""
    a, b = np.ones((60, 71), np.float32), np.ones((71, 50), np.float32)
    every, seen = space(parameter("private_tile_0", [1, 2, 4])), list[float]()

    def cost(time: float) -> float:
        seen.append(time)
        if len(seen) == 1:
            raise InvalidConfiguration("the default one")
        return float("nan") if len(seen) == 2 else time

    how: dict[str, Any] = {"space": every, "technique": Exhaustive, "evaluations": 4, "budget": 60.0}
    (found,) = mdhnp.tune(mdhnp.matmul, a, b, objective=cost, progress=False, **how)
    assert len(seen) > 2 and found.default_cost is None
    assert (found.cost, found.seconds) == (min(seen[2:]),) * 2
    with pytest.raises(RuntimeError, match=r"^tune: objective: passes over all .*: its cost is nan"):
        mdhnp.tune(mdhnp.matmul, a, b, objective=lambda time: time * float("nan"), progress=False, **how)
    with pytest.raises(TypeError, match=r"^tune: objective: gave 'x', which is no number"):
        mdhnp.tune(mdhnp.matmul, a, b, objective=lambda time: "x" * bool(time), progress=False, **how)


@pytest.mark.parametrize(("at", "count"), [(1, 0), (2, 1), (4, 1)])
def test_ctrl_c_in_an_objective_keeps_what_was_found(device: Device, at: int, count: int) -> None:
    """In the first cost of a call's kernel nothing was found for that; three are asked for."""
    asked = list[float]()

    def cost(time: float) -> float:
        asked.append(time)
        if len(asked) == at:
            raise KeyboardInterrupt
        return time

    calls = [partial(mdhnp.matmul, np.ones((60 + n, 71)), np.ones((71, 51 + at))) for n in (0, 1)]
    how: dict[str, Any] = {"objective": cost, "evaluations": 3, "budget": 60.0, "progress": False}
    with nullcontext() if count else pytest.raises(KeyboardInterrupt):
        (found,) = mdhnp.tune(calls=calls, **how)
        entry = cache().get(key_of(found.mdhom, device))
        assert entry is not None
        assert (entry.schedule, entry.objective, found.cost) == (
            found.schedule,
            "a function of time",
            min(asked[: at - 1][:3]),
        )
    assert len(asked) >= at
    assert len(mdhnp.tune(calls=calls, **how)) == 2, "nobody holds a claim any more"


@pytest.mark.parametrize("given", [{"space": 3}, {"space": {"local_tile_0": [1]}}, {"technique": "random"}])
def test_what_is_neither_space_nor_technique(given: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=rf"tune: {next(iter(given))}: takes"):
        mdhnp.tune(mdhnp.dot, [1.0], [1.0], abort=evaluations(2), **given)
