"""Runs cases on an NVIDIA GPU: our kernels' time by OpenCL's clock against the vendor's libraries by CUDA's events.

Takes case names; gives plain data. PyTorch brings the peers; its tensors are on the device before the clock starts, as
our Arrays are. Full precision everywhere: no TF32.
"""

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import mdhnp
from benchmarks.cpu import describe, machine, mdhnp_device
from benchmarks.gpu.cases import GPU_CASES
from benchmarks.gpu.measurement import Measurement, error_text
from benchmarks.gpu.table import VARIANTS
from benchmarks.gpu.torch_side import TorchSide
from benchmarks.rows import Row
from benchmarks.tuning import empty_cache

__all__ = ["run"]


def run(
    names: Iterable[str],
    spec: str,
    pairs: int,
    seconds: float,
    keep: Callable[[Row], Any] | None = None,
    say: Callable[[str], Any] = print,
    torch_device: str = "cuda",
) -> Row:
    """Measure cases on one GPU; a case that fails says why in its row, and the others go on.

    Parameters
    ----------
    names : iterable of str
        Of `GPU_CASES`.
    spec : str
        The device, as :func:`mdhnp.device` takes it; PyTorch's is the current CUDA device.
    pairs : int
        Of samples.
    seconds : float
        That tuning each kernel may take; 0 leaves the tuned ones out.
    keep : callable, optional
        Given the results so far after every case.
    say : callable
        Told what was found, line by line.
    torch_device : str
        Where the peers compute.
    """
    os.environ["CUDA_CACHE_DISABLE"] = "1"  # the driver says nothing of what it has compiled before
    side, device = TorchSide.on(torch_device), mdhnp_device(spec)
    limits = side.limits()
    rates = ", ".join(f"{name} {rate / 1e12:.1f}" for name, rate in limits["flops_per_second"].items())
    say(f"copy {limits['copy_bytes_per_second'] / 1e9:.0f} GB/s, matrix products in Tflop/s: {rates}")
    results: Row = {"machine": machine() | {"gpu": side.versions() | limits}, "rows": [], "overhead": []}
    for name in names:
        case = GPU_CASES[name]
        row: Row = {"case": name, "title": case.title, "extents": case.extents, "device": describe(device)}
        try:
            # Nothing that other cases found is to be taken for a default.
            with mdhnp.config(tuning="off", host="never", specialise="always"), empty_cache():
                row |= Measurement(case.make(), side, device, partial(_say, say, name)).row(pairs, seconds, limits)
            _say(say, name, _summary(row))
        except Exception as error:  # one case must not cost the others
            row["error"] = error_text(error)
            _say(say, name, row["error"])
        results["rows"].append(row)
        side.done()
        if keep is not None:
            keep(results)
    return results


def _say(say: Callable[[str], Any], name: str, line: str) -> None:
    say(f"{name}: {line}")


def _summary(row: Row) -> str:
    times = ", ".join(f"{v} {row[v]['seconds'] * 1e6:.1f} µs" for v in VARIANTS if v in row)
    ratios = ", ".join(f"{row[v]['ratio']:.2f}" for v in VARIANTS if "ratio" in row.get(v, {}))
    return f"{times}; {row['peer']['name']} over ours: {ratios}" if ratios else f"{times}; no peer"
