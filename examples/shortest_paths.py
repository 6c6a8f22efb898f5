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

two_steps = mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}, "A[i,k], B[k,j] -> C[i,j]")
shortest = roads
for _ in range(int(np.ceil(np.log2(PLACES)))):
    shortest = two_steps(shortest, shortest)

# Floyd and Warshall's algorithm, for comparison.
expected = roads.copy()
for k in range(PLACES):
    expected = np.minimum(expected, expected[:, k, None] + expected[k])
np.testing.assert_allclose(shortest, expected, rtol=1e-5)

reached = np.isfinite(shortest)
print(f"{reached.mean():.0%} of the places reach each other, the longest shortest way is {shortest[reached].max():.1f}")
