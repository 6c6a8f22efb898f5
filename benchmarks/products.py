"""Products of vectors, matrices and tensors, for the benchmarks."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
import opt_einsum

import mdhnp
from benchmarks.problem import Array, Call, Problem, random, torch_peer

__all__ = ["batched", "contraction", "dot", "einsum", "gemv", "product"]


def product(m: int, k: int, n: int, *, trans: tuple[bool, bool] = (False, False), dtype: Any = np.float32) -> Problem:
    """Multiply two matrices, those in `trans` given transposed."""
    left, right = (
        random(*reversed(shape), dtype=dtype) if t else random(*shape, dtype=dtype)
        for shape, t in zip(((m, k), (k, n)), trans, strict=True)
    )
    a, b = left.T if trans[0] else left, right.T if trans[1] else right
    out = np.empty((m, n), dtype)
    second = np.empty_like(out)

    def torch_mm(torch: Any, t: Callable[[Array], Any]) -> Call:
        x, y, result = t(a), t(b), t(second)
        return lambda: torch.mm(x, y, out=result)

    return Problem(
        lambda: mdhnp.matmul(a, b),
        {
            "np.matmul": lambda: lambda: np.matmul(a, b, out=out),
            "torch.mm": torch_peer(torch_mm, alone=m * k * n < 1 << 20),
        },
        a.nbytes + b.nbytes,
        out.nbytes,
        m * k * n * out.itemsize // 4,
    )


def batched(count: int, m: int, k: int, n: int) -> Problem:
    """Multiply as many pairs of matrices."""
    a, b = random(count, m, k), random(count, k, n)
    out = np.empty((count, m, n), np.float32)
    second = np.empty_like(out)

    def bmm(torch: Any, t: Callable[[Array], Any]) -> Call:
        left, right, result = t(a), t(b), t(second)
        return lambda: torch.bmm(left, right, out=result)

    return Problem(
        lambda: mdhnp.matmul(a, b),
        {"np.matmul": lambda: lambda: np.matmul(a, b, out=out), "torch.bmm": torch_peer(bmm)},
        a.nbytes + b.nbytes,
        out.nbytes,
        count * m * k * n,
    )


def einsum(n: int) -> Problem:
    """Multiply two small square matrices by einsum."""
    a, b = random(n, n), random(n, n)
    return Problem(
        lambda: mdhnp.einsum("ij,jk->ik", a, b),
        {
            "np.einsum": lambda: lambda: np.einsum("ij,jk->ik", a, b),
            "np.einsum(optimize=True)": lambda: lambda: np.einsum("ij,jk->ik", a, b, optimize=True),
        },
        2 * a.nbytes,
        a.nbytes,
        n**3,
    )


def gemv(m: int, n: int, trans: bool = False) -> Problem:
    """Multiply an m by n matrix, or its transpose, by a vector."""
    a = random(m, n)
    matrix = a.T if trans else a
    x = random(matrix.shape[1])
    out = np.empty(matrix.shape[0], np.float32)
    second = np.empty_like(out)

    def torch_mv(torch: Any, t: Callable[[Array], Any]) -> Call:
        left, right, result = t(matrix), t(x), t(second)
        return lambda: torch.mv(left, right, out=result)

    return Problem(
        lambda: mdhnp.gemv(a, x, trans=trans),
        {"np.matmul": lambda: lambda: np.matmul(matrix, x, out=out), "torch.mv": torch_peer(torch_mv)},
        a.nbytes + x.nbytes,
        out.nbytes,
        m * n,
        tolerance=1e-4,
    )


def dot(n: int) -> Problem:
    """Multiply two vectors."""
    a, b = random(n), random(n)[::-1].copy()

    def torch_dot(torch: Any, t: Callable[[Array], Any]) -> Call:
        left, right = t(a), t(b)
        return lambda: torch.dot(left, right)

    return Problem(
        lambda: mdhnp.dot(a, b),
        {"np.dot": lambda: lambda: np.dot(a, b), "torch.dot": torch_peer(torch_dot)},
        2 * a.nbytes,
        4,
        n,
        tolerance=1e-4,
    )


def contraction(subscripts: str, extents: Mapping[str, int]) -> Problem:
    """Contract two tensors."""
    terms, output = subscripts.split("->")
    a, b = (random(*(extents[c] for c in term)) for term in terms.split(","))
    size = int(np.prod([extents[c] for c in output]))

    def torch_einsum(torch: Any, t: Callable[[Array], Any]) -> Call:
        left, right = t(a), t(b)
        return lambda: torch.einsum(subscripts, left, right).contiguous()

    return Problem(
        lambda: mdhnp.einsum(subscripts, a, b),
        {
            "np.einsum(optimize=True), C-contiguous": lambda: (
                lambda: np.ascontiguousarray(np.einsum(subscripts, a, b, optimize=True))
            ),
            "opt_einsum.contract, C-contiguous": lambda: (
                lambda: np.ascontiguousarray(opt_einsum.contract(subscripts, a, b))
            ),
            "torch.einsum, contiguous": torch_peer(torch_einsum),
        },
        a.nbytes + b.nbytes,
        4 * size,
        prod(extents.values()),
    )
