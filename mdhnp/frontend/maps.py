"""Elementwise calls: a function applied to elements of Arrays that stand in the same place.

Takes functions of NumPy's, or of traced values, and the operands of a call. NumPy decides how types are promoted and
shapes broadcast. It must not know devices.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mdhnp.arrays import Array, transfer
from mdhnp.arrays.array import is_array, make
from mdhnp.calls import Described, Routine, call, observe
from mdhnp.calls.operands import SUPPORTED, addressable
from mdhnp.calls.request import array
from mdhnp.errors import ARGUMENTS, raise_named
from mdhnp.frontend.contraction import ELLIPSIS
from mdhnp.frontend.map_reduce import Arrays, pointwise
from mdhnp.frontend.pairwise import keep_order
from mdhnp.frontend.public import repeatable
from mdhnp.mdh import MdHom, trace
from mdhnp.mdh.function import Function
from mdhnp.mdh.views import broadcast_shapes

if TYPE_CHECKING:  # which loads OpenCL
    from mdhnp.runtime.handle import Device

#: Python's own numbers, which take the type of what they are combined with, and one of each.
_WEAK: dict[type, Any] = {int: 0, float: 0.0, complex: 0j}
#: Numbers with a type of their own, and all numbers.
_STRONG = (np.generic, bool)
_NUMBERS = (*_STRONG, *_WEAK)
_COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
#: When operands do not fit.
APART = "If they cannot be broadcast, or are on several devices."
_WORDS = {"b": "booleans", "iu": "integers", "f": "floats", "c": "complex numbers"}

#: Types of operands: dtypes, and the types of Python's numbers.
_Types = tuple[Any, ...]
_Computing = Callable[..., Any]


class Elementwise:
    """A function of elements: NumPy's of that name, or one of traced values.

    `takes` has the kinds of types that it takes, as ``numpy.dtype.kind`` has them. `promoted` gives, from operands'
    types, those that Python's numbers among them get; by default as the ufunc promotes.
    """

    def __init__(
        self, name: str, takes: str, compute: _Computing | None = None, promoted: _Computing | None = None
    ) -> None:
        self.name, self.takes = name, takes
        numpys = getattr(np, name)
        self._promoted = promoted or (lambda types: numpys.resolve_dtypes((*types, None))[:-1])
        self._numbers: dict[_Types, _Types] = {}
        self._traced: Callable[..., Function] = lru_cache(maxsize=256)(lambda *types: trace(compute or numpys, types))
        self.what = (Routine(name, self._describe, numpys, addressable),)

    def __call__(self, *operands: Any) -> Array:
        """Apply the function to operands of which some may be no Arrays."""
        return call(self.what, self._lifted(operands))

    def _describe(self, arrays: Arrays) -> MdHom | Described:
        """Describe a map whose result lies in memory as NumPy's: in the operands' order where they have another."""
        types = tuple([a.dtype for a in arrays])
        for t in types:
            if t.kind not in self.takes:
                raise TypeError(f"takes {_kinds(self.takes)}, not {t}")
        function = self._traced(*types)
        try:
            shape = broadcast_shapes(*[a.shape for a in arrays])
        except ValueError:
            shapes = " and ".join([str(a.shape) for a in arrays])
            raise ValueError(f"operands of shapes {shapes} cannot be broadcast together") from None
        rank = len(shape)
        labels = ELLIPSIS[:rank]
        memory = keep_order(tuple([labels[rank - a.ndim :] for a in arrays]), labels, arrays)
        if memory == labels:
            return pointwise(function, arrays, shape)
        seen = [memory.index(label) for label in labels]
        order = tuple([labels.index(label) for label in memory])
        return Described(pointwise(function, arrays, shape, order), None, lambda found: array(found).transpose(seen))

    def _lifted(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Make Arrays of numbers: were they constants of kernels, each would need another one."""
        key = tuple([x.dtype if type(x) is Array else type(x) for x in operands])
        wanted = self._numbers.get(key)
        if wanted is None:
            operands = tuple([unlisted(x) for x in operands])
            wanted = self._types_of_numbers(operands)
            if not any([isinstance(x, np.ndarray) or is_array(x) for x in operands]):  # whose types the key lacks
                self._numbers[key] = wanted
        device = next((x.device for x in operands if type(x) is Array), None)
        return tuple([x if t is None else self._lift(x, t, device) for x, t in zip(operands, wanted, strict=True)])

    def _types_of_numbers(self, operands: tuple[Any, ...]) -> _Types:
        """Give the type that each number among operands is to have, and None for arrays."""
        types = tuple([_type(n, x) for n, x in enumerate(operands)])
        if not any([type(x) is Array or is_array(x) for x in operands]):
            raise TypeError("no operand is an Array; use mdhnp.asarray, or NumPy's function")
        wanted = self._promoted(types) if any([t in _WEAK for t in types]) else types
        return tuple([w if isinstance(x, _NUMBERS) else None for x, w in zip(operands, wanted, strict=True)])

    def _lift(self, x: Any, dtype: np.dtype[Any], device: "Device | None") -> Any:
        """Make an array of a number, on the device of Arrays where there are any.

        What is beyond all integers of a type compares as infinity does.
        """
        try:
            number: Any = np.asarray(x, None if isinstance(x, _STRONG) else dtype)
        except OverflowError:
            if self.name not in _COMPARISONS or dtype.kind not in "iu":
                raise
            number = np.asarray(np.inf if x > 0 else -np.inf, np.float16)
        if device is not None and number.dtype in SUPPORTED:
            number = make(transfer.constant(number, device) if device.own_memory else number, device)
        if observe.learning and type(number) is Array and number.dtype == dtype:
            observe.lifted(x, number)
        return number


def unlisted(x: Any) -> Any:
    """Give an ndarray of a list or tuple, else what is given; ValueError where Arrays in it are on a device alone."""
    if not isinstance(x, list | tuple):
        return x
    if any([_is_apart(each) for each in x]):
        raise ValueError("takes no list of Arrays in a device's own memory; use mdhnp.stack")
    return np.asarray(x)


def _is_apart(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return any([_is_apart(each) for each in x])
    return type(x) is Array and x.device.own_memory


def _type(n: int, x: Any) -> Any:
    """Give an operand's type as NumPy promotes it."""
    if isinstance(x, Array | np.ndarray | np.generic) or is_array(x):
        return x.dtype
    if isinstance(x, bool):
        return np.dtype(bool)
    for kind in _WEAK:
        if isinstance(x, kind):
            return kind
    raise TypeError(f"operand {n} is of type {type(x).__name__}, no Array, ndarray, list or number")


def common(types: _Types) -> _Types:
    """Give the one type that NumPy's functions but ufuncs compute in, for each operand."""
    return (np.result_type(*[_WEAK.get(t, t) for t in types]),) * len(types)


def _kinds(takes: str) -> str:
    """Say in words what types a function takes."""
    words = [word for letters, word in _WORDS.items() if letters[0] in takes]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def unary(
    name: str, takes: str, summary: str, example: str, result: str, compute: _Computing | None = None
) -> Callable[[Array], Array]:
    """Make the public function of one operand; `example` is a list of elements, and `result` what it makes of them."""
    entry = Elementwise(name, takes, compute)
    what = entry.what

    @repeatable(
        summary,
        x=f"Array: Of {_kinds(takes)}.",
        returns=f"Array: New, of the same shape and of the type that ``numpy.{name}`` gives.",
        raises={"TypeError": "If `x` is no Array, or of another type."},
        example=f">>> x = mdhnp.asarray({example})\n>>> mdhnp.{name}(x).numpy()\narray({result})",
        name=name,
        guard=False,
        numbers=True,
    )
    def function(x: Array, /) -> Array:
        try:
            return call(what, (x,)) if type(x) is Array else entry(x)
        except ARGUMENTS as error:
            raise_named(name, error)

    return function


def operand_of(takes: str) -> str:
    """Say what an operand of a function of two is."""
    where = "At least one is an Array, to whose device others are copied. They are broadcast."
    return f"Array, ndarray, list or number: Of {_kinds(takes)}. {where}"


def binary(name: str, takes: str, summary: str, example: str, number: str, result: str) -> Callable[[Any, Any], Array]:
    """Make the public function of two operands; `example` and `number` are such, and `result` what it makes of them."""
    entry = Elementwise(name, takes)
    what = entry.what

    @repeatable(
        summary,
        x1=operand_of(takes),
        x2=operand_of(takes),
        returns=f"Array: New, of the type that ``numpy.{name}`` gives; Python's numbers take the type of the other "
        "operand.",
        raises={
            "TypeError": "If neither is an Array, or one is of another type.",
            "ValueError": APART,
            "OverflowError": "If the other operand's type has no such integer.",
        },
        example=f">>> x = mdhnp.asarray({example})\n>>> mdhnp.{name}(x, {number}).numpy()\narray({result})",
        name=name,
        guard=False,
        numbers=True,
    )
    def function(x1: Any, x2: Any, /) -> Array:
        try:
            return call(what, (x1, x2)) if type(x1) is Array and type(x2) is Array else entry(x1, x2)
        except ARGUMENTS as error:
            raise_named(name, error)

    return function
