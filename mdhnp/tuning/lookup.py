"""The schedule to use now: the tuned one, else that of the nearest extents, else the default.

Takes a stage and a device, never measures. The generator's version is part of the key, so that schedules tuned for
other kernels are not taken for granted.
"""

from typing import Literal, NamedTuple

from mdhnp.mdh import Computation, canonical, family, fingerprint
from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.default import default
from mdhnp.schedule.general import adapt
from mdhnp.schedule.matrices import at_precision
from mdhnp.tuning.cache import cache
from mdhnp.tuning.cache.records import Key

#: Counts changes of the code generator that change which schedules are fast.
GENERATOR = "2"

#: A schedule of the same family is worth more than the default only where extents are alike.
_NEAR = 4.0

#: Tuned for exactly this, tuned for similar extents, or chosen without any measurement: for this, or for all sizes.
Origin = Literal["tuned", "similar", "default", "general"]


class Scheduled(NamedTuple):
    """A schedule, and where it comes from."""

    schedule: Schedule
    origin: Origin


def key_of(h: Computation, device: Device) -> Key:
    """Give the key under which a stage's schedule is kept."""
    # A precision that the device's instructions do not know changes nothing there.
    c = at_precision(canonical(h), h.precision, device.caps.atoms)
    return Key(family(c), c.extents, fingerprint(c), device.identity, GENERATOR)


def tuned_for(h: Computation, device: Device) -> Schedule | None:
    """Look a schedule up that was tuned for exactly this stage, which is in canonical form."""
    entry = cache().get(key_of(h, device))
    return entry.schedule if entry is not None and is_legal(h, entry.schedule, device.caps) else None


def untuned_for(h: Computation, device: Device) -> Scheduled:
    """Give the best guess for a stage that is not tuned: the schedule tuned for the nearest extents, or the default.

    It is in canonical form, without extents of 0.
    """
    key = key_of(h, device)
    for other, near in cache().nearest(key, limit=3):
        is_near = all(max(m, n) <= _NEAR * min(m, n) for m, n in zip(key.extents, other.extents, strict=True))
        fitted = adapt(h, near.schedule, device.caps) if is_near else None
        if fitted is not None:
            return Scheduled(fitted, "similar")
    return Scheduled(default(h, device.caps), "default")
