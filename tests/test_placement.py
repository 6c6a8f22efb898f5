"""Who computes: estimates from made-up costs, so that nothing depends on this machine; and what is measured is kept."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

import mdhnp
from mdhnp.calls import candidates
from mdhnp.calls.candidates import choose, kernel_times
from mdhnp.calls.numpy_tier import numpy_function, seconds_by_numpy
from mdhnp.cost import Link, Machine, NumpyRates, numpy_seconds, usual
from mdhnp.mdh import MdHom
from mdhnp.runtime import devices as listing
from mdhnp.runtime.devices import Device, default_device
from mdhnp.schedule import DeviceCaps
from mdhnp.tuning.measure import machine
from mdhnp.tuning.measure.machine import machine_of

CPU = DeviceCaps("cpu", "cpu", 16, 32, 16, 1 << 18, 4096, 1 << 15, 1 << 20, True, 1 << 36)
GPU = DeviceCaps("gpu", "gpu", 132, 16, 255, 48 << 10, 1024, 1 << 17, 50 << 20, True, 1 << 36)
NUMPY = NumpyRates(4e-7, 1e11, 5e10, 1e11, 5e10, 2.5e9, 2.5e9, 2.5e9, 2.5e9, 1e11, 1e11, 1e10)
ON_CPU = Machine("cpu", 4e-6, 1e11, 1e12, 5e11, numpy=NUMPY)
#: Behind a link of 10 GB/s.
ON_GPU = Machine("gpu", 2e-5, 4e12, 3e13, 1.5e13, Link(1e-5, 1e10), Link(1e-5, 1e10), numpy=NUMPY)
#: NumPy's rates of large calls.
LARGE = replace(NUMPY, threads32=8e11, threads64=4e11, memory=8e10, copying=3e9)


def described(text: str, *shapes: tuple[int, ...], dtype: str = "f4") -> MdHom:
    """Give the MDH of an einsum without memory for its arrays."""
    given, output = text.split("->")
    combine = {n: mdhnp.cc if n in output else mdhnp.pw("add") for n in sorted({*given} - {","})}
    views = ", ".join(f"{name}[{','.join(term)}]" for name, term in zip("AB", given.split(","), strict=False))
    arrays = []
    for shape in shapes:  # strides as of real ones
        strides = [np.dtype(dtype).itemsize * int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
        arrays.append(np.lib.stride_tricks.as_strided(np.ones(1, dtype), shape, strides))
    return mdhnp.md_hom(np.multiply, combine, f"{views} -> Z[{','.join(output)}]").bind(*arrays)


CALLS = {
    "dot of 2^24": (described("a,a->", (1 << 24,), (1 << 24,)), "cpu"),
    "gemv of 4096": (described("ab,b->a", (4096, 4096), (4096,)), "cpu"),
    "gemm of 4096": (described("ab,bc->ac", (4096, 4096), (4096, 4096)), "gpu"),
    "gemm of 16": (described("ab,bc->ac", (16, 16), (16, 16)), "numpy"),
    "outer product": (described("a,b->ab", (8192,), (8192,)), "cpu"),
    "many small products": (described("abc,acd->abd", (1000, 4, 4), (1000, 4, 4)), "numpy"),
}


def times(h: MdHom) -> dict[str, tuple[float, float]]:
    function = numpy_function(h)
    assert function is not None
    rates = LARGE if seconds_by_numpy(function) > 1e-4 else NUMPY
    return {
        "numpy": numpy_seconds(function.work, rates),
        "cpu": kernel_times(h, CPU, ON_CPU),
        "gpu": kernel_times(h, GPU, ON_GPU),
    }


@pytest.mark.parametrize("name", CALLS)
def test_floors_are_below_estimates(name: str) -> None:
    for seconds, floor in times(CALLS[name][0]).values():
        assert 0 < floor <= seconds < 1


@pytest.mark.parametrize("name", CALLS)
def test_behind_a_slow_link_only_much_work_is_worth_its_copies(name: str) -> None:
    h, best = CALLS[name]
    found = times(h)
    order = sorted(found, key=lambda who: found[who])
    if best == "gpu":
        assert order[0] == "gpu"
        assert found["gpu"][0] < found["cpu"][1]  # no schedule on the CPU comes near
    else:
        assert order[-1] == "gpu"
        assert min(found["cpu"][0], found["numpy"][0]) < found["gpu"][1]  # nor can any on the GPU
    if best == "numpy":
        assert order[0] == "numpy"


def test_copies_and_bandwidth_bound_from_below() -> None:
    h = CALLS["gemv of 4096"][0]
    _, floor = kernel_times(h, GPU, ON_GPU)
    moved = 4 * (4096 * 4096 + 2 * 4096)
    assert floor == pytest.approx(2e-5 + 1e-5 + moved * 1e-10 + moved / 4e12, rel=0.01)
    assert kernel_times(h, CPU, replace(ON_CPU, memory=1e9))[0] >= moved / 1e9


def test_double_precision_needs_a_device_that_has_it(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "machine_of", lambda device, **_: ON_CPU)
    h = described("ab,bc->ac", (8, 8), (8, 8), dtype="f8")
    monkeypatch.setattr(device, "caps", replace(device.caps, fp64=False))
    assert [c.device for c in choose(h, [device])] == [None]
    assert len(choose(described("ab,bc->ac", (8, 8), (8, 8)), [device])) == 2


def test_rough_times_grow_with_the_work() -> None:
    found = [seconds_by_numpy(f) for h, _ in CALLS.values() for f in [numpy_function(h)] if f is not None]
    assert found[2] > 0.05
    assert found[3] < 1e-5


def test_usual_rates_are_generous() -> None:
    for caps in (CPU, GPU):
        assert usual(caps.kind, caps.compute_units, caps.vector_bytes).memory > 1e11


def test_rates_are_measured_once_and_kept(device: Device, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(machine, "_known", {})
    first = machine_of(device, large=True)
    assert min(first.memory, first.float32, first.float64) > 0
    assert (first.sending.bandwidth < inf) == (device.kind == "gpu")
    assert min(first.numpy.memory, first.numpy.copying, first.numpy.threads32) > 0
    machine._known.clear()
    monkeypatch.setattr(machine, "_PROCESSES", 1)
    monkeypatch.setattr(machine, "_MEASURES", {})
    assert machine_of(device, large=True) == first
    for damaged in ([], {"sending": 1}, {"memory": "x"}, {"peak": 1.0}, {"numpy": {"memory": None}}):
        with pytest.raises((AttributeError, TypeError, ValueError)):
            first.measured(damaged)
    for rate in (0, 0.0, -1e9, float("nan"), 10**400):
        for damaged in ({"memory": rate}, {"sending": [1e-6, rate]}, {"numpy": {"call": rate}}):
            with pytest.raises((OverflowError, ValueError)):
                first.measured(damaged)
    for start in (-1e-6, float("nan")):
        with pytest.raises(ValueError, match="neither rate nor time"):
            first.measured({"sending": [start, 1e9]})


def test_what_gpus_are_asked_runs(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "kind", "gpu")
    monkeypatch.setattr(machine, "_COPIED", {"gpu": 1 << 22})
    found = machine._measure_device(device)
    assert min(found["memory"], found["float32"]) > 0
    assert usual("gpu", 1).measured(found).sending.bandwidth < inf


def test_candidates_are_all_gpus_and_one_cpu_unless_one_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for chosen in listing.devices():
        with mdhnp.device(chosen):
            assert listing.candidates() == (chosen,)
    monkeypatch.delenv("MDHNP_DEVICE", raising=False)
    monkeypatch.setattr(listing, "_undecided", listing._undecided.__wrapped__)
    found = listing.candidates()
    assert found[0] is default_device()
    assert sum(d.kind == "cpu" for d in found) <= 1
    assert {d for d in listing.devices() if d.kind == "gpu" and d.runtime != "oclgrind"} <= {*found}
    monkeypatch.setenv("MDHNP_DEVICE", "cpu")
    assert listing.candidates() == (default_device(),)
