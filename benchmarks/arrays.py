"""Calls on NumPy's arrays where a GPU could compute, and copies there and back: tables."""

import time
from collections.abc import Sequence
from functools import partial
from statistics import median

import numpy as np

import mdhnp
from benchmarks.problem import Call, random
from benchmarks.rows import seconds_text
from mdhnp.calls.plans import ByNumpy
from mdhnp.tuning import background

__all__ = ["BESIDE", "TRANSFERS", "beside", "transfers"]

#: Rounds by turns, and copies.
_ROUNDS, _COPIES = 9, 15

BESIDE = (
    "NumPy's time over ours, of calls on NumPy arrays with default settings, prepared by `mdhnp.prepare`; medians of "
    f"{_ROUNDS} rounds by turns"
)
TRANSFERS = f"Copies of NumPy arrays, medians of {_COPIES}"


def _by_turns(calls: Sequence[Call]) -> list[list[float]]:
    """Time calls by turns, each after one that is not timed."""
    samples: list[list[float]] = [[] for _ in calls]
    for n in range(_ROUNDS + 1):
        for call, own in zip(calls, samples, strict=True):
            call()
            begin = time.perf_counter()
            result = call()
            if n:
                own.append(time.perf_counter() - begin)
            del result
    return samples


def _ratio(ours: Sequence[float], peer: Sequence[float]) -> str:
    pairs = sorted(p / o for o, p in zip(ours, peer, strict=True))
    low, high = pairs[len(pairs) // 4], pairs[3 * len(pairs) // 4]
    return f"{median(pairs):.2f} ({low:.2f}–{high:.2f})"


def beside() -> tuple[list[str], list[list[str]]]:
    """Measure calls on NumPy arrays with default settings, where any device may compute them."""
    long, huge = random(1 << 24), random(1 << 26)
    wide, vector, small = random(4096, 4096), random(4096), random(256, 256)
    medium, large, batch = random(1024, 1024), random(8192, 8192), random(64, 256, 256)
    cases = (
        ("matmul, 256³", "matmul", small, small),
        ("matmul, 1024³", "matmul", medium, medium),
        ("matmul, 4096³", "matmul", wide, wide),
        ("matmul, 8192³", "matmul", large, large),
        ("matmul, 64 of 256³", "matmul", batch, batch),
        ("gemv, 4096²", "matmul", wide, vector),
        ("dot, 2^24", "dot", long, long),
        ("dot, 2^26", "dot", huge, huge),
    )
    lines = []
    for title, name, *operands in cases:
        ours, numpys = (partial(getattr(library, name), *operands) for library in (mdhnp, np))
        mdhnp.prepare(ours)
        end = time.perf_counter() + 1  # in which whoever computes it is settled
        while time.perf_counter() < end:
            ours()
        samples = _by_turns([ours, numpys])
        last = mdhnp.explain(ours).launches[-1]
        who = "NumPy" if isinstance(last, ByNumpy) else last.devices[0].name
        lines.append([title, seconds_text(median(samples[0])), who, _ratio(samples[0], samples[1])])
        print(*lines[-1])
    background.wait()  # so that nothing is built or searched during what is measured next
    return ["case", "ours", "computed by", "NumPy " + np.__version__], lines


def transfers(spec: str) -> tuple[list[str], list[list[str]]]:
    """Measure copies of NumPy arrays to the device and back."""
    mb = 256
    device, x = mdhnp.asarray(0, device=spec).device, random(mb << 18)
    up: list[float] = []
    down: list[float] = []
    for _ in range(_COPIES):
        begin = time.perf_counter()
        a = mdhnp.asarray(x, device=device)
        mdhnp.synchronize(device)
        middle = time.perf_counter()
        a.numpy()
        up.append(middle - begin)
        down.append(time.perf_counter() - middle)
    return ["copy", "speed"], [
        [f"{mb} MB to the device", f"{x.nbytes / median(up) / 1e9:.1f} GB/s"],
        [f"{mb} MB back", f"{x.nbytes / median(down) / 1e9:.1f} GB/s"],
    ]
