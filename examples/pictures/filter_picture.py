"""
Blur, sharpen, find edges
=========================

``mdhnp.stencil`` with weights is ``scipy.ndimage.correlate``, with all of its boundary modes. With a function of the
neighbours it is any filter: here Sobel's, both gradients and their length in one pass over the photograph.

NumPy and SciPy write an array for each step, in one thread. Here each is one kernel on all cores.
"""

import timeit
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage

import mdhnp
from mdhnp.demo.data import picture

photograph = picture().astype(np.float32)

# %%
# **Weights.** Products of two lines of weights are the picture of a blur; what it takes away, added, sharpens.

line = np.array([1, 4, 6, 4, 1], np.float32) / 16
smooth = mdhnp.stencil(photograph, np.outer(line, line), mode="reflect")
sharp = photograph + 1.5 * (photograph - smooth)

np.testing.assert_allclose(smooth, ndimage.correlate(photograph, np.outer(line, line)), rtol=1e-4)

# %%
# **A function of neighbours.** ``n[-1, 0]`` is the value one row up; NumPy's functions may be used.


def edge(n):
    """Length of the gradient, after Sobel."""
    across = (n[-1, 1] + 2 * n[0, 1] + n[1, 1]) - (n[-1, -1] + 2 * n[0, -1] + n[1, -1])
    down = (n[1, -1] + 2 * n[1, 0] + n[1, 1]) - (n[-1, -1] + 2 * n[-1, 0] + n[-1, 1])
    return np.sqrt(across * across + down * down)


def edges(photograph):
    return mdhnp.stencil(photograph, edge, mode="nearest")


def scipys_edges(photograph):
    return np.hypot(*(ndimage.sobel(photograph, axis, mode="nearest") for axis in (0, 1)))


mdhnp.prepare(edges, photograph)
np.testing.assert_allclose(edges(photograph), scipys_edges(photograph), atol=1e-2)

for f in (scipys_edges, edges):
    print(f"{f.__name__:12} {min(timeit.repeat(partial(f, photograph), number=1, repeat=10)) * 1e3:6.2f} ms")

# %%
# The same part of each.

shown = {"photograph": photograph, "smooth": smooth, "sharp": sharp, "edges": -edges(photograph)}
figure, panels = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for panel, (title, pixels) in zip(panels, shown.items(), strict=True):
    limits = (-600, 0) if title == "edges" else (0, 255)
    panel.imshow(pixels[60:260, 130:330], cmap="gray", vmin=limits[0], vmax=limits[1])
    panel.set_title(title)
    panel.set_axis_off()
plt.show()
