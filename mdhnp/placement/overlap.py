"""Which calls are computed in parts, so that copies to and from a device go on beside its kernels.

From an MDH and a device's measured rates to its parts. It must not know how they are run.
"""

from collections.abc import Iterable

from mdhnp.mdh import Computation, Part, View, stretches
from mdhnp.placement.choice import computing_times, nbytes
from mdhnp.placement.large import device_rates
from mdhnp.runtime.devices import Device

__all__ = ["overlapping"]

#: At most so many parts, of so many bytes at least: smaller copies do not reach the link's speed.
_PARTS, _BYTES = 8, 1 << 25
#: Seconds, and part of a call's time, that must be won by estimate.
_WON, _SHARE = 1e-3, 0.15


def overlapping(h: Computation, device: Device) -> tuple[Part, ...]:
    """Give the parts of a call on arrays of the host; none where they would win too little.

    Parameters
    ----------
    h : Computation
        Without extents of 0.
    device : Device
        With memory of its own.
    """
    moved = _nbytes((*h.inputs, *h.outputs))
    if moved < 2 * _BYTES:
        return ()
    first = stretches(h, 2)[:1]
    if not first:
        return ()
    cut = [
        v for v, part in zip(h.inputs, first[0].inputs, strict=True) if v.shape != tuple(s.stop - s.start for s in part)
    ]
    parts = min(_PARTS, (_nbytes(cut) + _nbytes(h.outputs)) // _BYTES)
    if parts < 2:
        return ()
    rates = device_rates(device)
    (_, up), (_, down) = rates.sending, rates.receiving
    kernels = max(computing_times(h, device.caps, rates))
    # Copies up and down share the host's memory: side by side they take as long as one after the other.
    won = min(_nbytes(cut) * up + _nbytes(h.outputs) * down, kernels) * (1 - 1 / parts)
    whole = _nbytes(h.inputs) * up + kernels + _nbytes(h.outputs) * down
    return stretches(h, parts) if won > max(_WON, _SHARE * whole) else ()


def _nbytes(views: Iterable[View]) -> int:
    return sum(map(nbytes, views))
