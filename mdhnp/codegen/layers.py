"""The loops of the three layers and what stands around them: ids, tiles, and conditions for what lies inside."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from mdhnp.codegen.access import Context
from mdhnp.codegen.ir.index import ONE, ZERO, Compare, Index, Var, call, clamp, constant, least
from mdhnp.codegen.nest import Nest
from mdhnp.codegen.tiles import copy_tiles
from mdhnp.schedule.matrices import ACROSS, DOWN


def ids(c: Context, backwards: int | None = None) -> None:
    """Declare work-group and work-item ids of each dimension, taken apart in the schedule's order."""
    group_ids(c, backwards)
    item_ids(c)


def group_ids(c: Context, backwards: int | None = None) -> None:
    _taken_apart(c, "g", Var("g"), "group_id", {d: c.groups(d) for d in c.s.group_order}, backwards)


def item_ids(c: Context) -> None:
    """Declare work-item ids of each dimension."""
    items = {d: constant(c.s.num_wi[d]) for d in c.s.item_order}
    if c.s.atom:
        _lanes(c)
    else:
        _taken_apart(c, "w", c.item_id, "local_id", items)


def _taken_apart(
    c: Context, letter: str, var: Var, function: str, counts: Mapping[int, Index], backwards: int | None = None
) -> None:
    """Declare ids of each dimension, given how many there are, the fastest first."""
    several = [d for d, count in counts.items() if count != ONE]
    whole = c.build.let(var, call(function)) if several else ZERO
    divisor = ONE
    for d in several:
        part = whole // divisor
        divisor = divisor * counts[d]
        number = part if d == several[-1] else part % counts[d]
        c.build.let(c.var(d, letter), counts[d] - 1 - number if d == backwards else number)


def _lanes(c: Context) -> None:
    """The ids of work-items that compute matrix instructions together: their lanes, then everything else."""
    rows, columns, _ = c.s.atom_dims
    lanes = {columns: ACROSS, rows: DOWN}
    digits = [*lanes.items(), *((d, c.s.num_wi[d] // lanes.get(d, 1)) for d in c.s.item_order)]
    left = c.build.let(c.item_id, call("local_id"))
    ids: dict[int, Index] = {}
    sizes: dict[int, int] = {}
    items = c.s.work_items
    for d, count in digits:
        if count > 1:
            items //= count
            ids[d] = ids.get(d, ZERO) + (left % count if items > 1 else left) * sizes.get(d, 1)
            sizes[d] = sizes.get(d, 1) * count
            left = left // count
    for d, number in ids.items():
        c.build.let(c.var(d, "w"), number)


@contextmanager
def group_loops(
    c: Context, dims: Sequence[int], all_dims: Sequence[int] | None = None, first: bool = True
) -> Iterator[None]:
    """Write the loops over a work-group's local tiles in the given dimensions, with the copies between them.

    Inputs are copied inside the innermost loop that moves them; `all_dims` are the dimensions of all loops of the
    kernel, of which those not in `dims` are opened later by the caller.
    """
    all_dims = dims if all_dims is None else all_dims
    moving = [d for d in all_dims if c.moving(d)]
    if first:
        for d in all_dims:
            if c.several(d) and d not in moving:
                # The only local tile of a work-group in the dimension.
                c.build.let(c.var(d, "l"), c.at(d, "g") * c.s.local_tile[d])
            if d not in moving:
                tile_count(c, d)
        copy_tiles(c, _copied_at(c, moving, None))
    with ExitStack() as loops:
        for d in dims:
            begin, end = c.group_range(d)
            if d in moving and c.chunk(d) <= c.s.local_tile[d]:
                loops.enter_context(tile_loop(c, d, moving))
            elif c.walks(d):
                test = Compare(c.chunk_begin(d), "<", end)
                loops.enter_context(c.build.loop(c.var(d, "k"), begin, test, c.chunk(d)))
        yield


@contextmanager
def tile_loop(c: Context, d: int, moving: Sequence[int]) -> Iterator[None]:
    """Write the loop over local tiles in a dimension, of those that move, with the copies in it."""
    begin, end = c.tile_range(d)
    with c.build.loop(c.var(d, "l"), begin, Compare(c.at(d, "l"), "<", end), c.s.local_tile[d]):
        tile_count(c, d)
        copy_tiles(c, _copied_at(c, moving, d))
        yield


def _copied_at(nest: Nest, moving: Sequence[int], loop: int | None) -> list[int]:
    """Inputs with a local copy whose innermost moving loop is `loop`."""
    found = []
    for n, copy in enumerate(nest.copies):
        if copy is not None:
            deepest = [d for d in moving if nest.h.inputs[n].depends_on(d)]
            if (deepest[-1] if deepest else None) == loop:
                found.append(n)
    return found


def tile_count(c: Context, d: int) -> None:
    """Name the points of the current local tile, where they are not always as many."""
    if not c.even(d):
        left, most = c.extent(d) - c.begin(d), constant(c.own_points(d))
        c.build.let(c.var(d, "n"), least(most, left) if c.at_once(d) == 1 else clamp(left, ZERO, most))


@contextmanager
def step_loops(c: Context) -> Iterator[None]:
    """Write the local layer's loops over private tiles of the kept dimensions and declare their first points."""
    with ExitStack() as loops:
        for d in c.s.local_order:
            if d in c.kept and not c.single(d):
                loops.enter_context(c.build.up_to(c.var(d, "p"), c.points(d), c.s.step(d)))
                if c.pulled(d):
                    c.build.let(c.var(d, "q"), least(c.at(d, "p"), c.extent(d) - c.s.step(d)))
        for d in c.kept:
            c.build.let(c.first_points[d], c.begin(d) + c.local(d))
        yield


def steps_inside(c: Context, dims: Sequence[int]) -> list[Compare]:
    """Conditions for the work-items' current step to lie inside what is computed along some dimensions."""
    tests = [Compare(c.step_begin(d), ">=", c.link.limits[d][0]) for d in dims if d in c.link.limits]
    return tests + [Compare(c.step_begin(d), "<=", c.end(d) - c.s.step(d)) for d in dims]


def points_inside(c: Context, point: Mapping[int, Index], dims: Sequence[int]) -> list[Compare]:
    """Conditions for a point to lie inside what is computed along some dimensions."""
    limits = c.link.limits
    tests = [Compare(point[d], ">=", limits[d][0]) for d in dims if d in limits]
    return tests + [Compare(point[d], "<", c.end(d)) for d in dims]


def step_spans(nest: Nest) -> dict[int, tuple[Index, int]]:
    """Of each dimension the first point of the current step, and how many there are."""
    return {
        d: (nest.step_begin(d), nest.s.step(d)) if d in nest.kept else (nest.begin(d), nest.s.local_tile[d])
        for d in range(nest.h.rank)
    }


def reads_inside(c: Context, spans: Mapping[int, tuple[Index, int]]) -> list[Compare]:
    """Conditions for all accesses of some points, given as by :func:`step_spans`, to lie inside of arrays.

    Only those with a boundary mode that are read where they are may be left.
    """
    checks = []
    bounded = [v for v in c.direct if v.boundary is not None and not v.indirect]
    for view, axis in ((v, axis) for v in bounded for axis in range(len(v.shape))):
        for coefficients in dict.fromkeys(a[axis].coefficients for a in view.accesses):
            constants = [a[axis].constant for a in view.accesses if a[axis].coefficients == coefficients]
            low, reach = constant(min(constants)), max(constants) - min(constants)
            for d, coefficient in enumerate(coefficients):
                begin, points = spans[d]
                low = low + begin * coefficient
                low = low + coefficient * (points - 1) if coefficient < 0 else low
                reach += abs(coefficient) * (points - 1)
            checks.append(Compare(low, ">=", ZERO))
            checks.append(Compare(low, "<=", constant(view.shape[axis] - 1 - reach)))
    return checks
