"""Products and factors of matrices as `numpy.linalg` has them: those of the array API standard, and `multi_dot`.

Products differ from those of the same name in `mdhnp`: axes are the last ones by default, and there is no ``out``.
Factors are LAPACK's by NumPy, on the host (`calls/arrays.py`), of stacks of matrices.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.arrays import by_host
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.operands import deliver, output
from mdhnp.cost import NumpyWork
from mdhnp.frontend import gufuncs, products
from mdhnp.frontend.array_adapted import on_host
from mdhnp.frontend.pairwise import contracted
from mdhnp.frontend.public import ON_HOST, PAPER, UNSUPPORTED, repeatable

__all__ = [
    "cholesky", "det", "eigh", "eigvalsh", "inv", "matmul", "matrix_rank", "multi_dot", "outer", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot",
]  # fmt: skip

Array = npt.NDArray[Any]


@repeatable(
    "Multiply matrices, or stacks of matrices: :func:`mdhnp.matmul`.",
    x1="array_like: Of shape (..., n, k).",
    x2="array_like: Of shape (..., k, m).",
    returns="ndarray: Of shape (..., n, m).",
    raises={"ValueError": "If extents differ, or there is no such precision.", "TypeError": UNSUPPORTED},
    example=">>> mdhnp.linalg.matmul([[1, 2]], [[3], [4]])\narray([[11]])",
)
def matmul(x1: npt.ArrayLike, x2: npt.ArrayLike, /, *, precision: str | None = None, schedule: Any = None) -> Any:
    return gufuncs.matmul(x1, x2)


@repeatable(
    "Multiply every element of one vector by every element of the other: :func:`mdhnp.outer`.",
    x1="array_like: Of shape (n,).",
    x2="array_like: Of shape (m,).",
    returns="ndarray: Of shape (n, m).",
    raises={"ValueError": "If an operand is no vector."},
    example=">>> mdhnp.linalg.outer([1, 2], [3, 4])\narray([[3, 4],\n       [6, 8]])",
)
def outer(x1: npt.ArrayLike, x2: npt.ArrayLike, /) -> Any:
    for name, x in (("x1", x1), ("x2", x2)):
        if np.ndim(x) != 1:
            raise ValueError(f"{name} has {np.ndim(x)} axes, a vector is needed")
    return products.outer(x1, x2)


@repeatable(
    "Multiply and add along several axes: :func:`mdhnp.tensordot`.",
    x1="array_like: The first operand.",
    x2="array_like: The second operand.",
    axes="int or pair of sequences of int: Which axes go with which ones.",
    returns="ndarray or scalar: With the other axes of `x1`, then those of `x2`.",
    raises={"ValueError": "If extents differ, or an axis is named twice.", "TypeError": UNSUPPORTED},
    example=">>> int(mdhnp.linalg.tensordot([1, 2], [3, 4], axes=1))\n11",
)
def tensordot(
    x1: npt.ArrayLike, x2: npt.ArrayLike, /, *, axes: Any = 2, precision: str | None = None, schedule: Any = None,
) -> Any:  # fmt: skip
    return products.tensordot(x1, x2, axes)


@repeatable(
    "Add the elements of the last two axes' diagonals: :func:`mdhnp.trace`.",
    x="array_like: Of shape (..., n, m).",
    offset="int: How far above the main diagonal.",
    dtype="dtype, optional: Type to add in.",
    returns="ndarray or scalar: Of shape (...).",
    raises={"ValueError": "If there are fewer than two axes.", "TypeError": UNSUPPORTED},
    example=">>> int(mdhnp.linalg.trace([[1, 2], [3, 4]]))\n5",
)
def trace(x: npt.ArrayLike, /, *, offset: int = 0, dtype: npt.DTypeLike | None = None) -> Any:
    return products.trace(x, offset, -2, -1, dtype)


@repeatable(
    "Give the dot products of stacks of vectors: :func:`mdhnp.vecdot`.",
    x1="array_like: Of shape (..., k).",
    x2="array_like: Of shape (..., k).",
    axis="int: Where the vectors' axis is in both operands.",
    returns="ndarray or scalar: Of shape (...).",
    raises={"ValueError": "If extents differ, or there is no such precision.", "TypeError": UNSUPPORTED},
    example=">>> int(mdhnp.linalg.vecdot([1, 2], [3, 4]))\n11",
)
def vecdot(
    x1: npt.ArrayLike, x2: npt.ArrayLike, /, *, axis: int = -1, precision: str | None = None, schedule: Any = None,
) -> Any:  # fmt: skip
    moved = None if type(axis) is int and axis == -1 else axis
    return gufuncs.vecdot(x1, x2, axis=moved)


@repeatable(
    "Multiply a chain of matrices in the order that costs least, as ``numpy.linalg.multi_dot`` does.",
    arrays="iterable of array_like: Two or more matrices; the first may be a vector, taken for a row, and the last "
    "one, taken for a column.",
    out="ndarray, optional: Where to put the result: C-contiguous, of its type, and of two axes where there are more "
    "than two matrices.",
    returns="ndarray or scalar: Without the axis of a vector.",
    raises={
        "ValueError": "If there are fewer than two, extents differ, `out` does not fit, or there is no such precision.",
        "numpy.linalg.LinAlgError": "If one is no matrix.",
        "TypeError": UNSUPPORTED,
    },
    notes=f"Source: {PAPER} IV-A.",
    example=">>> mdhnp.linalg.multi_dot([np.ones((2, 3)), np.ones((3, 4)), np.ones(4)])\narray([12., 12.])",
)
def multi_dot(
    arrays: Iterable[npt.ArrayLike], *, out: Array | None = None, precision: str | None = None, schedule: Any = None,
) -> Any:  # fmt: skip
    operands: list[Any] = list(arrays)
    if len(operands) < 2:
        raise ValueError(f"arrays has {len(operands)} of them, two or more are needed")
    if len(operands) == 2:
        return products.dot(operands[0], operands[1], out)
    target = output("multi_dot", out)
    if target is None:
        return call((_MULTI_DOT,), tuple(operands))
    numpys = partial(np.linalg.multi_dot, operands, out=out)
    result = call((_MULTI_DOT,), tuple(operands), numpy=numpys)
    ends = [np.shape(operand) for operand in (operands[0], operands[-1])]
    shape = [size if len(sizes) > 1 else 1 for sizes, size in zip(ends, (ends[0][0], ends[1][-1]), strict=True)]
    deliver("multi_dot", np.reshape(result, shape), products.exactly(np.reshape(result, shape), target))
    return target if np.ndim(result) == 2 else np.reshape(target, np.shape(result))[()]


def _describe(matrices: Sequence[Array]) -> Described:
    """Label the axes of a chain of matrices, each sharing one with its neighbour."""
    labels = products.letters(len(matrices) + 1)
    terms = [labels[n : n + 2] for n in range(len(matrices))]
    terms[0] = terms[0][-matrices[0].ndim :] if matrices[0].ndim == 1 else terms[0]
    terms[-1] = terms[-1][:1] if matrices[-1].ndim == 1 else terms[-1]
    for n, (a, term) in enumerate(zip(matrices, terms, strict=True)):
        if a.ndim != len(term):
            raise np.linalg.LinAlgError(f"arrays: number {n} has {a.ndim} axes, a matrix is needed")
        if n and a.shape[0] != matrices[n - 1].shape[-1]:
            raise ValueError(f"arrays: number {n} of shape {a.shape} does not fit {matrices[n - 1].shape}")
    computed = contracted(tuple(terms), terms[0][:-1] + terms[-1][1:], matrices, None, "dp")
    dtype = np.result_type(*matrices)
    points = sum([matrices[0].size * a.size // max(a.shape[0], 1) for a in matrices[1:]])
    by_blas = points if dtype.char in "fdFD" else 0
    work = NumpyWork(dtype.char, by_blas, points - by_blas, sum([a.nbytes for a in matrices]), 0)
    numpys = NumpyFunction("numpy.linalg.multi_dot", lambda *operands: np.linalg.multi_dot(operands), work)
    exact = all([a.dtype.char != "e" for a in matrices])  # whose temporaries are float32
    return Described(computed, numpy=numpys if exact else None)


_MULTI_DOT = Routine("multi_dot", _describe, lambda *operands: np.linalg.multi_dot(operands))

_NO_MATRIX = "If matrices are not square, or there are fewer than two axes"
_TYPE = {"TypeError": "If elements are float16."}
_SQUARE = {"numpy.linalg.LinAlgError": f"{_NO_MATRIX}.", **_TYPE}
_MATRIX = {"numpy.linalg.LinAlgError": "If there are fewer than two axes, or no convergence.", **_TYPE}
_factor = partial(repeatable, notes=ON_HOST)
_of_square = partial(_factor, x="array_like: Square matrices, of shape (..., n, n).", raises=_SQUARE)
_of_any = partial(_factor, x="array_like: Matrices, of shape (..., n, m).", raises=_MATRIX)
_of_hermitian = partial(
    _factor, x="array_like: Symmetric or Hermitian matrices, of shape (..., n, n), of which the lower triangle is read."
)


@_of_hermitian(
    "Give the triangular factors of positive definite matrices, as ``numpy.linalg.cholesky`` does.",
    upper="bool: Whether the upper triangle is read, and the factor is the upper one.",
    returns="ndarray or Array: The factors, of the shape of `x`.",
    raises=_TYPE | {"numpy.linalg.LinAlgError": f"{_NO_MATRIX}, or one is not positive definite."},
    example=">>> mdhnp.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])\narray([[2., 0.],\n       [1., 2.]])",
)
def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    return by_host(np.linalg.cholesky, x, upper=upper)


@_of_square(
    "Give the determinants of matrices, as ``numpy.linalg.det`` does.",
    returns="ndarray, scalar or Array: Of shape (...).",
    example=">>> float(mdhnp.linalg.det([[2.0, 0.0], [5.0, 3.0]]))\n6.0",
)
def det(x: Any, /) -> Any:
    return by_host(np.linalg.det, x)


@_of_square(
    "Give the signs of determinants and the logarithms of their sizes, as ``numpy.linalg.slogdet`` does.",
    returns="namedtuple of ndarray, scalar or Array: ``sign`` and ``logabsdet``, of shape (...).",
    example=">>> float(mdhnp.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]]).sign)\n-1.0",
)
def slogdet(x: Any, /) -> Any:
    return by_host(np.linalg.slogdet, x)


@_of_hermitian(
    "Give eigenvalues and eigenvectors of Hermitian matrices, as ``numpy.linalg.eigh`` does.",
    returns="namedtuple of ndarray or Array: ``eigenvalues``, real and in order, of shape (..., n), and "
    "``eigenvectors``, columns of shape (..., n, n).",
    raises=_SQUARE,
    example=">>> mdhnp.linalg.eigh([[2.0, 0.0], [0.0, 1.0]]).eigenvalues\narray([1., 2.])",
)
def eigh(x: Any, /) -> Any:
    return by_host(np.linalg.eigh, x)


@_of_hermitian(
    "Give the eigenvalues of Hermitian matrices, as ``numpy.linalg.eigvalsh`` does.",
    returns="ndarray or Array: Real, in order, of shape (..., n).",
    raises=_SQUARE,
    example=">>> mdhnp.linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]])\narray([1., 2.])",
)
def eigvalsh(x: Any, /) -> Any:
    return by_host(np.linalg.eigvalsh, x)


@_of_square(
    "Give the inverses of matrices, as ``numpy.linalg.inv`` does.",
    returns="ndarray or Array: Of the shape of `x`.",
    raises=_TYPE | {"numpy.linalg.LinAlgError": f"{_NO_MATRIX}, or one has no inverse."},
    example=">>> mdhnp.linalg.inv([[2.0, 0.0], [0.0, 4.0]])\narray([[0.5 , 0.  ],\n       [0.  , 0.25]])",
)
def inv(x: Any, /) -> Any:
    return by_host(np.linalg.inv, x)


@_factor(
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


@_of_any(
    "Give orthonormal and upper triangular factors of matrices, as ``numpy.linalg.qr`` does.",
    mode='str: "reduced", or "complete" for square ``Q``; and NumPy\'s "r" and "raw".',
    returns="namedtuple of ndarray or Array: ``Q`` of shape (..., n, k) and ``R`` of shape (..., k, m), k the smaller "
    "one of n and m.",
    raises=_MATRIX | {"ValueError": "If there is no such mode."},
    example=">>> mdhnp.linalg.qr([[2.0, 0.0], [0.0, 4.0]]).R.shape\n(2, 2)",
)
def qr(x: Any, /, *, mode: Any = "reduced") -> Any:
    return by_host(np.linalg.qr, x, mode)


@_of_any(
    "Give singular values of matrices and their vectors, as ``numpy.linalg.svd`` does.",
    full_matrices="bool: Whether ``U`` and ``Vh`` are square; else they have as many vectors as there are values.",
    returns="namedtuple of ndarray or Array: ``U``, ``S``, the values, largest first, and ``Vh``.",
    example=">>> mdhnp.linalg.svd([[3.0, 0.0], [0.0, 4.0]]).S\narray([4., 3.])",
)
def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    return by_host(np.linalg.svd, x, full_matrices)


@_of_any(
    "Give the singular values of matrices, as ``numpy.linalg.svdvals`` does.",
    returns="ndarray or Array: Largest first, of shape (..., k), k the smaller one of n and m.",
    example=">>> mdhnp.linalg.svdvals([[3.0, 0.0], [0.0, 4.0]])\narray([4., 3.])",
)
def svdvals(x: Any, /) -> Any:
    return by_host(np.linalg.svdvals, x)


_RTOL = "array_like, optional: Of the largest singular value, by which others count as 0; by default rounding."


@_of_any(
    "Give the pseudo-inverses of matrices, as ``numpy.linalg.pinv`` does.",
    rtol=_RTOL,
    returns="ndarray or Array: Of shape (..., m, n).",
    example=">>> mdhnp.linalg.pinv([[2.0], [0.0]])\narray([[0.5, 0. ]])",
)
def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    return by_host(np.linalg.pinv, x) if rtol is None else by_host(np.linalg.pinv, x, rtol)


@_of_any(
    "Give the ranks of matrices, as ``numpy.linalg.matrix_rank`` does.",
    rtol=_RTOL,
    returns="ndarray, scalar or Array: Of shape (...), int64.",
    raises=_TYPE,
    example=">>> int(mdhnp.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]))\n1",
)
def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    return by_host(np.linalg.matrix_rank, x, rtol=on_host(rtol))
