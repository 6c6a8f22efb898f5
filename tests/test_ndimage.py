"""SciPy's filters inside of `patch` blocks: what SciPy gives, by kernels or, where these would differ, by SciPy."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

import mdhnp
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import ByNumpy, Kernels
from mdhnp.calls.store import entries
from mdhnp.frontend import ndimage as module
from mdhnp.runtime.devices import Device

ORIGINAL = {name: getattr(ndimage, name) for name in ("correlate", "convolve", "gaussian_filter", "uniform_filter")}
MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"]
RNG = np.random.default_rng(0)
IMAGE, WEIGHTS = RNG.standard_normal((17, 23)), RNG.standard_normal((3, 4))


def here(call: Callable[[], Any]) -> Any:
    """Make a call by kernels; an error where SciPy would have to."""
    with mdhnp.config(host="never", fallback="error"), mdhnp.patch(), observe() as seen:
        found = call()
    assert seen and all(isinstance(plan, Kernels) for plan, _ in seen)
    assert all(getattr(ndimage, name) is f for name, f in ORIGINAL.items())
    return found


def same(found: Any, wanted: Any, exactly: float = 1e-12) -> None:
    exactly = 1e-5 if wanted.dtype.char == "f" else exactly
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
    np.testing.assert_allclose(found, wanted, rtol=exactly, atol=exactly * largest, strict=True)


@pytest.mark.parametrize("mode", MODES)
def test_modes(device: Device, mode: str) -> None:
    for call in (
        partial(ndimage.correlate, IMAGE, WEIGHTS, mode=mode, cval=0.7, origin=(1, -2)),
        partial(ndimage.convolve, IMAGE, WEIGHTS, mode=mode, cval=np.inf),
        partial(ndimage.gaussian_filter, IMAGE, (1.5, 3), mode=mode, cval=-2),
        partial(ndimage.uniform_filter, IMAGE, (3, 4), mode=mode, cval=0.7, origin=(-1, 1)),
    ):
        same(here(lambda call=call: getattr(ndimage, call.func.__name__)(*call.args, **call.keywords)), call())


#: Calls with what else arguments may be, by the array.
CALLS: dict[str, Callable[[Any], Any]] = {
    "axes": lambda x: ndimage.correlate(x, WEIGHTS, axes=(-2, 1), origin=(0, 1)),
    "an axis": lambda x: ndimage.convolve(x, [1, 2, 4], axes=(-1,)),
    "many weights": lambda x: ndimage.correlate(x, np.arange(90.0).reshape(9, 10), origin=(2, -3)),
    "some of many": lambda x: ndimage.correlate(x, np.tri(12)),
    "tiny weights": lambda x: ndimage.correlate(x, [[1e-17, 1, 1e-15]]),
    "larger than the array": lambda x: ndimage.convolve(x[:2, :3], np.arange(40.0).reshape(5, 8), mode="mirror"),
    "order": lambda x: ndimage.gaussian_filter(x, 2, order=(1, 2)),
    "radius": lambda x: ndimage.gaussian_filter(x, 2, radius=(3, 40), axes=(1, 0)),
    "truncate": lambda x: ndimage.gaussian_filter(x, (0, 1.3), truncate=2),
    "modes": lambda x: ndimage.gaussian_filter(x, 1, mode=("wrap", "constant"), cval=3),
    "sizes": lambda x: ndimage.uniform_filter(x, (1, 5), mode=("nearest", "wrap")),
    "wide": lambda x: ndimage.uniform_filter(x, 71, axes=1),
    "into": lambda x: ndimage.gaussian_filter(x, 1, output=np.empty(x.shape, "f4")),
    "into itself": lambda x: ndimage.uniform_filter(x, output=x),
    "wider": lambda x: ndimage.correlate(x, WEIGHTS, output=np.float64),
    "by name": lambda x: ndimage.uniform_filter(x, 3, output="float32"),
    "a list": lambda x: ndimage.convolve(x.tolist(), WEIGHTS),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_arguments(device: Device, dtype: str, name: str) -> None:
    first, second = IMAGE.astype(dtype), IMAGE.astype(dtype)
    same(here(lambda: CALLS[name](first)), CALLS[name](second))
    same(first, second)


@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "u8", ">f4", "f8"])
def test_types_of_arrays(device: Device, dtype: str) -> None:
    image = RNG.integers(0, 100, (9, 8)).astype(dtype)
    for into in (np.float32, np.float64):
        call = lambda into=into: ndimage.correlate(image, WEIGHTS, into, "constant", 0.5)  # noqa: E731
        same(here(call), call())


@settings(max_examples=15)
@given(data=st.data())
def test_any(device: Device, data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = data.draw(st.tuples(*[st.integers(1, 8)] * rank))
    along = sorted(data.draw(st.permutations(range(rank)))[: data.draw(st.integers(1, rank))])
    size = data.draw(st.tuples(*[st.integers(1, 5)] * len(along)))
    origin = [data.draw(st.integers(-(n // 2), (n - 1) // 2)) for n in size]
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    image = rng.standard_normal(shape).astype(data.draw(st.sampled_from(["f4", "f8"])))
    keywords: dict[str, Any] = {"mode": data.draw(st.sampled_from(MODES)), "cval": 0.25, "axes": tuple(along)}
    weights = rng.standard_normal(size)
    turned = [-n - (k % 2 == 0) for n, k in zip(origin, size, strict=True)]
    for call in (
        lambda: ndimage.correlate(image, weights, origin=origin, **keywords),
        lambda: ndimage.convolve(image, weights, origin=turned, **keywords),
        lambda: ndimage.uniform_filter(image, [n + 1 for n in size], origin=origin, **keywords),
        lambda: ndimage.gaussian_filter(image, [0.4 * n for n in size], **keywords),
    ):  # fmt: skip
        same(here(call), call())


def test_nan_times_a_weight_of_zero(device: Device) -> None:
    holed = IMAGE.copy()
    holed[4, 5] = np.nan
    for call in (
        lambda: ndimage.correlate(holed, [[0, 1, 2], [1, 0, 0]]),
        lambda: ndimage.gaussian_filter(holed, 1, order=1),
    ):
        np.testing.assert_array_equal(np.isnan(here(call)), np.isnan(call()))


#: Calls that SciPy computes: of types in which a sum in another order may be another number, or without meaning.
LEFT: dict[str, Callable[[], Any]] = {
    "integers": lambda: ndimage.gaussian_filter(np.arange(9), 1),
    "into integers": lambda: ndimage.correlate(IMAGE, WEIGHTS, np.uint8),
    "complex": lambda: ndimage.uniform_filter(IMAGE * 1j),
    "complex weights": lambda: ndimage.correlate(IMAGE, WEIGHTS * 1j),
    "no elements": lambda: ndimage.gaussian_filter(np.ones((0, 3)), 1),
    "nothing to do": lambda: ndimage.gaussian_filter(IMAGE, 0),
    "float16": lambda: ndimage.correlate(np.ones((3, 3), "f2"), WEIGHTS),
    "mode": lambda: ndimage.convolve(IMAGE, WEIGHTS, mode="valid"),
    "origin": lambda: ndimage.uniform_filter(IMAGE, 3, origin=2),
    "axes in another order": lambda: ndimage.correlate(IMAGE, WEIGHTS, axes=(1, 0)),
    "rank": lambda: ndimage.correlate(IMAGE, [1, 2]),
    "order": lambda: ndimage.gaussian_filter(IMAGE, 1, order=-1),
    "axis": lambda: ndimage.uniform_filter(IMAGE, axes=5),
    "keyword": lambda: ndimage.correlate(IMAGE, WEIGHTS, nothing=1),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_to_scipy(name: str) -> None:
    try:
        wanted, error = LEFT[name](), None
    except Exception as raised:
        wanted, error = None, raised
    with mdhnp.config(host="never"), mdhnp.patch(), observe() as seen:
        if error is None:
            np.testing.assert_array_equal(LEFT[name](), wanted, strict=True)
        else:
            with pytest.raises(type(error)):
                LEFT[name]()
    assert not seen


def test_scipy_computes_until_kernels_are_faster(device: Device) -> None:
    with mdhnp.config(host="auto", tuning="off"), mdhnp.patch(), mdhnp.device(device), observe() as seen:
        found = ndimage.uniform_filter(IMAGE[:, :19], 5)
    by = [plan.function.name for plan, _ in seen if isinstance(plan, ByNumpy)]
    assert by == ["scipy.ndimage.uniform_filter1d"] * 2
    np.testing.assert_array_equal(found, ndimage.uniform_filter(IMAGE[:, :19], 5))


def test_arrays_stay_where_they_are(where: Device) -> None:
    image = mdhnp.asarray(IMAGE)
    with mdhnp.config(tuning="off"), mdhnp.patch():
        found = ndimage.gaussian_filter(image, 2)
        assert type(found) is mdhnp.Array and found.device is where
        same(found.numpy(), ndimage.gaussian_filter(IMAGE, 2))
        fused = mdhnp.fuse(lambda x: np.sqrt(ndimage.uniform_filter(x * x)))(image)
        same(fused.numpy(), np.sqrt(ndimage.uniform_filter(IMAGE**2)))
        with pytest.raises(TypeError, match="correlate: a result of int64"):
            ndimage.correlate(mdhnp.asarray(np.arange(9)), [1, 2])


def test_nan_outside_is_no_new_call_each_time(device: Device) -> None:
    with mdhnp.config(host="never"), mdhnp.patch(), mdhnp.device(device):
        counts = []
        for _ in range(3):
            ndimage.correlate(IMAGE[:11], WEIGHTS, mode="constant", cval=float("nan"))
            counts.append(len(entries))
    assert counts[0] == counts[1] == counts[2]


@pytest.mark.parametrize("name", ["correlate", "convolve"])
def test_older_versions_of_scipy_know_no_axes_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def older(x: Any, w: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0) -> Any:
        return ORIGINAL[name](x, w, output, mode, cval, origin)

    monkeypatch.setattr(module, f"_{name.upper()}", older)
    with mdhnp.patch():  # integers are left to SciPy
        found = getattr(ndimage, name)(np.arange(9), [1, 2, 4])
    np.testing.assert_array_equal(found, ORIGINAL[name](np.arange(9), [1, 2, 4]))


def test_arrays_of_other_libraries_are_left_to_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise TypeError("is not copied to the host")

    monkeypatch.setattr(module, "_GAUSSIAN", lambda x, *_, **__: x)  # as SciPy hands CuPy's arrays on to CuPy
    image = Elsewhere()
    with mdhnp.patch():
        assert ndimage.gaussian_filter(image, 2) is image
