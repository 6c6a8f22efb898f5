"""How what a function computes depends on a maximum, and whether it can be corrected when that is another one.

Also how far it moves with one of its parameters.

Source: Tang et al., "RedFuser: An Automatic Operator Fusion Framework for Cascaded Reductions on AI Accelerators": what
is combined must have a function of the earlier result as a factor, here exp(-maximum).
"""

from collections.abc import Sequence
from math import inf
from typing import Literal, NamedTuple

from mdhnp.mdh import Function
from mdhnp.mdh.function import literal_value


class Kind(NamedTuple):
    """How what is computed of a tile depends on a maximum that is carried."""

    #: Not at all; it is the maximum; what that is of, less the maximum; the exponential of that, as a factor.
    name: Literal["free", "largest", "less", "scaled"]
    #: The maximum's value.
    largest: int = -1
    #: The value that it is, or that it is the maximum of.
    of: int = -1
    #: The value by which it is divided once all tiles were added up; -1 for none.
    over: int = -1


FREE = Kind("free")


def kind_of(f: Function, given: Sequence[Kind | None]) -> Kind | None:
    """Tell how a function's only result depends on maxima, from how its parameters do; None where it is another way."""
    kinds: dict[int, Kind | None] = {}
    for n in f.live():
        step = f.body[n]
        args = [kinds[a] for a in step.args]
        kinds[n] = given[step.position] if step.op == "param" else _combined(f, n, args)
    return kinds[f.results[0]] if len(f.results) == 1 else None


def _combined(f: Function, n: int, args: Sequence[Kind | None]) -> Kind | None:
    step, names = f.body[n], [a.name if a is not None else "" for a in args]
    dependent = [a for a in args if a is not None and a.name != "free"]
    if not dependent and "" not in names:
        return FREE
    if len({(a.largest, a.over) for a in dependent}) != 1:
        return None
    kind = dependent[0]._replace(name="scaled")
    match step.op, names:
        case "subtract", ["free", "largest"]:
            return kind._replace(name="less") if args[0] is not None and args[0].of == kind.of else None
        case "exp", ["less"]:
            return kind
        case ("multiply", ["scaled", "free"] | ["free", "scaled"]) | ("divide", ["scaled", "free"]):
            return kind
        case "where", ["free", *_]:
            choices = [(k, f.body[a]) for k, a in zip(names[1:], step.args[1:], strict=True)]
            fits = [k == "scaled" or (s.op == "const" and literal_value(s.literal, s.dtype) == 0) for k, s in choices]
            return kind if all(fits) else None
    return None


def steepness(f: Function, parameter: int) -> float:
    """Return by how much results move at most when a parameter moves by 1; infinity where that is not known."""
    found: dict[int, float] = {}
    for n in f.live():
        step = f.body[n]
        if step.op == "param":
            found[n] = float(step.position == parameter)
        else:
            found[n] = _steepness(f, n, [found[a] for a in step.args]) if any([found[a] for a in step.args]) else 0.0
    return max([found[n] for n in f.results])


def _steepness(f: Function, n: int, args: Sequence[float]) -> float:
    step = f.body[n]
    sizes = [
        abs(float(literal_value(s.literal, s.dtype))) if s.op == "const" else inf
        for s in map(f.body.__getitem__, step.args)
    ]
    match step.op:
        case "subtract" if step.args[0] == step.args[1]:
            return 0.0  # a test for infinity, and NaN
        case "add" | "subtract":
            return sum(args)
        case "maximum" | "minimum" | "negative" | "absolute":
            return max(args)
        case "where" if not args[0]:
            return max(args[1:])
        case "multiply":
            return max(args) * min(sizes)
        case "divide" if not args[1] and 0 < sizes[1] < inf:
            return args[0] / sizes[1]
    return inf
