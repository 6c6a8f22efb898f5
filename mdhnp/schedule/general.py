"""Schedules for other sizes: one moved to other extents, and those of general kernels, which take sizes as arguments.

MDHs that differ in sizes only have one form. Tiles are chosen for the form, as the default for typical extents, and
only work-groups follow the sizes of a call. Where kept dimensions have too few of them, a reduction is split; the
kernel that combines the parts is a general one, too.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from mdhnp.mdh import Computation, MdHom, View
from mdhnp.schedule.accuracy import chain_is_short, float_sums
from mdhnp.schedule.check import check_fields, is_legal
from mdhnp.schedule.cpu import alike
from mdhnp.schedule.default import default
from mdhnp.schedule.fixed_order import is_fixed
from mdhnp.schedule.schedule import DeviceCaps, IllegalSchedule, Schedule, even_groups, shared_groups, tile_counts
from mdhnp.schedule.split import split, splits, without_idle

#: Points of a form, its longest and shortest extent.
_POINTS, _LONGEST, _SHORTEST = 1 << 20, 1000, 7
#: Vectors of a row of a private tile, at most.
_VECTORS = 2
#: Applications of the scalar function that are worth a work-group, on a CPU.
_WORTH = 1 << 17
#: Work-groups a compute unit that keep a device busy, and applications that are worth a part of a reduction: a second
#: kernel is launched then, and compiled once for the form.
_ENOUGH = {"cpu": 1, "gpu": 4}
_PART = {"cpu": 1 << 22, "gpu": 1 << 16}


def form(h: Computation) -> MdHom | None:
    """Return the MDH with typical extents and dense arrays that stands for all of the same form.

    Of strides it keeps their order, their signs, and the short ones; of offsets, which are 0. None where there is no
    general kernel: for what is fused, scans, boundaries, indices that fit some extents only, and arrays whose offsets
    need more than 32 bits.
    """
    if not isinstance(h, MdHom) or h.dims("ps") or any(v.boundary is not None for v in h.inputs) or h.wide:
        return None
    if h.index_sources:  # which boundaries apply to depends on sizes
        return None
    extent = min(max(round(_POINTS ** (1 / max(h.rank, 1))), _SHORTEST), _LONGEST)
    return stretched(h, (extent,) * h.rank)


@lru_cache(maxsize=1024)
def general_schedule(typical: MdHom, caps: DeviceCaps) -> Schedule | None:
    """Choose tiles for all MDHs of a form; None where no schedule is legal for all of them."""
    # Matrix instructions ask for sizes that not all MDHs of a form have.
    s = default(typical, replace(caps, atoms=()))
    # Half as much text compiles in two thirds of the time, and wastes less on sizes that are no multiples of vectors.
    private = tuple(min(t, _VECTORS * s.vector_width) if d == s.vector_dim else t for d, t in enumerate(s.private_tile))
    return for_all_sizes(typical, replace(s, private_tile=private), caps)


def for_all_sizes(typical: MdHom, s: Schedule, caps: DeviceCaps) -> Schedule | None:
    """Make a schedule legal for every MDH of a form, in one work-group; None where it cannot be."""
    # One with several tiles in every dimension, the last of them partial, is the hardest of the form.
    several = stretched(typical, tuple(3 * t + 1 for t in s.local_tile))
    if s.results == "private" and float_sums(typical):
        s = replace(s, combine_on="local")  # keeps chains short, however many tiles there are
    one_group = replace(s, num_wg=(1,) * typical.rank, stages=1)
    return adapt(several, one_group, caps) if several is not None else None


def fitted(h: MdHom, s: Schedule, caps: DeviceCaps) -> Schedule | None:
    """Return a general schedule with work-groups for the extents of `h`; None if its sums are too long.

    On a GPU every local tile of kept dimensions gets one, on a CPU a few tiles. A long reduction is split where compute
    units would be idle.
    """
    tiles = tile_counts(h.extents, s.local_tile)
    kept, most = h.dims("cc"), 4 * caps.compute_units
    wanted = prod(tiles[d] for d in kept) if caps.kind == "gpu" else min(most, h.points // _WORTH)
    most_tiles = sorted(range(h.rank), key=lambda d: -tiles[d])
    groups = shared_groups(tiles, [d for d in most_tiles if d in kept], wanted)
    alone = prod(groups)
    if alone < _ENOUGH[caps.kind] * caps.compute_units:
        wanted = min(most // alone, h.points // alone // _PART[caps.kind])
        parts = shared_groups(tiles, [d for d in most_tiles if d in h.dims("pw")], wanted)
        cut = replace(s, num_wg=tuple(map(max, groups, parts)))
        if splits(h, cut) and (found := _followed(h, cut, caps)) is not None:
            return found
    s = replace(s, num_wg=tuple(groups))
    return s if chain_is_short(h, s) else None


def _followed(h: MdHom, s: Schedule, caps: DeviceCaps) -> Schedule | None:
    """Add the schedule of the kernel that combines the parts; None where that has no general one."""
    second = split(h, s)[1]
    typical = form(second)
    after = None if typical is None else general_schedule(typical, caps)
    suited = None if after is None else fitted(second, after, caps)
    return None if suited is None or not chain_is_short(h, s) else replace(s, second=suited)


def any_sizes(s: Schedule) -> Schedule:
    """Return what the text of general kernels depends on: whether there are several work-groups, not how many."""
    if s.second is None:
        return replace(s, num_wg=(1,) * len(s.num_wg))
    return replace(s, num_wg=(2,) * len(s.num_wg), second=any_sizes(s.second))


def stretched(h: MdHom, extents: tuple[int, ...]) -> MdHom | None:
    """Return an MDH of the same form with other extents; None if its indices do not fit them."""
    inputs, outputs = (tuple(_dense(v, extents) for v in views) for views in (h.inputs, h.outputs))
    try:
        return replace(h, extents=extents, inputs=inputs, outputs=outputs)
    except (ValueError, IndexError):
        return None


def _dense(v: View, extents: tuple[int, ...]) -> View:
    """The view of a dense array, with axes in the same order in memory and the same short strides."""
    shape = tuple(max(a[axis].span(extents)[1] for a in v.accesses) + 1 for axis in range(len(v.shape)))
    strides, step, short = list(v.strides), 1, v.short_strides()
    for axis in sorted(range(len(shape)), key=lambda axis: (abs(v.strides[axis]), -axis)):
        if not short[axis]:
            step = max(step, 3)
            strides[axis] = step if v.strides[axis] > 0 else -step
        step = max(step, abs(strides[axis]) * shape[axis])
    lowest = sum(-s * (n - 1) for s, n in zip(strides, shape, strict=True) if s < 0)
    return replace(v, shape=shape, strides=tuple(strides), offset=max(lowest, min(v.offset, 1)))


def moved(h: Computation, s: Schedule, extents: Sequence[int], caps: DeviceCaps) -> Schedule | None:
    """Give the schedule for `h` that is like one for other extents; None where there is none.

    On a CPU register tiles, vectors and copies stay, and the cost model chooses local tiles and work-groups anew. On a
    GPU all tiles stay, and how many of them a work-group walks over. What else there is keeps what it can.
    """
    if (fitting := adapt(h, s, caps)) is None or not isinstance(h, MdHom):
        return fitting
    kept = h.dims("cc")
    if caps.kind == "gpu":
        for d in kept:
            walk = -(-tile_counts(extents, s.local_tile)[d] // s.num_wg[d])
            tiles = tile_counts(h.extents, fitting.local_tile)[d]
            fitting = fitting.at(d, num_wg=even_groups(tiles, -(-tiles // walk)))
        return fitting if is_legal(h, fitting, caps) else None
    if h.dims("ps") or h.segments or is_fixed(h) or s.work_items > 1 or not h.rank:
        return fitting
    return next(alike(h, s, caps), fitting)


def adapt(h: Computation, s: Schedule, caps: DeviceCaps) -> Schedule | None:
    """Fit tiles and work-groups to the extents of `h`; None where `s` is not for such an MDH, or still illegal.

    Local tiles become no larger than their extent and multiples of the work-items' step; work-groups no more than there
    are local tiles. Everything else stays, but a second kernel's schedule where none follows any more.
    """
    if 0 in h.extents:
        return None
    try:
        check_fields(s, h.rank, len(h.inputs))
    except IllegalSchedule:
        return None
    kept, found = h.last.dims("cc"), s
    for d, extent in enumerate(h.extents):
        step, tile = s.step(d), min(s.local_tile[d], extent)
        if d in kept and tile < extent:
            tile = min(-(-tile // step) * step, extent)
        found = found.at(d, local_tile=tile, num_wg=even_groups(-(-extent // tile), s.num_wg[d]))
    long = [d for d in kept if s.step(d) < found.local_tile[d]]
    if s.results == "private" and h.rank > len(kept) and long:
        for d in long:
            found = found.at(d, local_tile=s.step(d))
        return adapt(h, found, caps) if found.local_tile != s.local_tile else None
    found = without_idle(h, found)
    return found if is_legal(h, found, caps) else None
