"""What operating systems differ in: processors, memory, and addresses that no memory is behind."""

import mmap
import os
import time
from contextlib import suppress
from pathlib import Path


def cores() -> int:
    """Return how many processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """Return the bytes of the machine's memory; 0 where the system does not tell."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0


def free() -> int:
    """Return the bytes of memory that this process may still take; 0 where the system does not tell (not Linux)."""
    found = []
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    with suppress(OSError, ValueError):  # "max" is no limit
        group = Path("/sys/fs/cgroup")
        limit, used = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
        found.append(max(limit - used, 0))
    return min(found, default=0)


def give_way() -> None:
    """Let other threads run that want to, at once: `time.sleep(0)` sleeps for 70 µs on Linux (Python 3.11 to 3.13)."""
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    else:
        time.sleep(0)


def addresses(size: int) -> mmap.mmap:
    """Give addresses of so many bytes, which nobody may read; OSError if there are none.

    Where a system has no such (Windows), memory is behind those that are read.
    """
    if hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0)
    return mmap.mmap(-1, size)
