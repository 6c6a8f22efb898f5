"""Random schedules, drawn so that nearly all are legal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod
from typing import Any

from random_functions import Picker
from strategies import shuffled

from mdhnp.mdh import Chain, Computation, MdHom, Rows
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.batch import fallback
from mdhnp.schedule.check import check, check_ahead, is_legal
from mdhnp.schedule.general import for_all_sizes, form, stretched
from mdhnp.schedule.layout import shared_slots
from mdhnp.schedule.rows import links, rows_plain
from mdhnp.schedule.schedule import DeviceCaps, IllegalSchedule, LocalCopy, Schedule
from mdhnp.schedule.split import split, splits

#: A device whose limits the CPU runtimes and Oclgrind all meet.
CAPS = DeviceCaps("any", "cpu", 2, 64, 32, 32 * 1024, 256, 49152, 2 << 20, True, 1 << 30)

#: A GPU of the size of NVIDIA's H200, with all matrix instructions.
MATRICES = DeviceCaps(
    "matrices", "gpu", 132, 16, 255, 222 << 10, 1024, 48 << 10, 50 << 20, True, 1 << 34, True, async_copies=True,
    nan_extrema=True, powers=True, split_vectors=True, atoms=tuple(ATOMS), subgroup=32,
)  # fmt: skip


def schedule(p: Picker, h: Computation, caps: DeviceCaps = CAPS, attempts: int = 20) -> Schedule:
    """A random legal schedule: drawn so that `check` accepts nearly all, redrawn where it does not."""
    if isinstance(h, Rows):
        return _of_rows(p, h, caps)
    for _ in range(attempts):
        drawn = _schedule(p, h.loops)
        if isinstance(h, Chain):
            drawn = replace(drawn, local_copies=(None,) * len(h.inputs), private_copies=(False,) * len(h.inputs))
        try:
            check(h, drawn, caps)
        except IllegalSchedule:
            continue
        return drawn
    tile = tuple(1 if c.kind == "cc" else n for c, n in zip(h.last.combine, h.extents, strict=True))
    simple = replace(Schedule.plain(h.extents, len(h.inputs)), results="private", local_tile=tile)
    check(h, simple, caps)
    return simple


def streamed(p: Picker, h: Chain, caps: DeviceCaps = CAPS) -> Schedule | None:
    """A random legal schedule whose tiles follow each other along a dimension; None where few draws give none."""
    for _ in range(5):
        s = schedule(p, h, caps)
        may = [d for d, n in enumerate(h.extents) if s.step(d) < n and d != s.vector_dim]
        if may:
            d = p.choice(may)
            tile = s.step(d) * p.integer(1, min((h.extents[d] - 1) // s.step(d), 3))
            tiles = -(-h.extents[d] // tile)
            groups = -(-tiles // p.integer(2, tiles))
            local, num_wg = ((*old[:d], new, *old[d + 1 :]) for old, new in ((s.local_tile, tile), (s.num_wg, groups)))
            drawn = replace(s, streamed=d, local_tile=local, num_wg=num_wg)
            if is_legal(h, drawn, caps):
                return drawn
    return None


def _of_rows(p: Picker, h: Rows, caps: DeviceCaps) -> Schedule:
    """A random number of rows at a time, and a random schedule for each MDH of so many."""
    points = tuple([p.integer(1, min(h.extents[d], 6)) for d in h.shared[-1]])
    tiles = [-(-h.extents[d] // n) for d, n in zip(h.shared[-1], points, strict=True)]
    groups = tuple([p.integer(1, n) for n in tiles])
    for items in (p.choice((1, 1, 2, 4, 6, 8)), 1):
        steps: list[Schedule] = []
        for one, along, step in reversed([*zip(links(h, points), h.shared, h.graph.steps, strict=True)]):
            kept = [v >= h.graph.given for v in step.inputs]
            steps.insert(0, _of_link(p, one, along, kept, items, caps))
        s = replace(rows_plain(h, points, groups, items), steps=tuple(steps))
        if items == 1 or is_legal(h, s, caps):
            break
    check(h, s, caps)
    return s


def _of_link(p: Picker, h: MdHom, along: Sequence[int], kept: Sequence[bool], items: int, caps: DeviceCaps) -> Schedule:
    for _ in range(20):
        s, num_wi = schedule(p, h, caps), [1] * h.rank
        for d in shuffled(p, range(h.rank)):
            num_wi[d] = p.choice([n for n in range(1, items + 1) if items // prod(num_wi) % n == 0])
        tile = [n if d in along else s.local_tile[d] for d, n in enumerate(h.extents)]
        private = [gcd(n, h.extents[d] // num_wi[d]) if d in along else n for d, n in enumerate(s.private_tile)]
        copies = [None if here else copy for here, copy in zip(kept, s.local_copies, strict=True)]
        s = replace(
            s, num_wg=(1,) * h.rank, num_wi=tuple(num_wi), local_tile=tuple(tile), private_tile=tuple(private),
            local_copies=tuple(copies),
        )  # fmt: skip
        divided = all([h.extents[d] % s.step(d) == 0 for d in along])
        waits = prod(num_wi) == items or (not any(copies) and not shared_slots(h, s, 0))
        if divided and waits and is_legal(h, s, caps) and s.vector_dim not in along and s.results != "local":
            return s
    tile = tuple([n if d in along else 1 for d, n in enumerate(h.extents)])
    return replace(fallback(h), local_tile=tile, private_tile=tile)


def for_any_sizes(p: Picker, h: MdHom, parts: bool = True) -> Schedule | None:
    """A random schedule of a general kernel, drawn without the sizes of `h`, with random work-groups for these.

    None where there is no such kernel. The reduction may be split, unless no `parts` are wanted.
    """
    typical = form(h)
    if typical is None:
        return None
    example = stretched(typical, tuple(p.integer(2, 20) for _ in typical.extents))
    assert example is not None
    general = for_all_sizes(typical, schedule(p, example), CAPS)
    if general is None:
        return None
    tiles = [-(-n // t) for n, t in zip(h.extents, general.local_tile, strict=True)]
    wanted = [p.integer(1, n if parts or c.kind == "cc" else 1) for n, c in zip(tiles, h.combine, strict=True)]
    s = replace(general, num_wg=tuple(-(-n // -(-n // w)) for n, w in zip(tiles, wanted, strict=True)))
    if not splits(h, s):
        return s
    second = for_any_sizes(p, split(h, s)[1], parts=False)
    return None if second is None else replace(s, second=second)


def _schedule(p: Picker, h: MdHom) -> Schedule:
    rank = h.rank
    combined = [d for d in range(rank) if h.combine[d].kind != "cc"]
    kept = [d for d in range(rank) if h.combine[d].kind == "cc"]
    scan = bool(h.dims("ps"))
    op = h.operator
    results = (
        p.choice(("private", "global", "local"))
        if combined and not scan
        else ("private" if rank == 0 or scan else "global")
    )
    if combined and op is not None and op.identity is None:
        results = p.choice(("private", "private", results))
    if scan:
        results = p.choice(("private", "global"))
    in_registers = bool(combined) and (results == "private" or scan)
    finish_first = h.finish is not None or h.scalar.dtypes != tuple(v.dtype for v in h.outputs)
    # vectors
    text = bool(h.scalar.texts)
    may = [
        d
        for d in range(rank)
        if h.extents[d] > 1
        and (d in kept or (not scan and op is not None and op.commutative and op.identity is not None))
    ]
    vector_dim, width = -1, 1
    if may and not text and p.integer(0, 1):
        vector_dim, width = p.choice(may), p.choice((2, 4, 8, 16))
        while width > h.extents[vector_dim]:
            width //= 2
        if width == 1:
            vector_dim = -1
    num_wi, private, local, groups = [1] * rank, [1] * rank, [1] * rank, [1] * rank
    unrolled, items = 1, 1
    several_items = p.integer(0, 2) > 0
    many_tiles = p.integer(0, 3) == 0  # loops over local tiles in every dimension
    for d in range(rank):
        n = h.extents[d]
        w = width if d == vector_dim else 1
        ordered = d in combined and (scan or (op is not None and not op.commutative))
        if (
            several_items
            and p.integer(0, 1)
            and items <= 32
            and not (scan and d in combined and (op is None or op.identity is None))
        ):
            num_wi[d] = p.choice((2, 3, 4, 5, 8))
            while num_wi[d] * w > n and num_wi[d] > 1:
                num_wi[d] -= 1
        items *= num_wi[d]
        room = max(1, n // w)
        private[d] = w * p.integer(1, min(room, 6 if unrolled < 24 else 2))
        unrolled *= private[d] // w
        step = private[d] * num_wi[d]
        one_step = (d in kept and in_registers) or (ordered and num_wi[d] > 1)
        if one_step:
            local[d] = min(step, n)
            if ordered and num_wi[d] > 1 and step > n:
                private[d], local[d] = 1, num_wi[d]
        elif d in kept:
            if step >= n or (not many_tiles and p.integer(0, 2) == 0):
                local[d] = n
            else:
                local[d] = step * p.integer(1, min(n // step, 5))
        else:
            sizes = (n, p.integer(1, n), min(n, step * p.integer(1, 4)))
            local[d] = min(n, step) if many_tiles else p.choice(sizes)
        if private[d] > local[d] and num_wi[d] > 1:
            private[d] = max(w, local[d] // num_wi[d] // w * w)
            if d in kept and local[d] % (private[d] * num_wi[d]) and local[d] != n:
                local[d] = n
        tiles = -(-n // local[d])
        if tiles > 1 and p.integer(0, 4 if many_tiles else 1) in (1, 2):
            per = p.integer(1, tiles)
            groups[d] = -(-tiles // per)
    # Partial results that wait in memory need an identity where there are several tiles; some cannot wait in outputs.
    if combined and not in_registers:
        for d in combined:
            whole = (results == "global" and finish_first) or (op is not None and op.identity is None)
            if whole:
                if num_wi[d] > 1 and not (op is None or op.commutative):
                    groups[d] = -(-h.extents[d] // local[d])
                elif p.integer(0, 1):
                    local[d], groups[d] = h.extents[d], 1
                else:
                    groups[d] = -(-h.extents[d] // local[d])
    copies = tuple(_copy(p, h, n, num_wi, private) for n in range(len(h.inputs)))
    anyhow = results == "global" and not scan
    global_order = shuffled(p, range(rank)) if anyhow or not combined else [*shuffled(p, kept), *shuffled(p, combined)]
    on: Any = p.choice(("global", "local"))
    if any(num_wi[d] > 1 for d in combined) and not scan:
        ordered = op is not None and not op.commutative
        if results != "private" or ordered:
            on = "local"
    drawn = Schedule(
        tuple(groups), tuple(num_wi), tuple(local), tuple(private), vector_dim, width, copies,
        tuple(p.integer(0, 1) == 1 for _ in h.inputs), results,
        tuple(global_order), *(tuple(shuffled(p, range(rank))) for _ in range(4)), on,
    )  # fmt: skip
    ahead = replace(drawn, stages=p.choice((1, 2, 2, 3)))
    try:
        check_ahead(h, ahead)
    except IllegalSchedule:
        return drawn
    return ahead


def _copy(p: Picker, h: MdHom, number: int, num_wi: Sequence[int], private: Sequence[int]) -> LocalCopy | None:
    view = h.inputs[number]
    if not view.shape or p.integer(0, 1):
        return None
    if any(len({a[axis].coefficients for a in view.accesses}) > 1 for axis in range(len(view.shape))):
        return None
    if h.finish is not None:
        first = len(h.scalar.dtypes)
        if number in {h.accesses[q - first][0] for q in h.finish.used_parameters() if q >= first}:
            return None
    blocked = []
    for axis in range(len(view.shape)):
        indices = {a[axis] for a in view.accesses}
        found = next(iter(indices))
        dims = found.dims()
        plain = len(indices) == 1 and len(dims) == 1 and found.coefficients[dims[0]] == 1
        if plain and h.combine[dims[0]].kind == "cc" and num_wi[dims[0]] == 1 and p.integer(0, 1):
            blocked.append(axis)
    order, pad = tuple(shuffled(p, range(len(view.shape)))), 0 if blocked else p.choice((0, 0, 1, 4))
    return LocalCopy(order, tuple(shuffled(p, blocked)), pad)
