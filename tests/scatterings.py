"""Outputs written where elements of arrays say, with what NumPy makes of them, for tests of definitions and kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mdhnp.mdh import MdHom, cc, md_hom, pw, scattered

__all__ = ["SCATTERINGS", "SUM", "SUM_ROWS", "Scattering", "put_at", "same", "to", "whole"]

Array = Any
_RNG = np.random.default_rng(7)


class Scattering(NamedTuple):
    """A pattern, arrays for it, how many results there are, and what NumPy makes of them."""

    scalar: Any
    combine: dict[str, Any]
    views: str
    arrays: Sequence[Array]
    count: int
    by_numpy: Callable[..., Array]
    name: str = "s"
    boundary: dict[str, str] | None = None

    @property
    def extents(self) -> dict[str, int]:
        return {self.name: self.count}

    def mdhom(self, arrays: Sequence[Array] | None = None) -> MdHom:
        made = md_hom(self.scalar, self.combine, self.views, boundary=self.boundary)
        return made.bind(*(self.arrays if arrays is None else arrays), **self.extents)

    def as_segments(self) -> tuple[MdHom, list[Array]]:
        small, sortings = scattered(self.mdhom())
        return small, [*self.arrays, *[a for s in sortings for a in s.sort(self.arrays[s.source])]]


def whole(*shape: int, dtype: str = "f4") -> Array:
    return _RNG.integers(-9, 9, shape).astype(dtype)


def to(count: int, *shape: int, dtype: str = "i8") -> Array:
    """Where to put results, of which some get nothing, also counted from the end."""
    even = _RNG.integers(0, (count + 1) // 2, shape) * 2
    return (even - count * (dtype[0] == "i") * _RNG.integers(0, 2, shape)).astype(dtype)


def put_at(ufunc: np.ufunc, start: Array, index: Any, values: Array) -> Array:
    ufunc.at(start, index, values)
    return start


def same(x: Any) -> Any:
    return x


def put_last(start: Array, index: Array, values: Array) -> Array:
    start[index.ravel()] = values.ravel()  # as NumPy documents, of one place the last
    return start


SUM, SUM_ROWS = {"i": pw("add")}, {"i": pw("add"), "j": cc}
_SUM_PLANES = {"i": pw("add"), "k": pw("add"), "j": cc, "l": cc}
_LAST = pw(lambda p, q: np.where(q != 0, q, p), identity=0, commutative=False)
_LEAST = np.iinfo("i4").min

SCATTERINGS = {
    "sums": Scattering(
        same, SUM, "x[i] -> y[s[i]]", (whole(61), to(13, 61)), 13, lambda x, s: put_at(np.add, np.zeros(13, "f4"), s, x)
    ),
    "rows": Scattering(
        same, SUM_ROWS, "X[i,j] -> Y[s[i],j]", (whole(61, 20), to(13, 61, dtype="i4")), 13,
        lambda x, s: put_at(np.add, np.zeros((13, 20), "f4"), s, x),
    ),
    "columns": Scattering(
        same, {"j": cc, "i": pw("add")}, "X[j,i] -> Y[j,s[i]]", (whole(5, 61, dtype="f8"), to(9, 61, dtype="u1")), 9,
        lambda x, s: put_at(np.add, np.zeros((9, 5)), s, x.T).T,
    ),
    "counts": Scattering(
        lambda s: np.int64(1) + 0 * s, SUM, "s[i] -> n[s[i]]", (to(13, 61) % 13,), 13,
        lambda s: np.bincount(s, minlength=13),
    ),
    "largest": Scattering(
        same, {"i": pw("max"), "j": cc}, "X[i,j] -> Y[s[i],j]", (whole(40, 7, dtype="i4"), to(13, 40)), 13,
        lambda x, s: put_at(np.maximum, np.full((13, 7), _LEAST, "i4"), s, x),
    ),
    "products": Scattering(
        same, {"i": pw("mul")}, "x[i] -> y[s[i]]", (whole(30, dtype="i8"), to(13, 30)), 13,
        lambda x, s: put_at(np.multiply, np.ones(13, "i8"), s, x),
    ),
    "of two axes": Scattering(
        same, {"i": pw("add"), "k": pw("add"), "j": cc}, "X[i,k,j] -> Y[s[k,i],j]", (whole(5, 9, 17), to(11, 9, 5)),
        11, lambda x, s: put_at(np.add, np.zeros((11, 17), "f4"), s, x.swapaxes(0, 1)),
    ),
    "sums of rows": Scattering(
        same, {"i": pw("add"), "k": pw("add")}, "X[i,k] -> y[s[i]]", (whole(31, 9), to(11, 31)), 11,
        lambda x, s: put_at(np.add, np.zeros(11, "f4"), s, x.sum(1)),
    ),
    "edges of a graph": Scattering(
        np.multiply, SUM_ROWS, "w[i], X[source[i],j] -> Y[target[i],j]",
        (whole(70), whole(12, 19), to(12, 70), to(15, 70, dtype="i4")), 15,
        lambda w, x, source, target: put_at(np.add, np.zeros((15, 19), "f4"), target, w[:, None] * x[source]), "target",
    ),
    "two results": Scattering(
        lambda x: (x, x), {"i": pw(("min", "max"))}, "x[i] -> low[s[i]], high[s[i]]",
        (whole(61, dtype="i4"), to(5, 61)), 5, lambda x, s: (
            put_at(np.minimum, np.full(5, -1 - _LEAST, "i4"), s, x), put_at(np.maximum, np.full(5, _LEAST, "i4"), s, x),
        ),
    ),
    "neighbours": Scattering(
        lambda a, b: b - a, SUM, "x[i], x[i+1] -> y[s[i]]", (whole(62), to(13, 61)), 13,
        lambda x, s: put_at(np.add, np.zeros(13, "f4"), s, np.diff(x)),
    ),
    "around": Scattering(
        lambda a, b: b - a, SUM, "x[i], x[i-1] -> y[s[i]]", (whole(61), to(13, 61)), 13,
        lambda x, s: put_at(np.add, np.zeros(13, "f4"), s, np.roll(x, 1) - x), boundary={"x": "wrap"},
    ),
    "complex": Scattering(
        same, SUM_ROWS, "X[i,j] -> Y[s[i],j]", (whole(31, 9, dtype="c8"), to(13, 31)), 13,
        lambda x, s: put_at(np.add, np.zeros((13, 9), "c8"), s, x),
    ),
    "half precision": Scattering(
        same, SUM_ROWS, "X[i,j] -> Y[s[i],j]", (whole(31, 20, dtype="f2"), to(13, 31)), 13,
        lambda x, s: put_at(np.add, np.zeros((13, 20), "f2"), s, x),
    ),
    "strided": Scattering(
        same, SUM_ROWS, "X[i,j] -> Y[s[i],j]", (whole(62, 40)[::-2, ::2], to(13, 62)[::2]), 13,
        lambda x, s: put_at(np.add, np.zeros((13, 20), "f4"), s, x),
    ),
    "bytes": Scattering(
        same, SUM_ROWS, "X[i,j] -> Y[s[i],j]", (whole(61, 64, dtype="u1"), to(5, 61)), 5,
        lambda x, s: put_at(np.add, np.zeros((5, 64), "u1"), s, x),
    ),
    "short integers": Scattering(
        same, SUM_ROWS, "X[i,j] -> Y[s[i],j]", (whole(61, 32, dtype="i2"), to(5, 61)), 5,
        lambda x, s: put_at(np.add, np.zeros((5, 32), "i2"), s, x),
    ),
    "by indices of one row": Scattering(
        same, _SUM_PLANES, "X[i,k,j,l] -> Y[s[i,k],j,l]", (whole(1, 61, 3, 5), to(9, 1, 61)), 9,
        lambda x, s: put_at(np.add, np.zeros((9, 3, 5), "f4"), s, x),
    ),
    "by indices of one column": Scattering(
        same, _SUM_PLANES, "X[i,k,j,l] -> Y[s[i,k],j,l]", (whole(61, 1, 3, 5), to(9, 61, 1)), 9,
        lambda x, s: put_at(np.add, np.zeros((9, 3, 5), "f4"), s, x),
    ),
    "the last ones": Scattering(
        same, {"i": _LAST, "k": _LAST}, "X[i,k] -> y[s[i,k]]", (_RNG.integers(1, 99, (31, 9)), to(7, 31, 9)), 7,
        lambda x, s: put_last(np.zeros(7, "i8"), s, x),
    ),
    "the last ones of columns": Scattering(
        same, {"k": _LAST, "i": _LAST}, "X[k,i] -> y[s[i]]", (_RNG.integers(1, 99, (9, 61)), to(7, 61)), 7,
        lambda x, s: put_last(np.zeros(7, "i8"), s, x[-1]),
    ),
    "of nothing": Scattering(
        same, SUM_ROWS, "X[i,j] -> Y[s[i],j]", (whole(0, 7), to(3, 0)), 3, lambda x, s: np.zeros((3, 7), "f4")
    ),
}  # fmt: skip
