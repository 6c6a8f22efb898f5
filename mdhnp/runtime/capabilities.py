"""Asks an OpenCL device and the operating system for the numbers in :class:`DeviceCaps`.

Takes a pyopencl device, gives a :class:`DeviceCaps`. It must not know which runtime drives the device.
"""

import os
import platform
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import pyopencl as cl

from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.schedule import DeviceCaps

try:
    import resource
except ImportError:  # not POSIX
    resource = None  # type: ignore[assignment]

_CPU_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_CPU_INFO = Path("/proc/cpuinfo")
#: Work-items of NVIDIA's devices that run together, and the first compute capability that lets them do so apart.
_WARP, _VOLTA = 32, 70
#: Bytes of local memory that NVIDIA's runtime (580) needs itself.
_KEPT = 16
# What decides which instructions a compiled kernel may hold. Other flags come and go with the kernel's version.
_INSTRUCTION_SETS = ("sse4", "avx", "fma", "f16c", "amx", "asimd", "sve")

_MODEL = ("model name", "cpu family", "model", "stepping", "CPU part")

#: How Intel's runtime is told which processor to compile for; bytes of a vector of those that have less than it says.
_TARGET = "CL_CONFIG_CPU_TARGET_ARCH"
_TARGETS = {"corei7": 16, "corei7-avx": 32, "core-avx2": 32}

_POCL = "Portable Computing Language"
#: Version of PoCL's wheel, and the first that names the processor which its library is for.
_WHEEL, _POCL_NAMES_WELL = "3.0-rc2", 5
#: AMD's last family that LLVM 14 knows, and takes for Zen 3.
_ZEN_3_AND_4 = 25
#: Intel's models that LLVM 14 knows to have AVX-512, and those that it knows to have none; of others it looks.
_AVX512_MODELS = frozenset([0x55, 0x57, 0x66, 0x6A, 0x6C, 0x7D, 0x7E, 0x85, 0x8C, 0x8D, 0x8F, 0xA7])
_ALDER_LAKE = frozenset([0x97, 0x9A])

#: Bytes that a process must be free to take for loading OpenCL with a first call (Intel's runtime 0.72 GiB, PoCL 6.0
#: 0.80, on two cores), and for compiling a kernel (0.17 GiB). Where they get less they end the process, or hang.
LOADING, COMPILING = 1 << 30, 1 << 28
#: And for each core, on which runtimes start a thread, whose stack is 8 MiB mostly.
_THREAD = 16 << 20

#: Bytes of local memory that Intel's runtime gives a work-group by itself, and those that it is told to give.
INTEL_LOCAL, _MORE_LOCAL = 1 << 18, 1 << 19

#: The first of NVIDIA's architectures that copies to local memory asynchronously.
_AMPERE = 80
#: One of whose work-groups can declare more local memory than its runtime (580) says, and how many bytes.
_HOPPER, _HOPPER_LOCAL = 90, 222 * 1024


def query_caps(device: cl.Device) -> DeviceCaps:
    """Fill in the sizes and limits of a CPU or a GPU."""
    extensions = device.extensions.split()
    # Oclgrind says that it is everything at once; it behaves like a CPU.
    kind: Literal["cpu", "gpu"] = "cpu" if device.type & cl.device_type.CPU else "gpu"
    if kind == "cpu":
        # Intel prefers 1 (it vectorises across work-items itself) with a native width of 16; a simulator says 1
        # for both. Every CPU that runs OpenCL has 16-byte vectors at least.
        widths = (device.native_vector_width_float, device.preferred_vector_width_float, 4)
        vector_bytes = min(4 * max(widths), _TARGETS.get(target(device), 64))
        registers = 32 if vector_bytes == 64 else 16
        l1, l2 = _cpu_caches()
    else:
        vector_bytes, registers = 16, 255
        l1, l2 = device.local_mem_size, device.global_mem_cache_size
    nvidia = _nvidia(device)
    return DeviceCaps(
        name=device.name.strip(),
        kind=kind,
        compute_units=device.max_compute_units,
        vector_bytes=vector_bytes,
        registers=registers,
        # NVIDIA's runtime keeps some of a work-group's for itself, and says so only when a kernel is launched.
        local_memory=(_HOPPER_LOCAL if nvidia == _HOPPER else device.local_mem_size) - (_KEPT if nvidia else 0),
        max_work_group=device.max_work_group_size,
        l1=l1,
        l2=l2,
        fp64="cl_khr_fp64" in extensions,
        max_allocation=device.max_mem_alloc_size,
        offsets=kind == "gpu",
        mixed_lanes=device.platform.name.strip() == _POCL,
        async_copies=nvidia >= _AMPERE,
        nan_extrema=nvidia >= _AMPERE,
        powers=nvidia >= _AMPERE,
        wide_atomics=nvidia >= _HOPPER,
        split_vectors=nvidia > 0,
        atoms=tuple(n for n, a in ATOMS.items() if (nvidia == a.capability if a.wide else nvidia >= a.capability)),
        subgroup=_WARP if nvidia >= _VOLTA else 0,
    )


def target(device: cl.Device) -> str:
    """The processor for which Intel's runtime is told to compile; empty for the one that is there, and for others."""
    return os.environ.get(_TARGET, "") if device.platform.name.startswith("Intel") else ""


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
                text = (folder / "size").read_text().strip()
                sizes[level] = int(text.rstrip("KM")) * {"K": 1024, "M": 1024**2}.get(text[-1], 1)
    except (OSError, ValueError):
        pass
    return sizes[1], sizes[2]


def intel_local_memory() -> int:
    """Bytes of local memory that a work-group of Intel's runtime should have on this processor.

    Tiles as large as the second-level cache made products faster on an EPYC (Zen 3); processors with AVX-512 were not
    measured, and smaller caches do not hold such tiles.
    """
    flags = _flags(_first_core())
    measured = "avx2" in flags and "avx512f" not in flags
    return _MORE_LOCAL if measured and _cpu_caches()[1] >= _MORE_LOCAL else INTEL_LOCAL


@cache
def cpu_model() -> str:
    """Processor model and instruction sets, the same in every process on this machine."""
    core = _first_core()
    if not core:
        return f"{platform.machine()};{platform.processor()}"
    named = [f"{key}: {core[key]}" for key in core if key in _MODEL]
    flags = sorted(flag for flag in _flags(core) if flag.startswith(_INSTRUCTION_SETS))
    return ";".join([platform.machine(), *named, " ".join(flags)])


def refusal(device: cl.Device) -> str | None:
    """Say why a device is not used, and what helps; None if it is.

    PoCL before 5.0 compiles for the processor that LLVM believes to be there. LLVM calls what it has never heard of, as
    AMD's Zen 5, "generic", and its own front end refuses that for every kernel (pocl/pocl#1049). PoCL's wheel (3.0,
    LLVM 14) takes others for one of the same family without AVX-512, as a Zen 4 for a Zen 3, or with it, on virtual
    machines that hide it. But PoCL's library of built-in functions is chosen by the instructions that are there, and
    passes vectors of 64 bytes otherwise than such kernels do. That ends the process (pocl/pocl#1268).
    """
    version = device.driver_version.strip()
    is_pocl = device.platform.name.strip() == _POCL and bool(device.type & cl.device_type.CPU)
    if not is_pocl or platform.machine() != "x86_64" or int(f"0{version}".split(".")[0]) >= _POCL_NAMES_WELL:
        return None
    core = _first_core()
    vendor, family, model = (core.get(key, "") for key in ("vendor_id", "cpu family", "model"))
    if not (family.isdigit() and model.isdigit()):
        return None  # nobody knows
    amd, intel = vendor == "AuthenticAMD", vendor == "GenuineIntel"
    unknown = int(family) > _ZEN_3_AND_4 if amd else not intel
    wide = "avx512f" in _flags(core)
    named_wide = intel and (int(model) in _AVX512_MODELS or (wide and int(model) not in _ALDER_LAKE))
    if not unknown and (version != _WHEEL or wide == named_wide):
        return None
    return (
        f"PoCL {version} mistakes this processor ({core.get('model name', vendor)}) for another one, so that kernels "
        "do not compile or end the process. What helps is Intel's runtime (`pip install intel-opencl-rt "
        "intel-cmplr-lib-rt`), or PoCL 5 or later from the system's packages or conda"
    )


def shortage(needed: int) -> str | None:
    """Say which limit of the process (`ulimit -v`, `-d`) leaves too little for what takes `needed` bytes, if any."""
    needed += (_THREAD * (os.cpu_count() or 1)) if needed == LOADING else 0
    for option, left in _limits():
        if left < needed:
            return f"`ulimit {option}` leaves this process {left >> 20} MiB, and that takes {needed >> 20}"
    return None


def limited() -> str:
    """Say which limits of memory the process has, if any."""
    return "".join(f"; `ulimit {option}` leaves this process {left >> 20} MiB" for option, left in _limits())


def _limits() -> Iterator[tuple[str, int]]:
    """Give the limits of the process that are set: the shell's option, and the bytes that are left."""
    if resource is None:
        return
    for limit, field, option in ((resource.RLIMIT_AS, 0, "-v"), (resource.RLIMIT_DATA, 5, "-d")):
        allowed, _ = resource.getrlimit(limit)
        if allowed == resource.RLIM_INFINITY:
            continue
        try:
            taken = int(Path("/proc/self/statm").read_text().split()[field]) * resource.getpagesize()
        except (OSError, ValueError):
            return
        yield option, max(allowed - taken, 0)


@cache
def _first_core() -> dict[str, str]:
    """What Linux says of the first processor; nothing elsewhere."""
    try:
        lines = _CPU_INFO.read_text().split("\n\n")[0].splitlines()
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}


def _flags(core: dict[str, str]) -> list[str]:
    return core.get("flags", core.get("Features", "")).split()
