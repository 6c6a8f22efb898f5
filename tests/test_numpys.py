"""NumPy's functions in place of kernels: whatever they are made of, they compute what `numpy.einsum` does."""

from __future__ import annotations

import string
import tracemalloc
from dataclasses import replace
from functools import reduce
from operator import mul
from typing import Any

import numpy as np
import pytest
from arrays import layouts

import mdhnp
from mdhnp.calls import numpy_tier
from mdhnp.calls.numpy_tier import numpy_function
from mdhnp.mdh import MdHom, interpret
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
            function = numpy_function(bound("ab,bc->ac", x, y))
            assert function is not None
            found, expected = function.compute(x, y), np.einsum("ij,jk->ik", x, y)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
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
        ("abbc,b->a", [(100, 12, 12, 10), (12,)], "f4", 'numpy.einsum("abbc,b->a")'),
        ("abc,bd->ad", [(100, 20, 20), (20, 30)], "f4", 'numpy.einsum("abc,bd->ad")'),  # sums leave less than products
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


def test_products_of_pairs_are_no_larger_than_operands_and_result() -> None:
    arrays = [RNG.random((20, 2000), dtype=np.float32) for _ in range(3)]
    function = numpy_function(bound("ax,bx,cx->abc", *arrays))
    assert function is not None
    tracemalloc.start()
    found = function.compute(*arrays)
    assert tracemalloc.get_traced_memory()[1] < 4 * arrays[0].nbytes  # that of a and b were 20 times as large
    tracemalloc.stop()
    np.testing.assert_allclose(found, np.einsum("ax,bx,cx->abc", *arrays), rtol=1e-4)


@pytest.mark.parametrize("text", ["ab,bc,cd->ad", "ab,cd->a", "abd,b->a"])
def test_whatever_makes_temporaries_says_so(text: str) -> None:
    terms = text.split("->", maxsplit=1)[0].split(",")
    function = numpy_function(bound(text, *[RNG.random([30] * len(term)) for term in terms]))
    assert function is not None
    assert function.temporaries


def test_no_order_of_many_operands_is_looked_for_before_they_are_described() -> None:
    for count, found in ((8, True), (9, False)):
        terms = [string.ascii_letters[n : n + 2] for n in range(count)]
        arrays = [np.ones((9, 9), np.float32)] * count
        output = terms[0][0] + terms[-1][1]
        assert (numpy_tier.einsum_function(terms, output, arrays) is not None) == found


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


def test_of_operand_and_result_what_is_smaller_is_brought_in_order():
    arrays = np.ones((280, 5, 11, 25), np.complex64), np.ones((11, 25), np.complex64)
    for terms, given in ((("cedb", "db"), arrays), (("db", "cedb"), arrays[::-1])):
        function = numpy_tier.einsum_function(terms, "ec", given)
        assert function is not None
        assert (function.name, function.work.copied) == ("numpy.dot", 5 * 280 * 8)
        np.testing.assert_array_equal(function.compute(*given), np.full((5, 280), 275, np.complex64))
