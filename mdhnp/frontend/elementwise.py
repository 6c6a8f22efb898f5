"""Elementwise functions: of one operand, of two (arithmetic, comparisons, logic, bits), of conditions and bounds.

What they mean of complex numbers is written down in `mdh/complex.py`.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from operator import index
from typing import Any, cast

import numpy as np

from mdhnp.arrays import Array, transfer
from mdhnp.calls import call
from mdhnp.calls.arrays import of_views
from mdhnp.frontend.array_adapted import by_numpy
from mdhnp.frontend.creation import asarray
from mdhnp.frontend.maps import APART, Elementwise, binary, common, operand_of, unary, unlisted
from mdhnp.frontend.public import repeatable
from mdhnp.frontend.scatter import AT
from mdhnp.frontend.searching import nonzero

#: By name, which is NumPy's: kinds of types that it takes, what it does, elements, what it gives of them.
_UNARY = {
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
#: Of two operands: likewise, with a number after the elements.
_BINARY = {
    "add": ("biufc", "Add.", "[1.0, 2.0]", "3", "[4., 5.]"),
    "atan2": ("biuf", "Give points' angles, in radians: `x1` are the heights, `x2` how far they are to the right.",
              "[1.0, -1.0]", "1", "[ 0.78539816, -0.78539816]"),
    "bitwise_and": ("biu", "Give the bits that both have.", "[6, 3]", "5", "[4, 1]"),
    "bitwise_left_shift": ("biu", "Shift bits to the left, to the higher ones.", "[1, 3]", "2", "[ 4, 12]"),
    "bitwise_or": ("biu", "Give the bits that either has.", "[6, 3]", "5", "[7, 7]"),
    "bitwise_right_shift": ("biu", "Shift bits to the right, to the lower ones.", "[4, 12]", "2", "[1, 3]"),
    "bitwise_xor": ("biu", "Give the bits that one has and the other has not.", "[6, 3]", "5", "[3, 6]"),
    "copysign": ("biuf", "Give the sizes of the first with the signs of the second.",
                 "[1.0, -2.0]", "-0.0", "[-1., -2.]"),
    "divide": ("biufc", "Divide; whole numbers become floats.", "[1.0, 3.0]", "2", "[0.5, 1.5]"),
    "equal": ("biufc", "Say which elements are equal.", "[1, 2]", "2", "[False,  True]"),
    "floor_divide": ("biuf", "Divide and round down.", "[7, -7]", "2", "[ 3, -4]"),
    "fmax": ("biuf", "Give the larger of two numbers; of a number and NaN the number.", "[1.0, 3.0]", "2", "[2., 3.]"),
    "fmin": ("biuf", "Give the smaller of two numbers; of a number and NaN the number.", "[1.0, 3.0]", "2", "[1., 2.]"),
    "fmod": ("biuf", "Give what division leaves over, of the first one's sign.", "[7.0, -7.0]", "4", "[ 3., -3.]"),
    "greater": ("biufc", "Say which elements are greater.", "[1, 3]", "2", "[False,  True]"),
    "greater_equal": ("biufc", "Say which elements are not less.", "[1, 2]", "2", "[False,  True]"),
    "hypot": ("biuf", "Give the lengths of hypotenuses.", "[3.0, 5.0]", "4", "[5.        , 6.40312424]"),
    "less": ("biufc", "Say which elements are less.", "[1, 3]", "2", "[ True, False]"),
    "less_equal": ("biufc", "Say which elements are not greater.", "[1, 3]", "1", "[ True, False]"),
    "logaddexp": ("biuf", "Give the logarithms of the sums of exponentials.",
                  "[0.0, 1.0]", "1", "[1.31326169, 1.69314718]"),
    "logical_and": ("biufc", "Say where both are true, or not zero.", "[0, 3]", "2", "[False,  True]"),
    "logical_or": ("biufc", "Say where one is true, or not zero.", "[0, 3]", "0", "[False,  True]"),
    "logical_xor": ("biufc", "Say where just one is true, or not zero.", "[0, 3]", "2", "[ True, False]"),
    "maximum": ("biufc", "Give the larger of two numbers; NaN if one is.", "[1.0, 3.0]", "2", "[2., 3.]"),
    "minimum": ("biufc", "Give the smaller of two numbers; NaN if one is.", "[1.0, 3.0]", "2", "[1., 2.]"),
    "multiply": ("biufc", "Multiply.", "[1.5, 2.0]", "2", "[3., 4.]"),
    "nextafter": ("biuf", "Give the next floats in the direction of the second.", "[1.0, 2.0]", "0", "[1., 2.]"),
    "not_equal": ("biufc", "Say which elements differ.", "[1, 2]", "2", "[ True, False]"),
    "remainder": ("biuf", "Give what division leaves over, of the second one's sign.", "[7, -7]", "4", "[3, 1]"),
    "subtract": ("biufc", "Subtract; not both booleans.", "[1.0, 2.0]", "3", "[-2., -1.]"),
}  # fmt: skip
#: NumPy's other names, by which functions are called in errors, too.
_ALSO = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "bitwise_not": "bitwise_invert", "conjugate": "conj",
    "invert": "bitwise_invert", "left_shift": "bitwise_left_shift", "mod": "remainder",
    "right_shift": "bitwise_right_shift", "true_divide": "divide",
}  # fmt: skip

__all__ = ["clip", "imag", "pow", "power", "real", "round", "where"]
__all__.extend(_UNARY | _BINARY | _ALSO)

_names = {name: name for name in _UNARY | _BINARY} | _ALSO
_made: dict[str, Callable[..., Array]] = {
    name: unary(name, *_UNARY[known]) if known in _UNARY else binary(name, *_BINARY[known])
    for name, known in _names.items()
}
for _name, _method in AT.items():
    _made[_name].at = _method  # type: ignore[attr-defined]
globals().update(_made)


def _clip(*x: Any) -> Any:
    """Compute in the type of all three, which that of two of them may be wider than."""
    (common_type,) = {*common(tuple([v.dtype for v in x]))}
    return np.clip(*[v.astype(common_type) for v in x])


_rounded = unary(
    "round", "biufc", "Round to whole numbers.", "[0.5, 1.7]", "[0., 2.]",
    lambda x: np.positive(x) if x.dtype.kind in "iu" else np.rint(x),
)  # fmt: skip
_WHERE = Elementwise("where", "biufc", promoted=lambda types: (types[0], *common(types[1:])))
_CLIP = Elementwise("clip", "biuf", _clip, common)
_MAXIMUM, _MINIMUM = Elementwise("maximum", "biufc"), Elementwise("minimum", "biufc")
_POSITIVE = Elementwise("positive", "iufc")


@repeatable(
    "Round to the nearest numbers of so many decimals, halves to even ones, as ``numpy.round`` does.",
    x="Array: Of numbers. Whole numbers stay what they are, unless `decimals` is negative.",
    decimals="int: How many; -1 is for tens. Floats are multiplied by its power of 10, rounded, and divided.",
    returns="Array: New, of the same shape and of the type that ``numpy.round`` gives.",
    raises={"TypeError": "If `x` is no Array, `decimals` no whole number, or not 0 for booleans or complex numbers."},
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
        return by_numpy(np.round, f"decimals are given, and x has dtype {x.dtype}", x, decimals)
    return _rounded_to(decimals)(x)


@lru_cache(maxsize=64)
def _rounded_to(decimals: int) -> Elementwise:
    """Make what rounds to so many decimals: one map, also of the steps that NumPy's function takes."""
    factor = float(f"1e{max(decimals, -decimals)}")

    def rounded(x: Any) -> Any:
        wide = x if x.dtype.kind == "f" else x.astype(np.float64)
        found = np.rint(wide / factor) * factor if decimals < 0 else np.rint(wide * factor) / factor
        return found.astype(x.dtype)

    entry = Elementwise("round", "iuf", rounded)
    (routine,) = entry.what
    entry.what = (replace(routine, numpy=partial(np.round, decimals=decimals)),)
    return entry


@repeatable(
    "Choose elements: of `x1` where a condition holds, else of `x2`; of a condition alone :func:`mdhnp.nonzero`.",
    condition="Array, ndarray, list or number: At least one is an Array, to whose device others are copied. They are "
    "broadcast.",
    x1="Array, ndarray, list or number: Likewise.",
    x2="Array, ndarray, list or number: Likewise.",
    returns="Array: New, of the common type of `x1` and `x2`.",
    raises={"TypeError": "If none is an Array, or only one of `x1` and `x2` is given.", "ValueError": APART},
    example=">>> x = mdhnp.asarray([1.0, -2.0])\n>>> mdhnp.where(x > 0, x, 0.0).numpy()\narray([1., 0.])",
    numbers=True,
)
def where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    if x1 is x2 is None:
        return nonzero(condition)
    return _WHERE(condition, x1, x2)


@repeatable(
    "Keep elements between bounds, as ``numpy.clip`` does.",
    x="Array: Of real numbers.",
    min="Array, ndarray, list or number, optional: The lower bounds, broadcast with `x`.",
    max="Array, ndarray, list or number, optional: The upper bounds, likewise.",
    returns="Array: New, of the common type.",
    raises={"TypeError": "If `x` is no Array, or of another type.", "ValueError": APART},
    example=">>> mdhnp.clip(mdhnp.asarray([1, 5, 9]), 2, 6).numpy()\narray([2, 5, 6])",
    numbers=True,
)
def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    if type(x) is Array and x.dtype.kind in "iu":  # whose every element is within bounds beyond its type
        info = np.iinfo(x.dtype)
        if all([b is None or type(b) is int or getattr(b, "dtype", None) == x.dtype for b in (min, max)]):
            # Numbers of NumPy's, which are none of those given: recipes tell these by which they are.
            min = x.dtype.type(info.min) if type(min) is int and min < info.min else min
            max = x.dtype.type(info.max) if type(max) is int and max > info.max else max
    if min is not None and max is not None:
        return _CLIP(x, min, max)
    if min is not None:
        return _MAXIMUM(x, min)
    return _MINIMUM(x, max) if max is not None else _POSITIVE(x)


def _part(name: str, what: str, example: str) -> Callable[[Array], Array]:

    def part(view: Any) -> Any:
        found = getattr(view, name)
        return transfer.converted(found, found.dtype)

    @repeatable(
        f"Give the {what}, in a new array.",
        x="Array: Of numbers.",
        returns="Array: New, of the same shape, of the type of the parts.",
        raises={"AttributeError": "If `x` is no Array, and has no such part."},
        example=f">>> mdhnp.{name}(mdhnp.asarray([1 + 2j])).numpy()\narray([{example}])",
        name=name,
    )
    def function(x: Array, /) -> Array:
        if type(x) is Array and not x.device.own_memory:
            return cast(Array, of_views(part, x, reads=True))
        return asarray(getattr(x, name), copy=True)

    return function


real = _part("real", "real parts", "1.")
imag = _part("imag", "imaginary parts, zeros of real numbers", "2.")


_power = Elementwise("pow", "biufc")
_square = Elementwise("square", "iufc")
#: Kinds of types whose power of an int or a float is that of their own type.
_SQUARED = {int: "iufc", float: "fc"}


def _powers(name: str) -> Callable[[Any, Any], Array]:
    """Make the function that raises to powers, by one of its names."""

    @repeatable(
        "Raise to powers.",
        x1=operand_of("biufc"),
        x2=operand_of("biufc"),
        returns="Array: New, of the type that ``numpy.pow`` gives; Python's numbers take the type of the other "
        "operand. Integers to negative integers that are elements of an Array are rounded toward 0: nobody reads those "
        "to refuse them.",
        raises={
            "TypeError": "If neither is an Array, or one is of another type.",
            "ValueError": f"{APART[:-1]}; if `x1` is of integers and `x2` a number or an ndarray with a negative one.",
        },
        example=f">>> x = mdhnp.asarray([1.0, 3.0])\n>>> mdhnp.{name}(x, 2).numpy()\narray([1., 9.])",
        name=name,
    )
    def function(x1: Any, x2: Any, /) -> Array:
        x2 = unlisted(x2)
        # NumPy's float64 is a float, too, and has a type of its own.
        if type(x1) is Array and type(x2) in (int, float) and x2 == 2 and x1.dtype.kind in _SQUARED[type(x2)]:
            return call(_square.what, (x1,))
        if isinstance(x2, int | np.integer | np.ndarray) and isinstance(x1, Array):
            negative: Any = x2 < 0
            negative = negative if type(negative) is bool else np.any(negative)
            if negative and np.result_type(x1.dtype, x2).kind == "i":
                raise ValueError("integers to negative powers are no integers; convert x1 to floats")
        return _power(x1, x2)

    return function


pow, power = _powers("pow"), _powers("power")
