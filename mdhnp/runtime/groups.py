"""Several devices that calls and Arrays name as one.

It knows which devices they are; what is done with them, `runtime.executor` says.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import pyopencl as cl

from mdhnp import runtime
from mdhnp.process import process
from mdhnp.runtime.handle import Device, NoDeviceError


class Group:
    """Several devices; where a device is named, as ``Array.device`` does, it may stand in its place.

    Members are in the order in which they have parts of Arrays; its name, runtime and platform are theirs, joined. The
    other attributes are as of a device: it has memory of its own and is `several`, since calls are cut.
    """

    own_memory = several = True
    passing = False

    def __init__(self, members: tuple[Device, ...]) -> None:
        self.members = members
        self.name, self.runtime, self.platform = (
            ", ".join(dict.fromkeys(names))
            for names in ([d.name for d in members], [d.runtime for d in members], [d.platform for d in members])
        )
        self.identity = "; ".join(d.identity for d in members)
        self.alone: tuple[Group, ...] = (self,)
        self.key: Hashable = ("views", id(self))

    def __repr__(self) -> str:
        return f"<Group of {', '.join(map(repr, self.members))}>"

    @property
    def lost(self) -> bool:
        """Whether this process is a forked child of the one that found the devices."""
        return any(d.lost for d in self.members)

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each member, numbered where they are equal."""
        names = [f"{d.name} ({d.runtime})" for d in self.members]
        return tuple([n if names.count(n) == 1 else f"{n} {names[:at].count(n)}" for at, n in enumerate(names)])

    @property
    def memory(self) -> Any:
        return runtime.executor.memory

    @property
    def executor(self) -> Any:
        return runtime.executor


def group(members: Sequence[Device]) -> Group:
    """Give the group of some devices, the same object for the same ones; ValueError for none, or one named twice."""
    found = tuple(members)
    if not found or len(set(found)) < len(found):
        raise ValueError(f"devices: {list(found)} must be one or more, each named once")
    return _groups.get(found) or _groups.setdefault(found, Group(found))


_groups: dict[tuple[Device, ...], Group] = {}

_parts: dict[tuple[Device, int], tuple[Device, ...]] = {}
_parting = process.lock()


def sub_devices(device: Device, count: int) -> tuple[Device, ...]:
    """Give parts of a CPU device, with as many compute units each, as devices of their own; always the same ones.

    NoDeviceError if it cannot be parted so, or this process is a forked child of the one that found it.
    """
    with _parting:
        if (found := _parts.get((device, count))) is not None:
            return found
        device.check()
        units = device.caps.compute_units // max(count, 1)
        if not count or not units:
            raise NoDeviceError(f"{device.name} has {device.caps.compute_units} compute units, too few for {count}")
        equally: Any = [cl.device_partition_property.EQUALLY, units]
        try:
            parts = tuple([Device(each) for each in device.cl.create_sub_devices(equally)[:count]])
        except cl.Error as error:
            raise NoDeviceError(f"{device.name} ({device.platform}) cannot be parted in {count}: {error}") from None
        return _parts.setdefault((device, count), parts)
