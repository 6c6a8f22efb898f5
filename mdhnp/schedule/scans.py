"""A scan over several work-groups: what computes the totals of their chunks.

Takes an MDH and a schedule, gives the MDH of the totals and its schedule. It must not know devices.
"""

from dataclasses import replace

from mdhnp.mdh import Combine, MdHom, partial
from mdhnp.schedule.accuracy import chain_is_short
from mdhnp.schedule.schedule import Schedule
from mdhnp.schedule.together import exchanging

__all__ = ["chunk_totals"]


def chunk_totals(h: MdHom, s: Schedule, subgroup: int) -> tuple[MdHom, Schedule]:
    """Give the reduction that a scan's chunks begin with, and a schedule of the same chunks.

    Where work-items exchange registers and operands may change places it is scheduled as other reductions are:
    neighbours read neighbouring elements, and combine what they have once a chunk. Else it goes tile by tile, as the
    scan does.
    """
    (d,) = h.dims("ps")
    operator = h.operator
    assert operator is not None
    anyhow = operator.commutative and exchanging(h, s, subgroup) > 1
    ordered = Combine("ps", operator if anyhow else replace(operator, commutative=False))
    totals = partial(replace(h, combine=tuple(ordered if c.kind == "ps" else c for c in h.combine)), d)
    if anyhow:
        return totals, _in_large_tiles(totals, s, d)
    return totals, replace(s, combine_on="local") if s.num_wi[d] > 1 else s


def _in_large_tiles(totals: MdHom, s: Schedule, d: int) -> Schedule:
    """The schedule with the largest tiles of a chunk whose sums are exact enough, each of as many of the scan's."""
    tiles = -(-totals.extents[d] // s.local_tile[d])
    per_group = -(-tiles // s.num_wg[d])
    direct = replace(s, results="private", local_copies=(None,) * len(totals.inputs))

    def joined(count: int) -> Schedule:
        local_tile = tuple(t * count if k == d else t for k, t in enumerate(s.local_tile))
        return replace(direct, local_tile=local_tile, combine_on="global" if count == per_group else "local")

    counts = [n for n in range(per_group, 0, -1) if per_group % n == 0]
    return next(found for found in map(joined, counts) if chain_is_short(totals, found))
