"""How many of a test's random examples each device gets, and which: others than the next one's.

With the same examples on each device a suite would pay for each twice, and see half as many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from zlib import crc32

from hypothesis import HealthCheck, seed, settings

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

__all__ = ["share"]

#: Of PoCL, which compiles three times as slowly, and of others.
_SHARES, _SHARE = {"pocl": 1 / 3}, 2 / 3


def share(device: Device, examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a test of `given` examples see a device's part of so many; in a thorough run as many as the profile says."""
    most = settings().max_examples
    thorough = most > 200

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        count = most if thorough else round(examples * _SHARES.get(device.runtime, _SHARE))
        chosen: Any = settings(max_examples=count, suppress_health_check=list(HealthCheck))(test)
        return chosen if thorough else seed(crc32(device.runtime.encode()))(chosen)

    return decorate
