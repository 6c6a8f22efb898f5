"""Maps of arrays that are broadcast, reductions of maps, and what the arguments of both mean.

A map applies a scalar function to elements that stand in the same place. Takes array-likes and MDHs of maps; it must
not know devices.
"""

import string
from collections.abc import Collection, Sequence
from functools import lru_cache
from operator import index as whole
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_tuple

from mdhnp.frontend.contraction import Functions
from mdhnp.frontend.public import UNSUPPORTED
from mdhnp.mdh import Affine, Function, MdHom, View, pw, trace
from mdhnp.mdh.combine import CC, Combine
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.views import contiguous, row_major

__all__ = [
    "RAISES", "axes_of", "convert", "named", "operand", "pointwise", "reduction", "total_type", "wide",
]  # fmt: skip

DType = np.dtype[Any]

#: What reductions raise.
RAISES = {"ValueError": "If an axis is named twice.", "TypeError": UNSUPPORTED}


def pointwise(
    function: Function,
    arrays: Sequence[npt.NDArray[Any]],
    shape: tuple[int, ...] | None = None,
    order: tuple[int, ...] | None = None,
) -> MdHom:
    """Make the MDH of a map of arrays, of which only types and layouts are used; its results are C-contiguous.

    Arrays are broadcast to `shape`, by default the smallest one. `order` has the axes as the results have them.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh.trace import trace
    >>> a = np.ones((2, 3))
    >>> print(pointwise(trace(np.add, [a.dtype, a.dtype]), [a, a[0]]))
    md_hom(x0 + x1, (++, ++)) ∘ (A[i,j], B[j]) -> O0[i,j]
    """
    shape = np.broadcast_shapes(*[a.shape for a in arrays]) if shape is None else shape
    rank = len(shape)
    dims = tuple(range(rank)) if order is None else order
    first, each = Affine((0,) * rank), [Affine.of(d, rank) for d in range(rank)]
    inputs = []
    for name, a in zip(_names(len(arrays)), arrays, strict=True):
        own = zip(a.shape, each[rank - a.ndim :], strict=True)
        inputs.append(array_view(name, a, (tuple([i if n != 1 else first for n, i in own]),)))
    outputs = tuple([contiguous(f"O{n}", t, shape, dims) for n, t in enumerate(function.dtypes)])
    return MdHom.unchecked(shape, (CC,) * rank, function, tuple(inputs), outputs, None, dimension_names(rank))


def _names(count: int) -> Sequence[str]:
    return string.ascii_uppercase[:count] if count <= 14 else [f"A{n}" for n in range(count)]


@lru_cache(maxsize=256)
def convert(given: np.dtype[Any], wanted: np.dtype[Any]) -> Function:
    """Give the function that converts a value."""
    return trace(lambda x: x.astype(wanted), [given])


def operand(x: Any) -> Any:
    """Give something with axes: what has any, or an ndarray."""
    return x if hasattr(x, "ndim") else np.asarray(x)


def total_type(given: DType) -> DType:
    """Give the type in which NumPy adds and multiplies elements of a type."""
    if given.kind in "bi":
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if given.kind == "u" else given


def wide(factor: Any, common: DType) -> Any:
    """Give a factor, in a function being traced, in the type that sums of products are computed in for a result's."""
    return factor.astype(np.float32 if common == np.float16 else common)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Give the axes that an argument names, counted from 0."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and 0 <= axis < ndim:
        return (axis,)  # as it mostly is
    return normalize_axis_tuple(axis if isinstance(axis, tuple) else whole(axis), ndim, "axis")


@lru_cache(maxsize=256)
def named(name: str, dtype: DType) -> Combine:
    """Give the reduction by an operator with a name."""
    return pw(name).resolve([dtype])


def reduction(
    functions: Functions, arrays: Sequence[npt.NDArray[Any]], axes: Collection[int], keepdims: bool = False
) -> MdHom:
    """Reduce a map of arrays along some axes."""
    scalar, operator, finish = functions
    mapped = pointwise(scalar, arrays)
    extents = mapped.extents
    combine = tuple([operator if d in axes else CC for d in range(mapped.rank)])
    outputs = tuple([_output(f"O{n}", t, extents, axes, keepdims) for n, t in enumerate((finish or scalar).dtypes)])
    return MdHom.unchecked(extents, combine, scalar, mapped.inputs, outputs, finish, mapped.names)


def _output(name: str, dtype: DType, extents: tuple[int, ...], axes: Collection[int], keepdims: bool) -> View:
    """Describe a result: without the reduced axes, or with one element along each."""
    rank = len(extents)
    stay = [d for d in range(rank) if keepdims or d not in axes]
    shape = tuple([1 if d in axes else extents[d] for d in stay])
    access = tuple([Affine((0,) * rank) if d in axes else Affine.of(d, rank) for d in stay])
    return View(name, dtype, shape, row_major(shape), 0, (access,))
