"""
A kernel of your own, tuned
===========================

How many rows and columns a work-item computes, how many work-items a group has, whether a loop is unrolled: kernels
have parameters, and which values are fast differs from device to device. Here are those of a product of matrices,
written by hand in OpenCL C, where they are macros.

Parameters depend on each other: a group's tile has to divide the matrix, and work-items the tile. A constraint is a
function of parameters by their names. Only combinations that all constraints allow are ever made.
Beside the kernel's text it takes twenty lines of Python.
"""

SOURCE = """
__kernel void product(__global const float *a, __global const float *b, __global float *c) {
  const int i = get_global_id(1) * ROWS, j = get_global_id(0) * COLUMNS;
  float sums[ROWS][COLUMNS] = {{0}};
  for (int k = 0; k < N; ++k)
    for (int r = 0; r < ROWS; ++r)
      for (int s = 0; s < COLUMNS; ++s)
        sums[r][s] += a[(i + r) * N + k] * b[k * N + j + s];
  for (int r = 0; r < ROWS; ++r)
    for (int s = 0; s < COLUMNS; ++s)
      c[(i + r) * N + j + s] = sums[r][s];
}
"""

# %%
# Arrays to run it on and the right results, its parameters, and when the search ends:

import numpy as np

from mdhnp.tuning import duration, evaluations, kernel, parameter, space, stalled, tune

N = 192
a, b = np.random.default_rng(0).random((2, N, N), np.float32)
product = kernel(
    f"#define N {N}\n{SOURCE}",
    "product",
    [a, b, np.zeros((N, N), np.float32)],
    global_size=lambda ROWS, COLUMNS: (N // COLUMNS, N // ROWS),
    local_size=lambda WIDE, HIGH: (WIDE, HIGH),
    reference=[a, b, a @ b],
)
every = space(
    parameter("ROWS", range(1, 17), lambda ROWS: N % ROWS == 0),
    parameter("COLUMNS", range(1, 65), lambda COLUMNS: N % COLUMNS == 0),
    parameter("WIDE", range(1, 65), lambda WIDE, COLUMNS: N // COLUMNS % WIDE == 0),
    parameter("HIGH", range(1, 65), lambda HIGH, ROWS, WIDE: N // ROWS % HIGH == 0 and WIDE * HIGH <= 256),
)
start = {"ROWS": 1, "COLUMNS": 1, "WIDE": 8, "HIGH": 8}
found = tune(product, every, start=start, abort=duration(2.5) | evaluations(100) | stalled(40))

# %%
# What was found, beside one result a work-item. Each was compiled, and its result compared with NumPy's, before it was
# timed by the device's clock.

import matplotlib.pyplot as plt

first = found.evaluations[0].cost
print(f"{len(found.evaluations)} of {every.size} combinations, on {product.device.name}")
print(f"{found.best}: {first / found.cost:.1f} times as fast as {start}")

times = [(n, e.cost * 1e3) for n, e in enumerate(found.evaluations, 1) if e.cost is not None]
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.semilogy(*zip(*times, strict=True), "o", label="measured")
axes.step([n for n, _ in times], np.minimum.accumulate([t for _, t in times]), where="post", label="best so far")
axes.set(xlabel="evaluation", ylabel="time of the kernel (ms)")
axes.legend()
plt.show()
