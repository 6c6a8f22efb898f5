"""How long one core moves data that its caches cannot keep: of each array bytes, times how often, times waste."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mdhnp.mdh import View
from mdhnp.schedule.batch import GLOBAL, Floats, Tiling, product


def seconds_moving(c: Tiling) -> Floats:
    """Return the time in which one core moves what the caches cannot keep, in seconds."""
    access, caps = c.access, c.caps
    total = np.zeros(len(c.pt))
    for n, view in enumerate(access.h.inputs):
        size = view.span_bytes
        again, pending = np.ones(len(total)), np.ones(len(total))
        if size > caps.l2 // 2:
            # Loops around an inner loop that moves the input bring it in again, as do work-groups.
            for count, moved in zip(c.in_order(c.per_group), c.moved(n), strict=True):
                again = np.where(moved & (count > 1), pending, again)
                pending = np.where(moved, pending, pending * count)
            again = again * product(c.wg, set(range(access.h.rank)) - access.depends[n])
        run = _run(c, access.strides[n], access.depends[n], c.core.row_end / view.dtype.itemsize)
        run = np.where(c.packed[:, n], run, np.minimum(run, _followed(c, n)))
        pages = _apart(c, view, access.strides[n]) > c.core.pages
        waste = _waste(c, run * view.dtype.itemsize, size, np.where(pages, 2.0 * c.core.gap, c.core.gap))
        total += size * again * waste / (c.core.memory if size > 8 * caps.l2 else c.core.shared_cache)
        total += size * again * (_walks(c, n) - 1) / c.core.shared_cache
        total += size * _rows_again(c, n) / c.core.rows_again
    passes = np.where(c.results == GLOBAL, product(c.tiles, access.combined), 1.0)
    for view in access.h.outputs:
        size = view.span_bytes
        times = passes if size > caps.l2 // 2 else np.ones(len(total))
        run = _run(c, access.output_strides, access.kept, c.core.result_end / view.dtype.itemsize)
        run = run * view.dtype.itemsize
        # Prefetchers gain something in long runs only, as long as they can follow.
        lost = (run >= c.core.gap) & (_apart(c, view, access.output_strides) > c.core.followed)
        waste = _waste(c, run, size, np.where(lost, c.core.gap, c.core.line))
        clashing = c.clashing(caps.l2 // c.core.ways, view.dtype.itemsize)
        waste = np.where(clashing, c.core.clash * c.core.line / view.dtype.itemsize, waste)
        if size > 8 * caps.l2:
            waste = waste * np.where(_streams(c, view.dtype.itemsize), c.core.streams, 1.0)
        total += size * waste * (2 * times - 0.5) / (c.core.memory if size > 8 * caps.l2 else c.core.shared_cache)
    return total


def _walks(c: Tiling, n: int) -> Floats:
    """How often a local tile is read that is not copied, and too large for the second-level cache.

    Loops over private tiles that do not move the input read again what the loops inside of them move.
    """
    access, times = c.access, np.ones(len(c.pt))
    walked = access.tile_elements(n, c.lt) * access.h.inputs[n].dtype.itemsize
    for d in (d for d in access.loop_order if d in access.kept):
        steps = np.ceil(c.lt[:, d] / c.pt[:, d])
        if d in access.depends[n]:
            walked = walked / steps
        else:
            times = times * np.where(walked > 0.75 * c.caps.l2, steps, 1.0)
    return np.where(c.packed[:, n], 1.0, times)


def _rows_again(c: Tiling, n: int) -> Floats:
    """How often more than once a stencil's rows are read, since the first-level cache does not keep them."""
    view, times = c.access.h.inputs[n], np.ones(len(c.pt))
    size = np.asarray(c.access.tile_elements(n, c.lt) * view.dtype.itemsize, float)
    for index, span in zip(view.accesses[0], c.access.spans(n), strict=True):
        rows = product(c.pt, index.dims())
        size = size / product(c.lt, index.dims())
        kept = c.vectors_along(index.dims()) | (size * (span + 1) < 0.75 * c.caps.l1)
        times = times * np.where(kept, 1.0, 1 + span / rows)
    return times - 1


def _streams(c: Tiling, itemsize: int) -> npt.NDArray[np.bool_]:
    """Whether a private tile has results in several rows of a page, of which a prefetcher follows one."""
    access = c.access
    several, whole = np.zeros(len(c.pt), bool), np.ones(len(c.pt), bool)
    for d in sorted(access.kept, key=lambda d: abs(access.output_strides[d])):
        if abs(access.output_strides[d]) * itemsize < c.core.page:
            several |= ~whole & (c.pt[:, d] > 1)
        whole &= c.pt[:, d] >= access.h.extents[d]
    return several


def _waste(c: Tiling, run: Floats, size: int, gap: Floats | float) -> Floats:
    """Bytes moved for each byte of use, where a local tile's elements lie in runs of so many bytes.

    Beyond the caches, as much as `gap` bytes is lost between two runs.
    """
    gap = gap if size > 8 * c.caps.l2 else np.minimum(gap, c.core.shared_gap)
    return 1 + gap / run if size > c.caps.l2 else np.maximum(1.0, c.core.line / run)


def _apart(c: Tiling, view: View, strides: Sequence[int]) -> Floats:
    """Rows of a local tile each of which lies in another page."""
    return product(c.lt, (d for d, stride in enumerate(strides) if abs(stride) * view.dtype.itemsize >= c.core.page))


def _followed(c: Tiling, n: int) -> Floats:
    """Elements of a row of an input that are read without a gap: by one private tile, or by many.

    By many where prefetchers follow: the loops inside of the one along the row read few other rows.
    """
    access = c.access
    chain = sorted(access.depends[n], key=lambda d: abs(access.strides[n][d]))
    run, going = np.ones(len(c.pt)), np.ones(len(c.pt), bool)
    if chain and not access.near(n, chain[0]):
        return run
    found = np.full(len(c.pt), np.inf)
    for place, d in enumerate(chain):
        visit = c.lt[:, d] if d in access.combined else c.pt[:, d]
        run = np.where(going, run * visit, run)
        stops = going & (visit < c.lt[:, d])
        lines = np.maximum(run, c.core.line / access.h.inputs[n].dtype.itemsize)  # what is left of one waits in a cache
        found = np.where(stops & (_passed(c, d, chain[place + 1 :]) > c.core.followed), lines, found)
        going &= ~stops
    return found


def _passed(c: Tiling, d: int, others: Sequence[int]) -> Floats:
    """Rows along other dimensions that are read between two neighbouring private tiles of one row."""
    inside = c.access.loop_order[c.access.loop_order.index(d) + 1 :]
    return product(c.lt, set(others) & set(inside)) * product(c.pt, set(others) - set(inside))


def _run(c: Tiling, strides: Sequence[int], dims: Iterable[int], most: float) -> Floats:
    """Contiguous elements of a local tile: of several axes where it has whole ones, `most` at most."""
    order = sorted(dims, key=lambda d: abs(strides[d]))
    run = np.ones(len(c.lt))
    for d in order:
        run = np.maximum(run, c.lt[:, d] if abs(strides[d]) in (1, 2) else 1.0)
    whole = np.full(len(run), bool(order) and abs(strides[order[0]]) in (1, 2))
    for inner, d in pairwise(order):
        extent, step = c.access.h.extents[inner], abs(strides[inner])
        whole &= (c.lt[:, inner] >= extent) & (abs(strides[d]) == extent * step)
        run = np.where(whole, np.maximum(run, np.minimum(run * c.lt[:, d], most)), run)
    return run
