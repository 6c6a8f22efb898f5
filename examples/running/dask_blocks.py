"""
Arrays in blocks, with dask
===========================

A dask array is an array in chunks, which may lie on disks or in other processes. ``mdhnp.dask`` has the package's
calls for them: each is cut along the chunks, and each part is one call of this package.

Parts of a stencil read the borders of their neighbours, so that no seam is left. ``map_overlap`` does the same with
SciPy's function, when it is told how wide borders are; here that follows from the weights.
"""

from functools import partial
from timeit import default_timer

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage

import mdhnp.dask

SIZE, CHUNK, BORDER = 1200, 400, 8
rng = np.random.default_rng(0)
field = da.from_array(rng.standard_normal((SIZE, SIZE), np.float32), chunks=CHUNK)

line = np.exp(-0.5 * (np.arange(-BORDER, BORDER + 1, dtype=np.float32) / 3) ** 2)
weights = np.outer(line, line) / line.sum() ** 2

# %%
# Nothing is computed until it is asked for.

smooth = mdhnp.dask.stencil(field, weights, mode="nearest")
by_scipy = field.map_overlap(
    partial(ndimage.correlate, weights=weights, mode="nearest"), depth=BORDER, boundary="nearest", dtype=np.float32
)
print(smooth)

# %%
# The first time kernels are compiled, one for all parts of a size.

results = []
for name, blocks in (("dask and SciPy", by_scipy), ("mdhnp.dask", smooth), ("mdhnp.dask, again", smooth)):
    start = default_timer()
    results.append(blocks.compute(scheduler="threads", num_workers=2))
    print(f"{name:17} {(default_timer() - start) * 1e3:5.0f} ms")
np.testing.assert_allclose(results[1], results[0], atol=1e-4)

# %%
# Where chunks meet, which lines show, nothing can be seen.

part = slice(CHUNK - 150, CHUNK + 150)
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
image = axes.imshow(results[1][part, part], extent=(part.start, part.stop, part.stop, part.start), cmap="RdBu")
axes.axhline(CHUNK, color="0.3", linestyle=":", linewidth=1)
axes.axvline(CHUNK, color="0.3", linestyle=":", linewidth=1)
figure.colorbar(image, label="smoothed field")
axes.set(xlabel="column", ylabel="row", title="dotted: borders of chunks")
plt.show()
