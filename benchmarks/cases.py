"""The computations that are measured on CPUs, in the order of the tables."""

from collections.abc import Mapping

import numpy as np

from benchmarks.contractions import TCCG, extents
from benchmarks.custom import distances, linked, linked_febrl, log_sum, min_plus
from benchmarks.fusions import FUSIONS
from benchmarks.iterations import relaxed
from benchmarks.problem import Case
from benchmarks.products import batched, contraction, dot, einsum, gemv, product
from benchmarks.stencils import convolution, gradient, jacobi, smoothed

__all__ = ["CASES"]

_LEFT, _RIGHT = (True, False), (False, True)
_F8 = np.float64
#: Of the list's contractions, those that are measured on CPUs.
_LISTED = (1, 2, 3, 5, 7, 9, 10, 13, 14, 16, 19, 31, 34, 37, *range(40, 49))

_PRODUCTS = (
    Case("sgemm", "matmul", "1024 × 1024 × 1024", lambda: product(1024, 1024, 1024), 1.0),
    Case("sgemm-2048", "matmul", "2048 × 2048 × 2048", lambda: product(2048, 2048, 2048), 1.0),
    Case("dgemm", "matmul, float64", "1024 × 1024 × 1024", lambda: product(1024, 1024, 1024, dtype=_F8), 1.0),
    Case("dgemm-2048", "matmul, float64", "2048 × 2048 × 2048", lambda: product(2048, 2048, 2048, dtype=_F8), 1.0),
    Case("sgemm-ta", "matmul, Aᵀ B", "1024 × 1024 × 1024", lambda: product(1024, 1024, 1024, trans=_LEFT), 1.0),
    Case("sgemm-tb", "matmul, A Bᵀ", "1024 × 1024 × 1024", lambda: product(1024, 1024, 1024, trans=_RIGHT), 1.0),
    Case("gemm-dl", "matmul (M, N, K)", "10, 500, 64", lambda: product(10, 64, 500), 1.0),
    Case("gemm-dl-tb", "matmul (M, N, K), A Bᵀ", "10, 500, 64", lambda: product(10, 64, 500, trans=_RIGHT), 1.0),
    Case("gemm-deep", "matmul (M, N, K)", "16, 1000, 2048", lambda: product(16, 2048, 1000), 1.0),
    Case("gemm-inner", "matmul (M, N, K)", "32, 32, 2¹⁶", lambda: product(32, 1 << 16, 32), 1.0),
    Case("gemm-batch", "matmul, batched (B, M, N, K)", "16, 10, 500, 64", lambda: batched(16, 10, 64, 500), 1.3),
    Case("gemv", "gemv, A x", "4096 × 4096", lambda: gemv(4096, 4096), 1.0),
    Case("gemv-t", "gemv, Aᵀ x", "4096 × 4096", lambda: gemv(4096, 4096, True), 1.0),
    Case("gemv-8192", "gemv, A x", "8192 × 8192", lambda: gemv(8192, 8192), 1.0),
    Case("gemv-2^14", "gemv, A x", "2¹⁴ × 2¹⁴", lambda: gemv(1 << 14, 1 << 14), 1.0),
    Case("gemv-wide", "gemv, A x", "2¹⁰ × 2¹⁸", lambda: gemv(1 << 10, 1 << 18), 1.0),
    Case("gemv-tall", "gemv, A x", "2¹⁸ × 2¹⁰", lambda: gemv(1 << 18, 1 << 10), 1.0),
    Case("dot", "dot", "2²⁴", lambda: dot(1 << 24), 1.0),
    Case("dot-10^7", "dot", "10⁷", lambda: dot(10**7), 1.0),
)


def _contraction(number: int) -> Case:
    subscripts, _ = TCCG[number]
    sizes = extents(number)
    listed = "·".join(str(sizes[letter]) for letter in sorted(sizes))
    required = 2.0 if number >= 40 else 1.0
    title = f"einsum, {subscripts} ({number})"
    return Case(f"tccg-{number}", title, listed, lambda: contraction(subscripts, sizes), required)


def _fused(name: str) -> Case:
    title, extents, make = FUSIONS[name]
    return Case(name, title, extents, lambda: make().problem(), 2.0)


_OTHERS = (
    Case("gaussian-224", "stencil, Gaussian 5×5", "224 × 224", lambda: smoothed(224), 2.0),
    Case("gaussian", "stencil, Gaussian 5×5", "4096 × 4096", lambda: smoothed(4096), 2.0),
    Case("gradient-224", "stencil, gradient (2 results)", "224 × 224", lambda: gradient(224), 2.0),
    Case("gradient", "stencil, gradient (2 results)", "4096 × 4096", lambda: gradient(4096), 2.0),
    Case("jacobi", "stencil, Jacobi 7 points", "256 × 256 × 256", lambda: jacobi(256), 1.2),
    Case("jacobi-512", "stencil, Jacobi 7 points", "512 × 512 × 512", lambda: jacobi(512), 1.2),
    Case("mcc", "md_hom, convolution 3×3", "1, 512, 7, 7, 512", lambda: convolution(1, 512, 7, 7, 512), 1.3),
    Case("prl", "prl, 14 fields", "4096 × 4096 records", lambda: linked(4096), 2.0),
    Case("prl-2^15", "prl, 14 fields", "2¹⁵ × 2¹⁵ records", lambda: linked(1 << 15), 2.0),
    Case("prl-febrl4", "prl, 14 fields of febrl4", "5000 × 5000 records", linked_febrl, 50.0),
    Case("min-plus", "md_hom, min-plus product", "1024 × 1024 × 1024", lambda: min_plus(1024), 2.0),
    Case("log-sum", "matmul, sums of logarithms", "512 × 512 × 512", lambda: log_sum(512), 2.0),
    Case("l1", "md_hom, all pairs' L1 distance", "1024 × 1024 × 1024", lambda: distances(1024), 2.0),
    Case("einsum-64", "einsum", "64 × 64 × 64", lambda: einsum(64), 3.0),
    Case("matmul-64", "matmul", "64 × 64 × 64", lambda: product(64, 64, 64), 0.7),
    Case("einsum-16", "einsum", "16 × 16 × 16", lambda: einsum(16), 0.6),
    Case("matmul-16", "matmul", "16 × 16 × 16", lambda: product(16, 16, 16), 0.5),
    Case("einsum-4", "einsum", "4 × 4 × 4", lambda: einsum(4), 0.6),
    Case("matmul-4", "matmul", "4 × 4 × 4", lambda: product(4, 4, 4), 0.5),
)

_FUSED = (
    *(_fused(name) for name in FUSIONS),
    Case("relax-2048", "iterate, 100 Jacobi steps", "2048 × 2048", lambda: relaxed(100, 2048, 2048), 2.0),
    Case("relax-8192", "iterate, 16 Jacobi steps", "8192 × 8192", lambda: relaxed(16, 8192, 8192), 2.0),
    Case("relax-256", "iterate, 100 Jacobi steps", "256 × 256 × 256", lambda: relaxed(100, 256, 256, 256), 2.0),
)

#: By the name on the command line, in the order of the tables.
CASES: Mapping[str, Case] = {case.name: case for case in (*_PRODUCTS, *map(_contraction, _LISTED), *_OTHERS, *_FUSED)}
