"""`allpairs`: every row of one matrix with every column of another."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.frontend.computation import Computation
from mdhnp.frontend.public import public
from mdhnp.mdh import cc, pw, trace
from mdhnp.mdh.combine import CombineSpec
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.skeletons.combining import Operator, combined_function, reduce, same
from mdhnp.skeletons.row_functions import RowFunction, read
from mdhnp.skeletons.skeleton import RESULTS, SYSTEMS, DTypes, Shape, Skeleton, access, broadcast, computation

#: What computations depend on for two arrays' shapes, and the computation for that and their types.
_Kind = tuple[Callable[[Shape, Shape], Any], Callable[[Any, DTypes], Computation]]


@public(
    """Compute something of each pair: ``allpairs(f)(a, b)[i, j] = f(a[i, :], b[:, j], d)``, d the length of both.

Four things customise it:

- ``allpairs(f)``: a Python function of a row, a column and their length. It may read elements by number, as in
  ``row[0]``, and compute with all of them, up to a reduction: ``np.sum(np.abs(row - column)) / d``.
- ``allpairs(text)``: OpenCL C text, whose last function gets both as a pointer to the first element, their
  length, and how far apart elements are. Nothing else is known of what it computes.
- ``allpairs(operator, zip)``: an operator that combines what `zip` gives for each of the d pairs of elements; each
  may be a name, a function, OpenCL C text, or the skeleton `reduce` or `zip`. The matrix product is
  ``allpairs("add", np.multiply)``.
- ``allpairs(zip(f))``: single elements are the pairs: ``allpairs(zip(f))(x, y)[i, j] = f(x[i], y[j])``, for arrays
  of any rank as a ufunc's `outer`.""",
    function="callable, operator, reduce or zip: As above.",
    zip="zip, callable or str, optional: As above.",
    results=f"{RESULTS} Of text of rows only.",
    returns="Skeleton: To be called on two arrays.",
    raises={
        "TypeError": "If a function is none; when called, if it cannot be recorded, or reduces what a reduction gave.",
        "ValueError": "When called, if shapes do not match, or a function reads more than 128 elements by number.",
    },
    notes=f"""``md_hom(zip, (++, ++, ⊕)) ∘ (A[i,k], B[k,j]) -> O[i,j]``; axes before the last two are broadcast as
matmul's. For the pairs of two sets of rows pass ``b.T``, which copies nothing. A function of rows is called to see what
it computes: numbers it refers to, the length as well, are constants.

Source: {SYSTEMS}, Sections 2.4 and 4.1.""",
    example="""
>>> manhattan = mdhnp.skeletons.allpairs(lambda row, column, d: np.sum(np.abs(row - column)))
>>> points = np.array([[0.0, 0.0], [3.0, 4.0]])
>>> manhattan(points, points.T)
array([[0., 7.],
       [7., 0.]])
>>> print(mdhnp.skeletons.allpairs("max", np.add).bind(points, points.T))
md_hom(x0 + x1, (++, ++, max)) ∘ (A[i,k], B[k,j]) -> O0[i,j]
>>> print(mdhnp.skeletons.allpairs(mdhnp.skeletons.zip(np.subtract)).bind([1, 2], [10, 20]))
md_hom(x0 - x1, (++, ++)) ∘ (A[i], B[j]) -> O0[i,j]""",
)
def allpairs(
    function: RowFunction | Operator | Skeleton,
    zip: Skeleton | Callable[..., Any] | str | None = None,
    *,
    results: Sequence[npt.DTypeLike] | npt.DTypeLike | None = None,
) -> Skeleton:
    text = isinstance(function, str) and "{" in function and zip is None
    if results is not None and not text:
        raise TypeError("results are those of OpenCL C text of rows")
    structure, make = _kind(function, zip, text, results)

    def of_two(shapes: tuple[Shape, ...]) -> Any:
        if len(shapes) != 2:
            raise TypeError(f"takes two arrays, {len(shapes)} are given")
        return structure(*shapes)

    return Skeleton(partial(allpairs, function, zip=zip, results=results), of_two, make)


def _kind(function: Any, zip: Any, text: bool, results: Any) -> _Kind:
    """Give one of three kinds of pairs."""
    reduces = isinstance(function, Skeleton) and function.operator is not None
    if isinstance(function, Skeleton) and not reduces:
        if zip is not None:
            raise TypeError("the first of two is an operator or a reduce, not a zip")
        return _elements(function)
    if zip is not None:
        if reduces and function.function is not same:
            raise TypeError("reduce: it has a zip already")
        found = reduce("add" if reduces else function, zip)
        operator = function.operator if reduces else found.operator
        assert operator is not None
        return _combined(combined_function(found, operator), operator, found.results)
    if text:
        return _combined(function, None, results)
    if callable(function) and not isinstance(function, Skeleton | np.ufunc):
        return _rows(function)
    raise TypeError(
        f"{function!r} alone is no function of a row, a column and their length; "
        "an operator combines what a second function makes of elements: allpairs(op, zip)"
    )


def _elements(zip: Skeleton) -> _Kind:
    """Pairs of elements."""
    function = zip.function
    assert function is not None

    def make(ranks: tuple[int, int], dtypes: DTypes) -> Computation:
        dims = dimension_names(sum(ranks))
        inputs = [access("A", dims[: ranks[0]]), access("B", dims[ranks[0] :])]
        return computation(function, dict.fromkeys(dims, cc), inputs, dtypes, zip.results)

    return lambda left, right: (len(left), len(right)), make


def _combined(scalar: Callable[..., Any] | str, operator: CombineSpec | None, results: Any) -> _Kind:
    """Pairs of rows and columns, element by element; without an operator as wholes, over which OpenCL C text walks."""

    def make(matched: "_Matched", dtypes: DTypes) -> Computation:
        at, reduced = (":", {}) if operator is None else (matched.along, {matched.along: operator})
        inputs = [matched.access(side, at) for side in (0, 1)]
        return computation(scalar, dict.fromkeys(matched.kept, cc) | reduced, inputs, dtypes, results)

    return _matched, make


def _rows(function: RowFunction) -> _Kind:
    """Pairs of rows and columns that a function is given as a whole."""

    def make(structure: "tuple[_Matched, int]", dtypes: DTypes) -> Computation:
        matched, length = structure
        reading = read(function, dtypes, length)
        inputs = [matched.access(side, matched.along if n is None else str(n)) for side, n in reading.accesses]
        given = tuple([dtypes[side] for side, _ in reading.accesses])
        values = trace(reading.scalar, given, what="allpairs").dtypes
        combine, finish = dict.fromkeys(matched.kept, cc), None
        if reading.reductions:
            combine |= {matched.along: pw(reading.reductions)}
            last = trace(reading.finish, [*values, *given], what="allpairs")
            if last.results != tuple(range(len(values))):  # else the totals are the results
                finish, values = reading.finish, last.dtypes
        return computation(reading.scalar, combine, inputs, given, count=len(values), finish=finish)

    return lambda left, right: (_matched(left, right), left[-1]), make


class _Matched(NamedTuple):
    """Names of dimensions: of results, of both operands without the rows' own, and of that one."""

    kept: tuple[str, ...]
    operands: tuple[tuple[str, ...], tuple[str, ...]]
    along: str

    def access(self, side: int, at: str) -> str:
        """Write the access to an element of a row (side 0) or a column down."""
        own = self.operands[side]
        return access("A", (*own, at)) if side == 0 else access("B", (*own[:-1], at, own[-1]))


def _matched(left: Shape, right: Shape) -> _Matched:
    if len(left) < 2 or len(right) < 2:
        raise ValueError(f"arrays of shapes {left} and {right}; both need rows and columns")
    if left[-1] != right[-2]:
        raise ValueError(f"rows of {left[-1]} elements in shape {left}, columns of {right[-2]} in {right}")
    rank, (stacked, others) = broadcast((left[:-2], right[:-2]))
    *kept, along = dimension_names(rank + 3)
    return _Matched(tuple(kept), ((*stacked, kept[-2]), (*others, kept[-1])), along)
