"""NumPy's ufuncs in place of kernels: maps, reductions and scans are what their definition says."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from arrays import layouts

import mdhnp
from mdhnp.calls import numpy_tier, ufuncs
from mdhnp.calls.numpy_tier import NumpyFunction, numpy_function
from mdhnp.mdh import index, interpret

RNG = np.random.default_rng(0)

#: Scalar functions of maps, of two operands, and NumPy's name of each where it is one function.
MAPS = {
    "add": (np.add, "numpy.add"),
    "reciprocal": (lambda a, b: 1 / (a + 2), None),
    "quotient": (np.divide, "numpy.divide"),
    "floor": (np.floor_divide, "numpy.floor_divide"),
    "less": (np.less, "numpy.less"),
    "copy": (lambda a, b: a, "numpy.copy"),
    "second": (lambda a, b: b, "numpy.copy"),
    "converted": (lambda a, b: b.astype(np.int16), "numpy.astype"),
    "truth": (lambda a, b: a.astype(bool), "numpy.astype"),
    "both": (np.logical_and, "numpy.logical_and"),
    "choice": (lambda a, b: np.where(a, a, b), "numpy.where"),
    "bounded": (lambda a, b: np.clip(a, b, a), None),
    "swapped": (lambda a, b: b - a, "numpy.subtract"),
    "number": (lambda a, b: a + 3, "numpy.add"),
    "expression": (lambda a, b: np.sqrt(np.abs(a)) * b + a, None),
    "indices": (lambda a, b: a + index(1) - index(0) * b, None),
    "only an index": (lambda a, b: index(1) * 2, None),
    "widened": (lambda a, b: np.positive((a != 0).astype(np.int8)), None),
    "powers": (lambda a, b: a.astype(np.int32) ** b.astype(np.int32), None),
}  # fmt: skip
VIEWS = [
    "A[i,j], B[i,j] -> C[i,j]", "A[i,j], B[j] -> C[i,j]", "A[j,i], B[j] -> C[i,j]", "A[i,j], B[i,j] -> C[j,i]",
    "A[i], B[j] -> C[i,j]", "A[i,0], B[2] -> C[i,j]", "A[j], B[] -> C[i,j]", "A[1,j], B[i,j] -> C[j,i]",
]  # fmt: skip


def viewed(views: str, dtypes: Sequence[str]) -> list[Any]:
    """Give arrays for the views."""
    given = views.partition("->")[0]
    axes = [part.partition("]")[0] for part in given.split("[")[1:]]
    shapes = [[{"i": 4, "j": 5}.get(n, 3) for n in names.split(",") if n] for names in axes]
    return [np.asarray(RNG.integers(-3, 4, shape)).astype(t) for shape, t in zip(shapes, dtypes, strict=True)]


@pytest.mark.parametrize("large", [ufuncs.LARGE, 0], ids=["at once", "in blocks"])
@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("name", MAPS)
def test_maps_are_what_their_definition_says(
    name: str, views: str, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ufuncs, "LARGE", large)
    monkeypatch.setattr(ufuncs, "_IN_PLACE", large)
    monkeypatch.setattr(ufuncs, "_BLOCK", 24)  # bytes: a row, or two of them
    scalar, expected = MAPS[name]
    for dtypes in (("f4", "f4"), ("i4", "f8"), ("u1", "i2"), ("f2", "f2"), ("?", "f4")):
        arrays = viewed(views, dtypes)
        combine = {"i": mdhnp.cc, "j": mdhnp.cc}
        h = mdhnp.md_hom(scalar, combine, views).bind(*arrays, i=4, j=5)
        function = numpy_function(h)
        assert function is not None
        if expected is not None and len(set(dtypes)) == 1 and name not in ("floor", "quotient"):
            assert function.name == expected
        for others in zip(*map(layouts, arrays), strict=True):
            with np.errstate(all="raise"):  # sums apart nothing warns
                found = np.asarray(function.compute(*others))
            with np.errstate(all="ignore"):
                wanted = interpret(h, *others)
            assert found.flags.c_contiguous
            assert not any(np.may_share_memory(found, a) for a in others)
            np.testing.assert_array_equal(found, wanted, strict=True)


def test_maps_of_large_arrays_make_no_temporaries_of_their_size() -> None:
    """Nor a result whose memory the system has to clear, from the second one on."""
    a = np.ones((1 << 12, 1 << 11), np.float32)
    h = mdhnp.md_hom(lambda x: np.sqrt(x * x + 1) * x, {"i": mdhnp.cc, "j": mdhnp.cc}, "A[i,j] -> C[i,j]").bind(a)
    function = numpy_function(h)
    assert function is not None
    first = function.compute(a)
    where = first.ctypes.data
    del first
    tracemalloc.start()
    try:
        found = function.compute(a)
        assert tracemalloc.get_traced_memory()[1] < a.nbytes // 2
    finally:
        tracemalloc.stop()
    assert found.ctypes.data == where
    np.testing.assert_array_equal(found, np.sqrt(a * a + 1) * a)


def test_maps_of_neighbours() -> None:
    a = RNG.random((7, 9), np.float32)
    h = mdhnp.md_hom(
        lambda x, y, z: x - y * z, {"i": mdhnp.cc, "j": mdhnp.cc}, "A[i,j+2], A[i+1,j], B[j+3] -> C[i,j]"
    ).bind(a, a[0], i=6, j=6)  # fmt: skip
    function = numpy_function(h)
    assert function is not None
    np.testing.assert_array_equal(function.compute(a, a[0]), a[:6, 2:8] - a[1:, :6] * a[0, 3:])


def test_maps_of_complex_numbers() -> None:
    z = np.array([1 + 2j, -3j, 0], np.complex64)
    for scalar in (np.conjugate, lambda a: a.real, lambda a: a.imag, lambda a: a.imag + a.real, np.abs):
        h = mdhnp.md_hom(scalar, {"i": mdhnp.cc}, "z[i] -> w[i]").bind(z)
        function = numpy_function(h)
        assert function is not None
        found = function.compute(z)
        assert not np.may_share_memory(found, z)
        np.testing.assert_array_equal(found, interpret(h, z), strict=True)
    h = mdhnp.md_hom(lambda a: a.astype(np.float32), {"i": mdhnp.cc}, "z[i] -> w[i]").bind(z)
    function = numpy_function(h)
    assert function is not None
    np.testing.assert_array_equal(function.compute(z), z.real)  # without a warning


@pytest.mark.parametrize("views", ["A[i+j] -> C[i,j]", "A[i,i] -> C[i]", "A[2*i] -> C[i]", "A[i] -> C[i], D[i]"])
def test_no_function_for_maps_with_other_indices_or_several_results(views: str) -> None:
    dims = {n: mdhnp.cc for n in "ij" if n in views}
    scalar = (lambda a: (-a, a)) if "D" in views else np.negative
    h = mdhnp.md_hom(scalar, dims, views).bind(np.ones((9,) * (1 + ("i,i" in views))), **dict.fromkeys(dims, 4))
    assert numpy_function(h) is None


MAX, SUM, PRODUCTS, EACH = mdhnp.pw("max"), mdhnp.pw("add"), mdhnp.ps("mul"), mdhnp.cc
#: Scalar function, operators of i and j, views, what NumPy's function is called.
REDUCTIONS = [
    (lambda x: x, (EACH, SUM), "A[i,j] -> C[i]", "add.reduce"),
    (lambda x: x, (SUM, EACH), "A[i,j] -> C[j]", "add.reduce"),
    (lambda x: x * x + 1, (SUM, SUM), "A[i,j] -> C[]", "add.reduce"),
    (lambda x: x > 1, (mdhnp.pw("or"), EACH), "A[i,j] -> C[0,j]", "logical_or.reduce"),
    (lambda x: (x > 1).astype(np.int64), (SUM, SUM), "A[i,j] -> C[]", "count_nonzero"),
    (lambda x, y: x - y, (EACH, MAX), "A[i,j], B[j] -> C[i]", "maximum.reduce"),
    (lambda x: x, (MAX, EACH), "A[j,i] -> C[j]", "maximum.reduce"),
    (lambda x: x, (EACH, PRODUCTS), "A[i,j] -> C[i,j]", "multiply.accumulate"),
    (lambda x: x, (PRODUCTS, EACH), "A[i,j] -> C[j,i]", "multiply.accumulate"),
]


@pytest.mark.parametrize("many", [ufuncs.MANY, 0])
@pytest.mark.parametrize(("scalar", "operators", "views", "name"), REDUCTIONS)
def test_reductions_and_scans_are_what_their_definition_says(
    scalar: Any, operators: Any, views: str, name: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numpy_tier, "suits_einsum", lambda *_: False)
    monkeypatch.setattr(ufuncs, "MANY", many)
    monkeypatch.setattr(ufuncs, "ROW", 3)
    for dtypes in (("f4", "f4"), ("i2", "i2"), ("f2", "f2"), ("f8", "f8")):
        arrays = [np.abs(a) for a in viewed(views, dtypes[: views.count("], ") + 1])]
        h = mdhnp.md_hom(scalar, dict(zip("ij", operators, strict=True)), views).bind(*arrays)
        function = numpy_function(h)
        assert function is not None
        assert function.name == f"numpy.{name}"
        for others in zip(*map(layouts, arrays), strict=True):
            found = np.asarray(function.compute(*others))
            assert found.flags.c_contiguous
            assert not any(np.may_share_memory(found, a) for a in others)
            np.testing.assert_array_equal(found, interpret(h, *others), strict=True)


@pytest.mark.parametrize(
    ("scalar", "operators", "views", "called"),
    [
        (lambda x: x, (EACH, MAX), "A[i,j] -> C[i]", np.maximum.reduce),
        (lambda x: x, (MAX, MAX), "A[i,j] -> C[]", np.maximum.reduce),
        (lambda x: x, (EACH, SUM), "A[i,j] -> C[i]", ufuncs.einsum),
        (lambda x: x, (SUM, SUM), "A[i,j] -> C[]", ufuncs.einsum),
        (lambda x, y: x + y, (EACH, EACH), "A[i,j], B[j] -> C[i,j]", np.add),
    ],
)
def test_small_calls_are_handed_to_numpys_function_itself(scalar: Any, operators: Any, views: str, called: Any) -> None:
    arrays = viewed(views, ("f4", "f4")[: views.count("], ") + 1])
    h = mdhnp.md_hom(scalar, dict(zip("ij", operators, strict=True)), views).bind(*arrays)
    function = numpy_function(h)
    assert isinstance(function, NumpyFunction)
    assert isinstance(function.compute, partial)
    assert function.compute.func == called


@pytest.mark.parametrize("place", ["argmax", "argmin"])
def test_places_of_extremes(place: str) -> None:
    a = mdhnp.asarray(RNG.integers(0, 5, (6, 7)).astype(np.float32), device="cpu")
    with mdhnp.config(host="auto"):
        found = getattr(mdhnp, place)(a, axis=0)
    np.testing.assert_array_equal(found.numpy(), getattr(np, place)(a.numpy(), axis=0))
