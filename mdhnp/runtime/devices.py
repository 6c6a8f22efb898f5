"""The OpenCL devices of this machine, and which of them a call uses.

Takes the platforms that :mod:`mdhnp.runtime.discovery` lists; gives :class:`Device` objects, one per device and
process, and what is asked of one as a whole. It must not know kernels or arrays.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import Any

import pyopencl as cl

from mdhnp.documentation import public
from mdhnp.process import process, take_for_old, unforked
from mdhnp.runtime import discovery, pending, resident, results, transfers, trial
from mdhnp.runtime.capabilities import LOADING, intel_local_memory, limited, shortage
from mdhnp.runtime.groups import Group, group, sub_devices
from mdhnp.runtime.handle import Device, NoDeviceError, Runtime
from mdhnp.runtime.pool import MemoryInfo, pool

Device.memory, Device.trial = resident, trial

_RUNTIMES: tuple[Runtime, ...] = ("nvidia", "intel", "pocl", "other", "oclgrind")  # best first


def _merit(device: Device) -> tuple[bool, bool, bool, int, int]:
    """Sort key, best first: no simulator, GPU, own memory, runtime, many compute units."""
    gpu = device.kind == "gpu"
    shared = bool(device.cl.host_unified_memory)
    rank = _RUNTIMES.index(device.runtime)
    return (device.runtime == "oclgrind", not gpu, gpu and shared, rank, -device.cl.max_compute_units)


_listing = process.lock()
_found: list[tuple[Device, ...]] = []  # at most one
_refused: dict[str, str] = {}
#: What stands for the names of devices that were not asked for theirs.
_ALL = "all devices"


def refused() -> dict[str, str]:
    """Give the names of devices that are there but cannot be used, with the reason of each."""
    devices()
    return dict(_refused)


def _listed() -> tuple[Device, ...]:
    if not _found:
        with unforked():  # drivers start threads, and take locks that a child would find taken
            listed = tuple(sorted(_present(), key=_merit))
        if not _found:  # else such a finalizer was faster, and its objects may be in use
            _found.append(listed)
            take_for_old()
    return _found[0]


def _present() -> Iterator[Device]:
    if (why := shortage(LOADING)) is not None:
        _refused[_ALL] = f"OpenCL is not loaded, for want of memory: {why}"
        return
    for platform in discovery.platforms(intel_local_memory()):
        with suppress(cl.Error):  # a driver without its hardware
            for device in platform.get_devices():
                with suppress(cl.Error):  # a broken one beside others
                    if device.type & (cl.device_type.CPU | cl.device_type.GPU):
                        try:
                            yield Device(device)
                        except NoDeviceError as error:
                            _refused[device.name.strip()] = str(error)


@public(
    "All CPU and GPU devices, best first; the same objects at every call.",
    returns="tuple of Device: Empty where there is none. Oclgrind, a simulator, comes last.",
    example="""
>>> [d.runtime for d in mdhnp.devices()]  # doctest: +SKIP
['intel', 'pocl']""",
    guard=False,
)
def devices() -> tuple[Device, ...]:
    with _listing:  # else two threads get in at the first call, and different objects
        return _listed()


def are_lost() -> bool:
    """Whether this process is a forked child of one that had found devices."""
    return any(device.lost for found in _found for device in found)


def find_device(spec: "str | int | Device") -> Device:
    """Give the best device that fits `spec`; NoDeviceError, which lists what there is, if none does.

    A position in :func:`devices` (``0``, ``"0"``); a runtime's name (``"intel"``, ``"pocl"``, ``"nvidia"``,
    ``"oclgrind"``), which fits that runtime only; ``"cpu"`` or ``"gpu"``; or a part of the platform's or device's
    name, in any case. A :class:`Device` is given back.
    """
    return spec if isinstance(spec, Device) else _fitting(spec)[0]


def _fitting(spec: str | int) -> list[Device]:
    """Give all devices that fit, the best first, of which there is one at least."""
    wanted = str(spec).strip().lower()
    found = devices()
    if re.fullmatch(r"\d+", wanted):
        fitting = list(found[int(wanted) : int(wanted) + 1])
    elif wanted in _RUNTIMES:
        # PoCL names its device after the processor, often "pthread-Intel(R) ...": "intel" must not mean PoCL.
        fitting = [d for d in found if d.runtime == wanted]
    elif wanted in ("cpu", "gpu"):
        fitting = [d for d in found if d.kind == wanted]
    else:
        fitting = [d for d in found if wanted and (wanted in d.platform.lower() or wanted in d.name.lower())]
    if not fitting:
        raise NoDeviceError(f"no OpenCL device fits {spec!r}; {_listing_text(found)}")
    return fitting


def find_devices(spec: "str | int | Device | Group | Sequence[str | int | Device]") -> tuple[Device, ...]:
    """Give all devices that `spec` names, as in :func:`device`; NoDeviceError for none, or a CPU without such parts."""
    if isinstance(spec, Group):
        return spec.members
    if isinstance(spec, list | tuple):
        return tuple([each for one in spec for each in find_devices(one)])
    text = str(spec).strip() if isinstance(spec, str) else ""
    if text.endswith(":*"):
        return tuple(_fitting(text[:-2]))
    if parted := re.fullmatch(r"(.+)/(\d+)", text):
        return sub_devices(find_device(parted[1]), int(parted[2]))
    return (find_device(spec),)  # type: ignore[arg-type]


def find_target(spec: "str | int | Device | Group | Sequence[str | int | Device]") -> "Device | Group":
    """Give the device that `spec` names, or what stands for several."""
    found = find_devices(spec)
    return found[0] if len(found) == 1 else group(found)


def target_or_default(spec: Any) -> Any:
    """Give what an argument of a public function names, as :func:`find_target` does; the default device for None."""
    return default_device() if spec is None else find_target(spec)


def equal_devices(identity: str) -> list[Device]:
    """Give the devices of an identity; where there are none, parts of a device that have it.

    So another process finds what is equal to a part that this one computes on.
    """
    found = [d for d in devices() if d.identity == identity]
    units = re.search(r"\|(\d+)cu\|", identity)
    if found or units is None:
        return found
    for whole in devices():
        if whole.kind == "cpu" and identity.startswith(f"{whole.runtime}|{whole.name}|"):
            with suppress(NoDeviceError):
                parts = sub_devices(whole, whole.caps.compute_units // max(int(units[1]), 1))
                return [d for d in parts if d.identity == identity]
    return []


_chosen: ContextVar["Device | Group | None"] = ContextVar("mdhnp_device", default=None)


def default_device() -> Any:
    """Give the device of calls that name none, the best candidate; in a block of several, what stands for them."""
    return candidates()[0]


@cache
def _undecided() -> tuple[Device, ...]:
    if spec := os.environ.get("MDHNP_DEVICE", "").strip():
        try:
            return (find_device(spec),)
        except NoDeviceError as error:
            raise NoDeviceError(f"{error} (asked for by the environment variable MDHNP_DEVICE)") from None
    found = devices()
    if not found:
        raise NoDeviceError(f"no OpenCL device found; {_listing_text(found)}")
    real = [d for d in found if d.runtime != "oclgrind"]
    cpus = [d for d in real if d.kind == "cpu"]
    return tuple(d for d in real if d.kind == "gpu" or d is cpus[0]) or found[:1]


def candidates() -> tuple[Any, ...]:
    """Give the devices that a call may choose from: one where the user has decided, else the best CPU and all GPUs.

    The innermost :func:`device` block decides, then ``MDHNP_DEVICE`` (read at the first call), then merit: GPUs
    before CPUs, on a CPU Intel's runtime before PoCL, a simulator only where there is nothing else. NoDeviceError if
    there is none, or none that ``MDHNP_DEVICE`` names.
    """
    chosen = _chosen.get()
    return _undecided() if chosen is None else (chosen,)


@contextmanager
@public(
    "Use another device inside a ``with`` block, or several, in this thread or asynchronous task only; blocks nest.",
    spec='str, int, Device, or a sequence of these: Its position in :func:`devices`, or "cpu", "gpu", a runtime '
    '("intel", "pocl", "nvidia"), or part of its name or of its platform. Several devices are a list, also of unlike '
    'ones, all that fit (``"gpu:*"``), or so many equal parts of a CPU (``"cpu/2"``). Calls are then cut for them, '
    "where that pays, and Arrays distributed.",
    yields="Device: The device; what stands for all of them, where they are several.",
    raises={
        "NoDeviceError": "Nothing fits `spec`, or a device cannot be parted so.",
        "ValueError": "If a device is named twice.",
    },
    example="""
>>> with mdhnp.device("cpu") as cpu:
...     mdhnp.asarray([1.0, 2.0]).device is cpu
True""",
    guard=False,
)
def device(spec: "str | int | Device | Group | Sequence[str | int | Device]") -> Iterator[Any]:
    target = find_target(spec)
    token = _chosen.set(target)
    try:
        yield target
    finally:
        _chosen.reset(token)


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
    for one in target_or_default(device).members:
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
    where = target_or_default(device)
    if where.several:
        return MemoryInfo(*map(sum, zip(*map(memory_info, where.members), strict=True)))
    if where.own_memory:
        return pool(where).info(transfers.pinned(where))
    total = int(where.cl.global_mem_size)
    return MemoryInfo(total, total, 0, results.free(), 0, 0)


def _listing_text(found: tuple[Device, ...]) -> str:
    left_out = "".join(f"; left out: {name}: {why}" for name, why in _refused.items())
    if found:
        listed = ", ".join(f"{i}: {d.name} ({d.runtime})" for i, d in enumerate(found))
        return f"there are: {listed}{left_out}{limited()}"  # GPUs are not named by drivers that get too few addresses
    if _ALL in _refused:
        return _refused[_ALL]
    looked = ", ".join(name for name in ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES") if os.environ.get(name))
    return (
        f"looked in {looked or 'the system ICD folder, the installed wheels and the NVIDIA driver'}. "
        "`pip install mdhnp` brings Intel's CPU runtime for x86-64 Linux and Windows; elsewhere PoCL comes from the "
        f"system's packages or conda; a GPU needs its vendor's driver; `mdhnp doctor` tells more{left_out}"
    )
