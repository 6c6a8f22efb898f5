"""Kernels in the loop-level IR, walked through without values, and run with them. Needs no device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from guards import unwritten
from ir_run import run
from ir_walk import TooLong, walk_all
from kernels import ELSEWHERE, EXCHANGED, KERNELS, MULTIPLIED, plain
from random_functions import Seeded
from running import expected
from schedules import CAPS, for_any_sizes, schedule
from strategies import case

from mdhnp.codegen import Program, generate, generate_general, resized
from mdhnp.codegen.generate import procedures, procedures_for_any_sizes
from mdhnp.codegen.ir.statements import Procedure
from mdhnp.mdh import MdHom, Stage, canonical, stages
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.general import any_sizes, form
from mdhnp.schedule.schedule import Schedule

STEPS = 100_000


def _walk(program: Program, built: tuple[Procedure, ...], chain: list[Stage]) -> None:
    try:
        walk_all(program, built, chain, steps=STEPS)
    except TooLong:
        pytest.skip(f"more than {STEPS} steps")


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("seed", range(100))
def test_random_kernels(seed: int, asynchronous: bool) -> None:
    p, device = Seeded(1000 + seed), replace(CAPS, async_copies=asynchronous)
    chain = [replace(s, mdhom=canonical(s.mdhom)) for s in stages(case(p, 300).mdhom)]
    used = [schedule(p, stage.mdhom) for stage in chain]
    later: list[Schedule] = []

    def drawn(m: MdHom, caps: DeviceCaps) -> Schedule:
        later.append(schedule(p, m, caps))
        return later[-1]

    device = replace(device, subgroup=p.choice((0, 2, 4)))
    program = generate(chain, used, device, drawn)
    again = iter(later)
    _walk(program, procedures(chain, used, device, lambda m, caps: next(again)), chain)


@pytest.mark.parametrize("seed", range(100))
def test_random_kernels_for_all_sizes(seed: int) -> None:
    p = Seeded(seed)
    first, *more = [replace(s, mdhom=canonical(s.mdhom)) for s in stages(case(p, 300).mdhom)]
    typical = None if more else form(first.mdhom)
    s = None if typical is None else for_any_sizes(p, first.mdhom)
    if typical is None or s is None:
        pytest.skip("has none")
    stage, any_size = replace(first, mdhom=typical), any_sizes(s)
    program = resized(generate_general(stage, any_size, CAPS), first.mdhom, s)
    _walk(program, procedures_for_any_sizes(stage, any_size, CAPS), [first])


#: Some that every test run computes on devices, too, so that the runner is seen to be right; and the others.
RUN = (
    "gemm_packed", "gemm_work_items", "gemm_ahead", "gemm_tree", "gemm_half", "gemv_finish_split", "dot_vector_tree",
    "range", "and", "larger_in_order", "scan_work_items", "stencil_reflect", "convolution_shared", *ELSEWHERE,
)  # fmt: skip


@pytest.mark.parametrize("name", RUN)
def test_named_kernels_with_values(name: str) -> None:
    named, device = (KERNELS | EXCHANGED | MULTIPLIED)[name], ELSEWHERE.get(name, CAPS)
    arrays, outputs = named.arrays(), [unwritten(v.shape, v.dtype) for v in named.mdhom().outputs]
    run(named.program(device), procedures(*named.scheduled(device), device, plain), arrays, outputs)
    for got, want in zip(outputs, expected(named.mdhom(), arrays), strict=True):
        np.testing.assert_array_equal(got, want)
