"""Schedules where points count that arrays of offsets say: rows of entries, each combined by one work-item.

Rows are dealt to work-groups by turns, so that long ones do not wait for each other; what is kept beside them lies in
vectors on CPUs, and along work-items on GPUs.
"""

from collections.abc import Iterator
from math import prod

from mdhnp.mdh import MdHom
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.schedule import DeviceCaps, Schedule, even_groups

#: Work-groups a core, so that cores end at the same time; vectors of a work-item; work-items of a GPU's work-group.
_GROUPS, _VECTORS, _ITEMS = 16, 4, 128
#: Bytes of the widest vectors that CPUs compute with.
_WIDEST = 64


def segment_candidates(h: MdHom, caps: DeviceCaps) -> Iterator[Schedule]:
    """Iterate over legal schedules of an MDH with segments, the most likely first; the last is always legal."""
    lanes = max(_WIDEST // h.scalar.dtypes[0].itemsize, 1)
    widths = [lanes, lanes // 2, lanes // 4, 1] if caps.kind == "cpu" else [1]
    for width in dict.fromkeys([max(w, 1) for w in widths]):
        for vectors in (_VECTORS, 2, 1):
            s = _schedule(h, caps, width, vectors)
            if s is not None and is_legal(h, s, caps):
                yield s


def _schedule(h: MdHom, caps: DeviceCaps, width: int, vectors: int) -> Schedule | None:
    rows = {d for s in h.segments for d in h.segmented(s)}
    access, n = AccessPattern(h), range(h.rank)
    beside = [d for d in access.contiguous_first if d not in rows]
    near = beside[0] if beside else -1
    if width > 1 and (near < 0 or h.extents[near] < width):
        return None
    private = [1] * h.rank
    items = [1] * h.rank
    if near >= 0 and caps.kind == "cpu":
        private[near] = width * min(vectors, max(h.extents[near] // width, 1))
    elif caps.kind == "gpu":
        along = near if near >= 0 and h.extents[near] >= (caps.subgroup or 1) else next(iter(rows), near)
        if along >= 0:
            items[along] = min(_ITEMS, h.extents[along], caps.max_work_group)
    kept = h.dims("cc")
    tile = [private[d] * items[d] if d in kept else h.extents[d] for d in n]
    groups, most = [1] * h.rank, _GROUPS * caps.compute_units
    for d in (*sorted(rows), *reversed(beside)):
        if caps.kind == "cpu" and d not in rows:
            continue
        count = -(-h.extents[d] // tile[d])
        left = max(most // prod(groups), 1)
        groups[d] = count if caps.kind == "gpu" else even_groups(count, min(count, left))
    order = (*sorted(rows), *[d for d in reversed(access.contiguous_first) if d not in rows])
    order = (*order, *[d for d in kept if d not in order], *[d for d in n if d not in kept])
    return Schedule(
        num_wg=tuple(groups), num_wi=tuple(items), local_tile=tuple(tile), private_tile=tuple(private),
        vector_dim=near if width > 1 else -1, vector_width=width, local_copies=(None,) * len(h.inputs),
        private_copies=(True,) * len(h.inputs), results="private", global_order=order, local_order=order,
        private_order=order, group_order=tuple(n), item_order=tuple(reversed(order)),
    )  # fmt: skip
