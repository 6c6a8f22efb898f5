"""Elementwise functions of one operand, and of conditions and bounds.

What they mean of complex numbers is written down in `mdh/parts.py`.
"""

from typing import Any

import numpy as np

from mdhnp.arrays import Array
from mdhnp.frontend.binary import maximum, minimum
from mdhnp.frontend.creation import asarray
from mdhnp.frontend.maps import Elementwise, common, unary

__all__ = [
    "abs", "absolute", "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "asin",
    "asinh", "atan", "atanh", "bitwise_invert", "bitwise_not", "cbrt", "ceil", "clip", "conj", "conjugate", "cos",
    "cosh", "exp", "exp2", "expm1", "floor", "imag", "invert", "isfinite", "isinf", "isnan", "log", "log10",
    "log1p", "log2", "logical_not", "negative", "positive", "real", "reciprocal", "rint", "round", "sign",
    "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "where",
]  # fmt: skip


def _round(x: Any) -> Any:
    return np.positive(x) if x.dtype.kind in "iu" else np.rint(x)


def _clip(*x: Any) -> Any:
    """Compute in the type of all three, which that of two of them may be wider than."""
    (common_type,) = {*common(tuple([v.dtype for v in x]))}
    return np.clip(*[v.astype(common_type) for v in x])


abs = unary("abs", np.absolute, "biufc", "Give absolute values.", "[-1.5, 2.0]", "[1.5, 2. ]")
acos = unary(
    "acos",
    np.arccos,
    "biufc",
    "Give the angles whose cosines are the elements, in radians.",
    "[1.0, 0.0]",
    "[0.        , 1.57079633]",
)
acosh = unary(
    "acosh",
    np.arccosh,
    "biufc",
    "Give the numbers whose hyperbolic cosines are the elements.",
    "[1.0, 2.0]",
    "[0.       , 1.3169579]",
)
asin = unary(
    "asin",
    np.arcsin,
    "biufc",
    "Give the angles whose sines are the elements, in radians.",
    "[0.0, 1.0]",
    "[0.        , 1.57079633]",
)
asinh = unary(
    "asinh",
    np.arcsinh,
    "biufc",
    "Give the numbers whose hyperbolic sines are the elements.",
    "[0.0, 1.0]",
    "[0.        , 0.88137359]",
)
atan = unary(
    "atan",
    np.arctan,
    "biufc",
    "Give the angles whose tangents are the elements, in radians.",
    "[0.0, 1.0]",
    "[0.        , 0.78539816]",
)
atanh = unary(
    "atanh",
    np.arctanh,
    "biufc",
    "Give the numbers whose hyperbolic tangents are the elements.",
    "[0.0, 0.5]",
    "[0.        , 0.54930614]",
)
bitwise_invert = unary("bitwise_invert", np.invert, "biu", "Turn all bits round.", "[0, 5]", "[-1, -6]")
cbrt = unary("cbrt", np.cbrt, "biuf", "Give cubic roots.", "[1.0, 27.0]", "[1., 3.]")
ceil = unary("ceil", np.ceil, "biuf", "Round up to whole numbers.", "[1.2, -1.2]", "[ 2., -1.]")
conj = unary("conj", np.conjugate, "biufc", "Give complex conjugates.", "[1 + 2j]", "[1.-2.j]")
cos = unary("cos", np.cos, "biufc", "Give the cosines of angles in radians.", "[0.0, 1.0]", "[1.        , 0.54030231]")
cosh = unary("cosh", np.cosh, "biufc", "Give hyperbolic cosines.", "[0.0, 1.0]", "[1.        , 1.54308063]")
exp = unary("exp", np.exp, "biufc", "Give the elements' exponentials.", "[0.0, 1.0]", "[1.        , 2.71828183]")
exp2 = unary("exp2", np.exp2, "biuf", "Give the elements' powers of 2.", "[0.0, 3.0]", "[1., 8.]")
expm1 = unary(
    "expm1",
    np.expm1,
    "biufc",
    "Give the exponentials less 1, exact for small numbers.",
    "[0.0, 1.0]",
    "[0.        , 1.71828183]",
)
floor = unary("floor", np.floor, "biuf", "Round down to whole numbers.", "[1.8, -1.2]", "[ 1., -2.]")
isfinite = unary(
    "isfinite",
    np.isfinite,
    "biufc",
    "Say which elements are neither infinite nor NaN.",
    "[1.0, mdhnp.inf, mdhnp.nan]",
    "[ True, False, False]",
)
isinf = unary(
    "isinf",
    np.isinf,
    "biufc",
    "Say which elements are infinite.",
    "[1.0, mdhnp.inf, mdhnp.nan]",
    "[False,  True, False]",
)
isnan = unary(
    "isnan", np.isnan, "biufc", "Say which elements are NaN.", "[1.0, mdhnp.inf, mdhnp.nan]", "[False, False,  True]"
)
log = unary("log", np.log, "biufc", "Give natural logarithms.", "[1.0, 2.0]", "[0.        , 0.69314718]")
log1p = unary(
    "log1p",
    np.log1p,
    "biufc",
    "Give the logarithms of 1 plus the elements, exact for small numbers.",
    "[0.0, 1.0]",
    "[0.        , 0.69314718]",
)
log2 = unary("log2", np.log2, "biufc", "Give logarithms to the base 2.", "[1.0, 8.0]", "[0., 3.]")
log10 = unary("log10", np.log10, "biufc", "Give logarithms to the base 10.", "[1.0, 100.0]", "[0., 2.]")
logical_not = unary(
    "logical_not", np.logical_not, "biufc", "Say which elements are zero, or false.", "[0, 3]", "[ True, False]"
)
negative = unary("negative", np.negative, "iufc", "Change the elements' signs.", "[1.5, -2.0]", "[-1.5,  2. ]")
positive = unary(
    "positive", np.positive, "iufc", "Give the elements as they are, in a new array.", "[1.5, -2.0]", "[ 1.5, -2. ]"
)
reciprocal = unary(
    "reciprocal", np.reciprocal, "biufc", "Give 1 divided by the elements.", "[2.0, 4.0]", "[0.5 , 0.25]"
)
rint = unary(
    "rint", np.rint, "biufc", "Round to the nearest whole numbers, halves to even ones.", "[0.5, 1.7]", "[0., 2.]"
)
round = unary(
    "round",
    _round,
    "biufc",
    "Round to the nearest whole numbers, halves to even ones; whole numbers stay what they are.",
    "[0.5, 1.7]",
    "[0., 2.]",
)
sign = unary(
    "sign",
    np.sign,
    "iufc",
    "Give -1, 0 or 1 for negative elements, zero and positive ones.",
    "[-2.5, 0.0, 3.0]",
    "[-1.,  0.,  1.]",
)
signbit = unary(
    "signbit", np.signbit, "biuf", "Say which elements have a sign, also of zeros.", "[-0.0, 0.0]", "[ True, False]"
)
sin = unary("sin", np.sin, "biufc", "Give the sines of angles in radians.", "[0.0, 1.0]", "[0.        , 0.84147098]")
sinh = unary("sinh", np.sinh, "biufc", "Give hyperbolic sines.", "[0.0, 1.0]", "[0.        , 1.17520119]")
square = unary("square", np.square, "biufc", "Give squares.", "[1.5, -2.0]", "[2.25, 4.  ]")
sqrt = unary("sqrt", np.sqrt, "biufc", "Give square roots.", "[4.0, 9.0]", "[2., 3.]")
tan = unary("tan", np.tan, "biufc", "Give the tangents of angles in radians.", "[0.0, 1.0]", "[0.        , 1.55740772]")
tanh = unary("tanh", np.tanh, "biufc", "Give hyperbolic tangents.", "[0.0, 1.0]", "[0.        , 0.76159416]")
trunc = unary("trunc", np.trunc, "biuf", "Round towards zero.", "[1.8, -1.8]", "[ 1., -1.]")

#: NumPy's other names.
absolute, arccos, arccosh, arcsin = abs, acos, acosh, asin
arcsinh, arctan, arctanh, bitwise_not = asinh, atan, atanh, bitwise_invert
conjugate, invert = conj, bitwise_invert

_WHERE = Elementwise("where", np.where, "biufc", lambda types: (types[0], *common(types[1:])))
_CLIP = Elementwise("clip", _clip, "biuf", common)


def where(condition: Any, x1: Any, x2: Any, /) -> Array:
    """Choose elements: of `x1` where a condition holds, else of `x2`.

    Parameters
    ----------
    condition, x1, x2 : Array, ndarray or number
        At least one is an Array, to whose device others are copied. They are broadcast.

    Returns
    -------
    Array
        New, of the common type of `x1` and `x2`.

    Raises
    ------
    TypeError
        If none is an Array.
    ValueError
        If they cannot be broadcast, or are on several devices.

    Examples
    --------
    >>> import mdhnp
    >>> x = mdhnp.asarray([1.0, -2.0])
    >>> mdhnp.where(x > 0, x, 0.0).numpy()
    array([1., 0.])
    """
    result: Array = _WHERE(condition, x1, x2)
    return result


def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """Keep elements between bounds, as ``numpy.clip`` does.

    Parameters
    ----------
    x : Array
        Of real numbers.
    min, max : Array, ndarray or number, optional
        The bounds, broadcast with `x`.

    Returns
    -------
    Array
        New, of the common type.

    Raises
    ------
    TypeError
        If `x` is no Array, or of another type.
    ValueError
        If they cannot be broadcast, or are on several devices.

    Examples
    --------
    >>> import mdhnp
    >>> mdhnp.clip(mdhnp.asarray([1, 5, 9]), 2, 6).numpy()
    array([2, 5, 6])
    """
    if type(x) is Array and x.dtype.kind in "iu":  # whose every element is within bounds beyond its type
        info = np.iinfo(x.dtype)
        min = info.min if type(min) is int and min < info.min else min
        max = info.max if type(max) is int and max > info.max else max
    if min is not None and max is not None:
        result: Array = _CLIP(x, min, max)
        return result
    if min is not None:
        return maximum(x, min)
    return minimum(x, max) if max is not None else positive(x)


def real(x: Array, /) -> Array:
    """Give the real parts, in a new array."""
    return asarray(x.real, copy=True)


def imag(x: Array, /) -> Array:
    """Give the imaginary parts, in a new array: zeros of real numbers."""
    return asarray(x.imag, copy=True)
