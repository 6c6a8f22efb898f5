"""
Tensor contractions, small and large
====================================

From which size on is ``mdhnp.einsum`` faster than NumPy's? The contraction is one of quantum chemistry: two tensors
of four axes share one, and the result of six axes has them in another order.

NumPy turns both tensors, multiplies matrices, and turns the result, which is large. Here all of it is one kernel,
which writes each element of the result once, where it belongs.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np

import mdhnp

SUBSCRIPTS = "badg,cgfe->fedcba"
rng = np.random.default_rng(0)


def fastest(call, *arguments):
    """Give the milliseconds of the fastest of five calls."""
    return min(timeit.repeat(lambda: call(*arguments), number=1, repeat=5)) * 1e3


def by_numpy(a, b):
    return np.einsum(SUBSCRIPTS, a, b, optimize=True)


def by_mdhnp(a, b):
    return mdhnp.einsum(SUBSCRIPTS, a, b)


# %%
# ``prepare`` compiles kernels for a size and measures them beside NumPy's function; calls are made by whoever was
# faster. Without it, that happens beside your program, once calls have taken long enough.

extents, times = (6, 11, 16), []
for n in extents:
    a, b = rng.random((n, n, n, 24), np.float32), rng.random((n, 24, n, n), np.float32)
    mdhnp.prepare(by_mdhnp, a, b)
    np.testing.assert_allclose(by_mdhnp(a, b), by_numpy(a, b), rtol=1e-4)
    times.append((fastest(by_numpy, a, b), fastest(by_mdhnp, a, b)))
    print(f"{n}⁶ elements: NumPy {times[-1][0]:8.3f} ms, mdhnp {times[-1][1]:8.3f} ms")

# %%
# Both axes are logarithmic, so that equal distances are equal ratios.

megabytes = [n**6 * 4e-6 for n in extents]
figure, axes = plt.subplots(layout="constrained")
for label, row in zip(("NumPy", "mdhnp"), zip(*times, strict=True), strict=True):
    axes.loglog(megabytes, row, "o-", label=label)
axes.set(title=SUBSCRIPTS, xlabel="size of the result (MB)", ylabel="time of a call (ms)")
axes.legend()
plt.show()
