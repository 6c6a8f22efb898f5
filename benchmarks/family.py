"""Sizes that nobody tuned, by what was found for others of their family: beside their defaults and their own tuning.

Of each kind of call some sizes, drawn at random, are tuned together by ``mdhnp.tune(calls=…)``. Others, the held-out
ones, are tuned each for itself from an empty cache. Their three schedules are timed by turns. Families, and then
held-out sizes, are shared among processes: on CPUs each has a core of its own.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from math import exp, log
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median
from typing import Any
from unittest.mock import patch

import numpy as np

import mdhnp
from benchmarks import report
from benchmarks.cpu import describe, machine, mdhnp_device
from benchmarks.tuning import by_turns, empty_cache, only_cache
from mdhnp.calls.kernels import staged
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import Kernels
from mdhnp.mdh import MdHom
from mdhnp.runtime.devices import Device
from mdhnp.schedule.default import default
from mdhnp.system import cores
from mdhnp.tuning.lookup import family_schedule
from mdhnp.tuning.search.session import tune_stage

__all__ = ["KINDS", "REQUIRED", "Families", "caption", "run", "table"]

Row = dict[str, Any]
Call = Callable[[], Any]
Size = tuple[int, ...]
_WEIGHTS = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]).astype(np.float32) / 256
#: Part of the speed by a size's own tuning that its family's schedule is to reach.
REQUIRED = 0.85


def _ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def _product(m: int, k: int, n: int) -> Call:
    return partial(mdhnp.matmul, _ones(m, k), _ones(k, n))


def _contraction(a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> Call:
    return partial(mdhnp.einsum, "abdg,cgfe->fedcba", _ones(a, b, d, g), _ones(c, g, f, e))


def _gaussian(m: int, n: int) -> Call:
    return partial(mdhnp.stencil, _ones(m, n), _WEIGHTS)


#: Of each kind of call: what makes one of extents, how many there are, and the least and largest of them.
KINDS: dict[str, tuple[Callable[..., Call], int, int, int]] = {
    "matmul": (_product, 3, 100, 1000),
    "einsum('abdg,cgfe->fedcba')": (_contraction, 7, 8, 20),
    "stencil, 5×5": (_gaussian, 2, 300, 3000),
}


@dataclass(frozen=True)
class Families:
    """How much is measured: sizes tuned together for so many seconds each, and others each for so many `alone`."""

    together: int = 6
    held_out: int = 60
    seconds: float = 3.0
    alone: float = 6.0
    #: Number of the first family of each kind of call: others have other sizes.
    seed: int = 0


def _sizes(kind: str, seed: int) -> Iterator[Size]:
    """Iterate over extents whose logarithms are uniformly distributed."""
    _, count, least, most = KINDS[kind]
    rng = np.random.default_rng(seed)
    while True:
        yield tuple(int(n) for n in np.exp(rng.uniform(log(least), log(most + 1), count)))


def _stage(call: Call, device: Device) -> MdHom:
    with mdhnp.device(device), mdhnp.config(tuning="off", host="never", specialise="always"), observe() as seen:
        call()
    (stage,) = [s.mdhom for plan, _ in seen if isinstance(plan, Kernels) for s in staged(plan)]
    assert isinstance(stage, MdHom), "calls of one kernel"
    return stage


def tuned_together(spec: str, kind: str, sizes: Iterable[Size], seconds: float, folder: str) -> list[str]:
    """Tune calls of a kind together, keep what is found in a cache folder, and say it."""
    make, *_ = KINDS[kind]
    with only_cache(folder), mdhnp.device(spec):
        found = mdhnp.tune(calls=[make(*size) for size in sizes], budget=seconds, progress=False)
    return [
        f"{kind} {t.mdhom.extents}: "
        + ", ".join(
            f"{name} {(seconds or 0) * 1e6:.0f} µs"
            for name, seconds in [("default", t.default_seconds), ("family", t.family_seconds), ("own", t.seconds)]
        )
        for t in found
    ]


def held_out(spec: str, kind: str, size: Size, alone: float, folder: str) -> Row:
    """Give the seconds of a size by its default schedule, by the one of a cache folder's family, and by its own."""
    device = mdhnp_device(spec)
    make, *_ = KINDS[kind]
    with only_cache(folder):
        h = _stage(make(*size), device)
        start = default(h, device.caps)
        shared = family_schedule(h, device) or start
    with empty_cache():
        own, _ = tune_stage(h, device, alone, progress=False)
    assert own is not None, "nobody else can hold a claim in an empty cache"
    schedules = {"default": start, "family": shared, "own": own.schedule}
    times = by_turns(h, device, [*schedules.values()])
    seconds = {name: median(times[schedule]) for name, schedule in schedules.items()}
    return {"kind": kind, "case": f"{kind} {size}", "device": describe(device), "seconds": seconds}


def run(
    spec: str, much: Families, path: Path, workers: int = 0, limit: float = 3600, kinds: Sequence[str] = (*KINDS,)
) -> Row:
    """Measure until all is measured, or so many seconds are over; keep each row as it comes, and give all.

    There is a worker for each core of a CPU, and one for a GPU, where nothing else is said.
    """
    end = time.monotonic() + limit
    on_cpu = mdhnp_device(spec).kind == "cpu"
    workers = workers or (cores() if on_cpu else 1)
    one_thread = {"OPENBLAS_NUM_THREADS": "1"} if on_cpu and workers > 1 else {}
    stamp = machine() | {"workers": workers, "together": much.together, "seconds": much.seconds, "alone": much.alone}
    each = max(workers // len(kinds), 1)
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(os.environ, one_thread),
        _pool(workers, pinned=bool(one_thread)) as pool,
    ):
        tuned = dict[Future[Any], tuple[str, str, list[Size]]]()
        for kind in kinds:
            for seed in range(much.seed, much.seed + each):
                drawn, home = _sizes(kind, seed), str(Path(folder, f"{len(tuned)}"))
                first = [next(drawn) for _ in range(much.together)]
                others = [next(drawn) for _ in range(-(-much.held_out // each))]
                tuned[pool.submit(tuned_together, spec, kind, first, much.seconds, home)] = kind, home, others
        for lines in _until(end, tuned):
            print(*lines, sep="\n", flush=True)
        families = [about for future, about in tuned.items() if future.done() and not future.exception()]
        # By turns of families and kinds, so that what is cut off is of all.
        rounds = zip_longest(*[[(kind, size, home) for size in others] for kind, home, others in families])
        rows = [
            pool.submit(held_out, spec, kind, size, much.alone, home)
            for kind, size, home in filter(None, chain.from_iterable(rounds))
        ]
        for row in _until(end, rows):
            report.save(path, {"machine": stamp, "rows": [row]})
            print(row["case"], *(f"{name} {t * 1e6:.0f} µs" for name, t in row["seconds"].items()), flush=True)
        pool.shutdown(cancel_futures=True)
    return report.load(path)


def _until(end: float, futures: Iterable[Future[Any]]) -> Iterator[Any]:
    """Iterate over results as they come, until a moment; what fails is named and passed over."""
    try:
        for future in as_completed(futures, max(end - time.monotonic(), 0)):
            if error := future.exception():
                print(f"{type(error).__name__}: {error}", flush=True)
            else:
                yield future.result()
    except TimeoutError:
        print("the time is over", flush=True)


def _pool(workers: int, *, pinned: bool) -> ProcessPoolExecutor:
    """New processes, each on a core of its own if they are to be pinned."""
    context = get_context("spawn")
    if not pinned:
        return ProcessPoolExecutor(workers, context)
    free = context.SimpleQueue()
    for core in sorted(os.sched_getaffinity(0))[:workers]:
        free.put(core)
    return ProcessPoolExecutor(workers, context, _pin, (free,))


def _pin(free: Any) -> None:
    os.sched_setaffinity(0, {free.get()})


def caption(results: Row) -> str:
    """Say what the table is of."""
    about, kinds = results["machine"], [row["kind"] for row in results["rows"]]
    counts = [kinds.count(kind) for kind in {*kinds}]
    shared = f" {about['workers']} processes, each on a core of its own." if about["workers"] > 1 else ""
    return (
        f"Sizes that nobody tuned: {min(counts)} or more of each call, by the schedules of "
        f"{about['together']} others that were tuned together, {about['seconds']:g} s a kernel; beside their defaults, "
        f"and beside what {about['alone']:g} s of tuning finds for each of them.{shared} Geometric means, least and "
        f"most; last, sizes that come to less than {REQUIRED:g} of their own tuning."
    )


def table(results: Row) -> tuple[list[str], list[list[str]]]:
    """Give header and lines of text: of each kind, times by default and by own tuning over those by the family's."""
    lines = []
    for kind in KINDS:
        times = [row["seconds"] for row in results["rows"] if row["kind"] == kind]
        if times:
            by_default, by_own = ([t[name] / t["family"] for t in times] for name in ("default", "own"))
            below = sum(ratio < REQUIRED for ratio in by_own)
            lines.append([f"`{kind}`", _spread(by_default), _spread(by_own), f"{below} of {len(times)}"])
    asked = f"below {REQUIRED:g} of its own"
    return ["call", "times as fast as by default", "times as fast as by its own tuning", asked], lines


def _spread(ratios: Sequence[float]) -> str:
    mean = exp(fmean(map(log, ratios)))
    return f"{mean:.2f} ({min(ratios):.2f}–{max(ratios):.2f})"
