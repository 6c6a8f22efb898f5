"""From an MdHom and the arrays' layouts to all that a repeat of the call needs: stages, schedules, text, kernels.

Looks for a tuned schedule first; else a general kernel serves a call that may be the only one of its sizes. What is
larger than the device's largest buffer is cut in parts. It must not know how plans are found again.
"""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.codegen import Program, generate, generate_general, resized
from mdhnp.mdh import MdHom, Part, Stage, canonical, cut, stages
from mdhnp.runtime.devices import Device
from mdhnp.runtime.memory import Layout, largest_array
from mdhnp.runtime.plan import Plan
from mdhnp.runtime.results import maker
from mdhnp.schedule import DeviceCaps, IllegalSchedule, Schedule, check
from mdhnp.schedule.default import default
from mdhnp.schedule.general import fitted, form, general_schedule
from mdhnp.tuning.host import Host
from mdhnp.tuning.lookup import Found, Origin, schedule_for, tuned_for
from mdhnp.tuning.policy import Trial, Watch, general_serves

__all__ = ["NoDoublePrecision", "Prepared", "prepare"]

Array = npt.NDArray[Any]

#: With more applications of the scalar function than this, a first call is not worth a general kernel.
_LARGE = 1 << 31

#: With so many at most, it may be served by a kernel that is ready but made for more dimensions.
_SMALL = 1 << 20
_MOST_FORMS = 1024

_general_kernels: dict[tuple[Stage, DeviceCaps] | None, tuple[Program, Schedule] | None] = {}
_default = lru_cache(maxsize=4096)(default)


class NoDoublePrecision(TypeError):
    """A computation in float64 or complex128 on a device that has neither."""


@dataclass(frozen=True)
class Prepared:
    """Everything a repeat of a call needs, and everything there is to explain about it.

    Attributes
    ----------
    mdhom : MdHom
        What the call computes.
    device : Device
        Where.
    outputs : tuple of (shape, dtype)
        Results to allocate.
    schedules : tuple of Schedule
        One a stage; empty where there is nothing to launch.
    origins : tuple of {"tuned", "similar", "default", "general"}
        Where each schedule comes from.
    program : Program or None
        The generated text and launches; None where an extent is 0, and where NumPy computes.
    plan : Plan or None
        The compiled program with its layouts.
    make : callable
        Allocates the results.
    host : Host or None
        The NumPy function that computes the call instead of kernels; then there is no program.
    watch : Watch or None
        Sees to it that what is not tuned will be; None where there is nothing to do.
    trial : Trial or None
        Tells when a general kernel is to be replaced.
    parts : tuple of (Prepared, Part)
        What is run instead of a plan where an array is too large for the device.
    owner : weakref.ref or None
        Drops the plan when the object dies that alone could ask for it.
    """

    mdhom: MdHom
    device: Device
    outputs: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]
    schedules: tuple[Schedule, ...] = ()
    origins: tuple[Origin, ...] = ()
    program: Program | None = None
    plan: Plan | None = None
    make: Callable[[], tuple[Array, ...]] = field(default=tuple, repr=False, compare=False)
    host: Host | None = None
    watch: Watch | None = field(default=None, repr=False, compare=False)
    trial: Trial | None = field(default=None, repr=False, compare=False)
    parts: "tuple[tuple[Prepared, Part], ...]" = ()
    owner: "weakref.ref[Any] | None" = field(default=None, repr=False, compare=False)


def prepare(h: MdHom, layouts: Sequence[Layout], device: Device, *, special: bool = False) -> Prepared:
    """Make the plan of a call: stages, schedules, program, compiled kernels.

    Parameters
    ----------
    h : MdHom
        What the call computes.
    layouts : sequence of Layout
        Of its arrays.
    device : Device
        Where.
    special : bool, optional
        Whether kernels are made for these very sizes, whatever ``config.specialise`` says.

    Raises
    ------
    NoDoublePrecision
        If the MDH computes in float64 or complex128, and the device cannot.
    BuildError
        If the runtime refuses the generated text.
    """
    outputs = tuple((v.shape, v.dtype) for v in h.outputs)
    if 0 in h.extents:
        # Nothing to launch: results are empty, or the operator's identity.
        return Prepared(h, device, outputs)
    if not device.caps.fp64 and any(t.char in "dD" for t in h.dtypes):
        raise NoDoublePrecision(f"{h} is in double precision, which {device.name} does not have; use float32")
    if (largest := largest_array(device)) is not None and (parts := _parts(h, layouts, device, largest)):
        return Prepared(h, device, outputs, make=maker(outputs), parts=parts)
    steps = stages(h)
    chain = tuple(replace(s, mdhom=canonical(s.mdhom)) for s in steps)
    results = [Layout.of(np.empty(shape, dtype)) for shape, dtype in outputs]
    if not special and (general := _general(steps[0].mdhom, chain, device)) is not None:
        program, schedule = general
        plan = Plan(device, program, layouts, results)
        return Prepared(h, device, outputs, (schedule,), ("general",), program, plan, maker(outputs), trial=Trial())
    found = [schedule_for(s.mdhom, device) for s in chain]
    try:
        program = _generated(chain, [f.schedule for f in found], device)
    except IllegalSchedule:
        # A schedule from the tuning cache may fit its stage, but not the kernel that follows a split reduction.
        safe = [Found(_default(s.mdhom, device.caps), "default") for s in chain]
        if [f.schedule for f in safe] == [f.schedule for f in found]:
            raise
        found, program = safe, _generated(chain, [f.schedule for f in safe], device)
    untuned = [s.mdhom for s, f in zip(chain, found, strict=True) if f.origin != "tuned"]
    return Prepared(
        h,
        device,
        outputs,
        schedules=tuple(f.schedule for f in found),
        origins=tuple(f.origin for f in found),
        program=program,
        plan=Plan(device, program, layouts, results),
        make=maker(outputs),
        watch=Watch(untuned, device) if untuned else None,
    )


def _parts(h: MdHom, layouts: Sequence[Layout], device: Device, largest: int) -> tuple[tuple[Prepared, Part], ...]:
    """Cut a call whose arrays are too large for the device; parts of the same sizes share a plan."""
    if all(v.elements() * v.dtype.itemsize <= largest for v in (*h.inputs, *h.outputs)):
        return ()
    found: dict[MdHom, Prepared] = {}
    parts = cut(h, largest)
    for part in parts:
        if part.mdhom not in found:
            sliced = [
                replace(layout, shape=tuple(s.stop - s.start for s in where))
                for layout, where in zip(layouts, part.inputs, strict=True)
            ]
            found[part.mdhom] = prepare(part.mdhom, sliced, device, special=True)
    return tuple((found[part.mdhom], part) for part in parts)


def _general(raw: MdHom, chain: Sequence[Stage], device: Device) -> tuple[Program, Schedule] | None:
    """Give a program for all sizes, set to those of the only stage, where this serves a call that may be the only one.

    Not where calls are tuned from the first one on, or tuned already.
    """
    if not general_serves() or len(chain) > 1:
        return None
    stage, h = chain[0], chain[0].mdhom
    if h.points > _LARGE or tuned_for(h, device) is not None or (key := _form(stage, device)) is None:
        return None
    if key not in _general_kernels and 1 in raw.extents and h.points <= _SMALL:
        # A form with more dimensions may have its kernel already: this is less than it costs to compile another.
        longer = canonical(raw, ones=True)
        known = _general_kernels.get(_form(replace(stage, mdhom=longer), device))
        if (served := _sized(known, longer, device.caps)) is not None:
            return served
    return _sized(_general_kernel(key), h, device.caps)


def _sized(kernel: tuple[Program, Schedule] | None, h: MdHom, caps: DeviceCaps) -> tuple[Program, Schedule] | None:
    """Set a general kernel to the sizes of an MDH of its form; None where there is none, or it does not suit them."""
    if kernel is None or (suited := fitted(h, kernel[1], caps)) is None:
        return None
    return resized(kernel[0], h, suited), suited


def _form(stage: Stage, device: Device) -> tuple[Stage, DeviceCaps] | None:
    """What the general kernel of a stage depends on; None where there is none."""
    typical = form(stage.mdhom)
    return None if typical is None else (replace(stage, mdhom=typical), device.caps)


def _general_kernel(key: tuple[Stage, DeviceCaps]) -> tuple[Program, Schedule] | None:
    if key not in _general_kernels:
        if len(_general_kernels) >= _MOST_FORMS:
            _general_kernels.clear()
        stage, caps = key
        schedule = general_schedule(stage.mdhom, caps)
        _general_kernels[key] = None if schedule is None else (generate_general(stage, schedule, caps), schedule)
    return _general_kernels.get(key)


def _generated(chain: Sequence[Stage], schedules: Sequence[Schedule], device: Device) -> Program:
    for stage, schedule in zip(chain, schedules, strict=True):
        check(stage.mdhom, schedule, device.caps)
    return generate(chain, schedules, device.caps, _default)
