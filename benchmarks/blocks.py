"""Arrays in blocks: mdhnp.dask beside dask.array's own functions on the same chunks, and two processes beside one.

Blocks are in memory before, where they are computed; results stay there. Both are repeated by turns.
"""

import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.core import flatten
from distributed import Client, LocalCluster, wait
from scipy import ndimage

import mdhnp
import mdhnp.dask

__all__ = ["beside_one_process", "table"]

#: Seconds of untimed calls, in which kernels are built and take over.
_WARMING = 12.0
#: Times that each is computed by one process and by two.
_REPEATS = 3


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


_SQUARE = ((4096, 4096), (1024, 1024))
_CUBE = ((256, 256, 256), (128, 128, 128))
_GAUSS = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]).astype("f4") / 256
_CROSS = np.zeros((3, 3, 3), "f4")
_CROSS[1, 1, :] = _CROSS[1, :, 1] = _CROSS[:, 1, 1] = 1 / 6
CASES = (
    _einsum("einsum ij,jk->ik, 4096³", "1024²", "ij,jk->ik", _SQUARE, _SQUARE),
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


def _by_kernels() -> None:
    """Have this process compute with kernels for the very sizes from the first call on, as once they are there."""
    mdhnp.config.host, mdhnp.config.specialise, mdhnp.config.tuning = "never", "always", "off"


@dataclass(frozen=True)
class _Scheduler:
    """Who computes: `persist` gives an array that is computed; `forgotten` says whether a key is not known any more.

    A call whose result of before is still there would find it.
    """

    persist: Callable[[Any], Any]
    forgotten: Callable[[Any], bool] = lambda _: True

    def seconds(self, call: Callable[[], Any]) -> float:
        """Time a call, and wait until its result is gone."""
        begin = time.perf_counter()
        found = self.persist(call())
        taken = time.perf_counter() - begin
        key = next(iter(flatten(found.__dask_keys__())))
        del found
        while not self.forgotten(key):
            time.sleep(0.01)
        return taken


@contextmanager
def _threads() -> Iterator[_Scheduler]:
    with dask.config.set(scheduler="threads", num_workers=2):
        yield _Scheduler(lambda x: x.persist())


@contextmanager
def _processes() -> Iterator[_Scheduler]:
    with (
        dask.config.set({"distributed.worker.daemon": False}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(mdhnp.dask.Plugin(devices=["cpu"]))
        client.run(_by_kernels)

        def persist(x: Any) -> Any:
            found = client.persist(x)
            wait(found)
            return found

        def forgotten(key: Any) -> bool:
            return bool(client.run_on_scheduler(lambda dask_scheduler: key not in dask_scheduler.tasks))

        yield _Scheduler(persist, forgotten)


def table(rounds: int, cases: Sequence[Case] = CASES) -> str:
    """Measure, and give a table in Markdown."""
    lines = [
        "| call, float32 | chunks | scheduler | mdhnp.dask | dask.array | dask's time / ours |",
        "|---|---|---|--:|--:|--:|",
    ]
    for name, scheduler in (("threads", _threads), ("2 processes", _processes)):
        with scheduler() as used:
            for case in cases:
                ours, theirs = _times(case, used, rounds)
                lines.append(
                    f"| {case.title} | {case.chunks} | {name} | {1e3 * ours:.0f} ms | {1e3 * theirs:.0f} ms "
                    f"| {theirs / ours:.2f} |"
                )
                print(lines[-1], flush=True)
    return "\n".join(lines)


def _times(case: Case, used: _Scheduler, rounds: int) -> tuple[float, float]:
    """Seconds of both, medians."""
    rng = np.random.default_rng(0)
    arrays = [
        used.persist(da.from_array(rng.standard_normal(shape, np.float32), chunks=chunks))
        for shape, chunks in case.arrays
    ]
    results = [used.persist(each(*arrays)) for each in (case.ours, case.theirs)]
    error = float(used.persist(abs(results[0] - results[1]).max()).compute())
    assert error < 1e-3 * float(used.persist(abs(results[1]).max()).compute()), f"{case.title}: they differ by {error}"
    del results
    until = time.perf_counter() + _WARMING
    while time.perf_counter() < until:
        used.seconds(lambda: case.ours(*arrays))
    taken: list[list[float]] = [[], []]
    for _ in range(rounds):
        for each, times in zip((case.ours, case.theirs), taken, strict=True):
            times.append(used.seconds(partial(each, *arrays)))
    return median(taken[0]), median(taken[1])


def beside_one_process(n: int, pairs: int) -> str:
    """Some seconds of work by one process with two cores, and by two processes."""
    _by_kernels()
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, n), np.float32) for _ in range(2))
    new, existing = ({f: rng.integers(0, 1000, pairs) for f in "abcd"} for _ in range(2))
    link: dict[str, Any] = {"m": 0.9, "thresholds": (0, 20)}
    with mdhnp.device("cpu"):
        calls = [lambda: mdhnp.matmul(a, b), lambda: mdhnp.prl(new, existing, **link)]
        alone = [min(timeit.repeat(call, number=1, repeat=_REPEATS)) for call in calls]
    with _processes() as used:
        x, y = (used.persist(da.from_array(m, chunks=n // 4)) for m in (a, b))
        sizes = -(-pairs // 8), pairs
        calls = [
            lambda: mdhnp.dask.matmul(x, y),
            lambda: mdhnp.dask.prl(new, existing, chunks=sizes, **link).status,
        ]
        together = [min([used.seconds(call) for _ in range(_REPEATS)]) for call in calls]
    lines = ["| call | one process | two of one thread | speed-up |", "|---|--:|--:|--:|"]
    for title, one, two in zip((f"matmul {n}³", f"prl {pairs}²"), alone, together, strict=True):
        lines.append(f"| {title} | {one:.2f} s | {two:.2f} s | {one / two:.2f} |")
    return "\n".join(lines)
