"""What a function of whole rows computes: which elements it reads by number, and what it reduces all elements to.

The function is called with `Row`s in place of arrays. Elementwise operations on those are recorded for one element that
stands for all; a reduction ends that: its result is a single value. So the function is ``finish ∘ reduce ∘ zip``.
Knows no arrays and no views.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from mdhnp.mdh import Function, Instruction, trace
from mdhnp.mdh.trace import Symbol
from mdhnp.skeletons.combining import converted

#: (row or column, number) of an element that is read by its number.
Element = tuple[int, int]
#: From a row (0) and a column (1), and their length, to a value or several.
RowFunction = Callable[[Any, Any, int], Any]

#: More elements than this are not read by number: written out they would take seconds to compile.
MOST_ELEMENTS = 128

_REDUCTIONS = {
    np.sum: "add", np.prod: "mul", np.max: "max", np.amax: "max", np.min: "min", np.amin: "min", np.all: "and",
    np.any: "or", np.add: "add", np.multiply: "mul", np.maximum: "max", np.minimum: "min", np.logical_and: "and",
    np.logical_or: "or",
}  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """What a function of rows of some length reads by number, and the operators that it reduces whole rows by."""

    function: RowFunction = field(compare=False)
    length: int
    elements: tuple[Element, ...]
    reductions: tuple[str, ...]

    @property
    def accesses(self) -> tuple[tuple[int, int | None], ...]:
        """(row or column, number) of each access, None for all elements; a row's are before the column's."""
        whole = [(side, None) for side in (0, 1)] if self.reductions else []
        return tuple(sorted([*whole, *self.elements], key=lambda a: (a[0], -1 if a[1] is None else a[1])))

    def scalar(self, *values: Any) -> Any:
        """Give what is reduced, or the function's own result if nothing is."""
        found: list[Any] = []

        def reduced(_: str, value: Symbol) -> Symbol:
            found.append(value)
            return value

        result = self._called(values, reduced)
        return tuple(found) if found else result

    def finish(self, *values: Any) -> Any:
        """Give the function's result from what the reductions gave, and all accesses."""
        totals = iter(values[: len(self.reductions)])
        return self._called(values[len(self.reductions) :], lambda *_: next(totals))

    def _called(self, values: Sequence[Any], reduced: Callable[[str, Symbol], Any]) -> Any:
        known = dict(zip(self.accesses, values, strict=True))
        return _Tracing(self.length, lambda side, number: known[side, number], reduced).call(self.function)


def read(function: RowFunction, dtypes: Sequence[np.dtype[Any]], length: int) -> Reading:
    """Find out what a function reads of rows and columns of these types."""
    elements: dict[Element, None] = {}
    names: list[str] = []

    def collect(*sides: Symbol) -> Any:
        def element(side: int, number: int | None) -> Symbol:
            if number is not None:
                elements[side, number] = None
            return sides[side]

        def reduced(name: str, value: Symbol) -> Symbol:
            body = value.recorder.body
            if not Function((), tuple(body), (value.number,)).used_parameters() <= {0, 1}:
                raise TypeError("the function reduces what another reduction gave; that takes a second call")
            names.append(name)
            # Stands for the total: a parameter that only a value made of totals depends on.
            return value.recorder.add(Instruction("param", (), value.dtype, len(sides) + len(names)))

        return _Tracing(length, element, reduced).call(function)

    trace(collect, dtypes, what="allpairs")
    if len(elements) > MOST_ELEMENTS:
        raise ValueError(
            f"the function reads {len(elements)} elements by number, at most {MOST_ELEMENTS} are written "
            "out; compute with whole rows, as in np.sum(row * column)"
        )
    if not (elements or names):
        raise ValueError("the function uses neither the row nor the column")
    return Reading(function, length, tuple(sorted(elements)), tuple(names))


@dataclass(frozen=True)
class _Tracing:
    """One call of the function with symbols: what elements and reductions are there."""

    length: int
    element: Callable[[int, int | None], Symbol]
    reduced: Callable[[str, Symbol], Any]

    def call(self, function: RowFunction) -> Any:
        return function(Row(self, 0), Row(self, 1), self.length)


def _method(name: str) -> Callable[["_Each"], Any]:
    return lambda elements: elements._reduced(name, elements)


class _Each(NDArrayOperatorsMixin):
    """All elements of something as long as a row, in a function being traced."""

    def __init__(self, pass_: _Tracing, each: Callable[[], Any]) -> None:
        self._pass = pass_
        self.each = each  # gives the symbol of any one of them

    def __len__(self) -> int:
        return self._pass.length

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and ufunc is np.matmul and not kwargs:
            return self._reduced("add", np.multiply(*inputs))
        if method == "reduce" and ufunc in _REDUCTIONS and not kwargs:
            return self._reduced(_REDUCTIONS[ufunc], inputs[0])
        if method != "__call__" or kwargs:
            raise TypeError(f"np.{ufunc.__name__} ({method}) of rows is not to be had")
        return self._of(ufunc(*[_one(v) for v in inputs]))

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if func in (np.dot, np.vdot) and len(args) == 2 and not kwargs:
            return self._reduced("add", np.multiply(*args))
        if func in _REDUCTIONS and len(args) == 1 and not kwargs:
            return self._reduced(_REDUCTIONS[func], args[0])
        return self._of(func(*[_one(v) for v in args], **kwargs))

    def __bool__(self) -> bool:
        raise TypeError("a row being traced has no truth; write np.where(condition, a, b) instead of if")

    def astype(self, dtype: Any) -> "_Each":
        """All elements converted, as ``ndarray.astype`` does."""
        return self._of(self.each().astype(dtype))

    sum, prod, max, min, all, any = map(_method, ("add", "mul", "max", "min", "and", "or"))

    def _of(self, value: Any) -> "_Each":
        return _Each(self._pass, lambda: value)

    def _reduced(self, name: str, elements: "_Each") -> Any:
        return self._pass.reduced(name, converted(name, elements.each()))

    __hash__ = None  # type: ignore[assignment]


class Row(_Each):
    """A row or a column in a function being traced: ``row[0]`` is an element, ``row - column`` all of them."""

    def __init__(self, pass_: _Tracing, side: int) -> None:
        super().__init__(pass_, partial(pass_.element, side, None))
        self._side = side

    def __getitem__(self, number: int) -> Any:
        found = operator.index(number)
        if not -len(self) <= found < len(self):
            raise IndexError(f"element {found} of a row of {len(self)}")
        return self._pass.element(self._side, found % len(self))


def _one(value: Any) -> Any:
    return value.each() if isinstance(value, _Each) else value
