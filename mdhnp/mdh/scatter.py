"""Outputs that are written where elements of arrays say, ``Y[s[i],j]``, as segments of sorted points.

The points of the dimensions that move such an element are sorted by it, and those that have the same one stay in order.
So they are neighbours, a segment for each result, and inputs are read through their order: what is left has affine
outputs, and gives the same bits in each call.
"""

from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mdhnp import native, system
from mdhnp.mdh.combine import CC
from mdhnp.mdh.function import Function
from mdhnp.mdh.mdhom import MdHom, Segment
from mdhnp.mdh.views import Affine, Indirect, View, row_major

#: Bytes of results, of all cores, that caches hold.
_NEAR = 1 << 25
#: Of the arrays that sorting gives.
INDEX = np.dtype(np.intp)


class Sorting(NamedTuple):
    """Points sorted by an input's elements, which say to which result each goes.

    What it gives are inputs of an MDH: of each axis of that input the sorted points' indices, and then where the points
    of each result begin, and those of the last one end. With a `piece`, also the number of each result's first piece,
    and then where pieces begin, and the last one ends: pieces are of points of one result, so many at most, and some
    of none.
    """

    #: The number of the input.
    source: int
    #: Its name, and where its elements are indices, for people.
    name: str
    target: str
    #: How many results there are.
    extent: int
    #: The input's.
    shape: tuple[int, ...]
    piece: int = 0

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of the arrays that it gives."""
        points, whole = prod(self.shape), (self.extent + 1,)
        cut = [whole, (self.extent + points // self.piece + 1,)] if self.piece else []
        return (*[(points,)] * len(self.shape), whole, *cut)

    def sort(self, elements: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], ...]:
        """Sort; elements less than 0 count from the last result. IndexError if one is none of a result.

        Examples
        --------
        >>> Sorting(0, "s", "axis 0 of y", 3, (4,)).sort(np.array([2, 0, 2, -3]))
        (array([1, 3, 0, 2]), array([0, 2, 2, 4]))
        """
        whole = elements.dtype.kind != "u" or elements.itemsize < INDEX.itemsize  # else large ones have no sign there
        order, begin = np.empty(elements.size, INDEX), np.empty(self.extent + 1, INDEX)
        numbers = np.ascontiguousarray(elements, INDEX).reshape(-1)
        if not (whole or _inside(elements, self.extent).all()) or not _group(numbers, order, begin, system.cores()):
            outside = np.argwhere(~_inside(elements, self.extent)).tolist()
            if not outside:
                raise RuntimeError(f"{self.name}: indices were changed, by another thread, while they were read")
            where = tuple(outside[0])
            raise IndexError(
                f"{self.name}: index {int(elements[where])} at position {where} is out of bounds for "
                f"{self.target}, which has {self.extent} elements"
            )
        several = len(self.shape) > 1
        orders = map(np.ascontiguousarray, np.unravel_index(order, self.shape)) if several else [order]
        return (*orders, begin, *(pieces(begin, self.piece) if self.piece else ()))


def pieces(begin: npt.NDArray[Any], piece: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any]]:
    """Give the first piece of each segment, and where pieces begin: where segments do, and at each so many points.

    Of those that begin together the latter comes first, so that it is known how many are before.
    """
    ends = np.arange(piece, begin[-1] + 1, piece).astype(begin.dtype)
    return np.arange(len(begin)) + begin // piece, np.sort(np.concatenate([begin, ends]))


def _inside(elements: npt.NDArray[Any], count: int) -> npt.NDArray[np.bool_]:
    return (elements >= -count) & (elements < count)


def _grouped(
    numbers: npt.NDArray[np.intp], order: npt.NDArray[np.intp], begin: npt.NDArray[np.intp], threads: int
) -> bool:
    """Do what ``native.group`` does, by one thread."""
    count = len(begin) - 1
    if not _inside(numbers, count).all():
        return False
    keys = np.where(numbers < 0, numbers + count, numbers)
    begin[0] = 0
    np.cumsum(np.bincount(keys, minlength=count), out=begin[1:])
    order[...] = _order(keys, count)
    return True


def _order(keys: npt.NDArray[np.intp], count: int) -> npt.NDArray[np.intp]:
    """Give the stable order of keys less than `count`: numbers of keys and positions sort in a tenth of the time."""
    bits = max(len(keys) - 1, 1).bit_length()
    if count << bits >= 1 << 63:
        return np.argsort(keys, kind="stable")
    both = (keys << bits) | np.arange(len(keys))
    both.sort()
    both &= (1 << bits) - 1
    return both


_group = _grouped if native.group is None else native.group


def scattered(h: MdHom) -> tuple[MdHom, tuple[Sorting, ...]]:
    """Give an MDH of which outputs are written where affine indices say, and what makes its last inputs of the others.

    Examples
    --------
    >>> from mdhnp.mdh import md_hom, pw
    >>> sums = md_hom(lambda x: x, {"i": pw("add")}, "x[i] -> y[s[i]]").bind(np.ones(4), np.array([2, 0, 2, 1]), s=3)
    >>> small, (sorting,) = scattered(sums)
    >>> print(small)
    md_hom(id, (++, + begin[s]:begin[s+1])) ∘ (x[order[i]], s[order[i]], order[i], begin[s], begin[s+1]) -> y[s]
    """
    found = [(v, axis, i) for v in h.outputs for axis, i in enumerate(v.accesses[0]) if isinstance(i, Indirect)]
    if not found:
        return h, ()
    output, axis, index = found[0]
    number, access = index.source
    source = h.inputs[number]
    count = len(h.inputs)
    #: By dimension, the input that is to say which index a sorted point has.
    orders = {i.dims()[0]: count + n for n, i in enumerate(source.accesses[access])}
    moved = _Moved(h, orders, tuple([d for d in range(h.rank) if d not in [*orders][1:]]))
    points, k = prod([h.extents[d] for d in orders]), moved.point
    named = ["order"] if len(orders) == 1 else [f"order_{h.names[d]}" for d in orders]
    along = Affine.of(k, moved.rank)
    made = [View(name, INDEX, (points,), (1,), 0, ((along,),)) for name in named]
    ends = tuple([(Affine.of(0, moved.rank, n),) for n in (0, 1)])
    made.append(View("begin", INDEX, (index.length + 1,), row_major((index.length + 1,)), 0, ends))
    inputs = tuple([moved.view(v) for v in h.inputs])
    mdhom = MdHom(
        (index.length, *[points if d in orders else h.extents[d] for d in moved.kept]),
        (CC, *[h.combine[d] for d in moved.kept]),
        moved.function(h.scalar),
        (*inputs, *made),
        tuple([moved.view(v) for v in h.outputs]),
        None if h.finish is None else moved.function(h.finish),
        (source.name, *[h.names[d] for d in moved.kept]),
        precision=h.precision,
        segments=(Segment(k, count + len(orders), (0, 1)),),
    )
    return mdhom, (Sorting(number, source.name, f"axis {axis} of {output.name}", index.length, source.shape),)


def are_few(h: MdHom, cores: int) -> bool:
    """Whether cores had better combine points where they go, each in memory of its own, than sort them before.

    They do not keep an order that matters; and dimensions of which there is one point do not stay in kernels' forms.
    """
    ((number, _),), operator = {i.source for i in h.places}, h.operator
    if 1 in h.inputs[number].shape or operator is None or not operator.commutative:
        return False
    results = sum([v.elements() * t.itemsize for v, t in zip(h.outputs, h.scalar.dtypes, strict=True)])
    return cores * results <= _NEAR and cores * h.outputs[0].elements() <= h.points


def scattered_partial(h: MdHom) -> MdHom:
    """Give what computes partial results where elements of arrays say, those of one place one after the other.

    They lie over places, and then over dimensions that are not reduced, in C order.
    """
    (index,), kept = h.places, h.dims("cc")
    shape = (index.length, *[h.extents[d] for d in kept])
    access = (index, *[Affine.of(d, h.rank) for d in kept])
    types = enumerate(h.scalar.dtypes)
    outputs = tuple([View(f"P{n}", t, shape, row_major(shape), 0, (access,)) for n, t in types])
    return replace(h, outputs=outputs, finish=None)


class _Moved:
    """An MDH's parts where there is one dimension of results, first, and one of sorted points for several."""

    def __init__(self, h: MdHom, orders: dict[int, int], kept: tuple[int, ...]) -> None:
        self._h, self._orders, self.kept = h, orders, kept
        self.rank = len(kept) + 1
        #: The dimension of sorted points.
        self.point = 1 + kept.index(next(iter(orders)))

    def view(self, v: View) -> View:
        each = [tuple([self._index(v, axis, i) for axis, i in enumerate(access)]) for access in v.accesses]
        return replace(v, accesses=tuple(each))

    def _index(self, v: View, axis: int, i: Affine) -> Affine:
        steps = [d for d in self._orders if i.coefficients[d]]
        still = Affine((0, *[0 if d in self._orders else i.coefficients[d] for d in self.kept]), i.constant)
        if isinstance(i, Indirect):
            if i in self._h.places:
                return Affine.of(0, self.rank)
            if steps:
                raise ValueError(f"{v.name}: {i.show(self._h.names, self._h.inputs)} moves with what is scattered")
            through = [
                any([i.through[e] for e in self._orders]) if d in self._orders else i.through[d] for d in self.kept
            ]
            return replace(i, coefficients=still.coefficients, through=(False, *through))
        if not steps:
            return still
        if len(steps) > 1 or i.coefficients[steps[0]] != 1:
            shown = i.show(self._h.names)
            raise ValueError(f"{v.name}: {shown} is no dimension that is scattered, plus what is affine in others")
        source = self._orders[steps[0]], 0
        through = [d in self._orders for d in self.kept]
        return Indirect(still.coefficients, still.constant, source, (False, *through), v.shape[axis])

    def function(self, f: Function) -> Function:
        """A function that takes what sorting gives, too, and does not use it."""
        more = (INDEX,) * (len(self._orders) + 2)
        place = {d: 1 + n for n, d in enumerate(self.kept)}
        return f.substituted((*f.parameters, *more), index=lambda s: replace(s, position=place.get(s.position, 0)))
