"""NumPy's functions on Arrays that the package has none for: a TypeError, or NumPy on copies where settings say so."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arrays import close, filled

import mdhnp
from mdhnp.runtime.devices import Device

A = 1 + filled((4, 6)) % 5
V = np.linspace(0.1, 0.9, 6, dtype=np.float32)

NONE = "mdhnp has no function of that meaning"
UNKNOWN: dict[str, tuple[Callable[[Any], Any], str]] = {
    "histogram": (lambda a: np.histogram(a, bins=3), NONE),
    "ldexp": (lambda a: np.ldexp(a, 3), NONE),
    "modf": (lambda a: np.modf(a / 2), NONE),
    "add.reduceat": (lambda a: np.add.reduceat(a, [0, 2]), NONE),
    "subtract.reduce": (np.subtract.reduce, NONE),
    "add": (lambda a: np.add(a, 1, where=A > 0, out=None), "has no argument 'where'"),
    "var": (lambda a: np.var(a, mean=np.mean(A)), "has no argument 'mean'"),
    "copy": (lambda a: np.copy(a, subok=True), "has no argument 'subok'"),
    "meshgrid": (lambda a: np.meshgrid(a[0], a[1], sparse=True), "has no argument 'sparse'"),
    "atleast_1d": (lambda a: np.atleast_1d(3, a), NONE),
    "average": (lambda a: np.average(a, returned=True), "has no argument 'returned'"),
    "cov": (lambda a: np.cov(a, fweights=np.arange(6)), "has no argument 'fweights'"),
    "gradient": (lambda a: np.gradient(a, np.arange(6.0) ** 2, axis=1), "points have coordinates"),
    "nan_to_num": (lambda a: np.nan_to_num(a * 1j, posinf=np.inf), "may not be finite"),
    "pad": (lambda a: np.pad(a, 2, "mean"), "mode is 'mean'"),
    "round": (lambda a: np.round(a * 1j, 1), "x has dtype complex64"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_there_is_no_function_for_is_a_type_error(where: Device, name: str) -> None:
    call, reason = UNKNOWN[name]
    before = mdhnp.fallback_counts()
    with pytest.raises(TypeError, match=f"^{re.escape(name)}: .*{reason}.*; copy Arrays by .numpy()") as caught:
        call(mdhnp.asarray(A))
    assert "config.fallback" in str(caught.value)
    assert mdhnp.fallback_counts() == before


@pytest.mark.parametrize("name", UNKNOWN)
def test_numpy_computes_on_copies_where_the_settings_say_so(where: Device, name: str) -> None:
    call, _ = UNKNOWN[name]
    before = mdhnp.fallback_counts().get(name, 0)
    with mdhnp.config(fallback="numpy"):
        found = call(mdhnp.asarray(A))
    expected = call(A)
    if name == "histogram":
        expected = tuple(expected)
    close(found, expected, where)
    assert mdhnp.fallback_counts()[name] == before + 1


def test_what_numpy_gives_beside_arrays_stays_what_it_is(where: Device) -> None:
    a = mdhnp.asarray(A)
    with mdhnp.config(fallback="numpy"):
        assert np.array2string(a) == np.array2string(A)
        assert np.allclose(a, A) is True
        assert np.linalg.norm(mdhnp.asarray(np.ones(4)).astype("f4"), ord=1) == 4
        longer = np.nan_to_num(a.astype(np.float64), nan=0.0)
        assert type(longer) is mdhnp.Array
        assert np.append(a, np.longdouble(1)).dtype == np.longdouble  # which no Array has


def test_numpy_puts_results_into_arrays(where: Device) -> None:
    a, out = mdhnp.asarray(A), mdhnp.asarray(np.zeros(6, np.float32))
    with mdhnp.config(fallback="numpy"):
        assert np.var(a, axis=0, mean=np.mean(A, axis=0, keepdims=True), out=out) is out
        close(out, np.var(A, axis=0), where)
        masked = mdhnp.asarray(np.full((4, 6), 9, np.float32))
        assert np.add(a, 1, out=masked, where=A > 2) is masked
        close(masked, np.add(A, 1, out=np.full((4, 6), 9, np.float32), where=A > 2), where)
        two = mdhnp.empty(6, dtype="f4"), mdhnp.empty(6, dtype="f4")
        found = np.divmod(V * 9, mdhnp.asarray(V), out=two)
        assert all(x is y for x, y in zip(found, two, strict=True))
        close(found, np.divmod(V * 9, V), where)


def test_calls_that_kernels_cannot_compute_are_numpys_on_copies(where: Device) -> None:
    long = np.arange(6, dtype=np.longdouble)
    for call in (mdhnp.matmul, np.matmul, lambda a, x: mdhnp.einsum("ij,j", a, x)):
        with pytest.raises(TypeError, match=r"operand 1 has dtype float128.*\.numpy\(\)"):
            call(mdhnp.asarray(A), long)
    before = mdhnp.fallback_counts().get("matmul", 0)
    with mdhnp.config(fallback="numpy"):
        found = mdhnp.matmul(mdhnp.asarray(A), long)
        assert found.dtype == np.longdouble  # which no Array has
        np.testing.assert_allclose(found, A @ long)
        out = mdhnp.asarray(np.zeros(4))
        assert np.matmul(mdhnp.asarray(A), long, out=out, casting="same_kind") is out
        close(out, (A @ long).astype(float), where)
    assert mdhnp.fallback_counts()["matmul"] == before + 2
