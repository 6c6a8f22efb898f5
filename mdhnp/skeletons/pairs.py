"""`allpairs`: every row of one matrix with every column of another."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.frontend.computation import Computation, md_hom
from mdhnp.mdh import cc, pw, trace
from mdhnp.mdh.mdhom import dimension_names
from mdhnp.skeletons.combining import Operator, Reduce
from mdhnp.skeletons.elementwise import Zip
from mdhnp.skeletons.rows import RowFunction, read
from mdhnp.skeletons.skeleton import Shape, Skeleton, access, broadcast, customised, outputs, result_count

__all__ = ["AllPairs"]


class AllPairs(Skeleton):
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
      of any rank as a ufunc's `outer`.

    Parameters
    ----------
    function : callable, operator, reduce or zip
        As above.
    zip : zip, callable or str, optional
        As above.
    results : dtype or sequence of dtype, optional
        What text of rows gives that returns none of NumPy's types, or several results through pointers.

    Raises
    ------
    TypeError
        If a function is none; when called, if it cannot be recorded, or reduces what a reduction gave.
    ValueError
        When called, if shapes do not match, or a function reads more than 128 elements by number.

    Notes
    -----
    ``md_hom(zip, (++, ++, ⊕)) ∘ (A[i,k], B[k,j]) -> O[i,j]``; axes before the last two are broadcast as matmul's. For
    the pairs of two sets of rows pass ``b.T``, which copies nothing. A function of rows is called to see what it
    computes: numbers it refers to, the length as well, are constants.

    Source: Gorlatch & Steuwer, "Towards High-Level Programming for Systems with Many Cores", Sections 2.4 and 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp import skeletons
    >>> manhattan = skeletons.allpairs(lambda row, column, d: np.sum(np.abs(row - column)))
    >>> points = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> manhattan(points, points.T)
    array([[0., 7.],
           [7., 0.]])
    >>> print(skeletons.allpairs("max", np.add).bind(points, points.T))
    md_hom(x0 + x1, (++, ++, max)) ∘ (A[i,k], B[k,j]) -> O0[i,j]
    >>> print(skeletons.allpairs(skeletons.zip(np.subtract)).bind([1, 2], [10, 20]))
    md_hom(x0 - x1, (++, ++)) ∘ (A[i], B[j]) -> O0[i,j]
    """

    def __init__(
        self,
        function: RowFunction | Operator | Reduce | Zip,
        zip: Zip | Callable[..., Any] | str | None = None,
        *,
        results: Sequence[npt.DTypeLike] | npt.DTypeLike | None = None,
    ) -> None:
        super().__init__()
        text = isinstance(function, str) and "{" in function and zip is None
        if results is not None and not text:
            raise TypeError("allpairs: results are those of OpenCL C text of rows")
        if isinstance(function, Zip):
            if zip is not None:
                raise TypeError("allpairs: the first of two is an operator or a reduce, not a zip")
            self._kind: _Elements | _Combined | _Rows | _Text = _Elements(function)
        elif zip is not None:
            self._kind = _Combined(Reduce(function, zip) if not isinstance(function, Reduce) else function.of(zip))
        elif isinstance(function, str) and text:
            self._kind = _Text(function, results)
        elif callable(function) and not isinstance(function, Reduce | np.ufunc):
            self._kind = _Rows(function)
        else:
            raise TypeError(
                f"allpairs: {function!r} alone is no function of a row, a column and their length; "
                "an operator combines what a second function makes of elements: allpairs(op, zip)"
            )

    def _structure(self, shapes: tuple[Shape, ...]) -> Any:
        if len(shapes) != 2:
            raise TypeError(f"allpairs: takes two arrays, {len(shapes)} are given")
        return self._kind.structure(*shapes)

    def _make(self, structure: Any, dtypes: tuple[np.dtype[Any], ...]) -> Computation:
        return self._kind.make(structure, dtypes)


class _Elements:
    """Pairs of elements."""

    def __init__(self, zip: Zip) -> None:
        self.zip = zip

    def structure(self, left: Shape, right: Shape) -> tuple[int, int]:
        return len(left), len(right)

    def make(self, ranks: tuple[int, int], dtypes: tuple[np.dtype[Any], ...]) -> Computation:
        dims = dimension_names(sum(ranks))
        count = result_count(self.zip.function, dtypes, self.zip.results)
        views = f"{access('A', dims[: ranks[0]])}, {access('B', dims[ranks[0] :])} -> {outputs(count, dims)}"
        return md_hom(self.zip.function, dict.fromkeys(dims, cc), views, results=self.zip.results or None)


class _Combined:
    """Pairs of rows and columns, element by element."""

    def __init__(self, reduce: Reduce) -> None:
        self.reduce = reduce

    def structure(self, left: Shape, right: Shape) -> "_Matched":
        return _matched(left, right)

    def make(self, matched: "_Matched", dtypes: tuple[np.dtype[Any], ...]) -> Computation:
        scalar, results = self.reduce.scalar(), self.reduce.zip.results
        views = f"{matched.access(0, matched.along)}, {matched.access(1, matched.along)}"
        views += f" -> {outputs(result_count(scalar, dtypes, results), matched.kept)}"
        combine = dict.fromkeys(matched.kept, cc) | {matched.along: self.reduce.operator}
        return md_hom(scalar, combine, views, results=results or None)


class _Rows:
    """Pairs of rows and columns that a function is given as a whole."""

    def __init__(self, function: RowFunction) -> None:
        self.function = customised(function, "allpairs")

    def structure(self, left: Shape, right: Shape) -> "tuple[_Matched, int]":
        return _matched(left, right), left[-1]

    def make(self, structure: "tuple[_Matched, int]", dtypes: tuple[np.dtype[Any], ...]) -> Computation:
        matched, length = structure
        reading = read(self.function, dtypes, length)
        accesses = [matched.access(side, matched.along if n is None else str(n)) for side, n in reading.accesses]
        given = [dtypes[side] for side, _ in reading.accesses]
        values = trace(reading.scalar, given, what="allpairs").dtypes
        combine, finish = dict.fromkeys(matched.kept, cc), None
        if reading.reductions:
            combine |= {matched.along: pw(reading.reductions)}
            last = trace(reading.finish, [*values, *given], what="allpairs")
            if last.results != tuple(range(len(values))):  # else the totals are the results
                finish, values = reading.finish, last.dtypes
        return md_hom(
            reading.scalar, combine, f"{', '.join(accesses)} -> {outputs(len(values), matched.kept)}", finish=finish
        )


class _Text:
    """Pairs of rows and columns over which OpenCL C text walks."""

    def __init__(self, text: str, results: Sequence[npt.DTypeLike] | npt.DTypeLike | None) -> None:
        self.text = text
        self.results = () if results is None else tuple(results) if isinstance(results, list | tuple) else (results,)

    def structure(self, left: Shape, right: Shape) -> "_Matched":
        return _matched(left, right)

    def make(self, matched: "_Matched", dtypes: tuple[np.dtype[Any], ...]) -> Computation:
        views = f"{matched.access(0, ':')}, {matched.access(1, ':')}"
        views += f" -> {outputs(result_count(self.text, dtypes, self.results), matched.kept)}"
        return md_hom(self.text, dict.fromkeys(matched.kept, cc), views, results=self.results or None)


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
        raise ValueError(f"allpairs: arrays of shapes {left} and {right}; both need rows and columns")
    if left[-1] != right[-2]:
        raise ValueError(f"allpairs: rows of {left[-1]} elements in shape {left}, columns of {right[-2]} in {right}")
    rank, (stacked, others) = broadcast((left[:-2], right[:-2]))
    *kept, along = dimension_names(rank + 3)
    return _Matched(tuple(kept), ((*stacked, kept[-2]), (*others, kept[-1])), along)
