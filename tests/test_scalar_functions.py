"""Scalar functions and conversions in kernels, for all types: what NumPy gives, exactly or within rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cases import DTYPES
from running import expected, lowered, run_plain, run_vectors
from schedules import CAPS
from strategies import Array

from mdhnp.codegen import generate
from mdhnp.mdh import cc, index, interpret, md_hom
from mdhnp.schedule import Schedule

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

pytestmark = pytest.mark.usefixtures("garbage_in_temporaries")


REAL = np.linspace(-3.0, 3.0, 61)
UNIT = np.linspace(-1.0, 1.0, 61)
POSITIVE = np.linspace(0.1, 9.0, 61)

#: Function, where it is defined, units in the last place that OpenCL C allows a float32 (NumPy's own error added).
FLOAT_FUNCTIONS: list[tuple[Any, Array, float]] = [
    (np.sqrt, POSITIVE, 4),
    (np.cbrt, REAL, 4),
    (np.exp, REAL, 5),
    (np.exp2, REAL, 5),
    (np.expm1, REAL, 5),
    (np.log, POSITIVE, 5),
    (np.log2, POSITIVE, 5),
    (np.log10, POSITIVE, 5),
    (np.log1p, POSITIVE, 4),
    (np.sin, REAL, 6),
    (np.cos, REAL, 6),
    (np.tan, REAL, 7),
    (np.arcsin, UNIT, 6),
    (np.arccos, UNIT, 6),
    (np.arctan, REAL, 7),
    (np.sinh, REAL, 6),
    (np.cosh, REAL, 6),
    (np.tanh, REAL, 7),
    (np.arcsinh, REAL, 6),
    (np.arccosh, POSITIVE + 1, 6),
    (np.arctanh, UNIT * 0.9, 7),
    (np.reciprocal, POSITIVE, 4),
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("function", "values", "ulp"), FLOAT_FUNCTIONS, ids=[f[0].__name__ for f in FLOAT_FUNCTIONS])
def test_float_functions(device: Device, function: Any, values: Array, ulp: float, dtype: str) -> None:
    x = values.astype(dtype)
    (got,) = run_plain(device, md_hom(function, {"i": cc}, "x[i] -> y[i]").bind(x), x)
    want = function(x.astype("f8"))
    np.testing.assert_allclose(got, want, rtol=ulp * np.finfo(dtype).eps, atol=ulp * np.finfo(dtype).eps)


SPECIAL = np.array([0.0, -0.0, 1.5, -1.5, 2.5, -2.5, 7.0, -7.0, np.inf, -np.inf, np.nan])

#: What NumPy gives exactly, for each pair of values.
EXACT: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "floor_divide": lambda a, b: a // b,
    "remainder": lambda a, b: a % b,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "negative": lambda a, b: -a + b,
    "absolute": lambda a, b: np.abs(a) + b,
    "sign": lambda a, b: np.sign(a) + b,
    "square": lambda a, b: np.square(a) + b,
    "compare": lambda a, b: np.where(a < b, a, b) + np.where(a >= b, b, a),
    "zeros": lambda a, b: np.copysign(1.0, np.sign(a)) if a.dtype.kind == "f" else np.sign(b),
    "logic": lambda a, b: (a != 0) & ~(b > a) | (a == b) ^ (a != b),
    "clip": lambda a, b: np.clip(a, 1, 3) + b,
    "index": lambda a, b: a + index(1).astype(np.int8) * b,
}
FLOATS_ONLY: dict[str, Callable[..., Any]] = {
    "round": lambda a, b: np.floor(a) + np.ceil(b) + np.trunc(a) + np.rint(b),
    "tests": lambda a, b: np.isnan(a) | np.isinf(b) | (np.isfinite(a) & np.isfinite(b)),
    "fmod": np.fmod,
    "copysign": np.copysign,
    "signbit": lambda a, b: np.signbit(a) ^ np.signbit(b),
    "nextafter": np.nextafter,
}
#: What complex numbers have of these.
COMPLEX = {name: EXACT[name] for name in ("add", "subtract", "multiply", "negative", "square")} | {
    "parts": lambda a, b: np.maximum(a.real, b.imag) + np.abs(np.conj(a).imag),
    "equal": lambda a, b: np.where(a == b, a, b * 2j),
    "tests": lambda a, b: np.isnan(a) | np.isinf(b) | (np.isfinite(a) & np.isfinite(b)),
    "index": lambda a, b: a + index(1).astype(np.int8) * b,
}
INTEGERS_ONLY: dict[str, Callable[..., Any]] = {
    "bits": lambda a, b: (a & b) | (a ^ ~b),
    "shifts": lambda a, b: (a << (b & 3)) + (a >> (b & 3)),
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
    "power": lambda a, b: a ** np.clip(b, 0, 5),
    "powers": lambda a, b: a ** np.maximum(b, 0),
    "cube": lambda a, b: a**3 - b**2,
    "fmod": np.fmod,
    "reciprocal": lambda a, b: np.reciprocal(a) + b,
    "invert": lambda a, b: ~a * b,
    # Compilers that take overflow for impossible see what these tests must give.
    "overflow": lambda a, b: (a + 1 > a) & (b - 1 < b),
    "smallest": lambda a, b: (np.abs(a) < 0) ^ (-b < 0),
    "halves": lambda a, b: (a * 2 // 2 == a) ^ (np.square(b) < 0),
}


def _edges(dtype: str) -> Array:
    if dtype.startswith("c"):
        parts = SPECIAL[[0, 1, 2, 5, 8, 9, 10]]
        return np.array([complex(a, b) for a in parts for b in (0.0, -2.5, np.inf)], dtype)
    if dtype.startswith("f"):
        return SPECIAL.astype(dtype)
    info = np.iinfo(dtype)
    edges = [0, 1, 2, 3, 7, 8, 15, 31, 63, 64, 100, info.max, info.max - 1, info.min, info.min + 1, info.max // 2]
    return np.array(edges + [-1, -2, -7, -100] * (info.min < 0), dtype)


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16"])
def test_exact_functions(device: Device, dtype: str, lanes: int) -> None:
    """All at once, one output each, so that a type costs one build: NumPy decides what NaN, 0 and overflow mean."""
    named = COMPLEX if dtype[0] == "c" else {**EXACT, **(FLOATS_ONLY if dtype[0] == "f" else INTEGERS_ONLY)}
    x = _edges(dtype)
    views = ", ".join(f"{name}[i,j]" for name in named)
    with np.errstate(all="ignore"):
        both = md_hom(lambda a, b: tuple(f(a, b) for f in named.values()), {"i": cc, "j": cc}, f"x[i], y[j] -> {views}")
        h = both.bind(x, x)
        got = run_vectors(device, h, (x, x), lanes)
        for name, found, want in zip(named, got, expected(h, (x, x)), strict=True):
            np.testing.assert_array_equal(found, want, err_msg=name)


def test_int16_vectors_are_negated_as_int32_on_gpus() -> None:
    """One of their compilers takes it for impossible that the smallest one, negated in 16 bits, is less than 0."""
    x = _edges("i2")
    h = md_hom(lambda a: (-a, np.abs(a)), {"i": cc}, "x[i] -> y[i], z[i]").bind(x)
    (stage,) = lowered(h)
    s = replace(Schedule.plain((len(x),), 1), vector_dim=0, vector_width=4, private_tile=(4,))
    for kind, negated in (("cpu", "-as_ushort4("), ("gpu", "-as_uint4(convert_int4(")):
        text = generate([stage], [s], replace(CAPS, kind=kind), lambda m, _: s).source
        assert text.count(negated) == 2


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_logaddexp(device: Device, dtype: str) -> None:
    x = np.array([*SPECIAL, 1e-3, 700.0, -700.0], dtype)
    h = md_hom(np.logaddexp, {"i": cc, "j": cc}, "x[i], y[j] -> z[i,j]").bind(x, x)
    (got,), (want,) = run_plain(device, h, x, x), expected(h, (x, x))
    np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize(("function", "dtype"), [(np.sin, "f4"), (np.cos, "f4"), (np.tan, "f4"), (np.power, "f8")])
def test_lanes_do_not_depend_on_each_other(device: Device, function: np.ufunc, dtype: str) -> None:
    """PoCL's functions of vectors: one lane that is special changes others."""
    x = np.tile(10.0 ** -np.arange(0.1, 9), 16).astype(dtype)
    x[3::11] = np.resize([np.inf, 1e30, 0.0, -np.inf, np.nan, 1e10], len(x[3::11]))
    arrays = (x, np.full_like(x, 1.7))[: function.nin]
    views = ", ".join(f"{name}[i]" for name in "xy"[: function.nin])
    h = md_hom(function, {"i": cc}, f"{views} -> z[i]").bind(*arrays)
    for lanes in (4, 8, 16):
        (got,) = run_vectors(device, h, arrays, lanes)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(got, function(*arrays), rtol=6 * np.finfo(dtype).eps)


@pytest.mark.parametrize("names", ["sqrt log arcsin", "sinh cos tanh arctanh"])
def test_complex_functions(device: Device, names: str) -> None:
    """As the formulas of their parts have it, which `test_arithmetic.py` looks at."""
    z = np.append(_edges("c8"), [0.3 - 0.7j, 1e-6 + 1j, 90 - 2j, 1e30 + 1e20j])
    functions = [getattr(np, name) for name in names.split()]
    views = ", ".join(f"{name}[i]" for name in names.split())
    h = md_hom(lambda a: tuple(f(a) for f in functions), {"i": cc}, f"x[i] -> {views}").bind(z)
    found = run_vectors(device, h, (z,), 4)
    (stage,) = lowered(h)
    parts = interpret(stage.mdhom, z.real.copy(), z.imag.copy())
    for n, (name, got) in enumerate(zip(names.split(), found, strict=True)):
        for part, want in zip((got.real, got.imag), parts[2 * n : 2 * n + 2], strict=True):
            np.testing.assert_allclose(part, want, rtol=1e-5, atol=1e-7, err_msg=name)


def test_negative_powers_of_integers(device: Device) -> None:
    """NumPy refuses them; kernels cannot, and round the power toward 0."""
    x, n = np.array([0, 1, -1, -1, 2, -3, 5]), np.array([-1, -2, -2, -3, -1, -1, 0])
    h = md_hom(np.power, {"i": cc}, "x[i], n[i] -> y[i]").bind(x, n)
    for got in (*run_plain(device, h, x, n), *expected(h, (x, n))):
        assert got.tolist() == [0, 1, 1, -1, 0, 0, 1]


#: Floats beyond the integers' range: what NumPy makes of them on x86-64, alike for scalars and vectors.
BEYOND = [np.nan, np.inf, -np.inf, 1e20, -1e20, 2.0**63, 2.0**64, 3e9, -3e9, 5e9, 70000.0, 300.7, -300.7, -1.5]


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("source", ["f2", "f4", "f8"])
def test_conversions_beyond_the_range(device: Device, source: str, lanes: int) -> None:
    if device.kind == "gpu":
        pytest.skip("NumPy leaves these to the processor, and GPUs give the nearest number that there is")
    types = [t for t in DTYPES if t.kind in "iu"]
    with np.errstate(all="ignore"):
        x = np.array(BEYOND * 4, source)
        views = ", ".join(f"y{n}[i]" for n in range(len(types)))
        h = md_hom(lambda v: tuple(v.astype(t) for t in types), {"i": cc}, f"x[i] -> {views}").bind(x)
        for t, got in zip(types, run_vectors(device, h, (x,), lanes), strict=True):
            for value, found in zip(x, got, strict=True):
                assert found in (np.array(value).astype(t), np.array([value] * 64).astype(t)[0]), (value, t)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_conversions(device: Device, source: np.dtype[Any]) -> None:
    """To every type at once, so that a type costs one build."""
    x = np.array([0, 1, 2, 100], source)
    views = ", ".join(f"y{n}[i]" for n in range(len(DTYPES)))
    h = md_hom(lambda v: tuple(v.astype(t) for t in DTYPES), {"i": cc}, f"x[i] -> {views}").bind(x)
    for got, want in zip(run_plain(device, h, x), expected(h, [x]), strict=True):
        np.testing.assert_array_equal(got, want, strict=True)


def test_signed_and_unsigned_are_compared(device: Device) -> None:
    x, y = np.array([-(2**63), -1, 0, 1, 2**63 - 1]), np.array([0, 2**63, 1, 1, 2**64 - 1], "u8")
    views = "x[i], y[i] -> a[i], b[i], c[i]"
    h = md_hom(lambda a, b: (a < b, b <= a, b == a), {"i": cc}, views).bind(x, y)
    np.testing.assert_array_equal(run_plain(device, h, x, y), expected(h, [x, y]))


def test_remainders_of_very_different_sizes(device: Device) -> None:
    x = np.array([7, 1e-45, 1e300, 65504, 0.3, 1e-300, 1e16, 5e-324, 1e17])
    h = md_hom(lambda a, b: (np.fmod(a, b), a % b), {"i": cc, "j": cc}, "x[i], y[j] -> z[i,j], w[i,j]").bind(x, x[:8])
    got = run_vectors(device, h, (x, x[:8]), 8, local_tile=(9, 8))
    np.testing.assert_array_equal(got, expected(h, [x, x[:8]]))


def test_every_float16_is_loaded_and_rounded(device: Device) -> None:
    """All 65,536 of them; and floats and doubles beside them, which tie, underflow and overflow."""
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    h = md_hom(lambda a: (a.astype(np.float32), a), {"i": cc}, "x[i] -> y[i], z[i]").bind(halves)
    for got, want in zip(run_plain(device, h, halves), (halves.astype(np.float32), halves), strict=True):
        np.testing.assert_array_equal(got, want, strict=True)
    near = halves.astype(np.float64)[~np.isnan(halves)]
    with np.errstate(all="ignore"):
        for dtype in (np.float32, np.float64):
            x = np.concatenate([near * f for f in (1, 1 + 2**-11, 1 - 2**-11, 1 + 2**-12, 1 + 2**-30)]).astype(dtype)
            # Rounded at the store, and in between.
            pattern = md_hom(
                lambda a: (a.astype(np.float16), a.astype(np.float16).astype(np.float32)),
                {"i": cc},
                "x[i] -> y[i], z[i]",
            )
            h = pattern.bind(x)
            for got, want in zip(run_plain(device, h, x), expected(h, [x]), strict=True):
                np.testing.assert_array_equal(got, want, strict=True)
