"""BLAS's functions of vectors: scaled, added, and measured, each one MDH.

Takes array-likes, gives new arrays and NumPy's numbers. It must not know devices.
"""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.arrays import Array
from mdhnp.calls.operands import scalar
from mdhnp.frontend.computation import md_hom
from mdhnp.frontend.map_reduce import operand, total_type
from mdhnp.frontend.public import public
from mdhnp.frontend.types import astype
from mdhnp.mdh import cc, index, pw
from mdhnp.mdh.extremes import first

__all__ = ["asum", "axpy", "factor", "iamax", "nrm2", "scal"]

_VECTOR = "array_like: Of shape (n,)."
_RAISES = {
    "ValueError": "If `x` is no vector, shapes do not match, or `alpha` is no scalar.",
    "TypeError": "If kernels do not compute with a type.",
}


@public(
    "Scale a vector as BLAS's SCAL does, ``alpha * x``.",
    x=_VECTOR,
    returns="ndarray: Of shape (n,) and the type that NumPy gives ``alpha * x``.",
    raises=_RAISES,
    example=">>> mdhnp.scal(2, [1.0, 2.0])\narray([2., 4.])",
)
def scal(alpha: Any, x: npt.ArrayLike) -> Any:
    v = operand(x)
    return _SCAL(v, factor(alpha, v))


@public(
    "Add a scaled vector to another one as BLAS's AXPY does, ``alpha * x + y``.",
    x=_VECTOR,
    y=_VECTOR,
    returns="ndarray: Of shape (n,) and the common type of all arguments; `y` stays what it is.",
    raises=_RAISES,
    example=">>> mdhnp.axpy([1.0, 2.0], [10.0, 20.0], alpha=3)\narray([13., 26.])",
)
def axpy(x: npt.ArrayLike, y: npt.ArrayLike, alpha: Any = 1) -> Any:
    given = operand(x), operand(y)
    return _AXPY(*given, factor(alpha, *given))


@public(
    "Add the sizes of a vector's elements as BLAS's ASUM does; a complex number's is ``|re| + |im|``.",
    x=_VECTOR,
    returns="number: Of the type of the sizes; of integers what :func:`mdhnp.sum` gives.",
    raises=_RAISES,
    example=">>> float(mdhnp.asum([3.0, -4.0]))\n7.0",
)
def asum(x: npt.ArrayLike) -> Any:
    return scalar(_ASUM(operand(x)))


@public(
    "Give a vector's Euclidean length as BLAS's NRM2 does: no square overflows or gets lost on the way.",
    x=_VECTOR,
    returns="number: Of the type of `x`, real; float64 for integers.",
    raises=_RAISES,
    notes="Large, common and small squares are three sums, of which the large and the small ones are scaled. Source: "
    'Blue, "A Portable Fortran Program to Find the Euclidean Norm of a Vector", 1978.',
    example=""">>> f"{mdhnp.nrm2([3e200, -4e200]):.6g}"\n'5e+200'""",
)
def nrm2(x: npt.ArrayLike) -> Any:
    return scalar(_NRM2(operand(x)))


@public(
    "Say where the largest element of a vector is as BLAS's IAMAX does, counted from 0.",
    x=f"{_VECTOR} Complex numbers are compared by ``|re| + |im|``; NaN is larger than all numbers, as in NumPy.",
    returns="int64: The first place of several.",
    raises=_RAISES | {"ValueError": "If there is no element, or `x` is no vector."},
    example=">>> int(mdhnp.iamax([1.0, -5.0, 5.0]))\n1",
)
def iamax(x: npt.ArrayLike) -> Any:
    v = operand(x)
    if v.size == 0:
        raise ValueError("x has no elements")
    return scalar(_IAMAX(v)[1])


def factor(value: Any, *arrays: Any) -> Any:
    """Give a factor in the type that it and the arrays have in common; Python's numbers give way to arrays."""
    if np.ndim(value):
        raise ValueError(f"a factor of {np.ndim(value)} axes; a scalar is needed")
    common = np.result_type(getattr(value, "dtype", value), *[a.dtype for a in arrays])
    return astype(value, common) if type(value) is Array else np.asarray(value, common)


def _size(x: Any) -> Any:
    """Give an element's size, in a type that holds it."""
    if x.dtype.kind == "c":
        return np.abs(x.real) + np.abs(x.imag)
    return np.abs(x.astype(total_type(x.dtype)))


def _squares(x: Any) -> tuple[Any, Any, Any]:
    """Give an element's square as one that is scaled down, as it is, or scaled up; 0 for the others."""
    if x.dtype.kind == "c":
        return tuple(p + q for p, q in zip(_squares(x.real), _squares(x.imag), strict=True))
    x = x.astype(_length_type(x.dtype))
    large, small, down, up = _bounds(x.dtype)
    size, none = np.abs(x), x.dtype.type(0)
    is_large, is_small = size > large, size < small
    return (
        np.where(is_large, (x * down) * (x * down), none),
        np.where(np.logical_or(is_large, is_small), none, x * x),
        np.where(is_small, (x * up) * (x * up), none),
    )


def _length(large: Any, common: Any, small: Any, x: Any) -> Any:
    """Give the length from sums of squares."""
    _, _, down, up = _bounds(large.dtype)
    overflowing = np.sqrt(large + (common * down) * down) / down
    length = np.where(large > 0, overflowing, np.hypot(np.sqrt(common), np.sqrt(small) / up))
    return length.astype(np.float16) if x.dtype == np.float16 else length


def _length_type(given: np.dtype[Any]) -> np.dtype[Any]:
    if given.kind != "f":
        return np.dtype(np.float64)
    return np.dtype(np.float32) if given == np.float16 else given


def _bounds(dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Sizes above and below which squares leave a type, and the factors that bring those back."""
    powers = (52, -63, -76, 75) if dtype == np.float32 else (486, -511, -538, 537)
    return tuple([dtype.type(2.0**power) for power in powers])


_SCAL = md_hom(lambda x, alpha: alpha * x, {"i": cc}, "x[i], alpha[] -> O[i]")
_AXPY = md_hom(lambda x, y, alpha: alpha * x + y, {"i": cc}, "x[i], y[i], alpha[] -> O[i]")
_ASUM = md_hom(_size, {"i": pw("add")}, "x[i] -> O[]")
_NRM2 = md_hom(_squares, {"i": pw("add")}, "x[i] -> O[]", finish=_length)
_IAMAX = md_hom(
    lambda x: (_size(x), index(0)),
    {"i": pw(partial(first, "max"), identity=(0, np.iinfo(np.int64).max), commutative=True, name="first max")},
    "x[i] -> O[], at[]",
)
