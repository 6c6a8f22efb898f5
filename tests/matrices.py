"""Sums of products with the matrix instructions of a schedule: run in the IR, which takes no device that has them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from conftest import chosen_devices
from guards import unwritten
from ir_run import run
from running import lowered
from schedules import CAPS

from mdhnp.codegen import Program, generate
from mdhnp.codegen.generate import procedures
from mdhnp.codegen.ir.statements import Procedure
from mdhnp.mdh import MdHom, Stage, cc, md_hom, pw
from mdhnp.schedule.access import AccessPattern
from mdhnp.schedule.default import default
from mdhnp.schedule.gpu_matrices import matrix_schedules
from mdhnp.schedule.schedule import DeviceCaps, Schedule

Array = np.ndarray[Any, Any]


def on_multiplying_devices(metafunc: pytest.Metafunc, other: str, cases: Collection[Any]) -> None:
    """Run what asks for ``multiplying`` on those devices that have matrix instructions, and each case of another."""
    if "multiplying" in metafunc.fixturenames and other in metafunc.fixturenames:
        chosen = chosen_devices(metafunc.config.getoption("--device"))
        found = {name: device for name, device in chosen.items() if device.caps.atoms}
        each = {f"{name}-{case}": (device, case) for name, device in found.items() for case in cases}
        metafunc.parametrize(("multiplying", other), each.values(), ids=each)


def sums(function: Any, **how: Any) -> Any:
    """A product of matrices that multiplies by any function."""
    return md_hom(function, {"i": cc, "j": cc, "k": pw("add")}, "A[i,k], B[k,j] -> C[i,j]", **how)


def schedules_of(h: MdHom, caps: DeviceCaps) -> Iterator[Schedule]:
    """The schedules with matrix instructions, as they are proposed for a device."""
    access = AccessPattern(lowered(h)[0].mdhom)
    return (s for _, s in matrix_schedules(access, caps, default(access.h, CAPS)))


def first_schedule(h: MdHom, caps: DeviceCaps) -> Schedule:
    return next(schedules_of(h, caps))


def built(steps: Sequence[Stage], s: Schedule, caps: DeviceCaps) -> tuple[Program, tuple[Procedure, ...]]:
    return generate(steps, [s], caps, default), procedures(steps, [s], caps, default)


def run_in_ir(h: MdHom, arrays: Sequence[Array], s: Schedule, caps: DeviceCaps) -> tuple[Array, set[bool]]:
    """The result, and whether it was doubtful: in some work-groups it may be."""
    (output,) = [unwritten(v.shape, v.dtype) for v in h.outputs]
    doubtful, *_ = run(*built(lowered(h), s, caps), arrays, [output])
    return output, set[bool]().union(*doubtful)
