"""Indices in einsum's subscripts: a term ``j[i]`` is an operand of which the element at ``i`` is an index along ``j``.

So such an operand stands for a tensor over ``ij`` that is 1 where ``j`` is its element, and else 0: where ``j`` labels
an axis of another operand, elements of that are gathered, and where it labels one of the result, products are
scattered. Sources: the one-hot operands of opt_einsum's issue 75; Won et al., "Insum: Sparse GPU Kernels Simplified and
Optimized with Indirect Einsums", which names arrays.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp.frontend.contraction import Functions, Terms, check_count, extents, parse_terms
from mdhnp.mdh import Affine, MdHom
from mdhnp.mdh.combine import CC
from mdhnp.mdh.pattern import array_view
from mdhnp.mdh.views import Access, Indirect, View, row_major

Array = npt.NDArray[Any]

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
    read: IndexedTerms, output: str, arrays: Sequence[Array], functions: Functions,
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
    inputs = tuple([array_view(f"operand{n}", a, (access,)) for n, a, access in each])
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

    def __init__(self, read: IndexedTerms, output: str, arrays: Sequence[Array]) -> None:
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
