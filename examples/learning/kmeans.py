"""
K-means: nearest centres and their means
========================================

A step of k-means finds the nearest of some centres for each sample, then the mean of each centre's samples. The first
half is one fused function; distances of all samples to all centres, an array in NumPy, are never written.

Results are the same as NumPy's but for rounding, and so are the clusters.
"""

import timeit
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import mdhnp

CENTRES = 64
digits = load_digits().data.astype(np.float32)
x = np.tile(digits, (4, 1))  # four times the digits, with noise
x += np.random.default_rng(0).normal(0, 1, x.shape).astype(np.float32)


def nearest(x, centres):
    """Give the nearest centre of each row, and a distance that lacks the row's own square."""
    distances = (centres * centres).sum(axis=1) - 2 * (x @ centres.T)
    return distances.argmin(axis=1), distances.min(axis=1)


fused = mdhnp.fuse(nearest)


def clustered(nearest, steps=12):
    centres = digits[:: len(digits) // CENTRES][:CENTRES].copy()
    costs = []
    for _ in range(steps):
        which, distance = nearest(x, centres)
        costs.append(np.mean(distance, dtype=float) + np.mean(x * x, dtype=float) * x.shape[1])
        member = (which[:, np.newaxis] == np.arange(CENTRES)).astype(np.float32)
        centres = member.T @ x / np.maximum(member.sum(axis=0), 1)[:, np.newaxis]
    return centres, costs


# %%
# Both give the same clusters. The times are of the fused half.

mdhnp.prepare(fused, x, digits[:CENTRES])
centres, costs = clustered(fused)
_, expected = clustered(nearest)
np.testing.assert_allclose(costs, expected, rtol=1e-3)

for name, f in (("NumPy", nearest), ("mdhnp", fused)):
    milliseconds = min(timeit.repeat(partial(f, x, centres), number=1, repeat=5)) * 1e3
    print(f"{name}: {milliseconds:.2f} ms for the nearest of {CENTRES} centres of {len(x)} samples")

# %%
# The centres, as pictures.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.imshow(centres.reshape(8, 8, 8, 8).swapaxes(1, 2).reshape(64, 64), cmap="gray_r")
left.set(title=f"{CENTRES} centres", xticks=[], yticks=[])
right.plot(range(1, len(costs) + 1), costs, "o-")
right.set(xlabel="step", ylabel="mean square (grey values²)", title="distance to the nearest centre")
plt.show()
