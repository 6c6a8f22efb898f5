"""Numbers that are known before an MDH is computed: they are part of its functions, and no array is read for them.

Takes steps, gives steps.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from mdhnp.mdh.function import Function, Instruction
from mdhnp.mdh.graph import Step

__all__ = ["with_numbers"]


def with_numbers(step: Step, numbers: Mapping[int, npt.NDArray[Any]]) -> Step:
    """Put numbers into functions that read them from arrays without axes."""
    gone = [n for n, p in enumerate(step.inputs) if p in numbers]
    if not gone:
        return step
    (h,) = step.mdhom.mdhoms
    left = [n for n in range(len(h.inputs)) if n not in gone]
    kept = [p for p, (n, _) in enumerate(h.accesses) if n not in gone]

    def filled(function: Function, before: int) -> Function:
        place = {p: p for p in range(before)} | {before + p: before + n for n, p in enumerate(kept)}

        def put(s: Instruction) -> Instruction:
            if s.op != "param":
                return s
            if s.position in place:
                return replace(s, position=place[s.position])
            number = numbers[step.inputs[h.accesses[s.position - before][0]]]
            return Instruction("const", (), s.dtype, literal=repr(number.item()))

        parameters = tuple([t for p, t in enumerate(function.parameters) if p in place])
        return replace(function, parameters=parameters, body=tuple([put(s) for s in function.body]))

    scalar = filled(h.scalar, 0)
    finish = None if h.finish is None else filled(h.finish, len(h.scalar.results))
    inputs = tuple([h.inputs[n] for n in left])
    return Step(replace(h, scalar=scalar, finish=finish, inputs=inputs), tuple([step.inputs[n] for n in left]))
