"""Combine operators: how the results of the parts of a dimension are put together.

`cc` concatenates, `pw(op)` combines point by point (a reduction), `ps(op)` gives every prefix (a scan). An operator
is written by name, as a Python function on (tuples of) results, or as OpenCL C text; it becomes an :class:`Operator`
once the types of the results are known. Where the largest or smallest value is kept NaN wins, as in NumPy, and complex
numbers are ordered by their real parts and then by their imaginary ones. It must not know views or devices.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Literal

import numpy as np

from mdhnp.documentation import public
from mdhnp.mdh.complex import where
from mdhnp.mdh.ctext import last_definition
from mdhnp.mdh.function import Function, identity_function
from mdhnp.mdh.laws import Source, distributivity, laws
from mdhnp.mdh.trace import index, trace, trace_text

Kind = Literal["cc", "pw", "ps"]
Extreme = Literal["max", "min"]

_PLACE = np.dtype(np.int64)


@dataclass(frozen=True)
class Operator:
    """An associative operator on tuples of results."""

    #: As printed; operators that differ in their names only are equal.
    name: str = field(compare=False)
    #: Takes the left operand's values, then the right one's; gives the combined values.
    function: Function
    #: Literals of the neutral element, one a result; None where there is none.
    identity: tuple[str, ...] | None
    #: Whether operands may be exchanged, which lets work-items take interleaved elements.
    commutative: bool
    #: Functions ⊕ of which a ⊗ (b ⊕ c) = (a ⊗ b) ⊕ (a ⊗ c) was declared.
    distributes_over: tuple[Function, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        _require_line(self.name)

    @property
    def neutral(self) -> tuple[str, ...]:
        """The identity of an operator that is known to have one."""
        assert self.identity is not None
        return self.identity

    @cached_property
    def ufuncs(self) -> tuple[str, ...]:
        """For each result, NumPy's function that it is of the left one and the right one; empty where it is another."""
        return ufuncs_of(self.function)

    @cached_property
    def adds(self) -> tuple[bool, ...]:
        """For each result, whether the left one and the right one are added."""
        return tuple(ufunc == "add" for ufunc in self.ufuncs)


@dataclass(frozen=True)
class Combine:
    """The combine operator of one dimension."""

    kind: Kind
    operator: Operator | None = None

    def __str__(self) -> str:
        if self.operator is None:
            return "++"
        return self.operator.name if self.kind == "pw" else f"ps({self.operator.name})"


CC = Combine("cc")


def _require_line(name: str) -> None:
    """Names stand in the comments of generated text."""
    if not isinstance(name, str):
        raise TypeError(f"name: takes text, not {name!r:.80}")
    if not name.isprintable():
        raise ValueError(f"name: {name!r} is not one line of printable characters")


def ufuncs_of(function: Function) -> tuple[str, ...]:
    """For each result, the operation on the left one and the right one that it is; empty where it is another."""
    count = len(function.results)
    if function.texts:
        return ("",) * count
    found = []
    for n, step in enumerate(function.body[r] for r in function.results):
        sides = {(function.body[a].op, function.body[a].position) for a in step.args}
        found.append(step.op if sides == {("param", n), ("param", count + n)} else "")
    return tuple(found)


@dataclass(frozen=True)
class CombineSpec:
    """A combine operator before the types of the results are known; see :func:`pw` and :func:`ps`."""

    kind: Kind
    function: str | tuple[str, ...] | Callable[..., Any] | None = None
    identity: Any = None
    commutative: bool | None = None
    name: str = ""
    check: bool = True
    #: Specs of the operators that it is declared to distribute over.
    over: tuple["CombineSpec", ...] = ()

    def __post_init__(self) -> None:
        _require_line(self.name)
        if not isinstance(self.commutative, bool | None):
            raise TypeError(f"{self.kind}: commutative: takes True, False or None, not {self.commutative!r:.80}")
        if self.kind != "cc" and not (isinstance(self.function, str | tuple | list) or callable(self.function)):
            known = f"one of {', '.join(NAMED)}, a function of two values, or OpenCL C text"
            raise TypeError(f"{self.kind}: function: takes {known}, not {self.function!r:.80}")

    def resolve(self, dtypes: Sequence[np.dtype[Any]], source: Source | None = None) -> Combine:
        """Fix the operator for results of these types, which come from a source if it is known."""
        found = self._resolved(dtypes, source)
        if found.operator is None or not self.over:
            return found
        operator, totals = found.operator, [spec.resolve(dtypes, source).operator for spec in self.over]
        declared = tuple([total for total in totals if total is not None])
        if self.check:
            require_distributive(operator, declared, source)
        return replace(found, operator=replace(operator, distributes_over=tuple([t.function for t in declared])))

    def _resolved(self, dtypes: Sequence[np.dtype[Any]], source: Source | None) -> Combine:
        if self.function is None:
            return CC
        if isinstance(self.function, str) and "{" in self.function:
            function = trace_text(self.function, [*dtypes, *dtypes], dtypes, "combine operator", "values to combine")
            identity = None if self.identity is None else _literals(self.identity, dtypes)
            name = self.name or last_definition(self.function).name  # whose laws only its author knows
            return Combine(self.kind, Operator(name, function, identity, bool(self.commutative)))
        if callable(self.function):
            traced = trace(self.function, [*dtypes, *dtypes], dtypes, "combine operator", len(dtypes))
            given = getattr(self.function, "__name__", "")
            name = given if given and given.isprintable() else "custom"
        else:
            names = self.function if isinstance(self.function, str) else tuple(self.function)
            named = _named(names, tuple(dtypes))
            if self.identity is None and self.commutative is None and not self.name:
                return Combine(self.kind, named)
            name, traced = named.name, named.function
        return Combine(self.kind, _lawful(self, name, traced, source or Source(identity_function(dtypes))))


#: Concatenation: the results of the parts stand beside each other (a parallel, independent dimension).
cc = CombineSpec("cc")


@public(
    "Combine the results of the parts point by point: a reduction.",
    function='str, tuple of str, or callable: ``"add"``, ``"mul"``, ``"max"``, ``"min"``, ``"and"``, ``"or"`` on '
    "every result; a tuple of such names, one a result; or an associative function of two values (of two tuples, "
    "where the MDH has several results). Or OpenCL C text, whose last function takes the left results, then the right "
    "ones, and gives the combined one (several through as many pointers after them).",
    identity="number or tuple of numbers, optional: The neutral element. Without one a custom function works all the "
    "same, at some cost; named ones have their own.",
    commutative="bool, optional: False if operands must be seen in order. By default that is found out; text is taken "
    "not to commute.",
    name_="str, optional: How the operator is printed: one line.",
    check="bool: False if laws are not to be tried, because they hold only for values that your arrays have.",
    distributes_over="str, callable or pw(...), or a list of such, optional: Operators ⊕ over which this one, ⊗, is "
    "declared to distribute: ``a ⊗ (b ⊕ c) = (a ⊗ b) ⊕ (a ⊗ c)``. Rules of :func:`mdhnp.fuse` use that. What is "
    "declared is tried, as the other laws are.",
    returns="CombineSpec: What :func:`mdhnp.md_hom` takes for a dimension.",
    raises={
        "ValueError": "If the name is not one line of printable characters; once the results' types are known, if "
        "there is a counterexample to what the operator has to be: associative, with this identity, and commutative if "
        "so said.",
        "TypeError": "If `function` is none of these.",
    },
    notes="""\
The laws are tried on samples: some hundred values that the scalar function gives for small numbers, and what the
operator makes of them. Floats are compared up to rounding. The identity must leave the operator's own results as they
are. Those of text are yours to see to; what it is declared to distribute over is tried by a kernel, at the first call.

Source: Rasch & Gorlatch, "Multi-dimensional homomorphisms and their implementation in OpenCL", Section 2.""",
    example="""
>>> larger = mdhnp.pw(lambda a, b: np.where(b > a, b, a), name="larger")""",
    guard=False,
)
def pw(
    function: Any, *, identity: Any = None, commutative: bool | None = None, name: str = "", check: bool = True,
    distributes_over: Any = None,
) -> CombineSpec:  # fmt: skip
    return CombineSpec("pw", function, identity, commutative, name, check, _declared(distributes_over))


@public(
    "Give the combined result of every prefix: an inclusive scan.",
    function="str, tuple of str, or callable: What combines two results, as :func:`pw` takes it; the errors are those "
    "of :func:`pw`, too.",
    identity="number or tuple of numbers, optional: The neutral element.",
    commutative="bool, optional: False if operands must be seen in order.",
    name_="str, optional: How the operator is printed.",
    check="bool: False if its laws are not to be tried.",
    distributes_over="str, callable or pw(...), or a list of such, optional: Operators over which it is declared to "
    "distribute, as :func:`pw` takes them: a reduction of prefixes is one pass then, in a fused function.",
    returns="CombineSpec: What :func:`mdhnp.md_hom` takes for a dimension.",
    example="""
>>> running_maximum = mdhnp.md_hom(lambda x: x, {"i": mdhnp.ps("max")}, "x[i] -> y[i]")
>>> running_maximum([3, 1, 4, 1, 5])
array([3, 3, 4, 4, 5])""",
    guard=False,
)
def ps(
    function: Any, *, identity: Any = None, commutative: bool | None = None, name: str = "", check: bool = True,
    distributes_over: Any = None,
) -> CombineSpec:  # fmt: skip
    return CombineSpec("ps", function, identity, commutative, name, check, _declared(distributes_over))


def _declared(given: Any) -> tuple[CombineSpec, ...]:
    """The operators that are named by `distributes_over`, as specs."""
    every = () if given is None else given if isinstance(given, list) else [given]
    specs = [one if isinstance(one, CombineSpec) else pw(one) for one in every]
    for spec in specs:
        if spec.function is None:
            raise TypeError(
                f"distributes_over: {spec!r} is no operator that reduces; use a name, a function or pw(...)"
            )
    return tuple(specs)


#: NumPy's function behind each name, and the names of functions by NumPy's.
NAMED: dict[str, np.ufunc] = {
    "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip
NAME_OF = {ufunc.__name__: name for name, ufunc in NAMED.items()}
#: How they are printed, if not by name.
_SIGNS = {"add": "+", "mul": "*"}


@lru_cache(maxsize=256)
def _named(function: str | tuple[str, ...], dtypes: tuple[np.dtype[Any], ...]) -> Operator:
    """The operator that is named for all results, or for each."""
    count = len(dtypes)
    names = (function,) * count if isinstance(function, str) else function
    for given in names:
        if given not in NAMED:
            raise ValueError(f"combine: unknown operator {given!r}; use one of {', '.join(NAMED)} or a function")
    if len(names) != count:
        raise ValueError(f"combine: {len(names)} operators for {count} results; one each is needed")
    for given, dtype in zip(names, dtypes, strict=True):
        if given in ("and", "or") and np.dtype(dtype).kind != "b":
            raise ValueError(f"combine: {given!r} combines booleans, a result is {np.dtype(dtype).name}")

    def apply(left: Any, right: Any) -> Any:
        pairs = [(left, right)] if count == 1 else zip(left, right, strict=True)
        return tuple(NAMED[n](a, b) for n, (a, b) in zip(names, pairs, strict=True))

    printed = [_SIGNS.get(n, n) for n in names]
    shown = printed[0] if len(set(names)) == 1 else f"({', '.join(printed)})"
    traced = trace(apply, [*dtypes, *dtypes], dtypes, "combine operator", count)
    return Operator(shown, traced, _identities(names, dtypes), True)


def _lawful(spec: CombineSpec, name: str, traced: Function, source: Source) -> Operator:
    """The operator of a function that was traced, once the laws that are said of it are checked."""
    dtypes, name = source.scalar.dtypes, spec.name or name
    if traced.used_indices():
        raise ValueError("combine operator: uses an index, which belongs to points; let the scalar function return it")
    known = [NAME_OF.get(ufunc, "") for ufunc in ufuncs_of(traced)]
    identity = _identities(known, dtypes) if all(known) else None
    if spec.identity is not None:
        identity = _literals(spec.identity, dtypes)
    found = laws(traced, identity, source)
    if spec.check:
        _require(name, "is not associative", found.associativity)
        _require(name, "does not have this identity", found.identity)
        _require(name, "is not commutative", found.commutativity if spec.commutative else "")
    commutative = not found.commutativity if spec.commutative is None else spec.commutative
    return Operator(name, traced, identity, commutative)


def require_distributive(
    operator: Operator, totals: Sequence[Operator], source: Source | None = None,
    apply: Callable[[Function, Any], Any] | None = None,
) -> None:  # fmt: skip
    """Raise ValueError with a counterexample where an operator does not distribute over others.

    Without something to apply it nothing is known of OpenCL C text, and it is taken at its word.
    """
    given, how = source or Source(identity_function(operator.function.dtypes)), () if apply is None else (apply,)
    for total in totals:
        by_text = bool(operator.function.texts | total.function.texts)
        if by_text == (apply is not None):
            found = distributivity(operator.function, total.function, given, *how)
            _require(operator.name, f"does not distribute over {total.name}", found)


def _require(name: str, broken: str, counterexample: str) -> None:
    if counterexample:
        raise ValueError(
            f"combine: {name} {broken}: {counterexample}; if your arrays never lead to such values, pass check=False"
        )


def _literals(identity: Any, dtypes: Sequence[np.dtype[Any]]) -> tuple[str, ...]:
    """Write a given identity down in the results' types."""
    values = identity if isinstance(identity, tuple | list) else (identity,) * len(dtypes)
    if len(values) != len(dtypes):
        raise ValueError(f"identity: {len(values)} numbers for {len(dtypes)} results")
    found = []
    for value, dtype in zip(values, dtypes, strict=True):
        try:
            with np.errstate(over="ignore"):
                number = dtype.type(value).item()
        except (OverflowError, TypeError, ValueError):
            number = None
        if number is None or (dtype.kind in "biu" and number != value):
            raise ValueError(f"identity: {value!r} is no {dtype.name}, which the result is")
        found.append(repr(number))
    return tuple(found)


def _identities(names: Sequence[str], dtypes: Sequence[np.dtype[Any]]) -> tuple[str, ...]:
    return tuple([
        repr(farthest(n, t) if n in ("max", "min") else t.type({"add": 0, "mul": 1, "and": 1, "or": 0}[n]).item())
        for n, t in zip(names, map(np.dtype, dtypes), strict=True)
    ])  # fmt: skip


def farthest(which: str, dtype: np.dtype[Any]) -> Any:
    """Give a value that stands behind all others, or beside them, where "max" or "min" is kept."""
    sign = -1 if which == "max" else 1
    if dtype.kind == "c":
        return complex(sign * np.inf, sign * np.inf)
    if dtype.kind == "f":
        return sign * np.inf
    if dtype.kind == "b":
        return which == "min"
    return int(np.iinfo(dtype).min if which == "max" else np.iinfo(dtype).max)


@lru_cache(maxsize=64)
def extreme(which: Extreme, dtype: np.dtype[Any]) -> Combine:
    """Give the reduction to the largest or smallest value."""
    if dtype.kind != "c":
        return pw(which).resolve([dtype])
    spec = pw(
        lambda p, q: where(_wins(which, q, p), q, p), identity=farthest(which, dtype), commutative=True, name=which
    )
    return spec.resolve([dtype])


@lru_cache(maxsize=64)
def first_extreme(which: Extreme, dtype: np.dtype[Any], place: np.dtype[Any] = _PLACE) -> Combine:
    """Give the reduction of pairs of a value and its place to the first one of the largest or smallest values.

    Places are of type `place`; vectors of narrower ones hold as many as of values.
    """
    identity = farthest(which, dtype), np.iinfo(place).max
    places = trace(lambda x: (x, index(0).astype(place)), [dtype])
    spec = pw(partial(first, which), identity=identity, commutative=True, name=f"first {which}")
    return spec.resolve([dtype, place], Source(places))


def first(which: Extreme, p: Any, q: Any) -> tuple[Any, Any]:
    """Keep, of two pairs of a value and its place, the largest or smallest value, and the first of equal ones."""
    (a, i), (b, j) = p, q
    alike = (a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype.kind in "fc" else a == b
    taken = _wins(which, b, a) | (alike & (j < i))
    return where(taken, b, a), where(taken, j, i)


def _wins(which: Extreme, a: Any, b: Any) -> Any:
    """Whether `a` stands before `b`."""
    before, behind = (np.greater, np.less_equal) if which == "max" else (np.less, np.greater_equal)
    if a.dtype.kind == "c":
        by_parts = before(a.real, b.real) | ((a.real == b.real) & before(a.imag, b.imag))
        return ~np.isnan(b) & (by_parts | np.isnan(a))
    # Not behind a number are those before it, and NaN.
    return ~behind(a, b) & ~np.isnan(b) if a.dtype.kind == "f" else before(a, b)
