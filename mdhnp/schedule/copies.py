"""Where the elements of a local tile lie in local memory."""

from collections.abc import Sequence
from typing import NamedTuple

from mdhnp.mdh import View
from mdhnp.schedule.schedule import LocalCopy

__all__ = ["TilePlaces", "tile_places"]


class TilePlaces(NamedTuple):
    """Where the elements of a tile lie.

    Attributes
    ----------
    strides : tuple of int
        How far neighbours along each axis are from each other, along a blocked one inside of a block.
    blocks, block_strides : tuple of int
        Elements of a block along each axis, 0 along one without, and how far blocks are from each other.
    size : int
        Of the whole tile.
    """

    strides: tuple[int, ...]
    blocks: tuple[int, ...]
    block_strides: tuple[int, ...]
    size: int


def tile_places(view: View, copy: LocalCopy, footprint: Sequence[int], private_tile: Sequence[int]) -> TilePlaces:
    """Say where the elements of an input's tile lie.

    Parameters
    ----------
    view : View
        The input.
    copy : LocalCopy
        How its tile lies in local memory.
    footprint, private_tile : sequence of int
        Points of a tile in each dimension, and those of a work-item.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import Affine
    >>> axes = Affine((1, 0, 0)), Affine((0, 1, 0)), Affine((0, 0, 1))
    >>> view = View("x", np.dtype(np.float32), (9, 9, 3), (27, 3, 1), 0, (axes,))
    >>> found = tile_places(view, LocalCopy((0, 1, 2), pad=4), (2, 8, 3), (1, 1, 1))
    >>> found.strides, found.size  # rows are of the last two axes
    ((28, 3, 1), 56)
    """
    axes, size = len(view.shape), 1
    strides, blocks, block_strides = [0] * axes, [0] * axes, [0] * axes
    for axis in reversed(copy.blocked):
        blocks[axis] = private_tile[view.accesses[0][axis].dims()[0]]
        strides[axis] = size
        size *= blocks[axis]
    begin = _row(view, copy, footprint)
    for place in reversed(range(axes)):
        axis = copy.order[place]
        extent = view.box(axis, footprint)
        if blocks[axis]:
            block_strides[axis] = size
            size *= -(-extent // blocks[axis])
        else:
            strides[axis] = size
            size = size * extent + (copy.pad if place == begin else 0)
    return TilePlaces(tuple(strides), tuple(blocks), tuple(block_strides), size)


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
