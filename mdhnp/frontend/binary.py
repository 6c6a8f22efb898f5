"""Elementwise functions of two operands: arithmetic, comparisons, logic, bits.

What they mean of complex numbers is written down in `mdh/complex.py`.
"""

from typing import Any

import numpy as np

from mdhnp.arrays import Array
from mdhnp.calls import call
from mdhnp.frontend.maps import Elementwise, binary, functions, operand_of
from mdhnp.frontend.public import public

#: By name, which is NumPy's: kinds of types that it takes, what it does, elements and a number, what it gives of them.
_FUNCTIONS = {
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
    "greater": ("biuf", "Say which elements are greater.", "[1, 3]", "2", "[False,  True]"),
    "greater_equal": ("biuf", "Say which elements are not less.", "[1, 2]", "2", "[False,  True]"),
    "hypot": ("biuf", "Give the lengths of hypotenuses.", "[3.0, 5.0]", "4", "[5.        , 6.40312424]"),
    "less": ("biuf", "Say which elements are less.", "[1, 3]", "2", "[ True, False]"),
    "less_equal": ("biuf", "Say which elements are not greater.", "[1, 3]", "1", "[ True, False]"),
    "logaddexp": ("biuf", "Give the logarithms of the sums of exponentials.",
                  "[0.0, 1.0]", "1", "[1.31326169, 1.69314718]"),
    "logical_and": ("biufc", "Say where both are true, or not zero.", "[0, 3]", "2", "[False,  True]"),
    "logical_or": ("biufc", "Say where one is true, or not zero.", "[0, 3]", "0", "[False,  True]"),
    "logical_xor": ("biufc", "Say where just one is true, or not zero.", "[0, 3]", "2", "[ True, False]"),
    "maximum": ("biuf", "Give the larger of two numbers; NaN if one is.", "[1.0, 3.0]", "2", "[2., 3.]"),
    "minimum": ("biuf", "Give the smaller of two numbers; NaN if one is.", "[1.0, 3.0]", "2", "[1., 2.]"),
    "multiply": ("biufc", "Multiply.", "[1.5, 2.0]", "2", "[3., 4.]"),
    "nextafter": ("biuf", "Give the next floats in the direction of the second.", "[1.0, 2.0]", "0", "[1., 2.]"),
    "not_equal": ("biufc", "Say which elements differ.", "[1, 2]", "2", "[ True, False]"),
    "remainder": ("biuf", "Give what division leaves over, of the second one's sign.", "[7, -7]", "4", "[3, 1]"),
    "subtract": ("biufc", "Subtract; not both booleans.", "[1.0, 2.0]", "3", "[-2., -1.]"),
}  # fmt: skip
#: NumPy's other names.
_ALSO = {
    "arctan2": "atan2", "left_shift": "bitwise_left_shift", "mod": "remainder", "right_shift": "bitwise_right_shift",
    "true_divide": "divide",
}  # fmt: skip

__all__ = ["pow", "power"]
__all__.extend(_FUNCTIONS | _ALSO)

globals().update(functions(binary, _FUNCTIONS, _ALSO))

_power = Elementwise("pow", "biufc")
_square = Elementwise("square", "iufc")
#: Kinds of types whose power of an int or a float is that of their own type.
_SQUARED = {int: "iufc", float: "fc"}


@public(
    "Raise to powers.",
    x1=operand_of("biufc"),
    x2=operand_of("biufc"),
    returns="Array: New, of the type that ``numpy.pow`` gives; Python's numbers take the type of the other operand. "
    "Integers to negative integers that are elements of an Array are rounded toward 0: nobody reads those to refuse "
    "them.",
    raises={
        "TypeError": "If neither is an Array, or one is of another type.",
        "ValueError": "If they cannot be broadcast, or are on several devices; if `x1` is of integers and `x2` a "
        "number or an ndarray with a negative integer.",
    },
    example=">>> x = mdhnp.asarray([1.0, 3.0])\n>>> mdhnp.pow(x, 2).numpy()\narray([1., 9.])",
)
def pow(x1: Any, x2: Any, /) -> Array:
    # NumPy's float64 is a float, too, and has a type of its own.
    if type(x1) is Array and type(x2) in (int, float) and x2 == 2 and x1.dtype.kind in _SQUARED[type(x2)]:
        squared: Array = call(_square.what, (x1,))
        return squared
    if isinstance(x2, int | np.integer | np.ndarray) and isinstance(x1, Array) and _is_negative_power(x1.dtype, x2):
        raise ValueError("integers to negative powers are no integers; convert x1 to floats")
    result: Array = _power(x1, x2)
    return result


def _is_negative_power(base: np.dtype[Any], exponent: Any) -> bool:
    """Whether integers are raised to a negative integer among those that the host has."""
    negative = exponent < 0
    if not (negative if type(negative) is bool else np.any(negative)):
        return False
    return bool(np.result_type(base, exponent).kind == "i")


power = pow
