"""The schedules to use for rows, or to try: how many at a time, and one for each MDH of so many.

On CPUs work-items compute some rows each, by the schedules that are the default for so many. On GPUs a work-group's
work-items share a row, or a few short ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import gcd, prod

from mdhnp.mdh import MdHom, Rows, sized
from mdhnp.schedule.batch import fallback
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.cpu import cpu_default
from mdhnp.schedule.rows import links, rows_memory, rows_plain
from mdhnp.schedule.rows_gpu import rows_shared
from mdhnp.schedule.schedule import IllegalSchedule, Schedule

__all__ = ["rows_default", "rows_schedules"]

#: Rows at a time: multiples of register tiles' rows.
_ROWS = (1, 2, 4, 6, 8, 16, 32, 64, 128)
#: Rows of a register tile, which are enough; more of them are of so many points in all, at most.
_ENOUGH, _POINTS = 8, 1 << 17
#: Part of a CPU's second cache that what a work-group reads and computes of its rows may take.
_CACHED = 0.75
#: Work-groups a core, at most.
_GROUPS = 16


def rows_default(h: Rows, caps: DeviceCaps) -> Schedule:
    """The schedule that is expected to be the best; an IllegalSchedule, where no row fits in local memory."""
    found = next(_ranked(h, caps), None)
    if found is None:
        raise IllegalSchedule(f"local memory: what a row needs does not fit in {caps.local_memory} bytes, or products")
    return found


def rows_schedules(h: Rows, caps: DeviceCaps) -> list[Schedule]:
    """Schedules of several rows at a time, the most likely first."""
    return list(_ranked(h, caps))


def _ranked(h: Rows, caps: DeviceCaps) -> Iterator[Schedule]:
    """Legal schedules, the most likely first."""
    return rows_shared(h, caps) if caps.kind == "gpu" else _by_registers(h, caps)


def _by_registers(h: Rows, caps: DeviceCaps) -> Iterator[Schedule]:
    """As many rows as register tiles want, or else as fit."""
    extents = [h.extents[d] for d in h.shared[-1]]
    cached = min(caps.local_memory, int(_CACHED * caps.l2))
    found = []
    for count in sorted({min(n, extents[-1]) for n in _ROWS}, reverse=True):
        points = (*(1 for _ in extents[1:]), count)
        many = count > _ENOUGH and sum([one.points for one in links(h, points)]) > _POINTS
        few = prod(extents) // count < 2 * caps.compute_units
        if rows_memory(h, points) <= cached:
            found.append((many or few, -count, points))
    for *_, points in sorted(found):
        if (s := _schedule(h, points, caps)) is not None:
            yield s


def _schedule(h: Rows, points: tuple[int, ...], caps: DeviceCaps) -> Schedule | None:
    """The schedule of so many rows at a time; None where that is illegal."""
    steps = []
    for one, along, step in zip(links(h, points), h.shared, h.graph.steps, strict=True):
        kept = [p >= h.graph.given for p in step.inputs]
        own = next(_of_link(one, along, kept, replace(caps, compute_units=1)), None)
        if own is None:
            return None
        steps.append(own)
    s = replace(rows_plain(h, points, _groups(h, points, caps), 1), steps=tuple(steps))
    return s if is_legal(h, s, caps) else None


def _groups(h: Rows, points: tuple[int, ...], caps: DeviceCaps) -> tuple[int, ...]:
    """Work-groups along each shared dimension: no more than keep all cores busy to the end."""
    found, left = [], _GROUPS * caps.compute_units
    for d, count in zip(h.shared[-1], points, strict=True):
        tiles = -(-h.extents[d] // count)
        each = -(-tiles // min(tiles, max(left, 1)))
        found.append(-(-tiles // each))
        left //= found[-1]
    return tuple(found)


def _of_link(h: MdHom, along: Sequence[int], kept: Sequence[bool], caps: DeviceCaps) -> Iterator[Schedule]:
    """Legal schedules of one MDH with all rows in one local tile, and vectors along none: the default one if it can be.

    A default for a single row is what there is where vectors would be along rows.
    """
    one_row = sized(h, along, [1] * len(along))
    for s in (cpu_default(h, caps), cpu_default(one_row, caps), fallback(h)):
        tile = [n if d in along else s.local_tile[d] for d, n in enumerate(h.extents)]
        some = [gcd(n, tile[d]) if d in along else n for d, n in enumerate(s.private_tile)]
        every = [tile[d] if d in along else n for d, n in enumerate(s.private_tile)]
        copies = [None if here else copy for here, copy in zip(kept, s.local_copies, strict=True)]
        own = replace(s, num_wg=(1,) * h.rank, local_tile=tuple(tile), local_copies=tuple(copies), second=None)
        for private, results in ((some, s.results), (some, "global"), (every, "private")):
            found = replace(own, private_tile=tuple(private), results=results)
            if found.vector_dim not in along and results != "local" and is_legal(h, found, caps):
                yield found
