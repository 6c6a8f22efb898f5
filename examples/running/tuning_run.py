"""
A tuning run, seen
==================

``tune`` searches a faster schedule for a call: other tiles, vectors, copies, orders of loops. Each candidate is
compiled, checked and timed in another process. The winner is kept on disk, and later calls in all processes use it.

Here three seconds, and sixteen candidates at most; programs that run for long are tuned so without being asked.
"""

import matplotlib.pyplot as plt
import numpy as np

import mdhnp

rng = np.random.default_rng(0)
x, y = rng.random((64, 96, 80), np.float32), rng.random((64, 80, 72), np.float32)


def products(x, y):
    return mdhnp.einsum("bij,bjk->kbi", x, y)


(found,) = mdhnp.tune(products, x, y, budget=3.0, evaluations=16, progress=False)
np.testing.assert_allclose(products(x, y), (x @ y).transpose(2, 0, 1), rtol=1e-4)
print(found)
print(found.schedule)

# %%
# Every candidate, and the best one so far; those that are clearly slower are cut off after one run. The default
# schedule comes first: the search is worth as much as the line falls.

timed = [(n, m.seconds * 1e3, m.status) for n, m in enumerate(found.measurements, 1) if m.seconds is not None]
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for status, mark, label in (("ok", "o", "measured"), ("slow", "x", "cut off as slow")):
    if these := [(n, t) for n, t, s in timed if s == status]:
        axes.plot(*zip(*these, strict=True), mark, label=label)
best = np.minimum.accumulate([t for _, t, _ in timed])
axes.step([n for n, _, _ in timed], best, where="post", color="C3", label="best so far")
axes.set(xlabel="candidate", ylabel="time of the kernel (ms)", xticks=[n for n, _, _ in timed])
axes.legend()
plt.show()
