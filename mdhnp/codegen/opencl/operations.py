"""NumPy's operations as OpenCL C expressions, on scalars and on vectors alike.

Takes the text of the operands and gives that of the result. NumPy decides what an operation means: integer division
rounds down and gives 0 where it divides by 0, NaN wins in maximum, comparisons of NaN are false.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mdhnp.codegen.ir.values import BOOL, HALF
from mdhnp.codegen.opencl.ctypes import (
    Text,
    as_vector,
    constant,
    convert,
    mask,
    memory_type,
    select,
    value_type,
    vector_name,
)
from mdhnp.codegen.opencl.prelude import ALWAYS_INLINE, Helpers, is_wide
from mdhnp.codegen.opencl.ptx import EXPONENTIALS, EXTREMA

DType = np.dtype[Any]
_SHORT, _INT = np.dtype(np.int16), np.dtype(np.int32)
Build = Callable[[DType, Sequence[Text], int], Text]

_BINARY = {"add": "+", "subtract": "-", "multiply": "*", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
#: Those whose results may be too large for integers.
_WRAPPING = frozenset("+-*")
COMPARISONS = {
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip
_LOGICAL = {"logical_and": "&", "logical_or": "|", "logical_xor": "^"}
_CLASS_TESTS = frozenset({"isnan", "isinf", "isfinite", "signbit"})
_ONBOOLEANS = {
    "add": "|", "maximum": "|", "fmax": "|", "multiply": "&", "minimum": "&", "fmin": "&", "bitwise_and": "&",
    "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip
#: Masks are 0 and -1, so that their order is the other way round.
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
#: NumPy's name to OpenCL C's, where the meaning is the same for floats.
_CALLS = {
    "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "arctan2": "atan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "hypot": "hypot", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "rint": "rint", "fmod": "fmod", "copysign": "copysign", "nextafter": "nextafter", "fmax": "fmax", "fmin": "fmin",
    "power": "pow", "multiply_add": "fma",
}  # fmt: skip
#: Operations that helper functions compute: for any type, for integers only, and for floats where devices have them.
_HELPED = frozenset({"floor_divide", "remainder", *EXPONENTIALS})
_HELPED_INTEGERS = frozenset({"power", "fmod", "left_shift", "right_shift", "reciprocal", "divide"})
_EXTREMA = frozenset({"maximum", "minimum"})

_POWER = "U r = 1, x = a; while (b > 0) { if (b & 1) r *= x; x *= x; b >>= 1; } return (T)r;"
#: NumPy refuses negative powers of integers; these are rounded toward 0.
_INVERSE_POWER = "if (b < 0) return a == 1 || (a == -1 && !(b & 1)) ? 1 : a == -1 ? -1 : 0; "
_FLOAT_MOD = "const T r = fmod(a, b); return r == 0 ? copysign((T)0, b) : (r < 0) != (b < 0) ? r + b : r;"
_FLOAT_DIV = (
    "if (b == 0) return a / b; const T r = fmod(a, b); const T q = (a - r) / b - (r != 0 && (r < 0) != (b < 0)); "
    "const T f = floor(q); return q == 0 ? copysign((T)0, a / b) : q - f > (T)0.5 ? f + 1 : f;"
)
#: Operations by their NumPy name and the kind of their type: name, operands, body with T for the type and U for the
#: unsigned one that integers wrap around in.
_ELEMENTWISE = {
    **{(op, "f"): (op, 2, body) for op, body in EXTREMA.items()},
    **{(op, "f"): (op, 1, body) for op, body in EXPONENTIALS.items()},
    ("power", "i"): ("int_power", 2, _INVERSE_POWER + _POWER),
    ("power", "u"): ("int_power", 2, _POWER),
    # The smallest integer divided by -1 traps where it is not avoided.
    ("floor_divide", "i"): (
        "floor_div", 2,
        "if (b == 0) return 0; if (b == -1) return (T)(0 - (U)a); return a / b - (a % b != 0 && (a ^ b) < 0);",
    ),
    ("floor_divide", "u"): ("floor_div", 2, "return b == 0 ? 0 : a / b;"),
    ("floor_divide", "f"): ("floor_div", 2, _FLOAT_DIV),
    ("remainder", "i"): (
        "floor_mod", 2, "if (b == 0 || b == -1) return 0; const T r = a % b; return r != 0 && (r ^ b) < 0 ? r + b : r;",
    ),
    ("remainder", "u"): ("floor_mod", 2, "return b == 0 ? 0 : a % b;"),
    ("remainder", "f"): ("floor_mod", 2, _FLOAT_MOD),
    ("fmod", "i"): ("int_fmod", 2, "return b == 0 || b == -1 ? 0 : a % b;"),
    ("fmod", "u"): ("int_fmod", 2, "return b == 0 ? 0 : a % b;"),
    ("fmod", "f"): ("lane_fmod", 2, "return fmod(a, b);"),
    ("divide", "i"): ("int_div", 2, "return b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : a / b;"),
    ("divide", "u"): ("int_div", 2, "return b == 0 ? 0 : a / b;"),
    # Infinity, converted as NumPy does on x86-64.
    ("reciprocal", "i"): (
        "int_reciprocal", 1, "return a == 0 ? (T)(sizeof(T) < 4 ? 0 : (U)1 << (8 * sizeof(T) - 1)) : 1 / a;",
    ),
    ("reciprocal", "u"): ("int_reciprocal", 1, "return a == 0 ? 0 : 1 / a;"),
    # C leaves shifts by the whole width and more undefined.
    ("left_shift", "i"): ("shift_left", 2, "return b < 0 || b >= 8 * (T)sizeof(T) ? 0 : (T)((U)a << b);"),
    ("left_shift", "u"): ("shift_left", 2, "return b >= 8 * sizeof(T) ? 0 : (T)((U)a << b);"),
    ("right_shift", "i"): ("shift_right", 2, "return a >> (b < 0 || b >= 8 * (T)sizeof(T) ? 8 * sizeof(T) - 1 : b);"),
    ("right_shift", "u"): ("shift_right", 2, "return b >= 8 * sizeof(T) ? 0 : a >> b;"),
}  # fmt: skip
#: Functions of vectors that PoCL 3.0 gets wrong in other lanes where one lane's first operand is such; these are
#: computed alone. Of floats beyond 10^5 it is the sines of small ones, of 0 and infinity any power of 8 doubles.
_ALONE = {
    ("sin", "float"): "!(a * a < 1e10f)",
    ("cos", "float"): "!(a * a < 1e10f)",
    ("tan", "float"): "!(a * a < 1e10f)",
    ("pow", "double"): "a == 0 || a - a != 0",
}


def operation(op: str, args: Sequence[Text], dtype: DType, lanes: int, helpers: Helpers) -> Text:
    """Write an operation by its NumPy name, with a result of that type and those lanes."""
    if op == "cast" and dtype == HALF:
        return Text(f"{helpers.rounded(value_type(args[0].dtype), lanes)}({args[0].text})", dtype, lanes)
    if op == "cast":
        return convert(args[0], dtype)
    if op == "where":
        return select(*args)
    if op in COMPARISONS:
        return _comparison(COMPARISONS[op], args, lanes)
    if op in _LOGICAL:
        return Text(f" {_LOGICAL[op]} ".join(a.atom for a in _widened(args, lanes)), dtype, lanes)
    if op == "logical_not":
        return _not(args[0])
    if dtype.kind == "b":
        return _boolean(op, args, lanes)
    if op in _BINARY:
        return _arithmetic(_BINARY[op], args, dtype, lanes)
    wide = _widened(args, lanes)
    # PoCL's fmod of vectors of doubles is wrong where lanes are of very different sizes.
    helped = op in _HELPED or (op in _HELPED_INTEGERS and dtype.kind in "iu") or (op == "fmod" and lanes > 1)
    if helped or (helpers.caps.nan_extrema and op in _EXTREMA and dtype.kind == "f" and dtype.itemsize <= 4):
        function = _elementwise(helpers, op, value_type(dtype), lanes, dtype.kind)
        return Text(f"{function}({', '.join(a.text for a in wide)})", dtype, lanes)
    special = _SPECIAL.get(op)
    if op in ("negative", "absolute") and dtype == _SHORT and lanes > 1 and helpers.caps.kind == "gpu":
        # NVIDIA's compiler (580) takes it for impossible that the smallest one, negated in 16 bits, is less than 0; not
        # so in 8 and 32 bits.
        return convert(_SPECIAL[op](_INT, [convert(a, _INT) for a in wide], lanes), _SHORT)
    if special is not None:
        return special(dtype, wide, lanes)
    if dtype.kind != "f":
        return _extremum(op[1:], ">")(dtype, wide, lanes)  # fmax and fmin
    function = _called(helpers, _CALLS[op], value_type(dtype), lanes, len(wide))
    return Text(f"{function}({', '.join(a.text for a in wide)})", dtype, lanes)


def _elementwise(helpers: Helpers, op: str, name: str, lanes: int, kind: str) -> str:
    """Ask for an operation that C has not, or not as NumPy defines it; on vectors lane by lane."""
    short, count, body = _ELEMENTWISE[op, kind]
    function, letters = f"{short}_{name}", "ab"[:count]
    unsigned = "ulong" if name.endswith("long") else "uint"
    text = body.replace("T", name).replace("U", unsigned)
    # Amid other code NVIDIA's compiler (580) takes powers of max(x, 0), of 16 bits, for powers of 0.
    static = "static __attribute__((noinline))" if op == "power" else "static inline"
    parameters = ", ".join(f"{name} {x}" for x in letters)
    helpers.define(name, function, parameters, text, static=static, key=f"elementwise {function}")
    if lanes == 1:
        return function
    wide = vector_name(name, lanes)
    calls = ", ".join(f"{function}({', '.join(f'{x}.s{n:x}' for x in letters)})" for n in range(lanes))
    parameters, body = ", ".join(f"{wide} {x}" for x in letters), f"return ({wide})({calls});"
    return helpers.define(wide, f"{short}_{wide}", parameters, body, key=f"elementwise {function} {wide}")


def _called(helpers: Helpers, called: str, name: str, lanes: int, count: int) -> str:
    """Name one of OpenCL's functions of so many operands, or one that computes some lanes alone."""
    alone = _ALONE.get((called, name))
    if alone is None or lanes == 1 or not helpers.caps.mixed_lanes:
        return called
    one, letters = "long" if name == "double" else "int", "ab"[:count]
    wide, masks = vector_name(name, lanes), vector_name(one, lanes)
    each = ", ".join(f"(({name} *)&{x})[n]" for x in letters)
    return helpers.define(
        wide,
        f"{called}_{wide}",
        ", ".join(f"{wide} {x}" for x in letters),
        f"const {masks} m = {alone}; const {wide} one = ({wide})(1);\n"
        f"  {wide} r = {called}({', '.join(['m ? one : a', *letters[1:]])});\n"
        f"  if (any(m)) {{ {masks} t = m; {wide} s = r;\n"
        f"    for (int n = 0; n < {lanes}; ++n) if ((({one} *)&t)[n]) "
        f"(({name} *)&s)[n] = {called}({each});\n    r = s; }}\n  return r;",
        static=ALWAYS_INLINE if is_wide(name, lanes) else "static inline",
        key=f"function {called}_{wide}",
    )


def _widened(args: Sequence[Text], lanes: int) -> list[Text]:
    return [as_vector(a, lanes) for a in args]


def _exact(args: Sequence[Text], lanes: int) -> Sequence[Text]:
    """Operands that C's own promotion leaves in their type: small integers beside vectors must be vectors."""
    small = args[0].dtype.kind in "iu" and args[0].dtype.itemsize < 4
    return _widened(args, lanes) if small else args


def _arithmetic(sign: str, args: Sequence[Text], dtype: DType, lanes: int) -> Text:
    """One or two operands with an operator, which wraps integers around as NumPy's does.

    C leaves the overflow of signed integers undefined, so that these are computed as unsigned ones. Small scalars it
    computes as int, which may overflow in a product only.
    """
    operands = _exact(args, lanes)
    if sign in _WRAPPING and (lanes > 1 or dtype.itemsize >= 4 or sign == "*") and dtype.kind in "iu":
        operands = [_unsigned(v, lanes) for v in operands]
    text = f" {sign} ".join(v.atom for v in operands) if len(operands) > 1 else f"{sign}{operands[0].atom}"
    if dtype.kind == "i" and lanes > 1 and sign in _WRAPPING:
        return Text(f"as_{value_type(dtype, lanes)}({text})", dtype, lanes)
    if dtype.kind == "i" and sign in _WRAPPING:
        return Text(f"({memory_type(dtype)})({text})", dtype)
    if dtype.kind in "iu" and dtype.itemsize < 4 and lanes == 1:  # which C computes as int; NumPy wraps it around
        return Text(f"({memory_type(dtype)})({text})", dtype)
    return Text(text, dtype, lanes)


def _unsigned(value: Text, lanes: int) -> Text:
    """Text of the same bits unsigned, and no smaller than C computes with; the NumPy type stays."""
    dtype = value.dtype
    if value.lanes > 1:
        return value if dtype.kind == "u" else Text(f"as_u{value_type(dtype, value.lanes)}({value.text})", dtype, lanes)
    if dtype.kind == "u" and dtype.itemsize >= 4:
        return value
    return Text(f"({'ulong' if dtype.itemsize == 8 else 'uint'}){value.atom}", dtype)


def _not(value: Text) -> Text:
    return Text(f"{'!' if value.lanes == 1 else '~'}{value.atom}", BOOL, value.lanes)


def _comparison(sign: str, args: Sequence[Text], lanes: int) -> Text:
    if args[0].dtype.kind == "b":
        left, right = _widened(args, lanes)
        sign = sign if lanes == 1 else _MIRRORED.get(sign, sign)
        return Text(f"{left.atom} {sign} {right.atom}", BOOL, lanes)
    left, right = _exact(args, lanes)
    return mask(f"{left.atom} {sign} {right.atom}", args[0].dtype, lanes)


def _boolean(op: str, args: Sequence[Text], lanes: int) -> Text:
    """Arithmetic on booleans, which NumPy defines as logic; tests of floats."""
    if op in _CLASS_TESTS:
        return _class_test(op, args[0], lanes)
    args = _widened([convert(a, BOOL) for a in args], lanes)
    if op == "invert":
        return _not(args[0])
    return Text(f"{args[0].atom} {_ONBOOLEANS[op]} {args[1].atom}", BOOL, lanes)


def _class_test(op: str, x: Text, lanes: int) -> Text:
    if x.dtype.kind != "f":
        return as_vector(Text("1" if op == "isfinite" else "0", BOOL), lanes)
    top = constant("inf", x.dtype)
    size = _absolute(x.dtype, [x], lanes).text
    bits = f"as_{vector_name('long' if x.dtype.itemsize == 8 else 'int', lanes)}({x.text})"
    text = {
        "isnan": f"{x.atom} != {x.atom}", "isinf": f"{size} == {top}", "isfinite": f"{size} < {top}",
        "signbit": f"{bits} < 0",
    }[op]  # fmt: skip
    return mask(text, x.dtype, lanes)


def _extremum(name: str, sign: str) -> Build:
    def build(t: DType, a: Sequence[Text], lanes: int) -> Text:
        if t.kind != "f":
            small = t.itemsize < 4 and lanes == 1
            texts = [f"({value_type(t)}){v.atom}" if small and not v.text.isidentifier() else v.text for v in a]
            return Text(f"{name}({', '.join(texts)})", t, lanes)
        # The inner choice is one instruction of most processors. Were the outer one x as well, compilers would join
        # both to tests that need more of them.
        x, y = a[0].atom, a[1].atom
        nan = as_vector(Text(constant("nan", t), t), lanes)
        larger = select(mask(f"{x} {sign} {y}", t, lanes), a[0], a[1])
        return select(mask(f"{x} != {x}", t, lanes), nan, larger)

    return build


def _absolute(t: DType, a: Sequence[Text], lanes: int) -> Text:
    if t.kind == "f":
        # Without the bit of the sign; PoCL's fabs is a call for each vector.
        bits, rest = ("long", "0x7fffffffffffffffl") if t.itemsize == 8 else ("int", "0x7fffffff")
        return Text(f"as_{value_type(t, lanes)}(as_{vector_name(bits, lanes)}({a[0].text}) & {rest})", t, lanes)
    # Both runtimes' own abs takes it for impossible that the smallest integer stays negative.
    zero = as_vector(Text(constant("0", t), t), lanes)
    return select(_comparison("<", (a[0], zero), lanes), _arithmetic("-", a, t, lanes), a[0])


def _sign(t: DType, a: Sequence[Text], lanes: int) -> Text:
    x = a[0]
    zero, one = (as_vector(Text(constant(c, t), t), lanes) for c in ("0", "1"))
    positive = _comparison(">", (x, zero), lanes)
    if t.kind == "u":
        return select(positive, one, zero)
    minus = as_vector(Text(constant("-1", t), t), lanes)
    # What is neither positive nor negative is 0 or NaN, and stays; -0.0 becomes 0.0.
    rest = Text(f"{x.atom} + {zero.atom}", t, lanes) if t.kind == "f" else x
    return select(positive, one, select(_comparison("<", (x, zero), lanes), minus, rest))


def _logaddexp(t: DType, a: Sequence[Text], lanes: int) -> Text:
    """The larger one and what the other adds to it; equal ones may be infinities, which have no difference."""
    x, y = a
    once = as_vector(Text(constant(repr(math.log(2.0)), t), t), lanes)
    apart = _absolute(t, [Text(f"{x.atom} - {y.atom}", t, lanes)], lanes)
    larger = _SPECIAL["maximum"](t, a, lanes)
    both = Text(f"{x.atom} + {once.atom}", t, lanes)
    return select(_comparison("==", a, lanes), both, Text(f"{larger.atom} + log1p(exp(-{apart.atom}))", t, lanes))


_SPECIAL: dict[str, Build] = {
    "divide": lambda t, a, n: Text(f"{a[0].atom} / {a[1].atom}", t, n),
    "maximum": _extremum("max", ">"),
    "minimum": _extremum("min", "<"),
    "sign": _sign,
    "logaddexp": _logaddexp,
    "negative": lambda t, a, n: _arithmetic("-", a, t, n),
    "absolute": _absolute,
    "square": lambda t, a, n: _arithmetic("*", (a[0], a[0]), t, n),
    "reciprocal": lambda t, a, n: Text(f"{as_vector(Text(constant('1', t), t), n).atom} / {a[0].atom}", t, n),
    "invert": lambda t, a, n: _arithmetic("~", a, t, n),
}
