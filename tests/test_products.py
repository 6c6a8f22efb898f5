"""NumPy's products of arrays: every call gives what NumPy's does."""

from operator import attrgetter

import numpy as np
import pytest
from cases import DTYPES, LAYOUTS, MIXED, assert_same, magnitude, operands

import mdhnp

#: Calls as name, shapes, keywords; the first of each name is the one that is tried with all layouts and types.
CALLS = [
    ("matmul", ((17, 33), (33, 19)), {}),
    ("matmul", ((5,), (5,)), {}),
    ("matmul", ((3, 5), (5,)), {}),
    ("matmul", ((5,), (5, 3)), {}),
    ("matmul", ((1, 1), (1, 1)), {}),
    ("matmul", ((3, 0), (0, 4)), {}),
    ("matmul", ((0, 3), (3, 4)), {}),
    ("matmul", ((2, 3, 5), (5,)), {}),
    ("matmul", ((5,), (2, 5, 3)), {}),
    ("matmul", ((2, 3, 5), (5, 4)), {}),
    ("matmul", ((3, 5), (2, 5, 4)), {}),
    ("matmul", ((2, 3, 5), (2, 5, 4)), {}),
    ("matmul", ((2, 1, 3, 5), (7, 5, 4)), {}),
    ("matmul", ((1, 3, 5), (4, 5, 2)), {}),
    ("matmul", ((0, 3, 5), (5, 4)), {}),
    ("matmul", ((3, 5, 2), (7, 3, 5)), {"axes": [(2, 0), (1, 0), (0, 1)]}),
    ("matmul", ((3, 5, 2), (5,)), {"axes": [(2, 1), (0,), (0,)]}),
    ("matmul", ((5,), (3, 5, 2)), {"axes": [0, (1, 2), -1]}),
    ("matmul", ((3, 5), (5, 2)), {"axes": [(0, 1), (0, 1), (1, 0)]}),
    ("vecdot", ((4, 2, 7), (2, 7)), {}),
    ("vecdot", ((7,), (7,)), {}),
    ("vecdot", ((2, 0), (0,)), {}),
    ("vecdot", ((7, 2), (7, 1)), {"axis": 0}),
    ("vecdot", ((4, 7, 2), (7, 2)), {"axis": -2, "keepdims": True}),
    ("vecdot", ((4, 7), (7,)), {"keepdims": True}),
    ("vecdot", ((4, 7), (7, 4)), {"axes": [1, 0]}),
    ("vecdot", ((4, 7), (7, 4)), {"axes": [(1,), (0,), ()]}),
    ("matvec", ((2, 3, 7), (5, 1, 7)), {}),
    ("matvec", ((3, 7), (7,)), {}),
    ("matvec", ((7, 3, 2), (7, 2)), {"axes": [(1, 0), 0, 0]}),
    ("vecmat", ((5, 1, 7), (2, 7, 3)), {}),
    ("vecmat", ((7,), (7, 3)), {}),
    ("vecmat", ((7, 2), (2, 7, 3)), {"axes": [0, (1, 2), 1]}),
    ("dot", ((17, 33), (33, 19)), {}),
    ("dot", ((), ()), {}),
    ("dot", ((), (3, 4)), {}),
    ("dot", ((3, 4), ()), {}),
    ("dot", ((5,), (5,)), {}),
    ("dot", ((3, 5), (5,)), {}),
    ("dot", ((5,), (5, 3)), {}),
    ("dot", ((2, 3, 5), (5,)), {}),
    ("dot", ((5,), (2, 5, 3)), {}),
    ("dot", ((2, 3, 5), (4, 5, 7)), {}),
    ("dot", ((3, 0), (0, 4)), {}),
    ("vdot", ((5, 7), (5, 7)), {}),
    ("vdot", ((), ()), {}),
    ("vdot", ((6,), (3, 2)), {}),
    ("vdot", ((2, 3, 5), (5, 6)), {}),
    ("vdot", ((0,), (3, 0)), {}),
    ("inner", ((3, 7), (5, 7)), {}),
    ("inner", ((7,), (7,)), {}),
    ("inner", ((), (5, 7)), {}),
    ("inner", ((5, 7), ()), {}),
    ("inner", ((2, 3, 7), (5, 2, 7)), {}),
    ("inner", ((3, 0), (2, 0)), {}),
    ("outer", ((5, 2), (3, 4)), {}),
    ("outer", ((5,), (3,)), {}),
    ("outer", ((), (3,)), {}),
    ("outer", ((0,), (3,)), {}),
    ("tensordot", ((2, 3, 5), (5, 3, 4)), {"axes": ([1, 2], [1, 0])}),
    ("tensordot", ((2, 3, 5), (3, 5, 4)), {}),
    ("tensordot", ((2, 5), (5, 4)), {"axes": 1}),
    ("tensordot", ((2, 5), (3,)), {"axes": 0}),
    ("tensordot", ((2, 5), (3,)), {"axes": -1}),
    ("tensordot", ((2, 5), (4, 5)), {"axes": (1, -1)}),
    ("tensordot", ((2, 5), (5, 2)), {"axes": ((0, 1), (1, 0))}),
    ("tensordot", ((2, 5), ()), {"axes": ((), ())}),
    ("tensordot", ((2, 0), (0, 3)), {"axes": 1}),
    ("kron", ((3, 2), (5, 4)), {}),
    ("kron", ((3,), (5,)), {}),
    ("kron", ((), ()), {}),
    ("kron", ((), (5, 2)), {}),
    ("kron", ((2,), (3, 5)), {}),
    ("kron", ((2, 3, 2), (5,)), {}),
    ("kron", ((0, 3), (2, 2)), {}),
    ("trace", ((5, 7, 3),), {}),
    ("trace", ((5, 5),), {}),
    ("trace", ((5, 7),), {"offset": 2}),
    ("trace", ((5, 7),), {"offset": -9}),
    ("trace", ((2, 5, 3, 4),), {"axis1": -1, "axis2": 1, "offset": -1}),
    ("trace", ((5, 5),), {"dtype": "f4"}),
    ("trace", ((5, 5),), {"dtype": "f8"}),
    ("linalg.multi_dot", ((3, 7), (7, 5), (5, 4)), {}),
    ("linalg.multi_dot", ((3, 7), (7, 5)), {}),
    ("linalg.multi_dot", ((7,), (7, 5), (5, 4)), {}),
    ("linalg.multi_dot", ((3, 7), (7, 5), (5,)), {}),
    ("linalg.multi_dot", ((7,), (7, 5), (5,)), {}),
    ("linalg.multi_dot", ((2, 3), (3, 1), (1, 7), (7, 2), (2, 5)), {}),
    ("linalg.matmul", ((2, 3, 5), (5, 4)), {}),
    ("linalg.outer", ((5,), (3,)), {}),
    ("linalg.tensordot", ((2, 3, 5), (3, 5, 4)), {}),
    ("linalg.trace", ((2, 5, 7),), {"offset": 1}),
    ("linalg.vecdot", ((7, 2), (7, 2)), {"axis": 0}),
]  # fmt: skip
SHORT = [next(c for c in CALLS if c[0] == name) for name in dict.fromkeys(c[0] for c in CALLS)]
PLAIN = [c for c in SHORT if not c[0].startswith("linalg.")]


def label(case):
    return f"{case[0]} {' '.join('x'.join(map(str, s)) or '()' for s in case[1])} {case[2] or ''}"


def check(case, arrays, **extra):
    name, _, kwargs = case
    arguments = [arrays] if name == "linalg.multi_dot" else arrays
    expected = attrgetter(name)(np)(*arguments, **kwargs)
    sizes = list(map(magnitude, arrays))
    size = attrgetter(name)(np)(*([sizes] if name == "linalg.multi_dot" else sizes), **kwargs)
    result = attrgetter(name)(mdhnp)(*arguments, **kwargs)
    assert_same(result, expected, size, max(a.size for a in arrays))


@pytest.mark.parametrize("case", CALLS, ids=label)
def test_value(device, case):
    check(case, operands(case[1], [np.float64]))


@pytest.mark.parametrize("layout", range(1, len(LAYOUTS)), ids=list(LAYOUTS)[1:])
@pytest.mark.parametrize("case", SHORT, ids=label)
def test_layout(device, case, layout):
    check(case, operands(case[1], [np.float32], layout, 3))


@pytest.mark.parametrize("dtypes", [*(f"{t} {t}" for t in DTYPES), *MIXED])
@pytest.mark.parametrize("case", PLAIN[:1] + PLAIN[-1:], ids=label)
def test_dtypes(device, case, dtypes):
    check(case, operands(case[1], dtypes.split()))


@pytest.mark.parametrize("dtypes", ["? ?", "int8 int8", "uint64 uint64", "f2 f2", "c8 c8", "c16 c16", *MIXED[::4]])
@pytest.mark.parametrize("case", SHORT[1:-1], ids=label)
def test_some_dtypes(device, case, dtypes):
    check(case, operands(case[1], dtypes.split()))


@pytest.mark.parametrize("shapes", [((6, 31), (31, 93)), ((137, 311), (311, 93)), ((93, 17), (17, 35))], ids=str)
def test_rows_of_float16_begin_anywhere(device, shapes):
    # PoCL's own stores of vectors would end the process where a row begins at no multiple of 16 bytes.
    left, right = operands(shapes, [np.float16])
    wide = [a.astype(np.float32) for a in (left, right)]
    assert_same(mdhnp.matmul(left, right), np.matmul(*wide).astype(np.float16), np.matmul(*map(magnitude, wide)))


@pytest.mark.parametrize("given", [([[1, 2], [3, 4]], (5.0, 6.0)), (np.float32(3), [1, 2]), ([True, False], 2.5)])
@pytest.mark.parametrize("name", ["matmul", "vecdot", "dot", "vdot", "inner", "outer", "kron"])
def test_array_likes(device, name, given):
    try:
        expected = getattr(np, name)(*given)
    except ValueError:
        with pytest.raises(ValueError, match=name):
            getattr(mdhnp, name)(*given)
    else:
        assert_same(getattr(mdhnp, name)(*given), expected, 99)


KEYWORDS = [
    ("matmul", {"dtype": "f8"}),
    ("matmul", {"dtype": "f4"}),
    ("matmul", {"out": np.zeros((2, 4), "f4")}),
    ("matmul", {"out": (np.zeros((2, 4), "f4"),)}),
    ("matmul", {"out": np.zeros((3, 2, 4), "f8")}),
    ("matmul", {"out": np.zeros((4, 2), "f4").T}),
    ("matmul", {"out": np.zeros((2, 4), "i4"), "casting": "unsafe"}),
    ("matmul", {"out": np.zeros((4, 2), "f4"), "axes": [(0, 1), (0, 1), (1, 0)]}),
    ("matmul", {"order": "F"}),
    ("matmul", {"order": "f", "dtype": "f8"}),
    ("matmul", {"order": "A"}),
    ("matmul", {"order": None}),
    ("matmul", {"subok": False}),
    ("matmul", {"out": np.zeros((2, 4), "g")}),
    ("matmul", {"dtype": "g"}),
    ("matmul", {"signature": "dd->d"}),
    ("dot", {"out": np.zeros((2, 4), "f4")}),
    ("outer", {"out": np.zeros((6, 12), "f8")}),
    ("outer", {"out": np.zeros((2, 6, 12), "f4")}),
    ("vecdot", {"out": np.zeros(2, "f4"), "b": (3,)}),
    ("vecdot", {"out": np.zeros((2, 1), "f4"), "b": (3,), "keepdims": True}),
    ("vecdot", {"dtype": "g", "b": (3,), "axis": -1, "keepdims": True}),
    ("matvec", {"out": np.zeros(2, "f4"), "b": (3,)}),
    ("trace", {"out": np.zeros((), "f4"), "b": None}),
    ("trace", {"out": np.zeros((), "i4"), "b": None}),
    ("linalg.multi_dot", {"out": np.zeros((2, 5), "f4"), "b": ((3, 4), (4, 5))}),
    ("linalg.multi_dot", {"out": np.zeros((2, 1), "f4"), "b": ((3, 4), (4,))}),
    ("linalg.multi_dot", {"out": np.zeros((2, 1), "f4"), "b": ((3, 4), (4, 4), (4,))}),
]


@pytest.mark.parametrize(("name", "kwargs"), KEYWORDS, ids=str)
def test_keywords(device, name, kwargs):
    second = kwargs.get("b", (3, 4))
    shapes = second if second and isinstance(second[0], tuple) else [second] if second else []
    given = {k: v for k, v in kwargs.items() if k != "b"}
    arrays = operands(((2, 3), *shapes), [np.float32])
    arguments = [arrays] if name == "linalg.multi_dot" else arrays
    expected = attrgetter(name)(np)(*arguments, **given)
    expected = expected.copy(order="K")
    for out in (o for o in (given.get("out"),) if o is not None):
        (out[0] if isinstance(out, tuple) else out)[...] = 0
    result = attrgetter(name)(mdhnp)(*arguments, **given)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    assert result.dtype == expected.dtype
    if "out" in given and name != "linalg.multi_dot":
        assert result is (given["out"][0] if isinstance(given["out"], tuple) else given["out"])
    else:
        assert result.flags.f_contiguous == expected.flags.f_contiguous


@pytest.mark.parametrize("name", ["matmul", "dot"])
def test_out_may_be_an_operand(device, name):
    a = np.arange(9.0).reshape(3, 3)
    expected = a @ a
    assert getattr(mdhnp, name)(a, a, out=a) is a
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("dtype", ["g", "O"])
@pytest.mark.parametrize("case", SHORT, ids=label)
def test_fallback(case, dtype):
    name, shapes, kwargs = case
    arrays = [np.arange(np.prod(s)).reshape(s).astype(dtype) for s in shapes]
    arguments = [arrays] if name == "linalg.multi_dot" else arrays
    counted = name.removeprefix("linalg.")
    before = mdhnp.fallback_counts().get(counted, 0)
    expected = attrgetter(name)(np)(*arguments, **kwargs)
    result = attrgetter(name)(mdhnp)(*arguments, **kwargs)
    np.testing.assert_array_equal(result, expected)
    assert type(result) is type(expected)
    assert mdhnp.fallback_counts()[counted] == before + 1
    with mdhnp.config(fallback="error"), pytest.raises(TypeError, match=f"{counted}: operand 0 has dtype"):
        attrgetter(name)(mdhnp)(*arguments, **kwargs)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("case", [c for c in PLAIN if c[0] != "trace"], ids=label)
def test_subclasses_stay_with_numpy(case):
    name = case[0]
    for a in (np.ma.masked_equal(np.arange(4.0).reshape(2, 2), 1), np.asmatrix(np.eye(2))):
        before = mdhnp.fallback_counts().get(name, 0)
        assert type(getattr(mdhnp, name)(a, a)) is type(getattr(np, name)(a, a))
        assert mdhnp.fallback_counts()[name] == before + 1


class Foreign:
    """What NumPy's functions ask what to do with it."""

    def __array_function__(self, function, types, args, kwargs):
        return "its own"

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return "its own"

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("converted to an array")


@pytest.mark.parametrize("case", PLAIN, ids=label)
def test_foreign_arrays_have_their_way(case):
    a = Foreign()
    assert getattr(mdhnp, case[0])(*[a, np.ones((2, 2))][: len(case[1])]) == "its own"
    assert mdhnp.einsum("ij,jk", a, np.ones((2, 2))) == "its own"


def test_arguments_that_are_equal_but_not_the_same_share_no_entry(device):
    """Keys compare by equality: 0 is False, 1.0 is 1, and long is long long there."""
    a, b = np.ones((3, 3)), np.ones((3, 3), np.int32)
    for _ in range(2):
        assert mdhnp.einsum("ij,jk,kl", a, a, a, optimize=False).sum() == 81
        assert mdhnp.einsum("ij,jk,kl", a, a, a, optimize=True).sum() == 81
        for wrong in (0, 1, {}, 2.0):
            with pytest.raises(TypeError, match="optimize"):
                mdhnp.einsum("ij,jk,kl", a, a, a, optimize=wrong)
        assert mdhnp.trace(a, 1) == 2
        assert mdhnp.tensordot(a, a, 1).shape == (3, 3)
        for call in (lambda: mdhnp.trace(a, 1.0), lambda: mdhnp.tensordot(a, a, 1.0)):
            with pytest.raises(TypeError, match=r"must be int|no integer"):
                call()
        with pytest.raises(TypeError, match=r"matmul: axes: 0\.0 is no integer"):
            mdhnp.matmul(a, a, axes=[(0.0, 1), (0, 1), (0, 1)])
    assert len({mdhnp.matmul(b, b, dtype=t).dtype.char for t in ("q", "l", "q")}) == 1


@pytest.mark.parametrize("axes", [[0, 0], [0, 0, 0], [1, 1, 1], [-1, 0, -1]])
def test_a_kept_axis_is_where_numpy_keeps_it(device, axes):
    a, b = np.random.default_rng(0).random((2, 4, 4))
    for keepdims in (True, False):
        given = axes if keepdims or len(axes) == 2 else [*axes[:2], ()]
        expected = np.vecdot(a, b, axes=given, keepdims=keepdims)
        found = mdhnp.vecdot(a, b, axes=given, keepdims=keepdims)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert found.shape == expected.shape
