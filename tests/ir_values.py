"""What values of procedures are, as registers hold them: scalars, and arrays of lanes; float16 is float32 there.

Each value is made a function of the work-item once, which all work-items of a kernel call. Left out are those that sums
of products have no use for, which are errors here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from mdhnp.codegen.ir import statements as st
from mdhnp.codegen.ir import values as ir
from mdhnp.codegen.ir.accesses import bodies
from mdhnp.codegen.ir.index import Index

__all__ = ["HALF", "SINGLE", "Functions", "WorkItem", "held"]

HALF, SINGLE = np.dtype(np.float16), np.dtype(np.float32)
#: Operations that are none of NumPy's.
_IN_REGISTERS = {
    "splat", "convert", "retype", "lower", "upper", "lanes", "high_bits", "bits", "from_bytes", "pack", "pack_halves",
    "pack_bytes", "rounding_error", "exp_of_rounded", "exp_or_nothing",
}  # fmt: skip


#: Statements at which work-items meet.
_MEETINGS = (st.Barrier, st.NamedBarrier, st.LoadMatrix, st.MatrixProduct, st.WideProducts, st.WaitProducts)


class WorkItem(Protocol):
    """What values are of."""

    registers: dict[ir.Register, Any]

    def index(self, index: Index) -> int: ...
    def load(self, v: ir.Load) -> Any: ...
    def load_row(self, v: ir.LoadRow) -> Any: ...


Function = Callable[[Any], Any]


class Functions:
    """By their ids: of the values of one kernel, their functions of a work-item; and which statements need others."""

    def __init__(self) -> None:
        self._meeting: dict[int, tuple[st.Stmt, bool]] = {}
        self._known: dict[int, tuple[ir.Value, Function]] = {}  # which holds them, so that no other one gets an id

    def of(self, v: ir.Value) -> Function:
        known = self._known.get(id(v))
        if known is None:
            known = self._known[id(v)] = v, self._made(v)
        return known[1]

    def meets(self, s: st.Stmt) -> bool:
        """Whether work-items meet at a statement, or at one in it."""
        known = self._meeting.get(id(s))
        if known is None:
            found = isinstance(s, _MEETINGS) or (isinstance(s, st.Let) and isinstance(s.value, ir.Shuffled))
            found = found or any(self.meets(one) for body in bodies(s) for one in body)
            known = self._meeting[id(s)] = s, found
        return known[1]

    def _made(self, v: ir.Value) -> Function:
        match v:
            case ir.Register():
                return lambda item: item.registers[v]
            case ir.Const() | ir.Outside():
                constant = _constant(v.literal, v.dtype)
                return lambda _: constant
            case ir.Load():
                return lambda item: item.load(v)
            case ir.LoadRow():
                return lambda item: item.load_row(v)
            case ir.Apply():
                args = [self.of(a) for a in v.args]
                if v.op in _IN_REGISTERS:
                    return lambda item: _in_registers(v, [a(item) for a in args])
                if v.op == "cast":
                    return lambda item: _cast(args[0](item), v.dtype)
                function = getattr(np, v.op)
                if len(args) == 2:
                    left, right = args
                    return lambda item: held(function(left(item), right(item)), v.dtype)
                return lambda item: held(function(*[a(item) for a in args]), v.dtype)
            case ir.IndexValue(lanes=1):
                return lambda item: held(item.index(v.index), v.dtype)
            case ir.IndexValue():
                return lambda item: held(item.index(v.index) + np.arange(v.lanes), v.dtype)
        raise NotImplementedError(v)


def held(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value of a type as registers have it; never the memory that was given."""
    kept = SINGLE if dtype == HALF else dtype
    if isinstance(value, np.generic) and value.dtype == kept:
        return value
    return np.asarray(value).astype(kept)[()]


def _cast(value: Any, dtype: np.dtype[Any]) -> Any:
    return held(np.asarray(value).astype(dtype), dtype)


def _constant(literal: str, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return np.bool_(literal in {"True", "1"})
    return held(float(literal) if dtype.kind == "f" else int(literal), dtype)


def _in_registers(v: ir.Apply, args: Sequence[Any]) -> Any:
    match v.op:
        case "lanes":
            return np.array(args)
        case "splat":
            return np.full(v.lanes, args[0])
        case "convert":
            return _cast(args[0], v.dtype)
        case "retype":
            return args[0]
        case "lower" | "upper":
            half = len(args[0]) // 2
            part = args[0][half:] if v.op == "upper" else args[0][:half]
            return part.reshape(v.lanes if v.lanes > 1 else ())[()]
        case "high_bits":
            left_out = np.finfo(v.dtype).nmant + 1 - int(args[1])
            bits = np.asarray(args[0]).view(np.uint32) + np.uint32(1 << left_out - 1)
            return (bits >> left_out << left_out).view(v.dtype)[()]
        case "from_bytes":
            return np.asarray(args[0]) != 0
        case "bits":
            return np.asarray(args[0]).view(v.dtype)[()]
        case "pack":
            return np.array(args, v.args[0].dtype).view(v.dtype)[0]
        case "pack_halves":
            return np.array(args).astype(HALF).view(v.dtype)[0]
        case "pack_bytes":
            *values, byte = args
            chosen = [int(x) >> 8 * int(byte) & 255 for x in values]
            return np.array(chosen, np.uint8).view(v.dtype)[0]
        case "exp_of_rounded" | "exp_or_nothing":
            found = np.exp2(np.asarray(args[0]) * v.dtype.type(np.log2(np.e)))
            small = v.op == "exp_or_nothing" and found < np.finfo(v.dtype).tiny
            return np.where(small, v.dtype.type(0), found)[()]
        case "rounding_error":
            total, before, added = args
            return np.where(total - total == 0, (total - before) - added, 0).astype(v.dtype)[()]
    raise NotImplementedError(v)
