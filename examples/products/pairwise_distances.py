"""
All pairs' distances of your own
================================

How far is each digit from each other one? ``skeletons.allpairs`` takes the distance as a function of two rows, and
makes one kernel of it that adds up in registers, with as many pairs at a time as fit.

In NumPy an array of pairs × features would be written first. SciPy's ``cdist`` knows many distances, computed in
double precision by one core; those that it does not know are slow Python.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from mdhnp import prepare, skeletons

digits, labels = load_digits(return_X_y=True)
order = np.argsort(labels, kind="stable")
x = digits[order].astype(np.float32)

# %%
# Two distances: SciPy's "cityblock", and one for which there is no name, in which small differences do not count.

city_block = skeletons.allpairs(lambda p, q, d: np.sum(np.abs(p - q)))
robust = skeletons.allpairs(lambda p, q, d: np.sum(np.minimum(np.abs(p - q), 4)))

distances = city_block(x, x.T)
np.testing.assert_allclose(distances, cdist(x, x, "cityblock"), rtol=1e-5)
some = np.minimum(np.abs(x[:50, np.newaxis] - x), 4).sum(axis=2)
np.testing.assert_allclose(robust(x, x.T)[:50], some, rtol=1e-5)

# %%
# Rows are sorted by the digit that they show: dark squares along the diagonal are alike.

prepare(city_block, x, x.T)
ours = min(timeit.repeat(lambda: city_block(x, x.T), number=1, repeat=5)) * 1e3
scipys = min(timeit.repeat(lambda: cdist(x, x, "cityblock"), number=1, repeat=2)) * 1e3
print(f"{len(x)}² pairs of {x.shape[1]} features: SciPy {scipys:.1f} ms, mdhnp {ours:.1f} ms")

figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
image = axes.imshow(distances, cmap="magma")
figure.colorbar(image, label="sum of differences (grey values)")
middles = [np.flatnonzero(labels[order] == digit).mean() for digit in range(10)]
axes.set_xticks(middles, [*"0123456789"])
axes.set_yticks(middles, [*"0123456789"])
axes.set(xlabel="digit", ylabel="digit", title="city-block distances of handwritten digits")
plt.show()
