"""`bincount`, and ufuncs' method `at`: as NumPy's, of ndarrays and Arrays, values and errors."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given as gives
from hypothesis import settings
from hypothesis import strategies as st
from separate import separate

import mdhnp
from mdhnp import config
from mdhnp.runtime.devices import Device
from mdhnp.runtime.transfers import watched

_RNG = np.random.default_rng(11)
_NAMES = ("add", "subtract", "multiply", "maximum", "minimum")


def _whole(*shape: int, dtype: str = "f4") -> Any:
    return _RNG.integers(-3, 4, shape).astype(dtype)


def _at(count: int, *shape: int, dtype: str = "i8") -> Any:
    return _RNG.integers(0 if dtype[0] == "u" else -count, count, shape).astype(dtype)


#: An array, indices, second operands.
CHANGES = {
    "elements": (_whole(13), _at(13, 40), _whole(40)),
    "rows": (_whole(13, 7), _at(13, 40), _whole(40, 7)),
    "rows by one row": (_whole(13, 7), _at(13, 40), _whole(7)),
    "rows by columns": (_whole(13, 7), _at(13, 40), _whole(40, 1)),
    "by a number": (_whole(13, 7), _at(13, 40), 2),
    "planes, indices of two axes": (_whole(5, 3, 4, dtype="f8"), _at(5, 4, 9), _whole(4, 9, 3, 4)),
    "one index": (_whole(13, 7), 5, _whole(7)),
    "a tuple of one": (_whole(13, 7), ([0, 0, -1],), _whole(3, 7)),
    "no indices": (_whole(13, 7), [], 5),
    "lists": (_whole(13, 7), [0, 0, -1], [[1.0], [2.0], [3.0]]),
    "integers": (_whole(13, 7, dtype="i2"), _at(13, 40, dtype="u1"), _whole(40, 7, dtype="i8")),
    "integers by floats": (_whole(13, 7, dtype="i4"), _at(13, 40), _whole(40, 7)),
    "half precision": (_whole(13, 7, dtype="f2"), _at(13, 9), _whole(9, 7, dtype="f2")),
    "complex": (_whole(13, 7, dtype="c8"), _at(13, 9), _whole(9, 7, dtype="c8")),
    "strided": (_whole(26, 14)[::-2, ::2], _at(13, 40)[::2], _whole(20, 14)[:, ::2]),
    "few of many rows": (_whole(130, 7), _at(130, 4), _whole(4, 7)),
    "nothing": (_whole(13, 7), _at(13, 0), _whole(0, 7)),
    "of nothing": (_whole(0, 7), _at(1, 0), _whole(7)),
    "planes, indices of one row": (_whole(5, 3, 4), _at(5, 1, 90), _whole(90, 3, 4)),
    "elements, indices of two axes by a row": (_whole(4), _at(4, 50, 2), _whole(2)),
    "an index outside of an array without elements": (_whole(4, 0), np.array([7]), _whole(1, 0)),
    "an index of an array without elements": (_whole(4, 0), np.array([-4]), _whole(1, 0)),
    "an index outside": (_whole(13, 7), np.array([0, 13]), _whole(7)),
    "another one": (_whole(13, 7), np.array([-14, 0]), _whole(7)),
    "an index into nothing": (_whole(0, 7), np.array([0]), _whole(7)),
    "other shapes": (_whole(13, 7), _at(13, 5), _whole(4, 7)),
    "indices of floats": (_whole(13, 7), np.ones(3), 1),
    "no axes": (_whole(), np.array([0]), 1),
    "a number that wraps": (np.zeros((13, 7), "i1"), [0, 0], 200),
    "a number of another sign": (np.ones((13, 7), "u1"), [0, 2], -3),
}
#: What indexes ndarrays only.
NUMPYS = {
    "booleans": (_whole(13, 7), _whole(13) > 0, 2),
    "slices": (_whole(13, 7), np.s_[2:5], _whole(7)),
    "both axes": (_whole(13, 7), (_at(13, 40), _at(7, 40)), _whole(40)),
    "both axes by a number": (_whole(13, 7), (_at(7, 40), _at(7, 40)), 2),
    "a slice and indices": (_whole(13, 7), (slice(None), [0, 2, 0]), 2),
    "an ellipsis and indices": (_whole(13, 7), (..., [0, 2, 0]), _whole(13, 3)),
    "objects": (np.array([1, 2], object), 0, [5]),
    "a grid": (_whole(13, 7), np.ix_([0, 2, 0], [1, 1]), 2),
    "long doubles": (np.ones((5, 3), np.longdouble), [0, 0], 1),
}


def _changed(function: Any, a: Any, indices: Any, b: Any) -> Any:
    """The array as it is then, or the error."""
    try:
        assert function(a, indices, b) is None
    except (IndexError, TypeError, ValueError) as error:
        return error
    return a


def _numpys(name: str, array: Any, indices: Any, b: Any) -> Any:
    """What NumPy makes of a copy; of elements it reads outside of a `b` that indices of several axes repeat."""
    if array.ndim == 1 and np.ndim(indices) > 1:
        b = np.broadcast_to(b, np.shape(indices))
    return _changed(getattr(np, name).at, array.copy(), indices, b)


def _assert_same(got: Any, want: Any) -> None:
    if isinstance(want, Exception):
        assert isinstance(want, type(got)) or isinstance(got, type(want)), got
    else:
        assert not isinstance(got, Exception), got
        np.testing.assert_allclose(got, want, 1e-6)
        assert got.dtype == want.dtype


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("case", CHANGES | NUMPYS)
@pytest.mark.parametrize("host", ["auto", "never"])
def test_changes_are_numpys(name: str, case: str, host: Any, device: Device) -> None:
    array, indices, b = (CHANGES | NUMPYS)[case]
    want = _numpys(name, array, indices, b)
    with config(host=host):
        _assert_same(_changed(getattr(mdhnp, name).at, array.copy(), indices, b), want)


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("case", CHANGES)
def test_changes_of_arrays_are_numpys(name: str, case: str, device: Device) -> None:
    array, indices, b = CHANGES[case]
    want = _numpys(name, array, indices, b)
    wide = case in ("integers", "a number that wraps", "a number of another sign")
    if case == "integers by floats" or (wide and name in ("maximum", "minimum")):
        want = TypeError()  # NumPy converts after each step
    there = [mdhnp.asarray(x.copy()) if isinstance(x, np.ndarray) else x for x in (array, indices, b)]
    for operands in (there, [mdhnp.asarray(array.copy()), indices, b]):
        for at in (getattr(np, name).at, getattr(mdhnp, name).at):
            found = _changed(at, copy.copy(operands[0]), *operands[1:])
            _assert_same(found.numpy() if isinstance(found, mdhnp.Array) else found, want)


def test_large_changes_are_kernels(device: Device) -> None:
    a, indices, b = _whole(300, 16), _at(300, 6000), _whole(6000, 16)
    want = a.copy()
    np.add.at(want, indices, b)
    with config(specialise="always"):
        for _ in range(3):
            got = a.copy()
            mdhnp.add.at(got, indices, b)
            np.testing.assert_array_equal(got, want)
    indices[77] = 300
    for array in (a.copy(), mdhnp.asarray(a)):
        with pytest.raises(IndexError, match=r"^add.at: indices: index 300 at position \(77,\) is out of bounds"):
            mdhnp.add.at(array, indices, b)
    np.testing.assert_array_equal(array.numpy(), a)


@pytest.mark.parametrize("name", _NAMES)
def test_what_gets_nothing_keeps_its_sign(name: str, device: Device) -> None:
    a, b = np.full((9, 7), -0.0), np.ones((4, 7))
    b[3] = -0.0 if name in ("add", "subtract") else 1.0
    want = _changed(getattr(np, name).at, a.copy(), [2, 2, 0, 5], b)
    with config(host="never"):
        for given in (a.copy(), mdhnp.asarray(a.copy())):
            got = np.asarray(_changed(getattr(mdhnp, name).at, given, [2, 2, 0, 5], b))
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_arrays_are_not_mixed(device: Device) -> None:
    with pytest.raises(TypeError, match=r"add.at: a must be an Array, as others are"):
        mdhnp.add.at(np.zeros(3), mdhnp.asarray([0]), 1)
    with pytest.raises(TypeError, match="changed in place"):
        mdhnp.fuse(lambda a, at: (mdhnp.add.at(a, at, 1), a)[1])(np.zeros((3, 4)), np.zeros(2, int))
    with pytest.raises(TypeError, match="elements of an array are asked for"):
        mdhnp.fuse(mdhnp.bincount)(np.zeros(2, int))


#: Numbers, weights, the least length.
COUNTS = {
    "counted": (_at(9, 40, dtype="u1"), None, 0),
    "longer": (_at(9, 40) % 9, None, 30),
    "shorter": (_at(9, 40) % 9, None, 3),
    "weighed": (_at(9, 40) % 9, _whole(40), 0),
    "by integers": (_at(9, 40) % 9, _whole(40, dtype="i8"), 12),
    "strided": ((_at(9, 80) % 9)[::-2], _whole(80)[::2], 0),
    "nothing": (np.zeros(0, int), None, 0),
    "nothing, weighed": (np.zeros(0, int), np.zeros(0), 4),
    "booleans": (_whole(9) > 0, None, 0),
    "negative": (np.array([0, -1]), None, 0),
    "floats": (np.ones(3), None, 0),
    "two axes": (np.ones((3, 2), int), None, 0),
    "no axes": (np.array(3), None, 0),
    "fewer weights": (np.ones(3, int), np.ones(2), 0),
    "complex weights": (np.ones(3, int), np.ones(3, "c8"), 0),
    "less than nothing": (np.ones(3, int), None, -1),
    "no number": (np.ones(3, int), None, None),
}


@pytest.mark.parametrize("case", COUNTS)
def test_counts_are_numpys(case: str, device: Device) -> None:
    x, weights, least = COUNTS[case]

    def of(function: Any, *arrays: Any) -> Any:
        try:
            return function(*arrays, minlength=least)
        except (TypeError, ValueError) as error:
            return error

    want = of(np.bincount, x, weights)
    _assert_same(of(mdhnp.bincount, x, weights), want)
    there = mdhnp.asarray(x), None if weights is None else mdhnp.asarray(weights)
    for function in (mdhnp.bincount, np.bincount):
        for arrays in (there, (there[0], weights), *([(x, there[1])] if there[1] is not None else [])):
            found = of(function, *arrays)
            _assert_same(found.numpy() if isinstance(found, mdhnp.Array) else found, want)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u4", "i8"])
def test_devices_count_themselves(dtype: str, device: Device) -> None:
    there, most = separate(device), min(int(np.iinfo(dtype).max), 70_000)
    numbers, weights = _RNG.integers(0, most + 1, 9000).astype(dtype), _RNG.integers(-9, 9, 9000).astype("f4")
    numbers[7] = most
    with config(host="never"):
        for some in (numbers, numbers[::-2], numbers[:1]):
            x, w = mdhnp.asarray(some, device=there), mdhnp.asarray(weights[: len(some)], device=there)
            for least in (0, 80_000):
                with watched() as copies:
                    found = mdhnp.bincount(x, minlength=least)
                assert all([c.nbytes < 1000 for c in copies])  # among them those of measured launches
                _assert_same(found.numpy(), np.bincount(some, minlength=least))
                want = np.bincount(some, weights[: len(some)], least)
                _assert_same(mdhnp.bincount(x, w, least).numpy(), want)
                _assert_same(mdhnp.bincount(x, w, least, unordered=True).numpy(), want)
        if dtype[0] == "i":
            with pytest.raises(ValueError, match="negative"):
                mdhnp.bincount(mdhnp.asarray(np.array([3, -1], dtype), device=there))


@settings(max_examples=40, deadline=None)
@gives(st.data())
def test_random_changes(data: Any) -> None:
    name, places = data.draw(st.sampled_from(_NAMES)), data.draw(st.integers(1, 9))
    rows = tuple(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=2)))
    columns = tuple(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=2)))
    shape = (*rows, *columns)
    last = shape[data.draw(st.integers(0, len(shape))) :]
    last = tuple([1 if data.draw(st.booleans()) else n for n in last])
    dtype = data.draw(st.sampled_from(["f4", "i4", "u2"]))
    a, b, at = _whole(places, *columns, dtype="i8").astype(dtype), _whole(*last).astype(dtype), _at(places, *rows)
    want = a.copy()
    getattr(np, name).at(want, at, b)
    with config(host="never"):
        getattr(mdhnp, name).at(a, at, b)
    np.testing.assert_array_equal(a, want)
