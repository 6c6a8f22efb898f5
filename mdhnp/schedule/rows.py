"""Schedules of rows: how many rows a work-group computes at a time, and a schedule of each MDH for so many.

The schedule's own tile says the former, and how many work-items there are, in the last dimension; `steps` are the MDHs'
schedules.
"""

from dataclasses import replace
from math import prod

from mdhnp.mdh import MdHom, Rows, Step, sized
from mdhnp.mdh.views import row_major
from mdhnp.schedule.layout import value_itemsize
from mdhnp.schedule.schedule import Schedule


def at_once(h: Rows, s: Schedule) -> tuple[int, ...]:
    """Return how many indices of each shared dimension a work-group computes at a time."""
    return tuple([s.local_tile[d] for d in h.shared[-1]])


def links(h: Rows, points: tuple[int, ...]) -> tuple[MdHom, ...]:
    """Return all MDHs with so many rows only, and so many rows in the arrays between them."""
    found, strides, last = list[MdHom](), dict[int, tuple[int, ...]](), len(h.mdhoms) - 1
    for n, (step, along) in enumerate(zip(h.graph.steps, h.shared, strict=True)):
        one = sized(step.mdhom.last, along, points)
        read = zip(step.inputs, one.inputs, strict=True)
        inputs = [replace(v, strides=strides.get(p, v.strides)) for p, v in read]
        outputs = one.outputs if n == last else tuple([replace(v, strides=row_major(v.shape)) for v in one.outputs])
        strides |= {p: v.strides for p, v in enumerate(outputs, h.graph.firsts[n])}
        found.append(replace(one, inputs=tuple(inputs), outputs=outputs))
    return tuple(found)


def places(h: Rows) -> dict[int, int]:
    """Return for each value between MDHs the value in whose memory it lies: mostly its own.

    A map's result takes the place of a value that is read for the last time, element by element.
    """
    found: dict[int, int] = {}
    for n, step in enumerate(h.graph.steps[:-1]):
        first, *others = h.graph.values(n)
        free = [p for p in step.inputs if p in found and max(h.graph.readers(p)) == n]
        found[first] = next((found[p] for p in free if _is_changed_in_place(step, p)), first)
        found |= {p: p for p in others}
    return found


def _is_changed_in_place(step: Step, value: int) -> bool:
    """Whether each point of a map reads only the element of a value at which it writes."""
    out, read = step.mdhom.outputs[0], [v for p, v in zip(step.inputs, step.mdhom.inputs, strict=True) if p == value]
    alike = [(v.dtype, v.shape, v.accesses) == (out.dtype, out.shape, out.accesses) for v in read]
    return not step.mdhom.last.dims("pw") and alike == [True]


def rows_memory(h: Rows, points: tuple[int, ...]) -> int:
    """Bytes of local memory for what MDHs leave to others."""
    where, views = places(h), [view for one in links(h, points)[:-1] for view in one.outputs]
    kept = [view for p, view in enumerate(views, h.graph.given) if where[p] == p]
    return sum([prod(view.shape) * value_itemsize(view.dtype) for view in kept])


def rows_plain(h: Rows, points: tuple[int, ...], groups: tuple[int, ...], items: int) -> Schedule:
    """Return the schedule of the loops over rows: everything else is one tile."""
    plain = Schedule.plain(h.extents, len(h.inputs)).at(h.rank - 1, num_wi=items)
    for d, count, group in zip(h.shared[-1], points, groups, strict=True):
        plain = plain.at(d, local_tile=count, num_wg=group)
    return plain
