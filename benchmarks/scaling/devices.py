"""Calls on 1, 2, 4, … devices of one host, on arrays that are distributed already, beside what the model predicts.

Elements are computed on the devices, so that nothing large passes the host. Results on several devices are compared
with those on one: their first and last rows.
"""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from statistics import median
from typing import Any

import numpy as np

import mdhnp
from benchmarks.rows import seconds_text
from benchmarks.scaling.cases import COMPUTATIONS, H200S, Case, cube, line, matrices, rows, tensors
from benchmarks.scaling.model import cheapest
from mdhnp.distributed.exchange import watched

__all__ = ["HEADER", "calls", "run"]

HEADER = ["call", "devices", "median", "range", "speed-up", "predicted", "GB exchanged", "error"]

#: Seconds in which a call is repeated, and how often at least and at most.
_SECONDS, _LEAST, _MOST = 1.5, 3, 12
#: Rows at both ends of a result that are compared.
_ROWS = 4

#: An array's shape, how it is distributed, and along which axes.
Operand = tuple[tuple[int, ...], str, int | tuple[int, ...]]


@dataclass(frozen=True)
class Call:
    """A call to be measured.

    Attributes
    ----------
    title : str
        As tables show it.
    operands : tuple
        What it is called on.
    function : callable
        What is called.
    case : Case, optional
        What the model is asked about it.
    """

    title: str
    operands: tuple[Operand, ...]
    function: Callable[..., Any]
    case: Case | None = None


def _modelled(case: Case) -> Call:
    def function(*given: Any) -> Any:
        found = COMPUTATIONS[case.computation](*given)
        for _ in range(case.steps - 1):
            found = COMPUTATIONS[case.computation](found)
        return found

    each = enumerate(zip(case.shapes(1.0), case.axes, strict=False))
    operands = tuple([(shape, "copy" if n in case.copied else "block", axis) for n, (shape, axis) in each])
    return Call(case.title, operands, function, case)


def _in_grids(call: Call) -> Call:
    """Give the same call on operands that are distributed along two axes."""
    operands = tuple([(shape, kind, (0, 1) if kind == "block" else axis) for shape, kind, axis in call.operands])
    return Call(f"{call.title}, in grids", operands, call.function, call.case)


def _smoothed(steps: int) -> Callable[[Any], Any]:
    line_ = np.array([1, 4, 6, 4, 1], np.float32) / 16
    weights = np.outer(line_, line_)

    def function(image: Any) -> Any:
        for _ in range(steps):
            image = mdhnp.stencil(image, weights, "nearest")
        return image

    return function


def _softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


#: How often each of 64 equal parts of [-1, 1) is met.
_COUNTS = mdhnp.md_hom(
    lambda v: np.where(np.floor((v + 1) * np.float32(32)) == mdhnp.index(0), np.int32(1), np.int32(0)),
    {"b": mdhnp.cc, "i": mdhnp.cc, "j": mdhnp.pw("add")},
    "x[i,j] -> counts[b,i]",
)


def _histogram(x: Any) -> Any:
    return _COUNTS(x, b=64).sum(axis=1)


def _alike(x: Any, y: Any) -> Any:
    return np.where(np.floor(4 * x) == np.floor(4 * y), np.float32(2), np.float32(-1))


#: Of each record the most similar one of others: fields that agree count, and the first of the best ones is taken.
_LINKED = mdhnp.md_hom(
    lambda *fields: (sum(map(_alike, fields[::2], fields[1::2])), mdhnp.index(1)),
    {
        "i": mdhnp.cc,
        "j": mdhnp.pw(lambda a, b: (np.where(b[0] > a[0], b[0], a[0]), np.where(b[0] > a[0], b[1], a[1]))),
    },
    ", ".join([f"x[{f},i], y[{f},j]" for f in range(6)]) + " -> weight[i], place[i]",
)  # fmt: skip


def calls(part: int = 1) -> list[Call]:
    """Give the calls, whose extents are divided by a number."""

    def n(extent: int) -> int:
        return max(extent // part, 8)

    block = lambda *shape: (shape, "block", 0)  # noqa: E731
    products = [
        Case(f"matmul {n(size)}³{', B copied before' if copied else ''}", "matmul", matrices(n(size)), copied)
        for size, copied in ((16384, (1,)), (16384, ()), (32768, (1,)))
    ]
    large = [_modelled(Case(f"matmul {n(size)}³", "matmul", matrices(n(size)))) for size in (32768, 65536)]
    large += map(_in_grids, large[:])
    return [
        *map(_modelled, products),
        Call(
            f"einsum bij,bjk->bik, {n(256)} × {n(1024)}³", (block(n(256), n(1024), n(1024)),) * 2,
            partial(mdhnp.einsum, "bij,bjk->bik"),
        ),
        _modelled(Case(f"CCSD(T) 40, {n(40)}⁷", "contraction", tensors(n(40)), axes=(0, 2))),
        _modelled(Case(f"all-pairs L1, {n(65536)}² × 256", "all-pairs", rows(n(65536), 256))),
        Call(f"20 times 5 × 5 weights, {n(32768)}²", (block(n(32768), n(32768)),), _smoothed(20)),
        _modelled(Case(f"20 Jacobi steps, {n(1024)}³", "Jacobi", cube(n(1024)), steps=20)),
        Call(f"softmax of rows, {n(262144)} × 4096", (block(n(262144), 4096),), mdhnp.fuse(_softmax)),
        Call(f"records linked, {n(131072)}², 6 fields", ((((6, n(131072)), "block", 1), ((6, n(131072)), "copy", 1))),
             lambda x, y: _LINKED(x, y)[0]),
        Call(f"histogram of {n(32768)}², 64 parts", (block(n(32768), n(32768)),), _histogram),
        _modelled(Case(f"sum of {n(1 << 30)}", "sum", line(n(1 << 30)))),
        *large,
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------------------ measuring


def _filled(shape: tuple[int, ...]) -> Any:
    """Give an Array with elements in [-1, 1), computed where calls run."""
    if len(shape) == 1:
        few = next(k for k in (4096, 64, 8, 1) if shape[0] % k == 0)
        return _filled((shape[0] // few, few)).reshape(shape)
    first, second = (mdhnp.arange(n, dtype=np.float32) for n in (prod(shape[:-1]), shape[-1]))
    return mdhnp.sin(first.reshape(-1, 1) * np.float32(0.37) + second * np.float32(1.61)).reshape(shape)


def _given(call: Call, where: Any) -> list[Any]:
    arrays = []
    for shape, kind, axis in call.operands:
        made = _filled(shape)
        arrays.append(mdhnp.distribute(made, kind, axis) if where.several else made)
    return arrays


def _ends(result: Any) -> list[Any]:
    """Give the first and the last rows of a result."""
    if not result.ndim:
        return [result.numpy()]
    return [np.array(part.numpy()) for part in (result[:_ROWS], result[-_ROWS:])]


def _measure(call: Call, where: Any) -> tuple[list[float], int, list[Any]]:
    """Return the seconds of calls, the bytes that one exchanges, and both ends of its result."""
    given = _given(call, where)
    with watched() as moved:
        found = _ends(call.function(*given))
    call.function(*given)  # what the first one left to compile
    mdhnp.synchronize(where)
    times: list[float] = []
    while len(times) < _LEAST or (sum(times) < _SECONDS and len(times) < _MOST):
        begin = time.perf_counter()
        result = call.function(*given)
        mdhnp.synchronize(where)
        times.append(time.perf_counter() - begin)
        del result
    return times, sum([each.nbytes for each in moved]), found


def _error(found: Sequence[Any], expected: Sequence[Any]) -> float:
    """Return the largest difference, beside the largest number."""
    pairs = [(np.asarray(f, np.float64), np.asarray(e, np.float64)) for f, e in zip(found, expected, strict=True)]
    largest = max([float(np.abs(e).max()) for _, e in pairs])
    return max([float(np.abs(f - e).max()) for f, e in pairs]) / (largest or 1.0)


def _predicted(call: Call, count: int) -> str:
    if call.case is None:
        return "–"
    task = call.case.task(H200S)
    return f"{cheapest(task, H200S, 1).seconds / cheapest(task, H200S, count, grid=True).seconds:.2f}"


def run(spec: str, seconds: float, part: int = 1) -> Iterator[list[str]]:
    """Measure, and yield a row of text for each call and number of devices.

    Parameters
    ----------
    spec : str
        Which devices, as :func:`mdhnp.device` takes it; so many of them as powers of two are measured.
    seconds : float
        After which no call begins.
    part : int
        By what extents are divided.
    """
    end = time.perf_counter() + seconds
    with mdhnp.device(spec) as everything:
        devices = everything.members
    counts = [1 << n for n in range(len(devices).bit_length()) if 1 << n <= len(devices)]
    with mdhnp.config(host="never", specialise="always", tuning="off"):
        for call in calls(part):
            one: tuple[list[float], list[Any]] | None = None
            for count in counts:
                if time.perf_counter() > end:
                    return
                gc.collect()
                try:
                    with mdhnp.device(list(devices[:count])) as where:
                        times, moved, found = _measure(call, where)
                except (MemoryError, RuntimeError) as failure:  # as of what one device has no room for
                    yield [call.title, str(count), f"{type(failure).__name__}: {failure}"[:80], *[""] * 5]
                    continue
                row = [call.title, str(count), seconds_text(median(times))]
                row.append(f"{seconds_text(min(times))}–{seconds_text(max(times))}")
                exchanged = "" if count == 1 else f"{moved / 1e9:.3g}"
                if count == 1:
                    one = times, found
                ratio = f"{median(one[0]) / median(times):.2f}" if one and count > 1 else ""
                error = f"{_error(found, one[1]):.1e}" if one and count > 1 else ""
                yield [*row, ratio, _predicted(call, count) if count > 1 else "", exchanged, error]
