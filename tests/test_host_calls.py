"""Functions that the host computes: what they give of Arrays, who may copy these, and who is told.

That each is NumPy's and the standard's is drawn by `test_array_api.py`; here devices have memory of their own, too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arrays import close, same
from separate import separate

import mdhnp
from mdhnp.runtime.devices import Device

RNG = np.random.default_rng(0)
A = RNG.random((4, 3)).astype(np.float32)
S = (A.T @ A + np.eye(3)).astype(np.float32)
N = np.array([3, 0, 3, 1, 0, 2])
HOLED = np.array([[2.0, np.nan, -0.0, 0.0], [np.inf, 1.0, np.nan, -np.inf]])

#: NumPy's functions by our name for the same, and by NumPy's own.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "sort": lambda m, x: m.sort(x(HOLED), axis=0),
    "sort, integers": lambda m, x: m.sort(x(N)),
    "sort, kind": lambda m, x: m.sort(x(N), -1, "quicksort"),
    "argsort": lambda m, x: m.argsort(x(HOLED), axis=1, stable=True),
    "argsort, kind": lambda m, x: m.argsort(x(HOLED), axis=1, kind="mergesort"),
    "searchsorted": lambda m, x: m.searchsorted(x(np.sort(N)), x(N), side="right"),
    "searchsorted, sorter": lambda m, x: m.searchsorted(x(N), 2, sorter=x(np.argsort(N))),
    "nonzero": lambda m, x: m.nonzero(x(A > 0.5)),
    "unique": lambda m, x: m.unique(x(N), return_counts=True),
    "unique_all": lambda m, x: m.unique_all(x(N)),
    "unique_counts, NaN": lambda m, x: m.unique_counts(x(HOLED)),
    "repeat, counts": lambda m, x: m.repeat(x(A), x(np.array([1, 0, 2, 3])), axis=0),
    "repeat, flat": lambda m, x: m.repeat(x(N[:4]), [0, 2, 1, 1]),
    "linalg.cholesky": lambda m, x: m.linalg.cholesky(x(S), upper=True),
    "linalg.det": lambda m, x: m.linalg.det(x(S)),
    "linalg.eigh": lambda m, x: m.linalg.eigh(x(S)),
    "linalg.inv": lambda m, x: m.linalg.inv(x(S[None])),
    "linalg.qr": lambda m, x: m.linalg.qr(x(A)),
    "linalg.svd": lambda m, x: m.linalg.svd(x(A.T), full_matrices=False),
    "linalg.solve": lambda m, x: m.linalg.solve(x(S), x(A[0])),
    "linalg.solve, ndarray": lambda m, x: m.linalg.solve(S, x(A.T)),
    "linalg.pinv": lambda m, x: m.linalg.pinv(x(A), rtol=x(np.asarray(1e-3, np.float32))),
    "linalg.matrix_rank": lambda m, x: m.linalg.matrix_rank(x(S), rtol=x(np.asarray(1e-3, np.float32))),
    "linalg.matrix_norm": lambda m, x: m.linalg.matrix_norm(x(A), ord="nuc"),
    "linalg.matrix_power": lambda m, x: m.linalg.matrix_power(x(S), -3),
    "fft.fft": lambda m, x: m.fft.fft(x(A), n=5, axis=0),
    "fft.irfftn": lambda m, x: m.fft.irfftn(x(A), s=(2, 4), axes=(0, 1)),
    "fft.fftshift": lambda m, x: m.fft.fftshift(x(A), axes=1),
}
#: NumPy's only.
NUMPYS: dict[str, Callable[[Any], Any]] = {
    "sort, kind, NumPy's": lambda x: np.sort(x(N), kind="stable"),
    "median, out": lambda x: np.median(x(A), 0, x(np.zeros(3, np.float32))),
    "nanquantile": lambda x: np.nanquantile(x(HOLED[:, :2]), [0.25, 0.5]),
    "lexsort": lambda x: np.lexsort((x(N), x(N[::-1].copy()))),
    "where, alone": lambda x: np.where(x(A > 0.5)),
    "argwhere": lambda x: np.argwhere(x(N)),
    "partition": lambda x: np.sort(np.partition(x(N), 3)[:3]),
    "setdiff1d": lambda x: np.setdiff1d(x(N), x(N[:2])),
    "linalg.norm": lambda x: np.linalg.norm(x(A), 2),
    "linalg.cond": lambda x: np.linalg.cond(x(S)),
    "linalg.svd": lambda x: np.linalg.svd(x(S), compute_uv=False, hermitian=True),
    "fft.rfft2": lambda x: np.fft.rfft2(x(A)),
    "fft.fft, out": lambda x: np.fft.fft(x(A), out=x(np.zeros((4, 3), np.complex64))),
    "fft.ifftshift": lambda x: np.fft.ifftshift(x(A)),
    "searchsorted, longdouble": lambda x: np.searchsorted(x(np.sort(N)), [np.longdouble(1)]),
    "method sort": lambda x: _sorted(x(N.copy())),
    "method argsort": lambda x: x(A).argsort(0, "stable"),
    "method nonzero": lambda x: x(N).nonzero(),
    "method searchsorted": lambda x: x(np.sort(N)).searchsorted(2),
    "method repeat": lambda x: x(A).repeat(2, 1),
}


def _sorted(x: Any) -> Any:
    x.sort(-1, "heapsort")
    return x


@pytest.mark.parametrize("name", [*CALLS, *NUMPYS])
def test_functions_give_arrays_on_the_device(where: Device, name: str) -> None:
    calls = [lambda x, m=m: CALLS[name](m, x) for m in (mdhnp, np)] if name in CALLS else [NUMPYS[name]]
    expected = calls[-1](lambda a: a)
    for call in calls:
        close(call(lambda a: mdhnp.asarray(a, copy=True)), expected, where, rtol=1e-4, atol=1e-5)
    if name in CALLS:
        given = CALLS[name](mdhnp, lambda a: a)
        for one, other in zip(*[v if isinstance(v, tuple) else (v,) for v in (given, expected)], strict=True):
            assert type(one) is type(other)


@pytest.mark.parametrize("x", [HOLED, N, np.zeros((2, 0)), HOLED + 1j], ids=str)
@pytest.mark.parametrize("axis", [0, -1])
def test_descending_order_is_the_other_way_round_and_stable(where: Device, x: Any, axis: int) -> None:
    a = mdhnp.asarray(x)
    backwards = np.flip(np.sort(x, axis=axis, stable=True), axis)
    same(mdhnp.sort(a, axis=axis, descending=True), backwards)
    found = mdhnp.argsort(a, axis=axis, descending=True)
    same(mdhnp.take_along_axis(a, found, axis=axis), backwards)
    order = found.numpy()
    equal = np.diff(backwards, axis=axis) == 0
    assert (np.diff(order, axis=axis)[equal] > 0).all()


def test_explain_tells_what_the_host_computes(where: Device) -> None:
    a = mdhnp.asarray(S)
    explanation = mdhnp.explain(lambda: mdhnp.linalg.inv(a @ a))
    assert [each.name for each in explanation.host] == ["numpy.linalg.inv"]
    place = "copies of arrays" if where.own_memory else "arrays where they are"
    assert f"host      numpy.linalg.inv, on {place}" in explanation.summary
    assert "mdh       md_hom(*, (++, ++, +))" in explanation.summary
    assert ("copied" in explanation.summary) == where.own_memory


def test_arrays_in_the_hosts_memory_are_not_copied(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    a = mdhnp.asarray(N, device=device)
    with mdhnp.config(fallback="error"):
        assert mdhnp.sort(a).tolist() == sorted(N.tolist())


def test_arrays_are_not_copied_where_settings_say_so(device: Device) -> None:
    own = mdhnp.asarray(N, device=separate(device))
    with mdhnp.config(fallback="error"):
        for call in (mdhnp.unique, np.median, mdhnp.linalg.inv, mdhnp.fft.fft):
            with pytest.raises(TypeError, match=r"computed on the host, for which Arrays are copied"):
                call(own)


@pytest.mark.parametrize("call", [mdhnp.sort, np.unique, mdhnp.nonzero, mdhnp.linalg.eigvalsh, np.fft.fft])
def test_fused_functions_name_the_line(call: Callable[[Any], Any]) -> None:
    fused = mdhnp.fuse(lambda x: call(x + 1) * 2)
    with pytest.raises(mdhnp.TracingError, match=r"numpy\.\S+ in line \d+ of \S+ is computed on the host"):
        fused(S)


def test_fused_functions_have_norms_and_shifts() -> None:
    fused = mdhnp.fuse(lambda x: mdhnp.fft.fftshift(x / mdhnp.linalg.vector_norm(x, axis=1, keepdims=True), axes=0))
    np.testing.assert_allclose(fused(A), np.roll(A / np.linalg.norm(A, axis=1, keepdims=True), 2, 0), rtol=1e-5)


@pytest.mark.parametrize("ord", [0, 1, 2, 3.5, -1, -2, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["e", "f", "d", "F", "i"])
def test_kernels_compute_norms(where: Device, ord: float, dtype: str) -> None:
    x = (np.arange(1, 25).reshape(2, 3, 4) % 7 + 1).astype(dtype) * (1j if dtype == "F" else 1)
    x = x.astype(dtype)
    with mdhnp.config(host="never"):
        for axis in (None, 1, (0, 2)):
            found = mdhnp.linalg.vector_norm(mdhnp.asarray(x), axis=axis, ord=ord)
            expected = np.linalg.vector_norm(x, axis=axis, ord=ord)
            close(found, np.asarray(expected, found.dtype), where, rtol=2e-3 if dtype == "e" else 1e-5)


def test_two_devices_are_an_error_that_names_them(device: Device) -> None:
    if device.own_memory:
        pytest.skip("the other device is this one")
    one, two = mdhnp.asarray(S, device=device), mdhnp.asarray(A[0], device=separate(device))
    with pytest.raises(ValueError, match=r"solve: operand 0 is on .*, operand 1 is on .*to_device"):
        mdhnp.linalg.solve(one, two)
