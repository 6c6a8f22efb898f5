"""What is computed, a function for each kind of problem: operands, our call, a definition and the peers' best calls.

Knows NumPy and mdhnp; PyTorch and its tensors are given. All numbers are positive, so that no result is near 0 and
relative differences mean something.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

import mdhnp
from benchmarks.fusions import Fusion
from benchmarks.iterations import around, mean_of
from benchmarks.problem import Array, Call, random
from benchmarks.stencils import gaussian
from mdhnp import skeletons

__all__ = [
    "Peer", "Problem", "blurred", "contraction", "convolution", "cumulative", "dot", "fused", "gemm", "gemv", "jacobi",
    "log_sum_exp", "min_plus", "relaxed", "total",
]  # fmt: skip

#: Results farther from the definition than this, by type, are wrong.
_TOLERANCES = {"float16": 2e-3, "float32": 1e-4, "float64": 1e-12}


@dataclass(frozen=True)
class Peer:
    """A library's best way to compute a problem.

    Attributes
    ----------
    library : str
        The module whose version is shown.
    make : callable
        Gives the call, from the module torch and the operands as its tensors. It may fail: then it is left out.
    """

    library: str
    make: Callable[..., Call]


@dataclass(frozen=True)
class Problem:
    """A case with its operands made.

    Attributes
    ----------
    operands : tuple of ndarray
        Of one type.
    ours : callable
        Our call, of the operands as Arrays.
    definition : callable
        Gives the exact result, or several, from the module torch and the operands as tensors of float64.
    peers : mapping of str to Peer
        By the names in tables.
    flops : int
        A fused multiply-add counts as two, and so does any other instruction that takes as long.
    by_norm : bool
        Whether errors are those of the whole (Frobenius) instead of the largest of an element.
    """

    operands: tuple[Array, ...]
    ours: Callable[..., Any]
    definition: Callable[..., Any]
    peers: Mapping[str, Peer]
    flops: int
    by_norm: bool = False

    @property
    def dtype(self) -> str:
        """The operands' type."""
        return self.operands[0].dtype.name

    @property
    def tolerance(self) -> float:
        """How far our result may be from the definition."""
        return _TOLERANCES[self.dtype]


def _into(name: str, torch: Any, *operands: Any) -> Call:
    """Call a function of PyTorch's for memory that is there."""
    function = getattr(torch, name)
    out = function(*operands)
    return lambda: function(*operands, out=out)


def _as_defined(definition: Callable[..., Any]) -> Peer:
    """Give what runs a definition as PyTorch does by itself."""
    return Peer("torch", lambda torch, *operands: partial(definition, torch, *operands))


def gemm(m: int, n: int, k: int, dtype: str = "float32") -> Problem:
    """Multiply two matrices."""
    drawn = np.float64 if dtype == "float64" else np.float32  # NumPy draws no float16
    operands = random(m, k, dtype=drawn).astype(dtype), random(k, n, dtype=drawn).astype(dtype)
    peers = {"cuBLAS, torch.mm": Peer("torch", partial(_into, "mm"))}
    return Problem(operands, mdhnp.matmul, lambda torch, a, b: torch.mm(a, b), peers, 2 * m * n * k, by_norm=True)


def gemv(m: int, n: int) -> Problem:
    """Multiply a matrix of m rows and n columns by a vector."""
    peers = {"cuBLAS, torch.mv": Peer("torch", partial(_into, "mv"))}
    return Problem((random(m, n), random(n)), mdhnp.matmul, lambda torch, a, x: torch.mv(a, x), peers, 2 * m * n)


def dot(n: int) -> Problem:
    """Multiply two vectors."""
    x = random(n)
    peers = {"cuBLAS, torch.dot": Peer("torch", partial(_into, "dot"))}
    return Problem((x, x[::-1].copy()), mdhnp.dot, lambda torch, a, b: torch.dot(a, b), peers, 2 * n)


def total(n: int) -> Problem:
    """Add all elements."""

    def definition(torch: Any, a: Any) -> Any:
        return torch.sum(a)

    return Problem((random(n),), mdhnp.sum, definition, {"torch.sum": _as_defined(definition)}, n)


def cumulative(n: int) -> Problem:
    """Add all elements up to each one."""

    def peer(torch: Any, a: Any) -> Call:
        out = torch.empty_like(a)
        return lambda: torch.cumsum(a, 0, out=out)

    return Problem(
        (random(n),),
        mdhnp.cumulative_sum,
        lambda torch, a: torch.cumsum(a, 0),
        {"torch.cumsum": Peer("torch", peer)},
        n,
    )


def contraction(subscripts: str, extents: Sequence[int]) -> Problem:
    """Contract two tensors; extents are the letters', in their order."""
    letters = sorted({letter for letter in subscripts if letter.isalpha()})
    sizes = dict(zip(letters, extents, strict=True))
    terms = subscripts.split("->", maxsplit=1)[0].split(",")

    def definition(torch: Any, a: Any, b: Any) -> Any:
        return torch.einsum(subscripts, a, b).contiguous()

    def by_cupy(_: Any, a: Any, b: Any) -> Call:
        os.environ["CUPY_ACCELERATORS"] = "cub,cutensor"  # read when CuPy is imported
        import_module("cupyx.cutensor")  # fails where cuTENSOR is missing: CuPy's einsum would do without
        cupy = import_module("cupy")
        left, right = cupy.from_dlpack(a), cupy.from_dlpack(b)
        return lambda: cupy.ascontiguousarray(cupy.einsum(subscripts, left, right))

    return Problem(
        tuple(random(*(sizes[letter] for letter in term)) for term in terms),
        lambda a, b: mdhnp.einsum(subscripts, a, b),
        definition,
        {"torch.einsum, contiguous": _as_defined(definition), "cuTENSOR, cupy.einsum": Peer("cupy", by_cupy)},
        2 * prod(extents),
    )


def blurred(n: int) -> Problem:
    """Smooth an image by a 5×5 filter."""
    weights, _ = gaussian()

    def padded(torch: Any, image: Any) -> tuple[Any, Any]:
        filters = torch.from_numpy(weights).to(image.device, image.dtype)
        return torch.nn.functional.pad(image[None, None], (2, 2, 2, 2), mode="reflect"), filters[None, None]

    def definition(torch: Any, image: Any) -> Any:
        return torch.nn.functional.conv2d(*padded(torch, image))[0, 0]

    def peer(torch: Any, image: Any) -> Call:
        # Padding is done before, in favour of the peer: only the convolution is timed.
        operands = padded(torch, image)
        return lambda: torch.nn.functional.conv2d(*operands)[0, 0]

    return Problem(
        (random(n, n),),
        lambda image: mdhnp.stencil(image, weights, mode="mirror"),
        definition,
        {"cuDNN, conv2d, padded before": Peer("torch", peer)},
        50 * n * n,
    )


def _eager_and_compiled(definition: Callable[..., Any]) -> dict[str, Peer]:
    """Give what PyTorch makes of a definition: a kernel for each operation, or of its compiler all in one."""

    def compiled(torch: Any, *operands: Any) -> Call:
        torch._dynamo.reset()  # which compiles one line of a program for so many functions only
        return partial(torch.compile(lambda *given: definition(torch, *given), dynamic=False), *operands)

    return {"torch.compile": Peer("torch", compiled), "torch, an operation at a time": _as_defined(definition)}


def jacobi(n: int) -> Problem:
    """Take the mean of each cell of a cube and its six neighbours."""
    weights = np.zeros((3, 3, 3), np.float32)
    for d in range(3):
        weights[tuple(slice(None) if k == d else 1 for k in range(3))] = 1 / 7

    def definition(torch: Any, cube: Any) -> Any:
        p, c = torch.nn.functional.pad(cube, (1,) * 6), slice(1, -1)
        across = p[:-2, c, c] + p[2:, c, c] + p[c, :-2, c] + p[c, 2:, c] + p[c, c, :-2] + p[c, c, 2:]
        return (p[c, c, c] + across) * (1 / 7)

    return Problem(
        (random(n, n, n),),
        lambda cube: mdhnp.stencil(cube, weights, mode="constant"),
        definition,
        _eager_and_compiled(definition),
        14 * n**3,
    )


def convolution(n: int, c: int, h: int, w: int, k: int) -> Problem:
    """Convolve n images of c channels with k filters of 3×3, without padding, to h by w results."""
    names = {d: mdhnp.cc for d in "nkpq"} | {d: mdhnp.pw("add") for d in "crs"}
    many = mdhnp.md_hom(np.multiply, names, "I[n,c,p+r,q+s], W[k,c,r,s] -> O[n,k,p,q]")

    def definition(torch: Any, images: Any, filters: Any) -> Any:
        return torch.nn.functional.conv2d(images, filters)

    return Problem(
        (random(n, c, h + 2, w + 2), random(k, c, 3, 3)),
        many,
        definition,
        {"cuDNN, conv2d": _as_defined(definition)},
        2 * n * k * h * w * c * 9,
    )


def min_plus(n: int) -> Problem:
    """Multiply two matrices with `min` for the sum and `+` for the product."""
    product = mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}, "A[i,k], B[k,j] -> C[i,j]")

    def definition(_: Any, a: Any, b: Any) -> Any:
        return (a[:, :, None] + b[None]).amin(1)

    return Problem((random(n, n), random(n, n)), product, definition, _eager_and_compiled(definition), 4 * n**3)


def log_sum_exp(n: int) -> Problem:
    """Multiply two matrices of logarithms."""

    def definition(torch: Any, a: Any, b: Any) -> Any:
        return torch.logsumexp(a[:, :, None] + b[None], 1)

    return Problem(
        (random(n, n), random(n, n)),
        lambda a, b: mdhnp.einsum("ik,kj->ij", a, b, multiply=np.add, add="logaddexp"),
        definition,
        _eager_and_compiled(definition),
        4 * n**3,
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

    def compiled(torch: Any, cells: Any) -> Call:
        torch._dynamo.reset()
        return partial(repeated, torch.compile(partial(once, torch), dynamic=False), cells)

    return Problem(
        (random(*extents),),
        skeletons.iterate(mean_of(ways), steps),
        lambda torch, cells: repeated(partial(once, torch), cells),
        {"torch.compile": Peer("torch", compiled)},
        steps * len(ways) * prod(extents),
        by_norm=True,
    )


def fused(fusion: Fusion) -> Problem:
    """Compute a function of several calls, fused, of which some results are near 0."""

    def definition(torch: Any, *operands: Any) -> Any:
        return fusion.text(torch, *operands)

    peers = _eager_and_compiled(definition)
    return Problem(fusion.arrays, fusion.fused(), definition, peers, 2 * fusion.instructions, by_norm=True)
