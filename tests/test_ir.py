"""Kernels in the loop-level IR, walked through without values. Needs no device."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from ir_walk import TooLong, Walk
from random_functions import Seeded
from schedules import CAPS, for_any_sizes, schedule
from strategies import case

from mdhnp.codegen import Program, generate, generate_general, resized
from mdhnp.codegen.generate import procedures, procedures_for_any_sizes
from mdhnp.codegen.ir.statements import Procedure
from mdhnp.codegen.ir.verify import verify
from mdhnp.mdh import MdHom, Stage, View, canonical, stages
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.general import any_sizes, form
from mdhnp.schedule.schedule import Schedule

STEPS = 100_000


def _walk(program: Program, built: tuple[Procedure, ...], chain: list[Stage]) -> None:
    """See the walk; and every element of an output is written."""
    views = {}
    for stage in chain:
        views |= dict(zip(stage.inputs, stage.mdhom.inputs, strict=True))
        views |= dict(zip(stage.outputs, stage.mdhom.outputs, strict=True))
    sizes = iter(program.sizes)
    for kernel, procedure in zip(program.kernels, built, strict=True):
        elements = {}
        for argument, buffer in zip(kernel.arguments, procedure.buffers, strict=False):
            if argument.role == "temporary":
                elements[buffer.name] = program.temporaries[argument.position] // buffer.dtype.itemsize
            else:
                view = views[argument]
                ends = [max(s * (n - 1), 0) for s, n in zip(view.strides, view.shape, strict=True)]
                elements[buffer.name] = 1 + view.offset + sum(ends)
        for _, real in procedure.aliases:
            elements[real.name] += 1
        verify(procedure)
        given = {name: next(sizes) for name in procedure.sizes}
        try:
            walk = Walk(procedure, kernel.global_size // kernel.local_size, elements, given, steps=STEPS)
        except TooLong:
            pytest.skip(f"more than {STEPS} steps")
        for argument, buffer in zip(kernel.arguments, procedure.buffers, strict=False):
            if not buffer.constant and not procedure.aliases:
                assert walk.written[buffer.name] == _addresses(views.get(argument), elements[buffer.name])


def _addresses(view: View | None, elements: int) -> set[int]:
    """Where the elements of an output lie, or of an array between kernels."""
    if view is None:
        return set(range(elements))
    strides = [np.arange(n) * s for n, s in zip(view.shape, view.strides, strict=True)]
    return {int(sum(place)) + view.offset for place in product(*strides)}


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
