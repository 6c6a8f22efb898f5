"""Matrix instructions as data: where each lane has which elements, what they compute, and what no instruction is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from ir_run import SUBGROUP, elements, product

from mdhnp.schedule.atoms import ATOMS, Atom, Fragment

if TYPE_CHECKING:
    pass


@pytest.mark.parametrize("atom", ATOMS.values(), ids=ATOMS)
def test_fragments_are_the_instructions(atom: Atom) -> None:
    """Where elements lie, as the PTX ISA says ("Matrix Fragments for mma.m16n8k8", and so on for the other shapes)."""
    lane = np.arange(SUBGROUP)
    group, thread = lane >> 2, lane % 4
    for i in range(len(atom.a.numbers)):
        if atom.packed == 4:
            below, term = 8 if i // 4 % 2 else 0, thread * 4 + (i & 3) + (16 if i >= 8 else 0)
        elif atom.packed == 2:
            below, term = 0 if i < 2 or 4 <= i < 6 else 8, thread * 2 + (i & 1) + (8 if i >= 4 else 0)
        else:
            below, term = 8 if i % 2 else 0, thread + i // 2 * 4
        assert _place(atom.a, i) == [*zip(group + below, term, strict=True)]
    for i in range(len(atom.b.numbers)):
        packed = atom.packed
        term = thread * packed + i % packed + (4 * packed if i >= packed else 0) if packed > 1 else thread + 4 * i
        assert _place(atom.b, i) == [*zip(group, term, strict=True)]
    for i in range(len(atom.c.numbers)):
        assert _place(atom.c, i) == [*zip(group + (0 if i < 2 else 8), thread * 2 + i % 2, strict=True)]


def _place(fragment: Fragment, register: int) -> list[tuple[int, int]]:
    rows, columns = elements(fragment)
    return [*zip(rows[:, register], columns[:, register], strict=True)]


@pytest.mark.parametrize("atom", ATOMS.values(), ids=ATOMS)
def test_products_of_whole_numbers(atom: Atom) -> None:
    rng = np.random.default_rng(3)
    m, n, k = atom.shape
    a, b = (
        rng.integers(0 if atom.operand == "uint8" else -9, 10, shape).astype(atom.result) for shape in ((m, k), (n, k))
    )
    c = rng.integers(-9, 10, (m, n)).astype(atom.result)
    held = [matrix[elements(f)].astype(atom.operand) for matrix, f in ((a, atom.a), (b, atom.b))]
    held = [x.view(np.uint32) for x in held] if atom.packed > 1 else held
    got = product(atom, *held, c[elements(atom.c)])
    np.testing.assert_array_equal(got, (c + a @ b.T)[elements(atom.c)])


_F64 = ATOMS["f64"]
#: What is wrong with an atom, and what that changes of one that is right.
WRONG: dict[str, tuple[str, dict[str, Fragment]]] = {
    "the matrices do not fit": ("tf32", {"b": _F64.b}),
    "the matrices do not fit ": ("f64", {"c": ATOMS["tf32"].c}),
    "a lane of C has two neighbours of a row": ("f64", {"c": Fragment(8, 8, ((8, 8), (4, 1)), ((2, 4),))}),
    "four lanes are beside each other": ("f64", {"c": Fragment(8, 8, ((4, 8), (8, 1)), ((2, 32),))}),
    "lanes of operands lie otherwise": ("f64", {"a": Fragment(8, 4, ((8, 1), (4, 8)), ((1, 0),))}),
}


@pytest.mark.parametrize("rule", WRONG)
def test_atoms_that_cannot_be_are_refused(rule: str) -> None:
    name, changes = WRONG[rule]
    with pytest.raises(ValueError, match=rule.strip()):
        replace(ATOMS[name], **changes)


@pytest.mark.parametrize(
    ("lanes", "values"),
    [(((4, 8), (8, 1)), ((2, 0),)), (((4, 8), (8, 2)), ((1, 0),)), (((4, 8),), ((1, 0),)), (((8, 1),), ((2, 8),))],
)  # fmt: skip
def test_fragments_have_each_element_in_one_place(lanes: Any, values: Any) -> None:
    with pytest.raises(ValueError, match="not each element in one place"):
        Fragment(8, 4, lanes, values)
