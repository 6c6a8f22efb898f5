"""The measuring process: right results for all that a search proposes, an answer for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mdhnp.mdh import MdHom, canonical, cc, md_hom, ps, pw
from mdhnp.runtime.devices import Device
from mdhnp.runtime.executable import Executable
from mdhnp.schedule import Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning.measure.bench import Bench, TuningTask
from mdhnp.tuning.measure.check import drawn, is_close
from mdhnp.tuning.search.search import Search


def stages() -> dict[str, MdHom]:
    """Stages at sizes that divide nothing."""
    one, two = np.random.default_rng(0).random((2, 37, 41), np.float32)
    gemm = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[j,k] -> C[i,j]")
    column = md_hom(lambda x: x, {"i": pw("max"), "j": cc}, "x[i,j] -> y[j]")
    blur = md_hom(lambda x, y, z: x + y + z, {"i": cc, "j": cc}, "x[i,j], x[i+1,j], x[i,j+2] -> y[i,j]")
    rows = md_hom(lambda x: x, {"i": cc, "j": ps("add")}, "x[i,j] -> y[i,j]")
    columns = md_hom(lambda x: x, {"i": ps("max"), "j": cc}, "x[i,j] -> y[i,j]")
    bound = {
        "gemm": gemm.bind(one, two),
        "column": column.bind(one),
        "stencil": blur.bind(one),
        "scan": rows.bind(one),
        "columns": columns.bind(one),
    }
    return {name: canonical(h) for name, h in bound.items()}


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("name", stages())
def test_what_a_search_proposes_computes_the_right_thing(device: Device, name: str, kind: str):
    """Work-items and tiles for a GPU are legal on a CPU, too, and must give the same results there."""
    h = stages()[name]
    caps = replace(device.caps, kind=kind, max_work_group=min(device.caps.max_work_group, 256))
    bench = Bench(TuningTask(h, device.identity, default(h, device.caps)))
    search = Search(h, caps, default(h, caps))
    for _ in range(6):
        s = search.ask()
        assert s is not None
        found = bench.measure(s, None)
        assert found.status == "ok", found.message
        search.tell(s, found.seconds)


def test_a_second_schedule_that_does_not_fit_is_illegal(device: Device):
    h = stages()["gemm"]
    whole = default(h, device.caps)
    split = replace(
        whole, num_wg=(1, 1, 2), local_tile=(1, 1, -(-h.extents[2] // 2)), private_tile=(1, 1, 1), vector_dim=-1,
        vector_width=1, results="private", global_order=(0, 1, 2), local_copies=(None, None), combine_on="global",
    )  # fmt: skip
    bench = Bench(TuningTask(h, device.identity, whole))
    assert bench.measure(split, None).status == "ok"
    for rank in (1, 5):
        found = bench.measure(replace(split, second=Schedule.plain((2,) * rank, 1)), None)
        assert found.status == "illegal"
        assert "dimensions" in found.message


def test_times_do_not_depend_on_how_busy_the_machine_is(device: Device, monkeypatch):
    if not device.svm:
        pytest.skip("the device tells its kernels' times itself")
    h = stages()["gemm"]
    start, other = default(h, device.caps), Schedule.plain(h.extents, len(h.inputs))
    bench = Bench(TuningTask(h, device.identity, start))
    true = {id(bench._plan(start)): 1e-3, id(bench._plan(other)): 0.9e-3}
    slowdown = 1.0
    monkeypatch.setattr(bench, "_once", lambda plan: slowdown * true[id(plan)])
    assert bench.measure(start, None).seconds == pytest.approx(1e-3)
    for slowdown in (3.0, 0.5, 7.0):  # noqa: B007 - the clock above reads it
        found = bench.measure(other, 1e-3)
        assert found.status == "ok"
        assert found.seconds == pytest.approx(0.9e-3)
    true[id(bench._plan(other))] = 2e-3
    found = bench.measure(other, 1e-3)
    assert (found.status, found.seconds) == ("slow", pytest.approx(2e-3))


class Turned:
    """A plan that takes its two operands, which are alike, for each other."""

    def __init__(self, plan: Executable) -> None:
        self.plan, self.resident = plan, plan.resident

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self.plan(inputs[::-1], outputs)


@pytest.mark.parametrize("slowdown", [1.0, 10.0], ids=["idle", "busy"])
def test_what_is_wrong_is_said_also_where_it_is_slow(device: Device, monkeypatch, slowdown: float):
    """Whether the machine is as it was, or the fast one that it takes turns with is slow now, too."""
    run, now = Bench._once, 1.0

    def once(bench: Bench, plan: Executable) -> float:
        run(bench, plan)
        return 1e-2 if isinstance(plan, Turned) else now * 1e-3

    monkeypatch.setattr(Bench, "_once", once)
    h = stages()["gemm"]
    start, other = default(h, device.caps), Schedule.plain(h.extents, len(h.inputs))
    bench = Bench(TuningTask(h, device.identity, start))
    assert bench.measure(start, None).status == "ok"
    bench._built[other] = Turned(bench._plan(other))
    now = slowdown
    assert bench.measure(other, 1e-3).status == "wrong"
    bench._built[other] = bench._built[other].plan
    assert bench.measure(other, 1.0).status == "ok"


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_results_may_differ_as_another_order_of_summation_does(dtype: str) -> None:
    right = drawn(100_000, np.dtype(dtype), np.random.default_rng(0))
    right[7], right[8] = np.nan, np.inf
    assert is_close(right, right)
    for change, close in ((1e-12, True), (0.1, False)):
        other = right.copy()
        other[90_000] += np.asarray(change * (1j if dtype[0] == "c" else 1)).astype(dtype)
        assert is_close(other, right) == close
    other = right.copy()
    other[7] = 0
    assert not is_close(other, right)


@pytest.mark.parametrize("dtype", ["?", "i1", "u8"])
def test_integers_may_not_differ(dtype: str) -> None:
    right = drawn(1000, np.dtype(dtype), np.random.default_rng(0))
    assert len(np.unique(right)) == (2 if dtype == "?" else 100)
    other = right.copy()
    assert is_close(other, right)
    other[3] ^= True
    assert not is_close(other, right)


def test_sums_of_products_of_drawn_numbers_are_exact() -> None:
    """So that nobody who contracts them finds a result on the other side of a step."""
    x, y, z = (drawn(10_000, np.dtype("f4"), np.random.default_rng(seed)) for seed in range(3))
    wide = x.astype("f8") * y + z
    np.testing.assert_array_equal(x * y + z, wide)
