"""What producers do beside copying tiles: they lay the factor with columns out for wide instructions."""

from collections.abc import Mapping, Sequence

import numpy as np

from mdhnp.codegen.access import Context, Point, load
from mdhnp.codegen.factors import doubt_where, found_least, is_small, look, parts
from mdhnp.codegen.ir.index import ZERO, Compare, Index, constant, divided, even_part
from mdhnp.codegen.ir.statements import AllocLocal, Store
from mdhnp.codegen.ir.values import Buffer
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.layout import PREPARED, WIDEST, WORDS, Operand, is_wide, producers, swizzles, wide_operand
from mdhnp.schedule.matrices import Factor, operands


def operand_buffer(c: Context, number: int) -> Buffer:
    return Buffer(f"{c.h.inputs[number].name}_parts_l", np.dtype(ATOMS[c.s.atom].operand), "local")


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
    if is_wide(c.s) and not swizzles(c.s):
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
    """Write the factors with columns as wide instructions read them: by producers, of which `item` is one.

    Each has 16 bytes of terms of a column at a time.
    """
    factors = _columns_factors(c)
    b, terms, number = c.build, c.s.atom_dims[2], factors[0][0]
    operand = wide_operand(c.h, c.s, number)
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
        doubt_where(c, is_small(watched))


def _point(c: Context, operand: Operand, block: Index, n: Index) -> dict[int, Index]:
    """The local point of a column in a block of other combined dimensions, with the first term."""
    local = dict.fromkeys(range(c.h.rank), ZERO) | _taken_apart(block, operand.combined)
    return local | _taken_apart(n, (*operand.kept, (c.s.atom_dims[1], operand.columns)))
