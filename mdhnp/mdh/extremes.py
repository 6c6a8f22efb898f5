"""Combine operators that keep the largest or smallest value, of complex numbers, too, or with the place of the first.

As in NumPy, NaN wins, and complex numbers are ordered by their real parts and then by their imaginary ones. It must not
know views.
"""

from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from mdhnp.mdh.combine import Combine, farthest, pw
from mdhnp.mdh.complex import where
from mdhnp.mdh.laws import Source
from mdhnp.mdh.trace import index, trace

__all__ = ["Which", "extreme", "first", "first_extreme"]

Which = Literal["max", "min"]

_PLACE = np.dtype(np.int64)


@lru_cache(maxsize=64)
def extreme(which: Which, dtype: np.dtype[Any]) -> Combine:
    """Give the reduction to the largest or smallest value."""
    if dtype.kind != "c":
        return pw(which).resolve([dtype])
    spec = pw(
        lambda p, q: where(_wins(which, q, p), q, p), identity=farthest(which, dtype), commutative=True, name=which
    )
    return spec.resolve([dtype])


@lru_cache(maxsize=64)
def first_extreme(which: Which, dtype: np.dtype[Any], place: np.dtype[Any] = _PLACE) -> Combine:
    """Give the reduction of pairs of a value and its place to the first one of the largest or smallest values.

    Places are of type `place`; vectors of narrower ones hold as many as of values.
    """
    identity = farthest(which, dtype), np.iinfo(place).max
    places = trace(lambda x: (x, index(0).astype(place)), [dtype])
    spec = pw(partial(first, which), identity=identity, commutative=True, name=f"first {which}")
    return spec.resolve([dtype, place], Source(places))


def first(which: Which, p: Any, q: Any) -> tuple[Any, Any]:
    """Keep, of two pairs of a value and its place, the largest or smallest value, and the first of equal ones."""
    (a, i), (b, j) = p, q
    alike = (a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype.kind in "fc" else a == b
    taken = _wins(which, b, a) | (alike & (j < i))
    return where(taken, b, a), where(taken, j, i)


def _wins(which: Which, a: Any, b: Any) -> Any:
    """Whether `a` stands before `b`."""
    before, behind = (np.greater, np.less_equal) if which == "max" else (np.less, np.greater_equal)
    if a.dtype.kind == "c":
        by_parts = before(a.real, b.real) | ((a.real == b.real) & before(a.imag, b.imag))
        return ~np.isnan(b) & (by_parts | np.isnan(a))
    # Not behind a number are those before it, and NaN.
    return ~behind(a, b) & ~np.isnan(b) if a.dtype.kind == "f" else before(a, b)
