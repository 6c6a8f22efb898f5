"""Boxes: elements at equal distances in memory that is one in mind only, and which of them lie in a stretch of it.

Pure: numbers only. It must not know devices, nor who holds which stretch.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple, Self

from mdhnp.mdh.regions import Region
from mdhnp.mdh.views import View, row_major


class StridedBox(NamedTuple):
    """Elements at equal distances."""

    start: int  # bytes to the first one
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    itemsize: int

    @classmethod
    def of(cls, view: View) -> Self:
        """Give the box of an array that is C-contiguous, whatever its view says."""
        strides = tuple([s * view.dtype.itemsize for s in row_major(view.shape)])
        return cls(0, view.shape, strides, view.dtype.itemsize)

    @property
    def whole(self) -> Region:
        return tuple([slice(0, n) for n in self.shape])

    def ends(self, region: Region) -> tuple[int, int]:
        """Give the bytes from the lowest element of a region to the end of the highest; none where it is empty."""
        if any([r.start >= r.stop for r in region]):
            return 0, 0
        spans = [(r.start * s, (r.stop - 1) * s) for r, s in zip(region, self.strides, strict=True)]
        low = self.start + sum([min(span) for span in spans])
        return low, self.start + sum([max(span) for span in spans]) + self.itemsize

    def nbytes(self, region: Region) -> int:
        """Give the bytes of a region's elements, each once."""
        counts = [r.stop - r.start for r in region]
        return self.itemsize * prod([n if s else min(n, 1) for n, s in zip(counts, self.strides, strict=True)])


def split(box: StridedBox, regions: Sequence[Region], low: int, high: int) -> tuple[list[Region], list[Region]]:
    """Tell the elements of regions that lie between two bytes from the others: give regions of each.

    Examples
    --------
    >>> rows = StridedBox(0, (4, 3), (3, 1), 1)
    >>> inside, outside = split(rows, [rows.whole], 3, 9)
    >>> inside
    [(slice(1, 3, None), slice(0, 3, None))]
    >>> [r.start for r, _ in outside], [r.stop for r, _ in outside]
    ([0, 3], [1, 4])
    """
    inside: list[Region] = []
    outside: list[Region] = []
    for region in regions:
        _split(box, region, low, high, inside, outside)
    return inside, outside


def _split(box: StridedBox, region: Region, low: int, high: int, inside: list[Region], outside: list[Region]) -> None:
    first, last = box.ends(region)
    if first >= last:
        return
    if low <= first and last <= high:
        inside.append(region)
        return
    axes = [a for a, r in enumerate(region) if r.stop - r.start > 1 and box.strides[a]]
    if last <= low or first >= high or not axes:
        outside.append(region)
        return
    axis = max(axes, key=lambda a: abs(box.strides[a]))
    b, e, step = region[axis].start, region[axis].stop, box.strides[axis]
    along = lambda begin, end: (*region[:axis], slice(begin, end), *region[axis + 1 :])  # noqa: E731
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
