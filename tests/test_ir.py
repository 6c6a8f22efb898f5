"""Kernels in the loop-level IR, walked through without values, and run with them. Needs no device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from gpu_kernels import ELSEWHERE, EXCHANGED, MULTIPLIED
from guards import unwritten
from ir_run import run
from ir_walk import TooLong, walk_all
from kernels import KERNELS, plain
from random_functions import Seeded
from running import expected, lowered
from schedules import CAPS, MATRICES, for_any_sizes, schedule
from strategies import Array, case

from mdhnp.codegen import Program, generate, resized
from mdhnp.codegen.generate import procedures
from mdhnp.codegen.ir.statements import Procedure
from mdhnp.mdh import MdHom, Stage, canonical, cc, md_hom, stages
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.default import default
from mdhnp.schedule.general import any_sizes, form
from mdhnp.schedule.gpu import of_tiles
from mdhnp.schedule.schedule import DeviceCaps, Schedule

STEPS = 100_000

#: A GPU for which maps of some thousand elements are large.
SMALL = replace(MATRICES, compute_units=1)


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


@pytest.mark.parametrize("in_ring", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_default_kernels_of_gpus(seed: int, in_ring: bool) -> None:
    """With their values, but for complex numbers, whose arrays have two names."""
    one = case(Seeded(seed), 1500, in_ring=in_ring)
    program, built, chain = _of_gpus(one.mdhom)
    _walk(program, built, chain)
    if not any(p.aliases for p in built):
        _assert_right(one.mdhom, one.arrays, program, built)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i1", "u1", "?"])
@pytest.mark.parametrize("shape", [(8192,), (8195,), (33, 300), (9, 1031)])
def test_large_maps_of_gpus(shape: tuple[int, ...], dtype: str) -> None:
    """They are moved in vectors, of which the last one may stick out of its row."""
    a, b = np.arange(np.prod(shape)).reshape(shape) % 7, np.arange(shape[-1]) % 5
    names = "ij"[: len(shape)]
    text = f"a[{','.join(names)}], b[{names[-1]}] -> y[{','.join(names)}]"
    arrays = [x.astype(dtype) for x in (a, b)]
    h = md_hom(np.maximum, dict.fromkeys(names, cc), text).bind(*arrays)
    lanes, (stage,) = 2 if dtype == "f8" else 4, lowered(h)
    last = AccessPattern(stage.mdhom).contiguous_first[0]
    s = of_tiles(AccessPattern(stage.mdhom), {last: 32}, {last: lanes}, {})
    for used in (None, replace(s, vector_dim=last, vector_width=lanes)):
        program, built, chain = _of_gpus(h, used)
        walk_all(program, built, chain, steps=10**6)
        _assert_right(h, arrays, program, built)


def _of_gpus(h: MdHom, s: Schedule | None = None) -> tuple[Program, tuple[Procedure, ...], list[Stage]]:
    chain = lowered(h)
    used = [s or default(stage.mdhom, SMALL) for stage in chain]
    return generate(chain, used, SMALL, default), procedures(chain, used, SMALL, default), chain


def _assert_right(h: MdHom, arrays: Sequence[Array], program: Program, built: tuple[Procedure, ...]) -> None:
    outputs = [unwritten(v.shape, v.dtype) for v in h.outputs]
    run(program, built, arrays, outputs)
    for got, want in zip(outputs, expected(h, arrays), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("seed", range(100))
def test_random_kernels_for_all_sizes(seed: int) -> None:
    p = Seeded(seed)
    first, *more = [replace(s, mdhom=canonical(s.mdhom)) for s in stages(case(p, 300).mdhom)]
    typical = None if more else form(first.mdhom)
    s = None if typical is None else for_any_sizes(p, first.mdhom)
    if typical is None or s is None:
        pytest.skip("has none")
    stage, any_size = replace(first, mdhom=typical), any_sizes(s)
    program = resized(generate([stage], [any_size], CAPS), first.mdhom, s)
    _walk(program, procedures([stage], [any_size], CAPS), [first])


#: Some that every test run computes on devices, too, so that the runner is seen to be right; and the others.
RUN = (
    "gemm_packed", "gemm_work_items", "gemm_ahead", "gemm_tree", "gemm_half", "gemv_finish_split", "dot_vector_tree",
    "range", "and", "larger_in_order", "scan_work_items", "stencil_reflect", "convolution_shared", *ELSEWHERE,
)  # fmt: skip


@pytest.mark.parametrize("name", RUN)
def test_named_kernels_with_values(name: str) -> None:
    named, device = (KERNELS | EXCHANGED | MULTIPLIED)[name], ELSEWHERE.get(name, CAPS)
    built = procedures(*named.scheduled(device), device, plain)
    _assert_right(named.mdhom(), named.arrays(), named.program(device), built)
