"""
Morphology: opening and closing
===============================

Erosion is the least of a pixel's neighbours, dilation the greatest. An opening removes bright specks, a closing dark
ones. Four such filters one after the other clean a photograph of both.

Inside of ``mdhnp.fuse`` the four are one kernel: what is between them stays in a cache. SciPy writes it to memory
each time.
"""

import timeit
from functools import partial, reduce

import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage

import mdhnp
from mdhnp.demo.data import picture

photograph = picture().astype(np.float32)
specked = photograph.copy()
rng = np.random.default_rng(0)
specked[rng.random(photograph.shape) < 0.02] = 255
specked[rng.random(photograph.shape) < 0.02] = 0

# %%
# Neighbours in a plus of five pixels, as a list of offsets: another list is another structuring element.

PLUS = [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)]


def erosion(x):
    return mdhnp.stencil(x, lambda n: reduce(np.minimum, [n[offset] for offset in PLUS]), "nearest")


def dilation(x):
    return mdhnp.stencil(x, lambda n: reduce(np.maximum, [n[offset] for offset in PLUS]), "nearest")


@mdhnp.fuse
def cleaned(x):
    """Open, then close."""
    return erosion(dilation(dilation(erosion(x))))


def by_scipy(x):
    plus = ndimage.generate_binary_structure(2, 1)
    opened = ndimage.grey_opening(x, footprint=plus, mode="nearest")
    return ndimage.grey_closing(opened, footprint=plus, mode="nearest")


mdhnp.prepare(cleaned, specked)
np.testing.assert_array_equal(cleaned(specked), by_scipy(specked))
print("kernels:", len(cleaned.rewriting(specked).after.steps))

for name, f in (("SciPy", by_scipy), ("mdhnp", cleaned)):
    print(f"{name} {min(timeit.repeat(partial(f, specked), number=1, repeat=5)) * 1e3:6.2f} ms")

# %%
# The same part before and after.

figure, panels = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
shown = {"specked": specked, "opened and closed": cleaned(specked), "photograph": photograph}
for panel, (title, pixels) in zip(panels, shown.items(), strict=True):
    panel.imshow(pixels[60:260, 130:330], cmap="gray", vmin=0, vmax=255)
    panel.set_title(title)
    panel.set_axis_off()
plt.show()
