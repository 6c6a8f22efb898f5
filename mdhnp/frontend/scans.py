"""Scans of the array API standard, sums and products of all elements so far, and differences of neighbours.

A scan is one MDH whose dimension along the axis keeps every prefix (`ps`). Takes array-likes; it must not know devices.
"""

from collections.abc import Callable
from functools import partial
from operator import index as whole
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from mdhnp.calls import Described, Routine, call
from mdhnp.calls.operands import exact_type
from mdhnp.frontend.joining import concat
from mdhnp.frontend.manipulation import Axis, reshape
from mdhnp.frontend.map_reduce import Arrays, axes_of, convert, named, operand, pointwise, total_type
from mdhnp.frontend.public import FIRST_PAPER, UNSUPPORTED, repeatable
from mdhnp.mdh import Affine, MdHom, trace
from mdhnp.mdh.combine import CC, Combine
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.views import contiguous

__all__ = ["cumulative_prod", "cumulative_sum", "diff"]


def _scan(name: str, operator: str, neutral: int, what: str, example: str) -> Callable[..., Any]:
    """Make a function that combines all elements up to each one."""
    routine = Routine(name, partial(_describe_scan, operator), partial(_by_numpy, getattr(np, name)))

    @repeatable(
        f"Give the {what}s of all elements up to each one, as ``numpy.{name}`` does.",
        name=name,
        x="array_like: Of booleans or numbers; float16 is computed in float32, each result rounded once.",
        axis="int or tuple of int, optional: Along which axis; may be left out if there is one only.",
        dtype="dtype, optional: As in :func:`mdhnp.sum`.",
        include_initial=f"bool: Whether the {what} of no elements, {neutral}, comes first; the result is longer by one "
        "then.",
        returns="Array or ndarray: Of the shape of `x`.",
        raises={"ValueError": "If there are several axes and not one is named.", "TypeError": UNSUPPORTED},
        notes=f"Source: {FIRST_PAPER}, Section 2.",
        example=f">>> mdhnp.{name}({example}",
    )
    def function(
        x: Any, /, axis: Axis = None, *, dtype: Any = None, include_initial: bool = False, schedule: Any = None
    ) -> Any:
        x, wanted = operand(x), exact_type(dtype)
        x = x if x.ndim else reshape(x, (1,))
        axes = axes_of(axis, x.ndim)
        if len(axes) != 1:
            raise ValueError(f"an array of {x.ndim} axes; name one by axis")
        return call((routine, *axes, bool(include_initial), wanted), (x,), dtypes=(wanted,))

    return function


@repeatable(
    "Give the differences of neighbours, as ``numpy.diff`` does.",
    x="array_like: Of booleans neighbours that differ are true.",
    n="int: How often: differences, differences of these, and so on.",
    axis="int: Along which axis.",
    prepend="array_like, optional: What stands before `x` along the axis; a number stands there once.",
    append="array_like, optional: What stands behind it, likewise.",
    returns="Array or ndarray: Shorter by `n` along the axis.",
    raises={"ValueError": "If there is no axis at all, or `n` is negative.", "TypeError": UNSUPPORTED},
    example=">>> mdhnp.diff([1, 4, 9, 16], n=2)\narray([2, 2])",
)
def diff(x: Any, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    x = operand(x)
    if whole(n) < 0:
        raise ValueError(f"n is {n}, which must not be negative")
    if not n:
        return x
    if not x.ndim:
        raise ValueError("the array has no axis")
    axis = normalize_axis_index(whole(axis), x.ndim)
    if prepend is not None or append is not None:
        one = (*x.shape[:axis], 1, *x.shape[axis + 1 :])  # numbers are one element along the axis
        parts = [operand(part) for part in (prepend, x, append) if part is not None]
        x = concat([part if part.ndim else np.broadcast_to(part, one) for part in parts], axis)
    for _ in range(n):
        x = call((_DIFF, axis), (x,))
    return x


def _describe_scan(name: str, arrays: Arrays, axis: int, include_initial: bool, wanted: np.dtype[Any] | None) -> MdHom:
    (x,) = arrays
    scalar = convert(x.dtype, wanted or total_type(x.dtype))
    result = scalar.dtypes[0]
    scanned = Combine("ps", named(name, result).operator)
    mapped = pointwise(scalar, arrays)
    combine = tuple([scanned if d == axis else CC for d in range(x.ndim)])
    extents, inputs = mapped.extents, mapped.inputs
    if include_initial:
        # The element before the first one is the operator's identity.
        extents = (*extents[:axis], extents[axis] + 1, *extents[axis + 1 :])
        access = tuple([Affine.of(d, x.ndim, -1 if d == axis else 0) for d in range(x.ndim)])
        inputs = (array_view("A", x, (access,), "constant", "0" if name == "add" else "1"),)
    outputs = (contiguous("O0", result, extents, tuple(range(x.ndim))),)
    return MdHom(extents, combine, scalar, inputs, outputs, None, mapped.names, checked=False)


def _describe_diff(arrays: Arrays, axis: int) -> Described:
    def take(arrays: Arrays) -> Arrays:
        (a,), before = arrays, (slice(None),) * axis
        return a[(*before, slice(1, None))], a[(*before, slice(None, -1))]

    (x,) = arrays
    difference = np.not_equal if x.dtype == np.bool_ else np.subtract
    return Described(pointwise(trace(difference, [x.dtype] * 2), take(arrays)), take)


def _by_numpy(numpys: Any, x: Any, axis: int, include_initial: bool, wanted: np.dtype[Any] | None) -> Any:
    return numpys(x, axis=axis, dtype=wanted, include_initial=include_initial)


cumulative_sum = _scan("cumulative_sum", "add", 0, "sum", "[1, 2, 3], include_initial=True)\narray([0, 1, 3, 6])")
_OF_COLUMNS = "[[1, 2], [3, 4]], axis=0)\narray([[1, 2],\n       [3, 8]])"
cumulative_prod = _scan("cumulative_prod", "mul", 1, "product", _OF_COLUMNS)
_DIFF = Routine("diff", _describe_diff, lambda x, axis: np.diff(x, axis=axis))
