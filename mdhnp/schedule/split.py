"""A reduction split over work-groups: one kernel reduces their parts, a second one combines what these give.

Takes an MDH and a schedule, gives the two kernels' MDHs. It must not know devices.
"""

from dataclasses import replace
from math import prod

from mdhnp.mdh import Affine, Combine, MdHom, View, finish_inputs, renumber_finish
from mdhnp.mdh.combine import CC
from mdhnp.mdh.function import identity_function
from mdhnp.mdh.mdhom import contiguous, dimension_names
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
    >>> from mdhnp.mdh import canonical, md_hom, pw
    >>> total = canonical(md_hom(lambda x: x, {"i": pw("add")}, "x[i] -> s[]").bind(np.ones(60)))
    >>> s = replace(Schedule.plain((60,), 1), local_tile=(20,), num_wg=(3,), results="private")
    >>> part, second = split(total, s)
    >>> part.outputs[0].shape, second.extents
    ((), (3,))
    """
    kept = h.dims("cc")
    parts = tuple(contiguous(f"P{n}", t, h.extents, kept) for n, t in enumerate(h.scalar.dtypes))
    part = replace(h, outputs=parts, finish=None)
    rank = len(kept) + 1
    full = (_groups(h, s), *(h.extents[d] for d in kept))
    reads = tuple(contiguous(f"P{n}", t, full, tuple(range(rank))) for n, t in enumerate(h.scalar.dtypes))
    position = {d: p + 1 for p, d in enumerate(kept)}

    def move(v: View) -> View:
        accesses = tuple(
            tuple(Affine(tuple(i.coefficients[kept[p - 1]] if p else 0 for p in range(rank)), i.constant) for i in a)
            for a in v.accesses
        )
        return replace(v, accesses=accesses)

    extra = tuple(move(h.inputs[n]) for n in finish_inputs(h))
    inputs = (*reads, *extra)
    parameters = tuple(v.dtype for v in inputs for _ in v.accesses)
    scalar = replace(identity_function(h.scalar.dtypes), parameters=parameters)
    finish = renumber_finish(h, h.scalar.dtypes, position)
    combine = (Combine("pw", h.operator), *(CC for _ in kept))
    outputs = tuple(move(v) for v in h.outputs)
    return part, MdHom(full, combine, scalar, inputs, outputs, finish, dimension_names(rank))


def _groups(h: MdHom, s: Schedule) -> int:
    return prod(s.num_wg[d] for d in h.dims("pw"))
