"""NumPy's functions for scalar functions: the one ufunc that a function is, else one for each of its instructions.

Takes a scalar function, gives what computes it of arrays. It must not know views.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mdhnp.mdh.function import Function, Instruction, complex_expm1, evaluate_step, integer_power, literal_value

__all__ = ["Ufuncs", "ufuncs"]

#: Points of a plain loop that a point of these takes as long as.
_SLOW = {
    "divide": 2, "sqrt": 2, "reciprocal": 2, "cast": 2, "where": 4, "floor_divide": 10, "remainder": 20, "fmod": 20,
    "exp": 5, "log": 5, "exp2": 10, "log2": 10, "expm1": 20, "log1p": 20, "log10": 20, "sin": 15, "cos": 15, "tan": 30,
    "arcsin": 20, "arccos": 20, "arctan": 20, "arctan2": 40, "sinh": 20, "cosh": 20, "tanh": 10, "arcsinh": 40,
    "arccosh": 40, "arctanh": 40, "hypot": 15, "cbrt": 40, "power": 40, "logaddexp": 60, "nextafter": 5,
}  # fmt: skip
#: What NumPy never warns of, or only where sums and products are too large for floats: to silence it takes 0.8 µs.
_SILENT = frozenset(
    """param const index add subtract multiply square negative positive absolute sign floor ceil trunc rint maximum
    minimum fmax fmin copysign signbit isnan isinf isfinite equal not_equal less less_equal greater greater_equal
    logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert left_shift right_shift
    conjugate real imag where""".split()  # noqa: SIM905
)

Compute = Callable[..., Any]


class Ufuncs(NamedTuple):
    """What computes a scalar function of arrays.

    Attributes
    ----------
    name : str
        For people.
    compute : callable
        Takes an array for each parameter that is used, in order, and gives a new one in C order, or a scalar.
    weight : int
        Points of a plain loop that one takes as long as.
    into : callable
        Takes the arrays and, named `out`, one for what it computes. It may warn.
    """

    name: str
    compute: Compute
    weight: int
    into: Compute


def ufuncs(function: Function, grid: Sequence[Any] = ()) -> Ufuncs:
    """Give NumPy's functions for a scalar function of one result; they do not warn of single values.

    Parameters
    ----------
    function : Function
        No OpenCL C text.
    grid : sequence of ndarray
        The indices of each dimension, where it uses any.

    Examples
    --------
    >>> from mdhnp.mdh import trace
    >>> x = np.array([1.0, 4.0])
    >>> [ufuncs(trace(f, [x.dtype])).name for f in (np.sqrt, lambda a: np.sqrt(a) + a)]
    ['numpy.sqrt', 'numpy: (sqrt(x0) + x0)']
    """
    live = [function.body[n] for n in function.live()]
    each, one = _each(function, grid), _one(function)
    name, compute = one or (f"numpy: {function}", each)
    if one is None or not all([s.op in _SILENT for s in live]):
        compute = np.errstate(all="ignore")(compute)
    weight = max(sum([_SLOW.get(s.op, s.op not in ("param", "const")) for s in live]), 1)
    return Ufuncs(name, compute, weight, each)


class _Step(NamedTuple):
    """An instruction of which NumPy makes one call.

    Attributes
    ----------
    at : int
        Its position.
    instruction : Instruction
        The instruction.
    ufunc : ufunc or None
        What gives its very type; None where more is to be done.
    free : tuple of int
        Those of its arguments that hold memory of their own which the result may go to.
    done : tuple of int
        Those that nothing reads after it.
    """

    at: int
    instruction: Instruction
    ufunc: np.ufunc | None
    free: tuple[int, ...]
    done: tuple[int, ...]


def _steps(function: Function) -> tuple[_Step, ...]:
    live = function.live()
    last = {a: n for n in live for a in function.body[n].args}
    found: dict[int, _Step] = {}
    for n in live:
        step = function.body[n]
        args = [function.body[a].dtype for a in step.args]
        done = tuple([a for a in dict.fromkeys(step.args) if last[a] == n])
        free = tuple([a for a in done if found[a].ufunc is not None and function.body[a].dtype == step.dtype])
        found[n] = _Step(n, step, _ufunc(step, args), free, done)
    return tuple(found.values())


def _ufunc(step: Instruction, args: Sequence[np.dtype[Any]]) -> np.ufunc | None:
    """Give the ufunc that is all of an instruction."""
    ufunc = getattr(np, step.op, None)
    if not isinstance(ufunc, np.ufunc) or (step.op, step.dtype.kind) in (("power", "i"), ("expm1", "c")):
        return None
    return ufunc if _resolves(ufunc, args, (*args, step.dtype)) else None


def _each(function: Function, grid: Sequence[Any]) -> Compute:
    """Evaluate one instruction after the other, in the memory of values that are needed no more."""
    used, steps = sorted(function.used_parameters()), _steps(function)
    (last,) = function.results
    own = function.body[last].op not in ("param", "real", "imag")  # whose values may be views

    def compute(*arrays: Any, out: Any = None) -> Any:
        arguments: list[Any] = [None] * len(function.parameters)
        for p, a in zip(used, arrays, strict=True):
            arguments[p] = a
        values: dict[int, Any] = {}
        for step in steps:
            given = [values[a] for a in step.instruction.args]
            if step.ufunc is None:
                found = evaluate_step(step.instruction, given, arguments, grid)
            else:
                to = out if step.at == last and out is not None else _room(given, [values[a] for a in step.free])
                found = step.ufunc(*given, out=to, order="C")
            for a in step.done:
                del values[a]
            values[step.at] = found
        if out is None:
            return np.array(found, order="C", copy=None if own else True)
        if found is not out:
            out[...] = found
        return out

    return compute


def _room(given: Sequence[Any], free: Sequence[Any]) -> Any:
    """Give an array that a result fits into exactly, of those that are free; None if there is none."""
    for a in free:
        if a.shape and all([v.shape == a.shape or not v.shape for v in given]):
            return a
    return None


def _one(function: Function) -> tuple[str, Compute] | None:
    """Give the one function that computes all of it, on operands as they are; None where there is none."""
    step = function.body[function.results[0]]
    args = [function.body[n] for n in step.args]
    if step.op == "param":
        return "numpy.copy", np.ndarray.copy
    if step.op in ("cast", "real", "imag"):
        return _of_one(step) if args[0].op == "param" else None
    if step.op == "minimum" and args[0].op == "maximum" and len(function.live()) == 5:
        args = [*[function.body[n] for n in args[0].args], args[1]]
        return _called(function, "clip", np.clip, args) if all([a.op == "param" for a in args]) else None
    sources = [function.body[a.args[0]] if a.op == "cast" else a for a in args]
    if not args or not all([s.op in ("param", "const") for s in sources]):
        return None
    given, wanted = [s.dtype for s in sources], [a.dtype for a in args]
    if step.op == "where":
        alike = np.result_type(*given[1:]) == step.dtype
        return _called(function, "where", _where, sources) if alike else None
    if step.op == "power" and step.dtype.kind == "i":
        return _called(function, "power", integer_power, sources) if given == wanted else None
    if step.op == "expm1" and step.dtype.kind == "c":
        return _called(function, "expm1", complex_expm1, sources) if given == wanted else None
    ufunc = getattr(np, step.op)
    if not step.op.startswith("logical_") and not _resolves(ufunc, given, (*wanted, step.dtype)):
        return None
    return _called(function, step.op, partial(ufunc, order="C"), sources)


def _of_one(step: Instruction) -> tuple[str, Compute]:
    if step.op != "cast":
        return f"numpy.{step.op}", lambda a: getattr(a, step.op).copy()
    # Of complex numbers NumPy would warn that their imaginary parts go.
    return "numpy.astype", lambda a: (a if step.dtype.kind in "cb" else a.real).astype(step.dtype, order="C")


def _resolves(ufunc: Any, given: Sequence[np.dtype[Any]], loop: tuple[np.dtype[Any], ...]) -> bool:
    """Whether a ufunc itself converts operands of such types to those of the loop."""
    try:
        return bool(ufunc.resolve_dtypes((*given, None)) == loop)
    except TypeError:  # as `positive` of booleans, which may be converted before
        return False


def _where(*operands: Any) -> Any:
    return np.asarray(np.where(*operands), order="C")


def _called(function: Function, name: str, compute: Compute, args: Sequence[Instruction]) -> tuple[str, Compute]:
    """Let a function take the arrays of parameters that are used, in the order that it wants, and constants."""
    used = sorted(function.used_parameters())
    given: list[Any] = [literal_value(a.literal, a.dtype) if a.op == "const" else a.position for a in args]
    if given == used and all([a.op == "param" for a in args]):
        return f"numpy.{name}", compute
    constants = {n for n, a in enumerate(args) if a.op == "const"}
    places = [g if n in constants else used.index(g) for n, g in enumerate(given)]
    return f"numpy.{name}", lambda *arrays: compute(*[g if n in constants else arrays[g] for n, g in enumerate(places)])
