"""Which calls are computed in parts, so that copies to a device, its kernels and copies from it go on side by side.

From an MDH and a device's measured rates to its parts. It must not know how they are run.
"""

from math import prod

from mdhnp.mdh import MdHom, Part, stretches
from mdhnp.placement.choice import computing_times
from mdhnp.placement.large import device_rates
from mdhnp.runtime.devices import Device

__all__ = ["overlapping"]

#: At most so many parts, of so many bytes at least: smaller copies do not reach the link's speed.
_PARTS, _BYTES = 8, 1 << 23
#: Seconds, and part of a call's time, that must be won by estimate.
_WON, _SHARE = 1e-3, 0.15


def overlapping(h: MdHom, device: Device) -> tuple[Part, ...]:
    """Give the parts of a call on arrays of the host; none where they would win too little.

    Parameters
    ----------
    h : MdHom
        Without extents of 0.
    device : Device
        With memory of its own.
    """
    moved = sum(prod(v.shape) * v.dtype.itemsize for v in (*h.inputs, *h.outputs))
    if moved < 2 * _BYTES:
        return ()
    parts = stretches(h, min(_PARTS, moved // _BYTES))
    if not parts:
        return ()
    rates = device_rates(device)
    cut = [v for v, part in zip(h.inputs, parts[0].inputs, strict=True) if v.shape != tuple(s.stop for s in part)]
    each = (
        sum(prod(v.shape) * v.dtype.itemsize for v in cut) * rates.sending[1],
        max(computing_times(h, device.caps, rates)),
        sum(prod(v.shape) * v.dtype.itemsize for v in h.outputs) * rates.receiving[1],
    )
    whole = sum(prod(v.shape) * v.dtype.itemsize for v in h.inputs) * rates.sending[1] + each[1] + each[2]
    won = (sum(each) - max(each)) * (1 - 1 / len(parts))
    return parts if won > _WON and won > _SHARE * whole else ()
