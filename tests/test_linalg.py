import sys

import numpy as np
import pytest
from cases import DTYPES, MIXED, assert_same, magnitude, operands, values

from mdhnp.frontend import dot, gemm, gemv, matmul
from mdhnp.frontend.operands import fallback_counts
from mdhnp.settings import config

MATMUL = [
    ((5,), (5,)),
    ((3, 5), (5,)),
    ((5,), (5, 3)),
    ((17, 33), (33, 19)),
    ((1, 1), (1, 1)),
    ((3, 0), (0, 4)),
    ((0, 3), (3, 4)),
    ((2, 3, 5), (5,)),
    ((5,), (2, 5, 3)),
    ((2, 3, 5), (5, 4)),
    ((3, 5), (2, 5, 4)),
    ((2, 3, 5), (2, 5, 4)),
    ((2, 1, 3, 5), (7, 5, 4)),
    ((1, 3, 5), (4, 5, 2)),
    ((0, 3, 5), (5, 4)),
]
DOT = [
    ((), ()),
    ((), (3, 4)),
    ((3, 4), ()),
    ((5,), (5,)),
    ((3, 5), (5,)),
    ((5,), (5, 3)),
    ((17, 33), (33, 19)),
    ((2, 3, 5), (5,)),
    ((5,), (2, 5, 3)),
    ((2, 3, 5), (4, 5, 7)),
    ((3, 0), (0, 4)),
]


#: Shapes that other layouts than the contiguous one are tried on.
MATMUL_SHORT = [((5,), (5, 3)), ((17, 33), (33, 19)), ((2, 1, 3, 5), (7, 5, 4))]
DOT_SHORT = [((3, 5), (5,)), ((17, 33), (33, 19)), ((2, 3, 5), (4, 5, 7))]


def by_layout(shapes, short):
    return [(s, layout) for layout in range(5) for s in (short if layout else shapes)]


def check(function, reference, arrays):
    terms = max(max(a.shape, default=1) for a in arrays)
    assert_same(function(*arrays), reference(*arrays), reference(*map(magnitude, arrays)), terms)


@pytest.mark.parametrize(("shapes", "layout"), by_layout(MATMUL, MATMUL_SHORT), ids=str)
def test_matmul(device, shapes, layout):
    check(matmul, np.matmul, operands(shapes, [np.float32], layout, layout))


@pytest.mark.parametrize(("shapes", "layout"), by_layout(DOT, DOT_SHORT), ids=str)
def test_dot(device, shapes, layout):
    check(dot, np.dot, operands(shapes, [np.float64], layout, layout))


@pytest.mark.parametrize("dtypes", [*(f"{t} {t}" for t in DTYPES), *MIXED])
def test_matmul_dtypes(device, dtypes):
    check(matmul, np.matmul, operands(((5, 7), (7, 3)), dtypes.split()))


@pytest.mark.parametrize("dtypes", ["? ?", "int8 int8", "uint64 uint64", "f2 f2", "c8 c8", *MIXED[::4]])
def test_dot_dtypes(device, dtypes):
    check(dot, np.dot, operands(((5, 7), (7, 3)), dtypes.split()))


def test_array_likes(device):
    assert_same(matmul([[1, 2], [3, 4]], (5.0, 6.0)), np.matmul([[1, 2], [3, 4]], (5.0, 6.0)), 99)
    assert_same(dot(np.float32(3), [1, 2]), np.dot(np.float32(3), [1, 2]), 9)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"dtype": "f8"},
        {"dtype": "f4"},
        {"out": np.zeros((2, 4), "f4")},
        {"out": np.zeros((3, 2, 4), "f8")},
        {"out": np.zeros((2, 4), "i4"), "casting": "unsafe"},
        {"order": "F"},
        {"out": np.zeros((2, 4), "c8")},
    ],
    ids=str,
)
def test_matmul_keywords(device, kwargs):
    arrays = operands(((2, 3), (3, 4)), [np.float32])
    expected = np.matmul(*arrays, **kwargs).copy(order="K")
    result = matmul(*arrays, **kwargs)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    assert result.dtype == expected.dtype
    assert result.flags.f_contiguous == expected.flags.f_contiguous


def test_dot_out(device):
    a, out = np.arange(9.0).reshape(3, 3), np.empty((3, 3))
    assert dot(a, a, out) is out
    np.testing.assert_array_equal(out, a @ a)


BAD = [
    (np.matmul, matmul, (np.ones(3), 2), {}),
    (np.matmul, matmul, (2, np.ones(3)), {}),
    (np.matmul, matmul, (np.ones(3), np.ones(4)), {}),
    (np.matmul, matmul, (np.ones(1), np.ones(4)), {}),
    (np.matmul, matmul, (np.ones((2, 3)), np.ones((2, 3))), {}),
    (np.matmul, matmul, (np.ones((2, 1)), np.ones((4, 1))), {}),
    (np.matmul, matmul, (np.ones((2, 3, 3)), np.ones((3, 3, 3))), {}),
    (np.matmul, matmul, (None, np.ones(3)), {}),
    (np.matmul, matmul, ("a", np.ones(3)), {}),
    (np.matmul, matmul, (np.ones(3),), {}),
    (np.matmul, matmul, (np.ones((2, 3)), np.ones((3, 2))), {"out": np.ones((2, 2), int)}),
    (np.matmul, matmul, (np.ones((2, 3)), np.ones((3, 2))), {"out": np.ones((3, 2))}),
    (np.matmul, matmul, (np.ones((1, 3)), np.ones((3, 2))), {"out": np.ones((3, 2))}),
    (np.matmul, matmul, (np.ones((2, 3)), np.ones((3, 2))), {"out": []}),
    (np.matmul, matmul, (np.ones((2, 3)), np.ones((3, 2))), {"dtype": int}),
    (np.matmul, matmul, (np.ones((2, 3)), np.ones((3, 2), "f4")), {"casting": "no"}),
    (np.dot, dot, (np.ones(3), np.ones(4)), {}),
    (np.dot, dot, (np.ones((2, 3)), np.ones((2, 3))), {}),
    (np.dot, dot, (np.ones((2, 1)), np.ones((2, 3))), {}),
    (np.dot, dot, (None, np.ones(3)), {}),
    (np.dot, dot, ("a", np.ones(3)), {}),
    (np.dot, dot, (np.ones(3), np.ones(3)), {"out": np.ones(1)}),
    (np.dot, dot, (np.ones(3), np.ones(3)), {"out": np.ones((), "f4")}),
    (np.dot, dot, (np.ones((2, 2)), np.ones((2, 2))), {"out": np.ones((2, 2), order="F")}),
    (np.dot, dot, (np.ones((2, 2)), np.ones((2, 2))), {"out": []}),
]


@pytest.mark.parametrize(("reference", "function", "args", "kwargs"), BAD)
def test_bad_call(reference, function, args, kwargs):
    with pytest.raises(Exception) as expected:
        reference(*args, **kwargs)
    with pytest.raises(next(t for t in (TypeError, ValueError) if issubclass(expected.type, t))):
        function(*args, **kwargs)


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

    def run(call, arrays, build):
        plans.add((call, tuple((a.shape, a.dtype) for a in arrays)))
        return (np.empty(2),)

    monkeypatch.setattr(sys.modules["mdhnp.frontend.linalg"], "run", run)
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
    a, x = values(np.random.default_rng(7), (3, 3)).astype(dtype), np.arange(3)
    before = sum(fallback_counts().values())
    np.testing.assert_array_equal(matmul(a, x), a @ x)
    np.testing.assert_array_equal(dot(a, x), a @ x)
    np.testing.assert_allclose(gemv(a, x, x, 2, 3).astype(complex), (2 * (a @ x) + 3 * x).astype(complex), rtol=1e-2)
    assert sum(fallback_counts().values()) == before + 3
    with config(fallback="error"):
        for function in (matmul, dot, gemv):
            with pytest.raises(TypeError, match="operand 0 has dtype"):
                function(a, x)


@pytest.mark.parametrize(("function", "reference"), [(matmul, np.matmul), (dot, np.dot)], ids=["matmul", "dot"])
def test_subclasses_stay_with_numpy(function, reference):
    a = np.ma.masked_equal(np.arange(4.0).reshape(2, 2), 1)
    before = fallback_counts().get(function.__name__, 0)
    assert type(function(a, a)) is type(reference(a, a))
    assert fallback_counts()[function.__name__] == before + 1
