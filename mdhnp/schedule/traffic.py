"""How long a schedule makes one processor move data that the caches cannot keep."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mdhnp.mdh import View
from mdhnp.schedule.choices import GLOBAL
from mdhnp.schedule.columns import LINE, PAGE, PAGES, Columns, Floats, product

__all__ = ["CACHE", "seconds_moving"]

#: Bytes a second that one core draws from main memory and from the shared cache.
_MEMORY, CACHE = 18e9, 28e9
#: And what a stencil reads again for neighbouring rows.
_AGAIN = 14e9
#: Bytes in a row that an array's next axis lengthens a run to, at most: beyond, little is gained; for results.
_ROW_END, _RESULTS_END = 1024, 8192
#: Bytes of an input that are lost between two runs, since prefetchers begin late and go too far; in the shared cache.
_GAP, _NEAR_GAP = 512, 128
#: Rows that prefetchers follow at a time.
_FOLLOWED = 32
#: Ways of the second-level cache, one of which holds `l2 / _WAYS` bytes in a row.
_WAYS = 16
#: How much longer a line takes that is stored to for one element and none of its neighbours in a row.
_CLASH = 2
#: How much longer results take that are written to several places of a page by turns.
_STREAMS = 1.6


def seconds_moving(c: Columns) -> Floats:
    """Time to move what the caches cannot keep, by one core."""
    facts, caps = c.facts, c.caps
    total = np.zeros(len(c.pt))
    for n, view in enumerate(facts.h.inputs):
        size = view.nbytes
        again, pending = np.ones(len(total)), np.ones(len(total))
        if size > caps.l2 // 2:
            # Loops around an inner loop that moves the input bring it in again, as do work-groups.
            for count, moved in zip(c.in_order(c.per_group), c.moved(n), strict=True):
                again = np.where(moved & (count > 1), pending, again)
                pending = np.where(moved, pending, pending * count)
            again = again * product(c.wg, set(range(facts.h.rank)) - facts.depends[n])
        run = _run(c, facts.strides[n], facts.depends[n], _ROW_END / view.dtype.itemsize)
        run = np.where(c.packed[:, n], run, np.minimum(run, _followed(c, n)))
        pages = _apart(c, view, facts.strides[n]) > PAGES
        waste = _waste(c, run * view.dtype.itemsize, size, np.where(pages, 2.0 * _GAP, _GAP))
        total += size * again * waste / (_MEMORY if size > 8 * caps.l2 else CACHE)
        total += size * again * (_walks(c, n) - 1) / CACHE
        total += size * _rows_again(c, n) / _AGAIN
    passes = np.where(c.results == GLOBAL, product(c.tiles, facts.combined), 1.0)
    for view in facts.h.outputs:
        size = view.nbytes
        times = passes if size > caps.l2 // 2 else np.ones(len(total))
        run = _run(c, facts.output_strides, facts.kept, _RESULTS_END / view.dtype.itemsize)
        run = run * view.dtype.itemsize
        # Prefetchers gain something in long runs only, as long as they can follow.
        lost = (run >= _GAP) & (_apart(c, view, facts.output_strides) > _FOLLOWED)
        waste = _waste(c, run, size, np.where(lost, _GAP, LINE))
        clashing = c.clashing(caps.l2 // _WAYS, view.dtype.itemsize)
        waste = np.where(clashing, _CLASH * LINE / view.dtype.itemsize, waste)
        if size > 8 * caps.l2:
            waste = waste * np.where(_streams(c, view.dtype.itemsize), _STREAMS, 1.0)
        total += size * waste * (2 * times - 0.5) / (_MEMORY if size > 8 * caps.l2 else CACHE)
    return total


def _walks(c: Columns, n: int) -> Floats:
    """How often a local tile that lies in the input, and the second-level cache cannot keep, is walked through.

    Loops over private tiles that do not move the input walk again through what the loops inside of them move.
    """
    facts, times = c.facts, np.ones(len(c.pt))
    walked = facts.tile_elements(n, c.lt) * facts.h.inputs[n].dtype.itemsize
    for d in (d for d in facts.loop_order if d in facts.kept):
        steps = np.ceil(c.lt[:, d] / c.pt[:, d])
        if d in facts.depends[n]:
            walked = walked / steps
        else:
            times = times * np.where(walked > 0.75 * c.caps.l2, steps, 1.0)
    return np.where(c.packed[:, n], 1.0, times)


def _rows_again(c: Columns, n: int) -> Floats:
    """How often more than once register tiles read rows of neighbours that the first-level cache does not keep."""
    view, times = c.facts.h.inputs[n], np.ones(len(c.pt))
    size = c.facts.tile_elements(n, c.lt) * view.dtype.itemsize
    for axis, index in enumerate(view.accesses[0]):
        constants = [a[axis].constant for a in view.accesses]
        span = max(constants) - min(constants)
        rows, moved = np.ones(len(c.pt)), np.zeros(len(c.pt), bool)
        for d in index.dims():
            rows, moved = rows * c.pt[:, d], moved | c.moves[d]
            size = size / c.lt[:, d]
        kept = moved | (size * (span + 1) < 0.75 * c.caps.l1)
        times = times * np.where(kept, 1.0, 1 + span / rows)
    return times - 1


def _streams(c: Columns, itemsize: int) -> npt.NDArray[np.bool_]:
    """Whether a private tile has results in several places of a page: its prefetcher follows one of them only."""
    facts = c.facts
    several, whole = np.zeros(len(c.pt), bool), np.ones(len(c.pt), bool)
    for d in sorted(facts.kept, key=lambda d: abs(facts.output_strides[d])):
        if abs(facts.output_strides[d]) * itemsize < PAGE:
            several |= ~whole & (c.pt[:, d] > 1)
        whole &= c.pt[:, d] >= facts.h.extents[d]
    return several


def _waste(c: Columns, run: Floats, size: int, gap: Floats | float) -> Floats:
    """How many times as much is moved because a local tile's elements lie in runs of so many bytes.

    Beyond the caches, as much as `gap` bytes is lost between two runs.
    """
    gap = gap if size > 8 * c.caps.l2 else np.minimum(gap, _NEAR_GAP)
    waste: Floats = 1 + gap / run if size > c.caps.l2 else np.maximum(1.0, LINE / run)
    return waste


def _apart(c: Columns, view: View, strides: Sequence[int]) -> Floats:
    """Rows of a local tile that lie in other pages each."""
    return product(c.lt, (d for d, stride in enumerate(strides) if abs(stride) * view.dtype.itemsize >= PAGE))


def _followed(c: Columns, n: int) -> Floats:
    """Elements of an input in a row that are read by one private tile, or by many if prefetchers follow.

    They do where the loops inside of the one that goes on in the row come by few other rows.
    """
    facts = c.facts
    chain = sorted(facts.depends[n], key=lambda d: abs(facts.strides[n][d]))
    run, going = np.ones(len(c.pt)), np.ones(len(c.pt), bool)
    if chain and not facts.near(n, chain[0]):
        return run
    found = np.full(len(c.pt), np.inf)
    for place, d in enumerate(chain):
        visit = c.lt[:, d] if d in facts.combined else c.pt[:, d]
        run = np.where(going, run * visit, run)
        stops = going & (visit < c.lt[:, d])
        lines = np.maximum(run, LINE / facts.h.inputs[n].dtype.itemsize)  # what is left of one waits in a cache
        found = np.where(stops & (_passed(c, d, chain[place + 1 :]) > _FOLLOWED), lines, found)
        going &= ~stops
    return found


def _passed(c: Columns, d: int, others: Sequence[int]) -> Floats:
    """Rows along other dimensions that are read between two private tiles next to each other in one."""
    inside = c.facts.loop_order[c.facts.loop_order.index(d) + 1 :]
    return product(c.lt, set(others) & set(inside)) * product(c.pt, set(others) - set(inside))


def _run(c: Columns, strides: Sequence[int], dims: Iterable[int], most: float) -> Floats:
    """Elements of a local tile in a row: of more than one axis where it takes whole ones, up to `most`."""
    order = sorted(dims, key=lambda d: abs(strides[d]))
    run = np.ones(len(c.lt))
    for d in order:
        run = np.maximum(run, c.lt[:, d] if abs(strides[d]) in (1, 2) else 1.0)
    whole = np.full(len(run), bool(order) and abs(strides[order[0]]) in (1, 2))
    for inner, d in pairwise(order):
        extent, step = c.facts.h.extents[inner], abs(strides[inner])
        whole &= (c.lt[:, inner] >= extent) & (abs(strides[d]) == extent * step)
        run = np.where(whole, np.maximum(run, np.minimum(run * c.lt[:, d], most)), run)
    return run
