"""Random scalar functions and operators, and where random choices come from."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from hypothesis import strategies as st

from mdhnp.mdh import index, ps, pw


class Picker(Protocol):
    """Where random choices come from."""

    def integer(self, low: int, high: int) -> int:
        """A whole number, both ends included."""

    def choice(self, values: Sequence[Any]) -> Any:
        """One of the values; the first is the simplest."""


class Drawn:
    """Choices that Hypothesis makes, and shrinks."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def choice(self, values: Sequence[Any]) -> Any:
        return values[self._draw(st.integers(0, len(values) - 1))]


class Seeded:
    """Choices of a plain generator."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def choice(self, values: Sequence[Any]) -> Any:
        return values[self._random.randrange(len(values))]


# --------------------------------------------------------------------------------------------------------- scalars

FLOATS = ("f4", "f8", "f2", "c8")
INTEGERS = ("i4", "i8", "i1", "u1")
DTYPES = (*FLOATS, *INTEGERS, "?")


def _first(*x: Any) -> Any:
    return x[0]


def _product(*x: Any) -> Any:
    value = x[0]
    for other in x[1:]:
        value = value * other
    return value


def _sum(*x: Any) -> Any:
    value = x[0]
    for other in x[1:]:
        value = value + other
    return value


def _weighted(*x: Any) -> Any:
    value = 2 * x[0]
    for n, other in enumerate(x[1:]):
        value = value + (n % 3) * other
    return value


def _larger(*x: Any) -> Any:
    value = x[0]
    for other in x[1:]:
        value = np.where(value < other, other, value)
    return value


def _extremes(*x: Any) -> Any:
    return np.minimum(np.maximum(x[0], x[-1]), x[len(x) // 2])


def _compare(*x: Any) -> Any:
    return x[0] == x[-1]


def _clipped(*x: Any) -> Any:
    return np.clip(np.abs(_sum(*x)), 1, 3)


SCALARS: tuple[Callable[..., Any], ...] = (_product, _first, _sum, _weighted, _larger, _extremes, _compare, _clipped)
#: How many of them do not compare their arguments, so that they may be complex.
UNORDERED = 4


def scalar(p: Picker, rank: int, count: int, alike: bool, truth: bool, ordered: bool) -> Callable[..., Any]:
    """A scalar function with `count` results."""
    parts = [p.choice(SCALARS if ordered else SCALARS[:UNORDERED]) for _ in range(count)]
    one_type = p.choice((np.int32, np.int64, np.int8)) if alike else None
    indexed = p.integer(0, rank - 1) if rank and p.integer(0, 5) == 0 else None

    def function(*x: Any) -> Any:
        # In float32 whole numbers stay exact.
        x = tuple(v.astype(np.float32) if v.dtype == np.float16 else v for v in x)
        values = [part(*x) for part in parts]
        if indexed is not None:
            values[0] = values[0] + index(indexed).astype(np.int8)
        if truth:
            values[0] = values[0] != 0
        if one_type is not None:
            values = [v.astype(one_type) for v in values]
        return values[0] if count == 1 else tuple(values)

    return function


def ring(p: Picker, rank: int, count: int, width: int) -> Callable[..., Any]:
    """A scalar function of sums and products, in integers of so many bytes: each result tells each argument.

    Integers that wrap are a commutative ring, in which no order of a sum rounds. Weights are odd, so that a term that
    is lost, or counted twice, changes the sum, whatever the others are.
    """
    dtype = np.dtype(f"i{width}")
    indexed = p.integer(0, rank - 1) if rank and p.integer(0, 5) == 0 else None

    def function(*x: Any) -> Any:
        value = dtype.type(1) if indexed is None else index(indexed).astype(dtype)
        for n, other in enumerate(x):
            value = value + dtype.type(2 * n + 3) * other.astype(dtype)
        values = [dtype.type(2 * n + 1) * value + (x[0].astype(dtype) * value if n else value) for n in range(count)]
        return values[0] if count == 1 else tuple(values)

    return function


def any_integers(p: Picker, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array of any integers of a type."""
    ends = np.iinfo(dtype)
    return np.random.default_rng(p.integer(0, 2**16)).integers(ends.min, ends.max, tuple(shape), dtype, endpoint=True)


# ------------------------------------------------------------------------------------------------------- operators


def _left_unless_zero(a: Any, b: Any) -> Any:
    return np.where(a != 0, a, b)


def _circle(a: Any, b: Any) -> Any:
    return a + b + a * b


def _matrix(a: Any, b: Any) -> Any:
    return (a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3])


def _affine(a: Any, b: Any) -> Any:
    """Composition of x -> a0 * x + a1: does not commute."""
    return (a[0] * b[0], b[0] * a[1] + b[1])


def maxplus(a: Any, b: Any) -> Any:
    return (np.maximum(a[0], b[0]), a[1] + b[1])


def _best(a: Any, b: Any) -> Any:
    """The larger first value, the smaller second one on ties, as record linkage keeps it."""
    better = (b[0] > a[0]) | ((b[0] == a[0]) & (b[1] < a[1]))
    return (np.where(better, b[0], a[0]), np.where(better, b[1], a[1]))


def operator(p: Picker, kind: str, floats: bool, results: int, custom: bool, truth: bool, ordered: bool) -> Any:
    """A combine operator for that many results; growing ones only where integers wrap."""
    make = pw if kind == "pw" else ps
    if not ordered and not truth:
        first = ("add", _left_unless_zero)[p.integer(0, int(custom and results == 1))]
        return make(first, commutative=isinstance(first, str))
    if truth:
        name = p.choice(("or", "and", np.logical_xor))
        return make(name) if isinstance(name, str) else make(name, identity=p.choice((None, False)), name="xor")
    if results == 1:
        plain: list[Any] = [
            ("add", {}),
            ("max", {}),
            ("min", {}),
            (np.fmax, {"name": "larger"}),
            (_left_unless_zero, {"commutative": False}),
            (_left_unless_zero, {"commutative": False, "identity": 0}),
            (np.fmin, {"name": "smaller", "commutative": False}),
        ]
        if not floats:
            plain += [("mul", {}), (_circle, {}), (_circle, {"identity": 0})]
    elif results == 2:
        plain = [
            ("add", {}),
            (("max", "add"), {}),
            (("min", "max"), {}),
            (maxplus, {}),
            (_best, {}),
        ]
        if not floats:
            plain += [(_affine, {"commutative": False}), (_affine, {"commutative": False, "identity": (1, 0)})]
    else:
        plain = [("add", {}), ("max", {})]
        if not floats:
            plain += [(_matrix, {"commutative": False}), (_matrix, {"commutative": False, "identity": (1, 0, 0, 1)})]
    function, options = plain[p.integer(0, len(plain) - 1)] if custom else plain[p.integer(0, 2 if results != 4 else 1)]
    return make(function, **options)
