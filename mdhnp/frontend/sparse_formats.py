"""Operands of scipy.sparse, taken apart into their entries, and the host's products with them.

Which arrays of which format say what; and what SciPy's `@` computes, or a compiled loop over rows.

Entries lie one after the other. Where groups are asked for, by the axis that a product keeps, those along it are
neighbours, and an array of offsets says where each group ends.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp import native
from mdhnp.arrays.array import Array
from mdhnp.arrays.sparse import SparseArray
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.plans import count_host
from mdhnp.cost import NumpyWork
from mdhnp.frontend.contraction import Terms
from mdhnp.frontend.semirings import Semiring
from mdhnp.mdh import MdHom

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


#: Vectors from which on SciPy takes longer than sorting the entries first and then a kernel.
_MANY = 32


def is_scipys(asked: Product, operands: Sequence[Kind], number: int) -> bool:
    """Whether it has multiplied few vectors before entries could be sorted by the axis that is kept."""
    if len(operands) != 2 or len(asked.terms[number]) != 2 or any([x.is_array for x in operands]):
        return False
    matrix, x, term, labels = operands[number], operands[1 - number], asked.terms[number], asked.terms[1 - number]
    kept, beside = [c for c in term if c in asked.output], [c for c in labels if c not in term]
    summed = [c for c in term if c not in kept]
    product = len(kept) == 1 >= len(beside) and (sorted(labels), sorted(asked.output)) == (
        sorted(summed + beside), sorted(kept + beside)
    )  # fmt: skip
    usual = (asked.ring, asked.dtype, asked.order) == (None, None, "K")
    if not product or not usual or np.float16 in (x.dtype, matrix.dtype):
        return False
    length, lying = matrix.shape[term.index(summed[0])], {"csr": term[0], "bsr": term[0], "csc": term[1]}
    whole = x.shape[labels.index(summed[0])] == length  # else it is repeated along the axis
    return whole and kept[0] != lying.get(str(matrix.format)) and prod(x.shape) < _MANY * length


def by_scipy(asked: Product, number: int, operands: Sequence[Any]) -> Any:
    matrix, x, term, labels = operands[number], operands[1 - number], asked.terms[number], asked.terms[1 - number]
    count_host(asked.name)
    found = (matrix if term[0] in asked.output else matrix.T) @ (x if labels[0] in term else x.T)
    extents = dict(zip(labels, x.shape, strict=True)) | dict(zip(term, matrix.shape, strict=True))
    # A row of SciPy's coo_array by a vector is a number.
    return np.reshape(found if asked.output[0] in term else found.T, [extents[c] for c in asked.output])


def scipys_function(layout: Layout, h: MdHom) -> NumpyFunction | None:
    """The host's product of a matrix in groups by rows, and a vector or a matrix; None for other products."""
    number, row, (column,) = layout.number, layout.grouped, layout.placed
    dense, inner = layout.terms[1 - number], layout.terms[number][1:]
    summed = tuple([c for c in dense if c in (column, column + WITHIN)])
    beside = tuple([c for c in dense if c not in summed])
    rows = tuple([row, *[c for c in inner if c == row + WITHIN]])
    straight = layout.output == (*rows, *beside)
    if (
        not h.inputs[1 - number].indirect  # one row, repeated
        or np.dtype(np.float16) in [v.dtype for v in h.inputs[:2]]
        or not (straight or layout.output == (*beside, *rows))
        or len(beside) > 1
        or len(inner) != 2 * (len(summed) - 1)
        or dense not in ((*summed, *beside), (*beside, *summed))
    ):
        return None
    sizes = dict(zip(layout.terms[1 - number], h.inputs[1 - number].shape, strict=True))
    count = prod([sizes[c] for c in summed])
    shape = prod([h.extents[h.names.index(c)] for c in rows]), count
    first, results = dense[: len(summed)] == summed, h.outputs[0].shape
    loop = None if inner else _loop([v.dtype for v in (*h.inputs, *h.outputs)])
    product = loop or _by_matrices(shape, h.inputs[number].shape[1:])

    def turned(*arrays: NDArray) -> NDArray:
        x = arrays[1 - number]
        x = x.reshape(count, *x.shape[len(summed) :]) if first else x.reshape(-1, count).T
        found = product(arrays[number], x, *arrays[2:])
        return np.ascontiguousarray(found if straight else found.T).reshape(results)

    as_given = number == 0 and first and straight and not inner
    moved = sum([v.element_bytes for v in (*h.inputs, *h.outputs)])
    work = NumpyWork(h.outputs[0].dtype.char, 0, h.points, moved, 0 if straight else h.outputs[0].element_bytes)
    name = "a loop over rows" if loop else f"scipy.sparse.{'bsr' if inner else 'csr'}_array.__matmul__"
    return NumpyFunction(name, product if as_given else turned, work)


def _loop(dtypes: Sequence[np.dtype[Any]]) -> Callable[..., NDArray] | None:
    """What is compiled for entries, a dense operand, indices, offsets and a result of such types; None for others."""
    first, second, places, begins, result = dtypes
    same = first == second == result and places == begins
    return native.multiply_rows if same and result.char in "fd" and places in (np.int32, np.int64) else None


def _by_matrices(shape: tuple[int, int], blocks: tuple[int, ...]) -> Callable[..., NDArray]:
    """SciPy's `@` of matrices with these entries, of blocks if these have extents."""
    from scipy.sparse import bsr_array, csr_array

    empty = bsr_array(shape, blocksize=blocks) if blocks else csr_array(shape)

    def multiply(elements: NDArray, x: NDArray, indices: NDArray, ends: NDArray) -> NDArray:
        matrix = object.__new__(type(empty))  # to make one with entries, SciPy looks at all of them
        vars(matrix).update(vars(empty), data=elements, indices=indices, indptr=ends)
        found: NDArray = matrix @ x
        return found

    return multiply
