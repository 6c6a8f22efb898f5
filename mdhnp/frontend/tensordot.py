"""`tensordot`: products of two arrays added along several pairs of axes, each one MDH."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_index

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.request import array
from mdhnp.frontend.products import integer, joined

__all__ = ["tensordot"]

Array = npt.NDArray[Any]


def tensordot(a: npt.ArrayLike, b: npt.ArrayLike, axes: Any = 2, *, precision: str | None = None) -> Any:
    """Multiply and add along several axes, as ``numpy.tensordot`` does.

    Parameters
    ----------
    a, b : array_like
        The operands.
    axes : int or pair of sequences of int
        Which axes of `a` go with which ones of `b`; a number means that many last ones of `a` and first ones of `b`.
    precision : {"highest", "high", "default"}, optional
        How exact products of float32 must be; by default what ``config.precision`` says, which tells more.

    Returns
    -------
    ndarray
        With the other axes of `a`, then those of `b`.

    Raises
    ------
    ValueError
        If extents differ, an axis is named twice, or there is no such precision.
    IndexError
        If there is no such axis.
    TypeError
        If `axes` are no integers; else as for :func:`dot`, which has the source, too.

    Examples
    --------
    >>> import numpy as np
    >>> import mdhnp
    >>> mdhnp.tensordot(np.ones((2, 3, 4)), np.ones((4, 3, 5)), axes=([1, 2], [1, 0])).shape
    (2, 5)
    """
    return call((_TENSORDOT, _whole(axes)), (a, b), precision=precision)


def _tensordot(arrays: Sequence[Array], axes: Any) -> Described:
    return Described(joined(arrays, _pairs(arrays, axes)), None, array)


_TENSORDOT = Routine("tensordot", _tensordot, np.tensordot)


def _whole(axes: Any) -> Any:
    """Give the `axes` of `tensordot` as an integer or tuples of integers, which have a hash."""
    if not np.iterable(axes):
        return integer("tensordot: axes", axes)
    return tuple([tuple(map(_axis, at)) if np.iterable(at) else _axis(at) for at in axes])


def _axis(value: Any) -> int:
    return integer("tensordot: axes", value)


def _pairs(arrays: Sequence[Array], axes: Any) -> tuple[tuple[int, int], ...]:
    """Read the `axes` of `tensordot`."""
    if isinstance(axes, int):
        axes = range(-axes, 0), range(axes)
    lists = [list(at) if np.iterable(at) else [at] for at in axes]
    if len(lists) != 2:
        raise ValueError(f"tensordot: axes must be a number or a pair, not {len(lists)} sequences")
    chosen = [[normalize_axis_index(n, x.ndim, "axes") for n in at] for x, at in zip(arrays, lists, strict=True)]
    if len(chosen[0]) != len(chosen[1]):
        raise ValueError(f"tensordot: axes names {len(chosen[0])} axes of a and {len(chosen[1])} of b")
    if any(len(set(axes)) < len(axes) for axes in chosen):
        raise ValueError(f"tensordot: axes names an axis twice: {chosen[0]} of a, {chosen[1]} of b")
    for i, j in zip(*chosen, strict=True):
        sizes = arrays[0].shape[i], arrays[1].shape[j]
        if sizes[0] != sizes[1]:
            raise ValueError(f"tensordot: axes: {sizes[0]} elements along {i} of a, {sizes[1]} along {j} of b")
    return tuple(zip(*chosen, strict=True))
