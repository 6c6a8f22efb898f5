"""Arrays in blocks: mdhnp.dask beside dask.array's own functions on the same chunks, in two threads.

Blocks are in memory before; results stay there. Both are repeated by turns.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import dask
import dask.array as da
import numpy as np
from scipy import ndimage

import mdhnp.dask
from benchmarks.rows import seconds_text

__all__ = ["table"]

#: Seconds of untimed calls, in which kernels are built and take over.
_WARMING = 5.0


@dataclass(frozen=True)
class Case:
    """A call on arrays of dask's, and dask's own.

    Attributes
    ----------
    title : str
        What is computed, of which sizes.
    chunks : str
        In which chunks.
    arrays : tuple of (tuple of int, tuple of int)
        Shapes and chunks of arrays of float32.
    ours, theirs : callable
        Of the arrays.
    """

    title: str
    chunks: str
    arrays: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]


def _einsum(title: str, chunks: str, subscripts: str, *arrays: Any) -> Case:
    return Case(
        title, chunks, arrays, partial(mdhnp.dask.einsum, subscripts), lambda *a: da.einsum(subscripts, *a)
    )  # fmt: skip


def _stencil(title: str, chunks: str, weights: np.ndarray, *arrays: Any) -> Case:
    def theirs(a: Any) -> Any:
        correlate = partial(ndimage.correlate, weights=weights, mode="nearest")
        depth = tuple([n // 2 for n in weights.shape])
        return a.map_overlap(correlate, depth=depth, boundary="nearest", dtype=a.dtype)

    return Case(title, chunks, arrays, lambda a: mdhnp.dask.stencil(a, weights, mode="nearest"), theirs)


_SQUARE = ((2048, 2048), (512, 512))
_CUBE = ((256, 256, 256), (128, 128, 128))
_GAUSS = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]).astype("f4") / 256
_CROSS = np.zeros((3, 3, 3), "f4")
_CROSS[1, 1, :] = _CROSS[1, :, 1] = _CROSS[:, 1, 1] = 1 / 6
CASES = (
    _einsum("einsum ij,jk->ik, 2048³", "512²", "ij,jk->ik", _SQUARE, _SQUARE),
    _einsum("einsum badg,cgfe->fedcba, 16⁷", "8, 16, 8, 16", "badg,cgfe->fedcba",
            ((16, 16, 16, 16), (8, 16, 8, 16)), ((16, 16, 16, 16), (8, 16, 8, 16))),
    _einsum("einsum aij,ajk->aik, 512 × 128³", "64 × 128²", "aij,ajk->aik",
            ((512, 128, 128), (64, 128, 128)), ((512, 128, 128), (64, 128, 128))),
    Case("tensordot, 2 pairs of axes, 256⁴", "128 along each axis", (_CUBE, _CUBE),
         lambda a, b: mdhnp.dask.tensordot(a, b, ([1, 2], [0, 1])), lambda a, b: da.tensordot(a, b, ([1, 2], [0, 1]))),
    _einsum("einsum ij,ij->i, 8192²", "1024²", "ij,ij->i", ((8192, 8192), (1024, 1024)), ((8192, 8192), (1024, 1024))),
    _stencil("5 × 5 weights, 8192²", "1024²", _GAUSS, ((8192, 8192), (1024, 1024))),
    _stencil("7 points of 3 × 3 × 3, 256³", "128³", _CROSS, _CUBE),
)  # fmt: skip


def table(rounds: int, cases: Sequence[Case] = CASES) -> tuple[list[str], list[list[str]]]:
    """Measure, and give header and lines of text."""
    lines = []
    with dask.config.set(scheduler="threads", num_workers=2):
        for case in cases:
            ours, theirs = _times(case, rounds)
            lines.append([case.title, case.chunks, seconds_text(ours), seconds_text(theirs), f"{theirs / ours:.2f}"])
            print(*lines[-1], sep=" | ", flush=True)
    return ["call", "chunks", "mdhnp.dask", "dask.array", "ratio"], lines


def _times(case: Case, rounds: int) -> tuple[float, float]:
    """Seconds of both, medians."""
    rng = np.random.default_rng(0)
    arrays = [
        da.from_array(rng.standard_normal(shape, np.float32), chunks=chunks).persist() for shape, chunks in case.arrays
    ]
    results = [each(*arrays).persist() for each in (case.ours, case.theirs)]
    error = float(abs(results[0] - results[1]).max().compute())
    assert error < 1e-3 * float(abs(results[1]).max().compute()), f"{case.title}: they differ by {error}"
    del results

    def seconds(call: Callable[..., Any]) -> float:
        begin = time.perf_counter()
        call(*arrays).persist()
        return time.perf_counter() - begin

    until = time.perf_counter() + _WARMING
    while time.perf_counter() < until:
        seconds(case.ours)
    taken = [(seconds(case.ours), seconds(case.theirs)) for _ in range(rounds)]
    return median(ours for ours, _ in taken), median(theirs for _, theirs in taken)
