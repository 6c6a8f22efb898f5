"""Complex numbers and float16 in kernels' types: the lowered MDH gives what the definition gives. Needs no device."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from cases import DTYPES, assert_same, magnitude, values
from strategies import Array

from mdhnp.frontend.contraction import contraction
from mdhnp.mdh import Argument, MdHom, cc, interpret, md_hom, ps, pw, stages
from mdhnp.mdh.arithmetic import lower

#: What parts of complex numbers are made of.
EDGES = [0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan]
RNG = np.random.default_rng(3)


def lowered(h: MdHom, *arrays: Array) -> list[Array]:
    """Interpret the lowered MDH, and put parts together again."""
    low = lower(h)
    views = zip(low.mdhom.inputs, low.inputs, strict=True)
    parts = [arrays[n] if v.dtype == arrays[n].dtype else _part(arrays[n], v.offset % 2) for v, n in views]
    found = interpret(low.mdhom, *parts)
    found = list(found) if isinstance(found, tuple) else [found]
    results: list[Array] = []
    for view, output in enumerate(low.outputs):
        if output < len(results):
            whole = np.empty(found[view].shape, h.outputs[output].dtype)
            whole.real, whole.imag = results[output], found[view]
            results[output] = whole
        else:
            results.append(found[view])
    return results


def _part(a: Array, n: int) -> Array:
    return a.imag if n else a.real


def defined(h: MdHom, *arrays: Array) -> list[Array]:
    found = interpret(h, *arrays)
    return list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("pair", list(product(DTYPES, DTYPES)), ids=str)
def test_every_pair_of_types_is_promoted_as_numpy_does(pair: tuple[np.dtype[Any], np.dtype[Any]]) -> None:
    a, b = values(RNG, (5, 7), pair[0]), values(RNG, (7, 3), pair[1])
    h = contraction(("ik", "kj"), "ij", (a, b))
    with np.errstate(all="ignore"):
        wanted = a @ b
        assert_same(lowered(h, a, b)[0], wanted, magnitude(a) @ magnitude(b), 7)


#: Operations that are exact, or that NumPy computes by the same formula.
COMPLEX: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "negative": lambda a, b: -a,
    "conjugate": lambda a, b: np.conj(a) + 0 * b.real,
    "parts": lambda a, b: np.maximum(a.real, b.imag),
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "isnan": lambda a, b: np.isnan(a),
    "isinf": lambda a, b: np.isinf(a),
    "isfinite": lambda a, b: np.isfinite(a),
    "logical": lambda a, b: np.logical_and(a, b) | ~a.astype(bool),
    "where": lambda a, b: np.where(a.real < b.imag, a, b),
    "constant": lambda a, b: a * 2j + b - (1 - 3j),
    "real times complex": lambda a, b: a.real * b,
    "wider": lambda a, b: a.astype(np.complex128) + b,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_operations_are_numpys(name: str) -> None:
    z = np.array([complex(*parts) for parts in product(EDGES, EDGES)], np.complex64)
    h = md_hom(COMPLEX[name], {"i": cc, "j": cc}, "x[i], y[j] -> z[i,j]").bind(z, z)
    assert not any(t.kind == "c" for t in lower(h).mdhom.dtypes)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(lowered(h, z, z), defined(h, z, z))


@pytest.mark.parametrize("function", [np.square, np.exp, np.abs, lambda a: 1 / a])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_functions_are_numpys(function: Callable[..., Any], dtype: str) -> None:
    z = np.array([0.5 + 2j, -3 + 1e-3j, 4 - 0j, 1e18j, -1e-18 + 1e-18j, 0.25], dtype)
    h = md_hom(function, {"i": cc}, "x[i] -> y[i]").bind(z)
    np.testing.assert_allclose(lowered(h, z), defined(h, z), rtol=4 * np.finfo(dtype).eps)


#: Functions of complex numbers, and the largest error in units of the size's last place, with some room.
FUNCTIONS = {
    np.sqrt: 2, np.exp: 3, np.expm1: 5, np.log: 3, np.log2: 4, np.log10: 4, np.sin: 4, np.cos: 4, np.tan: 6,
    np.sinh: 4, np.cosh: 4, np.tanh: 6, np.arcsin: 5, np.arccos: 5, np.arctan: 5, np.arcsinh: 5, np.arccosh: 5,
    np.arctanh: 5, np.reciprocal: 2, np.sign: 2,
}  # fmt: skip


def _ordinary(dtype: str) -> Array:
    """Numbers of all sizes, and beside those where functions have poles, zeros and branch cuts."""
    rng, most = np.random.default_rng(5), 12 if dtype == "c8" else 100

    def drawn(low: float, high: float) -> Array:
        return rng.choice([-1, 1], 400) * 10.0 ** rng.uniform(low, high, 400)

    near = drawn(-6, 1) + 1j * drawn(-6, 1)
    far = np.concatenate([drawn(-most, most), drawn(-3, 2)]) + 1j * np.concatenate([drawn(-3, 2), drawn(-most, most)])
    return np.concatenate([far, near, near + 1, near - 1, near + 1j, near - 1j]).astype(dtype)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_complex_functions_of_ordinary_numbers(function: Callable[..., Any], dtype: str) -> None:
    z = _ordinary(dtype)
    h = md_hom(function, {"i": cc}, "x[i] -> y[i]").bind(z)
    (found,) = lowered(h, z)
    with np.errstate(all="ignore"):
        wanted = function(z.astype(np.complex128)).astype(dtype)
    finite = np.isfinite(wanted) & (wanted != 0)
    error = np.abs(found[finite] - wanted[finite]) / np.abs(wanted[finite])
    assert np.max(error) <= FUNCTIONS[function] * np.finfo(dtype).eps
    np.testing.assert_array_equal(np.isnan(found.real), np.isnan(wanted.real))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))


def test_log1p_and_expm1_keep_what_is_small() -> None:
    """NumPy's own lose the real part of small numbers."""
    z = np.array([1e-20 + 1e-25j, -1e-12 + 3e-13j, 1e-9j])
    for function, other in ((np.log1p, 1), (np.expm1, -1)):
        (found,) = lowered(md_hom(function, {"i": cc}, "x[i] -> y[i]").bind(z), z)
        np.testing.assert_allclose(found, z - other * z * z / 2, rtol=1e-15)


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f is not np.expm1], ids=lambda f: f.__name__)
def test_complex_functions_of_special_numbers(function: Callable[..., Any]) -> None:
    """C99 leaves some signs open where the argument is not finite, and that of infinity beside NaN."""
    edges = [*EDGES, 1.0, -1.0, 800.0]
    z = np.array([complex(*parts) for parts in product(edges, edges)])
    (found,) = lowered(md_hom(function, {"i": cc}, "x[i] -> y[i]").bind(z), z)
    with np.errstate(all="ignore"):
        wanted = function(z)
    for part, other in (("real", "imag"), ("imag", "real")):
        got, want, beside = getattr(found, part), getattr(wanted, part), getattr(wanted, other)
        free = np.isinf(want) & np.isnan(beside)
        np.testing.assert_allclose(np.where(free, np.abs(got), got), np.where(free, np.abs(want), want), rtol=1e-14)
        zero = np.isfinite(z) & (want == 0)
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


#: What the array API standard says of exponentials less 1: real part, imaginary part, and both of the result.
EXPM1 = [
    (0.0, 0.0, 0.0, 0.0), (1.5, np.inf, np.nan, np.nan), (1.5, np.nan, np.nan, np.nan),
    (np.inf, 0.0, np.inf, 0.0), (-np.inf, 2.0, -1.0, 0.0), (np.inf, 2.0, -np.inf, np.inf),
    (-np.inf, np.inf, -1.0, 0.0), (np.inf, np.inf, np.inf, np.nan), (-np.inf, np.nan, -1.0, 0.0),
    (np.inf, np.nan, np.inf, np.nan), (np.nan, 0.0, np.nan, 0.0), (np.nan, 2.0, np.nan, np.nan),
    (np.nan, np.nan, np.nan, np.nan),
]  # fmt: skip


@pytest.mark.parametrize("how", [lowered, defined])
def test_expm1_of_special_numbers_is_the_standards(how: Callable[..., Any]) -> None:
    """NumPy's is not. The conjugate of a number has the conjugate result."""
    for conjugate in (1, -1):
        rows = np.array(EXPM1) * [1, conjugate, 1, conjugate]
        z, wanted = (np.ascontiguousarray(rows[:, n : n + 2]).view(np.complex128)[:, 0] for n in (0, 2))
        (found,) = how(md_hom(np.expm1, {"i": cc}, "x[i] -> y[i]").bind(z), z)
        for part in (np.real, np.imag):
            np.testing.assert_array_equal(part(found), part(wanted))


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_powers(dtype: str) -> None:
    rng = np.random.default_rng(6)
    a, b = (rng.standard_normal(400) + 1j * rng.standard_normal(400) for _ in "ab")
    a[:12], b[:6], b[6:12] = [0, 0, 0, 0, 2, -3j] * 2, [0, 1, 2 + 1j, -1, 0, 1], [1, 0, 0.5, 2, 3, -2]
    a, b = a.astype(dtype), b.astype(dtype)
    (found,) = lowered(md_hom(np.power, {"i": cc}, "x[i], y[i] -> z[i]").bind(a, b), a, b)
    with np.errstate(all="ignore"):
        wanted = np.power(a.astype(np.complex128), b.astype(np.complex128))
    np.testing.assert_allclose(found, wanted, rtol=40 * np.finfo(dtype).eps, atol=1e-30)


#: Each step is rounded, so that the result is NumPy's bit by bit.
HALF: dict[str, Callable[..., Any]] = {
    "product and sum": lambda a, b: a * b + a,
    "quotient": lambda a, b: a / b - b,
    "sqrt": lambda a, b: np.sqrt(np.abs(a)) * b,
    "largest": np.maximum,
    "compare": lambda a, b: np.where(a < b, a, -b),
    "weak": lambda a, b: 0.1 * a + 3,
    "wider": lambda a, b: a.astype(np.float32) * b,
    "narrower": lambda a, b: (a.astype(np.float64) * b).astype(np.float16),
    "integers": lambda a, b: a.astype(np.int32) + b.astype(np.int8),
    "complex": lambda a, b: a.astype(np.complex64) * b,
}


@pytest.mark.parametrize("towards", [np.inf, -np.inf, 0.0, -0.0, 1.0, np.nan, 65504.0, 6e-8])
def test_every_float16_has_a_next_one(towards: float) -> None:
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    y = np.full_like(x, towards)
    (found,) = lowered(md_hom(np.nextafter, {"i": cc}, "x[i], y[i] -> z[i]").bind(x, y), x, y)
    with np.errstate(all="ignore"):
        wanted = np.nextafter(x, y)
    np.testing.assert_array_equal(found, wanted)
    zero = (wanted == 0) & (x != 0)  # next to 0 towards -0 is 0 in NumPy before version 2.5, then -0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(wanted[zero]))


@pytest.mark.parametrize("name", HALF)
def test_float16_operations_are_numpys(name: str) -> None:
    a, b = (RNG.standard_normal(500).astype(np.float16) * 9 for _ in range(2))
    h = md_hom(HALF[name], {"i": cc}, "x[i], y[i] -> z[i]").bind(a, b)
    np.testing.assert_array_equal(lowered(h, a, b), defined(h, a, b))


def test_partial_results_of_float16_are_not_rounded() -> None:
    ones = np.ones(3000, np.float16)
    total = md_hom(lambda x: x, {"i": pw("add")}, "x[i] -> y[]").bind(ones)
    assert lowered(total, ones)[0] == 3000  # one by one, 2048 + 1 is 2048 in float16
    running = md_hom(lambda x: x, {"i": ps("add")}, "x[i] -> y[i]", finish=lambda total, x: total + x).bind(ones)
    np.testing.assert_array_equal(lowered(running, ones)[0], np.arange(1.0, 3001).astype(np.float16) + ones)
    assert {v.dtype for v in lower(running).mdhom.outputs} == {np.dtype(np.float16)}


@pytest.mark.parametrize(
    ("operator", "options"),
    [
        ("add", {}),
        ("mul", {}),
        (lambda a, b: a * b + a + b, {"identity": 0}),
        (lambda a, b: np.where(a != 0, a, b), {}),
    ],
)
@pytest.mark.parametrize("kind", [pw, ps])
def test_operators_combine_complex_numbers(kind: Callable[..., Any], operator: Any, options: dict[str, Any]) -> None:
    z = (RNG.integers(-2, 3, (4, 5)) + 1j * RNG.integers(-2, 3, (4, 5))).astype(np.complex128)
    views = "x[i,k] -> y[i]" if kind is pw else "x[i,k] -> y[i,k]"
    h = md_hom(lambda x: x, {"i": cc, "k": kind(operator, **options)}, views).bind(z)
    np.testing.assert_array_equal(lowered(h, z), defined(h, z))


def test_a_complex_array_is_an_argument_twice() -> None:
    z, x = np.ones((3, 4), np.complex64), np.ones(4, np.float32)
    (stage,) = stages(md_hom(np.multiply, {"i": cc, "j": pw("add")}, "A[i,j], x[j] -> y[i]").bind(z, x))
    assert stage.inputs == (Argument("input", 0), Argument("input", 0), Argument("input", 1))
    assert stage.outputs == (Argument("output", 0), Argument("output", 0))
    assert [(v.strides, v.offset) for v in stage.mdhom.inputs] == [((8, 2), 0), ((8, 2), 1), ((1,), 0)]


@pytest.mark.parametrize(("dtype", "large"), [("c8", 89.0), ("c16", 710.0)])
def test_exponentials_of_what_is_too_large(dtype: str, large: float) -> None:
    z = np.array([complex(*parts) for parts in product([*EDGES, large, -large], [*EDGES, 100.0])], dtype)
    h = md_hom(np.exp, {"i": cc}, "x[i] -> y[i]").bind(z)
    (got,), (want,) = lowered(h, z), defined(h, z)
    for part in (np.real, np.imag):
        np.testing.assert_allclose(part(got), part(want), rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", ["maximum", "minimum", "less", "less_equal", "greater", "greater_equal", "equal"])
def test_complex_numbers_have_numpys_order(name: str) -> None:
    """By real, then by imaginary parts; the larger of two that hold NaN is the first."""
    z = np.array([complex(*parts) for parts in product(EDGES, EDGES)], np.complex64)
    a, b = (part.ravel() for part in np.meshgrid(z, z))
    h = md_hom(getattr(np, name), {"i": cc}, "x[i], y[i] -> z[i]").bind(a, b)
    (got,) = lowered(h, a, b)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, getattr(np, name)(a, b))


def test_what_is_real_stays_as_it_is() -> None:
    x = np.ones(4, np.float32)
    h = md_hom(lambda a: np.conj(a) + a.imag, {"i": cc}, "x[i] -> y[i]").bind(x)
    assert lower(h).mdhom is h
    np.testing.assert_array_equal(defined(h, x), [x])


@pytest.mark.parametrize(
    ("message", "make"),
    [
        ("gives longdouble|gives float", lambda z: md_hom(lambda a: a.astype("g"), {"i": cc}, "x[i] -> y[i]").bind(z)),
        ("fmax of complex", lambda z: md_hom(np.fmax, {"i": cc}, "x[i], y[i] -> z[i]").bind(z, z)),
        ("not supported", lambda z: md_hom(np.cbrt, {"i": cc}, "x[i] -> y[i]").bind(z)),
        (
            "not complex64",
            lambda z: md_hom("float f(float2 a) { return a.x; }", {"i": cc}, "x[i] -> y[i]", results="f4").bind(z),
        ),
        (
            "not float16",
            lambda z: md_hom("half f(float a) { return a; }", {"i": cc}, "x[i] -> y[i]", results="f2").bind(z.real),
        ),
    ],
)
def test_what_kernels_do_not_compute_is_refused(message: str, make: Callable[[Array], object]) -> None:
    with pytest.raises(TypeError, match=message):
        make(np.ones(3, np.complex64))
