"""Products with an operand of scipy.sparse: every format is one description, by indices that are elements of arrays.

An operand is taken apart into its entries, one after the other, and where they are along its axes. Where one of its
axes is kept, entries lie in groups by it, whose ends an array of offsets says: CSR is that by rows, CSC by columns, BSR
with blocks for entries. Where all axes are kept, so is the pattern; where none is, entries are just added up. It must
not know devices.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import Array
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.numpy_tier import NumpyFunction
from mdhnp.calls.operands import addressable, check_casts, is_sparse
from mdhnp.calls.plans import count_host
from mdhnp.cost import NumpyWork
from mdhnp.frontend.contraction import Functions, Terms, extents, sum_of_products
from mdhnp.frontend.semirings import Semiring, check_types, combining
from mdhnp.mdh import Affine, MdHom
from mdhnp.mdh.combine import CC
from mdhnp.mdh.mdhom import Segment
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.views import Access, Indirect, contiguous
from mdhnp.settings import config

NDArray = npt.NDArray[Any]
#: Labels of axes; one within a block has that of the blocks and a mark.
Labels = tuple[str, ...]

_ENTRY, _WITHIN = "entry", "'"
#: Vectors from which on SciPy takes longer than sorting the entries first and then a kernel.
_MANY = 32


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


class _Entries(NamedTuple):
    """What a sparse operand is made of."""

    #: With these entries in this order.
    matrix: Any
    elements: NDArray
    #: Of the axes, and how long blocks are along them.
    blocks: Mapping[str, int]
    #: Where entries are along axes; not along those that are not asked for.
    places: Mapping[str, NDArray]
    #: By which axis they lie in groups, and where these end.
    grouped: str = ""
    offsets: NDArray | None = None


class _Layout(NamedTuple):
    """How the arrays of a call are those of a product: operands, of one the entries, then places, then offsets."""

    terms: tuple[Labels, ...]
    output: Labels
    #: Which operand has the entries.
    number: int
    placed: Labels
    grouped: str


def sparse_product(asked: Product, operands: Sequence[Any], precision: Any) -> Any:
    """Multiply operands one of which is sparse: a dense result, or a sparse one of its pattern."""
    (number, *others) = [n for n, x in enumerate(operands) if is_sparse(x)]
    if others:
        raise TypeError(f"operands {number} and {others[0]} are sparse, so would the result be: multiply by SciPy's @")
    given = [x if is_sparse(x) or type(x) is Array else np.asarray(x) for x in operands]
    _check(asked, given, number)
    if _is_scipys(asked, given, number):
        return _by_scipy(asked, given, number)
    dense = [n for n in range(len(given)) if n != number]
    term = asked.terms[number]
    entries = _taken_apart(given[number], term, asked.output, {c for n in dense for c in asked.terms[n]})
    split, output = entries.blocks, _in_memory(asked, entries.grouped)
    terms: list[Labels] = [()] * len(given)
    for n in dense:
        given[n], terms[n] = _in_blocks(*_near(given[n], asked.terms[n], entries), split)
    inner = tuple([c + _WITHIN for c in split])
    given[number], terms[number] = entries.elements, (_ENTRY, *inner)
    pattern = set(term) <= set(output)
    cut = [(c, c + _WITHIN) if c in split else (c,) for c in output]
    kept = (_ENTRY, *inner) if pattern else tuple([c for part in cut for c in part])
    layout = _Layout(tuple(terms), kept, number, tuple(entries.places), entries.grouped)
    arrays = (*given, *entries.places.values(), *([] if entries.offsets is None else [entries.offsets]))
    found = call((_ROUTINES[asked.name], layout, asked.ring, asked.dtype), arrays, precision=precision)
    if pattern:
        return _like(entries.matrix, term, asked.output, found)
    if split:
        sizes = extents(asked.terms, [x.shape for x in operands])
        found = found.reshape([sizes[c] for c in output])
    return found if output == asked.output else found.transpose([output.index(c) for c in asked.output])


def _in_memory(asked: Product, grouped: str) -> str:
    """Labels of a dense result in the order of memory: by default by groups, each of which is written at once."""
    if asked.order == "F":
        return asked.output[::-1]
    return grouped + asked.output.replace(grouped, "") if grouped and asked.order != "C" else asked.output


def _near(x: Any, term: str, entries: _Entries) -> tuple[Any, str]:
    """Give an operand where what is read for one entry are neighbours, if need be a copy, as SciPy makes one."""
    beside = [c for c in term if c not in entries.places and c != entries.grouped]
    steps = {c: abs(step) for c, step, size in zip(term, x.strides, x.shape, strict=True) if size > 1}
    if not steps.keys() & {*beside} or min(steps, key=steps.__getitem__) not in entries.places:
        return x, term
    order = "".join([*[c for c in term if c not in beside], *beside])
    return x.transpose([term.index(c) for c in order]).copy(), order


def _check(asked: Product, operands: Sequence[Any], number: int) -> None:
    """Check types as calls on dense operands do, and what a sparse one may be asked for."""
    term, output, shape = asked.terms[number], asked.output, operands[number].shape
    if asked.ring is None:
        common = asked.dtype or np.result_type(*[x.dtype for x in operands])
        check_casts(operands, common, asked.out, asked.casting)
    else:
        check_types(operands, asked.ring, asked.dtype, asked.out, asked.casting)
    sizes = extents(asked.terms, [x.shape for x in operands])
    if len(set(term)) < len(term) or shape != tuple([sizes[c] for c in term]):
        raise TypeError(f"operand {number} is sparse, so that its axes have labels and extents of their own")
    kept = [c for c in output if c in term]
    if len(kept) > 1 and (len(kept) < len(term) or len(output) > len(term)):
        raise TypeError(
            f"operand {number} is sparse: of its axes {term!r} one, or none, is kept, or all of them and no others, "
            f"which {output!r} is not"
        )
    if len(kept) == len(term) and any([type(x) is Array for x in operands]):
        raise TypeError("a sparse result is the host's: give ndarrays, as Array.numpy() does")


def _in_blocks(x: Any, term: str, split: Mapping[str, int]) -> tuple[Any, Labels]:
    """Give an operand whose axes are cut as the blocks are; those of one element, which are repeated, are not."""
    shape: list[int] = []
    labels: list[str] = []
    for label, size in zip(term, x.shape, strict=True):
        cut = label in split and size != 1
        shape += [size // split[label], split[label]] if cut else [size]
        labels += [label, label + _WITHIN] if cut else [label]
    return (x.reshape(shape) if len(shape) > x.ndim else x), tuple(labels)


# Formats.


def _taken_apart(matrix: Any, term: str, output: str, read: set[str]) -> _Entries:
    """Take an operand apart so that its entries lie in groups where one axis is kept; `read` are axes of others."""
    kept = [c for c in term if c in output]
    grouped = kept[0] if len(kept) == 1 < len(term) else ""
    if matrix.ndim != 2 or matrix.format == "coo":
        return _of_coordinates(matrix.tocoo(copy=False), term, grouped, read)
    if matrix.format not in ("csr", "csc", "bsr"):
        matrix = matrix.tocsr()
    along = term[1] if matrix.format == "csc" else term[0]
    if grouped and grouped != along:
        matrix, term, along = _turned(matrix), term[::-1] if matrix.format == "bsr" else term, grouped
    across = term[0] if along == term[1] else term[1]
    split = dict(zip(term, matrix.data.shape[1:], strict=True)) if matrix.format == "bsr" else {}
    if grouped:
        places = {across: matrix.indices} if across in read else {}
        return _Entries(matrix, matrix.data, split, places, grouped, matrix.indptr)
    if len(matrix.indices) != matrix.indptr[-1]:
        matrix = matrix.copy()
        matrix.prune()
    first = np.arange(len(matrix.indptr) - 1, dtype=matrix.indices.dtype)
    found = {along: lambda: np.repeat(first, np.diff(matrix.indptr)), across: lambda: matrix.indices}
    return _Entries(matrix, matrix.data, split, {c: found[c]() for c in term if c in read})


def _turned(matrix: Any) -> Any:
    """The same entries in groups by the other axis; of blocks, those of the transposed matrix."""
    return matrix.T if matrix.format == "bsr" else matrix.tocsc() if matrix.format == "csr" else matrix.tocsr()


def _of_coordinates(matrix: Any, term: str, grouped: str, read: set[str]) -> _Entries:
    """Take a list of entries apart, which are sorted where they are to lie in groups."""
    coordinates = dict(zip(term, matrix.coords, strict=True))
    places = {c: coordinates[c] for c in term if c in read and c != grouped}
    if not grouped:
        return _Entries(matrix, matrix.data, {}, places)
    from scipy.sparse import coo_array

    count = np.arange(len(matrix.data))
    by = coo_array((count, (coordinates[grouped], count)), shape=(matrix.shape[term.index(grouped)], len(count)))
    by.has_canonical_format = True  # no two of its entries are at one place
    rows = by.tocsr()
    places = {c: found[rows.data] for c, found in places.items()}
    return _Entries(matrix, matrix.data[rows.data], {}, places, grouped, rows.indptr)


def _like(matrix: Any, term: str, output: str, elements: NDArray) -> Any:
    """Give a matrix of the same pattern with these elements, its axes in the order of `output`."""
    found = matrix.copy()
    found.data = np.asarray(elements)
    return found if term == output else found.transpose([term.index(c) for c in output] if len(term) > 2 else None)


# SciPy's own product.


def _is_scipys(asked: Product, operands: Sequence[Any], number: int) -> bool:
    """Whether it has multiplied few vectors before entries could be sorted by the axis that is kept."""
    if len(operands) != 2 or len(asked.terms[number]) != 2 or type(operands[1 - number]) is Array:
        return False
    matrix, x, term, labels = operands[number], operands[1 - number], asked.terms[number], asked.terms[1 - number]
    kept, beside = [c for c in term if c in asked.output], [c for c in labels if c not in term]
    summed = [c for c in term if c not in kept]
    product = len(kept) == 1 >= len(beside) and (sorted(labels), sorted(asked.output)) == (
        sorted(summed + beside), sorted(kept + beside)
    )  # fmt: skip
    usual = (asked.ring, asked.dtype, asked.order) == (None, None, "K") and config.mode.decides != "never"
    if not product or not usual or np.float16 in (x.dtype, matrix.dtype):
        return False
    length, lying = matrix.shape[term.index(summed[0])], {"csr": term[0], "bsr": term[0], "csc": term[1]}
    return kept[0] != lying.get(matrix.format) and length <= x.size < _MANY * length


def _by_scipy(asked: Product, operands: Sequence[Any], number: int) -> Any:
    matrix, x, term, labels = operands[number], operands[1 - number], asked.terms[number], asked.terms[1 - number]
    count_host(asked.name)
    found = (matrix if term[0] in asked.output else matrix.T) @ (x if labels[0] in term else x.T)
    return found if asked.output[0] in term else found.T


# The description.


def _describe(
    arrays: Sequence[NDArray], layout: _Layout, ring: Semiring | None, dtype: np.dtype[Any] | None
) -> Described:
    count = len(layout.terms)
    operands, places = arrays[:count], dict(zip(layout.placed, arrays[count:], strict=False))
    sizes = {layout.grouped: len(arrays[-1]) - 1} if layout.grouped else {}
    for term, x in zip(layout.terms, operands, strict=True):
        for label, size in zip(term, x.shape, strict=True):
            if label not in places:
                sizes[label] = max(size, sizes.get(label, 1)) if size else 0
    if any([len(x) != sizes[_ENTRY] for x in places.values()]):
        raise ValueError(f"operand {layout.number}: its arrays of indices are not as long as that of its entries")
    names = tuple(dict.fromkeys([*layout.output, _ENTRY, *sizes]))
    rank, entry, kept = len(names), names.index(_ENTRY), len(layout.output)
    still, through = Affine((0,) * rank), tuple([c == _ENTRY for c in names])

    def index(label: str, size: int) -> Affine:
        if label in places:
            source = count + layout.placed.index(label), 0
            return Indirect(still.coefficients, 0, source, through, size, trusted=True) if size != 1 else still
        return Affine.of(names.index(label), rank) if size == sizes[label] else still

    views = []
    for n, (term, x) in enumerate(zip(layout.terms, operands, strict=True)):
        access: Access = tuple([index(label, size) for label, size in zip(term, x.shape, strict=True)])
        views.append(array_view(chr(ord("A") + n) if n < 26 else f"A{n}", x, (access,)))
    views += [array_view(f"at_{c}", x, ((Affine.of(entry, rank),),)) for c, x in places.items()]
    segments: tuple[Segment, ...] = ()
    if layout.grouped:
        begin = Affine.of(names.index(layout.grouped), rank)
        views.append(array_view(f"of_{layout.grouped}", arrays[-1], ((begin,), (begin + Affine((0,) * rank, 1),))))
        segments = (Segment(entry, len(views) - 1, (0, 1), trusted=True),)
    functions = _functions(layout, operands, ring, dtype)
    parameters = tuple([v.dtype for v in views for _ in v.accesses])
    scalar, finish = functions.scalar.substituted(parameters), functions.finish
    if finish is not None:
        finish = finish.substituted((*scalar.dtypes, *parameters))
    shape = tuple([sizes[c] for c in names])
    out = contiguous("R", (finish or scalar).dtypes[0], shape, tuple(range(kept)))
    combine = (CC,) * kept + (functions.combine,) * (rank - kept)
    h = MdHom(shape, combine, scalar, tuple(views), (out,), finish, names, segments=segments)
    known = ring is None and count == 2 and layout.grouped and len(places) == 1 and dtype in (None, out.dtype)
    return Described(h, numpy=_scipys_function(layout, h) if known else None)


def _scipys_function(layout: _Layout, h: MdHom) -> NumpyFunction | None:
    """SciPy's product of a matrix in groups by rows, and a vector or a matrix; None for other products."""
    number, row, (column,) = layout.number, layout.grouped, layout.placed
    dense, inner = layout.terms[1 - number], layout.terms[number][1:]
    summed = tuple([c for c in dense if c in (column, column + _WITHIN)])
    beside = tuple([c for c in dense if c not in summed])
    rows = tuple([row, *[c for c in inner if c == row + _WITHIN]])
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
    from scipy.sparse import bsr_array, csr_array

    sizes = dict(zip(layout.terms[1 - number], h.inputs[1 - number].shape, strict=True))
    count = prod([sizes[c] for c in summed])
    shape = prod([h.extents[h.names.index(c)] for c in rows]), count
    first, results = dense[: len(summed)] == summed, h.outputs[0].shape

    blocks = h.inputs[number].shape[1:]
    empty = bsr_array(shape, blocksize=blocks) if inner else csr_array(shape)

    def compute(*arrays: NDArray) -> NDArray:
        elements, x = arrays[number], arrays[1 - number]
        matrix = copy(empty)  # to make one with entries, SciPy looks at all of them
        matrix.data, matrix.indices, matrix.indptr = elements, arrays[2], arrays[3]
        x = x.reshape(count, *x.shape[len(summed) :]) if first else x.reshape(-1, count).T
        found = matrix @ x
        return np.ascontiguousarray(found if straight else found.T).reshape(results)

    moved = sum([v.element_bytes for v in (*h.inputs, *h.outputs)])
    work = NumpyWork(h.outputs[0].dtype.char, 0, h.points, moved, 0 if straight else h.outputs[0].element_bytes)
    return NumpyFunction(f"scipy.sparse.{'bsr' if inner else 'csr'}_array.__matmul__", compute, work)


def _functions(
    layout: _Layout, operands: Sequence[NDArray], ring: Semiring | None, dtype: np.dtype[Any] | None
) -> Functions:
    types = tuple([x.dtype for x in operands])
    if ring is None:
        return sum_of_products(types, dtype or np.result_type(*types), False)
    fixed = frozenset([n for n, term in enumerate(layout.terms) if {*term} <= {*layout.output}])
    functions = combining(ring, types, dtype, fixed, len(layout.output))
    operator = functions.combine.operator
    if layout.grouped and (operator is None or operator.identity is None):
        raise ValueError(f"add: {ring} has no value for rows without entries; say pw(function, identity=...)")
    return functions


_ROUTINES = {name: Routine(name, _describe, None, addressable) for name in ("einsum", "matmul")}
