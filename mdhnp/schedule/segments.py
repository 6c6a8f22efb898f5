"""Schedules where points count that arrays of offsets say: rows of entries.

Rows are dealt to work-groups by turns, so that long ones do not wait for each other; what is kept beside them lies in
vectors on CPUs. On GPUs it lies along work-items, others of which share the entries of a row: one that has thousands
would have a single one at work.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import gcd, prod

from mdhnp.mdh import MdHom
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.schedule import DeviceCaps, Schedule, even_groups

#: Work-groups a core, so that cores end at the same time; vectors of a work-item; work-items of a GPU's work-group.
_GROUPS, _VECTORS, _ITEMS = 16, 4, 128
#: Sums that the entries of long rows are added to by turns, where nothing is kept beside rows: one would wait for each
#: addition.
_CHAINS = 4
#: Bytes of the widest vectors that CPUs compute with.
_WIDEST = 64
#: The most elements that OpenCL's vectors have.
_LANES = 16


def scatter_candidates(h: MdHom, caps: DeviceCaps) -> Iterator[Schedule]:
    """Iterate over legal schedules of what goes where elements of an array say, for CPUs, the most likely first.

    Each core combines its share of all points where they go, in memory of its own.
    """
    access, (index,) = AccessPattern(h), h.places
    near = next(iter(access.contiguous_first), -1)
    groups, local = [1] * h.rank, list(h.extents)
    first = max(index.dims(), key=lambda d: h.extents[d])
    groups[first] = even_groups(h.extents[first], min(caps.compute_units, h.extents[first]))
    local[first] = -(-h.extents[first] // groups[first])
    order = (*access.kept, *index.dims(), *[d for d in h.combined if d not in index.dims()])
    lanes = min(_WIDEST // h.scalar.dtypes[0].itemsize, _LANES)
    for width in dict.fromkeys([gcd(h.extents[near], lanes) if near >= 0 else 1, 1]):
        private = [1] * h.rank
        if near >= 0:
            private[near] = width * max([n for n in range(1, _VECTORS + 1) if h.extents[near] // width % n == 0])
        s = replace(
            Schedule.plain(h.extents, len(h.inputs)), num_wg=tuple(groups), local_tile=tuple(local),
            private_tile=tuple(private), vector_dim=near if width > 1 else -1, vector_width=width, results="global",
            private_copies=(True,) * len(h.inputs), global_order=order, local_order=order, private_order=order,
        )  # fmt: skip
        if is_legal(h, s, caps):
            yield s


def segment_candidates(h: MdHom, caps: DeviceCaps) -> Iterator[Schedule]:
    """Iterate over legal schedules of an MDH with segments, the most likely first; the last is always legal."""
    lanes = max(_WIDEST // h.scalar.dtypes[0].itemsize, 1)
    near = _contiguous(h)
    if caps.kind == "gpu":
        widths = [1]
    elif near is None:
        long = h.extents[h.segments[0].dim] >= 2 * _CHAINS * prod([h.extents[d] for d in _rows(h)])
        widths = [_CHAINS, 1] if long else [1]
    else:
        widths = [lanes, lanes // 2, lanes // 4, 1]
    for width in dict.fromkeys([max(w, 1) for w in widths]):
        for vectors in (_VECTORS, 2, 1) if near is not None else (1,):
            s = _schedule(h, caps, width, vectors)
            if s is not None and is_legal(h, s, caps):
                yield s


def _rows(h: MdHom) -> frozenset[int]:
    """Dimensions of whose points each has other ones of a reduced dimension."""
    return frozenset({d for s in h.segments for d in h.segmented(s)})


def _contiguous(h: MdHom) -> int | None:
    """The dimension beside rows along which neighbours lie beside each other, if any is kept or reduced as a whole."""
    return next((d for d in AccessPattern(h).contiguous_first if d not in _rows(h)), None)


def _sharing(h: MdHom, caps: DeviceCaps, beside: int) -> int:
    """How many of a GPU's work-items share the entries of a row, a power of two; `beside` are at work on each entry.

    As many as a row usually has where none are beside: they exchange registers. On an H200 (mdhnp 0.1) products with a
    vector took no longer for rows of equal length, and a sixth of the time for a graph's. What several have beside each
    other goes through local memory, which takes longer for rows of equal length: few share then, and several rows are
    in a group.
    """
    segmented, operator = h.segments[0].dim, h.combine[h.segments[0].dim].operator
    if operator is None or not operator.commutative:
        return 1
    usual = h.extents[segmented] // max(prod([h.extents[d] for d in _rows(h)]), 1)
    room = min(_ITEMS, caps.max_work_group) // beside
    wanted = usual if beside == 1 else min(usual, room) // 2
    return 1 << max(min(wanted, room, caps.subgroup or 1), 1).bit_length() - 1


def _schedule(h: MdHom, caps: DeviceCaps, width: int, vectors: int) -> Schedule | None:
    rows, near, n = _rows(h), _contiguous(h), range(h.rank)
    lying = AccessPattern(h).contiguous_first
    beside = [d for d in lying if d not in rows]
    along = h.segments[0].dim if near is None else near
    if width > 1 and h.extents[along] < width:
        return None
    private = [1] * h.rank
    items = [1] * h.rank
    if caps.kind == "cpu":
        private[along] = width * min(vectors, max(h.extents[along] // width, 1))
    kept, first = h.dims("cc"), list[int]()
    if caps.kind == "gpu":
        # What lies beside an entry is read at once by neighbours; one that is combined pays as long as a subgroup's.
        shared = near is not None and (near in kept or h.extents[near] >= (caps.subgroup or 1))
        first += [near] if near is not None and shared else []
        most = min(_ITEMS, caps.max_work_group)
        for d in first:
            items[d] = min(most, h.extents[d])
        items[h.segments[0].dim] = _sharing(h, caps, prod(items))
        for d in sorted(rows, reverse=True):
            items[d] = min(most // prod(items), h.extents[d])
    tile = [private[d] * items[d] if d in kept else h.extents[d] for d in n]
    groups, parts = [1] * h.rank, _GROUPS * caps.compute_units
    for d in (*sorted(rows), *reversed(beside)):
        if caps.kind == "cpu" and d not in rows:
            continue
        count = -(-h.extents[d] // tile[d])
        left = max(parts // prod(groups), 1)
        groups[d] = count if caps.kind == "gpu" else even_groups(count, min(count, left))
    order = (*sorted(rows), *reversed(beside))
    order = (*order, *[d for d in kept if d not in order], *[d for d in n if d not in kept])
    return Schedule(
        num_wg=tuple(groups), num_wi=tuple(items), local_tile=tuple(tile), private_tile=tuple(private),
        vector_dim=along if width > 1 else -1, vector_width=width, local_copies=(None,) * len(h.inputs),
        private_copies=(True,) * len(h.inputs), results="private", global_order=order, local_order=order,
        private_order=order, group_order=tuple(n), item_order=(*first, *[d for d in reversed(order) if d not in first]),
    )  # fmt: skip
