"""What Arrays compute by operators and methods: calls of the package's functions."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mdhnp.arrays.opencl import is_array

if TYPE_CHECKING:
    from mdhnp.arrays.array import Array

__all__ = ["Operators", "check_cast", "ours"]


def ours(name: str) -> Callable[..., Any]:
    """Give the package's function of a name; those are made of calls, which are made of Arrays."""
    function: Callable[..., Any] = getattr(sys.modules["mdhnp"], name)
    return function


def check_cast(function: str, given: np.dtype[Any], wanted: np.dtype[Any], rule: Any = "same_kind") -> None:
    """Check that elements of a type may be put into an array, by default as results of NumPy's ufuncs may.

    Raises
    ------
    TypeError
        If they may not.
    """
    if not np.can_cast(given, wanted, rule):
        raise TypeError(f"{function}: {given} cannot be put into an array of {wanted} by the rule {rule!r}")


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Give an operator, the one with operands exchanged, and the one that changes the array."""

    def operator(self: "Array", other: Any) -> Any:
        return ours(name)(self, other) if _is_operand(other) else NotImplemented

    def exchanged(self: "Array", other: Any) -> Any:
        return ours(name)(other, self) if _is_operand(other) else NotImplemented

    def in_place(self: "Array", other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        result = ours(name)(self, other)
        check_cast(name, result.dtype, self.dtype)
        if result.shape != self.shape:
            raise ValueError(f"{name}: a result of shape {result.shape} cannot be put into one of {self.shape}")
        self[...] = result
        return self

    return operator, exchanged, in_place


def _compare(name: str) -> Callable[["Array", Any], Any]:
    return _binary(name)[0]


def _unary(name: str) -> Callable[["Array"], "Array"]:
    def operator(self: "Array") -> Any:
        return ours(name)(self)

    return operator


def _method(name: str) -> Callable[..., Any]:
    def method(self: "Array", *others: Any, **options: Any) -> Any:
        return ours(name)(self, *others, **options)

    method.__name__, method.__doc__ = name, f"Call :func:`mdhnp.{name}` with the array."
    return method


def _is_operand(x: Any) -> bool:
    return isinstance(x, _OPERANDS) or is_array(x)


class Operators:
    """What an Array computes.

    The package's functions of the same names say what methods take. Operators take numbers, ndarrays and pyopencl's
    arrays beside Arrays; what is not on the device is copied to it.
    """

    __slots__ = ()

    sum, prod, mean = _method("sum"), _method("prod"), _method("mean")
    min, max, argmin, argmax = _method("min"), _method("max"), _method("argmin"), _method("argmax")
    all, any, clip, round = _method("all"), _method("any"), _method("clip"), _method("round")
    conj, dot, squeeze, swapaxes = _method("conj"), _method("dot"), _method("squeeze"), _method("swapaxes")

    def var(self, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
        """Call :func:`mdhnp.var` with the array; `ddof` is its correction."""
        return ours("var")(self, axis, correction=ddof, keepdims=keepdims)

    def std(self, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
        """Call :func:`mdhnp.std` with the array; `ddof` is its correction."""
        return ours("std")(self, axis, correction=ddof, keepdims=keepdims)

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> Any:
        """Give the sums of all elements up to each one, along an axis or among all elements in C order."""
        return ours("cumulative_sum")(self._flat_unless(axis), axis or 0, dtype=dtype)

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> Any:
        """Give the products of all elements up to each one, as :meth:`cumsum` gives sums."""
        return ours("cumulative_prod")(self._flat_unless(axis), axis or 0, dtype=dtype)

    def _flat_unless(self, axis: int | None) -> Any:
        return ours("reshape")(self, (-1,)) if axis is None else self

    def __contains__(self, value: Any) -> bool:
        """Whether an element equals a value, or a part that of another array."""
        equal = self == value
        return equal is not False and bool(ours("any")(equal))

    __add__, __radd__, __iadd__ = _binary("add")
    __sub__, __rsub__, __isub__ = _binary("subtract")
    __mul__, __rmul__, __imul__ = _binary("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floor_divide")
    __mod__, __rmod__, __imod__ = _binary("remainder")
    __pow__, __rpow__, __ipow__ = _binary("pow")
    __matmul__, __rmatmul__, __imatmul__ = _binary("matmul")
    __and__, __rand__, __iand__ = _binary("bitwise_and")
    __or__, __ror__, __ior__ = _binary("bitwise_or")
    __xor__, __rxor__, __ixor__ = _binary("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _binary("bitwise_left_shift")
    __rshift__, __rrshift__, __irshift__ = _binary("bitwise_right_shift")
    __lt__, __gt__ = _compare("less"), _compare("greater")
    __le__, __ge__ = _compare("less_equal"), _compare("greater_equal")
    __eq__, __ne__ = _compare("equal"), _compare("not_equal")
    __neg__, __pos__ = _unary("negative"), _unary("positive")
    __abs__, __invert__ = _unary("abs"), _unary("bitwise_invert")


#: What an operator takes beside pyopencl's arrays.
_OPERANDS = (Operators, np.ndarray, np.generic, int, float, complex)
