"""Tells the PoCL of PyPI what processor it compiles for, so that tests run on it where the package leaves it out.

That PoCL (3.0, LLVM 14 of 2022) takes Zen 4 and Zen 5 for other processors: see `mdhnp.runtime.capabilities.refusal`.
There is no option and no variable for the name, but it stands in the device as a pointer to text, after one to the
target's triple. Only where both are found is the name replaced, by that of a processor with the same vector
instructions. This writes into another library's memory, which is for tests only.
"""

import ctypes
import os
import re
import struct
import sys
from importlib.machinery import PathFinder
from itertools import pairwise
from pathlib import Path

_AVX2 = frozenset(["avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "popcnt"])

#: LLVM's names of processors, and what must be among this one's flags for each; the first that fits is taken.
_PROCESSORS = (
    ("skylake-avx512", _AVX2 | {"adx", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}),
    ("haswell", _AVX2),
    ("x86-64", frozenset()),
)

_names: dict[str, ctypes.Array[ctypes.c_char]] = {}  # devices point at them as long as the process lives


class _Finder:
    """Has `refusal` mend what it would refuse, as soon as its module is imported."""

    def find_spec(self, name, path=None, target=None):
        if name != "mdhnp.runtime.capabilities":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module

        def execute_and_mend(module):
            execute(module)
            refusal = module.unmended = module.refusal
            module.refusal = lambda device: (why := refusal(device)) and (None if name_processor(device) else why)

        spec.loader.exec_module = execute_and_mend
        return spec


def install() -> None:
    """Name processors in this process, which has not loaded mdhnp yet."""
    sys.meta_path.insert(0, _Finder())


def name_processor(device) -> bool:
    """Give a device's processor the name that it should have; whether that was found."""
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        words = struct.unpack("256Q", os.pread(memory, 2048, device.int_ptr))
        for n, (first, second) in enumerate(pairwise(words)):
            known = re.fullmatch(rb"[a-z][a-z0-9-]+", _text(memory, second))
            if known and _text(memory, first).startswith(b"x86_64-"):
                name = _processor()
                text = _names.setdefault(name, ctypes.create_string_buffer(name.encode()))
                ctypes.c_void_p.from_address(device.int_ptr + 8 * (n + 1)).value = ctypes.addressof(text)
                return True
    finally:
        os.close(memory)
    return False


def _text(memory: int, address: int) -> bytes:
    try:
        return os.pread(memory, 32, address).partition(b"\0")[0]
    except (OSError, OverflowError):  # no address: a plain access would end the process
        return b""


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = next(line for line in lines if line.startswith("flags")).partition(":")[2].split()
    return next(name for name, needed in _PROCESSORS if needed <= set(flags))
