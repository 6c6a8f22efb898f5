"""From a Python function to a scalar :class:`Function`.

The function is called once with symbols in place of numbers; operators, NumPy ufuncs, `np.where` and `np.clip` on
symbols are recorded with NumPy's own type promotion. Threads trace independently. It must not know views, combine
operators or devices.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from mdhnp.documentation import public
from mdhnp.mdh.ctext import last_definition, pointer_type
from mdhnp.mdh.function import COMPLEX_OPERATIONS, OPERATIONS, Function, Instruction, literal_value

_COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
_ALIASES = {"true_divide": "divide", "mod": "remainder", "abs": "absolute"}


class Recorder:
    """Collects instructions, keeping equal ones once; may begin with those of a function."""

    def __init__(self, body: Sequence[Instruction] = ()) -> None:
        self.body = list(body)
        self._known = {step: n for n, step in enumerate(body)}

    def add(self, step: Instruction) -> "Symbol":
        if step.op != "param":
            _require_computed(step.op, step.dtype)
        if step not in self._known:
            self._known[step] = len(self.body)
            self.body.append(step)
        return Symbol(self, self._known[step])

    def own(self, value: "Symbol") -> "Symbol":
        """Refuse symbols that a function kept from another tracing: they stand for nothing here."""
        if value.recorder is not self:
            raise TypeError("scalar function: uses a traced value of another function; pass it as an argument")
        return value

    def parameters(self, types: Sequence[np.dtype[Any]]) -> list[int]:
        return [self.add(Instruction("param", (), t, n)).number for n, t in enumerate(types)]

    def paste(
        self, f: Function, given: Sequence[int] | Mapping[int, int], at: Callable[[int], int] | None = None
    ) -> tuple[int, ...]:
        """Record a function on these numbers in place of its parameters, and give its results'.

        Parameters that it does not use may be anything. `at` gives what stands for the index in a dimension; without,
        that stays.
        """
        known: dict[int, int] = {}
        for n in f.live():
            step = f.body[n]
            if step.op == "param":
                known[n] = given[step.position]
            elif step.op == "index" and at is not None:
                known[n] = at(step.position)
            else:
                known[n] = self.add(replace(step, args=tuple([known[a] for a in step.args]))).number
        return tuple([known[r] for r in f.results])

    def constant(self, value: Any, dtype: np.dtype[Any]) -> "Symbol":
        return self.add(Instruction("const", (), dtype, literal=repr(dtype.type(value).item())))

    def cast(self, value: "Symbol", dtype: np.dtype[Any]) -> "Symbol":
        """Record a conversion, unless the value has the type already or is known."""
        step = self.body[value.number]
        if step.dtype == dtype:
            return value
        if step.op == "const":
            return self.constant(literal_value(step.literal, step.dtype).astype(dtype), dtype)
        return self.add(Instruction("cast", (value.number,), dtype))


class Symbol(NDArrayOperatorsMixin):
    """A scalar that stands for any value of its dtype while a function is traced."""

    def __init__(self, recorder: Recorder, number: int) -> None:
        self.recorder = recorder
        self.number = number

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.recorder.body[self.number].dtype

    @property
    def real(self) -> "Symbol":
        return self._part("real") if self.dtype.kind == "c" else self

    @property
    def imag(self) -> "Symbol":
        """The imaginary part; 0 of a real number."""
        return self._part("imag") if self.dtype.kind == "c" else self.recorder.constant(0, self.dtype)

    def _part(self, name: str) -> "Symbol":
        dtype = np.finfo(self.dtype).dtype
        return self.recorder.add(Instruction(name, (self.number,), dtype))

    def astype(self, dtype: Any) -> "Symbol":
        """The value converted to `dtype`, as ``ndarray.astype`` does."""
        return self.recorder.cast(self, np.dtype(dtype))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any([_computes(type(v)) for v in inputs]):
            return NotImplemented
        name = _ALIASES.get(ufunc.__name__, ufunc.__name__)
        if method != "__call__" or kwargs or name not in OPERATIONS:
            raise TypeError(f"scalar function: np.{ufunc.__name__} ({method}) has no OpenCL counterpart here")
        if name in _COMPARISONS and (outside := _beyond(inputs)) is not None:
            return self.recorder.constant(ufunc(*outside), np.dtype(bool))
        signature = tuple(_type_of(v) for v in inputs)
        loop = ufunc.resolve_dtypes((*signature, None))
        if name in ("logical_and", "logical_or", "logical_xor", "logical_not"):
            loop = (*(np.dtype(bool),) * len(inputs), np.dtype(bool))
        if any(t.kind == "c" for t in loop):
            if name not in COMPLEX_OPERATIONS:
                raise TypeError(f"scalar function: OpenCL kernels do not compute {name} of complex numbers")
        elif name == "conjugate":
            name = "positive"
        _require_computed(name, loop[-1])
        if name in _COMPARISONS and {t.kind for t in loop[:2]} == {"i", "u"}:
            return self._compare_signs(ufunc, inputs, loop[:2])
        args = tuple(self._lift(v, t).number for v, t in zip(inputs, loop, strict=False))
        exponent = self.recorder.body[args[-1]]
        if name == "power" and loop[-1].kind == "i" and exponent.op == "const" and int(exponent.literal) < 0:
            raise ValueError("scalar function: Integers to negative integer powers are not allowed; convert to floats")
        return self.recorder.add(Instruction(name, args, loop[-1]))

    def _compare_signs(self, ufunc: np.ufunc, inputs: Sequence[Any], dtypes: Sequence[np.dtype[Any]]) -> Any:
        """Compare int64 and uint64, which no type holds both: negative numbers first, all others as uint64."""
        values = [self._lift(v, t) for v, t in zip(inputs, dtypes, strict=True)]
        signed = next(v for v in values if v.dtype.kind == "i")
        alike = ufunc(*(v.astype(np.uint64) for v in values))
        if ufunc(*(-1 if v is signed else 0 for v in values)):
            return np.logical_or(signed < 0, alike)
        return np.logical_and(signed >= 0, alike)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any([_computes(t) for t in types]):
            return NotImplemented
        if func is np.where and len(args) == 3 and not kwargs:
            condition, left, right = args
            common = np.result_type(*(v.dtype if isinstance(v, Symbol) else v for v in (left, right)))
            lifted = (self._lift(condition, np.dtype(bool)), self._lift(left, common), self._lift(right, common))
            return self.recorder.add(Instruction("where", tuple(v.number for v in lifted), common))
        if func is np.clip and len(args) == 3 and not kwargs:
            return np.minimum(np.maximum(args[0], args[1]), args[2])
        raise TypeError(
            f"scalar function: np.{func.__name__} does not work on single values; use operators, ufuncs, np.where"
        )

    def _lift(self, value: Any, dtype: np.dtype[Any]) -> "Symbol":
        if isinstance(value, Symbol):
            return self.recorder.cast(self.recorder.own(value), dtype)
        return self.recorder.constant(value, dtype)

    def __bool__(self) -> bool:
        raise TypeError("scalar function: a traced value has no truth; write np.where(condition, a, b) instead of if")

    def __float__(self) -> float:
        raise TypeError("scalar function: a traced value is no float; use NumPy's functions (np.exp), not math's")

    __int__ = __index__ = __float__

    __hash__ = None  # type: ignore[assignment]


#: The function being traced in this thread or task.
_active: ContextVar[Recorder | None] = ContextVar("active", default=None)


@public(
    "Give the MDH's index in dimension `dim` inside a scalar function being traced.",
    dim="int: Position of the dimension, from 0.",
    returns="Symbol: An int64 value.",
    raises={
        "RuntimeError": "Outside of a scalar function.",
        "TypeError, ValueError": "If `dim` is no whole number or negative.",
    },
    example="""
>>> ramp = mdhnp.md_hom(lambda x: x + mdhnp.index(0), {"i": mdhnp.cc}, "x[i] -> y[i]")
>>> mdhnp.interpret(ramp.bind(np.zeros(3, np.int64)), np.zeros(3, np.int64))
array([0, 1, 2])""",
    guard=False,
)
def index(dim: int) -> Symbol:
    recorder = _active.get()
    if recorder is None:
        raise RuntimeError("index: only has a meaning inside a scalar function given to md_hom")
    position = operator.index(dim)
    if position < 0:
        raise ValueError(f"index: {dim} is no dimension; they are numbered from 0")
    return recorder.add(Instruction("index", (), np.dtype(np.int64), position))


def trace(
    function: Callable[..., Any],
    parameters: Sequence[Any],
    results: Sequence[Any] | None = None,
    what: str = "scalar",
    group: int = 1,
) -> Function:
    """Record a Python function over scalars of the types `parameters`, its results converted to `results`.

    It takes one value a parameter, or tuples of `group` values: combine operators on tuples take two. Raises TypeError
    if it returns anything but values made of its arguments and constants, or computes with a type that OpenCL kernels
    do not have; errors name `what`.
    """
    recorder = Recorder()
    dtypes = tuple(np.dtype(t) for t in parameters)
    symbols = [Symbol(recorder, n) for n in recorder.parameters(dtypes)]
    arguments = symbols if group == 1 else [tuple(symbols[n : n + group]) for n in range(0, len(symbols), group)]
    token = _active.set(recorder)
    try:
        returned = function(*arguments)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        # Of the call itself: nothing in the function has raised it.
        count = len(arguments)
        each = f"tuples of {group} values" if group > 1 else "value" + "s" * (count != 1)
        raise TypeError(f"{what}: must take {count} {each}: {error}") from None
    finally:
        _active.reset(token)
    values = list(returned) if isinstance(returned, tuple | list) else [returned]
    if results is not None and len(values) != len(results):
        raise TypeError(f"{what}: returns {len(values)} values, {len(results)} are needed")
    numbers = []
    for n, value in enumerate(values):
        if isinstance(value, Symbol):
            symbol = recorder.own(value)
        elif isinstance(value, bool | int | float | np.generic):
            symbol = recorder.constant(value, np.result_type(value))
        else:
            raise TypeError(
                f"{what}: returned {type(value).__name__} for value {n}; numbers made of its arguments are needed"
            )
        numbers.append((symbol if results is None else recorder.cast(symbol, np.dtype(results[n]))).number)
    return Function(dtypes, tuple(recorder.body), tuple(numbers))


def inlined(function: Function, values: Sequence[Symbol]) -> tuple[Symbol, ...]:
    """Record a function again as a part of another one, of these values in place of its parameters."""
    recorder = values[0].recorder
    return tuple([Symbol(recorder, n) for n in recorder.paste(function, [v.number for v in values])])


def trace_text(
    source: str,
    parameters: Sequence[Any],
    results: Sequence[Any],
    what: str = "scalar",
    given: str = "accesses of inputs",
    slices: Sequence[int] = (),
) -> Function:
    """Make a scalar function of OpenCL C text, as SkelCL does; errors name `what` it is and what is `given` to it.

    The text's last function takes one value a parameter and returns the result, or, with several results, takes one
    pointer to each of them after the values and returns nothing. Functions before it are its helpers. A slice is a
    pointer to its first element, then its length and the distance of neighbours along each sliced axis: `slices` are
    how many axes of each parameter are sliced.
    """
    called = last_definition(source)
    dtypes = tuple(np.dtype(t) for t in parameters)
    for t in (*dtypes, *map(np.dtype, results)):
        if t.kind == "c" or t == np.float16:
            raise TypeError(f"{what} function: OpenCL C text takes and gives integers, float and double, not {t}")
    pointers = len(results) if len(results) > 1 else 0
    slices = slices or (0,) * len(dtypes)
    if len(called.parameters) != len(dtypes) + 2 * sum(slices) + pointers:
        needed = f"{len(dtypes)} {given}" + (f" and {pointers} pointers to results" if pointers else "")
        needed += ", slices with the length and the step of each axis" if any(slices) else ""
        raise ValueError(f"{what}: {called.name} takes {len(called.parameters)} parameters, there are {needed}")
    first = 0
    for t, axes in zip(dtypes, slices, strict=True):
        if axes and (pointer_type(called.parameters[first]) != t or t.kind == "b"):
            raise TypeError(f"{what}: {called.name} takes {called.parameters[first]!r}, a slice is of const global {t}")
        first += 1 + 2 * axes
    if bool(called.returns) != (pointers == 0):
        raise ValueError(f"{what}: {called.name} must return {'nothing' if pointers else 'its result'}")
    body = [Instruction("param", (), t, n) for n, t in enumerate(dtypes)]
    args = tuple(range(len(body)))
    body += [Instruction("text", args, np.dtype(t), n, source) for n, t in enumerate(results)]
    return Function(dtypes, tuple(body), tuple(range(len(args), len(body))))


def _computes(kind: type) -> bool:
    """Whether something of a type computes with symbols itself, as what stands for many of them."""
    return issubclass(kind, NDArrayOperatorsMixin) and not issubclass(kind, Symbol)


def _beyond(inputs: Sequence[Any]) -> tuple[Any, ...] | None:
    """Numbers that compare as the inputs do whatever a symbol stands for: one is a Python int beyond its integers."""
    for symbol, number in (inputs, inputs[::-1]):
        if isinstance(symbol, Symbol) and symbol.dtype.kind in "iu" and type(number) is int:
            info = np.iinfo(symbol.dtype)
            if not info.min <= number <= info.max:
                return tuple(0 if v is symbol else int(number > 0) * 2 - 1 for v in inputs)
    return None


def _require_computed(operation: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biu" and dtype.char not in "efdFD":
        raise TypeError(
            f"scalar function: {operation} gives {dtype}, which OpenCL kernels do not compute; "
            "convert its operands, as with .astype(np.float32)"
        )


def _type_of(value: Any) -> Any:
    """What a value counts as in ``ufunc.resolve_dtypes``: Python's own numbers are weak."""
    if isinstance(value, Symbol):
        return value.dtype
    if isinstance(value, bool):
        return np.dtype(bool)
    if isinstance(value, int | float | complex) and not isinstance(value, np.generic):
        return type(value)
    return np.asarray(value).dtype
