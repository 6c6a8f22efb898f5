"""Combine operators: how the results of the parts of a dimension are put together.

`cc` concatenates, `pw(op)` combines point by point (a reduction), `ps(op)` gives every prefix (a scan). An operator
is written by name or as a Python function on (tuples of) results; it becomes an :class:`Operator` once the types of
the results are known. It must not know views or devices.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mdhnp.mdh.function import Function
from mdhnp.mdh.trace import trace

__all__ = ["CC", "Combine", "CombineSpec", "Operator", "cc", "operator", "ps", "pw"]

Kind = Literal["cc", "pw", "ps"]


@dataclass(frozen=True)
class Operator:
    """An associative operator on tuples of results.

    Attributes
    ----------
    name : str
        As printed.
    function : Function
        Takes the left operand's values, then the right one's; gives the combined values.
    identity : tuple of str or None
        Literals of the neutral element, one a result; None where there is none.
    commutative : bool
        Whether operands may be exchanged, which lets work-items take interleaved elements.
    """

    name: str
    function: Function
    identity: tuple[str, ...] | None
    commutative: bool


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


@dataclass(frozen=True)
class CombineSpec:
    """A combine operator before the types of the results are known; see :func:`pw` and :func:`ps`."""

    kind: Kind
    function: str | tuple[str, ...] | Callable[..., Any] | None = None
    identity: Any = None
    commutative: bool = True
    name: str = ""

    def resolve(self, dtypes: Sequence[np.dtype[Any]]) -> Combine:
        """Fix the operator for results of these types."""
        if self.function is None:
            return CC
        return Combine(self.kind, operator(self.function, dtypes, self.identity, self.commutative, self.name))


#: Concatenation: the results of the parts stand beside each other (a parallel, independent dimension).
cc = CombineSpec("cc")


def pw(function: Any, *, identity: Any = None, commutative: bool = True, name: str = "") -> CombineSpec:
    """Combine the results of the parts point by point: a reduction.

    Parameters
    ----------
    function : str, tuple of str, or callable
        ``"add"``, ``"mul"``, ``"max"``, ``"min"``, ``"and"``, ``"or"`` on every result; a tuple of such names, one a
        result; or an associative function of two values (of two tuples, where the MDH has several results).
    identity : number or tuple of numbers, optional
        The neutral element of a custom function. Without one the MDH works all the same, at some cost.
    commutative : bool
        False if a custom function must see its operands in order.
    name : str, optional
        How a custom function is printed.

    Returns
    -------
    CombineSpec

    Notes
    -----
    Source: Rasch & Gorlatch, "Multi-dimensional homomorphisms and their implementation in OpenCL", Section 2.

    Examples
    --------
    >>> import mdhnp
    >>> larger = mdhnp.pw(lambda a, b: np.where(b > a, b, a), name="larger")
    """
    return CombineSpec("pw", function, identity, commutative, name)


def ps(function: Any, *, identity: Any = None, commutative: bool = True, name: str = "") -> CombineSpec:
    """Give the combined result of every prefix: an inclusive scan. Parameters as in :func:`pw`.

    Examples
    --------
    >>> import mdhnp
    >>> running_maximum = mdhnp.md_hom(lambda x: x, {"i": mdhnp.ps("max")}, "x[i] -> y[i]")
    """
    return CombineSpec("ps", function, identity, commutative, name)


_NAMED = {"add": "+", "mul": "*", "max": "max", "min": "min", "and": "and", "or": "or"}
_UFUNC = {
    "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "and": np.logical_and,
    "or": np.logical_or,
}  # fmt: skip


def operator(
    function: str | tuple[str, ...] | Callable[..., Any],
    dtypes: Sequence[np.dtype[Any]],
    identity: Any = None,
    commutative: bool = True,
    name: str = "",
) -> Operator:
    """Make the operator for results of the given types.

    Raises
    ------
    ValueError
        For an unknown name, or ``"and"`` and ``"or"`` on results that are not boolean.
    TypeError
        If a custom function does not give one value a result.
    """
    count = len(dtypes)
    if callable(function):
        identities = None
        if identity is not None:
            values = identity if isinstance(identity, tuple | list) else (identity,) * count
            identities = tuple(repr(np.dtype(t).type(v).item()) for v, t in zip(values, dtypes, strict=True))
        traced = trace(function, [*dtypes, *dtypes], dtypes, "combine operator", count)
        return Operator(name or getattr(function, "__name__", "custom"), traced, identities, commutative)
    names = (function,) * count if isinstance(function, str) else function
    for given in names:
        if given not in _NAMED:
            raise ValueError(f"combine: unknown operator {given!r}; use one of {', '.join(_NAMED)} or a function")
    if len(names) != count:
        raise ValueError(f"combine: {len(names)} operators for {count} results; one each is needed")
    for given, dtype in zip(names, dtypes, strict=True):
        if given in ("and", "or") and np.dtype(dtype).kind != "b":
            raise ValueError(f"combine: {given!r} combines booleans, a result is {np.dtype(dtype).name}")

    def apply(left: Any, right: Any) -> Any:
        pairs = [(left, right)] if count == 1 else zip(left, right, strict=True)
        return tuple(_UFUNC[n](a, b) for n, (a, b) in zip(names, pairs, strict=True))

    shown = _NAMED[names[0]] if len(set(names)) == 1 else f"({', '.join(_NAMED[n] for n in names)})"
    traced = trace(apply, [*dtypes, *dtypes], dtypes, "combine operator", count)
    return Operator(shown, traced, tuple(_identity(n, np.dtype(t)) for n, t in zip(names, dtypes, strict=True)), True)


def _identity(name: str, dtype: np.dtype[Any]) -> str:
    if name in ("max", "min"):
        sign = -1 if name == "max" else 1
        if dtype.kind == "f":
            return repr(sign * float("inf"))
        if dtype.kind == "b":
            return repr(name == "min")
        info = np.iinfo(dtype)
        return repr(int(info.min if name == "max" else info.max))
    return repr(dtype.type({"add": 0, "mul": 1, "and": 1, "or": 0}[name]).item())
