"""Reductions, scans and differences: layouts, accuracy, ndarrays; `test_array_kernels.py` has values of all types."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from separate import separate

import mdhnp
from mdhnp.runtime.devices import Device

REDUCTIONS = ["sum", "prod", "max", "min", "any", "all", "count_nonzero", "mean", "var", "std"]
PLACES = ["argmax", "argmin"]
DTYPES = ["?", "i1", "u4", "i8", "f2", "f4", "f8", "c8", "c16"]


def places(device: Device) -> tuple[Device, Device]:
    """The device, and one with memory of its own."""
    return device, separate(device)


def numbers(shape: Any, dtype: Any, seed: int = 0) -> Any:
    """Small whole numbers, some of them 0."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    found = rng.integers(0 if dtype.kind in "ub" else -2, 3, shape)
    return (found + 1j * rng.integers(-2, 3, shape) if dtype.kind == "c" else found).astype(dtype)


def same(found: Any, expected: Any) -> None:
    """Check values, shape and type; floats but for rounding."""
    if isinstance(found, mdhnp.Array):
        found = found.numpy()
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    if expected.dtype.kind in "fc":
        tolerance = 2 * np.finfo(expected.dtype).eps
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(found, expected)


def compare(device: Device, name: str, a: Any, *args: Any, **options: Any) -> None:
    """Call ours with an Array, and NumPy's with the ndarray: the same result, or errors of the same type."""
    x = mdhnp.asarray(a, device=device)
    try:
        expected = getattr(np, name)(a, *args, **options)
    except Exception as error:
        with pytest.raises(type(error)):
            getattr(mdhnp, name)(x, *args, **options)
        return
    found = getattr(mdhnp, name)(x, *args, **options)
    assert isinstance(found, mdhnp.Array) and found.device is device
    same(found, expected)


def test_ndarrays_are_taken(device: Device) -> None:
    a = numbers((5, 7), "c8")
    for name in ("sum", "var", "argmax"):
        compare(device, name, a, axis=1)
        found, expected = (getattr(namespace, name)(a, axis=1) for namespace in (mdhnp, np))
        assert type(found) is np.ndarray
        same(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_other_byte_orders(name: str, dtype: str) -> None:
    a = numbers((5, 7), dtype)
    same(getattr(mdhnp, name)(a.astype(a.dtype.newbyteorder()), axis=1), getattr(mdhnp, name)(a, axis=1))


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("dtype", ["?", "i1", "i8", "c8"])
def test_spreads_in_types_that_are_not_of_floats(device: Device, dtype: str) -> None:
    """NumPy adds in that type, cuts off means and results, and does not cut off roots of several numbers."""
    chosen = {"axis": 1, "keepdims": True, "where": np.arange(4) != 2}
    for kind in ("?", "i4", "f4", "c16"):
        a = numbers((3, 4), kind)
        for name in ("var", "std"):
            compare(device, name, a, dtype=dtype)
        if (kind, dtype) != ("?", "?"):
            compare(device, "var", a, axis=0, correction=1, dtype=dtype)
            compare(device, "var", a, dtype=dtype, **chosen)
    x = mdhnp.asarray(a, device=device)
    if dtype == "c8":
        compare(device, "std", a, dtype=dtype, **chosen)
    else:
        for xp, given in ((np, a), (mdhnp, x)):
            with pytest.raises(TypeError):
                xp.std(given, axis=0, dtype=dtype)


def test_moments_of_ndarrays_are_numpy_s_scalars() -> None:
    a = numbers((3, 4), "i4")
    for how in ({"dtype": np.int64}, {"where": a > 0}):
        for name in ("mean", "var", "std"):
            found = getattr(mdhnp, name)(a, **how)
            assert isinstance(found, np.generic)
            same(found, getattr(np, name)(a, **how))


@st.composite
def operands(draw: Any, min_dims: int = 0) -> Any:
    """An array of any layout, some of them empty, an axis, and whether it stays."""
    shape = draw(array_shapes(min_dims=min_dims, max_dims=3, min_side=0, max_side=4))
    a = numbers(shape, "f4", draw(st.integers(0, 9)))
    layout = draw(st.sampled_from(["C", "F", "strided"]))
    if layout == "F":
        a = np.asfortranarray(a)
    elif layout == "strided":
        wide = np.zeros([2 * n for n in shape], a.dtype)[(..., *[slice(None, None, -2)] * len(shape))]
        wide[...] = a
        a = wide
    axes = st.integers(-a.ndim, a.ndim - 1) if a.ndim else st.nothing()
    return a, axes, draw(st.booleans())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of means of nothing
@settings(max_examples=10)
@given(operands(), st.sampled_from(["sum", "var", "argmax"]), st.data())
def test_axes_and_layouts(device: Device, drawn: Any, name: str, data: Any) -> None:
    a, axes, keepdims = drawn
    several = st.lists(axes, unique_by=lambda d: d % a.ndim, max_size=a.ndim).map(tuple)
    axis = data.draw(st.none() | axes | (st.nothing() if name == "argmax" else several))
    for where in places(device):
        compare(where, name, a, axis=axis, keepdims=keepdims)


def test_sums_of_given_types(device: Device) -> None:
    for where in places(device):
        compare(where, "sum", numbers((3, 4), "i4"), dtype=np.float32)
        compare(where, "prod", numbers((3, 4), "f4"), axis=0, dtype=np.float64, keepdims=True)
        compare(where, "mean", numbers((3, 4), "f4") * 1.75, axis=0, dtype=np.int32)
        compare(where, "mean", numbers((3, 4), "i8"), dtype=np.uint8, keepdims=True)
        compare(where, "mean", numbers((3, 4), "f8"), axis=1, dtype=np.bool_)
    compare(device, "sum", np.full((3, 200), 100, np.int8), axis=1, dtype=np.int8)  # wraps around
    chosen = np.arange(12).reshape(3, 4) % 5 > 0
    compare(device, "mean", numbers((3, 4), "f4") * 1.75, axis=0, dtype=np.int16, where=chosen)


def test_half_precision_is_added_in_single(device: Device) -> None:
    ones = mdhnp.asarray(np.ones((70_000, 2), np.float16), device=device)
    assert mdhnp.sum(ones[:4096], axis=0).tolist() == [4096, 4096]
    assert mdhnp.mean(ones, axis=0).tolist() == [1, 1]
    assert mdhnp.var(ones, axis=0).tolist() == [0, 0]
    assert mdhnp.cumulative_sum(ones[:2100, 0])[-1].item() == 2100


@pytest.mark.parametrize("host", ["never", "auto"])
@pytest.mark.parametrize("name", ["sum", "mean", "var"])
def test_as_accurate_as_numpy(device: Device, name: str, host: Any) -> None:
    errors = np.zeros((2, 10))
    with mdhnp.config(host=host):
        for seed in range(10):
            x = np.random.default_rng(seed).random(1_000_000, np.float32) + np.float32(3)
            right = getattr(np, name)(x.astype(np.float64))
            errors[:, seed] = getattr(mdhnp, name)(x) - right, getattr(np, name)(x) - right
    ours, numpys = np.sqrt(np.mean(errors**2, axis=1))
    assert ours <= 2 * numpys


def test_scans(device: Device) -> None:
    for where in places(device):
        compare(where, "cumulative_sum", numbers((6, 4, 5), "c8").T[:, ::-2], axis=(1,))
        compare(where, "cumulative_sum", numbers((4, 6), "f4"), axis=0, include_initial=True)
        compare(where, "cumulative_prod", numbers((6, 4), "i1").T, axis=-1, include_initial=True)
        compare(where, "cumulative_sum", numbers((0, 3), "f4"), axis=0, include_initial=True)
        compare(where, "cumulative_prod", numbers((), "f4"))
        compare(where, "cumulative_sum", numbers((300,), "i4"), dtype=np.float32)


def test_differences(device: Device) -> None:
    a = numbers((4, 5), "f4")
    for where in places(device):
        compare(where, "diff", a.T[::-1])
        compare(where, "diff", a, axis=0, n=2, prepend=7, append=a)


@pytest.mark.parametrize("call", [
    lambda xp, x: xp.sum(x, axis=2),
    lambda xp, x: xp.sum(x, axis=(0, 0)),
    lambda xp, x: xp.sum(x, axis=0.5),
    lambda xp, x: xp.max(x[:0]),
    lambda xp, x: xp.min(x[:, :0], axis=1),
    lambda xp, x: xp.argmax(x[:0]),
    lambda xp, x: xp.argmin(x[:, :0], axis=1),
    lambda xp, x: xp.argmax(x, axis=(0, 1)),
    lambda xp, x: xp.mean(x, axis=-3),
    lambda xp, x: xp.cumulative_sum(x),
    lambda xp, x: xp.cumulative_sum(x, axis=2),
    lambda xp, x: xp.diff(x, n=-1),
    lambda xp, x: xp.diff(x, axis=2),
    lambda xp, x: xp.diff(xp.sum(x)),
])  # fmt: skip
def test_errors_are_of_numpy_s_types(device: Device, call: Callable[[Any, Any], Any]) -> None:
    a = numbers((3, 4), "f4")
    with pytest.raises((ValueError, TypeError)) as numpys:
        call(np, a)
    for x in (a, *(mdhnp.asarray(a, device=where) for where in places(device))):
        with pytest.raises(numpys.type):
            call(mdhnp, x)


def test_other_types_are_numpy_s(device: Device) -> None:
    words = np.array([3, 1, 2], object)
    for name in (*REDUCTIONS[:-1], *PLACES):  # objects have no square root
        assert getattr(mdhnp, name)(words) == getattr(np, name)(words)
    assert mdhnp.cumulative_sum(words).tolist() == [3, 4, 6]
    assert mdhnp.diff(words).tolist() == [-2, 1]
    assert mdhnp.sum(np.array([1, 2]), dtype=object) == 3


def test_numpy_computes_until_kernels_are_faster(device: Device) -> None:
    """Whatever the function, type and layout: kernels are not asked for where `config.host` is "auto"."""
    with mdhnp.config(host="auto", tuning="off"):
        for dtype in DTYPES:
            for a in (numbers((4, 1, 6), dtype), numbers((6, 1, 4), dtype).T, numbers((8, 1, 6), dtype)[::-2]):
                for name in (*REDUCTIONS, *PLACES, "cumulative_sum", "cumulative_prod"):
                    axes = [0, 2] if name[:3] in ("arg", "cum") else [None, 0, (0, 2)]
                    last = "include_initial" if name[:3] == "cum" else "keepdims"
                    for axis in axes:
                        for given in (False, True):
                            before = mdhnp.host_counts().get(name, 0)
                            found = getattr(mdhnp, name)(a, axis=axis, **{last: given})
                            assert mdhnp.host_counts()[name] - before == (
                                2 if name in ("var", "std") and np.dtype(dtype).char == "e" else 1
                            )
                            same(found, getattr(np, name)(a, axis=axis, **{last: given}))
                            assert np.asarray(found).flags.c_contiguous


@pytest.mark.parametrize(("length", "dtype", "bits"), [(2**31 - 1, "f4", 32), (2**31, "f4", 64), (7, "f8", 64)])
def test_places_are_as_wide_as_values_where_they_fit(length: int, dtype: str, bits: int) -> None:
    x = np.broadcast_to(np.zeros((), dtype), (length,))
    (step,) = mdhnp.fuse(mdhnp.argmin).rewriting(x).before.steps
    assert [t.itemsize * 8 for t in step.mdhom.scalar.dtypes[1:]] == [bits]
    assert step.mdhom.outputs[0].dtype == np.int64
