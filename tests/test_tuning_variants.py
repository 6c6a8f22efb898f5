"""Variants of schedules: what searches derive from sizes, changed one at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from chains import blurred
from random_functions import Seeded
from rows import random_rows
from test_tuning_search import CAPS, GPU, gemm, stages

from mdhnp.codegen.generate import generate
from mdhnp.mdh import Computation, MdHom
from mdhnp.mdh.stages import Argument, Stage
from mdhnp.runtime.devices import Device
from mdhnp.schedule import DeviceCaps, Schedule
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.default import default
from mdhnp.tuning.measure.bench import Bench, TuningTask
from mdhnp.tuning.search.search import Search
from mdhnp.tuning.search.space import sample, schedule
from mdhnp.tuning.search.variants import FIELDS, distinct, variants

EVERY: dict[str, Computation] = {
    **stages(),
    "chain": blurred(70, 90),
    "split": gemm(16, 16, 1 << 16),
    "rows": random_rows(Seeded(1), 64)[0],
}


def some(h: Computation, caps: DeviceCaps, count: int) -> list[Schedule]:
    """The default schedule of a computation, and some of an MDH that were drawn."""
    access, rng = AccessPattern(h.last), np.random.default_rng(0)
    drawn = sample(access, caps, 500, rng)
    each = (schedule(access, drawn, row, caps) for row in range(0, len(drawn), 1 + len(drawn) // 40))
    return [default(h, caps), *islice((s for s in each if is_legal(h, s, caps)), count * isinstance(h, MdHom))]


def text(h: Computation, s: Schedule, caps: DeviceCaps) -> str:
    sides = [
        tuple([Argument(role, n) for n in range(len(v))]) for role, v in (("input", h.inputs), ("output", h.outputs))
    ]
    return generate([Stage(h, sides[0], sides[1])], [s], caps, default).source


@pytest.mark.parametrize("caps", [CAPS, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("name", EVERY)
def test_variants_are_other_kernels_and_what_is_not_distinct_is_the_same(name: str, caps: DeviceCaps) -> None:
    h, rng, same, count = EVERY[name], np.random.default_rng(0), 0, 0
    for s in some(h, caps, 3):
        own = text(h, s, caps)
        for field in FIELDS:
            for found in islice(variants(h, s, caps, field, rng), 2):
                alike = text(h, found, caps) == own
                assert alike or distinct(h, found) != distinct(h, s), f"{field}: {found}"
                same, count = same + (alike and distinct(h, found) != distinct(h, s)), count + 1
        for _ in range(5):
            orders: dict[str, Any] = {f: tuple(rng.permutation(h.rank).tolist()) for f in FIELDS if f.endswith("order")}
            found = replace(s, **orders)
            if is_legal(h, found, caps) and distinct(h, found) == distinct(h, s):
                # Where a variable is declared may differ.
                assert sorted(text(h, found, caps).splitlines()) == sorted(own.splitlines())
    assert same <= max(1, 0.1 * count), "few differ in what the kernel does not depend on"


@pytest.mark.parametrize("name", EVERY)
def test_kernels_of_variants_are_right(name: str, device: Device) -> None:
    h, caps, rng, statuses = EVERY[name], device.caps, np.random.default_rng(1), dict[str, str]()
    bench = Bench(TuningTask(h, device.identity, default(h, caps)))
    for s in some(h, caps, 1):
        for field in FIELDS:
            for found in islice(variants(h, s, caps, field, rng), 1):
                statuses[field] = bench.measure(found, 1e-9).status
    assert {*statuses.values()} <= {"slow", "ok"}, statuses
    assert statuses or name == "long scan"


def test_variants_keep_a_fixed_order_of_combination(device: Device) -> None:
    h, rng, found = replace(gemm(60, 70, 600), precision="fixed"), np.random.default_rng(0), list[Schedule]()
    bench = Bench(TuningTask(h, device.identity, default(h, device.caps)))
    for s in some(h, device.caps, 2):
        if is_legal(h, s, device.caps):
            found += [v for field in FIELDS for v in islice(variants(h, s, device.caps, field, rng), 2)]
    assert found
    for s in found:
        assert all(map(np.array_equal, bench._results(bench._plan(s)), bench.right)), s


def columns_first(h: Computation, s: Schedule) -> bool:
    return distinct(h, s).local_order[:2] == (1, 0)


def rows_fastest(h: Computation, s: Schedule) -> bool:
    return distinct(h, s).item_order == (0, 1)


def added_up_in_the_output(h: Computation, s: Schedule) -> bool:
    return s.second is not None and s.second.results == "global"


@pytest.mark.parametrize(
    ("name", "caps", "wins"),
    [("gemm", CAPS, columns_first), ("stencil", GPU, rows_fastest), ("split", CAPS, added_up_in_the_output)],
)
def test_a_search_finds_what_is_faster_otherwise_and_other_sizes_inherit_it(
    name: str, caps: DeviceCaps, wins: Callable[[Computation, Schedule], bool]
) -> None:
    """By a clock of a device on which one thing matters that is derived from sizes."""
    h = EVERY[name]
    runs = []
    for count in (30, 120):
        search, asked = Search(h, caps, default(h, caps), 2), list[Schedule]()
        while len(asked) < count and (s := search.ask()) is not None:
            asked.append(s)
            search.tell(s, 1e-3 if wins(h, s) else 2e-3)
        runs.append(asked)
    assert runs[0] == runs[1][:30]
    assert len({distinct(h, s) for s in asked}) == len(asked), "no kernel twice"
    assert not wins(h, asked[0])
    assert search.best is not None and search.best[1] == 1e-3
    first = next(n for n, s in enumerate(asked) if wins(h, s))
    sizes = {s.local_tile for s in asked[first + 1 :] if wins(h, s)} - {asked[first].local_tile}
    assert len(sizes) > 3
