"""NumPy's functions in place of kernels: whatever they are made of, they compute what `numpy.einsum` does."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
import pytest

import mdhnp
from mdhnp.mdh import MdHom
from mdhnp.placement.numpys import numpy_function

RNG = np.random.default_rng(0)

#: Products of matrices in every arrangement, products without sums, sums, transposes; extents of the labels.
EXTENTS = {"a": 3, "b": 4, "c": 20, "d": 5, "e": 2, "u": 1, "v": 1}
TEXTS = [
    "ab,bc->ac", "ab,bc->ca", "ba,cb->ac", "ab,b->a", "b,ba->a", "ab,ab->", "a,a->", "a,b->ab", "a,b->ba",
    "abc,cbd->ad", "abc,bcd->da", "acb,dcb->da", "abcd,cdbe->ae", "abcd,ce->abde", "abcd,ce->adeb", "ab,cd->acbd",
    "eab,ebc->eac", "aeb,bec->aec", "abe,bce->ace", "abe,bce->cae", "eab,ebc->ace", "deab,debc->deac",
    "edab,debc->deac", "edab,debc->edca", "deab,debc->dace", "eab,eb->ea", "eab,eb->ae", "ea,ea->e", "ab,ba->",
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
        scalar = (lambda x: x) if len(terms) == 1 else np.logical_and if arrays[0].dtype == np.bool_ else np.multiply
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


def test_nothing_for_other_computations() -> None:
    a = np.ones((3, 3))
    dims = {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}
    shortest = mdhnp.md_hom(np.add, dims, "A[i,k], B[k,j] -> C[i,j]")
    assert numpy_function(shortest.bind(a, a)) is None
