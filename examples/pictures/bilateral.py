"""
A bilateral filter that keeps edges
===================================

A bilateral filter is a blur in which only neighbours of a similar grey value count. Its weights depend on the pixels,
so that no correlation computes it: it is a function of 25 neighbours.

In NumPy each neighbour is a shifted copy of the picture, with some ten arrays written for each. Here all of it
happens in registers, in one pass.
"""

import timeit
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

import mdhnp
from mdhnp.demo.data import picture

RADIUS, NEAR, SIMILAR = 2, 1.5, 40.0  # pixels, pixels, grey values

rng = np.random.default_rng(0)
noisy = (picture() + rng.normal(0, 15, (512, 512))).astype(np.float32)
OFFSETS = [(i, j) for i in range(-RADIUS, RADIUS + 1) for j in range(-RADIUS, RADIUS + 1)]


# %%
# The function takes neighbours ``n[i, j]``. NumPy's version gives it slices of a padded picture in their place.


def bilateral(n):
    total = weights = np.float32(0)
    for i, j in OFFSETS:
        apart = (n[i, j] - n[0, 0]) * np.float32(1 / SIMILAR)
        weight = np.exp(np.float32(-0.5) * (apart * apart + np.float32((i * i + j * j) / NEAR**2)))
        total, weights = total + weight * n[i, j], weights + weight
    return total / weights


def by_mdhnp(x):
    return mdhnp.stencil(x, bilateral, mode="reflect")


def by_numpy(x):
    padded = np.pad(x, RADIUS, mode="symmetric")
    rows, columns = x.shape
    return bilateral({(i, j): padded[RADIUS + i :, RADIUS + j :][:rows, :columns] for i, j in OFFSETS})


mdhnp.prepare(by_mdhnp, noisy)
smooth = by_mdhnp(noisy)
np.testing.assert_allclose(smooth, by_numpy(noisy), rtol=1e-4, atol=1e-3)

for f in (by_numpy, by_mdhnp):
    print(f"{f.__name__} {min(timeit.repeat(partial(f, noisy), number=1, repeat=3)) * 1e3:6.1f} ms")

# %%
# A blur with the same weights of distance smooths edges, too.

line = np.exp(-0.5 * (np.arange(-RADIUS, RADIUS + 1) / NEAR) ** 2).astype(np.float32)
blurred = mdhnp.stencil(noisy, np.outer(line, line) / line.sum() ** 2, mode="reflect")

figure, panels = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
for panel, (title, pixels) in zip(
    panels, {"noisy": noisy, "blurred": blurred, "bilateral": smooth}.items(), strict=True
):
    panel.imshow(pixels[60:260, 130:330], cmap="gray", vmin=0, vmax=255)
    panel.set_title(f"{title}, mean error {np.abs(pixels - picture()).mean():.1f}")
    panel.set_axis_off()
plt.show()
