"""Products as `numpy.linalg` has them: those of the Array API standard, and `multi_dot`.

They differ from those of the same name in `mdhnp`: axes are the last ones by default, and there is no ``out``.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.operands import deliver, output
from mdhnp.cost import NumpyWork
from mdhnp.frontend import gufuncs, products
from mdhnp.frontend.pairwise import contracted
from mdhnp.frontend.public import PAPER, UNSUPPORTED, repeatable

__all__ = ["matmul", "multi_dot", "outer", "tensordot", "trace", "vecdot"]

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
