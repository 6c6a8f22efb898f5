"""How good a few seconds of tuning are: against the default schedule before, and against minutes of tuning.

Each seed tunes a case from an empty cache, and one long search is the reference. Then all schedules found, and the
default, are timed by turns in one process, because times of different minutes cannot be compared. Takes cases and a
device, gives plain data; draws curves.
"""

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import mdhnp
from benchmarks.cases import CASES
from benchmarks.cpu import describe, machine, mdhnp_device
from mdhnp.calls.observe import observe
from mdhnp.mdh import Computation, canonical, stages
from mdhnp.runtime.devices import Device
from mdhnp.schedule import Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning.cache import TuningCache, tuning_cache
from mdhnp.tuning.cache.records import Key, Measurement
from mdhnp.tuning.measure.bench import TuningTask
from mdhnp.tuning.measure.team import Worker
from mdhnp.tuning.search.session import tune_stage

__all__ = ["by_turns", "draw", "empty_cache", "only_cache", "run", "stage", "table"]

#: Rounds of the comparison; part of the best found that the seeds must reach.
ROUNDS, REQUIRED = 11, 0.95

Row = dict[str, Any]


def run(
    names: Iterable[str], spec: str, seconds: float, reference: float, seeds: int, keep: Any, say: Any = print
) -> Row:
    """Tune cases.

    Parameters
    ----------
    names : iterable of str
        Of `CASES`.
    spec : str
        The device, as :func:`mdhnp.device` takes it.
    seconds, reference : float
        Budget of each search, and of the one that the others are compared with.
    seeds : int
        Searches a case.
    keep : callable
        Given the results after every case.
    say : callable
        Told what was found, line by line.
    """
    device = mdhnp_device(spec)
    results: Row = {"machine": machine(), "rows": []}
    for name in names:
        case = CASES[name]
        row = _tuned(stage(name, device), device, seconds, reference, seeds)
        row |= {"case": name, "title": case.title, "extents": case.extents, "device": describe(device)}
        results["rows"].append(row)
        reached = ", ".join(f"{part:.2f}" for part in row["reached"])
        counts = ", ".join(str(len(search["curve"])) for search in row["searches"])
        say(
            f"{device.runtime:6} {name:12} default {row['default_seconds'] * 1e3:.4g} ms, "
            f"best {row['reference_seconds'] * 1e3:.4g} ms, reached {reached} after {counts} measurements"
        )
        keep(results)
    return results


def stage(name: str, device: Device) -> Computation:
    """The kernel of a case: of several, the one with the most points."""
    problem = CASES[name].make()
    with mdhnp.device(device), mdhnp.config(tuning="off", host="never"), observe() as seen:
        problem.ours()
    kernels = [canonical(s.mdhom) for plan, _ in seen for s in stages(plan.mdhom)]
    return max(kernels, key=lambda h: h.points)


def _tuned(h: Computation, device: Device, seconds: float, reference: float, seeds: int) -> Row:
    searches = [_search(h, device, seconds, seed) for seed in range(seeds)]
    long = _search(h, device, reference, seeds)
    start = default(h, device.caps)
    times = by_turns(h, device, [start, long["schedule"], *(s["schedule"] for s in searches)])
    best = times[long["schedule"]]
    for search in (*searches, long):
        search["seconds"] = median(times[search["schedule"]])
        search["schedule"] = search["schedule"].to_json()
    return {
        "kernel": str(h),
        "budget": seconds,
        "reference_budget": reference,
        "default_seconds": median(times[start]),
        "default_reached": median(b / t for b, t in zip(best, times[start], strict=True)),
        "reference_seconds": median(best),
        "reached": [
            median(b / t for b, t in zip(best, times[Schedule.from_json(s["schedule"])], strict=True)) for s in searches
        ],
        "searches": searches,
        "reference": long,
    }


def _search(h: Computation, device: Device, seconds: float, seed: int) -> Row:
    """Tune from an empty cache; the curve is (seconds since the beginning, fastest so far, which schedule failed)."""
    curve: list[tuple[float, float | None]] = []
    record = TuningCache.record

    def clocked(self: TuningCache, key: Key, measured: Measurement) -> None:
        curve.append((time.perf_counter() - begin, measured.seconds))
        record(self, key, measured)

    with empty_cache(), patch.object(TuningCache, "record", clocked):
        begin = time.perf_counter()
        tuned, _ = tune_stage(h, device, seconds, None, seed, progress=False)
        taken = time.perf_counter() - begin
    assert tuned is not None, "nobody else can hold a claim in an empty cache"
    return {"schedule": tuned.schedule, "curve": curve, "taken": taken}


@contextmanager
def empty_cache() -> Iterator[None]:
    """Have calls and searches of the block, and processes that they start, begin with nothing known."""
    with tempfile.TemporaryDirectory() as folder, only_cache(folder):
        yield


@contextmanager
def only_cache(folder: str) -> Iterator[None]:
    """Have the block, and processes that it starts, know what is in a cache folder, and nothing that was shipped."""
    with patch.dict(os.environ, MDHNP_CACHE_DIR=folder), patch.object(tuning_cache, "shipped_entries", dict):
        yield


def by_turns(h: Computation, device: Device, schedules: Sequence[Schedule]) -> dict[Schedule, list[float]]:
    """Seconds of each schedule, one a round."""
    times: dict[Schedule, list[float]] = {s: [] for s in schedules}
    with closing(Worker(TuningTask(h, device.identity, default(h, device.caps)))) as worker:
        for n in range(ROUNDS + 1):
            for s, found in times.items():
                measured = worker.measure(s, None).seconds
                if measured is None:
                    raise RuntimeError(f"{s} was found by a search, but cannot be measured")
                found += [measured] if n else []  # the first round builds
    return times


def table(results: Row, order: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Header and lines of text."""
    header = ["case", "extents", "default", "tuned", "reference", "its budget", "default reaches", "tuned reaches"]
    lines = []
    for row in sorted(results["rows"], key=lambda r: (r["device"]["runtime"], order.index(r["case"]))):
        tuned = median(s["seconds"] for s in row["searches"])
        lines.append(
            [
                f"{row['case']} ({row['device']['runtime']})",
                row["extents"],
                *(f"{t * 1e3:.4g} ms" for t in (row["default_seconds"], tuned, row["reference_seconds"])),
                f"{row['reference_budget']:.0f} s",
                f"{row['default_reached']:.0%}",
                ", ".join(f"{part:.0%}" for part in sorted(row["reached"])),
            ]
        )
    return header, lines


def draw(results: Row, order: Sequence[str], path: Path) -> None:
    """Draw the fastest found so far over seconds, one panel a case.

    Times of different searches cannot be compared, so each curve is drawn to end where its search's result did when all
    were timed by turns.
    """
    from matplotlib.figure import Figure

    rows = sorted(results["rows"], key=lambda r: (r["device"]["runtime"], order.index(r["case"])))
    columns = 4
    figure = Figure(figsize=(11, 2.1 * -(-len(rows) // columns)), layout="constrained")
    panels = figure.subplots(-(-len(rows) // columns), columns, squeeze=False, sharex=True, sharey=True).flat
    for panel, row in zip(panels, rows, strict=False):
        ends = [*zip(row["searches"], row["reached"], strict=True), (row["reference"], 1.0)]
        for search, end in ends:
            style = ":" if search is row["reference"] else "-"
            known = [(t, s) for t, s in search["curve"] if s is not None]
            fastest = [min(s for _, s in known[: n + 1]) for n in range(len(known))]
            panel.plot([t for t, _ in known], [end * fastest[-1] / s for s in fastest], style, drawstyle="steps-post")
        panel.axhline(REQUIRED, color="grey", linewidth=0.6)
        panel.set(xscale="log", ylim=(0.4, 1.1), title=f"{row['case']} ({row['device']['runtime']})")
    for panel in list(panels)[len(rows) :]:
        panel.set_visible(False)
    figure.supxlabel("seconds (dotted: the reference)")
    figure.supylabel("part of the best's speed")
    figure.savefig(path, dpi=90)
