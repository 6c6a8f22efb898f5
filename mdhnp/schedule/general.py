"""Schedules for general kernels, which take extents, strides and work-groups as arguments and serve all sizes.

MDHs that differ in sizes only have one form. Tiles are chosen for the form, as the default for typical extents, and
only work-groups follow the sizes of a call.
"""

from dataclasses import replace
from math import prod

from mdhnp.mdh import MdHom, View
from mdhnp.schedule.accuracy import chain_is_short, float_sums
from mdhnp.schedule.adapt import adapt
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.default import default
from mdhnp.schedule.schedule import Schedule

__all__ = ["fitted", "for_all_sizes", "form", "general_schedule", "stretched"]

#: Points of a form, its longest and shortest extent.
_POINTS, _LONGEST, _SHORTEST = 1 << 20, 1000, 7
#: Vectors of a row of a private tile, at most.
_VECTORS = 2
#: Applications of the scalar function that are worth a work-group, on a CPU.
_WORTH = 1 << 17


def form(h: MdHom) -> MdHom | None:
    """Give the MDH with typical extents and dense arrays that stands for all of the same form.

    Of strides it keeps their order, their signs, and the short ones; of offsets, which are 0.

    Parameters
    ----------
    h : MdHom
        One stage in canonical form, without extents of 0.

    Returns
    -------
    MdHom or None
        None where there is no general kernel: for scans, boundaries, indices that fit some extents only, and arrays
        whose offsets need more than 32 bits.

    Examples
    --------
    >>> import numpy as np
    >>> from mdhnp.mdh import canonical, cc, md_hom, pw
    >>> rows = md_hom(lambda x: x, {"i": cc, "j": pw("add")}, "A[i,j] -> s[i]")
    >>> forms = [form(canonical(rows.bind(np.ones(shape)))) for shape in ((3, 50), (70, 20))]
    >>> forms[0] == forms[1], forms[0].extents
    (True, (1000, 1000))
    """
    views = (*h.inputs, *h.outputs)
    if h.dims("ps") or any(v.boundary is not None for v in views) or h.wide:
        return None
    extent = min(max(round(_POINTS ** (1 / max(h.rank, 1))), _SHORTEST), _LONGEST)
    return stretched(h, (extent,) * h.rank)


def general_schedule(typical: MdHom, caps: DeviceCaps) -> Schedule | None:
    """Choose tiles for all MDHs of a form; None where no schedule is legal for all of them."""
    s = default(typical, caps)
    # Half as much text compiles in two thirds of the time, and wastes less on sizes that are no multiples of vectors.
    private = tuple(min(t, _VECTORS * s.vector_width) if d == s.vector_dim else t for d, t in enumerate(s.private_tile))
    return for_all_sizes(typical, replace(s, private_tile=private), caps)


def for_all_sizes(typical: MdHom, s: Schedule, caps: DeviceCaps) -> Schedule | None:
    """Make a schedule legal for every MDH of a form, in one work-group; None where it cannot be."""
    # One with several tiles in every dimension, the last of them partial, asks for all that any may ask for.
    several = stretched(typical, tuple(3 * t + 1 for t in s.local_tile))
    if s.results == "private" and float_sums(typical):
        s = replace(s, combine_on="local")  # keeps chains short, however many tiles there are
    return adapt(several, replace(s, num_wg=(1,) * typical.rank), caps) if several is not None else None


def fitted(h: MdHom, s: Schedule, caps: DeviceCaps) -> Schedule | None:
    """Give a general schedule as many work-groups as the extents of `h` are worth; None if its sums are too long.

    On a GPU every local tile gets one. On a CPU they are few, along the kept dimensions with most tiles.
    """
    if not chain_is_short(h, s):
        return None
    tiles = [-(-n // t) for n, t in zip(h.extents, s.local_tile, strict=True)]
    kept = h.dims("cc")
    if caps.kind == "gpu":
        return replace(s, num_wg=tuple(tiles[d] if d in kept else 1 for d in range(h.rank)))
    groups = [1] * h.rank
    left = min(4 * caps.compute_units, prod(h.extents) // _WORTH)
    for d in sorted(kept, key=lambda d: -tiles[d]):
        if left > 1:
            groups[d] = -(-tiles[d] // -(-tiles[d] // min(left, tiles[d])))
            left //= groups[d]
    return replace(s, num_wg=tuple(groups))


def stretched(h: MdHom, extents: tuple[int, ...]) -> MdHom | None:
    """Give an MDH of the same form with other extents; None if its indices do not fit them."""
    inputs, outputs = (tuple(_dense(v, extents) for v in views) for views in (h.inputs, h.outputs))
    try:
        return replace(h, extents=extents, inputs=inputs, outputs=outputs)
    except (ValueError, IndexError):
        return None


def _dense(v: View, extents: tuple[int, ...]) -> View:
    """The view of an array just large enough, with axes in the same order in memory and the same short strides."""
    shape = tuple(max(a[axis].span(extents)[1] for a in v.accesses) + 1 for axis in range(len(v.shape)))
    strides, step, short = list(v.strides), 1, v.short_strides()
    for axis in sorted(range(len(shape)), key=lambda axis: (abs(v.strides[axis]), -axis)):
        if not short[axis]:
            step = max(step, 3)
            strides[axis] = step if v.strides[axis] > 0 else -step
        step = max(step, abs(strides[axis]) * shape[axis])
    lowest = sum(-s * (n - 1) for s, n in zip(strides, shape, strict=True) if s < 0)
    return replace(v, shape=shape, strides=tuple(strides), offset=max(lowest, min(v.offset, 1)))
