"""What the model is asked about, as data: computations as `mdhnp.md_hom` has them, their extents, and the H200s."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import mdhnp
from benchmarks.contractions import TCCG, extents
from benchmarks.scaling.model import Machine, Task
from mdhnp.frontend.pairwise import stand_in

__all__ = ["CASES", "COMPUTATIONS", "H200S", "Case"]

Shapes = tuple[tuple[int, ...], ...]

_FLOAT = np.dtype(np.float32)


def _contraction(number: int) -> Any:
    operands, result = TCCG[number][0].split("->")
    left, right = operands.split(",")
    dims = {letter: mdhnp.cc if letter in result else mdhnp.pw("add") for letter in extents(number)}
    return mdhnp.md_hom(np.multiply, dims, f"A[{','.join(left)}], B[{','.join(right)}] -> C[{','.join(result)}]")


def _mean(*around: Any) -> Any:
    return sum(around[1:], around[0]) * np.float32(1 / 6)


_SIX = ("i-1,j,k", "i+1,j,k", "i,j-1,k", "i,j+1,k", "i,j,k-1", "i,j,k+1")

#: By the names in `Machine.rates`.
COMPUTATIONS: Mapping[str, Any] = {
    "matmul": mdhnp.md_hom(
        np.multiply, {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("add")}, "A[i,k], B[k,j] -> C[i,j]"
    ),
    "all-pairs": mdhnp.md_hom(
        lambda x, y: abs(x - y), {"i": mdhnp.cc, "j": mdhnp.cc, "k": mdhnp.pw("add")}, "X[i,k], Y[j,k] -> D[i,j]"
    ),
    "Jacobi": mdhnp.md_hom(
        _mean, dict.fromkeys("ijk", mdhnp.cc), ", ".join([f"T[{each}]" for each in _SIX]) + " -> O[i,j,k]",
        boundary={"T": "constant"},
    ),
    "contraction": _contraction(40),
    "sum": mdhnp.md_hom(lambda v: v, {"i": mdhnp.pw("add")}, "x[i] -> s[]"),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One computation of given size.

    Attributes
    ----------
    title : str
        As tables show it.
    computation : str
        One of COMPUTATIONS.
    shapes : callable
        Gives the inputs' shapes for so many times the work, and the same arrays as often where that has a meaning.
    copied : tuple of int
        Inputs that each device has as a whole.
    axes : tuple of int
        Along which axes the inputs are distributed so that the best cut finds its shares where it wants them.
    steps : int
        How often it is computed.
    """

    title: str
    computation: str
    shapes: Callable[[float], Shapes]
    copied: tuple[int, ...] = ()
    axes: tuple[int, ...] = (0, 0)
    steps: int = 1

    def task(self, machine: Machine, times: float = 1.0) -> Task:
        """Give so many times the work for a machine."""
        arrays = [stand_in(shape, _FLOAT) for shape in self.shapes(times)]
        made = COMPUTATIONS[self.computation].bind(*arrays)
        return Task(made, machine.rates[self.computation], frozenset(self.copied), self.steps)


def matrices(n: int) -> Callable[[float], Shapes]:
    """Give shapes of square matrices for a product."""
    return lambda times: ((round(n * times ** (1 / 3)),) * 2,) * 2


def rows(n: int, length: int) -> Callable[[float], Shapes]:
    """Give shapes of two lists of rows."""
    return lambda times: ((round(n * times ** (1 / 2)), length),) * 2


def cube(n: int) -> Callable[[float], Shapes]:
    """Give the shape of a cube of points."""
    return lambda times: ((round(n * times ** (1 / 3)),) * 3,)


def line(n: int) -> Callable[[float], Shapes]:
    """Give the shape of a vector."""
    return lambda times: ((round(n * times),),)


def tensors(n: int) -> Callable[[float], Shapes]:
    """Give shapes of two tensors of four equal axes."""
    return lambda times: ((round(n * times ** (1 / 7)),) * 4,) * 2


def listed(number: int) -> Callable[[float], Shapes]:
    """Give shapes of a contraction as it is listed, however often."""
    sizes, operands = extents(number), TCCG[number][0].split("->")[0].split(",")
    return lambda times: tuple([tuple([sizes[letter] for letter in operand]) for operand in operands])


CASES = (
    Case("matmul 16384³, B copied before", "matmul", matrices(16384), (1,)),
    Case("matmul 16384³", "matmul", matrices(16384)),
    Case("matmul 65536³", "matmul", matrices(65536)),
    Case("all-pairs L1, 16384² × 256, Y copied before", "all-pairs", rows(16384, 256), (1,)),
    Case("all-pairs L1, 131072² × 256", "all-pairs", rows(131072, 256)),
    Case("200 Jacobi steps, 1024³", "Jacobi", cube(1024), steps=200),
    Case("CCSD(T) 40, as listed", "contraction", listed(40)),
    Case("CCSD(T) 40, 48⁷", "contraction", tensors(48)),
    Case("sum of 2³¹", "sum", line(1 << 31)),
)

#: Hosts of eight H200s. What one device computes was measured on one (docs/performance.md, the table of kernels; the
#: all-pairs distance is taken to need what the (min, +) product does, which has as many instructions a point), copies
#: between two and from the host to two in a script on a host with two. No network was measured: it is that of one
#: adapter of 400 Gb/s a host, with 10 µs a message. Start-up is that of a call on parts of a CPU.
H200S = Machine(
    name="hosts of eight H200s",
    devices=8,
    rates={
        "matmul": 58.4e12 / 2,  # 8192³, three products of TF32: 58.4 Tflop/s
        "all-pairs": 1024**3 / 143e-6,
        "Jacobi": 512**3 / 318e-6,
        "contraction": 24**3 * 16**4 / 81e-6,  # as listed, bound by memory; larger ones may have a higher rate
        "sum": 3936e9 / 4,
    },
    call=0.1e-3,
    device=0.05e-3,
    message=20e-6,
    latency=10e-6,
    link=47e9,  # pipelined through pinned memory
    links=55e9,
    network=50e9,
    memory=4.2e12,
    room=True,
)
