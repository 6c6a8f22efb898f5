"""The model of many devices: its parts and bytes are those of real calls, and its times what they say."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from separate import separate

import mdhnp
from benchmarks.scaling.cases import CASES, COMPUTATIONS, H200S, Case, cube, line, matrices, rows, tensors
from benchmarks.scaling.model import Estimate, Machine, Task, cheapest, estimate, part
from benchmarks.scaling.table import COUNTS, HEADER, lines
from mdhnp.distributed import exchange, executor
from mdhnp.runtime.devices import devices
from mdhnp.runtime.groups import group, sub_devices

#: Without start-up, and with links and networks that take no time.
IDEAL = Machine("ideal", 8, dict.fromkeys(COMPUTATIONS, 1e9), 0.0)
SMALL = (
    Case("B copied before", "matmul", matrices(64), (1,)),
    Case("matmul", "matmul", matrices(64)),
    Case("all pairs", "all-pairs", rows(48, 40)),
    Case("Jacobi", "Jacobi", cube(16)),
    Case("contraction", "contraction", tensors(8), axes=(0, 2)),
    Case("sum", "sum", line(1 << 12)),
)


def seconds(task: Task, machine: Machine, count: int, grid: bool = False) -> float:
    return cheapest(task, machine, count, grid).seconds


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.title)
def test_speed_ups_of_a_case(case: Case) -> None:
    task = case.task(H200S)
    one = cheapest(task, H200S, 1)
    assert one.nbytes == one.exchanging == 0
    assert one.seconds == pytest.approx(case.steps * (H200S.call + task.mdhom.points / task.rate))
    for count in COUNTS:
        in_line, in_grid = (cheapest(task, H200S, count, grid) for grid in (False, True))
        assert one.seconds / in_grid.seconds < count
        assert in_grid.seconds <= in_line.seconds
        assert prod(in_grid.hosts) * prod(in_grid.devices) <= count


@pytest.mark.parametrize(
    "case", [c for c in CASES if "48" not in c.title and "listed" not in c.title], ids=lambda c: c.title
)
def test_what_costs_nothing_but_work_is_as_many_times_as_fast(case: Case) -> None:
    task = case.task(IDEAL)
    for count in COUNTS:
        assert seconds(task, IDEAL, 1) / seconds(task, IDEAL, count) == pytest.approx(count)


def test_no_more_parts_than_points() -> None:
    task = Case("", "contraction", tensors(48)).task(IDEAL)
    assert seconds(task, IDEAL, 1) / seconds(task, IDEAL, 64) == pytest.approx(48)
    assert seconds(task, IDEAL, 1) / seconds(task, IDEAL, 64, grid=True) == pytest.approx(64)


@pytest.mark.parametrize("case", SMALL, ids=lambda c: c.title)
def test_two_devices_exchange_as_many_bytes_as_the_model_says(
    case: Case, cut_always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[Any] = []

    def choose(*args: Any) -> Any:
        chosen.append(plan_choose(*args))
        return chosen[-1]

    plan_choose = executor.choose
    monkeypatch.setattr(executor, "choose", choose)
    monkeypatch.setattr(executor, "weights", lambda group: (1.0, 1.0))
    two = [d for d in devices() if d.runtime != "oclgrind"][:2]
    both = group([separate(d) for d in (two if len(two) == 2 else sub_devices(two[0], 2))])
    arrays = []
    for n, (shape, axis) in enumerate(zip(case.shapes(1), case.axes, strict=False)):
        kind = "copy" if n in case.copied else "block"
        arrays.append(mdhnp.distribute(np.ones(shape, np.float32), kind, axis, devices=both, weights=(1, 1)))
    with exchange.watched() as seen:
        COMPUTATIONS[case.computation](*arrays)
    (dim,) = chosen[-1].partition.dims
    task = case.task(IDEAL)
    rank = task.mdhom.rank
    halves = tuple([2 if d == dim else 1 for d in range(rank)])
    assert sum([e.nbytes for e in seen]) == estimate(task, IDEAL, (1,) * rank, halves).nbytes
    assert [t.mdhom.extents for t in chosen[-1].partition.stages[0]] == [part(task.mdhom, halves).extents] * 2


def test_bytes_of_grids_are_those_of_the_textbook() -> None:
    """Of a product on p × q devices each gets a p-th of A and a q-th of B; in 8 cubes of points all six faces."""
    n = 240
    product = Case("", "matmul", matrices(n)).task(IDEAL)

    def nbytes(task: Task, hosts: tuple[int, ...], devices: tuple[int, ...]) -> int:
        return estimate(task, IDEAL, hosts, devices).nbytes

    for p, q in ((1, 6), (6, 1), (2, 3), (4, 5)):
        assert nbytes(product, (1, 1, 1), (p, q, 1)) == p * q * 4 * n * n * (q - 1 + p - 1) // (p * q)
    assert nbytes(product, (1, 1, 1), (1, 1, 8)) == 7 * 4 * n * n
    jacobi = Case("", "Jacobi", cube(n)).task(IDEAL)
    assert nbytes(jacobi, (1, 1, 1), (5, 1, 1)) == 5 * 2 * 4 * n * n
    assert nbytes(jacobi, (1, 1, 1), (3, 3, 3)) == 27 * 4 * ((n // 3 + 2) ** 3 - (n // 3) ** 3)
    total = Case("", "sum", line(1 << 12)).task(IDEAL)
    assert nbytes(total, (4,), (8,)) == 31 * 4


def test_links_that_devices_share_limit_what_each_gets() -> None:
    task = Case("", "matmul", matrices(64)).task(IDEAL)
    moved = 8 * (64 * 64 * 4) * 7 // 8

    def exchanging(machine: Machine) -> float:
        found: Estimate = estimate(task, machine, (1, 1, 1), (8, 1, 1))
        return found.exchanging

    assert exchanging(IDEAL) == 0
    assert exchanging(replace(IDEAL, links=1e3)) == pytest.approx(moved / 1e3)
    assert exchanging(replace(IDEAL, link=1e3)) == pytest.approx(moved / 8 / 1e3)
    assert exchanging(replace(IDEAL, message=2.0)) == pytest.approx(2.0 * 7)


def test_tables_have_two_lines_a_case() -> None:
    found = lines(H200S, SMALL[:2])
    assert [len(line) for line in found] == [len(HEADER)] * 4
    assert [line[2] for line in found] == ["one", "grid"] * 2
