"""Asks an OpenCL device and the operating system for the numbers in :class:`DeviceCaps`.

Takes a pyopencl device, gives a :class:`DeviceCaps`. It must not know which runtime drives the device.
"""

import platform
from functools import cache
from pathlib import Path
from typing import Literal

import pyopencl as cl

from mdhnp.schedule.caps import DeviceCaps, atoms_of

__all__ = ["cpu_model", "query_caps"]

_CPU_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_CPU_INFO = Path("/proc/cpuinfo")
#: Work-items of NVIDIA's devices that run together, and the first compute capability that lets them do so apart.
_WARP, _VOLTA = 32, 70
#: Bytes of local memory that NVIDIA's runtime (580) needs itself.
_KEPT = 16
# What decides which instructions a compiled kernel may hold. Other flags come and go with the kernel's version.
_INSTRUCTION_SETS = ("sse4", "avx", "fma", "f16c", "amx", "asimd", "sve")

#: The first of NVIDIA's architectures that copies to local memory asynchronously.
_AMPERE = 80


def query_caps(device: cl.Device) -> DeviceCaps:
    """Fill in a :class:`DeviceCaps`.

    Parameters
    ----------
    device : pyopencl.Device
        A CPU or a GPU.

    Examples
    --------
    >>> query_caps(cl.get_platforms()[0].get_devices()[0]).vector_bytes  # doctest: +SKIP
    64
    """
    extensions = device.extensions.split()
    # Oclgrind says that it is everything at once; it behaves like a CPU.
    kind: Literal["cpu", "gpu"] = "cpu" if device.type & cl.device_type.CPU else "gpu"
    if kind == "cpu":
        # Intel prefers 1 (it vectorises across work-items itself) with a native width of 16; a simulator says 1
        # for both. Every CPU that runs OpenCL has 16-byte vectors at least.
        widths = (device.native_vector_width_float, device.preferred_vector_width_float, 4)
        vector_bytes = 4 * max(widths)
        registers = 32 if vector_bytes == 64 else 16
        l1, l2 = _cpu_caches()
    else:
        vector_bytes, registers = 16, 255
        l1, l2 = device.local_mem_size, device.global_mem_cache_size
    return DeviceCaps(
        name=device.name.strip(),
        kind=kind,
        compute_units=device.max_compute_units,
        vector_bytes=vector_bytes,
        registers=registers,
        # NVIDIA's runtime keeps some of a work-group's for itself, and says so only when a kernel is launched.
        local_memory=device.local_mem_size - (_KEPT if _nvidia(device) else 0),
        max_work_group=device.max_work_group_size,
        l1=l1,
        l2=l2,
        fp64="cl_khr_fp64" in extensions,
        fp16="cl_khr_fp16" in extensions,
        max_allocation=device.max_mem_alloc_size,
        offsets=kind == "gpu",
        mixed_lanes=device.platform.name.strip() == "Portable Computing Language",
        async_copies=_nvidia(device) >= _AMPERE,
        nan_extrema=_nvidia(device) >= _AMPERE,
        split_vectors=_nvidia(device) > 0,
        atoms=atoms_of(_nvidia(device)),
        subgroup=_WARP if _nvidia(device) >= _VOLTA else 0,
    )


def _nvidia(device: cl.Device) -> int:
    """The number of an NVIDIA GPU's architecture; 0 for others."""
    if "cl_nv_device_attribute_query" not in device.extensions:
        return 0
    return 10 * int(device.compute_capability_major_nv) + int(device.compute_capability_minor_nv)


@cache
def _cpu_caches() -> tuple[int, int]:
    """Bytes of one core's data cache of level 1 and of its cache of level 2; usual sizes where not readable."""
    sizes = {1: 32 * 1024, 2: 1024 * 1024}
    try:
        for folder in _CPU_CACHES.glob("index*"):
            level = int((folder / "level").read_text())
            if (folder / "type").read_text().strip() != "Instruction" and level in sizes:
                sizes[level] = _bytes((folder / "size").read_text().strip())
    except (OSError, ValueError):
        pass
    return sizes[1], sizes[2]


def _bytes(text: str) -> int:
    units = {"K": 1024, "M": 1024**2}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


@cache
def cpu_model() -> str:
    """Processor model and instruction sets, the same in every process on this machine.

    Examples
    --------
    >>> cpu_model()  # doctest: +SKIP
    'x86_64;model name: Intel(R) Xeon(R) Processor;model: 207;...'
    """
    facts = [platform.machine()]
    try:
        first_core = _CPU_INFO.read_text().split("\n\n")[0]
    except OSError:
        return facts[0] + ";" + platform.processor()
    for line in first_core.splitlines():
        key, _, value = (part.strip() for part in line.partition(":"))
        if key in ("model name", "cpu family", "model", "stepping", "CPU part"):
            facts.append(f"{key}: {value}")
        elif key in ("flags", "Features"):
            facts.append(" ".join(sorted(flag for flag in value.split() if flag.startswith(_INSTRUCTION_SETS))))
    return ";".join(facts)
