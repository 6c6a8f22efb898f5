"""Parts of one CPU device, a core each, beside the whole device: what cutting a call for several devices costs.

The same cores do the same work, so that a ratio of 1 would say that cutting, threads and recombining cost nothing. The
last column is the other end: all parts beside one of them, as a second GPU is beside the first.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import mdhnp

__all__ = ["run"]

Calls = dict[str, Callable[[], Any]]


def _calls(device: Any, parted: Any) -> dict[str, Calls]:
    """Give each case's calls: on the whole device, on all its parts, and on one part."""
    rng = np.random.default_rng(0)
    a, x = rng.random((1024, 1024), np.float32), rng.random(2**26, np.float32)
    shortest = mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}, "A[i,k], B[k,j] -> C[i,j]")
    places = {"whole": device, "one": parted.members[0]}
    held = {name: [mdhnp.asarray(v, device=place) for v in (a, a, x)] for name, place in places.items()}
    held["parts"] = [mdhnp.distribute(a, devices=parted), mdhnp.distribute(a, "copy", devices=parted)]
    held["parts"].append(mdhnp.distribute(x, devices=parted))

    def of(function: Callable[..., Any], *which: int) -> Calls:
        return {name: partial(function, *[given[n] for n in which]) for name, given in held.items()}

    return {
        "matrix product 1024³": of(mdhnp.matmul, 0, 1),
        "shortest ways 1024³": of(shortest, 0, 1),
        "sum of 2^26": of(mdhnp.sum, 2),
    }


def _seconds(calls: Calls, rounds: int) -> dict[str, float]:
    """Time calls by turns; the least of all rounds, since others may use the machine."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 2):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            if number > 1:
                found[name].append(time.perf_counter() - begin)
    return {name: min(each) for name, each in found.items()}


def run(spec: str, count: int, rounds: int) -> str:
    """Measure, and give a table."""
    with mdhnp.device(spec) as device, mdhnp.device(f"{spec}/{count}") as parted:
        lines = [
            f"{device.name} ({device.runtime}), {count} parts of {parted.members[0].caps.compute_units} compute units",
            "",
            "| call | whole ms | parts ms | parts beside whole | parts beside one of them |",
            "|---|---|---|---|---|",
        ]
        with mdhnp.config(host="never", specialise="always", tuning="off"):
            for name, calls in _calls(device, parted).items():
                t = _seconds(calls, rounds)
                times = f"{t['whole'] * 1e3:.1f} | {t['parts'] * 1e3:.1f}"
                lines.append(f"| {name} | {times} | {t['whole'] / t['parts']:.2f} | {t['one'] / t['parts']:.2f} |")
    return "\n".join(lines)
