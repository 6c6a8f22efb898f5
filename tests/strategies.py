"""Random MDHs, with arrays to run them on.

Everything is drawn through a :class:`Picker`, which Hypothesis or a plain random generator stands behind. Floats hold
small whole numbers, so that sums are exact in any order and results can be compared bit by bit.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from hypothesis import strategies as st

from mdhnp.mdh import MdHom, cc, index, md_hom, ps, pw

Array = np.ndarray[Any, Any]


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


@dataclass(frozen=True)
class Case:
    """An MDH and the arrays to run it on."""

    mdhom: MdHom
    arrays: tuple[Array, ...]


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


def _scalar(p: Picker, rank: int, count: int, alike: bool, truth: bool, ordered: bool) -> Callable[..., Any]:
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


def _maxplus(a: Any, b: Any) -> Any:
    return (np.maximum(a[0], b[0]), a[1] + b[1])


def _best(a: Any, b: Any) -> Any:
    """The larger first value, the smaller second one on ties, as record linkage keeps it."""
    better = (b[0] > a[0]) | ((b[0] == a[0]) & (b[1] < a[1]))
    return (np.where(better, b[0], a[0]), np.where(better, b[1], a[1]))


def _operator(p: Picker, kind: str, floats: bool, results: int, custom: bool, truth: bool, ordered: bool) -> Any:
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
            (np.maximum, {"name": "larger"}),
            (_left_unless_zero, {"commutative": False}),
            (_left_unless_zero, {"commutative": False, "identity": 0}),
            (np.minimum, {"name": "smaller", "commutative": False}),
        ]
        if not floats:
            plain += [("mul", {}), (_circle, {}), (_circle, {"identity": 0})]
    elif results == 2:
        plain = [
            ("add", {}),
            (("max", "add"), {}),
            (("min", "max"), {}),
            (_maxplus, {}),
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


# ------------------------------------------------------------------------------------------------------------ MDHs

_NAMES = "abcdefgh"


def _extent(p: Picker, budget: int) -> int:
    kind = p.integer(0, 9)
    if kind == 0:
        n = 1
    elif kind <= 5:
        n = p.integer(2, 9)
    elif kind <= 7:
        n = p.choice((7, 11, 13, 16, 17, 19, 23, 31, 32, 33))
    else:
        n = p.integer(20, 130)
    return max(1, min(n, budget))


def _extents(p: Picker, rank: int, points: int) -> list[int]:
    extents: list[int] = []
    for d in range(rank):
        extents.append(_extent(p, max(1, int(points ** (1 / (1 + 0.5 * (rank - d - 1)))))))
        points = max(1, points // extents[-1])
    return extents


def _term(names: Sequence[tuple[str, int]], constant: int) -> str:
    text = " + ".join(f"{c}*{n}" for n, c in names)
    return f"{text} + {constant}" if text else str(constant)


def _input(
    p: Picker, name: str, extents: Sequence[int]
) -> tuple[list[list[tuple[dict[int, int], int]]], tuple[int, ...], str | None]:
    """Accesses (coefficients and constant of each axis), the array's shape, and a boundary mode."""
    rank = len(extents)
    dims = [d for d in range(rank) if p.integer(0, 3) > 0]
    # Shuffle: transposes. Some neighbours share an axis (p + r), some a diagonal.
    order = shuffled(p, dims)
    axes: list[dict[int, int]] = []
    for d in order:
        coefficient = p.choice((1, 1, 1, 1, 1, 2, -1, 3)) if p.integer(0, 2) == 0 else 1
        if axes and p.integer(0, 5) == 0:
            axes[-1][d] = coefficient
        else:
            axes.append({d: coefficient})
    if dims and p.integer(0, 11) == 0:
        axes.append({p.choice(dims): 1})
    if p.integer(0, 11) == 0:
        axes.insert(p.integer(0, len(axes)), {})
    count = p.choice((1, 1, 1, 2, 3, 5)) if axes else 1
    boundary = p.choice(("constant", "nearest", "reflect", "mirror", "wrap")) if axes and p.integer(0, 4) == 0 else None
    # Mostly shifted copies of one access (a stencil), sometimes with its axes exchanged as well.
    rows = [axes if n == 0 or p.integer(0, 7) else axes[::-1] for n in range(count)]
    spans = [[_span(axis, extents) for axis in row] for row in rows]
    constants = [[p.integer(-2, 2) if count > 1 or boundary else 0 for _ in axes] for _ in range(count)]
    shape = []
    for a in range(len(axes)):
        low = min(spans[n][a][0] + constants[n][a] for n in range(count))
        high = max(spans[n][a][1] + constants[n][a] for n in range(count))
        if boundary is None:
            constants = [[k - low if b == a else k for b, k in enumerate(row)] for row in constants]
            shape.append(high - low + 1 + p.choice((0, 0, 0, 1, 3)))
        else:
            shape.append(max(1, high - low + 1 - p.choice((0, 2, 4, 6, -2))))
    accesses = [list(zip(row, shifts, strict=True)) for row, shifts in zip(rows, constants, strict=True)]
    return accesses, tuple(shape), boundary


def _span(axis: dict[int, int], extents: Sequence[int]) -> tuple[int, int]:
    ends = [c * (extents[d] - 1) for d, c in axis.items()]
    return sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)


def _layout(p: Picker, array: Array) -> Array:
    """The same elements, or some of them repeated, elsewhere in memory."""
    kind = p.choice(("c", "c", "f", "reversed", "stepped", "repeated", "inside"))
    if array.ndim == 0 or kind == "c":
        return array
    if kind == "f":
        return np.asfortranarray(array)
    if kind == "reversed":
        axis = p.integer(0, array.ndim - 1)
        return np.flip(np.ascontiguousarray(np.flip(array, axis)), axis)
    if kind == "repeated":
        axis = p.integer(0, array.ndim - 1)
        return np.broadcast_to(np.take(array, [0], axis), array.shape)
    wide = np.zeros([2 * n + 2 if kind == "stepped" else n + 3 for n in array.shape], array.dtype)
    part = wide[tuple(slice(1, 2 * n + 1, 2) if kind == "stepped" else slice(2, n + 2) for n in array.shape)]
    part[...] = array
    return part


def _values(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], small: bool) -> Array:
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.6)
    low = 0 if dtype.kind == "u" else -2
    high = 3 if small else 4
    numbers = np.asarray(rng.integers(low, high, shape))
    return np.asarray(numbers + 1j * rng.integers(low, high, shape) if dtype.kind == "c" else numbers).astype(dtype)


def shuffled(p: Picker, values: Sequence[Any]) -> list[Any]:
    """The values in any order."""
    order = list(values)
    for n in range(len(order) - 1, 0, -1):
        m = p.integer(0, n)
        order[n], order[m] = order[m], order[n]
    return order


def case(p: Picker, points: int = 4000) -> Case:
    """A random MDH with arrays."""
    rank = p.choice((2, 1, 3, 2, 3, 4, 5, 0))
    extents = _extents(p, rank, points)
    results = p.choice((1, 1, 1, 1, 2, 2, 4))
    dtype = p.choice(DTYPES)
    inputs = p.integer(1, 3)
    dtypes = [np.dtype(dtype if p.integer(0, 4) else p.choice(DTYPES)) for _ in range(inputs)]
    floats = any(t.kind in "fc" for t in dtypes)
    ordered = all(t.kind != "c" for t in dtypes)
    nested = rank > 1 and p.integer(0, 5) == 0
    kinds = [
        p.choice(("cc", "pw", "cc", "pw", "cc", "ps") if p.integer(0, 2) == 0 else ("cc", "pw")) for _ in range(rank)
    ]
    shared: dict[str, Any] = {}
    custom = p.integer(0, 1) == 1
    truth = results == 1 and p.integer(0, 6) == 0
    combine: dict[str, Any] = {}
    for d, kind in enumerate(kinds):
        if kind == "cc":
            combine[_NAMES[d]] = cc
            continue
        if nested:
            combine[_NAMES[d]] = _operator(p, kind, floats, results, custom, truth, ordered)
            continue
        spec = shared.setdefault("op", _operator(p, "pw", floats, results, custom, truth, ordered))
        combine[_NAMES[d]] = (
            spec
            if kind == "pw"
            else ps(spec.function, identity=spec.identity, commutative=spec.commutative, name=spec.name)
        )
    buffers = [_input(p, f"X{n}", extents) for n in range(inputs)]
    left = ", ".join(
        f"X{n}[{','.join(_term([(_NAMES[d], c) for d, c in axis.items()], k) for axis, k in access)}]"
        for n, (accesses, _, _) in enumerate(buffers)
        for access in accesses
    )
    kept = [d for d in range(rank) if kinds[d] != "pw"]
    finish = None
    outputs = results
    if p.integer(0, 4) == 0:
        still = [
            number
            for number, access in enumerate(access for b in buffers for access in b[0])
            if all(kinds[d] != "pw" for axis, _ in access for d in axis)
        ]
        use = p.choice(still) if still and p.integer(0, 2) else None
        outputs = p.integer(1, results)
        narrow = np.dtype(np.float16) in dtypes and p.integer(0, 3) > 0

        def finish(*x: Any, outputs: int = outputs, use: int | None = use, results: int = results) -> Any:
            values = [x[n] + x[n] for n in range(outputs)]
            if use is not None:
                values[0] = values[0] + x[results + use]
            if narrow:
                values = [v.astype(np.float16) if v.dtype == np.float32 else v for v in values]
            return values[0] if outputs == 1 else tuple(values)

    right = ", ".join(f"Y{n}[{_output(p, kept, extents)}]" for n in range(outputs))
    rng = np.random.default_rng(p.integer(0, 2**16))
    small = not floats
    arrays = tuple(_layout(p, _values(rng, b[1], t, small)) for b, t in zip(buffers, dtypes, strict=True))
    boundary = {f"X{n}": b[2] for n, b in enumerate(buffers) if b[2] is not None}
    pattern = md_hom(
        _scalar(p, rank, results, results > 1 and custom and not floats, truth, ordered),
        combine,
        f"{left} -> {right}",
        finish=finish,
        boundary=boundary,
        nested=nested,
    )
    mdhom = pattern.bind(*arrays, **{_NAMES[d]: n for d, n in enumerate(extents)})
    return Case(mdhom, arrays)


def _output(p: Picker, kept: Sequence[int], extents: Sequence[int]) -> str:
    """An index for each axis: kept dimensions in any order, some fused, some backwards."""
    axes: list[list[int]] = []
    for d in shuffled(p, kept) if p.integer(0, 2) == 0 else kept:
        if axes and p.integer(0, 7) == 0:
            axes[-1].append(d)
        else:
            axes.append([d])
    texts = []
    for axis in axes:
        step, terms, constant = 1, [], 0
        for d in axis:
            backwards = p.integer(0, 9) == 0
            terms.append((_NAMES[d], -step if backwards else step))
            constant += step * (extents[d] - 1) if backwards else 0
            step *= extents[d]
        texts.append(_term(terms, constant))
    return ",".join(texts)
