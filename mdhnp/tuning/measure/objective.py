"""What is to be small in tuning: the time, the energy, the size of the code, or a function of these."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mdhnp.runtime.devices import Device
from mdhnp.tuning.measure.energy import energy_counters
from mdhnp.tuning.search.parameters import arguments_of

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
