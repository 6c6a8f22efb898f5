"""Which calls are computed in parts, so that copies to and from a device go on beside its kernels.

From an MDH and what was measured of a device to its parts. It must not know how they are run.
"""

from mdhnp.calls.candidates import computing_times
from mdhnp.mdh import Computation, Part, stretches
from mdhnp.runtime.devices import Device
from mdhnp.tuning.measure.machine import machine_of

__all__ = ["overlapping"]

#: At most so many parts, of so many bytes at least: on an H200 smaller copies do not reach the link's speed.
_PARTS, _BYTES = 8, 1 << 25
#: Seconds, and part of a call's time, that must be won by estimate.
_WON, _SHARE = 1e-3, 0.15


def overlapping(h: Computation, device: Device) -> tuple[Part, ...]:
    """Return the parts of a call without extents of 0 on arrays of the host, for a device with memory of its own.

    There are none where they would win too little.
    """
    read, written = sum([v.element_bytes for v in h.inputs]), sum([v.element_bytes for v in h.outputs])
    first = stretches(h, 2)[:1] if read + written >= 2 * _BYTES else ()
    if not first:
        return ()
    each = zip(h.inputs, first[0].inputs, strict=True)
    cut = sum([v.element_bytes for v, part in each if v.shape != tuple(s.stop - s.start for s in part)])
    parts = min(_PARTS, (cut + written) // _BYTES)
    if parts < 2:
        return ()
    machine = machine_of(device, large=True)
    kernels = max(computing_times(h, device.caps, machine))
    # Copies up and down share the host's memory: side by side they take as long as one after the other.
    up, down = machine.sending.bandwidth, machine.receiving.bandwidth
    won = min(cut / up + written / down, kernels) * (1 - 1 / parts)
    whole = read / up + kernels + written / down
    return stretches(h, parts) if won > max(_WON, _SHARE * whole) else ()
