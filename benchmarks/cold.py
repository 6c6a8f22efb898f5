"""What a process pays before its first result: the import, and the first call with everything on disk, or nothing.

Every sample is a new process. Takes a device; gives milliseconds.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

__all__ = ["Cold", "measure"]

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
    numpy, package : tuple of float
        ``import numpy``, and ``import mdhnp`` after it.
    ready, bare : tuple of float
        The first ``matmul`` after the import, with a tuned entry and its compiled kernel on disk, and with neither.
    """

    numpy: tuple[float, ...]
    package: tuple[float, ...]
    ready: tuple[float, ...]
    bare: tuple[float, ...]


def measure(device: Any, samples: int = 15) -> Cold:
    """Measure `samples` new processes of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        ready = {"MDHNP_DEVICE": device.runtime, "MDHNP_CACHE_DIR": f"{folder}/ready", "MDHNP_TUNING": "off"}
        _run(_TUNE, ready)
        _run(_CALL, ready)
        bare = [_run(_CALL, ready | {"MDHNP_CACHE_DIR": f"{folder}/{n}"}) for n in range(samples)]
        return Cold(
            _summary([_run(_NUMPY, ready) for _ in range(samples)]),
            _summary([_run(_IMPORT, ready) for _ in range(samples)]),
            _summary([_run(_CALL, ready) for _ in range(samples)]),
            _summary(bare),
        )


def _run(code: str, environment: dict[str, str]) -> float:
    """Give what a new process prints last, in milliseconds, or 0."""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return 1000 * float(done.stdout.split()[-1]) if done.stdout else 0.0


def _summary(times: list[float]) -> tuple[float, ...]:
    return tuple(quantiles(times, n=4))
