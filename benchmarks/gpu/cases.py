"""The cases of the GPU's table, as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from benchmarks.contractions import TCCG
from benchmarks.fusions import FUSIONS
from benchmarks.gpu.problems import (
    Problem,
    blurred,
    contraction,
    convolution,
    cumulative,
    dot,
    fused,
    gemm,
    gemv,
    jacobi,
    log_sum_exp,
    min_plus,
    relaxed,
    total,
)  # fmt: skip

__all__ = ["GPU_CASES", "GpuCase"]

#: Of the list's contractions, those that are always measured.
_USUAL = {1, 7, 13, 31, 40, 43, 46}


@dataclass(frozen=True)
class GpuCase:
    """One computation: name on the command line, title and extents in tables, and whether a run has it by default."""

    name: str
    title: str
    extents: str
    make: Callable[[], Problem]
    usual: bool = True


def _gemm(m: int, n: int, k: int, dtype: str = "float32") -> GpuCase:
    square = m == n == k
    kind = "" if dtype == "float32" else f"-{dtype}"
    return GpuCase(
        f"gpu-gemm{kind}-{m}" if square else f"gpu-gemm{kind}-{m}-{n}-{k}",
        "matmul (M, N, K)" + (f", {dtype}" if kind else ""),
        f"{m}, {n}, {k}",
        partial(gemm, m, n, k, dtype),
    )


def _gemv(rows: int, columns: int, name: str, extents: str) -> GpuCase:
    return GpuCase(f"gpu-gemv-{name}", "gemv, A x", extents, partial(gemv, rows, columns))


def _listed(number: int) -> GpuCase:
    subscripts, extents = TCCG[number]
    return GpuCase(
        f"gpu-tccg-{number}",
        f"einsum, {subscripts} ({number})",
        "·".join(map(str, extents)),
        partial(contraction, subscripts, extents),
        number in _USUAL,
    )


def _fused(name: str) -> GpuCase:
    title, extents, make = FUSIONS[name]
    return GpuCase(f"gpu-{name}", title, extents, lambda: fused(make()))


def _einsum(name: str, subscripts: str, *extents: int) -> GpuCase:
    shown = "·".join(map(str, extents))
    return GpuCase(f"gpu-einsum-{name}", f"einsum, {subscripts}", shown, partial(contraction, subscripts, extents))


_CASES = (
    *(_gemm(n, n, n) for n in (1024, 4096, 8192)),
    _gemm(3001, 2003, 1009),
    _gemm(4000, 4000, 64),
    _gemm(64, 64, 262144),
    _gemm(10, 500, 64),
    _gemm(16, 1000, 2048),
    _gemm(4096, 4096, 4096, "float64"),
    _gemm(4096, 4096, 4096, "float16"),
    *map(_listed, TCCG),
    _einsum("1", "eafd,fbec->dcba", 72, 72, 72, 72, 72, 72),
    _einsum("2", "fbea,ecfd->dcba", 72, 72, 72, 72, 72, 72),
    _einsum("3", "feda,bfec->dcba", 72, 72, 72, 72, 72, 72),
    _einsum("attention", "bhqd,bhkd->bhqk", 2, 64, 8, 512, 512),
    _gemv(1 << 18, 1 << 10, "tall", "2¹⁸ × 2¹⁰"),
    _gemv(1 << 14, 1 << 14, "square", "2¹⁴ × 2¹⁴"),
    _gemv(1 << 10, 1 << 18, "wide", "2¹⁰ × 2¹⁸"),
    GpuCase("gpu-dot", "dot", "2²⁴", partial(dot, 1 << 24)),
    GpuCase("gpu-sum", "sum", "2²⁶", partial(total, 1 << 26)),
    GpuCase("gpu-cumulative-sum", "cumulative_sum", "2²⁴", partial(cumulative, 1 << 24)),
    GpuCase("gpu-gaussian", "stencil, Gaussian 5×5", "4096 × 4096", partial(blurred, 4096)),
    GpuCase("gpu-jacobi", "stencil, Jacobi 7 points", "512 × 512 × 512", partial(jacobi, 512)),
    GpuCase("gpu-mcc-7", "md_hom, convolution 3×3", "1, 512, 7, 7, 512", partial(convolution, 1, 512, 7, 7, 512)),
    GpuCase(
        "gpu-mcc-28", "md_hom, convolution 3×3", "32, 128, 28, 28, 128", partial(convolution, 32, 128, 28, 28, 128)
    ),
    *(_fused(name) for name in FUSIONS),
    GpuCase("gpu-relax-2048", "iterate, 100 Jacobi steps", "2048 × 2048", partial(relaxed, 100, 2048, 2048)),
    GpuCase("gpu-relax-256", "iterate, 100 Jacobi steps", "256 × 256 × 256", partial(relaxed, 100, 256, 256, 256)),
    GpuCase("gpu-log-sum-exp", "log-sum-exp product", "1024 × 1024 × 1024", partial(log_sum_exp, 1024)),
    GpuCase("gpu-min-plus", "md_hom, min-plus product", "1024 × 1024 × 1024", partial(min_plus, 1024)),
)

#: By the name on the command line, in the order of the table.
GPU_CASES: Mapping[str, GpuCase] = {case.name: case for case in _CASES}
