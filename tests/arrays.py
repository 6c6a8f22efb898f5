"""What tests of Arrays share."""

from typing import Any

import numpy as np

import mdhnp

__all__ = ["filled", "same"]


def filled(shape: Any, dtype: Any = np.float32) -> Any:
    """Give the numbers from 0 on."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def same(array: Any, expected: Any) -> None:
    """Check that an Array has exactly what an ndarray has."""
    assert type(array) is mdhnp.Array
    assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(array.numpy(), expected)
