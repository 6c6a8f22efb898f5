"""The one order in which floats are combined in deterministic mode, whatever the schedule and the device.

Sums of floats then have the same bits everywhere. What a schedule may choose of reduced and scanned dimensions is
chosen here, by the MDH alone: a result is the sum of fixed parts, each of chunks, each of which a few accumulators add
up term by term. Chunks are added with compensation in registers or, where that is accurate enough, one by one in the
output, so that kept dimensions' tiles are as free as vectors, work-groups and work-items, copies.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

from mdhnp.mdh import Computation, MdHom, canonical, stages
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.accuracy import MOST_TILES, READ_ONCE, longest_chain
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.schedule import Schedule, even_groups, require, tile_counts

#: Bytes of the accumulators that add up one chunk, where neighbouring terms lie in memory as neighbours.
_BYTES = 64
#: Results for which each element is read, from which on operands are copied, where they lie as vectors need them.
_REUSED = 16
#: Terms of a chunk of sums of columns, if they are not too many chunks.
_FEW = 32
#: Bytes of a work-item's results that registers hold twice, of a chunk and of all before, beside an instruction's
#: factors: 1000 x 1000 of float64 take 71 µs on an H200 instead of 94.
_HELD = 256
#: Work-items of a group, where the wanted schedule has as many: if the order leaves fewer, kept dimensions get more.
_ITEMS = 128
#: Parts of few results' reductions, one a work-group, and terms from which on they have several.
_PARTS, _LONG = 64, 1 << 17


def is_fixed(h: Computation) -> bool:
    """Whether the order of combination is fixed, and matters: floats are combined."""
    combines = isinstance(h, MdHom) and bool(h.combined)
    return h.precision == "fixed" and combines and any([t.kind == "f" for t in h.last.scalar.dtypes])


class Order(NamedTuple):
    """The fixed order of an MDH: what is added to what, and rounded, before what."""

    #: Accumulators of one result, which take a chunk's neighbouring terms by turns.
    lanes: int
    #: Points of a chunk in each combined dimension.
    chunk: dict[int, int]
    #: Parts of the dimension with the most chunks, each of as many chunks, but for the last one.
    longest: int
    parts: int
    #: All chunks, and whether rounding errors of adding one's sums to those before are kept for the next one.
    chunks: int
    compensated: bool


def order(h: MdHom) -> Order:
    """Return the fixed order of an MDH."""
    lanes = _lanes(h)
    chunk = _chunk(h, lanes)
    counts = {d: -(-h.extents[d] // chunk[d]) for d in h.combined}
    longest, chunks = max(h.combined, key=lambda d: counts[d]), prod(counts.values())
    operator, parts = h.operator, even_groups(counts[longest], _parts(h))
    able = operator is not None and operator.identity is not None and h.finish is None
    same = h.scalar.dtypes == tuple(v.dtype for v in h.outputs)
    one = parts == 1 and not h.segments and not h.dims("ps")
    plain = one and (chunks == 1 or (able and same and lanes == 1 and chunks <= MOST_TILES))
    return Order(lanes, chunk, longest, parts, chunks, not plain)


def chunks_at_once(h: MdHom, s: Schedule) -> int:
    """Return how many chunks of a fixed order the work-items of a group add up at the same time, some of them each."""
    return prod(-(-s.local_tile[d] // n) for d, n in order(h).chunk.items()) if is_fixed(h) else 1


def in_fixed_order(h: MdHom, s: Schedule) -> Schedule:
    """Return the schedule of the fixed order that leaves as much as possible of another one as it is."""
    o, combined = order(h), h.combined
    last, items, wanted = combined[-1], s.num_wi, s
    apart = _are_apart(h, o, s)
    for d in range(h.rank):
        if d in combined:
            groups = -(-h.extents[d] // o.chunk[d]) if apart else o.parts if d == o.longest else 1
            s = s.at(d, num_wg=groups, num_wi=1, local_tile=o.chunk[d], private_tile=1)
        elif d == s.vector_dim and o.lanes > 1:
            s = s.at(d, private_tile=max(s.private_tile[d] // s.vector_width, 1))
    if o.lanes > 1:
        # Work-items may have some of the accumulators each.
        width = max(o.lanes // items[last], s.vector_width if s.vector_dim == last else 1)
        width = o.lanes if items[last] == 1 else min(width, o.lanes)
        s = replace(s.at(last, num_wi=o.lanes // width, private_tile=width), vector_dim=last, vector_width=width)
    elif s.vector_dim not in h.dims("cc"):
        s = replace(s, vector_dim=-1, vector_width=1)
    s = replace(s, combine_on="local", combine_every=1, stages=1, second=None)
    if s.atom and (s.atom_dims[2] != last or ATOMS[s.atom].rounds):
        s = replace(s, atom="", atom_dims=())
    if wanted.work_items > 1:
        s = _shared(h, o, s, wanted)
    size = prod(s.private_tile[d] for d in h.dims("cc")) * max([t.itemsize for t in h.scalar.dtypes])
    held = o.chunks == 1 or apart or (s.atom and size <= _HELD)
    alone = o.compensated or s.num_wi[last] > 1 or (held and wanted.results != "global")
    s = replace(s, results="private" if alone else "global")
    waits = s.results == "global" and all([s.local_tile[d] == o.chunk[d] for d in combined])
    grown = prod(max(s.local_tile[d] // wanted.local_tile[d], 1) for d in combined) if _copies(h, s) else 1
    widest = max(h.dims("cc"), key=lambda d: s.local_tile[d], default=-1)
    for d in h.dims("cc"):
        step, tile = s.step(d), s.local_tile[d]
        tile = tile if d != widest or grown == 1 else max(tile // (grown * step), 1) * step  # copies stay as large
        whole = waits and (tile == h.extents[d] or tile % step == 0)
        s = s.at(d, local_tile=tile if whole else min(step, h.extents[d]))
        every = wanted.num_wg[d] == tile_counts(h.extents, wanted.local_tile)[d] and wanted.work_items > 1
        tiles = tile_counts(h.extents, s.local_tile)[d]
        s = s.at(d, num_wg=tiles if every else even_groups(tiles, s.num_wg[d]))
    turn = _in_turn if waits else _at_last
    local, outer = _at_last(s.local_order, combined), turn(s.global_order, combined)
    return replace(s, local_order=local, global_order=outer)


def _are_apart(h: MdHom, o: Order, s: Schedule) -> bool:
    """Whether each chunk is a work-group's, as the wanted schedule shares sums and copied tiles of them.

    The kernel that follows adds them up one after the other: so many are one chunk of its sums.
    """
    shares = _copies(h, s) and any([s.num_wg[d] > 1 for d in h.combined])
    kept = prod(h.extents[d] for d in h.dims("cc"))
    return shares and kept > 1 and not o.compensated and 1 < o.chunks <= READ_ONCE


def _copies(h: MdHom, s: Schedule) -> bool:
    """Whether inputs that move with the reduction are copied to local memory."""
    copied = [v for v, copy in zip(h.inputs, s.local_copies, strict=True) if copy is not None]
    return any([v.depends_on(d) for v in copied for d in h.combined])


def _shared(h: MdHom, o: Order, s: Schedule, wanted: Schedule) -> Schedule:
    """Return the schedule with several work-items, as the wanted one has them.

    They share a chunk, whose points they copy tile by tile, or have a chunk each, of which they read some points ahead.
    """
    last, split = h.combined[-1], next((d for d in h.combined if o.chunk[d] > 1), h.combined[-1])
    copied, each = _copies(h, s), s.num_wi[last]
    if copied and o.parts == 1:
        turn = o.lanes if split == last else 1  # of the accumulators, with whose first one each tile begins
        inside = prod(o.chunk.values()) // o.chunk[split] * turn
        most = max(prod(wanted.local_tile[d] for d in h.combined) // inside, 1)
        turns = _divisor(-(-o.chunk[split] // turn), most, o.chunk[split] == h.extents[split])
        tile = min(turns * turn, o.chunk[split])
        s = replace(s.at(split, local_tile=tile), stages=wanted.stages if tile < o.chunk[split] else 1)
    elif last == o.longest and not copied and _is_free(h) and not h.segments and not h.dims("ps"):
        chunks = -(-h.extents[last] // o.chunk[last])
        most = min(max(wanted.num_wi[last] // each, 1), chunks)
        count = most if o.parts == 1 else _divisor(-(-chunks // o.parts), most)
        tile = min(o.chunk[last] * count, h.extents[last])
        s = s.at(last, num_wi=each * count, local_tile=tile)
    ahead = min(wanted.private_tile[last], s.local_tile[last] // s.num_wi[last]) // s.private_tile[last]
    s = s.at(last, private_tile=s.private_tile[last] * max(ahead, 1))
    left = min(wanted.work_items, max(_ITEMS, s.work_items)) // s.work_items
    if left > 1 and h.dims("cc"):
        d = max(h.dims("cc"), key=lambda d: h.extents[d])
        s = s.at(d, num_wi=s.num_wi[d] * left)
    return s


def _divisor(n: int, most: int, any_will: bool = False) -> int:
    """Return the largest number up to `n` and `most` that divides `n`, or need not if `any_will`."""
    return min(n, most) if any_will else next(d for d in range(min(n, most), 0, -1) if n % d == 0)


def check_order(h: MdHom, s: Schedule) -> None:
    """Raise IllegalSchedule where a schedule combines in another than the fixed order."""
    if is_fixed(h):
        found = in_fixed_order(h, s)
        differs = [name for name in vars(s) if getattr(s, name) != getattr(found, name)]
        said = ", ".join([f"{name} {getattr(s, name)} instead of {getattr(found, name)}" for name in differs])
        require(found == s, f"config.deterministic: another order of combination: {said}")


def order_of(h: Computation) -> tuple[object, ...]:
    """Return what says in which order each kernel of a computation combines floats: equal where it is the same."""
    return tuple([_order_of(canonical(stage.mdhom)) for stage in stages(h)])


def _order_of(h: Computation) -> object:
    if not isinstance(h, MdHom) or not is_fixed(h) or 0 in h.extents:
        return None
    dims = h.combined
    moved = [[[i.coefficients[d] for d in dims] for i in access] for v in h.inputs for access in v.accesses]
    return [h.extents[d] for d in dims], moved, order(h)


def _lanes(h: MdHom) -> int:
    """Accumulators of one result: several where neighbours in memory are terms of a sum, not of several sums."""
    access, last = AccessPattern(h), h.combined[-1]
    lanes = _BYTES // max([t.itemsize for t in (*h.scalar.dtypes, *h.scalar.parameters)])
    apart = h.calls_text or h.segments or h.dims("ps") or h.extents[last] < lanes
    inside = access.contiguous_any(last) and not any(map(access.contiguous_any, h.dims("cc")))
    return min(lanes, 16) if _is_free(h) and inside and _is_once(h) and not apart else 1


def _is_once(h: MdHom) -> bool:
    """Whether elements of an input are read for few results, so that memory decides how long the sums take."""
    access = AccessPattern(h)
    return any([prod(h.extents[d] for d in {*access.kept} - moved) < _REUSED for moved in access.depends])


def _chunk(h: MdHom, lanes: int) -> dict[int, int]:
    """Points of the chunks that are added up without compensation, in each combined dimension; the last is filled."""
    whole = {*h.dims("ps"), *(s.dim for s in h.segments)}
    tile, left = {}, longest_chain(h)
    terms = prod(h.extents[d] for d in h.combined)
    if lanes == 1 and terms > READ_ONCE and _is_once(h):
        # Of many rows of a matrix few at a time, so that a cache keeps what lies beside each other.
        left = min(max(_FEW, -(-terms // MOST_TILES)), left)
    for d in reversed(h.combined):
        terms = left * (lanes if d == h.combined[-1] else 1)
        tile[d] = h.extents[d] if d in whole else min(h.extents[d], terms)
        left = max(left // -(-tile[d] // (lanes if d == h.combined[-1] else 1)), 1)
    return tile


def _parts(h: MdHom) -> int:
    """Parts in which a reduction is computed."""
    if h.segments or h.dims("ps") or prod(h.extents[d] for d in h.combined) < _LONG:
        return 1
    return max(_PARTS // prod(h.extents[d] for d in h.dims("cc")), 1) if _is_free(h) else 1


def _is_free(h: MdHom) -> bool:
    """Whether parts may be combined in any order, and begin with nothing."""
    return h.operator is not None and h.operator.commutative and h.operator.identity is not None


def _in_turn(order: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
    """Return the order with `dims` one after the other in the places that they have."""
    each = iter(dims)
    return tuple([next(each) if d in dims else d for d in order])


def _at_last(order: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
    return (*(d for d in order if d not in dims), *dims)
