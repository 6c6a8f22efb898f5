"""From scalar functions to OpenCL C expressions, on scalars and on vectors alike.

Takes a :class:`Function` and the text of its parameters, gives the text of its results. NumPy decides what an
operation means: integer division rounds down, NaN wins in maximum, comparisons of NaN are false.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from mdhnp.codegen.ctypes import Value, as_vector, constant, convert, mask, memory_type, select, value_type
from mdhnp.codegen.writer import Writer
from mdhnp.mdh.function import Function, Instruction

__all__ = ["emit"]


_BINARY = {"add": "+", "subtract": "-", "multiply": "*", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_COMPARE = {
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip
_LOGICAL = {"logical_and": "&", "logical_or": "|", "logical_xor": "^"}
#: NumPy's name to OpenCL C's, where the meaning is the same for floats.
_CALLS = {
    "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "arctan2": "atan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "hypot": "hypot", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "rint": "rint", "fmod": "fmod", "copysign": "copysign", "fmax": "fmax", "fmin": "fmin",
}  # fmt: skip


def emit(function: Function, parameters: Mapping[int, Value], indices: Mapping[int, Value], writer: Writer) -> list[Value]:
    """Give the results' expressions.

    Parameters
    ----------
    function : Function
        What to compute.
    parameters, indices : mapping of int to Value
        Text of the parameters and of the MDH's indices that the function uses.
    writer : Writer
        Where values that are used more than once are declared.
    """
    live = function.live()
    uses = Counter(a for n in live for a in function.body[n].args)
    uses.update(function.results)
    values: dict[int, Value] = {}
    for n in live:
        step = function.body[n]
        if step.op == "param":
            values[n] = parameters[step.position]
        elif step.op == "index":
            values[n] = indices[step.position]
        elif step.op == "text":
            values[n] = _call_text(function, n, [values[a] for a in step.args], writer)
        else:
            values[n] = _operation(step, [values[a] for a in step.args])
            if uses[n] > 1 and step.op != "const":
                values[n] = writer.declare("v", values[n])
    return [values[r] for r in function.results]


def _operation(step: Instruction, args: Sequence[Value]) -> Value:
    lanes = max((a.lanes for a in args), default=1)
    op, dtype = step.op, step.dtype
    if op == "const":
        return Value(constant(step.literal, dtype), dtype)
    if op == "cast":
        return convert(args[0], dtype)
    if op == "where":
        return select(*args)
    if op in _COMPARE:
        return _comparison(_COMPARE[op], args, lanes)
    if op in _LOGICAL:
        return Value(f"({f' {_LOGICAL[op]} '.join(a.atom for a in _widened(args, lanes))})", dtype, lanes)
    if op == "logical_not":
        return Value(f"!{args[0].atom}" if lanes == 1 else f"~{args[0].atom}", dtype, lanes)
    if dtype.kind == "b":
        return _boolean(op, [a if a.dtype.kind == "b" else convert(a, dtype) for a in args], lanes, args)
    if op in _BINARY:
        return _narrowed(f"({args[0].atom} {_BINARY[op]} {args[1].atom})", dtype, lanes)
    wide = _widened(args, lanes)
    special = _SPECIAL.get(op)
    if special is not None:
        return special(dtype, wide, lanes)
    if op in ("floor", "ceil", "trunc", "rint") and dtype.kind != "f":
        return args[0]
    return Value(f"{_CALLS[op]}({', '.join(a.text for a in wide)})", dtype, lanes)


def _widened(args: Sequence[Value], lanes: int) -> list[Value]:
    return [as_vector(a, lanes) for a in args]


def _narrowed(text: str, dtype: np.dtype, lanes: int) -> Value:  # type: ignore[type-arg]
    """C computes small integers as int; NumPy wraps them in their own type."""
    if dtype.kind in "iu" and dtype.itemsize < 4 and lanes == 1:
        return Value(f"({memory_type(dtype)}){text}", dtype)
    return Value(text, dtype, lanes)


def _comparison(sign: str, args: Sequence[Value], lanes: int) -> Value:
    boolean = args[0].dtype.kind == "b"
    left, right = _widened(args, lanes) if boolean else args
    text = f"({left.atom} {sign} {right.atom})"
    if lanes == 1:
        return Value(text, np.dtype(bool))
    return mask(text, np.dtype(np.int32) if boolean else args[0].dtype, lanes)


def _boolean(op: str, args: Sequence[Value], lanes: int, given: Sequence[Value]) -> Value:
    """Arithmetic on booleans, which NumPy defines as logic; tests of floats."""
    boolean = np.dtype(bool)
    if op in ("isnan", "isinf", "isfinite"):
        x = given[0]
        if x.dtype.kind != "f":
            return as_vector(Value("1" if op == "isfinite" else "0", boolean), lanes)
        top = convert(Value("INFINITY", np.dtype(np.float32)), x.dtype).atom
        size = f"fabs({x.text})"
        text = {"isnan": f"({x.atom} != {x.atom})", "isinf": f"({size} == {top})", "isfinite": f"({size} < {top})"}[op]
        return Value(text, boolean) if lanes == 1 else mask(text, x.dtype, lanes)
    args = _widened(args, lanes)
    if op in ("invert",):
        return Value(f"!{args[0].atom}" if lanes == 1 else f"~{args[0].atom}", boolean, lanes)
    if op in ("absolute", "positive"):
        return args[0]
    sign = {"add": "|", "maximum": "|", "multiply": "&", "minimum": "&", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
    return Value(f"({args[0].atom} {sign[op]} {args[1].atom})", boolean, lanes)


def _call_text(function: Function, n: int, args: Sequence[Value], writer: Writer) -> Value:
    """A call of the user's OpenCL C; with several results each is returned through a pointer."""
    assert function.text is not None
    step = function.body[n]
    given = ", ".join(a.text for a in args)
    if len(function.results) == 1:
        return Value(f"{function.text.name}({given})", step.dtype)
    # One call gives all results: the first result's instruction makes it, the others name its variables.
    if step.position == 0:
        names = [writer.fresh(function.text.name) for _ in function.results]
        for dtype, name in zip(function.dtypes, names, strict=True):
            writer.line(f"{value_type(dtype)} {name};")
        writer.line(f"{function.text.name}({given}, {', '.join('&' + name for name in names)});")
        writer.returned = names
    return Value(writer.returned[step.position], step.dtype)


def _is_float(dtype: np.dtype) -> bool:  # type: ignore[type-arg]
    return dtype.kind == "f"


def _divide(t, a, lanes):  # type: ignore[no-untyped-def]
    return Value(f"({a[0].atom} / {a[1].atom})", t, lanes)


def _floor_divide(t, a, lanes):  # type: ignore[no-untyped-def]
    x, y = a[0].atom, a[1].atom
    if _is_float(t):
        return Value(f"floor({x} / {y})", t, lanes)
    if t.kind == "u":
        return Value(f"({x} / {y})", t, lanes)
    return Value(f"({x} / {y} - {_as_integer(f'(({x} % {y} != 0) & (({x} ^ {y}) < 0))', t, lanes)})", t, lanes)


def _remainder(t, a, lanes):  # type: ignore[no-untyped-def]
    x, y = a[0].atom, a[1].atom
    if _is_float(t):
        return Value(f"({x} - floor({x} / {y}) * {y})", t, lanes)
    if t.kind == "u":
        return Value(f"({x} % {y})", t, lanes)
    return Value(f"({x} % {y} + {_as_integer(f'(({x} % {y} != 0) & (({x} ^ {y}) < 0))', t, lanes)} * {y})", t, lanes)


def _as_integer(test: str, t, lanes: int) -> str:  # type: ignore[no-untyped-def]
    """A comparison's 1 or -1 as 1."""
    return f"({value_type(t)}){test}" if lanes == 1 else f"(-{test})"


def _extremum(sign: str):  # type: ignore[no-untyped-def]
    def build(t, a, lanes):  # type: ignore[no-untyped-def]
        x, y = a[0].atom, a[1].atom
        if not _is_float(t):
            return Value(f"{'max' if sign == '>=' else 'min'}({a[0].text}, {a[1].text})", t, lanes)
        text = f"({x} {sign} {y}) | ({x} != {x})"
        test = Value(text, np.dtype(bool)) if lanes == 1 else mask(f"({text})", t, lanes)
        return select(test, a[0], a[1])

    return build


def _power(t, a, lanes):  # type: ignore[no-untyped-def]
    if _is_float(t):
        return Value(f"pow({a[0].text}, {a[1].text})", t, lanes)
    return Value(f"mdh_ipow_{value_type(t, lanes)}({a[0].text}, {a[1].text})", t, lanes)


def _unary(text: str, integer: str | None = None):  # type: ignore[no-untyped-def]
    def build(t, a, lanes):  # type: ignore[no-untyped-def]
        form = text if _is_float(t) or integer is None else integer
        return Value(form.format(x=a[0].atom, t=value_type(t, lanes)), t, lanes)

    return build


def _sign(t, a, lanes):  # type: ignore[no-untyped-def]
    x = a[0]
    zero, one = (Value(constant(c, t), t) for c in ("0", "1"))
    minus = Value(constant("-1", t), t) if t.kind != "u" else zero
    compare = lambda s: _comparison(s, (x, zero), lanes)  # noqa: E731
    inner = select(compare("<"), as_vector(minus, lanes), as_vector(x if _is_float(t) else zero, lanes))
    return select(compare(">"), as_vector(one, lanes), inner)


_SPECIAL = {
    "divide": _divide, "floor_divide": _floor_divide, "remainder": _remainder, "maximum": _extremum(">="),
    "minimum": _extremum("<="), "power": _power, "sign": _sign, "negative": _unary("(-{x})"), "positive": _unary("{x}"),
    "absolute": _unary("fabs({x})", "({t})abs({x})"), "square": _unary("({x} * {x})"),
    "reciprocal": _unary("(({t})(1) / {x})"), "invert": _unary("(~{x})"),
    "left_shift": lambda t, a, n: Value(f"({a[0].atom} << {a[1].atom})", t, n),
    "right_shift": lambda t, a, n: Value(f"({a[0].atom} >> {a[1].atom})", t, n),
}  # fmt: skip
