"""Sizes that nobody tuned, by what was found for others of their family: beside their defaults and their own tuning.

Of each kind of call some sizes, drawn at random, are tuned together by ``mdhnp.tune(calls=…)``. Others, the held-out
ones, are tuned each for itself from an empty cache. Their three schedules are timed by turns.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import exp, log
from statistics import fmean, median
from typing import Any

import numpy as np

import mdhnp
from benchmarks.tuning import by_turns, empty_cache
from mdhnp.calls.kernels import staged
from mdhnp.calls.observe import observe
from mdhnp.mdh import MdHom
from mdhnp.runtime.devices import Device
from mdhnp.schedule.default import default
from mdhnp.tuning.lookup import family_schedule
from mdhnp.tuning.search.session import tune_stage

__all__ = ["KINDS", "line", "measure", "table"]

Call = Callable[[], Any]
_WEIGHTS = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]).astype(np.float32) / 256


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


def _calls(kind: str, seed: int) -> Iterator[Call]:
    """Iterate over calls of extents whose logarithms are uniformly distributed."""
    make, count, least, most = KINDS[kind]
    rng = np.random.default_rng(seed)
    while True:
        yield make(*(int(n) for n in np.exp(rng.uniform(log(least), log(most + 1), count))))


def _stage(call: Call, device: Device) -> MdHom:
    with mdhnp.device(device), mdhnp.config(tuning="off", host="never", specialise="always"), observe() as seen:
        call()
    (stage,) = [s.mdhom for plan, _ in seen for s in staged(plan.mdhom)]
    assert isinstance(stage, MdHom), "calls of one kernel"
    return stage


def measure(
    kind: str, device: Device, together: int, held_out: int, seconds: float, alone: float, seed: int = 1
) -> list[tuple[float, float, float]]:
    """Give, of each held-out size, the seconds by the default schedule, by the family's, and by its own.

    Sizes are tuned together for so many seconds a kernel, and each for itself for so many `alone`.
    """
    calls = _calls(kind, seed)
    first, others = [next(calls) for _ in range(together)], [next(calls) for _ in range(held_out)]
    with empty_cache(), mdhnp.device(device):
        for found in mdhnp.tune(calls=first, budget=seconds, progress=False):
            print(found.mdhom.extents, found, flush=True)
        stages = [_stage(call, device) for call in others]
        usual = [default(h, device.caps) for h in stages]
        shared = [family_schedule(h, device) or s for h, s in zip(stages, usual, strict=True)]
    rows = []
    for h, start, of_family in zip(stages, usual, shared, strict=True):
        with empty_cache():
            own, _ = tune_stage(h, device, alone, progress=False)
        assert own is not None, "nobody else can hold a claim in an empty cache"
        times = by_turns(h, device, [start, of_family, own.schedule])
        rows.append((median(times[start]), median(times[of_family]), median(times[own.schedule])))
        print(h.extents, *(f"{t * 1e6:.0f} µs" for t in rows[-1]), flush=True)
    return rows


def table(
    device: Device, together: int, held_out: int, seconds: float, alone: float
) -> tuple[list[str], list[list[str]]]:
    """Give header and lines of text: of each kind, times by default and by own tuning over those by the family's."""
    lines = []
    for kind in KINDS:
        rows = measure(kind, device, together, held_out, seconds, alone)
        lines.append(line(kind, rows))
    return ["call", "default ÷ family", "own ÷ family"], lines


def line(kind: str, rows: Sequence[Sequence[float]]) -> list[str]:
    """Give the line of a kind of call, from what :func:`measure` gave."""
    by_default, by_own = ([row[n] / row[1] for row in rows] for n in (0, 2))
    return [f"`{kind}`", _spread(by_default), _spread(by_own)]


def _spread(ratios: Sequence[float]) -> str:
    mean = exp(fmean(map(log, ratios)))
    return f"{mean:.2f} ({min(ratios):.2f}–{max(ratios):.2f})"
