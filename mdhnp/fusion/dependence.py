"""How what a function computes depends on a maximum: whether it can be corrected when the maximum is another one.

Source: Tang et al., "RedFuser: An Automatic Operator Fusion Framework for Cascaded Reductions on AI Accelerators": what
is combined must have a function of the earlier result as a factor, here exp(-maximum).
"""

from collections.abc import Sequence
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
