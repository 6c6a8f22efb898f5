"""Random einsums with default settings, as a stranger meets them: their first calls in a new process, and later ones.

Takes devices and seeds; gives tables. Beside them NumPy, `optimize=True`, with its result made contiguous.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from statistics import geometric_mean, median
from typing import Any

import numpy as np

import mdhnp
from benchmarks.rows import seconds_text
from mdhnp.tuning import background

__all__ = ["Einsum", "draw", "first", "steady"]

#: Points of a product, at least and at most, and elements of an operand or of a result, at most.
_SIZES = {"small": (2**14, 2**25, 2**21), "large": (2**20, 2**28, 2**23)}
_TYPES = ("f4",) * 5 + ("f8",) * 3 + ("c8", "i4")
_ROUNDS, _CALLS, _SETTLING = 9, 20, 3


@dataclass(frozen=True)
class Einsum:
    """One einsum.

    Attributes
    ----------
    subscripts : str
        As einsum takes them.
    shapes : tuple of tuple of int
        Of the operands.
    dtype : str
        Of all of them.
    """

    subscripts: str
    shapes: tuple[tuple[int, ...], ...]
    dtype: str

    def operands(self) -> list[Any]:
        """Give random operands."""
        rng = np.random.default_rng(0)
        return [(rng.random(shape) * 4).astype(self.dtype) for shape in self.shapes]


def draw(count: int, seed: int, size: str = "small") -> list[Einsum]:
    """Give random einsums of one to three operands, no two alike."""
    fewest, most, longest = _SIZES[size]
    rng = np.random.default_rng(seed)
    found: dict[Einsum, None] = {}
    while len(found) < count:
        sizes = {label: int(2 ** rng.uniform(1, 9.5)) for label in "abcde"}
        terms = [
            "".join(rng.permutation(list("abcde"))[: rng.integers(1, 5)]) for _ in range(rng.choice([1, 2, 2, 2, 2, 3]))
        ]
        used = sorted(set("".join(terms)))
        output = "".join(rng.permutation([label for label in used if rng.random() < 0.5]))
        shapes = tuple(tuple(sizes[label] for label in term) for term in terms)
        elements = max(map(prod, (*shapes, [sizes[label] for label in output])))
        if fewest <= prod(sizes[label] for label in used) <= most and elements <= longest:
            found[Einsum(f"{','.join(terms)}->{output}", shapes, str(rng.choice(_TYPES)))] = None
    return list(found)


_CODE = """
import json, sys, time
import numpy as np
import mdhnp
from benchmarks.einsums import draw

count, calls, seed = map(int, sys.argv[1:4])
mdhnp.devices()
found = []
for number, one in enumerate(draw(count, seed, sys.argv[4])):
    arrays = one.operands()
    times = [[], []]
    functions = (lambda: np.ascontiguousarray(np.einsum(one.subscripts, *arrays, optimize=True)),
                 lambda: mdhnp.einsum(one.subscripts, *arrays))
    for n in (0, 1) if number % 2 else (1, 0):
        time.sleep(0.15)  # OpenBLAS's threads spin
        for a in arrays:
            a.sum()  # so that caches hold the same for who begins and for who follows
        for _ in range(calls):
            begin = time.perf_counter()
            result = functions[n]()
            times[n].append(time.perf_counter() - begin)
    found.append(times)
print(json.dumps(found))
"""


def first(specs: Sequence[str], count: int = 45, seed: int = 1) -> tuple[list[str], list[list[str]]]:
    """Measure two processes a device, the second of which finds on disk what the first left there."""
    lines = []
    for spec in specs:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "MDHNP_DEVICE": spec, "MDHNP_CACHE_DIR": folder, "POCL_CACHE_DIR": folder}
            for size in _SIZES:
                command = [sys.executable, "-c", _CODE, str(count), str(_CALLS), str(seed), size]
                for caches in ("empty", "warm"):
                    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
                    lines.append([spec, size, caches, *_totals(json.loads(done.stdout))])
    return ["", "einsums", "caches", "NumPy", "ours", "ratio", "longest stall", "below 0.95"], lines


def _totals(found: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[str]:
    numpys, ours = (sum(sum(times[n]) for times in found) for n in (0, 1))
    stall = max(max(times[1]) - max(times[0]) for times in found)
    below = sum(sum(times[0]) < 0.95 * sum(times[1]) for times in found)
    return [
        seconds_text(numpys), seconds_text(ours), f"{numpys / ours:.2f}", seconds_text(max(stall, 0.0)),
        f"{below} of {len(found)}",
    ]  # fmt: skip


def steady(
    specs: Sequence[str], count: int = 200, seed: int = 2, say: Any = print
) -> tuple[list[str], list[list[str]]]:
    """Measure whole calls once all there is to be made for them is there."""
    lines = []
    for spec in specs:
        with mdhnp.device(spec):
            ratios = {one: _ratio(one, say) for one in draw(count, seed)}
            # What was disturbed once is faster than NumPy the next time; what is slow stays so.
            low = {one: max(r, _ratio(one, say)) for one, r in ratios.items() if r < 0.95}
        ratios |= low
        below = sorted((r, one) for one, r in low.items() if r < 0.95)
        worst = ", ".join(f"{r:.2f} `{one.subscripts}` {one.dtype}" for r, one in below[:3])
        mean = f"{geometric_mean(ratios.values()):.2f}"
        lines.append([spec, mean, f"{min(ratios.values()):.2f}", f"{len(below)} of {count}", worst])
    return ["", "geometric mean", "worst", "below 0.95", "the worst"], lines


def _ratio(one: Einsum, say: Any) -> float:
    arrays = one.operands()

    def numpys() -> Any:
        return np.ascontiguousarray(np.einsum(one.subscripts, *arrays, optimize=True))

    def ours() -> Any:
        return mdhnp.einsum(one.subscripts, *arrays)

    np.testing.assert_allclose(ours(), numpys(), rtol=1e-3, atol=1e-3)
    for _ in range(_SETTLING):
        begin = time.perf_counter()
        while time.perf_counter() - begin < 0.5:
            ours()
        background.wait()
    repeats = max(1, int(0.004 / min(_seconds(numpys, 1) for _ in range(3))))
    rounds = [(_sample(numpys, repeats), _sample(ours, repeats)) for _ in range(_ROUNDS)]
    ratio = median(n / o for n, o in rounds)
    say(f"{ratio:6.2f} {one.subscripts} {one.shapes} {one.dtype}", flush=True)
    return ratio


def _sample(function: Callable[[], Any], repeats: int) -> float:
    """Time calls after one that is not timed, and after a pause in which the threads of the other one come to rest."""
    time.sleep(0.03)
    function()
    return _seconds(function, repeats)


def _seconds(function: Callable[[], Any], repeats: int) -> float:
    begin = time.perf_counter()
    for _ in range(repeats):
        function()
    return (time.perf_counter() - begin) / repeats
