"""What a problem on a GPU is: operands, our call, a definition and the peers' best calls; and what all are made of.

Knows NumPy; PyTorch and its tensors are given. Most numbers are positive, so that no sum of them is near 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks import problem
from benchmarks.problem import Array, Call

__all__ = ["Peer", "Problem", "by_cupy", "by_torch", "compiled", "operands"]

#: Random numbers drawn for a type: a prime, so that rows differ in large arrays, which repeat them.
_DRAWN = 4_194_301
#: Results farther from the definition than this part of its largest element, by type, are wrong.
_TOLERANCES = {"float16": 2e-3, "float32": 1e-4, "float64": 1e-12, "complex64": 1e-4, "complex128": 1e-12}


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
        The first has the type of the arithmetic.
    ours : callable
        Our call, of the operands as Arrays.
    definition : callable
        Gives the exact result, or several, from the module torch and the operands as tensors of double precision.
    peers : mapping of str to Peer
        By the names in tables.
    flops : int
        Of real numbers; a fused multiply-add counts as two, and so does any other instruction that takes as long.
    """

    operands: tuple[Array, ...]
    ours: Callable[..., Any]
    definition: Callable[..., Any]
    peers: Mapping[str, Peer]
    flops: int
    tolerance: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tolerance", _TOLERANCES.get(self.dtype, 0.0))

    @property
    def dtype(self) -> str:
        """The arithmetic's type."""
        return self.operands[0].dtype.name


@cache
def _pool(dtype: str) -> Array:
    """Numbers between 0.5 and 1.5, or any of a type of integers."""
    rng = np.random.default_rng(7)
    if np.dtype(dtype).kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        return rng.integers(low, high, _DRAWN, dtype, endpoint=True)
    wide = np.dtype(dtype).char in "dD"
    real = rng.random(_DRAWN, np.float64 if wide else np.float32) + 0.5  # NumPy draws no float16
    return (real + 1j * real[::-1] if dtype.startswith("complex") else real).astype(dtype)


def operands(dtype: str, *shapes: tuple[int, ...]) -> tuple[Array, ...]:
    """Give arrays of random numbers, the same ones each time, and others in each array."""
    made = []
    for n, shape in enumerate(shapes):
        count = int(np.prod(shape))
        flat = np.resize(_pool(dtype), count + 1009 * n)[1009 * n :]
        made.append(np.ascontiguousarray(flat).reshape(shape))
    return tuple(made)


def by_torch(text: Callable[..., Any]) -> Peer:
    """Give what PyTorch makes of a function of its module and tensors, an operation at a time."""
    return Peer("torch", lambda torch, *tensors: partial(text, torch, *tensors))


def by_cupy(text: Callable[..., Any]) -> Peer:
    """Give what CuPy makes of a function of its module and arrays."""

    def make(_: Any, *tensors: Any) -> Call:
        cupy = import_module("cupy")
        return partial(text, cupy, *[cupy.from_dlpack(t) for t in tensors])

    return Peer("cupy", make)


def compiled(text: Callable[..., Any]) -> Peer:
    """Give what PyTorch's compiler makes of a function of its module and tensors."""

    def make(torch: Any, *tensors: Any) -> Call:
        return partial(problem.compiled(torch, lambda *given: text(torch, *given), dynamic=False), *tensors)

    return Peer("torch", make)
