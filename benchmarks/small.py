"""Calls on small Arrays of a CPU device beside NumPy's on ndarrays: microseconds on top, least of many repeats.

Takes a device; gives one row a call. Calls are expressions, of `m`, which is mdhnp or NumPy, and of arrays.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import mdhnp

__all__ = ["CAPTION", "HEADER", "Row", "measure", "table"]

#: Of the table, and its columns.
CAPTION = "Calls on Arrays of 8 × 8 elements on top of NumPy's on ndarrays, least of 100 means of 40"
HEADER = ["call", "mdhnp", "NumPy", "on top"]
_UNARY = """
    abs acos acosh asin asinh atan atanh cbrt ceil conj cos cosh exp exp2 expm1 floor isfinite isinf isnan log log1p
    log2 log10 logical_not negative positive reciprocal rint round sign signbit sin sinh square sqrt tan tanh trunc real
    imag argsort sort nonzero tril triu flip matrix_transpose squeeze unstack zeros_like ones_like empty_like diff trace
    linalg.det linalg.matrix_norm linalg.vector_norm linalg.trace linalg.diagonal fft.fft fft.rfft fft.fftn fft.fftshift
"""
_OF_TWO = """
    add atan2 copysign divide equal floor_divide fmax fmin fmod greater greater_equal hypot less less_equal logaddexp
    logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal remainder subtract pow
"""
_OF_INTEGERS = """
    add bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift floor_divide remainder multiply
"""
_REDUCTIONS = "sum prod max min mean var std any all argmax argmin count_nonzero"
_FACTORS = "cholesky det eigh eigvalsh inv pinv qr slogdet svd svdvals matrix_rank"
_OTHERS = """
    a + b | a + 1 | a * 2.0 | 1 - a | a / b | a < 0.5 | -a | abs(a) | i // 3 | i == 3 | ~i | a + u | divmod(i, j)
    a**2 | i**3 | a**0.5 | a @ b | i @ j | a.__iadd__(0) | a.sum() | a.sum(0) | a.mean() | a.max(axis=1) | a.argmax()
    m.clip(a, 0.2, 0.8) | m.clip(i, 2, 5) | m.clip(a, a, b) | m.clip(a, min=0.5) | m.where(c, a, b) | m.where(c, a, 0.0)
    m.round(a, 1) | m.real(z) | m.imag(z) | m.cumulative_sum(a, axis=0) | m.cumulative_prod(a, axis=1)
    m.take(a, v, axis=0) | m.take(a, v) | m.take_along_axis(a, k, axis=1) | a[v] | a[v, v] | a[:, v] | a[c] | a[2]
    a[1:3] | a[:, 1] | b.__setitem__(c, 1) | b.__setitem__(1, 1.0) | b.__setitem__(slice(1), u)
    m.searchsorted(v, v) | m.unique_all(i) | m.unique_counts(i) | m.unique_inverse(i) | m.concat([a, b])
    m.concat([a, b], axis=1)
    m.stack([a, b]) | m.roll(a, 1) | m.roll(a, 1, axis=0) | m.tile(a, (2, 2)) | m.repeat(a, 2, axis=0) | m.repeat(a, 2)
    m.pad(a, 1) | m.broadcast_to(u, (8, 8)) | m.broadcast_arrays(a, u) | m.expand_dims(a, axis=0) | m.flip(a, axis=0)
    m.moveaxis(a, 0, 1) | m.permute_dims(a, (1, 0)) | m.swapaxes(a, 0, 1) | m.reshape(a, (4, 16)) | m.reshape(a, -1)
    a.T | a.mT | a.reshape(4, 16) | a.ravel() | a.copy() | a.astype("int64") | m.astype(a, "float64")
    m.full_like(a, 2.0)
    m.matmul(a, b) | m.matmul(i, j) | m.dot(a, b) | m.tensordot(a, b, axes=1) | m.vecdot(a, b) | m.inner(a, b)
    m.einsum("ij,jk->ik", a, b) | m.outer(u, u) | m.vdot(u, u) | m.kron(a, b) | m.vecmat(u, a) | m.matvec(a, u)
    m.meshgrid(u, u) | m.linalg.solve(s, b) | m.linalg.matrix_power(s, 3) | m.linalg.cross(w, w) | m.linalg.outer(u, u)
    m.linalg.multi_dot([a, b, a]) | m.linalg.vecdot(a, b) | m.result_type(a, i) | a.shape | a.dtype | len(a)
"""
#: That take no array, so that what they are given is all there is to look at.
_MAKERS = "m.zeros((8, 8)) | m.ones((8, 8)) | m.empty((8, 8)) | m.full((8, 8), 2.0) | m.arange(8) | m.linspace(0, 1, 8)"


class Row(NamedTuple):
    """Microseconds of a call, of ours and NumPy's."""

    call: str
    ours: float
    numpys: float

    @property
    def on_top(self) -> float:
        """Ours less NumPy's."""
        return self.ours - self.numpys


def calls() -> Iterator[str]:
    """Give all expressions."""
    for name in _UNARY.split():
        yield f"m.{name}(a)"
    for name in _OF_TWO.split():
        yield from (f"m.{name}(a, b)", f"m.{name}(a, 2.5)")
    for name in _OF_INTEGERS.split():
        yield from (f"m.{name}(i, j)", f"m.{name}(i, 3)")
    for name in _REDUCTIONS.split():
        yield from (f"m.{name}({given})" for given in ("a", "i", "a, axis=0", "a, axis=1, keepdims=True"))
    yield from (f"m.linalg.{name}(s)" for name in _FACTORS.split())
    yield from (text.strip() for text in (*_OTHERS.replace("\n", "|").split("|"), *_MAKERS.split("|")) if text.strip())


def _arrays() -> dict[str, Any]:
    """Give arrays of 8 × 8 elements, and of 8, by the names that expressions have for them."""
    random = np.random.default_rng(1)
    a, integers = random.random((8, 8), np.float32) + np.float32(0.1), random.integers(1, 8, (8, 8))
    return {
        "a": a, "b": a.T.copy(), "i": integers, "j": integers.T.copy(), "k": integers % 8, "v": np.arange(8),
        "c": a > 0.5, "u": a[0].copy(), "s": a @ a.T + 8 * np.eye(8, dtype=np.float32), "w": a[:3, :3].copy(),
        "z": a.astype(np.complex64),
    }  # fmt: skip


def _compiled(module: Any, arrays: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    return {text: eval(f"lambda: {text}", {"m": module} | arrays) for text in calls()}


def _least(call: Callable[[], Any], batch: int = 40, rounds: int = 25) -> float:
    best, clock, each = float("inf"), time.perf_counter_ns, range(batch)
    for _ in range(rounds):
        begin = clock()
        for _ in each:
            call()
        best = min(best, (clock() - begin) / batch)
    return best / 1000


def measure(device: Any) -> list[Row]:
    """Measure all calls by turns; those that cost most on top of NumPy's come first."""
    rows = []
    with mdhnp.device(device) as where, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = _compiled(mdhnp, {n: mdhnp.asarray(a, device=where, copy=True) for n, a in _arrays().items()})
        for text, numpys in _compiled(np, _arrays()).items():
            for _ in range(60):  # until it is found again
                ours[text]()
            turns = [(_least(ours[text]), _least(numpys)) for _ in range(4)]
            rows.append(Row(text, min([x for x, _ in turns]), min([x for _, x in turns])))
    return sorted(rows, key=lambda row: -row.on_top)


def table(rows: list[Row], above: float = 1.0) -> list[list[str]]:
    """Give the rows above so many microseconds, and then their number and the median of all."""
    shown = [[row.call, *[f"{x:.2f} µs" for x in (*row[1:], row.on_top)]] for row in rows if row.on_top > above]
    middle = rows[len(rows) // 2].on_top
    return [*shown, [f"{len(shown)} of {len(rows)} above {above} µs; median", "", "", f"{middle:.2f} µs"]]
