"""Arrays made of nothing, of numbers, of other arrays; types; what the standard asks of the namespace."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from separate import separate

import mdhnp
from mdhnp.runtime.devices import Device


@pytest.fixture(params=["shared", "separate"])
def where(request: pytest.FixtureRequest, device: Device) -> Device:
    """Give a device, and it again as if it had memory of its own."""
    return device if request.param == "shared" else separate(device)


#: Calls of NumPy's functions, of the same name and with the same arguments here, but for the device.
CALLS: dict[str, Callable[..., Any]] = {
    "zeros": lambda xp, **d: xp.zeros((3, 4), **d),
    "zeros of one axis": lambda xp, **d: xp.zeros(5, dtype=np.int16, **d),
    "ones": lambda xp, **d: xp.ones((2, 0, 3), dtype=np.float32, **d),
    "full": lambda xp, **d: xp.full((2, 3), 7, **d),
    "full, complex": lambda xp, **d: xp.full((), 1 + 2j, **d),
    "full, bool": lambda xp, **d: xp.full(4, True, **d),
    "full, converted": lambda xp, **d: xp.full(4, 2.7, dtype=np.uint8, **d),
    "full, wrapped": lambda xp, **d: xp.full(4, -2.7, dtype=np.uint8, **d),
    "arange": lambda xp, **d: xp.arange(7, **d),
    "arange, floats": lambda xp, **d: xp.arange(0.5, 3.0, 0.25, **d),
    "arange, backwards": lambda xp, **d: xp.arange(9, -3, -2, dtype=np.int32, **d),
    "arange, nothing": lambda xp, **d: xp.arange(5, 2, **d),
    "arange, to a float": lambda xp, **d: xp.arange(0, 5.5, **d),
    "arange, float zero": lambda xp, **d: xp.arange(0.0, 9, 2, **d),
    "arange, a float32": lambda xp, **d: xp.arange(np.float32(2.5), **d),
    "arange, two": lambda xp, **d: xp.arange(4, 6, dtype=bool, **d),
    "arange, float16": lambda xp, **d: xp.arange(0.3, 9, 0.1, dtype=np.float16, **d),
    "arange, float32": lambda xp, **d: xp.arange(0, 1000, 3, dtype=np.float32, **d),
    "linspace": lambda xp, **d: xp.linspace(-1, 2, 17, **d),
    "linspace, half open": lambda xp, **d: xp.linspace(0, 1, 10, endpoint=False, **d),
    "linspace, one": lambda xp, **d: xp.linspace(3, 4, 1, dtype=np.float32, **d),
    "linspace, complex": lambda xp, **d: xp.linspace(0, 1j, 5, **d),
    "eye": lambda xp, **d: xp.eye(4, **d),
    "eye, wide": lambda xp, **d: xp.eye(3, 5, k=2, dtype=np.float32, **d),
    "eye, low": lambda xp, **d: xp.eye(5, 3, k=-1, dtype=bool, **d),
    "eye, nothing": lambda xp, **d: xp.eye(3, 3, k=9, **d),
    "eye, nothing at all": lambda xp, **d: xp.eye(3, 3, k=2**63, **d),
}


def same(ours: Any, numpys: Any, where: Device) -> None:
    assert type(ours) is mdhnp.Array
    assert ours.device is where
    assert (ours.shape, ours.dtype) == (numpys.shape, numpys.dtype)
    np.testing.assert_array_equal(ours.numpy(), numpys)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_new_arrays(device: Device, call: Callable[..., Any]) -> None:
    """On a CPU device NumPy makes them."""
    same(call(mdhnp, device=separate(device)), call(np), separate(device))


def test_arrays_like_others(where: Device) -> None:
    x = np.arange(6, dtype=np.int16).reshape(2, 3)
    a = mdhnp.asarray(x, device=where)
    same(mdhnp.zeros_like(a), np.zeros_like(x), where)
    same(mdhnp.ones_like(a, dtype=np.float64), np.ones_like(x, dtype=np.float64), where)
    same(mdhnp.full_like(a.T, 5), np.full_like(x.T, 5), where)
    assert mdhnp.empty_like(a).shape == (2, 3)
    same(mdhnp.full((2, 2), a[1, 2]), np.full((2, 2), x[1, 2]), where)
    for given in (x[:, ::2], x.tolist(), 2.5):
        same(mdhnp.zeros_like(given, device=where), np.zeros_like(given), where)
        same(mdhnp.full_like(given, a[1, 2]), np.full_like(given, x[1, 2]), where)
        same(mdhnp.ones_like(given), np.ones_like(given), mdhnp.zeros(1).device)
        assert mdhnp.empty_like(given, device=where).shape == np.shape(given)


def test_triangles_and_grids(where: Device) -> None:
    x = np.arange(1.0, 25).reshape(2, 3, 4)
    a = mdhnp.asarray(x, device=where)
    for k in (-2, 0, 1, 5):
        same(mdhnp.tril(a, k=k), np.tril(x, k), where)
        same(mdhnp.triu(a[:, ::-1].mT, k=k), np.triu(x[:, ::-1].mT, k), where)
        same(mdhnp.tril(a[0, 0], k=k), np.tril(x[0, 0], k), where)
    with pytest.raises(ValueError, match="tril: x has no axes"):
        mdhnp.tril(a[0, 0, 0])
    for indexing in ("xy", "ij"):
        ours, numpys = (xp.meshgrid(v[0, 0], v[1, :, 0][::2], indexing=indexing) for xp, v in ((mdhnp, a), (np, x)))
        for mine, theirs in zip(ours, numpys, strict=True):
            same(mine, theirs, where)
    ours[0][...] = 0  # new memory
    np.testing.assert_array_equal(a.numpy(), x)
    for mine, theirs in zip(mdhnp.meshgrid(a[0, 0], [1, 2]), np.meshgrid(x[0, 0], [1, 2]), strict=True):
        same(mine, theirs, where)


def test_triangles_and_grids_of_ndarrays() -> None:
    x = np.arange(1.0, 25).reshape(2, 3, 4)
    for name in ("tril", "triu"):
        found, wanted = getattr(mdhnp, name)(x[::-1], k=1), getattr(np, name)(x[::-1], 1)
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, wanted)
        for rows in ([[1, 2], [3, 4]], [1, 2, 3]):
            np.testing.assert_array_equal(getattr(mdhnp, name)(rows), getattr(np, name)(rows))
    for arrays in ((), ([1, 2],), (x[0, 0], [3, 4, 5])):
        for indexing in ("xy", "ij"):
            mine, theirs = (xp.meshgrid(*arrays, indexing=indexing) for xp in (mdhnp, np))
            assert type(mine) is tuple and all(type(m) is np.ndarray for m in mine)
            for m, t in zip(mine, theirs, strict=True):
                np.testing.assert_array_equal(m, t)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: mdhnp.zeros((2, -1), device="cpu"), ValueError, r"shape \(2, -1\)"),
        (lambda: mdhnp.zeros(1.5, device="cpu"), TypeError, "shape must be int"),
        (lambda: mdhnp.zeros(3, dtype=np.longdouble, device="cpu"), TypeError, "zeros|full"),
        (lambda: mdhnp.full(3, "x", device="cpu"), TypeError, "full: dtype"),
        (lambda: mdhnp.full(3, 300, dtype="u1", device="cpu"), OverflowError, "300"),
        (lambda: mdhnp.asarray(np.ones(3, ">f4"), copy=False, device="cpu"), ValueError, "byte order"),
        (lambda: mdhnp.arange(0, 3, 0, device="cpu"), ZeroDivisionError, "zero"),
        (lambda: mdhnp.linspace(0, 1, -3, device="cpu"), ValueError, "non-negative"),
        (lambda: mdhnp.meshgrid(indexing="yx"), ValueError, "'xy' or 'ij'"),
        (lambda: mdhnp.zeros(3, device="nowhere"), mdhnp.NoDeviceError, "nowhere"),
        (lambda: mdhnp.__array_namespace_info__().dtypes(kind="object"), ValueError, "object"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()


def test_conversion_and_types(where: Device) -> None:
    x = np.array([[-1.5, 2.7], [np.nan, 300.0]])
    a = mdhnp.asarray(x, device=where)
    for dtype in ("f4", "c8", "f2", "?"):
        same(mdhnp.astype(a.T, dtype), x.T.astype(dtype), where)
    same(mdhnp.astype(a[0], "i4"), x[0].astype("i4"), where)
    assert mdhnp.astype(a, a.dtype, copy=False) is a
    assert mdhnp.astype(a, a.dtype) is not a
    same(mdhnp.broadcast_to(a[0], (3, 2)), np.broadcast_to(x[0], (3, 2)), where)
    ours = mdhnp.broadcast_arrays(a[:, :1], a[0])
    for mine, theirs in zip(ours, np.broadcast_arrays(x[:, :1], x[0]), strict=True):
        same(mine, theirs, where)
    for view in (ours[0], ours[1][0], mdhnp.broadcast_to(a[0], (3, 2))[1], mdhnp.broadcast_to(a, a.shape)):
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 1
    assert mdhnp.result_type(a, np.float32, 1.0) == np.float64
    assert mdhnp.can_cast(a, np.complex128)
    assert not mdhnp.can_cast(np.float64, np.int8)
    assert mdhnp.finfo(a).bits == 64
    assert mdhnp.iinfo(np.int8).max == 127
    assert mdhnp.isdtype(a.dtype, "real floating")


def test_the_namespace_says_what_it_can(device: Device) -> None:
    a = mdhnp.asarray([1.0], device=device)
    xp = a.__array_namespace__(api_version="2024.12")
    assert xp is mdhnp
    info = xp.__array_namespace_info__()
    assert device in info.devices()
    assert info.default_device() in info.devices()
    assert info.dtypes(device=device, kind=("bool", "real floating")) == {
        "bool": np.dtype(bool), "float32": np.dtype("f4"), "float64": np.dtype("f8"),
    }  # fmt: skip
    assert info.default_dtypes()["real floating"] == xp.zeros(1, device=device).dtype
    assert info.capabilities()["boolean indexing"] is True
    for name in info.dtypes():
        assert np.dtype(getattr(xp, name)).name == name
    with pytest.raises(ValueError, match=r"2019\.01"):
        a.__array_namespace__(api_version="2019.01")


def test_arrays_of_lists_of_arrays(where: Device) -> None:
    """They are where the first one is."""
    x = mdhnp.asarray(np.arange(3.0), device=where)
    same(mdhnp.asarray([[x[2], 7.0], [x[1], x[0]]]), np.array([[2.0, 7.0], [1.0, 0.0]]), where)
    same(mdhnp.asarray((x, x)), np.array([[0.0, 1.0, 2.0]] * 2), where)


def test_array_copies(where: Device) -> None:
    x = np.arange(3)
    a = mdhnp.array(x, device=where)
    x[0] = 5
    same(a, np.arange(3), where)
    same(mdhnp.array(a, np.float32), np.arange(3, dtype=np.float32), where)
    b = mdhnp.array(a)
    b[0] = 9
    same(a, np.arange(3), where)
    assert mdhnp.array(a, copy=None) is a
