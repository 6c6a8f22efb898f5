"""Scalar functions as calls of NumPy's, on whole arrays: what `Function.evaluate` gives, with less around it.

Takes a :class:`Function`, gives a Python function. It must not know MDHs.
"""

from collections.abc import Callable
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np

from mdhnp.mdh.function import Function, Instruction, literal_value

__all__ = ["as_calls"]


def as_calls(f: Function) -> Callable[..., tuple[Any, ...]] | None:
    """Give what computes a function on arrays that are broadcast; None if it is OpenCL C text or uses an index.

    Examples
    --------
    >>> from mdhnp.mdh import trace
    >>> compute = as_calls(trace(lambda x, y: np.sqrt(x * x + y * y), [np.float64, np.float64]))
    >>> compute(np.array([3.0, 5.0]), np.array([4.0, 12.0]))
    (array([ 5., 13.]),)
    """
    if f.text is not None or f.used_indices():
        return None
    live = f.live()
    place = {n: k for k, n in enumerate(live)}
    steps = [(_call(f.body[n]), f.body[n].position, [place[a] for a in f.body[n].args]) for n in live]
    results = [place[r] for r in f.results]

    def compute(*given: Any) -> tuple[Any, ...]:
        values: list[Any] = []
        for call, position, args in steps:
            values.append(given[position] if call is None else call(*[values[a] for a in args]))
        return tuple([values[r] for r in results])

    return compute


def _call(step: Instruction) -> Callable[..., Any] | None:
    """Give what an instruction calls with the values of those before it; None for a parameter."""
    match step.op:
        case "param":
            return None
        case "const":
            value = literal_value(step.literal, step.dtype)
            return lambda: value
        case "cast":
            return methodcaller("astype", step.dtype)
        case "real" | "imag":
            return attrgetter(step.op)
        case _:
            function: Callable[..., Any] = getattr(np, step.op)
            return function
