"""Linear algebra that takes factors of matrices, as `numpy.linalg` and the array API standard have it.

LAPACK computes them by NumPy, on the host (`calls/host.py`). All take stacks of matrices.
"""

from functools import partial
from typing import Any

import numpy as np

from mdhnp.calls.host import by_host
from mdhnp.frontend import public as shared
from mdhnp.frontend.array_adapted import on_host

__all__ = [
    "cholesky", "det", "eigh", "eigvalsh", "inv", "matrix_rank", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
]  # fmt: skip

_NO_MATRIX = "If matrices are not square, or there are fewer than two axes"
_TYPE = {"TypeError": "If elements are float16."}
_SQUARE = {"numpy.linalg.LinAlgError": f"{_NO_MATRIX}.", **_TYPE}
_MATRIX = {"numpy.linalg.LinAlgError": "If there are fewer than two axes, or no convergence.", **_TYPE}
_public = partial(shared.repeatable, notes=shared.ON_HOST)
_square = partial(_public, x="array_like: Square matrices, of shape (..., n, n).", raises=_SQUARE)
_any = partial(_public, x="array_like: Matrices, of shape (..., n, m).", raises=_MATRIX)
_hermitian = partial(
    _public, x="array_like: Symmetric or Hermitian matrices, of shape (..., n, n), of which the lower triangle is read."
)


@_hermitian(
    "Give the triangular factors of positive definite matrices, as ``numpy.linalg.cholesky`` does.",
    upper="bool: Whether the upper triangle is read, and the factor is the upper one.",
    returns="ndarray or Array: The factors, of the shape of `x`.",
    raises=_TYPE | {"numpy.linalg.LinAlgError": f"{_NO_MATRIX}, or one is not positive definite."},
    example=">>> mdhnp.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])\narray([[2., 0.],\n       [1., 2.]])",
)
def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    return by_host(np.linalg.cholesky, x, upper=upper)


@_square(
    "Give the determinants of matrices, as ``numpy.linalg.det`` does.",
    returns="ndarray, scalar or Array: Of shape (...).",
    example=">>> float(mdhnp.linalg.det([[2.0, 0.0], [5.0, 3.0]]))\n6.0",
)
def det(x: Any, /) -> Any:
    return by_host(np.linalg.det, x)


@_square(
    "Give the signs of determinants and the logarithms of their sizes, as ``numpy.linalg.slogdet`` does.",
    returns="namedtuple of ndarray, scalar or Array: ``sign`` and ``logabsdet``, of shape (...).",
    example=">>> float(mdhnp.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]]).sign)\n-1.0",
)
def slogdet(x: Any, /) -> Any:
    return by_host(np.linalg.slogdet, x)


@_hermitian(
    "Give eigenvalues and eigenvectors of Hermitian matrices, as ``numpy.linalg.eigh`` does.",
    returns="namedtuple of ndarray or Array: ``eigenvalues``, real and in order, of shape (..., n), and "
    "``eigenvectors``, columns of shape (..., n, n).",
    raises=_SQUARE,
    example=">>> mdhnp.linalg.eigh([[2.0, 0.0], [0.0, 1.0]]).eigenvalues\narray([1., 2.])",
)
def eigh(x: Any, /) -> Any:
    return by_host(np.linalg.eigh, x)


@_hermitian(
    "Give the eigenvalues of Hermitian matrices, as ``numpy.linalg.eigvalsh`` does.",
    returns="ndarray or Array: Real, in order, of shape (..., n).",
    raises=_SQUARE,
    example=">>> mdhnp.linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]])\narray([1., 2.])",
)
def eigvalsh(x: Any, /) -> Any:
    return by_host(np.linalg.eigvalsh, x)


@_square(
    "Give the inverses of matrices, as ``numpy.linalg.inv`` does.",
    returns="ndarray or Array: Of the shape of `x`.",
    raises=_TYPE | {"numpy.linalg.LinAlgError": f"{_NO_MATRIX}, or one has no inverse."},
    example=">>> mdhnp.linalg.inv([[2.0, 0.0], [0.0, 4.0]])\narray([[0.5 , 0.  ],\n       [0.  , 0.25]])",
)
def inv(x: Any, /) -> Any:
    return by_host(np.linalg.inv, x)


@_public(
    "Solve systems of linear equations, as ``numpy.linalg.solve`` does.",
    x1="array_like: Square matrices, of shape (..., n, n).",
    x2="array_like: Right-hand sides: one of shape (n,), or columns of shape (..., n, m).",
    returns="ndarray or Array: What the matrices make `x2` of, of the shape of that.",
    raises=_TYPE
    | {"numpy.linalg.LinAlgError": f"{_NO_MATRIX}, or one has no inverse.", "ValueError": "If extents differ."},
    example=">>> mdhnp.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])\narray([1. , 0.5])",
)
def solve(x1: Any, x2: Any, /) -> Any:
    return by_host(np.linalg.solve, x1, x2)


@_any(
    "Give orthonormal and upper triangular factors of matrices, as ``numpy.linalg.qr`` does.",
    mode='str: "reduced", or "complete" for square ``Q``; and NumPy\'s "r" and "raw".',
    returns="namedtuple of ndarray or Array: ``Q`` of shape (..., n, k) and ``R`` of shape (..., k, m), k the smaller "
    "one of n and m.",
    raises=_MATRIX | {"ValueError": "If there is no such mode."},
    example=">>> mdhnp.linalg.qr([[2.0, 0.0], [0.0, 4.0]]).R.shape\n(2, 2)",
)
def qr(x: Any, /, *, mode: Any = "reduced") -> Any:
    return by_host(np.linalg.qr, x, mode)


@_any(
    "Give singular values of matrices and their vectors, as ``numpy.linalg.svd`` does.",
    full_matrices="bool: Whether ``U`` and ``Vh`` are square; else they have as many vectors as there are values.",
    returns="namedtuple of ndarray or Array: ``U``, ``S``, the values, largest first, and ``Vh``.",
    example=">>> mdhnp.linalg.svd([[3.0, 0.0], [0.0, 4.0]]).S\narray([4., 3.])",
)
def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    return by_host(np.linalg.svd, x, full_matrices)


@_any(
    "Give the singular values of matrices, as ``numpy.linalg.svdvals`` does.",
    returns="ndarray or Array: Largest first, of shape (..., k), k the smaller one of n and m.",
    example=">>> mdhnp.linalg.svdvals([[3.0, 0.0], [0.0, 4.0]])\narray([4., 3.])",
)
def svdvals(x: Any, /) -> Any:
    return by_host(np.linalg.svdvals, x)


_RTOL = "array_like, optional: Of the largest singular value, by which others count as 0; by default rounding."


@_any(
    "Give the pseudo-inverses of matrices, as ``numpy.linalg.pinv`` does.",
    rtol=_RTOL,
    returns="ndarray or Array: Of shape (..., m, n).",
    example=">>> mdhnp.linalg.pinv([[2.0], [0.0]])\narray([[0.5, 0. ]])",
)
def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    return by_host(np.linalg.pinv, x) if rtol is None else by_host(np.linalg.pinv, x, rtol)


@_any(
    "Give the ranks of matrices, as ``numpy.linalg.matrix_rank`` does.",
    rtol=_RTOL,
    returns="ndarray, scalar or Array: Of shape (...), int64.",
    raises=_TYPE,
    example=">>> int(mdhnp.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]))\n1",
)
def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    return by_host(np.linalg.matrix_rank, x, rtol=on_host(rtol))
