"""Prepares cases ahead of their measurement, in several processes at once: compilers take most of a run's time.

What they compile is found on disk, by mdhnp, CuPy and PyTorch's compiler. What fails here fails again where it counts.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import TimeoutError as Late
from multiprocessing import get_context
from typing import Any

from benchmarks.cpu import mdhnp_device
from benchmarks.gpu.cases import GPU_CASES
from benchmarks.gpu.measurement import error_text
from benchmarks.gpu.ours import prepared
from benchmarks.gpu.torch_side import TorchSide

__all__ = ["build"]


def build(names: Sequence[str], spec: str, workers: int, seconds: float, say: Callable[[str], Any]) -> set[str]:
    """Prepare our call of each case, call its peers once, for so many seconds at most; give what is ready.

    Parameters
    ----------
    names : sequence of str
        Of `GPU_CASES`.
    spec : str
        Our device.
    workers : int
        Processes.
    seconds : float
        After which what is not done is left.
    say : callable
        Told how many were prepared, and what failed.
    """
    begin, done = time.perf_counter(), set[str]()
    # What takes longest begins first: what other compilers make.
    order = sorted(names, key=lambda name: GPU_CASES[name].kind not in ("others", "fused", "stencils"))
    with get_context("spawn").Pool(workers) as pool:  # whose end ends its processes
        found = pool.imap_unordered(_built, [(name, spec) for name in order])
        try:
            for _ in order:
                name, failed = found.next(timeout=max(begin + seconds - time.perf_counter(), 0.01))
                if failed:
                    say(f"{name}: ahead, {failed}")
                else:
                    done.add(name)
        except Late:
            pass
    say(f"{len(done)} of {len(names)} cases made ready by {workers} processes in {time.perf_counter() - begin:.0f} s")
    return done


def _built(job: tuple[str, str]) -> tuple[str, str]:
    """Give the name, and an error's text, or nothing."""
    name, spec = job
    try:
        problem, device = GPU_CASES[name].make(), mdhnp_device(spec)
        prepared(problem, device)
        side = TorchSide.load()
        tensors = [side.tensor(a) for a in problem.operands]
        for peer in problem.peers.values():
            if peer.library in side.versions:
                with suppress(Exception):
                    peer.make(side.torch, *tensors)()
        del tensors
        side.free()
    except Exception as error:
        return name, error_text(error)
    return name, ""
