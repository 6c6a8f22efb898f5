"""A CPU device that is treated as if it had memory of its own: what is for GPUs can be tested everywhere."""

from dataclasses import replace
from functools import cache

from mdhnp.runtime.devices import Device

__all__ = ["alternating", "separate"]


@cache
def separate(device: Device) -> Device:
    """Give a device that works on buffers, as a GPU does; a GPU itself."""
    if device.own_memory:
        return device
    made = Device(device.cl)
    made.caps = replace(made.caps, offsets=True)
    made.own_memory, made.svm, made.key = True, False, ("views", id(made))
    made.identity += "|separate"
    return made


def alternating(device: Device, number: int) -> Device:
    """Give a device as it is for every other number, else as if it had its own memory; on PoCL the other way round."""
    return separate(device) if (number + (device.runtime == "pocl")) % 2 else device
