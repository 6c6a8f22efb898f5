"""Keys, entries and measurements for the tests of the tuning cache, and other processes that use them."""

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mdhnp
from mdhnp.mdh import MdHom, canonical
from mdhnp.schedule import LocalCopy, Schedule
from mdhnp.tuning.cache import BestSchedule, Key, Measurement, TuningCache, cache
from mdhnp.tuning.cache import tuning_cache as cache_module

PLAIN = Schedule.plain((6, 5, 7), 2)
RICH = replace(
    PLAIN,
    num_wg=(2, 1, 1),
    vector_dim=1,
    vector_width=8,
    local_copies=(LocalCopy((1, 0), (0,)), None),
    second=Schedule.plain((6, 5), 1),
)


def key(*extents: int, family: str = "product", device: str = "this device", generator: str = "1") -> Key:
    extents = extents or (6, 5, 7)
    return Key(family, extents, f"{family}{extents}", device, generator)


def entry(seconds: float = 1e-3, schedule: Schedule = RICH, tuned_at: str = "2026-02-03T04:05:06Z") -> BestSchedule:
    return BestSchedule(
        schedule, seconds, 50, tuned_at, "md_hom((x0 * x1), (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j]"
    )


def measurement(number: int = 0) -> Measurement:
    return Measurement(replace(PLAIN, vector_width=number + 1), 1e-3 + number, "ok", f"number {number}")


def keep(tuned: TuningCache, key: Key, entry: BestSchedule, *measurements: Measurement) -> None:
    """Keep an entry and what was measured for it."""
    for each in measurements:
        tuned.record(key, each)
    tuned.put(key, entry)


def fresh_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TuningCache]:
    """The process's cache in a folder of its own; warnings are errors unless a test expects them."""
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setattr(cache_module, "shipped_entries", dict)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield cache()


def again(tuned: TuningCache) -> TuningCache:
    """The same file, as another process would open it."""
    return TuningCache(tuned.path)


def script(text: str, *arguments: object) -> "subprocess.Popen[str]":
    """Run a test's other process, which finds what this one does; its standard input stays open."""
    command = [sys.executable, "-c", f"import sys; from tuning_entries import *; {text}", *map(str, arguments)]
    path = [str(Path(__file__).parent), *filter(None, sys.path)]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
    )


def line_of(other: "subprocess.Popen[str]") -> str:
    """The next line that another process prints."""
    assert other.stdout is not None
    line = other.stdout.readline()
    assert line, f"the other process ended with {other.wait(10)}"
    return line.strip()


def stage_of(a: np.ndarray, b: np.ndarray) -> MdHom:
    """The only stage of a product."""
    return canonical(mdhnp.explain(mdhnp.matmul, a, b).launches[0].mdhom)
