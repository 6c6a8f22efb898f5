"""What is known of a stage: the schedule tuned for it, that of its family, and those tuned for extents that are alike.

Takes a stage and a device, never measures. The generator's version is part of the key, so that schedules tuned for
other kernels are not taken for granted.
"""

from functools import lru_cache
from typing import Literal, NamedTuple

from mdhnp.mdh import Computation, canonical, family, fingerprint
from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.general import moved
from mdhnp.schedule.matrices import at_precision
from mdhnp.schedule.split import without_idle
from mdhnp.tuning.cache import cache
from mdhnp.tuning.cache.records import Key

#: Counts changes of the code generator that change which schedules are fast.
GENERATOR = "3"

#: Schedules of the same family are tried, or used, where extents differ by so many times at most.
_SIMILAR = 4.0

#: Tuned for exactly this, or for several sizes together; chosen without any measurement, for this or for all sizes;
#: said by the user.
Origin = Literal["tuned", "family", "default", "general", "given"]


class Scheduled(NamedTuple):
    """A schedule, and where it comes from."""

    schedule: Schedule
    origin: Origin


def key_of(h: Computation, device: Device) -> Key:
    """Give the key under which a stage's schedule is kept."""
    # A precision that the device's instructions do not know changes nothing there.
    c = at_precision(canonical(h), h.precision, device.caps.atoms)
    return Key(family(c), c.extents, fingerprint(c), device.identity, GENERATOR)


def tuned_for(h: Computation, device: Device, objective: str | None = None) -> Schedule | None:
    """Look a schedule up that was tuned for exactly this stage, in canonical form, and for this objective or any."""
    entry = cache().get(key_of(h, device))
    if entry is None or objective not in (None, entry.objective):
        return None
    return without_idle(h, entry.schedule) if is_legal(h, entry.schedule, device.caps) else None


def family_choice(key: Key) -> tuple[tuple[int, ...], Schedule | Literal["default"]] | None:
    """Give what sizes near to a key's take, of extents that were tuned together with others, and these."""
    for other, entry in cache().nearest(key, limit=None):
        if entry.near is not None and _is_similar(key, other):
            return other.extents, entry.near
    return None


def family_schedule(h: Computation, device: Device) -> Schedule | None:
    """Look up what was found for a stage's family; None where that is nothing, or default schedules."""
    found = family_choice(key_of(h, device))
    return None if found is None or found[1] == "default" else _moved(h, found[1], found[0], device.caps)


_moved = lru_cache(maxsize=1024)(moved)


def similar(h: Computation, device: Device) -> list[Schedule]:
    """Give the schedules that were tuned for the nearest extents, fitted to those of a stage in canonical form.

    They are where a search begins. No call uses them before they were compared: on two cores, of nine that were fitted
    to 0.6 to 1.4 times the extents one was faster than the default there, and six were slower, by up to 2.4 times.
    """
    key = key_of(h, device)
    found = [
        _moved(h, entry.schedule, other.extents, device.caps)
        for other, entry in cache().nearest(key, limit=3)
        if _is_similar(key, other)
    ]
    return [s for s in found if s is not None]


def _is_similar(key: Key, other: Key) -> bool:
    return all([max(m, n) <= _SIMILAR * min(m, n) for m, n in zip(key.extents, other.extents, strict=True)])
