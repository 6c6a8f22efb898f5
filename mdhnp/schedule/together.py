"""Which work-items of a group share a reduction or a scan, and how they bring their results together.

Neighbours exchange registers where the device's work-items run together in subgroups that can; what is left of their
results takes slots in local memory.
"""

from math import prod

from mdhnp.mdh import MdHom
from mdhnp.schedule.schedule import Schedule

__all__ = ["exchanging", "shared_slots"]


def exchanging(h: MdHom, s: Schedule, subgroup: int) -> int:
    """How many neighbouring work-items combine their results by exchanging registers; 1 for none.

    These must be the neighbours in the dimension, too, and a power of two; all work-items of a subgroup must take part;
    and one result of each subgroup must be few enough for one subgroup to combine them.
    """
    sharing = _sharing(h, s)
    count = prod(s.num_wi[d] for d in sharing)
    fastest = [d for d in s.item_order if s.num_wi[d] > 1][: len(sharing)]
    able = (
        subgroup > 0
        and sorted(fastest) == sharing
        and count & (count - 1) == 0
        and s.work_items % subgroup == 0
        and count <= subgroup**2
    )
    return min(count, subgroup) if able else 1


def shared_slots(h: MdHom, s: Schedule, subgroup: int) -> int:
    """How many results of work-items of a group are in local memory; of scans without exchanges twice as many."""
    near = exchanging(h, s, subgroup)
    left = prod(s.num_wi[d] for d in _sharing(h, s)) // near
    twice = 2 if h.dims("ps") and near == 1 else 1
    return twice * s.work_items // near if left > 1 else 0


def _sharing(h: MdHom, s: Schedule) -> list[int]:
    """Reduced or scanned dimensions along which there are several work-items."""
    return [d for d in range(h.rank) if h.combine[d].kind != "cc" and s.num_wi[d] > 1]
