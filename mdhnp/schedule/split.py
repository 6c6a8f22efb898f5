"""A reduction split over work-groups: one kernel reduces their parts, a second one combines what these give.

Takes an MDH and a schedule, gives the two kernels' MDHs. It must not know devices.
"""

from math import prod

from mdhnp.mdh import MdHom, combination, partial
from mdhnp.schedule.schedule import Schedule

__all__ = ["split", "splits"]


def splits(h: MdHom, s: Schedule) -> bool:
    """Tell whether several work-groups work on the same results."""
    return _groups(h, s) > 1


def split(h: MdHom, s: Schedule) -> tuple[MdHom, MdHom]:
    """Give the MDH of the work-groups' parts and that of the kernel that combines their results.

    The second is not in canonical form: dimension 0 runs over the parts, the others are the kept ones in order. So it
    is of the same form for all MDHs of a form.

    Examples
    --------
    >>> import numpy as np
    >>> from dataclasses import replace
    >>> from mdhnp.mdh import canonical, md_hom, pw
    >>> total = canonical(md_hom(lambda x: x, {"i": pw("add")}, "x[i] -> s[]").bind(np.ones(60)))
    >>> s = replace(Schedule.plain((60,), 1), local_tile=(20,), num_wg=(3,), results="private")
    >>> part, second = split(total, s)
    >>> part.outputs[0].shape, second.extents
    ((), (3,))
    """
    dim = h.dims("pw")[0]
    return partial(h, dim), combination(h, dim, _groups(h, s))


def _groups(h: MdHom, s: Schedule) -> int:
    return prod(s.num_wg[d] for d in h.dims("pw"))
