"""What is put into an `mdhnp.Array`, and taken out of it."""

import operator
from typing import Any

import numpy as np
import pytest
from arrays import filled, same
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

import mdhnp
from mdhnp.runtime.devices import Device

few = settings(max_examples=15)
A = np.arange(24.0).reshape(2, 3, 4)


# Elements put into it.


@few
@given(st.data())
def test_what_is_put_into_a_part_is_converted_and_broadcast(where: Device, data: Any) -> None:
    expected = filled(data.draw(array_shapes(min_dims=1, max_dims=3, max_side=4)), np.int32)
    a = mdhnp.asarray(expected.copy())
    key = data.draw(basic_indices(expected.shape))
    shape = np.shape(expected[key])
    value = 50 + filled(shape[data.draw(st.integers(0, len(shape))) :], data.draw(st.sampled_from(["i4", "i1", "f4"])))
    a[key] = mdhnp.asarray(value) if data.draw(st.booleans()) else value
    expected[key] = value
    same(a, expected)


@pytest.mark.parametrize("value", [7, 2.5, True, np.float32(3), [[1], [2], [3]], np.ones((1, 1, 1, 4))], ids=str)
def test_numbers_and_lists_are_put_into_it(where: Device, value: Any) -> None:
    expected = A.copy()
    a = mdhnp.asarray(A.copy())
    a[0] = value
    expected[0] = value
    same(a, expected)


MASKS = [A[:, 0, 0] > 5, A > 5, A[:, :, 0] > 5, A > 99, np.asarray(True)]


@pytest.mark.parametrize(
    ("value", "masks"),
    [
        (7, MASKS),
        *[(v, MASKS[:1]) for v in (-0.5, True, np.float32(9), np.arange(4), np.ones(1))],
        (np.arange(18), MASKS[1:2]),
        ([5], MASKS[1:2]),
        (filled((1, 3, 4)), MASKS[:1]),
        (filled((4, 1)), MASKS[2:3]),
        (np.zeros(0), MASKS[3:4]),
    ],
    ids=lambda v: "" if isinstance(v, list) else str(np.shape(v)) if isinstance(v, np.ndarray) else str(v),
)
def test_a_value_is_put_where_a_mask_is_true(where: Device, value: Any, masks: Any) -> None:
    for mask in masks:
        for key in (mask, mdhnp.asarray(mask)):
            expected = A.astype(np.int32)
            a = mdhnp.asarray(expected.copy())
            a[key] = value
            expected[mask] = value
            same(a, expected)


@pytest.mark.parametrize("dtype", ["i1", "i8", "u8", "f4"])
@pytest.mark.parametrize(
    "value",
    [
        1.5, 200, -1, 2**40, 1j, [1.5, 2.5], [200, 1], [1, 2, 3], [], [[1, 2]], np.array([300, -1]), np.ones((2, 1)),
        np.array([1j, 2]), np.arange(3), np.array([1.5]), np.int64(300), "text", np.array([2.5, 300.0]),
    ],
    ids=lambda v: f"{type(v).__name__} {np.shape(v) and v}",
)  # fmt: skip
@pytest.mark.parametrize("key", [np.arange(6) % 3 == 1, np.arange(6) < 0, [1, 4], [], np.array([[4]])], ids=str)
@pytest.mark.filterwarnings(
    "ignore:Casting complex:numpy.exceptions.ComplexWarning", "ignore:invalid value:RuntimeWarning"
)
def test_what_is_put_where_arrays_say_is_converted_as_by_numpy(where: Device, dtype: str, key: Any, value: Any) -> None:
    """Also large whole numbers of elements beside, and what cannot be converted, or broadcast."""
    large = np.arange(6).astype(dtype) + np.asarray(2**62 + 1 if dtype[1] == "8" else 1, dtype)

    def put(array: Any, value: Any) -> Any:
        try:
            array[key] = value
        except (TypeError, ValueError, OverflowError) as error:
            return type(error)
        return array

    want = put(large.copy(), value)
    for one in (value, mdhnp.asarray(value)) if isinstance(value, np.ndarray) else (value,):
        got = put(mdhnp.asarray(large.copy()), one)
        if isinstance(want, type):
            assert got is want, one
        else:
            same(got, want)


def test_masks_that_do_not_fit_are_index_errors(where: Device) -> None:
    a = mdhnp.asarray(A.copy())
    with pytest.raises(IndexError, match=r"shape \(2, 2\)"):
        a[np.ones((2, 2), bool)] = 1
    with pytest.raises(ValueError, match=r"17|\(17,\)"):
        a[A > 5] = np.arange(17)
    same(a, A)


def test_an_array_is_put_into_itself(where: Device) -> None:
    for to, of in ((np.s_[1:], np.s_[:-1]), (np.s_[:-1], np.s_[1:]), (np.s_[:], np.s_[::-1])):
        expected = filled(10)
        a = mdhnp.asarray(filled(10))
        a[to] = a[of]
        expected[to] = filled(10)[of]
        same(a, expected)
    for to, of in ((np.s_[...], np.s_[0]), (np.s_[:, 0], np.s_[0, 1]), (np.s_[...], np.s_[:, :1])):
        expected = filled((3, 4))
        a = mdhnp.asarray(filled((3, 4)))
        a[to] = a[of]
        expected[to] = filled((3, 4))[of]
        same(a, expected)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        (np.s_[0], np.ones((2, 3, 4)), "broadcast"),
        (np.s_[0, :2], np.ones(3), "broadcast"),
        (np.s_[0], np.ones((1, 2, 3, 4)), "broadcast"),
        (np.s_[0], "x", "x"),
        (np.s_[0], object, "float"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(where: Device, key: Any, value: Any, words: str) -> None:
    a = mdhnp.asarray(A.copy())
    with pytest.raises(Exception, match=words) as expected:
        A.copy()[key] = value
    with pytest.raises(expected.type, match=words):
        a[key] = value
    same(a, A)


def test_read_only_arrays_stay_what_they_are(where: Device) -> None:
    wide = np.broadcast_to(mdhnp.asarray(np.ones(3)), (2, 3))
    with pytest.raises(ValueError, match="read-only"):
        wide[...] = 1
    locked = A.view()
    locked.flags.writeable = False
    a = mdhnp.asarray(locked)
    same(a, A)
    if where.own_memory:  # it is a copy
        a[0] = 1
    else:
        with pytest.raises(ValueError, match="read-only"):
            a[0] = 1


# Elements taken out of it.


def test_ndarrays_of_it_are_read_only_and_kept_until_it_changes(where: Device) -> None:
    a = mdhnp.asarray(A.copy())
    part = a[1]
    first, parts = a.numpy(), part.numpy()
    assert not first.flags.writeable
    with pytest.raises(ValueError):
        first[0] = 1
    if where.own_memory:
        assert a.numpy() is first
    else:
        assert np.shares_memory(a.numpy(), first)
    a[0] = 5
    np.testing.assert_array_equal(part.numpy(), parts)
    np.testing.assert_array_equal(a.numpy()[0], 5)
    part[...] = 6
    assert (a.numpy()[1] == 6).all()
    if where.own_memory:
        assert (first == A).all()  # a copy of what was


def test_asarray_of_it(where: Device) -> None:
    a = mdhnp.asarray(A)
    np.testing.assert_array_equal(np.asarray(a), A)
    assert np.asarray(a, np.float32).dtype == np.float32
    assert np.array(a).flags.writeable
    assert not np.shares_memory(np.array(a), a.numpy())
    if where.own_memory:
        with pytest.raises(ValueError, match="copy=False"):
            np.asarray(a, copy=False)
    else:
        assert np.shares_memory(np.asarray(a, copy=False), A)
    np.testing.assert_array_equal(np.asarray(a[::-1, 1:]), A[::-1, 1:])


NUMBERS = [np.float32(2.5), np.int16(-3), np.bool_(True), np.complex64(1 + 2j), np.uint64(2**63), np.float64("nan")]
SEVERAL = [np.ones(1), np.ones(2), np.ones((1, 1), bool), np.ones(0), np.ones((2, 0))]
CONVERSIONS = [bool, int, float, complex, operator.index, lambda x: x.item(), lambda x: x.tolist()]


@pytest.mark.filterwarnings("ignore:.*ndim > 0 to a scalar.*:DeprecationWarning")
@pytest.mark.parametrize("number", [*map(np.asarray, NUMBERS), *SEVERAL], ids=lambda n: f"{n.dtype}{n.shape}")
def test_numbers_of_it_are_numpys(where: Device, number: Any) -> None:
    a = mdhnp.asarray(number)
    for convert in CONVERSIONS:
        try:
            expected = convert(number)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                convert(a)
            continue
        if number.ndim and convert in (int, float, complex):  # NumPy will do so, too
            with pytest.raises(TypeError, match="without axes"):
                convert(a)
            continue
        found = convert(a)
        assert type(found) is type(expected)
        np.testing.assert_equal(found, expected)
