"""What an MDH asks for, whoever computes it: operations by type, bytes that are read and written."""

from math import prod
from typing import NamedTuple

from mdhnp.cost.operations import weight
from mdhnp.mdh import Computation, MdHom, View

__all__ = ["NumpyWork", "Work", "bytes_read", "operation_count", "work"]


class Work(NamedTuple):
    """Operations and bytes."""

    #: Simple operations (`operations.py`; a multiplication and its addition are two) in types of up to 32 bits, and in
    #: MDHs that compute in double precision.
    float32: float
    float64: float
    #: Bytes of all elements of inputs that are read, each once, and of results.
    read: int
    written: int


class NumpyWork(NamedTuple):
    """What NumPy's function for an MDH does."""

    #: Character of the result's type.
    char: str
    #: Multiply-adds that BLAS does, in that type.
    multiplied: int
    #: Points of all other loops; a sixth of them where these walk along rows of real numbers.
    walked: int
    #: Bytes of operands and results.
    moved: int
    #: Bytes that are copied, to be in another order or of another type.
    copied: int


def work(h: Computation) -> Work:
    """Return what an MDH, or several as one, asks for.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import cc, md_hom, pw
    >>> a, b = np.ones((2, 3), np.float32), np.ones(3, np.float32)
    >>> work(md_hom(np.multiply, {"i": cc, "k": pw("add")}, "A[i,k], b[k] -> c[i]").bind(a, b))
    Work(float32=12.0, float64=0.0, read=36, written=8)
    """
    single = double = 0.0
    for one in h.mdhoms:
        if any([t.char in "dD" for t in one.dtypes]):
            double += operation_count(one)
        else:
            single += operation_count(one)
    return Work(single, double, sum([bytes_read(h, v) for v in h.inputs]), sum([v.element_bytes for v in h.outputs]))


def bytes_read(h: Computation, view: View) -> int:
    """Return the bytes of an input's elements, where its points read them all."""
    return min(prod(view.shape), h.points * len(view.accesses)) * view.dtype.itemsize


def operation_count(h: MdHom) -> float:
    """Return the simple operations of all points, of combining them and of what is done with results."""
    kept = prod([n for n, c in zip(h.extents, h.combine, strict=True) if c.kind != "pw"])
    combined = 0.0 if h.operator is None else weight(h.operator.function)
    return h.points * (weight(h.scalar) + combined) + kept * (0.0 if h.finish is None else weight(h.finish))
