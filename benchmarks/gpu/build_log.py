"""What NVIDIA's compiler says of kernels: registers of a work-item, and what it had to spill.

Takes a build log, of the option ``-cl-nv-verbose``; knows no device.
"""

import re
from typing import NamedTuple

__all__ = ["Resources", "resources"]

_ENTRY = re.compile(r"Compiling entry function '?(\w+)'?")
_SPILLED = re.compile(r"(\d+) bytes spill stores")
_USED = re.compile(r"Used (\d+) registers")


class Resources(NamedTuple):
    """Of a work-item of one kernel: registers, and the bytes that are stored for want of more."""

    kernel: str
    registers: int
    spilled: int


def resources(log: str) -> tuple[Resources, ...]:
    """Give every kernel's; none of a log without them, as of a program that the driver had compiled before."""
    found = []
    for part in re.split(r"(?=Compiling entry function)", log):
        entry, used = _ENTRY.search(part), _USED.search(part)
        if entry and used:
            spilled = sum(int(count) for count in _SPILLED.findall(part))
            found.append(Resources(entry[1], int(used[1]), spilled))
    return tuple(found)
