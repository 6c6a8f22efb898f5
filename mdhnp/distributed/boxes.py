"""Boxes: elements at equal distances in memory that is one in mind only, and which of them lie in a stretch of it.

Pure: numbers only. It must not know devices, nor who holds which stretch.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

__all__ = ["Box", "Region", "split"]

#: The first index and the end along each axis.
Region = tuple[tuple[int, int], ...]


class Box(NamedTuple):
    """Elements at equal distances."""

    #: Bytes to the first one.
    start: int
    #: Elements along each axis, and bytes from one to the next.
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    #: Bytes of an element.
    itemsize: int

    @property
    def whole(self) -> Region:
        """The region of all elements."""
        return tuple([(0, n) for n in self.shape])

    def ends(self, region: Region) -> tuple[int, int]:
        """Give the bytes from the lowest element of a region to the end of the highest; none where it is empty."""
        if any([b >= e for b, e in region]):
            return 0, 0
        spans = [(b * s, (e - 1) * s) for (b, e), s in zip(region, self.strides, strict=True)]
        low = self.start + sum([min(span) for span in spans])
        return low, self.start + sum([max(span) for span in spans]) + self.itemsize

    def nbytes(self, region: Region) -> int:
        """Give the bytes of a region's elements, each once."""
        return self.itemsize * prod(
            [e - b if s else min(e - b, 1) for (b, e), s in zip(region, self.strides, strict=True)]
        )


def split(box: Box, regions: Sequence[Region], low: int, high: int) -> tuple[list[Region], list[Region]]:
    """Tell the elements of regions that lie between two bytes from the others: give regions of each.

    Examples
    --------
    >>> rows = Box(0, (4, 3), (3, 1), 1)
    >>> split(rows, [rows.whole], 3, 9)
    ([((1, 3), (0, 3))], [((0, 1), (0, 3)), ((3, 4), (0, 3))])
    >>> split(rows, [rows.whole], 4, 9)[0]
    [((2, 3), (0, 3)), ((1, 2), (1, 3))]
    """
    inside: list[Region] = []
    outside: list[Region] = []
    for region in regions:
        _split(box, region, low, high, inside, outside)
    return inside, outside


def _split(box: Box, region: Region, low: int, high: int, inside: list[Region], outside: list[Region]) -> None:
    first, last = box.ends(region)
    if first >= last:
        return
    if low <= first and last <= high:
        inside.append(region)
        return
    axes = [a for a, (b, e) in enumerate(region) if e - b > 1 and box.strides[a]]
    if last <= low or first >= high or not axes:
        outside.append(region)
        return
    axis = max(axes, key=lambda a: abs(box.strides[a]))
    (b, e), step = region[axis], box.strides[axis]
    along = lambda begin, end: tuple([(begin, end) if a == axis else r for a, r in enumerate(region)])  # noqa: E731
    start, stop = box.ends(along(b, b + 1))  # of the first index; those of others are so many steps away
    if step > 0:
        full = b - (start - low) // step, b + (high - stop) // step + 1
        some = b + (low - stop) // step + 1, b - (start - high) // step
    else:
        full = b - (high - stop) // -step, b + (start - low) // -step + 1
        some = b + (start - high) // -step + 1, b - (low - stop) // -step
    some = min(max(some[0], b), e), max(min(some[1], e), b)
    full = max(full[0], some[0]), min(full[1], some[1])
    if full[0] >= full[1]:
        full = some[1], some[1]
    for begin, end in ((b, some[0]), (max(some[0], some[1]), e)):
        if begin < end:
            outside.append(along(begin, end))
    if full[0] < full[1]:
        inside.append(along(*full))
    for n in (*range(some[0], full[0]), *range(full[1], some[1])):
        _split(box, along(n, n + 1), low, high, inside, outside)
