"""`mdhnp.Array` itself: what it says of its elements, its views, and what is put into it and taken out of it."""

import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arrays import filled, same
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

import mdhnp
from mdhnp.calls.operands import SUPPORTED
from mdhnp.runtime.devices import Device

few = settings(max_examples=15)
A = np.arange(24.0).reshape(2, 3, 4)


# What it is.


@pytest.mark.parametrize("dtype", sorted(SUPPORTED, key=str), ids=str)
def test_it_says_what_it_has(where: Device, dtype: np.dtype[Any]) -> None:
    expected = filled((2, 3), dtype)[:, ::-1]
    a = mdhnp.asarray(expected)
    same(a, expected)
    assert (a.ndim, a.size, a.itemsize, a.nbytes, len(a)) == (2, 6, dtype.itemsize, 6 * dtype.itemsize, 2)
    assert a.device is where
    assert a.T.strides == a.strides[::-1]
    for name in ("shape", "dtype", "device_", "anything"):
        with pytest.raises(AttributeError):
            setattr(a, name, 1)


def test_it_is_not_made_by_its_class() -> None:
    with pytest.raises(TypeError, match=r"mdhnp\.asarray"):
        mdhnp.Array()


@pytest.mark.parametrize("expected", [filled(()), filled(3, np.int8), A, filled((0, 2)), filled(5000)], ids=np.shape)
def test_it_is_shown_with_its_elements(where: Device, expected: Any) -> None:
    shown = repr(mdhnp.asarray(expected))
    assert shown.startswith("mdhnp.Array(")
    assert shown.endswith(f", dtype={expected.dtype}, device={where.name!r})")
    assert "".join(np.array2string(expected, separator=",").split()) in "".join(shown.split())


def test_it_has_no_hash(where: Device) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(mdhnp.asarray(A))


# Views.


@given(st.data())
def test_slices_are_numpys(where: Device, data: Any) -> None:
    expected = filled(data.draw(array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)))
    a = mdhnp.asarray(expected)
    for _ in range(2):  # slices of slices, too
        key = data.draw(basic_indices(a.shape, allow_newaxis=True))
        a, expected = a[key], expected[(key if type(key) is tuple else (key,)) + (() if _has_ellipsis(key) else (...,))]
        same(a, expected)
        assert a.strides == expected.strides


def _has_ellipsis(key: Any) -> bool:
    return any(each is Ellipsis for each in (key if type(key) is tuple else (key,)))


@pytest.mark.parametrize(
    "key",
    [
        1.0,
        "x",
        [2],
        (0, [-4]),
        np.array([True]),
        [0.5],
        (0, 0, 0, [0]),
        2,
        -3,
        (0, 0, 0, 0),
        (..., ...),
        (..., [0], ...),
    ],
    ids=repr,
)
def test_other_keys_are_index_errors(where: Device, key: Any) -> None:
    a = mdhnp.asarray(A.copy())
    with pytest.raises(IndexError):
        a[key]
    with pytest.raises(IndexError):
        a[key] = 0


def test_keys_of_other_kinds_are_told_what_to_use() -> None:
    with pytest.raises(IndexError, match=r"not float; use mdhnp.where; else copy Arrays by .numpy\(\)"):
        mdhnp.asarray(A, device="cpu")[0.5]


_LAST = np.arange(4) % 3 > 0
NAMING = [
    [1, 0, -1], np.array([1, 0, 1], np.int8), np.array([[0], [1]], np.uint64), (slice(None), [0, 2]), (0, [1, 2]), [],
    ([0, 1], slice(None), [1, 2]), ([0, 1], [1, 2]), (..., [1, 0]), (None, [1]), ([0, 1], None, [1, 2]),
    (np.array([[0], [1]]), np.array([0, 2])), (1, ..., [0, 1]), ([0, 1], ..., [0, 2], [1, 3]), (0, ..., [1, 3]),
    ([0, 1], ..., slice(1, 2), [0, 2]), ([1], 0, slice(None, None, -1)), A > 5, A[:, :, 0] > 3, A > 99, (..., _LAST),
    (slice(None), np.array([True, False, True])), (0, A[0] > 2), ([0, 1], slice(None), _LAST[:2].nonzero()[0][[0, 0]]),
]  # fmt: skip


@pytest.mark.parametrize("host", ["auto", "never"])
@pytest.mark.parametrize("key", NAMING, ids=str)
def test_arrays_name_elements_as_numpys_do(where: Device, key: Any, host: Any) -> None:
    a, expected = mdhnp.asarray(A), A[key]
    keys = [key, mdhnp.asarray(key)] if isinstance(key, np.ndarray) else [key]
    with mdhnp.config(host=host):
        for given in keys:
            same(a[given], expected)
    if where.own_memory and any([part is None or part is Ellipsis for part in (key if type(key) is tuple else (key,))]):
        return  # into which nothing is put so without being asked
    changed, copy = mdhnp.asarray(A.copy()), A.copy()
    changed[key], copy[key] = 7, 7
    same(changed, copy)
    changed[key], copy[key] = -expected, -expected
    same(changed, copy)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda x: x[1:, ::-2],
    "element": lambda x: x[1, 2, 3, ...],
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "transpose": lambda x: x.transpose(1, 0, 2),
    "transpose of a tuple": lambda x: x.transpose((2, 0, 1)),
    "swapaxes": lambda x: x.swapaxes(0, 2),
    "reshape": lambda x: x.reshape(4, 6),
    "reshape to a tuple": lambda x: x.reshape((-1,)),
    "ravel": lambda x: x.ravel(),
    "squeeze": lambda x: x[:1].squeeze(0),
    "real": lambda x: x.real,
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_share_memory(where: Device, view: Callable[[Any], Any]) -> None:
    expected = A.copy()
    a = mdhnp.asarray(A.copy())
    b = view(a)
    same(b, view(expected))
    view(expected)[...] = 7
    b[...] = 7
    same(a, expected)
    a[...] = 8
    assert (b.numpy() == 8).all()


def test_parts_of_complex_numbers_are_views(where: Device) -> None:
    expected = A + 1j
    a = mdhnp.asarray(expected.copy())
    same(a.real, expected.real)
    same(a.imag, expected.imag)
    a.imag[...] = 3
    a.real[0] = 4
    expected.imag[...], expected.real[0] = 3, 4
    same(a, expected)
    real = mdhnp.asarray(A)
    assert real.real is real
    same(real.imag, np.zeros_like(A))


def test_copies_are_no_views(where: Device) -> None:
    a = mdhnp.asarray(A.copy())
    copies = [a.copy(), a.flatten(), mdhnp.asarray(a, copy=True), a.T.reshape(24), copy.copy(a), copy.deepcopy([a])[0]]
    a[...] = -1
    for each in copies:
        assert each.device is where
        assert (each.numpy() >= 0).all()
    assert a.T.copy().strides == np.ascontiguousarray(A.T).strides
    assert mdhnp.asarray(a) is a


def test_it_is_iterated_along_its_first_axis(where: Device) -> None:
    a = mdhnp.asarray(A)
    for part, expected in zip(a, A, strict=True):
        same(part, expected)
    first, second = a
    same(first - second, A[0] - A[1])
    assert [float(x) for x in a[0, 0]] == [0, 1, 2, 3]
    assert 23.0 in a
    assert 24.0 not in a
    with pytest.raises(TypeError, match="0-d"):
        iter(a[0, 0, 0])
    with pytest.raises(TypeError):
        len(a[0, 0, 0])


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


@pytest.mark.parametrize("key", [[1, 0], (..., A[0, 0] > 1), (0, [2, 0]), np.array([[0], [1]]), True], ids=str)
def test_numpy_puts_into_copies_where_the_settings_say_so(where: Device, key: Any) -> None:
    expected, a, before = A.copy(), mdhnp.asarray(A.copy()), mdhnp.fallback_counts()
    with mdhnp.config(fallback="numpy"):
        same(a[mdhnp.asarray(key) if isinstance(key, np.ndarray) else key], expected[key])
        value = -filled(np.shape(expected[key]))
        a[key] = mdhnp.asarray(value)
    expected[key] = value
    same(a, expected)
    assert mdhnp.fallback_counts().get("setitem", 0) == before.get("setitem", 0) + (
        where.own_memory and (key is True or key[0] is ...)
    )


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
