"""Products as `numpy.linalg` has them: those of the Array API standard, and `multi_dot`.

They differ from those of the same name in `mdhnp`: axes are the last ones by default, and there is no ``out``.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.operands import deliver, output
from mdhnp.frontend import gufuncs, products
from mdhnp.frontend.contraction import Terms
from mdhnp.frontend.pairwise import contracted
from mdhnp.frontend.tensordot import tensordot as sums_of_products

__all__ = ["matmul", "multi_dot", "outer", "tensordot", "trace", "vecdot"]

Array = npt.NDArray[Any]


def matmul(x1: npt.ArrayLike, x2: npt.ArrayLike, /, *, precision: str | None = None) -> Any:
    """Multiply matrices, or stacks of matrices: :func:`mdhnp.matmul`."""
    return gufuncs.matmul(x1, x2, precision=precision)


def outer(x1: npt.ArrayLike, x2: npt.ArrayLike, /) -> Any:
    """Multiply every element of one vector by every element of the other: :func:`mdhnp.outer`.

    Raises
    ------
    ValueError
        If an operand is no vector.
    """
    for name, x in (("x1", x1), ("x2", x2)):
        if np.ndim(x) != 1:
            raise ValueError(f"outer: {name} has {np.ndim(x)} axes, a vector is needed")
    return products.outer(x1, x2)


def tensordot(x1: npt.ArrayLike, x2: npt.ArrayLike, /, *, axes: Any = 2, precision: str | None = None) -> Any:
    """Multiply and add along several axes: :func:`mdhnp.tensordot`."""
    return sums_of_products(x1, x2, axes, precision=precision)


def trace(x: npt.ArrayLike, /, *, offset: int = 0, dtype: npt.DTypeLike | None = None) -> Any:
    """Add the elements of the last two axes' diagonals: :func:`mdhnp.trace`."""
    return products.trace(x, offset, -2, -1, dtype)


def vecdot(x1: npt.ArrayLike, x2: npt.ArrayLike, /, *, axis: int = -1, precision: str | None = None) -> Any:
    """Give the dot products of stacks of vectors: :func:`mdhnp.vecdot`."""
    return gufuncs.vecdot(x1, x2, axis=axis, precision=precision)


def multi_dot(arrays: Iterable[npt.ArrayLike], *, out: Array | None = None, precision: str | None = None) -> Any:
    """Multiply a chain of matrices in the order that costs least, as ``numpy.linalg.multi_dot`` does.

    Parameters
    ----------
    arrays : iterable of array_like
        Two or more matrices; the first may be a vector, taken for a row, and the last one, taken for a column.
    out : ndarray, optional
        Where to put the result: C-contiguous, of its type, and of two axes where there are more than two matrices.
    precision : {"highest", "high", "default"}, optional
        How exact products of float32 must be; by default what ``config.precision`` says, which tells more.

    Returns
    -------
    ndarray or scalar
        Without the axis of a vector.

    Raises
    ------
    ValueError
        If there are fewer than two, extents differ, `out` does not fit, or there is no such precision.
    numpy.linalg.LinAlgError
        If one is no matrix.
    TypeError
        As for :func:`dot`, which has the source, too.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> mdhnp.linalg.multi_dot([np.ones((2, 3)), np.ones((3, 4)), np.ones(4)])
    array([12., 12.])
    """
    operands = list(arrays)
    if len(operands) < 2:
        raise ValueError(f"multi_dot: arrays has {len(operands)} of them, two or more are needed")
    if len(operands) == 2:
        return products.dot(operands[0], operands[1], out, precision=precision)
    target = output("multi_dot", out)
    if target is None:
        return call((_MULTI_DOT,), tuple(operands), precision=precision)
    numpys = partial(_numpys, *operands, out=out)
    result = call((_MULTI_DOT,), tuple(operands), numpy=numpys, precision=precision)
    ends = [np.shape(operand) for operand in (operands[0], operands[-1])]
    shape = [size if len(sizes) > 1 else 1 for sizes, size in zip(ends, (ends[0][0], ends[1][-1]), strict=True)]
    deliver("multi_dot", np.reshape(result, shape), products.exactly("multi_dot", np.reshape(result, shape), target))
    return target if np.ndim(result) == 2 else np.reshape(target, np.shape(result))[()]


def _describe(matrices: Sequence[Array]) -> Described:
    terms = _links(matrices)
    return Described(contracted(terms, terms[0][:-1] + terms[-1][1:], matrices, None, "dp"))


def _numpys(*operands: Any, out: Array | None = None) -> Any:
    return np.linalg.multi_dot(operands, out=out)


_MULTI_DOT = Routine("multi_dot", _describe, _numpys)


def _links(matrices: Sequence[Array]) -> Terms:
    """Label the axes of a chain of matrices, each sharing one with its neighbour."""
    labels = products.letters(len(matrices) + 1)
    terms = [labels[n : n + 2] for n in range(len(matrices))]
    terms[0] = terms[0][-matrices[0].ndim :] if matrices[0].ndim == 1 else terms[0]
    terms[-1] = terms[-1][:1] if matrices[-1].ndim == 1 else terms[-1]
    for n, (a, term) in enumerate(zip(matrices, terms, strict=True)):
        if a.ndim != len(term):
            raise np.linalg.LinAlgError(f"multi_dot: arrays: number {n} has {a.ndim} axes, a matrix is needed")
        if n and a.shape[0] != matrices[n - 1].shape[-1]:
            raise ValueError(f"multi_dot: arrays: number {n} of shape {a.shape} does not fit {matrices[n - 1].shape}")
    return tuple(terms)
