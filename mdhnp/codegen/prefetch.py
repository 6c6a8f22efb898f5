"""Cache lines that are under way before a private tile needs them: those its results wait in, and the next one's rows.

One work-item does so for itself; others hide what they wait for behind each other. Prefetchers of the hardware see
neither: stores to rows that lie apart, and rows that end before they are found.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from mdhnp.codegen.access import Context, place_of
from mdhnp.codegen.ir.index import ONE, ZERO, Index
from mdhnp.codegen.ir.statements import Prefetch
from mdhnp.codegen.reduce import elements
from mdhnp.codegen.store import element_point
from mdhnp.mdh.views import View

#: Bytes of a cache line of most CPUs, lines that one of their cores can have under way at once, and terms of a sum that
#: take as long as a line from memory: some 300 cycles, where each waits for the one before.
_LINE, _UNDER_WAY, _MEANWHILE = 64, 16, 64
#: Most rows, and lines of all of them, that are asked for a whole tile before they are read; and the longest rows in
#: lines: in others the hardware's prefetchers follow. `ilkm,mj->ijkl` of 72 (j: 24) float32, whose rows of m lie apart,
#: takes 0.63 of the time (AMD Zen 3, by turns), with 16 lines 0.70; rows of 20 lines 0.96, of 32 lines 1.07 (a Xeon).
_ROWS, _AHEAD, _FOUND = 16, 32, 24


def prefetch(c: Context) -> None:
    """Have lines under way, at the begin of a private tile, that are needed after the sums that it begins with."""
    if c.s.work_items == 1 and prod(c.s.local_tile[d] for d in c.combined) >= _MEANWHILE:
        lines = [*_next_rows(c), *(_results(c) if any(map(c.walks, c.combined)) else ())]
        for line in lines:
            c.build.add(line)


def _results(c: Context) -> Sequence[Prefetch]:
    """The lines that the private tile's results wait in.

    Results whose vectors are scattered, or that lie on many lines, are left where they are.
    """
    lines = []
    for n, view in enumerate(c.h.outputs if not c.h.places else ()):
        if c.buffer(view).space != "global":
            continue
        along = [d for d in c.kept if c.addresses[view.name, 0][0][d] == ONE]
        for offset in elements(c):
            at, stride = place_of(c, n, element_point(c, offset, c.lanes))
            if stride in (ZERO, ONE) and sum([offset[d] for d in along]) * view.dtype.itemsize % _LINE == 0:
                vector = c.lanes if stride == ONE else 1
                each = range(0, vector, _per_line(view))
                lines += [Prefetch(c.buffer(view), at + lane, changed=True) for lane in each]
    return lines if len(lines) <= _UNDER_WAY else ()


def _next_rows(c: Context) -> Iterator[Prefetch]:
    """The first lines of the rows, along what is combined, that the next private tile reads where they are."""
    loops = [d for d in c.s.local_order if d in c.kept and not c.single(d)]
    for n, view in enumerate(c.h.inputs if loops and not c.general else ()):
        plain = len(view.accesses) == 1 and view.boundary is None and not view.indirect
        if c.copies[n] is None and plain and c.buffer(view).space == "global":
            yield from _rows_of(c, view, loops[-1])


def _rows_of(c: Context, view: View, after: int) -> Iterator[Prefetch]:
    steps, begin = c.addresses[view.name, 0]
    moving = [d for d, step in enumerate(steps) if step != ZERO]
    along = [d for d in moving if steps[d] == ONE]
    offsets = [[0] if d in along else c.offsets(d) if d in c.kept else range(c.s.local_tile[d]) for d in moving]
    rows, last = prod(map(len, offsets)), -(-prod(c.s.local_tile[d] for d in along) // _per_line(view))
    known = along and set(along) <= set(c.combined) and rows <= _ROWS and last <= _FOUND
    for offset in product(*offsets) if known and after in moving else ():
        at: Index = begin + steps[after] * c.s.step(after)
        for d, o in zip(moving, offset, strict=True):
            at = at + ((c.base(d) if d in c.kept else c.begin(d)) + o) * steps[d]
        for line in range(min(last, _AHEAD // rows)):
            where = at + line * _per_line(view)
            if c.h.wide or where.range()[1] < 1 << 31:  # the last step looks beyond the array
                yield Prefetch(c.buffer(view), where, changed=False)


def _per_line(view: View) -> int:
    return max(_LINE // view.dtype.itemsize, 1)
