"""What devices take in energy: counters of processors and of NVIDIA's boards, both posed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from mdhnp.mdh import canonical, md_hom, pw
from mdhnp.runtime.devices import Device
from mdhnp.schedule.default import default
from mdhnp.tuning import evaluations, kernel, parameter, space, tune
from mdhnp.tuning.measure import objective
from mdhnp.tuning.measure.bench import Bench, TuningTask

CPU = cast(Device, SimpleNamespace(kind="cpu", runtime="intel", name="Xeon"))
PLACE = SimpleNamespace(pci_domain_id_nv=1, pci_bus_id_nv=0x8D, pci_slot_id_nv=0x14)
GPU = cast(Device, SimpleNamespace(kind="gpu", runtime="nvidia", name="H100", cl=PLACE))


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(objective, "_SECONDS", 0.0)
    monkeypatch.setattr(objective, "_PATIENCE", 0.05)
    monkeypatch.setattr(objective, "POWERCAP", tmp_path)


def powercap(folder: Path, **counters: tuple[str, int]) -> None:
    for zone, (name, count) in counters.items():
        at = folder / zone.replace("_", ":")
        at.mkdir(parents=True, exist_ok=True)
        for file, content in (("name", name), ("energy_uj", count), ("max_energy_range_uj", 999_999)):
            (at / file).write_text(f"{content}\n")


class NVMLError(Exception):
    """As NVML's."""


def nvml(monkeypatch: pytest.MonkeyPatch, read: Callable[[], int]) -> list[str]:
    """Pose NVML, with one counter; the list has the address of each board that was asked for."""
    asked: list[str] = []
    posed: Any = SimpleNamespace(NVMLError=NVMLError, nvmlInit=lambda: None)
    posed.nvmlDeviceGetHandleByPciBusId = lambda address: asked.append(address) or address
    posed.nvmlDeviceGetTotalEnergyConsumption = lambda board: read()
    monkeypatch.setitem(sys.modules, "pynvml", posed)
    return asked


def test_energy_is_that_of_all_packages_and_counters_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zones = ("intel-rapl_0", "intel-rapl_1", "intel-rapl_0_0", "intel-rapl_2")
    names = ("package-0", "package-1", "dram", "psys")
    count = 0

    def run() -> None:
        nonlocal count
        count = (count + 150_000) % 1_000_000
        powercap(tmp_path, **{z: (n, count) for z, n in zip(zones, names, strict=True)})

    run()
    monkeypatch.setattr(objective, "_PATIENCE", 60.0)
    monkeypatch.setattr(objective, "_STEPS", 6)
    counters = objective.energy_counters(CPU)
    assert [counters.joules(run) for _ in range(3)] == pytest.approx([0.3] * 3), "begun anew in one of them at least"


def test_a_board_is_found_by_its_slot_and_counted_from_step_to_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of 30 mJ; the counter is brought up to date at every fourth one only."""
    runs = 0

    def run() -> None:
        nonlocal runs
        runs += 1

    asked = nvml(monkeypatch, lambda: 5_000_000 + 30 * (runs // 4 * 4))
    counter = objective.energy_counters(GPU)
    assert asked == ["00000001:8d:14.0"]
    assert counter.joules(run) == pytest.approx(0.03)
    assert runs == 4 + 40, "ten steps, after the one from which it counts"


def test_counters_that_stand_still_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml(monkeypatch, lambda: 7)
    with pytest.raises(RuntimeError, match=r"energy: the counters stand still, at \[7\]"):
        objective.energy_counters(GPU).joules(lambda: None)


def test_what_cannot_be_known_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="the system has no counters of what Xeon takes"):
        objective.energy_counters(CPU)
    other = cast(Device, SimpleNamespace(kind="gpu", runtime="other", name="Arc"))
    with pytest.raises(RuntimeError, match="nothing tells what Arc takes"):
        objective.energy_counters(other)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(RuntimeError, match=r"pip install 'mdhnp\[energy\]'"):
        objective.energy_counters(GPU)

    def refused() -> int:
        raise NVMLError("Insufficient Permissions")

    nvml(monkeypatch, refused)
    with pytest.raises(RuntimeError, match=r"H100 in slot 00000001:8d:14\.0 takes: Insufficient Permissions"):
        objective.energy_counters(GPU)


def test_counters_that_the_user_may_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    powercap(tmp_path, **{"intel-rapl_0": ("package-0", 0)})
    read = Path.read_text

    def refused(path: Path) -> str:
        if path.name == "energy_uj":
            raise PermissionError
        return read(path)

    monkeypatch.setattr(Path, "read_text", refused)
    with pytest.raises(RuntimeError, match="energy_uj cannot be read by this user"):
        objective.energy_counters(CPU)


def test_a_kernel_is_tuned_for_energy(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that takes three watts whatever it does."""
    watts = objective.EnergyCounters(lambda: [int(3e6 * time.perf_counter())], [1 << 62], 1e-6)
    monkeypatch.setattr(objective, "_board", lambda device: watts)
    monkeypatch.setattr(objective, "_packages", lambda device: watts)
    text = "__kernel void fill(__global int *x) { for (int n = 0; n < EACH; ++n) x[get_global_id(0) * EACH + n] = n; }"
    fill = kernel(
        text, "fill", [np.zeros(1 << 14, np.int32)], lambda EACH: (1 << 14) // EACH,
        reference=None, objective=lambda time, energy: (energy, time), device=device,
    )  # fmt: skip
    found = tune(fill, space(parameter("EACH", [4])), abort=evaluations(1))
    joules, seconds = found.cost
    assert joules >= 0.1 * 3 * seconds > 0, "launches one after the other take their time: a tenth on a busy machine"
    assert joules < 0.02, "that of one launch, not of those that are counted together"


def test_the_energy_of_a_call_is_that_of_one_of_many(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    watts = objective.EnergyCounters(lambda: [int(3e6 * time.perf_counter())], [1 << 62], 1e-6)
    monkeypatch.setattr(objective, "_board", lambda device: watts)
    monkeypatch.setattr(objective, "_packages", lambda device: watts)
    h = canonical(md_hom(np.multiply, {"k": pw("add")}, "x[k], y[k] -> z[]").bind(*[np.ones(1 << 12)] * 2))
    bench = Bench(TuningTask(h, device.identity, default(h, device.caps)))
    seconds = bench.measure(default(h, device.caps), None).seconds
    assert seconds is not None
    found = bench.measured(default(h, device.caps), ("energy", "code_size"), seconds)
    assert found["time"] == seconds and 0 < found["energy"] < 0.02 and found["code_size"] > 100


def test_kernels_say_at_once_that_energy_is_not_told(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(RuntimeError, match=r"^energy: "):
        kernel("__kernel void none(__global int *x) {}", "none", [np.zeros(1, np.int32)], 1, objective="energy")
