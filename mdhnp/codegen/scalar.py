"""From scalar functions to values of the IR, on scalars and on vectors alike."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mdhnp.codegen.ir.builder import Builder
from mdhnp.codegen.ir.statements import CallInto
from mdhnp.codegen.ir.values import (
    BOOL,
    HALF,
    SINGLE,
    Address,
    Apply,
    Const,
    CTextCall,
    Register,
    Value,
    in_type,
    splat,
)
from mdhnp.mdh import MdHom
from mdhnp.mdh.ctext import last_definition
from mdhnp.mdh.function import Function, Instruction

#: Operations whose text names an operand more than once; casts to uint64 do, too.
_REPEATING = frozenset({"maximum", "minimum", "sign", "square", "isnan", "logaddexp"})
#: What leaves whole numbers as they are.
_ROUNDING = frozenset({"floor", "ceil", "trunc", "rint"})
#: Of float32, the exponent of its least normal number, rounded up.
_LEAST_EXPONENT = "-87.33654"
#: Operations that round their results.
_ROUNDED = frozenset({"add", "subtract", "multiply", "divide", "square", "sqrt"})


def emit(
    function: Function, parameters: Mapping[int, Value], indices: Mapping[int, Value], builder: Builder
) -> list[Value]:
    """Give the results' values, from those of the parameters and indices of the MDH that the function uses.

    What is used more than once is named.
    """
    live = function.live()
    uses = Counter(a for n in live for a in function.body[n].args * (1 + _repeats(function.body[n])))
    uses.update(function.results)
    values: dict[int, Value] = {}
    for n in live:
        step = function.body[n]
        args = [values[a] for a in step.args]
        if step.op == "param":
            values[n] = parameters[step.position]
        elif step.op == "index":
            values[n] = indices[step.position]
        elif step.op == "text":
            if n not in values:
                values |= _called(function, n, tuple(args), builder)
        elif step.op == "const":
            values[n] = Const(step.literal, step.dtype)
        elif uses[n] == 1 and _left_to_store(function, n):
            values[n] = in_type("retype", args[0], HALF)
        elif (builder.powers or builder.weighs) and _is_of_rounded(function, step):
            values[n] = _exponential(args[0], builder)
        else:
            values[n] = _operation(step, args)
        if uses[n] > 1 and not isinstance(values[n], Address | Const) and not _is_register(values[n]):
            values[n] = builder.name("v", values[n])
    return [values[r] for r in function.results]


def _called(function: Function, n: int, args: tuple[Value, ...], builder: Builder) -> dict[int, Value]:
    """Give what an instruction calls OpenCL C text for; with other results of the same call, if it has several."""
    step = function.body[n]
    name = last_definition(step.literal).name
    text = CTextCall(name, step.literal, args, step.dtype)
    same = [m for m, s in enumerate(function.body) if replace(s, dtype=step.dtype, position=step.position) == step]
    if len(same) == 1:
        return {n: text}
    returned = tuple([builder.register(name, function.body[m].dtype) for m in same])
    builder.add(CallInto(text, returned))
    return dict(zip(same, returned, strict=True))


def _exponential(x: Value, builder: Builder) -> Value:
    """An exponential of float32; of one that weighs nothing but 0, where it would be a subnormal number.

    Processors take a hundred times as long to compute those, and with them.
    """
    if builder.powers:
        return Apply("exp_or_nothing" if builder.weighs else "exp_of_rounded", (x,), x.dtype, x.lanes)
    x, zero = builder.name("x", x), splat(Const("0.0", SINGLE), x.lanes)
    small = Apply("less", (x, Const(_LEAST_EXPONENT, SINGLE)), BOOL, x.lanes)
    return applied("where", small, zero, Apply("exp", (applied("where", small, zero, x),), x.dtype, x.lanes))


def applied(op: str, *args: Value) -> Apply:
    """Apply an operation whose result has the type of its last operand."""
    return Apply(op, args, args[-1].dtype, max(a.lanes for a in args))


def may_contract(h: MdHom) -> bool:
    """Whether a fused multiply-add can change nothing but the rounding of a sum of products.

    A scalar function that adds and multiplies itself means what NumPy computes, with every product rounded.
    """
    functions = [h.scalar, *([h.finish] if h.finish else [])]
    if h.operator is not None:
        functions.append(h.operator.function)
    elif h.finish is not None and _multiplies(h.scalar) and _adds(h.finish):
        return False  # nothing is combined in between, so that both may stand in one expression
    return all(f.contract or not (_multiplies(f) and _adds(f)) for f in functions)


def _multiplies(f: Function) -> bool:
    return any(f.body[n].op in ("multiply", "square") for n in f.live())


def _adds(f: Function) -> bool:
    return any(f.body[n].op in ("add", "subtract") for n in f.live())


def _is_register(value: Value) -> bool:
    if isinstance(value, Apply) and value.op == "retype":
        return _is_register(value.args[0])
    return isinstance(value, Register)


def _left_to_store(function: Function, n: int) -> bool:
    """Whether an instruction rounds a float to float16 for a result, which storing it does anyway."""
    step = function.body[n]
    rounds = step.op == "cast" and step.dtype == HALF and function.body[step.args[0]].dtype == SINGLE
    return rounds and n in function.results


def _is_of_rounded(function: Function, step: Instruction) -> bool:
    """Whether it is an exponential of float32 whose operand has a rounding error already."""
    if step.op != "exp" or step.dtype != SINGLE:
        return False
    operand = function.body[step.args[0]]
    if operand.op == "negative":
        operand = function.body[operand.args[0]]
    return operand.op in _ROUNDED


def _repeats(step: Instruction) -> bool:
    """Whether an operation's text names an operand more than once."""
    if step.op == "absolute":
        return step.dtype.kind == "i"
    return step.op in _REPEATING or (step.op == "cast" and step.dtype == np.uint64)


def _operation(step: Instruction, args: Sequence[Value]) -> Value:
    if _changes_nothing(step, args[0]):
        return args[0]
    if step.op == "cast" and args[0].dtype == HALF and step.dtype == SINGLE:
        return in_type("retype", args[0], step.dtype)
    lanes = max([a.lanes for a in args])
    return Apply(step.op, tuple(args), step.dtype, lanes)


def _changes_nothing(step: Instruction, arg: Value) -> bool:
    """Whether the operation gives its operand."""
    if arg.dtype != step.dtype:
        return False
    if step.op in _ROUNDING:
        return step.dtype.kind != "f"
    return step.op in {"positive", "cast"} or (step.op == "absolute" and step.dtype.kind in "bu")
