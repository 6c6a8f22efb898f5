"""einsum's indices: each is as good as a tensor of ones where labels agree, which NumPy's einsum multiplies with."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given as gives
from hypothesis import settings
from hypothesis import strategies as st

import mdhnp
from mdhnp import config
from mdhnp.runtime.devices import Device

#: With the label that only the result has, if there is one.
SUBSCRIPTS = [
    ("jk,j[i]->ik", ""), ("j[i],jk->ki", ""), ("kj,j[i]->ki", ""), ("ik,k[ij]->ij", ""), ("jk,j[i]->i", ""),
    ("jk,j[i]->k", ""), ("jk,j[i],ik->i", ""), ("jl,j[i],l[k]->ik", ""), ("jl,j[i],l[i]->i", ""), ("jj,j[i]->i", ""),
    ("jk,j[l],l[i]->ik", ""), ("jk,j[i],ik,i->i", ""), ("...j,j[i]->...i", ""), ("ik,s[i]->sk", "s"),
    ("ik,s[i]->ks", "s"),
    ("i,s[i]->s", "s"), ("ikl,s[il]->sk", "s"), ("i,jk,j[i],s[i]->sk", "s"), ("jk,j[i]->jk", ""),
    ("l,j[l],jk,s[l]->sk", "s"),
]  # fmt: skip


def one_hot(subscripts: str, operands: list[Any], sizes: dict[str, int]) -> Any:
    """What NumPy's einsum gives where each index is a tensor."""
    left, _, right = subscripts.partition("->")
    terms, arrays = [], []
    for term, a in zip(left.split(","), operands, strict=True):
        if m := re.fullmatch(r"(\w)\[(\w+)\]", term):
            term, n = m[2] + m[1], sizes[m[1]]
            a = (a % n)[..., None] == np.arange(n)
        terms.append(term)
        arrays.append(a)
    return np.einsum(f"{','.join(terms)}->{right}", *arrays)


def drawn(subscripts: str, sizes: dict[str, int], rng: np.random.Generator, dtype: str, index: str) -> list[Any]:
    operands = []
    for term in subscripts.partition("->")[0].split(","):
        if m := re.fullmatch(r"(\w)\[(\w+)\]", term):
            n = sizes[m[1]]
            operands.append(rng.integers(-n if index[0] == "i" else 0, n, [sizes[c] for c in m[2]]).astype(index))
        else:
            shape = [sizes[c] for c in term.replace("...", "AB")]
            operands.append(rng.integers(-3, 4, shape).astype(dtype))
    return operands


@pytest.mark.parametrize(("subscripts", "only"), SUBSCRIPTS)
@pytest.mark.parametrize("host", ["auto", "never"])
def test_indices_are_one_hot(subscripts: str, only: str, host: Any, device: Device) -> None:
    rng, sizes = np.random.default_rng(3), dict(zip("ijklsAB", (9, 7, 5, 4, 11, 2, 3), strict=True))
    operands = drawn(subscripts, sizes, rng, "f4", "i8")
    extents = {only: sizes[only]} if only else None
    want = one_hot(subscripts, operands, sizes)
    with config(host=host):
        for given in (operands, operands, [mdhnp.asarray(a) for a in operands]):
            found = mdhnp.einsum(subscripts, *given, extents=extents)
            np.testing.assert_array_equal(found.numpy() if isinstance(found, mdhnp.Array) else found, want)
            assert found.dtype == want.dtype
        fused = mdhnp.fuse(lambda *a: mdhnp.einsum(subscripts, *a, extents=extents) * 2)
        np.testing.assert_array_equal(fused(*operands), want * 2)


@settings(max_examples=60, deadline=None)
@gives(st.data())
def test_random_sizes_and_types(data: Any) -> None:
    subscripts, only = data.draw(st.sampled_from(SUBSCRIPTS))
    sizes = {c: data.draw(st.integers(1, 6), c) for c in "ijklsAB"}
    dtype = data.draw(st.sampled_from(["f4", "i4", "c16", "u1", "f2"]))
    index = data.draw(st.sampled_from(["i8", "i4", "u1"]))
    operands = drawn(subscripts, sizes, np.random.default_rng(0), dtype, index)
    options = {"order": data.draw(st.sampled_from("KCF"))} | ({"extents": {only: sizes[only]}} if only else {})
    want = one_hot(subscripts, operands, sizes)
    with config(host="never"):
        found = mdhnp.einsum(subscripts, *operands, **options)
    np.testing.assert_array_equal(found, want)
    assert found.dtype == want.dtype
    assert found.flags.f_contiguous or options["order"] != "F"


def test_options(device: Device) -> None:
    rng = np.random.default_rng(0)
    table, at, x = rng.random((7, 5)), rng.integers(0, 7, 9), rng.random((9, 5))
    out = np.empty((5, 9))
    assert mdhnp.einsum("j[i],jk->ki", at, table, out=out) is out
    np.testing.assert_array_equal(out, table[at].T)
    small = mdhnp.einsum("jk,j[i]->ik", table.astype("f4"), at, dtype="f8", optimize=False)
    assert small.dtype == np.float64
    most = mdhnp.einsum("ik,s[i]->sk", x, at, extents={"s": 8}, add="max")
    np.testing.assert_array_equal(most, [x[at == s].max(0, initial=-np.inf) for s in range(8)])
    least = mdhnp.einsum("ik,jk,j[i]->i", x, table, at, semiring=mdhnp.semiring.min_plus)
    np.testing.assert_allclose(least, (x + table[at]).min(1))


@pytest.mark.parametrize(
    ("subscripts", "error", "said"),
    [
        ("jk,j[i]", ValueError, "has indices, and needs the output's labels after '->'"),
        ("jk,l[i]->ik", ValueError, "'l' in 'jk,l.*labels no axis that could be indexed"),
        ("jk,j[i],j[m]->imk", ValueError, "operands|indexed by several operands"),
        ("ik,s[i]->sk", ValueError, "extents: that of 's' is not known; pass extents={'s': 10}"),
        ("jk,j[i->ik", ValueError, r"'j\[i' in 'jk,j\[i->ik' is no term of indices"),
        ("jk,[i]->ik", ValueError, r"'\[i\]' in 'jk,\[i\]->ik' is no term of indices"),
        ("jk,j[i]->ikz", ValueError, r"'z' in the output of 'jk,j\[i\]->ikz' is in no operand"),
        ("jk,j->jk,k[i]", ValueError, "',' in the output"),
        ("jk,jk,j[i]->ik", ValueError, r"'jk,jk,j\[i\]->ik' has 3 terms for 2 operands"),
        ("jk,j[]->k", ValueError, "labels of all axes of indices stand in brackets"),
        ("jk,j[...]->k", ValueError, "labels of all axes of indices stand in brackets"),
        ("jk,j[j]->k", ValueError, "indices of each other"),
        ("jk,j[i]->ij", ValueError, r"'j' of the output is indexed by j\[i\], of which 'i' is in the output, too"),
        ("jk,j[i],s[j]->sk", ValueError, r"'s' of the output is indexed by s\[j\], of which 'j' is indexed itself"),
        ("ik,s[i],t[i]->stk", ValueError, "labels s, t of the output are indexed, not just one"),
        ("jk,j[ik]->ik", ValueError, "operand 1 has 1 axes"),
        ("jk,j[i]->ikk", ValueError, "several times"),
    ],
)
def test_what_is_refused(subscripts: str, error: type[Exception], said: str) -> None:
    table, at = np.ones((7, 5)), np.zeros(9, int)
    with pytest.raises(error, match=said):
        mdhnp.einsum(subscripts, table, at, *[at] * (subscripts.count("[") - 1))


def test_values_that_are_refused(device: Device) -> None:
    table, at = np.ones((7, 5)), np.zeros(9, int)
    at[4] = 7
    with pytest.raises(
        IndexError, match=r"einsum: operand 1: index 7 at position \(4,\) .* axis 0 of operand 0, which has 7"
    ):
        mdhnp.einsum("jk,j[i]->ik", table, at)
    with pytest.raises(
        IndexError, match=r"einsum: operand 0: index 7 at position \(4,\) .* axis 1 of result, which has 7"
    ):
        mdhnp.einsum("s[i],ik->ks", at, np.ones((9, 2)), extents={"s": 7})
    with pytest.raises(TypeError, match="operand 1: indices must be integers, not float64"):
        mdhnp.einsum("jk,j[i]->ik", table, at * 1.0)
    with pytest.raises(TypeError, match=r"has indices, which numpy\.einsum does not take"):
        mdhnp.einsum("jk,j[i]->ik", table.astype(np.longdouble), at)
    with pytest.raises(TypeError, match="argmax numbers all elements"):
        mdhnp.einsum("jk,j[i]->ik", table, at, add="argmax")
    for subscripts in ("ij,jk->ik", "jk,j[i]->ik"):
        with pytest.raises(ValueError, match="extents: 'i' labels an axis of an operand"):
            mdhnp.einsum(subscripts, table, at if "[" in subscripts else table.T, extents={"i": 9})
    for extents in (12, 0):
        with pytest.raises(TypeError, match=rf"einsum: extents: {extents} is no mapping of names to whole numbers"):
            mdhnp.einsum("ik,s[i]->sk", table, at, extents=extents)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"extents: s=1\.5 is no whole number"):
        mdhnp.einsum("ik,s[i]->sk", np.ones((9, 2)), at, extents={"s": 1.5})
