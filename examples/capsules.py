"""A layer of matrix capsules: a convolution that multiplies matrices, poses of 4×4, where others multiply numbers.

No library has it by name; here it is one multi-dimensional homomorphism.
"""

import numpy as np

import mdhnp
from mdhnp import cc, pw

rng = np.random.default_rng(0)
# A matrix for each image, row, column, capsule below; and for each capsule above, place in a window, capsule below.
poses = rng.standard_normal((2, 10, 10, 8, 4, 4), np.float32)
weights = rng.standard_normal((16, 3, 3, 8, 4, 4), np.float32) / 6

# Every capsule below votes for the pose of every one above, at each place of its window; steps of 2.
convolve = mdhnp.md_hom(
    np.multiply,
    dict.fromkeys("npqkuw", cc) | dict.fromkeys("rscv", pw("add")),
    "I[n,2*p+r,2*q+s,c,u,v], W[k,r,s,c,v,w] -> O[n,p,q,k,u,w]",
)

windows = np.lib.stride_tricks.sliding_window_view(poses, (3, 3), axis=(1, 2))[:, ::2, ::2]
expected = np.einsum("npqcuvrs,krscvw->npqkuw", windows, weights, optimize=True)
votes = convolve(poses, weights)
np.testing.assert_allclose(votes, expected, rtol=1e-3, atol=1e-3)

print(f"votes for poses: {votes.shape}")
