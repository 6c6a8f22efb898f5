"""Functions of several calls, fused, beside what others compile of the same text; for the benchmarks.

The function is written once, over the module that it takes: NumPy, or one of the compilers' own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import mdhnp
from benchmarks.problem import Array, Call, Problem, compiled, random, torch_peer

__all__ = ["FUSIONS", "Fusion"]

#: A function of a module and arrays.
Text = Callable[..., Any]


@dataclass(frozen=True)
class Fusion:
    """A function of several calls, and what computes it.

    Attributes
    ----------
    text : callable
        Of a module and arrays.
    arrays : tuple of ndarray
        What it is called with.
    written, instructions : int
        As a :class:`~benchmarks.problem.Problem` has them.
    numba : str
        The function of `numba_fusions` that has the same as loops.
    numexpr : str
        The same of arrays a, b and c, where numexpr can say it.
    tolerance : float
        How far results may differ, relative to the largest one.
    """

    text: Text
    arrays: tuple[Array, ...]
    written: int
    instructions: int
    numba: str
    numexpr: str = ""
    tolerance: float = 1e-4

    def fused(self) -> Call:
        """Give our function of the arrays."""
        return mdhnp.fuse(lambda *given: self.text(np, *given))

    def problem(self) -> Problem:
        """Compare it, fused, with NumPy's, and with what compilers make of it."""
        arrays, fused = self.arrays, self.fused()
        peers = {"NumPy": lambda: lambda: self.text(np, *arrays), "Numba prange": self._looped, "jax.jit": self._jitted}
        peers["torch.compile"] = torch_peer(self._compiled)
        if self.numexpr:
            peers["numexpr"] = self._evaluated
        read = sum([a.nbytes for a in arrays])
        return Problem(lambda: fused(*arrays), peers, read, self.written, self.instructions, self.tolerance)

    def _looped(self) -> Call:
        from benchmarks import numba_fusions

        loops = getattr(numba_fusions, self.numba)
        return lambda: loops(*self.arrays)

    def _jitted(self) -> Call:
        import jax

        function = jax.jit(lambda *given: self.text(jax.numpy, *given))
        given = [jax.numpy.asarray(a) for a in self.arrays]
        return lambda: jax.tree.map(np.asarray, jax.block_until_ready(function(*given)))

    def _compiled(self, torch: Any, t: Callable[[Array], Any]) -> Call:
        function = compiled(torch, lambda *given: self.text(torch, *given))
        given = [t(a) for a in self.arrays]
        return lambda: function(*given)

    def _evaluated(self) -> Call:
        import numexpr as ne

        names = dict(zip("abc", self.arrays, strict=False))
        return lambda: ne.evaluate(self.numexpr, names)


def hypotenuse(n: int) -> Fusion:
    """A map of three arrays."""
    a, b, c = (random(n, n) for _ in range(3))
    return Fusion(
        lambda m, a, b, c: m.sqrt(a * a + b * b) * c, (a, b, c), a.nbytes, 5 * n * n,
        numba="hypotenuse", numexpr="sqrt(a*a + b*b)*c",
    )  # fmt: skip


def moments(n: int) -> Fusion:
    """Mean and variance of rows."""
    x = random(n, n)

    def text(m: Any, x: Any) -> Any:
        return x.mean(1), (x.var(1) if m.__name__ != "torch" else x.var(1, correction=0))

    return Fusion(text, (x,), 8 * n, 3 * n * n, numba="moments")


def softmax(n: int) -> Fusion:
    """Exponentials of rows, divided by their sums."""
    x = random(n, n)

    def text(m: Any, x: Any) -> Any:
        largest = x.amax(1)[:, None] if m.__name__ == "torch" else x.max(1)[:, None]
        powers = m.exp(x - largest)
        return powers / powers.sum(1)[:, None]

    return Fusion(text, (x,), x.nbytes, 4 * n * n, numba="softmax")


def softmax_product(n: int, k: int) -> Fusion:
    """The softmax of rows times a matrix, as in attention."""
    x, v = random(n, n), random(n, k)

    def text(m: Any, x: Any, v: Any) -> Any:
        largest = x.amax(1)[:, None] if m.__name__ == "torch" else x.max(1)[:, None]
        powers = m.exp(x - largest)
        return (powers / powers.sum(1)[:, None]) @ v

    return Fusion(text, (x, v), 4 * n * k, n * n * (k + 4), numba="softmax_product")


def normalised(n: int) -> Fusion:
    """Rows of mean 0 and variance 1, as in a normalised layer."""
    x = random(n, n)

    def text(m: Any, x: Any) -> Any:
        rest = x - x.mean(1)[:, None]
        return rest / m.sqrt((rest * rest).mean(1)[:, None] + 1e-5)

    return Fusion(text, (x,), x.nbytes, 6 * n * n, numba="normalised")


def nearest(n: int, count: int, k: int) -> Fusion:
    """For each row the nearest of some points: k-means' assignment."""
    x, centres = random(n, k), random(count, k)

    def text(m: Any, x: Any, centres: Any) -> Any:
        apart = x[:, None] - centres
        return (apart * apart).sum(2).argmin(1)

    return Fusion(text, (x, centres), 8 * n, 3 * n * count * k, numba="nearest")


def standardised(n: int) -> Fusion:
    """Columns of mean 0 and variance 1."""
    x = random(n, n)

    def text(m: Any, x: Any) -> Any:
        return (x - x.mean(0)) / (x.std(0) if m.__name__ != "torch" else x.std(0, correction=0))

    return Fusion(text, (x,), x.nbytes, 5 * n * n, numba="standardised")


def kernel_matrix(n: int, k: int) -> Fusion:
    """Gaussian kernels of all pairs of rows."""
    x, y = random(n, k), random(n, k)

    def text(m: Any, x: Any, y: Any) -> Any:
        squares = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T)
        return m.exp(squares * -0.1)

    return Fusion(text, (x, y), 4 * n * n, n * n * k, numba="kernel_matrix")


def blurred_gradient(n: int) -> Fusion:
    """The length of an image's gradient, once it was blurred by sums of neighbours."""
    x = random(n, n)

    def text(m: Any, x: Any) -> Any:
        rows = (x[:-2] + 2 * x[1:-1] + x[2:]) * 0.25
        blurred = (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]) * 0.25
        down = blurred[2:, 1:-1] - blurred[:-2, 1:-1]
        right = blurred[1:-1, 2:] - blurred[1:-1, :-2]
        return m.sqrt(down * down + right * right)

    return Fusion(text, (x,), x.nbytes, 12 * n * n, numba="blurred_gradient")


def running(n: int) -> Fusion:
    """The cumulative sum of a product."""
    x, y = random(n), random(n)[::-1] - 1  # whose sums stay small: float32 is exact enough
    return Fusion(lambda m, x, y: m.cumsum(x * y, 0), (x, y), x.nbytes, n, numba="running", tolerance=1e-3)


#: By name: title, extents, and what makes it.
FUSIONS: Mapping[str, tuple[str, str, Callable[[], Fusion]]] = {
    "hypotenuse": ("fuse, sqrt(a·a + b·b)·c", "4096 × 4096", partial(hypotenuse, 4096)),
    "moments": ("fuse, mean and variance of rows", "4096 × 4096", partial(moments, 4096)),
    "softmax": ("fuse, softmax of rows", "4096 × 4096", partial(softmax, 4096)),
    "softmax-product": (
        "fuse, softmax of rows, times a matrix",
        "4096 × 4096 × 64",
        partial(softmax_product, 4096, 64),
    ),
    "layer-norm": ("fuse, normalised rows", "4096 × 4096", partial(normalised, 4096)),
    "nearest": ("fuse, nearest of 64 points", "100000 × 64 × 16", partial(nearest, 100_000, 64, 16)),
    "standardise": ("fuse, standardised columns", "4096 × 4096", partial(standardised, 4096)),
    "rbf": ("fuse, RBF kernel matrix", "4096 × 4096 × 64", partial(kernel_matrix, 4096, 64)),
    "blur-gradient": ("fuse, blur, then gradient", "4096 × 4096", partial(blurred_gradient, 4096)),
    "running": ("fuse, cumulative sum of a product", "2²⁴", partial(running, 1 << 24)),
}
