"""Operands of scipy.sparse, taken apart into their entries: which arrays of which format say what.

Entries lie one after the other. Where groups are asked for, by the axis that a product keeps, those along it are
neighbours, and an array of offsets says where each group ends.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import Array
from mdhnp.arrays.sparse import SparseArray
from mdhnp.frontend.contraction import Terms
from mdhnp.frontend.semirings import Semiring

NDArray = npt.NDArray[Any]
#: Labels of axes; one within a block has that of the blocks and a mark.
Labels = tuple[str, ...]
#: The label of entries, and the mark.
ENTRY, WITHIN = "entry", "'"


class Product(NamedTuple):
    """A product of labelled operands, as a call asks for it."""

    name: str
    terms: Terms
    output: str
    #: To compute in; by default the operands' common type.
    dtype: np.dtype[Any] | None = None
    ring: Semiring | None = None
    order: str = "K"
    casting: Any = "safe"
    #: Type of the array that takes the result.
    out: np.dtype[Any] | None = None


class Layout(NamedTuple):
    """How the arrays of a call are those of a product: operands, of one the entries, then places, then offsets."""

    terms: tuple[Labels, ...]
    output: Labels
    #: Which operand has the entries.
    number: int
    placed: Labels
    grouped: str
    #: Whether arrays of pieces come last.
    in_pieces: bool = False


class Kind(NamedTuple):
    """What of an operand decides how it is taken apart: all but its elements."""

    #: None of a dense one.
    format: str | None
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    #: Of a dense one in memory; how long blocks are along the axes of a sparse one that has some.
    steps: tuple[int, ...]
    #: Whether its elements are a device's.
    is_array: bool

    @staticmethod
    def of(x: Any) -> "Kind":
        if isinstance(x, np.ndarray | Array):
            return Kind(None, x.shape, x.dtype, x.strides, type(x) is Array)
        steps = x.blocksize if x.format == "bsr" else ()
        return Kind(x.format, x.shape, x.dtype, steps, type(x) is SparseArray)


class Entries(NamedTuple):
    """How a sparse operand is taken apart."""

    #: Gives, of an operand, one with its entries in the order in which they are taken, and arrays: elements, where they
    #: are along axes, and where groups end.
    take: Callable[[Any], tuple[Any, tuple[Any, ...]]]
    #: Axes along which it is said where entries are: those that are asked for.
    placed: Labels
    #: By which axis they lie in groups.
    grouped: str
    #: Of the axes, and how long blocks are along them.
    blocks: Mapping[str, int]


def entries_of(kind: Kind, term: str, output: str, read: set[str]) -> Entries:
    """Say how an operand is taken apart so that entries lie in groups where one axis is kept.

    `read` are axes of others.
    """
    kept = [c for c in term if c in output]
    grouped = kept[0] if len(kept) == 1 < len(term) else ""
    if len(kind.shape) != 2 or kind.format == "coo":
        placed = tuple([c for c in term if c in read and c != grouped])
        return Entries(partial(_of_coordinates, term, grouped, placed), placed, grouped, {})
    form = kind.format if kind.format in ("csr", "csc", "bsr") else "csr"
    along = term[1] if form == "csc" else term[0]
    turned, order = grouped not in ("", along), term
    if kind.is_array and turned:
        taken, other = ("x @ S", "S @ x") if form == "csc" else ("S @ x", "x @ S")
        raise TypeError(
            f"a SparseArray S in {form} is for {taken}; for {other} make one of the matrix's "
            f"{'.tocsr()' if form == 'csc' else '.tocsc()'}"
        )
    if turned:
        along, order = grouped, term[::-1] if form == "bsr" else term
    across = term[0] if along == term[1] else term[1]
    blocks = dict(zip(order, kind.steps[::-1] if turned else kind.steps, strict=True)) if form == "bsr" else {}
    if grouped:
        return Entries(partial(_of_groups, turned, across in read), (across,) * (across in read), grouped, blocks)
    placed = tuple([c for c in term if c in read])
    return Entries(partial(_of_list, tuple([c == along for c in placed])), placed, "", blocks)


def _in_groups(matrix: Any) -> Any:
    return matrix if matrix.format in ("csr", "csc", "bsr") else matrix.tocsr()


def _of_groups(turned: bool, placed: bool, matrix: Any) -> tuple[Any, tuple[NDArray, ...]]:
    """Take entries in groups; `turned` ones by the other axis; of blocks, those of the transposed matrix."""
    matrix = _in_groups(matrix)
    if turned:
        matrix = matrix.T if matrix.format == "bsr" else matrix.tocsc() if matrix.format == "csr" else matrix.tocsr()
    return matrix, (matrix.data, *(matrix.indices,) * placed, matrix.indptr)


def _of_list(along: Sequence[bool], matrix: Any) -> tuple[Any, tuple[Any, ...]]:
    """Take entries one after the other, with where they are along axes: those of the groups, or the other one."""
    if type(matrix) is SparseArray:
        return matrix, (matrix.data, *[matrix._places(along=a) for a in along])
    matrix = _in_groups(matrix)
    data, indices = matrix.data[: matrix.indptr[-1]], matrix.indices[: matrix.indptr[-1]]
    first = np.arange(len(matrix.indptr) - 1, dtype=indices.dtype)
    return matrix, (data, *[np.repeat(first, np.diff(matrix.indptr)) if a else indices for a in along])


def _of_coordinates(term: str, grouped: str, placed: Labels, matrix: Any) -> tuple[Any, tuple[NDArray, ...]]:
    """Take a list of entries apart, which are sorted where they are to lie in groups."""
    matrix = matrix.tocoo(copy=False)
    coordinates = dict(zip(term, matrix.coords, strict=True))
    places = [coordinates[c] for c in placed]
    if not grouped:
        return matrix, (matrix.data, *places)
    from scipy.sparse import coo_array

    count = np.arange(len(matrix.data))
    by = coo_array((count, (coordinates[grouped], count)), shape=(matrix.shape[term.index(grouped)], len(count)))
    by.has_canonical_format = True  # no two of its entries are at one place
    rows = by.tocsr()
    return matrix, (matrix.data[rows.data], *[found[rows.data] for found in places], rows.indptr)


def like(term: str, output: str, matrix: Any, elements: Any) -> Any:
    """Give a matrix of the same pattern with these elements, its axes in the order of `output`."""
    if type(matrix) is SparseArray:
        return matrix._like(elements, turned=term != output)
    found = matrix.copy()
    found.data = np.asarray(elements)
    if found.format != "coo":
        found.indices = found.indices[: len(found.data)]  # others are left over
    return found if term == output else found.transpose([term.index(c) for c in output] if len(term) > 2 else None)
