"""Results leave a kernel: finished, converted to their outputs' types, and stored where they lie inside the extents."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mdhnp.codegen import reduce
from mdhnp.codegen.access import Context, Point, read_back, store
from mdhnp.codegen.ir.index import ZERO, Index, least
from mdhnp.codegen.ir.values import Value, in_type, splat
from mdhnp.codegen.layers import points_inside, steps_inside
from mdhnp.codegen.reduce import Accumulators, elements, point_values
from mdhnp.codegen.work_items import is_first_item


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
