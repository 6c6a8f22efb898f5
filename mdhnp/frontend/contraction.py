"""From labelled axes to an MdHom: multiply all operands, add over the labels that the output lacks.

Or apply any other function to an element of each, and combine what it gives by any other operator. Takes subscripts and
shapes; every character of a term labels one axis. Operands' memory is described, never read. It must not know devices,
nor the way of a call.
"""

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
from mdhnp.mdh.views import contiguous

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
