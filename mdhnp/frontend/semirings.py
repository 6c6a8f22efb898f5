"""Products over semirings: any function multiplies, any associative one adds.

Takes labelled axes and arrays' layouts, gives MDHs in steps. It must not know devices.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.calls.operands import Typed, check_casts
from mdhnp.documentation import public
from mdhnp.frontend.contraction import Functions, Terms, combined, dimensions
from mdhnp.frontend.pairwise import along_path
from mdhnp.fusion.least_work import distributes, least_work
from mdhnp.mdh import Function, Graph, MdHom, index, pw, trace
from mdhnp.mdh.combine import CC, NAMED, Combine, CombineSpec, Extreme, first_extreme, ufuncs_of
from mdhnp.mdh.function import OPERATIONS
from mdhnp.mdh.laws import Source
from mdhnp.mdh.logarithms import log_sums

Array = npt.NDArray[Any]
DType = np.dtype[Any]

#: The operators of functions.
_SPECS = {ufunc: pw(name) for name, ufunc in NAMED.items()} | {
    np.logaddexp: pw(np.logaddexp, identity=-np.inf, commutative=True, check=False)
}
#: What adds by keeping the place of an extreme beside it.
_PLACES: dict[str, Extreme] = {"argmax": "max", "argmin": "min"}

_BOOL, _INT32, _INT64 = np.dtype(np.bool_), np.dtype(np.int32), np.dtype(np.int64)


@public(
    multiply="ufunc, str or callable: A function of two values, NumPy's by name or one of your own; operands are "
    "multiplied from the first to the last.",
    add="ufunc, str, callable or pw(...): An associative function of two products, likewise; ``pw(...)`` says more of "
    'one of your own. "argmin" and "argmax" give two results, the extreme and where it is.',
    dtype="dtype, optional: What operands are converted to before they are multiplied; by default they stay as they "
    "are.",
    name_="str: Of the semiring, as printed.",
    raises={
        "ValueError": "If there is no such function of NumPy's, or the combine operator is no ``pw(...)``.",
        "TypeError": "If what is given is no function.",
    },
    example="""
>>> d = np.array([[0.0, 1.0], [5.0, 0.0]])
>>> mdhnp.einsum("ik,kj->ij", d, d, semiring=mdhnp.semiring.Semiring(np.add, "max"))
array([[6., 1.],
       [5., 6.]])""",
)
@dataclass(frozen=True)
class Semiring:
    """What stands for the product and for the sum in `einsum` and `matmul`."""

    multiply: Any = np.multiply
    add: Any = np.add
    dtype: Any = None
    name: str = ""

    def __post_init__(self) -> None:
        _function("multiply", self.multiply)
        if isinstance(self.add, CombineSpec):
            if self.add.kind != "pw":
                raise ValueError("semiring: add must combine by pw(...), not by cc or ps(...)")
        elif not _is_place(self.add):
            _function("add", self.add)
        if self.dtype is not None:
            object.__setattr__(self, "dtype", np.dtype(self.dtype))

    def __str__(self) -> str:
        return self.name or f"({_shown(self.multiply)}, {_shown(self.add)})"


def asked(multiply: Any, add: Any, semiring: Any) -> Semiring | None:
    """Give the semiring that a call's arguments name; None where they name none."""
    if semiring is not None and not isinstance(semiring, Semiring):
        raise TypeError(f"semiring must be a Semiring, as mdhnp.semiring has them, not {semiring!r}")
    if multiply is None and add is None:
        return semiring
    if semiring is not None:
        raise TypeError("multiply and add are the semiring's own; give these, or semiring")
    return _of(np.multiply if multiply is None else multiply, np.add if add is None else add)


@lru_cache(maxsize=256)
def _of(multiply: Any, add: Any) -> Semiring:
    """Make a semiring once, for all calls that say the same."""
    return Semiring(multiply, add)


def of_semiring(
    terms: Terms, output: str, arrays: Sequence[Array], semiring: Semiring, dtype: DType | None, optimize: Any = False
) -> Graph:
    """Multiply all operands and add over the labels that are not in the output, by a semiring's functions.

    Operands are converted to `dtype`, in place of the semiring's own type. A path, as `optimize` names one for
    `einsum`, is used where the distributive law is known to hold; else all operands are multiplied before any product
    is added. Results are C-contiguous: one, or an extreme and its place.
    """
    traced = _traced(semiring, tuple([a.dtype for a in arrays]), dtype or semiring.dtype)
    if len(arrays) < 3 or optimize in (False, None) or not distributes(traced.scalar, traced.ufunc):
        graph = Graph.of(_at_once(traced, terms, output, arrays))
    else:
        (common,) = traced.scalar.dtypes

        def product(terms: Terms, output: str, arrays: Sequence[Array]) -> MdHom:
            return _at_once(_traced(semiring, tuple([a.dtype for a in arrays]), common), terms, output, arrays)

        graph = along_path(terms, output, arrays, optimize, product)
    return log_sums(least_work(graph)) if traced.ufunc == "logaddexp" else graph


def check_types(
    arrays: Sequence[Typed], semiring: Semiring, dtype: DType | None, out: DType | None, casting: Any
) -> None:
    """Check that operands may be converted to the type that a call or its semiring names, results to that of `out`."""
    wanted = dtype or semiring.dtype
    result = _traced(semiring, tuple([a.dtype for a in arrays]), wanted).scalar.dtypes[0]
    if out is not None and _is_place(semiring.add):
        raise TypeError(f"{semiring.add} gives two results, out takes one")
    if wanted is not None:
        # What a semiring says of numbers holds for them all, and all of them are or are not 0.
        rule = casting if dtype is not None else "unsafe" if wanted == _BOOL else "same_kind"
        check_casts(arrays, wanted, None, rule, f"{semiring} ")
    check_casts((), result, out, casting)


# Functions.


class _TypedSemiring(NamedTuple):
    """A semiring's functions for operands of some types.

    `product` takes one value of each operand; `scalar` is the same, in the type that adding two products gives; `add`
    says how these are added, and `ufunc` by which function of NumPy's: "" where it is another, or keeps a place.
    """

    product: Callable[..., Any]
    scalar: Function
    add: CombineSpec | str
    ufunc: str


def _is_place(add: Any) -> bool:
    return isinstance(add, str) and add in _PLACES


def _shown(function: Any) -> str:
    if isinstance(function, CombineSpec):
        return function.name or _shown(function.function)
    return function if isinstance(function, str) else getattr(function, "__name__", repr(function))


def _function(what: str, given: Any) -> Any:
    """Give a function of two values from its name, or as it is."""
    if callable(given) and not isinstance(given, np.ufunc):
        return given
    if not isinstance(given, str | np.ufunc):
        raise TypeError(f"semiring: {what} must be a function of two values, or its name, not {given!r}")
    found = NAMED.get(given) or getattr(np, given, None) if isinstance(given, str) else given
    if not isinstance(found, np.ufunc) or found.nin != 2 or found.__name__ not in OPERATIONS:
        raise ValueError(f"semiring: {what}: {_shown(given)!r} is no function of two values that kernels compute")
    return found


@lru_cache(maxsize=256)
def _traced(semiring: Semiring, types: tuple[DType, ...], dtype: DType | None) -> _TypedSemiring:
    multiply, add = _function("multiply", semiring.multiply), semiring.add

    def product(*values: Any) -> Any:
        return reduce(multiply, values if dtype is None else [v.astype(dtype) for v in values])

    scalar = _one(trace(product, types, None, "multiply"), "multiply")
    if _is_place(add):
        total = np.maximum if _PLACES[add] == "max" else np.minimum
    else:
        total = _function("add", add.function if isinstance(add, CombineSpec) else add)
        add = add if isinstance(add, CombineSpec) else _SPECS.get(total) or pw(total)
    both = _one(trace(total, scalar.dtypes * 2, None, "add"), "add")
    if both.dtypes != scalar.dtypes:
        scalar = trace(product, types, both.dtypes, "multiply")
        both = trace(total, both.dtypes * 2, both.dtypes, "add")
    return _TypedSemiring(product, scalar, add, "" if _is_place(add) else ufuncs_of(both)[0])


def _one(function: Function, what: str) -> Function:
    if len(function.dtypes) != 1:
        raise ValueError(f"semiring: {what} gives {len(function.dtypes)} values, one is needed")
    return function


# From functions to MDHs.


def _at_once(traced: _TypedSemiring, terms: Terms, output: str, arrays: Sequence[Array]) -> MdHom:
    """Multiply all operands before any product is added."""
    reduced = list(dimensions(terms, output, arrays).items())[len(output) :]
    if isinstance(traced.add, str):
        functions = _placed(traced, len(output), tuple([n for _, n in reduced]))
    else:
        fixed = frozenset([n for n, term in enumerate(terms) if {*term} <= {*output}])
        functions = _combining(traced, fixed, len(output)) if reduced else Functions(traced.scalar, CC)
    operator = functions.combine.operator
    if 0 in [n for _, n in reduced] and (isinstance(traced.add, str) or operator is None or operator.identity is None):
        label = next(label for label, n in reduced if n == 0)
        raise ValueError(f"add: {_shown(traced.add)} of nothing has no value, and axis {label!r} has no elements")
    return combined(terms, output, arrays, functions)


def combining(
    semiring: Semiring, types: tuple[DType, ...], dtype: DType | None, fixed: frozenset[int], kept: int
) -> Functions:
    """Give a semiring's functions of operands of some types, of which those `fixed` do not move with what is combined.

    TypeError where they number what they combine.
    """
    if _is_place(semiring.add):
        raise TypeError(f"{semiring.add} numbers all elements, of which indices and sparse operands leave some out")
    return _combining(_traced(semiring, types, dtype or semiring.dtype), fixed, kept)


def _combining(traced: _TypedSemiring, fixed: frozenset[int], kept: int) -> Functions:
    assert not isinstance(traced.add, str)
    source = Source(traced.scalar, fixed, frozenset(range(kept)))
    return Functions(traced.scalar, _resolved(traced.add, source))


@lru_cache(maxsize=256)
def _resolved(spec: CombineSpec, source: Source) -> Combine:
    return spec.resolve(source.scalar.dtypes, source)


@lru_cache(maxsize=256)
def _placed(traced: _TypedSemiring, kept: int, extents: tuple[int, ...]) -> Functions:
    """An extreme, and where it is: its number among all that are compared, in row-major order of their dimensions.

    Numbers that fit are int32 until they are stored: on CPUs as many as of values are in a register then.
    """
    assert isinstance(traced.add, str)
    (dtype,) = traced.scalar.dtypes
    types = dtype, _INT32 if prod(extents) <= np.iinfo(_INT32).max else _INT64

    def value_and_place(*values: Any) -> tuple[Any, Any]:
        numbers = [(index(kept + d), prod(extents[d + 1 :])) for d, n in enumerate(extents) if n != 1]
        places: list[Any] = [i.astype(types[1]) * n if n != 1 else i.astype(types[1]) for i, n in numbers]
        return traced.product(*values), reduce(np.add, places) if places else types[1].type(0)

    scalar = trace(value_and_place, traced.scalar.parameters, types)
    finish = trace(lambda value, place, *_: (value, place.astype(_INT64)), [*types, *scalar.parameters])
    return Functions(scalar, first_extreme(_PLACES[traced.add], *types), finish if types[1] != _INT64 else None)
