"""Cut: an MDH in parts along one dimension, and how the results of the parts recombine.

That a dimension may be cut, in any number of parts of any sizes, again and again, is what makes an MDH a homomorphism;
its combine operator says what becomes of the parts' results. Where they are concatenated, each part writes its regions
of the results. Where they are reduced, parts give partial results, which one more MDH combines: any run of neighbours
to one, so a tree of them, the last with `finish`. Where they are scanned, the totals of the parts are scanned, and each
part goes on from what those before it add up to. It must not know who computes parts.

Source: Rasch & Gorlatch, "Multi-dimensional homomorphisms and their implementation in OpenCL", Definition 6.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.mdh.arithmetic import lower
from mdhnp.mdh.mdhom import Computation, MdHom
from mdhnp.mdh.pieces import Part, piece
from mdhnp.mdh.recombine import carrying, combination, left_for_later, partial, prefixes
from mdhnp.mdh.stages import finish_inputs

__all__ = ["Cut", "cut", "shares"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Cut:
    """The parts of an MDH, and how their results recombine.

    Attributes
    ----------
    mdhom : Computation
        The whole.
    dim : int
        The dimension that is cut.
    parts : tuple of Part
        In order. "cc": they write disjoint regions. "pw": they give partial results, C-contiguous, one a result of the
        scalar function. "ps": they write disjoint regions, and all but the first take, after what they read, the
        combined totals of all parts before.
    totals : tuple of Part
        For "ps": what gives the totals of all parts but the last, which are partial results.
    """

    mdhom: Computation
    dim: int
    parts: tuple[Part, ...]
    totals: tuple[Part, ...] = ()

    @property
    def kind(self) -> str:
        """How the results of the parts recombine: "cc", "ps" or "pw"."""
        return self.mdhom.last.combine[self.dim].kind

    def joined(self, count: int) -> MdHom:
        """Give what combines partial results of neighbours, or totals, to one: from stacks of so many."""
        return combination(self.mdhom.last, self.dim, count, finish=False)

    def finished(self, count: int) -> MdHom:
        """Give what combines the last partial results: from stacks, then the inputs that `finish` reads, to results."""
        return combination(self.mdhom.last, self.dim, count)

    def prefixes(self, count: int) -> MdHom:
        """Give what scans stacks of totals; the n-th prefix is carried on by part n + 1."""
        return prefixes(self.mdhom.last, self.dim, count)

    def run(self, compute: Callable[..., Any], *arrays: Array) -> Any:
        """Compute all parts and recombine them.

        Parameters
        ----------
        compute : callable
            Takes an MDH and its arrays, and gives what :func:`interpret` does.
        *arrays : ndarray
            The inputs.

        Returns
        -------
        ndarray or tuple of ndarray
            As :func:`interpret` gives them.
        """
        h = self.mdhom.last
        if self.kind == "pw":
            stacks = _stacked([compute(p.mdhom, *p.reads(arrays)) for p in self.parts])
            return compute(self.finished(len(self.parts)), *stacks, *[arrays[n] for n in finish_inputs(h)])
        carried: list[Sequence[Array]] = [()] * len(self.parts)
        if self.totals:
            stacks = _stacked([compute(p.mdhom, *p.reads(arrays)) for p in self.totals])
            scanned = _tuple(compute(self.prefixes(len(self.totals)), *stacks))
            carried[1:] = zip(*scanned, strict=True)
        results = tuple([np.empty(v.shape, v.dtype) for v in h.outputs])
        for part, carry in zip(self.parts, carried, strict=True):
            found = _tuple(compute(part.mdhom, *part.reads(arrays), *map(np.asarray, carry)))
            for result, region, value in zip(results, part.outputs, found, strict=True):
                result[region] = value
        return results if len(results) > 1 else results[0]


def cut(h: Computation, dim: int, parts: int | Sequence[int]) -> Cut:
    """Cut a computation in parts along one dimension.

    Parameters
    ----------
    h : Computation
        Without extents of 0. Partial results of float16 are float32, unless there are complex numbers, too.
    dim : int
        Any concatenated or reduced dimension, of nested MDHs as well: where dimensions before it are combined later and
        by operators that do not change places with its own, they are left for the recombination, and partial results
        are larger by their extents. Of scanned ones, those that no such dimension stands before. Of rows, those that
        all MDHs have.
    parts : int or sequence of int
        How many, as equal as can be, and no more than there are points; or their sizes, those of 0 left out. For
        weights see :func:`shares`.

    Raises
    ------
    IndexError
        If there is no such dimension.
    ValueError
        If there is an extent of 0, parts are not those of the extent, or the dimension cannot be cut: one that is none
        of `h.divisible` (cut the `mdhoms`), or along which parts of rows are none; one whose results are not a slice
        along an axis of each output, a scanned one before which others are left, or one of an operator that is OpenCL C
        text with a `finish` to be applied after it.

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
    pieces = [piece(h, dim, begin, end) for begin, end in pairwise(ends)]
    if kind == "cc":
        return Cut(h, dim, tuple(pieces))
    given = pieces if kind == "pw" else pieces[:-1]
    partials = tuple([p._replace(mdhom=partial(p.mdhom.last, dim), outputs=()) for p in given])
    if kind == "pw":
        return Cut(h, dim, partials)
    later = [p._replace(mdhom=carrying(p.mdhom.last, dim)) for p in pieces[1:]]
    return Cut(h, dim, (pieces[0], *later), partials)


def shares(extent: int, weights: Sequence[float]) -> tuple[int, ...]:
    """Give sizes in proportion to weights, each within one point; they may be 0.

    Examples
    --------
    >>> shares(10, (3, 1)), shares(2, (1, 1, 1))
    ((8, 2), (1, 0, 1))
    """
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


def _tuple(found: Any) -> tuple[Array, ...]:
    return found if isinstance(found, tuple) else (found,)


def _stacked(found: Sequence[Any]) -> list[Array]:
    """The partial results of all parts, each over one more axis, the first."""
    return [np.stack(each) for each in zip(*map(_tuple, found), strict=True)]
