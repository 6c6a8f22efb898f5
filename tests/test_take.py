"""`take`, and indices that are looked at where they are: as NumPy's, values and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from separate import separate

import mdhnp
from mdhnp import config
from mdhnp.runtime.devices import Device
from mdhnp.runtime.transfers import watched

Array = Any
_RNG = np.random.default_rng(5)


def _whole(*shape: int) -> Array:
    return _RNG.integers(-9, 9, shape).astype("f4")


@pytest.mark.parametrize("host", ["auto", "never"])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize(
    "indices", [3, [1, 0, -2], np.array([[2], [-1]], np.int8), np.zeros((0, 2), int), [True]], ids=str
)
def test_take_is_numpys(indices: Any, axis: Any, mode: Any, host: Any, device: Device) -> None:
    x = _whole(4, 5)[:, ::-1]
    want = np.take(x, indices, axis, mode=mode)
    with config(host=host):
        got = mdhnp.take(x, indices, axis, mode=mode)
        assert (type(got), got.dtype) == (type(want), want.dtype)
        np.testing.assert_array_equal(got, want, strict=True)
        out = np.empty_like(want)
        if want.ndim:
            assert mdhnp.take(x, indices, axis, out=out, mode=mode) is out
            np.testing.assert_array_equal(out, want)
        given = indices if isinstance(indices, int) else mdhnp.asarray(np.asarray(indices, np.int64))
        np.testing.assert_array_equal(mdhnp.asarray(x).take(given, axis, mode=mode).numpy(), want)


@pytest.mark.parametrize(
    ("indices", "options", "error"),
    [
        ([4], {"axis": 0}, IndexError),
        ([-5], {"axis": 0}, IndexError),
        ([0], {"axis": 2}, np.exceptions.AxisError),
        ([0], {"mode": "nearest"}, ValueError),
    ],
)
def test_take_refuses_what_numpys_does(indices: Any, options: Any, error: type[Exception]) -> None:
    for take in (np.take, mdhnp.take):
        with pytest.raises(error):
            take(_whole(4, 5), indices, **options)


def test_take_refuses_indices_that_are_no_whole_numbers() -> None:
    with pytest.raises(TypeError, match="take: indices must be whole numbers, not float64"):
        mdhnp.take(_whole(4, 5), [0.5])  # which some of NumPy's releases cut off


@pytest.mark.parametrize("host", ["auto", "never"])
def test_one_element_says_where(host: Any) -> None:
    """Of arrays of one element, whose index no dimension moves, also where NumPy may compute."""
    table, at = np.arange(12.0).reshape(4, 3), np.array([2])
    with mdhnp.config(host=host):
        found = mdhnp.fuse(lambda t, o, x: x - t[o[0]])(table, np.array([2, 1]), np.zeros((2, 3)))
        np.testing.assert_array_equal(found, -table[[2, 2]])
        np.testing.assert_array_equal(mdhnp.fuse(lambda t, o: (t[o] * 2).sum(1))(table, at), [42.0])
        found = mdhnp.einsum("jk,j[i],i->ik", table, at, np.ones(5))
        np.testing.assert_array_equal(found, table[[2] * 5])
        gather = mdhnp.md_hom(lambda x: x, {"k": mdhnp.cc}, "T[p[0],k] -> y[k]")
        np.testing.assert_array_equal(gather(table, at), table[2])


@pytest.mark.parametrize("dtype", np.typecodes["AllInteger"])
def test_arrays_of_indices_are_looked_at_where_they_are_and_again_once_they_change(dtype: str, where: Device) -> None:
    x, signed = _whole(100, 3), np.dtype(dtype).kind == "i"
    indices = _RNG.integers(-100 if signed else 0, 100, (7, 311)).astype(dtype)
    indices[0, :2] = -100 if signed else 0, 99
    a, at = mdhnp.asarray(x), mdhnp.asarray(indices)
    for part in (np.s_[:], np.s_[1:, 5:], np.s_[3], np.s_[::-1], np.s_[:0], np.s_[2, 1]):
        expected = x[indices[part]]
        np.testing.assert_array_equal(mdhnp.take(a, at[part], 0).numpy(), expected)  # the first call
        with watched() as copies:
            found = mdhnp.take(a, at[part], 0)
        assert not copies or not expected.size or not indices[part].flags.c_contiguous
        np.testing.assert_array_equal(found.numpy(), expected)
    for wrong in (100, *([-101] if signed else [])):
        at[6, 310] = wrong
        for _ in range(2):
            with pytest.raises(IndexError, match=rf"index {wrong} at position \(6, 310\) is out of bounds for axis 0"):
                mdhnp.take(a, at, 0)
        np.testing.assert_array_equal(mdhnp.take(a, at[:6], 0).numpy(), x[indices[:6]])
    at[6, 310] = 7
    assert mdhnp.take(a, at, 0)[6, 310, 0] == x[7, 0]
    with pytest.raises(IndexError, match="which has 99 elements"):
        mdhnp.take(a[:99], at, 0)


def test_indices_that_others_may_change_are_looked_at_in_each_call(device: Device) -> None:
    there = separate(device)
    a, at = mdhnp.asarray(_whole(9), device=there), mdhnp.asarray(np.array([3, 8, 0]), device=there)
    mdhnp.take(a, at, 0)
    cl.enqueue_fill_buffer(at.queue, at.buffer, np.int64(9), at.offset + 8, 8)
    with pytest.raises(IndexError, match=r"index 9 at position \(1,\)"):
        mdhnp.take(a, at, 0)
    cl.enqueue_fill_buffer(at.queue, at.buffer, np.int64(2), at.offset + 8, 8)
    np.testing.assert_array_equal(mdhnp.take(a, at, 0).numpy(), a.numpy()[[3, 2, 0]])
