"""The one kernel schema: three layers of loops over every dimension, for any MDH without a scan.

Source: Rasch, Schulze & Gorlatch, "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms",
Listing 1. Global layer: a work-group walks over its local tiles. Local layer: its work-items walk over the private
tiles of a local tile. Private layer: unrolled. Concatenated dimensions enclose combined ones on the local layer, so
that partial results of a private tile stay in registers while its reduction runs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from math import prod

from mdhnp.codegen import layers, reduce, work_items
from mdhnp.codegen.access import Context, Point, read
from mdhnp.codegen.factors import declare_doubt, doubtful, watch
from mdhnp.codegen.ir.index import ZERO, Compare, Index, Var, constant, least, variable
from mdhnp.codegen.ir.statements import AllocLocal, Not, Store, Test, Truth
from mdhnp.codegen.ir.values import Buffer, Load, Register
from mdhnp.codegen.layers import group_loops, ids, points_inside, reads_inside, step_loops, step_spans, steps_inside
from mdhnp.codegen.matrix import accumulate_products, are_words, await_products, store_words
from mdhnp.codegen.nest import Nest
from mdhnp.codegen.pipeline import pipeline
from mdhnp.codegen.prefetch import prefetch
from mdhnp.codegen.producers import declare_operand
from mdhnp.codegen.reduce import Accumulators, elements, point_values
from mdhnp.codegen.scalar import applied
from mdhnp.codegen.store import clipped, element_point, shifted, store_all, store_results
from mdhnp.codegen.tiles import declare_tiles
from mdhnp.codegen.work_items import is_first_item
from mdhnp.schedule.accuracy import LONGEST, float_sums
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.matrices import as_summed


def emit_kernel(c: Context) -> None:
    """Build the body of an MDH whose dimensions are concatenated or reduced."""
    declare_local(c)
    ids(c)
    emit_tiles(c)


def declare_local(c: Context) -> None:
    """Declare the local memory that the loops need."""
    declare_tiles(c)
    work_items.declare_shared(c)
    declare_doubt(c)
    declare_operand(c)
    if c.s.results == "local":
        size = prod(c.s.footprint(d) for d in c.kept)
        for waiting in _waiting(c):
            c.build.add(AllocLocal(waiting, size))


def emit_tiles(c: Context) -> None:
    """Build the loops over local tiles, and what is in them."""
    c = replace(c, h=as_summed(c.h, ATOMS[c.s.atom])) if c.s.atom else c
    outer = [d for d in c.global_order if d in c.kept]
    inner = [d for d in c.global_order if d in c.combined]
    if c.h.scatters:
        _put_identities(c)
        with group_loops(c, c.global_order), step_loops(c):
            accumulate(c, Accumulators(()))
        return
    if c.combined and c.s.results == "global":
        # Partial results wait in the output; the first local tile of the reduction writes, later ones combine.
        with group_loops(c, c.global_order), step_loops(c):
            prefetch(c)
            acc = _accumulated(c)
            c.build.either(_first_tile(c), lambda: store_all(c, acc), lambda: store_all(c, acc, onto=True))
        return
    with group_loops(c, outer, all_dims=c.global_order):
        if not c.combined:
            map_tile(c)
        elif c.s.results == "private":
            _private_results(c, inner)
        else:
            _local_results(c, inner)


def _private_results(c: Context, inner: Sequence[int]) -> None:
    """Partial results stay in registers over all local tiles of the reduction; one private tile a local tile."""
    with step_loops(c):
        walked = any(map(c.walks, inner))
        if not walked:
            prefetch(c)
        shared = c.chunks > 1 if c.fixed else c.reduced_items > 1
        per_tile = c.s.combine_on == "local" and (shared or walked)
        total = reduce.declare(c, "acc")
        lost = reduce.declare_lost(c, total, _compensated(c) if per_tile else ())
        watched = watch(c) if c.s.atom else None
        every = c.s.combine_every
        part = reduce.declare(c, "part") if every > 1 else total
        with _tiles(c, inner) as before:
            if per_tile and every == 1:
                part = reduce.declare(c, "part")
            with _chunk(c):
                accumulate(c, part, watched, before)
            if every > 1:
                with c.build.when([Compare(before % every, "==", constant(every - 1))]):
                    _add_tile(c, total, part, lost)
                    reduce.restart(c, part)
            elif per_tile:
                _add_tile(c, total, part, lost)
        if c.s.atom:
            await_products(c, total)
        if every > 1:
            _add_tile(c, total, part, lost)
        if watched is not None:
            _again(c, total, inner, watched)
        if c.fixed:
            work_items.across_items(c, total)
        total = reduce.flatten_lanes(c, total)
        if c.fixed and not per_tile:
            _add_nothing(c, total)
        elif not per_tile:
            work_items.across_items(c, total)
        (store_words if c.s.atom and are_words(c) else store_all)(c, total)


def _add_nothing(c: Context, acc: Accumulators) -> None:
    """Let no sum of a fixed order be -0.0, so that zeros may be added to it: what fills tiles, what it is added to."""
    for values in acc.values:
        for n in float_sums(c.h):
            zero = reduce.start("0", values[n].dtype, values[n].lanes)
            c.build.assign(values[n], applied("add", values[n], zero))


def _put_identities(c: Context) -> None:
    """Have the work-group's part of the output begin with what is combined there changing nothing."""
    size = c.h.outputs[0].elements()
    at = Var("e", None, 0, size - 1)
    with c.build.up_to(at, size):
        for view, literal in zip(c.h.outputs, c.h.combiner.neutral, strict=True):
            value = reduce.start(literal, view.dtype, 1)
            c.build.add(Store(c.buffer(view), c.output_offset + variable(at), value))


@contextmanager
def _tiles(c: Context, inner: Sequence[int]) -> Iterator[Index]:
    """The loop over the local tiles of a sum; it gives how many were there before, where they are copied ahead."""
    if c.s.stages > 1 and not c.fixed:
        with pipeline(c, inner) as before:
            yield before
    else:
        with group_loops(c, inner, all_dims=c.global_order, first=False):
            yield ZERO


@contextmanager
def _chunk(c: Context) -> Iterator[None]:
    """The loop over the local tiles of a chunk, where it has several."""
    dims = [d for d in c.combined if c.chunk(d) > c.s.local_tile[d]]
    with ExitStack() as loops:
        if dims and c.s.stages > 1:
            loops.enter_context(pipeline(c, dims))
        for d in dims if c.s.stages == 1 else ():
            loops.enter_context(layers.tile_loop(c, d, [e for e in c.global_order if c.moving(e)]))
        yield


def _compensated(nest: Nest) -> tuple[int, ...]:
    """Results whose local tiles' sums are added with compensation.

    Those of matrix instructions are of a few terms each, so that up to as many of them as terms of a chain need none.
    """
    if nest.fixed and not nest.fixed.compensated:
        return ()
    tiles = prod(-(-nest.h.extents[d] // nest.s.local_tile[d]) for d in nest.combined)
    return () if nest.s.atom and tiles <= LONGEST * nest.s.combine_every else float_sums(nest.h)


def _again(c: Context, total: Accumulators, inner: Sequence[int], watched: Register) -> None:
    """Compute the results by multiply-adds, from the inputs themselves, where matrix instructions may be wrong.

    One term after the other: what is written out here takes registers of the whole kernel.
    """
    s, terms = c.s, c.s.atom_dims[2]
    one_by_one = replace(s, private_tile=tuple(1 if d == terms else n for d, n in enumerate(s.private_tile)))
    direct = replace(c, s=one_by_one, uncopied=True)
    with c.build.when([Truth(doubtful(c, total, watched))]):
        reduce.restart(c, total)
        lost = reduce.declare_lost(c, total, _compensated(c))
        with group_loops(direct, inner, all_dims=c.global_order, first=False):
            part = reduce.declare(c, "part")
            accumulate(direct, part)
            _add_tile(direct, total, part, lost)


def _add_tile(c: Context, total: Accumulators, part: Accumulators, lost: Sequence[Mapping[int, Register]]) -> None:
    """Combine one local tile's results with those of the tiles before; float sums carry along what rounding loses."""
    if c.chunks > 1:
        work_items.add_in_turn(c, total, part, lost)
        return
    pairs = [*zip(total.values, part.values, strict=True), *zip(total.tails, part.tails, strict=True)]
    first = [] if c.fixed else is_first_item(c)
    if first:
        part = reduce.flatten_lanes(c, part)
        work_items.across_items(c, part)
        pairs = list(zip(total.tails or total.values, part.values, strict=True))
        lost = lost[-len(pairs) :]
    tests: list[Test] = [*first, *([Truth(part.seen)] if part.seen else [])]
    with c.build.when(tests) if tests else c.build.block():
        for (left, right), errors in zip(pairs, lost, strict=True):
            reduce.apply(c, left, right, total.seen, lost=errors)
        reduce.mark_seen(c, total)


def _first_tile(c: Context) -> list[Compare]:
    """Conditions for the current local tile to be the first of what this nest reduces."""
    own = [d for d in c.combined if c.walks(d) and d not in c.link.opened]
    return [Compare(c.chunk_begin(d), "==", c.group_range(d)[0]) for d in own]


def _accumulated(c: Context) -> Accumulators:
    """One private tile's results of one local tile, combined across lanes and work-items."""
    acc = reduce.declare(c, "acc")
    with _chunk(c):
        accumulate(c, acc)
    acc = reduce.flatten_lanes(c, acc)
    work_items.across_items(c, acc)
    if c.fixed:
        _add_nothing(c, acc)
    return acc


def _local_results(c: Context, inner: Sequence[int]) -> None:
    """Partial results wait in local memory; after the last local tile each work-item stores what it wrote there."""
    first = is_first_item(c)
    with group_loops(c, inner, all_dims=c.global_order, first=False), c.build.block(), step_loops(c):
        acc = _accumulated(c)
        with c.build.when(first):
            again = _first_tile(c)
            if again:
                with c.build.when([Not(tuple(again))]):
                    for offset, values in zip(elements(c), acc.values, strict=True):
                        reduce.apply(c, values, _read_results(c, offset, values[0].lanes), before=True)
            for offset, values in zip(elements(c), acc.values, strict=True):
                where, stride = _result_offset(c, offset, values[0].lanes)
                for waiting, value in zip(_waiting(c), values, strict=True):
                    c.build.add(Store(waiting, where, value, stride))
    # Only the work-items that wrote results read them.
    with c.build.when(first) if first else c.build.block(), step_loops(c):
        found = [tuple(c.build.name("acc", v) for v in _read_results(c, o, c.lanes)) for o in elements(c)]
        store_all(c, Accumulators(tuple(found)), by_all=True)


def _waiting(c: Context) -> list[Buffer]:
    """The local memory in which partial results wait."""
    return [Buffer(f"o{n}_l", dtype, "local", own=True) for n, dtype in enumerate(c.h.scalar.dtypes)]


def _result_offset(c: Context, offset: dict[int, int], lanes: int) -> tuple[Index, Index]:
    """Where an element's partial result lies in local memory: row-major, vectors innermost."""
    order = sorted(c.kept, key=lambda d: d == c.s.vector_dim)
    total, size, stride = ZERO, 1, 0
    for d in reversed(order):
        total = total + (c.local(d) + offset[d]) * size
        stride = size if d == c.s.vector_dim and lanes > 1 else stride
        size *= c.s.footprint(d)
    return total, constant(stride)


def _read_results(c: Context, offset: dict[int, int], lanes: int) -> list[Load]:
    where, stride = _result_offset(c, offset, lanes)
    return [read(waiting, where, stride, lanes) for waiting in _waiting(c)]


def accumulate_coordinates(c: Context, *, inside: bool = False) -> Callable[[dict[int, int]], Point]:
    """Name the kept coordinates of the private tile and give an element's place.

    Each is kept inside its extent, unless the whole tile is known to be `inside`.
    """
    coordinates: dict[int, dict[int, Index]] = {}
    for d in c.kept:
        coordinates[d] = {}
        for offset in c.offsets(d):
            at = c.base(d) + offset
            if c.partial(d) and c.width(d) == 1 and not inside:
                at = c.build.named(f"{c.h.names[d]}_", least(at, c.end(d) - 1))
            coordinates[d][offset] = at

    def place(offset: dict[int, int]) -> Point:
        point = {d: coordinates[d][o] for d, o in offset.items()}
        return Point(point, {d: c.local(d) + o for d, o in offset.items()})

    return place


def accumulate(c: Context, acc: Accumulators, watched: Register | None = None, before: Index = ZERO) -> None:
    """Run the reduction of one local tile, `before` which so many were, and watch the factors that an instruction has.

    Without an instruction there are no checks where the private tile lies inside.
    """
    if c.s.atom and not c.uncopied:
        accumulate_products(c, acc, watched, before)
        return
    moving = [d for d in c.ragged if any(v.depends_on(d) for v in c.direct)]
    c.build.either(
        [*steps_inside(c, moving), *reads_inside(c, step_spans(c))],
        lambda: reduce.reduce_loops(c, acc, accumulate_coordinates(c, inside=True)),
        lambda: _guarded(c, acc),
    )


def _guarded(c: Context, acc: Accumulators) -> None:
    """The reduction at a border, with lanes and indices checked."""
    vector = c.s.vector_dim
    place = accumulate_coordinates(c)
    first: dict[int, Index] = {}
    valid: dict[int, Index] = {}
    if vector in c.kept and c.partial(vector):
        for offset in c.offsets(vector):
            where = c.base(vector) + offset
            if c.shifted:
                first[offset] = shifted(c, where)
            else:
                first[offset] = c.build.named("first", least(where, c.end(vector) - 1))
                valid[offset] = c.build.named("valid", c.end(vector) - first[offset])

    def guarded(offset: dict[int, int]) -> Point:
        at = replace(place(offset), bounded=True)
        if first:
            o = offset[vector]
            at = replace(at, point={**at.point, vector: first[o]}, valid=valid.get(o))
        return at

    reduce.reduce_loops(c, acc, guarded)


def map_tile(c: Context) -> None:
    """No combination at all: compute and store, without tests inside."""
    with step_loops(c):
        checks = [*steps_inside(c, c.ragged), *reads_inside(c, step_spans(c))]
        border = partial(_map_elements, inside=False) if _together(c) else _map_border
        c.build.either(checks, lambda: _map_elements(c), lambda: border(c))


def _map_elements(c: Context, *, inside: bool = True) -> None:
    """Compute all points of the private tile, then store them; where not all lie `inside`, those that do."""
    place, pending = None if inside else accumulate_coordinates(c), []
    for offset in elements(c):
        at = element_point(c, offset, c.s.vector_width)
        found = point_values(c, c.h.scalar, at if place is None else place(offset))
        pending.append((at, [c.build.name("o", v) for v in found]))
    # Stores come after all loads, so that loads of neighbouring elements can be shared, and are under way together.
    for at, values in pending:
        with c.build.when([] if inside else points_inside(c, at.point, c.ragged)):
            store_results(c, at, values)


def _together(c: Context) -> bool:
    """Whether the points of a tile that sticks out are loaded together, from where anything may be read."""
    several = c.s.work_items > 1 and prod(c.s.private_tile) > 1 and c.s.vector_width == 1
    anywhere = all([v.boundary is None and c.buffer(v).constant for v in c.h.inputs])
    return several and anywhere and not c.link.limits and not c.h.calls_text


def _map_border(c: Context) -> None:
    """The points of the private tile that lie inside: in vectors, of which lanes that stick out are not stored."""
    width = c.s.vector_width
    with ExitStack() as stack:
        point, local = {}, {}
        for d in (d for d in c.s.private_order if d in c.kept):
            count, distance = c.s.private_tile[d] // c.width(d), c.width(d) * c.s.num_wi[d]
            shift = ZERO
            if count > 1:
                stack.enter_context(c.build.up_to(c.var(d, "b"), count))
                shift = c.at(d, "b") * distance
            point[d], local[d] = c.base(d) + shift, c.local(d) + shift
        stack.enter_context(c.build.when(points_inside(c, point, c.ragged)))
        whole, vector = [], c.s.vector_dim
        at = Point(point, local, width)
        border = replace(at, bounded=True)
        if width > 1 and c.partial(vector):
            whole = [Compare(point[vector], "<=", c.end(vector) - width)]
            border = clipped(c, border)
        whole += reads_inside(c, {d: (point[d], c.width(d)) for d in c.kept})

        def store(at: Point) -> None:
            store_results(c, at, point_values(c, c.h.scalar, at))

        c.build.either(whole, partial(store, at), partial(store, border))
