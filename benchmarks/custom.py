"""Computations with operators of their own: record linkage, the min-plus product, distances; for the benchmarks."""

from collections.abc import Callable
from typing import Any

import numpy as np

import mdhnp
from benchmarks import records
from benchmarks.problem import Call, Problem, random
from mdhnp.demo.cases import AGREEMENT, THRESHOLDS, persons

__all__ = ["distances", "linked", "linked_febrl", "log_sum", "min_plus"]


def linked(n: int) -> Problem:
    """Link as many new and existing records of 14 fields."""
    new, existing = records.people(n, 1), records.people(n, 2)
    records.repeat_some(new, existing)
    codes, chance = records.encode(new, existing)
    tables = records.weights(chance)
    thresholds = (15.0, 45.0)

    def compiled(prepare: bool) -> Callable[[], Call]:
        def peer() -> Call:
            from benchmarks.numba_peers import best_pairs

            if not prepare:
                return lambda: best_pairs(*codes, *tables, *thresholds)

            def whole() -> Any:
                found, frequency = records.encode(new, existing)
                return best_pairs(*found, *records.weights(frequency), *thresholds)

            return whole

        return peer

    return Problem(
        lambda: mdhnp.prl(new, existing, m=records.AGREEMENT, thresholds=thresholds),
        {
            "pandas.factorize, then Numba prange": compiled(True),
            "Numba prange alone, codes and weights given": compiled(False),
        },
        2 * codes[0].nbytes + codes[1].nbytes * 2,
        n * 9,
        3 * len(records.AGREEMENT) * n * n,
    )


def linked_febrl() -> Problem:
    """Link the 5000 by 5000 records of febrl4."""
    from mdhnp.demo.peers import link_by_library

    new, existing, _ = persons()

    def library() -> Call:
        import recordlinkage

        del recordlinkage
        return lambda: link_by_library(new, existing, AGREEMENT, THRESHOLDS)

    count = len(new["year"])
    return Problem(
        lambda: mdhnp.prl(new, existing, m=AGREEMENT, thresholds=THRESHOLDS),
        {"recordlinkage": library},
        8 * count * len(AGREEMENT),
        9 * count,
        3 * len(AGREEMENT) * count**2,
        tolerance=1e-4,
    )


def min_plus(n: int) -> Problem:
    """Multiply two matrices with `min` for the sum and `+` for the product."""
    a, b = random(n, n), random(n, n)
    out = np.empty_like(a)
    product = mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}, "A[i,k], B[k,j] -> C[i,j]")

    def numba() -> Call:
        from benchmarks.numba_peers import min_plus as loops

        return lambda: loops(a, b, out)

    return Problem(lambda: product(a, b), {"Numba prange": numba}, 2 * a.nbytes, a.nbytes, 2 * n**3)


def log_sum(n: int) -> Problem:
    """Multiply two matrices of probabilities that are kept as logarithms."""
    a, b = np.log(random(n, n)), np.log(random(n, n))
    out = np.empty_like(a)

    def numba() -> Call:
        from benchmarks.numba_peers import log_sum as loops

        return lambda: loops(a, b, out)

    ring = mdhnp.semiring.log
    return Problem(lambda: mdhnp.matmul(a, b, semiring=ring), {"Numba prange": numba}, 2 * a.nbytes, a.nbytes, 2 * n**3)


def distances(n: int) -> Problem:
    """Give the L1 distances of all pairs of n points in n dimensions."""
    a, b = random(n, n), random(n, n)[::-1].copy()
    out = np.empty_like(a)
    wide = a.astype(float), b.astype(float)
    pairs = mdhnp.md_hom(
        lambda x, y: np.abs(x - y), {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("add")}, "A[i,k], B[j,k] -> D[i,j]"
    )

    def numba() -> Call:
        from benchmarks.numba_peers import distances as loops

        return lambda: loops(a, b, out)

    def cdist() -> Call:
        from scipy.spatial.distance import cdist as scipy_cdist

        return lambda: scipy_cdist(*wide, "cityblock")

    return Problem(
        lambda: pairs(a, b), {"Numba prange": numba, "scipy cdist (float64)": cdist}, 2 * a.nbytes, a.nbytes, 2 * n**3
    )
