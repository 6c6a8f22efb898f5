"""`mdhnp.Array` itself: what it says of its elements, and its views."""

import copy
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


def test_its_only_element_is_shown_by_a_format(where: Device) -> None:
    assert f"{mdhnp.sum(mdhnp.asarray([1.0, 1.5])):7.2f} {mdhnp.asarray(7):03d}" == "   2.50 007"
    with pytest.raises(TypeError, match="unsupported format"):
        f"{mdhnp.asarray(A):.2f}"


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
    for key, said in ((0.5, "not float$"), ("x", "not str$"), ((0, {}), r"not int, dict; copy Arrays by .numpy\(\)")):
        with pytest.raises(IndexError, match=said):
            mdhnp.asarray(A, device="cpu")[key]


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
    with pytest.raises(ValueError, match="not allowed for 'copy'"):
        a.reshape(24, copy="no")


LAYOUTS = {
    "C": lambda x: x, "F": lambda x: x.T, "K": lambda x: x.transpose(1, 0, 2), "turned": lambda x: x[::-1, :, ::2],
    "one": lambda x: x[0, 0], "none": lambda x: x[0, 0, 0, ...], "repeated": lambda x: np.broadcast_to(x[0], x.shape),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", ["C", "F", "A", "K", "f", None, "X", 3])
def test_elements_are_walked_in_an_order_of_numpys(order: Any, layout: str, where: Device) -> None:
    plain = LAYOUTS[layout](A)
    calls: dict[str, Callable[[Any], Any]] = {
        name: lambda x, name=name: getattr(x, name)(order) for name in ("ravel", "flatten", "copy")
    }
    calls |= {"np.ravel": lambda x: np.ravel(x, order), "np.copy": lambda x: np.copy(x, order)}
    for name, call in calls.items():
        for _ in range(3):  # found again, too
            a = LAYOUTS[layout](mdhnp.asarray(A))
            try:
                expected = call(plain)
            except (TypeError, ValueError) as error:
                with pytest.raises(type(error), match="order must be"):
                    call(a)
                continue
            found = call(a)
            same(found, expected)
            if name.endswith("copy") and layout != "repeated":
                assert found.strides == expected.strides


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
