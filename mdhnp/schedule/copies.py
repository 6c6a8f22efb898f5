"""Where the elements of a local tile lie in local memory."""

from collections.abc import Sequence

from mdhnp.mdh import View
from mdhnp.schedule.schedule import LocalCopy

__all__ = ["tile_strides"]


def tile_strides(view: View, copy: LocalCopy, footprint: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Give the distances of neighbours along each axis of a tile without blocks, and the tile's size.

    Parameters
    ----------
    view : View
        The input.
    copy : LocalCopy
        How its tile lies in local memory; no axis is blocked.
    footprint : sequence of int
        Points of a tile in each dimension.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import Affine
    >>> axes = Affine((1, 0, 0)), Affine((0, 1, 0)), Affine((0, 0, 1))
    >>> view = View("x", np.dtype(np.float32), (9, 9, 3), (27, 3, 1), 0, (axes,))
    >>> tile_strides(view, LocalCopy((0, 1, 2), pad=4), (2, 8, 3))  # rows are of the last two axes
    ((28, 3, 1), 56)
    """
    strides, size, begin = [0] * len(view.shape), 1, _row(view, copy, footprint)
    for place in reversed(range(len(copy.order))):
        axis = copy.order[place]
        strides[axis] = size
        size = size * view.box(axis, footprint) + (copy.pad if place == begin else 0)
    return tuple(strides), size


def _row(view: View, copy: LocalCopy, footprint: Sequence[int]) -> int:
    """Give the place in the order where a row's axes begin: inside of it elements are neighbours in the array, too."""
    begin = len(copy.order) - 1
    while begin > 0:
        outer, axis = copy.order[begin - 1], copy.order[begin]
        whole = view.box(axis, footprint) == view.shape[axis]
        if not whole or view.strides[outer] != view.shape[axis] * view.strides[axis]:
            break
        begin -= 1
    return begin
