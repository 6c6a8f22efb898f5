"""What producers do beside copying tiles: they lay the factor with columns out for wide instructions."""

from collections.abc import Mapping, Sequence

import numpy as np

from mdhnp.codegen.access import Context, Point, load
from mdhnp.codegen.factors import BITS, doubt_if_small, found_least, look, parts
from mdhnp.codegen.ir.index import ZERO, Compare, Index, constant, divided, even_part
from mdhnp.codegen.ir.statements import AllocLocal, LoadMatrix, Store
from mdhnp.codegen.ir.values import Apply, Buffer, Load, Register
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.layout import PREPARED, WIDEST, WORDS, Operand, is_wide, producers, wide_operand
from mdhnp.schedule.matrices import DOWN, Factor, in_rows, operands

#: Times that a subgroup loads blocks before it stores them.
_AT_ONCE = 4


def operand_buffer(c: Context, number: int) -> Buffer:
    atom = ATOMS[c.s.atom]
    return Buffer(f"{c.h.inputs[number].name}_parts_l", BITS if atom.packed > 1 else np.dtype(atom.operand), "local")


def prepared_at(operand: Operand, turn: Index, part: int, local: Mapping[int, Index], below: Index, n: Index) -> Index:
    """Where in what producers prepare a column's 16 bytes of terms begin; `local` is the point in other dimensions.

    `below` counts these 16 bytes along the terms, `n` columns.
    """
    block = ZERO
    for d, count in operand.combined:
        block = block * count + local[d]
    return (
        turn * (operand.parts * operand.size)
        + ((block * (operand.terms // WORDS) + below) * operand.width + n) * WORDS
        + part * operand.size
    )


def declare_operand(c: Context) -> None:
    """Declare the local memory for what producers prepare; at the kernel's beginning."""
    if is_wide(c.s):
        number = _columns_factors(c)[0][0]
        operand = wide_operand(c.h, c.s, number)
        c.build.add(AllocLocal(operand_buffer(c, number), PREPARED * operand.parts * operand.size, WIDEST))


def _columns_factors(c: Context) -> tuple[Factor, ...]:
    found = operands(c.h, *c.s.atom_dims)
    assert found is not None
    return found[1]


def _taken_apart(number: Index, digits: Sequence[tuple[int, int]]) -> dict[int, Index]:
    """Coordinates in some dimensions, of which each has so many; the last changes fastest."""
    found = {}
    for d, count in reversed(digits):
        number, found[d] = divided(number, count)
    return found


def prepare_operand(c: Context, item: Index, turn: Index) -> None:
    """Write the factors with columns as wide instructions read them: by producers, of which `item` is one."""
    factors = _columns_factors(c)
    operand = wide_operand(c.h, c.s, factors[0][0])
    if ATOMS[c.s.atom].packed > 1:
        _by_blocks(c, item, turn, operand, factors[0])
    else:
        _by_columns(c, item, turn, operand, factors)


def _by_columns(c: Context, item: Index, turn: Index, operand: Operand, factors: Sequence[Factor]) -> None:
    """16 bytes of terms of a column by each producer."""
    b, terms, number = c.build, c.s.atom_dims[2], factors[0][0]
    atom, items = ATOMS[c.s.atom], producers(c.s)
    buffer, total = operand_buffer(c, number), operand.size // WORDS
    watched = found_least(c) if atom.split else None
    # Neighbours have neighbouring columns, but so many that nothing is divided by others than powers of two.
    near = even_part(operand.width)
    for first in range(0, total, items):
        e = item + first
        with b.when([Compare(e, "<", constant(total))]):
            rest, low = divided(e, near)
            rest, below = divided(rest, operand.terms // WORDS)
            block, high = divided(rest, operand.width // near)
            n = low + high * near
            local = _point(c, operand, block, n)
            at = [local | {terms: below * WORDS + k} for k in range(WORDS)]
            each = operand.parts // len(factors)
            for place, (factor, access) in enumerate(factors):
                values = tuple([b.name("b", load(c, factor, access, Point(p, p))) for p in at])
                found = parts(c, atom, "b", factor, values)
                for part in range(each):
                    where = prepared_at(operand, turn, place * each + part, local, below, n)
                    for k, value in enumerate(found[part]):
                        b.add(Store(buffer, where + k, value))
                if watched is not None:
                    look(c, watched, values)
    if watched is not None:
        doubt_if_small(c, watched)


def _by_blocks(c: Context, item: Index, turn: Index, operand: Operand, factor: Factor) -> None:
    """Blocks of 8 columns by 16 bytes of terms by each subgroup, of which a producer has one register each.

    They are loaded as for instructions of one subgroup, and their layout is what these registers make side by side.
    """
    b, (_, columns, terms), (number, access), atom = c.build, c.s.atom_dims, factor, ATOMS[c.s.atom]
    below, buffer = operand.terms // WORDS, operand_buffer(c, number)
    together = 4 if below % 4 == 0 else 2
    turned = in_rows(c.h, c.s, factor, columns)
    lane = b.named("lane", item % atom.lanes)
    subgroup, row, word = (
        b.named(n, i) for n, i in (("some", item // atom.lanes), ("row", lane // WORDS), ("word", lane % WORDS))
    )
    total, every = operand.size // (WORDS * DOWN * together), producers(c.s) // atom.lanes

    def loaded(e: Index) -> list[Store]:
        """Load some blocks; what stores them."""
        rest, some = divided(e, below // together)
        block, n = divided(rest, operand.width // DOWN)
        local = _point(c, operand, block, n * DOWN)
        begin = some * (together * WORDS * atom.packed)
        if turned is None:
            local[columns] = local[columns] + row
            found = [_packed(c, factor, local, begin + (word + k * WORDS) * atom.packed) for k in range(together)]
        else:
            pointed = {terms: begin + lane // DOWN % together * (WORDS * atom.packed), columns: local[columns]}
            along = terms if turned else columns
            pointed[along] = pointed[along] + lane % DOWN
            source = load(c, number, access, Point(local | pointed, local | pointed))
            assert isinstance(source, Load)
            found = [b.register("b", BITS) for _ in range(together)]
            b.add(LoadMatrix(tuple(found), source.buffer, source.offset, turned))
        where = [prepared_at(operand, turn, 0, local, some * together + k, n * DOWN + row) for k in range(together)]
        return [Store(buffer, at + word, register) for at, register in zip(where, found, strict=True)]

    # A load's time is hidden behind the next ones.
    whole = [subgroup + first for first in range(0, total - every + 1, every)]
    for n in range(0, len(whole), _AT_ONCE):
        for store in [store for e in whole[n : n + _AT_ONCE] for store in loaded(e)]:
            b.add(store)
    if total % every:
        last = subgroup + total // every * every
        with b.when([Compare(last, "<", constant(total))]):
            for store in loaded(last):
                b.add(store)


def _packed(c: Context, factor: Factor, local: Mapping[int, Index], first: Index) -> Register:
    """A register of neighbouring terms."""
    terms, (number, access) = c.s.atom_dims[2], factor
    at = [{**local, terms: first + n} for n in range(ATOMS[c.s.atom].packed)]
    return c.build.name("b", Apply("pack", tuple([load(c, number, access, Point(p, p)) for p in at]), BITS))


def _point(c: Context, operand: Operand, block: Index, n: Index) -> dict[int, Index]:
    """The local point of a column in a block of other combined dimensions, with the first term."""
    local = dict.fromkeys(range(c.h.rank), ZERO) | _taken_apart(block, operand.combined)
    return local | _taken_apart(n, (*operand.kept, (c.s.atom_dims[1], operand.columns)))
