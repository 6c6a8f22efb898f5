"""
Bodies that attract each other
==============================

Each of some thousand stars is pulled by all others. ``skeletons.reduce`` adds what a function gives for every pair,
along one axis: three sums at once.

NumPy writes an array of all pairs for each operation of the function, a dozen of them. The kernel keeps sums in
registers, and writes as many numbers as there are stars.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np

from mdhnp import prepare, skeletons

COUNT, STEPS, STEP = 2000, 150, np.float32(0.004)

rng = np.random.default_rng(1)
mass = np.full((1, COUNT), 1 / COUNT, np.float32)


def pull(x, y, z, ox, oy, oz, mass):
    """What one star accelerates another by; two that are close pull less."""
    dx, dy, dz = ox - x, oy - y, oz - z
    square = dx * dx + dy * dy + dz * dz + np.float32(0.002)
    strength = mass / (square * np.sqrt(square))
    return dx * strength, dy * strength, dz * strength


acceleration = skeletons.reduce("add", pull, axis=1)


def by_mdhnp(place):
    x, y, z = place[:, np.newaxis]
    return np.stack(acceleration(x.T, y.T, z.T, x, y, z, mass))


def by_numpy(place):
    x, y, z = place[:, np.newaxis]
    return np.stack([each.sum(axis=1) for each in pull(x.T, y.T, z.T, x, y, z, mass)])


# %%
# Two discs of stars, which turn around their middles and fall towards each other.

radius, angle = 0.35 * np.sqrt(rng.random(COUNT)), 2 * np.pi * rng.random(COUNT)
side = np.where(np.arange(COUNT) % 2, 1, -1)
x, y = radius * np.cos(angle) + 0.5 * side, radius * np.sin(angle) + 0.15 * side
place = np.stack([x, y, 0.02 * rng.normal(size=COUNT)])
speed = np.sqrt(0.5 / 0.35**2 * radius) * np.sqrt(radius)
velocity = np.stack([-speed * np.sin(angle) - 0.4 * side, speed * np.cos(angle), np.zeros(COUNT)])
place, velocity = place.astype(np.float32), velocity.astype(np.float32)

prepare(by_mdhnp, place)
np.testing.assert_allclose(by_mdhnp(place), by_numpy(place), rtol=1e-3, atol=1e-3)
ours = min(timeit.repeat(lambda: by_mdhnp(place), number=1, repeat=3))
numpys = timeit.timeit(lambda: by_numpy(place), number=1)
print(f"{COUNT}² pairs: NumPy {numpys * 1e3:.0f} ms, mdhnp {ours * 1e3:.1f} ms")

# %%
# Three moments, seen from above.

figure, panels = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
for panel, moment in zip(panels, range(3), strict=True):
    panel.scatter(place[0], place[1], s=1, c=side, cmap="coolwarm")
    panel.set(title=f"t = {moment * STEPS * STEP:.2f}", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal", xlabel="x")
    for _ in range(STEPS if moment < 2 else 0):
        velocity += STEP * by_mdhnp(place)
        place += STEP * velocity
panels[0].set_ylabel("y")
plt.show()
