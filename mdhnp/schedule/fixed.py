"""One order of combination for all schedules and devices, so that sums of floats have the same bits everywhere.

What a schedule may choose of reduced and scanned dimensions is chosen here, by the MDH alone: a result is the sum of
fixed parts, each of chunks, each of which a few accumulators add up term by term. Chunks are added with compensation in
registers or, where that is accurate enough, one by one in the output, so that kept dimensions' tiles are as free as
vectors, work-groups and work-items, copies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Literal

from mdhnp.mdh import Computation, MdHom, canonical, stages
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.accuracy import MOST_TILES, longest_chain
from mdhnp.schedule.schedule import Schedule, even_groups, require, tile_counts

#: Bytes of the accumulators that add up one chunk, where neighbouring terms lie in memory as neighbours.
_BYTES = 64
#: Results for which each element is read, from which on operands are copied, where they lie as vectors need them.
_REUSED = 16
#: Terms of a chunk of sums of columns, if they are not too many chunks.
_FEW = 32
#: Parts of few results' reductions, one a work-group, and terms from which on they have several.
_PARTS, _LONG = 64, 1 << 17


def is_fixed(h: Computation) -> bool:
    """Whether the order of combination is fixed, and matters: floats are combined."""
    combines = isinstance(h, MdHom) and bool(h.combined)
    return h.precision == "fixed" and combines and any([t.kind == "f" for t in h.last.scalar.dtypes])


def in_fixed_order(h: MdHom, s: Schedule) -> Schedule:
    """Return the schedule of the fixed order that leaves as much as possible of another one as it is."""
    lanes, combined = _lanes(h), h.combined
    tile, groups = _chunk(h, lanes), [1] * h.rank
    along = combined[-1] if lanes > 1 else s.vector_dim if s.vector_dim in h.dims("cc") else -1
    width = lanes if lanes > 1 else s.vector_width if along >= 0 else 1
    private, local = list(s.private_tile), list(s.local_tile)
    for d in range(h.rank):
        if d in combined:
            private[d], local[d] = lanes if d == along else 1, tile[d]
        elif d == s.vector_dim != along:
            private[d] = max(private[d] // s.vector_width, 1)
    items = [1 if d in combined else n for d, n in enumerate(s.num_wi)]
    results = _results(h, tile, lanes, s.results)
    waits = results == "global"
    for d in h.dims("cc"):
        step = private[d] * items[d]
        whole = waits and (local[d] == h.extents[d] or local[d] % step == 0)
        local[d] = local[d] if whole else min(step, h.extents[d])
    tiles = tile_counts(h.extents, local)
    for d in h.dims("cc"):
        groups[d] = even_groups(tiles[d], s.num_wg[d])
    longest = max(combined, key=lambda d: tiles[d])
    groups[longest] = even_groups(tiles[longest], _parts(h))
    return replace(
        s, num_wg=tuple(groups), num_wi=tuple(items), local_tile=tuple(local), private_tile=tuple(private),
        vector_dim=along, vector_width=width, results=results, combine_on="local", combine_every=1,
        stages=1, atom="", atom_dims=(), second=None, local_order=_at_last(s.local_order, combined),
        global_order=_in_turn(s.global_order, combined) if waits else _at_last(s.global_order, combined),
    )  # fmt: skip


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
    lanes, dims = _lanes(h), h.combined
    moved = [[[i.coefficients[d] for d in dims] for i in access] for v in h.inputs for access in v.accesses]
    return [h.extents[d] for d in dims], moved, lanes, _chunk(h, lanes), _parts(h)


def _lanes(h: MdHom) -> int:
    """Accumulators of one result: several where neighbours in memory are terms of a sum, not of several sums."""
    operator, access, last = h.operator, AccessPattern(h), h.combined[-1]
    lanes = _BYTES // max([t.itemsize for t in (*h.scalar.dtypes, *h.scalar.parameters)])
    apart = h.calls_text or h.segments or h.dims("ps") or h.extents[last] < lanes
    free = operator is not None and operator.commutative and operator.identity is not None
    inside = access.contiguous_any(last) and not any(map(access.contiguous_any, h.dims("cc")))
    return min(lanes, 16) if free and inside and _is_once(h) and not apart else 1


def _is_once(h: MdHom) -> bool:
    """Whether elements of an input are read for few results, so that memory decides how long the sums take."""
    access = AccessPattern(h)
    return any([prod(h.extents[d] for d in {*access.kept} - moved) < _REUSED for moved in access.depends])


def _results(
    h: MdHom, tile: Mapping[int, int], lanes: int, wanted: Literal["private", "local", "global"]
) -> Literal["private", "global"]:
    """Where chunks' sums are added: where it is `wanted` if there is one, in the output if few, else in registers."""
    chunks = prod(-(-h.extents[d] // tile[d]) for d in h.combined)
    if h.segments or h.dims("ps") or _parts(h) > 1:
        return "private"
    if chunks == 1:
        return "global" if wanted == "global" else "private"
    operator = h.operator
    able = operator is not None and operator.identity is not None and h.finish is None
    same = h.scalar.dtypes == tuple(v.dtype for v in h.outputs)
    return "global" if able and same and lanes == 1 and chunks <= MOST_TILES else "private"


def _chunk(h: MdHom, lanes: int) -> dict[int, int]:
    """Points of the chunks that are added up without compensation, in each combined dimension; the last is filled."""
    whole = {*h.dims("ps"), *(s.dim for s in h.segments)}
    tile, left = {}, longest_chain(h)
    if lanes == 1 and _is_once(h):  # rows of a matrix: few at a time, so that a cache keeps what lies beside each other
        left = min(max(_FEW, -(-prod(h.extents[d] for d in h.combined) // MOST_TILES)), left)
    for d in reversed(h.combined):
        terms = left * (lanes if d == h.combined[-1] else 1)
        tile[d] = h.extents[d] if d in whole else min(h.extents[d], terms)
        left = max(left // -(-tile[d] // (lanes if d == h.combined[-1] else 1)), 1)
    return tile


def _parts(h: MdHom) -> int:
    """Parts in which a reduction is computed."""
    if h.segments or h.dims("ps") or prod(h.extents[d] for d in h.combined) < _LONG:
        return 1
    operator = h.operator
    free = operator is not None and operator.commutative and operator.identity is not None
    return max(_PARTS // prod(h.extents[d] for d in h.dims("cc")), 1) if free else 1


def _in_turn(order: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
    """Return the order with `dims` one after the other in the places that they have."""
    each = iter(dims)
    return tuple([next(each) if d in dims else d for d in order])


def _at_last(order: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
    return (*(d for d in order if d not in dims), *dims)
