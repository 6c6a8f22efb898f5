"""Cut an MDH along a concatenated dimension into MDHs on slices of its arrays."""

from dataclasses import replace
from typing import NamedTuple

from mdhnp.mdh.chain import Chain
from mdhnp.mdh.mdhom import MdHom, row_major
from mdhnp.mdh.views import Affine, View

__all__ = ["Part", "cut", "part", "stretches"]


class Part(NamedTuple):
    """Some neighbouring points of one dimension.

    Attributes
    ----------
    mdhom : MdHom
        What computes them.
    inputs, outputs : tuple of tuple of slice
        For each array, what the MDH works on.
    """

    mdhom: MdHom
    inputs: tuple[tuple[slice, ...], ...]
    outputs: tuple[tuple[slice, ...], ...]


def cut(h: MdHom, largest: int) -> tuple[Part, ...]:
    """Cut an MDH in parts that work on no more than `largest` bytes of each array; none where that cannot be.

    Outputs are cut along their first axes, so that each part writes one stretch of memory.

    Parameters
    ----------
    h : MdHom
        Without extents of 0.
    largest : int
        Bytes from the first to the last element of an array.
    """
    if isinstance(h, Chain):
        return ()
    for dim in h.dims("cc"):
        points = h.extents[dim]
        while points > 1:
            points = -(-points // 2)
            try:
                first = part(h, dim, 0, points)
            except ValueError:
                break
            if not all(map(_in_one_stretch, h.outputs, first.outputs)):
                break
            fits = _fits(first.mdhom, largest)
            if points == 1 and not fits and not cut(first.mdhom, largest):
                return ()  # before the parts of all other points are made
            if points == 1 or fits:
                begins = range(0, h.extents[dim], points)
                parts = [part(h, dim, begin, min(begin + points, h.extents[dim])) for begin in begins]
                return tuple(parts) if fits else _cut_again(parts, largest)
    return ()


def stretches(h: MdHom, count: int) -> tuple[Part, ...]:
    """Cut an MDH in about `count` parts, each of which reads and writes one stretch of each array or all of an input.

    Inputs must be in C or Fortran order.

    Parameters
    ----------
    h : MdHom
        Without extents of 0.
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
    if isinstance(h, Chain) or not all(map(_dense, h.inputs)):
        return ()
    for dim in h.dims("cc"):
        points = -(-h.extents[dim] // count)
        try:
            first = part(h, dim, 0, points)
        except ValueError:
            continue
        shapes = [tuple(s.stop - s.start for s in where) for where in first.inputs]
        moved = [n for n, v in enumerate(h.inputs) if shapes[n] != v.shape]
        whole = all(
            h.inputs[n].strides == row_major(h.inputs[n].shape) and _in_one_stretch(h.inputs[n], first.inputs[n])
            for n in moved
        )
        if moved and whole and all(map(_in_one_stretch, h.outputs, first.outputs)):
            begins = range(0, h.extents[dim], points)
            return tuple(part(h, dim, begin, min(begin + points, h.extents[dim])) for begin in begins)
    return ()


def _dense(v: View) -> bool:
    """Whether an array's elements lie one after the other, in C or Fortran order."""
    return v.offset == 0 and v.strides in (row_major(v.shape), row_major(v.shape[::-1])[::-1])


def _fits(h: MdHom, largest: int) -> bool:
    return all(v.elements() * v.dtype.itemsize <= largest for v in (*h.inputs, *h.outputs))


def _cut_again(parts: list[Part], largest: int) -> tuple[Part, ...]:
    """Cut single points of a dimension along the next one."""
    found = []
    for one in parts:
        smaller = cut(one.mdhom, largest)
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


def _in_one_stretch(v: View, slices: tuple[slice, ...]) -> bool:
    """Whether a slice of a C-contiguous array is contiguous."""
    counts = [s.stop - s.start for s in slices]
    cuts = [axis for axis, n in enumerate(v.shape) if counts[axis] < n]
    return all(n == 1 for n in counts[: max(cuts, default=0)])


def part(h: MdHom, dim: int, begin: int, end: int) -> Part:
    """Give the part of an MDH where `dim` runs from `begin` to before `end`.

    Parameters
    ----------
    h : MdHom
        Without extents of 0.
    dim : int
        A concatenated dimension whose index no scalar function asks for.
    begin, end : int
        Inside the extent.

    Raises
    ------
    ValueError
        If the dimension is not such a one.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import cc, md_hom, pw
    >>> rows = md_hom(lambda x: x, {"i": cc, "j": pw("add")}, "A[i,j] -> s[i]").bind(np.ones((9, 5)))
    >>> found = part(rows, 0, 3, 7)
    >>> found.mdhom.extents, found.inputs[0][0], found.outputs[0][0]
    ((4, 5), slice(3, 7, None), slice(3, 7, None))
    """
    asked = h.scalar.used_indices() | (h.finish.used_indices() if h.finish else frozenset())
    if h.combine[dim].kind != "cc" or dim in asked or h.nested:
        raise ValueError(f"dimension {h.names[dim]} cannot be cut")
    extents = tuple(end - begin if d == dim else n for d, n in enumerate(h.extents))
    inputs = [_sliced(v, dim, begin, extents) for v in h.inputs]
    outputs = [_sliced(v, dim, begin, extents) for v in h.outputs]
    mdhom = replace(h, extents=extents, inputs=tuple(v for v, _ in inputs), outputs=tuple(v for v, _ in outputs))
    return Part(mdhom, tuple(s for _, s in inputs), tuple(s for _, s in outputs))


def _sliced(v: View, dim: int, begin: int, extents: tuple[int, ...]) -> tuple[View, tuple[slice, ...]]:
    """What the part needs of one array: all of it where a boundary says what lies beside it."""
    moved = [[replace(i, constant=i.constant + i.coefficients[dim] * begin) for i in access] for access in v.accesses]
    if v.boundary is not None:
        whole = tuple(slice(0, n) for n in v.shape)
        return replace(v, accesses=tuple(map(tuple, moved))), whole
    slices = []
    for axis in range(len(v.shape)):
        spans = [access[axis].span(extents) for access in moved]
        slices.append(slice(min(low for low, _ in spans), max(high for _, high in spans) + 1))
    shape = tuple(s.stop - s.start for s in slices)
    offset = sum(-stride * (n - 1) for stride, n in zip(v.strides, shape, strict=True) if stride < 0)
    accesses = tuple(
        tuple(Affine(i.coefficients, i.constant - s.start) for i, s in zip(access, slices, strict=True))
        for access in moved
    )
    return replace(v, shape=shape, offset=offset, accesses=accesses), tuple(slices)
