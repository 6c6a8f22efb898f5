"""Spans: which bytes of an array a device's memory holds, and where they lie there; boxes: elements at equal distances.

An array is one stretch of bytes in mind. A block of rows is a stretch of that, which one span tells. A box that is cut
along other axes, too, has a span for each: of the whole the rows that it lies in, of each row the columns. Its memory
has only the bytes that all spans have, one behind the other. Pure: numbers only.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import gcd, prod
from typing import NamedTuple, Self

from mdhnp.mdh.regions import Region
from mdhnp.mdh.views import row_major


class Span(NamedTuple):
    """Bytes from `begin` on and up to `end`, of the whole array or of each `period` bytes."""

    begin: int
    end: int
    period: int = 0  # 0: of the whole


#: The first is of the whole; the ends of each are multiples of the next one's period.
Spans = tuple[Span, ...]


def stretch(begin: int, end: int) -> Spans:
    return (Span(begin, end),)


#: No bytes.
NOTHING = stretch(0, 0)


def spans_of(shape: Sequence[int], itemsize: int, *regions: Region) -> list[Spans]:
    """Give the bytes of regions of an array in C order, of all with the same periods.

    Regions may go on beyond the array along its outermost axis.

    Examples
    --------
    >>> spans_of((4, 6), 8, (slice(1, 3), slice(0, 6)))
    [(Span(begin=48, end=144, period=0),)]
    >>> spans_of((4, 6), 8, (slice(1, 3), slice(4, 6)))
    [(Span(begin=48, end=144, period=0), Span(begin=32, end=48, period=48))]
    """
    outermost = next((axis for axis, n in enumerate(shape) if n > 1), 0)
    found: list[Spans] = [()] * len(regions)
    unit, spans = itemsize, [Span(0, itemsize)] * len(regions)
    for axis in reversed(range(outermost, len(shape))):
        if any([span != (0, unit, 0) for span in spans]):
            found = [(span._replace(period=unit), *inner) for span, inner in zip(spans, found, strict=True)]
        spans = [Span(region[axis].start * unit, region[axis].stop * unit) for region in regions]
        unit *= shape[axis]
    empty = [any([r.start >= r.stop for r in region]) for region in regions]
    firsts = [span._replace(end=span.begin) if none else span for span, none in zip(spans, empty, strict=True)]
    return [(span, *inner) for span, inner in zip(firsts, found, strict=True)]


def is_empty(spans: Spans) -> bool:
    return any([span.begin >= span.end for span in spans])


def nbytes(spans: Spans) -> int:
    """Return how many bytes all spans have."""
    size = spans[-1].end - spans[-1].begin
    for outer, inner in pairwise(spans):
        size *= (outer.end - outer.begin) // inner.period
    return size


def place(spans: Spans, byte: int) -> int:
    """Return where in their memory a byte of the array lies that all spans have."""
    found, rest = 0, byte - spans[0].begin
    for n, inner in enumerate(spans[1:], 1):
        count, rest = divmod(rest, inner.period)
        found += count * nbytes(spans[n:])
        rest -= inner.begin
    return found + rest


def hull(a: Spans, b: Spans) -> Spans:
    """Give the least spans of the same periods that have both."""
    return tuple([Span(min(x.begin, y.begin), max(x.end, y.end), x.period) for x, y in zip(a, b, strict=True)])


def beyond(outer: Spans, inner: Spans) -> Iterator[Spans]:
    """Give what outer spans have beside those inside of them, each byte once."""
    for n, (most, least) in enumerate(zip(outer, inner, strict=True)):
        for begin, end in ((most.begin, least.begin), (least.end, most.end)):
            if begin < end:
                yield (*inner[:n], Span(begin, end, most.period), *outer[n + 1 :])


def unit_of(spans: Spans) -> int:
    """Return the size of the largest integers that the bytes can be read as; 1 of a stretch, wherever it begins."""
    return gcd(8, *[n for span in spans for n in span]) if len(spans) > 1 else 1


class StridedBox(NamedTuple):
    """Elements at equal distances."""

    start: int  # bytes to the first one
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    itemsize: int

    @classmethod
    def of_bytes(cls, spans: Spans) -> Self:
        """Give the box of all bytes of some spans, as integers: along an axis for each span."""
        unit = unit_of(spans)
        strides = (*[span.period for span in spans[1:]], unit)
        shape = tuple([(span.end - span.begin) // s for span, s in zip(spans, strides, strict=True)])
        return cls(sum([span.begin for span in spans]), shape, strides, unit)

    @classmethod
    def new(cls, shape: Sequence[int], itemsize: int) -> Self:
        """Give the box of an array in C order that begins with its memory."""
        return cls(0, tuple(shape), tuple([s * itemsize for s in row_major(tuple(shape))]), itemsize)

    @property
    def whole(self) -> Region:
        return tuple([slice(0, n) for n in self.shape])

    def part(self, region: Region) -> Self:
        """Give the box of a region."""
        start = self.start + sum([r.start * s for r, s in zip(region, self.strides, strict=True)])
        return self._replace(start=start, shape=tuple([r.stop - r.start for r in region]))

    def packed(self) -> Self:
        """Give the box of as many elements that begin with their memory, one behind the other in the same order."""
        order = sorted(range(len(self.shape)), key=lambda axis: -abs(self.strides[axis]))
        lying = dict(zip(order, row_major(tuple([self.shape[axis] for axis in order])), strict=True))
        return self._replace(start=0, strides=tuple([lying[axis] * self.itemsize for axis in range(len(order))]))

    def within(self, spans: Spans, region: Region) -> Self:
        """Give the box of a region in the memory of spans that hold it."""
        part = self.part(region)
        first, strides = place(spans, part.start), part.strides
        if len(spans) > 1:
            pairs = zip(part.shape, strides, strict=True)
            strides = tuple([place(spans, part.start + s) - first if n > 1 else s for n, s in pairs])
        return part._replace(start=first, strides=strides)

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


class _Walk(NamedTuple):
    """How the elements of a region move within periods."""

    start: int  # of the first one in its period
    strides: tuple[int, ...]
    low: int  # of the lowest one, and the end of the highest one
    high: int


def _walk(box: StridedBox, region: Region, period: int) -> _Walk:
    """Say how elements move within periods, along each axis the way in which they stay in theirs, if there is one."""
    start = (box.start + sum([r.start * s for r, s in zip(region, box.strides, strict=True)])) % period
    low, high, strides = start, start + box.itemsize, []
    for r, stride in zip(region, box.strides, strict=True):
        steps, rest = r.stop - r.start - 1, stride % period
        ways = (0,) if not (steps and rest) else (rest, rest - period) if stride > 0 else (rest - period, rest)
        ends = [(step, low + min(step * steps, 0), high + max(step * steps, 0)) for step in ways]
        step, low, high = next((each for each in ends if each[1] >= 0 and each[2] <= period), ends[0])
        strides.append(step)
    return _Walk(start, tuple(strides), low, high)


def holds(spans: Spans, box: StridedBox, region: Region) -> bool:
    """Whether spans have all elements of a region, which lie at equal distances in their memory, too."""
    low, high = box.ends(region)
    if low >= high or low < spans[0].begin or high > spans[0].end:
        return False
    walks = [_walk(box, region, span.period) for span in spans[1:]]
    return all([w.low >= span.begin and w.high <= span.end for w, span in zip(walks, spans[1:], strict=True)])


def around(spans: Spans, box: StridedBox, region: Region) -> Spans:
    """Give the least spans that have a region, of the same periods as those that hold it."""
    ends = [box.ends(region), *[_walk(box, region, span.period)[2:] for span in spans[1:]]]
    units = [*[span.period for span in spans[1:]], 1]
    return tuple([
        Span(low // unit * unit, -(-high // unit) * unit, span.period)
        for span, (low, high), unit in zip(spans, ends, units, strict=True)
    ])  # fmt: skip


def split(box: StridedBox, regions: Sequence[Region], spans: Spans) -> tuple[list[Region], list[Region]]:
    """Tell the elements of regions that some spans have from the others: give regions of each.

    Those of the first kind lie at equal distances in the spans' memory, too.

    Examples
    --------
    >>> rows = StridedBox(0, (4, 3), (3, 1), 1)
    >>> inside, outside = split(rows, [rows.whole], (Span(3, 9),))
    >>> inside
    [(slice(1, 3, None), slice(0, 3, None))]
    >>> [r.start for r, _ in outside], [r.stop for r, _ in outside]
    ([0, 3], [1, 4])
    >>> split(rows, [rows.whole], (Span(3, 9), Span(1, 2, 3)))[0]
    [(slice(1, 3, None), slice(1, 2, None))]
    """
    outside: list[Region] = []
    if is_empty(spans):
        return [], list(regions)
    left = list(regions)
    for span in spans:
        inside: list[Region] = []
        for region in left:
            if span.period:
                _split_periods(box, region, span, inside, outside)
            else:
                _split(box, region, span.begin, span.end, inside, outside)
        left = inside
    return left, outside


def _split_periods(box: StridedBox, region: Region, span: Span, inside: list[Region], outside: list[Region]) -> None:
    left = [region]
    while left:
        region = left.pop()
        walk = _walk(box, region, span.period)
        if walk.low < 0 or walk.high > span.period:  # they go on in another period: where does the first axis do so?
            axis = max(range(len(region)), key=lambda a: abs(walk.strides[a]))
            r, step = region[axis], walk.strides[axis]
            count = -(-(span.period - walk.start) // step) if step > 0 else walk.start // -step + 1
            at = r.start + min(max(count, 1), r.stop - r.start - 1)
            left += [(*region[:axis], each, *region[axis + 1 :]) for each in (slice(at, r.stop), slice(r.start, at))]
            continue
        start = walk.start - sum([r.start * s for r, s in zip(region, walk.strides, strict=True)])
        within = StridedBox(start, box.shape, walk.strides, box.itemsize)
        _split(within, region, span.begin, span.end, inside, outside)


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
