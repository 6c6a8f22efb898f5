"""A picture of the Mandelbrot set, by a kernel of one's own between calls of mdhnp; writes it into the current folder.

How often a point is iterated depends on its value, so that this is no MDH. What comes before and after is, and all of
it works on the same memory: nothing but the picture is copied from a GPU.
"""

from pathlib import Path

import numpy as np
import pyopencl as cl

import mdhnp
from mdhnp.demo.show import write_png

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

write_png(Path("mandelbrot.png"), picture.numpy())
print(f"{float(inside):.1%} of the points stay, computed on {device.name}; written: mandelbrot.png")
