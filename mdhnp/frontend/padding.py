"""`pad`: an array with more elements around it, as one map that reads beyond its operand's borders.

What is no Array is left to NumPy.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import Array
from mdhnp.calls import Routine, call
from mdhnp.calls.operands import fallback
from mdhnp.frontend.creation import asarray
from mdhnp.frontend.generators import full
from mdhnp.frontend.public import public
from mdhnp.mdh import Affine, MdHom
from mdhnp.mdh.combine import CC
from mdhnp.mdh.function import identity_function, literal_value
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.views import contiguous

__all__ = ["pad"]

#: What NumPy's modes are called in views.
_BOUNDARIES = {
    "constant": "constant", "edge": "nearest", "reflect": "mirror", "symmetric": "reflect", "wrap": "wrap",
}  # fmt: skip

_Pairs = tuple[tuple[int, int], ...]


@public(
    "Put elements around an array, as ``numpy.pad`` does.",
    pad_width="int, sequence or dict: How many elements before and after: one number for all axes, a pair for all, or "
    "a pair for each axis.",
    mode='str: "constant", "edge", "reflect", "symmetric" or "wrap". Others are left to NumPy.',
    options="``constant_values``, numbers as in `pad_width`; by default 0. Others are left to NumPy.",
    returns="Array or ndarray: New, of the type of `x`.",
    raises={
        "ValueError": "If `pad_width` is not for as many axes or negative, if there is no such mode or option, or if "
        "an axis without elements is to have others than constants.",
        "TypeError": "If `pad_width` is no whole numbers, or what NumPy would have to compute is of an Array.",
    },
    example="""
>>> mdhnp.pad(mdhnp.asarray([1, 2, 3], device="cpu"), (1, 2), mode="edge").tolist()
[1, 1, 2, 3, 3, 3]""",
)
def pad(x: Any, /, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    if not isinstance(x, Array):
        return np.pad(x, pad_width, mode, **options)
    if not callable(mode):
        np.pad(np.empty(0), 0, mode, **dict.fromkeys(options, 0))  # NumPy knows modes and their options, and its errors
    if callable(mode) or mode not in _BOUNDARIES or options.keys() - {"constant_values"}:
        compute = lambda: np.pad(x.numpy(), pad_width, mode, **options)  # noqa: E731
        return asarray(fallback("pad", f"mode is {mode!r} with {options}", compute, (x,)), device=x.device)
    widths = _widths(pad_width, x.ndim)
    if mode != "constant":
        empty = [d for d, n in enumerate(x.shape) if not n and any(widths[d])]
        if empty:
            raise ValueError(f"can't extend empty axis {empty[0]} using modes other than 'constant' or 'empty'")
        return _padded(x, widths, mode)
    given = np.asarray(options.get("constant_values", 0)).astype(x.dtype)
    values = _pairs(given, x.ndim)
    if given.size == 1:
        return _padded(x, widths, mode, given.item())
    none = [(0, 0)] * x.ndim
    for d, (before, after) in enumerate(widths):  # later axes have the corners
        x = _padded(x, (*none[:d], (before, 0), *none[d + 1 :]), mode, values[d, 0])
        x = _padded(x, (*none[:d], (0, after), *none[d + 1 :]), mode, values[d, 1])
    return x


def _widths(given: Any, ndim: int) -> _Pairs:
    """Read `pad_width` as NumPy does."""
    if isinstance(given, dict):
        pairs = [(0, 0)] * ndim
        for axis, width in given.items():
            pairs[axis] = width if isinstance(width, tuple) else (width, width)
        given = pairs
    widths = np.asarray(given)
    if widths.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    if widths.size and widths.min() < 0:
        raise ValueError("index can't contain negative values")
    return tuple([(int(before), int(after)) for before, after in _pairs(widths, ndim)])


def _pairs(given: npt.NDArray[Any], ndim: int) -> npt.NDArray[Any]:
    """Give a pair for each axis."""
    return np.broadcast_to(given.ravel() if given.size == 1 else given, (ndim, 2))


def _padded(x: Array, widths: _Pairs, mode: str, value: Any = 0) -> Any:
    if x.size:
        return call((_PAD, widths, mode, repr(x.dtype.type(value).item())), (x,))
    shape = [before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)]
    return full(tuple(shape), value, dtype=x.dtype, device=x.device)


def _describe(arrays: Sequence[npt.NDArray[Any]], widths: _Pairs, mode: str, fill: str) -> MdHom:
    (x,) = arrays
    rank = x.ndim
    shape = tuple([before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)])
    read = tuple([Affine.of(d, rank, -before) for d, (before, _) in enumerate(widths)])
    boundary = _BOUNDARIES[mode] if any(map(any, widths)) else None
    view = array_view("A", x, (read,), boundary, fill)
    out = contiguous("O0", x.dtype, shape, tuple(range(rank)))
    return MdHom(shape, (CC,) * rank, identity_function([x.dtype]), (view,), (out,), None, dimension_names(rank))


def _by_numpy(x: npt.NDArray[Any], widths: _Pairs, mode: Any, fill: str) -> Any:
    options = {"constant_values": literal_value(fill, x.dtype)} if mode == "constant" else {}
    return np.pad(x, widths, mode, **options)


_PAD = Routine("pad", _describe, _by_numpy)
