"""Reductions of those elements that a condition chooses, and of what comes before the first one: `where`, `initial`.

Each is a few calls, of which the first puts what is neutral in place of other elements: one kernel once they are fused.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from mdhnp.frontend.array_adapted import package
from mdhnp.frontend.map_reduce import axes_of, computed_type, operand


def masked(
    function: Callable[..., Any], ufunc: Any, x: Any, axis: Any, keepdims: bool, where: Any, initial: Any,
    neutral: Any, **options: Any,
) -> Any:  # fmt: skip
    """Reduce the elements that a condition chooses, and what comes before the first one; others are made neutral."""
    x, name, options = operand(x), function.__name__, options | {"axis": axis, "keepdims": keepdims}
    if where is not True:
        if neutral is None:
            raise ValueError("has no identity, so where needs initial, too")
        x = np.where(_condition(where, x), x, x.dtype.type(neutral))
    if initial is None:
        return function(x, **options)
    if np.ndim(initial):
        raise ValueError(f"initial must be one number, not {np.ndim(initial)} axes of them")
    if name in ("max", "min") and not prod([x.shape[d] for d in axes_of(axis, x.ndim)]):
        return package().sum(x, dtype=x.dtype, **options) + x.dtype.type(initial)
    found = function(x, **options)
    return ufunc(found, found.dtype.type(initial))


def _condition(where: Any, x: Any) -> Any:
    """Give which elements are chosen, as many as an array has."""
    where = operand(where)
    if where.dtype != np.bool_:
        raise TypeError(f"where must be of booleans, not {where.dtype}")
    return np.broadcast_to(where, x.shape)


def moment(
    name: str, x: Any, axis: Any, dtype: Any, keepdims: bool, where: Any, correction: float | None = None
) -> Any:
    """Give the mean of the elements that a condition chooses, or their variance or standard deviation."""
    x = operand(x) if dtype is None else in_floats(x, dtype, "fc" if correction is None else "f")
    chosen, given = _condition(where, x), x.dtype
    x = x.astype(computed_type(given), copy=False)
    options, real = {"axis": axis, "where": chosen}, x.real.dtype
    number = package().count_nonzero(chosen, axis=axis, keepdims=keepdims or correction is not None).astype(real)
    found = package().sum(x, keepdims=keepdims or correction is not None, **options) / number
    if correction is not None:
        distance = x - found
        squares = distance * distance if x.dtype.kind == "f" else distance.real**2 + distance.imag**2
        number = np.maximum(number - real.type(correction), real.type(0))
        found = package().sum(squares, keepdims=True, **options) / number
        found = found if keepdims else np.squeeze(found, axes_of(axis, x.ndim))
    found = np.sqrt(found) if name == "std" else found
    return found.astype(given) if given.char == "e" else found


def in_floats(x: Any, dtype: Any, kinds: str = "f") -> Any:
    """Give elements in a type that the call names, of kinds that it may be of."""
    x, wanted = operand(x), np.dtype(dtype)
    if wanted.kind not in kinds or (x.dtype.kind == "c" and wanted.kind != "c"):
        raise TypeError(f"dtype: elements of {x.dtype} are not to be averaged in {wanted}")
    return x.astype(wanted, copy=False)
