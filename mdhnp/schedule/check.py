"""Legality of a schedule, decided before anything is generated or compiled.

`check` raises :class:`IllegalSchedule` with the broken rule; a schedule that passes gives the MDH's result.
"""

from dataclasses import replace
from math import prod

from mdhnp.mdh import Chain, Computation, MdHom, Rows
from mdhnp.schedule.accuracy import MOST_TILES, chain_is_short, longest_chain
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.chains import chain_memory, check_chain
from mdhnp.schedule.fixed_order import check_order, is_fixed
from mdhnp.schedule.layout import WIDEST, copied_ahead, is_wide, own_memory, producers, shared_slots, swizzles
from mdhnp.schedule.matrices import check_atom
from mdhnp.schedule.online import check_online, fragments, online_memory
from mdhnp.schedule.rows import at_once, form, links, rows_memory, rows_plain, tiled
from mdhnp.schedule.schedule import (
    INPUTS,
    ORDERS,
    SIZES,
    DeviceCaps,
    IllegalSchedule,
    LocalCopy,
    Schedule,
    even_groups,
    require,
    tile_counts,
)
from mdhnp.schedule.split import combining

#: Most scalar or vector points of a private tile, all of which are written out.
UNROLL_LIMIT = 512
#: A size that integers of NumPy's hold.
_LARGEST = 1 << 62
#: Most copies of a work-item for one tile that is copied ahead, all of which are written out.
_MOST_COPIES = 64


def check(h: Computation, s: Schedule, caps: DeviceCaps) -> None:
    """Raise IllegalSchedule, with the broken rule, unless the schedule is legal for a stage in canonical form."""
    check_fields(s, h.rank, len(h.inputs))
    if isinstance(h, Rows):
        (check_online if s.atom else _check_rows)(h, s, caps)
    elif isinstance(h, Chain):
        _check_maps(h, s, caps)
    else:
        _check_one(h.last, s, caps)
    need = local_memory(h, s, caps)
    require(need <= caps.local_memory, f"local memory: {need} bytes, the device has {caps.local_memory}")
    require(caps.fp64 or all(t.name != "float64" for t in h.dtypes), "float64: the device has no double precision")


def _check_one(h: MdHom, s: Schedule, caps: DeviceCaps) -> None:
    require(not s.steps, f"steps: {len(s.steps)} for one MDH")
    _check_sizes(h, s, caps)
    _check_vectors(h, s)
    _check_copies(h, s)
    _check_results(h, s)
    _check_order(h, s)
    check_order(h, s)
    _check_scattered(h, s)
    _check_segments(h, s)
    check_ahead(h, s)
    check_atom(h, s, caps)
    require(s.streamed < 0, "streamed: only maps of a chain keep results of the tile before")
    most = f"{longest_chain(h)} additions of floats in a row, or {MOST_TILES} of tiles' sums in memory"
    require(is_fixed(h) or chain_is_short(h, s), f"local_tile: more than {most}")


def _check_maps(h: Chain, s: Schedule, caps: DeviceCaps) -> None:
    require(not s.steps, f"steps: {len(s.steps)} for maps whose tiles overlap")
    check_chain(h, s)
    _check_sizes(h.last, s, caps)
    _check_vectors(h.last, s)
    check_ahead(h.last, s)
    check_atom(h.last, s, caps)
    require(not is_wide(s), "atom: producers copy for one MDH")


def _check_rows(h: Rows, s: Schedule, caps: DeviceCaps) -> None:
    groups = tuple([s.num_wg[d] for d in h.shared[-1]])
    tile = s.local_tile[s.streamed] if s.streamed >= 0 else 0
    plain = rows_plain(h, at_once(h, s), groups, s.work_items, s.streamed, tile)
    require(replace(s, steps=()) == plain, "rows: tiles and work-groups of rows, and work-items, only")
    require(s.work_items <= caps.max_work_group, f"num_wi: {s.work_items}, the device allows {caps.max_work_group}")
    require(tile == 0 or s.work_items == 1, f"num_wi: {s.work_items} work-items, one walks from tile to tile")
    h = form(h, s)
    points, each = at_once(h, s), s.steps
    require(len(each) == len(h.mdhoms), f"steps: schedules of {len(each)} MDHs for {len(h.mdhoms)}")
    for n, (one, own, step) in enumerate(zip(links(h, points, tile), each, h.graph.steps, strict=True)):
        check(one, own, caps)
        require(own.work_groups == 1, "num_wg: work-groups share rows, and nothing else")
        alone = own.work_items < s.work_items and not any(own.local_copies) and not shared_slots(one, own, 0)
        require(
            own.work_items == s.work_items or alone,
            f"num_wi: {own.work_items} work-items of {s.work_items}, or fewer where none waits for others",
        )
        require(tile > 0 or own.vector_dim not in h.shared[n], f"vector_dim: rows are along {own.vector_dim}")
        require(own.results != "local", "results: local memory is for what MDHs leave to others")
        require(not is_wide(own), "atom: producers copy for one MDH")
        for d, count in zip(tiled(h, n), (*points, tile), strict=False):
            require(own.local_tile[d] == count, f"local_tile: {own.local_tile[d]} of {count} points at a time")
            fits = count % own.step(d) == 0 or (d not in h.shared[n] and count == step.mdhom.extents[d])
            require(fits, f"private_tile: {own.step(d)} do not divide {count} points at a time")
        for p, copy in zip(step.inputs, own.local_copies, strict=True):
            require(copy is None or p < h.graph.given, "local_copies: of what is in local memory")


def check_second(h: Computation, s: Schedule, caps: DeviceCaps) -> None:
    """Raise IllegalSchedule, which names its MDH, unless what a schedule says of a kernel that follows is legal."""
    if s.second is None:
        return
    if not isinstance(h, MdHom) or (after := combining(h, s)) is None:
        scans = "parts of a scan go on from totals, by default schedules"
        why = scans if h.last.dims("ps") else "no work-groups share a reduction, so that no kernel combines their parts"
        raise IllegalSchedule(f"second: {why}")
    try:
        check(after, s.second, caps)
        check_second(after, s.second, caps)
    except IllegalSchedule as error:
        raise IllegalSchedule(f"second: {error} ({after} of {'×'.join(map(str, after.extents))})") from None


def is_legal(h: Computation, s: Schedule, caps: DeviceCaps) -> bool:
    """Tell whether :func:`check` lets the schedule pass."""
    try:
        check(h, s, caps)
    except IllegalSchedule:
        return False
    return True


def check_fields(s: Schedule, rank: int | None = None, inputs: int | None = None) -> None:
    """Raise IllegalSchedule where types, ranges or orders are wrong whatever is computed, also in nested schedules.

    Without `rank` or `inputs`, how many dimensions or inputs there are is what its own fields say.
    """
    for name in (*SIZES, *INPUTS, "steps"):
        require(isinstance(getattr(s, name), tuple), f"{name}: {getattr(s, name)!r} is no tuple")
    rank = len(s.num_wg) if rank is None else rank
    inputs = len(s.private_copies) if inputs is None else inputs
    for name in SIZES:
        values = getattr(s, name)
        require(len(values) == rank, f"{name}: {len(values)} values for {rank} dimensions")
        require(all(map(_is_size, values)), f"{name}: all must be at least 1 and of type int, not {values}")
    for name in ORDERS:
        order = getattr(s, name)
        require(_is_order(order, rank), f"{name}: must be a permutation of the {rank} dimensions, not {order!r}")
    require(s.results in ("private", "local", "global"), f"results: {s.results!r} is none of private, local, global")
    require(s.combine_on in ("global", "local"), f"combine_on: {s.combine_on!r} is none of global, local")
    for name in ("vector_dim", "streamed"):
        number = getattr(s, name)
        require(type(number) is int and -1 <= number < rank, f"{name}: {number!r} is no dimension")
    for name in INPUTS:
        count = len(getattr(s, name))
        require(count == inputs, f"{name}: one for each of {inputs} inputs is needed, not {count}")
    require(all(type(c) is bool for c in s.private_copies), f"private_copies: not all bool: {s.private_copies}")
    for name in ("vector_width", "stages", "combine_every"):
        number = getattr(s, name)
        require(_is_size(number), f"{name}: {number!r} is no number from 1 on")
    ahead = s.combine_every == 1 or (s.stages > 1 and s.combine_on == "local")
    require(ahead, "combine_every: several local tiles are combined where tiles are copied ahead, on the local layer")
    require(s.atom in ("", *ATOMS), f"atom: {s.atom!r} is none of {', '.join(ATOMS)}")
    dims = _are_integers(s.atom_dims) and len(s.atom_dims) == (3 if s.atom else 0)
    dims = dims and len({*s.atom_dims} & {*range(rank)}) == len(s.atom_dims)
    require(dims, f"atom_dims: {s.atom_dims} are not the dimensions of rows, columns and terms")
    for n, copy in enumerate(s.local_copies):
        if copy is not None:
            require(isinstance(copy, LocalCopy), f"local_copies: {copy!r} of input {n} is neither None nor a LocalCopy")
            ordered = _are_integers(copy.order) and _is_order(copy.order, len(copy.order))
            require(ordered, f"local_copies: input {n} needs an order of its axes, not {copy.order!r}")
            blocked = _are_integers(copy.blocked) and {*copy.blocked} <= {*copy.order}
            require(blocked, f"local_copies: input {n} blocks an axis it has not, in {copy.blocked!r}")
            require(len({*copy.blocked}) == len(copy.blocked), f"local_copies: input {n} blocks an axis twice")
            padded = type(copy.pad) is int and (
                copy.pad == 0 or (copy.pad > 0 and bool(copy.order) and not copy.blocked)
            )
            require(padded, f"local_copies: input {n} has pad {copy.pad}, for blocks or less than none")
    for kind, others in (("steps", s.steps), ("second", () if s.second is None else (s.second,))):
        for other in others:  # what they are for is not known here; their own fields must agree all the same
            require(isinstance(other, Schedule), f"{kind}: {other!r} is no Schedule")
            try:
                check_fields(other)
            except IllegalSchedule as error:
                raise IllegalSchedule(f"{kind}: {error}") from error


def _is_size(value: object) -> bool:
    return type(value) is int and 1 <= value < _LARGEST


def _is_order(values: tuple[int, ...], count: int) -> bool:
    return _are_integers(values) and sorted(values) == [*range(count)]


def _are_integers(values: object) -> bool:
    return isinstance(values, tuple) and all(type(value) is int for value in values)


def _check_sizes(h: MdHom, s: Schedule, caps: DeviceCaps) -> None:
    tiles, unrolled = tile_counts(h.extents, s.local_tile), 1
    for d in range(h.rank):
        extent, tile, groups = h.extents[d], s.local_tile[d], s.num_wg[d]
        require(tile <= extent, f"local_tile: {tile} in dimension {d} of extent {extent}; at most the extent")
        busy = even_groups(tiles[d], groups) == groups
        require(busy, f"num_wg: {groups} work-groups in dimension {d}, some without a tile")
        fits = s.private_tile[d] <= tile or s.num_wi[d] == 1
        require(fits, f"private_tile: larger than the local tile in dimension {d}")
        whole = h.combine[d].kind != "cc" or tile == extent or tile % s.step(d) == 0
        require(whole, f"local_tile: not a multiple of work-items times private tile in dimension {d}")
        width = s.vector_width if d == s.vector_dim else 1
        if d not in s.atom_dims[2:]:  # all terms of an instruction are one point
            unrolled *= max(s.private_tile[d] // width, 1)
    items, most = s.work_items + producers(s), caps.max_work_group
    require(items <= most, f"num_wi: {items} work-items, the device allows {most}")
    require(unrolled <= UNROLL_LIMIT, f"private_tile: {unrolled} points to unroll, at most {UNROLL_LIMIT}")


def _check_vectors(h: MdHom, s: Schedule) -> None:
    require(s.vector_width in (1, 2, 4, 8, 16), f"vector_width: {s.vector_width} is none of 1, 2, 4, 8, 16")
    if s.vector_width == 1:
        return
    require(s.vector_dim >= 0, f"vector_dim: {s.vector_dim} is no dimension")
    d = s.vector_dim
    whole = s.private_tile[d] % s.vector_width == 0
    require(whole, "private_tile: no multiple of the vector width in the vector dimension")
    require(not h.calls_text, "vector_width: OpenCL C text takes scalars")
    require(h.combine[d].kind != "ps", "vector_dim: a scanned dimension is combined in order")
    operator = h.combine[d].operator
    if operator is not None:
        require(operator.commutative, "vector_dim: an operator that does not commute needs its operands in order")
        require(operator.identity is not None, "vector_dim: an operator without identity cannot start every lane")


def _check_copies(h: MdHom, s: Schedule) -> None:
    for n, copy in enumerate(s.local_copies):
        if copy is None:
            continue
        view = h.inputs[n]
        require(bool(view.shape), f"local_copies: input {n} is one element")
        require(len(copy.order) == len(view.shape), f"local_copies: input {n} needs an order of its axes")
        require(not view.slices, f"local_copies: of input {n} a function is given addresses")
        require(not view.indirect, f"local_copies: elements of another input say which of input {n} are read")
        require(n not in h.index_sources, f"local_copies: elements of input {n} are indices, which are not copied")
        require(view.one_box, f"local_copies: the accesses of input {n} move differently")
        for axis in () if swizzles(s) else copy.blocked:
            d = view.sole_dimension(axis)
            require(d is not None, f"local_copies: axis {axis} of input {n} is not indexed by one dimension alone")
            alone = d in h.dims("cc") and s.num_wi[d] == 1
            require(alone, f"local_copies: axis {axis} of input {n} can be blocked for one work-item only")
    if h.finish is not None:
        first = len(h.scalar.dtypes)
        read = {h.accesses[p - first][0] for p in h.finish.used_parameters() if p >= first}
        require(all(s.local_copies[n] is None for n in read), "local_copies: inputs read at the end are not copied")


def check_ahead(h: MdHom, s: Schedule) -> None:
    """Raise IllegalSchedule where tiles cannot be copied ahead."""
    if s.stages == 1:
        return
    inputs = copied_ahead(h, s)
    alone = s.results == "private" or is_fixed(h)
    require(alone and not h.dims("ps"), "stages: results do not stay in registers")
    require(bool(inputs), "stages: no input with a local copy moves along the reduction")
    combined = h.dims("pw")
    require(all(s.num_wi[d] == 1 for d in combined), "stages: work-items share results")
    operator = h.operator
    require(operator is None or operator.commutative, "stages: operands are combined in order")
    for n in inputs:
        view, copy = h.inputs[n], s.local_copies[n]
        assert copy is not None
        zeros = view.boundary is None or (view.boundary == "constant" and view.fill == "0")
        require(zeros, f"stages: outside of input {n} is something else than 0")
        require(not copy.blocked or swizzles(s), f"stages: the tile of input {n} is blocked")
        footprint = [s.footprint(d) for d in range(h.rank)]
        size = prod(view.box(axis, footprint) for axis in range(len(view.shape)))
        # Producers' are of 16 bytes, or it does not matter any more how long their text is.
        items, together = producers(s) or s.work_items, WIDEST // ATOMS[s.atom].itemsize if is_wide(s) else 1
        few = size <= _MOST_COPIES * items * together
        require(few, f"stages: {size} elements of input {n} for {items} work-items")


def _check_results(h: MdHom, s: Schedule) -> None:
    kept, combined = h.dims("cc"), h.combined
    if not combined:
        return
    tiles = tile_counts(h.extents, s.local_tile)
    several = any(tiles[d] > s.num_wg[d] for d in combined)
    operator = h.operator
    assert operator is not None
    inside = (s.results == "global" and not h.dims("ps")) or {*s.global_order[len(kept) :]} == {*combined}
    require(inside, "global_order: combined dimensions must be innermost unless results wait in the output")
    if s.results == "private" or h.dims("ps"):
        for d in kept:
            one = s.step(d) >= s.local_tile[d]
            require(one, f"results: kept in registers, so dimension {d} needs one private tile a local tile")
        return
    often = s.combine_on == "local" or all(s.num_wi[d] == 1 for d in combined)
    require(often, "combine_on: work-items share results that wait in memory, so they combine on each local tile")
    if not several:
        return
    if s.results == "global":
        require(h.finish is None, "results: cannot wait in the output where they are finished first")
        same = h.scalar.dtypes == tuple(v.dtype for v in h.outputs)
        require(same, "results: cannot wait in outputs of other types")
    require(operator.identity is not None, "results: an operator without identity keeps them in registers")


def _check_order(h: MdHom, s: Schedule) -> None:
    """Operators that do not commute, and scans, need their operands in order."""
    for d in range(h.rank):
        operator = h.combine[d].operator
        if operator is None or (operator.commutative and h.combine[d].kind == "pw"):
            continue
        if s.num_wi[d] > 1:
            one = s.step(d) == s.local_tile[d]
            require(one, f"local_tile: dimension {d} is combined in order, so it must be one step")
            scan, often = h.combine[d].kind == "ps", s.combine_on == "local"
            able = not scan or operator.identity is not None
            require(able, "num_wi: scanning with several work-items needs an identity")
            require(scan or often, f"combine_on: dimension {d} is combined in order, so on each local tile")
    require(len(h.dims("ps")) <= 1 and not (h.dims("ps") and h.dims("pw")), "stage: a scan is a stage of its own")
    operators = {c.operator for c in h.combine if c.operator is not None}
    require(len(operators) <= 1, "stage: several operators are several stages")
    ordered = any(not op.commutative for op in operators)
    require(not ordered or len(h.dims("pw")) <= 1, "stage: a reduction in order is of one dimension")


def _check_scattered(h: MdHom, s: Schedule) -> None:
    """What goes where elements say is added there in memory, by the only work-item of a group, whose own that is."""
    if not h.scatters:
        return
    kept, waiting = h.dims("cc"), s.results == "global" and s.work_items == 1
    whole = all([s.num_wg[d] == 1 and h.extents[d] % s.private_tile[d] == 0 for d in kept])
    single = s.vector_dim not in h.combined and all([s.private_tile[d] == 1 for d in h.combined])
    said = "whole private tiles, of one reduced point, of a single work-item, whose results wait in memory"
    require(waiting and whole and single, f"outputs: elements of an input say where results go, which takes {said}")


def _check_segments(h: MdHom, s: Schedule) -> None:
    """Points of which only some count are walked in one tile, for one point of the dimension that says which."""
    for one in h.segments:
        d = one.dim
        alone = s.num_wg[d] == 1 and s.local_tile[d] == h.extents[d]
        require(alone, f"num_wg: dimension {d} has segments, each of which one work-group combines in one tile")
        operator = h.combine[d].operator
        free = s.num_wi[d] == 1 or (operator is not None and operator.commutative)
        require(free, f"num_wi: segments of dimension {d} are combined in order, so each by one work-item")
        apart = all(s.private_tile[e] == 1 and s.vector_dim != e for e in h.segmented(one))
        require(apart, f"private_tile: other points of dimension {d} count for each point, so one at a time")
        require(s.results == "private" and s.stages == 1, f"results: segments of dimension {d} end in registers")


def local_memory(h: Computation, s: Schedule, caps: DeviceCaps) -> int:
    """Return the bytes of local memory that the kernel declares."""
    if isinstance(h, Chain):
        return chain_memory(h, s)
    if isinstance(h, Rows) and (found := s.atom and fragments(h, ATOMS[s.atom])):
        return online_memory(found, s)
    if isinstance(h, Rows):
        h, tile = form(h, s), s.local_tile[s.streamed] if s.streamed >= 0 else 0
        each = zip(links(h, at_once(h, s), tile), s.steps, strict=True)
        return rows_memory(h, at_once(h, s), tile) + sum([local_memory(one, own, caps) for one, own in each])
    return own_memory(h.last, s, caps.subgroup)
