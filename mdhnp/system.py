"""What operating systems differ in, and how long BLAS's threads spin after a call of NumPy's, set before it is loaded.

Imports nothing of the package, whose modules load NumPy.
"""

import mmap
import os
import sys
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


# For 0.1 s after each product of matrices threads of OpenBLAS do nothing on as many cores, which kernels on a CPU then
# lack. The variable is read once, when OpenBLAS is loaded.

#: Two to this power is the number of a core's cycles for which an idle thread of OpenBLAS spins; 26 by default.
_CYCLES = "16"

#: Seconds for which they were seen to spin where nobody has said so.
_SPINNING = 0.13


def rest_soon() -> None:
    """Let the threads sleep after 2^16 cycles, some 20 µs, if that can still be said and nobody else has."""
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", _CYCLES)


def spinning() -> float:
    """Give the seconds for which threads of NumPy's BLAS may take cores from others after a call."""
    return 0.0 if "OPENBLAS_THREAD_TIMEOUT" in os.environ else _SPINNING
