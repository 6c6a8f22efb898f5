"""What a good programmer writes with Numba for work that no library does; importing this needs Numba."""

from typing import Any

import numpy as np
from numba import njit, prange

__all__ = ["best_pairs", "distances", "jacobi", "log_sum", "min_plus"]

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


@njit(parallel=True, cache=False)
def log_sum(a: Any, b: Any, out: Any) -> Any:
    """Give ``out[i, j] = log(sum over k of exp(a[i, k] + b[k, j]))`` in two passes, the first for the largest term."""
    rows, inner = a.shape
    columns = b.shape[1]
    for i in prange(rows):
        top = np.full(columns, np.float32(-np.inf))
        for k in range(inner):
            for j in range(columns):
                v = a[i, k] + b[k, j]
                top[j] = v if v > top[j] else top[j]
        total = np.zeros(columns, np.float32)
        for k in range(inner):
            for j in range(columns):
                total[j] += np.exp(a[i, k] + b[k, j] - top[j])
        for j in range(columns):
            out[i, j] = np.log(total[j]) + top[j]
    return out


@njit(parallel=True, fastmath=True, cache=False)
def distances(a: Any, b: Any, out: Any) -> Any:
    """Give ``out[i, j] = sum over k of |a[i, k] - b[j, k]|``; the sum runs in vectors, for four j at once."""
    rows, inner = a.shape
    for i in prange(rows):
        for j in range(0, b.shape[0] - 3, 4):
            t0, t1, t2, t3 = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
            for k in range(inner):
                v = a[i, k]
                t0 += abs(v - b[j, k])
                t1 += abs(v - b[j + 1, k])
                t2 += abs(v - b[j + 2, k])
                t3 += abs(v - b[j + 3, k])
            out[i, j], out[i, j + 1], out[i, j + 2], out[i, j + 3] = t0, t1, t2, t3
        for j in range(b.shape[0] - b.shape[0] % 4, b.shape[0]):
            t0 = np.float32(0)
            for k in range(inner):
                t0 += abs(a[i, k] - b[j, k])
            out[i, j] = t0
    return out


@njit(parallel=True, cache=False)
def jacobi(a: Any, out: Any) -> Any:
    """Give the mean of each cell and its six neighbours; what lies outside counts as 0."""
    n0, n1, n2 = a.shape
    w = np.float32(1 / 7)
    for i in prange(n0):
        for j in range(n1):
            row = out[i, j]
            for k in range(n2):
                row[k] = a[i, j, k]
            for k in range(1, n2):
                row[k] += a[i, j, k - 1]
            for k in range(n2 - 1):
                row[k] += a[i, j, k + 1]
            if 0 < i < n0 - 1 and 0 < j < n1 - 1:
                for k in range(n2):
                    row[k] = w * (row[k] + a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k])
            else:
                for k in range(n2):
                    total = row[k]
                    if i > 0:
                        total += a[i - 1, j, k]
                    if i < n0 - 1:
                        total += a[i + 1, j, k]
                    if j > 0:
                        total += a[i, j - 1, k]
                    if j < n1 - 1:
                        total += a[i, j + 1, k]
                    row[k] = w * total
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
