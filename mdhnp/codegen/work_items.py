"""Partial results of the work-items that share a reduction, combined in a tree.

Neighbours whose registers can be exchanged do that first, without local memory and barriers; what is left of them, one
result for each subgroup, goes through local memory once. Everywhere else the whole tree is in local memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mdhnp.codegen.access import Context
from mdhnp.codegen.ir.index import ZERO, Compare, Index, Var, constant, variable
from mdhnp.codegen.ir.statements import AllocLocal, Test, Truth
from mdhnp.codegen.ir.values import BOOL, Buffer, Load, Register, Shuffled
from mdhnp.codegen.nest import Nest
from mdhnp.codegen.reduce import Accumulators, apply, elements, mark_seen


def items_index(nest: Nest, dims: Sequence[int]) -> Index:
    """Number of a work-item among those that differ in the given dimensions: neighbours have neighbouring ones."""
    total, size = ZERO, 1
    for d in nest.s.item_order:
        if d in dims and nest.s.num_wi[d] > 1:
            total = total + nest.at(d, "w") * size
            size *= nest.s.num_wi[d]
    return total


def is_first_item(nest: Nest) -> list[Compare]:
    """Conditions for the work-item that holds the combined result; none where each holds its own."""
    return [Compare(nest.at(d, "w"), "==", ZERO) for d in nest.combined if nest.s.num_wi[d] > 1]


def _mailboxes(nest: Nest) -> list[Buffer]:
    """The local memory in which work-items leave each other results.

    Without "volatile" Intel's compiler (2026.22) forwards values across barriers to the wrong work-item.
    """
    name, types = f"{nest.link.prefix}r", enumerate(nest.h.scalar.dtypes)
    return [Buffer(f"{name}{n}_l", t, "local", values=nest.lanes, volatile=True) for n, t in types]


def left_at(nest: Nest, slot: Index) -> tuple[Load, ...]:
    return tuple([Load(mailbox, slot, nest.lanes) for mailbox in _mailboxes(nest)])


def _seen(nest: Nest) -> Buffer:
    """The local memory in which they say whether that is anything yet."""
    return Buffer(f"{nest.link.prefix}seen_l", BOOL, "local", values=1, volatile=True)


def declare_shared(c: Context) -> None:
    """Declare the local memory of the tree across work-items."""
    if not c.shared_slots:
        return
    for mailbox in _mailboxes(c):
        c.build.add(AllocLocal(mailbox, len(elements(c)) * c.shared_slots))
    if c.h.combiner.identity is None:
        c.build.add(AllocLocal(_seen(c), c.shared_slots))


def across_items(c: Context, acc: Accumulators) -> None:
    """Combine the work-items' results in a tree, whose outcome the first of them has."""
    b, count, acc = c.build, c.reduced_items // c.chunks, replace(acc, tails=())
    if count == 1:
        return
    b.comment("The work-items' results together, in a tree")
    m = b.named("m", items_index(c, c.combined))
    if c.exchanging == 1:
        _in_local_memory(c, acc, m)
        return
    _in_registers(c, acc, c.exchanging)
    subgroups = count // c.exchanging
    if subgroups > 1:
        with b.when([Compare(m % c.exchanging, "==", ZERO)]):
            _left(c, acc, m // c.exchanging, subgroups).assign(c, acc)
        # Each subgroup reads them all, which takes as long as if one did.
        acc.assign(c, _left(c, acc, m % subgroups, subgroups))
        _in_registers(c, acc, subgroups)


def add_in_turn(c: Context, total: Accumulators, part: Accumulators, lost: Sequence[Mapping[int, Register]]) -> None:
    """Add the chunks' results that work-items have to the total of the first ones, one after the other."""
    d, b = c.combined[-1], c.build
    m, size = b.named("m", items_index(c, c.combined)), c.chunk(d)
    count = b.named("chunks", (c.tile_points(d) + (size - 1)) // size)
    _left(c, part, m, c.reduced_items).assign(c, replace(part, tails=()))
    q = Var("q", None, 0, c.chunks - 1)
    with b.when([Compare(m, "<", constant(c.sharing(d)))]):
        with b.up_to(q, count):
            theirs = _left(c, part, m + variable(q) * c.sharing(d), c.reduced_items)
            for mine, other, errors in zip(total.values, theirs.values, lost, strict=False):
                apply(c, mine, other, lost=errors)
        for mine, other, errors in zip(total.tails, part.tails, lost[len(total.values) :], strict=True):
            apply(c, mine, other, lost=errors)


def _in_registers(c: Context, acc: Accumulators, count: int) -> None:
    """A tree of neighbours, each of whom takes what the next ones have; their order is kept, or a fixed one."""
    distance = Var("d", low=1, high=count // 2)
    with c.build.halving(distance, count) if c.fixed else c.build.doubling(distance, count):
        others = acc.mapped(lambda v: c.build.name("other", Shuffled(v, variable(distance))))
        _combine(c, acc, others, [])


def _in_local_memory(c: Context, acc: Accumulators, m: Index) -> None:
    """A tree in which neighbours stay at work, where their order does not matter: its first half takes the second's."""
    members, b = c.reduced_items, c.build
    count = members // c.chunks
    distance = Var("d", low=1, high=count)
    d = variable(distance)
    if c.h.combiner.commutative:
        levels, taking = b.halving(distance, count), Compare(m, "<", d)
    else:
        levels, taking = b.doubling(distance, count), Compare(m % (d * 2), "==", ZERO)
    _left(c, acc, m, members).assign(c, acc)
    with levels:
        tests = [taking, Compare(m + d, "<", constant(count))]
        _combine(c, _left(c, acc, m, members), _left(c, acc, m + d, members), tests)
    acc.assign(c, _left(c, acc, ZERO, members))


def _left(c: Context, acc: Accumulators, item: Index, members: int) -> Accumulators:
    """The local memory in which one of the members of a tree leaves its results: neighbours lie side by side."""
    group, groups = items_index(c, c.kept), c.s.work_items // c.reduced_items
    fastest = next(d for d in c.s.item_order if c.s.num_wi[d] > 1)
    slot = group * members + item if fastest in c.combined else item * groups + group
    values = tuple([left_at(c, slot + e * groups * members) for e in range(len(acc.values))])
    return Accumulators(values, (), Load(_seen(c), slot) if acc.seen else None)


def _combine(c: Context, left: Accumulators, right: Accumulators, tests: Sequence[Test]) -> None:
    with c.build.when([*tests, *([Truth(right.seen)] if right.seen else [])]):
        for mine, other in zip(left.values, right.values, strict=True):
            apply(c, mine, other, left.seen)
        mark_seen(c, left)
