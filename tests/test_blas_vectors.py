"""BLAS's functions of vectors and triangles against scipy.linalg.blas, through the interpreter and on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import blas

import mdhnp
from mdhnp.frontend import blas as ours
from mdhnp.runtime.devices import Device

#: BLAS's letters by type.
LETTERS = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}
TOLERANCE = {"f4": 1e-5, "f8": 1e-13, "c8": 1e-5, "c16": 1e-13}
N, M = 23, 14


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every computation of these functions is what its MDH means: kernels of MDHs are tested elsewhere."""

    def call(computation: Any, *arrays: Any) -> Any:
        return mdhnp.interpret(computation.bind(*arrays), *arrays)

    monkeypatch.setattr(mdhnp.Computation, "__call__", call)


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape) if "c" in dtype else a).astype(dtype)


X, Y = (lambda t: numbers((N,), t, 0)), (lambda t: numbers((N,), t, 1))
SQUARE, WIDE = (lambda t: numbers((N, N), t, 2)), (lambda t: numbers((N, M), t, 3))

#: Ours and BLAS's function of its letter, both from a type's arrays.
CALLS: dict[str, tuple[Any, Any]] = {
    "scal": (lambda t: mdhnp.scal(2.5, X(t)), lambda t, f: f("scal")(2.5, X(t))),
    "axpy": (lambda t: mdhnp.axpy(X(t), Y(t), 2.5), lambda t, f: f("axpy")(X(t), Y(t), a=2.5)),
    "asum": (lambda t: mdhnp.asum(X(t)), lambda t, f: f("asum")(X(t))),
    "nrm2": (lambda t: mdhnp.nrm2(X(t)), lambda t, f: f("nrm2")(X(t))),
    "iamax": (lambda t: mdhnp.iamax(X(t)), lambda t, f: np.int64(f("amax")(X(t)))),
    "ger": (
        lambda t: mdhnp.ger(X(t), Y(t)[:M], WIDE(t), 2.5),
        lambda t, f: f("geru" if "c" in t else "ger")(2.5, X(t), Y(t)[:M], a=WIDE(t)),
    ),
    "outer": (
        lambda t: mdhnp.ger(X(t), Y(t)[:M]),
        lambda t, f: f("geru" if "c" in t else "ger")(1, X(t), Y(t)[:M]),
    ),
}
for lower in (0, 1):
    CALLS[f"symv {lower}"] = (
        lambda t, lower=lower: mdhnp.symv(SQUARE(t), X(t), lower=lower),
        lambda t, f, lower=lower: f("symv")(1, SQUARE(t), X(t), lower=lower),
    )
    CALLS[f"symv {lower} added"] = (
        lambda t, lower=lower: mdhnp.symv(SQUARE(t), X(t), Y(t), 2, -3.5, lower=lower),
        lambda t, f, lower=lower: f("symv")(2, SQUARE(t), X(t), -3.5, Y(t), lower=lower),
    )
    for n in range(4):
        CALLS[f"trmv {lower} {n}"] = (
            lambda t, lower=lower, n=n: mdhnp.trmv(SQUARE(t), X(t), lower=lower, trans=n % 2, unit=n // 2),
            lambda t, f, lower=lower, n=n: f("trmv")(SQUARE(t), X(t), lower=lower, trans=n % 2, diag=n // 2),
        )
    for trans in (0, 1):
        CALLS[f"syrk {lower} {trans}"] = (
            lambda t, lower=lower, trans=trans: mdhnp.syrk(WIDE(t), alpha=0.5, lower=lower, trans=trans),
            lambda t, f, lower=lower, trans=trans: f("syrk")(0.5, WIDE(t), lower=lower, trans=trans),
        )
    CALLS[f"syrk {lower} added"] = (
        lambda t, lower=lower: mdhnp.syrk(WIDE(t), SQUARE(t), 0.5, -2, lower=lower),
        lambda t, f, lower=lower: f("syrk")(0.5, WIDE(t), -2, SQUARE(t), lower=lower),
    )


def compared(name: str, dtype: str) -> None:
    def function(called: str) -> Any:
        letter = LETTERS[dtype]
        of_real = {"nrm2": {"c": "sc", "z": "dz"}, "asum": {"c": "sc", "z": "dz"}, "amax": {}}
        letter = of_real[called].get(letter, letter) if called in of_real else letter
        # complex symv is LAPACK's
        return getattr(blas, ("i" if called == "amax" else "") + letter + called)

    ours, theirs = CALLS[name]
    found, wanted = ours(dtype), theirs(dtype, function)
    if name in ("asum", "nrm2"):
        wanted = np.dtype(dtype).type(wanted).real
    assert type(found) is type(wanted)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", LETTERS)
@pytest.mark.parametrize("name", CALLS)
def test_as_blas(interpreted: None, name: str, dtype: str) -> None:
    if "symv" in name and "c" in dtype:  # SciPy's BLAS has it for real numbers only
        a, x, y = SQUARE(dtype), X(dtype), Y(dtype)
        half = np.tril(a) if "1" in name else np.triu(a)
        product = (half + half.T - np.diag(np.diag(a))) @ x
        wanted = 2 * product - 3.5 * y if "added" in name else product
        np.testing.assert_allclose(CALLS[name][0](dtype), wanted, rtol=TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])
        return
    compared(name, dtype)


@pytest.mark.parametrize("name", ["nrm2", "iamax", "symv 1 added", "syrk 1 added"])
def test_on_devices(device: Device, name: str) -> None:
    compared(name, "f4")


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize(
    "kind", ["large", "small", "smallest", "root of large", "root of small", "mixed", "zeros", "none"]
)
def test_lengths_neither_overflow_nor_vanish(interpreted: None, dtype: str, kind: str) -> None:
    info = np.finfo(dtype)
    large, small = float(info.max) / 64, float(info.tiny) * 4
    sizes = {
        "large": [large], "small": [small], "smallest": [float(info.smallest_subnormal) * 3],
        "root of large": [4 * float(info.max) ** 0.5], "root of small": [float(info.tiny) ** 0.5 / 4],
        "mixed": [large, 1, small, 0], "zeros": [0.0], "none": [],
    }  # fmt: skip
    x = np.resize(sizes[kind], len(sizes[kind]) * 50).astype(dtype) * (1 - 1j if "c" in dtype else -1)
    x = x.astype(dtype)
    parts = np.concatenate([x.real, x.imag]).astype(np.longdouble)
    wanted = np.sqrt((parts * parts).sum())
    found = mdhnp.nrm2(x)
    assert found.dtype == x.real.dtype
    np.testing.assert_allclose(
        np.longdouble(found), wanted, rtol=8 * float(info.eps), atol=float(info.smallest_subnormal)
    )


def test_lengths_of_what_is_no_number(interpreted: None) -> None:
    assert mdhnp.nrm2([1.0, np.inf, -np.inf, 1e300]) == np.inf
    for rest in ([1.0], [1e300], [1e-300], [np.inf]):
        assert np.isnan(mdhnp.nrm2([*rest, np.nan]))
    assert mdhnp.nrm2(np.array([3, -4], np.int8)) == 5


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "u8", "f2"])
def test_types_are_numpys(interpreted: None, dtype: str) -> None:
    x, y = (np.random.default_rng(n).integers(0, 2 if dtype == "?" else 5, 9).astype(dtype) for n in (0, 1))
    a = np.outer(x, y[:4])
    for found, wanted in (
        (mdhnp.scal(2, x), 2 * x),
        (mdhnp.scal(2.5, x), 2.5 * x),
        (mdhnp.axpy(x, y.astype("f4"), 3), (3 * x + y).astype(np.result_type(x, np.float32, 3))),
        (mdhnp.ger(x, y[:4], a, np.float32(2)), np.float32(2) * np.outer(x, y[:4]) + a),
        (mdhnp.asum(x), np.sum(x)),
        (mdhnp.iamax(x), np.argmax(x)),
        (mdhnp.syrk(a), np.triu(1 * a @ (1 * a).T)),
        (mdhnp.symv(np.outer(x, x), x, y), 1 * np.outer(x, x) @ (1 * x) + 1 * y),
        (mdhnp.trmv(np.outer(x, x), x), np.triu(np.outer(x, x)) @ x),
    ):
        np.testing.assert_array_equal(found, wanted, strict=True)
    assert mdhnp.asum(np.array([-128, 1], np.int8)) == 129
    assert mdhnp.syrk(np.array([[100, 100]], np.uint8), alpha=0.5) == 10000
    assert mdhnp.symv([[2]], [3], [5], beta=0.5) == 8.5  # though alpha is of integers
    assert mdhnp.syrk([[2]], [[5]], beta=np.float32(0.5)) == 6.5
    assert mdhnp.iamax(np.array([1, -128, 127], np.int8)) == 1
    assert mdhnp.iamax([1.0, np.nan, np.inf, np.nan]) == 1


def test_other_triangles_are_not_used(interpreted: None) -> None:
    a, x = numbers((5, 5), "f8", 0), numbers((5,), "f8", 1)
    hidden = np.where(np.tri(5, k=-1), np.nan, a)
    np.testing.assert_array_equal(mdhnp.symv(hidden, x), mdhnp.symv(np.triu(a), x))
    np.testing.assert_array_equal(mdhnp.trmv(hidden, x), mdhnp.trmv(a, x))
    np.fill_diagonal(hidden, np.nan)
    np.testing.assert_array_equal(mdhnp.trmv(hidden, x, unit=True), mdhnp.trmv(a, x, unit=True))


def test_arrays_stay_where_they_are(device: Device) -> None:
    a, x = (mdhnp.asarray(numbers(s, "f4", 0), device=device) for s in ((4, 4), (4,)))
    found = mdhnp.trmv(a, x)
    assert type(found) is mdhnp.Array
    np.testing.assert_allclose(found.numpy(), np.triu(a.numpy()) @ x.numpy(), rtol=1e-5)


A, V = np.ones((3, 4)), np.ones(3)


@pytest.mark.parametrize(
    ("message", "bad"),
    [
        ("scal: a factor of 1 axes", lambda: mdhnp.scal(V, V)),
        ("x: array of 2 axes", lambda: mdhnp.scal(2, A)),
        ("has 4 elements", lambda: mdhnp.axpy(V, A[0])),
        ("x: array of 2 axes", lambda: mdhnp.nrm2(A)),
        ("iamax: x has no elements", lambda: mdhnp.iamax([])),
        ("a: axis 0 has 3 elements", lambda: mdhnp.ger(A[0], A[0], A)),
        (r"symv: a of shape \(3, 4\)", lambda: mdhnp.symv(A, V)),
        (r"trmv: a of shape \(3,\)", lambda: mdhnp.trmv(V, V)),
        ("c: axis 0 has 3 elements", lambda: mdhnp.syrk(A.T, np.ones((3, 3)))),
    ],
)
def test_errors_name_what_is_wrong(message: str, bad: Any) -> None:
    with pytest.raises(ValueError, match=message):
        bad()


def test_public_names() -> None:
    names = {"asum", "axpy", "ger", "iamax", "nrm2", "scal", "symv", "syrk", "trmv"}
    assert names <= set(mdhnp.__all__)
    assert all(getattr(mdhnp, name) is getattr(ours, name) for name in names)
