"""Handwritten digits standardised, whitened and compared by a Gaussian kernel, from NumPy to mdhnp by two decorators.

Run as a script, this file executes its own text once more without the decorators, as it was written for NumPy, and
compares results and times. Eigenvectors, between both functions, stay NumPy's. It needs scikit-learn.
"""

import timeit
from pathlib import Path

from mdhnp import fuse, prepare  # isort: skip (before NumPy, so that its threads rest between calls)
import numpy as np
from sklearn.datasets import load_digits


def standardised(x):
    """Give columns of mean 0 and variance 1; those of a constant are 0."""
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)


@fuse
def covariance(x):
    """Give the covariance matrix of standardised columns."""
    z = standardised(x)
    return z.T @ z / len(z)


@fuse
def similarity(x, vectors, variances, gamma):
    """Compare all rows with each other, along principal components that are scaled to variance 1."""
    w = standardised(x) @ (vectors / np.sqrt(variances))
    squares = (w * w).sum(axis=1)
    distances = np.maximum(squares[:, np.newaxis] + squares - 2 * (w @ w.T), 0)
    return np.exp(-gamma * distances)


def kernel_matrix(x, components=30, gamma=0.02):
    """Whiten rows, and compare all with each other."""
    variances, vectors = np.linalg.eigh(covariance(x))
    return similarity(x, vectors[:, -components:], variances[-components:], gamma)


def main(copies=1):
    """Compare both on so many copies of the digits."""
    x = np.tile(load_digits().data.astype(np.float32), (copies, 1))
    before = {"__name__": "before"}
    exec(Path(__file__).read_text().replace("from mdhnp import fuse, prepare", "").replace("@fuse", ""), before)
    calls = [lambda f=f: f(x) for f in (before["kernel_matrix"], kernel_matrix)]

    print(f"the first call takes {timeit.timeit(calls[1], number=1):.2f} s")
    prepare(kernel_matrix, x)  # else NumPy computes until calls have cost as much as compiling
    expected, found = (call() for call in calls)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    numpys, ours = np.min([[timeit.timeit(call, number=1) for call in calls] for _ in range(10)], axis=0)
    print(f"later ones {ours * 1e3:.2f} ms, NumPy's {numpys * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
