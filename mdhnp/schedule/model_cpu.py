"""How long schedules take on a CPU, one work-item a work-group, before anything is compiled.

Counts what a schedule makes a core do, per private tile (vector operations, loads, dependent chains, registers), per
local tile (copies, stores) and in all (memory traffic, uneven work-groups), and turns counts into seconds with the
fitted numbers of a :class:`mdhnp.cost.Core`. Numbers without a name are cycles, or parts of a cache, and were fitted
with those. It ranks batches, thousands in milliseconds; it predicts no seconds to better than a small factor.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import gcd

import numpy as np
import numpy.typing as npt

from mdhnp.mdh import View
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.batch import GLOBAL, PRIVATE, Batch, Floats, Tiling, product
from mdhnp.schedule.schedule import DeviceCaps


def cpu_seconds(access: AccessPattern, batch: Batch, caps: DeviceCaps) -> Floats:
    """Return the time of one launch of each schedule, in seconds: computing or moving data, and work-groups' cost."""
    c, units = Tiling(access, batch, caps), caps.compute_units
    core = c.core
    groups, bodies = np.prod(c.wg, axis=1), np.ones(len(c.pt))
    for d in range(access.h.rank):
        bodies = bodies * (_steps(c, d) if d in access.combined else np.ceil(c.extents[:, d] / c.pt[:, d]))
    visits = product(np.ceil(c.extents / c.pt), access.kept) * product(c.tiles, access.combined)
    cycles = bodies * _body(c) + visits * _visit(c) + _copies(c) * groups + _border(c)
    busy = np.minimum(groups, units)
    rounds = np.where(groups >= units, np.ceil(groups / units) * units / groups, 1.0)
    # The slowest unit: whole rounds of work-groups, each with the most points any group has.
    points = np.minimum(c.per_group * c.lt, c.extents)
    ragged = np.prod(points * c.wg / c.extents, axis=1)
    copied, read = _seconds_moving(c)
    # Nothing is computed while a copy waits for what it reads from afar; one that is turned has enough to do.
    compute, memory = cycles / core.clock / busy * rounds * ragged + copied / busy, read / busy
    slower, faster = np.maximum(compute, memory), np.minimum(compute, memory)
    # Few work-groups a core wait for the slowest core; more of them level out.
    slower = slower * np.where(groups > 1, 1 + core.straggle * np.minimum(units / groups, 1) ** 2, 1.0)
    parts = product(c.wg, access.combined)
    moved = 3 * parts * access.bytes_written / units
    second = np.where(parts > 1, core.second_kernel + moved / core.shared_cache, 0.0)
    woken = np.where(groups > 1, core.wake, 0.0)
    return np.asarray(slower + core.exposed * faster + core.group * (groups / units + 1) + second + woken)


def _steps(c: Tiling, d: int) -> Floats:
    """Private tiles along a reduction, with scalars for what is left of the extent after whole vectors."""
    left = np.where(c.moves[d], c.lt[:, d] % c.width, 0.0)
    steps: Floats = c.tiles[:, d] * np.maximum((c.lt[:, d] - left + left * c.width) / c.pt[:, d], 1)
    return np.where(c.moves[d], steps, np.maximum(c.extents[:, d] / c.pt[:, d], 1))


def _body(c: Tiling) -> Floats:
    """Cycles of one private tile: the longest of arithmetic, loads and dependent chain, plus spilled registers."""
    access = c.access
    arithmetic = c.operations / c.width / 2 * c.registers
    loads, live, far, paged = (np.zeros(len(c.pt)) for _ in range(4))
    rows = product(c.pt, access.kept) / c.of_vectors({d: c.pt[:, d] for d in access.kept}, 1.0)
    for n, view in enumerate(access.h.inputs):
        lanes, each = _vector_loads(c, n)
        points = product(c.pt, access.depends[n]) / np.where(lanes, c.width, 1)
        vectors, waiting, lines = _neighbours(c, n, points)
        if not _is_written_out(access, n):
            paged += c.core.row * lines * bool(access.depends[n])
        elif _is_held(access, n):
            each = np.minimum(each, c.registers)  # from registers, or from the stack
        else:
            # Lanes that are loaded one by one are put into the vector one by one: nothing else is done meanwhile.
            arithmetic += vectors * np.where(each > c.width, each, 0.0) / 2
        # Each row reads again what all points share, weights say, where it is more than registers hold.
        many = len(view.accesses) >= c.caps.registers and not access.depends[n]
        loads += vectors * each * (1 + c.core.reloaded * (rows - 1) if many else 1)
        live += np.where(lanes, np.maximum(np.minimum(vectors, 4), waiting) * c.registers, 1.0)
        count = vectors * np.where(lanes, c.registers, 1.0)
        far += _far(c, n, count, view.dtype.itemsize * np.where(lanes, c.width / c.registers, 1.0))
        paged += _paged(c, n, count) + (_evicted(c, n) if c.core.evicted and not access.combined else 0.0)
    reduced = c.vectors_along(access.combined)
    results = len(access.h.scalar.dtypes)
    accumulators = results * product(c.pt, access.kept) / np.where(reduced, 1.0, c.width) * c.registers
    chain = np.zeros(len(c.pt))
    if access.combined:
        chain = product(c.pt, access.combined) / np.where(reduced, c.width, 1.0) * c.core.latency
    spilled = np.maximum(0.0, accumulators + live - c.caps.registers)
    busiest = np.maximum(np.maximum(arithmetic, loads / 2), np.maximum(chain, far))
    return np.asarray(busiest + paged + 2 * spilled + 1.0)


def _is_written_out(access: AccessPattern, n: int) -> bool:
    """Whether a reduction reads several elements of an axis that no dimension moves: a row, written out."""
    axes = zip(access.h.inputs[n].accesses[0], access.spans(n), strict=True)
    return bool(access.combined) and any([span and not index.dims() for index, span in axes])


def _is_held(access: AccessPattern, n: int) -> bool:
    """Whether such a row is one that the reduction does not move: it is gathered before that."""
    return _is_written_out(access, n) and access.depends[n].isdisjoint(access.combined)


def _vector_loads(c: Tiling, n: int) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Whether an input is read in vectors, and the load instructions of each of them."""
    access = c.access
    lanes = c.vectors_along(access.depends[n])
    stride = c.of_vectors({d: abs(access.strides[n][d]) for d in access.depends[n]}, 0.0)
    stride = np.where(lanes & c.packed[:, n], _packed_stride(c, n), stride)
    # One load, two with shuffles at stride 2, which take the place of arithmetic, too, or one for each lane.
    lane = np.where(stride * access.h.inputs[n].dtype.itemsize < c.core.page, 1.5, c.core.scattered)
    apart = np.where(stride == 2, 6 * c.registers, lane * c.width)
    return lanes, np.where(lanes, np.where(stride <= 1, c.registers, apart), 1.0)


def _packed_stride(c: Tiling, n: int) -> Floats:
    """Distance of a vector's lanes in a packed tile: 1 where the vector's axis is blocked."""
    indices, inner = c.access.h.inputs[n].accesses[0], c.access.loop_order[-1:]
    steps = {d: max([abs(i.coefficients[d]) for i in indices]) or 1 for d in c.access.kept if indices}
    return c.of_vectors(steps | {d: 2 for d in c.access.combined if d in c.access.depends[n] and d not in inner}, 1.0)


def _neighbours(c: Tiling, n: int, points: Floats) -> tuple[Floats, Floats, Floats]:
    """Loads of a private tile, how many of them stay in registers for its other rows, and rows of the array.

    A stencil that fills its box loads each of the tile's neighbours once, at every distance along the vectors.
    """
    view, spans = c.access.h.inputs[n], c.access.spans(n)
    if len(view.accesses) == 1:
        return points, np.zeros(len(points)), np.zeros(len(points))
    loads, waiting, lines = (np.ones(len(points)) for _ in range(3))
    again = np.zeros(len(points), bool)
    for index, span in zip(view.accesses[0], spans, strict=True):
        rows, moves = product(c.pt, index.dims()), c.vectors_along(index.dims())
        # Of neighbouring vectors one is aligned; of the others those that lie across two cache lines count twice.
        here = np.where(moves, rows / c.width * (c.core.crossing * span + 1), rows + span)
        again |= ~moves & (rows > 1) & (span > 0)
        loads = loads * here
        waiting = waiting * np.where(moves, rows / c.width * (span + 1), rows)
        lines = lines * np.where(moves, 1.0, rows + span)
    if np.prod([span + 1 for span in spans]) != len(view.accesses):
        # A cross, say: few neighbours are shared.
        return points * len(view.accesses), points * (len(view.accesses) - 1), lines
    return loads, np.where(again, waiting, 0.0), lines


def _far(c: Tiling, n: int, count: Floats, width: Floats) -> Floats:
    """Cycles for loads of one private tile from the second-level cache; 0 where the first level holds the input."""
    access = c.access
    if not access.combined or access.loop_order[-1] not in access.depends[n]:
        return np.zeros(len(count))
    itemsize = access.h.inputs[n].dtype.itemsize
    # Results in registers wait for all local tiles of the reduction.
    through = (c.results == PRIVATE) & (product(c.tiles, access.combined) > 1) & ~c.packed[:, n]
    walked = np.where(through[:, None], c.extents, c.lt) / c.pt
    swept = product(c.pt, access.depends[n]) * product(walked, access.depends[n] & {*access.combined}) * itemsize
    # Until the next private tile that reads the same, the loops inside of that one sweep over more.
    again = np.zeros(len(count), bool)
    for d in (d for d in reversed(access.loop_order) if d in access.kept):
        steps = np.where(through, c.per_group[:, d], np.ceil(c.lt[:, d] / c.pt[:, d]))
        if d in access.depends[n]:
            swept = swept * np.where(again, 1.0, steps)
        else:
            again |= steps > 1
    # Steps of the reduction that lie a power of two apart share few of the cache's sets.
    stride = abs(access.strides[n][access.loop_order[-1]]) * itemsize
    row = product(c.pt * itemsize, (d for d in access.depends[n] if access.contiguous(n, d)))
    used = np.minimum(1.0, np.ceil(row / c.core.line) * c.core.line / max(gcd(stride, c.core.page), c.core.line))
    used = np.where(c.packed[:, n], 1.0, used)
    apart = c.vectors_along(access.depends[n] & {*access.kept})
    speed = np.where(c.packed[:, n], c.core.packed_l2, np.where(apart, c.core.apart_l2, c.core.rows_l2))
    return np.where(swept > 0.75 * c.caps.l1 * used, count * width / speed, 0.0)


def _evicted(c: Tiling, n: int) -> Floats:
    """Cycles to read again lines that the next private tile needs, too, of rows that share a set of the first cache."""
    view, itemsize, cycles = c.access.h.inputs[n], c.access.h.inputs[n].dtype.itemsize, np.zeros(len(c.pt))
    axes = [(index.dims(), span) for index, span in zip(view.accesses[0], c.access.spans(n), strict=True)]
    beside = sum([np.where(c.vectors_along(dims), span, 0.0) for dims, span in axes], cycles) * itemsize / c.core.line
    part = c.of_vectors({d: c.pt[:, d] for d in c.access.kept}, 1.0) * itemsize / c.core.line
    for dims, span in (axis for axis in axes if axis[0] and axis[1]):
        apart = gcd(*[c.access.strides[n][d] * itemsize for d in dims], c.core.page)
        rows, results = product(c.pt, dims) + span, product(c.pt, dims) * len(c.access.h.outputs)
        lost = ~c.vectors_along(dims) & ((rows + results) * apart > c.caps.l1)
        cycles = np.maximum(cycles, lost * c.core.evicted * (rows * (1 + beside) + results * np.maximum(1 - part, 0)))
    return cycles


def _paged(c: Tiling, n: int, count: Floats) -> Floats:
    """Cycles lost on loads from more pages than the first level of address translation remembers."""
    access = c.access
    inner = access.combined and access.loop_order[-1:]
    stride = sum([abs(access.strides[n][d]) for d in inner]) * access.h.inputs[n].dtype.itemsize
    if stride < 512:
        return np.zeros(len(count))
    trips = product(c.lt / c.pt, access.depends[n] & {*access.combined})
    pages = np.where(c.packed[:, n], 0.0, trips * min(stride, c.core.page) / c.core.page)
    return np.where(pages > c.core.pages, 1.5 * count + 4.0 * min(stride / c.core.page, 1.0), 0.0)


def _visit(c: Tiling) -> Floats:
    """Cycles to start and store one private tile."""
    access, itemsize = c.access, c.access.h.outputs[0].dtype.itemsize
    elements = product(c.pt, access.kept)
    contiguous, lanes = c.vectors_along(access.contiguous_output), elements / c.width
    if not access.combined:
        step = c.of_vectors({d: abs(access.output_strides[d]) * itemsize for d in access.kept}, 1.0)
        apart = np.where(step < c.core.page, 2.0, c.core.scattered) * c.width
        return np.asarray(lanes * np.where(contiguous, 1.0, np.where(c.width == 1, c.core.scalar_store, apart)) + 6)
    gathered = np.zeros(len(elements))
    for n in [n for n in range(len(access.h.inputs)) if _is_held(access, n)]:
        each = np.maximum(_vector_loads(c, n)[1] - c.registers, 0.0)
        gathered += each * product(c.pt, access.depends[n]) / c.width * len(access.h.inputs[n].accesses)
    row = np.ones(len(elements))
    for d in access.contiguous_output:
        row = c.pt[:, d]
    lines = elements / np.minimum(row, c.core.line / itemsize)
    alone = np.where(lines * c.core.line > c.caps.l1 / 4, c.core.scattered * lines / elements, 0.0)
    scattered = np.where(c.clashing(c.core.page, itemsize), c.core.scattered, np.maximum(0.5, alone)) * c.width
    translated = _apart(c, c.pt, access.h.outputs[0], access.output_strides) >= c.core.pages
    vector_stores = lanes * np.where(contiguous, 1.0, scattered + c.core.translated * c.width * translated)
    scalar_stores = elements * (2 + np.where(c.width > 1, 1.2 * (1 + np.log2(c.width)), 0.0))
    stores = np.where(c.vectors_along(access.kept), vector_stores, scalar_stores)
    passes = product(c.tiles, access.combined)
    waiting = 20 + gathered + stores * (2 + np.where((passes > 1) & (c.results == GLOBAL), 2.0, 1.0))
    stored_once = 3 + gathered + elements / c.width + (20 + 3 * stores) / np.maximum(passes, 1)
    return np.asarray(np.where(c.results == PRIVATE, stored_once, waiting))


def _border(c: Tiling) -> Floats:
    """Cycles for vectors of neighbours that may lie outside of an array, where no copy holds them."""
    access, total = c.access, np.zeros(len(c.pt))
    for n, view in enumerate(access.h.inputs):
        if view.boundary is None or view.indirect:
            continue
        inside = np.ones(len(total))
        for axis, index in enumerate(view.accesses[0]):
            spans = [a[axis].span(access.h.extents) for a in view.accesses]
            beyond = (-min(low for low, _ in spans), max(high for _, high in spans) - view.shape[axis] + 1)
            for d in (d for d in index.dims() if d in access.kept):
                width = np.where(c.moves[d], c.width, 1.0) * abs(index.coefficients[d])
                lost = sum((np.ceil(max(reach, 0) / width) * width for reach in beyond), np.zeros(len(total)))
                inside *= np.maximum(1 - lost / abs(index.coefficients[d]) / c.extents[:, d], 0.0)
        vectors = access.h.points * (1 - inside) / c.width * len(view.accesses)
        total += np.where(c.packed[:, n], 0.0, c.core.border * vectors)
    return total


def _copies(c: Tiling) -> Floats:
    """Cycles one work-group spends copying tiles to local memory."""
    access, total = c.access, np.zeros(len(c.pt))
    trips = c.in_order(c.per_group)
    for n in np.flatnonzero(c.packed.any(axis=0)).tolist():
        times, pending = np.ones(len(total)), np.ones(len(total))
        for count, moved in zip(trips, c.moved(n), strict=True):
            pending = pending * count
            # A loop that moves the tile copies it anew, with all loops around it.
            times = np.where(moved & (count > 1), pending, times)
        size = access.tile_elements(n, c.lt)
        near = any(access.contiguous(n, d) for d in access.depends[n])
        cycles = np.where(_is_straight(c, n), c.core.copied[0], c.core.copied[1 if near else 2])
        total += np.where(c.packed[:, n], times * (size * cycles + 30), 0.0)
    return total


def _is_straight(c: Tiling, n: int) -> npt.NDArray[np.bool_]:
    """Whether an input is copied in whole vectors: neighbours, whose rows are longer, end outside of the array."""
    along = c.vectors_along(d for d in c.access.kept if c.access.contiguous(n, d))
    return c.packed[:, n] & along & (len(c.access.h.inputs[n].accesses) == 1)


def _seconds_moving(c: Tiling) -> tuple[Floats, Floats]:
    """Return the time in which one core moves what the caches cannot keep: to plain copies from afar, and all else."""
    access, caps = c.access, c.caps
    copied, total = np.zeros(len(c.pt)), np.zeros(len(c.pt))
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
        pages = _apart(c, c.lt, view, access.strides[n]) > c.core.pages
        waste = _waste(c, run * view.dtype.itemsize, size, np.where(pages, 2.0 * c.core.gap, c.core.gap))
        moving = size * again * waste / (c.core.memory if size > 8 * caps.l2 else c.core.shared_cache)
        copied += np.where(_is_straight(c, n) & (size > caps.l2), moving, 0.0)
        far = size > 8 * caps.l2 and not access.combined
        for d in (d for d in access.depends[n] if far and access.contiguous(n, d)):
            part = c.per_group[:, d] * c.lt[:, d]
            begun = np.where(part < c.extents[:, d], size / view.dtype.itemsize / part, 0.0) * c.core.broken
            copied, total = copied + begun, total + begun
        again = again * (_walks(c, n) - 1) / c.core.shared_cache + _rows_again(c, n) / c.core.rows_again
        total += moving + size * again
    passes = np.where(c.results == GLOBAL, product(c.tiles, access.combined), 1.0)
    for view in access.h.outputs:
        size = view.span_bytes
        times = passes if size > caps.l2 // 2 else np.ones(len(total))
        run = view.dtype.itemsize * _run(c, access.output_strides, access.kept, c.core.result_end / view.dtype.itemsize)
        # Prefetchers gain something in long runs only, as long as they can follow.
        lost = (run >= c.core.gap) & (_apart(c, c.lt, view, access.output_strides) > c.core.followed)
        waste = _waste(c, run, size, np.where(lost, c.core.gap, c.core.line))
        clashing = c.clashing(caps.l2 // c.core.ways, view.dtype.itemsize)
        waste = np.where(clashing, c.core.clash * c.core.line / view.dtype.itemsize, waste)
        if size > 8 * caps.l2:
            waste = waste * np.where(_streams(c, view.dtype.itemsize), c.core.streams, 1.0)
        total += size * waste * (2 * times - 0.5) / (c.core.memory if size > 8 * caps.l2 else c.core.shared_cache)
    return copied, total - copied


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


def _apart(c: Tiling, tile: Floats, view: View, strides: Sequence[int]) -> Floats:
    """Rows of a local or private tile each of which lies in another page."""
    return product(tile, (d for d, stride in enumerate(strides) if abs(stride) * view.dtype.itemsize >= c.core.page))


def _followed(c: Tiling, n: int) -> Floats:
    """Elements of a row of an input that are read without a gap: by one private tile, or by many.

    By many where prefetchers follow: the loops inside of the one along the row read few other rows.
    """
    access = c.access
    chain = sorted(access.depends[n], key=lambda d: abs(access.strides[n][d]))
    run, going = np.ones(len(c.pt)), np.ones(len(c.pt), bool)
    if chain and not access.contiguous(n, chain[0]):
        return run
    found = np.full(len(c.pt), np.inf)
    for place, d in enumerate(chain):
        visit = c.lt[:, d] if d in access.combined else c.pt[:, d]
        run = np.where(going, run * visit, run)
        stops = going & (visit < c.lt[:, d])
        lines = np.maximum(run, c.core.line / access.h.inputs[n].dtype.itemsize)  # what is left of one waits in a cache
        # Rows along other dimensions that are read between two neighbouring private tiles of this one.
        inside, others = {*access.loop_order[access.loop_order.index(d) + 1 :]}, {*chain[place + 1 :]}
        passed = product(c.lt, others & inside) * product(c.pt, others - inside)
        found = np.where(stops & (passed > c.core.followed), lines, found)
        going &= ~stops
    return found


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
