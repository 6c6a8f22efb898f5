"""Candidate schedules, the best first, and the one to use before anything was tuned: the first of them.

Those of rows are how many rows at a time, and a schedule of each MDH for so many. On CPUs work-items compute some rows
each, by the schedules that are the default for so many. On GPUs the work-items of a group share a row, or a few short
ones, kept in local memory; products want tiles of both operands there, and matrix instructions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice, product
from math import gcd, prod

from mdhnp.fusion.streamed import streamed
from mdhnp.mdh import Chain, Computation, MdHom, Rows, is_product, sized
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.accuracy import READ_ONCE
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.batch import fallback
from mdhnp.schedule.chains import chain_candidates
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.cpu import cpu_candidates
from mdhnp.schedule.fixed_order import in_fixed_order, is_fixed
from mdhnp.schedule.gpu import covering, gpu_candidates, of_tiles, with_vectors
from mdhnp.schedule.model import seconds
from mdhnp.schedule.online import online_candidates
from mdhnp.schedule.rows import links, rows_memory, rows_plain
from mdhnp.schedule.schedule import DeviceCaps, IllegalSchedule, Schedule, shared_groups, tile_counts
from mdhnp.schedule.segments import scatter_candidates, segment_candidates

#: Rows at a time: multiples of register tiles' rows.
_ROWS = (1, 2, 4, 6, 8, 16, 32, 64, 128)
#: Rows of a register tile, which are enough; more of them are of so many points in all, at most.
_ENOUGH, _POINTS = 8, 1 << 17
#: Part of a CPU's second cache that what a work-group reads and computes of its rows may take.
_CACHED = 0.75
#: Vectors of rows beside each other, where tiles of another dimension follow each other.
_BESIDE = 4
#: Points of that dimension where caches are small.
_FEW = 32
#: Work-groups a core, at most.
_GROUPS = 16
#: Work-groups on a GPU's compute unit, at least: one reads while the other reduces.
_TOGETHER = 2
#: Points of a row that a GPU's work-item has of long rows, and of short ones; work-items that keep a group busy, and
#: the most of them; points of a work-item that are read before any is used.
_LONG, _SHORT, _ITEMS, _MOST, _AHEAD = 16, 4, 128, 1024, 4

#: Candidates of any order of combination, of which those in a fixed order are made.
_RANKED = 64

#: Gives the schedule of an MDH by the dimensions that are shared, and which inputs are in local memory.
_Own = Callable[[MdHom, Sequence[int], Sequence[bool]], Schedule | None]


def candidates(h: Computation, caps: DeviceCaps) -> Iterator[Schedule]:
    """Iterate over legal schedules of a stage in canonical form without extents of 0, the best by the cost model first.

    Of an MDH the last is legal on every device; of what is fused there may be none.
    """
    if isinstance(h, Rows):
        return _rows_candidates(h, caps)
    if isinstance(h, Chain):
        return chain_candidates(h, caps)
    if is_fixed(h):
        return _fixed_candidates(h.last, caps)
    if h.last.scatters:
        return scatter_candidates(h.last, caps)
    if h.last.segments:
        return segment_candidates(h.last, caps)
    return gpu_candidates(h.last, caps) if caps.kind == "gpu" else cpu_candidates(h.last, caps)


@lru_cache(maxsize=4096)
def default(h: Computation, caps: DeviceCaps) -> Schedule:
    """Return the first candidate; an IllegalSchedule where what is fused has none."""
    found = next(candidates(h, caps), None)
    if found is None:
        raise IllegalSchedule(f"local memory: no tile of what is fused fits in {caps.local_memory} bytes, or products")
    return found


def _fixed_candidates(h: MdHom, caps: DeviceCaps) -> Iterator[Schedule]:
    """Yield what the first candidates of any order are in the fixed order, as the cost model ranks them."""
    free = replace(h, precision="highest")
    able = replace(caps, atoms=tuple([name for name in caps.atoms if not ATOMS[name].rounds]))
    access = AccessPattern(h)
    near = [_undivided(h, s, caps) for s in (*islice(candidates(free, able), _RANKED), fallback(h))]
    # Without vectors more work-items share the sums of rows.
    near += [replace(s, vector_dim=-1, vector_width=1) for s in near if s.work_items > 1 and access.kept]
    found = [s for s in dict.fromkeys([in_fixed_order(h, s) for s in near]) if is_legal(h, s, caps)]
    # Of what takes as long by estimate more work-items are better, as many along each dimension.
    items = [(-s.work_items, max(s.num_wi, default=1)) for s in found]
    for *_, n in sorted(zip(seconds(access, found, caps), items, range(len(found)), strict=True)):
        wide = [in_fixed_order(h, s) for s in with_vectors(access, found[n], caps)]
        yield from [s for s in (*wide, found[n]) if is_legal(h, s, caps)]


def _undivided(h: MdHom, s: Schedule, caps: DeviceCaps) -> Schedule:
    """Return the schedule with one work-group for each sum, where that makes enough of them."""
    if prod(s.num_wg[d] for d in h.dims("cc")) >= _TOGETHER * caps.compute_units:
        s = replace(s, num_wg=tuple([1 if d in h.combined else n for d, n in enumerate(s.num_wg)]))
    return s


def _rows_candidates(h: Rows, caps: DeviceCaps) -> Iterator[Schedule]:
    """Yield legal schedules of several rows at a time, the most likely first."""
    on_gpu = chain(online_candidates(h, caps), _shared(h, caps))
    for s in on_gpu if caps.kind == "gpu" else _by_registers(h, caps):
        if s is not None and is_legal(h, s, caps):
            yield s


def _schedule(h: Rows, points: Sequence[int], groups: Sequence[int], items: int, own: _Own) -> Schedule | None:
    """The schedule of so many rows at a time; None where an MDH has none."""
    steps = []
    for one, along, step in zip(links(h, tuple(points)), h.shared, h.graph.steps, strict=True):
        if (found := own(one, along, [p >= h.graph.given for p in step.inputs])) is None:
            return None
        steps.append(found)
    return replace(rows_plain(h, tuple(points), tuple(groups), items), steps=tuple(steps))


def _by_registers(h: Rows, caps: DeviceCaps) -> Iterator[Schedule | None]:
    """Schedules for CPUs: as many rows as register tiles have, or else as fit."""
    extents = [h.extents[d] for d in h.divisible]
    cached = min(caps.local_memory, int(_CACHED * caps.l2))
    found = []
    for count in sorted({min(n, extents[-1]) for n in _ROWS}, reverse=True):
        points = (*(1 for _ in extents[1:]), count)
        many = count > _ENOUGH and sum([one.points for one in links(h, points)]) > _POINTS
        few = prod(extents) // count < 2 * caps.compute_units
        if rows_memory(h, points) <= cached:
            found.append((many or few, -count, points))
    core = replace(caps, compute_units=1)
    yield from _streamed(h, caps)
    for *_, points in sorted(found):
        groups = shared_groups(tile_counts(extents, points), range(len(points)), _GROUPS * caps.compute_units)
        yield _schedule(h, points, groups, 1, lambda *link: next(_of_registers(core, *link), None))


def _of_registers(caps: DeviceCaps, h: MdHom, along: Sequence[int], kept: Sequence[bool]) -> Iterator[Schedule]:
    """Legal schedules of one MDH with all rows in one local tile, no vectors along rows, near the default one.

    A default for a single row is what there is where vectors would be along rows.
    """
    one_row = sized(h, along, [1] * len(along))
    for s in (next(cpu_candidates(h, caps)), next(cpu_candidates(one_row, caps)), fallback(h)):
        tile = [n if d in along else s.local_tile[d] for d, n in enumerate(h.extents)]
        some = [gcd(n, tile[d]) if d in along else n for d, n in enumerate(s.private_tile)]
        every = [tile[d] if d in along else n for d, n in enumerate(s.private_tile)]
        copies = [None if here else copy for here, copy in zip(kept, s.local_copies, strict=True)]
        own = replace(s, num_wg=(1,) * h.rank, local_tile=tuple(tile), local_copies=tuple(copies), second=None)
        for private, results in ((some, s.results), (some, "global"), (every, "private")):
            found = replace(own, private_tile=tuple(private), results=results)
            if found.vector_dim not in along and results != "local" and is_legal(h, found, caps):
                yield found


def _streamed(h: Rows, caps: DeviceCaps) -> Iterator[Schedule]:
    """Schedules of the online form for CPUs: rows in vectors, and so many points of a dimension that all stays near."""
    online, extents = streamed(h), [h.extents[d] for d in h.divisible]
    if online is None:
        return
    widest = max([v.dtype.itemsize for one in online.mdhoms for v in one.outputs])
    lanes = max(caps.vector_bytes // widest, 1)
    for vectors, most in product((_BESIDE, 1), (READ_ONCE, _FEW)):
        count, tile = min(vectors, extents[-1] // lanes) * lanes, min(h.extents[online.dim], most)
        points = (*(1 for _ in extents[1:]), count)
        if count:
            groups = shared_groups(tile_counts(extents, points), range(len(points)), _GROUPS * caps.compute_units)
            each = zip(links(online, points, tile), online.shared, strict=True)
            steps = [_beside(one, along, lanes, caps.registers) for one, along in each]
            yield replace(rows_plain(h, points, tuple(groups), 1, online.dim, tile), steps=tuple(steps))


def _beside(h: MdHom, along: Sequence[int], lanes: int, registers: int) -> Schedule:
    """The schedule of one MDH as one tile, with vectors along rows: register tiles of products, columns of others."""
    row, product = along[-1], is_product(h, along)
    others = [d for d in h.dims("cc") if d not in along]
    order = AccessPattern(h).loop_order
    private = [1] * h.rank
    private[row] = lanes * gcd(h.extents[row] // lanes, 2 if others else _BESIDE)
    if others:
        longest = max(others, key=lambda d: h.extents[d])
        private[longest] = min(h.extents[longest], registers // 4 if product else 2)
    return replace(
        Schedule.plain(h.extents, len(h.inputs)), private_tile=tuple(private), vector_dim=row, vector_width=lanes,
        global_order=order, local_order=order, private_copies=(True,) * len(h.inputs),
        private_order=(*h.combined, *h.dims("cc")), results="global" if h.combined else "private",
    )  # fmt: skip


def _shared(h: Rows, caps: DeviceCaps) -> Iterator[Schedule | None]:
    """Schedules for GPUs: work-items share a row, or a few short ones; none of products."""
    one_row = links(h, (1,) * len(h.divisible))
    if any(map(is_product, one_row, h.shared)):
        return
    longest, extents = max([one.points for one in one_row]), [h.extents[d] for d in h.divisible]
    each = min(max(covering(longest // _LONG), min(covering(longest // _SHORT), caps.subgroup or 1)), _MOST)
    for items in dict.fromkeys([each, each // 2, each * 2, each // 4, each * 4]):
        for wanted in dict.fromkeys([max(_ITEMS // max(items, 1), 1), 1]):
            beside = min(wanted, covering(extents[-1]))
            if 0 < items * wanted <= min(_MOST, caps.max_work_group) and beside <= extents[-1]:
                points = [*(1 for _ in extents[1:]), beside]
                if rows_memory(h, tuple(points)) > caps.shared_memory(_TOGETHER):
                    continue
                yield _schedule(h, points, tile_counts(extents, points), items * beside, _of_items(items, beside))


def _of_items(items: int, beside: int) -> _Own:
    """Return what schedules an MDH as one tile, with so many work-items along a row and rows beside each other."""

    def own(h: MdHom, along: Sequence[int], _: Sequence[bool]) -> Schedule:
        access = AccessPattern(h)
        strides = (*access.strides, access.output_strides)
        near = [min([abs(s[d]) for s in strides if s[d]], default=0) for d in range(h.rank)]
        free = sorted([d for d in range(h.rank) if d not in along], key=lambda d: near[d])
        num_wi, left = {along[-1]: beside}, items
        for d in free:
            num_wi[d] = min(left, covering(h.extents[d]))
            left //= num_wi[d]
        if access.combined:
            # What is left waits for the others.
            num_wi[access.combined[-1]] *= left
        points = {d: min(_AHEAD, max(h.extents[d] // num_wi[d], 1)) for d in free[:1]}
        s = of_tiles(access, num_wi, points, dict(enumerate(h.extents)))
        kept = [d for d in free if d in access.kept]
        if prod([-(-h.extents[d] // s.step(d)) for d in kept]) > 1 and access.combined:
            s = replace(s, results="global", combine_on="local")
        return replace(s, item_order=(*free, *reversed(along)))

    return own
