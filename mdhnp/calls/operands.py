"""What every call does with its operands and its result.

Takes what a user passes for an array and gives ndarrays that a kernel can address, or the reason why none can; calls
with such a reason go to NumPy here and nowhere else, and are counted. It must not know what is computed.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any, Literal, Protocol, cast

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import Array
from mdhnp.arrays.sparse import SparseArray
from mdhnp.arrays.types import SUPPORTED
from mdhnp.documentation import public
from mdhnp.runtime.results import maker
from mdhnp.settings import config

NDArray = npt.NDArray[Any]


class Typed(Protocol):
    """What has elements of a type."""

    @property
    def dtype(self) -> np.dtype[Any]: ...


#: Whether NumPy's calls come here, in this thread or task: what `mdhnp.patch` sets.
routing: ContextVar[bool] = ContextVar("mdhnp_routing", default=False)

#: Whether NumPy computes a call with Arrays, which its functions then get as ndarrays.
left_to_numpy: ContextVar[bool] = ContextVar("mdhnp_left_to_numpy", default=False)


#: Counted without a lock, for which a signal handler's call, or a child's, would wait.
_counts: dict[str, int] = {}


@public(
    """Give the number of calls in this process that NumPy computed, since kernels cannot.

Such are calls with other types of elements, and with subclasses of ndarray.""",
    returns="dict of str to int: Calls by function.",
    example="""
>>> with mdhnp.config(fallback="numpy"):
...     product = mdhnp.dot(np.ones(3, np.longdouble), np.ones(3, np.longdouble))
>>> mdhnp.fallback_counts()["dot"] > 0
True""",
    guard=False,
)
def fallback_counts() -> dict[str, int]:
    return dict(_counts)


def fallback(function: str, reason: str, compute: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """Let NumPy compute a call that OpenCL cannot do, and count it; inside, NumPy's functions are its own.

    TypeError, which names the function and the reason, if ``config.fallback`` forbids it, or Arrays would have to be
    copied.
    """
    arrays = [a for a in operands if type(a) is Array]
    helps = not_copied(arrays) if arrays else "allow NumPy to, or convert it" if config.fallback == "error" else None
    if helps is not None:
        raise TypeError(f"{function}: {reason}, which OpenCL kernels do not compute; {helps}")
    _counts[function] = _counts.get(function, 0) + 1
    routed, left = routing.set(False), left_to_numpy.set(True)
    try:
        return compute()
    finally:
        left_to_numpy.reset(left)
        routing.reset(routed)


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


def foreign(a: Any, protocol: str = "__array_function__") -> bool:
    """Whether the operand's type tells NumPy what its functions shall do with it, by one of NumPy's protocols."""
    rule = getattr(type(a), protocol, _MISSING)
    return rule is not _MISSING and rule is not getattr(np.ndarray, protocol)


_MISSING = object()


#: Attributes that tell sparse operands of a type from others of it, of types that were seen; and the type itself.
parts: dict[type, tuple[str, ...]] = {SparseArray: ("format", "shape", "data", "indices", "indptr", "_cut")}


def is_sparse(a: Any) -> bool:
    """Whether an operand is a SparseArray, or one of SciPy's sparse ones; SciPy is not imported for that."""
    if type(a) is SparseArray:
        return True
    module = sys.modules.get("scipy.sparse")
    return module is not None and module.issparse(a)


def not_copied(arrays: Sequence[Array]) -> str | None:
    """Say what helps where NumPy may not compute on copies of Arrays; None where it may."""
    if any([a.device.passing for a in arrays]):
        return "arrays inside of mdhnp.fuse have no elements yet; do this to what the function takes, or gives"
    return None if config.fallback == "numpy" else "copy Arrays by .numpy(), or set config.fallback to 'numpy'"


def addressable(operands: Iterable[Any], protocol: str = "__array_function__") -> tuple[NDArray, ...]:
    """Convert operands to arrays, and to the machine's byte order and alignment where the type is supported.

    Arrays stay what they are, and what is foreign by the protocol: `unsupported` names those. TypeError of sparse ones.
    """
    return tuple([
        a if fits(a) or type(a) is Array or foreign(a, protocol) else _converted(np.asanyarray(dense(n, a)))
        for n, a in enumerate(operands)
    ])  # fmt: skip


def dense(number: int, operand: Any) -> Any:
    """Give an operand; TypeError if it is sparse, which NumPy takes for an object without axes."""
    if is_sparse(operand):
        raise TypeError(
            f"operand {number} is a sparse {type(operand).__name__}, which mdhnp.matmul and mdhnp.einsum multiply; "
            "else make it dense, as SciPy's .toarray() does"
        )
    return operand


def _converted(a: NDArray) -> NDArray:
    native = a.dtype if a.dtype.isnative else a.dtype.newbyteorder("=")  # which not all types take
    if native not in SUPPORTED or type(a) not in (np.ndarray, np.memmap):
        return a
    plain = np.asarray(a)
    if fits(plain):
        return plain
    (copy,) = maker([(plain.shape, native)])()  # as arrays are that came through a pipe: memory used again is there
    copy[...] = plain
    return copy


def unsupported(arrays: Sequence[NDArray], *dtypes: np.dtype[Any] | None) -> str | None:
    """Say why kernels cannot compute with such arrays or types, or give None if they can."""
    for n, a in enumerate(arrays):
        if type(a) is not np.ndarray:
            return f"operand {n} is a {type(a).__module__}.{type(a).__name__}"
        if a.dtype not in SUPPORTED:
            return f"operand {n} has dtype {a.dtype}"
    return next((f"the result has dtype {t}" for t in dtypes if t is not None and t not in SUPPORTED), None)


def exact_type(dtype: npt.DTypeLike | None) -> np.dtype[Any] | None:
    """Give a type that a call names; TypeError for one of another byte order.

    It is long for long long, which equals it in a key, but is not the same.
    """
    if dtype is None:
        return None
    wanted = np.dtype(dtype)
    if not wanted.isnative:  # NumPy refuses it, too, but for single steps of einsum: their results have bytes swapped
        native = wanted.newbyteorder("=")
        raise TypeError(f"dtype: takes types in the machine's byte order, as {native}, not {wanted}")
    return _LONG.get(wanted.char, wanted)


_LONG = {char: np.dtype(np.dtype(char).str) for char in "qQ"}


def check_order(order: str | None, arrays: Iterable[NDArray]) -> Literal["C", "F", "K"]:
    """Give the memory order that NumPy's ``order`` argument means for these operands; ValueError if it means none."""
    if order not in ("K", "C", "F", "A"):
        np.zeros(()).copy(order=cast(Any, order))  # NumPy knows what else there is, and its errors
    letter = "K" if order is None else order.upper()
    if letter == "A":
        letter = "F" if all(a.flags.f_contiguous for a in arrays) else "C"
    return cast(Literal["C", "F", "K"], letter)


def check_casts(
    arrays: Iterable[Typed], common: np.dtype[Any], out: np.dtype[Any] | None, casting: Any, whose: str = ""
) -> None:
    """Check that a casting rule lets operands become the type to compute in, and that the type of `out`."""
    for n, a in enumerate(arrays):
        if not np.can_cast(a.dtype, common, casting):
            raise TypeError(f"Cannot cast {whose}operand {n} from {a.dtype} to {common} by the rule {casting!r}")
    if out is not None and not np.can_cast(common, out, casting):
        raise TypeError(f"Cannot cast {whose}output from {common} to {out} of out by the rule {casting!r}")


def check_cast(function: str, given: np.dtype[Any], wanted: np.dtype[Any], rule: Any = "same_kind") -> None:
    """Check that elements of a type may be put into an array, by default by the rule of NumPy's ufuncs."""
    if not np.can_cast(given, wanted, rule):
        raise TypeError(f"{function}: {given} cannot be put into an array of {wanted} by the rule {rule!r}")


def output(function: str, out: Any) -> Any:
    """Give the array that `out` names, or None; TypeError if it is no array, ValueError if it is read-only."""
    if out is None:
        return None
    if isinstance(out, Array):
        return out
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{function}: out must be an ndarray or an Array, not {type(out).__name__}")
    if not out.flags.writeable:
        raise ValueError(f"{function}: out is read-only")
    return out


def scalar(result: Any) -> Any:
    """Give a result as NumPy's functions do: a scalar, where there are no axes. A device's view is left as it is."""
    if type(result) is not np.ndarray or result.ndim or not result.flags.writeable:
        return result
    return result[()]


def deliver(function: str, result: Any, out: Any = None) -> Any:
    """Put a result into `out`, converting it by any rule; without one, make a scalar of what has no axes.

    ValueError if it cannot be broadcast to that, or both are Arrays on different devices; TypeError if it is an Array,
    and `out` an ndarray.
    """
    if out is None:
        return scalar(result)
    if isinstance(result, Array) and not isinstance(out, Array):
        raise TypeError(f"{function}: out must be an Array, as operands are, not {type(out).__name__}")
    if isinstance(result, Array) and result.device is not out.device:
        raise ValueError(f"{function}: operands are on {result.device!r}, out is on {out.device!r}; use to_device")
    try:
        if np.ndim(result) > out.ndim:
            raise ValueError
        if isinstance(out, Array):
            out[...] = result
        else:
            np.copyto(out, result, casting="unsafe")
    except ValueError:
        shapes = f"{out.shape} for a result of shape {result.shape}"
        raise ValueError(f"{function}: non-broadcastable out of shape {shapes}") from None
    return out
