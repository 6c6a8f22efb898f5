"""Schedules of rows for GPUs: the work-items of a group share a row, or a few short ones, kept in local memory."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from mdhnp.mdh import MdHom, Rows, is_product
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.gpu import covering, of_tiles
from mdhnp.schedule.rows import links, rows_plain
from mdhnp.schedule.schedule import Schedule

__all__ = ["rows_shared"]

#: Points of a row that a work-item has of long rows, and of short ones; work-items that keep a group busy.
_LONG, _SHORT, _ITEMS = 16, 4, 128
#: Work-items of a group at most.
_MOST = 1024
#: Points of a work-item that are read before any is used.
_AHEAD = 4


def rows_shared(h: Rows, caps: DeviceCaps) -> Iterator[Schedule]:
    """Legal schedules, the most likely first: a work-item has some points of a row; none of products.

    Those want tiles of both operands in local memory, and matrix instructions.
    """
    one_row = links(h, (1,) * len(h.shared[-1]))
    if any(map(is_product, one_row, h.shared)):
        return
    longest = max([one.points for one in one_row])
    each = min(max(covering(longest // _LONG), min(covering(longest // _SHORT), caps.subgroup or 1)), _MOST)
    for items in dict.fromkeys([each, each // 2, each * 2, each // 4, each * 4]):
        for beside in dict.fromkeys([max(_ITEMS // max(items, 1), 1), 1]):
            if 0 < items * beside <= min(_MOST, caps.max_work_group):
                s = _schedule(h, items, min(beside, covering(h.extents[h.shared[-1][-1]])), caps)
                if s is not None:
                    yield s


def _schedule(h: Rows, items: int, beside: int, caps: DeviceCaps) -> Schedule | None:
    """The schedule of some rows beside each other, of so many work-items each; None where that is illegal."""
    points = (*(1 for _ in h.shared[-1][1:]), beside)
    if any([n > h.extents[d] for d, n in zip(h.shared[-1], points, strict=True)]):
        return None
    steps = [_of_link(one, along, items, beside) for one, along in zip(links(h, points), h.shared, strict=True)]
    groups = tuple([-(-h.extents[d] // n) for d, n in zip(h.shared[-1], points, strict=True)])
    s = replace(rows_plain(h, points, groups, items * beside), steps=tuple(steps))
    return s if is_legal(h, s, caps) else None


def _of_link(h: MdHom, along: Sequence[int], items: int, beside: int) -> Schedule:
    """One tile, whose work-items are neighbours where elements are."""
    access = AccessPattern(h)
    strides = (*access.strides, access.output_strides)
    near = [min([abs(s[d]) for s in strides if s[d]], default=0) for d in range(h.rank)]
    free = sorted([d for d in range(h.rank) if d not in along], key=lambda d: near[d])
    num_wi, left = {along[-1]: beside}, items
    for d in free:
        num_wi[d] = min(left, covering(h.extents[d]))
        left //= num_wi[d]
    if access.combined:
        # What is left waits for the others.
        num_wi[access.combined[-1]] *= left
    points = {d: min(_AHEAD, max(h.extents[d] // num_wi[d], 1)) for d in free[:1]}
    s = of_tiles(access, num_wi, points, dict(enumerate(h.extents)))
    kept = [d for d in free if d in access.kept]
    if prod([-(-h.extents[d] // s.step(d)) for d in kept]) > 1 and access.combined:
        s = replace(s, results="global", combine_on="local")
    return replace(s, item_order=(*free, *reversed(along)))
