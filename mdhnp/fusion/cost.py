"""What a graph costs, to compare it with itself rewritten: bytes moved, and work that is done more than once.

The unit is a byte to or from memory. It must not know devices: on all of them bytes are dear and operations cheap,
and what is decided by a small margin matters little.
"""

from functools import lru_cache
from math import prod

from mdhnp.mdh import Function, Graph, MdHom

__all__ = ["bytes_of", "bytes_of_step", "cost", "cost_of_step"]

#: Bytes that a processor moves in the time of a simple operation, and of a call of kernels.
_OPERATION, _CALL = 0.2, 1 << 16
#: How many simple operations others take.
_SIMPLE = """
    add subtract multiply negative absolute sign square floor ceil trunc rint maximum minimum fmax fmin copysign
    signbit isnan isinf isfinite equal not_equal less less_equal greater greater_equal logical_and logical_or
    logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert left_shift right_shift conjugate real imag
    where"""
_WEIGHTS = {
    **dict.fromkeys(("param", "const", "cast", "index", "positive"), 0),
    **dict.fromkeys(_SIMPLE.split(), 1),
    **dict.fromkeys(("divide", "sqrt", "reciprocal", "exp", "exp2", "log", "log2", "cbrt", "hypot"), 4),
}
_HARD = 15


def cost(graph: Graph) -> float:
    """Give what a graph costs.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import cc, md_hom
    >>> doubled = md_hom(lambda x: x + x, {"i": cc}, "x[i] -> y[i]").bind(np.ones(1 << 20, np.float32))
    >>> bytes_of(Graph.of(doubled)) / 2**20
    8.0
    """
    return sum([cost_of_step(s.mdhom) for s in graph.steps])


def cost_of_step(h: MdHom) -> float:
    """Give what one step costs."""
    return _CALL + bytes_of_step(h) + _across(h) + _OPERATION * _operations(h)


def bytes_of(graph: Graph) -> int:
    """Give the bytes that a graph reads and writes, each array once a step."""
    return sum([bytes_of_step(s.mdhom) for s in graph.steps])


def bytes_of_step(h: MdHom) -> int:
    """Give the bytes that an MDH reads and writes."""
    read = sum([min(prod(v.shape), h.points * len(v.accesses)) * v.dtype.itemsize for v in h.inputs])
    return read + sum([prod(v.shape) * v.dtype.itemsize for v in h.outputs])


def _across(h: MdHom) -> int:
    """Bytes that columns cost more where their totals cannot be kept in the result, which has narrower elements.

    Such totals are in registers: so many columns at a time, whose elements are far apart.
    """
    wide = max([t.itemsize for t in h.scalar.dtypes]) > min([v.dtype.itemsize for v in h.outputs])
    reduced = h.dims("pw")
    along = [abs(v.linear(a).coefficients[d]) for v in h.inputs for a in v.accesses if a for d in reduced]
    return bytes_of_step(h) if wide and h.finish is not None and reduced and 1 not in along else 0


def _operations(h: MdHom) -> int:
    kept = prod([n for n, c in zip(h.extents, h.combine, strict=True) if c.kind != "pw"])
    combined = 0 if h.operator is None else weight(h.operator.function)
    return h.points * (weight(h.scalar) + combined) + kept * (0 if h.finish is None else weight(h.finish))


@lru_cache(maxsize=1024)
def weight(f: Function) -> int:
    """Count a function's operations."""
    return sum([_WEIGHTS.get(f.body[n].op, _HARD) for n in f.live()])
