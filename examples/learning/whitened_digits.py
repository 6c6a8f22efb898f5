"""
Standardise, whiten, compare: a fused pipeline
==============================================

Handwritten digits are standardised, whitened by the eigenvectors of their covariance, and compared by a Gaussian
kernel. Two functions of NumPy code become fused ones by a decorator; ``eigh``, between them, stays NumPy's.

NumPy writes and reads an array for each call. Fused, products keep what is done to their results, and what is read is
standardised on the way.
"""

import timeit
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mdhnp import fuse, prepare


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


# %%
# The functions without their decorators are what NumPy computes.

digits, labels = load_digits(return_X_y=True)
x = digits[np.argsort(labels, kind="stable")].astype(np.float32)


def by_numpy(x):
    variances, vectors = np.linalg.eigh(covariance.function(x))
    return similarity.function(x, vectors[:, -30:], variances[-30:], 0.02)


prepare(kernel_matrix, x)
found = kernel_matrix(x)
np.testing.assert_allclose(found, by_numpy(x), atol=1e-4)

for name, f in (("NumPy", by_numpy), ("mdhnp", kernel_matrix)):
    print(f"{name}: {min(timeit.repeat(partial(f, x), number=1, repeat=5)) * 1e3:.2f} ms")
print(covariance.rewriting(x))

# %%
# Rows are sorted by the digit that they show.

figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
image = axes.imshow(found, cmap="magma", vmax=0.6)
figure.colorbar(image, label="similarity", extend="max")
ends = np.cumsum(np.bincount(labels))
axes.set_xticks(ends - np.bincount(labels) / 2, [*"0123456789"])
axes.set_yticks(ends - np.bincount(labels) / 2, [*"0123456789"])
axes.set(xlabel="digit", ylabel="digit", title="similarity of whitened digits")
plt.show()
