"""`argkmin`: the first elements of stable sorts."""

from typing import Any

import numpy as np
import pytest
from separate import separate

import mdhnp
from mdhnp.runtime.handle import Device


def values(shape: tuple[int, ...], dtype: Any) -> Any:
    """Of few different ones; of floats some rows have no number, or fewer than are wanted, or infinities."""
    x = np.random.default_rng(0).integers(0, 7, shape).astype(dtype)
    if x.dtype.kind == "f":
        x[0], x[1, 3:], x[2, :-2], x[3, ::2], x[4] = np.nan, np.nan, np.nan, np.inf, np.inf
    elif x.dtype.kind != "b":
        x[0], x[1, 3:] = np.iinfo(dtype).max, np.iinfo(dtype).min
    return x


def sorted_(x: Any, k: int, axis: int) -> tuple[Any, Any]:
    places = np.argsort(x, axis, kind="stable").take(range(k), axis)
    return np.take_along_axis(x, places, axis), places


def same(found: Any, wanted: Any) -> None:
    for f, w in zip(found, wanted, strict=True):
        assert (f.shape, f.dtype) == (w.shape, w.dtype)
        np.testing.assert_array_equal(f, w)


@pytest.mark.parametrize(("k", "axis"), [(1, 0), (4, 1), (7, -1), (7, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.uint8, np.int64, np.bool_])
def test_these_are_the_first_of_a_stable_sort(dtype: Any, k: int, axis: int, device: Device) -> None:
    x = values((23, 19), dtype)
    with mdhnp.config(host="never"):
        same(mdhnp.argkmin(x, k, axis), sorted_(x, k, axis))
        same(mdhnp.argkmin(x[::-1, 1::2], k, axis), sorted_(x[::-1, 1::2], k, axis))


@pytest.mark.parametrize("shape", [(300_000,), (2, 70_001), (3, 4, 5)])
def test_rows_are_cut_where_there_are_few(shape: tuple[int, ...], device: Device) -> None:
    x = np.random.default_rng(0).integers(0, 1000, shape).astype(np.float32)
    wanted = sorted_(x, 5, x.ndim - 1)
    with mdhnp.config(host="never"):
        same(mdhnp.argkmin(x, 5), wanted)
        found = mdhnp.argkmin(mdhnp.asarray(x, device=separate(device)), 5)
    same([f.numpy() for f in found], wanted)


def test_numpy_computes_the_same() -> None:
    x = values((23, 19), np.float32)
    for _ in range(2):
        same(mdhnp.argkmin(x, 3, 0), sorted_(x, 3, 0))


@pytest.mark.parametrize("length", [1, 3, 17])
def test_nearest_neighbours_are_found_in_one_pass(length: int, device: Device) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 4, (n, length)).astype(np.float32) for n in (150, 170))
    squares = ((x[:, None] - y) ** 2).sum(axis=2)
    fused = mdhnp.fuse(lambda x, y: mdhnp.argkmin(((x[:, None] - y) ** 2).sum(axis=2), 6))
    first, _ = fused.rewriting(x, y).after.steps
    assert first.mdhom.extents == (150, 170)
    with mdhnp.config(host="never"):
        same(fused(x, y), sorted_(squares, 6, 1))


def test_neighbours_among_few_are_not_written_out(device: Device) -> None:
    """Nine applications of an operator of four results would be text without end."""
    rng = np.random.default_rng(0)
    x, y = rng.random((50, 3)), rng.random((9, 3))
    fused = mdhnp.fuse(lambda x, y: mdhnp.argkmin(((x[:, None] - y) ** 2).sum(axis=2), 2))
    with mdhnp.config(host="never"):
        _, places = fused(x, y)
    np.testing.assert_array_equal(places, np.argsort(((x[:, None] - y) ** 2).sum(axis=2), axis=1, stable=True)[:, :2])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 2], 0), ValueError, "argkmin: k is 0; it must be 1 to 2"),
        (([1, 2], 3), ValueError, "there are 2 elements"),
        ((np.zeros(100), 33), ValueError, "it must be 1 to 32"),
        (([1, 2], 1, 1), ValueError, "axis 1 is out of bounds"),
        (([1j, 2], 1), TypeError, "complex numbers have no order"),
        (([1, 2], 1.5), TypeError, "k must be int, not 1.5"),
    ],
)
def test_what_cannot_be_is_named(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        mdhnp.argkmin(*arguments)
