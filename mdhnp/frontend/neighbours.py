"""What a stencil's function of neighbours computes: the offsets it reads, and the scalar function of the values there.

Also tells when two functions are the same one, so that a repeat call need not trace. Knows no arrays and no views.
"""

import dis
import operator
from collections.abc import Callable, Hashable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from mdhnp.calls.operands import SUPPORTED
from mdhnp.mdh import Function, trace

__all__ = ["Offset", "identity", "trace_neighbours"]

#: Distance from a point to a neighbour along each axis.
Offset = tuple[int, ...]


class _Neighbours:
    """What a stencil function is given: ``n[offsets]`` reads one neighbour."""

    def __init__(self, rank: int, read: Callable[[Offset], Any]) -> None:
        self._rank = rank
        self._read = read

    def __getitem__(self, offsets: Any) -> Any:
        found = tuple(map(operator.index, offsets if isinstance(offsets, tuple) else (offsets,)))
        if len(found) != self._rank:
            raise IndexError(f"n[{', '.join(map(str, found))}] for an array of {self._rank} axes; one offset an axis")
        return self._read(found)


def trace_neighbours(
    function: Callable[..., Any], dtype: np.dtype[Any], rank: int
) -> tuple[tuple[Offset, ...], Function]:
    """Give the offsets that a function reads, and the function of the values there."""
    found: dict[Offset, None] = {}

    def collect(value: Any) -> Any:
        def read(offset: Offset) -> Any:
            found[offset] = None
            return value

        return function(_Neighbours(rank, read))

    trace(collect, [dtype], what="stencil")
    if not found:
        raise ValueError("the function uses no neighbour n[...]")
    offsets = tuple(sorted(found))

    def apply(*values: Any) -> Any:
        return function(_Neighbours(rank, dict(zip(offsets, values, strict=True)).__getitem__))

    return offsets, trace(apply, [dtype] * len(offsets), what="stencil")


_NUMBERS = (bool, int, float, np.number)
#: Numbers that their type and bytes fix: no unit, no padding, nothing that a subclass adds.
_PLAIN = frozenset(dtype.type for dtype in SUPPORTED)


def identity(function: Callable[..., Any]) -> Hashable | None:
    """Give what fixes the function's result, its code and the numbers it refers to; None where that cannot be told.

    So lambdas written in a loop share a plan, and a function that refers to a variable sees its new value.
    """
    if not isinstance(function, FunctionType) or function.__kwdefaults__:
        return None
    names = _globals_read(function.__code__)
    if names is None:
        return None
    known = function.__globals__
    numbers: list[Hashable] = []
    cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
    for value in (*cells, *(function.__defaults__ or ()), *(known[name] for name in names if name in known)):
        if isinstance(value, np.number) and type(value) in _PLAIN:
            numbers.append((type(value), value.tobytes()))
        elif isinstance(value, _NUMBERS):
            numbers.append((type(value), repr(value)))  # 0.0 equals -0.0, and NaN nothing
        elif value is np or isinstance(value, np.ufunc):
            numbers.append(value)
        else:
            return None
    return (function.__code__, *numbers)


@lru_cache(maxsize=512)
def _globals_read(code: CodeType) -> tuple[str, ...] | None:
    """Give the names of global variables that the code reads; None if it does more than read them."""
    if any(isinstance(constant, CodeType) for constant in code.co_consts):
        return None
    steps = list(dis.get_instructions(code))
    if any(step.opname.startswith(("IMPORT", "STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR")) for step in steps):
        return None
    return tuple(dict.fromkeys(step.argval for step in steps if step.opname == "LOAD_GLOBAL"))
