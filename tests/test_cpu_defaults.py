"""Default schedules of CPUs, and the candidates that they are the first of; needs no device."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import islice, pairwise, permutations, product
from math import prod
from operator import mul
from typing import Any

import numpy as np
import pytest
from schedules import CAPS

from mdhnp.mdh import canonical, cc, md_hom, pw, stages
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.check import local_memory
from mdhnp.schedule.cpu import cpu_candidates
from mdhnp.schedule.default import default
from mdhnp.schedule.schedule import Schedule

#: As of an EPYC (Zen 3).
NARROW = replace(CAPS, vector_bytes=32, registers=16, l1=32 << 10, l2=512 << 10, local_memory=512 << 10)


def test_a_map_of_stencils_has_several_rows_in_a_register_tile() -> None:
    """Untuned, twice as fast as with one row (Intel Xeon, 4096 x 4096)."""
    near = ", ".join([f"A[i+{a},j+{b}]" for a in range(5) for b in range(5)])

    def slopes(*x: Any) -> Any:
        rows = [[x[5 * a + b] + 2 * x[5 * a + b + 1] + x[5 * a + b + 2] for b in range(3)] for a in range(5)]
        sums = [[rows[a][b] + 2 * rows[a + 1][b] + rows[a + 2][b] for b in range(3)] for a in range(3)]
        return np.hypot(sums[2][1] - sums[0][1], sums[1][2] - sums[1][0])

    f = md_hom(slopes, {"i": cc, "j": cc}, f"{near} -> B[i,j]")
    assert default(f.bind(np.empty((4100, 4100), np.float32), i=4096, j=4096), CAPS).private_tile[0] > 1


def test_copies_leave_room_for_results_that_lie_apart() -> None:
    """A tile of a product may take the second-level cache, and half of it where lanes of results are far apart."""
    f = md_hom(np.multiply, {"k": cc, "l": cc, "j": cc, "m": pw("add")}, "A[l,m,j], B[k,m] -> C[j,k,l]")
    h = canonical(stages(f.bind(x := np.empty((312, 312, 312), np.float32), x[0]))[0].mdhom)
    together, taken = AccessPattern(h).contiguous_output, dict[bool, list[int]]()
    for s in islice(cpu_candidates(h, NARROW), 2000):
        taken.setdefault(s.vector_dim in together, []).append(local_memory(h, s, NARROW))
    assert 128 << 10 < max(taken[False]) <= 256 << 10 < max(taken[True]) <= 512 << 10
    assert 256 << 10 < local_memory(h, default(h, NARROW), NARROW) <= 512 << 10


@pytest.mark.parametrize(
    ("shape", "written", "left"),
    [
        ((512, 1024, 512), True, False),  # 2^28 points
        ((512, 1024, 511), False, True),
        ((2, 2048, 1 << 16), True, True),  # register tiles of 2, 4, 8 and 12 vectors
        ((1100, 1000, 511), True, True),  # local tiles of 511 terms, and of multiples of 4
    ],
)
def test_long_sums_with_four_terms_written_out_come_before_those_without(
    shape: tuple[int, int, int], written: bool, left: bool
) -> None:
    m, n, k = shape
    arrays = [np.broadcast_to(np.float32(0), of) for of in ((m, k), (k, n))]
    f = md_hom(np.multiply, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]").bind(*arrays)
    (terms,) = (h := canonical(stages(f)[0].mdhom)).combined
    found = [*cpu_candidates(h, NARROW)]
    pairs = [(s, after) for s, after in pairwise(found) if s.private_tile[terms] == 4]
    assert all(s.at(terms, private_tile=1) == after for s, after in pairs)
    copied = {s for s in found if any(s.local_copies) and s.vector_dim != terms and s.private_tile[terms] == 1}
    many = {s for s in copied if prod(s.private_tile) // s.vector_width >= 8 and s.local_tile[terms] % 4 == 0}
    assert {after for _, after in pairs} == (many if m * n * k >= 1 << 28 else set())
    assert (bool(pairs), len(copied) > len(pairs)) == (written, left)


@pytest.mark.parametrize(
    ("subscripts", "sizes"),
    [
        ("ik,kj->ij", {"i": 1000, "j": 900, "k": 700}),
        ("lim,kmj->ijkl", {"i": 16, "j": 384, "k": 16, "l": 384, "m": 24}),  # vectors, and rows, of two dimensions
        ("jl,ilk->ijk", {"i": 500, "j": 72, "k": 72, "l": 72}),
        ("bik,bkj->bij", {"b": 20, "i": 300, "j": 300, "k": 300}),
        ("ik,kj,,k->ij", {"i": 300, "j": 300, "k": 300}),  # factors that move with no dimension of results
    ],
)
def test_operands_wait_in_registers_that_have_room_for_them(subscripts: str, sizes: dict[str, int]) -> None:
    terms, output = subscripts.split("->")
    operands = terms.split(",")
    dims = {d: cc if d in output else pw("add") for d in dict.fromkeys(output + terms.replace(",", ""))}
    texts = [f"A{n}[{','.join(term)}]" for n, term in enumerate(operands)]
    f = md_hom(lambda *x: reduce(mul, x), dims, f"{', '.join(texts)} -> C[{','.join(output)}]")
    arrays = [np.broadcast_to(np.float32(0), [sizes[d] for d in term]) for term in operands]
    h = canonical(stages(f.bind(*arrays))[0].mdhom)
    access = AccessPattern(h)
    several = 0
    for s in islice(cpu_candidates(h, NARROW), 200):
        orders = [(*access.combined, *order) for order in permutations(access.kept)]
        most = [_most_waiting(access, s, order) for order in orders]
        results = len(h.scalar.dtypes) * prod(s.private_tile[d] for d in access.kept) // s.vector_width
        waiting = _most_waiting(access, s, s.private_order)
        assert waiting == min(most) or results + waiting <= NARROW.registers
        several += max(most) > waiting
    assert several > 20


def _most_waiting(access: AccessPattern, s: Schedule, order: tuple[int, ...]) -> int:
    """Give how many elements or vectors wait at the same time for points of a register tile, of what moves in it."""
    counts = [s.private_tile[d] // (s.vector_width if d == s.vector_dim else 1) for d in order if d in access.kept]
    kept = [d for d in order if d in access.kept]
    used = dict[tuple[int, tuple[int, ...]], list[int]]()
    for number, point in enumerate(product(*map(range, counts))):
        for n, moved in enumerate(access.depends):
            if not moved.isdisjoint(kept):
                key = n, tuple(x for d, x in zip(kept, point, strict=True) if d in moved)
                used.setdefault(key, []).append(number)
    return max(sum(uses[0] <= number <= uses[-1] for uses in used.values()) for number in range(prod(counts)))
