"""Indices that are elements of arrays, looked at before they are used: each must name an element that there is."""

from collections.abc import Container, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp import native, system
from mdhnp.mdh.interpret import affine, element, place
from mdhnp.mdh.mdhom import MdHom, Segment
from mdhnp.mdh.views import Affine, Indirect, View


def check_indices(h: MdHom, arrays: Sequence[npt.NDArray[Any]], made: Container[int] = ()) -> None:
    """Raise IndexError, as NumPy does, where an element that is an index names none of the array; `arrays` are inputs.

    Only of the arrays that are :attr:`~mdhnp.mdh.mdhom.MdHom.looked_at` elements are read, and not of inputs that are
    `made` so that they are right.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import cc, md_hom
    >>> x, at = np.ones(3), np.array([0, 2, 3])
    >>> check_indices(md_hom(lambda x: x, {"i": cc}, "x[at[i]] -> y[i]").bind(x, at), (x, at))
    Traceback (most recent call last):
    ...
    IndexError: at: index 3 at position (2,) is out of bounds for axis 0 of x, which has 3 elements
    """
    for s in h.segments:
        if not s.trusted and s.source not in made:
            _check_segment(h, s, arrays)
    for index, (view, axis) in {i: (v, axis) for i, v, axis in reversed(h.bounded)}.items():
        # Also where there are no points along other dimensions, as NumPy does.
        known = index.trusted or index.source[0] in made
        if not known and all([h.extents[d] for d in index.dims()]):
            _check(h, view, axis, index, arrays)


def axes_of_indices(h: MdHom, made: Container[int] = ()) -> dict[int, int] | None:
    """Give how many elements the shortest axis has that each input that is looked at has indices of, by its number.

    `made` is as of :func:`check_indices`. None where more is to be looked at: ends of segments, or something is added
    to elements.
    """
    found = dict[int, int]()
    for i in [i for i, _, _ in h.bounded if not i.trusted and i.source[0] not in made]:
        if not _is_alone(i):
            return None
        found[i.source[0]] = min(found.get(i.source[0], i.length), i.length)
    return found if all([s.trusted or s.source in made for s in h.segments]) else None


def put_indices(h: MdHom, arrays: Sequence[Any], rng: "np.random.Generator") -> None:  # which takes long to import
    """Put random indices that name elements, and ends of segments of one length, into the inputs that are for these."""
    for number in h.index_sources:
        spans = [(*i.affine.span(h.extents), i.length) for i, _, _ in h.bounded if i.source[0] == number]
        low, high = max([-low for low, _, _ in spans], default=0), min([n - up for _, up, n in spans], default=1)
        arrays[number][...] = rng.integers(low, high, arrays[number].shape) if low < high else 0
    for s in h.segments:
        (d,) = h.segmented(s) or (0,)
        grid = [np.arange(h.extents[d]) if e == d else np.asarray(0) for e in range(h.rank)]
        for access, next_ in zip(s.ends, (0, 1), strict=True):
            at = tuple([affine(i, grid) for i in h.inputs[s.source].accesses[access]])
            arrays[s.source][at] = (grid[d] + next_) * h.extents[s.dim] // h.extents[d]


def _check_segment(h: MdHom, s: Segment, arrays: Sequence[npt.NDArray[Any]]) -> None:
    """Raise ValueError where a segment does not lie within its dimension, or ends before it begins."""
    source, size = h.inputs[s.source], h.extents[s.dim]
    offsets = arrays[s.source]
    along = offsets.ndim == 1 and offsets.size > 0
    if along and offsets[0] >= 0 and offsets[-1] <= size and (offsets[:-1] <= offsets[1:]).all():
        return
    dims = h.segmented(s)
    grid = [np.arange(h.extents[d]) if d in dims else np.asarray(0) for d in range(h.rank)]
    both = [offsets[tuple([affine(i, grid) for i in source.accesses[access]])] for access in s.ends]
    begin, end = (np.minimum(each, size + 1).astype(np.int64) for each in both)
    wrong = np.flatnonzero((begin < 0) | (end < begin) | (end > size))
    if len(wrong):
        n = int(wrong[0])
        ends = int(np.ravel(begin)[n]), int(np.ravel(end)[n])
        raise ValueError(
            f"{source.name}: segment {n} is of points from {ends[0]} to {ends[1]}, {h.names[s.dim]} has {size}"
        )


def _check(h: MdHom, view: View, axis: int, index: Indirect, arrays: Sequence[npt.NDArray[Any]]) -> None:
    number, _ = index.source
    elements, size = arrays[number], index.length
    if _is_alone(index) and _inside(elements, size):
        return  # all of them, of which some may not be read
    beside = [0 if moves else c for c, moves in zip(index.coefficients, index.through, strict=True)]
    low, high = Affine(tuple(beside)).span(h.extents)
    points = [n if moves else 1 for n, moves in zip(h.extents, index.through, strict=True)]
    grid = np.meshgrid(*map(np.arange, points), indexing="ij", sparse=True)
    found = element(h, index, grid, arrays)
    at = found + np.where(found < 0, size, 0) + affine(index, grid)
    wrong = np.argwhere(np.broadcast_to((found < -size) | (at + low < 0) | (at + high >= size), points))
    if len(wrong):
        source, point = h.inputs[number], [np.asarray(n) for n in wrong[0]]
        where = tuple([int(place(h, i, point, arrays)) for i in source.accesses[index.source[1]]])
        more = "" if index.affine.show(h.names) == "0" else f" in {index.show(h.names, h.inputs)}"
        raise IndexError(
            f"{source.name}: index {int(element(h, index, point, arrays))} at position {where}{more} is out of bounds "
            f"for axis {axis} of {view.name}, which has {size} elements"
        )


def _is_alone(index: Indirect) -> bool:
    return not any(index.coefficients) and not index.constant


def _inside(elements: npt.NDArray[Any], size: int) -> bool:
    """Whether all are indices of an axis of so many elements."""
    if native.inside is not None and elements.flags.c_contiguous:
        return native.inside(elements, size, system.cores())
    return not elements.size or -size <= int(elements.min()) <= int(elements.max()) < size
