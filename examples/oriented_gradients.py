"""Histograms of oriented gradients of photographs, from NumPy and SciPy to mdhnp by a decorator and an import.

Run as a script, this file executes its own text once more with SciPy's import and without the decorator, as it was
written, and compares results and times. It needs SciPy, and for the photographs scikit-learn and Pillow.
"""

import timeit
from pathlib import Path

from mdhnp import fuse, prepare  # isort: skip (before NumPy, so that its threads rest between calls)
import numpy as np
from sklearn.datasets import load_sample_images

from mdhnp import stencil as correlate

BLUR = np.array([[[1, 2, 1], [2, 4, 2], [1, 2, 1]]], np.float32) / 16
ACROSS = np.array([[[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]], np.float32)
DOWN = ACROSS.swapaxes(1, 2)


@fuse
def oriented_gradients(images, cell=8, bins=9):
    """Give for each cell of each image how long gradients are, by direction; a vote is shared by two bins."""
    spread = images.std(axis=(1, 2), keepdims=True)
    normalised = (images - images.mean(axis=(1, 2), keepdims=True)) / (spread + 1e-6)
    blurred = correlate(normalised, BLUR, mode="nearest")
    across, down = correlate(blurred, ACROSS, mode="nearest"), correlate(blurred, DOWN, mode="nearest")
    length, direction = np.hypot(across, down), np.arctan2(down, across) % np.pi * (bins / np.pi)

    apart = np.abs(direction[..., np.newaxis] - np.arange(bins, dtype=np.float32))
    votes = length[..., np.newaxis] * np.maximum(1 - np.minimum(apart, bins - apart), 0)
    count, height, width = len(images), images.shape[1] // cell, images.shape[2] // cell
    cells = votes[:, : height * cell, : width * cell].reshape(count, height, cell, width, cell, bins).sum(axis=(2, 4))
    return cells / np.sqrt((cells * cells).sum(axis=-1, keepdims=True) + 0.01)


def main(copies=1):
    """Compare both on so many copies of the photographs."""
    photographs = np.stack(load_sample_images().images).mean(axis=-1, dtype=np.float32)
    images = np.tile(photographs, (copies, 1, 1))
    text = Path(__file__).read_text().replace("from mdhnp import fuse, prepare\n", "").replace("@fuse\n", "")
    before = {"__name__": "before"}
    exec(text.replace("from mdhnp import stencil as correlate", "from scipy.ndimage import correlate"), before)
    calls = [lambda f=f: f(images) for f in (before["oriented_gradients"], oriented_gradients)]

    print(f"the first call takes {timeit.timeit(calls[1], number=1):.2f} s")
    prepare(oriented_gradients, images)  # else NumPy computes until calls have cost as much as compiling
    expected, found = (call() for call in calls)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    numpys, ours = np.min([[timeit.timeit(call, number=1) for call in calls] for _ in range(10)], axis=0)
    print(f"later ones {ours * 1e3:.2f} ms, NumPy's and SciPy's {numpys * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
