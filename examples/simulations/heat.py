"""
Heat in a plate: Jacobi's iteration
===================================

Each cell of a plate becomes the mean of its four neighbours, again and again; borders and a hot ring stay as they
are. The step is a function of neighbours, and a loop of eight of them is fused.

NumPy writes several arrays in each step. Here eight steps are one kernel, which computes them in tiles that stay in a
cache: the plate is read and written once.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np

import mdhnp

SIZE, STEPS = 500, 400

rows, columns = np.mgrid[:SIZE, :SIZE]
radius = np.hypot(rows - SIZE / 2, columns - SIZE / 2)
ring = np.abs(radius - 120) < 4
plate = np.where(ring, 100, 0).astype(np.float32)
plate[0] = 50
kept = ring.copy()
kept[[0, -1]] = kept[:, [0, -1]] = True
fixed = np.where(kept, plate, np.nan).astype(np.float32)


# %%
# A function that is fused: eight steps, one kernel.


@mdhnp.fuse
def eight_steps(state, fixed):
    for _ in range(8):
        means = mdhnp.stencil(state, lambda n: (n[-1, 0] + n[1, 0] + n[0, -1] + n[0, 1]) * np.float32(0.25), "nearest")
        state = np.where(np.isnan(fixed), means, fixed)
    return state


def by_mdhnp(state, steps):
    for _ in range(steps // 8):
        state = eight_steps(state, fixed)
    return state


def by_numpy(state, steps):
    for _ in range(steps):
        padded = np.pad(state, 1, mode="edge")
        means = (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) * np.float32(0.25)
        state = np.where(kept, fixed, means)
    return state


mdhnp.prepare(eight_steps, plate, fixed)
np.testing.assert_allclose(by_mdhnp(plate, 80), by_numpy(plate, 80), rtol=1e-4, atol=1e-3)

numpys = timeit.timeit(lambda: by_numpy(plate, 80), number=1)
ours = min(timeit.repeat(lambda: by_mdhnp(plate, 80), number=1, repeat=3))
print(f"80 steps of {SIZE}² cells: NumPy {numpys * 1e3:.0f} ms, mdhnp {ours * 1e3:.1f} ms")

# %%
# Frames of the iteration.

figure, panels = plt.subplots(1, 4, figsize=(12, 3.3), layout="constrained")
state = plate
for panel, steps in zip(panels, (0, 80, 800, 8000), strict=True):
    state = by_mdhnp(plate, steps)
    image = panel.imshow(state, cmap="inferno", vmin=0, vmax=100)
    panel.set(title=f"after {steps} steps", xticks=[], yticks=[])
figure.colorbar(image, ax=panels, label="temperature (°C)")
plt.show()
