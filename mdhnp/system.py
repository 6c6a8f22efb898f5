"""What operating systems differ in: processors, memory, and addresses that no memory is behind."""

import mmap
import os


def cores() -> int:
    """Return how many processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """Return the bytes of the machine's memory; 0 where the system does not tell."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0


def addresses(size: int) -> mmap.mmap:
    """Give addresses of so many bytes, which nobody may read; OSError if there are none.

    Where a system has no such (Windows), memory is behind those that are read.
    """
    if hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0)
    return mmap.mmap(-1, size)
