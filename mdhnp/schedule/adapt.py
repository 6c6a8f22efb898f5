"""Move a schedule to other extents of the same family, or repair one whose numbers do not fit together."""

from dataclasses import replace

from mdhnp.mdh import Computation
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.check import has_shape_of, is_legal
from mdhnp.schedule.schedule import Schedule

__all__ = ["adapt"]


def adapt(h: Computation, s: Schedule, caps: DeviceCaps) -> Schedule | None:
    """Fit tiles and work-groups to the extents of `h`; None where `s` is not for such an MDH, or still illegal.

    Local tiles become no larger than their extent and multiples of the work-items' step; work-groups no more than there
    are local tiles. Everything else stays.
    """
    if 0 in h.extents or not has_shape_of(h, s):
        return None
    local, groups = [], []
    for d, extent in enumerate(h.extents):
        step, tile = s.step(d), min(s.local_tile[d], extent)
        if h.last.combine[d].kind == "cc" and tile < extent:
            tile = min(-(-tile // step) * step, extent)
        tiles = -(-extent // tile)
        per_group = -(-tiles // min(s.num_wg[d], tiles))
        local.append(tile)
        groups.append(-(-tiles // per_group))
    fitted = replace(s, local_tile=tuple(local), num_wg=tuple(groups))
    kept = h.last.dims("cc")
    if fitted.results == "private" and h.rank > len(kept) and any(fitted.step(d) < fitted.local_tile[d] for d in kept):
        fitted = replace(
            fitted, local_tile=tuple(min(fitted.step(d), t) if d in kept else t for d, t in enumerate(local))
        )
        return adapt(h, fitted, caps) if fitted.local_tile != s.local_tile else None
    return fitted if is_legal(h, fitted, caps) else None
