"""
What happens in a call: explain and a roofline
==============================================

``explain`` runs a call and tells what it computes, who could have computed it, by which schedule, and how long each
kernel took. From times, operations and bytes follows a roofline: what limits a call, arithmetic or memory.

Nothing faster than the roof is possible. So the distance to it says whether tuning is worth it.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import mdhnp

rng = np.random.default_rng(0)
n = 800
a, b, v = rng.random((n, n), np.float32), rng.random((n, n), np.float32), rng.random(n, np.float32)
large = rng.random((3000, 3000), np.float32)

with mdhnp.config(host="never"):  # else NumPy may compute some of them
    mdhnp.prepare(mdhnp.matmul, a, b)
    explanation = mdhnp.explain(mdhnp.matmul, a, b)
print(explanation.summary)  # `print(explanation)` shows the kernel's text, too

# %%
# Operations and bytes of some calls, counted by hand: each operand is read once, each result written once.


def smooth(x):
    return mdhnp.stencil(x, np.outer([1, 2, 1], [1, 2, 1]) / 16, mode="nearest")


def add(x):
    return mdhnp.einsum("ij->i", x)


CALLS: dict[str, tuple[Any, tuple, int, int]] = {
    "matrix product": (mdhnp.matmul, (a, b), 2 * n**3, 12 * n**2),
    "matrix by vector": (mdhnp.matvec, (large, large[0]), 2 * large.size, large.nbytes),
    "3×3 stencil": (smooth, (large,), 17 * large.size, 2 * large.nbytes),
    "sums of rows": (add, (large,), large.size, large.nbytes),
}
measured = {}
with mdhnp.config(host="never"):
    for name, (function, arguments, operations, size) in CALLS.items():
        mdhnp.prepare(function, *arguments)
        seconds = sum(sum(kernels) for kernels in mdhnp.explain(function, *arguments).kernel_seconds)
        measured[name] = operations / size, operations / seconds / 1e9
        rates = f"{operations / seconds / 1e9:7.1f} Gflop/s {size / seconds / 1e9:6.1f} GB/s"
        print(f"{name:17} {seconds * 1e3:7.2f} ms {rates}")

# %%
# The slope of the roof is the most bytes a second of these calls, its top the most operations.

slope = max(rate / intensity for intensity, rate in measured.values())
top = max(rate for _, rate in measured.values())
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
intensities = np.geomspace(0.1, 300, 200)
axes.loglog(
    intensities, np.minimum(slope * intensities, top), color="0.5", label=f"{slope:.0f} GB/s, {top:.0f} Gflop/s"
)
for name, point in measured.items():
    axes.plot(*point, "o")
    axes.annotate(name, point, xytext=(6, -12), textcoords="offset points")
axes.set(xlabel="operations a byte (flop/B)", ylabel="rate (Gflop/s)", xlim=(0.1, 1000))
axes.legend(loc="lower right")
plt.show()
