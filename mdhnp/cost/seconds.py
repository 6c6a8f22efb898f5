"""Seconds: what work takes on a machine, where no schedule is known, by kernels and by NumPy.

The models of schedules (`schedule/`) say what a known schedule makes of it.
"""

from mdhnp.cost.machine import Machine, NumpyRates
from mdhnp.cost.work import NumpyWork, Work

__all__ = ["numpy_seconds", "seconds"]

#: Multiply-adds up to which OpenBLAS uses one thread.
_ONE_THREAD = 1 << 20
#: Bytes of operands and results that a core's caches hold.
_NEAR = 1 << 20
#: Bytes of arrays that a CPU's last cache may hold already: Xeon's and EPYC's have 32 to 64 MB for a program.
_CACHED = 64 << 20


def seconds(work: Work, machine: Machine, *, cached: bool = False) -> float:
    """Return the seconds that no schedule gets below, the launch aside: the roofline (Williams et al., 2009).

    Where arrays may be `cached`, a CPU reads what its last cache holds in no time.
    """
    computing = (work.float32 / machine.float32 + work.float64 / machine.float64) / 2  # a multiply-add is two
    held = _CACHED if cached and machine.kind == "cpu" else 0
    return max(computing, (work.read + work.written - held) / machine.memory)


def numpy_seconds(work: NumpyWork, rates: NumpyRates) -> tuple[float, float]:
    """Return the seconds that a function of NumPy's takes by estimate, and at least."""
    double = work.char in "dD"
    parts = 4 if work.char in "FD" else 1  # multiply-adds of real numbers in one of complex ones
    core, threads = (rates.float64, rates.threads64) if double else (rates.float32, rates.threads32)
    loop = {"e": rates.loop_float16, "F": rates.loop_complex64, "D": rates.loop_complex128}.get(work.char, rates.loop)
    multiplied = parts * work.multiplied
    few, fastest = min(multiplied, _ONE_THREAD), max(threads, core)
    multiplying = few / core + (multiplied - few) / fastest
    # BLAS reads ahead while it multiplies; loops that walk through arrays wait for them.
    waiting = work.walked / loop + work.copied / rates.copying
    floor = max(multiplied / fastest, max(work.moved - _CACHED, 0) / rates.memory)
    reading = work.moved / (rates.cache if work.moved <= _NEAR else rates.memory)
    return rates.call + max(multiplying, reading) + waiting, rates.call + floor
