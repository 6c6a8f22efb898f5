"""`reduce` and `scan`: elements, or what a function makes of them, combined by an associative operator."""

from collections.abc import Callable
from dataclasses import replace
from operator import index as whole
from typing import Any

import numpy as np

import mdhnp.mdh as m
from mdhnp.frontend.computation import Computation, md_hom
from mdhnp.frontend.reducing import axes_of, total_type
from mdhnp.mdh.combine import NAME_OF, CombineSpec
from mdhnp.mdh.function import literal_value
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.skeletons.elementwise import Zip
from mdhnp.skeletons.skeleton import Shape, Skeleton, access, broadcast, outputs, result_count

__all__ = ["Operator", "Reduce", "Scan"]

#: What an operator may be given as.
Operator = str | tuple[str, ...] | Callable[..., Any]


class _Combining(Skeleton):
    """A skeleton of an operator, and a function of the arrays' elements."""

    def __init__(
        self,
        operator: Operator,
        function: Zip | Callable[..., Any] | str | None,
        identity: Any,
        commutative: bool | None,
    ) -> None:
        super().__init__()
        if isinstance(operator, np.ufunc):
            operator = NAME_OF.get(operator.__name__, operator)
        self.operator = m.pw(operator, identity=identity, commutative=commutative)
        self.zip = function if isinstance(function, Zip) else Zip(_same if function is None else function)

    def scalar(self) -> Callable[..., Any] | str:
        """Give the function of elements, with results of the types in which NumPy combines those of its own."""
        function, named = self.zip.function, self.operator.function
        if isinstance(function, str) or not (isinstance(named, tuple) or named in NAME_OF.values()):
            return function

        def apply(*values: Any) -> Any:
            found = function(*values)
            given = list(found) if isinstance(found, tuple | list) else [found]
            each = named if isinstance(named, tuple) else (str(named),) * len(given)
            return tuple([_combined(name, v) for name, v in zip(each, given, strict=True)])

        return apply


def _same(*values: Any) -> Any:
    return values


def _combined(name: str, value: Any) -> Any:
    """Convert a value to the type in which NumPy combines it."""
    if isinstance(value, int | float):
        return value
    if name in ("add", "mul"):
        return value.astype(total_type(value.dtype))
    return value.astype(np.bool_) if name in ("and", "or") else value


class Reduce(_Combining):
    """Combine all elements: ``reduce(op)([a, b, c]) = a op b op c``.

    Parameters
    ----------
    operator : str, ufunc, callable, or tuple of str
        ``"add"``, ``"mul"``, ``"max"``, ``"min"``, ``"and"``, ``"or"`` or the ufunc that NumPy has for it; an
        associative Python function of two values, of two tuples where there are several results; OpenCL C text of one;
        a tuple of names, one a result.
    zip : zip, map, callable or str, optional
        Makes what is combined of one element of each array, so that a dot product is ``reduce("add", np.multiply)``. By
        default the elements themselves.
    axis : int or tuple of int, optional
        Which axes are combined, by default all; of several arrays those of their common shape.
    identity, commutative
        Of a custom operator, as :func:`mdhnp.pw` takes them.

    Raises
    ------
    ValueError
        When called, if the operator is none, arrays cannot be broadcast, or there is no element and no identity.
    numpy.exceptions.AxisError
        When called, if there is no such axis.
    TypeError
        As :func:`mdhnp.md_hom`.

    Notes
    -----
    ``md_hom(f, (⊕)) ∘ (A[i], B[i]) -> O[]``, in one pass: nothing is written between `zip` and the operator. Names and
    their ufuncs add in the types that NumPy adds in (int8 in int64), everything else keeps its type.
    Source: Gorlatch & Steuwer, "Towards High-Level Programming for Systems with Many Cores", Section 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp import skeletons
    >>> largest = skeletons.reduce("max")
    >>> largest(np.array([3, 1, 4]))
    array(4)
    >>> dot = skeletons.reduce("add", np.multiply)
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array(11.)
    """

    def __init__(
        self,
        operator: Operator,
        zip: Zip | Callable[..., Any] | str | None = None,
        *,
        axis: int | tuple[int, ...] | None = None,
        identity: Any = None,
        commutative: bool | None = None,
    ) -> None:
        super().__init__(operator, zip, identity, commutative)
        self.axis = axis

    def of(self, zip: Zip | Callable[..., Any] | str) -> "Reduce":
        """Give the reduction by this operator of what `zip` makes of elements."""
        if self.zip.function is not _same:
            raise TypeError("reduce: it has a zip already")
        found = Reduce("add", zip, axis=self.axis)
        found.operator = self.operator
        return found

    def _structure(self, shapes: tuple[Shape, ...]) -> Any:
        rank, indices = broadcast(shapes)
        return rank, indices, axes_of(self.axis, rank)

    def _make(self, structure: Any, dtypes: tuple[np.dtype[Any], ...]) -> Computation:
        rank, indices, axes = structure
        dims, scalar = dimension_names(rank), self.scalar()
        inputs = ", ".join([access(f"A{n}", each) for n, each in enumerate(indices)])
        kept = [name for d, name in enumerate(dims) if d not in axes]
        combine = {name: m.cc if name in kept else self.operator for name in dims}
        views = f"{inputs} -> {outputs(result_count(scalar, dtypes, self.zip.results), kept)}"
        return md_hom(scalar, combine, views, results=self.zip.results or None)


class Scan(_Combining):
    """Combine all elements up to each one: ``scan(op)([a, b, c]) = [a, a op b, a op b op c]``.

    Parameters
    ----------
    operator, identity, commutative
        As in `reduce`; a function of tuples for several arrays.
    axis : int, optional
        Along which axis; may be left out if there is one only.
    exclusive : bool
        Whether an element itself is left out: the first result is the operator's identity then.

    Raises
    ------
    ValueError
        When called, if the operator is none, there are several axes and none is named, or an exclusive scan has no
        identity.
    numpy.exceptions.AxisError
        When called, if there is no such axis.
    TypeError
        As :func:`mdhnp.md_hom`.

    Notes
    -----
    ``md_hom(id, (ps(⊕))) ∘ A[i] -> O[i]``, of ``A[i-1]`` where it is exclusive. Source: Gorlatch & Steuwer, "Towards
    High-Level Programming for Systems with Many Cores", Section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp import skeletons
    >>> skeletons.scan("add")(np.array([1, 2, 3]))
    array([1, 3, 6])
    >>> skeletons.scan("add", exclusive=True)(np.array([1, 2, 3]))
    array([0, 1, 3])
    """

    def __init__(
        self,
        operator: Operator,
        *,
        axis: int | None = None,
        exclusive: bool = False,
        identity: Any = None,
        commutative: bool | None = None,
    ) -> None:
        super().__init__(operator, None, identity, commutative)
        self.axis = axis
        self.exclusive = exclusive

    def _structure(self, shapes: tuple[Shape, ...]) -> Any:
        rank, indices = broadcast(shapes)
        if self.axis is None and rank > 1:
            raise ValueError(f"scan: arrays of {rank} axes; name one by axis")
        (axis,) = axes_of(0 if self.axis is None else whole(self.axis), rank)
        return rank, indices, axis

    def _make(self, structure: Any, dtypes: tuple[np.dtype[Any], ...]) -> Computation:
        rank, indices, axis = structure
        dims, scalar = dimension_names(rank), self._before(axis) if self.exclusive else self.scalar()
        moved = [[f"{i}-1" if self.exclusive and i == dims[axis] else i for i in each] for each in indices]
        arrays = [f"A{n}" for n in range(len(moved))]
        inputs = ", ".join([access(a, each) for a, each in zip(arrays, moved, strict=True)])
        combine = dict.fromkeys(dims, m.cc) | {dims[axis]: replace(self.operator, kind="ps")}
        views = f"{inputs} -> {outputs(result_count(scalar, dtypes, ()), dims)}"
        boundary = dict.fromkeys(arrays, "nearest") if self.exclusive else None
        return md_hom(scalar, combine, views, boundary=boundary)

    def _before(self, axis: int) -> Callable[..., Any]:
        """Give the function of the elements before, which are the identity at the first place."""
        inclusive = self.scalar()
        assert callable(inclusive)

        def apply(*values: Any) -> Any:
            given = inclusive(*values)
            neutral = _identity(self.operator, [v.dtype for v in given])
            return tuple([np.where(m.index(axis) == 0, e, v) for e, v in zip(neutral, given, strict=True)])

        return apply


def _identity(spec: CombineSpec, dtypes: list[np.dtype[Any]]) -> list[Any]:
    """Give an operator's identity in values' own types."""
    operator = replace(spec, check=False).resolve(dtypes).operator
    if operator is None or operator.identity is None:
        raise ValueError("scan: an exclusive one begins with the operator's identity; pass it by identity")
    return [literal_value(literal, t) for literal, t in zip(operator.identity, dtypes, strict=True)]
