"""What a good programmer writes with Numba in place of several NumPy calls; importing this needs Numba."""

from typing import Any

import numpy as np
from numba import njit, prange

__all__ = [
    "blurred_gradient", "hypotenuse", "kernel_matrix", "moments", "nearest", "normalised", "relaxed_2d", "relaxed_3d",
    "running", "softmax", "softmax_product", "standardised",
]  # fmt: skip


@njit(parallel=True, fastmath=True)
def hypotenuse(a: Any, b: Any, c: Any) -> Any:
    """Give ``sqrt(a * a + b * b) * c``."""
    out = np.empty_like(a)
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = np.sqrt(a[i, j] * a[i, j] + b[i, j] * b[i, j]) * c[i, j]
    return out


@njit(parallel=True, fastmath=True)
def moments(x: Any) -> Any:
    """Give means and variances of rows, each row twice while it is in the cache."""
    means, variances = np.empty(x.shape[0], x.dtype), np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        mean = total / np.float32(x.shape[1])
        squares = np.float32(0)
        for j in range(x.shape[1]):
            squares += (x[i, j] - mean) * (x[i, j] - mean)
        means[i], variances[i] = mean, squares / np.float32(x.shape[1])
    return means, variances


@njit(parallel=True, fastmath=True)
def softmax(x: Any) -> Any:
    """Give exponentials of rows divided by their sums, each row while it is in the cache."""
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        largest = x[i, 0]
        for j in range(x.shape[1]):
            largest = max(largest, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            power = np.exp(x[i, j] - largest)
            out[i, j] = power
            total += power
        scale = np.float32(1) / total
        for j in range(x.shape[1]):
            out[i, j] *= scale
    return out


@njit(parallel=True, fastmath=True)
def softmax_product(x: Any, v: Any) -> Any:
    """Give the softmax of rows times a matrix, each row while it is in the cache."""
    out = np.zeros((x.shape[0], v.shape[1]), x.dtype)
    for i in prange(x.shape[0]):
        largest = x[i, 0]
        for j in range(x.shape[1]):
            largest = max(largest, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            power = np.exp(x[i, j] - largest)
            total += power
            for k in range(v.shape[1]):
                out[i, k] += power * v[j, k]
        for k in range(v.shape[1]):
            out[i, k] /= total
    return out


@njit(parallel=True, fastmath=True)
def normalised(x: Any) -> Any:
    """Give rows of mean 0 and variance 1, each while it is in the cache."""
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        mean = total / np.float32(x.shape[1])
        squares = np.float32(0)
        for j in range(x.shape[1]):
            squares += (x[i, j] - mean) * (x[i, j] - mean)
        scale = np.float32(1) / np.sqrt(squares / np.float32(x.shape[1]) + np.float32(1e-5))
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean) * scale
    return out


@njit(parallel=True, fastmath=True)
def nearest(x: Any, centres: Any) -> Any:
    """Give for each row the nearest of some points."""
    out = np.empty(x.shape[0], np.int64)
    for i in prange(x.shape[0]):
        best, least = 0, np.float32(np.inf)
        for c in range(centres.shape[0]):
            squares = np.float32(0)
            for k in range(x.shape[1]):
                squares += (x[i, k] - centres[c, k]) * (x[i, k] - centres[c, k])
            if squares < least:
                best, least = c, squares
        out[i] = best
    return out


@njit(parallel=True, fastmath=True)
def standardised(x: Any) -> Any:
    """Give columns of mean 0 and variance 1; each thread adds up rows of its own."""
    rows, columns = x.shape
    parts = 16
    sums, squares = np.zeros((parts, columns), np.float32), np.zeros((parts, columns), np.float32)
    for p in prange(parts):
        for i in range(p * rows // parts, (p + 1) * rows // parts):
            for j in range(columns):
                sums[p, j] += x[i, j]
    mean = sums.sum(0) / np.float32(rows)
    for p in prange(parts):
        for i in range(p * rows // parts, (p + 1) * rows // parts):
            for j in range(columns):
                squares[p, j] += (x[i, j] - mean[j]) * (x[i, j] - mean[j])
    scale = np.float32(1) / np.sqrt(squares.sum(0) / np.float32(rows))
    out = np.empty_like(x)
    for i in prange(rows):
        for j in range(columns):
            out[i, j] = (x[i, j] - mean[j]) * scale[j]
    return out


@njit(parallel=True, fastmath=True)
def kernel_matrix(x: Any, y: Any) -> Any:
    """Give Gaussian kernels of all pairs of rows, after BLAS's product."""
    out = x @ y.T
    own, others = (x * x).sum(1), (y * y).sum(1)
    for i in prange(x.shape[0]):
        for j in range(y.shape[0]):
            out[i, j] = np.exp((own[i] + others[j] - np.float32(2) * out[i, j]) * np.float32(-0.1))
    return out


@njit(parallel=True, fastmath=True)
def blurred_gradient(x: Any) -> Any:
    """Give the length of a blurred image's gradient, by way of the blurred image."""
    rows, columns = x.shape
    blurred = np.empty((rows - 2, columns - 2), x.dtype)
    quarter, two = np.float32(0.25), np.float32(2)
    for i in prange(rows - 2):
        line = np.empty(columns, x.dtype)
        for j in range(columns):
            line[j] = (x[i, j] + two * x[i + 1, j] + x[i + 2, j]) * quarter
        for j in range(columns - 2):
            blurred[i, j] = (line[j] + two * line[j + 1] + line[j + 2]) * quarter
    out = np.empty((rows - 4, columns - 4), x.dtype)
    for i in prange(rows - 4):
        for j in range(columns - 4):
            down = blurred[i + 2, j + 1] - blurred[i, j + 1]
            right = blurred[i + 1, j + 2] - blurred[i + 1, j]
            out[i, j] = np.sqrt(down * down + right * right)
    return out


@njit(fastmath=True)
def running(x: Any, y: Any) -> Any:
    """Give the cumulative sum of a product, in one pass; what follows from what is before is no loop for threads."""
    out = np.empty_like(x)
    total = np.float64(0)
    for i in range(len(x)):
        total += x[i] * y[i]
        out[i] = total
    return out


@njit(parallel=True, fastmath=True)
def relaxed_2d(x: Any, steps: int) -> Any:
    """Give means of neighbours' means, and so on; what lies outside counts as 0."""
    rows, columns = x.shape
    now, new = np.zeros((rows + 2, columns + 2), x.dtype), np.zeros((rows + 2, columns + 2), x.dtype)
    now[1:-1, 1:-1] = x
    quarter = np.float32(0.25)
    for _ in range(steps):
        for i in prange(1, rows + 1):
            for j in range(1, columns + 1):
                new[i, j] = (now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]) * quarter
        now, new = new, now
    return now[1:-1, 1:-1]


@njit(parallel=True, fastmath=True)
def relaxed_3d(x: Any, steps: int) -> Any:
    """The same of a cube."""
    planes, rows, columns = x.shape
    shape = (planes + 2, rows + 2, columns + 2)
    now, new = np.zeros(shape, x.dtype), np.zeros(shape, x.dtype)
    now[1:-1, 1:-1, 1:-1] = x
    sixth = np.float32(1 / 6)
    for _ in range(steps):
        for i in prange(1, planes + 1):
            for j in range(1, rows + 1):
                for k in range(1, columns + 1):
                    new[i, j, k] = (
                        now[i - 1, j, k] + now[i + 1, j, k] + now[i, j - 1, k]
                        + now[i, j + 1, k] + now[i, j, k - 1] + now[i, j, k + 1]
                    ) * sixth  # fmt: skip
        now, new = new, now
    return now[1:-1, 1:-1, 1:-1]
