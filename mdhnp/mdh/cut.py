"""Cut: an MDH in parts along one dimension, and how the results of the parts recombine.

That a dimension may be cut, in any number of parts of any sizes, again and again, is what makes an MDH a homomorphism;
its combine operator says what becomes of the parts' results. Where they are concatenated, each part writes its regions
of the results. Where they are reduced, parts give partial results, which one more MDH combines: any run of neighbours
to one, so a tree of them, the last with `finish`. Where they are scanned, the totals of the parts are scanned, and each
part goes on from what those before it add up to. The tasks that this makes are in `partition.py`. It must not know who
computes parts.

Source: Rasch & Gorlatch, "Multi-dimensional homomorphisms and their implementation in OpenCL", Definition 6.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from mdhnp.mdh.arithmetic import lower
from mdhnp.mdh.mdhom import Computation
from mdhnp.mdh.partition import Cut
from mdhnp.mdh.regions import part_of
from mdhnp.mdh.stages import carrying, left_for_later, partial


def cut(h: Computation, dim: int, parts: int | Sequence[int]) -> Cut:
    """Cut a computation in parts along one dimension: as equal as can be, or of these sizes, those of 0 left out.

    That is any concatenated or reduced dimension, of nested MDHs as well: where dimensions before it are combined later
    and by operators that do not change places with its own, they are left for the recombination, and partial results
    are larger by their extents. Of scanned ones, those that no such dimension stands before. Of rows, those that all
    MDHs have. Partial results of float16 are float32, unless there are complex numbers, too.

    Raises IndexError if there is no such dimension; ValueError if there is an extent of 0, parts are not those of the
    extent, or the dimension cannot be cut: one that is none of `h.divisible` (cut the `mdhoms`), or along which parts
    of rows are none; one whose results are not a slice along an axis of each output, a scanned one before which others
    are left, or one of an operator that is OpenCL C text with a `finish` to be applied after it.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import cc, interpret, md_hom, pw
    >>> a = np.arange(12.0).reshape(3, 4)
    >>> sums = md_hom(lambda x: x, {"i": cc, "j": pw("add")}, "A[i,j] -> s[i]").bind(a)
    >>> halves = cut(sums, 1, 2)
    >>> [str(p.mdhom) for p in halves.parts], str(halves.finished(2))
    (['md_hom(id, (++, +)) ∘ (A[i,j]) -> P0[i]', 'md_hom(id, (++, +)) ∘ (A[i,j]) -> P0[i]'], \
'md_hom(id, (+, ++)) ∘ (P0[i,j]) -> s[j]')
    >>> halves.run(interpret, a)
    array([ 6., 22., 38.])
    >>> [p.outputs for p in cut(sums, 0, (1, 2)).parts]
    [((slice(0, 1, None),),), ((slice(1, 3, None),),)]
    """
    _require_cuttable(h, dim)
    kind = h.last.combine[dim].kind
    if kind != "cc" and np.float16 in h.last.scalar.dtypes and not any([t.kind == "c" for t in h.dtypes]):
        h = lower(h.last).mdhom
    ends = [*accumulate(_sizes(h, dim, parts), initial=0)]
    pieces = [part_of(h, dim, begin, end) for begin, end in pairwise(ends)]
    if kind == "cc":
        return Cut(h, dim, tuple(pieces))
    given = pieces if kind == "pw" else pieces[:-1]
    partials = tuple([p._replace(mdhom=partial(p.mdhom.last, dim), outputs=()) for p in given])
    if kind == "pw":
        return Cut(h, dim, partials)
    later = [p._replace(mdhom=carrying(p.mdhom.last, dim)) for p in pieces[1:]]
    return Cut(h, dim, (pieces[0], *later), partials)


def shares(extent: int, weights: Sequence[float]) -> tuple[int, ...]:
    """Give sizes in proportion to weights, each within one point; they may be 0."""
    if not weights or min(weights) < 0 or not sum(weights) > 0:
        raise ValueError(f"weights: {weights} are no shares; at least one must be positive, and none negative")
    ends = [round(extent * sum_ / sum(weights)) for sum_ in accumulate(weights)]
    return tuple([end - begin for begin, end in pairwise([0, *ends[:-1], extent])])


def _require_cuttable(whole: Computation, dim: int) -> None:
    if not 0 <= dim < whole.rank:
        raise IndexError(f"dim: {dim} is none of {whole.rank} dimensions, numbered from 0")
    if 0 in whole.extents:
        raise ValueError(f"h: {whole} has an extent of 0, and so no parts")
    h = whole.loops
    combine, name = h.combine[dim], h.names[dim]
    if not whole.divisible:
        raise ValueError("h: a chain cannot be cut; cut what it is made of, its `mdhoms`")
    if dim not in whole.divisible:
        raise ValueError(f"dim: not all of the rows have {name}; cut their `mdhoms`")
    if combine.kind == "ps" and (left := left_for_later(h, dim)):
        shown = ", ".join([h.names[d] for d in left])
        raise ValueError(f"dim: {name} is scanned before {shown} may be combined; cut that, or one of its `stages`")
    if combine.kind == "ps" and h.finish is not None and combine.operator and combine.operator.function.text:
        raise ValueError(f"dim: {name} is scanned by OpenCL C text, after which `finish` could not be applied")
    for view in h.outputs:
        for index, n in zip(view.accesses[0], view.shape, strict=True):
            step = abs(index.coefficients[dim])
            if step and h.extents[dim] > 1 and step * h.extents[dim] != n:
                shown = view.show(h.names)
                raise ValueError(f"dim: results along {name} are no slice of {shown}; cut what is outermost in an axis")


def _sizes(h: Computation, dim: int, parts: int | Sequence[int]) -> tuple[int, ...]:
    extent, name = h.extents[dim], h.loops.names[dim]
    if isinstance(parts, int | np.integer):
        if parts < 1:
            raise ValueError(f"parts: {parts} is no number of parts")
        least, more = divmod(extent, min(parts, extent))
        return (least + 1,) * more + (least,) * (min(parts, extent) - more)
    if min(parts, default=0) < 0 or sum(parts) != extent:
        raise ValueError(f"parts: {tuple(parts)} are no sizes that make the {extent} points of {name}")
    return tuple([n for n in parts if n])
