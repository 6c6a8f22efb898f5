"""
A median filter of minima and maxima
====================================

The median of nine neighbours needs no sorting: 19 pairs put in order leave it in the middle. Each pair is a minimum
and a maximum, so the filter is a function that ``mdhnp.stencil`` takes.

The kernel orders many pixels at a time with vector instructions. SciPy selects for one pixel after the other.
"""

import timeit
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage

import mdhnp
from mdhnp.demo.data import picture

photograph = picture()
rng = np.random.default_rng(0)
noisy = photograph.copy()
wrong = rng.random(noisy.shape) < 0.1
noisy[wrong] = rng.integers(0, 256, wrong.sum())

# %%
# Smith's network: after it the fifth of nine values is the median.

PAIRS = [
    (1, 2), (4, 5), (7, 8), (0, 1), (3, 4), (6, 7), (1, 2), (4, 5), (7, 8), (0, 3),
    (5, 8), (4, 7), (3, 6), (1, 4), (2, 5), (4, 7), (4, 2), (6, 4), (4, 2),
]  # fmt: skip


def median_of_nine(n):
    values = [n[i, j] for i in (-1, 0, 1) for j in (-1, 0, 1)]
    for low, high in PAIRS:
        values[low], values[high] = np.minimum(values[low], values[high]), np.maximum(values[low], values[high])
    return values[4]


def median(x):
    return mdhnp.stencil(x, median_of_nine, mode="reflect")


mdhnp.prepare(median, noisy)
clean = median(noisy)
np.testing.assert_array_equal(clean, ndimage.median_filter(noisy, size=3))

for name, f in (("SciPy", lambda x: ndimage.median_filter(x, size=3)), ("mdhnp", median)):
    print(f"{name} {min(timeit.repeat(partial(f, noisy), number=1, repeat=5)) * 1e3:6.2f} ms")

# %%
# A tenth of all pixels is noise; what is left of it after the filter is small.

figure, panels = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
for panel, (title, pixels) in zip(
    panels, {"noisy": noisy, "median of nine": clean, "photograph": photograph}.items(), strict=True
):
    panel.imshow(pixels[60:260, 130:330], cmap="gray", vmin=0, vmax=255)
    error = np.abs(pixels.astype(int) - photograph).mean()
    panel.set_title(f"{title}, mean error {error:.1f}" if error else title)
    panel.set_axis_off()
plt.show()
