"""NumPy's functions in place of kernels: whatever they are made of, they compute what `numpy.einsum` does."""

from __future__ import annotations

import string
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import mul
from typing import Any

import numpy as np
import pytest

import mdhnp
from mdhnp.calls import numpy_tier, ufuncs
from mdhnp.calls.numpy_tier import NumpyFunction, numpy_function
from mdhnp.mdh import MdHom, index, interpret
from mdhnp.mdh.trace import trace

RNG = np.random.default_rng(0)

#: Products of matrices in every arrangement, products without sums, sums, transposes; extents of the labels.
EXTENTS = {"a": 3, "b": 4, "c": 20, "d": 5, "e": 2, "u": 1, "v": 1}
TEXTS = [
    "ab,bc->ac", "ab,bc->ca", "ba,cb->ac", "ab,b->a", "b,ba->a", "ab,ab->", "a,a->", "a,b->ab", "a,b->ba",
    "abc,cbd->ad", "abc,bcd->da", "acb,dcb->da", "abcd,cdbe->ae", "abcd,ce->abde", "abcd,ce->adeb", "ab,cd->acbd",
    "eab,ebc->eac", "aeb,bec->aec", "abe,bce->ace", "abe,bce->cae", "eab,ebc->ace", "deab,debc->deac",
    "edab,debc->deac", "edab,debc->edca", "deab,debc->dace", "eab,eb->ea", "eab,eb->ae", "ea,ea->e", "ab,ba->",
    "eabd,eabd->ea", "eabd,ebd->ea", "eab,eab->ea", "ebda,ebda->ebd",
    "abc,bd->acd", "abc,bd->adc", "adc,acd->ad", "cad,a->dc", "bca,c->ab", "abc,c->ab", "abc,ab->c", "abc,ac->b",
    "ab,ab->ab", "ab,ba->ba", "abc,b->cab", "a,bcd->dabc", "abcd,db->cbad", "ab,->ab", ",->", "ab,c->a", "ab,cd->",
    "abe,cb->ac", "abd,ce->", "aab,bc->ac", "aab,bbc->", "aa,aa->a", "abb,bcc->acb", "aac,cd->da",
    "au,ub->ab", "au,bu->ba", "u,ub->b", "au,u->a", "dau,dub->dab",
    "ubv,bvc->uc", "aub,bvc->avcu", "ua,av->uv", "uab,ubv->vau", "u,v->vu",
    "abc->cab", "abc->b", "abc->ca", "aab->ba", "aa->", "abc->", "aabb->ab", "u->", "abuc->cub", "ab->ab",
]  # fmt: skip
DTYPES = [np.dtype(t) for t in ("?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16")]


def bound(text: str, *arrays: Any) -> MdHom:
    """Give the MDH of an einsum on arrays as they lie."""
    with mdhnp.config(host="never"):
        given, output = text.split("->")
        terms = given.split(",")
        labels = sorted({*given} - {","})
        add = mdhnp.pw("or" if arrays[0].dtype == np.bool_ else "add")
        kinds = {n: mdhnp.cc if n in output else add for n in labels}
        names = string.ascii_uppercase
        views = ", ".join(f"{names[i]}[{','.join(t)}]" for i, t in enumerate(terms))
        scalar = np.logical_and if arrays[0].dtype == np.bool_ and len(terms) > 1 else lambda *each: reduce(mul, each)
        return mdhnp.md_hom(scalar, kinds, f"{views} -> Z[{','.join(output)}]").bind(*arrays)


def operands(text: str, dtype: np.dtype[Any], scale: int) -> list[Any]:
    extents = {n: size if size == 1 else size * scale for n, size in EXTENTS.items()}
    shapes = [[extents[n] for n in term] for term in text[: text.index("->")].split(",")]
    most = 2 if dtype.char == "e" else 4
    return [np.asarray(RNG.integers(0, most, shape)).astype(dtype) for shape in shapes]


def layouts(a: Any) -> list[Any]:
    """Give arrays of the same elements that lie otherwise."""
    wide = np.zeros([2 * n for n in a.shape], a.dtype)[(..., *(slice(None, None, 2) for _ in a.shape))]
    wide[...] = a
    odd = np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape)
    back = np.array(a[(..., *[slice(None, None, -1)] * a.ndim)], order="C")[(..., *[slice(None, None, -1)] * a.ndim)]
    return [np.array(a, order="F"), wide, odd, back, a]


@pytest.mark.parametrize("text", TEXTS)
def test_same_as_einsum(text: str) -> None:
    for dtype in DTYPES:
        for scale in (1,) if dtype.char == "e" else (1, 2):  # sums of few terms, exact in all types
            arrays = operands(text, dtype, scale)
            expected = np.einsum(text, *arrays)
            for others in zip(*map(layouts, arrays), strict=True):
                function = numpy_function(bound(text, *others))
                assert function is not None
                found = function.compute(*others)
                assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
                assert found.flags.c_contiguous
                assert isinstance(found, np.ndarray if found.ndim else np.generic)
                assert not any(np.may_share_memory(found, a) for a in others)
                np.testing.assert_array_equal(found, expected)


def test_mixed_types_and_extremes() -> None:
    a, b = RNG.integers(0, 4, (30, 40)), RNG.integers(0, 4, (40, 20))
    for first in DTYPES[1:]:
        for second in DTYPES[1:]:
            x, y = a.astype(first), b.astype(second)
            found = mdhnp.einsum("ij,jk->ik", x, y)
            np.testing.assert_array_equal(found, np.einsum("ij,jk->ik", x, y))
    large = np.full((40, 40), 100, np.int8)
    function = numpy_function(bound("ab,bc->ac", large, large))
    assert function is not None
    np.testing.assert_array_equal(function.compute(large, large), np.einsum("ab,bc->ac", large, large))
    ones = np.full((2, 4096), 1, np.float16)  # beyond 2048 a sum of ones in float16 stays as it is
    function = numpy_function(bound("ab,cb->ac", ones, ones))
    assert function is not None
    np.testing.assert_array_equal(function.compute(ones, ones), 4096)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [("ab,bc,cd->ad", True), ("abc,b,adcb->ad", True), ("abc,abc,abc->c", False), ("ab,cab,acb->c", False)],
)
def test_products_of_pairs_are_kept_where_they_are_smaller(
    text: str, pairs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    extents = {n: 11 + i for i, n in enumerate("abcd")}
    arrays = [RNG.random([3 * extents[n] for n in term]) for term in text.partition("->")[0].split(",")]
    made = []
    monkeypatch.setattr(numpy_tier, "einsum", lambda *given: made.append(len(given) - 1) or np.einsum(*given))
    function = numpy_function(bound(text, *arrays))
    assert function is not None
    np.testing.assert_allclose(function.compute(*arrays), np.einsum(text, *arrays, optimize=True))
    assert (3 not in made) == pairs


@pytest.mark.parametrize("dtypes", ["i1 i1", "i8 i4", "? ?", "f4 f4", "f2 f2", "c8 c8"])
@pytest.mark.parametrize("text", [
    "bc,ab->b", "ac,e->e", "ea,b->", "acb,e->eb", "aab,cb->ba", "ab,bc->ab", "cd,ac->", "acb,bd->c", "abcd,be->dae",
])  # fmt: skip
def test_sums_of_one_operand_alone_come_first(text, dtypes) -> None:
    sizes = dict(zip("abcde", (14, 24, 19, 23, 32), strict=True))
    rng = np.random.default_rng(4)
    terms = text.partition("->")[0].split(",")
    arrays = [
        rng.integers(-2, 3, [sizes[n] for n in term]).astype(t) for term, t in zip(terms, dtypes.split(), strict=False)
    ]
    function = numpy_function(bound(text, *arrays))
    assert function is not None
    found, expected = function.compute(*arrays), np.einsum(text, *arrays)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert np.asarray(found).flags.c_contiguous
    np.testing.assert_allclose(found, expected, rtol=1e-3 if "f2" in dtypes else 1e-6)


@pytest.mark.parametrize(
    ("text", "shapes", "dtype", "first"),
    [
        ("a,ab->a", [(8,), (8, 900)], "f4", False),  # few points
        ("ab,cab->ab", [(10, 90), (3, 10, 90)], "f8", False),
        ("a,ab->a", [(40,), (40, 900)], "f4", True),
        ("ab,cab->ab", [(2, 3000), (3, 2, 3000)], "f8", True),
        ("b,cab->a", [(6,), (90, 293, 6)], "f4", True),
        ("ab,ac->a", [(40, 200), (40, 100)], "i4", True),
        ("a,ab->a", [(40,), (40, 900)], "c8", True),
    ],
)
def test_operands_are_summed_first_where_that_saves_time(
    text: str, shapes: Any, dtype: str, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    monkeypatch.setattr(
        numpy_tier, "einsum", lambda *given, **how: made.append(len(given) - 1) or np.einsum(*given, **how)
    )
    arrays = [RNG.integers(0, 4, shape).astype(dtype) for shape in shapes]
    function = numpy_function(bound(text, *arrays))
    assert function is not None
    np.testing.assert_array_equal(function.compute(*arrays), np.einsum(text, *arrays))
    assert (1 in made) == first


@pytest.mark.parametrize(
    ("text", "shapes", "dtype", "name"),
    [
        ("abc,b->ac", [(50, 20, 30), (20,)], "f4", "numpy.matmul"),
        ("b,abc->ca", [(20,), (50, 20, 30)], "c8", "numpy.matmul"),
        ("abcd,bcf->fda", [(7, 9, 8, 30), (9, 8, 5)], "f8", "numpy.matmul"),
        ("abcd,fcb->fda", [(7, 9, 8, 30), (5, 8, 9)], "f8", "numpy.matmul"),
        ("abcd,b->ac", [(9, 20, 30, 3), (20,)], "f8", 'numpy.einsum("abcd,b->ac")'),  # a product, then the sum
        ("abc,b->ac", [(50, 20, 3), (20,)], "f4", 'numpy.einsum("abc,b->ac")'),  # few elements each
        ("abc,b->ac", [(50, 200, 60), (200,)], "f4", 'numpy.einsum("abc,b->ac")'),  # several threads each
        ("abc,ba->ac", [(50, 20, 30), (20, 50)], "f4", "numpy.matmul"),  # another one for each
        ("abc,b->ac", [(50, 20, 30), (20,)], "i4", 'numpy.einsum("abc,b->ac")'),
        ("abb,b->a", [(500, 20, 20), (20,)], "f4", 'numpy.einsum("abb,b->a")'),
    ],
)
def test_sums_along_an_inner_axis_are_products_of_a_stack(text: str, shapes: Any, dtype: str, name: str) -> None:
    arrays = [RNG.integers(0, 4, shape).astype(dtype) for shape in shapes]
    function = numpy_function(bound(text, *arrays))
    assert function is not None
    assert function.name == name
    found = function.compute(*arrays)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, np.einsum(text, *arrays))


def test_parts_are_combined_in_the_type_of_the_result() -> None:
    few, many = np.full((300, 400), 100, np.int8), np.full((400, 50), 100, np.int64)
    function = numpy_function(bound("ab,cd->c", few, many))
    assert function is not None
    np.testing.assert_array_equal(function.compute(few, many), np.einsum("ab,cd->c", few.astype(int), many))


@pytest.mark.parametrize(
    "text", ["a,bac,cd->db", "ab,cb,adb->dc", "ab,c,abd->bdc", "abc,ad,e->ced", "a,b,c->cab", "ab,ab,b->"]
)
@pytest.mark.parametrize("scale", [1, 3])
def test_einsums_of_several_operands_before_they_are_described(text: str, scale: int) -> None:
    terms, output = text.split("->")
    for dtype in ("i4", "f8", "c8"):
        arrays = operands(text, np.dtype(dtype), 4 * scale)
        function = numpy_tier.einsum_function(terms.split(","), output, arrays)
        assert function is not None
        found = function.compute(*arrays)
        np.testing.assert_array_equal(found, np.einsum(text, *arrays))
        assert np.asarray(found).flags.c_contiguous


@pytest.mark.parametrize(
    ("text", "shapes", "dtype", "name"),
    [
        ("ab->a", [(2000, 39)], "f4", "numpy.einsum"),  # ufuncs begin anew with each row
        ("ab->a", [(300, 64)], "c8", "numpy.einsum"),
        ("ab->a", [(300, 65)], "c8", "numpy.add.reduce"),  # which adds more exactly than one after the other
        ("ab->a", [(30, 1000)], "f4", "numpy.add.reduce"),
        ("ab->b", [(1000, 30)], "f4", "numpy.einsum"),  # both add one after the other
        ("abc->b", [(40, 20, 60)], "f4", "numpy.einsum"),
        ("abc->c", [(40, 60, 20)], "c8", "numpy.einsum"),
        ("a,b->ab", [(60,), (70,)], "f8", "numpy.multiply"),
        ("a,b->ab", [(60,), (70,)], "i8", "numpy.einsum"),
        ("a,b->ab", [(60,), (70,)], "c8", "numpy.multiply"),
        ("b,ab->ab", [(70,), (60, 70)], "f8", "numpy.multiply"),
        ("abc,bc->ac", [(30, 11, 20), (11, 20)], "c8", "numpy.einsum"),  # matrices that BLAS does not read
        ("acb,cb->ac", [(30, 20, 11), (20, 11)], "c8", "numpy.matmul"),
    ],
)
def test_who_computes(text: str, shapes: Any, dtype: str, name: str) -> None:
    arrays = [RNG.integers(0, 4, shape).astype(dtype) for shape in shapes]
    function = numpy_function(bound(text, *arrays))
    assert function is not None
    assert function.name.startswith(name)
    np.testing.assert_array_equal(function.compute(*arrays), np.einsum(text, *arrays))


def test_sums_of_long_rows_lose_no_more_than_numpys() -> None:
    a = np.full((150, 150), 0.1, np.float32)
    for text in ("ab->", "aa->", "ab->a"):
        function = numpy_function(bound(text, a))
        assert function is not None
        np.testing.assert_allclose(function.compute(a), np.einsum(text, a.astype(np.float64)), rtol=1e-5)


def test_nothing_for_other_computations() -> None:
    a = np.ones((3, 3))
    dims = {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}
    shortest = mdhnp.md_hom(np.add, dims, "A[i,k], B[k,j] -> C[i,j]")
    assert numpy_function(shortest.bind(a, a)) is None


def test_what_reads_nothing_is_no_product() -> None:
    zeros = replace(bound("ab->ab", np.ones((2, 3))), inputs=(), scalar=trace(lambda: np.float64(0), ()))
    np.testing.assert_array_equal(interpret(zeros), np.zeros((2, 3)))
    function = numpy_function(zeros)
    assert function is not None
    np.testing.assert_array_equal(function.compute(), np.zeros((2, 3)))


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
