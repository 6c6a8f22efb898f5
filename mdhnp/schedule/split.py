"""The MDHs of a split reduction or scan: of work-groups' parts, and of the kernel that combines them.

Takes an MDH and a schedule, gives the kernels' MDHs. It must not know devices.
"""

from dataclasses import replace
from math import prod

from mdhnp.mdh import Combine, Computation, MdHom, canonical, combination, partial, scattered, scattered_partial
from mdhnp.schedule.accuracy import chain_is_short
from mdhnp.schedule.layout import exchanging
from mdhnp.schedule.schedule import Schedule


def splits(h: MdHom, s: Schedule) -> bool:
    """Tell whether several work-groups work on the same results, or results go where elements of an input say."""
    return h.scatters or any(s.num_wg[d] > 1 for d in h.dims("pw"))


def split(h: MdHom, s: Schedule) -> tuple[MdHom, MdHom]:
    """Return the MDH of the work-groups' parts and that of the kernel that combines their results.

    The second is not in canonical form: dimension 0 runs over the parts, the others are the kept ones in order. So it
    is of the same form for all MDHs of a form.
    """
    dims = h.dims("pw")
    parts = prod(s.num_wg[d] for d in dims)
    if h.scatters:
        small, _ = scattered(h)
        return scattered_partial(h), combination(small, small.segments[0].dim, parts)
    return partial(h, dims[0]), combination(h, dims[0], parts)


def combining(h: MdHom, s: Schedule) -> MdHom | None:
    """Return the MDH, in canonical form, of the kernel that `s.second` is for; None where none combines parts."""
    return None if h.dims("ps") or not splits(h, s) else canonical(split(h, s)[1])


def without_idle(h: Computation, s: Schedule) -> Schedule:
    """Return the schedule without that of a second kernel where none combines parts."""
    is_idle = s.second is not None and (not isinstance(h, MdHom) or combining(h, s) is None)
    return replace(s, second=None) if is_idle else s


def part_totals(h: MdHom, s: Schedule, subgroup: int) -> tuple[MdHom, Schedule]:
    """Return the reduction of each part of a scan, which comes first, and its schedule.

    Where work-items exchange registers and operands may change places it is scheduled as other reductions are:
    neighbours read neighbouring elements, and combine what they have once a part. Else it goes tile by tile, as the
    scan does.
    """
    (d,) = h.dims("ps")
    operator = h.combiner
    anyhow = operator.commutative and exchanging(h, s, subgroup) > 1
    ordered = Combine("ps", operator if anyhow else replace(operator, commutative=False))
    totals = partial(replace(h, combine=tuple(ordered if c.kind == "ps" else c for c in h.combine)), d)
    if anyhow:
        return totals, _in_large_tiles(totals, s, d)
    return totals, replace(s, combine_on="local") if s.num_wi[d] > 1 else s


def _in_large_tiles(totals: MdHom, s: Schedule, d: int) -> Schedule:
    """Return the schedule with the largest tiles that divide a part and keep sums exact enough."""
    tiles = -(-totals.extents[d] // s.local_tile[d])
    per_group = -(-tiles // s.num_wg[d])
    direct = replace(s, results="private", local_copies=(None,) * len(totals.inputs))

    def joined(count: int) -> Schedule:
        larger = direct.at(d, local_tile=s.local_tile[d] * count)
        return replace(larger, combine_on="global" if count == per_group else "local")

    counts = [n for n in range(per_group, 0, -1) if per_group % n == 0]
    return next(found for found in map(joined, counts) if chain_is_short(totals, found))
