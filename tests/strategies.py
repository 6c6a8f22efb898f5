"""Random MDHs, with arrays to run them on.

Everything is drawn through a :class:`Picker`, which Hypothesis or a plain random generator stands behind. Floats hold
whole numbers, small ones where they are summed, so that sums are exact in any order and results can be compared bit by
bit. All around the arrays, and between their elements where they lie apart, there is garbage (NaN, of floats).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from guards import garbage, guarded
from random_functions import DTYPES, Picker, maxplus, operator, ring, scalar

from mdhnp.mdh import MdHom, Pattern, cc, index, md_hom, ps, pw

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """An MDH, the arrays to run it on, and the pattern that it was made of."""

    mdhom: MdHom
    arrays: tuple[Array, ...]
    pattern: Pattern


class TooLarge(Exception):
    """A diagonal or the like of long dimensions needs an array of many more elements than the case has points."""


_NAMES = "abcdefgh"
#: Points of a case that the interpreter evaluates at once.
_SMALL = 10_000


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
    if points > _SMALL:
        return _long_extents(p, rank, points)
    extents: list[int] = []
    for d in range(rank):
        extents.append(_extent(p, max(1, int(points ** (1 / (1 + 0.5 * (rank - d - 1)))))))
        points = max(1, points // extents[-1])
    return extents


def _long_extents(p: Picker, rank: int, points: int) -> list[int]:
    """Together nearly so many points: one or two long dimensions, or all alike."""
    shares = [p.choice((1, 2, 4, 8, 16, 0.2)) for _ in range(rank)]
    extents = [max(1, int(points ** (share / sum(shares)) * p.integer(60, 100) / 100)) for share in shares]
    while np.prod(extents, dtype=float) > points:
        extents[int(np.argmax(extents))] //= 2
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
    bounded = bool(order) and p.integer(0, 3) == 0
    axes: list[dict[int, int]] = []
    for d in order:
        # Beside a boundary every direction and distance counts.
        coefficient = p.choice((-1, 2, 1, -2, 3)) if p.integer(0, 1 if bounded else 3) == 0 else 1
        if axes and p.integer(0, 2 if bounded else 5) == 0:
            axes[-1][d] = coefficient
        else:
            axes.append({d: coefficient})
    if dims and p.integer(0, 11) == 0:
        axes.append({p.choice(dims): 1})
    if p.integer(0, 11) == 0:
        axes.insert(p.integer(0, len(axes)), {})
    count = p.choice((1, 1, 1, 2, 3, 5)) if axes else 1
    boundary = p.choice(("constant", "nearest", "reflect", "mirror", "wrap")) if bounded else None
    # Mostly shifted copies of one access (a stencil), sometimes with its axes exchanged as well.
    rows = [axes if n == 0 or p.integer(0, 7) else axes[::-1] for n in range(count)]
    spans = [[_span(axis, extents) for axis in row] for row in rows]
    reach = p.choice((2, 2, 5, 9)) if boundary else 2
    constants = [[p.integer(-reach, reach) if count > 1 or boundary else 0 for _ in axes] for _ in range(count)]
    shape = []
    for a in range(len(axes)):
        low = min(spans[n][a][0] + constants[n][a] for n in range(count))
        high = max(spans[n][a][1] + constants[n][a] for n in range(count))
        if boundary is None:
            constants = [[k - low if b == a else k for b, k in enumerate(row)] for row in constants]
            shape.append(high - low + 1 + p.choice((0, 0, 0, 1, 3)))
        else:
            shape.append(max(1, high - low + 1 - p.choice((0, 2, 4, 6, -2, 21))))
    accesses = [list(zip(row, shifts, strict=True)) for row, shifts in zip(rows, constants, strict=True)]
    return accesses, tuple(shape), boundary


def _span(axis: dict[int, int], extents: Sequence[int]) -> tuple[int, int]:
    ends = [c * (extents[d] - 1) for d, c in axis.items()]
    return sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)


def _layout(p: Picker, array: Array) -> Array:
    """The same elements, or some of them repeated, elsewhere in memory."""
    kind = p.choice(("c", "c", "f", "reversed", "stepped", "repeated", "inside"))
    if array.ndim == 0 or kind == "c":
        return guarded(array)
    if kind == "f":
        return guarded(array.T).T
    if kind == "reversed":
        axis = p.integer(0, array.ndim - 1)
        return np.flip(guarded(np.flip(array, axis)), axis)
    if kind == "repeated":
        axis = p.integer(0, array.ndim - 1)
        return np.broadcast_to(guarded(np.take(array, [0], axis)), array.shape)
    wide = garbage([2 * n + 2 if kind == "stepped" else n + 3 for n in array.shape], array.dtype)
    part = wide[tuple(slice(1, 2 * n + 1, 2) if kind == "stepped" else slice(2, n + 2) for n in array.shape)]
    part[...] = array
    return part


def _values(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], most: int) -> Array:
    """Whole numbers; as many different ones as can be."""
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.6)
    most = min(most, np.iinfo(dtype).max if dtype.kind in "iu" else 2**11)
    low, high = 0 if dtype.kind == "u" else 1 - most, most + 1
    numbers = np.asarray(rng.integers(low, high, shape))
    return np.asarray(numbers + 1j * rng.integers(low, high, shape) if dtype.kind == "c" else numbers).astype(dtype)


def shuffled(p: Picker, values: Sequence[Any]) -> list[Any]:
    """The values in any order."""
    order = list(values)
    for n in range(len(order) - 1, 0, -1):
        m = p.integer(0, n)
        order[n], order[m] = order[m], order[n]
    return order


def case(p: Picker, points: int = 4000, *, in_ring: bool = False) -> Case:
    """A random MDH with arrays.

    `in_ring` puts integers of the same widths in the place of all types, and a ring's operations in that of functions
    and operators: any numbers of the types, sums of which a lost tail or a double count always changes.
    """
    rank = p.choice((2, 1, 3, 2, 3, 4, 5, 0))
    extents = _extents(p, rank, points)
    results = p.choice((1, 1, 1, 1, 2, 2, 4))
    dtype = p.choice(DTYPES)
    inputs = p.integer(1, 3)
    dtypes = [np.dtype(dtype if p.integer(0, 4) else p.choice(DTYPES)) for _ in range(inputs)]
    if in_ring:
        dtypes = [np.dtype(f"i{t.itemsize}" if t.itemsize <= 8 else "i8") for t in dtypes]
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
            combine[_NAMES[d]] = operator(p, kind, floats, results, custom, truth, ordered)
            continue
        spec = shared.setdefault("op", operator(p, "pw", floats, results, custom, truth, ordered))
        combine[_NAMES[d]] = (
            spec
            if kind == "pw"
            else ps(spec.function, identity=spec.identity, commutative=spec.commutative, name=spec.name)
        )
    if in_ring:
        combine = {
            name: cc if spec is cc else pw("add") if spec.kind == "pw" else ps("add") for name, spec in combine.items()
        }
    buffers = [_input(p, f"X{n}", extents) for n in range(inputs)]
    if points > _SMALL and max(np.prod(b[1], dtype=float) for b in buffers) > 8 * points:
        raise TooLarge
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
        counted = p.choice(kept) if kept and p.integer(0, 3) == 0 else None
        narrow = np.dtype(np.float16) in dtypes and p.integer(0, 3) > 0

        def finish(*x: Any, outputs: int = outputs, use: int | None = use, results: int = results) -> Any:
            values = [x[n] + x[n] for n in range(outputs)]
            if use is not None:
                values[0] = values[0] + x[results + use]
            if counted is not None:
                values[0] = values[0] + index(counted).astype(np.int8)
            if narrow:
                values = [v.astype(np.float16) if v.dtype == np.float32 else v for v in values]
            return values[0] if outputs == 1 else tuple(values)

    right = ", ".join(f"Y{n}[{_output(p, kept, extents)}]" for n in range(outputs))
    rng = np.random.default_rng(p.integer(0, 2**16))
    # Sums of floats are exact if their terms are small, complex products too; whatever integers do, they wrap.
    summed = floats and any("add" in _named(spec) for spec in combine.values())
    most = 2**63 - 1 if in_ring else 3 if summed or not ordered else 1000
    arrays = tuple(_layout(p, _values(rng, b[1], t, most)) for b, t in zip(buffers, dtypes, strict=True))
    boundary = {f"X{n}": b[2] for n, b in enumerate(buffers) if b[2] is not None}
    function = scalar(p, rank, results, results > 1 and custom and not floats, truth, ordered)
    pattern = md_hom(
        ring(p, rank, results, max(t.itemsize for t in dtypes)) if in_ring else function,
        combine,
        f"{left} -> {right}",
        finish=finish,
        boundary=boundary,
        nested=nested,
    )
    mdhom = pattern.bind(*arrays, **{_NAMES[d]: n for d, n in enumerate(extents)})
    return Case(mdhom, arrays, pattern)


def _named(spec: Any) -> tuple[str, ...]:
    """Names of the operators that are given by name, or like one: the sum in `maxplus`."""
    if callable(spec.function):
        return ("add",) if spec.function is maxplus else ()
    return (spec.function,) if isinstance(spec.function, str) else spec.function or ()


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
