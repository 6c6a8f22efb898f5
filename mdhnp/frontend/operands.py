"""What every call of the frontend does with its operands and its result.

Takes what a user passes for an array and gives ndarrays that a kernel can address, or the reason why none can; calls
with such a reason go to NumPy here and nowhere else, and are counted. It must not know what is computed.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from mdhnp.dispatch import computes_doubles
from mdhnp.settings import config

__all__ = [
    "SUPPORTED",
    "beyond_device",
    "check_order",
    "deliver",
    "fallback",
    "fallback_counts",
    "fits",
    "prepare",
    "unsupported",
]

Array = npt.NDArray[Any]

#: Types that kernels compute with, in the machine's own byte order (other orders are no members).
SUPPORTED = frozenset(
    np.dtype(t)
    for t in (np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16,
              np.float32, np.float64, np.complex64, np.complex128)
)  # fmt: skip

_counts: Counter[str] = Counter()
_counting = threading.Lock()


def fallback_counts() -> dict[str, int]:
    """Give the number of calls that NumPy computed in this process, by function."""
    with _counting:
        return dict(_counts)


def fallback(function: str, reason: str, compute: Callable[[], Any]) -> Any:
    """Let NumPy compute a call that OpenCL cannot do, and count it.

    Raises
    ------
    TypeError
        If ``config.fallback`` is "error"; names the function and the reason.
    """
    if config.fallback == "error":
        raise TypeError(f"{function}: {reason}, which OpenCL kernels do not compute; allow NumPy to, or convert it")
    with _counting:
        _counts[function] += 1
    return compute()


def fits(a: Any) -> bool:
    """Whether a kernel can address the operand as it is.

    Aligned arrays have strides of whole elements, because every supported type is aligned to its size; but for complex
    ones, which are aligned to half of it.
    """
    return (
        type(a) is np.ndarray
        and a.dtype in SUPPORTED
        and a.flags.aligned
        and (a.dtype.kind != "c" or not any(s % a.itemsize for s in a.strides))
    )


def prepare(operands: Iterable[Any]) -> tuple[Array, ...]:
    """Convert operands to arrays, and to the machine's byte order and alignment where the type is supported."""
    return tuple(a if fits(a) else _addressable(np.asanyarray(a)) for a in operands)


def _addressable(a: Array) -> Array:
    native = a.dtype.newbyteorder("=")
    if native not in SUPPORTED or type(a) not in (np.ndarray, np.memmap):
        return a
    plain = np.asarray(a).astype(native, copy=False)
    return plain if fits(plain) else plain.copy()


def unsupported(arrays: Sequence[Array], *dtypes: np.dtype[Any]) -> str | None:
    """Say why kernels cannot compute with prepared arrays or types, or give None if they can."""
    for n, a in enumerate(arrays):
        if a.dtype not in SUPPORTED:
            return f"operand {n} has dtype {a.dtype}"
        if type(a) is not np.ndarray:
            return f"operand {n} is a {type(a).__module__}.{type(a).__name__}"
    return next((f"the result has dtype {t}" for t in dtypes if t not in SUPPORTED), None)


def beyond_device(arrays: Sequence[Array], *dtypes: np.dtype[Any]) -> str | None:
    """Say why the current device cannot compute in the common type of supported ones, or give None if it can."""
    if computes_doubles():
        return None
    common = np.result_type(*(a.dtype for a in arrays), *dtypes)
    return f"the common type is {common}" if common.char in "dD" else None


def check_order(order: str, arrays: Iterable[Array]) -> Literal["C", "F"]:
    """Give the memory order that NumPy's ``order`` argument means; "K" is C order here.

    Raises
    ------
    ValueError
        If it is none of "C", "F", "A" and "K".
    """
    np.zeros(()).copy(order=cast(Any, order))
    fortran = all(a.flags.f_contiguous for a in arrays) if order in "aA" else order in "fF"
    return "F" if fortran else "C"


def deliver(result: Array, out: Array | None, order: Literal["C", "F"], casting: Any) -> Any:
    """Put a result where and how the caller wants it: into `out`, or in memory order; 0-d ones become scalars."""
    if out is not None:
        np.copyto(out, result, casting=casting)
        return out
    return np.asarray(result, order=order) if result.ndim else result[()]
