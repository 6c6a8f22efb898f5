"""Indices that are values: masks and arrays of whole numbers, with which NumPy reads and writes copies.

Which elements they name is known only when they are read, so that it takes the settings' leave.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mdhnp.arrays.array import Array
from mdhnp.calls.arrays import brought
from mdhnp.calls.operands import fallback
from mdhnp.settings import config

__all__ = ["read", "write"]


def read(array: Array, key: Any) -> Any:
    """Give a new array of the elements that a key names.

    Raises
    ------
    IndexError
        If NumPy may not copy Arrays, or refuses the key.
    """
    return brought(_by_numpy("getitem", key, lambda: array.numpy()[_host(key)]), array.device)


def write(array: Array, key: Any, value: Any) -> None:
    """Put elements where a key names some; errors as of :func:`read`."""

    def changed() -> Any:
        copy = np.array(array.numpy())
        copy[_host(key)] = _host(value)
        return copy

    array[...] = _by_numpy("setitem", key, changed)


def _by_numpy(name: str, key: Any, compute: Callable[[], Any]) -> Any:
    """Let NumPy compute, if the settings allow it to copy, and count it."""
    if config.fallback != "numpy":
        raise IndexError(
            f"an Array takes whole numbers, slices, None and ... as indices, not {type(key).__name__}; use "
            "mdhnp.where, or .numpy() for NumPy's other kinds of indexing, or set config.fallback to 'numpy'"
        )
    return fallback(name, "indices are values", compute, ())


def _host(value: Any) -> Any:
    """Give a value, or a tuple of some, as NumPy reads it."""
    if type(value) is tuple:
        return tuple([_host(each) for each in value])
    return value.numpy() if isinstance(value, Array) else value
