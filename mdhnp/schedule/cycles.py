"""What a schedule makes a processor do, in cycles: private tiles, their results, borders, copies of local tiles."""

from math import gcd

import numpy as np

from mdhnp.mdh import View
from mdhnp.schedule.choices import GLOBAL, PRIVATE
from mdhnp.schedule.columns import LINE, PAGE, PAGES, SCATTERED, Columns, Floats, product

__all__ = ["body", "border", "copies", "steps", "visit"]

_FMA_LATENCY = 4
#: Bytes a cycle from the second-level cache: of a packed tile, and of rows of an array.
_L2_BYTES, _L2_ROWS = 40, 16
#: Cycles an element to copy a tile as it lies; turned in registers, or rows with neighbours; and one by one.
_COPY = (0.2, 1.0, 1.5)
#: Cycles to store a result that is computed without vectors.
_SCALAR = 4.0
#: Cycles to read a vector of neighbours that may lie outside of the array.
_BORDER = 12.0
#: Cycles to begin in another row of an array of which a stencil reads neighbours.
_ROW = 2.0


def steps(c: Columns, d: int) -> Floats:
    """Private tiles along a reduction; what vectors leave over takes scalars."""
    left = np.where(c.moves[d], c.lt[:, d] % c.width, 0.0)
    steps: Floats = c.tiles[:, d] * np.maximum((c.lt[:, d] - left + left * c.width) / c.pt[:, d], 1)
    return np.where(c.moves[d], steps, np.maximum(c.extents[:, d] / c.pt[:, d], 1))


def body(c: Columns) -> Floats:
    """Cycles of one private tile of one step: the busiest of arithmetic, loads, dependent chain; spills on top."""
    facts = c.facts
    everything = range(facts.h.rank)
    arithmetic = product(c.pt, everything) / c.width * facts.operations / 2 * c.registers
    loads, live, far, paged = (np.zeros(len(c.pt)) for _ in range(4))
    for n, view in enumerate(facts.h.inputs):
        lanes = np.zeros(len(c.pt), bool)
        stride = np.zeros(len(c.pt))
        for d in facts.depends[n]:
            lanes |= c.moves[d]
            stride = np.where(c.moves[d], abs(facts.strides[n][d]), stride)
        stride = np.where(lanes & c.packed[:, n], _packed_stride(c, n), stride)
        points = product(c.pt, facts.depends[n]) / np.where(lanes, c.width, 1)
        vectors, waiting, lines = _neighbours(c, view, points)
        paged += _ROW * lines * bool(facts.depends[n])
        loads += vectors * np.where(lanes, _vector_load(c, stride, view.dtype.itemsize), 1.0)
        live += np.where(lanes, np.maximum(np.minimum(vectors, 4), waiting) * c.registers, 1.0)
        count = vectors * np.where(lanes, c.registers, 1.0)
        far += _far(c, n, count, view.dtype.itemsize * np.where(lanes, c.width / c.registers, 1.0))
        paged += _paged(c, n, count)
    reduced = np.zeros(len(c.pt), bool)
    for d in facts.combined:
        reduced |= c.moves[d]
    results = len(facts.h.scalar.dtypes)
    accumulators = results * product(c.pt, facts.kept) / np.where(reduced, 1.0, c.width) * c.registers
    chain = np.zeros(len(c.pt))
    if facts.combined:
        chain = product(c.pt, facts.combined) / np.where(reduced, c.width, 1.0) * _FMA_LATENCY
    spilled = np.maximum(0.0, accumulators + live - c.caps.registers)
    busiest = np.maximum(np.maximum(arithmetic, loads / 2), np.maximum(chain, far))
    cycles: Floats = busiest + paged + 2 * spilled + 1.0
    return cycles


def _vector_load(c: Columns, stride: Floats, itemsize: int) -> Floats:
    """Loads that one vector takes: itself, two that are shuffled, or its lanes one by one, each from its page."""
    lane = np.where(stride * itemsize < PAGE, 1.5, SCATTERED)
    # Shuffles take the place of arithmetic, too.
    apart = np.where(stride == 2, 6 * c.registers, lane * c.width)
    cycles: Floats = np.where(stride <= 1, c.registers, apart)
    return cycles


def _packed_stride(c: Columns, n: int) -> Floats:
    """Distance of lanes in a packed tile: 1 where the vector's axis is blocked, which register tiles are."""
    stride = np.ones(len(c.pt))
    for d in c.facts.kept:
        steps = [abs(index.coefficients[d]) for index in c.facts.h.inputs[n].accesses[0] if d in index.dims()]
        stride = np.where(c.moves[d], max(steps, default=1), stride)
    for d in c.facts.combined:
        stride = np.where(c.moves[d] & (d in c.facts.depends[n]) & (d != c.facts.loop_order[-1]), 2.0, stride)
    return stride


def _neighbours(c: Columns, view: View, points: Floats) -> tuple[Floats, Floats, Floats]:
    """Loads of a private tile, how many of them wait in registers for the tile's other rows, and the array's rows.

    A stencil that fills its box loads each of the tile's neighbours once, at every distance along the vectors.
    """
    spans = []
    for axis in range(len(view.shape)):
        constants = [a[axis].constant for a in view.accesses]
        spans.append(max(constants) - min(constants))
    if len(view.accesses) == 1:
        return points, np.zeros(len(points)), np.zeros(len(points))
    loads, waiting, lines = (np.ones(len(points)) for _ in range(3))
    again = np.zeros(len(points), bool)
    for index, span in zip(view.accesses[0], spans, strict=True):
        rows, moves = np.ones(len(points)), np.zeros(len(points), bool)
        for d in index.dims():
            rows = rows * c.pt[:, d]
            moves |= c.moves[d]
        # Of neighbouring vectors one is aligned; the others lie across two cache lines and count twice.
        here = np.where(moves, rows / c.width * (2 * span + 1), rows + span)
        again |= ~moves & (rows > 1) & (span > 0)
        loads = loads * here
        waiting = waiting * np.where(moves, rows / c.width * (span + 1), rows)
        lines = lines * np.where(moves, 1.0, rows + span)
    if np.prod([span + 1 for span in spans]) != len(view.accesses):
        # A cross, say: few neighbours are shared.
        return points * len(view.accesses), points * (len(view.accesses) - 1), lines
    return loads, np.where(again, waiting, 0.0), lines


def _trips(c: Columns, n: int) -> Floats:
    """Private tiles that the innermost loops of a reduction walk through in an input."""
    dims = [d for d in c.facts.combined if d in c.facts.depends[n]]
    return product(c.lt / c.pt, dims)


def _far(c: Columns, n: int, count: Floats, width: Floats) -> Floats:
    """Cycles to bring loads from the second-level cache while the innermost reduction runs."""
    facts = c.facts
    if not facts.combined or facts.loop_order[-1] not in facts.depends[n]:
        return np.zeros(len(count))
    itemsize = facts.h.inputs[n].dtype.itemsize
    # Results in registers wait for all local tiles of the reduction.
    through = (c.results == PRIVATE) & (product(c.tiles, facts.combined) > 1) & ~c.packed[:, n]
    trips = product(c.extents / c.pt, set(facts.combined) & facts.depends[n])
    swept = product(c.pt, facts.depends[n]) * np.where(through, trips, _trips(c, n)) * itemsize
    # Until the next private tile that reads the same, the loops inside of that one sweep over more.
    again = np.zeros(len(count), bool)
    for d in (d for d in reversed(facts.loop_order) if d in facts.kept):
        steps = np.where(through, c.per_group[:, d], np.ceil(c.lt[:, d] / c.pt[:, d]))
        if d in facts.depends[n]:
            swept = swept * np.where(again, 1.0, steps)
        else:
            again |= steps > 1
    # Steps of the reduction that lie a power of two apart share few of the cache's sets.
    stride = abs(facts.strides[n][facts.loop_order[-1]]) * itemsize
    row = np.ones(len(count))
    for d in facts.depends[n]:
        if facts.near(n, d):
            row = row * c.pt[:, d] * itemsize
    used = np.minimum(1.0, np.ceil(row / LINE) * LINE / max(gcd(stride, PAGE), LINE))
    used = np.where(c.packed[:, n], 1.0, used)
    speed = np.where(c.packed[:, n], _L2_BYTES, _L2_ROWS)
    return np.where(swept > 0.75 * c.caps.l1 * used, count * width / speed, 0.0)


def _paged(c: Columns, n: int, count: Floats) -> Floats:
    """Cycles lost on loads from more pages than the first level of address translation remembers."""
    facts = c.facts
    inner = facts.loop_order[-1] if facts.combined else -1
    if inner not in facts.depends[n]:
        return np.zeros(len(count))
    stride = abs(facts.strides[n][inner]) * facts.h.inputs[n].dtype.itemsize
    if stride < 512:
        return np.zeros(len(count))
    pages = np.where(c.packed[:, n], 0.0, _trips(c, n) * min(stride, PAGE) / PAGE)
    return np.where(pages > PAGES, 1.5 * count + 4.0 * min(stride / PAGE, 1.0), 0.0)


def visit(c: Columns) -> Floats:
    """Cycles to start and store one private tile."""
    facts, itemsize = c.facts, c.facts.h.outputs[0].dtype.itemsize
    elements = product(c.pt, facts.kept)
    contiguous = np.zeros(len(elements), bool)
    for d in facts.kept:
        contiguous |= c.moves[d] & (abs(facts.output_strides[d]) == facts.output_step)
    lanes = elements / c.width
    cycles: Floats
    if not facts.combined:
        step = np.ones(len(elements))
        for d in facts.kept:
            step = np.where(c.moves[d], abs(facts.output_strides[d]) * itemsize, step)
        apart = np.where(step < PAGE, 2.0, SCATTERED) * c.width
        cycles = lanes * np.where(contiguous, 1.0, np.where(c.width == 1, _SCALAR, apart)) + 6
        return cycles
    kept = np.zeros(len(elements), bool)
    for d in facts.kept:
        kept |= c.moves[d]
    row = np.ones(len(elements))
    for d in facts.kept:
        row = np.where(abs(facts.output_strides[d]) == facts.output_step, c.pt[:, d], row)
    lines = elements / np.minimum(row, LINE / itemsize)
    alone = np.where(lines * LINE > c.caps.l1 / 4, SCATTERED * lines / elements, 0.0)
    scattered = np.where(c.clashing(PAGE, itemsize), SCATTERED, np.maximum(0.5, alone)) * c.width
    vector_stores = lanes * np.where(contiguous, 1.0, scattered)
    scalar_stores = elements * (2 + np.where(c.width > 1, 1.2 * (1 + np.log2(c.width)), 0.0))
    stores = np.where(kept, vector_stores, scalar_stores)
    passes = product(c.tiles, facts.combined)
    cycles = np.where(
        c.results == PRIVATE,
        3 + elements / c.width + (20 + 3 * stores) / np.maximum(passes, 1),
        20 + stores * (2 + np.where((passes > 1) & (c.results == GLOBAL), 2.0, 1.0)),
    )
    return cycles


def border(c: Columns) -> Floats:
    """Cycles for vectors with neighbours outside of an array, where no copy holds those."""
    facts, total = c.facts, np.zeros(len(c.pt))
    for n, view in enumerate(facts.h.inputs):
        if view.boundary is None:
            continue
        inside = np.ones(len(total))
        for axis, index in enumerate(view.accesses[0]):
            spans = [a[axis].span(facts.h.extents) for a in view.accesses]
            beyond = (-min(low for low, _ in spans), max(high for _, high in spans) - view.shape[axis] + 1)
            for d in (d for d in index.dims() if d in facts.kept):
                width = np.where(c.moves[d], c.width, 1.0) * abs(index.coefficients[d])
                lost = sum((np.ceil(max(reach, 0) / width) * width for reach in beyond), np.zeros(len(total)))
                inside *= np.maximum(1 - lost / abs(index.coefficients[d]) / c.extents[:, d], 0.0)
        vectors = facts.h.points * (1 - inside) / c.width * len(view.accesses)
        total += np.where(c.packed[:, n], 0.0, _BORDER * vectors)
    return total


def copies(c: Columns) -> Floats:
    """Cycles one work-group spends copying tiles to local memory."""
    facts, total = c.facts, np.zeros(len(c.pt))
    trips = c.in_order(c.per_group)
    for n in np.flatnonzero(c.packed.any(axis=0)).tolist():
        times = np.ones(len(total))
        pending = np.ones(len(total))
        for count, moved in zip(trips, c.moved(n), strict=True):
            pending = pending * count
            # A loop that moves the tile copies it anew, with all loops around it.
            times = np.where(moved & (count > 1), pending, times)
        size = facts.tile_elements(n, c.lt)
        unit = [d for d in facts.depends[n] if facts.near(n, d)]
        straight = np.zeros(len(total), bool)
        for d in unit:
            straight |= c.moves[d] if d in facts.kept else False
        # Neighbours make rows longer than whole vectors, and their ends may lie outside of the array.
        straight &= len(facts.h.inputs[n].accesses) == 1
        cycles = np.where(straight, _COPY[0], _COPY[1 if unit else 2])
        total += np.where(c.packed[:, n], times * (size * cycles + 30), 0.0)
    return total
