"""Types of elements that kernels compute with."""

from typing import Any

import numpy as np
import numpy.typing as npt

#: In the machine's own byte order (other orders are no members).
SUPPORTED = frozenset(
    np.dtype(t)
    for t in (np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16,
              np.float32, np.float64, np.complex64, np.complex128)
)  # fmt: skip
#: By what most often names them.
_NAMED: dict[Any, np.dtype[Any]] = {each: np.dtype(each.str) for each in SUPPORTED}
_NAMED |= {named: np.dtype(named) for named in (None, bool, int, float, complex, *[each.type for each in SUPPORTED])}


def checked_type(dtype: npt.DTypeLike | None) -> np.dtype[Any]:
    """Return a type of elements that kernels compute with, by default float64."""
    if isinstance(dtype, np.dtype | type | None) and (known := _NAMED.get(dtype)) is not None:
        return known
    wanted = np.dtype(dtype)
    if wanted not in SUPPORTED:  # of which none has another byte order
        wanted = wanted.newbyteorder("=")
        if wanted not in SUPPORTED:
            raise TypeError(f"dtype {wanted} is none that OpenCL kernels compute with")
    return np.dtype(wanted.str)
