"""What Arrays ask of a device as a whole: to have done all that was enqueued, and what its memory is used for."""

from typing import Any

from mdhnp.documentation import public
from mdhnp.runtime import pending, results, transfers
from mdhnp.runtime.devices import default_device, find_target
from mdhnp.runtime.pool import MemoryInfo, pool


@public(
    """Wait until a device has done all that was enqueued.

Calls on Arrays of a device with memory of its own return before it has computed them. Reading an Array waits for what
it needs; this waits for everything, as before taking a time.""",
    device="str, int or Device, optional: As in :func:`mdhnp.device`, also several; by default the default device. On "
    "CPU devices nothing is left to wait for.",
    raises={
        "LaunchError": "If a call failed: names its kernel, and the line that made it.",
        "NoDeviceError": "If there is no such device.",
    },
    example="""
>>> mdhnp.synchronize("cpu")""",
    guard=False,
)
def synchronize(device: Any = None) -> None:
    where = default_device() if device is None else find_target(device)
    for one in where.members:
        if one.own_memory:
            pending.synchronize(one)


@public(
    "Say what a device's memory is used for, in bytes.",
    device="str, int or Device, optional: As in :func:`mdhnp.device`; by default the default device. Of several, all "
    "numbers are sums.",
    returns="MemoryInfo: ``total`` and ``limit``, ``used`` by Arrays and ``free`` for the next ones, the number of "
    "``arrays``, and what is ``pinned`` of the host's memory. Arrays on a CPU device are ndarrays, which nobody "
    "counts: there ``free`` is the memory of earlier large results.",
    raises={"NoDeviceError": "If there is no such device."},
    example="""
>>> mdhnp.memory_info("cpu").used
0""",
    guard=False,
)
def memory_info(device: Any = None) -> MemoryInfo:
    where: Any = default_device() if device is None else find_target(device)
    if where.several:
        return MemoryInfo(*map(sum, zip(*map(memory_info, where.members), strict=True)))
    if where.own_memory:
        return pool(where).info(transfers.pinned(where))
    total = int(where.cl.global_mem_size)
    return MemoryInfo(total, total, 0, results.free(), 0, 0)
