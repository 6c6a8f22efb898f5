"""Order by kernels: sorting, searching, places and sets on devices with memory of their own are NumPy's."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from arrays import same
from separate import separate

import mdhnp
from mdhnp.calls.handwritten import written
from mdhnp.codegen.opencl import short_rows
from mdhnp.runtime.devices import Device

RNG = np.random.default_rng(0)
TYPES = ["?", "b", "B", "h", "H", "i", "I", "q", "Q", "e", "f", "d"]
NAMES = ("unique_all", "unique_counts", "unique_inverse", "unique_values")


@pytest.fixture(autouse=True)
def away(device: Device) -> Iterator[Device]:
    """Work on memory of a device's own, from which nothing is copied for the host to compute."""
    with mdhnp.device(separate(device)) as where, mdhnp.config(fallback="error"):
        yield where


@pytest.fixture(params=["as chosen", "comparing", "in a work-group", "in passes"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Sort rows of any length in each of the ways, where they can be; others are chosen by length."""
    if request.param == "comparing":
        monkeypatch.setattr(short_rows, "_FEW", 1000)
    elif request.param != "as chosen":
        monkeypatch.setattr(short_rows, "_FEW", 0)
    if request.param == "in passes":
        monkeypatch.setattr(short_rows, "exchanging", lambda *_: None)
    written.cache_clear()
    yield request.param
    written.cache_clear()


def drawn(shape: Any, char: str, few: bool = False) -> Any:
    """Elements of all values, or few of them, with NaN, zeros of both signs and infinities among floats."""
    dtype, size = np.dtype(char), int(np.prod(shape))
    if few or dtype.kind == "b":
        return RNG.integers(0, 2 if dtype.kind == "b" else 5, size).astype(dtype).reshape(shape)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return RNG.integers(info.min, info.max, size, dtype, endpoint=True).reshape(shape)
    special = RNG.choice([np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0], size)
    return np.where(RNG.random(size) < 0.3, special, RNG.standard_normal(size)).astype(dtype).reshape(shape)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("char", TYPES)
def test_every_type_is_sorted(char: str) -> None:
    for few in (False, True):
        x = drawn(37, char, few)
        a = mdhnp.asarray(x)
        same(mdhnp.sort(a), np.sort(x, stable=True))
        same(mdhnp.argsort(a), np.argsort(x, stable=True))
        _sets(x, ("unique_counts", "unique_values"))
        _sets(x[~np.isnan(x)], NAMES)  # in which order NaNs are numbered is NumPy's own


def _sets(x: Any, names: tuple[str, ...]) -> None:
    a = mdhnp.asarray(x)
    for name in names:
        found, expected = getattr(mdhnp, name)(a), getattr(np, name)(x)
        if name == "unique_values":
            same(found, np.sort(expected))
            continue
        assert type(found) is type(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("count", [1, 33, 500, 9001])
def test_rows_of_any_length_are_sorted(count: int) -> None:
    for char in ("?", "e", "q"):
        x = drawn((3, count), char)
        a = mdhnp.asarray(x)
        for given, expected in ((a, x), (a[:, ::-1], x[:, ::-1]), (a[1:], x[1:])):
            same(mdhnp.sort(given), np.sort(expected, stable=True))
            same(mdhnp.argsort(given), np.argsort(expected, stable=True))


@pytest.mark.parametrize("shape", [0, 1, 2, 3, 64, 1000, (5, 7), (3, 1, 9), (2, 0, 3), (0, 4), (4, 0)], ids=str)
def test_any_axis_of_any_length_is_sorted(shape: Any) -> None:
    x = drawn(shape, "f")
    for each in (x, x.T, x[::-1]):
        a = mdhnp.asarray(x)
        a = a.T if each.shape != x.shape else a[::-1] if each is not x else a
        each = a.numpy()
        for axis in range(-each.ndim, each.ndim):
            same(mdhnp.sort(a, axis=axis), np.sort(each, axis, stable=True))
            same(mdhnp.argsort(a, axis=axis), np.argsort(each, axis, stable=True))
            same(np.argsort(a, axis, "stable"), np.argsort(each, axis, stable=True))
        same(np.sort(a, axis=None), np.sort(each, axis=None))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    ("ordered", "values"), [("f", "f"), ("i", "d"), ("B", "h"), ("?", "?"), ("e", "i"), ("Q", "I")]
)
def test_places_among_ordered_elements(side: Any, ordered: str, values: str) -> None:
    x, v = np.sort(drawn(50, ordered, few=ordered == "i")), drawn((4, 6), values)
    a, b = mdhnp.asarray(x), mdhnp.asarray(v)
    same(mdhnp.searchsorted(a, b, side=side), np.searchsorted(x, v, side=side))
    same(mdhnp.searchsorted(a[::2], b, side=side), np.searchsorted(x[::2], v, side=side))
    order = RNG.permutation(50)
    shuffled = mdhnp.asarray(x[order])
    same(mdhnp.searchsorted(shuffled, b, side=side, sorter=mdhnp.argsort(shuffled)), np.searchsorted(x, v, side=side))
    same(mdhnp.searchsorted(a[:0], b, side=side), np.searchsorted(x[:0], v, side=side))


@pytest.mark.parametrize("shape", [0, 1, 100, (6, 5), (2, 3, 4), (3, 0)], ids=str)
@pytest.mark.parametrize("char", ["?", "i", "f"])
def test_places_of_what_is_not_0(shape: Any, char: str) -> None:
    x = drawn(shape, char, few=True)
    for given in (x, np.zeros_like(x), np.ones_like(x)):
        found, expected = mdhnp.nonzero(mdhnp.asarray(given)), np.nonzero(given)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        a = mdhnp.asarray(x)
        same(a[mdhnp.asarray(given) != 0], x[given != 0])
        same(a.T[mdhnp.asarray(given).T != 0], x.T[given.T != 0])
        if x.ndim == 3:
            same(a[mdhnp.asarray(given)[..., 0] != 0], x[given[..., 0] != 0])


def test_masks_elsewhere(away: Device) -> None:
    """In functions that are traced, and of arrays on other devices."""
    x = drawn((6, 5), "f")
    a = mdhnp.asarray(x)
    same(mdhnp.fuse(lambda v: v[a > 0])(a), x[x > 0])
    with pytest.raises(ValueError, match="device"):
        mdhnp.asarray(x, device="cpu")[a > 0]


@pytest.mark.parametrize("call", [
    lambda a: mdhnp.sort(a * 1j), lambda a: mdhnp.nonzero(a * 1j), lambda a: mdhnp.searchsorted(a, np.ones(2)),
    mdhnp.unique,
])  # fmt: skip
def test_others_are_the_hosts(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="computed on the host, for which Arrays are copied"):
        call(mdhnp.asarray(drawn(9, "f")))


@pytest.mark.parametrize(("call", "error"), [
    (lambda m, x: m.sort(x, axis=1), np.exceptions.AxisError),
    (lambda m, x: m.sort(x[0, ...]), np.exceptions.AxisError),
    (lambda m, x: x[x[:3] > 0], IndexError),
    (lambda m, x: m.searchsorted(x, x, sorter=m.asarray([0, 1])), ValueError),
    (lambda m, x: m.nonzero(x[0, ...]), ValueError), (lambda m, x: m.searchsorted(x[None], x), ValueError),
])  # fmt: skip
def test_errors_are_numpys(call: Callable[[Any, Any], Any], error: type[Exception]) -> None:
    x = drawn(9, "f")
    with pytest.raises(error):
        call(np, x)
    with pytest.raises(error), mdhnp.config(fallback="auto"):
        call(mdhnp, mdhnp.asarray(x))
