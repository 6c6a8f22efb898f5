"""Results leave a kernel: finished, converted to their outputs' types, and stored where they lie inside the extents."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from mdhnp.codegen import reduce
from mdhnp.codegen.access import Context, Point, place_of, read_back, store
from mdhnp.codegen.ir.index import ONE, ZERO, Index, least
from mdhnp.codegen.ir.statements import Prefetch
from mdhnp.codegen.ir.values import Value, in_type, splat
from mdhnp.codegen.layers import points_inside, steps_inside
from mdhnp.codegen.reduce import Accumulators, elements, point_values
from mdhnp.codegen.work_items import is_first_item

#: Bytes of a cache line of most CPUs, lines that one of their cores can have under way at once, and terms of a sum that
#: take as long as a line from memory: some 300 cycles, where each waits for the one before.
_LINE, _UNDER_WAY, _MEANWHILE = 64, 16, 64


def shifted(c: Context, where: Index) -> Index:
    """Name where a vector begins that is moved inside of its dimension if it sticks out."""
    last = c.end(c.s.vector_dim) - c.s.vector_width
    return c.build.named("first", least(where, last))


def clipped(c: Context, at: Point) -> Point:
    """Give the place of a vector that may stick out of its dimension: moved inside, or with some lanes valid only."""
    vector = c.s.vector_dim
    where = at.point[vector]
    if not c.shifted:
        return replace(at, valid=c.end(vector) - where)
    first = shifted(c, where)
    return replace(at, point={**at.point, vector: first}, done=where - first)


def element_point(c: Context, offset: Mapping[int, int], lanes: int) -> Point:
    """Give the place of an element of the private tile; along combined dimensions it is at 0."""
    combined = dict.fromkeys(c.combined, ZERO)
    point, local = ({d: of(d) + o for d, o in offset.items()} for of in (c.base, c.local))
    return Point(point | combined, local | combined, lanes)


def prefetch_results(c: Context) -> None:
    """Have the cache lines under way that the private tile's results wait in, while its reduction runs.

    Results whose vectors are scattered, or that lie on many lines, are left where they are. One work-item does so for
    itself; others hide what they wait for behind each other.
    """
    lines = []
    waiting = c.s.work_items == 1 and any(map(c.walks, c.combined)) and not c.h.places
    if not waiting or prod(c.s.local_tile[d] for d in c.combined) < _MEANWHILE:
        return
    for n, view in enumerate(c.h.outputs):
        along = [d for d in c.kept if c.addresses[view.name, 0][0][d] == ONE]
        for offset in elements(c):
            at, stride = place_of(c, n, element_point(c, offset, c.lanes))
            if stride in (ZERO, ONE) and sum([offset[d] for d in along]) * view.dtype.itemsize % _LINE == 0:
                vector = c.lanes if stride == ONE else 1
                each = range(0, vector, max(_LINE // view.dtype.itemsize, 1))
                lines += [Prefetch(c.buffer(view), at + lane) for lane in each]
    if len(lines) <= _UNDER_WAY:
        for line in lines:
            c.build.add(line)


def store_all(c: Context, acc: Accumulators, onto: bool = False, by_all: bool = False) -> None:
    """Store the private tile's results that lie inside the extents, `onto` those already in the output.

    Only the work-items that hold a tree's outcome do, unless the caller sees to it: then it is done `by_all`.
    """
    with c.build.when([] if by_all else is_first_item(c)):
        c.build.either(
            steps_inside(c, c.ragged),
            lambda: _store_elements(c, acc, (), onto),
            lambda: _store_elements(c, acc, c.ragged, onto),
        )


def _store_elements(c: Context, acc: Accumulators, ragged: Sequence[int], onto: bool) -> None:
    vector = c.s.vector_dim
    for offset, values in zip(elements(c), acc.values, strict=True):
        lanes = values[0].lanes
        at = replace(element_point(c, offset, lanes), bounded=True)
        with c.build.when(points_inside(c, at.point, ragged)):
            if vector in ragged and lanes > 1:
                at = clipped(c, at)
            if onto:
                reduce.apply(c, values, [read_back(c, n, at) for n in range(len(values))], before=True)
            store_results(c, at, values)


def store_prefix(c: Context, offset: Mapping[int, int], where: Point, values: Sequence[Value]) -> None:
    """Store one prefix of a scan, of one element, if it lies inside."""
    vector = c.s.vector_dim
    lanes = values[0].lanes
    point = {**where.point, **{k: c.base(k) + o for k, o in offset.items()}}
    valid = c.end(vector) - point[vector] if vector in c.ragged and lanes > 1 else None
    with c.build.when(points_inside(c, point, c.ragged)):
        store_results(c, replace(where, point=point, lanes=lanes, valid=valid), values)


def store_results(c: Context, at: Point, values: Sequence[Value]) -> None:
    """Finish one element's results and store them."""
    final = finished(c, at, values)
    outputs = zip(final, c.h.outputs, strict=True)
    wide = [in_type("convert", splat(v, at.lanes), view.dtype) for v, view in outputs]
    for n, value in enumerate(wide):
        if n - 1 not in c.paired:
            store(c, n, at, value, wide[n + 1] if n in c.paired else None)


def finished(c: Context, at: Point, values: Sequence[Value]) -> list[Value]:
    """What is made of one element's sums."""
    if c.h.finish is None:
        return list(values)
    return point_values(c, c.h.finish, at, dict(enumerate(values)), len(values))
