"""Spans: which bytes of an array a device's memory holds, and where they lie there.

An array is one stretch of bytes in mind. A block of rows is a stretch of that, which one span tells. A box that is cut
along other axes, too, has a span for each: of the whole the rows that it lies in, of each row the columns. Its memory
has only the bytes that all spans have, one behind the other. Pure: numbers only.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import gcd
from typing import NamedTuple

from mdhnp.mdh.regions import Region


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
