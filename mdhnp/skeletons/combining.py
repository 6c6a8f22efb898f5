"""`reduce` and `scan`: elements, or what a function makes of them, combined by an associative operator."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import mdhnp.mdh as m
from mdhnp.frontend.computation import Computation
from mdhnp.frontend.map_reduce import axes_of, total_type
from mdhnp.frontend.products import integer
from mdhnp.frontend.public import public
from mdhnp.mdh.combine import NAME_OF, CombineSpec
from mdhnp.mdh.function import literal_value
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.skeletons import elementwise
from mdhnp.skeletons.skeleton import SYSTEMS, DTypes, Shape, Skeleton, accesses, broadcast, computation

#: What an operator may be given as.
Operator = str | tuple[str, ...] | Callable[..., Any]

_OPERATOR = (
    'str, ufunc, callable, or tuple of str: "add", "mul", "max", "min", "and", "or" or the ufunc that NumPy has for '
    "it; an associative Python function of two values, of two tuples where there are several results; OpenCL C text of "
    "one; a tuple of names, one a result."
)
_OF_OWN = "optional: Of a custom operator, as :func:`mdhnp.pw` takes it."
_RAISES = {
    "ValueError": "When called, if the operator is none, arrays cannot be broadcast, or there is no element and no "
    "identity.",
    "TypeError": "As :func:`mdhnp.md_hom`.",
}


@public(
    "Combine all elements: ``reduce(op)([a, b, c]) = a op b op c``.",
    operator=_OPERATOR,
    zip="zip, map, callable or str, optional: Makes what is combined of one element of each array, so that a dot "
    'product is ``reduce("add", np.multiply)``. By default the elements themselves.',
    axis="int or tuple of int, optional: Which axes are combined, by default all; of several arrays those of their "
    "common shape.",
    identity=_OF_OWN,
    commutative=_OF_OWN,
    returns="Skeleton: To be called on arrays.",
    raises=_RAISES,
    notes="``md_hom(f, (⊕)) ∘ (A[i], B[i]) -> O[]``, in one pass: nothing is written between `zip` and the operator. "
    "Names and their ufuncs add in the types that NumPy adds in (int8 in int64), everything else keeps its type. "
    f"Source: {SYSTEMS}, Section 2.4.",
    example="""
>>> largest = mdhnp.skeletons.reduce("max")
>>> largest(np.array([3, 1, 4]))
array(4)
>>> dot = mdhnp.skeletons.reduce("add", np.multiply)
>>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
array(11.)""",
)
def reduce(
    operator: Operator,
    zip: Skeleton | Callable[..., Any] | str | None = None,
    *,
    axis: int | tuple[int, ...] | None = None,
    identity: Any = None,
    commutative: bool | None = None,
) -> Skeleton:
    elements = _elements(zip)

    def structure(shapes: tuple[Shape, ...]) -> Any:
        rank, indices = broadcast(shapes)
        return rank, indices, axes_of(axis, rank)

    def make(structure: Any, dtypes: DTypes) -> Computation:
        rank, indices, axes = structure
        scalar = combined_function(elements, combine)
        operators = {name: combine if d in axes else m.cc for d, name in enumerate(dimension_names(rank))}
        return computation(scalar, operators, accesses(indices), dtypes, elements.results)

    combine = _operator(operator, identity, commutative)
    origin = partial(reduce, operator, zip=zip, axis=axis, identity=identity, commutative=commutative)
    return Skeleton(origin, structure, make, elements.function, elements.results, combine)


@public(
    "Combine all elements up to each one: ``scan(op)([a, b, c]) = [a, a op b, a op b op c]``.",
    operator=f"{_OPERATOR} For several arrays a function of tuples.",
    axis="int, optional: Along which axis; may be left out if there is one only.",
    exclusive="bool: Whether an element itself is left out: the first result is the operator's identity then.",
    identity=_OF_OWN,
    commutative=_OF_OWN,
    returns="Skeleton: To be called on arrays.",
    raises=_RAISES
    | {
        "ValueError": "When called, if the operator is none, there are several axes and none is named, or an exclusive "
        "scan has no identity.",
    },
    notes=f"``md_hom(id, (ps(⊕))) ∘ A[i] -> O[i]``, of ``A[i-1]`` where it is exclusive. Source: "
    f"{SYSTEMS}, Section 4.2.",
    example="""
>>> mdhnp.skeletons.scan("add")(np.array([1, 2, 3]))
array([1, 3, 6])
>>> mdhnp.skeletons.scan("add", exclusive=True)(np.array([1, 2, 3]))
array([0, 1, 3])""",
)
def scan(
    operator: Operator,
    *,
    axis: int | None = None,
    exclusive: bool = False,
    identity: Any = None,
    commutative: bool | None = None,
) -> Skeleton:
    elements = _elements(None)

    def structure(shapes: tuple[Shape, ...]) -> Any:
        rank, indices = broadcast(shapes)
        if axis is None and rank > 1:
            raise ValueError(f"arrays of {rank} axes; name one by axis")
        return rank, indices, *axes_of(0 if axis is None else integer("axis", axis), rank)

    def make(structure: Any, dtypes: DTypes) -> Computation:
        rank, indices, along = structure
        dims, scalar = dimension_names(rank), combined_function(elements, combine)
        if exclusive:
            scalar = _preceding(scalar, combine, along)
        moved = [[f"{i}-1" if exclusive and i == dims[along] else i for i in each] for each in indices]
        operators = dict.fromkeys(dims, m.cc) | {dims[along]: replace(combine, kind="ps")}
        boundary = {f"A{n}": "nearest" for n in range(len(moved))} if exclusive else None
        return computation(scalar, operators, accesses(moved), dtypes, boundary=boundary)

    combine = _operator(operator, identity, commutative)
    origin = partial(scan, operator, axis=axis, exclusive=exclusive, identity=identity, commutative=commutative)
    return Skeleton(origin, structure, make, elements.function, elements.results, combine)


def combined_function(elements: Skeleton, combine: CombineSpec) -> Callable[..., Any] | str:
    """Give the function of elements, with results of the types in which NumPy combines those of its own."""
    function, named = elements.function, combine.function
    assert function is not None
    if isinstance(function, str) or not (isinstance(named, tuple) or named in NAME_OF.values()):
        return function

    def apply(*values: Any) -> Any:
        found = function(*values)
        given = list(found) if isinstance(found, tuple | list) else [found]
        names = named if isinstance(named, tuple) else (str(named),) * len(given)
        return tuple([converted(name, v) for name, v in zip(names, given, strict=True)])

    return apply


def _elements(given: Skeleton | Callable[..., Any] | str | None) -> Skeleton:
    return given if isinstance(given, Skeleton) else elementwise.zip(same if given is None else given)


def same(*values: Any) -> Any:
    return values


def _operator(operator: Operator, identity: Any, commutative: bool | None) -> CombineSpec:
    if isinstance(operator, np.ufunc):
        operator = NAME_OF.get(operator.__name__, operator)
    return m.pw(operator, identity=identity, commutative=commutative)


def converted(name: str, value: Any) -> Any:
    """Convert a value to the type in which NumPy combines it."""
    if isinstance(value, int | float):
        return value
    if name in ("add", "mul"):
        return value.astype(total_type(value.dtype))
    return value.astype(np.bool_) if name in ("and", "or") else value


def _preceding(inclusive: Any, combine: CombineSpec, axis: int) -> Callable[..., Any]:
    """Give the function of the element before each one, which is the identity at the first place."""

    def apply(*values: Any) -> Any:
        given = inclusive(*values)
        dtypes = [v.dtype for v in given]
        operator = replace(combine, check=False).resolve(dtypes).operator
        if operator is None or operator.identity is None:
            raise ValueError("an exclusive one begins with the operator's identity; pass it by identity")
        neutral = [literal_value(literal, t) for literal, t in zip(operator.identity, dtypes, strict=True)]
        return tuple([np.where(m.index(axis) == 0, e, v) for e, v in zip(neutral, given, strict=True)])

    return apply
