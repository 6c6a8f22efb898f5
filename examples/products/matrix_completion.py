"""
A matrix of which few elements are known
========================================

Readers have rated a few books each. The matrix of all ratings is guessed as a product of two narrow ones, tastes of
readers and properties of books, which are fitted to what is known by steepest descent.

Each step needs the product at the known places only: ``einsum("ij,ik,jk->ij", known, tastes, properties)`` with a
sparse ``known`` computes these, and no other element. The errors there, sparse again, are multiplied by the narrow
matrices.
"""

import timeit
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

import mdhnp

READERS, BOOKS, FEATURES, STEPS = 3000, 2000, 16, 60
rng = np.random.default_rng(0)

tastes, properties = (rng.normal(0, 0.5, (n, FEATURES)).astype(np.float32) for n in (READERS, BOOKS))
known = sparse.random_array((READERS, BOOKS), density=0.05, rng=rng, dtype=np.float32, format="csr")
known.data[:] = 1
ratings = mdhnp.einsum("ij,ik,jk->ij", known, tastes, properties)

# %%
# SciPy multiplies sparse matrices by dense ones, but has no product at some places: NumPy gathers a row of both factors
# for each of them.


def by_mdhnp(u, v):
    errors = mdhnp.einsum("ij,ik,jk->ij", known, u, v)
    errors.data -= ratings.data
    return errors, mdhnp.matmul(errors, v), mdhnp.matmul(errors.T, u)


rows = np.repeat(np.arange(READERS), np.diff(known.indptr))


def by_numpy(u, v):
    errors = known.copy()
    errors.data = np.einsum("pk,pk->p", u[rows], v[known.indices]) - ratings.data
    return errors, errors @ v, errors.T @ u


def fitted(step):
    start = np.random.default_rng(1)
    u, v = (start.normal(0, 0.3, (n, FEATURES)).astype(np.float32) for n in (READERS, BOOKS))
    course = []
    for _ in range(STEPS):
        errors, along_u, along_v = step(u, v)
        course.append(np.sqrt(np.mean(errors.data**2)))
        u, v = u - np.float32(0.02) * along_u, v - np.float32(0.02) * along_v
    return u, v, course


mdhnp.prepare(by_mdhnp, tastes, properties)
u, v, course = fitted(by_mdhnp)
np.testing.assert_allclose(course, fitted(by_numpy)[2], rtol=1e-3)
numpys, ours = (min(timeit.repeat(partial(fitted, step), number=1, repeat=3)) for step in (by_numpy, by_mdhnp))
print(f"{STEPS} steps, {known.nnz} ratings: NumPy and SciPy {numpys * 1e3:.0f} ms, mdhnp {ours * 1e3:.0f} ms")

# %%
# What is known is explained better with each step, and so is what is not.

unknown = np.sqrt(np.mean((u @ v.T - tastes @ properties.T) ** 2))
print(f"error of all ratings: {unknown:.3f}, of guessing their mean: {np.std(tastes @ properties.T):.2f}")

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(course)
axes.axhline(unknown, color="0.6", linestyle="--", label="all ratings, at the end")
axes.set(xlabel="step", ylabel="error of known ratings", ylim=(0, None))
axes.legend()
plt.show()
