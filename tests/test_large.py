"""Arrays of 2^31 elements and more, of which only a few are touched, and arrays larger than a device's largest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from guards import assert_same_bits
from hypothesis import assume, given
from hypothesis import strategies as st
from random_functions import Drawn
from running import expected
from strategies import Case, case

import mdhnp
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import Kernels
from mdhnp.calls.store import forget
from mdhnp.mdh import MdHom, Part, bounded, cc, index, interpret, md_hom, ps, pw
from mdhnp.runtime.devices import Device
from mdhnp.schedule.general import form

#: Bytes of address space; those never written take no memory.
WIDE = 2**31 + 2**23


@pytest.fixture(scope="module")
def few() -> np.ndarray:
    """Three rows that lie 2^30 elements and more apart, of elements 2^25 apart."""
    whole = np.zeros((3, WIDE // 2), np.int8)
    part = whole[:, :: 2**25]
    part[...] = np.random.default_rng(0).integers(-3, 4, part.shape)
    return part


@pytest.mark.parametrize("subscripts", ["ij->j", "ij->i", "ij->ji", "ij,kj->ik"])
@pytest.mark.parametrize("backwards", [False, True])
def test_offsets_beyond_32_bits(device: Device, few: np.ndarray, subscripts: str, backwards: bool) -> None:
    if device.kind == "gpu":
        pytest.skip("gaps between elements are copied to GPUs, too")
    x = few[::-1] if backwards else few
    operands = [x] * (1 + subscripts.count(","))
    with observe() as seen:
        got = mdhnp.einsum(subscripts, *operands)
    np.testing.assert_array_equal(got, np.einsum(subscripts, *operands))
    ((plan, _),) = seen
    assert isinstance(plan, Kernels)
    assert plan.mdhom.wide
    assert "const long " in plan.program.source
    assert form(plan.mdhom) is None


@pytest.fixture
def small(device: Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """The device, as if its largest buffer had 4000 bytes."""
    monkeypatch.setattr(device, "caps", replace(device.caps, max_allocation=4000))
    monkeypatch.setattr(device, "svm", False)
    forget()
    yield device
    forget()


def _whole(shape: tuple[int, ...], dtype: str = "f4") -> np.ndarray:
    return np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)


X, Y, Z = _whole((90, 11)), _whole((11, 50)), _whole((200, 11))
PATTERN, ROWS = {"i": cc, "j": cc}, {"i": cc, "k": pw("add")}
CUT: dict[str, tuple[Callable[[], Any], Callable[[], Any], int]] = {
    "outer product": (lambda: mdhnp.einsum("i,j->ij", X[:, 0], Y[0]), lambda: np.outer(X[:, 0], Y[0]), 8),
    "product": (lambda: mdhnp.matmul(X, Y), lambda: X @ Y, 8),
    "strided": (lambda: mdhnp.einsum("ij,j->ij", Z[::-1, ::2], Y[:6, 0]), lambda: Z[::-1, ::2] * Y[:6, 0], 4),
    "stack": (
        lambda: mdhnp.matmul(X.reshape(2, 45, 11), Y[None]), lambda: X.reshape(2, 45, 11) @ Y[None], 8,
    ),
    "too large by itself": (lambda: mdhnp.einsum("ij,k->i", Z, _whole((1100,))), lambda: Z.sum(1), 0),
    "complex": (lambda: mdhnp.matmul(X * 1j, Y), lambda: (X * 1j) @ Y, 15),
    "reflected": (
        lambda: mdhnp.md_hom(lambda a, b: a - b, PATTERN, "x[i-1], y[i,j] -> z[i,j]", boundary={"x": "reflect"})(
            X[:, 0], X @ Y
        ),
        lambda: X[[0, *range(89)], 0][:, None] - X @ Y, 8,
    ),
    "smoothed": (
        lambda: mdhnp.md_hom(lambda a, b: a + b, PATTERN, "x[i-1,j], x[i+1,j] -> z[i,j]", boundary={"x": "nearest"})(
            X @ Y
        ),
        lambda: (X @ Y)[[0, *range(89)]] + (X @ Y)[[*range(1, 90), 89]], 8,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CUT)
def test_calls_are_cut_where_arrays_are_too_large(small: Device, case: str) -> None:
    ours, numpys, parts = CUT[case]
    want = numpys()
    if not parts:
        with pytest.raises(MemoryError, match="larger than"):
            ours()
        return
    for _ in range(2):
        with observe() as seen:
            got = ours()
        seen = [each for each in seen if isinstance(each[0], Kernels)]
        np.testing.assert_array_equal(got, want)
        assert len(seen) == parts
        assert len({id(plan) for plan, _ in seen}) <= 2 + (case in ("reflected", "smoothed"))  # what has a border


def test_parts_are_what_the_definition_gives() -> None:
    x = _whole((30, 20), "i8")
    rows = md_hom(lambda a, b: a * b, ROWS, "x[29-i,k], y[i,19-k] -> z[i]").bind(x, x)
    parts = bounded(rows, 2000)
    assert len(parts) == 4
    found = [interpret(p.mdhom, *(a[s] for a, s in zip((x, x), p.inputs, strict=True))) for p in parts]
    np.testing.assert_array_equal(np.concatenate(found), interpret(rows, x, x))


@st.composite
def parts(draw: Any) -> tuple[Case, int, tuple[Part, ...]]:
    """Parts of a random MDH, and how many bytes they may have of each array."""
    one, largest = case(Drawn(draw), 400, in_ring=draw(st.booleans())), draw(st.integers(30, 400))
    return one, largest, bounded(one.mdhom, largest)


@given(parts())
def test_random_parts_are_small_and_what_the_definition_gives(drawn: tuple[Case, int, tuple[Part, ...]]) -> None:
    one, largest, found = drawn
    assume(found)
    results = [np.empty(v.shape, v.dtype) for v in one.mdhom.outputs]
    for p in found:
        assert all(v.elements() * v.dtype.itemsize <= largest for v in (*p.mdhom.inputs, *p.mdhom.outputs))
        sliced = [a[(*where, ...)] for a, where in zip(one.arrays, p.inputs, strict=True)]
        for result, where, value in zip(results, p.outputs, expected(p.mdhom, sliced), strict=True):
            result[where] = value
    for got, want in zip(results, expected(one.mdhom, one.arrays), strict=True):
        assert_same_bits(got, want)


UNCUT: dict[str, MdHom] = {
    "a reduction": md_hom(lambda a: a, {"i": pw("add")}, "x[i] -> y[]").bind(_whole((900,))),
    "a scan": md_hom(lambda a: a, {"i": ps("add")}, "x[i] -> y[i]").bind(_whole((900,))),
    "an index": md_hom(lambda a: a + index(0), {"i": cc}, "x[i] -> y[i]").bind(_whole((900,))),
    "a ring": md_hom(lambda a: a, {"i": cc}, "x[i-1] -> y[i]", boundary={"x": "wrap"}).bind(_whole((900,))),
    "one array whole": md_hom(lambda a, b: a + b, ROWS, "x[k], y[i,k] -> z[i]").bind(*map(_whole, ((900,), (2, 900)))),
}


@pytest.mark.parametrize("case", UNCUT)
def test_what_cannot_be_cut_is_not(case: str) -> None:
    assert bounded(UNCUT[case], 2000) == ()
