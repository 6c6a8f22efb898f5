"""Results that go where elements of arrays say, on devices with memory of their own: sorted there, or in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scatterings import put_at, same, to, whole
from schedules import CAPS
from separate import separate

import mdhnp
from mdhnp import config
from mdhnp.calls import handwritten
from mdhnp.codegen.opencl.atomics import combining
from mdhnp.mdh import Sorting, cc, pw
from mdhnp.runtime.devices import Device
from mdhnp.runtime.transfers import watched

Array = Any
_RNG = np.random.default_rng(7)


@pytest.mark.parametrize(
    ("dtype", "size", "places"),
    [("i8", 1, 1), ("i1", 5000, 3), ("i8", 20_000, 256), ("i4", 20_000, 257), ("u2", 777, 100), ("u8", 90, 70_000)],
)
def test_devices_with_memory_of_their_own_sort_themselves(dtype: str, size: int, places: int, device: Device) -> None:
    low = 0 if dtype[0] == "u" else -places
    indices = _RNG.integers(low, places, size).astype(dtype)
    keys = np.where(indices < 0, indices.astype("i8") + places, indices).astype("i8")
    order, begin = handwritten.group(mdhnp.asarray(indices, device=separate(device)), places)
    np.testing.assert_array_equal(order.numpy(), np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(begin.numpy(), np.searchsorted(np.sort(keys), np.arange(places + 1)))


@pytest.mark.parametrize(
    ("size", "places", "piece"), [(20_000, 50, 64), (5000, 70_000, 16), (999, 1, 1000), (64, 3, 8)]
)
def test_devices_cut_what_they_sort_in_pieces(size: int, places: int, piece: int, device: Device) -> None:
    few = (places * _RNG.random(size) ** 6).astype("i8")
    for indices in (few, few * 0 + places - 1, _RNG.integers(-places, places, size)):
        found = handwritten.group(mdhnp.asarray(indices, device=separate(device)), places, piece)
        for got, want in zip(found, Sorting(0, "s", "", places, (size,), piece).sort(indices), strict=True):
            np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize(("size", "places", "rest"), [(20_000, 50, (5,)), (50_000, 3, ()), (9000, 20_000, (2, 3))])
def test_few_places_of_many_points(size: int, places: int, rest: tuple[int, ...], device: Device) -> None:
    """Their points are combined in pieces: as by NumPy, and to the same bits in each call."""
    indices = (places * _RNG.random(size) ** 6).astype("i8") - places
    start, values = whole(places, *rest), whole(size, *rest)
    there = separate(device)
    at, b = (mdhnp.asarray(x, device=there) for x in (indices, values))
    axes = ",j,k,l"[: 2 * len(rest)]
    sums = mdhnp.md_hom(same, {"i": pw("add")} | dict.fromkeys("jkl"[: len(rest)], cc), f"X[i{axes}] -> Y[s[i]{axes}]")
    fused = mdhnp.fuse(lambda x, s: np.sqrt(np.abs(sums(x * 2, s, s=places))))
    with config(host="never"):
        for name in ("add", "maximum"):
            a = mdhnp.asarray(start, device=there)
            getattr(mdhnp, name).at(a, at, b)
            np.testing.assert_array_equal(a.numpy(), put_at(getattr(np, name), start.copy(), indices, values))
        want = put_at(np.add, np.zeros_like(start), indices, values)
        np.testing.assert_array_equal(sums(b, at, s=places).numpy(), want)
        np.testing.assert_allclose(fused(b, at).numpy(), np.sqrt(np.abs(2 * want)), 1e-6)
        floats = mdhnp.asarray(_RNG.random(values.shape, np.float32), device=there)
        assert sums(floats, at, s=places).numpy().tobytes() == sums(floats, at, s=places).numpy().tobytes()


@pytest.mark.parametrize("rest", [(), (5,)])
def test_arrays_are_changed_without_copies_to_the_host(rest: tuple[int, ...], device: Device) -> None:
    there = separate(device)
    start, values, indices = whole(100, *rest), whole(3000, *rest), to(100, 3000)
    a, b, at = (mdhnp.asarray(x, device=there) for x in (start, values, indices))
    with config(host="never"):
        mdhnp.add.at(a, at, b)
        with watched() as copies:
            mdhnp.add.at(a, at[1:], b[1:])
            mdhnp.add.at(a, at, b)
        assert sum([c.nbytes for c in copies]) < indices.nbytes / 100  # how far other indices reach
        expected = put_at(
            np.add, put_at(np.add, put_at(np.add, start, indices, values), indices[1:], values[1:]), indices, values
        )
        np.testing.assert_array_equal(a.numpy(), expected)
        at[7] = 100
        with pytest.raises(IndexError, match=r"index 100 at position \(7,\) is out of bounds for axis 0 of a"):
            mdhnp.add.at(a, at, b)
        np.testing.assert_array_equal(a.numpy(), expected)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("multiply", "i4"), *product(["add", "subtract", "maximum", "minimum"], ["i4", "u4", "f4", "f8", "i2"])],
)
def test_elements_are_changed_in_any_order_where_that_is_said(name: str, dtype: str, where: Device) -> None:
    function, ufunc = getattr(mdhnp, name), getattr(np, name)
    for rest, shape, index in (((), (3000,), "i8"), ((5,), (40, 30), "i2"), ((3, 2), (600,), "u4"), ((5,), (0,), "i4")):
        start = whole(37, *rest).astype(dtype)
        indices = np.where(_RNG.random(shape) < 0.5, 5, to(37, *shape)).astype(index) % (37 if index[0] == "u" else 64)
        indices = np.where(indices >= 37, indices - 64, indices).astype(index)
        for values in (whole(*shape, *rest).astype(dtype), np.ones((1,) * len(rest), dtype), 2):
            a, expected = mdhnp.asarray(start), start.copy()
            for at in (indices, mdhnp.asarray(indices)):
                given = values if isinstance(values, int) or at is indices else mdhnp.asarray(values)
                function.at(a, at, given, unordered=True)
                ufunc.at(expected, indices, values)
            np.testing.assert_array_equal(a.numpy(), expected)
    wrong = mdhnp.asarray(np.array([3, 37]))
    with pytest.raises(IndexError, match=r"index 37 at position \(1,\)"):
        function.at(a, wrong, 2, unordered=True)
    np.testing.assert_array_equal(a.numpy(), expected)


def test_what_is_changed_in_any_order_is_not_read_meanwhile(where: Device) -> None:
    start = to(1000, 1000).astype("i4")
    cases: list[Callable[[Any], tuple[Any, Any]]] = [
        lambda a: (a, 1), lambda a: (a[::-1], a), lambda a: (a[:500], a[500:]), lambda a: (np.array([0, 9, 0]), a[5:8]),
    ]  # fmt: skip
    for of in cases:
        a, expected = mdhnp.asarray(start.copy()), start.copy()
        np.add.at(expected, *of(start))
        mdhnp.add.at(a, *of(a), unordered=True)
        np.testing.assert_array_equal(a.numpy(), expected)


def test_extremes_in_any_order_are_nan_where_one_is(where: Device) -> None:
    start, values = np.array([1, np.nan, 3, np.inf], "f4"), np.array([np.nan, 1, 5, 0, -np.inf, 2], "f4")
    indices = np.array([0, 1, 2, 3, 2, 0])
    for name in ("maximum", "minimum"):
        a = mdhnp.asarray(start)
        getattr(mdhnp, name).at(a, indices, values, unordered=True)
        np.testing.assert_array_equal(a.numpy(), put_at(getattr(np, name), start.copy(), indices, values))


@pytest.mark.parametrize("operation", ["add", "subtract"])
def test_nvidias_gpus_add_floats_by_an_instruction(operation: str) -> None:
    caps = replace(CAPS, kind="gpu", subgroup=32)
    f4, i4, i8 = (np.dtype(t) for t in ("f4", "i4", "i8"))
    assert "red.global.add.f32" in combining(operation, f4, i8, (10, 4, 7), caps).source
    assert "red.global" not in combining(operation, i4, i8, (10, 4, 7), caps).source
    assert "red.global.add.f64" in combining(operation, np.dtype("f8"), i8, (10, 4, 7), caps).source
    assert "atomic_cmpxchg" in combining(operation, f4, i8, (10, 4, 7), replace(caps, subgroup=0)).source
    wide = replace(caps, wide_atomics=True)
    for columns, dtype, expected in ((4, f4, True), (64, f4, True), (6, f4, False), (4, i4, False)):
        program = combining(operation, dtype, i8, (1000, columns, 7), wide)
        assert ("red.global.add.v4.f32" in program.source) == expected
        assert program.kernels[0].global_size == -(-1000 * columns // (1024 if expected else 256)) * 256
