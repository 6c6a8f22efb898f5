"""Which parts of an MDH work on slices of its arrays that a device, or copies to it, can take.

They are parts of concatenated dimensions (`pieces.py`), so that nothing is left to recombine.
"""

from collections.abc import Sequence
from functools import singledispatch

from mdhnp.mdh.mdhom import Computation, MdHom, row_major
from mdhnp.mdh.pieces import Part, Region, moved, piece
from mdhnp.mdh.views import View

__all__ = ["bounded", "stretches"]


@singledispatch
def bounded(h: Computation, largest: int) -> tuple[Part, ...]:
    """Cut an MDH in parts that work on no more than `largest` bytes of each array; none where that cannot be.

    Outputs are cut along their first axes, so that each part writes one stretch of memory. What asks for the index in a
    dimension is not cut along it.

    Parameters
    ----------
    h : Computation
        Without extents of 0; what is fused is not cut.
    largest : int
        Bytes from the first to the last element of an array.
    """
    return ()


@bounded.register
def _(h: MdHom, largest: int) -> tuple[Part, ...]:
    for dim in h.dims("cc"):
        points = h.extents[dim]
        while points > 1:
            points = -(-points // 2)
            ends = {0, min(points, h.extents[dim] - points), h.extents[dim] - points}  # neighbours lie inside, or not
            try:
                some = [_part(h, dim, begin, begin + points) for begin in sorted(ends)]
            except ValueError:
                break
            if not all(map(_in_one_stretch, h.outputs, some[0].outputs)):
                break
            fits = all([_fits(p.mdhom, largest) for p in some])
            if points == 1 and not all([_fits(p.mdhom, largest) or bounded(p.mdhom, largest) for p in some]):
                return ()  # before the parts of all other points are made
            if points == 1 or fits:
                return _cut_again(_parts(h, dim, points), largest)
    return ()


@singledispatch
def stretches(h: Computation, count: int) -> tuple[Part, ...]:
    """Cut an MDH in about `count` parts, each of which reads and writes one stretch of each array or all of an input.

    Inputs must be in C or Fortran order.

    Parameters
    ----------
    h : Computation
        Without extents of 0; what is fused is not cut.
    count : int
        Two or more; as long as a dimension has as many points.

    Returns
    -------
    tuple of Part
        All but the last of equal size; none where no dimension can be cut so.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import cc, md_hom, pw
    >>> rows = md_hom(lambda x: x, {"i": cc, "j": pw("add")}, "A[i,j] -> s[i]").bind(np.ones((9, 5)))
    >>> [found.outputs[0][0] for found in stretches(rows, 2)]
    [slice(0, 5, None), slice(5, 9, None)]
    """
    return ()


@stretches.register
def _(h: MdHom, count: int) -> tuple[Part, ...]:
    if not all(map(_dense, h.inputs)):
        return ()
    for dim in h.dims("cc"):
        points = -(-h.extents[dim] // count)
        try:
            first = _part(h, dim, 0, points)
        except ValueError:
            continue
        shapes = [tuple(s.stop - s.start for s in where) for where in first.inputs]
        moved = [n for n, v in enumerate(h.inputs) if shapes[n] != v.shape]
        whole = all(
            h.inputs[n].strides == row_major(h.inputs[n].shape) and _in_one_stretch(h.inputs[n], first.inputs[n])
            for n in moved
        )
        if moved and whole and all(map(_in_one_stretch, h.outputs, first.outputs)):
            return _parts(h, dim, points)
    return ()


def _part(h: MdHom, dim: int, begin: int, end: int) -> Part:
    """A part on slices of the arrays, and on all of those that are read from beyond one end on at the other.

    Raises ValueError where there is none, or its functions ask for the index in the dimension.
    """
    found = piece(h, dim, begin, end)
    if found.begin:
        raise ValueError(f"the index in {h.names[dim]} is asked for")
    views, regions = list(found.mdhom.inputs), list(found.inputs)
    for n, v in enumerate(h.inputs):
        if v.boundary == "wrap":
            views[n], regions[n] = moved(v, dim, begin), tuple([slice(0, size) for size in v.shape])
    return Part(found.mdhom.relaid(views), tuple(regions), found.outputs)


def _parts(h: MdHom, dim: int, points: int) -> tuple[Part, ...]:
    """All parts, of so many points but for the last."""
    extent = h.extents[dim]
    return tuple([_part(h, dim, begin, min(begin + points, extent)) for begin in range(0, extent, points)])


def _dense(v: View) -> bool:
    """Whether an array's elements lie one after the other, in C or Fortran order."""
    return v.offset == 0 and v.strides in (row_major(v.shape), row_major(v.shape[::-1])[::-1])


def _fits(h: Computation, largest: int) -> bool:
    return all(v.nbytes <= largest for v in (*h.inputs, *h.outputs))


def _cut_again(parts: Sequence[Part], largest: int) -> tuple[Part, ...]:
    """Cut those parts that are too large still."""
    found = []
    for one in parts:
        if _fits(one.mdhom, largest):
            found.append(one)
            continue
        smaller = bounded(one.mdhom, largest)
        if not smaller:
            return ()
        for p in smaller:
            inputs, outputs = (
                tuple(tuple(map(_within, *both)) for both in zip(outer, inner, strict=True))
                for outer, inner in ((one.inputs, p.inputs), (one.outputs, p.outputs))
            )
            found.append(Part(p.mdhom, inputs, outputs))
    return tuple(found)


def _within(outer: slice, inner: slice) -> slice:
    """A slice of a slice."""
    return slice(outer.start + inner.start, outer.start + inner.stop)


def _in_one_stretch(v: View, region: Region) -> bool:
    """Whether a slice of a C-contiguous array is contiguous."""
    counts = [s.stop - s.start for s in region]
    cuts = [axis for axis, n in enumerate(v.shape) if counts[axis] < n]
    return all(n == 1 for n in counts[: max(cuts, default=0)])
