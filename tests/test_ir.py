"""The loop-level IR: index arithmetic, what may stand where, and each pass by itself. Needs no device."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from ir_walk import TooLong, Walk
from random_functions import Seeded
from schedules import CAPS, schedule
from strategies import case

from mdhnp.codegen import Program, generate
from mdhnp.codegen.generate import procedures
from mdhnp.codegen.ir.statements import Procedure
from mdhnp.mdh import MdHom, Stage, View, canonical, stages
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.schedule import Schedule

STEPS = 100_000


def _walk(program: Program, built: tuple[Procedure, ...], chain: list[Stage]) -> None:
    """Every access is in its array, and every element of an output is written."""
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
        given = {name: next(sizes) for name in procedure.sizes}
        walk = Walk(procedure, kernel.global_size // kernel.local_size, elements, given, steps=STEPS)
        for argument, buffer in zip(kernel.arguments, procedure.buffers, strict=False):
            if not buffer.constant and not procedure.aliases:
                assert walk.written[buffer.name] == _addresses(views.get(argument), elements[buffer.name])


def _addresses(view: View | None, elements: int) -> set[int]:
    """Where the elements of an output lie, or of an array between kernels."""
    if view is None:
        return set(range(elements))
    strides = [np.arange(n) * s for n, s in zip(view.shape, view.strides, strict=True)]
    return {int(sum(place)) + view.offset for place in product(*strides)}


@pytest.mark.parametrize("seed", range(100))
def test_variables_stay_in_their_ranges_and_accesses_in_their_arrays(seed: int) -> None:
    p = Seeded(1000 + seed)
    chain = [replace(s, mdhom=canonical(s.mdhom)) for s in stages(case(p, 300).mdhom)]
    used = [schedule(p, stage.mdhom) for stage in chain]
    later: list[Schedule] = []

    def drawn(m: MdHom, caps: DeviceCaps) -> Schedule:
        later.append(schedule(p, m, caps))
        return later[-1]

    program = generate(chain, used, CAPS, drawn)
    again = iter(later)
    built = procedures(chain, used, CAPS, lambda m, caps: next(again))
    try:
        _walk(program, built, chain)
    except TooLong:
        pytest.skip(f"more than {STEPS} steps")
