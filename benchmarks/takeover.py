"""Calls from the first one on, as a stranger meets them: a new process, empty caches, default settings.

Takes devices, gives a table: how long calls take while NumPy computes them, after how many seconds of calls kernels do,
and how long calls take then. Beside them the same function of NumPy's arrays, in a process of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

import mdhnp
from benchmarks.rows import seconds_text

__all__ = ["CASES", "sample", "table"]

#: Seconds of calls, of ours and of NumPy's.
_OURS, _NUMPYS = 8.0, 1.5
#: Calls at the end.
_LAST = 10


def _random(*shape: int) -> Any:
    return np.random.default_rng(0).random(shape, np.float32) + np.float32(0.1)


def _fused(function: Callable[..., Any], *arrays: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    fused = mdhnp.fuse(function)
    return lambda: fused(*arrays), lambda: function(*arrays)


def _map_of_4() -> Any:
    return _fused(lambda a, b, c: np.sqrt(a * a + b * b) * c, *[_random(4096, 4096) for _ in "abc"])


def _softmax() -> Any:
    def softmax(a: Any) -> Any:
        powers = np.exp(a - a.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)

    return _fused(softmax, _random(2048, 2048))


def _blur_gradient() -> Any:
    def gradient(a: Any) -> Any:
        blurred = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[1:-1, 1:-1]) / 5
        right, down = blurred[1:-1, 2:] - blurred[1:-1, :-2], blurred[2:, 1:-1] - blurred[:-2, 1:-1]
        return np.sqrt(right * right + down * down)

    return _fused(gradient, _random(2050, 2050))


def _min_plus() -> Any:
    a, b = _random(256, 256), _random(256, 256)

    def numpys() -> Any:
        return (a[:, None, :] + b.T[None]).min(2)

    return lambda: mdhnp.einsum("ik,kj->ij", a, b, multiply="add", add="min"), numpys


#: Each gives a call of ours and NumPy's.
CASES: dict[str, Callable[[], tuple[Callable[[], Any], Callable[[], Any]]]] = {
    "map of 4 operations, 4096²": _map_of_4,
    "softmax of 2048 rows": _softmax,
    "blur, gradient of 2050²": _blur_gradient,
    "min-plus product of 256³": _min_plus,
}


def sample(name: str, which: int, seconds: float) -> list[tuple[float, bool]]:
    """Make calls, ours (0) or NumPy's (1), for so many seconds; give the time of each, and whether NumPy made it."""
    call = CASES[name]()[which]
    found: list[tuple[float, bool]] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        before = mdhnp.host_counts()
        begin = time.perf_counter()
        call()
        found.append((time.perf_counter() - begin, mdhnp.host_counts() != before))
    return found


def _anew(name: str, which: int, seconds: float, spec: str) -> list[tuple[float, bool]]:
    """Do it in a new process with empty caches."""
    code = (
        f"import json; from benchmarks.takeover import sample; print(json.dumps(sample({name!r}, {which}, {seconds})))"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {"MDHNP_DEVICE": spec, "MDHNP_CACHE_DIR": folder, "POCL_CACHE_DIR": folder}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found: list[tuple[float, bool]] = json.loads(done.stdout)
    return found


def table(specs: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Measure all cases."""
    lines = []
    for spec in specs:
        for name in CASES:
            lines.append([spec, name, *_row(_anew(name, 1, _NUMPYS, spec), _anew(name, 0, _OURS, spec))])
            print(*lines[-1], sep=" | ", flush=True)
    return ["", "", "NumPy", "first call", "before", "NumPy ÷ before", "kernels after", "then"], lines


def _row(numpys: Sequence[tuple[float, bool]], calls: Sequence[tuple[float, bool]]) -> list[str]:
    usual, ours = median([seconds for seconds, _ in numpys]), [seconds for seconds, _ in calls]
    found, then = [seconds_text(usual), seconds_text(ours[0])], seconds_text(median(ours[-_LAST:]))
    before = max([n + 1 for n, (_, by_numpy) in enumerate(calls) if by_numpy], default=0)
    if before == 0:
        return [*found, "–", "–", "the first call", then]
    middle = median(ours[:before])
    after = "not" if before == len(ours) else seconds_text(sum(ours[:before]))
    return [*found, seconds_text(middle), f"{usual / middle:.2f}", after, then]
