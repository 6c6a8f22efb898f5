"""Running an MDH on a device by given schedules, and what its definition gives: what tests of generated code share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from guards import untouched, unwritten
from schedules import CAPS
from strategies import Array

from mdhnp.codegen import Program, generate
from mdhnp.mdh import MdHom, Stage, canonical, interpret, stages
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.layout import Layout
from mdhnp.schedule.caps import DeviceCaps
from mdhnp.schedule.check import check
from mdhnp.schedule.schedule import Schedule

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

__all__ = ["exchanged_in_local_memory", "execute", "expected", "lowered", "run_plain", "run_vectors"]

_HELPER = re.compile(r"^static inline \w+ shuffle_\w+\(.*\n\{.*\n", re.M)
_SHUFFLE = re.compile(r"^( *)const (\w+) (\w+) = shuffle_\w+\((\w+), (\w+)\);$", re.M)


def lowered(h: MdHom) -> list[Stage]:
    """The stages that a call is generated from."""
    return [replace(stage, mdhom=canonical(stage.mdhom)) for stage in stages(h)]


def execute(device: Device, h: MdHom, arrays: Sequence[Array], program: Program) -> list[Array]:
    """Run a program on outputs that hold garbage before, and assert that it writes nothing else."""
    outputs = [unwritten(v.shape, v.dtype) for v in h.outputs]
    plan = Executable(device, program, [Layout.of(a) for a in arrays], [Layout.of(o) for o in outputs], keep=False)
    with untouched(arrays, outputs):
        plan(list(arrays), outputs)
    return outputs


def exchanged_in_local_memory(program: Program, subgroup: int) -> Program:
    """The same for devices that cannot exchange registers: local memory and barriers stand in for their subgroups."""
    before, *kernels = _HELPER.sub("", program.source).split("__kernel ")
    texts = []
    for text, kernel in zip(kernels, program.kernels, strict=True):
        *head, body = text.split("\n", 3)  # what stands before all declarations
        types = sorted({kind for _, kind, *_ in _SHUFFLE.findall(body)})
        declared = [f"volatile __local {kind} exchanged_{kind}[{kernel.local_size}];" for kind in types]
        there = rf"x + (x % {subgroup} + \5 < {subgroup} ? \5 : 0)".replace("x", "get_local_id(0)")
        wait = "barrier(CLK_LOCAL_MEM_FENCE);"
        through = rf"\1{wait} exchanged_\2[get_local_id(0)] = \4; {wait} const \2 \3 = exchanged_\2[{there}];"
        texts.append("\n".join([*head, *declared, _SHUFFLE.sub(through, body)]))
    return replace(program, source="__kernel ".join([before, *texts]))


def expected(h: MdHom, arrays: Sequence[Array]) -> list[Array]:
    """What the definition gives."""
    found = interpret(h, *arrays)
    return list(found) if isinstance(found, tuple) else [found]


def run_plain(device: Device, h: MdHom, *arrays: Array) -> list[Array]:
    """Run with the simplest schedules."""
    plain: Callable[[MdHom, DeviceCaps], Schedule] = lambda m, _: Schedule.plain(m.extents, len(m.inputs))  # noqa: E731
    steps = lowered(h)
    return execute(device, h, arrays, generate(steps, [plain(s.mdhom, CAPS) for s in steps], CAPS, plain))


def run_vectors(device: Device, h: MdHom, arrays: Sequence[Array], lanes: int, **others: Any) -> list[Array]:
    """Run one stage whose last dimension is computed in vectors of so many lanes; one lane is the simplest schedule."""
    (stage,) = lowered(h)
    s = Schedule.plain(stage.mdhom.extents, len(stage.mdhom.inputs))
    if lanes > 1:
        last = stage.mdhom.rank - 1
        s = replace(s, vector_dim=last, vector_width=lanes, private_tile=(*(1,) * last, lanes), **others)
    check(stage.mdhom, s, CAPS)
    caps = replace(CAPS, mixed_lanes=device.caps.mixed_lanes)
    return execute(device, h, arrays, generate([stage], [s], caps, lambda m, _: s))
