"""Elementwise functions of one operand, and of conditions and bounds.

What they mean of complex numbers is written down in `mdh/complex.py`.
"""

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from mdhnp.arrays import Array
from mdhnp.calls.operands import fallback
from mdhnp.frontend.creation import asarray
from mdhnp.frontend.maps import Elementwise, common, functions, unary
from mdhnp.frontend.public import public

#: By name, which is NumPy's: kinds of types that it takes, what it does, elements, what it gives of them.
_FUNCTIONS = {
    "abs": ("biufc", "Give absolute values.", "[-1.5, 2.0]", "[1.5, 2. ]"),
    "acos": ("biufc", "Give the angles whose cosines are the elements, in radians.",
             "[1.0, 0.0]", "[0.        , 1.57079633]"),
    "acosh": ("biufc", "Give the numbers whose hyperbolic cosines are the elements.",
              "[1.0, 2.0]", "[0.       , 1.3169579]"),
    "asin": ("biufc", "Give the angles whose sines are the elements, in radians.",
             "[0.0, 1.0]", "[0.        , 1.57079633]"),
    "asinh": ("biufc", "Give the numbers whose hyperbolic sines are the elements.",
              "[0.0, 1.0]", "[0.        , 0.88137359]"),
    "atan": ("biufc", "Give the angles whose tangents are the elements, in radians.",
             "[0.0, 1.0]", "[0.        , 0.78539816]"),
    "atanh": ("biufc", "Give the numbers whose hyperbolic tangents are the elements.",
              "[0.0, 0.5]", "[0.        , 0.54930614]"),
    "bitwise_invert": ("biu", "Turn all bits round.", "[0, 5]", "[-1, -6]"),
    "cbrt": ("biuf", "Give cubic roots.", "[1.0, 27.0]", "[1., 3.]"),
    "ceil": ("biuf", "Round up to whole numbers.", "[1.2, -1.2]", "[ 2., -1.]"),
    "conj": ("biufc", "Give complex conjugates.", "[1 + 2j]", "[1.-2.j]"),
    "cos": ("biufc", "Give the cosines of angles in radians.", "[0.0, 1.0]", "[1.        , 0.54030231]"),
    "cosh": ("biufc", "Give hyperbolic cosines.", "[0.0, 1.0]", "[1.        , 1.54308063]"),
    "exp": ("biufc", "Give the elements' exponentials.", "[0.0, 1.0]", "[1.        , 2.71828183]"),
    "exp2": ("biuf", "Give the elements' powers of 2.", "[0.0, 3.0]", "[1., 8.]"),
    "expm1": ("biufc", "Give the exponentials less 1, exact for small numbers.",
              "[0.0, 1.0]", "[0.        , 1.71828183]"),
    "floor": ("biuf", "Round down to whole numbers.", "[1.8, -1.2]", "[ 1., -2.]"),
    "isfinite": ("biufc", "Say which elements are neither infinite nor NaN.",
                 "[1.0, mdhnp.inf, mdhnp.nan]", "[ True, False, False]"),
    "isinf": ("biufc", "Say which elements are infinite.", "[1.0, mdhnp.inf, mdhnp.nan]", "[False,  True, False]"),
    "isnan": ("biufc", "Say which elements are NaN.", "[1.0, mdhnp.inf, mdhnp.nan]", "[False, False,  True]"),
    "log": ("biufc", "Give natural logarithms.", "[1.0, 2.0]", "[0.        , 0.69314718]"),
    "log1p": ("biufc", "Give the logarithms of 1 plus the elements, exact for small numbers.",
              "[0.0, 1.0]", "[0.        , 0.69314718]"),
    "log2": ("biufc", "Give logarithms to the base 2.", "[1.0, 8.0]", "[0., 3.]"),
    "log10": ("biufc", "Give logarithms to the base 10.", "[1.0, 100.0]", "[0., 2.]"),
    "logical_not": ("biufc", "Say which elements are zero, or false.", "[0, 3]", "[ True, False]"),
    "negative": ("iufc", "Change the elements' signs.", "[1.5, -2.0]", "[-1.5,  2. ]"),
    "positive": ("iufc", "Give the elements as they are, in a new array.", "[1.5, -2.0]", "[ 1.5, -2. ]"),
    "reciprocal": ("biufc", "Give 1 divided by the elements.", "[2.0, 4.0]", "[0.5 , 0.25]"),
    "rint": ("biufc", "Round to the nearest whole numbers, halves to even ones.", "[0.5, 1.7]", "[0., 2.]"),
    "sign": ("iufc", "Give -1, 0 or 1 for negative elements, zero and positive ones.",
             "[-2.5, 0.0, 3.0]", "[-1.,  0.,  1.]"),
    "signbit": ("biuf", "Say which elements have a sign, also of zeros.", "[-0.0, 0.0]", "[ True, False]"),
    "sin": ("biufc", "Give the sines of angles in radians.", "[0.0, 1.0]", "[0.        , 0.84147098]"),
    "sinh": ("biufc", "Give hyperbolic sines.", "[0.0, 1.0]", "[0.        , 1.17520119]"),
    "square": ("biufc", "Give squares.", "[1.5, -2.0]", "[2.25, 4.  ]"),
    "sqrt": ("biufc", "Give square roots.", "[4.0, 9.0]", "[2., 3.]"),
    "tan": ("biufc", "Give the tangents of angles in radians.", "[0.0, 1.0]", "[0.        , 1.55740772]"),
    "tanh": ("biufc", "Give hyperbolic tangents.", "[0.0, 1.0]", "[0.        , 0.76159416]"),
    "trunc": ("biuf", "Round towards zero.", "[1.8, -1.8]", "[ 1., -1.]"),
}  # fmt: skip
#: NumPy's other names.
_ALSO = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctanh": "atanh", "bitwise_not": "bitwise_invert", "conjugate": "conj", "invert": "bitwise_invert",
}  # fmt: skip

__all__ = ["clip", "imag", "real", "round", "where"]
__all__.extend(_FUNCTIONS | _ALSO)

globals().update(functions(unary, _FUNCTIONS, _ALSO))


def _round(x: Any) -> Any:
    return np.positive(x) if x.dtype.kind in "iu" else np.rint(x)


def _clip(*x: Any) -> Any:
    """Compute in the type of all three, which that of two of them may be wider than."""
    (common_type,) = {*common(tuple([v.dtype for v in x]))}
    return np.clip(*[v.astype(common_type) for v in x])


_rounded = unary("round", "biufc", "Round to whole numbers.", "[0.5, 1.7]", "[0., 2.]", _round)

_WHERE = Elementwise("where", "biufc", promoted=lambda types: (types[0], *common(types[1:])))
_CLIP = Elementwise("clip", "biuf", _clip, common)
_MAXIMUM, _MINIMUM = Elementwise("maximum", "biuf"), Elementwise("minimum", "biuf")
_POSITIVE = Elementwise("positive", "iufc")


@public(
    "Round to the nearest numbers of so many decimals, halves to even ones, as ``numpy.round`` does.",
    x="Array: Of numbers. Whole numbers stay what they are, unless `decimals` is negative.",
    decimals="int: How many; -1 is for tens. Floats are multiplied by its power of 10, rounded, and divided.",
    returns="Array: New, of the same shape and of the type that ``numpy.round`` gives.",
    raises={
        "TypeError": "If `x` is no Array, `decimals` no whole number, or not 0 for booleans or complex numbers.",
    },
    example="""
>>> mdhnp.round(mdhnp.asarray([0.5, 1.7])).numpy()
array([0., 2.])
>>> mdhnp.round(mdhnp.asarray([0.25, 1.77]), 1).numpy()
array([0.2, 1.8])""",
)
def round(x: Array, /, decimals: int = 0) -> Array:
    decimals = index(decimals)
    if type(x) is not Array or not decimals or (decimals > 0 and x.dtype.kind in "iu"):
        return _rounded(x)
    if x.dtype.kind in "bc":
        reason = f"decimals are given, and x has dtype {x.dtype}"
        return asarray(fallback("round", reason, lambda: np.round(x.numpy(), decimals), (x,)), device=x.device)
    factor, wide = float(f"1e{max(decimals, -decimals)}"), x if x.dtype.kind == "f" else x.astype(np.float64)
    found = _rounded(wide / factor) * factor if decimals < 0 else _rounded(wide * factor) / factor
    return found.astype(x.dtype, copy=False)


@public(
    "Choose elements: of `x1` where a condition holds, else of `x2`.",
    condition="Array, ndarray or number: At least one is an Array, to whose device others are copied. They are "
    "broadcast.",
    x1="Array, ndarray or number: Likewise.",
    x2="Array, ndarray or number: Likewise.",
    returns="Array: New, of the common type of `x1` and `x2`.",
    raises={
        "TypeError": "If none is an Array.",
        "ValueError": "If they cannot be broadcast, or are on several devices.",
    },
    example=">>> x = mdhnp.asarray([1.0, -2.0])\n>>> mdhnp.where(x > 0, x, 0.0).numpy()\narray([1., 0.])",
)
def where(condition: Any, x1: Any, x2: Any, /) -> Array:
    return _WHERE(condition, x1, x2)


@public(
    "Keep elements between bounds, as ``numpy.clip`` does.",
    x="Array: Of real numbers.",
    min="Array, ndarray or number, optional: The lower bounds, broadcast with `x`.",
    max="Array, ndarray or number, optional: The upper bounds, likewise.",
    returns="Array: New, of the common type.",
    raises={
        "TypeError": "If `x` is no Array, or of another type.",
        "ValueError": "If they cannot be broadcast, or are on several devices.",
    },
    example=">>> mdhnp.clip(mdhnp.asarray([1, 5, 9]), 2, 6).numpy()\narray([2, 5, 6])",
)
def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    if type(x) is Array and x.dtype.kind in "iu":  # whose every element is within bounds beyond its type
        info = np.iinfo(x.dtype)
        min = info.min if type(min) is int and min < info.min else min
        max = info.max if type(max) is int and max > info.max else max
    if min is not None and max is not None:
        return _CLIP(x, min, max)
    if min is not None:
        return _MAXIMUM(x, min)
    return _MINIMUM(x, max) if max is not None else _POSITIVE(x)


def _part(name: str, what: str, example: str) -> Callable[[Array], Array]:
    """Make the public function of a part of complex numbers."""

    @public(
        f"Give the {what}, in a new array.",
        x="Array: Of numbers.",
        example=f">>> mdhnp.{name}(mdhnp.asarray([1 + 2j])).numpy()\narray([{example}])",
        name=name,
    )
    def function(x: Array, /) -> Array:
        return asarray(getattr(x, name), copy=True)

    return function


real = _part("real", "real parts", "1.")
imag = _part("imag", "imaginary parts, zeros of real numbers", "2.")
