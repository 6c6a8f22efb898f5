"""From labelled axes to an MdHom: multiply all operands, add over the labels that the output lacks.

Or apply any other function to an element of each, and combine what it gives by any other operator. Takes subscripts and
shapes; every character of a term labels one axis. Operands' memory is described, never read. It must not know devices,
nor the way of a call.
"""

import re
import string
from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.mdh import Affine, MdHom, pw, trace
from mdhnp.mdh.combine import CC, Combine
from mdhnp.mdh.function import Function
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.views import Access, Indirect, View, contiguous, row_major

#: Operands, of which types and layouts are used.
Arrays = Sequence[npt.NDArray[Any]]
#: One string of labels an operand.
Terms = tuple[str, ...]

#: Labels of the axes that an ellipsis stands for, outermost first: Greek letters and what follows them.
ELLIPSIS = "".join(chr(ord("α") + n) for n in range(64))

_LETTERS = frozenset(string.ascii_letters)


@lru_cache(maxsize=1024)
def parse(subscripts: str, ranks: tuple[int, ...]) -> tuple[Terms, str]:
    """Read einsum's subscripts for operands of these ranks: each operand's labels, and the result's.

    Ellipses are written out, and the output is explicit.

    Examples
    --------
    >>> parse("...ij, ...jk", (3, 2))
    (('αij', 'jk'), 'αik')
    """
    left, arrow, right = subscripts.partition("->")
    terms = left.split(",")
    check_count(terms, ranks, subscripts)
    return parse_terms(terms, right if arrow else None, ranks, subscripts)


def check_count(terms: Sequence[str], ranks: Sequence[int], subscripts: str) -> None:
    """Raise ValueError where subscripts do not have one term an operand."""
    if not ranks or len(terms) != len(ranks):
        raise ValueError(f"{subscripts!r} has {len(terms)} terms for {len(ranks)} operands")


def parse_terms(split: Sequence[str], right: str | None, ranks: tuple[int, ...], subscripts: str) -> tuple[Terms, str]:
    """Read subscripts that were split into terms and output, if any; `subscripts`, for errors, is the whole."""
    given = ["".join(term.split()) for term in split]
    for n, term in enumerate(given):
        _check_term(term, f"operand {n}", subscripts)
    widths = [
        rank - len(term.replace("...", "")) if "..." in term else 0 for term, rank in zip(given, ranks, strict=True)
    ]
    broadcast = max(widths)
    terms = []
    for n, (term, rank, width) in enumerate(zip(given, ranks, widths, strict=True)):
        labels = term.replace("...", ELLIPSIS[broadcast - width : broadcast]) if width >= 0 else term
        if len(labels) != rank:
            raise ValueError(f"operand {n} has {rank} axes, its subscripts {term!r} are for {len(labels)}")
        terms.append(labels)
    every = "".join(terms)
    if right is None:
        once = sorted(label for label in set(every) if every.count(label) == 1 and label not in ELLIPSIS)
        return tuple(terms), ELLIPSIS[:broadcast] + "".join(once)
    right = "".join(right.split())
    _check_term(right, "the output", subscripts)
    if broadcast > 0 and "..." not in right:
        raise ValueError(f"the output of {subscripts!r} lacks '...' for {broadcast} broadcast axes")
    output = right.replace("...", ELLIPSIS[: max(broadcast, 0)])
    for label in output:
        if output.count(label) > 1:
            raise ValueError(f"the output of {subscripts!r} has {label!r} several times")
        if label not in every:
            raise ValueError(f"{label!r} in the output of {subscripts!r} is in no operand")
    return tuple(terms), output


def _check_term(term: str, where: str, subscripts: str) -> None:
    labels = term.replace("...", "", 1)
    if not _LETTERS.issuperset(labels):
        character = next(c for c in labels if c not in _LETTERS)
        raise ValueError(
            f"{character!r} in {where} of {subscripts!r}; letters, ',', '->' and one '...' a term are read"
        )


def extents(terms: Terms, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """Find each label's extent, in order of appearance; an axis of extent 1 is repeated along longer ones."""
    sizes: dict[str, int] = {}
    for n, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        own: dict[str, int] = {}
        for label, size in zip(term, shape, strict=True):
            if own.setdefault(label, size) != size:
                raise ValueError(f"operand {n}: axes labelled {label!r} have {own[label]} and {size} elements")
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                raise ValueError(f"operand {n}: axis {label!r} has {size} elements, {known} in an operand before it")
    return sizes


class Functions(NamedTuple):
    """What is done with an element of each operand, how that is combined, and what is stored of it."""

    scalar: Function
    combine: Combine
    finish: Function | None = None


def dimensions(terms: Terms, output: str, arrays: Arrays) -> dict[str, int]:
    """Give the extents of an MDH's dimensions by label: the output's, then the others in order of appearance."""
    sizes = extents(terms, [a.shape for a in arrays])
    return {label: sizes[label] for label in (*output, *sizes)}


def combined(
    terms: Terms, output: str, arrays: Arrays, functions: Functions, types: Sequence[np.dtype[Any]] | None = None
) -> MdHom:
    """Make the MDH that combines over all labels that are not in the output; all else as in :func:`contraction`.

    `types` are those of the results as NumPy names them, long or long long, where that is to stay.
    """
    sizes = dimensions(terms, output, arrays)
    rank = len(sizes)
    indices = {label: Affine.of(d, rank) for d, label in enumerate(sizes)}
    first = Affine((0,) * rank)
    types = types or (functions.finish or functions.scalar).dtypes
    count = len(arrays) + len(types)
    names = string.ascii_uppercase if count <= 26 else [f"A{n}" for n in range(count)]
    inputs = []
    for name, term, a in zip(names, terms, arrays, strict=False):
        access = [indices[n] if size == sizes[n] else first for n, size in zip(term, a.shape, strict=True)]
        inputs.append(array_view(name, a, (tuple(access),)))
    combine = (CC,) * len(output) + (functions.combine,) * (rank - len(output))
    shape, kept = tuple(sizes.values()), tuple(range(len(output)))
    outputs = tuple([contiguous(name, t, shape, kept) for name, t in zip(names[len(arrays) :], types, strict=False)])
    return MdHom(
        shape, combine, functions.scalar, tuple(inputs), outputs, functions.finish, tuple(sizes), checked=False
    )


def contraction(terms: Terms, output: str, arrays: Arrays, dtype: Any = None, conjugate: bool = False) -> MdHom:
    """Make the MDH that multiplies the operands and adds over all labels that are not in the output.

    A label repeated in one term walks the diagonal. It computes in `dtype`, by default the operands' common type:
    booleans multiply by `and`, add by `or`; float16 is computed in float32. The first operand may be conjugated. The
    output's labels are its first dimensions; the result is C-contiguous. Of operands only types and layouts are used.

    Examples
    --------
    >>> print(contraction(("ik", "kj"), "ij", (np.ones((2, 3)), np.ones((3, 4)))))
    md_hom(*, (++, ++, +)) ∘ (A[i,k], B[k,j]) -> C[i,j]
    """
    types = tuple([a.dtype for a in arrays])
    result = np.dtype(dtype) if dtype is not None else np.result_type(*types)
    return combined(terms, output, arrays, sum_of_products(types, result, conjugate), (result,))


@lru_cache(maxsize=1024)
def sum_of_products(types: tuple[np.dtype[Any], ...], result: np.dtype[Any], conjugate: bool) -> Functions:
    """Give the product of one element of each operand, how these are added, and what rounds the sums."""
    # As in NumPy, products and sums of float16 are float32 ones, rounded once.
    computed = np.dtype(np.float32) if result == np.float16 else result
    logical = result == np.bool_
    multiply = np.logical_and if logical else np.multiply

    def product(*values: Any) -> Any:
        first, *others = [v.astype(result).astype(computed) for v in values]
        return reduce(multiply, [np.conjugate(first) if conjugate else first, *others])

    finish = None if computed == result else trace(lambda total, *_: total.astype(result), [computed, *types])
    add = pw("or" if logical else "add").resolve([computed])
    return Functions(trace(product, types), add, finish)


# Indices in subscripts: a term ``j[i]`` is an operand of which the element at ``i`` is an index along ``j``. It stands
# for a tensor over ``ij`` that is 1 where ``j`` is its element, and else 0: where ``j`` labels an axis of another one,
# elements of that are gathered, and where it labels one of the result, products are scattered. Sources: the one-hot
# operands of opt_einsum's issue 75; Won et al., "Insum: Sparse GPU Kernels Simplified and Optimized with Indirect
# Einsums", which names arrays.

_INDEXED = re.compile(r"\s*([A-Za-z])\s*\[([^\[\]]*)\]\s*")


class IndexedTerms(NamedTuple):
    """The terms of subscripts with indices: those of operands that are multiplied, and of those that are indices."""

    #: Which operands are multiplied, and their labels.
    values: tuple[int, ...]
    terms: Terms
    #: Which are indices, their labels, and of each the one that it indexes.
    indices: tuple[int, ...]
    index_terms: Terms
    indexed: str
    output: str
    #: Of labels that only the output has.
    extents: tuple[tuple[str, int], ...]

    @property
    def kept(self) -> str:
        """Labels of the output that are not indexed."""
        return "".join([label for label in self.output if label not in self.indexed])

    def walked(self, term: str) -> str:
        """The labels by which a term's axes move, indices followed to where they are read."""
        by = dict(zip(self.indexed, self.index_terms, strict=True))
        return "".join([self.walked(by[label]) if label in by else label for label in term])

    @property
    def order(self) -> tuple[int, ...]:
        """The operands, first those that are multiplied."""
        return (*self.values, *self.indices)


def parse_indexed(subscripts: str, ranks: tuple[int, ...], given: Sequence[tuple[str, int]] = ()) -> IndexedTerms:
    """Read subscripts with indices for operands of these ranks; extents of some labels of the output are `given`.

    Examples
    --------
    >>> found = parse_indexed("jk,j[i]->ik", (2, 1))
    >>> found.terms, found.index_terms, found.indexed, found.output
    (('jk',), ('i',), 'j', 'ik')
    """
    left, arrow, right = subscripts.partition("->")
    if not arrow:
        raise ValueError(f"{subscripts!r} has indices, and needs the output's labels after '->'")
    terms = left.split(",")
    check_count(terms, ranks, subscripts)
    matches = [_INDEXED.fullmatch(term) for term in terms]
    indexed = "".join([m[1] for m in matches if m])
    plain = [m[2] if m else term for m, term in zip(matches, terms, strict=True)]
    if repeated := [label for label in indexed if indexed.count(label) > 1]:
        raise ValueError(f"{repeated[0]!r} in {subscripts!r} is indexed by several operands")
    for term, m in zip(terms, matches, strict=True):
        if m is None and not {*"[]"}.isdisjoint(term):
            raise ValueError(f"{term.strip()!r} in {subscripts!r} is no term of indices, which is as 'j[i]'")
    for label, m in zip(indexed, filter(None, matches), strict=True):
        if not m[2].strip() or "." in m[2]:
            raise ValueError(f"{m[0].strip()!r} in {subscripts!r}: labels of all axes of indices stand in brackets")
        if label not in "".join([t for t, m in zip(terms, matches, strict=True) if not m]) + "".join(plain) + right:
            raise ValueError(f"{label!r} in {subscripts!r} labels no axis that could be indexed")
    # Labels that only the result has are as if an operand had them, too.
    found, output = parse_terms([*plain, indexed], right, (*ranks, len(indexed)), subscripts)
    numbers = range(len(terms))
    values, indices = (tuple([n for n in numbers if (matches[n] is None) == wanted]) for wanted in (True, False))
    _check_order(indexed, [found[n] for n in indices])
    _check_output(indexed, [found[n] for n in indices], output)
    if not values:
        raise ValueError(f"{subscripts!r} has indices only, and nothing that they index")
    only = [label for label in indexed if label in output and all(label not in found[n] for n in numbers)]
    for label, _ in given:
        if label not in only:
            raise ValueError(f"extents: {label!r} labels an axis of an operand, or none that is indexed")
    if missing := [label for label in only if label not in dict(given)]:
        raise ValueError(f"extents: that of {missing[0]!r} is not known; pass extents={{{missing[0]!r}: 10}}")
    each = tuple([found[n] for n in values]), tuple([found[n] for n in indices])
    return IndexedTerms(values, each[0], indices, each[1], indexed, output, tuple(given))


def _check_order(indexed: str, terms: Sequence[str]) -> None:
    """Raise ValueError where labels are indexed by each other."""
    left = dict(zip(indexed, terms, strict=True))
    while left:
        ready = [label for label, term in left.items() if not {*term} & left.keys()]
        if not ready:
            raise ValueError(f"{', '.join(left)} are indices of each other")
        left = {label: term for label, term in left.items() if label not in ready}


def _check_output(indexed: str, terms: Sequence[str], output: str) -> None:
    """Raise ValueError where labels of the result are indexed that cannot be."""
    scattered = [(label, term) for label, term in zip(indexed, terms, strict=True) if label in output]
    if len(scattered) > 1:
        raise ValueError(
            f"labels {', '.join([label for label, _ in scattered])} of the output are indexed, not just one"
        )
    for label, term in scattered:
        for other in term:
            if other in output or other in indexed:
                what = "in the output, too" if other in output else "indexed itself"
                raise ValueError(f"{label!r} of the output is indexed by {label}[{term}], of which {other!r} is {what}")


def indexed_product(
    read: IndexedTerms, output: str, arrays: Arrays, functions: Functions,
    types: Sequence[np.dtype[Any]] | None = None,
) -> MdHom:  # fmt: skip
    """Make the MDH that combines over all labels that are neither in the output nor indexed.

    `output` has the result's labels in the order in which they lie in memory, `arrays` are in the order of `read`; all
    else is as in :func:`~mdhnp.frontend.contraction.combined`.
    """
    scalar, combine, finish = functions
    axes = _Axes(read, output, arrays)
    accesses = [axes.access(n) for n in range(len(arrays))]
    each = zip(read.order, arrays, accesses, strict=True)
    inputs = tuple([array_view(f"operand {n}", a, (access,)) for n, a, access in each])
    every = [v.dtype for v in inputs]
    shape = tuple([axes.sizes[label] for label in output])
    out = tuple([axes.index(label, n) for label, n in zip(output, shape, strict=True)])
    types = types or (finish or scalar).dtypes
    outputs = tuple([View(f"result{n or ''}", t, shape, row_major(shape), 0, (out,)) for n, t in enumerate(types)])
    kept = len(read.kept)
    return MdHom(
        tuple([axes.sizes[label] for label in axes.dims]),
        (CC,) * kept + (combine,) * (len(axes.dims) - kept),
        scalar.substituted(every),  # which does not use indices
        inputs,
        outputs,
        None if finish is None else finish.substituted([*scalar.dtypes, *every]),
        tuple(axes.dims),
    )


class _Axes:
    """The indices along the axes of all operands, in the dimensions, which are the labels that none is an index of."""

    def __init__(self, read: IndexedTerms, output: str, arrays: Arrays) -> None:
        self._terms, self._shapes = (*read.terms, *read.index_terms), [a.shape for a in arrays]
        self.sizes = extents(self._terms, self._shapes) | dict(read.extents)
        #: By label, the operand that is its index, among all.
        self._by = {label: len(read.terms) + n for n, label in enumerate(read.indexed)}
        every = dict.fromkeys([*output, *"".join(self._terms)])
        self.dims = {label: d for d, label in enumerate([label for label in every if label not in self._by])}

    def access(self, number: int) -> Access:
        each = zip(self._terms[number], self._shapes[number], strict=True)
        return tuple([self.index(label, size) for label, size in each])

    def index(self, label: str, size: int) -> Affine:
        """The index along an axis of so many elements; always 0 where its only one is repeated."""
        rank = len(self.dims)
        if size == 1 and self.sizes[label] != 1:
            return Affine((0,) * rank)
        if label in self.dims:
            return Affine.of(self.dims[label], rank)
        number = self._by[label]
        moving = {d for i in self.access(number) for d in i.dims()}
        return Indirect((0,) * rank, 0, (number, 0), tuple([d in moving for d in range(rank)]), size)
