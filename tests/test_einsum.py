import sys
from decimal import Decimal
from math import prod
from string import ascii_letters, ascii_lowercase, ascii_uppercase

import numpy as np
import opt_einsum
import pytest
from cases import DTYPES, EINSUM, LAYOUTS, MIXED, assert_same, magnitude, operands, subscripts

from mdhnp.calls.operands import fallback_counts
from mdhnp.explanation import explain
from mdhnp.frontend.contraction import contraction, parse
from mdhnp.frontend.einsum import einsum
from mdhnp.frontend.pairwise import contractions
from mdhnp.settings import config

#: A reduction, a copy and a contraction: what types and layouts are tried on, one by one.
SHORT = ["i->", "ij->ji", "ij,jk->ik"]
SHORT_CASES = [next(c for c in EINSUM if c[0] == subscripts) for subscripts in SHORT]
A, B, C, V = np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 2)), np.ones(3)


def name(case):
    return f"{case[0]} {' '.join('x'.join(map(str, s)) or '()' for s in case[1])}"


def check(subscripts, arrays, *args, **kwargs):
    expected = np.einsum(subscripts, *arrays, order="C")
    terms = prod({label: n for a, t in zip(arrays, _terms(subscripts, arrays), strict=True)
                  for label, n in zip(t, a.shape, strict=True)}.values())  # fmt: skip
    result = einsum(*(args or (subscripts, *arrays)), **kwargs)
    assert_same(result, expected, np.einsum(subscripts, *map(magnitude, arrays)), terms)
    numpys = np.einsum(subscripts, *arrays)
    if all(a.flags.c_contiguous for a in arrays):
        assert result.flags.c_contiguous
    elif not any(np.shares_memory(numpys, a) for a in arrays):
        assert steps(result) == steps(numpys)
    assert not isinstance(result, np.ndarray) or not any(np.shares_memory(result, a) for a in arrays)


def steps(a):
    return [abs(step) for step, extent in zip(a.strides, a.shape, strict=True) if extent > 1]


def _terms(subscripts, arrays):
    return parse(subscripts, tuple(a.ndim for a in arrays))[0]


@pytest.mark.parametrize("case", EINSUM, ids=name)
def test_value(device, case):
    check(case[0], operands(case[1], [np.float32]))


@pytest.mark.parametrize("number", range(1, len(EINSUM), 3), ids=lambda n: name(EINSUM[n]))
def test_layouts_mixed(device, number):
    check(EINSUM[number][0], operands(EINSUM[number][1], [np.float64], number, 3))


@pytest.mark.parametrize("layout", range(1, len(LAYOUTS)), ids=list(LAYOUTS)[1:])
@pytest.mark.parametrize("case", SHORT_CASES, ids=name)
def test_layout(device, case, layout):
    dtype = ("f4", "c8", "f2")[(layout + SHORT_CASES.index(case)) % 3]
    check(case[0], operands(case[1], [dtype], layout))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", SHORT_CASES, ids=name)
def test_dtype(device, case, dtype):
    check(case[0], operands(case[1], [dtype]))


@pytest.mark.parametrize("dtypes", MIXED)
@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "i,i,i->i"])
def test_mixed_dtypes(device, subscripts, dtypes):
    shapes = {"ij,jk->ik": ((5, 7), (7, 3))}.get(subscripts, ((17,),) * 3)
    check(subscripts, operands(shapes, dtypes.split()))


@pytest.mark.parametrize("case", EINSUM[::6], ids=name)
def test_sublists(device, case):
    arrays = operands(case[1], [np.float32])
    left, arrow, right = "".join(case[0].split()).partition("->")
    lists = [[Ellipsis if c == "." else (ascii_uppercase + ascii_lowercase).index(c) for c in t.replace("...", ".")]
             for t in (*left.split(","), right)]  # fmt: skip
    pairs = [x for pair in zip(arrays, lists, strict=False) for x in pair]
    check(case[0], arrays, *pairs, *([lists[-1]] if arrow else []))


@pytest.mark.parametrize("case", [c for c in EINSUM if len(c[1]) > 2][2::3], ids=name)
@pytest.mark.parametrize("optimize", [True, False, None, "greedy", "optimal", ("greedy", 100), "chain"])
def test_optimize(device, case, optimize):
    if optimize == "chain":
        optimize = ["einsum_path", *[(0, 1)] * (len(case[1]) - 1)]
    check(case[0], operands(case[1], [np.float32]), optimize=optimize)


@pytest.mark.parametrize("optimize", ["auto", "dp"])
def test_a_path_among_axes_without_elements(optimize):
    check(",ij,jkl,m", operands(((), (8, 8), (8, 3, 4), (0,)), [np.float32]), optimize=optimize)


@pytest.mark.parametrize(
    ("subscripts", "shapes", "launches"),
    [
        ("ab,ba,ba->ba", ((50, 30), (30, 50), (30, 50)), 1),
        ("ab,ab,ab,ab->a", ((50, 30),) * 4, 1),
        ("a,b,ab->ab", ((50,), (30,), (50, 30)), 1),
        ("ab,ab,bc->ac", ((50, 30), (50, 30), (30, 40)), 2),  # else each product would be made 40 times
        ("ab,bc,ac->ac", ((50, 30), (30, 40), (50, 40)), 2),  # else so would sums of products
        ("ab,ab,bc,bc,bc->ac", ((50, 30), (50, 30), (30, 40), (30, 40), (30, 40)), 3),
        (",".join(["a"] * 11), ((300,),) * 11, 2),  # no more than 8 operands in a kernel
    ],
)
def test_what_is_read_once_is_no_temporary(device, subscripts, shapes, launches):
    arrays = operands(shapes, [np.int32, np.float32, np.float16])
    check(subscripts, arrays)
    assert len(explain(einsum, subscripts, *arrays).launches) == launches
    path = np.einsum_path(subscripts, *arrays)[0]  # which is taken as it is
    assert len(explain(einsum, subscripts, *arrays, optimize=path).launches) == len(path) - 1


def test_broadcast_of_many_operands_is_found_late(device):
    check("i,ij,j,k->k", operands(((1,), (3, 1), (4,), (2,)), [np.float64]))


def test_the_order_of_three_operands_takes_no_more_operations_than_the_best_of_opt_einsums():
    """But for a twentieth more that spares a product of two operands without a label in common."""
    rng, tried = np.random.default_rng(0), 0
    while tried < 100:
        text, shapes = subscripts(rng, 50)
        read, output = parse(text, tuple(map(len, shapes)))
        if len(read) != 3 or any(text.count(label) == 1 for label in {*text} - {*",->"}):
            continue  # labels that one operand has alone are summed before, at no cost
        tried += 1
        steps = contractions(read, output, tuple(shapes), True)
        path = [steps[0][0], (0, 1)] if len(steps) == 2 else [(0, 1, 2)]
        found = {
            how: opt_einsum.contract_path(text, *shapes, shapes=True, optimize=how)[1].opt_cost
            for how in ("optimal", "dp")
        }
        ours = opt_einsum.contract_path(text, *shapes, shapes=True, optimize=path)[1].opt_cost
        apart = len(steps) == 1 or {*steps[0][1][0]}.isdisjoint(steps[0][1][1])
        assert ours <= min(found.values()) * Decimal(1 if apart else 1.05) or len(steps) == 1, text
    assert contractions(("e", "bcde", "c"), "cbd", ((34,), (6, 91, 47, 34), (91,)), True)[0][1] == ("e", "bcde")
    assert contractions(("ij", "jk", ""), "ik", ((1000, 10), (10, 1000), ()), True)[0][1] == ("ij", "")


@pytest.mark.parametrize("given", [[[1, 2], [3, 4]], 3, 2.5, True, np.float32(2), np.ma.ones((2, 2)), range(4)])
def test_array_likes(device, given):
    assert_same(einsum("...,...->...", given, np.float32(2)), np.einsum("...,...->...", given, np.float32(2)), 9)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"dtype": np.float64},
        {"dtype": "f4", "casting": "same_kind"},
        {"dtype": "i4", "casting": "unsafe"},
        {"dtype": "?", "casting": "unsafe"},
        {"out": np.zeros((2, 4))},
        {"out": np.zeros((2, 4), np.float32)},
        {"out": np.zeros((2, 4), np.float32, order="F")},
        {"out": np.zeros((2, 4), np.int32), "casting": "unsafe"},
        {"out": np.zeros((4, 4))[::2]},
        {"out": np.zeros((2, 4)), "dtype": "f8", "order": "F"},
        {"out": np.zeros((2, 4), np.complex64)},
        {"order": "C"},
        {"order": "F"},
        {"order": "A"},
        {"casting": "no"},
    ],
    ids=str,
)
def test_keywords(device, kwargs):
    arrays = operands((A.shape, B.shape), [np.float32])
    expected = np.einsum("ij,jk", *arrays, **kwargs).copy(order="K")
    if "out" in kwargs:
        kwargs["out"][...] = 0
    result = einsum("ij,jk", *arrays, **kwargs)
    assert "out" not in kwargs or result is kwargs["out"]
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    assert result.dtype == expected.dtype
    assert result.flags.f_contiguous == (
        expected.flags.f_contiguous if "order" in kwargs else result.flags.f_contiguous
    )


def test_out_overlaps_operand(device):
    a = np.arange(9.0).reshape(3, 3)
    expected = a @ a
    einsum("ij,jk", a, a, out=a)
    np.testing.assert_array_equal(a, expected)


def test_many_axes(device):
    a = np.arange(2.0**12).reshape((2,) * 12)
    check(f"{ascii_letters[:12]}->{ascii_letters[:12][::-1]}", [a])


@pytest.mark.parametrize(("subscripts", "arrays", "words"), [("ij,jk", (A, C), ("operand 1", "'j'", "4", "3")),
                                                             ("ii", (A,), ("operand 0", "'i'"))])  # fmt: skip
def test_message_names_operand_and_label(subscripts, arrays, words):
    with pytest.raises(ValueError) as error:
        einsum(subscripts, *arrays)
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize("dtype", ["g", "G", "O", "m8[s]"])
def test_fallback(dtype):
    a = np.arange(9).reshape(3, 3).astype(dtype)
    before = fallback_counts().get("einsum", 0)
    result = einsum("ii->i", a)
    assert_same(result, np.einsum("ii->i", a).copy(), 9)
    assert result.base is None
    assert fallback_counts()["einsum"] == before + 1
    with config(fallback="error"), pytest.raises(TypeError, match=r"operand 1 has dtype"):
        einsum("i,ij", V, a)


def test_fallback_of_requested_dtype():
    assert einsum("i,i->i", V, V, dtype="G").dtype == "G"
    assert einsum("i,i,i->i", V, V, V.astype("g"), optimize="greedy").dtype == "g"


@pytest.mark.parametrize(
    ("subscripts", "shapes", "text"),
    [
        ("ij,jk->ik", ((2, 3), (3, 4)), "md_hom(*, (++, ++, +)) ∘ (A[i,j], B[j,k]) -> C[i,k]"),
        ("i,j->ji", ((2,), (3,)), "md_hom(*, (++, ++)) ∘ (A[i], B[j]) -> C[j,i]"),
        ("ii", ((2, 2),), "md_hom(id, (+,)) ∘ (A[i,i]) -> B[]"),
        ("...i,i", ((4, 3), (1,)), "md_hom(*, (++, +)) ∘ (A[α,i], B[0]) -> C[α]"),
    ],
)
def test_notation(subscripts, shapes, text):
    arrays = [np.ones(s) for s in shapes]
    assert str(contraction(*parse(subscripts, tuple(len(s) for s in shapes)), arrays)) == text


def test_operands_reach_the_kernel_as_they_are(monkeypatch):
    seen = []

    monkeypatch.setattr(sys.modules["mdhnp.frontend.einsum"], "call", lambda *call, **_: seen.append(call))
    a = np.ones((3, 2))
    einsum("ij,kj", a, a)
    ((what, operands),) = seen
    assert what[1:] == ("ij,kj", "auto")
    assert [x is a for x in operands] == [True, True]
