"""Computations for which no schedule ships: what defaults, or schedules of similar extents, make of them.

Takes devices; gives a table. Whole calls by turns with NumPy and PyTorch, as for the other tables.
"""

from collections.abc import Callable, Sequence
from math import prod
from statistics import geometric_mean
from typing import Any

import numpy as np

import mdhnp
from benchmarks import measure
from benchmarks.problem import Array, torch_peer
from benchmarks.rows import seconds_text

__all__ = ["OTHERS", "table"]

_F8, _C8, _I4 = np.float64, np.complex64, np.int32

#: Subscripts, extents of their letters in the order in which these first occur, type.
OTHERS: tuple[tuple[str, tuple[int, ...], Any], ...] = (
    ("ij,jk->ik", (333, 333, 333), np.float32),
    ("ij,jk->ik", (1025, 1031, 1023), np.float32),
    ("ij,jk->ik", (3000, 200, 200), np.float32),
    ("ij,jk->ik", (2000, 10, 2000), np.float32),
    ("ij,jk->ik", (1_000_000, 8, 8), np.float32),
    ("ij,jk->ik", (300, 400, 500), _F8),
    ("ij,jk->ik", (300, 400, 500), _C8),
    ("ij,jk->ik", (300, 400, 500), _I4),
    ("ji,jk->ik", (555, 777, 333), _F8),
    ("bij,bjk->bik", (100, 32, 32, 32), np.float32),
    ("bij,bkj->bik", (12, 512, 64, 512), np.float32),
    ("bihd,bjhd->bhij", (4, 128, 8, 64, 128), np.float32),
    ("bi,bij,bj->b", (1000, 64, 64), np.float32),
    ("ij->ji", (3000, 2000), np.float32),
    ("ij->j", (4000, 4000), np.float32),
    ("ijk,ijk->k", (200, 300, 100), np.float32),
    ("ijk,jr,kr->ir", (200, 200, 200, 16), np.float32),
    ("abcde,efbad->cf", (16, 20, 24, 12, 18, 30), np.float32),
    ("mbej,aeim->abij", (24, 48, 48, 24, 48, 24), np.float32),
    ("nchw,oc->nohw", (8, 64, 28, 28, 128), np.float32),
)


def table(specs: Sequence[str], pairs: int, say: Any = print) -> tuple[list[str], list[list[str]]]:
    """Measure all on each device and give header and lines; the last has the geometric means."""
    lines: list[list[str]] = []
    means: list[list[float]] = [[] for _ in range(2 * len(specs))]
    for subscripts, extents, dtype in OTHERS:
        line = [subscripts, "·".join(map(str, extents)), np.dtype(dtype).name]
        for n, spec in enumerate(specs):
            hosted = sum(mdhnp.host_counts().values())
            with mdhnp.device(spec):
                found = [one.summary() for one in _measured(subscripts, extents, dtype, pairs)]
            by_numpy = ", by NumPy" if sum(mdhnp.host_counts().values()) > hosted else ""
            line += [seconds_text(found[0]["ours_seconds"]) + by_numpy, *(f"{one['ratio']:.2f}" for one in found)]
            for mean, one in zip(means[2 * n :], found, strict=False):
                mean.append(one["ratio"])
        say(" ".join(line), flush=True)
        lines.append(line)
    last = ["geometric mean", "", ""]
    for n in range(len(specs)):
        last += ["", *(f"{geometric_mean(column):.2f}" for column in means[2 * n : 2 * n + 2])]
    header = ["einsum", "extents", "type", *(text for spec in specs for text in (spec, "NumPy", "PyTorch"))]
    return header, [*lines, last]


def _measured(subscripts: str, extents: Sequence[int], dtype: Any, pairs: int) -> list[measure.Comparison]:
    terms = subscripts.split("->", maxsplit=1)[0].split(",")
    sizes = dict(zip(dict.fromkeys("".join(terms)), extents, strict=True))
    operands = [_random([sizes[letter] for letter in term], dtype, seed) for seed, term in enumerate(terms)]

    def ours() -> Any:
        return mdhnp.einsum(subscripts, *operands)

    def by_torch(torch: Any, t: Callable[[Array], Any]) -> Callable[[], Any]:
        tensors = [t(a) for a in operands]
        return lambda: torch.einsum(subscripts, *tensors).contiguous()

    peers = [
        lambda: np.ascontiguousarray(np.einsum(subscripts, *operands, optimize=True)),
        torch_peer(by_torch, alone=prod(extents) < 1 << 20)(),
    ]
    mdhnp.prepare(ours)  # so that who computes was measured, as after some seconds of calls
    expected = _reals(ours())

    def accept(n: int, result: Any) -> None:
        measure.check_equal(expected, _reals(result), 1e-4, subscripts)

    return measure.compare(ours, peers, accept, pairs)


def _reals(result: Any) -> Array:
    """Complex numbers as pairs of their parts."""
    array = np.ascontiguousarray(result)
    return array.view(array.real.dtype) if array.dtype.kind == "c" else array


def _random(shape: Sequence[int], dtype: Any, seed: int) -> Array:
    """Give numbers between 0.5 and 1.5, or whole ones below 10."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "i":
        return rng.integers(10, size=shape, dtype=dtype)
    real = rng.random(shape) + 0.5
    return (real + 1j * rng.random(shape) if np.dtype(dtype).kind == "c" else real).astype(dtype)
