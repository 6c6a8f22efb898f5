"""
A kernel of your own between calls
==================================

A picture of the Mandelbrot set. How often a point is iterated depends on its value, so that this is no computation
that the package could generate: it is your own OpenCL C, built and launched by PyOpenCL.

What comes before and after are calls of the package, and all of it works on the same memory: nothing but the picture
is copied from a GPU.
"""

import matplotlib.pyplot as plt
import numpy as np
import pyopencl as cl

import mdhnp

WIDTH, HEIGHT, MOST = 600, 400, 100
SOURCE = """
__kernel void iterate(__global const float *re, __global const float *im, __global float *count, const int most) {
  const int i = get_global_id(1), j = get_global_id(0);
  float x = 0, y = 0;
  int n = 0;
  for (; n < most && x * x + y * y < 4; ++n) {
    const float next = x * x - y * y + re[j];
    y = 2 * x * y + im[i];
    x = next;
  }
  count[i * get_global_size(0) + j] = n;
}
"""


# %%
# An Array's memory is a buffer, or shared with the host where the device is a CPU; its queue is the one to enqueue on.


def argument(array):
    """Give what a kernel takes for an array that begins where its memory does, as new ones do."""
    return array.buffer if array.device.own_memory else array.svm


re = mdhnp.linspace(-2.2, 0.8, 2 * WIDTH, dtype="float32")
im = mdhnp.linspace(1.0, -1.0, 2 * HEIGHT, dtype="float32")
count = mdhnp.empty((2 * HEIGHT, 2 * WIDTH), dtype="float32")

device = count.device
iterate = cl.Kernel(cl.Program(device.context, SOURCE).build(), "iterate")
iterate(device.queue, count.shape[::-1], None, *map(argument, (re, im, count)), np.int32(MOST))
count.changed()  # what is called now comes after the kernel

brightness = 255 - mdhnp.log1p(count) * (255 / np.log1p(MOST).item())
picture = brightness.reshape(HEIGHT, 2, WIDTH, 2).mean(axis=(1, 3))
inside = (count == MOST).mean()

print(f"{float(inside):.1%} of the points stay, computed on {device.name}")

# %%
# The same in NumPy, for every fortieth point.

c = np.linspace(-2.2, 0.8, 2 * WIDTH, dtype=np.float32)[::40] + 1j * im.numpy()[::40, np.newaxis]
z, expected = np.zeros_like(c), np.zeros(c.shape)
for _ in range(MOST):
    going = np.abs(z) < 2
    expected += going
    z = np.where(going, z * z + c, z)
assert (count.numpy()[::40, ::40] == expected).mean() > 0.98  # rounding counts near the border

figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
axes.imshow(picture.numpy(), cmap="gray", extent=(-2.2, 0.8, -1, 1))
axes.set(xlabel="real part", ylabel="imaginary part")
plt.show()
