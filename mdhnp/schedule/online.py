"""Schedules of the online form for GPUs: both products by matrix instructions, scores and all carried in registers.

A work-group has some rows, each subgroup as many of them as the instruction has; tiles of both right factors are copied
to local memory while the tiles before are used. The schedule's own tile says how many rows and points that is, `atom`
the instruction, `atom_dims` what it multiplies in the last product: rows, columns, and what is streamed. There are no
`steps`, since the instruction says where all elements are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

from mdhnp.fusion.dependence import steepness
from mdhnp.fusion.streamed import Streamed, streamed
from mdhnp.mdh import Function, Rows, View, is_product
from mdhnp.schedule.atoms import ATOMS, Atom
from mdhnp.schedule.layout import WIDEST, swizzled_row
from mdhnp.schedule.matrices import Factor, allowed, operands, products
from mdhnp.schedule.rows import rows_plain
from mdhnp.schedule.schedule import DeviceCaps, Schedule, require, tile_counts

#: Rows of a work-group, and points of a tile, the best first (NVIDIA H200); the last ones are for little local memory.
_ROWS, _MANY, _SOME = (64, 128), (64, 32, 16), (32, 64, 16)
#: Columns of results and terms of scores, at most: more results, or copies, are not near any more.
_MOST = 128
#: Columns of results whose sums leave registers for scores of many points.
_FEW = 64
#: Tiles of each right factor in local memory.
STAGES = 2
#: Operations a second, of multiplications and additions, where no tile corrects what those before combined: fitted to
#: float32 on an NVIDIA H200, for which products that are kernels of their own have wider instructions.
_RATE = 24e12
#: The same of one work-group of attention's, where not each unit has one (NVIDIA H200), by the instruction's operand.
_ALONE = {"float32": 0.35e12, "float16": 1.2e12}
#: Scores that may be in memory so that all units have work: so many times what is read.
_LARGER = 4
#: Columns of an instruction's block; bytes that are copied at once, at least.
_BLOCK, _LEAST = 8, 4
#: How much exponents of weights grow with a score, at most, where keys are not looked at.
_STEEPEST = 2.0**40
#: Bytes in which work-items tell each other that an instruction may be wrong.
_FLAG = 4


class Multiplied(NamedTuple):
    """A product of the online form: the number of its step, its dimensions, and the inputs that are its factors."""

    step: int
    rows: int
    columns: int
    terms: int
    left: Factor
    right: Factor


class Fragments(NamedTuple):
    """What the kernel must know of an online form whose values are fragments of matrices."""

    form: Streamed
    #: The product that makes scores, and the one that reduces them.
    scores: Multiplied
    result: Multiplied
    #: The step that makes the left factor of scores, which lies in local memory.
    queries: int
    #: Of each step the dimension along which a row's values lie: -1 where a row has one.
    columns: tuple[int, ...]

    @property
    def widths(self) -> tuple[int, int]:
        """Terms of a score, and columns of results: how wide both right factors' tiles are."""
        first, second = (self.form.mdhoms[one.step].extents for one in (self.scores, self.result))
        return first[self.scores.terms], second[self.result.columns]


class Weighing(NamedTuple):
    """What is known of scores that are nothing but exponents of weights."""

    #: The largest exponent of a row, as it is carried.
    largest: int
    #: Whether exponents are scores as they are, or no scores: then scores that are too large show in the largest.
    same: bool


def fragments(h: Rows, atom: Atom) -> Fragments | None:
    """Say how an instruction computes the online form of rows; None where there is none, or it cannot."""
    form = streamed(h)
    # Blocks of float64 are no registers; one product of TF32 computes what no factor of two parts is scaled for, and
    # wide ones take no factor of 4 bytes that lies in rows of columns.
    if form is None or not (atom.operand == "float16" or (atom.split and not atom.wide)):
        return None
    mdhoms, numbers = form.mdhoms, range(form.begin, form.end)
    found = [_multiplied(form, n) for n in numbers if is_product(mdhoms[n], form.shared[n])]
    if len(found) != 2 or None in found:
        return None
    scores, result = found
    assert scores is not None
    assert result is not None
    makes = form.graph.made_by.get(form.graph.steps[scores.step].inputs[scores.left[0]])
    columns = [_columns(form, n) for n in range(len(mdhoms))]
    if makes is None or None in columns:
        return None
    made = Fragments(form, scores, result, makes[0], tuple([d for d in columns if d is not None]))
    return made if _fits(made, atom) else None


def _multiplied(form: Streamed, n: int) -> Multiplied | None:
    """A product of some rows by a matrix, along or across what is streamed."""
    h, along, dim = form.mdhoms[n], form.shared[n], form.streamed[n]
    terms = [d for d in h.dims("pw") if h.extents[d] > 1]
    columns = [d for d in h.dims("cc") if d not in along and h.extents[d] > 1]
    if len(terms) != 1 or len(columns) != 1 or dim not in (*terms, *columns):
        return None
    dims = along[-1], columns[0], terms[0]
    found, sides = products(h), operands(h, *dims)
    if found is None or sides is None or [len(some) for some in found] != [1] or found[0][0].negated:
        return None
    (left,), (right,) = sides
    return Multiplied(n, *dims, left, right)


def _columns(form: Streamed, n: int) -> int | None:
    """The dimension along which a row has several values; -1 for none, None where there are several."""
    h = form.mdhoms[n]
    terms = [] if is_product(h, form.shared[n]) else h.dims("pw")
    found = [d for d in (*h.dims("cc"), *terms) if d not in form.shared[n] and h.extents[d] > 1]
    return None if len(found) > 1 else found[0] if found else -1


def _fits(f: Fragments, atom: Atom) -> bool:
    """Whether all that is computed is made of fragments, and of what is read element by element."""
    form, graph, mdhoms = f.form, f.form.graph, f.form.mdhoms
    (terms, wide), (*_, depth) = f.widths, atom.shape
    if wide % max(depth, _BLOCK) or terms % depth or max(wide, terms) > _MOST:
        return False
    if atom not in allowed(mdhoms[f.scores.step]) or not _multiplies(f, atom):
        return False
    if f.scores.columns != form.streamed[f.scores.step] or f.result.terms != form.streamed[f.result.step]:
        return False
    once = tuple(graph.readers(graph.values(f.queries)[0])) == (f.scores.step,)
    if not once or f.queries >= form.begin or mdhoms[f.queries].dims("pw"):
        return False
    for n, step in enumerate(graph.steps):
        h, product = mdhoms[n], n in (f.scores.step, f.result.step)
        reduced = [d for d in h.dims("pw") if h.extents[d] > 1]
        if not product and (reduced not in ([], [form.streamed[n]]) or (reduced and not form.begin <= n < form.end)):
            return False
        if len(h.outputs) > 1 and f.columns[n] >= 0:
            return False
        if not all([_is_read(f, n, p, v) for p, v in step.reads]):
            return False
    return all([_is_matrix(f, one) for one in (f.scores, f.result)])


def _multiplies(f: Fragments, atom: Atom) -> bool:
    """Whether an instruction's operands hold what is made of scores, and values.

    Results of float16 are no less exact where weights are rounded to that, too: each is a sum of values by weights of 1
    at most, which are off by 2**-11 of themselves, or by 2**-25 of the largest.
    """
    h = f.form.mdhoms[f.result.step]
    if atom in allowed(h):
        return True
    kinds = {f.form.outputs[0].dtype.name, h.inputs[f.result.right[0]].dtype.name}
    return kinds == {"float16"} == {atom.operand} and h.precision != "fixed" and _weights(f) is not None


def weighing(f: Fragments) -> Weighing | None:
    """Say what scores weigh where they make nothing but weights of 1 at most of the last product, else None.

    Parts of a number are less exact than the number by 2**-126 at most. Of keys that makes no difference, beside
    queries below 2**40, since exponents are off by 2**40 * 2**40 * 2**-126 for each term. A sum of weights of 1 at most
    by values is off by their number times 2**-126, which is seen in a sum that is small only.
    """
    graph, scores, found = f.form.graph, f.form.graph.values(f.scores.step)[0], _weights(f)
    if found is None or found[0] != scores or {*graph.readers(scores)} != {*found[1:]}:
        return None
    finish, (top,) = f.form.mdhoms[f.scores.step].finish, graph.values(found[2])
    largest = {top, *[value for n in graph.readers(top) for value in graph.values(n)]}
    for h, step in [*zip(f.form.mdhoms, graph.steps, strict=True)][f.form.end :]:
        read = [p for p, (k, _) in enumerate(h.accesses) if step.inputs[k] in largest]
        if read and (h.finish is not None or any([steepness(h.scalar, p) for p in read])):
            return None
    if finish is not None and steepness(finish, 0) > _STEEPEST:
        return None
    carried = next(before for before, after in f.form.carried if after in largest)
    return Weighing(carried, finish is None or _is_choice(finish, finish.results[0]))


def _is_choice(f: Function, n: int) -> bool:
    """Whether a result is a parameter or a constant, whichever of them."""
    step = f.body[n]
    return all([_is_choice(f, a) for a in step.args[1:]]) if step.op == "where" else step.op in ("param", "const")


def _weights(f: Fragments) -> tuple[int, int, int] | None:
    """Of weights exp(x - the largest x of the row), the last product's left factor: x, and the steps of both."""
    graph = f.form.graph
    n, _ = graph.made_by[graph.steps[f.result.step].inputs[f.result.left[0]]]
    function, inputs = f.form.mdhoms[n].scalar, graph.steps[n].inputs
    root = function.body[function.results[0]]
    if root.op != "exp" or function.body[root.args[0]].op != "subtract":
        return None
    x, largest = [function.body[a] for a in function.body[root.args[0]].args]
    if x.op != "param" or largest.op != "param" or inputs[largest.position] not in graph.made_by:
        return None
    makes, _ = graph.made_by[inputs[largest.position]]  # the largest, or what stands for it where that is -inf
    found = (inputs[largest.position], *graph.steps[makes].inputs)
    every = [value for value in found if _is_largest(f, value, inputs[x.position])]
    return (inputs[x.position], n, graph.made_by[every[0]][0]) if every else None


def _is_largest(f: Fragments, value: int, of: int) -> bool:
    """Whether a value is the maximum of a row of another one, along what is streamed."""
    if value not in f.form.graph.made_by:
        return False
    n, _ = f.form.graph.made_by[value]
    h, operator = f.form.mdhoms[n], f.form.mdhoms[n].combine[f.form.streamed[n]].operator
    itself = h.scalar.body[h.scalar.results[0]]
    first = (itself.op, itself.position, f.form.graph.steps[n].inputs[:1]) == ("param", 0, (of,))
    return first and operator is not None and operator.function.body[operator.function.results[0]].op == "maximum"


def _is_read(f: Fragments, n: int, value: int, view: View) -> bool:
    """Whether a step reads arrays as they are, and of values those of its own place."""
    graph = f.form.graph
    if view.indirect or view.slices or not _lies_inside(view, f.form.mdhoms[n].extents):
        return False
    if value not in graph.made_by or graph.made_by[value][0] == f.queries:
        return True
    column, here = f.columns[graph.made_by[value][0]], f.columns[n]
    if n == f.result.step:
        here = f.result.terms if column == f.form.streamed[graph.made_by[value][0]] >= 0 else here
    moved = {d for access in view.accesses for i in access for d in i.dims()} - {*f.form.shared[n]}
    dims = {d for d in moved if f.form.mdhoms[n].extents[d] > 1}
    return dims <= {here} and (not dims or column >= 0)


def _lies_inside(view: View, extents: Sequence[int]) -> bool:
    """Whether nothing is read beyond an array's borders, whatever its boundary mode."""
    spans = [(i.span(extents), size) for access in view.accesses for i, size in zip(access, view.shape, strict=True)]
    return view.boundary is None or all([low >= 0 and high < size for (low, high), size in spans])


def _is_matrix(f: Fragments, one: Multiplied) -> bool:
    """Whether the right factor is an array with an axis for its columns, and one for its terms."""
    h, step = f.form.mdhoms[one.step], f.form.graph.steps[one.step]
    given = step.inputs[one.right[0]] not in f.form.graph.made_by
    view, access = h.inputs[one.right[0]], one.right[1]
    if not given or None in (view.axis_of(one.columns, access), view.axis_of(one.terms, access)):
        return False
    return together(f, one) * h.inputs[one.right[0]].dtype.itemsize >= _LEAST


def together(f: Fragments, one: Multiplied) -> int:
    """Return how many neighbours of a row of the right factor are copied at once: all begin at multiples of so many."""
    h, (number, access) = f.form.mdhoms[one.step], one.right
    view, across = h.inputs[number], one.terms if one.columns == f.form.streamed[one.step] else one.columns
    at, count = view.linear(view.accesses[access]), WIDEST // view.dtype.itemsize
    if at.coefficients[across] != 1:
        return 1
    others = [n for d, n in enumerate(at.coefficients) if d != across and h.extents[d] > 1]
    while count > 1 and any([n % count for n in (*others, at.constant, h.extents[across])]):
        count //= 2
    return count


def online_memory(f: Fragments, s: Schedule) -> int:
    """Return the bytes of local memory: of the queries, and of both right factors' tiles."""
    rows, points = _tile(f, s)
    return sum([-(-n // WIDEST) * WIDEST for n in sizes(f, ATOMS[s.atom], rows, points)]) + _FLAG


def sizes(f: Fragments, atom: Atom, rows: int, points: int) -> tuple[int, int, int]:
    """Return the bytes of queries, and of as many tiles of each right factor as there are at a time."""
    terms, wide = f.widths
    each = rows * stride(atom, terms), *[STAGES * points * pitch(atom, n) for n in (terms, wide)]
    # What is computed again without instructions has scores where tiles of the first factor were.
    queries, first, second = [n * atom.itemsize for n in each]
    again = rows * points * atom.itemsize if atom.split else 0
    return queries, max(first, again), second


def stride(atom: Atom, columns: int) -> int:
    """Return how far rows lie apart, so that eight of them begin in different banks of local memory."""
    return columns + WIDEST // atom.itemsize


def pitch(atom: Atom, columns: int) -> int:
    """Return the same of the right factors' tiles, in which rows may be swizzled instead."""
    return columns if atom.wide else stride(atom, columns)


def beside(atom: Atom, columns: int) -> int:
    """Return how many neighbours of a row of a tile lie beside each other: all, or those of a swizzled block's row."""
    return swizzled_row(columns, atom.itemsize) if atom.wide else columns


def _tile(f: Fragments, s: Schedule) -> tuple[int, int]:
    return s.local_tile[f.form.shared[-1][-1]], s.local_tile[s.streamed]


def check_online(h: Rows, s: Schedule, caps: DeviceCaps) -> None:
    """Raise IllegalSchedule where a schedule's instruction cannot compute the online form of rows."""
    require(s.atom in caps.atoms, f"atom: the device has no {s.atom}")
    found = fragments(h, ATOMS[s.atom])
    require(found is not None, f"atom: {s.atom} cannot compute both products of an online form")
    assert found is not None
    require(s.streamed == found.form.dim, f"streamed: the online form is along {found.form.dim}")
    rows, points = _tile(found, s)
    items = rows // ATOMS[s.atom].shape[0] * ATOMS[s.atom].lanes
    plain = online_schedule(h, found, s.atom, rows, points)
    together = ATOMS[s.atom].shape[0] * ATOMS[s.atom].warps
    require(rows % together == 0, f"local_tile: {rows} rows are none of subgroups")
    require(points % 16 == 0, f"local_tile: {points} points are none of instructions")
    require(s == plain, "rows: tiles of rows and of what is streamed, only")
    require(items <= caps.max_work_group, f"num_wi: {items}, the device allows {caps.max_work_group}")
    require(caps.async_copies and caps.subgroup == 32, "atom: tiles are copied ahead, and subgroups exchange registers")


def online_schedule(h: Rows, f: Fragments, atom: str, rows: int, points: int) -> Schedule:
    """Return the schedule of so many rows and points at a time."""
    shared, last = h.shared[-1], f.form.mdhoms[f.result.step]
    count = (*[1 for _ in shared[1:]], rows)
    groups = tile_counts([h.extents[d] for d in shared], count)
    items = rows // ATOMS[atom].shape[0] * ATOMS[atom].lanes
    plain = rows_plain(h, count, tuple(groups), items, f.form.dim, points)
    columns = next(d for d in last.dims("cc") if d == f.result.columns)
    order = plain.group_order
    if f.form.until is not None:  # rows with the most tiles begin, of all heads
        order = tuple(sorted(order, key=lambda d: d == shared[-1]))
    return replace(plain, atom=atom, atom_dims=(shared[-1], columns, f.form.dim), stages=STAGES, group_order=order)


def online_seconds(h: Rows, s: Schedule, caps: DeviceCaps) -> float:
    """Return the seconds of an online form by matrix instructions where these may be too many, else 0.

    That is where tiles correct nothing, and where work-groups are fewer than units.
    """
    found = fragments(h, ATOMS[s.atom]) if s.atom else None
    if found is None:
        return 0.0
    first, second = (found.form.mdhoms[one.step] for one in (found.scores, found.result))
    operations = 2 * (first.points + second.points)
    if len(found.form.carried) == 1:
        return operations / _RATE
    (rows, _), count, groups = _tile(found, s), first.extents[found.scores.rows], prod(s.num_wg)
    scores = first.points // first.extents[found.scores.terms]
    if groups >= caps.compute_units or scores > _LARGER * sum([v.elements() for v in h.inputs]):
        return 0.0
    return operations * (-(-count // rows) * rows / count) / groups / _ALONE[ATOMS[s.atom].operand]


def online_candidates(h: Rows, caps: DeviceCaps) -> Iterator[Schedule]:
    """Yield schedules of the online form by the device's instructions, the most likely first."""
    for atom in sorted([ATOMS[name] for name in caps.atoms], key=lambda atom: -atom.speed):
        found = fragments(h, atom)
        if found is None:
            continue
        # Of numbers in two parts, more of a tile are split at once, where registers are enough.
        many = not atom.split or found.widths[1] <= _FEW
        # Wide instructions of few terms and columns have more points, too.
        wider = (2 * _MANY[0],) if atom.wide and max(found.widths) <= _FEW else ()
        for points in (*wider, *(_MANY if many else _SOME)):
            for rows in _ROWS:
                if prod(h.extents) and rows <= max(h.extents[h.shared[-1][-1]], _ROWS[0]):
                    yield online_schedule(h, found, atom.name, rows, points)
