"""Schedules of rows: how many rows a work-group computes at a time, and a schedule of each MDH for so many.

The schedule's own tile says the former, and how many work-items there are, in the last dimension; `steps` are the MDHs'
schedules.

Where the schedule is `streamed`, the online form is computed (`fusion/streamed.py`), of tiles of that dimension; rows
lie along vectors then.
"""

from dataclasses import replace
from math import prod

from mdhnp.fusion.streamed import Streamed, streamed
from mdhnp.mdh import MdHom, Rows, Step, View, sized
from mdhnp.mdh.views import row_major
from mdhnp.schedule.layout import value_itemsize
from mdhnp.schedule.schedule import Schedule, require


def form(h: Rows, s: Schedule) -> Rows:
    """Return the rows whose MDHs `steps` are schedules of."""
    if s.streamed < 0:
        return h
    found = streamed(h)
    require(found is not None, f"streamed: there is no online form along dimension {s.streamed}")
    assert found is not None
    return found


def at_once(h: Rows, s: Schedule) -> tuple[int, ...]:
    """Return how many indices of each shared dimension a work-group computes at a time."""
    return tuple([s.local_tile[d] for d in h.shared[-1]])


def tiled(h: Rows, n: int) -> tuple[int, ...]:
    """Return the dimensions of which a work-group computes some points at a time: rows, and what is streamed."""
    return (*h.shared[n], h.streamed[n]) if isinstance(h, Streamed) and h.streamed[n] >= 0 else h.shared[n]


def links(h: Rows, points: tuple[int, ...], tile: int = 0) -> tuple[MdHom, ...]:
    """Return all MDHs with so many rows only, and so many rows in the arrays between them.

    Of the online form they are of `tile` points of what is streamed, and rows are neighbours in those arrays.
    """
    found, strides, last = list[MdHom](), dict[int, tuple[int, ...]](), len(h.mdhoms) - 1
    for n, step in enumerate(h.graph.steps):
        one = sized(step.mdhom.last, dims := tiled(h, n), (*points, tile)[: len(dims)])
        read = zip(step.inputs, one.inputs, strict=True)
        inputs = [replace(v, strides=strides.get(p, v.strides)) for p, v in read]
        outputs = one.outputs
        if n < last:
            row = h.shared[n][-1] if isinstance(h, Streamed) else -1
            outputs = tuple([replace(v, strides=_strides(v, row)) for v in one.outputs])
        strides |= {p: v.strides for p, v in enumerate(outputs, h.graph.firsts[n])}
        found.append(replace(one, inputs=tuple(inputs), outputs=outputs))
    return tuple(found)


def _strides(view: View, row: int) -> tuple[int, ...]:
    """Strides of what lies in local memory: C-contiguous, but for an axis of rows, which is innermost."""
    axes = [a for a, index in enumerate(view.accesses[0]) if row in index.dims()]
    order = [a for a in range(len(view.shape)) if a not in axes] + axes
    found = dict(zip(order, row_major(tuple([view.shape[a] for a in order])), strict=True))
    return tuple([found[a] for a in range(len(view.shape))])


def places(h: Rows) -> dict[int, int]:
    """Return for each value between MDHs the value in whose memory it lies: mostly its own.

    A map's result takes the place of a value that is read for the last time, element by element. What is carried from
    tile to tile stays where it is.
    """
    carried = dict([(after, before) for before, after in h.carried] if isinstance(h, Streamed) else [])
    found: dict[int, int] = {}
    for n, step in enumerate(h.graph.steps[:-1]):
        first, *others = h.graph.values(n)
        made = [p for p in step.inputs if p in found and p not in carried.values()]
        free = [p for p in made if max(h.graph.readers(p)) == n and _as_often(h, h.graph.made_by[p][0], n)]
        found[first] = next((found[p] for p in free if _is_changed_in_place(step, p)), first)
        found |= {p: p for p in others}
        found |= {p: carried[p] for p in (first, *others) if p in carried}
    return found


def _as_often(h: Rows, n: int, m: int) -> bool:
    """Whether two MDHs are computed equally often: for each tile, or not."""
    return not isinstance(h, Streamed) or (h.begin <= n < h.end) == (h.begin <= m < h.end)


def _is_changed_in_place(step: Step, value: int) -> bool:
    """Whether each point of a map reads only the element of a value at which it writes."""
    out, read = step.mdhom.outputs[0], [v for p, v in zip(step.inputs, step.mdhom.inputs, strict=True) if p == value]
    alike = [(v.dtype, v.shape, v.accesses) == (out.dtype, out.shape, out.accesses) for v in read]
    return not step.mdhom.last.dims("pw") and alike == [True]


def rows_memory(h: Rows, points: tuple[int, ...], tile: int = 0) -> int:
    """Bytes of local memory for what MDHs leave to others."""
    where, views = places(h), [view for one in links(h, points, tile)[:-1] for view in one.outputs]
    kept = [view for p, view in enumerate(views, h.graph.given) if where[p] == p]
    return sum([prod(view.shape) * value_itemsize(view.dtype) for view in kept])


def rows_plain(
    h: Rows, points: tuple[int, ...], groups: tuple[int, ...], items: int, dim: int = -1, tile: int = 0
) -> Schedule:
    """Return the schedule of the loops over rows, and over tiles of a dimension: everything else is one tile."""
    plain = Schedule.plain(h.extents, len(h.inputs)).at(h.rank - 1, num_wi=items)
    for d, count, group in zip(h.shared[-1], points, groups, strict=True):
        plain = plain.at(d, local_tile=count, num_wg=group)
    return plain if dim < 0 else replace(plain.at(dim, local_tile=tile), streamed=dim)
