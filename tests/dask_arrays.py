"""Arrays of dask's for tests, of numbers whose sums are exact, and what their results are compared with."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np

import mdhnp

Array = np.ndarray[Any, Any]

SCAN = mdhnp.ps("add")
WEIGHTS = np.arange(9).reshape(3, 3)


def numbers(shape: tuple[int, ...], dtype: Any = "i8", seed: int = 0) -> Array:
    found = np.random.default_rng([seed, *shape]).integers(-4, 5, shape)
    return found % 2 == 0 if dtype == "?" else found.astype(dtype)


def results(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def assert_same(found: Any, want: Any) -> None:
    """Assert that arrays of dask's have the values, shapes and types of others; sums of integers are exact."""
    for got, exact in zip(results(found), results(want), strict=True):
        assert isinstance(got, da.Array)
        value = got.compute()
        assert (value.dtype, value.shape) == (np.asarray(exact).dtype, np.shape(exact)) == (got.dtype, got.shape)
        np.testing.assert_array_equal(value, exact)


def softmax(x: Any) -> Any:
    """Of zeros in most tests, so that its values are exact."""
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
