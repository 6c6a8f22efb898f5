"""Scalar functions as data: straight-line code over typed scalars.

A :class:`Function` is what an MDH applies to each point (source: Rasch & Gorlatch, "Multi-dimensional homomorphisms
and their implementation in OpenCL", Definition 6: the scalar function f) and what its combine operators apply to
partial results. It is a list of instructions, each naming earlier ones, so that it is hashable, prints in order and
is emitted or evaluated by one loop. It must not know OpenCL or views.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mdhnp.mdh.complex import FORMULAS
from mdhnp.mdh.ctext import last_definition

#: NumPy functions a scalar function may be made of, by name; `real`, `imag`, `where` and `cast` are no ufuncs.
OPERATIONS = frozenset(
    """add subtract multiply divide floor_divide remainder power negative positive absolute sign square sqrt cbrt
    reciprocal exp exp2 expm1 log log2 log10 log1p logaddexp sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh
    arcsinh arccosh arctanh hypot floor ceil trunc rint maximum minimum fmax fmin fmod copysign nextafter signbit isnan
    isinf isfinite equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not
    bitwise_and bitwise_or bitwise_xor invert left_shift right_shift conjugate real imag where cast""".split()  # noqa: SIM905
)
#: Those of them that take complex numbers.
COMPLEX_OPERATIONS = frozenset(FORMULAS) | {"logical_and", "logical_or", "logical_xor", "logical_not", "where", "cast"}


@dataclass(frozen=True)
class Instruction:
    """One step: `param`, `index` (the MDH's index in a dimension), `const`, `text`, or a name in OPERATIONS."""

    op: str
    #: Positions of earlier instructions.
    args: tuple[int, ...]
    dtype: np.dtype[Any]
    #: Which parameter (`param`), which dimension (`index`) or which result of the C text (`text`).
    position: int = 0
    #: A constant's value as Python prints it, so that 0.0 and -0.0 stay apart and NaN equals itself; OpenCL C text.
    literal: str = ""


@dataclass(frozen=True)
class Function:
    """A function from typed scalars to one or more typed scalars."""

    parameters: tuple[np.dtype[Any], ...]
    #: In order; an instruction uses only earlier ones.
    body: tuple[Instruction, ...]
    #: Positions in `body` of the results.
    results: tuple[int, ...]
    #: Whether products that are added may skip their own rounding (fused multiply-add), which NumPy's never do.
    contract: bool = False

    def __repr__(self) -> str:
        # Keys of what was tuned are made of it: text was a field of its own when the first ones were.
        fields = f"parameters={self.parameters!r}, body={self.body!r}, results={self.results!r}"
        return f"Function({fields}, text=None, contract={self.contract!r})"

    @property
    def dtypes(self) -> tuple[np.dtype[Any], ...]:
        return tuple([self.body[r].dtype for r in self.results])

    @property
    def texts(self) -> frozenset[str]:
        """The OpenCL C text that is called."""
        return frozenset([step.literal for step in self.body if step.op == "text"])

    def used_parameters(self) -> frozenset[int]:
        """Positions of the parameters that some result depends on."""
        return self._used("param")

    def used_indices(self) -> frozenset[int]:
        """Dimensions whose index some result depends on."""
        return self._used("index")

    def _used(self, op: str) -> frozenset[int]:
        if all([step.op != op for step in self.body]):
            return frozenset()
        return frozenset([self.body[n].position for n in self.live() if self.body[n].op == op])

    def substituted(
        self,
        parameters: Sequence[np.dtype[Any]] | None = None,
        param: Callable[[Instruction], Instruction] = lambda s: s,
        index: Callable[[Instruction], Instruction] = lambda s: s,
    ) -> "Function":
        """Give the function of other parameters, of which some, or numbers, stand for its own and for its indices."""
        body = tuple([param(s) if s.op == "param" else index(s) if s.op == "index" else s for s in self.body])
        return replace(self, parameters=self.parameters if parameters is None else tuple(parameters), body=body)

    def live(self) -> tuple[int, ...]:
        """Positions of the instructions that some result depends on, in order."""
        needed: set[int] = set()
        pending = list(self.results)
        while pending:
            n = pending.pop()
            if n not in needed:
                needed.add(n)
                pending.extend(self.body[n].args)
        return tuple(sorted(needed))

    def evaluate(self, arguments: Sequence[Any], indices: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Apply the function to arrays that broadcast: one a parameter, and one a dimension where it uses indices."""
        values: dict[int, Any] = {}
        with np.errstate(all="ignore"):
            for n in self.live():
                step = self.body[n]
                values[n] = evaluate_step(step, [values[a] for a in step.args], arguments, indices)
        return tuple(values[r] for r in self.results)

    def __str__(self) -> str:
        names: dict[int, str] = {}
        for n in self.live():
            names[n] = _show(self.body[n], [names[a] for a in self.body[n].args])
        if all([self.body[r].op == "text" for r in self.results]):
            return ", ".join(dict.fromkeys([names[r] for r in self.results]))  # of several results, one call
        shown = [n[1:-1] if n[0] == "(" and n.count("(") == 1 else n for n in (names[r] for r in self.results)]
        return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


def identity_function(dtypes: Sequence[np.dtype[Any]]) -> Function:
    body = tuple(Instruction("param", (), np.dtype(t), n) for n, t in enumerate(dtypes))
    return Function(tuple(np.dtype(t) for t in dtypes), body, tuple(range(len(body))))


def literal_value(literal: str, dtype: np.dtype[Any]) -> Any:
    """The NumPy scalar that a constant's literal stands for."""
    if dtype.kind == "b":
        return np.bool_(literal in ("True", "1"))
    return dtype.type({"f": float, "c": complex}.get(dtype.kind, int)(literal))


def evaluate_step(step: Instruction, values: Sequence[Any], arguments: Sequence[Any], indices: Sequence[Any]) -> Any:
    """Apply one instruction to the values of those before it; the rest is as :meth:`Function.evaluate` takes it."""
    match step.op:
        case "param":
            return np.asarray(arguments[step.position], dtype=step.dtype)
        case "index":
            return np.asarray(indices[step.position], dtype=step.dtype)
        case "const":
            return literal_value(step.literal, step.dtype)
        case "cast":
            # Of complex numbers NumPy would warn that their imaginary parts go.
            return (values[0] if step.dtype.kind in "bc" else values[0].real).astype(step.dtype)
        case "where":
            return np.where(*values).astype(step.dtype, copy=False)
        case "power" if step.dtype.kind == "i":
            return integer_power(*values)
        case "expm1" if step.dtype.kind == "c":
            return complex_expm1(*values)
        case "text":
            raise TypeError("scalar: OpenCL C text cannot be interpreted; give a Python function to do that")
        case _:
            return np.asarray(getattr(np, step.op)(*values)).astype(step.dtype, copy=False)


def integer_power(a: Any, n: Any) -> Any:
    """Give powers of signed integers, rounded toward 0 where the exponent is negative: NumPy refuses those."""
    try:
        return np.power(a, n)
    except ValueError:
        inverse = np.where(np.abs(a) == 1, np.where(n & 1, a, 1), 0)
        return np.where(n < 0, inverse, np.power(a, np.maximum(n, 0)))


def complex_expm1(z: Any) -> Any:
    """Give exponentials of complex numbers less 1 as the array API standard has them; NumPy has other infinities."""
    found = np.empty(np.shape(z), z.dtype)
    found.real, found.imag = FORMULAS["expm1"]((z.real, z.imag))
    return found


_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "equal": "==", "not_equal": "!=", "less": "<",
    "less_equal": "<=", "greater": ">", "greater_equal": ">=", "logical_and": "and", "logical_or": "or",
}  # fmt: skip


def _show(step: Instruction, args: list[str]) -> str:
    if step.op == "param":
        return f"x{step.position}"
    if step.op == "index":
        return f"index({step.position})"
    if step.op == "const":
        return step.literal
    if step.op == "cast":
        return args[0]
    if step.op == "text":
        return f"{last_definition(step.literal).name}({', '.join(args)})"
    if step.op in _INFIX:
        return f"({args[0]} {_INFIX[step.op]} {args[1]})"
    return f"{step.op}({', '.join(args)})"
