"""
The most probable states: Viterbi's algorithm
=============================================

A noisy signal jumps between levels. Viterbi's algorithm gives the levels that explain it best: in each step a product
of matrices where ``max`` adds and ``+`` multiplies logarithms, and where the place of each maximum is kept.

``add="argmax"`` gives maxima and places from one pass over the products. In NumPy these are an array of signals ×
levels × levels for every step, written once and read twice.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np

import mdhnp

SIGNALS, STEPS, LEVELS = 400, 60, 64
rng = np.random.default_rng(0)

levels = np.linspace(-1, 1, LEVELS, dtype=np.float32)
hidden = rng.integers(0, LEVELS, (SIGNALS, STEPS // 15)).repeat(15, axis=1)
seen = (levels[hidden] + rng.normal(0, 0.15, hidden.shape)).astype(np.float32)

stay = 0.9  # probability that a level stays; else all others are as probable
change = np.log(np.where(np.eye(LEVELS) == 1, stay, (1 - stay) / (LEVELS - 1))).astype(np.float32)
likely = -0.5 * ((seen[..., np.newaxis] - levels) / np.float32(0.15)) ** 2  # up to a constant

# %%
# A step of all signals at once. NumPy's needs the array of all products.


def by_mdhnp(score):
    return mdhnp.matmul(score, change, multiply=np.add, add="argmax")


def by_numpy(score):
    products = score[:, :, np.newaxis] + change
    return products.max(axis=1), products.argmax(axis=1)


def states(step):
    """Go through the signals, and back along the places of the maxima."""
    score, places = likely[:, 0], []
    for t in range(1, STEPS):
        score, place = step(score)
        score = score + likely[:, t]
        places.append(place)
    found = [score.argmax(axis=1)]
    for place in reversed(places):
        found.append(np.take_along_axis(place, found[-1][:, np.newaxis], axis=1)[:, 0])
    return np.stack(found[::-1], axis=1)


mdhnp.prepare(by_mdhnp, likely[:, 0])
found = states(by_mdhnp)
start = timeit.default_timer()
expected = states(by_numpy)
numpys = timeit.default_timer() - start
np.testing.assert_array_equal(found, expected)
ours = min(timeit.repeat(lambda: states(by_mdhnp), number=1, repeat=3))
print(f"{SIGNALS} signals of {STEPS} steps: NumPy {numpys * 1e3:.0f} ms, mdhnp {ours * 1e3:.0f} ms")

# %%
# One of the signals.

figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
axes.plot(seen[0], ".", color="0.6", label="seen")
axes.step(range(STEPS), levels[hidden[0]], "C0", where="mid", label="hidden level")
axes.step(range(STEPS), levels[found[0]], "C3--", where="mid", label="found")
axes.set(xlabel="step", ylabel="level")
axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.15))
plt.show()
