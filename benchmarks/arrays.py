"""Arrays on a device beside CuPy's and PyTorch's on theirs, and NumPy's arrays where a GPU could compute.

Takes a device; gives tables. A sample is one whole call and a wait for the device after it; all take turns.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import mdhnp
from benchmarks.contractions import TCCG
from benchmarks.contractions import extents as extents_of
from benchmarks.problem import Array, Call, random
from benchmarks.rows import seconds_text
from benchmarks.stencils import gaussian
from mdhnp.calls.plans import ByNumpy
from mdhnp.tuning import background

__all__ = ["BESIDE", "CAPTION", "TRANSFERS", "beside", "table", "transfers"]

#: Rounds by turns, on arrays that are on a device and on NumPy's, of a small call's host part, and copies.
_ROUNDS, _BESIDE_ROUNDS, _HOST_ROUNDS, _COPIES = 11, 9, 21, 15

CAPTION = (
    f"Peer's time over ours, of a call on arrays that are on the device and a wait after it; medians of {_ROUNDS} "
    "rounds by turns, five calls each, and in parentheses the spread of the middle half. Our kernels are those for the "
    "very sizes, by default schedules, or found in {seconds:g} s (tuned)"
)
BESIDE = (
    "NumPy's time over ours, of calls on NumPy arrays with default settings, prepared by `mdhnp.prepare`; medians of "
    f"{_BESIDE_ROUNDS} rounds by turns"
)
TRANSFERS = f"Copies of NumPy arrays, medians of {_COPIES}"


class _Case(NamedTuple):
    """A computation: its operands, and what computes it, given a library or PyTorch and its arrays."""

    title: str
    operands: tuple[Array, ...]
    ours: Callable[..., Any]
    cupy: Callable[..., Any]
    torch: Callable[..., Any]
    tuned: bool = False


def _gaussian_of_torch(torch: Any, image: Any, weights: Any) -> Any:
    return torch.nn.functional.conv2d(image[None, None], weights[None, None])[0, 0]


def _gaussian_of_cupy(cp: Any, image: Any, weights: Any) -> Any:
    return import_module("cupyx.scipy.ndimage").correlate(image, weights, mode="nearest")


def _cases() -> list[_Case]:
    long, longest, small = random(1 << 24), random(1 << 26), random(1000)
    matrix, vector = random(1 << 14, 1 << 14), random(1 << 14)
    subscripts, _ = TCCG[40]
    terms, sizes = subscripts.split("->")[0].split(","), extents_of(40)
    pair = tuple(random(*(sizes[letter] for letter in term)) for term in terms)
    image, (weights, _) = random(4096, 4096), gaussian()

    def product(xp: Any, a: Any, b: Any) -> Any:
        return xp.matmul(a, b)

    def dot(xp: Any, a: Any) -> Any:
        return xp.dot(a, a)

    def contraction(xp: Any, a: Any, b: Any) -> Any:
        return xp.einsum(subscripts, a, b)

    def total(xp: Any, a: Any) -> Any:
        return xp.sum(a)

    def fused(_: Any, a: Any) -> Any:
        return a * a + a

    def plus(_: Any, a: Any) -> Any:
        return a + a

    def blurred(xp: Any, a: Any, w: Any) -> Any:
        return xp.stencil(a, weights, mode="nearest")

    return [
        _Case("gemv, 2^14 × 2^14", (matrix, vector), product, product, product),
        _Case("dot, 2^24", (long,), dot, dot, dot),
        _Case(f"contraction 40, `{subscripts}`", pair, contraction, contraction, contraction, tuned=True),
        _Case("Gaussian 5×5, 4096²", (image, weights), blurred, _gaussian_of_cupy, _gaussian_of_torch, tuned=True),
        _Case("`a*b+c`, 2^26, a kernel each", (longest,), fused, fused, fused),
        _Case("sum, 2^26", (longest,), total, total, total),
        _Case("`a + b`, 1000", (small,), plus, plus, plus),
    ]


def table(spec: str, seconds: float) -> tuple[list[str], list[list[str]]]:
    """Measure all on a device, with searches of some seconds, and give the table's header and lines."""
    import cupy
    import torch

    device = mdhnp.asarray(0, device=spec).device
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    lines = []
    waits = (partial(mdhnp.synchronize, device), cupy.cuda.get_current_stream().synchronize, torch.cuda.synchronize)
    for case in _cases():
        calls = [
            partial(case.ours, mdhnp, *[mdhnp.asarray(x, device=device) for x in case.operands]),
            partial(case.cupy, cupy, *[cupy.asarray(x) for x in case.operands]),
            partial(case.torch, torch, *[torch.from_numpy(x).cuda() for x in case.operands]),
        ]
        for tuned in (False, True) if case.tuned else (False,):
            if tuned:
                mdhnp.tune(calls[0], budget=seconds)
            lines.append([case.title + (", tuned" if tuned else ""), *_compared(calls, waits)])
            print(*lines[-1])
    x = random(1000)
    arrays = (mdhnp.asarray(x, device=device), cupy.asarray(x), torch.from_numpy(x).cuda())
    lines.append(["`a + b`, 1000, the host's part in a loop", *_host_seconds(arrays, waits)])
    print(*lines[-1])
    return ["case", "ours", f"CuPy {cupy.__version__}", f"PyTorch {torch.__version__}"], lines


def _compared(calls: Sequence[Call], waits: Sequence[Call]) -> list[str]:
    """Give our time, and the peers' over it."""
    with mdhnp.config(specialise="always", tuning="off"):
        ours, *peers = _by_turns(list(zip(calls, waits, strict=True)), _ROUNDS)
    return [seconds_text(median(ours)), *(_ratio(ours, peer) for peer in peers)]


def _by_turns(contestants: Sequence[tuple[Call, Call]], rounds: int, each: int = 5) -> list[list[float]]:
    """Time calls by turns; several in a row, since a GPU takes long to go from one library's context to the next."""
    samples: list[list[float]] = [[] for _ in contestants]
    for n in range(rounds + 1):
        for (call, wait), own in zip(contestants, samples, strict=True):
            times = []
            for _ in range(each + 1):
                begin = time.perf_counter()
                result = call()
                wait()
                times.append(time.perf_counter() - begin)
                del result
            if n:
                own.append(median(times[1:]))
    return samples


def _ratio(ours: Sequence[float], peer: Sequence[float]) -> str:
    pairs = sorted(p / o for o, p in zip(ours, peer, strict=True))
    low, high = pairs[len(pairs) // 4], pairs[3 * len(pairs) // 4]
    return f"{median(pairs):.2f} ({low:.2f}–{high:.2f})"


def _host_seconds(arrays: Sequence[Any], waits: Sequence[Call]) -> list[str]:
    """Measure what a small call costs the host in a loop without waiting: calls a second are what it allows."""
    calls = 500
    samples: list[list[float]] = [[] for _ in arrays]
    with mdhnp.config(specialise="always", tuning="off"):
        for _ in range(_HOST_ROUNDS):
            for a, wait, own in zip(arrays, waits, samples, strict=True):
                begin = time.perf_counter()
                for _ in range(calls):
                    a + a
                own.append((time.perf_counter() - begin) / calls)
                wait()
    return [seconds_text(median(samples[0])), *(_ratio(samples[0], peer) for peer in samples[1:])]


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
        samples = _by_turns([(ours, _rest), (numpys, _rest)], _BESIDE_ROUNDS, each=1)
        last = mdhnp.explain(ours).launches[-1]
        who = "NumPy" if isinstance(last, ByNumpy) else last.devices[0].name
        lines.append([title, seconds_text(median(samples[0])), who, _ratio(samples[0], samples[1])])
        print(*lines[-1])
    background.wait()  # so that nothing is built or searched during what is measured next
    return ["case", "ours", "computed by", "NumPy " + np.__version__], lines


def _rest() -> None:
    """Nothing to wait for: a call on NumPy's arrays is done when it returns."""


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
