"""Sharpen a photograph and find its edges; writes three PNG files into the current folder."""

from pathlib import Path

import numpy as np

import mdhnp
from mdhnp.demo.data import picture
from mdhnp.demo.show import write_png

photograph = picture().astype(np.float32)

# Weights: the result is their correlation with the picture, as scipy.ndimage.correlate gives it.
line = np.array([1, 4, 6, 4, 1], np.float32) / 16
smooth = mdhnp.stencil(photograph, np.outer(line, line), mode="reflect")
sharp = photograph + 1.5 * (photograph - smooth)


# A function of neighbours: n[-1, 0] is the value one row up. It may use NumPy's functions.
def edge(n):
    """Length of the gradient, after Sobel."""
    across = (n[-1, 1] + 2 * n[0, 1] + n[1, 1]) - (n[-1, -1] + 2 * n[0, -1] + n[1, -1])
    down = (n[1, -1] + 2 * n[1, 0] + n[1, 1]) - (n[-1, -1] + 2 * n[-1, 0] + n[-1, 1])
    return np.sqrt(across * across + down * down)


edges = mdhnp.stencil(photograph, edge, mode="nearest")

for name, pixels in {"smooth": smooth, "sharp": sharp, "edges": 255 - edges}.items():
    write_png(Path(f"{name}.png"), pixels)
    print(f"written: {name}.png")
