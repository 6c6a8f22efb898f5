"""The computations that are measured on CPUs: our call, the peers' best calls for the same, and what it costs at least.

Takes nothing; gives `CASES` by name. A peer gets contiguous float32 inputs and, where it takes one, an output array
that is there already. Libraries are imported when a case is made, and those not installed are left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import mdhnp
from benchmarks import records
from benchmarks.measure import cores

__all__ = ["CASES", "CONTRACTION", "Case", "Problem", "gaussian"]

Array = npt.NDArray[Any]
Call = Callable[[], Any]

#: Number 40 of the TCCG list, of the CCSD(T) method.
CONTRACTION = "badg,cgfe->fedcba", {"a": 24, "b": 16, "c": 16, "d": 16, "e": 24, "f": 16, "g": 24}


@dataclass(frozen=True)
class Problem:
    """A case with its arrays made.

    Attributes
    ----------
    ours : callable
        The whole call, as a user writes it.
    peers : mapping of str to callable
        By name; the first is the one that `required` is about. Each makes the call, given its library.
    read, written, instructions : int
        Bytes and arithmetic that no way of computing it can avoid (a multiply-add is one instruction).
    tolerance : float
        How far results may differ, relative to the largest one.
    """

    ours: Call
    peers: Mapping[str, Callable[[], Call]]
    read: int
    written: int
    instructions: int
    tolerance: float = 1e-5


@dataclass(frozen=True)
class Case:
    """One computation: name on the command line, title and extents in tables, and what a first version must reach."""

    name: str
    title: str
    extents: str
    make: Callable[[], Problem]
    required: float | None = None


def _random(*shape: int) -> Array:
    return np.random.default_rng(7).random(shape, np.float32) + np.float32(0.5)


def _torch(make: Callable[[Any, Callable[[Array], Any]], Call], alone: bool = False) -> Callable[[], Call]:
    """Give a peer from the module torch and a conversion to tensors that share memory.

    On small work it is at its best `alone`, with one thread: two wait for each other for longer than they compute.
    """

    def peer() -> Call:
        import torch

        torch.set_grad_enabled(False)
        torch.set_num_threads(1 if alone else cores())
        return make(torch, torch.from_numpy)

    return peer


def _product(m: int, k: int, n: int) -> Problem:
    a, b = _random(m, k), _random(k, n)
    out = np.empty((m, n), np.float32)
    second = np.empty_like(out)

    def torch_mm(torch: Any, t: Callable[[Array], Any]) -> Call:
        left, right, result = t(a), t(b), t(second)
        return lambda: torch.mm(left, right, out=result)

    return Problem(
        lambda: mdhnp.matmul(a, b),
        {
            "np.matmul": lambda: lambda: np.matmul(a, b, out=out),
            "torch.mm": _torch(torch_mm, alone=m * k * n < 1 << 20),
        },
        4 * (m * k + k * n),
        4 * m * n,
        m * k * n,
    )


def _einsum_small() -> Problem:
    a, b = _random(64, 64), _random(64, 64)
    return Problem(
        lambda: mdhnp.einsum("ij,jk->ik", a, b),
        {
            "np.einsum": lambda: lambda: np.einsum("ij,jk->ik", a, b),
            "np.einsum(optimize=True)": lambda: lambda: np.einsum("ij,jk->ik", a, b, optimize=True),
        },
        2 * a.nbytes,
        a.nbytes,
        64**3,
    )


def _gemv(n: int, trans: bool) -> Problem:
    a, x = _random(n, n), _random(n)
    matrix = a.T if trans else a
    out = np.empty(n, np.float32)
    second = np.empty_like(out)

    def torch_mv(torch: Any, t: Callable[[Array], Any]) -> Call:
        left, right, result = t(matrix), t(x), t(second)
        return lambda: torch.mv(left, right, out=result)

    return Problem(
        lambda: mdhnp.gemv(a, x, trans=trans),
        {"np.matmul": lambda: lambda: np.matmul(matrix, x, out=out), "torch.mv": _torch(torch_mv)},
        a.nbytes + x.nbytes,
        out.nbytes,
        n * n,
    )


def _dot(n: int) -> Problem:
    a, b = _random(n), _random(n)[::-1].copy()

    def torch_dot(torch: Any, t: Callable[[Array], Any]) -> Call:
        left, right = t(a), t(b)
        return lambda: torch.dot(left, right)

    return Problem(
        lambda: mdhnp.dot(a, b),
        {"np.dot": lambda: lambda: np.dot(a, b), "torch.dot": _torch(torch_dot)},
        2 * a.nbytes,
        4,
        n,
        tolerance=1e-4,
    )


def gaussian() -> tuple[Array, Array]:
    """Give the weights of a 5×5 binomial filter, and their one-dimensional factor."""
    row = np.array([1, 4, 6, 4, 1], np.float32) / np.float32(16)
    return np.outer(row, row), row


def _gaussian(n: int) -> Problem:
    image, (weights, row) = _random(n, n), gaussian()
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
            "torch conv2d": _torch(conv2d),
        },
        image.nbytes,
        image.nbytes,
        25 * n * n,
    )


def _central(n: Any) -> tuple[Any, Any]:
    half = np.float32(0.5)
    return (n[1, 0] - n[-1, 0]) * half, (n[0, 1] - n[0, -1]) * half


def _gradient(n: int) -> Problem:
    image = _random(n, n)
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

        options = {"ksize": 1, "scale": 0.5, "borderType": cv2.BORDER_REPLICATE}

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


def _contraction() -> Problem:
    subscripts, extents = CONTRACTION
    terms, output = subscripts.split("->")
    a, b = (_random(*(extents[c] for c in term)) for term in terms.split(","))
    size = int(np.prod([extents[c] for c in output]))

    def torch_einsum(torch: Any, t: Callable[[Array], Any]) -> Call:
        left, right = t(a), t(b)
        return lambda: torch.einsum(subscripts, left, right).contiguous()

    return Problem(
        lambda: mdhnp.einsum(subscripts, a, b),
        {
            "np.einsum(optimize=True), C-contiguous": lambda: (
                lambda: np.ascontiguousarray(np.einsum(subscripts, a, b, optimize=True))
            ),
            "torch.einsum, contiguous": _torch(torch_einsum),
        },
        a.nbytes + b.nbytes,
        4 * size,
        size * extents["g"],
    )


def _prl(n: int) -> Problem:
    new, existing = records.people(n, 1), records.people(n, 2)
    records.repeat_some(new, existing)
    codes, chance = records.encode(new, existing)
    tables = records.weights(chance)
    thresholds = (15.0, 45.0)

    def compiled(prepare: bool) -> Callable[[], Call]:
        def peer() -> Call:
            from benchmarks.numba_peers import best_pairs

            if not prepare:
                return lambda: best_pairs(*codes, *tables, *thresholds)

            def whole() -> Any:
                found, frequency = records.encode(new, existing)
                return best_pairs(*found, *records.weights(frequency), *thresholds)

            return whole

        return peer

    return Problem(
        lambda: mdhnp.prl(new, existing, m=records.AGREEMENT, thresholds=thresholds),
        {
            "pandas.factorize, then Numba prange": compiled(True),
            "Numba prange alone, codes and weights given": compiled(False),
        },
        2 * codes[0].nbytes + codes[1].nbytes * 2,
        n * 9,
        3 * len(records.AGREEMENT) * n * n,
    )


def _min_plus(n: int) -> Problem:
    a, b = _random(n, n), _random(n, n)
    out = np.empty_like(a)
    product = mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}, "A[i,k], B[k,j] -> C[i,j]")

    def numba() -> Call:
        from benchmarks.numba_peers import min_plus

        return lambda: min_plus(a, b, out)

    return Problem(lambda: product(a, b), {"Numba prange": numba}, 2 * a.nbytes, a.nbytes, 2 * n**3)


_LIST = (
    Case("sgemm", "matmul", "1024 × 1024 × 1024", lambda: _product(1024, 1024, 1024), 0.5),
    Case("gemv", "gemv, A x", "4096 × 4096", lambda: _gemv(4096, False), 0.7),
    Case("gemv-t", "gemv, Aᵀ x", "4096 × 4096", lambda: _gemv(4096, True), 0.7),
    Case("dot", "dot", "2²⁴", lambda: _dot(1 << 24)),
    Case("gaussian", "stencil, Gaussian 5×5", "4096 × 4096", lambda: _gaussian(4096), 1.5),
    Case("gradient", "stencil, gradient (2 results)", "4096 × 4096", lambda: _gradient(4096)),
    Case("contraction", "einsum, CCSD(T) contraction 40", "24·16·16·16·24·16, sum of 24", _contraction, 1.0),
    Case("prl", "prl, 14 fields", "4096 × 4096 records", lambda: _prl(4096)),
    Case("min-plus", "md_hom, min-plus product", "512 × 512 × 512", lambda: _min_plus(512)),
    Case("einsum-64", "einsum", "64 × 64 × 64", _einsum_small),
    Case("matmul-64", "matmul", "64 × 64 × 64", lambda: _product(64, 64, 64)),
    Case("gemm-dl", "matmul (M, N, K)", "10, 500, 64", lambda: _product(10, 64, 500)),
)

#: By the name on the command line, in the order of the tables.
CASES: Mapping[str, Case] = {case.name: case for case in _LIST}
