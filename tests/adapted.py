"""Calls of NumPy's functions that are a few lines of the package's, of one matrix of five rows and four columns."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

__all__ = ["CALLS", "ERRORS", "WRONG", "matrix"]

Call = Callable[[Any], Any]


def matrix(dtype: Any) -> Any:
    """A matrix of a type, of positive and negative numbers where it has them."""
    a = np.random.default_rng(0).integers(0, 9, (5, 4)).astype(dtype)
    return a - dtype.type(4) + np.linspace(0, 0.9, 20, dtype=dtype).reshape(5, 4) if dtype.kind in "fc" else a


def _holed(a: Any) -> Any:
    """Give NaN, infinities and others; of whole numbers themselves."""
    return a if a.dtype.kind not in "fc" else a * np.asarray([np.nan, np.inf, -np.inf, 1], a.real.dtype)


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
}

#: Calls that are errors of NumPy's, with words that these have in common.
WRONG: Mapping[str, tuple[Call, str]] = {
    "ptp": (lambda a: np.ptp(a[:0], axis=0), "array"),
    "ptp, axis": (lambda a: np.ptp(a, axis=2), "out of bounds"),
    "ptp of booleans": (lambda a: np.ptp(a > 0), "subtract"),
    "round": (lambda a: np.round(a, 1.5), "cannot be interpreted as an integer"),
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
