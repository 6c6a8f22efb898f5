"""Calls of NumPy's functions that are a few lines of the package's, of one matrix of five rows and four columns."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

__all__ = ["CALLS", "CONVERTED", "ERRORS", "WRONG", "matrix"]

Call = Callable[[Any], Any]


def matrix(dtype: Any) -> Any:
    """A matrix of a type, of positive and negative numbers where it has them."""
    a = np.random.default_rng(0).integers(0, 9, (5, 4)).astype(dtype)
    return a - dtype.type(4) + np.linspace(0, 0.9, 20, dtype=dtype).reshape(5, 4) if dtype.kind in "fc" else a


def _holed(a: Any) -> Any:
    """Give NaN, infinities and others; of whole numbers themselves."""
    return a if a.dtype.kind not in "fc" else a * np.asarray([np.nan, np.inf, -np.inf, 1], a.real.dtype)


def _gaps(a: Any) -> Any:
    """Give NaN in a column and elsewhere; whole numbers as they are."""
    return a if a.dtype.kind not in "fc" else np.where(_HOLES, a.dtype.type(np.nan), a)


_HOLES = np.arange(20).reshape(5, 4) % 4 == np.array(
    [[0, 9, 0, 0], [0, 0, 0, 3], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 2, 0]]
)
_CHOSEN = np.arange(20).reshape(5, 4) % 3 > 0


def _blurred(a: Any) -> Any:
    return a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:]


def _padded() -> Iterator[tuple[str, Call]]:
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        for width in (0, 3, 23, ((0, 3), (2, 0))):
            yield f"pad, {mode} {width}", lambda a, mode=mode, width=width: np.pad(a, width, mode)
        yield f"pad, {mode} of one row", lambda a, mode=mode: np.pad(a[:1], 3, mode=mode)


CALLS: Mapping[str, Call] = {
    "ptp": np.ptp,
    "ptp, axis": lambda a: np.ptp(a, axis=0, keepdims=True),
    "ptp, axes": lambda a: np.ptp(a, (0, 1)),
    "round": np.round,
    "round, 1": lambda a: np.round(a, 1),
    "round, 3": lambda a: a.round(3),
    "round, 10": lambda a: np.round(a, 10),  # a power of 10 that float16 has not
    "around, -1": lambda a: np.around(a, decimals=-1),
    "nan_to_num": lambda a: np.nan_to_num(_holed(a)),
    "nan_to_num, numbers": lambda a: np.nan_to_num(_holed(a), nan=3, posinf=4.5, neginf=-5.5),
    "nan_to_num, rows": lambda a: np.nan_to_num(_holed(a), nan=np.arange(4.0)),
    "nan_to_num, no axes": lambda a: np.nan_to_num(_holed(a)[0, 0] * 1),
    "average": np.average,
    "average, axis": lambda a: np.average(a, axis=1, keepdims=True),
    "average, weights": lambda a: np.average(a, axis=1, weights=[1, 2, 3, 4]),
    "average, all weights": lambda a: np.average(a, weights=np.arange(20).reshape(5, 4)),
    "average, float32": lambda a: np.average(a, 0, np.arange(5, dtype=np.float32), keepdims=True),
    "average, axes": lambda a: np.average(a, (1, 0), np.arange(20, dtype=np.float32).reshape(4, 5)),
    "average, arrays": lambda a: np.average(a, 0, a[:, 0] * a[:, 0] + np.ones(5, a.dtype)),
    "gradient": np.gradient,
    "gradient, axis": lambda a: np.gradient(a, 0.5, axis=1),
    "gradient, steps": lambda a: np.gradient(a, 2, np.float64(3)),
    "gradient, axes": lambda a: np.gradient(a, axis=(1, 0)),
    "gradient, lengths": lambda a: sum([slope * slope for slope in np.gradient(np.sqrt(a * a))]),
    "gradient, array": lambda a: np.gradient(a[0], abs(a[0, 1]) + 3),
    "gradient, two rows": lambda a: np.gradient(a[:2], axis=0),
    "cov": np.cov,
    "cov, columns": lambda a: np.cov(a, rowvar=False),
    "cov, bias": lambda a: np.cov(a, bias=True),
    "cov, ddof": lambda a: np.cov(a, ddof=2),
    "cov, vector": lambda a: np.cov(a[0]),
    "cov, nothing to divide by": lambda a: np.cov(a[:, :1]),
    "pad": lambda a: np.pad(a, 1),
    "pad, value": lambda a: np.pad(a, ((1, 2), (0, 3)), "constant", constant_values=1.7),
    "pad, values": lambda a: np.pad(a, (1, 2), constant_values=((1, 2), (3, 4))),
    "pad, NaN": lambda a: np.pad(a, (1, 2), constant_values=np.nan if a.dtype.kind in "fc" else 1),
    "pad, axes": lambda a: np.pad(a, [[1], [2]]),
    "pad of nothing": lambda a: np.pad(a[:, :0], ((0, 0), (1, 2))),
    "pad of no axes": lambda a: np.pad(a[0, 0], 3) * 1,
    "pad, read": lambda a: np.pad(a * a, 1, "edge")[::2].sum(axis=1),
    "pad, neighbours": lambda a: _blurred(np.pad(a, 1, "wrap")) * a,
    "pad of a view": lambda a: np.pad(a.T[:0:-1], 2, "reflect"),
    "pad of padded": lambda a: np.pad(np.pad(a, 1), 1, "symmetric"),
    **dict(_padded()),
    "nansum": lambda a: np.nansum(_gaps(a)),
    "nansum, axis": lambda a: np.nansum(_gaps(a), axis=1, keepdims=True),
    "nansum, dtype": lambda a: np.nansum(_gaps(a), 0, np.complex128),
    "nansum, where": lambda a: np.nansum(_gaps(a), axis=0, where=_CHOSEN, initial=2),
    "nanprod": lambda a: np.nanprod(_gaps(a)[:2], axis=0),
    "nanmean": lambda a: np.nanmean(_gaps(a), axis=(0, 1)),
    "nanmean, nothing": lambda a: np.nanmean(_gaps(a), axis=0),
    "nanvar": lambda a: np.nanvar(_gaps(a), axis=1, ddof=1),
    "nanstd": lambda a: np.nanstd(_gaps(a), keepdims=True),
    "nanmax": lambda a: np.nanmax(_gaps(a), axis=0),
    "nanmin": lambda a: np.nanmin(_gaps(a), axis=1),
    "nancumsum": lambda a: np.nancumsum(_gaps(a), axis=0),
    "nancumprod": lambda a: np.nancumprod(_gaps(a)[:2], axis=1),
    "sum, where": lambda a: a.sum(where=a > 2),
    "sum, where and initial": lambda a: np.sum(a, axis=1, where=[True, False, True, True], initial=3, keepdims=True),
    "sum, initial": lambda a: np.sum(a, axis=0, initial=3),
    "sum of nothing, initial": lambda a: np.sum(a[:0], axis=0, initial=3),
    "add.reduce, where": lambda a: np.add.reduce(a, where=_CHOSEN),
    "prod, where": lambda a: a[:2].prod(axis=1, where=a[:2] != 0),
    "any, where": lambda a: np.any(a, axis=0, where=_CHOSEN),
    "all, where": lambda a: np.all(a, axis=0, where=_CHOSEN),
    "max, where": lambda a: np.max(a, axis=0, where=_CHOSEN, initial=1),
    "min, initial": lambda a: a.min(initial=1),
    "max of nothing, initial": lambda a: np.max(a[:0], axis=0, initial=1),
    "mean, where": lambda a: a.mean(where=_CHOSEN),
    "mean, where, axis": lambda a: np.mean(a, axis=0, keepdims=True, where=_CHOSEN),
    "mean, dtype": lambda a: np.mean(a, axis=0, dtype=np.complex128),
    "var, where": lambda a: np.var(a, axis=0, where=_CHOSEN),
    "std, where": lambda a: a.std(axis=1, ddof=1, where=_CHOSEN, keepdims=True),
    "std, dtype": lambda a: a.real.std(axis=1, dtype=np.float32),
    "logaddexp.reduce": np.logaddexp.reduce,
    "logaddexp.reduce, all": lambda a: np.logaddexp.reduce(a, axis=None, keepdims=True),
    "logaddexp.reduce, axes": lambda a: np.logaddexp.reduce(a, axis=(0, 1), dtype=np.float64),
    "logaddexp.reduce, where": lambda a: np.logaddexp.reduce(a, axis=1, where=_CHOSEN, initial=0),
    "logaddexp.reduce of infinities": lambda a: np.logaddexp.reduce(np.log(abs(a - a)), axis=1),
    "logaddexp.reduce of nothing": lambda a: np.logaddexp.reduce(a[:, :0], axis=1),
    "divmod": lambda a: divmod(a, 3),
    "divmod, arrays": lambda a: np.divmod(a, abs(a[::-1]) + 1),
    "divmod of a number": lambda a: divmod(7, a * a + 1),
    "select": lambda a: np.select([a > 3, a > 1], [a, a * 2], default=-1 if a.dtype.kind in "ifc" else 1),
    "select, rows": lambda a: np.select([a[0] > 3, a[:, :1] > 1], [a[:, 1:2], np.arange(4)], 2.5),
    "select, zero": lambda a: np.select([a > 3], [a]),
    "convolve": lambda a: np.convolve(a[0], a[1]),
    "convolve, same": lambda a: np.convolve(a[0, :3], a[:, 1], "same"),
    "convolve, valid": lambda a: np.convolve(a.ravel(), [1, 0, 2], mode="valid"),
    "convolve, even": lambda a: np.convolve(a.ravel(), a[0], mode="same"),
    "convolve, a number": lambda a: np.convolve(a[0], 2),
    "correlate": lambda a: np.correlate(a.ravel(), a[1]),
    "correlate, full": lambda a: np.correlate(a[0, :2], a[:, 1], "full"),
    "correlate, same": lambda a: np.correlate(a[0], a.T[1], "same"),
    "cross": lambda a: np.cross(a[:, :3], a[::-1, 1:]),
    "cross, axes": lambda a: np.cross(a[:3], a[2:], axis=0),
    "cross, axes of each": lambda a: np.cross(a[:3], a[:4, :3], axisa=0, axisb=1, axisc=0),
    "cross, broadcast": lambda a: np.cross(a[0, :3], a[:, 1:]),
    "linalg.cross": lambda a: np.linalg.cross(a[:, :3], a[0, 1:]),
    "equal": lambda a: a == a[::-1],
    "not_equal": lambda a: np.not_equal(a, a[0]) | (a != 1j),
    "less": lambda a: a < a[::-1] * 1,
    "greater_equal": lambda a: _gaps(a) >= 1j,
    "less_equal, greater": lambda a: (a <= a[0]) ^ (a > a[:, :1]),
    "isclose": lambda a: np.isclose(a, a + a * np.asarray(1e-7, a.real.dtype)),
    "isclose, NaN": lambda a: np.isclose(_gaps(a), _gaps(a)[0], equal_nan=True),
    "isclose of a number": lambda a: np.isclose(a, 2, atol=0.5),
    "column_stack": lambda a: np.column_stack([a[:, 0], a]),
    "dstack": lambda a: np.dstack([a, a[::-1]]),
    "append": lambda a: np.append(a, a[0]),
    "append, axis": lambda a: np.append(a, a[:1], axis=0),
    "sinc": lambda a: np.sinc(a / 3),
    "angle": np.angle,
    "angle, degrees": lambda a: np.angle(a, deg=True),
    "diag": np.diag,
    "diag, above": lambda a: np.diag(a, 1),
    "diag of a vector": lambda a: np.diag(a[0]),
    "diag of a vector, above": lambda a: np.diag(a[0], 2),
    "diag of a vector, below": lambda a: np.diag(a[0], -1),
    "diagonal": lambda a: a.diagonal(1),
    "trace": lambda a: a.trace(),
    "trapezoid": np.trapezoid,
    "trapezoid, places": lambda a: np.trapezoid(a, [0, 1, 3, 4, 8], axis=0),
    "polyval": lambda a: np.polyval([1, 2, 3], a),
    "polyval, arrays": lambda a: np.polyval(a[0, :2], a),
    "corrcoef": lambda a: np.corrcoef(a * 1),
    "isin": lambda a: np.isin(a, [1, 3]),
    "isin, invert": lambda a: np.isin(a, a[0], invert=True),
    "digitize": lambda a: np.digitize(a, [0, 2, 2, 5]),
    "digitize, right": lambda a: np.digitize(a, [0, 2, 5], right=True),
    "digitize, falling": lambda a: np.digitize(a, [5, 2, 0]),
    "iscomplex": np.iscomplex,
    "ediff1d": np.ediff1d,
    "block": lambda a: np.block([[a, a[:, :1]], [a[0], a[1, :1]]]),
    "block of one": lambda a: np.block([a[0], a[1, 0], 1]),
    "norm, 1": lambda a: np.linalg.norm(a, 1),
    "norm, -1": lambda a: np.linalg.norm(a, -1, axis=(1, 0), keepdims=True),
    "norm, inf": lambda a: np.linalg.norm(a, np.inf),
    "norm, fro": lambda a: np.linalg.norm(a, "fro"),
    "norm of rows, 1": lambda a: np.linalg.norm(a, 1, axis=1, keepdims=True),
    "norm of rows, inf": lambda a: np.linalg.norm(a, ord=np.inf, axis=-1),
    "norm of columns, -inf": lambda a: np.linalg.norm(a, -np.inf, 0),
    "norm of columns, 0": lambda a: np.linalg.norm(a, 0, axis=0),
    "norm of columns, 3": lambda a: np.linalg.norm(a, 3, axis=0),
    "norm of a vector, 2": lambda a: np.linalg.norm(a[0], 2),
    "heaviside": lambda a: np.heaviside(a, 0.5),
    "fabs": np.fabs,
    "deg2rad": np.deg2rad,
    "radians": np.radians,
    "rad2deg": np.rad2deg,
    "degrees": np.degrees,
    "float_power": lambda a: np.float_power(a, 2),
}

#: What gives ndarrays of ndarrays, of Arrays, too; Arrays while functions are traced.
CONVERTED: Mapping[str, Call] = {
    "asarray": lambda a: np.asarray(a) * 2,
    "asarray, dtype": lambda a: np.asarray(a, dtype=np.complex64),
    "asanyarray": lambda a: np.asanyarray(a)[0],
    "ascontiguousarray": lambda a: np.ascontiguousarray(a.T).reshape(2, 10),
    "ascontiguousarray, no axes": lambda a: np.ascontiguousarray(a[0, 0]),
    "asfortranarray": lambda a: np.asfortranarray(a),  # noqa: PLW0108 (not before tracing)
    "array": lambda a: np.array(a, ndmin=3) + 1,
    "array of numbers": lambda a: np.array([a.min(), a.max()]),
    "array of rows": lambda a: np.array([[a[0], a[1]], [a[2], np.arange(4)]]),
    "asarray, itself": lambda a: a if np.asarray(a) is a else None,
    "asarray of others": lambda a: a * np.asarray([1, 2, 3, 4]),
}

#: Calls that are errors of NumPy's, with words that these have in common.
WRONG: Mapping[str, tuple[Call, str]] = {
    "ptp": (lambda a: np.ptp(a[:0], axis=0), "array"),
    "max, where": (lambda a: np.max(a, where=_CHOSEN), "identity"),
    "nanmin, where": (lambda a: np.nanmin(a, where=_CHOSEN), "identity"),
    "sum, where": (lambda a: np.sum(a, where=np.ones(4)), "bool"),
    "sum, where of another shape": (lambda a: np.sum(a, where=[True, False]), "broadcast"),
    "mean, where of a larger shape": (lambda a: np.mean(a, where=np.ones((2, 5, 4), bool)), "input"),
    "select, lengths": (lambda a: np.select([a > 1], [a, a]), "^list of cases must be same length"),
    "select, nothing": (lambda a: np.select([], [a][:0], a), "empty condition list"),
    "select, numbers": (lambda a: np.select([a], [a]), "^invalid entry 0 in condlist"),
    "convolve, matrix": (lambda a: np.convolve(a, a), "too deep"),
    "convolve, nothing": (lambda a: np.convolve(a[0], a[0, :0]), "^v cannot be empty"),
    "convolve, mode": (lambda a: np.convolve(a[0], a[0], "some"), "mode"),
    # NumPy 2.5 takes vectors of three elements only, and says so.
    "cross, four": (lambda a: np.cross(a, a), "^incompatible dimensions for cross product|^Both input arrays must be"),
    "cross, no axes": (lambda a: np.cross(a[0, 0], a), "zero dimension"),
    "linalg.cross": (lambda a: np.linalg.cross(a, a), "^Both input arrays must be"),
    "norm, order": (lambda a: np.linalg.norm(a[0], "fro"), "^Invalid norm order"),
    "norm, axes": (lambda a: np.linalg.norm(a[None], 1), "^Improper number of dimensions"),
    "block, depths": (lambda a: np.block([[a], a]), "depths"),
    "digitize": (lambda a: np.digitize(a, [1, 3, 2]), "monotonically"),
    "diag": (lambda a: np.diag(a[None]), "^Input must be 1- or 2-d"),
    "nansum, axis": (lambda a: np.nansum(a, axis=3), "out of bounds"),
    "logaddexp.reduce": (lambda a: np.logaddexp.reduce(a * 1j), "logaddexp"),
    "ptp, axis": (lambda a: np.ptp(a, axis=2), "out of bounds"),
    "ptp of booleans": (lambda a: np.ptp(a > 0), "subtract"),
    "round": (lambda a: np.round(a, 1.5), "an integer|decimals must be int"),
    "round of booleans": (lambda a: np.round(a > 0, 1), "bool"),
    "nan_to_num, shape": (lambda a: np.nan_to_num(a, nan=np.ones(3)), r"broadcast.*\(3,\)"),
    "nan_to_num, type": (lambda a: np.nan_to_num(a, nan=1j), "complex128.*float64.*same_kind"),
    "average, weights": (lambda a: np.average(a, weights=[1, 2]), "^Axis must be specified when shapes"),
    "average, shape": (lambda a: np.average(a, 0, [1, 2]), "^Shape of weights must be consistent"),
    "average, no weights": (lambda a: np.average(a, 1, [1, 0, -1, 0]), "^Weights sum to zero"),
    "average, axis": (lambda a: np.average(a, 5), "out of bounds"),
    "gradient, steps": (lambda a: np.gradient(a, 1, 2, 3), "^invalid number of arguments"),
    "gradient, one row": (lambda a: np.gradient(a[:1]), "^Shape of array too small"),
    "gradient, axis": (lambda a: np.gradient(a, axis=7), "out of bounds"),
    "gradient of booleans": (lambda a: np.gradient(a > 0), "subtract"),
    "cov, ddof": (lambda a: np.cov(a, ddof=0.5), "^ddof must be integer"),
    "cov, axes": (lambda a: np.cov(a[None]), "^m has more than 2 dimensions"),
    "pad, negative": (lambda a: np.pad(a, -1), "negative values"),
    "pad, half": (lambda a: np.pad(a, 1.5), "^`pad_width` must be of integral type"),
    "pad, three": (lambda a: np.pad(a, (1, 2, 3)), r"broadcast.*\(3,\)"),
    "pad, mode": (lambda a: np.pad(a, 1, "bogus"), "^mode 'bogus' is not supported"),
    "pad, option": (
        lambda a: np.pad(a, 1, "edge", constant_values=2),
        "^unsupported keyword arguments for mode 'edge'",
    ),
    "pad of nothing": (lambda a: np.pad(a[:, :0], 1, "edge"), "^can't extend empty axis 1"),
}

#: Of which types NumPy's errors are.
ERRORS = (ValueError, TypeError, IndexError, ZeroDivisionError)
