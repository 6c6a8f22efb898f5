"""Variants of a schedule: other values of what a search derives from sizes and copies, one parameter at a time.

Takes an MDH and a legal schedule, gives others by the name of the field of :class:`Schedule` that they differ in, only
where that changes the kernel: orders among loops and ids of more than one round, layouts of what is copied, where and
when results are combined and by how many work-items, and the schedule of the kernel that combines work-groups' parts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations, islice
from typing import Any

import numpy as np

from mdhnp.mdh import Chain, Computation, MdHom, Rows
from mdhnp.schedule import DeviceCaps, Schedule
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.batch import RESULTS, Batch
from mdhnp.schedule.chains import footprints_of
from mdhnp.schedule.check import is_legal
from mdhnp.schedule.default import candidates, default
from mdhnp.schedule.general import adapt
from mdhnp.schedule.layout import WIDEST, tile_itemsize
from mdhnp.schedule.matrices import ACROSS, DOWN
from mdhnp.schedule.rows import at_once, form, links
from mdhnp.schedule.schedule import INPUTS, ORDERS, even_groups, put, tile_counts
from mdhnp.schedule.split import combining
from mdhnp.tuning.search.space import neighbours, schedule

#: Work-items along a dimension to try on a CPU.
_ITEMS = (1, 2, 4, 8, 16)
#: Of GPUs, tiles in flight, and after how many of them results are combined.
_NUMBERS = {"stages": (1, 2, 3, 4), "combine_every": (1, 2, 4, 8)}
#: Schedules of a second kernel: first candidates, and neighbours that are drawn of the one in use.
_LISTED, _BESIDE = 6, 24


def variants(h: Computation, s: Schedule, caps: DeviceCaps, field: str, rng: np.random.Generator) -> Iterator[Schedule]:
    """Yield legal schedules that differ from one in a field, or in that of one of a fused step's, in random order."""
    found = [*dict.fromkeys(_changed(h, s, caps, field, rng))]
    yield from (v for n in rng.permutation(len(found)) if (v := found[n]) != s and is_legal(h, v, caps))


def distinct(h: Computation, s: Schedule) -> Schedule:
    """Return what of a schedule its kernel depends on: schedules with equal ones give the same text."""
    if isinstance(h, Rows):
        return replace(s, steps=tuple([distinct(one, own) for one, own in _steps(h, s)]))
    orders: dict[str, Any] = {name: tuple(chain(*layers)) for name, layers in exchangeable(h, s).items()}
    counts = tile_counts(h.extents, s.local_tile)
    if not s.atom and all([counts[d] <= s.num_wg[d] for d in h.last.combined]) and s.results != "local":
        # Nothing waits in memory, and only work-items may have results to combine.
        shared = s.results == "private" and any([s.num_wi[d] > 1 for d in h.last.combined])
        return replace(s, **orders, results="private", combine_on=s.combine_on if shared else "global")
    return replace(s, **orders, combine_on=s.combine_on if s.results == "private" else "local")


def exchangeable(h: Computation, s: Schedule) -> dict[str, list[list[int]]]:
    """Return the dimensions that can change places in each order, in its sequence: those of more than one round.

    Only those in one list can: concatenated dimensions enclose reduced ones, but for results that wait in the output.
    """
    one, dims, tile = h.last, range(h.rank), list(s.local_tile)
    if isinstance(h, Chain):
        tile = [max([r.sizes[d] for r in footprints_of(h, s)]) for d in dims]
    counts, layers, every = tile_counts(h.extents, s.local_tile), [one.dims("cc"), one.combined], [[*dims]]
    anyhow = s.results == "global" and not one.dims("ps")
    lanes = dict(zip(s.atom_dims, (DOWN, ACROSS), strict=False))
    partial = [d in one.combined and (h.extents[d] % n > 0 or n % s.step(d) > 0) for d, n in enumerate(s.local_tile)]
    several = {
        "global_order": ([counts[d] > s.num_wg[d] and d != s.streamed for d in dims], every if anyhow else layers),
        "local_order": ([not s.atom and (tile[d] > s.step(d) or partial[d]) for d in dims], layers),
        "private_order": ([not (s.atom or one.dims("ps")) and _unrolled(s, d) > 1 for d in dims], every),
        "group_order": ([n > 1 for n in s.num_wg], every),
        "item_order": ([n > lanes.get(d, 1) for d, n in enumerate(s.num_wi)], every),
    }
    return {
        name: [[d for d in getattr(s, name) if some[d] and d in layer] for layer in each]
        for name, (some, each) in several.items()
    }


def inherited(h: Computation, s: Schedule, parent: Schedule, derived: Schedule, caps: DeviceCaps) -> Schedule:
    """Return a schedule with what another one has otherwise than is derived from its sizes, where that is legal."""
    for field in ("combine_on", *FIELDS):
        value: Any = getattr(parent, field)
        if field == "second" and value is not None:
            after = combining(h.last, s)
            value = None if after is None else adapt(after, value, caps)
        elif field == "local_copies":
            # What is copied is not derived; a layout is taken where both copy.
            each = zip(s.local_copies, value, derived.local_copies, strict=True)
            value = tuple([mine if None in (mine, its) or its == usual else its for mine, its, usual in each])
        elif field == "num_wi" or value == getattr(derived, field):
            continue
        found = replace(s, **{field: value})
        s = found if is_legal(h, found, caps) else s
    return s


def _changed(h: Computation, s: Schedule, caps: DeviceCaps, field: str, rng: np.random.Generator) -> Iterator[Schedule]:
    if isinstance(h, Rows):
        for n, (one, own) in enumerate(_steps(h, s)):
            for found in _changed(one, own, caps, field, rng):
                yield replace(s, steps=put(s.steps, n, found))
    elif field == "second":
        yield from _seconds(h.last, s, caps, rng)
    elif field in (*ORDERS, *_NUMBERS):
        yield from (replace(s, **{field: value}) for value in _values(h, s, caps, field))
    elif isinstance(h, MdHom):
        kinds = {"num_wi": _items, "results": _results, "local_copies": _layouts, "private_copies": _private_copies}
        yield from kinds[field](h, s, caps)


def _values(h: Computation, s: Schedule, caps: DeviceCaps, field: str) -> Iterable[Any]:
    """Other orders, and on a GPU numbers of tiles in flight, or that are combined together."""
    if field in ORDERS:
        return _exchanged(getattr(s, field), exchangeable(h, s)[field])
    return _NUMBERS[field] if caps.kind == "gpu" else ()


def _steps(h: Rows, s: Schedule) -> list[tuple[MdHom, Schedule]]:
    """A fused step's MDHs for as many rows as the schedule has at a time, each with its own schedule."""
    tile = s.local_tile[s.streamed] if s.streamed >= 0 else 0
    return [*zip(links(form(h, s), at_once(h, s), tile), s.steps, strict=True)] if not s.atom else []


def _unrolled(s: Schedule, d: int) -> int:
    return s.private_tile[d] // (s.vector_width if d == s.vector_dim else 1)


def _layouts(h: MdHom, s: Schedule, caps: DeviceCaps) -> Iterator[Schedule]:
    """Axes of copies in another order, blocked or not, and on a GPU with rows of another length."""
    footprint = [s.footprint(d) for d in range(h.rank)]
    for n, copy in enumerate(s.local_copies):
        if copy is None:
            continue
        view = h.inputs[n]
        blocks = {a: s.private_tile[view.sole_dimension(a) or 0] for a in copy.blocked}
        long = [axis for axis in copy.order if view.box(axis, footprint) > blocks.get(axis, 1)]
        found = [replace(copy, order=order) for order in _exchanged(copy.order, [long])]
        for axis in long:
            d, others = view.sole_dimension(axis), tuple([x for x in copy.blocked if x != axis])
            if axis in copy.blocked or (d is not None and 1 < s.private_tile[d] < s.local_tile[d]):
                found.append(replace(copy, blocked=others if axis in copy.blocked else (*others, axis)))
        if caps.kind == "gpu" and not copy.blocked:
            size = tile_itemsize(view)
            found += [replace(copy, pad=pad) for pad in {0, max(4 // size, 1), WIDEST // size}]
        yield from (replace(s, local_copies=put(s.local_copies, n, other)) for other in found)


def _private_copies(h: MdHom, s: Schedule, caps: DeviceCaps) -> Iterator[Schedule]:
    """Other inputs loaded to registers, of those that several points of a private tile read."""
    for n, view in enumerate(h.inputs):
        if any([_unrolled(s, d) > 1 and not view.depends_on(d) for d in range(h.rank)]):
            yield replace(s, private_copies=put(s.private_copies, n, not s.private_copies[n]))


def _results(h: MdHom, s: Schedule, caps: DeviceCaps) -> Iterator[Schedule]:
    """Results that wait elsewhere, with reductions innermost where they need be, and are combined at either time."""
    inside = tuple(sorted(s.global_order, key=lambda d: d in h.combined))
    for place in RESULTS if h.dims("pw") else ():
        for often in ("local", "global"):
            order = s.global_order if place == "global" else inside
            every = s.combine_every if often == "local" else 1
            yield replace(s, results=place, global_order=order, combine_on=often, combine_every=every)


def _items(h: MdHom, s: Schedule, caps: DeviceCaps) -> Iterator[Schedule]:
    """Other trees of combination: work-items in place of work-groups that share results, and the other way round.

    On a CPU also work-items along any dimension, and in place of vectors.
    """
    found, tiles = [], tile_counts(h.extents, s.local_tile)
    for d in range(h.rank):
        if d in h.combined and s.num_wg[d] > 1:
            found.append(s.at(d, num_wg=1, num_wi=s.num_wi[d] << (s.num_wg[d] - 1).bit_length()))
        elif d in h.combined and s.num_wi[d] > 1:
            found.append(s.at(d, num_wi=1, num_wg=even_groups(tiles[d], s.num_wi[d])))
        if caps.kind == "cpu":
            found += [s.at(d, num_wi=count) for count in _ITEMS]
            if d == s.vector_dim and s.vector_width > 1:
                lanes = s.at(d, num_wi=s.num_wi[d] * s.vector_width, private_tile=_unrolled(s, d))
                found.append(replace(lanes, vector_dim=-1, vector_width=1))
    for one in found:
        copies = [
            # Blocks are read by one work-item.
            c and replace(c, blocked=tuple([a for a in c.blocked if one.num_wi[v.sole_dimension(a) or 0] == 1]))
            for v, c in zip(h.inputs, s.local_copies, strict=True)
        ]
        if (fitting := adapt(h, replace(one, local_copies=tuple(copies)), caps)) is not None:
            yield fitting


def _seconds(h: MdHom, s: Schedule, caps: DeviceCaps, rng: np.random.Generator) -> Iterator[Schedule]:
    """Other schedules of the kernel that combines work-groups' parts: candidates of its MDH, and neighbours."""
    if (after := combining(h, s)) is None:
        return
    used, usual, access = s.second or default(after, caps), default(after, caps), AccessPattern(after)
    beside = neighbours(access, Batch.of([used]), caps, _BESIDE, rng)
    drawn = [schedule(access, beside, row, caps) for row in range(len(beside))]
    for found in dict.fromkeys([usual, *islice(candidates(after, caps), _LISTED), *drawn]):
        if found != used and is_legal(after, found, caps):
            yield replace(s, second=None if found == usual else found)


def _exchanged(order: Sequence[int], layers: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Yield the order with two of the same layer in each other's place."""
    for a, b in chain(*[combinations(layer, 2) for layer in layers]):
        yield tuple([{a: b, b: a}.get(d, d) for d in order])


#: Kinds of variants, by the field that they change: what is derived from sizes and copies, and other trees of
#: combination by work-items. Where results wait also says when they are combined.
FIELDS = ("num_wi", "results", *INPUTS, "stages", "combine_every", *ORDERS, "second")
