"""
A convolution of matrices: capsule networks
===========================================

In a layer of matrix capsules a convolution multiplies poses, matrices of 4×4, where others multiply numbers. No
library has it by name; here one line of subscripts says what it computes.

NumPy makes windows first, of which einsum makes a copy of nine times the input. The kernel reads poses where they
are.
"""

import timeit
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

import mdhnp
from mdhnp import cc, pw

rng = np.random.default_rng(0)
# A matrix for each image, row, column, capsule below; and for each capsule above, place in a window, capsule below.
poses = rng.standard_normal((8, 14, 14, 8, 4, 4), np.float32)
weights = rng.standard_normal((16, 3, 3, 8, 4, 4), np.float32) / 6

# %%
# Every capsule below votes for the pose of every one above, at each place of its window; steps of 2. ``cc`` are
# dimensions of the result, over ``pw("add")`` is summed.

convolve = mdhnp.md_hom(
    np.multiply,
    dict.fromkeys("npqkuw", cc) | dict.fromkeys("rscv", pw("add")),
    "I[n,2*p+r,2*q+s,c,u,v], W[k,r,s,c,v,w] -> O[n,p,q,k,u,w]",
)
votes = convolve(poses, weights)


def by_numpy(poses, weights):
    windows = np.lib.stride_tricks.sliding_window_view(poses, (3, 3), axis=(1, 2))[:, ::2, ::2]
    return np.einsum("npqcuvrs,krscvw->npqkuw", windows, weights, optimize=True)


np.testing.assert_allclose(votes, by_numpy(poses, weights), rtol=1e-3, atol=1e-3)

# %%
# The lengths of all votes in the first image, and what both ways take.

mdhnp.prepare(convolve, poses, weights)
seconds = {
    name: min(timeit.repeat(partial(f, poses, weights), number=1, repeat=10))
    for name, f in (("NumPy", by_numpy), ("mdhnp", convolve))
}
print(f"votes for poses: {votes.shape}", *(f"{name} {s * 1e3:.2f} ms" for name, s in seconds.items()), sep=", ")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), width_ratios=(3, 2), layout="constrained")
image = left.imshow(np.linalg.norm(votes[0], axis=(-2, -1)).reshape(-1, 16))
left.set(title="first image", xlabel="capsule above", ylabel="place, row by row")
figure.colorbar(image, label="length of the vote")
right.bar(list(seconds), [s * 1e3 for s in seconds.values()], color=["C0", "C1"])
right.set(title="a layer", ylabel="time of a call (ms)")
plt.show()
