"""Local tiles that are copied ahead of their use: which they are, and when that is legal (Table I, 5)."""

from math import prod

from mdhnp.mdh import MdHom
from mdhnp.schedule.illegal import require
from mdhnp.schedule.schedule import Schedule

__all__ = ["MOST_COPIES", "check_stages", "staged"]

#: Most copies of a work-item for one tile, all of which are written out.
MOST_COPIES = 64


def moving(h: MdHom, s: Schedule) -> tuple[int, ...]:
    """Combined dimensions along which a work-group walks over several local tiles, in loop order."""
    several = [-(-n // t) > g for n, t, g in zip(h.extents, s.local_tile, s.num_wg, strict=True)]
    return tuple(d for d in s.global_order if several[d] and h.combine[d].kind != "cc")


def staged(h: MdHom, s: Schedule) -> tuple[int, ...]:
    """Inputs whose local tiles are copied ahead: those that move with the reduction."""
    if s.stages == 1:
        return ()
    dims = moving(h, s)
    copies = enumerate(s.local_copies)
    return tuple(n for n, copy in copies if copy is not None and any(h.inputs[n].depends_on(d) for d in dims))


def check_stages(h: MdHom, s: Schedule) -> None:
    """Raise IllegalSchedule where tiles cannot be copied ahead."""
    if s.stages == 1:
        return
    inputs = staged(h, s)
    require(s.results == "private" and not h.dims("ps"), "stages: results do not stay in registers")
    require(bool(inputs), "stages: no input with a local copy moves along the reduction")
    combined = h.dims("pw")
    require(all(s.num_wi[d] == 1 for d in combined), "stages: work-items share results")
    operator = h.operator
    require(operator is None or operator.commutative, "stages: operands are combined in order")
    for n in inputs:
        view, copy = h.inputs[n], s.local_copies[n]
        assert copy is not None
        require(view.boundary is None, f"stages: input {n} has a boundary")
        require(not copy.blocked, f"stages: the tile of input {n} is blocked")
        footprint = [s.footprint(d) for d in range(h.rank)]
        size = prod(view.box(axis, footprint) for axis in range(len(view.shape)))
        few = size <= MOST_COPIES * s.work_items
        require(few, f"stages: {size} elements of input {n} for {s.work_items} work-items")
