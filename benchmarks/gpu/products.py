"""Sums of products on a GPU, and of what stands for products: matrices, contractions, convolutions, semirings."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

import mdhnp
from benchmarks.gpu.problems import Peer, Problem, by_cupy, by_torch, compiled, operands
from benchmarks.problem import Call

__all__ = [
    "attention", "contraction", "convolution", "dot", "gemm", "gemv", "layer", "log_sum_exp", "min_plus", "widened",
]  # fmt: skip


def _into(name: str) -> Peer:
    """Call a function of PyTorch's for memory that is there."""

    def make(torch: Any, *tensors: Any) -> Call:
        function = getattr(torch, name)
        out = function(*tensors)
        return lambda: function(*tensors, out=out)

    return Peer("torch", make)


def _into_cupy(name: str) -> Peer:
    """Call a function of CuPy's for memory that is there."""

    def text(cupy: Any, *arrays: Any) -> Call:
        function = getattr(cupy, name)
        out = function(*arrays)
        return lambda: function(*arrays, out=out)

    made = by_cupy(text)
    return Peer("cupy", lambda torch, *tensors: made.make(torch, *tensors)())


def gemm(m: int, n: int, k: int, dtype: str = "float32") -> Problem:
    """Multiply two matrices; of integers modulo 2 to the power of their bits, as NumPy does."""
    given = operands(dtype, (m, k), (k, n))
    peers = {"CuPy": _into_cupy("matmul")}
    if given[0].dtype.kind in "iu":
        if dtype == "int8":
            peers["torch._int_mm"] = by_torch(lambda torch, a, b: torch._int_mm(a, b).to(torch.int8))
        return Problem(given, mdhnp.matmul, partial(_modulo, dtype), peers, 2 * m * n * k)
    peers = {"cuBLAS, torch.mm": _into("mm")} | peers
    real = 8 if dtype.startswith("complex") else 2
    return Problem(given, mdhnp.matmul, lambda torch, a, b: torch.mm(a, b), peers, real * m * n * k)


def widened(n: int) -> Problem:
    """Multiply two matrices of int8 to one of int32."""
    given = operands("int8", (n, n), (n, n))
    peers = {"cuBLAS, torch._int_mm": by_torch(lambda torch, a, b: torch._int_mm(a, b))}
    ours = partial(mdhnp.matmul, dtype=np.int32)
    return Problem(given, ours, partial(_modulo, "int32"), peers, 2 * n**3)


def _modulo(dtype: str, torch: Any, a: Any, b: Any) -> Any:
    """Multiply matrices of whole numbers in double precision, 16 bits at a time so that sums are exact."""
    (low, high), (other_low, other_high) = ((torch.remainder(x, 65536), torch.floor(x / 65536)) for x in (a, b))
    mixed = low @ other_high + high @ other_low  # the product of high parts is a multiple of 2^32
    return ((low @ other_low).long() + (mixed.long() << 16)).to(getattr(torch, dtype)).long()


def gemv(m: int, n: int) -> Problem:
    """Multiply a matrix of m rows and n columns by a vector."""
    peers = {"cuBLAS, torch.mv": _into("mv"), "CuPy": _into_cupy("matmul")}
    return Problem(
        operands("float32", (m, n), (n,)), mdhnp.matmul, lambda torch, a, x: torch.mv(a, x), peers, 2 * m * n
    )


def dot(n: int) -> Problem:
    """Multiply two vectors."""
    peers = {"cuBLAS, torch.dot": _into("dot"), "CuPy": by_cupy(lambda cupy, a, b: cupy.dot(a, b))}
    return Problem(operands("float32", (n,), (n,)), mdhnp.dot, lambda torch, a, b: torch.dot(a, b), peers, 2 * n)


def contraction(subscripts: str, extents: Sequence[int], dtype: str = "float32") -> Problem:
    """Contract two tensors; extents are the letters', in their order."""
    letters = sorted({letter for letter in subscripts if letter.isalpha()})
    sizes = dict(zip(letters, extents, strict=True))
    terms = subscripts.split("->", maxsplit=1)[0].split(",")

    def definition(torch: Any, *given: Any) -> Any:
        return torch.einsum(subscripts, *given).contiguous()

    def cupys(cupy: Any, *given: Any) -> Any:
        return cupy.ascontiguousarray(cupy.einsum(subscripts, *given))

    return Problem(
        operands(dtype, *(tuple([sizes[letter] for letter in term]) for term in terms)),
        lambda *given: mdhnp.einsum(subscripts, *given),
        definition,
        {"torch.einsum": by_torch(definition), "cupy.einsum": by_cupy(cupys)},
        (8 if dtype.startswith("complex") else 2) * prod(extents),
    )


def layer(n: int, c: int, size: int, k: int, taps: int, stride: int = 1, dtype: str = "float32") -> Problem:
    """Convolve n images of c channels with k filters, padded so that the result's size is that over the stride."""
    padding = taps // 2
    places = (size + 2 * padding - taps) // stride + 1

    def definition(torch: Any, images: Any, filters: Any) -> Any:  # as a product, in another way than any peer's
        columns = torch.nn.functional.unfold(images, taps, padding=padding, stride=stride)
        return (filters.reshape(k, -1) @ columns).reshape(n, k, places, places)

    def cudnn(torch: Any, images: Any, filters: Any) -> Any:
        return torch.nn.functional.conv2d(images, filters, stride=stride, padding=padding)

    return Problem(
        operands(dtype, (n, c, size, size), (k, c, taps, taps)),
        lambda images, filters: mdhnp.conv2d(images, filters, stride=stride, padding=padding),
        definition,
        {"cuDNN, conv2d": by_torch(cudnn)},
        2 * n * k * places**2 * c * taps**2,
    )


def convolution(n: int, c: int, h: int, w: int, k: int) -> Problem:
    """Convolve n images of c channels with k filters of 3×3, without padding, to h by w results."""
    names = {d: mdhnp.cc for d in "nkpq"} | {d: mdhnp.pw("add") for d in "crs"}
    many = mdhnp.md_hom(np.multiply, names, "I[n,c,p+r,q+s], W[k,c,r,s] -> O[n,k,p,q]")

    def definition(torch: Any, images: Any, filters: Any) -> Any:
        columns = torch.nn.functional.unfold(images, 3)
        return (filters.reshape(k, -1) @ columns).reshape(n, k, h, w)

    return Problem(
        operands("float32", (n, c, h + 2, w + 2), (k, c, 3, 3)),
        many,
        definition,
        {"cuDNN, conv2d": by_torch(lambda torch, *given: torch.nn.functional.conv2d(*given))},
        2 * n * k * h * w * c * 9,
    )


#: PyTorch's kernels for attention, each with what it takes between values and the probability of dropout.
_ATTENTION = {"flash": (), "cudnn": (None, False), "efficient": (None, False)}


def attention(queries: int, keys: int, features: int, dtype: str, *, causal: bool = False) -> Problem:
    """Attend from queries to keys in 16 heads."""
    shapes = [(1, 16, n, features) for n in (queries, keys, keys)]

    def head(torch: Any, q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.T * features**-0.5
        if causal:
            scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
        return scores.softmax(-1) @ v

    def definition(torch: Any, q: Any, k: Any, v: Any) -> Any:  # a head at a time: all scores may be too many
        return torch.stack([head(torch, *some) for some in zip(q[0], k[0], v[0], strict=True)])[None]

    def peer(name: str, given: tuple[Any, ...]) -> Peer:
        def text(torch: Any, *tensors: Any) -> Any:
            function = getattr(torch.ops.aten, f"_scaled_dot_product_{name}_attention")
            return function(*tensors, *given, 0.0, causal)[0]

        return by_torch(text)

    return Problem(
        operands(dtype, *shapes),
        partial(mdhnp.attention, causal=causal),
        definition,
        {f"torch, {name}": peer(name, given) for name, given in _ATTENTION.items()},
        4 * 16 * queries * keys * features // (2 if causal else 1),
    )


def _all_pairs(n: int, ours: Callable[..., Any], definition: Callable[..., Any]) -> Problem:
    peers: Mapping[str, Peer] = {"torch.compile": compiled(definition), "torch, eager": by_torch(definition)}
    return Problem(operands("float32", (n, n), (n, n)), ours, definition, peers, 4 * n**3)


def min_plus(n: int) -> Problem:
    """Multiply two matrices with `min` for the sum and `+` for the product."""
    product = mdhnp.md_hom(np.add, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("min")}, "A[i,k], B[k,j] -> C[i,j]")
    return _all_pairs(n, product, lambda _, a, b: (a[:, :, None] + b[None]).amin(1))


def log_sum_exp(n: int) -> Problem:
    """Multiply two matrices of logarithms."""
    return _all_pairs(
        n,
        lambda a, b: mdhnp.einsum("ik,kj->ij", a, b, multiply=np.add, add="logaddexp"),
        lambda torch, a, b: torch.logsumexp(a[:, :, None] + b[None], 1),
    )
