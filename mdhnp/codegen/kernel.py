"""The one kernel schema: three layers of loops over every dimension, for any MDH without a scan.

Source: Rasch, Schulze & Gorlatch, "Generating Portable High-Performance Code via Multi-Dimensional Homomorphisms",
Listing 1. Global layer: a work-group walks over its local tiles. Local layer: its work-items walk over the private tiles
of a local tile. Private layer: unrolled. Concatenated dimensions enclose combined ones on the local layer, so that
partial results of a private tile stay in registers while its reduction runs.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from mdhnp.codegen import reduce
from mdhnp.codegen.access import GLOBAL, LOCAL, Context, Place, load, read_local, result_convert, store, write
from mdhnp.codegen.ctypes import Value, memory_type
from mdhnp.codegen.nest import Linear, Nest
from mdhnp.codegen.reduce import Accumulators, elements, is_first_item, point_values, tile_points
from mdhnp.codegen.tiles import copy_tiles, declare_tiles, tile_start
from mdhnp.mdh import View

__all__ = [
    "accumulate_coordinates",
    "emit_kernel",
    "group_loops",
    "head",
    "ids",
    "step_inside",
    "step_loops",
    "store_results",
]


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


class head(ExitStack):  # noqa: N801
    """The kernel's signature; its body is written inside the context."""

    def __init__(self, c: Context, name: str, extra: Sequence[str] = ()) -> None:
        super().__init__()
        self._open = (c, name, extra)

    def __enter__(self) -> "head":
        c, name, extra = self._open
        inputs = [f"{GLOBAL} const {memory_type(v.dtype)} *restrict {v.name}" for v in c.nest.h.inputs]
        outputs = [f"{GLOBAL} {memory_type(v.dtype)} *restrict {v.name}" for v in c.nest.h.outputs]
        c.writer.line(f"// {c.nest.h}")
        c.writer.line(f"__kernel __attribute__((reqd_work_group_size({c.nest.s.work_items}, 1, 1)))")
        super().__enter__()
        self.enter_context(c.writer.block(f"void {name}({', '.join([*inputs, *extra, *outputs])})"))
        return self


def ids(c: Context) -> None:
    """Declare work-group and work-item ids of each dimension, taken apart in the schedule's order."""
    for letter, counts, order, call in (
        ("g", c.nest.s.num_wg, c.nest.s.group_order, "get_group_id(0)"),
        ("w", c.nest.s.num_wi, c.nest.s.item_order, "get_local_id(0)"),
    ):
        total = 1
        for n in counts:
            total *= n
        if total == 1:
            continue
        c.writer.line(f"const int {letter} = {call};")
        divisor = 1
        for d in order:
            if counts[d] == 1:
                continue
            text = letter if divisor == 1 else f"{letter} / {divisor}"
            divisor *= counts[d]
            text = text if divisor == total else f"{text} % {counts[d]}"
            c.writer.line(f"const int {c.nest.name(d)}_{letter} = {text};")


class group_loops(ExitStack):  # noqa: N801
    """Loops over a work-group's local tiles in the given dimensions, with the copies that belong between them.

    Inputs are copied inside the innermost loop that moves them; `all_dims` are the dimensions of all loops of the
    kernel, of which those not in `dims` are opened later by the caller.
    """

    def __init__(self, c: Context, dims: Sequence[int], all_dims: Sequence[int] | None = None, first: bool = True) -> None:
        super().__init__()
        self._open = (c, list(dims), list(dims if all_dims is None else all_dims), first)

    def __enter__(self) -> "group_loops":
        super().__enter__()
        c, dims, all_dims, first = self._open
        nest = c.nest
        moving = [d for d in all_dims if nest.tiles_per_group(d) > 1]
        if first:
            for d in all_dims:
                if nest.tiles(d) > 1 and d not in moving:
                    _tile_begin(c, d)
            copy_tiles(c, _copied_at(nest, moving, None))
        for d in dims:
            if d in moving:
                self.enter_context(c.writer.block(_tile_loop(c, d)))
                _tile_count(c, d)
                copy_tiles(c, _copied_at(nest, moving, d))
        return self


def _copied_at(nest: Nest, moving: Sequence[int], loop: int | None) -> list[int]:
    """Inputs with a local copy whose innermost moving loop is `loop`."""
    found = []
    for n, copy in enumerate(nest.s.local_copies):
        if copy is not None:
            deepest = [d for d in moving if nest.h.inputs[n].depends_on(d)]
            if (deepest[-1] if deepest else None) == loop:
                found.append(n)
    return found


def _tile_begin(c: Context, d: int) -> None:
    """The only local tile of a work-group in a dimension."""
    name = c.nest.name(d)
    c.writer.line(f"const {c.nest.index_type} {name}_l = {name}_g * {c.nest.s.local_tile[d]};")
    _tile_count(c, d)


def _tile_loop(c: Context, d: int) -> str:
    nest, name, t = c.nest, c.nest.name(d), c.nest.index_type
    chunk = nest.tiles_per_group(d) * nest.s.local_tile[d]
    begin, end = "0", str(nest.h.extents[d])
    if nest.s.num_wg[d] > 1:
        begin = f"{name}_g * {chunk}"
        end = f"min(({t}){name}_g * {chunk} + {chunk}, ({t}){nest.h.extents[d]})"
    return f"for ({t} {name}_l = {begin}; {name}_l < {end}; {name}_l += {nest.s.local_tile[d]})"


def _tile_count(c: Context, d: int) -> None:
    name, t = c.nest.name(d), c.nest.index_type
    if c.nest.h.extents[d] % c.nest.s.local_tile[d]:
        c.writer.line(f"const {t} {name}_n = min(({t}){c.nest.s.local_tile[d]}, {c.nest.h.extents[d]} - {name}_l);")


def step_loops(c: Context, stack: ExitStack) -> None:
    """Open the local layer's loops over private tiles of the kept dimensions and declare their first points."""
    nest, t = c.nest, c.nest.index_type
    for d in nest.s.local_order:
        if d in nest.kept and not nest.single(d):
            name = nest.name(d)
            head_text = f"for ({t} {name}_p = 0; {name}_p < {tile_points(nest, d)}; {name}_p += {nest.s.step(d)})"
            stack.enter_context(c.writer.block(head_text))
    for d in nest.kept:
        c.writer.line(f"const {t} {nest.name(d)} = {tile_start(nest, d) + nest.local(d)};")


def _private_results(c: Context, inner: Sequence[int]) -> None:
    """Partial results stay in registers over all local tiles of the reduction; one private tile a local tile."""
    nest = c.nest
    with ExitStack() as stack:
        step_loops(c, stack)
        per_tile = nest.s.combine_on == "local" and nest.reduced_items > 1
        total = reduce.declare(c, "acc")
        with group_loops(c, inner, all_dims=nest.s.global_order, first=False):
            part = reduce.declare(c, "part") if per_tile else total
            accumulate(c, part)
            if per_tile:
                part = reduce.flatten_lanes(c, part)
                reduce.across_items(c, part)
                with c.writer.block(f"if ({is_first_item(nest)}{f' && {part.seen}' if part.seen else ''})"):
                    targets = total.tails or total.values
                    for left, right in zip(targets, part.values, strict=True):
                        reduce.apply(c, left, right, total.seen)
                    if total.seen:
                        c.writer.line(f"{total.seen} = 1;")
        total = reduce.flatten_lanes(c, total)
        if not per_tile:
            reduce.across_items(c, total)
        _store_all(c, total)


def _tile_to_output(c: Context) -> None:
    """Partial results wait in the output; the first local tile of the reduction writes, later ones combine."""
    with ExitStack() as stack:
        step_loops(c, stack)
        acc = _accumulated(c)
        moving = [d for d in c.nest.combined if c.nest.tiles_per_group(d) > 1]
        if not moving:
            _store_all(c, acc)
            return
        with c.writer.block(f"if ({_first_tile(c, moving)})", "} else {"):
            _store_all(c, acc)
        with c.writer.otherwise():
            _store_all(c, acc, onto=True)


def _first_tile(c: Context, moving: Sequence[int]) -> str:
    tests = []
    for d in moving:
        name, chunk = c.nest.name(d), c.nest.tiles_per_group(d) * c.nest.s.local_tile[d]
        tests.append(f"{name}_l == {f'{name}_g * {chunk}' if c.nest.s.num_wg[d] > 1 else 0}")
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
    with group_loops(c, inner, all_dims=nest.s.global_order, first=False):
        with c.writer.block(), ExitStack() as stack:
            step_loops(c, stack)
            acc = _accumulated(c)
            moving = [d for d in nest.combined if nest.tiles_per_group(d) > 1]
            with ExitStack() as guard:
                if is_first_item(nest):
                    guard.enter_context(c.writer.block(f"if ({is_first_item(nest)})"))
                if moving:
                    with c.writer.block(f"if (!({_first_tile(c, moving)}))"):
                        for offset, values in zip(elements(nest), acc.values, strict=True):
                            reduce.apply(c, values, _read_results(c, offset, values[0].lanes))
                for offset, values in zip(elements(nest), acc.values, strict=True):
                    for n, value in enumerate(values):
                        where, stride = _result_offset(c, offset, value.lanes)
                        write(c, f"o{n}_l", LOCAL, where, stride, "", value)
    with c.writer.block(), ExitStack() as stack:
        step_loops(c, stack)
        lanes = 1 if nest.s.vector_dim in nest.combined else nest.s.vector_width
        values = []
        for offset in elements(nest):
            read = [c.writer.declare("acc", v) for v in _read_results(c, offset, lanes)]
            values.append(tuple(read))
        _store_all(c, Accumulators(tuple(values)))


def _declare_local_results(c: Context) -> None:
    size = 1
    for d in c.nest.kept:
        size *= c.nest.footprint(d)
    for n, dtype in enumerate(c.nest.result_dtypes):
        c.writer.line(f"{LOCAL} {memory_type(dtype)} o{n}_l[{size}];")


def _result_offset(c: Context, offset: dict[int, int], lanes: int) -> tuple[Linear, int]:
    """Where an element's partial result lies in local memory: row-major, vectors innermost."""
    nest = c.nest
    order = sorted(nest.kept, key=lambda d: d == nest.s.vector_dim)
    total, size, stride = Linear(), 1, 0
    for d in reversed(order):
        total = total + (nest.local(d) + offset[d]) * size
        stride = size if d == nest.s.vector_dim and lanes > 1 else stride
        size *= nest.footprint(d)
    return total, stride


def _read_results(c: Context, offset: dict[int, int], lanes: int) -> list[Value]:
    where, stride = _result_offset(c, offset, lanes)
    found = []
    for n, dtype in enumerate(c.nest.result_dtypes):
        view = View(f"o{n}", dtype, (), (), 0, ())
        found.append(read_local(c, view, f"o{n}_l", where, stride, lanes))
    return found


def accumulate_coordinates(c: Context) -> Callable[[dict[int, int]], Place]:
    """Declare the kept coordinates of the private tile, each kept inside its extent, and give an element's place."""
    nest, t = c.nest, c.nest.index_type
    coordinates: dict[int, dict[int, Linear]] = {}
    for d in nest.kept:
        coordinates[d] = {}
        for offset in nest.offsets(d):
            inside = nest.base(d) + offset
            if nest.partial(d) and nest.width(d) == 1:
                clamped = c.writer.fresh(f"{nest.name(d)}_")
                c.writer.line(f"const {t} {clamped} = min({inside}, ({t}){nest.h.extents[d] - 1});")
                inside = Linear(((clamped, 1),))
            coordinates[d][offset] = inside

    def place(offset: dict[int, int]) -> Place:
        point = {d: coordinates[d][o] for d, o in offset.items()}
        return Place(point, {d: nest.local(d) + o for d, o in offset.items()})

    return place


def accumulate(c: Context, acc: Accumulators) -> None:
    """Run the reduction of one local tile, without checks where the private tile lies inside, else with them."""
    place = accumulate_coordinates(c)
    checks = _inside_checks(c)
    if not checks:
        reduce.reduce_loops(c, acc, place)
        return
    with c.writer.block(f"if ({' && '.join(checks)})", "} else {"):
        reduce.reduce_loops(c, acc, place)
    with c.writer.otherwise():
        _guarded(c, acc, place)


def _guarded(c: Context, acc: Accumulators, place) -> None:  # type: ignore[no-untyped-def]
    """The reduction at a border: lanes and indices are checked one by one."""
    nest, vector, t = c.nest, c.nest.s.vector_dim, c.nest.index_type
    first: dict[int, str] = {}
    valid: dict[int, str] = {}
    if vector in nest.kept and nest.partial(vector):
        for offset in nest.offsets(vector):
            where = nest.base(vector) + offset
            first[offset], valid[offset] = c.writer.fresh("first"), c.writer.fresh("valid")
            c.writer.line(f"const {t} {first[offset]} = min({where}, ({t}){nest.h.extents[vector] - 1});")
            c.writer.line(f"const {t} {valid[offset]} = {nest.h.extents[vector]} - {first[offset]};")

    def guarded(offset: dict[int, int]) -> Place:
        at = replace(place(offset), bounded=True)
        if first:
            o = offset[vector]
            at = replace(at, point={**at.point, vector: Linear(((first[o], 1),))}, valid=valid[o])
        return at

    reduce.reduce_loops(c, acc, guarded)


def _inside_checks(c: Context) -> list[str]:
    """Conditions under which no access of the private tile needs a check."""
    nest, vector, checks = c.nest, c.nest.s.vector_dim, []
    direct = [v for v, copy in zip(nest.h.inputs, nest.s.local_copies, strict=True) if copy is None]
    if vector in nest.kept and nest.partial(vector) and nest.s.vector_width > 1 and any(v.depends_on(vector) for v in direct):
        checks.append(step_inside(c, vector))
    for view in direct:
        if view.boundary is not None:
            checks += [test for test in bounded_checks(c, view) if test not in checks]
    return checks


def step_inside(c: Context, d: int) -> str:
    """Whether the work-items' current step lies inside the extent."""
    nest = c.nest
    begin = tile_start(nest, d) if nest.single(d) else tile_start(nest, d) + Linear(((f"{nest.name(d)}_p", 1),))
    return f"{begin} <= {nest.h.extents[d] - nest.s.step(d)}"


def bounded_checks(c: Context, view: View) -> list[str]:
    """Conditions for all accesses of the current step to lie inside an array with a boundary mode."""
    nest, checks = c.nest, []
    for axis, size in enumerate(view.shape):
        index = view.accesses[0][axis]
        low = Linear((), min(a[axis].constant for a in view.accesses))
        reach = max(a[axis].constant for a in view.accesses) - low.constant
        for d, coefficient in enumerate(index.coefficients):
            begin = tile_start(nest, d)
            span = nest.s.local_tile[d] - 1
            if d in nest.kept:
                begin = begin if nest.single(d) else begin + Linear(((f"{nest.name(d)}_p", 1),))
                span = nest.s.step(d) - 1
            low = low + begin * coefficient
            low = low + coefficient * span if coefficient < 0 else low
            reach += abs(coefficient) * span
        checks.append(f"{low} >= 0")
        checks.append(f"{low} <= {size - 1 - reach}")
    return checks


def _store_all(c: Context, acc: Accumulators, onto: bool = False) -> None:
    """Store the private tile's results, `onto` those already in the output; elements beyond the extents are left out."""
    nest = c.nest
    with ExitStack() as stack:
        tests = [is_first_item(nest)] if is_first_item(nest) else []
        if tests:
            stack.enter_context(c.writer.block(f"if ({tests[0]})"))
        partial = [d for d in nest.kept if nest.partial(d)]
        if not partial:
            _store_elements(c, acc, (), onto)
            return
        with c.writer.block(f"if ({' && '.join(step_inside(c, d) for d in partial)})", "} else {"):
            _store_elements(c, acc, (), onto)
        with c.writer.otherwise():
            _store_elements(c, acc, partial, onto)


def _store_elements(c: Context, acc: Accumulators, partial: Sequence[int], onto: bool) -> None:
    nest, vector = c.nest, c.nest.s.vector_dim
    cache: dict[str, Value] = {}
    for offset, values in zip(elements(nest), acc.values, strict=True):
        lanes = values[0].lanes
        point = {d: nest.base(d) + o for d, o in offset.items()}
        for d in nest.combined:
            point[d] = Linear()
        tests = [f"{point[d]} < {nest.h.extents[d]}" for d in partial]
        valid = f"{nest.h.extents[vector]} - ({point[vector]})" if vector in partial and lanes > 1 else ""
        local = {d: nest.local(d) + offset.get(d, 0) if d in offset else Linear() for d in range(nest.h.rank)}
        at = Place(point, local, lanes, valid)
        with ExitStack() as stack:
            if tests:
                stack.enter_context(c.writer.block(f"if ({' && '.join(tests)})"))
                cache = {}
            if onto:
                reduce.apply(c, values, [_read_output(c, n, at) for n in range(len(values))])
            store_results(c, at, values, cache)


def store_results(c: Context, at: Place, values: Sequence[Value], cache: dict[str, Value]) -> None:
    """Finish one element's results and store them."""
    nest = c.nest
    final = list(values)
    if nest.h.finish is not None:
        final = point_values(c, nest.h.finish, at, dict(enumerate(values)), cache, len(values))
    for n, value in enumerate(final):
        vector = at.lanes > 1 and value.lanes == 1
        wide = reduce.as_vector(value, at.lanes) if vector else value
        store(c, n, at, result_convert(c, wide, n))


def _read_output(c: Context, number: int, at: Place) -> Value:
    """The partial result already in an output: read as an input would be."""
    view = c.nest.h.outputs[number]
    reader = replace(c.nest.h, inputs=(*c.nest.h.inputs, view), scalar=_extended(c.nest.h.scalar, view), finish=None)
    schedule = replace(c.nest.s, local_copies=(*c.nest.s.local_copies, None), private_copies=(*c.nest.s.private_copies, False))
    at = replace(at, point={d: p + Linear() for d, p in at.point.items()})
    inner = Context(Nest(reader, schedule), c.writer, c.helpers)
    value = load(inner, len(reader.inputs) - 1, 0, at)
    if not c.output_offset.terms and not c.output_offset.constant:
        return value
    return Value(value.text.replace(f"{view.name}[", f"{view.name}[{c.output_offset} + ").replace(f"({view.name} + ", f"({view.name} + {c.output_offset} + "), value.dtype, value.lanes)


def _extended(function, view):  # type: ignore[no-untyped-def]
    return replace(function, parameters=(*function.parameters, view.dtype))


def _map_tile(c: Context) -> None:
    """No combination at all: compute and store, in vectors inside, element by element at a border."""
    nest = c.nest
    with ExitStack() as stack:
        step_loops(c, stack)
        checks = [step_inside(c, d) for d in nest.kept if nest.partial(d)]
        for view, copy in zip(nest.h.inputs, nest.s.local_copies, strict=True):
            if copy is None and view.boundary is not None:
                checks += [test for test in bounded_checks(c, view) if test not in checks]
        if not checks:
            _map_elements(c)
            return
        with c.writer.block(f"if ({' && '.join(checks)})", "} else {"):
            _map_elements(c)
        with c.writer.otherwise():
            _map_border(c)


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
    """Element by element over the points of the private tile that lie inside."""
    nest, t = c.nest, c.nest.index_type
    with ExitStack() as stack:
        point, local = {}, {}
        for d in (d for d in nest.s.private_order if d in nest.kept):
            name, width, items = nest.name(d), nest.width(d), nest.s.num_wi[d]
            stride = width * items
            begin = nest.base(d)
            # Vectors of one work-item lie `stride` apart; inside a vector, points are neighbours.
            loops = [(f"{name}_b", nest.s.private_tile[d] // width, stride)] + ([(f"{name}_v", width, 1)] if width > 1 else [])
            shift = Linear()
            for variable, count, distance in loops:
                if count > 1:
                    stack.enter_context(c.writer.block(f"for ({t} {variable} = 0; {variable} < {count}; ++{variable})"))
                    shift = shift + Linear(((variable, distance),))
            point[d], local[d] = begin + shift, nest.local(d) + shift
        tests = [f"{point[d]} < {nest.h.extents[d]}" for d in nest.kept if nest.partial(d)]
        if tests:
            stack.enter_context(c.writer.block(f"if ({' && '.join(tests)})"))
        at = Place(point, local, 1, "", bounded=True)
        store_results(c, at, point_values(c, nest.h.scalar, at, {}, {}), {})


