"""Who computes: estimates from made-up costs, so that nothing depends on this machine; and what is measured is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mdhnp
from mdhnp.calls.numpy_tier import numpy_function, roughly
from mdhnp.mdh import MdHom
from mdhnp.placement import choice, costs, large
from mdhnp.placement.choice import choose, kernel_times, numpy_times
from mdhnp.placement.costs import Costs
from mdhnp.placement.large import DeviceRates, HostRates, device_rates, host_rates, usual_rates
from mdhnp.runtime import devices as listing
from mdhnp.runtime.devices import Device, candidates, default_device
from mdhnp.schedule import DeviceCaps

CPU = DeviceCaps("cpu", "cpu", 16, 32, 16, 1 << 18, 4096, 1 << 15, 1 << 20, True, False, 1 << 36)
GPU = DeviceCaps("gpu", "gpu", 132, 16, 255, 48 << 10, 1024, 1 << 17, 50 << 20, True, True, 1 << 36)
PRODUCT = {"float32": (1e-11, 3e-11, 3e-10), "float64": (2e-11, 5e-11, 3e-10)}
ON_CPU = Costs(4e-6, 4e-7, 4e-10, PRODUCT)
ON_GPU = replace(ON_CPU, launch=2e-5)
HOST = HostRates({"float32": 1.2e-12, "float64": 2.4e-12}, 1.2e-11, 3e-10)
CPU_RATES = DeviceRates(1e11, {"float32": 1e12, "float64": 5e11})
#: Behind a link of 10 GB/s.
GPU_RATES = DeviceRates(4e12, {"float32": 3e13, "float64": 1.5e13}, (1e-5, 1e-10), (1e-5, 1e-10))


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
    rates = HOST if roughly(function) > 1e-4 else None
    return {
        "numpy": numpy_times(function, h, ON_CPU, rates),
        "cpu": kernel_times(h, CPU, ON_CPU, CPU_RATES),
        "gpu": kernel_times(h, GPU, ON_GPU, GPU_RATES),
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
    _, floor = kernel_times(h, GPU, ON_GPU, GPU_RATES)
    moved = 4 * (4096 * 4096 + 2 * 4096)
    assert floor == pytest.approx(2e-5 + 1e-5 + moved * 1e-10 + moved / 4e12, rel=0.01)
    slow = replace(CPU_RATES, bandwidth=1e9)
    assert kernel_times(h, CPU, ON_CPU, slow)[0] >= moved / 1e9


def test_double_precision_needs_a_device_that_has_it(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "costs_of", lambda device: ON_CPU)
    h = described("ab,bc->ac", (8, 8), (8, 8), dtype="f8")
    monkeypatch.setattr(device, "caps", replace(device.caps, fp64=False))
    assert [c.device for c in choose(h, [device]).candidates] == [None]
    assert len(choose(described("ab,bc->ac", (8, 8), (8, 8)), [device]).candidates) == 2


def test_rough_times_grow_with_the_work() -> None:
    found = [roughly(f) for h, _ in CALLS.values() for f in [numpy_function(h)] if f is not None]
    assert found[2] > 0.05
    assert found[3] < 1e-5


def test_usual_rates_are_generous() -> None:
    for caps in (CPU, GPU):
        assert usual_rates(caps).bandwidth > 1e11
        assert set(usual_rates(caps).peak) == {"float32", "float64"}


def test_rates_are_measured_once_and_kept(device: Device, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(large, "_devices", {})
    monkeypatch.setattr(large, "_hosts", [])
    first, host = device_rates(device), host_rates(device)
    assert first.bandwidth > 0
    assert min(first.peak.values()) > 0
    assert (first.sending[1] > 0) == (device.kind == "gpu")
    assert min(host.byte, host.copied, *host.product.values()) > 0
    large._devices.clear()
    large._hosts.clear()
    monkeypatch.setattr(large, "_measure_device", None)
    monkeypatch.setattr(large, "_measure_host", None)
    assert (device_rates(device), host_rates(device)) == (first, host)
    for damaged in (None, [], {}, {"peak": {}}, {"product": {"float32": "x"}}):
        assert large._read_device(damaged) is None
        assert large._read_host(damaged) is None
    costs.keep(device, "rates", {})
    assert costs.kept(device, "rates") == {}
    assert costs.kept(device, "host") is not None


def test_what_gpus_are_asked_runs(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "kind", "gpu")
    monkeypatch.setattr(large, "_COPIED", {"gpu": 1 << 22})
    found = large._measure_device(device)
    assert found.bandwidth > 0
    assert {"float32"} <= {*found.peak}
    assert found.sending[1] > 0
    assert found.receiving[1] > 0


def test_candidates_are_all_gpus_and_one_cpu_unless_one_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for chosen in listing.devices():
        with mdhnp.device(chosen):
            assert candidates() == (chosen,)
    monkeypatch.delenv("MDHNP_DEVICE", raising=False)
    for cached in (listing._undecided, listing._first_choice):
        monkeypatch.setattr(listing, cached.__name__, cached.__wrapped__)
    found = candidates()
    assert found[0] is default_device()
    assert sum(d.kind == "cpu" for d in found) <= 1
    assert {d for d in listing.devices() if d.kind == "gpu" and d.runtime != "oclgrind"} <= {*found}
    monkeypatch.setenv("MDHNP_DEVICE", "cpu")
    assert candidates() == (default_device(),)
