"""Runs cases on an NVIDIA GPU: our kernels' time by OpenCL's clock against cuBLAS and cuDNN by CUDA's events.

Takes case names; gives plain data. PyTorch brings the peers; its tensors are on the device before the clock starts, as
our arrays are. Full float32 precision everywhere: no TF32.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import mdhnp
from benchmarks.contractions import TCCG
from benchmarks.contractions import extents as extents_of
from benchmarks.cpu import describe, machine, mdhnp_device
from benchmarks.measure import Comparison, check_equal
from benchmarks.problem import random
from benchmarks.stencils import gaussian
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import Kernels

__all__ = ["GPU_CASES", "run"]

Array = npt.NDArray[Any]
Call = Callable[[], Any]

#: Launches between two CUDA events: alone, a short kernel would be timed with the gap before it.
_BATCH = 10


@dataclass(frozen=True)
class Problem:
    """Our call, the peer's (made from torch), the bytes and operations of both, and how far they may differ."""

    ours: Call
    peer: Callable[[Any], Call]
    nbytes: int
    flops: int
    tolerance: float = 1e-5


@dataclass(frozen=True)
class GpuCase:
    """One computation."""

    title: str
    extents: str
    peer: str
    make: Callable[[], Problem]


def _gemm(n: int) -> Problem:
    a, b = random(n, n), random(n, n)

    def peer(torch: Any) -> Call:
        left, right = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
        out = torch.empty_like(left)
        return lambda: torch.mm(left, right, out=out)

    return Problem(lambda: mdhnp.matmul(a, b), peer, 3 * a.nbytes, 2 * n**3)


def _gemv(n: int) -> Problem:
    a, x = random(n, n), random(n)

    def peer(torch: Any) -> Call:
        left, right = torch.from_numpy(a).cuda(), torch.from_numpy(x).cuda()
        out = torch.empty_like(right)
        return lambda: torch.mv(left, right, out=out)

    return Problem(lambda: mdhnp.gemv(a, x), peer, a.nbytes + 2 * x.nbytes, 2 * n * n)


def _gaussian(n: int) -> Problem:
    image, (weights, _) = random(n, n), gaussian()

    def peer(torch: Any) -> Call:
        # Padding is done before, in favour of the peer: only the convolution is timed.
        padded = torch.from_numpy(np.pad(image, 2, mode="reflect")).cuda()[None, None]
        filters = torch.from_numpy(weights).cuda()[None, None]
        return lambda: torch.nn.functional.conv2d(padded, filters)[0, 0]

    return Problem(lambda: mdhnp.stencil(image, weights, mode="mirror"), peer, 2 * image.nbytes, 50 * n * n)


def _contraction() -> Problem:
    subscripts, _ = TCCG[40]
    extents = extents_of(40)
    terms, output = subscripts.split("->")
    a, b = (random(*(extents[c] for c in term)) for term in terms.split(","))
    size = int(np.prod([extents[c] for c in output]))

    def peer(torch: Any) -> Call:
        left, right = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
        return lambda: torch.einsum(subscripts, left, right).contiguous()

    nbytes = a.nbytes + b.nbytes + 4 * size
    return Problem(lambda: mdhnp.einsum(subscripts, a, b), peer, nbytes, 2 * size * extents["g"])


#: By the name on the command line, in the order of the table.
GPU_CASES: Mapping[str, GpuCase] = {
    "gpu-sgemm-1024": GpuCase("matmul", "1024 × 1024 × 1024", "cuBLAS (torch.mm)", lambda: _gemm(1024)),
    "gpu-sgemm-4096": GpuCase("matmul", "4096 × 4096 × 4096", "cuBLAS (torch.mm)", lambda: _gemm(4096)),
    "gpu-gemv": GpuCase("gemv, A x", "2¹⁴ × 2¹⁴", "cuBLAS (torch.mv)", lambda: _gemv(1 << 14)),
    "gpu-gaussian": GpuCase(
        "stencil, Gaussian 5×5", "4096 × 4096", "cuDNN (conv2d, padded before)", lambda: _gaussian(4096)
    ),
    "gpu-contraction": GpuCase(
        "einsum, CCSD(T) contraction 40", "24·16·16·16·24·16, sum of 24", "torch.einsum, contiguous", _contraction
    ),
}


def run(names: Iterable[str], spec: str, pairs: int, keep: Any = None, say: Any = print) -> dict[str, Any]:
    """Measure cases on one GPU; a case that fails says why in its row, and the others go on.

    Parameters
    ----------
    names : iterable of str
        Of `GPU_CASES`.
    spec : str
        The device, as :func:`mdhnp.device` takes it; PyTorch's is the current CUDA device.
    pairs : int
        Of samples.
    keep : callable, optional
        Given the results so far after every case.
    say : callable
        Told what was found, line by line.
    """
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.set_grad_enabled(False)
    device = mdhnp_device(spec)
    cudnn = torch.backends.cudnn.version()
    results: dict[str, Any] = {"machine": machine(), "rows": [], "overhead": []}
    results["machine"]["gpu"] = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": cudnn}
    with mdhnp.device(device):
        speed, arithmetic = _limits(torch)
        say(f"copy {speed / 1e9:.0f} GB/s, matrix product {arithmetic / 1e12:.1f} Tflop/s")
        results["machine"]["gpu"] |= {"copy_bytes_per_second": speed, "flops_per_second": arithmetic}
        for name in names:
            case = GPU_CASES[name]
            row = {"case": name, "title": case.title, "extents": case.extents, "peer": case.peer}
            try:
                row |= _row(case.make(), torch, pairs, speed, arithmetic, name)
                say(f"{name}: {row['ratio']:.2f}, ours {row['ours_seconds'] * 1e3:.4g} ms")
            except Exception as error:  # one case must not cost the others
                row["error"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
                say(f"{name}: {error!r}")
            results["rows"].append(row | {"device": describe(device)})
            torch.cuda.empty_cache()
            if keep is not None:
                keep(results)
    return results


def _row(problem: Problem, torch: Any, pairs: int, speed: float, arithmetic: float, name: str) -> dict[str, Any]:
    with observe() as seen, mdhnp.config(host="never"):
        ours = problem.ours()
    peer = problem.peer(torch)
    result = peer()
    torch.cuda.synchronize()
    error = check_equal(ours, result.cpu().numpy(), problem.tolerance, name)
    launches = []
    for plan, arrays in seen:
        assert isinstance(plan, Kernels)
        launches.append((plan.executable, arrays, plan.make()))
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(pairs):
        taken[0].append(sum(sum(plan.profile(i, o, repeats=_BATCH)) for plan, i, o in launches))
        taken[1].append(_cuda_seconds(torch, peer))
    explained = mdhnp.explain(problem.ours)
    memory, computing = problem.nbytes / speed, problem.flops / arithmetic
    return Comparison(tuple(taken[0]), tuple(taken[1])).summary() | {
        "error_relative": error,
        "bytes": problem.nbytes,
        "flops": problem.flops,
        "call_seconds": explained.seconds,
        "floor": {"memory": memory, "arithmetic": computing},
        "schedules": [line for line in str(explained).splitlines() if line.startswith("schedule")],
    }


def _cuda_seconds(torch: Any, call: Call) -> float:
    """Give the time of one call, of several in a row; the first, outside, keeps the device from idling."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    call()
    begin.record()
    for _ in range(_BATCH):
        call()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1e3 / _BATCH


def _limits(torch: Any) -> tuple[float, float]:
    """Measure bytes a second (read and written) of a copy, and operations a second of cuBLAS at its best."""
    source = torch.ones(1 << 28, dtype=torch.float32, device="cuda")
    target = torch.empty_like(source)
    copy = min(_cuda_seconds(torch, lambda: target.copy_(source)) for _ in range(5))
    n = 8192
    a, out = source[: n * n].view(n, n), target[: n * n].view(n, n)
    product = min(_cuda_seconds(torch, lambda: torch.mm(a, a, out=out)) for _ in range(5))
    return 2 * 4 * source.numel() / copy, 2 * n**3 / product
