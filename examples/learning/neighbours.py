"""
All pairs: nearest neighbours and a kernel density
==================================================

Both compare every point with every other one. Written by broadcasting, as here, NumPy would make an array of all pairs:
with 20,000 points 1.6 GB for the distances alone. Fused, each is one kernel that keeps, for each point, the nearest
neighbours or the sum so far.

SciPy's trees find the same neighbours, and its distances, block by block, the same densities.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

import mdhnp

rng = np.random.default_rng(0)
turns = rng.uniform(0.5, 3, 20_000)
spiral = np.stack([turns * np.cos(4 * turns), turns * np.sin(4 * turns), turns], axis=1)
points = (spiral + rng.normal(0, 0.1, spiral.shape)).astype(np.float32)


def squares(x, y):
    return ((x[:, None] - y) ** 2).sum(axis=2)


neighbours = mdhnp.fuse(lambda x, y, k: mdhnp.argkmin(squares(x, y), k))
density = mdhnp.fuse(lambda x, y, width: np.exp(squares(x, y) / (-2 * width**2)).sum(axis=1))

# %%
# The eight nearest of each point, of which the first is the point itself.

distances, nearest = neighbours(points, points, 8)
expected, places = KDTree(points).query(points, 8)
np.testing.assert_allclose(np.sqrt(distances), expected, atol=1e-3)
assert (nearest == places).mean() > 0.999  # but where two are as near, up to rounding

# %%
# The density is higher where the spiral is narrow.

found = density(points, points, 0.7)
some = slice(0, 2000)
expected = np.exp(-(cdist(points[some], points) ** 2) / (2 * 0.7**2)).sum(axis=1)
np.testing.assert_allclose(found[some], expected, rtol=1e-3)

seconds = min(timeit.repeat(lambda: density(points, points, 0.7), number=1, repeat=3))
print(f"{len(points)}² pairs in {seconds:.2f} s: {len(points) ** 2 / seconds / 1e9:.1f} pairs a nanosecond")

# %%
# The points, coloured by density, and the distance to the eighth neighbour, which is large where the density is low.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.scatter(*points[:, :2].T, c=found, s=0.2)
left.set(title="density", aspect="equal", xlabel="x", ylabel="y")
right.loglog(found[::10], np.sqrt(distances[::10, -1]), ".", markersize=2)
right.set(title="eighth neighbour", xlabel="density", ylabel="distance")
plt.show()
