"""What is to be small in tuning: the time, the energy, the size of the code, or a function of these.

Counters tell the energy: Linux' of processors (RAPL), NVML's of NVIDIA's boards. They count other programs' work, too,
and change by steps, those of an H200 each tenth of a second (97 to 103 ms, by driver 580). So what is measured lasts
from one step to a later one.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mdhnp.runtime.devices import Device
from mdhnp.tuning.search.parameters import arguments_of

#: Where the counters of processors are.
POWERCAP = Path("/sys/class/powercap")
#: Changes of a counter for which a computation is repeated, and seconds, at least; and seconds at most, where it stands
#: still. Ten changes of an H200's counter take a second.
_STEPS, _SECONDS, _PATIENCE = 10, 0.2, 2.0

#: Seconds that launches take together between two looks at the energy, and the most launches. A look takes 4 ms on an
#: H200 (NVML, driver 580), and what the board takes meanwhile is counted, too.
_TOGETHER, _MOST = 2e-2, 1000

#: What a cost may be made of, and the cost of one of these alone.
_ALONE: dict[str, Callable[..., Any]] = {
    "time": lambda time: time,
    "energy": lambda energy: energy,
    "code_size": lambda code_size: code_size,
}


class Objective:
    """One of these by its name, or a function of some by theirs; ValueError for anything else."""

    def __init__(self, given: Any) -> None:
        cost = given if callable(given) else _ALONE.get(given) if isinstance(given, str) else None
        read = () if cost is None else arguments_of(cost, "objective")
        unknown = [name for name in read if name not in _ALONE]
        if cost is None or not read or unknown:
            why = f"{unknown[0]!r} is none of them" if unknown else f"not {given!r}"
            raise ValueError(f"objective: takes {', '.join(_ALONE)}, or a function of these; {why}")
        self._cost, self.wanted, self.is_time = cost, read, given == "time"
        #: What records say.
        self.name = given if isinstance(given, str) else f"a function of {', '.join(read)}"

    def require_counters(self, device: Device) -> None:
        """Raise RuntimeError where the energy is wanted that nothing tells of a device."""
        if "energy" in self.wanted:
            energy_counters(device)

    def __call__(self, measured: Mapping[str, float]) -> Any:
        return self._cost(**{name: measured[name] for name in self.wanted})


def measured(
    wanted: Sequence[str], device: Device, seconds: float, run: Callable[[int], object], size: Callable[[], int]
) -> dict[str, float]:
    """Give what is wanted of something that takes so many seconds, in seconds, joules of a run, and bytes.

    `run` makes as many runs as it is told, and `size` gives the bytes of the compiled program.
    """
    found = {"time": seconds}
    if "energy" in wanted:
        count = min(max(round(_TOGETHER / max(seconds, 1e-6)), 1), _MOST)
        found["energy"] = energy_counters(device).joules(lambda: run(count)) / count
    if "code_size" in wanted:
        found["code_size"] = size()
    return found


class EnergyCounters(NamedTuple):
    """What reads the counters of a device, the number after which each begins at 0 again, and the joules of a count."""

    read: Callable[[], list[int]]
    ends: list[int]
    unit: float

    def joules(self, run: Callable[[], object]) -> float:
        """Give the joules of a run, on average of many, the first of which do not count."""
        _, before = self._repeated(run, 1, 0.0)
        count, after = self._repeated(run, _STEPS, _SECONDS)
        if after == before:
            raise RuntimeError(f"energy: the counters stand still, at {before}, for {_PATIENCE} s")
        each = zip(after, before, self.ends, strict=True)
        return sum([(new - old) % (end + 1) for new, old, end in each]) * self.unit / count

    def _repeated(self, run: Callable[[], object], steps: int, seconds: float) -> tuple[int, list[int]]:
        """Run until the counters have changed so often, and some seconds are over; give the runs and the counters."""
        begin, count, last = time.perf_counter(), 0, self.read()
        while True:
            run()
            count, now, passed = count + 1, self.read(), time.perf_counter() - begin
            steps -= now != last
            if (now != last and steps <= 0 and passed >= seconds) or passed >= _PATIENCE:
                return count, now
            last = now


def energy_counters(device: Device) -> EnergyCounters:
    """Give the counters of what a device takes; RuntimeError, which says why, where there are none."""
    return _board(device) if device.runtime == "nvidia" else _packages(device)


def _packages(device: Device) -> EnergyCounters:
    """The counters of all processors, in microjoules."""
    if device.kind != "cpu":
        raise RuntimeError(f"energy: nothing tells what {device.name} takes; CPUs' and NVIDIA's drivers do")
    zones = [zone for zone in sorted(POWERCAP.glob("intel-rapl:*")) if _text(zone / "name").startswith("package")]
    if not zones:
        raise RuntimeError(f"energy: the system has no counters of what {device.name} takes, in {POWERCAP}")
    ends = [int(_text(zone / "max_energy_range_uj")) for zone in zones]
    found = EnergyCounters(lambda: [int(_text(zone / "energy_uj")) for zone in zones], ends, 1e-6)
    found.read()
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except PermissionError as error:
        raise RuntimeError(
            f"energy: {path} cannot be read by this user: its owner can allow it, by chmod a+r"
        ) from error
    except OSError as error:
        raise RuntimeError(f"energy: {path} cannot be read: {error}") from error


def _board(device: Device) -> EnergyCounters:
    """The counter of the board in the slot where OpenCL says that the device is, in millijoules."""
    try:
        import pynvml
    except ImportError as error:
        raise RuntimeError(
            f"energy: NVML tells what {device.name} takes, by nvidia-ml-py: pip install 'mdhnp[energy]'"
        ) from error
    place = device.cl  # whose boards' first functions are GPUs
    address = f"{place.pci_domain_id_nv:08x}:{place.pci_bus_id_nv:02x}:{place.pci_slot_id_nv:02x}.0"
    try:
        pynvml.nvmlInit()  # and no shutdown: it counts who uses it
        board = pynvml.nvmlDeviceGetHandleByPciBusId(address)
        pynvml.nvmlDeviceGetTotalEnergyConsumption(board)
    except pynvml.NVMLError as error:
        raise RuntimeError(f"energy: NVML does not tell what {device.name} in slot {address} takes: {error}") from error
    return EnergyCounters(lambda: [pynvml.nvmlDeviceGetTotalEnergyConsumption(board)], [(1 << 64) - 1], 1e-3)
