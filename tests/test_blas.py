"""BLAS's own calls: products that are scaled and added."""

import sys

import numpy as np
import pytest
from cases import assert_same, magnitude, operands

from mdhnp.calls.operands import fallback_counts
from mdhnp.frontend.gemm import gemm, gemv
from mdhnp.settings import config

SCALARS = [(1, 0), (2, 0), (1, 1), (0.5, -2.0), (0, 3), (np.float32(1.5), np.float32(2))]


@pytest.mark.parametrize(("alpha", "beta"), SCALARS)
@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("layout", [0, 1, 2, 3])
def test_gemv(device, alpha, beta, trans, layout):
    a, x, y = operands((((33, 17) if trans else (17, 33)), (33,), (17,)), [np.float32], layout, 1)
    op = a.T if trans else a
    expected = (alpha * (op @ x) + beta * y).astype(np.float32)
    size = abs(alpha) * (abs(op) @ abs(x)) + abs(beta * y)
    assert_same(gemv(a, x, y, alpha, beta, trans), expected, size, 33)


@pytest.mark.parametrize(("alpha", "beta"), SCALARS)
@pytest.mark.parametrize(("trans_a", "trans_b"), [(False, False), (False, True), (True, False), (True, True)])
def test_gemm(device, alpha, beta, trans_a, trans_b):
    a, b, c = operands(((7, 33), (33, 5), (7, 5)), [np.float64])
    expected = alpha * (a @ b) + beta * c
    given = (a.T.copy() if trans_a else a), (b.T.copy() if trans_b else b)
    result = gemm(*given, c, alpha, beta, trans_a, trans_b)
    assert_same(result, expected, abs(alpha) * (abs(a) @ abs(b)) + abs(beta * c), 33)


@pytest.mark.parametrize(
    "dtypes",
    [
        "i4 i4 i4",
        "i1 i1 i1",
        "? ? ?",
        "f4 f8 f4",
        "i4 f4 f8",
        "f4 f4 f8",
        "u1 i2 i4",
        "f2 f2 f2",
        "c8 c8 c8",
        "f2 c16 f4",
    ],
)
@pytest.mark.parametrize(("alpha", "beta"), [(3, 2), (3, 0), (True, True), (0.5, 1.5), (2j, 1 - 1j)])
def test_gemv_dtypes(device, dtypes, alpha, beta):
    a, x, y = operands(((5, 7), (7,), (5,)), dtypes.split())
    common = np.result_type(a, x, y, alpha, beta)
    a_, x_, y_ = (v.astype(common) for v in (a, x, y))
    with np.errstate(over="ignore"):
        expected = common.type(alpha) * (a_ @ x_) + common.type(beta) * y_
    if common == np.float16:
        wide = [v.astype("f4") for v in (a, x, y)]
        expected = (alpha * (wide[0] @ wide[1]) + beta * wide[2]).astype(common)
    size = 4 * (magnitude(a) @ magnitude(x) + magnitude(y))
    assert_same(gemv(a, x, y, alpha, beta), expected, size, 7)


def test_beta_zero_does_not_read(device):
    a, x = np.ones((2, 3)), np.ones(3)
    for alpha in (1, 2):
        np.testing.assert_array_equal(gemv(a, x, np.full(2, np.nan), alpha), [3.0 * alpha] * 2)
        np.testing.assert_array_equal(gemm(a, a, np.full((2, 2), np.nan), alpha, trans_b=True), [[3.0 * alpha] * 2] * 2)


def test_every_alpha_and_beta_shares_one_plan(monkeypatch):
    plans = set()

    def call(what, arrays, **_):
        plans.add((what, tuple((a.shape, a.dtype) for a in arrays)))

    monkeypatch.setattr(sys.modules["mdhnp.frontend.gemm"], "call", call)
    for alpha, beta in ((2, 3), (0.5, 7.0), (1, 1)):
        gemv(np.ones((2, 3)), np.ones(3), np.ones(2), alpha, beta)
    assert len(plans) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda a, x, y: gemv(x, x),
        lambda a, x, y: gemv(a, a),
        lambda a, x, y: gemv(a, y),
        lambda a, x, y: gemv(a, x, trans=True),
        lambda a, x, y: gemv(a, x, x, beta=1),
        lambda a, x, y: gemv(a, x, x),
        lambda a, x, y: gemv(a, x, beta=1),
        lambda a, x, y: gemv(a, x, alpha=x),
        lambda a, x, y: gemv(a, x, y, beta=y),
        lambda a, x, y: gemm(a, a),
        lambda a, x, y: gemm(a, x),
        lambda a, x, y: gemm(a, a, a, trans_b=True),
        lambda a, x, y: gemm(a, a, beta=2, trans_b=True),
    ],
)
def test_bad_blas_call(call):
    with pytest.raises(ValueError, match=r"gem[mv]: "):
        call(np.ones((2, 3)), np.ones(3), np.ones(2))


@pytest.mark.parametrize("dtype", ["g", "O"])
def test_fallback(dtype):
    a, x = np.arange(9).reshape(3, 3).astype(dtype), np.arange(3)
    before = fallback_counts()
    np.testing.assert_array_equal(gemv(a, x, x, 2, 3), 2 * (a @ x) + 3 * x)
    np.testing.assert_array_equal(gemm(a, a, trans_b=True), a @ a.T)
    assert all(fallback_counts()[f] == before.get(f, 0) + 1 for f in ("gemv", "gemm"))
    with config(fallback="error"), pytest.raises(TypeError, match="gemv: operand 0 has dtype"):
        gemv(a, x)


@pytest.mark.parametrize("beta", [0, 2.0])
def test_sums_of_nothing_are_added(device, beta):
    c = np.arange(6.0).reshape(2, 3)
    found = gemm(np.ones((2, 0)), np.ones((0, 3)), c, beta=beta)
    np.testing.assert_array_equal(found, beta * c)
    np.testing.assert_array_equal(gemv(np.ones((2, 0)), np.ones(0), c[:, 0], beta=beta), beta * c[:, 0])
