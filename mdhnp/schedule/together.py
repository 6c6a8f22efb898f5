"""Which work-items of a group share a reduction, and how they bring their results together.

Neighbours exchange registers where the device's work-items run together in subgroups that can; what is left of their
results takes slots in local memory.
"""

from math import prod

from mdhnp.mdh import MdHom
from mdhnp.schedule.schedule import Schedule

__all__ = ["exchanging", "shared_slots"]


def exchanging(h: MdHom, s: Schedule, subgroup: int) -> int:
    """How many neighbouring work-items combine their results by exchanging registers; 1 for none.

    These must be the neighbours in a reduction, too, and a power of two; all work-items of a subgroup must take part;
    and one result of each subgroup must be few enough for one subgroup to combine them.
    """
    sharing = [d for d in h.dims("pw") if s.num_wi[d] > 1]
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
    """How many work-items of a group leave their results in local memory."""
    near = exchanging(h, s, subgroup)
    left = prod(s.num_wi[d] for d in h.dims("pw")) // near
    return s.work_items // near if left > 1 else 0
