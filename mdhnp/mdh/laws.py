"""Laws of combine operators, tried on samples: associativity, commutativity, distributivity, what the identity does.

An operator has to obey them on the values that it meets: what the scalar function gives, and what it made of that. So
the samples are made by the scalar function, of small numbers with many ties. Floats are compared up to rounding, and
only where all of them are finite. It must not know views or devices.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.mdh.function import Function, identity_function, literal_value

#: One array a result.
_Values = Sequence[npt.NDArray[Any]]

#: Triples of values that the scalar function gives; as many again are made of two such values each.
_SAMPLES = 128
#: Floats differ where they do by more than this part of the largest number around.
_TOLERANCE = 1e-6
#: The same of what is computed in types of up to 32 bits.
_ROUNDED = 1e-4
_WIDE = {"f": np.dtype(np.float64), "c": np.dtype(np.complex128)}


class Source(NamedTuple):
    """Where the values come from that an operator combines."""

    #: Gives them.
    scalar: Function
    #: Its parameters that are the same for all values combined.
    fixed: frozenset[int] = frozenset()
    #: Dimensions whose index is.
    kept: frozenset[int] = frozenset()
    #: Operators that have combined the values before.
    before: tuple[Function, ...] = ()


class Laws(NamedTuple):
    """A counterexample to each law, as text; empty where none was found."""

    associativity: str
    commutativity: str
    identity: str


@lru_cache(maxsize=1024)
def laws(function: Function, identity: tuple[str, ...] | None, source: Source) -> Laws:
    """Look for counterexamples to the laws of an operator, whose function takes the left operand's values first.

    `identity` are literals of the neutral element, one a result. Operands may be any values where the source is OpenCL
    C text.
    """
    wide = _widened(function)

    def combine(a: _Values, b: _Values) -> _Values:
        return wide.evaluate([*a, *b])

    with np.errstate(all="ignore"):
        x, y, z = _operands(wide, source)
        xy, yz, yx = combine(x, y), combine(y, z), combine(y, x)
        left, right = combine(xy, z), combine(x, yz)
        n = _counterexample(left, right, (*x, *y, *z, *xy, *yz))
        associativity = "" if n is None else (
            f"({_show(x, n)} ∘ {_show(y, n)}) ∘ {_show(z, n)} = {_show(left, n)}, "
            f"{_show(x, n)} ∘ ({_show(y, n)} ∘ {_show(z, n)}) = {_show(right, n)}"
        )  # fmt: skip
        n = _counterexample(xy, yx, (*x, *y))
        commutativity = "" if n is None else (
            f"{_show(x, n)} ∘ {_show(y, n)} = {_show(xy, n)}, {_show(y, n)} ∘ {_show(x, n)} = {_show(yx, n)}"
        )  # fmt: skip
        return Laws(associativity, commutativity, "" if identity is None else _not_neutral(wide, identity, xy))


def _evaluated(function: Function, values: _Values) -> _Values:
    return _widened(function).evaluate(values)


@lru_cache(maxsize=1024)
def distributivity(
    product: Function, total: Function, source: Source, apply: Callable[[Function, _Values], _Values] = _evaluated
) -> str:
    """Look for a counterexample to a ⊗ (b ⊕ c) = (a ⊗ b) ⊕ (a ⊗ c), where both functions take left operands first.

    OpenCL C text needs something to `apply` functions to arrays, in their own types.
    """
    by_text = product.texts | total.texts
    plain = Source(identity_function(product.dtypes))
    with np.errstate(all="ignore"):
        a, b, c = _operands(*((identity_function(product.dtypes), plain) if by_text else (_widened(product), source)))
        both, ab, ac = apply(total, [*b, *c]), apply(product, [*a, *b]), apply(product, [*a, *c])
        left, right = apply(product, [*a, *both]), apply(total, [*ab, *ac])
    n = _counterexample(left, right, (*a, *b, *c, *both, *ab, *ac), tolerance=_ROUNDED if by_text else _TOLERANCE)
    return "" if n is None else (
        f"{_show(a, n)} ⊗ ({_show(b, n)} ⊕ {_show(c, n)}) = {_show(left, n)}, "
        f"({_show(a, n)} ⊗ {_show(b, n)}) ⊕ ({_show(a, n)} ⊗ {_show(c, n)}) = {_show(right, n)}"
    )  # fmt: skip


def _not_neutral(wide: Function, identity: tuple[str, ...], values: _Values) -> str:
    """A value of the operator that its identity changes; others, such as -1 of `hypot`, nothing needs to keep."""
    neutral = [np.full_like(v, literal_value(i, v.dtype)) for v, i in zip(values, identity, strict=True)]
    for a, b in ((neutral, values), (values, neutral)):
        found = wide.evaluate([*a, *b])
        n = _counterexample(found, values, values, results_too=False)
        if n is not None:
            return f"{_show(a, n)} ∘ {_show(b, n)} = {_show(found, n)}"
    return ""


def _widened(f: Function) -> Function:
    """The function in the widest floats, so that what is left of rounding is small."""
    parameters = tuple(_WIDE.get(t.kind, t) for t in f.parameters)
    body = tuple(replace(step, dtype=_WIDE.get(step.dtype.kind, step.dtype)) for step in f.body)
    return replace(f, parameters=parameters, body=body)


def _operands(wide: Function, source: Source) -> list[_Values]:
    """Three operands, each one array a result: of the scalar function, and the operator's own results."""
    rng = np.random.default_rng(0)
    values: _Values
    try:
        values = _scalar_values(_widened(source.scalar), source, rng)
    except (TypeError, ValueError):  # OpenCL C text; NumPy's refusal of negative powers
        values = _scalar_values(_widened(identity_function(source.scalar.dtypes)), source, rng)
    for earlier in (*source.before, wide):
        paired = _widened(earlier).evaluate([*values, *(np.roll(v, 1, axis=0) for v in values)])
        values = [np.concatenate([v, p], axis=1) for v, p in zip(values, paired, strict=True)]
    return [[v[n] for v in values] for n in (0, 2, 4)]


def _scalar_values(scalar: Function, source: Source, rng: "np.random.Generator") -> _Values:
    """What the scalar function gives for six points of the combined dimensions at a time."""
    shape = (6, _SAMPLES)
    one = (1, _SAMPLES)
    arguments = [_numbers(rng, t, one if p in source.fixed else shape) for p, t in enumerate(scalar.parameters)]
    indices = []
    for d in range(max(scalar.used_indices(), default=-1) + 1):
        points = rng.permuted(np.tile(np.arange(12), (_SAMPLES, 1)), axis=1).T
        indices.append(points[:1] if d in source.kept else points[:6])
    return [np.broadcast_to(v, shape) for v in scalar.evaluate(arguments, indices)]


def _numbers(rng: "np.random.Generator", dtype: np.dtype[Any], shape: tuple[int, int]) -> npt.NDArray[Any]:
    """Small numbers, floats of few bits; half of them tiny, so that many are equal."""
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind == "c":
        real, imaginary = (_numbers(rng, _WIDE["f"], shape) for _ in range(2))
        return real + 1j * imaginary
    low = 0 if dtype.kind == "u" else -1
    wide = rng.integers(low * 15, 16, shape) / (4 if dtype.kind == "f" else 1)
    return np.where(rng.random(shape) < 0.5, rng.integers(low * 2, 3, shape), wide).astype(dtype)


def _counterexample(
    a: _Values, b: _Values, others: _Values, *, results_too: bool = True, tolerance: float = _TOLERANCE
) -> int | None:
    """Where two results differ beyond rounding: the sample of the smallest numbers."""
    numbers = [v for v in (*others, *(a if results_too else ()), *(b if results_too else ())) if v.dtype.kind in "fc"]
    size, usable = np.zeros(a[0].shape), np.full(a[0].shape, True)
    for v in numbers:
        usable &= np.isfinite(v)
        size = np.maximum(size, np.abs(v))
    differs = np.full(a[0].shape, False)
    for p, q in zip(a, b, strict=True):
        differs |= ~(np.abs(p - q) <= tolerance * size) if p.dtype.kind in "fc" else p != q
    places = np.flatnonzero(differs & usable)
    if not len(places):
        return None
    total = sum(np.abs(v[places].astype(np.complex128)) for v in others)
    return int(places[np.argmin(total)])


def _show(values: _Values, n: int) -> str:
    shown = [repr(v[n].item()) for v in values]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"
