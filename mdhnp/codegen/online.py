"""Rows in their online form on a GPU: scores never leave registers.

Each subgroup has as many rows as the matrix instruction. Its lanes hold the scores of a tile as the instruction gives
them; maps and reductions of scores are computed there (`online_steps.py`), and what is made of them is the left factor
of the second product without moving (`online_products.py`). Tiles of both right factors lie in local memory, one of
each while the next is being copied.

Where factors may not be the sum of their parts (codegen/factors.py), the work-group computes its rows again by
multiply-adds.

Source: Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning", Sections 3.1 and 3.3.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from math import inf

from mdhnp.codegen.access import Context, store
from mdhnp.codegen.factors import declare_doubt, doubtful, somebody_finds, watch
from mdhnp.codegen.ir.index import ZERO, Compare, Index, Var, constant, least, most, variable
from mdhnp.codegen.ir.statements import Assign, Declare, Pipeline, Truth
from mdhnp.codegen.ir.values import BOOL, SINGLE, Apply, Const, Register, Value, half, in_type, splat
from mdhnp.codegen.layers import group_ids
from mdhnp.codegen.online_products import SMALLER, Columns, Products
from mdhnp.codegen.online_steps import HALVES, RowValues, Steps
from mdhnp.codegen.pipeline import FILLED, ROUND
from mdhnp.codegen.reduce import Accumulators
from mdhnp.codegen.scalar import applied
from mdhnp.fusion.bounds import apart
from mdhnp.mdh import Function, Rows
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.matrices import DOWN
from mdhnp.schedule.online import STAGES, fragments

_AGAIN = Var("once_more", None, 0, inf, agreed=True)
_SLOT = Var("slot", None, 0, STAGES - 1, agreed=True)
#: Sums that may be off by the number of their terms times 2**-126, of numbers as instructions multiply them.
_SMALL = str(2.0**-60 / float(SMALLER))
#: Blocks of results that are multiplied at a time.
_BESIDE = 4


def emit_online(h: Rows, c: Context) -> None:
    """Build all tiles of some rows, and the results."""
    found = fragments(h, ATOMS[c.s.atom])
    assert found is not None
    b, s, form = c.build, Steps(found, c), found.form
    products = Products(s)
    declare_doubt(c)
    # Rows that have the most tiles come first.
    group_ids(c, s.row if form.until is not None else None)
    s.name_places()
    watched = watch(c)
    seen = None
    if watched is not None and not (s.weighing and s.weighing.same):
        seen = b.declare("seen", splat(Const("0.0", SINGLE), 2))
    products.copy_queries(watched)
    queries = products.load_queries() if s.atom.packed > 1 else None
    for n in [n for n in range(form.begin) if n != found.queries]:
        s.step(n)
    for before, _ in form.carried:
        s.values[before] = tuple([tuple([b.declare("c", v) for v in some]) for some in s.values[before]])
    rounds = _rounds(s)
    with b.part() as fill:
        products.fill(variable(FILLED) * s.points, b.let(_SLOT, variable(FILLED) % STAGES))
    with b.part() as work:
        slot, begin = b.let(_SLOT, variable(ROUND) % STAGES), variable(ROUND) * s.points
        if watched is not None and s.weighing is None:
            products.look(watched, slot)
        scores = lambda: _seen(s, products.scores_by_atoms(slot, queries), seen)  # noqa: E731
        _tile(s, begin, scores, lambda left: products.result_by_atoms(left, slot), exact=False)
    b.add(Pipeline(FILLED, ROUND, rounds, STAGES, True, tuple(fill), tuple(work)))
    if watched is not None:
        _again(s, products, rounds, watched, seen)
    for before, after in form.carried:
        s.values[after] = s.values[before]
    for n in range(form.end, len(form.mdhoms)):
        s.step(n)
    _store(s)


def _rounds(s: Steps) -> Index:
    """How many tiles there are of which some point counts for some row of the work-group."""
    end = constant(s.all)
    if s.form.until is not None:
        end = most(least(end, s.first + (s.rows + s.form.until)), ZERO)
    return s.build.named("tiles", (end + (s.points - 1)) // s.points)


def _seen(s: Steps, scores: Sequence[Sequence[Register]], seen: Register | None) -> Sequence[Sequence[Register]]:
    """Give scores; `seen` is the largest of their magnitudes, NaN where one is."""
    if seen is not None:
        for value in chain(*scores):
            size = Apply("absolute", (value,), SINGLE, value.lanes)
            s.build.assign(seen, Apply("maximum", (seen, size), SINGLE, value.lanes))
    return scores


def _tile(
    s: Steps, begin: Index, scores: Callable[[], Sequence[Sequence[Register]]],
    result: Callable[[RowValues], Columns], *, exact: bool,
) -> None:  # fmt: skip
    """Compute a tile's steps, by what multiplies, and carry what it leaves to the next one."""
    form, f = s.form, s.fragments
    for n in range(form.begin, form.end):
        if n == f.scores.step:
            s.values[form.graph.values(n)[0]] = _finished(s, n, begin, scores(), exact=exact)
        elif n == f.result.step:
            left = s.values[form.graph.steps[n].inputs[f.result.left[0]]]
            counted = [[s.counted(v, block, begin, "0") for block, v in enumerate(row)] for row in left]
            _add_result(s, begin, result(tuple(map(tuple, counted))), exact=exact)
        else:
            # Float16 has no use for small weights.
            with s.build.weighing(n in form.weights and s.atom.packed > 1):
                s.step(n, begin)
    for before, after in form.carried:
        if after not in form.graph.values(f.result.step):
            _assign(s, s.values[before], s.values[after])


def _assign(s: Steps, targets: RowValues, values: RowValues) -> None:
    for row, new in zip(targets, values, strict=True):
        s.build.assign_all(row, new)


def _finished(s: Steps, n: int, begin: Index, sums: Sequence[Sequence[Register]], *, exact: bool) -> RowValues:
    """Scores as they are used; a mask is applied only where it leaves out something for a row of the subgroup."""
    finish = s.form.mdhoms[n].finish
    if finish is None:
        return tuple(map(tuple, sums))

    def mapped(f: Function, values: Sequence[Sequence[Register]]) -> RowValues:
        scores = [
            [s.mapped(n, f, p, block, begin, {0: v}, 1)[0] for block, v in enumerate(row)]
            for p, row in enumerate(values)
        ]
        return tuple(map(tuple, scores))

    # What a branch does to as many sums of wide instructions as the next ones have is lost (NVIDIA's driver 580).
    parts = None if exact or s.atom.wide else apart(finish, s.form.streamed[n], s.form.shared[n][-1])
    if parts is None:
        return mapped(finish, sums)
    until, bare, mask = parts
    found = tuple([tuple([s.build.declare("s", v) for v in some]) for some in mapped(bare, sums)])
    with s.build.when([Compare(begin + (s.points - 1), ">", s.first + s.warp * (DOWN * HALVES) + until)]):
        _assign(s, found, mapped(mask, found))
    return found


def _add_result(s: Steps, begin: Index, product: Columns, *, exact: bool) -> None:
    """Multiply some columns at a time, and add them to what tiles before have left, which is in the same registers.

    So few sums are in registers beside those of all tiles.
    """
    n = s.fragments.result.step
    finish, old = s.form.mdhoms[n].finish, _carried_result(s)
    assert finish is not None
    finish = finish if exact else _of_finite(finish)
    if s.atom.packed > 1:
        # Beside results of 11 bits, units may add to what there is, and cut off where they should round.
        zero = splat(Const("0.0", SINGLE), 2)
        for p, totals in enumerate(old):
            for block, total in enumerate(totals):
                (scaled,) = s.apply(n, finish, p, block, s.place(n, p, block, begin), {0: zero}, 1)
                s.build.assign(total, scaled)
        count = s.blocks(n) if s.atom.wide else _BESIDE
        for first in range(0, s.blocks(n), count):
            last = min(first + count, s.blocks(n))
            product(first, last, [some[first:last] for some in old])
        return
    for first in range(0, s.blocks(n), _BESIDE):
        for p, some in enumerate(product(first, min(first + _BESIDE, s.blocks(n)))):
            for block, total in enumerate(some, first):
                (new,) = s.apply(n, finish, p, block, s.place(n, p, block, begin), {0: total}, 1)
                s.build.assign(old[p][block], new)


def _of_finite(f: Function) -> Function:
    """A sum without what it is where the sum so far is infinite: whatever that is, results are computed again.

    Sums of products of float16 are infinite only where values are, which make NaN of all weights of 0.
    """
    (root,) = f.results
    total, other = f.body[root].args
    if f.body[root].op != "add" or f.body[other].op != "where":
        return f
    body = list(f.body)
    body[root] = replace(body[root], args=(total, body[other].args[2]))
    return replace(f, body=tuple(body))


def _carried_result(s: Steps) -> RowValues:
    """The sums of all tiles' products so far."""
    value = s.form.graph.values(s.fragments.result.step)[0]
    return s.values[next(before for before, after in s.form.carried if after == value)]


def _again(s: Steps, products: Products, rounds: Index, watched: Register, seen: Register | None) -> None:
    """Compute all tiles again without instructions, of what memory has: as many as there are, or none.

    Work-items wait for each other there, which they cannot in a branch.
    """
    carried = {before: s.values[before] for before, _ in s.form.carried}
    totals = [v for rows in carried.values() for row in rows for v in row if v.lanes > 1]
    if s.weighing is not None:
        with s.build.when([Truth(_some_are_small(s))]):
            products.look_at_values(watched)
        totals.append(s.build.name("seen", _largest(carried[s.weighing.largest])))
    totals += [] if seen is None else [seen]
    tiles, smaller = s.build.var("again", 0, inf, agreed=True), s.build.declare("smaller", Const(SMALLER, SINGLE))
    s.build.add(Declare(tiles, ZERO))
    with s.build.when([Truth(doubtful(s.c, Accumulators(tuple([(v,) for v in totals])), watched))]):
        s.build.add(Assign(tiles, rounds))
        s.build.assign(smaller, Const("1.0", SINGLE))
        for before, targets in carried.items():
            s.step(s.form.graph.made_by[before][0])
            _assign(s, targets, s.values[before])
    s.values |= carried
    with s.build.up_to(_AGAIN, variable(tiles)):
        begin = s.build.named("begin", variable(_AGAIN) * s.points)
        scores = lambda: products.scores_by_terms(begin)  # noqa: E731
        _tile(s, begin, scores, lambda left: products.result_by_terms(left, begin), exact=True)
    for row in _carried_result(s):
        for total in row:
            s.build.assign(total, Apply("multiply", (total, splat(smaller, total.lanes)), total.dtype, total.lanes))


def _largest(exponents: RowValues) -> Value:
    """The largest exponents of a lane's rows; 0 for one where nothing counts."""
    nothing, zero = Const("-inf", SINGLE), Const("0.0", SINGLE)
    largest = [applied("where", Apply("equal", (value, nothing), BOOL), zero, value) for (value,) in exponents]
    return Apply("lanes", tuple(largest), SINGLE, 2)


def _some_are_small(s: Steps) -> Value:
    """Whether some sum of all tiles' products is so small that it may be made of what values' parts have lost."""
    totals = [v for row in _carried_result(s) for v in row]
    sizes = [Apply("absolute", (v,), v.dtype, v.lanes) for v in totals]
    least: Value = sizes[0]
    for size in sizes[1:]:
        least = Apply("minimum", (least, size), size.dtype, size.lanes)
    pair = s.build.name("size", least)
    small = [Apply("less", (half(pair, 1, upper=u), Const(_SMALL, SINGLE)), BOOL) for u in (False, True)]
    return somebody_finds(s.c, Apply("logical_or", (small[0], small[1]), BOOL))


def _store(s: Steps) -> None:
    """Store the results of rows that there are."""
    n = len(s.form.mdhoms) - 1
    nest, (number,) = s.each[n], s.form.graph.values(n)
    for p, row in enumerate(s.values[number]):
        with s.build.when([Compare(s.places[p], "<", constant(s.count))]):
            for block, value in enumerate(row):
                store(nest, 0, s.place(n, p, block), in_type("convert", value, nest.h.outputs[0].dtype))
