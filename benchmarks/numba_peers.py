"""What a good programmer writes with Numba for work that no library does; importing this needs Numba."""

from typing import Any

import numpy as np
from numba import njit, prange

__all__ = ["best_pairs", "min_plus"]

_BLOCK = 512


@njit(parallel=True, cache=False)
def min_plus(a: Any, b: Any, out: Any) -> Any:
    """Give ``out[i, j] = min over k of a[i, k] + b[k, j]``; k is unrolled so that `out` is touched less."""
    rows, inner = a.shape
    columns = b.shape[1]
    for i in prange(rows):
        row = out[i]
        row[:] = np.float32(np.inf)
        for k in range(0, inner - 3, 4):
            a0, a1, a2, a3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            for j in range(columns):
                v0, v1, v2, v3 = a0 + b[k, j], a1 + b[k + 1, j], a2 + b[k + 2, j], a3 + b[k + 3, j]
                v0 = v0 if v0 < v1 else v1
                v2 = v2 if v2 < v3 else v3
                v0 = v0 if v0 < v2 else v2
                row[j] = v0 if v0 < row[j] else row[j]
        for k in range(inner - inner % 4, inner):
            for j in range(columns):
                v = a[i, k] + b[k, j]
                row[j] = v if v < row[j] else row[j]
    return out


@njit(fastmath=True, inline="always")
def _largest(values: Any, count: int) -> Any:
    """Give the maximum; without NaN and in any order, so that it becomes vector code."""
    best = values[0]
    for j in range(1, count):
        best = max(best, values[j])
    return best


@njit(parallel=True, cache=False)
def best_pairs(new: Any, existing: Any, agree: Any, differ: Any, low: Any, high: Any) -> Any:
    """Keep for every new record the heaviest existing one, the first of equals.

    Existing records are taken in blocks, field by field, so that the inner loop runs in vectors.
    """
    fields, count = new.shape
    other = existing.shape[1]
    index = np.empty(count, np.int32)
    weight = np.empty(count, np.float32)
    status = np.empty(count, np.int8)
    for i in prange(count):
        total = np.empty(_BLOCK, np.float32)
        best, place = np.float32(-np.inf), -1
        for begin in range(0, other, _BLOCK):
            size = min(_BLOCK, other - begin)
            for f in range(fields):
                code, yes, no = new[f, i], agree[f, i], differ[f, i]
                row = existing[f, begin : begin + size]
                if f == 0:
                    for j in range(size):
                        total[j] = yes if row[j] == code else no
                else:
                    for j in range(size):
                        total[j] += yes if row[j] == code else no
            if _largest(total, size) > best:
                for j in range(size):
                    if total[j] > best:
                        best, place = total[j], begin + j
        index[i], weight[i] = place, best
        status[i] = 2 if best > high else (0 if best < low else 1)
    return index, weight, status
