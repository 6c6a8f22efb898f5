"""Runs cases on a GPU: whole calls on Arrays beside those of PyTorch and CuPy on theirs, enqueued in a row.

Takes case names; gives plain data. All arrays are on the device before the clock starts. Full precision everywhere: no
TF32.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any

from benchmarks.cpu import describe, machine, mdhnp_device
from benchmarks.gpu.build import build
from benchmarks.gpu.cases import GPU_CASES
from benchmarks.gpu.measurement import Measurement, error_text
from benchmarks.gpu.ours import PREPARED, TUNED
from benchmarks.gpu.torch_side import TorchSide
from benchmarks.rows import Row, floor_of
from benchmarks.tuning import empty_cache

__all__ = ["run"]

#: Part of the time in which cases are prepared ahead, at most.
_AHEAD = 0.6


def run(
    names: Sequence[str],
    spec: str,
    pairs: int,
    seconds: float,
    limit: float = inf,
    workers: int = 0,
    keep: Callable[[Row], Any] | None = None,
    say: Callable[[str], Any] = print,
) -> Row:
    """Measure cases on one GPU; a case that fails says why in its row, and the others go on.

    Parameters
    ----------
    names : sequence of str
        Of `GPU_CASES`.
    spec : str
        The device, as :func:`mdhnp.device` takes it; PyTorch's is the current CUDA device.
    pairs : int
        Of samples.
    seconds : float
        That tuning each kernel may take; 0 leaves the tuned ones out.
    limit : float
        Seconds after which no case begins.
    workers : int
        Processes that prepare cases ahead; with 0 each is prepared when it comes.
    keep : callable, optional
        Given the results so far after every case.
    say : callable
        Told what was found, line by line.
    """
    begin = time.perf_counter()
    with empty_cache():  # nothing that was tuned before is to be taken for a default
        ready = build(names, spec, workers, limit * _AHEAD, say) if workers else set[str]()
        side, device = TorchSide.load(), mdhnp_device(spec)
        limits, versions = side.limits(), side.versions
        rates = ", ".join(f"{name} {rate / 1e12:.1f}" for name, rate in limits["flops_per_second"].items())
        say(f"{device}; {', '.join(f'{name} {number}' for name, number in versions.items())}")
        say(f"copy {limits['copy_bytes_per_second'] / 1e9:.0f} GB/s, matrix products in Tflop/s: {rates}")
        results: Row = {"machine": machine() | {"gpu": versions | limits}, "rows": []}
        for n, name in enumerate(names):
            if time.perf_counter() - begin > limit:
                say(f"{limit:g} s are over; left out: {', '.join(names[n:])}")
                break
            case = GPU_CASES[name]
            row: Row = {"case": name, "kind": case.kind, "title": case.title, "extents": case.extents}
            row["device"], start = describe(device), time.perf_counter()
            try:
                one = Measurement(case.make(), side, device, name in ready, partial(_say, say, name))
                row |= one.row(pairs, seconds, limits)
                _say(say, name, _summary(row))
            except Exception as error:  # one case must not cost the others
                row["error"] = error_text(error)
                _say(say, name, row["error"])
            row["measured_in"] = time.perf_counter() - start
            results["rows"].append(row)
            side.free()
            if keep is not None:
                keep(results)
        say(f"{len(results['rows'])} cases in {time.perf_counter() - begin:.0f} s")
    return results


def _say(say: Callable[[str], Any], name: str, line: str) -> None:
    say(f"{name}: {line}")


def _summary(row: Row) -> str:
    """Say what was found of both variants, and the peers' times and errors."""
    parts = []
    for variant in (PREPARED, TUNED):
        if variant in row:
            ours = row[variant]
            part = f"{variant} {_micro(ours['seconds'])} (kernels {_micro(ours['kernel_seconds'])})"
            if "ratio" in ours:
                part += " ratio {:.2f} ({:.2f}–{:.2f})".format(ours["ratio"], *ours["quartiles"])
            part += f" floor {floor_of(row, {})[0] / ours['seconds']:.2f} error {ours['error'][0]:.1e}"
            parts.append(part + "".join(f" {atom}" for atom in ours["atoms"]))
    for peer in [row["peer"], *row["slower"]] if row["peer"] else []:
        parts.append(f"{peer['name']} {_micro(peer['seconds'])} error {peer['error'][0]:.1e}")
    return "; ".join(parts)


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs"
