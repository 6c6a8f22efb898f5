"""What all measurements share: operands of random elements, whether results are right, and times of several runs.

It must not know what is measured: candidates of a search beside the default schedule, or kernels beside NumPy.
"""

import time
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.runtime.layout import Layout

Array = npt.NDArray[Any]

#: Random numbers drawn; a prime, so that rows near each other differ. Large arrays repeat them: drawing takes long.
_DRAWN = 1_000_003
#: Elements compared at once, so that temporary arrays stay in the caches.
_PART = 1 << 16
#: How far another order of summation may lead, relative to the largest element, by bytes of a number.
_TOLERANCES = {2: 1e-2, 4: 1e-3, 8: 1e-10}


def drawn(count: int, dtype: np.dtype[Any], rng: np.random.Generator) -> Array:
    """Give random elements.

    Of floats at most 1/2, and so few bits of each that float32 has all of those of x * y + z: where a function is not
    continuous, whoever rounds elsewhere must not find another result.
    """
    few: Array = rng.integers(0, 2049, min(count, _DRAWN))
    if dtype.kind in "fc":
        few = (few - 1024) / 2048
    elif dtype.kind == "b":
        few = few & 1
    else:
        few = few % 100 - 50 * (dtype.kind == "i")
    return np.resize(few.astype(dtype), count)


def filled(layout: Layout, dtype: np.dtype[Any], rng: np.random.Generator) -> Array:
    flat = drawn(layout.nbytes // dtype.itemsize, dtype, rng)
    return np.ndarray(layout.shape, dtype, flat.data, -layout.low, layout.strides)


def tolerance(right: Array) -> float:
    """Give how far a number may be from the right one."""
    if right.dtype.kind not in "fc":
        return 0.0
    real = np.dtype(right.dtype.char.lower())
    parts = right.reshape(-1).view(real)
    return float(np.max(np.abs(parts), initial=0.0, where=np.isfinite(parts))) * _TOLERANCES[real.itemsize]


def is_close(a: Array, right: Array, limit: float | None = None) -> bool:
    """Whether two results differ by no more than another order of summation may bring; of integers, not at all.

    How much that is follows from the right one, unless it is known.
    """
    if right.dtype.kind not in "fc":
        return bool(np.array_equal(a, right))
    limit = tolerance(right) if limit is None else limit
    real = np.dtype(right.dtype.char.lower())
    a, right = a.reshape(-1).view(real), right.reshape(-1).view(real)
    distances = np.empty(min(_PART, len(right)), real)
    for n in range(0, len(right), _PART):
        x, y = a[n : n + _PART], right[n : n + _PART]
        part = distances[: len(x)]
        with np.errstate(invalid="ignore"):
            np.abs(np.subtract(x, y, out=part), out=part)
        # The slow comparison knows infinities and NaN.
        if not part.max() <= limit and not np.allclose(x, y, rtol=0.0, atol=limit, equal_nan=True):
            return False
    return True


def timed(work: Callable[[], Any], fill: float, fewest: int, most: int, enough: float = inf) -> list[float]:
    """Give the seconds of each of several runs, which fill a time within these counts.

    It is only one where that takes longer than `enough`.
    """
    times: list[float] = []
    end = time.perf_counter() + fill
    while len(times) < fewest or (len(times) < most and time.perf_counter() < end):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
        if times[0] > enough:
            break
    return times
