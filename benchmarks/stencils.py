"""Stencils and convolutions, for the benchmarks."""

from collections.abc import Callable
from typing import Any

import numpy as np

import mdhnp
from benchmarks.problem import Array, Call, Problem, random, torch_peer

__all__ = ["convolution", "gaussian", "gradient", "jacobi", "smoothed"]


def gaussian() -> tuple[Array, Array]:
    """Give the weights of a 5×5 binomial filter, and their one-dimensional factor."""
    row = np.array([1, 4, 6, 4, 1], np.float32) / np.float32(16)
    return np.outer(row, row), row


def smoothed(n: int) -> Problem:
    """Smooth an image by a 5×5 filter."""
    image, (weights, row) = random(n, n), gaussian()
    outs = [np.empty_like(image) for _ in range(3)]

    def opencv() -> Call:
        import cv2

        return lambda: cv2.filter2D(image, -1, weights, dst=outs[0], borderType=cv2.BORDER_REFLECT_101)

    def separable() -> Call:
        import cv2

        return lambda: cv2.sepFilter2D(image, -1, row, row, dst=outs[1], borderType=cv2.BORDER_REFLECT_101)

    def scipy() -> Call:
        from scipy import ndimage

        return lambda: ndimage.correlate(image, weights, output=outs[2], mode="mirror")

    def conv2d(torch: Any, t: Callable[[Array], Any]) -> Call:
        pad, conv = torch.nn.functional.pad, torch.nn.functional.conv2d
        planes, filters = t(image)[None, None], t(weights)[None, None]
        return lambda: conv(pad(planes, (2, 2, 2, 2), mode="reflect"), filters)[0, 0]

    return Problem(
        lambda: mdhnp.stencil(image, weights, mode="mirror"),
        {
            "OpenCV filter2D": opencv,
            "OpenCV sepFilter2D (separable)": separable,
            "scipy.ndimage.correlate": scipy,
            "torch conv2d": torch_peer(conv2d),
        },
        image.nbytes,
        image.nbytes,
        25 * n * n,
    )


def _central(n: Any) -> tuple[Any, Any]:
    half = np.float32(0.5)
    return (n[1, 0] - n[-1, 0]) * half, (n[0, 1] - n[0, -1]) * half


def gradient(n: int) -> Problem:
    """Give an image's central differences along both axes."""
    image = random(n, n)
    down, right, third, fourth = (np.empty_like(image) for _ in range(4))

    def slices() -> tuple[Array, Array]:
        for out, a in ((down, image), (right.T, image.T)):
            np.subtract(a[2:], a[:-2], out=out[1:-1])
            np.subtract(a[1], a[0], out=out[0])
            np.subtract(a[-1], a[-2], out=out[-1])
            np.multiply(out, np.float32(0.5), out=out)
        return down, right

    def opencv() -> Call:
        import cv2

        options: dict[str, Any] = {"ksize": 1, "scale": 0.5, "borderType": cv2.BORDER_REPLICATE}

        def both() -> tuple[Any, Any]:
            cv2.Sobel(image, -1, 0, 1, dst=third, **options)
            cv2.Sobel(image, -1, 1, 0, dst=fourth, **options)
            return third, fourth

        return both

    return Problem(
        lambda: mdhnp.stencil(image, _central, mode="nearest"),
        {"NumPy slices": lambda: slices, "OpenCV Sobel ×2": opencv},
        image.nbytes,
        2 * image.nbytes,
        4 * n * n,
    )


def jacobi(n: int) -> Problem:
    """Take the mean of each cell of a cube and its six neighbours."""
    cube = random(n, n, n)
    weights = np.zeros((3, 3, 3), np.float32)
    for d in range(3):
        weights[tuple(slice(None) if k == d else 1 for k in range(3))] = 1 / 7
    third, second = (np.empty_like(cube) for _ in range(2))

    def numba() -> Call:
        from benchmarks.numba_peers import jacobi as loops

        return lambda: loops(cube, third)

    def scipy() -> Call:
        from scipy import ndimage

        return lambda: ndimage.correlate(cube, weights, output=second, mode="constant")

    def conv3d(torch: Any, t: Callable[[Array], Any]) -> Call:
        conv, cells, filters = torch.nn.functional.conv3d, t(cube)[None, None], t(weights)[None, None]
        return lambda: conv(cells, filters, padding=1)[0, 0]

    return Problem(
        lambda: mdhnp.stencil(cube, weights, mode="constant"),
        {"Numba prange": numba, "torch conv3d": torch_peer(conv3d), "scipy.ndimage.correlate": scipy},
        cube.nbytes,
        cube.nbytes,
        7 * n**3,
    )


def convolution(n: int, k: int, p: int, q: int, c: int) -> Problem:
    """Convolve n images of c channels with k filters of 3×3, without padding, to p by q results."""
    images, filters = random(n, c, p + 2, q + 2), random(k, c, 3, 3)
    names = {d: mdhnp.cc for d in "nkpq"} | {d: mdhnp.pw("add") for d in "crs"}
    many = mdhnp.md_hom(np.multiply, names, "I[n,c,p+r,q+s], W[k,c,r,s] -> O[n,k,p,q]")

    def conv2d(torch: Any, t: Callable[[Array], Any]) -> Call:
        left, right = t(images), t(filters)
        return lambda: torch.nn.functional.conv2d(left, right)

    return Problem(
        lambda: many(images, filters),
        {"torch conv2d": torch_peer(conv2d)},
        images.nbytes + filters.nbytes,
        4 * n * k * p * q,
        n * k * p * q * c * 9,
    )
