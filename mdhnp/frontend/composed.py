"""NumPy's functions on Arrays that are a few calls of NumPy's other ones, which Arrays understand.

Their arguments have NumPy's names, so that `array_functions.py` can tell which ones a call may have.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from mdhnp.arrays.array import Array
from mdhnp.arrays.types import SUPPORTED
from mdhnp.frontend.array_adapted import by_numpy, package
from mdhnp.frontend.map_reduce import operand
from mdhnp.frontend.matrices import norm
from mdhnp.frontend.scatter import AT


def _known(a: Any, where: Any) -> Any:
    """Give which elements count that are not NaN."""
    if a.dtype.kind not in "fc":
        return where
    return ~np.isnan(a) if where is True else ~np.isnan(a) & where


def _without_nan(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of NumPy's, which takes `where`, one of elements that are not NaN."""

    @wraps(function)  # whose arguments it has
    def known(a: Any, where: Any = True, **options: Any) -> Any:
        return function(a, where=_known(a, where), **options)

    return known


def _nan_extreme(function: Any, none: float) -> Callable[..., Any]:
    """Make what gives the extremes of elements that are not NaN, and NaN where there are none."""

    def extreme(a: Any, axis: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True) -> Any:
        if a.dtype.kind not in "fc":
            return function(a, axis=axis, keepdims=keepdims, initial=initial, where=where)
        if where is not True and initial is None:
            raise ValueError(f"{function.__name__}: has no identity, so where needs initial, too")
        if initial is None and not a.size:
            return function(a, axis=axis, keepdims=keepdims)
        known = _known(a, where)
        found = function(a, axis=axis, keepdims=keepdims, initial=none if initial is None else initial, where=known)
        if initial is not None:
            return found
        return np.where(np.any(known, axis=axis, keepdims=keepdims), found, a.dtype.type(np.nan))

    return extreme


def _in_place_of_nan(a: Any, value: float) -> Any:
    return np.where(np.isnan(a), a.dtype.type(value), a) if a.dtype.kind in "fc" else a


def _log_sum(
    a: Any, axis: Any = 0, dtype: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """Give logarithms of sums of exponentials, of numbers less the largest one, so that none overflows."""
    a = a if dtype is None else a.astype(dtype, copy=False)
    *_, result = np.logaddexp.resolve_dtypes((a.dtype, a.dtype, None))
    a = a.astype(np.float32 if result.char == "e" else result, copy=False)
    top = np.max(a, axis=axis, keepdims=True, initial=-np.inf, where=where)
    top = np.where(np.isfinite(top), top, top.dtype.type(0))
    found = np.log(np.sum(np.exp(a - top), axis=axis, keepdims=True, where=where)) + top
    found = found if keepdims else np.squeeze(found, None if axis is None else axis)
    found = found if initial is None else np.logaddexp(found, found.dtype.type(initial))
    return found.astype(result, copy=False)


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Choose by the first condition that holds: the last one is asked first."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    conditions, weak = [operand(c) for c in condlist], (int, float, complex)
    choices = [x if type(x) in weak else operand(x) for x in (*choicelist, default)]
    dtype = np.result_type(*choices)
    *choices, found = [x.astype(dtype, copy=False) if hasattr(x, "dtype") else dtype.type(x) for x in choices]
    for n, condition in enumerate(conditions):
        if condition.dtype != np.bool_:
            raise TypeError(f"invalid entry {n} in condlist: should be boolean ndarray")
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        found = np.where(condition, choice, found)
    return found


_MODES = {"valid": 0, "same": 1, "full": 2, 0: 0, 1: 1, 2: 2}


def _correlated(a: Any, v: Any, mode: Any) -> Any:
    """Give sums of products with a shorter vector put at places of a longer one: no element is conjugated."""
    if mode not in _MODES:
        raise ValueError(f"mode is {mode!r}, neither 'valid' nor 'same' nor 'full'")
    few = v.shape[0]
    left = (0, few // 2, few - 1)[_MODES[mode]]
    right = left if _MODES[mode] != 1 else few - left - 1
    return package().conv1d(a[None, None], v[None, None], padding=[(left, right)])[0, 0]


def _vectors(a: Any, v: Any) -> list[Any]:
    found = [operand(x) for x in (a, v)]
    for name, x in zip("av", found, strict=True):
        if x.ndim > 1:
            raise ValueError("object too deep for desired array")
        if not x.size:
            raise ValueError(f"{name} cannot be empty")
    return [x.reshape(-1) for x in found]


def _convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    a, v = _vectors(a, v)
    a, v = (v, a) if v.shape[0] > a.shape[0] else (a, v)
    return _correlated(a, v[::-1], mode)


def _correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    a, v = _vectors(a, v)
    v = np.conj(v) if v.dtype.kind == "c" else v
    return _correlated(v, a, mode)[::-1] if v.shape[0] > a.shape[0] else _correlated(a, v, mode)


def _cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    """Give products of vectors; of the plane's only what stands upright."""
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    a, b = operand(a), operand(b)
    if not a.ndim or not b.ndim:
        raise ValueError("At least one array has zero dimension")
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    if not {a.shape[-1], b.shape[-1]} <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    (a0, a1, *a2), (b0, b1, *b2) = [[x[..., n] for n in range(x.shape[-1])] for x in (a, b)]
    upright = a0 * b1 - a1 * b0
    if not a2 and not b2:
        return upright
    first = (a1 * b2[0] if b2 else 0) - (a2[0] * b1 if a2 else 0)
    second = (a2[0] * b0 if a2 else 0) - (a0 * b2[0] if b2 else 0)
    return np.stack([first, second, upright], axis=axisc)


def _linalg_cross(x1: Any, x2: Any, axis: Any = -1) -> Any:
    x1, x2 = operand(x1), operand(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {x1.shape[axis]} and {x2.shape[axis]} dimensional instead."
        )
    return _cross(x1, x2, axis=axis)


def _isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    x: Any
    y: Any
    x, y = [v if isinstance(v, int | float | complex) else operand(v) for v in (a, b)]
    y = y.astype(np.result_type(y, 1.0), copy=False) if hasattr(y, "dtype") else y + 0.0
    close = (abs(x - y) <= atol + rtol * abs(y)) & np.isfinite(y) | (x == y)
    return close | np.isnan(x) & np.isnan(y) if equal_nan else close


def _array_equal(a1: Any, a2: Any) -> bool:
    a1, a2 = operand(a1), operand(a2)
    return a1.shape == a2.shape and bool(np.all(a1 == a2))


def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    if operand(values).dtype not in SUPPORTED:
        return by_numpy(np.append, f"values have dtype {operand(values).dtype}", arr, values, axis)
    if axis is None:
        return np.concatenate([operand(arr).reshape(-1), operand(values).reshape(-1)])
    return np.concatenate([arr, values], axis=axis)


def _sinc(x: Any) -> Any:
    angle = np.pi * x
    angle = np.where(angle, angle, np.finfo(angle.dtype).eps if angle.dtype.kind == "f" else 1e-20)
    return np.sin(angle) / angle


def _angle(z: Any, deg: Any = False) -> Any:
    found = np.arctan2(z.imag if z.dtype.kind == "c" else 0, z.real)
    return found * (180 / np.pi) if deg else found


def _heaviside(x1: Any, x2: Any) -> Any:
    *_, dtype = np.heaviside.resolve_dtypes((*[x.dtype if hasattr(x, "dtype") else type(x) for x in (x1, x2)], None))
    return np.where(x1 == 0, x2, np.where(x1 < 0, 0, np.where(x1 > 0, 1, x1))).astype(dtype)


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    y, steps = operand(y), dx
    axis = normalize_axis_tuple(axis, y.ndim)[0]
    if x is not None:
        x = operand(x)
        steps = np.diff(x).reshape([-1] + [1] * (y.ndim - 1 - axis)) if x.ndim == 1 else np.diff(x, axis=axis)
    before = (slice(None),) * axis
    return (steps * (y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]) / 2.0).sum(axis)


def _polyval(p: Any, x: Any) -> Any:
    p, x = operand(p), operand(x)
    found = np.zeros_like(x)
    for n in range(len(p)):
        found = found * x + p[n]
    return found


def _diag(v: Any, k: Any = 0) -> Any:
    if v.ndim == 2:
        return np.diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    row = np.pad(v, (max(k, 0), max(-k, 0)))  # as it stands in the columns
    return np.where(np.eye(row.shape[0], k=k, dtype=bool), row, v.dtype.type(0))


def _corrcoef(x: Any, rowvar: Any = True) -> Any:
    found = np.cov(x, rowvar=rowvar)
    if not found.ndim:
        return found / found
    spread = np.sqrt(np.diagonal(found).real)
    found = found / spread[:, None] / spread[None, :]
    if found.dtype.kind == "c":
        return np.clip(found.real, -1, 1) + 1j * np.clip(found.imag, -1, 1)
    return np.clip(found, -1, 1)


def _isin(element: Any, test_elements: Any, invert: Any = False) -> Any:
    element, tests = operand(element), operand(test_elements).reshape(-1)
    found = np.any(element[..., None] == tests, axis=-1)
    return ~found if invert else found


def _digitize(x: Any, bins: Any, right: Any = False) -> Any:
    """Count the bounds that are below, or not above; they are known, so that their order can be."""
    if type(bins) is Array:
        return by_numpy(np.digitize, "bins are an Array, whose order nobody knows", x, bins, right)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    bins, steps = np.asarray(bins), np.diff(bins)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        raise ValueError("bins must be monotonically increasing or decreasing")
    above = x[..., None] <= bins if right else x[..., None] < bins
    return np.count_nonzero(~above if (steps >= 0).all() else above, axis=-1)


def _floated(ufunc: np.ufunc, x: Any) -> Any:
    """Give an array in the type that a ufunc of one operand gives."""
    return x.astype(ufunc.resolve_dtypes((x.dtype, None))[-1], copy=False)


def _doubled(x: Any) -> Any:
    x = operand(x)
    return x.astype(np.result_type(x.dtype, np.float64), copy=False)


def _block(arrays: Any) -> Any:
    """Put lists of arrays beside each other, and what these give below each other, and so on."""
    depth, inner = 0, arrays
    while type(inner) is list:
        depth, inner = depth + 1, inner[0]

    def joined(x: Any, left: int) -> Any:
        if (type(x) is list) != bool(left):
            raise ValueError("List depths are mismatched.")
        if not left:
            return operand(x)
        if not x:
            raise ValueError("List at arrays cannot be empty")
        parts = [joined(e, left - 1) for e in x]
        rank = max([depth, *[p.ndim for p in parts]])
        return np.concatenate([p[(None,) * (rank - p.ndim)] for p in parts], axis=-left)

    return joined(arrays, depth)


#: Functions by NumPy's.
COMPOSED: Mapping[Callable[..., Any], Callable[..., Any]] = {
    np.nansum: _without_nan(np.sum), np.nanprod: _without_nan(np.prod), np.nanmean: _without_nan(np.mean),
    np.nanmax: _nan_extreme(np.max, -np.inf), np.nanmin: _nan_extreme(np.min, np.inf),
    np.nanvar: _without_nan(np.var), np.nanstd: _without_nan(np.std),
    np.nancumsum: lambda a, axis=None, dtype=None: np.cumsum(_in_place_of_nan(a, 0), axis, dtype),
    np.nancumprod: lambda a, axis=None, dtype=None: np.cumprod(_in_place_of_nan(a, 1), axis, dtype),
    np.select: _select, np.convolve: _convolve, np.correlate: _correlate, np.cross: _cross,
    np.linalg.cross: _linalg_cross, np.linalg.norm: norm, np.isclose: _isclose, np.array_equal: _array_equal,
    np.allclose: lambda a, b, rtol=1e-05, atol=1e-08, equal_nan=False: bool(
        np.all(_isclose(a, b, rtol, atol, equal_nan))
    ),
    np.column_stack: lambda tup: np.concatenate(
        [a if a.ndim > 1 else a.reshape(-1, 1) for a in map(operand, tup)], 1
    ),
    np.append: _append, np.sinc: _sinc, np.angle: _angle, np.diag: _diag,
    np.dstack: lambda tup: np.concatenate([np.atleast_3d(a) for a in tup], 2), np.trapezoid: _trapezoid,
    np.polyval: _polyval, np.corrcoef: _corrcoef, np.isin: _isin, np.digitize: _digitize,
    np.iscomplex: lambda x: x.imag != 0, np.block: _block,
    np.ediff1d: lambda ary: ary.reshape(-1)[1:] - ary.reshape(-1)[:-1],
}  # fmt: skip
#: Ufuncs, and what is their method of that name.
UFUNCS: Mapping[tuple[np.ufunc, str], Callable[..., Any]] = {
    (np.divmod, "__call__"): lambda x1, x2: (np.floor_divide(x1, x2), np.remainder(x1, x2)),
    (np.logaddexp, "reduce"): _log_sum, (np.heaviside, "__call__"): _heaviside,
    (np.fabs, "__call__"): lambda x: abs(_floated(np.fabs, x)),
    (np.deg2rad, "__call__"): lambda x: _floated(np.deg2rad, x) * (np.pi / 180),
    (np.radians, "__call__"): lambda x: _floated(np.radians, x) * (np.pi / 180),
    (np.rad2deg, "__call__"): lambda x: _floated(np.rad2deg, x) * (180 / np.pi),
    (np.degrees, "__call__"): lambda x: _floated(np.degrees, x) * (180 / np.pi),
    (np.float_power, "__call__"): lambda x1, x2: np.power(_doubled(x1), _doubled(x2)),
    **{(getattr(np, name), "at"): method for name, method in AT.items()},
}  # fmt: skip
