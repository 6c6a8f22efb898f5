"""Linear algebra that kernels compute beside products: norms, powers of matrices, cross products, diagonals.

A norm of vectors is one MDH.
"""

from functools import lru_cache, partial
from math import prod
from operator import index
from typing import Any

import numpy as np

from mdhnp.arrays.array import Array
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.arrays import by_host, of_views
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.cost import NumpyWork
from mdhnp.frontend.array_adapted import package
from mdhnp.frontend.contraction import Arrays, Functions
from mdhnp.frontend.gufuncs import matmul
from mdhnp.frontend.linalg import inv
from mdhnp.frontend.manipulation import Axis, broadcast_to, matrix_transpose, squeeze
from mdhnp.frontend.map_reduce import axes_of, computed_type, named, operand, reduction
from mdhnp.frontend.public import UNSUPPORTED, public, repeatable
from mdhnp.mdh import trace

__all__ = ["cross", "diagonal", "matrix_norm", "matrix_power", "matrix_transpose", "vector_norm"]


def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: Any = False) -> Any:
    """Give what ``numpy.linalg.norm`` gives of an Array."""
    axes = axes_of(axis, x.ndim, False)
    if ord is None or (ord in ("f", "fro") and len(axes) == 2):
        return _of_vectors(x, 2, axes, keepdims)
    if len(axes) not in (1, 2):
        raise ValueError("Improper number of dimensions to norm.")
    return (_of_vectors if len(axes) == 1 else _of_matrices)(x, ord, axes, keepdims)


def _of_vectors(x: Any, ord: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    """Give norms of elements along any number of axes as of one vector."""
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord == -np.inf and not prod([x.shape[d] for d in axes]):
        raise ValueError(f"an array of shape {x.shape} has no elements along axes {axes}, and so no smallest one")
    return call((_VECTOR_NORM, axes, bool(keepdims), float(ord)), (x,))


def _of_matrices(x: Any, ord: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    if ord in (2, -2, "nuc"):
        return by_host(np.linalg.norm, x, ord, axes, keepdims)  # of singular values
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    summed, other = axes if abs(ord) == 1 else axes[::-1]
    if summed == other:
        raise ValueError("Duplicate axes given.")
    found = _of_vectors(_of_vectors(x, 1, (summed,), True), np.inf if ord > 0 else -np.inf, (other,), True)
    return found if keepdims else squeeze(found, axes)


@lru_cache(maxsize=128)
def _functions(ord: float, given: np.dtype[Any]) -> Functions:
    """Say what is summed of each element, or is the largest one, and what the norm is of that."""
    inner = computed_type(given)
    kind = np.finfo(inner).dtype  # which is real
    result = given if given.char == "e" else kind

    def each(x: Any) -> Any:
        x = x.astype(inner)
        if ord == 2:
            return x * x if given.kind != "c" else x.real * x.real + x.imag * x.imag
        return (x != 0).astype(kind) if not ord else abs(x) if abs(ord) in (1, np.inf) and ord != -1 else abs(x) ** ord

    def finish(total: Any, x: Any) -> Any:
        if ord == 2:
            return np.sqrt(total).astype(result)
        if ord == np.inf:
            total = np.maximum(total, 0)  # of no elements
        return (total if ord in (0, 1, np.inf, -np.inf) else total ** (1 / ord)).astype(result)

    combined = {np.inf: "max", -np.inf: "min"}.get(ord, "add")
    return Functions(trace(each, [given]), named(combined, kind), trace(finish, [kind, given]))


def _describe(arrays: Arrays, axes: tuple[int, ...], keepdims: bool, ord: float) -> Described:
    (x,) = arrays
    h = reduction(_functions(ord, x.dtype), arrays, axes, keepdims)
    work = NumpyWork(h.outputs[0].dtype.char, 0, 2 * h.points, h.inputs[0].element_bytes, 0)
    return Described(h, numpy=NumpyFunction("numpy.linalg.vector_norm", partial(_by_numpy, axes, keepdims, ord), work))


def _by_numpy(axes: tuple[int, ...], keepdims: bool, ord: float, x: Any) -> Any:
    flat: Any = None if len(axes) == x.ndim else axes
    return np.linalg.vector_norm(x, axis=flat, keepdims=keepdims, ord=ord)


_VECTOR_NORM = Routine(
    "linalg.vector_norm", _describe, lambda x, axes, keepdims, ord: _by_numpy(axes, keepdims, ord, x)
)


_KEPT = "bool: Whether the axes stay, with one element."


@repeatable(
    "Give the norms of vectors, as ``numpy.linalg.vector_norm`` does.",
    axis="int or tuple of int, optional: Along which axes; elements along several are one vector. By default all.",
    keepdims=_KEPT,
    ord="number: Which norm: 2 the Euclidean one, 1, any other power, infinity for the largest element.",
    returns="ndarray, scalar or Array: Without those axes; real.",
    raises={"ValueError": "If there is no such norm.", "TypeError": UNSUPPORTED},
    example=">>> float(mdhnp.linalg.vector_norm([3.0, 4.0]))\n5.0",
)
def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = operand(x)
    return _of_vectors(x, 2 if ord is None else ord, axes_of(axis, x.ndim, False), keepdims)


@repeatable(
    "Give the norms of matrices, as ``numpy.linalg.matrix_norm`` does.",
    x="array_like: Matrices, of shape (..., n, m).",
    keepdims=_KEPT,
    ord="number or str: Which norm: \"fro\" Frobenius', 1 or -1 the largest or smallest sum of a column's sizes, "
    'infinity or its negative that of a row\'s, 2, -2 and "nuc" the largest, the smallest and the sum of singular '
    "values, which the host computes.",
    returns="ndarray, scalar or Array: Of shape (...); real.",
    raises={"ValueError": "If there is no such norm, or there are fewer than two axes.", "TypeError": UNSUPPORTED},
    example=">>> float(mdhnp.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]]))\n5.0",
)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    x = operand(x)
    if type(x) is not Array and type(x) is not np.ndarray:
        return np.linalg.matrix_norm(x, keepdims=keepdims, ord=ord)
    return norm(x, ord, (-2, -1), keepdims)


@public(
    "Multiply matrices by themselves, as ``numpy.linalg.matrix_power`` does.",
    x="array_like: Square matrices, of shape (..., n, n).",
    n="int: How often; of 0 the result is the identity, of negative ones a power of the inverse.",
    returns="ndarray or Array: Of the shape of `x`.",
    raises={"numpy.linalg.LinAlgError": "If matrices are not square, or have no inverse that is needed."},
    notes="As many products as `n` has binary digits, and as many as of these are 1.",
    example=">>> mdhnp.linalg.matrix_power([[1, 1], [0, 1]], 5)\narray([[1, 5],\n       [0, 1]])",
)
def matrix_power(x: Any, n: int, /) -> Any:
    x = operand(x)
    if type(x) is not Array and (type(x) is not np.ndarray or x.dtype.kind not in "biufc" or index(n) < 1):
        return np.linalg.matrix_power(x, n)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError(f"matrices must be square, and x has shape {x.shape}")
    n = index(n)
    if not n:
        one = package().eye(x.shape[-1], dtype=x.dtype, device=x.device)
        return broadcast_to(one, x.shape).copy()
    square, n = (inv(x), -n) if n < 0 else (x, n)
    found = None
    while n:
        n, digit = divmod(n, 2)
        if digit:
            found = square if found is None else matmul(found, square)
        square = matmul(square, square) if n else square
    return found.copy() if found is x else found


@repeatable(
    "Give the cross products of vectors of three elements, as ``numpy.linalg.cross`` does.",
    x1="array_like: With three elements along the axis.",
    x2="array_like: Likewise; broadcast with the first one.",
    axis="int: Where the vectors' axis is in both operands.",
    returns="ndarray or Array: Of the broadcast shape.",
    raises={"ValueError": "If there are not three elements, or shapes cannot be broadcast.", "TypeError": UNSUPPORTED},
    example=">>> mdhnp.linalg.cross([1, 0, 0], [0, 1, 0])\narray([0, 0, 1])",
)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    if all([type(x) is Array and not x.device.own_memory for x in (x1, x2)]):
        return by_host(np.linalg.cross, x1, x2, axis=axis)
    return np.linalg.cross(x1, x2, axis=axis)  # of Arrays elsewhere: as `composed.py` says


@repeatable(
    "Give a view of the diagonals of matrices, as ``numpy.linalg.diagonal`` does.",
    x="array_like: Matrices, of shape (..., n, m).",
    offset="int: How far above the main diagonal.",
    returns="ndarray or Array: A view, of shape (..., k).",
    raises={"ValueError": "If there are fewer than two axes."},
    example=">>> mdhnp.linalg.diagonal([[1, 2], [3, 4]])\narray([1, 4])",
)
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    if type(x) is Array:
        return of_views(partial(np.linalg.diagonal, offset=offset), x)
    return np.linalg.diagonal(x, offset=offset)
