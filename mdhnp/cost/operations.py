"""What operations cost, in simple ones of vectors: the one table of their weights.

Measured as what one more operation of each kind adds to a sum over 4 million points in float32, relative to a
multiplication: by kernels on one core of an AMD EPYC (Zen 5), between those of Intel's runtime, which are nearer, and
those of PoCL. Remainders are computed element by element and take some hundred times as long in float32, but few
integers' do.
"""

from functools import lru_cache

from mdhnp.mdh.function import Function

__all__ = ["passes", "weight"]

#: Simple operations that one of these takes as long as; all others are simple.
_WEIGHTS = {
    "param": 0, "const": 0, "index": 0, "positive": 0, "cast": 0.5, "maximum": 2, "minimum": 2, "fmax": 2, "fmin": 2,
    "sign": 2, "divide": 3, "reciprocal": 3, "sqrt": 5, "exp": 9, "exp2": 8, "log": 14, "log2": 14, "log10": 14,
    "expm1": 25, "log1p": 25, "sin": 30, "cos": 30, "tan": 30, "arcsin": 15, "arccos": 15, "arctan": 17, "arctan2": 28,
    "sinh": 25, "cosh": 25, "tanh": 20, "arcsinh": 35, "arccosh": 35, "arctanh": 45, "cbrt": 40, "hypot": 12,
    "power": 40, "logaddexp": 55, "nextafter": 9, "remainder": 100, "fmod": 100, "floor_divide": 100,
}  # fmt: skip
#: Simple operations of OpenCL C text, of which nothing is known.
_WEIGHTS["text"] = 10
#: Simple operations that take as long as a pass of a NumPy ufunc over an element takes besides: by NumPy 2.4 on the
#: same core, on arrays in its caches, remainders take 50 times as long as additions, `exp` 3 times.
_PASS = 4


@lru_cache(maxsize=1024)
def weight(function: Function) -> float:
    """Return the simple operations that one application of a function takes as long as.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import trace
    >>> weight(trace(lambda x: np.exp(x) + 1, [np.float32]))
    10.0
    """
    return float(sum([_WEIGHTS.get(function.body[n].op, 1) for n in function.live()]))


def passes(function: Function) -> int:
    """Return the additions of whole arrays that NumPy's ufuncs for a function take as long as, at least one."""
    each = [step.op for step in (function.body[n] for n in function.live()) if step.op not in ("param", "const")]
    return max(round(sum([1 + (_WEIGHTS.get(op, 1) - 1) / _PASS for op in each])), 1)
