"""Random computations by random schedules on a device, side by side in processes, for as long as one likes.

    python tests/device_run.py --device nvidia --seconds 300 --jobs 16

A seed is a computation: any MDH of whole numbers (`strategies.py`), also with a ring's operations, rows or a chain of
maps with these (`rows.py`, `chains.py`), a sum of products of any type, or one with factors at the ends of what floats
hold (`contractions.py`), by a random schedule each, with the device's matrix instructions where it has some. Failures
are told with their seeds; `--seed N --count 1` runs one again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections import Counter
from dataclasses import replace
from multiprocessing import get_context
from queue import Empty
from typing import TYPE_CHECKING, Any

import numpy as np
from chains import assert_is_exact, random_chain, random_stream
from contractions import ALL_TYPES, PECULIAR, contraction, matrix_schedule
from guards import assert_same_bits
from random_functions import Seeded
from rows import random_rows
from running import execute, expected, lowered
from schedules import CAPS, schedule
from strategies import TooLarge, case

from mdhnp.codegen import generate
from mdhnp.schedule.default import default
from mdhnp.schedule.schedule import IllegalSchedule

if TYPE_CHECKING:
    from mdhnp.mdh import Chain, Rows
    from mdhnp.runtime.devices import Device

__all__ = ["KINDS", "run_one"]

#: Kinds of seeds, by turns: any MDH, one of a ring's operations, fused steps of these, sums of products, larger ones,
#: and peculiar factors.
KINDS = (
    "any", "ring", "products", "large products", "peculiar products", "large peculiar products", "rows", "chain",
    "stream",
)  # fmt: skip
#: Most points of a large one.
_LARGE = 2_000_000
#: Seconds after which a process that says nothing has failed.
_PATIENCE = 120.0


def run_one(device: Device, seed: int) -> str:
    """Compute a seed's MDH, and assert that the result is right; give what it was, or nothing of what is too large."""
    kind, p = KINDS[seed % len(KINDS)], Seeded(seed)
    if kind in ("any", "ring"):
        return _any(device, p, kind)
    if kind in ("rows", "chain", "stream"):
        return _fused(device, p, kind)
    large, peculiar = "large" in kind, "peculiar" in kind
    types, points = tuple(PECULIAR) if peculiar else ALL_TYPES, [_LARGE] if large else []
    one = contraction(seed, types, *points, peculiar=peculiar)
    caps = replace(device.caps, async_copies=device.caps.async_copies and p.integer(0, 2) > 0)
    steps = lowered(one.mdhom)
    s = matrix_schedule(p, steps[0].mdhom, caps)
    (got,) = execute(device, one.mdhom, one.arrays, generate(steps, [s], caps, default))
    one.assert_right(got)
    return f"{kind}, {one.arrays[0].dtype} {s.atom or 'without instructions'}"


def _any(device: Device, p: Seeded, kind: str) -> str:
    try:
        drawn = case(p, in_ring=kind == "ring")
    except TooLarge:
        return ""
    steps = lowered(drawn.mdhom)
    on = replace(CAPS, subgroup=device.caps.subgroup, split_vectors=p.choice((False, True)))
    used = [schedule(p, stage.mdhom, on) for stage in steps]
    program = generate(steps, used, on, lambda h, caps: schedule(p, h, caps))
    wanted = expected(drawn.mdhom, drawn.arrays)
    for number, (got, want) in enumerate(zip(execute(device, drawn.mdhom, drawn.arrays, program), wanted, strict=True)):
        assert_same_bits(got, want, f"output {number}")
    return kind


def _fused(device: Device, p: Seeded, kind: str) -> str:
    """Steps of a ring's operations in one kernel, whose results are those of the steps one by one."""
    made: Chain | Rows
    if kind == "stream":
        made, arrays, s = random_stream(p, 60, in_ring=True)
    else:
        made, arrays = random_rows(p, 40, in_ring=True) if kind == "rows" else random_chain(p, 60, in_ring=True)
        try:
            s = schedule(p, made, replace(CAPS, subgroup=device.caps.subgroup))
        except IllegalSchedule:  # what is kept between the steps is too large
            return ""
    assert_is_exact(device, made, arrays, s)
    return kind


def _work(spec: str, seeds: range, seconds: float, said: Any) -> None:
    """Run seeds in a process, and say of each what it was, or how it failed."""
    import mdhnp

    mdhnp.config.tuning, mdhnp.config.host = "off", "never"
    end = time.perf_counter() + seconds
    with mdhnp.device(spec) as device:
        for seed in seeds:
            if time.perf_counter() > end:
                break
            said.put((seed, "begun"))
            try:
                with np.errstate(all="ignore"):
                    said.put((seed, run_one(device, seed)))
            except Exception:
                said.put((seed, f"FAILED\n{traceback.format_exc()}"))
    said.put((None, ""))


def main() -> int:
    """Run seeds side by side; give 1 if one failed, or ended its process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="gpu", metavar="SPEC")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--seed", type=int, default=0, help="the first (default 0)")
    parser.add_argument("--count", type=int, default=10**9, help="how many, at most")
    given = parser.parse_args()
    context, begin = get_context("spawn"), time.perf_counter()
    said: Any = context.Queue()
    stop, left = given.seed + given.count, given.jobs
    each = [range(given.seed + job, stop, given.jobs) for job in range(given.jobs)]
    todo = [(given.device, seeds, given.seconds, said) for seeds in each]
    jobs = [context.Process(target=_work, args=args, daemon=True) for args in todo]
    for job in jobs:
        job.start()
    counts, open_seeds, failed = Counter[str](), set[int](), 0
    while left:
        try:
            seed, what = said.get(timeout=2.0 if any(job.exitcode for job in jobs) else _PATIENCE)
        except Empty:  # a process was ended, or hangs
            break
        if seed is None:
            left -= 1
        elif what == "begun":
            open_seeds.add(seed)
        else:
            open_seeds.discard(seed)
            failed += what.startswith("FAILED")
            counts[what.split("\n")[0]] += bool(what)
            if what.startswith("FAILED"):
                print(f"seed {seed}: {what}", flush=True)
    for what, count in sorted(counts.items()):
        print(f"{count:6} {what}")
    if open_seeds:
        print(f"ended or hung their process: seeds {sorted(open_seeds)}")
    print(f"{sum(counts.values())} computed, {failed + len(open_seeds)} wrong, in {time.perf_counter() - begin:.0f} s")
    for job in jobs:
        if job.is_alive():
            job.terminate()
    return int(failed > 0 or bool(open_seeds))


if __name__ == "__main__":
    sys.path.insert(1, os.getcwd())
    sys.exit(main())
