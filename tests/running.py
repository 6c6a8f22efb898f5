"""Running an MDH on a device by given schedules, and what its definition gives: what tests of generated code share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from guards import untouched, unwritten
from schedules import CAPS
from strategies import Array

from mdhnp.codegen import Program, generate
from mdhnp.codegen.ir import passes
from mdhnp.codegen.ir.accesses import with_bodies
from mdhnp.codegen.ir.index import ZERO, Compare, call, choice, constant
from mdhnp.codegen.ir.statements import AllocLocal, Let, Procedure, Stmt, Store
from mdhnp.codegen.ir.values import Buffer, Load, Shuffled
from mdhnp.mdh import MdHom, Stage, canonical, interpret, stages
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.layout import Layout
from mdhnp.schedule.check import check
from mdhnp.schedule.schedule import DeviceCaps, Schedule

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

__all__ = ["exchanged_in_local_memory", "execute", "expected", "lowered", "run_plain", "run_vectors"]


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


@contextmanager
def exchanged_in_local_memory(subgroup: int) -> Iterator[None]:
    """Kernels that are generated here exchange values in local memory: for devices that cannot exchange registers."""

    def stood_in(p: Procedure, **options: Any) -> Procedure:
        found: dict[Buffer, None] = {}
        body = tuple(_stood_in(p.body, subgroup, found))
        declared = [AllocLocal(buffer, p.work_items) for buffer in found]
        return passes.lowered(replace(p, body=(*declared, *body)), **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(generate.__globals__, "lowered", stood_in)
        yield


def _stood_in(body: Iterable[Stmt], subgroup: int, found: dict[Buffer, None]) -> Iterator[Stmt]:
    own = call("local_id")
    for s in body:
        match s:
            case Let(value=Shuffled() as v):
                buffer = Buffer(f"{v.dtype.name}_{v.lanes}_l", v.dtype, "local", values=v.lanes, volatile=True)
                found[buffer] = None
                source = own % subgroup + v.distance
                reached = (Compare(source, ">=", ZERO), Compare(source, "<", constant(subgroup)))
                yield Store(buffer, own, v.value)
                yield Let(s.target, Load(buffer, own + choice(reached, v.distance, ZERO), v.lanes))
            case _:
                yield with_bodies(s, lambda inner: tuple(_stood_in(inner, subgroup, found)))


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
    caps = replace(CAPS, kind=device.caps.kind, mixed_lanes=device.caps.mixed_lanes)
    return execute(device, h, arrays, generate([stage], [s], caps, lambda m, _: s))
