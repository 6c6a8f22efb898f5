"""Stencils applied many times: ours by `iterate`, several steps at once, beside one step after the other."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.problem import Array, Call, Problem, compiled, random, torch_peer
from mdhnp import skeletons

__all__ = ["around", "mean_of", "relaxed"]

Offset = tuple[int, ...]


def around(rank: int) -> list[Offset]:
    """Give where a cell's neighbours are: one on either side along each axis."""
    return [tuple([way * (d == axis) for d in range(rank)]) for axis in range(rank) for way in (-1, 1)]


def mean_of(offsets: Sequence[Offset]) -> Callable[..., Any]:
    """Give the step that takes the mean of these neighbours; what lies outside counts as 0."""
    weight = np.float32(1 / len(offsets))
    return skeletons.stencil(lambda n: sum([n[each] for each in offsets[1:]], n[offsets[0]]) * weight, "constant")


def relaxed(steps: int, *extents: int) -> Problem:
    """Take the mean of each cell's neighbours, again and again; what lies outside counts as 0."""
    cells = random(*extents)
    rank = cells.ndim
    offsets = around(rank)
    weight = np.float32(1 / len(offsets))
    step = mean_of(offsets)
    whole = skeletons.iterate(step, steps)

    def one_by_one() -> Array:
        state: Any = cells
        for _ in range(steps):
            state = step(state)
        return np.asarray(state)

    def neighbours(a: Any) -> list[Any]:
        return [
            a[tuple([slice(1 + k, n + 1 + k) for k, n in zip(offset, extents, strict=True)])] for offset in offsets
        ]  # fmt: skip

    def numpy() -> Call:
        padded = [np.zeros([n + 2 for n in extents], np.float32) for _ in range(2)]
        inside = (slice(1, -1),) * rank

        def call() -> Array:
            padded[0][inside] = cells
            for n in range(steps):
                out = padded[1 - n % 2][inside]
                first, second, *others = neighbours(padded[n % 2])
                np.add(first, second, out=out)
                for other in others:
                    out += other
                out *= weight
            return padded[steps % 2][inside]

        return call

    def numba() -> Call:
        from benchmarks import numba_fusions

        loops = numba_fusions.relaxed_2d if rank == 2 else numba_fusions.relaxed_3d
        return lambda: loops(cells, steps)

    def jitted() -> Call:
        import jax

        def one(_: Any, state: Any) -> Any:
            first, *others = neighbours(jax.numpy.pad(state, 1))
            for other in others:
                first = first + other
            return first * weight

        function = jax.jit(lambda state: jax.lax.fori_loop(0, steps, one, state))
        given = jax.numpy.asarray(cells)
        return lambda: np.asarray(jax.block_until_ready(function(given)))

    def by_torch(torch: Any, t: Any) -> Call:
        def one(state: Any) -> Any:
            first, *others = neighbours(torch.nn.functional.pad(state, (1, 1) * rank))
            for other in others:
                first = first + other
            return first * weight

        function, given = compiled(torch, one), t(cells)

        def call() -> Any:
            state = given
            for _ in range(steps):
                state = function(state)
            return state

        return call

    peers = {
        "NumPy": numpy, "ours, step by step": lambda: one_by_one, "Numba prange": numba, "jax.jit": jitted,
        "torch.compile": torch_peer(by_torch),
    }  # fmt: skip
    return Problem(
        lambda: whole(cells), peers, cells.nbytes, cells.nbytes, steps * len(offsets) * cells.size, tolerance=1e-4
    )
