"""
A convolution layer on a photograph
===================================

``conv2d`` is the convolution of neural networks: channels, filters, stride, padding. Here eight filters after Gabor
look for stripes of eight directions in a colour photograph.

In NumPy one sums products over windows, of which a copy is made that is as many times larger as a filter has
elements. The kernel reads the photograph itself, and leaves out what the stride leaves out.
"""

import timeit
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import mdhnp

photograph = load_sample_image("flower.jpg").astype(np.float32) / 255
image = np.ascontiguousarray(photograph.transpose(2, 0, 1))[np.newaxis]  # (images, channels, rows, columns)

angles = np.arange(8) * np.pi / 8
y, x = np.mgrid[-5:6, -5:6].astype(np.float32)
across = x * np.cos(angles)[:, None, None] + y * np.sin(angles)[:, None, None]
gabor = np.exp(-(x * x + y * y) / 12) * np.cos(across)
gabor -= gabor.mean(axis=(1, 2), keepdims=True)
filters = np.repeat(gabor[:, np.newaxis], 3, axis=1).astype(np.float32)  # (filters, channels, rows, columns)

# %%
# A stride of 2 halves both axes of the result.


def by_mdhnp(image, filters):
    return mdhnp.conv2d(image, filters, stride=2)


def by_numpy(image, filters):
    windows = np.lib.stride_tricks.sliding_window_view(image, filters.shape[2:], axis=(2, 3))[:, :, ::2, ::2]
    return np.einsum("nchwrs,kcrs->nkhw", windows, filters, optimize=True)


mdhnp.prepare(by_mdhnp, image, filters)
found = by_mdhnp(image, filters)
np.testing.assert_allclose(found, by_numpy(image, filters), atol=1e-3)

for f in (by_numpy, by_mdhnp):
    print(f"{f.__name__}: {min(timeit.repeat(partial(f, image, filters), number=1, repeat=3)) * 1e3:.1f} ms")

# %%
# The direction of the strongest answer, and how strong it is.

answers = np.abs(found[0])
figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
axes[0].imshow(photograph)
axes[1].imshow(answers.max(axis=0), cmap="gray")
directions = axes[2].imshow(np.degrees(angles)[answers.argmax(axis=0)], cmap="twilight")
figure.colorbar(directions, label="direction (degrees)")
for panel, title in zip(axes, ("photograph", "strongest answer", "its direction"), strict=True):
    panel.set_title(title)
    panel.set_axis_off()
plt.show()
