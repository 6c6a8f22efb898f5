"""Where arrays' elements lie. Knows neither devices nor OpenCL."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from mdhnp.mdh.views import View, is_row_major


@dataclass(frozen=True)
class Layout:
    """Where an array's elements lie, whatever their values and address.

    Examples
    --------
    >>> layout = Layout.of(np.zeros((4, 6), np.float32)[::-1, ::2])
    >>> layout.strides, layout.low, layout.nbytes
    ((-24, 8), -72, 92)
    """

    #: Extents, none of them zero.
    shape: tuple[int, ...]
    #: Bytes from one element to the next in each dimension; may be negative or zero.
    strides: tuple[int, ...]
    #: Bytes of an element.
    itemsize: int

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> Self:
        return cls(array.shape, array.strides, array.itemsize)

    @classmethod
    def of_view(cls, view: View) -> Self:
        """Give the layout of an array that lies in memory as an MDH's view says."""
        size = view.dtype.itemsize
        return cls(view.shape, tuple([size * s for s in view.strides]), size)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out what is kept below, which no other process could use."""
        return Layout, (self.shape, self.strides, self.itemsize)

    @cached_property
    def low(self) -> int:
        """Bytes from the first element to the one with the lowest address; zero or less."""
        return sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True) if s < 0)

    @cached_property
    def nbytes(self) -> int:
        """Bytes from the lowest address to the end of the highest element."""
        return self.itemsize + sum((n - 1) * abs(s) for n, s in zip(self.shape, self.strides, strict=True))

    @cached_property
    def contiguous(self) -> bool:
        """Whether the elements lie one after the other, in C or in Fortran order."""
        shape, strides = self.shape, self.strides
        reverse = is_row_major(shape[::-1], strides[::-1], self.itemsize)
        return reverse or is_row_major(shape, strides, self.itemsize)

    def bytes_of(self, array: np.ndarray[Any, Any]) -> ctypes.Array[ctypes.c_char]:
        """View all bytes from the lowest to the highest, writable or not; `array` must outlive the view."""
        return self._view(array.__array_interface__["data"][0] + self.low)

    @cached_property
    def _view(self) -> Callable[[int], ctypes.Array[ctypes.c_char]]:
        # Kept, because ctypes forgets an array type that nobody holds, and takes long to make one.
        return (ctypes.c_char * self.nbytes).from_address
