"""
Shortest ways by a min-plus product
===================================

A product of matrices in which ``min`` adds and ``+`` multiplies takes two steps at once; after log2(n) squarings all
pairs' shortest ways are known. NumPy has no such product.

One argument of ``matmul`` is enough: the kernel is made like that of any product, in tiles that stay in registers and
caches, where NumPy would write all n³ sums, or a loop over rows n² at a time.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np

import mdhnp

PLACES = 400

rng = np.random.default_rng(7)
places = rng.random((PLACES, 2), np.float32)
apart = np.linalg.norm(places[:, np.newaxis] - places, axis=2)
near = np.sort(apart, axis=1)[:, 4, np.newaxis]  # roads lead to the four nearest places
roads = np.where((apart <= near) | (apart <= near.T), apart, np.float32(np.inf))


def min_plus(a, b):
    return mdhnp.matmul(a, b, semiring=mdhnp.semiring.min_plus)


shortest = roads
for _ in range(int(np.ceil(np.log2(PLACES)))):
    shortest = min_plus(shortest, shortest)

# %%
# Floyd and Warshall's algorithm gives the same. ``add="argmin"`` says where a least sum is: between which two ways.

expected = roads.copy()
for k in range(PLACES):
    expected = np.minimum(expected, expected[:, k, None] + expected[k])
np.testing.assert_allclose(shortest, expected, rtol=1e-5)

length, via = mdhnp.matmul(roads + np.diag(np.full(PLACES, np.inf)), shortest, multiply=np.add, add="argmin")

# %%
# One product, made by NumPy row by row and by a kernel.

mdhnp.prepare(min_plus, roads, roads)
ours = min(timeit.repeat(lambda: min_plus(roads, roads), number=1, repeat=5))
rows = min(timeit.repeat(lambda: np.array([(row[:, None] + roads).min(axis=0) for row in roads]), number=1, repeat=1))
print(f"a min-plus product of {PLACES}³: NumPy {rows * 1e3:.0f} ms, mdhnp {ours * 1e3:.1f} ms")

start = int(np.argmin(places.sum(axis=1)))
goal = int(np.argmax(np.where(np.isfinite(shortest[start]), places.sum(axis=1), -1)))
way = [start]
while way[-1] != goal:
    way.append(int(via[way[-1], goal]))

figure, axes = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
for i, j in np.argwhere(np.isfinite(np.triu(roads, 1)) & (np.triu(apart, 1) > 0)):
    axes.plot(*places[[i, j]].T, color="0.8", linewidth=0.8, zorder=0)
dots = axes.scatter(places[:, 0], places[:, 1], c=shortest[start], s=14)
axes.plot(*places[way].T, "o-", color="C3", markersize=4, label=f"shortest way of {len(way) - 1} roads")
figure.colorbar(dots, label="length of the shortest way from the lower left (map units)")
axes.set(aspect="equal", xlabel="x (map units)", ylabel="y (map units)")
axes.legend(loc="upper left")
plt.show()
