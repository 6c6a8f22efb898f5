"""The cases of the GPU's table, as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from math import prod
from typing import Any

import numpy as np

from benchmarks.contractions import TCCG
from benchmarks.fusions import FUSIONS, Fusion
from benchmarks.gpu import products, streams
from benchmarks.gpu.problems import Problem

__all__ = ["GPU_CASES", "GpuCase", "matching"]


@dataclass(frozen=True)
class GpuCase:
    """One computation: name on the command line, kind, title and extents in tables, and what makes it."""

    name: str
    kind: str
    title: str
    extents: str
    make: Callable[[], Problem]


def _gemm(m: int, n: int = 0, k: int = 0, dtype: str = "float32") -> GpuCase:
    n, k = n or m, k or m
    square, kind = m == n == k, "" if dtype == "float32" else f"-{dtype}"
    return GpuCase(
        f"gpu-gemm{kind}-{m}" if square else f"gpu-gemm{kind}-{m}-{n}-{k}",
        "products",
        "matmul (M, N, K)" + (f", {dtype}" if kind else ""),
        f"{m}, {n}, {k}",
        partial(products.gemm, m, n, k, dtype),
    )


def _listed(number: int) -> GpuCase:
    subscripts, extents = TCCG[number]
    title, shown = f"einsum, {subscripts} ({number})", "·".join(map(str, extents))
    made = partial(products.contraction, subscripts, extents)
    return GpuCase(f"gpu-tccg-{number}", "contractions of the list", title, shown, made)


def _einsum(name: str, subscripts: str, *extents: int, dtype: str = "float32") -> GpuCase:
    shown = "·".join(map(str, extents))
    title = f"einsum, {subscripts}" + (f", {dtype}" if dtype != "float32" else "")
    made = partial(products.contraction, subscripts, extents, dtype)
    return GpuCase(f"gpu-einsum-{name}", "other contractions", title, shown, made)


def _drawn(seed: int) -> GpuCase:
    """A random contraction that arithmetic holds: odd extents, and labels in any order."""
    rng, sizes, groups = np.random.default_rng(seed), dict[str, int](), list[str]()
    batch = int(rng.choice([0, 0, 0, 1]))
    for labels, total in zip(("ab", "cd", "kl"), 2 ** rng.uniform(8, 11.5, 3), strict=True):
        outer = int(rng.uniform(4, total**0.5)) if rng.random() < 0.6 else 1  # of two labels, the one's
        extents = [outer, round(total / outer)] if outer > 1 else [round(total)]
        groups.append(labels[: len(extents)])
        sizes |= dict(zip(labels, (n | 1 for n in extents), strict=False))
    rows, columns, sums = groups
    shared = "n" * batch
    sizes |= dict.fromkeys(shared, 5)
    left, right, out = ("".join(rng.permutation([*shared, *g])) for g in (rows + sums, sums + columns, rows + columns))
    letters = sorted(set(left + right))
    made = _einsum(f"random-{seed}", f"{left},{right}->{out}", *(sizes[letter] for letter in letters))
    return replace(made, kind="random contractions")


def _layer(name: str, n: int, c: int, size: int, k: int, taps: int, stride: int = 1) -> GpuCase:
    title = f"conv2d {taps}×{taps}" + (f", stride {stride}" if stride > 1 else "") + (", padded" if taps > 1 else "")
    shown = f"{n} × {c} × {size}² → {k}"
    return GpuCase(
        f"gpu-conv-{name}", "convolutions", title, shown, partial(products.layer, n, c, size, k, taps, stride)
    )


def _shaped(name: str, kind: str, title: str, shape: tuple[int, ...], made: Callable[..., Problem]) -> GpuCase:
    return GpuCase(f"gpu-{name}", kind, title, " × ".join(map(str, shape)), partial(made, *shape))


def _reordered(name: str, subscripts: str, *shape: int) -> GpuCase:
    made = partial(streams.reordered, subscripts)
    return _shaped(f"transpose-{name}", "transpositions", f"einsum, {subscripts}", shape, made)


def _reduced(name: str, axes: tuple[int, ...], *shape: int) -> GpuCase:
    case = f"reduce-{name}-{''.join(map(str, axes))}-of-{len(shape)}"
    return _shaped(case, "reductions", f"{name} over {axes}", shape, partial(streams.reduced, name, axes))


def _attention(queries: int, keys: int, features: int, dtype: str, *, causal: bool = False) -> GpuCase:
    shown, title = f"16 × {queries}, {keys}, {features}", f"attention, {dtype}" + (", causal" if causal else "")
    name = f"gpu-attention-{dtype}{'-causal' if causal else ''}-{queries}-{keys}-{features}"
    made = partial(products.attention, queries, keys, features, dtype, causal=causal)
    return GpuCase(name, "attention", title, shown, made)


def _fused(make: Callable[[], Fusion]) -> Problem:
    return streams.fused(make())


def _mapped(
    name: str, title: str, ours: Any, torchs: Any, cupys: Any, *shapes: tuple[int, ...], **how: bool
) -> GpuCase:
    kind = "small calls" if prod(shapes[0]) < 2000 else "maps"
    made = partial(streams.mapped, ours, torchs, cupys, *shapes, **how)
    return GpuCase(f"gpu-{name}", kind, title, " × ".join(map(str, shapes[0])), made)


def _doubled(_: Any, a: Any) -> Any:
    return a + a


def _sum(xp: Any, a: Any) -> Any:
    return xp.sum(a)


def _product(xp: Any, a: Any, b: Any) -> Any:
    return xp.matmul(a, b)


def _plus(_: Any, a: Any, b: Any) -> Any:
    return a + b


def _plus_turned(_: Any, a: Any, b: Any) -> Any:
    return a + b.T


def _combined(_: Any, a: Any, b: Any, c: Any) -> Any:
    return a * b + c


_ODD = (3001, 2003, 1009)
_THOUSAND, _LONG = ((1000,),), ((1 << 26,),)

_CASES = (
    *(_gemm(n) for n in (1024, 2048, 4096, 8192, 1000)),
    *(_gemm(*sizes) for sizes in (_ODD, (16, 1000, 2048), (10, 500, 64), (4000, 4000, 64), (64, 64, 262144))),
    *(_gemm(n, dtype="float16") for n in (1024, 2048, 4096, 8192, 1000)),
    _gemm(*_ODD, dtype="float16"),
    *(_gemm(n, dtype="float64") for n in (1024, 2048, 4096, 1000)),
    _gemm(*_ODD, dtype="float64"),
    *(_gemm(n, dtype="complex64") for n in (1024, 2048, 4096, 1000)),
    *(_gemm(n, dtype="complex128") for n in (1024, 2048, 1000)),
    *(_gemm(n, dtype="int8") for n in (1024, 2048, 4096, 1000)),
    _shaped("widened-2048", "products", "matmul, int8 to int32, n", (2048,), products.widened),
    *(_gemm(n, dtype="int32") for n in (1024, 2048, 4096, 1000)),
    GpuCase("gpu-gemv-tall", "products", "gemv, A x", "2¹⁸ × 2¹⁰", partial(products.gemv, 1 << 18, 1 << 10)),
    GpuCase("gpu-gemv-square", "products", "gemv, A x", "2¹⁴ × 2¹⁴", partial(products.gemv, 1 << 14, 1 << 14)),
    GpuCase("gpu-gemv-wide", "products", "gemv, A x", "2¹⁰ × 2¹⁸", partial(products.gemv, 1 << 10, 1 << 18)),
    GpuCase("gpu-dot", "products", "dot", "2²⁴", partial(products.dot, 1 << 24)),
    *map(_listed, TCCG),
    _einsum("mbej", "mbej,aeim->abij", 41, 39, 43, 37, 40, 38),
    _einsum("iajb", "iajb,jkbc->iakc", 31, 37, 43, 51, 41, 39),
    _einsum("apb", "apb,bqc->apqc", 300, 310, 290, 4, 4),
    _einsum("abcd", "abcd,bced->ae", 101, 31, 29, 37, 103),
    _einsum("ijkl", "ijkl,klmn->ijmn", 31, 33, 35, 37, 29, 27),
    _einsum("ijkl-float64", "ijkl,klmn->ijmn", 31, 33, 35, 37, 29, 27, dtype="float64"),
    _einsum("ijkl-float16", "ijkl,klmn->ijmn", 31, 33, 35, 37, 29, 27, dtype="float16"),
    _einsum("aij", "aij,bij->ab", 201, 255, 33, 257),
    _einsum("pqrs", "pqrs,pt->tqrs", 61, 63, 65, 67, 59),
    _einsum("ijlm", "ijkl,lm->ijkm", 33, 35, 37, 129, 65),
    _einsum("kil", "ij,jkl->kil", 501, 403, 31, 45),
    _einsum("bij", "bij,bjk->bik", 65, 127, 129, 131),
    _einsum("attention", "bhqd,bhkd->bhqk", 2, 64, 8, 512, 512),
    _einsum("attention-odd", "bhqd,bhkd->bhqk", 3, 65, 7, 255, 257),
    _einsum("abd-complex64", "abc,cd->abd", 127, 131, 129, 133, dtype="complex64"),
    _einsum("1", "eafd,fbec->dcba", 72, 72, 72, 72, 72, 72),
    _einsum("3", "feda,bfec->dcba", 72, 72, 72, 72, 72, 72),
    _layer("7x7", 32, 3, 224, 64, 7, 2),
    _layer("56", 32, 64, 56, 64, 3),
    _layer("28", 32, 128, 28, 128, 3),
    _layer("14", 32, 256, 14, 256, 3),
    _layer("7", 32, 512, 7, 512, 3),
    _layer("1x1", 32, 256, 56, 64, 1),
    _shaped("mcc-7", "convolutions", "md_hom 3×3", (1, 512, 7, 7, 512), products.convolution),
    _shaped("mcc-28", "convolutions", "md_hom 3×3", (32, 128, 28, 28, 128), products.convolution),
    _reordered("ljki", "ijkl->ljki", 60, 70, 80, 90),
    _reordered("klij", "ijkl->klij", 61, 73, 79, 89),
    _reordered("ji", "ij->ji", 8191, 8193),
    _reordered("kji", "ijk->kji", 311, 277, 401),
    _reordered("ikj", "ijk->ikj", 500, 300, 301),
    _einsum("jl", "ijkl,jl->ik", 90, 100, 80, 110),
    _einsum("kj", "ijk,kj->ik", 600, 500, 400),
    _reduced("sum", (0, 2), 90, 100, 80, 110),
    _reduced("sum", (1, 3), 91, 101, 81, 109),
    _reduced("sum", (1,), 511, 777, 333),
    _reduced("max", (0, 2), 311, 401, 501),
    _reduced("mean", (0,), 8192, 8192),
    _shaped("var-0", "reductions", "var over 0", (8192, 8192), partial(streams.variance, 0)),
    _shaped("var-1", "reductions", "var over 1", (8192, 8192), partial(streams.variance, 1)),
    GpuCase("gpu-sum", "reductions", "sum", "2²⁶", partial(streams.total, 1 << 26)),
    GpuCase("gpu-cumulative-sum", "reductions", "cumulative_sum", "2²⁴", partial(streams.cumulative, 1 << 24)),
    _mapped("small-add", "a + a", _doubled, _doubled, _doubled, *_THOUSAND),
    _mapped("small-sum", "sum", _sum, _sum, _sum, *_THOUSAND),
    _mapped("small-matmul", "matmul", _product, _product, _product, (32, 32), (32, 32)),
    _mapped("add", "a + b", _plus, _plus, _plus, *_LONG * 2),
    _mapped(
        "add-multiply", "fuse, a·b + c", _combined, lambda torch, a, b, c: torch.addcmul(c, a, b), _combined,
        *_LONG * 3, fuse=True,
    ),
    _mapped("add-transposed", "a + bᵀ", _plus_turned, _plus_turned, _plus_turned, (8000, 8000), (8000, 8000)),
    _mapped(
        "add-permuted", "a + b with axes (2, 1, 0)", lambda xp, a, b: a + xp.permute_dims(b, (2, 1, 0)),
        lambda _, a, b: a + b.permute(2, 1, 0), lambda _, a, b: a + b.transpose(2, 1, 0), (300, 310, 320),
        (320, 310, 300),
    ),
    GpuCase("gpu-stencil-gaussian", "stencils", "Gaussian 5×5", "4096 × 4096", partial(streams.blurred, 4096)),
    _shaped("stencil-7-384", "stencils", "Jacobi 7 points", (384, 384, 384), partial(streams.stencil, 7)),
    _shaped("stencil-7-512", "stencils", "Jacobi 7 points", (512, 512, 512), partial(streams.stencil, 7)),
    _shaped("stencil-27-384", "stencils", "27 points", (384, 384, 384), partial(streams.stencil, 27)),
    _shaped("stencil-7-odd", "stencils", "Jacobi 7 points", (253, 371, 499), partial(streams.stencil, 7)),
    *(
        GpuCase(f"gpu-fuse-{name}", "fused", title, extents, partial(_fused, make))
        for name, (title, extents, make) in FUSIONS.items()
    ),
    *(
        _attention(n, n, features, dtype, causal=causal)
        for dtype in ("float32", "float16")
        for n in (1024, 4096, 16384)
        for features in (64, 128)
        for causal in (False, True)
    ),
    *(_attention(1, 8192, features, dtype) for dtype in ("float32", "float16") for features in (64, 128)),
    _shaped("relax-2048", "others", "iterate, 100 Jacobi steps", (2048, 2048), partial(streams.relaxed, 100)),
    _shaped("relax-256", "others", "iterate, 100 Jacobi steps", (256, 256, 256), partial(streams.relaxed, 100)),
    GpuCase("gpu-log-sum-exp", "others", "log-sum-exp product", "1024³", partial(products.log_sum_exp, 1024)),
    GpuCase("gpu-min-plus", "others", "md_hom, min-plus product", "1024³", partial(products.min_plus, 1024)),
    *map(_drawn, range(24)),
)  # fmt: skip

#: By the name on the command line, in the order of the table.
GPU_CASES: Mapping[str, GpuCase] = {case.name: case for case in _CASES}


def matching(patterns: list[str] | None) -> list[str]:
    """Give names of cases that fit some patterns, in the table's order, and patterns that fit none; without, all."""
    if patterns is None:
        return [*GPU_CASES]
    fitting = {pattern: [name for name in GPU_CASES if fnmatchcase(name, pattern)] for pattern in patterns}
    found = {name for names in fitting.values() for name in names}
    return [name for name in GPU_CASES if name in found] + [p for p, names in fitting.items() if not names]
