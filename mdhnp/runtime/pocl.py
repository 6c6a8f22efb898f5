"""Tells PoCL's compiler what processor it compiles for, where it does not know this one.

Takes a PoCL device, changes one name in it. PoCL's wheel (3.0, LLVM 14 of 2022) asks LLVM for the processor's name, and
LLVM calls what it has never heard of, such as AMD's Zen 5, "generic". Its own front end then refuses that for every
kernel: ``unknown target CPU 'generic'`` (pocl/pocl#1049). There is no option and no variable for the name, but it
stands in the device as a pointer to text, after one to the target's triple. Only where both are found is the name
replaced, by that of a processor with the same vector instructions.
"""

import ctypes
import os
import struct
from itertools import pairwise
from pathlib import Path

__all__ = ["name_processor", "processor"]

_CPU_INFO = Path("/proc/cpuinfo")
_MEMORY = Path("/proc/self/mem")

_AVX2 = frozenset(["avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "popcnt"])

#: LLVM's names of processors, and what must be among this one's flags for each; the first that fits is taken.
_PROCESSORS: tuple[tuple[str, frozenset[str]], ...] = (
    ("skylake-avx512", _AVX2 | {"adx", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}),
    ("haswell", _AVX2),
    ("x86-64", frozenset()),
)

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


def name_processor(device: int) -> bool:
    """Give a device's processor a name if PoCL has none for it.

    Parameters
    ----------
    device : int
        Address of a CPU device of PoCL's on x86-64 Linux.

    Returns
    -------
    bool
        Whether there was a name to give. Where memory cannot be read nothing is changed.
    """
    try:
        memory = os.open(_MEMORY, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        content = _read(memory, device, _SEARCHED)
        words = struct.unpack_from(f"{len(content) // 8}Q", content)
        for n, (first, second) in enumerate(pairwise(words)):
            if _text(memory, second) == b"generic" and _text(memory, first).startswith(b"x86_64-"):
                name = processor(_flags())
                text = _given.setdefault(name, ctypes.create_string_buffer(name.encode()))
                ctypes.c_void_p.from_address(device + 8 * (n + 1)).value = ctypes.addressof(text)
                return True
    finally:
        os.close(memory)
    return False


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
