"""NumPy's functions on Arrays that are a few lines of the package's functions, or a method.

Their arguments have NumPy's names, so that `array_functions.py` can tell which ones a call may have.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from mdhnp.arrays import transfer
from mdhnp.arrays.array import Array, make
from mdhnp.calls.arrays import brought, device_of
from mdhnp.calls.operands import check_cast, fallback, not_copied


def package() -> Any:
    """Return the package: its functions are imported when they are first asked for."""
    return sys.modules["mdhnp"]


def on_host(x: Any) -> Any:
    return x.numpy() if type(x) is Array else x


def _copyto(dst: Any, src: Any, casting: Any = "same_kind") -> None:
    if type(dst) is not Array:
        helps = not_copied([src]) or "copy src by .numpy()"
        raise TypeError(f"copyto: dst must be an Array, since src is, not {type(dst).__name__}; {helps}")
    check_cast("copyto", np.result_type(src), dst.dtype, casting)
    dst[...] = src


def _ordered(name: str) -> Callable[..., Any]:
    """Make NumPy's function that sorts of ours: any way of sorting is one that keeps equal elements in order."""

    def function(a: Any, axis: Any = -1, kind: Any = None, stable: Any = None) -> Any:
        a, axis = (a.ravel(), -1) if axis is None else (a, axis)
        return getattr(package(), name)(a, axis, kind, stable=bool(stable))

    return function


def _average(a: Any, axis: Any = None, weights: Any = None, keepdims: Any = False) -> Any:
    """Give weighted means; that weights are 0 in sum is looked for in ndarrays only, since nobody reads an Array."""
    m = package()
    if weights is None:
        return m.mean(a, axis=axis, keepdims=keepdims)
    weights = weights if type(weights) is Array else np.asarray(weights)
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim, "axis")
    if weights.shape != a.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if weights.shape != tuple([a.shape[d] for d in axes]):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        weights = weights.transpose(np.argsort(axes).tolist())
        weights = weights.reshape([n if d in axes else 1 for d, n in enumerate(a.shape)])
    common = np.result_type(a.dtype, weights.dtype, *([np.float64] if a.dtype.kind in "biu" else []))
    a, weights = m.astype(a, common, copy=False), weights.astype(common, copy=False)
    if type(weights) is np.ndarray and not weights.sum(axis=axes).all():
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    return m.sum(a * weights, axis=axes, keepdims=keepdims) / m.sum(weights, axis=axes, keepdims=keepdims)


def _windows(x: Any, window_shape: Any, axis: Any = None) -> Any:
    """Give what lies in windows, whose elements are at several places: so it is read-only."""
    view = np.lib.stride_tricks.sliding_window_view(x._view, window_shape, axis)
    return make(transfer.fixed(view, x.device), x.device)


def _nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if x.dtype.kind not in "fc":
        return x.copy() if copy else x
    limits = np.finfo(x.dtype)
    put = [nan, limits.max if posinf is None else posinf, limits.min if neginf is None else neginf]
    parts = [x] if x.dtype.kind == "f" else [x.real, x.imag]
    found = [_finite(part, *[_put(value, part) for value in put]) for part in parts]
    if len(parts) > 1 and not all([type(value) is not Array and np.isfinite(value).all() for value in put]):
        reason = "what is put into complex numbers may not be finite"  # as then 1j times it is another number
        return by_numpy(np.nan_to_num, reason, x, copy, nan, posinf, neginf)
    result = found[0] if len(found) == 1 else found[0] + 1j * found[1]
    if copy:
        return result
    x[...] = result
    return x


def _finite(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    """Put other elements where some are not finite."""
    m = package()
    return m.where(m.isnan(x), nan, m.where(x == np.inf, posinf, m.where(x == -np.inf, neginf, x)))


def _put(value: Any, x: Any) -> Any:
    """Give what elements are put into another array, of its type, by the rules of ``numpy.copyto``."""
    value = value if type(value) is Array else np.asarray(value)
    check_cast("nan_to_num", value.dtype, x.dtype)
    return package().broadcast_to(value.astype(x.dtype), x.shape) if value.ndim else value.astype(x.dtype)


def _gradient(f: Any, *varargs: Any, axis: Any = None) -> Any:
    f = f if type(f) is Array else np.asarray(f)
    axes = tuple(range(f.ndim)) if axis is None else normalize_axis_tuple(axis, f.ndim)
    if len(varargs) == 1 and not np.ndim(varargs[0]):
        varargs *= len(axes)
    if len(varargs) not in (0, len(axes)):
        raise TypeError("invalid number of arguments")
    if any([np.ndim(step) for step in varargs]):
        return by_numpy(np.gradient, "points have coordinates", f, *varargs, axis=axis)
    f = f.astype(np.float64) if f.dtype.kind in "iu" else f
    if axes and min([f.shape[d] for d in axes]) < 2:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    found = tuple([_slopes(f, d, step) for d, step in zip(axes, varargs or [1.0] * len(axes), strict=True)])
    return found[0] if len(found) == 1 else found


def _slopes(f: Any, axis: int, step: Any) -> Any:
    """Give differences of neighbours along an axis by how far these are apart: one step at the ends, else two."""
    before, after = [tuple([side * (d == axis) for d in range(f.ndim)]) for side in (-1, 1)]
    steps = np.full(f.shape[axis], 2, f.real.dtype)
    steps[[0, -1]] = 1
    distances = (steps * step).reshape([-1] + [1] * (f.ndim - 1 - axis))
    return (package().stencil(f, lambda n: n[after] - n[before], "nearest") / distances).astype(f.dtype, copy=False)


def _cov(m: Any, rowvar: Any = True, bias: Any = False, ddof: Any = None) -> Any:
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    x = m.astype(np.result_type(m.dtype, np.float64))
    x = x.reshape(1, -1) if x.ndim < 2 else x if rowvar else x.T
    count = max(x.shape[1] - (int(not bias) if ddof is None else ddof), 0)
    x = x - package().mean(x, axis=1, keepdims=True)
    return np.squeeze((x @ package().conj(x.T)) / count)


def by_numpy(function: Callable[..., Any], reason: str, *args: Any, **kwargs: Any) -> Any:
    """Let NumPy compute on copies, if the settings allow that."""
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    device = device_of(name, [x for x in args if type(x) is Array])
    host = lambda: function(*map(on_host, args), **kwargs)  # noqa: E731
    return brought(fallback(name, reason, host, args), device)


#: Functions by NumPy's.
ADAPTED: Mapping[Callable[..., Any], Callable[..., Any]] = {
    np.ravel: lambda a, order="C": a.ravel(order), np.copy: lambda a, order="K": a.copy(order or "K"),
    np.cumsum: lambda a, axis=None, dtype=None: a.cumsum(axis, dtype),
    np.cumprod: lambda a, axis=None, dtype=None: a.cumprod(axis, dtype),
    np.vstack: lambda tup: package().concat([np.atleast_2d(a) for a in tup], axis=0),
    np.hstack: lambda tup: package().concat([np.atleast_1d(a) for a in tup], axis=int(np.ndim(tup[0]) > 1)),
    np.ptp: lambda a, axis=None, keepdims=False: (
        package().max(a, axis=axis, keepdims=keepdims) - package().min(a, axis=axis, keepdims=keepdims)
    ),
    np.copyto: _copyto,
    np.average: _average, np.nan_to_num: _nan_to_num, np.gradient: _gradient, np.cov: _cov,
    np.sort: _ordered("sort"), np.argsort: _ordered("argsort"),
    np.lib.stride_tricks.sliding_window_view: _windows,
}  # fmt: skip
