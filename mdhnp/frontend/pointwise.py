"""Maps: a scalar function applied to elements that stand in the same place, of arrays that are broadcast."""

import string
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.mdh import MdHom
from mdhnp.mdh.combine import CC
from mdhnp.mdh.function import Function
from mdhnp.mdh.mdhom import contiguous, dimension_names
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.trace import trace
from mdhnp.mdh.views import Affine

__all__ = ["convert", "pointwise"]


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
    conversion: Callable[[Any], Any] = lambda x: x.astype(wanted)  # noqa: E731
    return trace(conversion, [given])
