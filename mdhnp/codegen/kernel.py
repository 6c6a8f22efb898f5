"""The one kernel schema: three layers of loops over every dimension, for any MDH without a scan.

Source: Rasch, Schulze & Gorlatch, "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms",
Listing 1. Global layer: a work-group walks over its local tiles. Local layer: its work-items walk over the private
tiles of a local tile. Private layer: unrolled. Concatenated dimensions enclose combined ones on the local layer, so
that partial results of a private tile stay in registers while its reduction runs.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from mdhnp.codegen import reduce
from mdhnp.codegen.access import LOCAL, Context, Place, read_local, write
from mdhnp.codegen.ctypes import Value, memory_type
from mdhnp.codegen.layers import bounded_checks, group_loops, head, ids, inside_checks, step_inside, step_loops
from mdhnp.codegen.nest import Linear
from mdhnp.codegen.reduce import Accumulators, elements, is_first_item, point_values
from mdhnp.codegen.store import clipped, shifted, store_all, store_results
from mdhnp.codegen.tiles import declare_tiles
from mdhnp.mdh import View
from mdhnp.schedule.accuracy import float_sums

__all__ = ["accumulate_coordinates", "emit_kernel"]


def emit_kernel(c: Context, name: str) -> None:
    """Write the kernel of an MDH whose dimensions are concatenated or reduced."""
    nest = c.nest
    with head(c, name):
        declare_tiles(c)
        if nest.combined:
            reduce.declare_shared(c)
        if nest.s.results == "local":
            _declare_local_results(c)
        ids(c)
        outer = [d for d in nest.s.global_order if d in nest.kept]
        inner = [d for d in nest.s.global_order if d in nest.combined]
        if nest.combined and nest.s.results == "global":
            with group_loops(c, nest.s.global_order):
                _tile_to_output(c)
            return
        with group_loops(c, outer, all_dims=nest.s.global_order):
            if not nest.combined:
                _map_tile(c)
            elif nest.s.results == "private":
                _private_results(c, inner)
            else:
                _local_results(c, inner)


def _private_results(c: Context, inner: Sequence[int]) -> None:
    """Partial results stay in registers over all local tiles of the reduction; one private tile a local tile."""
    nest = c.nest
    with ExitStack() as stack:
        step_loops(c, stack)
        moving = any(nest.moving(d) for d in inner)
        per_tile = nest.s.combine_on == "local" and (nest.reduced_items > 1 or moving)
        total = reduce.declare(c, "acc")
        lost = reduce.declare_lost(c, total, float_sums(nest.h) if per_tile else ())
        with group_loops(c, inner, all_dims=nest.s.global_order, first=False):
            part = reduce.declare(c, "part") if per_tile else total
            accumulate(c, part)
            if per_tile:
                _add_tile(c, total, part, lost)
        total = reduce.flatten_lanes(c, total)
        if not per_tile:
            reduce.across_items(c, total)
        store_all(c, total)


def _add_tile(c: Context, total: Accumulators, part: Accumulators, lost: Sequence[Mapping[int, Value]]) -> None:
    """Combine one local tile's results with those of the tiles before; float sums carry along what rounding loses."""
    pairs = [*zip(total.values, part.values, strict=True), *zip(total.tails, part.tails, strict=True)]
    first = is_first_item(c.nest)
    if first:
        part = reduce.flatten_lanes(c, part)
        reduce.across_items(c, part)
        pairs = list(zip(total.tails or total.values, part.values, strict=True))
        lost = lost[-len(pairs) :]
    tests = [t for t in (first, part.seen) if t]
    with c.writer.block(f"if ({' && '.join(tests)})" if tests else ""):
        for (left, right), errors in zip(pairs, lost, strict=True):
            reduce.apply(c, left, right, total.seen, lost=errors)
        if total.seen:
            c.writer.line(f"{total.seen} = 1;")


def _tile_to_output(c: Context) -> None:
    """Partial results wait in the output; the first local tile of the reduction writes, later ones combine."""
    with ExitStack() as stack:
        step_loops(c, stack)
        acc = _accumulated(c)
        moving = [d for d in c.nest.combined if c.nest.moving(d)]
        if not moving:
            store_all(c, acc)
        else:
            with c.writer.block(f"if ({_first_tile(c, moving)})", "} else {"):
                store_all(c, acc)
            with c.writer.otherwise():
                store_all(c, acc, onto=True)


def _first_tile(c: Context, moving: Sequence[int]) -> str:
    tests = []
    for d in moving:
        name = c.nest.name(d)
        tests.append(f"{name}_l == {f'{name}_g * {c.nest.chunk(d)}' if c.nest.grouped(d) else 0}")
    return " && ".join(tests)


def _accumulated(c: Context) -> Accumulators:
    """One private tile's results of one local tile, combined across lanes and work-items."""
    acc = reduce.declare(c, "acc")
    accumulate(c, acc)
    acc = reduce.flatten_lanes(c, acc)
    reduce.across_items(c, acc)
    return acc


def _local_results(c: Context, inner: Sequence[int]) -> None:
    """Partial results wait in local memory; after the last local tile each work-item stores what it wrote there."""
    nest = c.nest
    with group_loops(c, inner, all_dims=nest.s.global_order, first=False), c.writer.block(), ExitStack() as stack:
        step_loops(c, stack)
        acc = _accumulated(c)
        moving = [d for d in nest.combined if nest.moving(d)]
        with ExitStack() as guard:
            if is_first_item(nest):
                guard.enter_context(c.writer.block(f"if ({is_first_item(nest)})"))
            if moving:
                with c.writer.block(f"if (!({_first_tile(c, moving)}))"):
                    for offset, values in zip(elements(nest), acc.values, strict=True):
                        reduce.apply(c, values, _read_results(c, offset, values[0].lanes), before=True)
            for offset, values in zip(elements(nest), acc.values, strict=True):
                for n, value in enumerate(values):
                    where, stride = _result_offset(c, offset, value.lanes)
                    write(c, f"o{n}_l", LOCAL, where, stride, "", value)
    # Only the work-items that wrote results read them.
    with c.writer.block(f"if ({is_first_item(nest)})" if is_first_item(nest) else ""), ExitStack() as stack:
        step_loops(c, stack)
        lanes = 1 if nest.s.vector_dim in nest.combined else nest.s.vector_width
        waiting = [tuple(c.writer.declare("acc", v) for v in _read_results(c, o, lanes)) for o in elements(nest)]
        store_all(c, Accumulators(tuple(waiting)), by_all=True)


def _declare_local_results(c: Context) -> None:
    size = 1
    for d in c.nest.kept:
        size *= c.nest.footprint(d)
    for n, dtype in enumerate(c.nest.result_dtypes):
        c.writer.line(f"{LOCAL} {memory_type(dtype)} o{n}_l[{size}];")


def _result_offset(c: Context, offset: dict[int, int], lanes: int) -> tuple[Linear, Linear]:
    """Where an element's partial result lies in local memory: row-major, vectors innermost."""
    nest = c.nest
    order = sorted(nest.kept, key=lambda d: d == nest.s.vector_dim)
    total, size, stride = Linear(), 1, 0
    for d in reversed(order):
        total = total + (nest.local(d) + offset[d]) * size
        stride = size if d == nest.s.vector_dim and lanes > 1 else stride
        size *= nest.footprint(d)
    return total, Linear((), stride)


def _read_results(c: Context, offset: dict[int, int], lanes: int) -> list[Value]:
    where, stride = _result_offset(c, offset, lanes)
    found = []
    for n, dtype in enumerate(c.nest.result_dtypes):
        view = View(f"o{n}", dtype, (), (), 0, ())
        found.append(read_local(c, view, f"o{n}_l", where, stride, lanes))
    return found


def accumulate_coordinates(c: Context, *, inside: bool = False) -> Callable[[dict[int, int]], Place]:
    """Declare the kept coordinates of the private tile and give an element's place.

    Each is kept inside its extent, unless the whole tile is known to be `inside`.
    """
    nest, t = c.nest, c.nest.index_type
    coordinates: dict[int, dict[int, Linear]] = {}
    for d in nest.kept:
        coordinates[d] = {}
        for offset in nest.offsets(d):
            at = nest.base(d) + offset
            if nest.partial(d) and nest.width(d) == 1 and not inside:
                clamped = c.writer.fresh(f"{nest.name(d)}_")
                c.writer.line(f"const {t} {clamped} = min({at}, {nest.literal(nest.extent(d) + -1)});")
                at = Linear(((clamped, 1),))
            coordinates[d][offset] = at

    def place(offset: dict[int, int]) -> Place:
        point = {d: coordinates[d][o] for d, o in offset.items()}
        return Place(point, {d: nest.local(d) + o for d, o in offset.items()})

    return place


def accumulate(c: Context, acc: Accumulators) -> None:
    """Run the reduction of one local tile, without checks where the private tile lies inside, else with them."""
    c.writer.either(
        _inside_checks(c),
        lambda: reduce.reduce_loops(c, acc, accumulate_coordinates(c, inside=True)),
        lambda: _guarded(c, acc),
    )


def _guarded(c: Context, acc: Accumulators) -> None:
    """The reduction at a border, with lanes and indices checked."""
    nest, vector, t = c.nest, c.nest.s.vector_dim, c.nest.index_type
    place = accumulate_coordinates(c)
    first: dict[int, str] = {}
    valid: dict[int, str] = {}
    if vector in nest.kept and nest.partial(vector):
        for offset in nest.offsets(vector):
            where = nest.base(vector) + offset
            if nest.shifted:
                first[offset], valid[offset] = shifted(c, where), ""
                continue
            first[offset], valid[offset] = c.writer.fresh("first"), c.writer.fresh("valid")
            c.writer.line(f"const {t} {first[offset]} = min({where}, {nest.literal(nest.extent(vector) + -1)});")
            c.writer.line(f"const {t} {valid[offset]} = {nest.extent(vector)} - {first[offset]};")

    def guarded(offset: dict[int, int]) -> Place:
        at = replace(place(offset), bounded=True)
        if first:
            o = offset[vector]
            at = replace(at, point={**at.point, vector: Linear(((first[o], 1),))}, valid=valid[o])
        return at

    reduce.reduce_loops(c, acc, guarded)


def _inside_checks(c: Context) -> list[str]:
    """Conditions under which no access of the private tile needs a check."""
    nest = c.nest
    direct = [v for v, copy in zip(nest.h.inputs, nest.s.local_copies, strict=True) if copy is None]
    checks = [step_inside(c, d) for d in nest.kept if nest.partial(d) and any(v.depends_on(d) for v in direct)]
    for view in direct:
        if view.boundary is not None:
            checks += bounded_checks(c, view)
    return checks


def _map_tile(c: Context) -> None:
    """No combination at all: compute and store, without tests inside."""
    nest = c.nest
    with ExitStack() as stack:
        step_loops(c, stack)
        checks = [step_inside(c, d) for d in nest.kept if nest.partial(d)]
        for view, copy in zip(nest.h.inputs, nest.s.local_copies, strict=True):
            if copy is None and view.boundary is not None:
                checks += bounded_checks(c, view)
        c.writer.either(checks, lambda: _map_elements(c), lambda: _map_border(c))


def _map_elements(c: Context) -> None:
    nest = c.nest
    cache: dict[str, Value] = {}
    pending = []
    for offset in elements(nest):
        point = {d: nest.base(d) + o for d, o in offset.items()}
        local = {d: nest.local(d) + o for d, o in offset.items()}
        at = Place(point, local, nest.s.vector_width)
        values = point_values(c, nest.h.scalar, at, {}, cache)
        pending.append((at, [c.writer.declare("o", v) for v in values]))
    # Stores come after all loads, so that loads of neighbouring elements can be shared.
    for at, values in pending:
        store_results(c, at, values, cache)


def _map_border(c: Context) -> None:
    """The points of the private tile that lie inside: in vectors, of which lanes that stick out are not stored."""
    nest, t, width = c.nest, c.nest.index_type, c.nest.s.vector_width
    with ExitStack() as stack:
        point, local = {}, {}
        for d in (d for d in nest.s.private_order if d in nest.kept):
            name = nest.name(d)
            count, distance = nest.s.private_tile[d] // nest.width(d), nest.width(d) * nest.s.num_wi[d]
            shift = Linear()
            if count > 1:
                stack.enter_context(c.writer.block(f"for ({t} {name}_b = 0; {name}_b < {count}; ++{name}_b)"))
                shift = Linear(((f"{name}_b", distance),))
            point[d], local[d] = nest.base(d) + shift, nest.local(d) + shift
        tests = [f"{point[d]} < {nest.extent(d)}" for d in nest.kept if nest.partial(d)]
        if tests:
            stack.enter_context(c.writer.block(f"if ({' && '.join(tests)})"))
        whole, vector = [], nest.s.vector_dim
        at = Place(point, local, width)
        border = replace(at, bounded=True)
        if width > 1 and nest.partial(vector):
            whole = [f"{point[vector]} <= {nest.extent(vector) + -width}"]
            border = clipped(c, border)
        whole += _all_inside(c, {d: (point[d], nest.width(d)) for d in nest.kept})
        c.writer.either(whole, lambda: _border_point(c, at), lambda: _border_point(c, border))


def _all_inside(c: Context, spans: dict[int, tuple[Linear, int]]) -> list[str]:
    """Conditions for all accesses of some points to lie inside their arrays."""
    tests: list[str] = []
    for view, copy in zip(c.nest.h.inputs, c.nest.s.local_copies, strict=True):
        if copy is None and view.boundary is not None:
            tests += [test for test in inside_checks(view, spans) if test not in tests]
    return tests


def _border_point(c: Context, at: Place) -> None:
    store_results(c, at, point_values(c, c.nest.h.scalar, at, {}, {}), {})
