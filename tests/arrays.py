"""What tests of Arrays share."""

from typing import Any

import numpy as np

import mdhnp
from mdhnp.runtime.devices import Device

__all__ = ["close", "filled", "layouts", "same"]


def filled(shape: Any, dtype: Any = np.float32) -> Any:
    """Give the numbers from 0 on."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def same(array: Any, expected: Any) -> None:
    """Check that an Array has exactly what an ndarray has."""
    assert type(array) is mdhnp.Array
    assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(array.numpy(), expected)


def close(found: Any, expected: Any, where: Device, rtol: float = 1e-5, atol: float = 0) -> None:
    """Check that an Array on a device has what an ndarray has, within rounding; of several, each."""
    if isinstance(expected, tuple | list):
        assert type(found) is type(expected)
        for each, one in zip(found, expected, strict=True):
            close(each, one, where, rtol, atol)
        return
    expected = np.asarray(expected)
    assert type(found) is mdhnp.Array
    assert (found.device, found.shape, found.dtype) == (where, expected.shape, expected.dtype)
    np.testing.assert_allclose(found.numpy(), expected, rtol=rtol, atol=atol)


def layouts(a: Any) -> list[Any]:
    """Give arrays of the same elements that lie otherwise."""
    wide = np.zeros([2 * n for n in a.shape], a.dtype)[(..., *(slice(None, None, 2) for _ in a.shape))]
    wide[...] = a
    odd = np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape)
    back = np.array(a[(..., *[slice(None, None, -1)] * a.ndim)], order="C")[(..., *[slice(None, None, -1)] * a.ndim)]
    return [np.array(a, order="F"), wide, odd, back, a]
