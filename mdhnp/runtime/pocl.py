"""Tells PoCL's compiler what processor it compiles for, where it is mistaken.

Takes a PoCL device, changes one name in it. PoCL's wheel (3.0, LLVM 14 of 2022) asks LLVM for the processor's name, and
gives the kernels' compiler that. It is wrong in two cases:

- LLVM calls what it has never heard of, such as AMD's Zen 5, "generic", and its own front end refuses that for every
  kernel: ``unknown target CPU 'generic'`` (pocl/pocl#1049).
- The name is that of another processor of the same family, such as Zen 3's for a Zen 4, which has AVX-512 besides. PoCL
  chooses its library of built-in functions by the instructions that are there, so the library takes vectors of 64 bytes
  in a register where kernels pass them in memory. Such a call ends the process (``LLVM ERROR: Do not know how to split
  this operator's operand!``), and what it leaves in PoCL's cache has no kernels (``INVALID_KERNEL_NAME``). From 5.0 on
  PoCL names the processor that its library is for (pocl/pocl#1268).

There is no option and no variable for the name, but it stands in the device as a pointer to text, after one to the
target's triple. Only where both are found is the name replaced, by that of a processor with the same vector
instructions.
"""

import ctypes
import os
import re
import struct
from itertools import pairwise
from pathlib import Path

__all__ = ["name_processor", "processor"]

_CPU_INFO = Path("/proc/cpuinfo")
_MEMORY = Path("/proc/self/mem")

_NAME = re.compile("[a-z][a-z0-9-]+")

_AVX2 = frozenset(["avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "popcnt"])

#: LLVM's names of processors, and what must be among this one's flags for each; the first that fits is taken.
_PROCESSORS: tuple[tuple[str, frozenset[str]], ...] = (
    ("skylake-avx512", _AVX2 | {"adx", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}),
    ("haswell", _AVX2),
    ("x86-64", frozenset()),
)

#: LLVM 14's names of processors with AVX-512.
_AVX512 = frozenset([
    "cannonlake", "cascadelake", "cooperlake", "icelake-client", "icelake-server", "knl", "knm", "rocketlake",
    "sapphirerapids", "skylake-avx512", "tigerlake",
])  # fmt: skip

#: Version of PoCL's wheel, whose library is chosen by the processor's instructions.
_WHEEL = "3.0-rc2"

#: Bytes of a device that are searched; the names stand within the first kilobyte.
_SEARCHED = 2048

# Names given to devices, which point at them as long as the process lives.
_given: dict[str, ctypes.Array[ctypes.c_char]] = {}


def processor(flags: frozenset[str]) -> str:
    """Give LLVM's name of a processor with at most these instructions.

    Examples
    --------
    >>> processor(frozenset(["sse2", "avx2"]))
    'x86-64'
    """
    return next(name for name, needed in _PROCESSORS if needed <= flags)


def name_processor(device: int, driver: str) -> str | None:
    """Give a device's processor another name if the one that PoCL has is wrong.

    Parameters
    ----------
    device : int
        Address of a CPU device of PoCL's on x86-64 Linux.
    driver : str
        PoCL's version. Only of the wheel's is it known that its library follows the processor's instructions.

    Returns
    -------
    str or None
        The name that was given, now or by an earlier call; None if PoCL's stays. Where memory cannot be read nothing is
        changed.
    """
    try:
        memory = os.open(_MEMORY, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        content = _read(memory, device, _SEARCHED)
        words = struct.unpack_from(f"{len(content) // 8}Q", content)
        for n, (first, second) in enumerate(pairwise(words)):
            name = _text(memory, second).decode("ascii", "replace")
            if _NAME.fullmatch(name) and _text(memory, first).startswith(b"x86_64-"):
                return _replace(device + 8 * (n + 1), name, driver)
    finally:
        os.close(memory)
    return None


def _replace(pointer: int, name: str, driver: str) -> str | None:
    """Let a pointer to the processor's name point to another one where it must."""
    stands = ctypes.c_void_p.from_address(pointer)
    if stands.value in [ctypes.addressof(text) for text in _given.values()]:
        return name
    flags = _flags()
    if not _is_wrong(name, flags, driver):
        return None
    name = processor(flags)
    stands.value = ctypes.addressof(_given.setdefault(name, ctypes.create_string_buffer(name.encode())))
    return name


def _is_wrong(name: str, flags: frozenset[str], driver: str) -> bool:
    """Whether the compiler refuses the name, or passes vectors otherwise than the library, whose choice is repeated."""
    if name == "generic":
        return True
    return driver == _WHEEL and bool(flags) and (name in _AVX512) != ("avx512f" in flags)


def _read(memory: int, address: int, count: int) -> bytes:
    """Read this process's memory; what is not there is no bytes, where a plain access would end the process."""
    try:
        return os.pread(memory, count, address)
    except (OSError, OverflowError):
        return b""


def _text(memory: int, address: int) -> bytes:
    return _read(memory, address, 32).partition(b"\0")[0]


def _flags() -> frozenset[str]:
    try:
        lines = _CPU_INFO.read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())
