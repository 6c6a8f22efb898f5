"""
Histograms of oriented gradients
================================

Photographs are normalised and blurred; gradients vote for their direction, in each cell of 8×8 pixels. Written for
NumPy and SciPy, this function becomes a fused one by a decorator, and by ``mdhnp.stencil`` in place of SciPy's
correlation.

NumPy writes an array for each call, some with nine votes a pixel. Fused, most of them are never written.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage
from sklearn.datasets import load_sample_images

import mdhnp
from mdhnp import fuse, prepare

correlate = mdhnp.stencil

BLUR = np.array([[[1, 2, 1], [2, 4, 2], [1, 2, 1]]], np.float32) / 16
ACROSS = np.array([[[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]], np.float32)
DOWN = ACROSS.swapaxes(1, 2)


@fuse
def oriented_gradients(images, cell=8, bins=9):
    """Give for each cell of each image how long gradients are, by direction; a vote is shared by two bins."""
    spread = images.std(axis=(1, 2), keepdims=True)
    normalised = (images - images.mean(axis=(1, 2), keepdims=True)) / (spread + 1e-6)
    blurred = correlate(normalised, BLUR, mode="nearest")
    across, down = correlate(blurred, ACROSS, mode="nearest"), correlate(blurred, DOWN, mode="nearest")
    length, direction = np.hypot(across, down), np.arctan2(down, across) % np.pi * (bins / np.pi)

    apart = np.abs(direction[..., np.newaxis] - np.arange(bins, dtype=np.float32))
    votes = length[..., np.newaxis] * np.maximum(1 - np.minimum(apart, bins - apart), 0)
    count, height, width = len(images), images.shape[1] // cell, images.shape[2] // cell
    cells = votes[:, : height * cell, : width * cell].reshape(count, height, cell, width, cell, bins).sum(axis=(2, 4))
    return cells / np.sqrt((cells * cells).sum(axis=-1, keepdims=True) + 0.01)


# %%
# The function without its decorator, with SciPy's correlation, is the one to compare with.

photographs = load_sample_images().images
images = np.stack(photographs).mean(axis=-1, dtype=np.float32)

prepare(oriented_gradients, images)
found = oriented_gradients(images)
ours = min(timeit.repeat(lambda: oriented_gradients(images), number=1, repeat=5))

correlate = ndimage.correlate
by_scipy = oriented_gradients.function
np.testing.assert_allclose(found, by_scipy(images), atol=1e-4)
scipys = min(timeit.repeat(lambda: by_scipy(images), number=1, repeat=3))
print(f"{len(images)} photographs: NumPy and SciPy {scipys * 1e3:.1f} ms, mdhnp {ours * 1e3:.1f} ms")

# %%
# Edges go along the line where most of a cell's votes are of one direction.

figure, panels = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for panel, image, cells in zip(panels, images, found, strict=True):
    panel.imshow(image, cmap="gray", alpha=0.5)
    row, column = np.nonzero(cells.max(axis=-1) > 0.75)
    edge = cells[row, column].argmax(axis=-1) * np.pi / 9 + np.pi / 2  # at right angles to the gradient
    x, y, dx, dy = 8 * column + 4, 8 * row + 4, 5 * np.cos(edge), 5 * np.sin(edge)
    panel.plot([x - dx, x + dx], [y - dy, y + dy], "C3", linewidth=1.2)
    panel.set_axis_off()
plt.show()
