"""Functions of several calls, fused, beside what others compile of the same text; for the benchmarks.

The function is written once, over the module that it takes: NumPy, or one of the compilers' own.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import mdhnp
from benchmarks.problem import Array, Call, Problem, random, torch_peer

__all__ = ["blurred_gradient", "hypotenuse", "kernel_matrix", "moments", "running", "softmax", "standardised"]

#: A function of a module and arrays.
Text = Callable[..., Any]


def _problem(
    text: Text,
    arrays: tuple[Array, ...],
    written: int,
    instructions: int,
    *,
    numba: str,
    numexpr: str = "",
    tolerance: float = 1e-4,
) -> Problem:
    """Compare a function, fused, with NumPy's, and with what compilers make of it."""
    fused = mdhnp.fuse(lambda *given: text(np, *given))

    def compiled() -> Call:
        from benchmarks import numba_fusions

        loops = getattr(numba_fusions, numba)
        return lambda: loops(*arrays)

    def jitted() -> Call:
        import jax

        function = jax.jit(lambda *given: text(jax.numpy, *given))
        given = [jax.numpy.asarray(a) for a in arrays]
        return lambda: jax.tree.map(np.asarray, jax.block_until_ready(function(*given)))

    def torchs(torch: Any, t: Callable[[Array], Any]) -> Call:
        function = torch.compile(lambda *given: text(torch, *given))
        given = [t(a) for a in arrays]
        return lambda: function(*given)

    def evaluated() -> Call:
        import numexpr as ne

        names = dict(zip("abc", arrays, strict=False))
        return lambda: ne.evaluate(numexpr, names)

    peers = {"NumPy": lambda: lambda: text(np, *arrays), "Numba prange": compiled, "jax.jit": jitted}
    peers["torch.compile"] = torch_peer(torchs)
    if numexpr:
        peers["numexpr"] = evaluated
    return Problem(lambda: fused(*arrays), peers, sum([a.nbytes for a in arrays]), written, instructions, tolerance)


def hypotenuse(n: int) -> Problem:
    """A map of three arrays."""
    a, b, c = (random(n, n) for _ in range(3))
    return _problem(
        lambda m, a, b, c: m.sqrt(a * a + b * b) * c, (a, b, c), a.nbytes, 5 * n * n,
        numba="hypotenuse", numexpr="sqrt(a*a + b*b)*c",
    )  # fmt: skip


def moments(n: int) -> Problem:
    """Mean and variance of rows."""
    x = random(n, n)

    def text(m: Any, x: Any) -> Any:
        return x.mean(1), (x.var(1) if m.__name__ != "torch" else x.var(1, correction=0))

    return _problem(text, (x,), 8 * n, 3 * n * n, numba="moments")


def softmax(n: int) -> Problem:
    """Exponentials of rows, divided by their sums."""
    x = random(n, n)

    def text(m: Any, x: Any) -> Any:
        largest = x.amax(1)[:, None] if m.__name__ == "torch" else x.max(1)[:, None]
        powers = m.exp(x - largest)
        return powers / powers.sum(1)[:, None]

    return _problem(text, (x,), x.nbytes, 4 * n * n, numba="softmax")


def standardised(n: int) -> Problem:
    """Columns of mean 0 and variance 1."""
    x = random(n, n)

    def text(m: Any, x: Any) -> Any:
        return (x - x.mean(0)) / (x.std(0) if m.__name__ != "torch" else x.std(0, correction=0))

    return _problem(text, (x,), x.nbytes, 5 * n * n, numba="standardised")


def kernel_matrix(n: int, k: int) -> Problem:
    """Gaussian kernels of all pairs of rows."""
    x, y = random(n, k), random(n, k)

    def text(m: Any, x: Any, y: Any) -> Any:
        squares = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * (x @ y.T)
        return m.exp(squares * -0.1)

    return _problem(text, (x, y), 4 * n * n, n * n * k, numba="kernel_matrix")


def blurred_gradient(n: int) -> Problem:
    """The length of an image's gradient, once it was blurred by sums of neighbours."""
    x = random(n, n)

    def text(m: Any, x: Any) -> Any:
        rows = (x[:-2] + 2 * x[1:-1] + x[2:]) * 0.25
        blurred = (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]) * 0.25
        down = blurred[2:, 1:-1] - blurred[:-2, 1:-1]
        right = blurred[1:-1, 2:] - blurred[1:-1, :-2]
        return m.sqrt(down * down + right * right)

    return _problem(text, (x,), x.nbytes, 12 * n * n, numba="blurred_gradient")


def running(n: int) -> Problem:
    """The cumulative sum of a product."""
    x, y = random(n), random(n)[::-1] - 1  # whose sums stay small: float32 is exact enough
    return _problem(lambda m, x, y: m.cumsum(x * y, 0), (x, y), x.nbytes, n, numba="running", tolerance=1e-3)
