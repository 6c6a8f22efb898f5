"""What a CPU takes in energy: Linux' counters of its packages (RAPL), which count other programs' work, too.

OpenCL has no call for it, and GPUs' counters are not its business.
"""

from pathlib import Path

from mdhnp.runtime.devices import Device

#: Where the counters are.
POWERCAP = Path("/sys/class/powercap")


class EnergyCounter:
    """The joules that the machine's processors have taken; RuntimeError, which says why, where that cannot be known."""

    def __init__(self, device: Device) -> None:
        if device.kind != "cpu":
            raise RuntimeError(f"energy: OpenCL does not tell what {device.name} takes; only that of CPUs is counted")
        zones = [zone for zone in sorted(POWERCAP.glob("intel-rapl:*")) if _text(zone / "name").startswith("package")]
        if not zones:
            raise RuntimeError(f"energy: the system has no counters of what {device.name} takes, in {POWERCAP}")
        self._counters = [(zone / "energy_uj", int(_text(zone / "max_energy_range_uj"))) for zone in zones]
        self.start()

    def start(self) -> None:
        """Count from now on."""
        self._before = [int(_text(counter)) for counter, _ in self._counters]

    def joules(self) -> float:
        """Give the joules since the start; counters begin anew at their ends."""
        now = [int(_text(counter)) for counter, _ in self._counters]
        each = zip(now, self._before, self._counters, strict=True)
        return sum([(after - before) % (end + 1) for after, before, (_, end) in each]) * 1e-6


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except PermissionError as error:
        raise RuntimeError(
            f"energy: {path} cannot be read by this user: its owner can allow it, by chmod a+r"
        ) from error
    except OSError as error:
        raise RuntimeError(f"energy: {path} cannot be read: {error}") from error
