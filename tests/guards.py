"""Memory that shows what a kernel should not have touched: garbage in it, and all around it.

Bytes 0xFF are NaN in every float type, -1 or the largest number in integers, and no bool: what a kernel reads beside an
array, or leaves as it was, shows in the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Elements of garbage before and after an array; odd, so that arrays are aligned for their elements only.
_BESIDE = 333


def garbage(shape: Sequence[int], dtype: Any) -> Array:
    """An array that nothing was written to."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    return np.full(count * dtype.itemsize, 0xFF, np.uint8).view(dtype).reshape(shape)


def guarded(array: Array) -> Array:
    """The same elements in C order, between others."""
    place = unwritten(array.shape, array.dtype)
    place[...] = array
    return place


def unwritten(shape: Sequence[int], dtype: Any) -> Array:
    """Garbage between garbage, in C order: for results."""
    count = int(np.prod(shape, dtype=np.int64))
    whole = garbage([count + 2 * _BESIDE], dtype)
    return whole[_BESIDE : _BESIDE + count].reshape(shape)


def _owner(array: Array) -> Array:
    """Bytes of the memory that an array lies in."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.reshape(-1).view(np.uint8) if array.flags.c_contiguous else np.ascontiguousarray(array).view(np.uint8)


@contextmanager
def untouched(inputs: Sequence[Array], outputs: Sequence[Array]) -> Iterator[None]:
    """Assert that nothing changes but the outputs, which come from :func:`unwritten`."""
    memory = [_owner(a) for a in inputs]
    before = [m.copy() for m in memory]
    yield
    for number, (was, now) in enumerate(zip(before, memory, strict=True)):
        assert np.array_equal(was, now), f"input {number} changed"
    for number, output in enumerate(outputs):
        whole, size = _owner(output), output.nbytes
        beside = _BESIDE * output.itemsize
        assert (whole[:beside] == 0xFF).all(), f"written before output {number}"
        assert (whole[beside + size :] == 0xFF).all(), f"written after output {number}"


def assert_same_bits(got: Array, want: Array, message: str = "") -> None:
    """Assert equal elements, and of bools that they are 0 or 1."""
    if got.dtype == np.bool_:
        got, want = got.view(np.uint8), np.asarray(want).view(np.uint8)
    np.testing.assert_array_equal(got, want, err_msg=message)
