"""
The Game of Life
================

A cell lives on with two or three living neighbours, and comes to life with three. The rule is a function of
neighbours, on a world whose ends meet (``mode="wrap"``); ``skeletons.iterate`` repeats it.

With NumPy one rolls the world eight times for each generation, and each roll is a copy. The kernel reads neighbours
where they are, and writes nothing but the next generation.
"""

import timeit
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

import mdhnp
from mdhnp import skeletons

rng = np.random.default_rng(3)
world = (rng.random((1024, 1024)) < 0.2).astype(np.uint8)


def rule(n):
    around = sum((n[i, j] for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)), np.uint8(0))
    return ((around | n[0, 0]) == 3).astype(np.uint8)  # 3 neighbours, or 2 and the cell itself


generation = skeletons.stencil(rule, mode="wrap")


def by_numpy(world):
    around = sum(np.roll(world, (i, j), axis=(0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return ((around | world) == 3).astype(np.uint8)


mdhnp.prepare(generation, world)
np.testing.assert_array_equal(generation(world), by_numpy(world))

for name, f in (("NumPy", by_numpy), ("mdhnp", generation)):
    seconds = min(timeit.repeat(partial(f, world), number=1, repeat=5))
    print(f"{name}: {world.size / seconds / 1e6:8.0f} million cells a second")

# %%
# A part of the world, early and late.

figure, panels = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
for panel, generations in zip(panels, (0, 20, 500), strict=True):
    later = skeletons.iterate(generation, generations)(world) if generations else world
    panel.imshow(later[:150, :150], cmap="binary", interpolation="nearest")
    panel.set(title=f"generation {generations}: {later.mean():.1%} live", xticks=[], yticks=[])
plt.show()
