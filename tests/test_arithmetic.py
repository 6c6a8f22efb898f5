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


def test_what_is_real_stays_as_it_is() -> None:
    x = np.ones(4, np.float32)
    h = md_hom(lambda a: np.conj(a) + a.imag, {"i": cc}, "x[i] -> y[i]").bind(x)
    assert lower(h).mdhom is h
    np.testing.assert_array_equal(defined(h, x), [x])


@pytest.mark.parametrize(
    ("message", "make"),
    [
        ("gives longdouble|gives float", lambda z: md_hom(lambda a: a.astype("g"), {"i": cc}, "x[i] -> y[i]").bind(z)),
        ("maximum of complex", lambda z: md_hom(np.maximum, {"i": cc}, "x[i], y[i] -> z[i]").bind(z, z)),
        ("less of complex", lambda z: md_hom(lambda a: a < 1j, {"i": cc}, "x[i] -> y[i]").bind(z)),
        ("arctan of complex", lambda z: md_hom(np.arctan, {"i": cc}, "x[i] -> y[i]").bind(z)),
        ("maximum of complex", lambda z: md_hom(lambda a: a, {"i": pw("max")}, "x[i] -> y[]").bind(z)),
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
