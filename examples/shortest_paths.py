"""Shortest ways between all places of a random road map, by repeated squaring of its min-plus matrix.

A product of matrices in which `min` adds and `+` multiplies takes two steps at once; after log2(n) squarings every
way is covered. NumPy has no such product.
"""

import numpy as np

import mdhnp

PLACES = 200

rng = np.random.default_rng(7)
roads = np.full((PLACES, PLACES), np.inf, np.float32)
np.fill_diagonal(roads, 0)
starts, ends = rng.integers(0, PLACES, (2, 4 * PLACES))
roads[starts, ends] = np.minimum(roads[starts, ends], rng.uniform(1, 10, len(starts)))

shortest = roads
for _ in range(int(np.ceil(np.log2(PLACES)))):
    shortest = mdhnp.matmul(shortest, shortest, semiring=mdhnp.semiring.min_plus)

# Floyd and Warshall's algorithm, for comparison.
expected = roads.copy()
for k in range(PLACES):
    expected = np.minimum(expected, expected[:, k, None] + expected[k])
np.testing.assert_allclose(shortest, expected, rtol=1e-5)

# The place that a shortest way of two parts goes through is where the sum is least.
length, via = mdhnp.matmul(shortest, shortest, multiply=np.add, add="argmin")
np.testing.assert_allclose(length, shortest, rtol=1e-5)
np.testing.assert_array_equal(np.take_along_axis(shortest, via, 1) + shortest[via, np.arange(PLACES)], length)

reached = np.isfinite(shortest)
print(f"{reached.mean():.0%} of the places reach each other, the longest shortest way is {shortest[reached].max():.1f}")
