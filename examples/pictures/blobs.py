"""
SciPy's filters in code that you do not change
==============================================

Bright and dark blobs of a photograph, by differences of Gaussians. The function below calls ``scipy.ndimage`` and
knows nothing of this package. In a block of ``mdhnp.patch()`` its ``gaussian_filter`` runs as kernels.

SciPy filters one axis after the other in one thread, in double precision. The kernels use all cores, and compute
float32 in float32. Other functions, as ``maximum_filter`` here, stay SciPy's.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage

import mdhnp
from mdhnp.demo.data import picture

SIGMAS = np.array([2.0, 3.0, 4.5])  # pixels


def blobs(photograph):
    """Give rows, columns and radii of blobs: where a difference of Gaussians is larger than all around it."""
    smooth = np.stack([ndimage.gaussian_filter(photograph, sigma, mode="nearest") for sigma in SIGMAS])
    difference = np.abs(np.diff(smooth, axis=0))
    largest = difference == ndimage.maximum_filter(difference, size=(3, 9, 9))
    scale, row, column = np.nonzero(largest & (difference > 16))
    return row, column, SIGMAS[scale] * np.sqrt(2), difference


photograph = picture().astype(np.float32)
expected = blobs(photograph)

# %%
# ``prepare`` compiles kernels now. Without it SciPy computes until another process has built them.


def gaussians():
    return [ndimage.gaussian_filter(photograph, sigma, mode="nearest") for sigma in SIGMAS]


scipys = min(timeit.repeat(gaussians, number=1, repeat=3)) * 1e3
with mdhnp.patch():
    mdhnp.prepare(gaussians)
    row, column, radius, difference = blobs(photograph)
    ours = min(timeit.repeat(gaussians, number=1, repeat=3)) * 1e3
np.testing.assert_allclose(difference, expected[3], atol=0.01)
print(f"{len(SIGMAS)} Gaussians: SciPy {scipys:.1f} ms, in a block of patch {ours:.1f} ms")

# %%
# A circle for each blob, as large as it is.

figure, axes = plt.subplots(figsize=(5.5, 5.5), layout="constrained")
axes.imshow(photograph, cmap="gray")
for circle in zip(column, row, radius, strict=True):
    axes.add_patch(plt.Circle(circle[:2], circle[2], color="C1", fill=False))
axes.set_title(f"{len(row)} blobs")
axes.set_axis_off()
plt.show()
