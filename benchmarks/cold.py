"""What a process pays before its first result: the import, and the first call with everything on disk, or nothing.

Every sample is a new process. Takes devices, gives milliseconds.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from statistics import quantiles

__all__ = ["Cold", "measure", "table"]


_IMPORT = "import time, numpy; begin = time.perf_counter(); import mdhnp; print(time.perf_counter() - begin)"
_NUMPY = "import time; begin = time.perf_counter(); import numpy; print(time.perf_counter() - begin)"
_CALL = """
import time, numpy as np, mdhnp
rng = np.random.default_rng(0)
a, b = rng.random((256, 250), np.float32), rng.random((250, 260), np.float32)
begin = time.perf_counter()
mdhnp.matmul(a, b)
print(time.perf_counter() - begin)
"""
_TUNE = """
import numpy as np, mdhnp
a, b = np.ones((256, 250), np.float32), np.ones((250, 260), np.float32)
mdhnp.tune(mdhnp.matmul, a, b, budget=5.0, evaluations=10)
"""


@dataclass(frozen=True)
class Cold:
    """Milliseconds: lower quartile, median, upper quartile.

    Attributes
    ----------
    device : str
        Where the call runs.
    numpy, package : tuple of float
        ``import numpy``, and ``import mdhnp`` after it.
    ready, bare : tuple of float
        The first ``matmul`` after the import, with a tuned entry and its compiled kernel on disk, and with neither.
    """

    device: str
    numpy: tuple[float, ...]
    package: tuple[float, ...]
    ready: tuple[float, ...]
    bare: tuple[float, ...]


def measure(spec: str, samples: int = 15) -> Cold:
    """Measure `samples` new processes of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        ready = {"MDHNP_DEVICE": spec, "MDHNP_TUNING": "off", "MDHNP_HOST": "never"} | _kept_in(f"{folder}/ready")
        _run(_TUNE, ready)
        _run(_CALL, ready)
        bare = [_run(_CALL, ready | _kept_in(f"{folder}/{n}")) for n in range(samples)]
        return Cold(
            spec,
            _summary([_run(_NUMPY, ready) for _ in range(samples)]),
            _summary([_run(_IMPORT, ready) for _ in range(samples)]),
            _summary([_run(_CALL, ready) for _ in range(samples)]),
            _summary(bare),
        )


def _kept_in(folder: str) -> dict[str, str]:
    """Environment that keeps everything in one folder: PoCL has a cache of its own."""
    return {"MDHNP_CACHE_DIR": folder, "POCL_CACHE_DIR": folder}


def table(found: list[Cold]) -> tuple[list[str], list[list[str]]]:
    """Give header and lines of text."""
    header = ["", "import numpy", "import mdhnp after it", "first call, tuned and compiled before", "nothing on disk"]
    lines = [[c.device, *map(_text, (c.numpy, c.package, c.ready, c.bare))] for c in found]
    return header, lines


def _text(times: tuple[float, ...]) -> str:
    low, middle, high = times
    return f"{middle:.0f} ms ({low:.0f} – {high:.0f})"


def _run(code: str, environment: dict[str, str]) -> float:
    """Give what a new process prints last, in milliseconds, or 0."""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return 1000 * float(done.stdout.split()[-1]) if done.stdout else 0.0


def _summary(times: list[float]) -> tuple[float, ...]:
    return tuple(quantiles(times, n=4))
