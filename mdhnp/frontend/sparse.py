"""Products with an operand of scipy.sparse: every format is one description, by indices that are elements of arrays.

An operand is taken apart into its entries, one after the other, and where they are along its axes. Where one of its
axes is kept, entries lie in groups by it, whose ends an array of offsets says: CSR is that by rows, CSC by columns, BSR
with blocks for entries. Where all axes are kept, so is the pattern; where none is, entries are just added up. It must
not know devices.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.arrays.array import Array
from mdhnp.arrays.types import SUPPORTED
from mdhnp.calls import Described, Routine, call
from mdhnp.calls.operands import addressable, check_casts, check_order, is_sparse, parts, unsupported
from mdhnp.frontend.contraction import Functions, extents, sum_of_products
from mdhnp.frontend.semirings import Semiring, check_types, combining
from mdhnp.frontend.sparse_formats import (
    ENTRY,
    WITHIN,
    Entries,
    Kind,
    Labels,
    Layout,
    Product,
    by_scipy,
    entries_of,
    is_scipys,
    like,
    scipys_function,
)
from mdhnp.mdh import Affine, MdHom
from mdhnp.mdh.combine import CC
from mdhnp.mdh.mdhom import Segment
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.pieces import segments_in_pieces
from mdhnp.mdh.views import Access, Indirect, contiguous
from mdhnp.settings import config

NDArray = npt.NDArray[Any]


class _ProductPlan(NamedTuple):
    """How products of operands of the same kinds are made: all that is known before their elements are."""

    number: int
    #: What is called.
    what: tuple[Any, ...]
    take: Callable[[Any], tuple[Any, tuple[Any, ...]]]
    #: Dense operands that are copied, or cut as blocks are, by their number.
    turned: tuple[tuple[int, Callable[[Any], Any]], ...]
    #: Gives a sparse result, from an operand with the entries in the order in which they were taken, and new ones.
    give: Callable[[Any, Any], Any] | None
    #: SciPy's product, where that takes less time.
    scipys: Callable[[Sequence[Any]], Any] | None
    #: What is called of a SparseArray with long rows on a GPU, if not the same.
    cut: tuple[Any, ...]

    def multiply(self, operands: list[Any]) -> Any:
        if self.scipys is not None and config.mode.decides != "never":
            dense = [x for n, x in enumerate(operands) if n != self.number]
            # If kernels could compute with them, too: others are refused, or NumPy's, whatever the format is.
            if operands[self.number].dtype in SUPPORTED and unsupported(dense) is None:
                return self.scipys(operands)
        for n, turn in self.turned:
            operands[n] = turn(operands[n])
        matrix, (operands[self.number], *others) = self.take(operands[self.number])
        pieces = matrix._pieces() if self.cut and matrix.device.own_memory else ()
        found = call(self.cut if pieces else self.what, (*operands, *others, *pieces))
        return found if self.give is None else self.give(matrix, found)


def sparse_product(read: Callable[..., Product]) -> Callable[..., Any]:
    """Make what multiplies operands one of which is sparse: a dense result, or a sparse one of its pattern.

    `read` gives the product that is asked for, from the operands' shapes and the call's other arguments, hashable.
    """

    @lru_cache(maxsize=256)
    def planned(kinds: tuple[Kind, ...], *arguments: Any) -> _ProductPlan:
        return _plan(read([k.shape for k in kinds], *arguments), kinds)

    def multiply(operands: Sequence[Any], *arguments: Any) -> Any:
        given = [
            x if isinstance(x, np.ndarray) or type(x) is Array or is_sparse(x) else np.asarray(x) for x in operands
        ]
        kinds = tuple([Kind.of(x) for x in given])
        for x, kind in zip(given, kinds, strict=True):
            if kind.format in ("csr", "csc"):
                parts.setdefault(type(x), ("shape", "data", "indices", "indptr"))
        return planned(kinds, *arguments).multiply(given)

    return multiply


def _plan(asked: Product, kinds: Sequence[Kind]) -> _ProductPlan:
    (number, *others) = [n for n, k in enumerate(kinds) if k.format is not None]
    # A sparse operand is in no order, so that not all of them are in Fortran's.
    asked = asked._replace(order="C" if asked.order in ("A", "a") else check_order(asked.order, ()))
    if others:
        raise TypeError(f"operands {number} and {others[0]} are sparse, so would the result be: multiply by SciPy's @")
    _check(asked, kinds, number)
    dense = [n for n in range(len(kinds)) if n != number]
    term = asked.terms[number]
    entries = entries_of(kinds[number], term, asked.output, {c for n in dense for c in asked.terms[n]})
    split, output = entries.blocks, _in_memory(asked, entries.grouped)
    terms: list[Labels] = [()] * len(kinds)
    turned = list[tuple[int, Callable[[Any], Any]]]()
    for n in dense:
        terms[n], turn = _turn(kinds[n], asked.terms[n], entries)
        turned += [] if turn is None else [(n, turn)]
    inner = tuple([c + WITHIN for c in split])
    terms[number] = (ENTRY, *inner)
    pattern = set(term) <= set(output)
    cut = [(c, c + WITHIN) if c in split else (c,) for c in output]
    kept = (ENTRY, *inner) if pattern else tuple([c for part in cut for c in part])
    layout = Layout(tuple(terms), kept, number, entries.placed, entries.grouped)
    sizes = extents(asked.terms, [k.shape for k in kinds])
    shape = tuple([sizes[c] for c in output]) if split else None
    axes = None if output == asked.output else tuple([output.index(c) for c in asked.output])
    give = partial(like, term, asked.output) if pattern else None
    seen = (None, None) if pattern else (shape, axes)
    scipys = partial(by_scipy, asked, number) if is_scipys(asked, kinds, number) else None
    what = (_ROUTINES[asked.name], layout, asked.ring, asked.dtype, *seen)
    grouped = kinds[number].is_array and entries.grouped
    of_pieces = (what[0], layout._replace(in_pieces=True), *what[2:]) if grouped else ()
    return _ProductPlan(number, what, entries.take, tuple(turned), give, scipys, of_pieces)


def _in_memory(asked: Product, grouped: str) -> str:
    """Labels of a dense result in the order of memory: by default by groups, each of which is written at once."""
    if asked.order == "F":
        return asked.output[::-1]
    return grouped + asked.output.replace(grouped, "") if grouped and asked.order != "C" else asked.output


def _turn(kind: Kind, term: str, entries: Entries) -> tuple[Labels, Callable[[Any], Any] | None]:
    """Give the labels of a dense operand as it is taken, and what turns it into that, where it is not that already.

    What is read for one entry are neighbours, if need be in a copy, as SciPy makes one. Axes are cut as blocks are, but
    for those of one element, which are repeated.
    """
    beside = [c for c in term if c not in entries.placed and c != entries.grouped]
    steps = {c: abs(step) for c, step, size in zip(term, kind.steps, kind.shape, strict=True) if size > 1}
    near = not steps.keys() & {*beside} or min(steps, key=steps.__getitem__) not in entries.placed
    order = term if near else "".join([*[c for c in term if c not in beside], *beside])
    axes = [term.index(c) for c in order]
    shape: list[int] = []
    labels: list[str] = []
    for label, size in zip(order, [kind.shape[axis] for axis in axes], strict=True):
        length = entries.blocks.get(label, 0) if size != 1 else 0
        shape += [size // length, length] if length else [size]
        labels += [label, label + WITHIN] if length else [label]
    cut = len(shape) > len(axes)

    def turn(x: Any) -> Any:
        x = x if near else x.transpose(axes).copy()
        return x.reshape(shape) if cut else x

    return tuple(labels), turn if cut or not near else None


def _check(asked: Product, operands: Sequence[Kind], number: int) -> None:
    """Check types as calls on dense operands do, and what a sparse one may be asked for."""
    term, output, shape = asked.terms[number], asked.output, operands[number].shape
    if asked.ring is None:
        common = asked.dtype or np.result_type(*[x.dtype for x in operands])
        check_casts(operands, common, asked.out, asked.casting)
    else:
        check_types(operands, asked.ring, asked.dtype, asked.out, asked.casting)
    sizes = extents(asked.terms, [x.shape for x in operands])
    if len(set(term)) < len(term) or shape != tuple([sizes[c] for c in term]):
        raise TypeError(
            f"operand {number} is sparse, so that its axes {term!r} have labels and extents of their own; for a "
            "diagonal take SciPy's .diagonal()"
        )
    kept = [c for c in output if c in term]
    if len(kept) > 1 and (len(kept) < len(term) or len(output) > len(term)):
        raise TypeError(
            f"operand {number} is sparse: of its axes {term!r} one, or none, is kept, or all of them and no others, "
            f"which {output!r} is not"
        )
    if len(kept) == len(term):
        _check_pattern(operands[number], operands, turned=output != term)


def _check_pattern(matrix: Kind, operands: Sequence[Kind], *, turned: bool) -> None:
    """Raise TypeError where a result with the pattern of a matrix cannot be where the operands are."""
    if matrix.is_array and matrix.format == "bsr" and turned:
        raise TypeError("a result of a SparseArray in bsr has its axes in the same order: blocks are not transposed")
    if not matrix.is_array and any([x.is_array for x in operands]):
        raise TypeError(
            "a sparse result is where the sparse operand is: give a mdhnp.SparseArray of it, or ndarrays, as "
            "Array.numpy() does"
        )


# The description.


def _describe(
    arrays: Sequence[NDArray],
    layout: Layout,
    ring: Semiring | None,
    dtype: np.dtype[Any] | None,
    shape: tuple[int, ...] | None,
    axes: tuple[int, ...] | None,
) -> Described:
    """Describe a product; its result, of such a shape where blocks are put together, has its axes in such an order."""
    count = len(layout.terms)
    arrays, pieces = (arrays[:-2], arrays[-1]) if layout.in_pieces else (arrays, None)
    operands, places = arrays[:count], dict(zip(layout.placed, arrays[count:], strict=False))
    sizes = {layout.grouped: len(arrays[-1]) - 1} if layout.grouped else {}
    for term, x in zip(layout.terms, operands, strict=True):
        for label, size in zip(term, x.shape, strict=True):
            if label not in places:
                sizes[label] = max(size, sizes.get(label, 1)) if size else 0
    if any([len(x) != sizes[ENTRY] for x in places.values()]):
        raise ValueError(f"operand {layout.number}: its arrays of indices are not as long as that of its entries")
    names = tuple(dict.fromkeys([*layout.output, ENTRY, *sizes]))
    rank, entry, kept = len(names), names.index(ENTRY), len(layout.output)
    still, through = Affine((0,) * rank), tuple([c == ENTRY for c in names])

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
    points = tuple([sizes[c] for c in names])
    out = contiguous("R", (finish or scalar).dtypes[0], points, tuple(range(kept)))
    combine = (CC,) * kept + (functions.combine,) * (rank - kept)
    h = MdHom(points, combine, scalar, tuple(views), (out,), finish, names, segments=segments)

    def seen(found: Sequence[Any]) -> Any:
        result = found[0] if shape is None else found[0].reshape(shape)
        return result if axes is None else result.transpose(axes)

    give = None if shape is axes is None else seen
    if pieces is not None:
        cut = segments_in_pieces(h, len(pieces) - 1)
        return Described(h, lambda read: read[:-2], give) if cut is None else Described(cut, None, give)
    usual = ring is None and out.dtype == np.result_type(*[x.dtype for x in operands])
    known = usual and count == 2 and layout.grouped and len(places) == 1
    return Described(h, None, give, numpy=scipys_function(layout, h) if known else None)


def _functions(
    layout: Layout, operands: Sequence[NDArray], ring: Semiring | None, dtype: np.dtype[Any] | None
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
