"""Functions that give an Array's elements in other axes or a new array: NumPy's values, shapes, types and errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arrays import same
from separate import separate

import mdhnp
from mdhnp.runtime.devices import Device


def places(device: Device) -> tuple[Device, Device]:
    """The device, and one with memory of its own."""
    return device, separate(device)


def compare(device: Device, call: Callable[..., Any], *given: Any) -> bool:
    """Make a call on Arrays and on ndarrays: the same results, or errors of one type; say whether it gave results."""
    ours = [mdhnp.asarray(a, device=device) for a in given]
    try:
        expected = call(np, *given)
    except Exception as error:
        with pytest.raises(type(error)):
            call(mdhnp, *ours)
        return False
    found = call(mdhnp, *ours)
    pairs = [(found, expected)] if isinstance(expected, np.ndarray) else list(zip(found, expected, strict=True))
    for f, e in pairs:
        assert isinstance(f, mdhnp.Array) and f.device is device
        assert (f.shape, f.dtype) == (e.shape, e.dtype)
        np.testing.assert_array_equal(f.numpy(), e)
    return True


@pytest.mark.parametrize("call", [
    lambda xp, x: xp.permute_dims(x, (2, 0, 1)),
    lambda xp, x: xp.permute_dims(x, (-1, 1, 0)),
    lambda xp, x: xp.matrix_transpose(x),
    lambda xp, x: xp.swapaxes(x, 0, -1),
    lambda xp, x: xp.moveaxis(x, 0, -1),
    lambda xp, x: xp.moveaxis(x, (0, 1), (-1, 0)),
    lambda xp, x: xp.expand_dims(x, axis=1),
    lambda xp, x: xp.expand_dims(x, axis=(0, -1)),
    lambda xp, x: xp.squeeze(x),
    lambda xp, x: xp.squeeze(x, axis=1),
    lambda xp, x: xp.flip(x),
    lambda xp, x: xp.flip(x, axis=(0, -1)),
    lambda xp, x: xp.unstack(x),
    lambda xp, x: xp.unstack(x, axis=-1),
    lambda xp, x: xp.reshape(x, (4, 3)),
    lambda xp, x: xp.reshape(x, -1, copy=False),
])  # fmt: skip
def test_views_share_memory(device: Device, call: Callable[[Any, Any], Any]) -> None:
    a = np.arange(12, dtype="f4").reshape(3, 1, 4)
    for where in places(device):
        x = mdhnp.asarray(a, device=where, copy=True)
        found = call(mdhnp, x)
        for view in found if isinstance(found, tuple) else (found,):
            assert np.shares_memory(view._view, x._view)
        compare(where, call, a)


@pytest.mark.parametrize("call", [
    lambda xp, x: xp.permute_dims(x, (0, 1)),
    lambda xp, x: xp.permute_dims(x, (0, 1, 1)),
    lambda xp, x: xp.matrix_transpose(x[0, 0]),
    lambda xp, x: xp.swapaxes(x, 0, 3),
    lambda xp, x: xp.moveaxis(x, 0, 3),
    lambda xp, x: xp.expand_dims(x, axis=5),
    lambda xp, x: xp.squeeze(x, axis=0),
    lambda xp, x: xp.flip(x, axis=3),
    lambda xp, x: xp.unstack(x[0, 0, 0]),
    lambda xp, x: xp.unstack(x, axis=3),
    lambda xp, x: xp.reshape(x, (5, 2)),
    lambda xp, x: xp.reshape(x, (4, 3), order="K"),
    lambda xp, x: x.reshape(4, 3, order="X"),
    lambda xp, x: xp.reshape(x, (4, 3), order=1),
    lambda xp, x: xp.reshape(x, (5, -1), order="F"),
    lambda xp, x: xp.reshape(x, -1, order="F", copy=False),
    lambda xp, x: xp.reshape(x, (5, -1)),
    lambda xp, x: xp.reshape(x, (-1, -1)),
    lambda xp, x: xp.reshape(xp.permute_dims(x, (2, 1, 0)), (12,), copy=False),
    lambda xp, x: xp.concat([]),
    lambda xp, x: xp.concat([x, x[0]]),
    lambda xp, x: xp.concat([x, x[:, 0]], axis=2),
    lambda xp, x: xp.concat([x[0], x[0, 0]], axis=1),
    lambda xp, x: xp.concat([x, x[1:]], axis=2),
    lambda xp, x: xp.concat([x, x], axis=3),
    lambda xp, x: xp.concat([x[0, 0, 0], x[0, 0, 0]]),
    lambda xp, x: xp.stack([]),
    lambda xp, x: xp.stack([x, x[0]]),
    lambda xp, x: xp.stack([x, x], axis=4),
    lambda xp, x: xp.roll(x, 1, axis=3),
    lambda xp, x: xp.roll(x, (1, 2), axis=(0, 1, 2)),
    lambda xp, x: xp.tile(x, -1),
    lambda xp, x: xp.tile(x, 0.5),
    lambda xp, x: xp.repeat(x, -1),
    lambda xp, x: xp.repeat(x, 2, axis=3),
])  # fmt: skip
def test_errors_are_of_numpy_s_types(device: Device, call: Callable[[Any, Any], Any]) -> None:
    for where in places(device):
        assert not compare(where, call, np.arange(12, dtype="f4").reshape(3, 1, 4))


def test_elements_are_moved_by_kernels(device: Device) -> None:
    """On a CPU device NumPy moves them, as `test_array_api.py` has it."""
    a = np.arange(24, dtype="f4").reshape(2, 3, 4)
    calls: tuple[Callable[..., Any], ...] = (
        lambda xp, x: xp.reshape(x, (6, -1), order="F"), lambda xp, x: x.reshape(4, 6, order="f"),
        lambda xp, x: xp.reshape(x, 24, order="A"), lambda xp, x: x.T.reshape(4, -1, order="A"),
        lambda xp, x: xp.reshape(x, np.int64(24), "F"), lambda xp, x: x.reshape((4, 6), order=None),
        lambda xp, x: xp.reshape(x[:, ::-1].T, (4, 6), "A"),
        lambda xp, x: xp.reshape(x.T, (6, -1)), lambda xp, x: xp.reshape(x, (4, 6), copy=True),
        lambda xp, x: xp.concat([x, x[:, :1], x[:, ::-1]], axis=1), lambda xp, x: xp.concat([x[0], x[1, 0]], axis=None),
        lambda xp, x: xp.stack([x[0], x[1]], axis=-1), lambda xp, x: xp.roll(x, (1, -2), axis=(0, 2)),
        lambda xp, x: xp.roll(x.T, 5), lambda xp, x: xp.tile(x[0], (2, 1, 3)), lambda xp, x: xp.repeat(x, 2, axis=1),
        lambda xp, x: xp.repeat(x[:0], 3),
    )  # fmt: skip
    for call in calls:
        assert compare(separate(device), call, a)


def test_flip_of_an_array_without_axes_is_one(device: Device) -> None:
    """NumPy's gives the element, which it cannot read on a device."""
    number = np.asarray(np.float32(3))
    for where in places(device):
        x = mdhnp.asarray(number, device=where)
        for flip in (mdhnp.flip, np.flip):
            same(flip(x), number)


def test_several_repeats_are_numpy_s(device: Device) -> None:
    a = np.arange(3)
    for where in places(device):
        compare(where, lambda xp, x: xp.repeat(x, [1, 0, 2]), a)


def test_ndarrays_beside_arrays(device: Device) -> None:
    a = np.arange(6, dtype="f4").reshape(2, 3)
    for where in places(device):
        x = mdhnp.asarray(a, device=where)
        for found in (mdhnp.concat([a, x, a.astype("f8")]), mdhnp.stack([x.astype("f8"), a])):
            assert isinstance(found, mdhnp.Array) and found.device is where
            assert found.dtype == np.float64
            np.testing.assert_array_equal(found.numpy().reshape(-1, 2, 3)[0], a)
    assert isinstance(mdhnp.concat([a, a]), np.ndarray)


def test_arrays_on_several_devices_are_refused(device: Device) -> None:
    x, y = (mdhnp.asarray(np.ones(3), device=where) for where in places(device))
    if x.device is y.device:
        pytest.skip("a GPU is one place")
    for function in (mdhnp.concat, mdhnp.stack):
        with pytest.raises(ValueError, match="to_device"):
            function([x, y])


def test_changes_are_seen_in_views_and_not_in_copies(device: Device) -> None:
    for where in places(device):
        x = mdhnp.asarray(np.zeros((2, 3)), device=where, copy=True)
        views = [mdhnp.flip(x), x.ravel(), mdhnp.unstack(x)[0]]
        copies = [x.flatten(), mdhnp.reshape(x.T, (-1,)), mdhnp.roll(x, 0), mdhnp.tile(x, 1), mdhnp.concat([x])]
        x[...] = 1
        assert all(v.numpy().all() for v in views)
        assert not any(c.numpy().any() for c in copies)


def test_what_is_no_array_is_numpy_s() -> None:
    nested: Any = [[1, 2], [3, 4]]
    for call in (
        lambda xp: xp.reshape(nested, (4,)), lambda xp: xp.flip(nested, axis=1), lambda xp: xp.roll(nested, 1),
        lambda xp: xp.tile(nested, (1, 2)), lambda xp: xp.repeat(nested, [1, 2], axis=0), lambda xp: xp.stack(nested),
        lambda xp: xp.concat(nested), lambda xp: xp.unstack(np.array(nested))[1],
    ):  # fmt: skip
        found, expected = call(mdhnp), call(np)
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)
