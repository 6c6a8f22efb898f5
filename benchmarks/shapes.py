"""What a process pays for hundreds of different shapes, each of them seen once.

Every measurement is a new process, with nothing on disk or with all that the process before it left there. Takes a
device; gives seconds and megabytes.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Shapes", "measure", "table"]

COUNT = 500

_CODE = """
import json, resource, sys, time
import numpy as np, mdhnp
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import Kernels

count, longest = map(int, sys.argv[1:])
rng = np.random.default_rng(0)

def operands():
    i, j, k = rng.integers(1, longest + 1, 3)
    return rng.random((i, j), np.float32), rng.random((j, k), np.float32)

def seconds(function):
    begin = time.perf_counter()
    for a, b in pairs:
        function(a, b)
    return time.perf_counter() - begin

def memory():
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * resource.getpagesize() / 2**20

pairs = [operands() for _ in range(count)]
mdhnp.devices()
seconds(np.matmul)
peer = seconds(np.matmul)
time.sleep(0.3)  # OpenBLAS's threads spin
with observe() as seen:
    first = seconds(lambda a, b: mdhnp.einsum("ij,jk->ik", a, b))
kernels = [plan for plan, _ in seen if isinstance(plan, Kernels)]
sources = {plan.program.source for plan in kernels}
general = sum(plan.origins == ("general",) for plan in kernels)
del seen, kernels
before = memory()
again = seconds(lambda a, b: mdhnp.einsum("ij,jk->ik", a, b))
for _ in range(3):
    pairs = [operands() for _ in range(count)]
    seconds(lambda a, b: mdhnp.einsum("ij,jk->ik", a, b))
print(json.dumps(dict(peer=peer, first=first, again=again, sources=len(sources), general=general,
                      plan=(memory() - before) / (3 * count))))
"""


@dataclass(frozen=True)
class Shapes:
    """One device and range of extents.

    Attributes
    ----------
    device : str
        Its runtime.
    longest : int
        Extents are drawn from 1 to this.
    peer : float
        Seconds of ``np.matmul`` for all shapes, the second time.
    bare, ready : float
        Seconds of ours for all shapes, the first time: with no compiled kernel on disk, and with all of them.
    again : float
        Seconds of ours for all shapes, the second time.
    kernels : int
        Programs compiled for them.
    plan : float
        Megabytes that a further shape takes.
    """

    device: str
    longest: int
    peer: float
    bare: float
    ready: float
    again: float
    kernels: int
    plan: float


def measure(spec: str, longest: int) -> Shapes:
    """Measure two processes: the first finds nothing on disk, the second what the first left there."""
    with tempfile.TemporaryDirectory() as folder:
        # NumPy is not to compute small calls: this is about kernels.
        environment = {"MDHNP_DEVICE": spec, "MDHNP_CACHE_DIR": folder, "MDHNP_TUNING": "off", "MDHNP_HOST": "never"}
        environment["POCL_CACHE_DIR"] = folder
        command = [sys.executable, "-c", _CODE, str(COUNT), str(longest)]
        bare, ready = (
            json.loads(
                subprocess.run(
                    command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True
                ).stdout
            )
            for _ in range(2)
        )
    return Shapes(
        spec, longest, ready["peer"], bare["first"], ready["first"], ready["again"], bare["sources"], ready["plan"]
    )


def table(found: Sequence[Shapes]) -> tuple[list[str], list[list[str]]]:
    """Give header and lines of text."""
    header = ["", "extents", "np.matmul", "first time", "allowed", "with kernels on disk", "second time", "programs",
              "memory a shape"]  # fmt: skip
    lines = [
        [
            s.device, f"1 – {s.longest}", f"{s.peer * 1e3:.1f} ms", f"{s.bare:.2f} s", f"{3 * s.peer + 2:.2f} s",
            f"{s.ready:.2f} s", f"{s.again * 1e3:.1f} ms", str(s.kernels), f"{s.plan * 1024:.0f} KB",
        ]
        for s in found
    ]  # fmt: skip
    return header, lines
