"""All calls with Arrays: the values, shapes and types of those with ndarrays, as Arrays on the device."""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np
import pytest
from arrays import close
from cases import DTYPES, EINSUM, MIXED, Array, assert_same, magnitude, operands, values
from separate import separate

import mdhnp
from mdhnp.runtime.devices import Device

check = partial(close, atol=1e-5)  # differences of products

#: Ways in which an Array lies in its memory, from ndarrays: contiguous ones, and views of larger ones.
VIEWS: tuple[Callable[[Array, Device], mdhnp.Array], ...] = (
    lambda x, d: mdhnp.asarray(x, device=d),
    lambda x, d: mdhnp.asarray(x.T.copy(), device=d).T,
    lambda x, d: mdhnp.asarray(x[(slice(None, None, -1),) * x.ndim].copy(), device=d)[
        (slice(None, None, -1),) * x.ndim
    ],
    lambda x, d: mdhnp.asarray(_wide(x), device=d)[(..., *(slice(1, None, 2),) * x.ndim)],
)


def _wide(x: Array) -> Array:
    wide = np.zeros([2 * n + 1 for n in x.shape], x.dtype)
    wide[(..., *(slice(1, None, 2),) * x.ndim)] = x
    return wide


def name(case: Any) -> str:
    return f"{case[0]} {' '.join('x'.join(map(str, s)) or '()' for s in case[1])}"


@pytest.mark.parametrize("number", range(0, len(EINSUM), 2), ids=lambda n: name(EINSUM[n]))
def test_einsum(device: Device, number: int) -> None:
    where = device if number % 3 == 0 else separate(device)
    subscripts, shapes = EINSUM[number]
    arrays = operands(shapes, [np.float32])
    given = [VIEWS[(number + n) % len(VIEWS)](np.asarray(x), where) for n, x in enumerate(arrays)]
    check(mdhnp.einsum(subscripts, *given), np.einsum(subscripts, *arrays), where)


@pytest.mark.parametrize("number", range(len(DTYPES) + len(MIXED)))
def test_types(device: Device, number: int) -> None:
    where = device if number % 3 == 0 else separate(device)
    types = [DTYPES[number]] if number < len(DTYPES) else MIXED[number - len(DTYPES)].split()
    a, b = operands(((5, 7), (7, 3)), types)
    given = [VIEWS[(number + n) % len(VIEWS)](x, where) for n, x in enumerate((a, b))]
    result = mdhnp.einsum("ij,jk->ik", *given)
    assert_same(result.numpy(), np.einsum("ij,jk->ik", a, b), np.einsum("ij,jk->ik", magnitude(a), magnitude(b)), 7)


A, B, V = (values(np.random.default_rng(n), s) for n, s in enumerate(((6, 5), (5, 4), (5,))))
Z = values(np.random.default_rng(3), (6, 5), np.complex64)
STACK = values(np.random.default_rng(4), (2, 3, 4))

#: Calls of NumPy's functions, of the same name here.
PRODUCTS: dict[str, Callable[..., Any]] = {
    "matmul": lambda np_, a, b, v, z, s: np_.matmul(a, b),
    "matmul, a vector": lambda np_, a, b, v, z, s: np_.matmul(a, v),
    "matmul, order": lambda np_, a, b, v, z, s: np_.matmul(a, b, order="F"),
    "matmul, dtype": lambda np_, a, b, v, z, s: np_.matmul(a, b, dtype=np.float64),
    "vecdot": lambda np_, a, b, v, z, s: np_.vecdot(z, v),
    "matvec": lambda np_, a, b, v, z, s: np_.matvec(a, v),
    "vecmat": lambda np_, a, b, v, z, s: np_.vecmat(v, b),
    "dot": lambda np_, a, b, v, z, s: np_.dot(a, b),
    "dot of vectors": lambda np_, a, b, v, z, s: np_.dot(v, v),
    "vdot": lambda np_, a, b, v, z, s: np_.vdot(z, a),
    "inner": lambda np_, a, b, v, z, s: np_.inner(a, v),
    "outer": lambda np_, a, b, v, z, s: np_.outer(v, a),
    "kron": lambda np_, a, b, v, z, s: np_.kron(a, b),
    "trace": lambda np_, a, b, v, z, s: np_.trace(a, offset=1),
    "trace of a stack": lambda np_, a, b, v, z, s: np_.trace(s, axis1=1, axis2=2),
    "tensordot": lambda np_, a, b, v, z, s: np_.tensordot(a, b, axes=(1, 0)),
    "tensordot, none": lambda np_, a, b, v, z, s: np_.tensordot(a, v, axes=0),
    "multi_dot": lambda np_, a, b, v, z, s: np_.linalg.multi_dot([v, b, b.T, v]),
    "einsum, float16": lambda np_, a, b, v, z, s: np_.einsum(
        "ij,jk,j->ik", a, b, v, dtype=np.float16, casting="unsafe"
    ),
    "einsum, order": lambda np_, a, b, v, z, s: np_.einsum("ij,jk->ik", a, b, order="F"),
}


@pytest.mark.parametrize("call", PRODUCTS.values(), ids=PRODUCTS)
@pytest.mark.parametrize("mixed", [False, True], ids=["Arrays", "with ndarrays"])
def test_products(where: Device, call: Callable[..., Any], mixed: bool) -> None:
    arrays = (A, B, V, Z, STACK)
    given = [VIEWS[n % 4](x, where) if n != 1 or not mixed else x for n, x in enumerate(arrays)]
    expected = call(np, *arrays)
    half = np.asarray(expected).dtype == np.float16
    check(call(mdhnp, *given), expected, where, rtol=2e-3 if half else 1e-5, atol=1e-2 if half else 1e-5)


def test_blas(where: Device) -> None:
    a, b, v = (mdhnp.asarray(x, device=where) for x in (A, B, V))
    y = np.ones(6, np.float32)
    check(mdhnp.gemv(a, v), A @ V, where)
    check(mdhnp.gemv(a, v, mdhnp.asarray(y, device=where), alpha=2.5, beta=-1.0), 2.5 * (A @ V) - y, where)
    check(mdhnp.gemm(a, b, alpha=0.5), 0.5 * (A @ B), where)
    check(mdhnp.gemm(a, a, trans_b=True), A @ A.T, where)


def test_out(where: Device) -> None:
    a, b = (mdhnp.asarray(x, device=where) for x in (A, B))
    for dtype in (np.float32, np.float64):
        out = mdhnp.asarray(np.zeros((6, 8), dtype), device=where)[:, ::2]
        assert mdhnp.matmul(a, b, out=out) is out
        check(out, (A @ B).astype(dtype), where)
        assert mdhnp.einsum("ij,jk->ik", a, b, out=out, casting="unsafe") is out
    with pytest.raises(TypeError, match=r"out"):
        mdhnp.matmul(a, b, out=np.zeros((6, 4), np.float32))
    with pytest.raises(ValueError, match="out"):
        mdhnp.matmul(a, b, out=mdhnp.asarray(np.zeros((6, 5), np.float32), device=where))


@pytest.mark.parametrize("mode", ["constant", "nearest", "reflect", "mirror", "wrap", "valid"])
def test_stencils(where: Device, mode: str) -> None:
    weights = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    a = mdhnp.asarray(A, device=where)
    check(mdhnp.stencil(a[::-1], weights, mode=mode), mdhnp.stencil(A[::-1], weights, mode=mode), where)
    z = mdhnp.asarray(Z, device=where)
    check(mdhnp.stencil(z, weights + 1j, mode=mode), mdhnp.stencil(Z, weights + 1j, mode=mode), where, rtol=1e-4)


def test_own_computations(where: Device) -> None:
    a = mdhnp.asarray(A, device=where)
    scan = mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc, "j": mdhnp.ps("add")}, "x[i,j] -> y[i,j]")
    check(scan(a), A.cumsum(1), where)
    both = mdhnp.md_hom(lambda x: (x, x * x), {"i": mdhnp.cc, "j": mdhnp.pw(("max", "add"))}, "x[i,j] -> m[i], s[i]")
    largest, squares = both(a[:, ::-1])
    check(largest, A.max(1), where)
    check(squares, (A * A).sum(1), where)
    nested = mdhnp.md_hom(
        lambda x: x, {"i": mdhnp.pw("max"), "j": mdhnp.pw("add")}, "x[i,j] -> y[]", nested=True
    )  # two stages
    check(nested(a), A.sum(1).max(), where)
    nothing = mdhnp.md_hom(lambda x: x, {"i": mdhnp.cc, "j": mdhnp.pw("add")}, "x[i,j] -> y[i]")
    check(nothing(a[:, :0]), np.zeros(6, np.float32), where)
    check(nothing(a[:0]), np.zeros(0, np.float32), where)


def test_record_linkage_takes_columns_of_the_host(where: Device) -> None:
    with pytest.raises(TypeError, match=r"prl: .*\.numpy\(\)"):
        mdhnp.prl({"name": mdhnp.asarray(A[0], device=where)}, {"name": A[1]}, m=0.9)


def test_long_reductions_and_large_offsets(where: Device) -> None:
    x = np.random.default_rng(0).random(1 << 20, dtype=np.float32)
    a = mdhnp.asarray(x, device=where)
    for view, expected in ((a, x), (a[3:], x[3:]), (a[::-3], x[::-3])):
        check(mdhnp.dot(view, view), np.dot(expected, expected), where, rtol=1e-4)


def test_several_devices_in_one_call_are_refused(device: Device) -> None:
    a, b = mdhnp.asarray(A, device=device), mdhnp.asarray(B, device=separate(device))
    if a.device is not b.device:
        with pytest.raises(ValueError, match=r"matmul: operand 0 is on .*, operand 1 is on .*to_device"):
            mdhnp.matmul(a, b)
        check(mdhnp.matmul(a, b.to_device(device)), A @ B, device)


def test_what_kernels_cannot_compute_is_refused_not_copied(where: Device) -> None:
    a = mdhnp.asarray(A, device=where)
    with pytest.raises(TypeError, match=r"einsum: the result has dtype (float128|longdouble).*\.numpy\(\)"):
        mdhnp.einsum("ij->", a, dtype=np.longdouble)
    with pytest.raises(TypeError, match="operand 1 has dtype object"):
        mdhnp.dot(a, np.array([1, 2, 3, 4, 5], object))
    with pytest.raises(TypeError, match=r"float128|longdouble"):
        mdhnp.asarray(np.ones(3, np.longdouble), device=where)


def test_results_are_new_memory(where: Device) -> None:
    a = mdhnp.asarray(A, device=where)
    copy = mdhnp.einsum("ij->ij", a)
    copy[...] = 0
    np.testing.assert_array_equal(a.numpy(), A)
    assert prod(copy.shape) == A.size
