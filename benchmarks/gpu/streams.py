"""What moves bytes rather than computes on a GPU: maps, transpositions, reductions, stencils, fused functions."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from itertools import product
from math import prod
from typing import Any

import numpy as np

import mdhnp
from benchmarks.fusions import Fusion
from benchmarks.gpu.problems import Peer, Problem, by_cupy, by_torch, compiled, operands
from benchmarks.iterations import around, mean_of
from benchmarks.problem import Array, Call
from benchmarks.stencils import gaussian
from mdhnp import skeletons

__all__ = [
    "blurred", "cumulative", "fused", "mapped", "reduced", "relaxed", "reordered", "stencil", "total", "variance",
]  # fmt: skip

#: Weights of a cell and its neighbours in three dimensions: of six the mean, and 26 unlike ones.
_WEIGHTS = {
    7: np.array([(1 / 7) * (abs(np.array(at)).sum() <= 1) for at in product((-1, 0, 1), repeat=3)]),
    27: np.arange(1, 28) / 378,
}


def _reading(shape: Sequence[int], ours: Any, torchs: Any, cupys: Any, flops: int) -> Problem:
    peers = {"torch": by_torch(torchs), "CuPy": by_cupy(cupys)}
    return Problem(operands("float32", tuple(shape)), ours, torchs, peers, flops)


def total(n: int) -> Problem:
    """Add all elements."""
    return _reading((n,), mdhnp.sum, lambda torch, a: torch.sum(a), lambda cupy, a: cupy.sum(a), n)


def cumulative(n: int) -> Problem:
    """Add all elements up to each one."""

    def into(torch: Any, a: Any) -> Call:
        out = torch.empty_like(a)
        return lambda: torch.cumsum(a, 0, out=out)

    peers = {"torch.cumsum": Peer("torch", into), "CuPy": by_cupy(lambda cupy, a: cupy.cumsum(a))}
    definition: Any = lambda torch, a: torch.cumsum(a, 0)  # noqa: E731
    return Problem(operands("float32", (n,)), mdhnp.cumulative_sum, definition, peers, n)


def reduced(name: str, axes: tuple[int, ...], *shape: int) -> Problem:
    """Add along several axes, or give the largest, or the mean."""
    torch_name = {"max": "amax"}.get(name, name)
    return _reading(
        shape,
        lambda a: getattr(mdhnp, name)(a, axis=axes),
        lambda torch, a: getattr(torch, torch_name)(a, axes),
        lambda cupy, a: getattr(cupy, name)(a, axis=axes),
        prod(shape),
    )


def variance(axis: int, *shape: int) -> Problem:
    """Give the variance along an axis."""
    return _reading(
        shape,
        lambda a: mdhnp.var(a, axis=axis),
        lambda torch, a: torch.var(a, axis, correction=0),
        lambda cupy, a: cupy.var(a, axis=axis),
        4 * prod(shape),
    )


def reordered(subscripts: str, *extents: int) -> Problem:
    """Bring the elements of an array in another order; extents are the first letters'."""
    before, after = subscripts.split("->")
    order = [before.index(letter) for letter in after]
    return _reading(
        extents,
        lambda a: mdhnp.einsum(subscripts, a),
        lambda torch, a: a.permute(order).contiguous(),
        lambda cupy, a: cupy.ascontiguousarray(a.transpose(order)),
        0,
    )


def mapped(ours: Any, torchs: Any, cupys: Any, *shapes: tuple[int, ...], fuse: bool = False) -> Problem:
    """Apply a function to each element of arrays: of ours, PyTorch's and CuPy's modules and arrays."""
    peers = {"torch": by_torch(torchs), "CuPy": by_cupy(cupys)}
    call = partial(ours, mdhnp)
    flops = max(map(prod, shapes))
    return Problem(operands("float32", *shapes), mdhnp.fuse(call) if fuse else call, torchs, peers, flops)


def blurred(n: int) -> Problem:
    """Smooth an image by a 5×5 filter, mirrored at the border; PyTorch's is padded before."""
    weights, _ = gaussian()

    def padded(torch: Any, given: Any) -> tuple[Any, Any]:
        filters = torch.from_numpy(weights).to(given.device, given.dtype)
        return torch.nn.functional.pad(given[None, None], (2,) * 4, mode="reflect"), filters[None, None]

    def definition(torch: Any, given: Any) -> Any:
        return torch.nn.functional.conv2d(*padded(torch, given))[0, 0]

    def cudnn(torch: Any, given: Any) -> Call:  # in favour of the peer only the convolution is timed
        both = padded(torch, given)
        return lambda: torch.nn.functional.conv2d(*both)[0, 0]

    return Problem(
        operands("float32", (n, n)),
        lambda given: mdhnp.stencil(given, weights, mode="mirror"),
        definition,
        {"cuDNN, conv2d": Peer("torch", cudnn), "cupyx correlate": _correlate(weights, "mirror")},
        50 * n * n,
    )


def _correlate(weights: Array, mode: str) -> Peer:
    def make(torch: Any, tensor: Any) -> Call:
        cupy, ndimage = import_module("cupy"), import_module("cupyx.scipy.ndimage")
        given, filters = cupy.from_dlpack(tensor), cupy.asarray(weights)
        out = cupy.empty_like(given)
        return lambda: ndimage.correlate(given, filters, output=out, mode=mode)

    return Peer("cupy", make)


def stencil(points: int, *extents: int) -> Problem:
    """Sum neighbours by weights in three dimensions; what lies outside counts as 0."""
    weights = _WEIGHTS[points].reshape(3, 3, 3).astype(np.float32)
    places = [at for at in np.ndindex(3, 3, 3) if weights[at]]

    def definition(torch: Any, cube: Any) -> Any:
        near = torch.nn.functional.pad(cube, (1,) * 6)
        parts = [near[tuple([slice(k, k + n) for k, n in zip(at, extents, strict=True)])] for at in places]
        return sum([part * float(weights[at]) for part, at in zip(parts, places, strict=True)])

    def cudnn(torch: Any, cube: Any) -> Call:
        filters = torch.from_numpy(weights).to(cube.device)[None, None]
        return lambda: torch.nn.functional.conv3d(cube[None, None], filters, padding=1)[0, 0]

    return Problem(
        operands("float32", extents),
        lambda cube: mdhnp.stencil(cube, weights, mode="constant"),
        definition,
        {
            "torch.compile": compiled(definition),
            "cupyx correlate": _correlate(weights, "constant"),
            "cuDNN, conv3d": Peer("torch", cudnn),
        },
        2 * len(places) * prod(extents),
    )


def relaxed(steps: int, *extents: int) -> Problem:
    """Take the mean of each cell's neighbours, again and again; what lies outside counts as 0."""
    rank, ways = len(extents), around(len(extents))

    def once(torch: Any, cells: Any) -> Any:
        padded = torch.nn.functional.pad(cells, (1, 1) * rank)
        near = [padded[tuple([slice(1 + k, 1 + k + n) for k, n in zip(w, extents, strict=True)])] for w in ways]
        return sum(near[1:], near[0]) * (1 / len(ways))

    def repeated(function: Callable[[Any], Any], cells: Any) -> Any:
        for _ in range(steps):
            cells = function(cells)
        return cells

    def steps_compiled(torch: Any, cells: Any) -> Call:
        return partial(repeated, compiled(once).make(torch, cells).func, cells)  # type: ignore[attr-defined]

    return Problem(
        operands("float32", extents),
        skeletons.iterate(mean_of(ways), steps),
        lambda torch, cells: repeated(partial(once, torch), cells),
        {"torch.compile": Peer("torch", steps_compiled)},
        steps * len(ways) * prod(extents),
    )


def fused(fusion: Fusion) -> Problem:
    """Compute a function of several calls, fused."""

    def definition(torch: Any, *given: Any) -> Any:
        return fusion.text(torch, *given)

    peers = {"torch.compile": compiled(definition), "torch, eager": by_torch(definition)}
    return Problem(fusion.arrays, fusion.fused(), definition, peers, 2 * fusion.instructions)
