"""Rows of Arrays sorted by kernels, on the device that has them: see `codegen/radix.py`."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mdhnp.arrays.array import Array, make
from mdhnp.runtime.layout import Layout

if TYPE_CHECKING:  # which load OpenCL
    from mdhnp.runtime.executable import Executable
    from mdhnp.runtime.handle import Device


def sort_rows(rows: Array, *, values: bool = False, places: bool = False) -> tuple[Array, ...]:
    """Give an Array's rows in order, equal elements as they came: the `values`, their `places` of int64, or both.

    The Array has two axes, is in C order and not empty, on a device with memory of its own.
    """
    view, device = rows._view, rows.device
    found = _sorted(device, view.dtype, view.shape, values, places).new((view,))
    return tuple([make(each, device) for each in found])


@lru_cache(maxsize=64)
def _sorted(
    device: "Device", dtype: "np.dtype[Any]", shape: tuple[int, int], values: bool, places: bool
) -> "Executable":
    from mdhnp.codegen.radix import sorting
    from mdhnp.runtime.executable import Executable

    def rows(t: Any) -> Layout:
        return Layout(shape, (shape[1] * t.itemsize, t.itemsize), t.itemsize)

    program = sorting(dtype, *shape, device.caps, values=values, places=places)
    results = [(shape, np.dtype(t)) for t, wanted in ((dtype, values), (np.int64, places)) if wanted]
    outputs = [rows(t) for _, t in results]
    return Executable(device, program, [rows(dtype)], outputs, resident=True, results=tuple(results))
