"""How the demo's calls are computed today: by the usual library where it is installed, else in plain NumPy."""

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Table = Mapping[str, Array]
#: Index, weight and status of every new record's best existing one.
Links = tuple[Array, Array, Array]


def gaussian_peer() -> tuple[str, Callable[[Array], Any]]:
    """Name the usual library for the 5×5 binomial filter with reflected borders, and give its function."""
    line = np.array([1, 4, 6, 4, 1], np.float32) / 16
    with suppress(ImportError):
        import cv2

        return "cv2.GaussianBlur", lambda picture: cv2.GaussianBlur(picture, (5, 5), 0, borderType=cv2.BORDER_REFLECT)
    with suppress(ImportError):
        from scipy import ndimage

        return "scipy.ndimage", lambda picture: ndimage.correlate(picture, np.outer(line, line), mode="reflect")
    return "NumPy slices", lambda picture: smooth(picture, np.outer(line, line))


def smooth(picture: Array, weights: Array) -> Array:
    """Correlate a picture with weights, reflecting it at its borders."""
    rows, columns = picture.shape
    wide = np.pad(picture, [(n // 2, n // 2) for n in weights.shape], mode="symmetric")
    total = np.zeros(picture.shape, np.result_type(picture, weights))
    for r, c in np.ndindex(weights.shape):
        total += weights[r, c] * wide[r : r + rows, c : c + columns]
    return total


def gradients(picture: Array) -> tuple[Array, Array]:
    """Half the difference of the neighbours along rows and along columns, the border repeated."""
    wide = np.pad(picture, 1, mode="edge")
    return (wide[1:-1, 2:] - wide[1:-1, :-2]) / 2, (wide[2:, 1:-1] - wide[:-2, 1:-1]) / 2


def jacobi(v: Array) -> Array:
    """Mean of the six neighbours of every inner point."""
    return (
        v[2:, 1:-1, 1:-1] + v[:-2, 1:-1, 1:-1] + v[1:-1, 2:, 1:-1] + v[1:-1, :-2, 1:-1] + v[1:-1, 1:-1, 2:]
        + v[1:-1, 1:-1, :-2]
    ) / 6  # fmt: skip


def min_plus(a: Array, b: Array) -> Array:
    """Product of matrices with `min` for the sum and `+` for the product, a row at a time."""
    return np.stack([(row[:, None] + b).min(axis=0) for row in a])


def link(new: Table, existing: Table, m: Mapping[str, float], thresholds: tuple[float, float]) -> Links:
    """Find the best existing record of every new one in NumPy, for 100 new records at a time.

    Fellegi and Sunter's weights as :func:`mdhnp.prl` defines them, with values as numbers and frequencies for u.
    """
    fields = [_Field.of(new[name], existing[name], rate) for name, rate in m.items()]
    parts = []
    for begin in range(0, len(fields[0].left), 100):
        part = slice(begin, begin + 100)
        alike = (f.left[part, None] == f.right for f in fields)
        parts.append(_best(alike, [(f.agree[part, None], f.differ[part, None]) for f in fields], thresholds))
    index, weight, status = (np.concatenate(column) for column in zip(*parts, strict=True))
    return index, weight, status


def link_by_library(new: Table, existing: Table, m: Mapping[str, float], thresholds: tuple[float, float]) -> Links:
    """Do the same with recordlinkage: it compares, and the weights, which it does not know, are NumPy's again."""
    import pandas
    import recordlinkage

    logging.getLogger("recordlinkage").setLevel(logging.ERROR)  # comparing all pairs is what we want
    fields = [_Field.of(new[name], existing[name], rate) for name, rate in m.items()]
    left, right = (pandas.DataFrame({name: side[name] for name in m}) for side in (new, existing))
    indexer, compare = recordlinkage.Index(), recordlinkage.Compare()
    indexer.full()
    for name in m:
        compare.exact(name, name)
    found = compare.compute(indexer.index(left, right), left, right)
    alike = (found[n].to_numpy().reshape(len(left), -1) == 1 for n in range(len(fields)))
    return _best(alike, [(f.agree[:, None], f.differ[:, None]) for f in fields], thresholds)


@dataclass(frozen=True)
class _Field:
    """One field of all records: values as numbers, and the two weights of each new record's value."""

    left: Array
    right: Array
    agree: Array
    differ: Array

    @classmethod
    def of(cls, new: Array, existing: Array, rate: float) -> Self:
        count, other = len(new), len(existing)
        _, codes = np.unique(np.concatenate([new, existing]), return_inverse=True)
        left, right = codes[:count].astype(np.int32), codes[count:].astype(np.int32)
        chance = np.clip(np.bincount(right, minlength=codes.max() + 1) / other, 1 / (other + 1), other / (other + 1))
        agree, differ = np.log2(rate / chance[left]), np.log2((1 - rate) / (1 - chance[left]))
        return cls(left, right, agree.astype(np.float32), differ.astype(np.float32))


def _best(alike: Iterable[Array], weights: list[tuple[Array, Array]], thresholds: tuple[float, float]) -> Links:
    total: Any = np.float32(0)
    for same, (agree, differ) in zip(alike, weights, strict=True):
        total = total + np.where(same, agree, differ)
    weight, (low, high) = total.max(axis=1), thresholds
    return total.argmax(axis=1), weight, np.where(weight > high, 2, np.where(weight < low, 0, 1))
