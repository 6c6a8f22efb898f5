"""What a measured computation is made of: our call, the peers' best calls for the same, and what it costs at least.

A peer gets contiguous inputs and, where it takes one, an output array that is there already. Libraries are imported
when a case is made, and those not installed are left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.system import cores

__all__ = ["Array", "Call", "Case", "Problem", "compiled", "random", "torch_peer"]

Array = npt.NDArray[Any]
Call = Callable[[], Any]


@dataclass(frozen=True)
class Problem:
    """A case with its arrays made.

    Attributes
    ----------
    ours : callable
        The whole call, as a user writes it.
    peers : mapping of str to callable
        By name; the first is the one that `required` is about. Each makes the call, given its library.
    read, written, instructions : int
        Bytes and arithmetic that no way of computing it can avoid (a multiply-add is one instruction).
    tolerance : float
        How far results may differ, relative to the largest one.
    """

    ours: Call
    peers: Mapping[str, Callable[[], Call]]
    read: int
    written: int
    instructions: int
    tolerance: float = 1e-5


@dataclass(frozen=True)
class Case:
    """One computation: name on the command line, title and extents in tables, and what it must reach."""

    name: str
    title: str
    extents: str
    make: Callable[[], Problem]
    required: float | None = None


def random(*shape: int, dtype: Any = np.float32) -> Array:
    """Give numbers between 0.5 and 1.5, the same ones each time."""
    return np.random.default_rng(7).random(shape, dtype) + dtype(0.5)


def torch_peer(make: Callable[[Any, Callable[[Array], Any]], Call], alone: bool = False) -> Callable[[], Call]:
    """Give a peer from the module torch and a conversion to tensors that share memory.

    On small work it is at its best `alone`, with one thread: two wait for each other for longer than they compute.
    """

    def peer() -> Call:
        import torch

        torch.set_grad_enabled(False)
        torch.set_num_threads(1 if alone else cores())
        return make(torch, torch.from_numpy)

    return peer


def compiled(torch: Any, function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Give what PyTorch's compiler makes of a function, which is to run before the next one is compiled.

    It compiles one line of a program for eight functions only, and runs others as they are.
    """
    torch.compiler.reset()
    found: Callable[..., Any] = torch.compile(function, **options)
    return found
