"""What tests of Arrays share."""

from typing import Any

import numpy as np

import mdhnp
from mdhnp.runtime.devices import Device

__all__ = ["close", "filled", "same"]


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
