"""Candidate schedules for CPUs: one work-item a work-group, explicit vectors, register tiles, packed local tiles."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

from mdhnp.mdh import MdHom
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.check import IllegalSchedule, check, local_memory
from mdhnp.schedule.cost import Facts, cpu_seconds
from mdhnp.schedule.schedule import LocalCopy, Schedule

__all__ = ["cpu_candidates", "cpu_default"]

#: Register tiles looked at in dimensions without vectors, and vectors a row.
_ROWS, _VECTORS = (1, 2, 3, 4, 6, 8), (1, 2, 4)
_KEEP_TILES, _KEEP_SIZES = 6, 60


def cpu_default(h: MdHom, caps: DeviceCaps) -> Schedule:
    """The candidate that the cost model ranks first."""
    facts = Facts(h)
    ranked = sorted(cpu_candidates(facts, caps), key=lambda s: cpu_seconds(facts, s, caps))
    for candidate in ranked:
        try:
            check(h, candidate, caps)
        except IllegalSchedule:
            continue
        return candidate
    return Schedule.plain(h.extents, len(h.inputs))


def cpu_candidates(facts: Facts, caps: DeviceCaps) -> Iterator[Schedule]:
    """Register tiles first; the best of them with local tiles and copies; the best of these with work-groups."""
    if facts.h.dims("ps"):
        yield from _scans(facts, caps)
        return
    tiles = sorted(_register_tiles(facts, caps), key=lambda s: _tile_cost(facts, s, caps))
    alone = replace(caps, compute_units=1)
    sized = [
        s for tile in tiles[:_KEEP_TILES] for copied in _copies(facts, tile) for s in _local_tiles(facts, copied)
        if local_memory(facts.h, s) <= caps.local_memory
    ]  # fmt: skip
    sized.sort(key=lambda s: cpu_seconds(facts, s, alone))
    for s in sized[:_KEEP_SIZES]:
        yield from _groups(facts, s, caps)


def _tile_cost(facts: Facts, s: Schedule, caps: DeviceCaps) -> float:
    """Cost with tiles of everything at once, so that only the register tile decides."""
    packed = tuple(_packed(facts, s, n) if len(facts.depends[n]) > 1 else None for n in range(len(facts.h.inputs)))
    return cpu_seconds(facts, replace(s, local_copies=packed), caps)


def _vector_choices(facts: Facts, caps: DeviceCaps) -> list[tuple[int, int]]:
    """(dimension, width): contiguous in the output, or contiguous in an input and reduced; scalars last."""
    h, full = facts.h, min(max(caps.vector_bytes // facts.itemsize, 1), 16)
    choices = []
    text = h.scalar.text is not None or (h.finish is not None and h.finish.text is not None)
    operator = h.operator
    for d in range(h.rank):
        if text or h.extents[d] < 2:
            continue
        unit = abs(facts.output_strides[d]) == 1 or any(abs(s[d]) == 1 for s in facts.strides)
        reducible = operator is None or (operator.commutative and operator.identity is not None)
        if unit and (d in facts.kept or (h.combine[d].kind == "pw" and reducible)):
            width = full
            while width > 2 and width > h.extents[d]:
                width //= 2
            choices.append((d, width))
    return [c for c in choices if c[1] > 1] + [(-1, 1)]


def _register_tiles(facts: Facts, caps: DeviceCaps) -> Iterator[Schedule]:
    h = facts.h
    plain = Schedule.plain(h.extents, len(h.inputs))
    order = _loop_order(facts, -1)
    for vector, width in _vector_choices(facts, caps):
        others = sorted((d for d in facts.kept if d != vector and h.extents[d] > 1), key=lambda d: -h.extents[d])[:3]
        small = [d for d in facts.combined if d != vector and h.extents[d] <= 8 and prod(h.extents[d] for d in facts.combined) <= 32]
        rows = [[r for r in _ROWS if r <= h.extents[d]] for d in others]
        for sizes in product(*rows) if others else [()]:
            if sum(r > 1 for r in sizes) > 2 or prod(sizes) > 16:
                continue
            for vectors in _VECTORS if vector >= 0 else (1,):
                private = [1] * h.rank
                for d, r in zip(others, sizes, strict=True):
                    private[d] = r
                if vector >= 0:
                    private[vector] = width * vectors
                    if vectors > 1 and width * vectors >= 2 * h.extents[vector]:
                        continue
                for d in small:
                    private[d] = h.extents[d]
                if prod(private) / width > 64 * max(prod(private[d] for d in small), 1):
                    continue
                yield replace(
                    plain,
                    private_tile=tuple(private),
                    local_tile=tuple(max(n, 1) for n in h.extents),
                    vector_dim=vector,
                    vector_width=width,
                    private_copies=(True,) * len(h.inputs),
                    private_order=(*facts.combined, *facts.kept),
                    local_order=order,
                    results="global" if facts.combined else "private",
                )


def _loop_order(facts: Facts, vector: int) -> tuple[int, ...]:
    """Kept dimensions by falling distance in the output, then combined ones by falling distance in the inputs."""
    kept = sorted(facts.kept, key=lambda d: (d == vector, -abs(facts.output_strides[d])))
    far = {d: max((abs(s[d]) for s in facts.strides), default=0) for d in facts.combined}
    return (*kept, *sorted(facts.combined, key=lambda d: -far[d]))


def _packed(facts: Facts, s: Schedule, n: int) -> LocalCopy | None:
    """Pack an input: axes of register tiles blocked and innermost, the reduction just outside, others around."""
    view = facts.h.inputs[n]
    same = all(len({a[x].coefficients for a in view.accesses}) == 1 for x in range(len(view.shape)))
    if not view.shape or not same or view.boundary is not None:
        return None
    blocked = []
    for x, index in enumerate(view.accesses[0]):
        dims = index.dims()
        constant = len({a[x] for a in view.accesses}) == 1
        if len(dims) == 1 and constant and index.coefficients[dims[0]] == 1 and dims[0] in facts.kept and s.private_tile[dims[0]] > 1:
            blocked.append(x)
    blocked.sort(key=lambda x: view.accesses[0][x].dims()[0] == s.vector_dim)

    def outermost(x: int) -> tuple[bool, int]:
        dims = view.accesses[0][x].dims()
        return (any(d in facts.combined for d in dims), -abs(view.strides[x]))

    return LocalCopy(tuple(sorted(range(len(view.shape)), key=outermost)), tuple(blocked))


def _copies(facts: Facts, s: Schedule) -> Iterator[Schedule]:
    """No packing, packing of the vector operands, packing of all that is used again."""
    yield s
    if not facts.combined:
        return
    reused = [n for n in range(len(facts.h.inputs)) if any(d not in facts.depends[n] for d in facts.kept) and len(facts.depends[n]) > 1]
    vector = [n for n in reused if s.vector_dim in facts.depends[n] and s.vector_dim in facts.kept]
    for chosen in dict.fromkeys((tuple(vector), tuple(reused))):
        copies = tuple(_packed(facts, s, n) if n in chosen else None for n in range(len(facts.h.inputs)))
        if any(c is not None for c in copies):
            yield replace(s, local_copies=copies)


def _round_up(n: int, step: int) -> int:
    return -(-n // step) * step


def _local_tiles(facts: Facts, s: Schedule) -> Iterator[Schedule]:
    """Local tiles: the vector dimension wide, other register dimensions some tiles high, reductions cut for the caches."""
    h = facts.h
    copying = any(c is not None for c in s.local_copies)
    choices: list[list[int]] = []
    inner = s.local_order[-1] if h.rank else -1
    for d in range(h.rank):
        extent, step = h.extents[d], s.private_tile[d]
        if d in facts.combined:
            wanted = [extent] if d != inner or extent <= 128 else [128, 256, 512, extent]
        elif d == s.vector_dim:
            wanted = [step, 128, 256, 384, 512, extent] if copying else [step, 512, extent]
        elif step > 1:
            wanted = [step, 8 * step, 64, extent] if copying else [step, 8 * step, extent]
        else:
            wanted = [1, extent] if not copying else [1, 16]
        choices.append(sorted({min(extent, _round_up(w, step)) for w in wanted}))
    while prod(map(len, choices)) > 100:
        longest = max(range(h.rank), key=lambda d: len(choices[d]))
        choices[longest] = [choices[longest][0], choices[longest][-1]] if len(choices[longest]) > 2 else choices[longest][-1:]
    for tile in product(*choices):
        yield from _results(facts, replace(s, local_tile=tuple(tile)))


def _results(facts: Facts, s: Schedule) -> Iterator[Schedule]:
    """Where partial results wait, with the loop order that fits."""
    kept = [d for d in s.local_order if d in facts.kept]
    combined = [d for d in s.local_order if d in facts.combined]
    packed = [n for n, c in enumerate(s.local_copies) if c is not None]
    first = [d for d in kept if any(d in facts.depends[n] for n in packed[-1:])]
    rest = [d for d in kept if d not in first]
    if all(s.step(d) >= s.local_tile[d] for d in kept):
        yield replace(s, results="private", global_order=(*first, *rest, *combined))
        return
    one_pass = all(s.local_tile[d] == facts.h.extents[d] for d in combined)
    same = facts.h.finish is None and facts.h.scalar.dtypes == tuple(v.dtype for v in facts.h.outputs)
    operator = facts.h.operator
    if one_pass or (same and operator is not None and operator.identity is not None):
        yield replace(s, results="global", global_order=(*first, *combined, *rest))


def _groups(facts: Facts, s: Schedule, caps: DeviceCaps) -> Iterator[Schedule]:
    """Work-groups along one or two kept dimensions, else along the reduction."""
    h, units = facts.h, caps.compute_units
    tiles = [-(-n // t) for n, t in zip(h.extents, s.local_tile, strict=True)]
    yield s
    for d in s.global_order:
        if tiles[d] == 1 or (d in facts.combined and (h.operator is None or prod(h.extents[k] for k in facts.kept) > 1 << 16)):
            continue
        if d in facts.combined and s.results == "global":
            continue
        for wanted in (units, 2 * units, 4 * units):
            if wanted <= tiles[d]:
                per = -(-tiles[d] // wanted)
                num_wg = [1] * h.rank
                num_wg[d] = -(-tiles[d] // per)
                yield replace(s, num_wg=tuple(num_wg), group_order=tuple(reversed(s.global_order)))


def _scans(facts: Facts, caps: DeviceCaps) -> Iterator[Schedule]:
    """Scans: vectors along a contiguous kept dimension, else one scalar chain; chunks only for want of parallelism."""
    h = facts.h
    (d,) = h.dims("ps")
    plain = Schedule.plain(h.extents, len(h.inputs))
    kept = sorted(facts.kept, key=lambda k: -abs(facts.output_strides[k]))
    orders = {"global_order": (*kept, d), "local_order": (*kept, d), "private_order": (*kept, d)}
    for vector, width in _vector_choices(facts, caps):
        if vector == d or vector in facts.combined:
            continue
        private = tuple(width if k == vector else 4 if k == d and h.extents[d] >= 4 else 1 for k in range(h.rank))
        tile = tuple(min(private[k], h.extents[k]) if k != d else h.extents[d] for k in range(h.rank))
        s = replace(plain, private_tile=private, local_tile=tile, vector_dim=vector, vector_width=width, results="private", **orders)  # type: ignore[arg-type]
        tiles = [-(-n // t) for n, t in zip(h.extents, tile, strict=True)]
        widest = max(range(h.rank), key=lambda k: tiles[k])
        groups = min(tiles[widest], 4 * caps.compute_units) if h.points > 4096 else 1
        num_wg = [1] * h.rank
        num_wg[widest] = -(-tiles[widest] // -(-tiles[widest] // groups))
        yield replace(s, num_wg=tuple(num_wg))
        chunks = 2 * caps.compute_units
        if prod(tiles) < caps.compute_units and h.extents[d] >= 1 << 14:
            size = -(-h.extents[d] // chunks)
            cut = tuple(size if k == d else t for k, t in enumerate(tile))
            count = -(-h.extents[d] // size)
            yield replace(s, local_tile=cut, num_wg=tuple(count if k == d else 1 for k in range(h.rank)))
