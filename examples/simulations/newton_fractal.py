"""
Newton's fractal, a map written in C
====================================

To which root of z³ = 1 does Newton's method lead, and how fast? How often a point is iterated depends on its value,
which no function of symbols says. So the function is OpenCL C text, and ``skeletons.zip`` calls it for each point.

NumPy iterates all points as often as the slowest, through memory each time. The text keeps a point in registers until
it is done; the package makes the grid, the types and the launch, and gives ndarrays.
"""

import timeit

import matplotlib.pyplot as plt
import numpy as np

from mdhnp import prepare, skeletons

TEXT = """
void newton(float x, float y, char *root, float *steps) {
    int n = 0;
    for (; n < 60; ++n) {
        float square = x * x + y * y, scale = 1 / (3 * square * square);
        float dx = x / 3 - (x * x - y * y) * scale, dy = y / 3 + 2 * x * y * scale;
        x -= dx;
        y -= dy;
        if (dx * dx + dy * dy < 1e-8f)
            break;
    }
    *root = x > 0 ? 0 : y > 0 ? 1 : 2;
    *steps = n;
}
"""
newton = skeletons.zip(TEXT, results=(np.int8, np.float32))

x = np.linspace(-1.5, 1.5, 900, dtype=np.float32)
y = x[::-1, np.newaxis]

# %%
# Arrays are broadcast as NumPy's are: a row and a column are a picture.

prepare(newton, x, y)
root, steps = newton(x, y)


def by_numpy(x, y):
    z = (x + 1j * y).astype(np.complex64)
    for _ in range(60):
        z = z - (z - 1 / (z * z)) / 3
    return np.where(z.real > 0, 0, np.where(z.imag > 0, 1, 2))


ours = min(timeit.repeat(lambda: newton(x, y), number=1, repeat=3))
start = timeit.default_timer()
expected = by_numpy(x, y)
numpys = timeit.default_timer() - start
assert (root == expected).mean() > 0.999  # points on the border go where rounding leads them
print(f"{root.size} points: NumPy {numpys * 1e3:.0f} ms, mdhnp {ours * 1e3:.1f} ms")

# %%
# A colour for each root, darker where it takes longer.

colours = np.array([[0.99, 0.75, 0.3], [0.3, 0.65, 0.85], [0.85, 0.35, 0.4]])
shown = colours[root] * (1 / (1 + 0.08 * np.maximum(steps - 3, 0)))[..., np.newaxis]
figure, axes = plt.subplots(figsize=(6, 6), layout="constrained")
axes.imshow(shown, extent=(-1.5, 1.5, -1.5, 1.5))
axes.set(title="Newton's method for z³ = 1", xlabel="real part", ylabel="imaginary part")
plt.show()
