"""Boxes of elements, and the spans of memory that have them, against elements one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mdhnp.distributed.placement import seen as see
from mdhnp.distributed.spans import Span, StridedBox, around, beyond, holds, hull, nbytes, spans_of, split


@given(st.data())
def test_boxes_are_split_element_by_element(data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 3))
    shape = tuple(data.draw(st.integers(1, 4)) for _ in range(rank))
    strides = tuple(2 * data.draw(st.sampled_from((-7, -4, -2, -1, 0, 1, 2, 3, 5, 12))) for _ in range(rank))
    box = StridedBox(data.draw(st.integers(-5, 5)) * 2, shape, strides, 2)
    periods, spans = data.draw(st.lists(st.integers(1, 4), max_size=2)), list[Span]()
    unit = 2
    for factor in periods:
        begin = data.draw(st.integers(0, factor)) * unit
        spans.insert(0, Span(begin, data.draw(st.integers(begin // unit, factor)) * unit, factor * unit))
        unit *= factor
    low = data.draw(st.integers(-20 * 2 // unit, 20 * 2 // unit)) * unit
    spans.insert(0, Span(low, low + data.draw(st.integers(0, 25 * 2 // unit)) * unit))
    places = np.full(shape, box.start) + sum(
        np.arange(n).reshape([-1 if a == b else 1 for b in range(rank)]) * s
        for a, (n, s) in enumerate(zip(shape, strides, strict=True))
    )
    along = [(places % s.period if s.period else places, s) for s in spans]
    inside = np.logical_and.reduce([(place >= s.begin) & (place + 2 <= s.end) for place, s in along])
    seen = np.zeros(shape, int)
    memory = np.arange(nbytes(tuple(spans)), dtype="u1").view("u2")
    kept = sorted({n for n in range(low, spans[0].end, 2) if all(s.begin <= n % s.period < s.end for s in spans[1:])})
    assert len(kept) == memory.size
    for regions, expected in zip(split(box, [box.whole], tuple(spans)), (True, False), strict=True):
        for region in regions:
            seen[region] += 1
            assert (inside[region] == expected).all()
            assert holds(tuple(spans), box, region) == expected
            if expected:
                assert [*see(memory.view("u1"), box.within(tuple(spans), region), memory.dtype).flat] == [
                    memory[kept.index(n)] for n in places[region].flat
                ]
    assert (seen == 1).all()


def test_spans_around_a_region_and_what_is_beyond_others() -> None:
    shape, whole = (6, 8, 5), {*range(6 * 8 * 5)}
    places = np.arange(6 * 8 * 5).reshape(shape)
    room, own = spans_of(shape, 1, (slice(1, 5), slice(0, 6), slice(0, 5)), (slice(2, 4), slice(2, 5), slice(0, 5)))
    held = lambda spans: {n for n in whole if all(s.begin <= (n % s.period if s.period else n) < s.end for s in spans)}  # noqa: E731
    assert held(room) == {*places[1:5, :6].flat}
    box = StridedBox(0, shape, (40, 5, 1), 1)
    wanted = hull(own, around(room, box, (slice(2, 5), slice(1, 4), slice(0, 5))))
    assert held(wanted) == {*places[2:5, 1:5].flat}
    lacking = [*beyond(wanted, own)]
    assert sorted(n for spans in lacking for n in held(spans)) == sorted(held(wanted) - held(own))
    assert sum(map(nbytes, lacking)) == len(held(wanted) - held(own))
