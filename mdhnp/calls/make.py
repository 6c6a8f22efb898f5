"""From a request to its plan, straight down: who computes it, its stages, their schedules, a program, compiled kernels.

Each function asks one folder. It must not know how plans are found again.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from mdhnp.calls.debug import show
from mdhnp.calls.entry import Made
from mdhnp.calls.general import general_program
from mdhnp.calls.improve import Specialise, tuner
from mdhnp.calls.plans import ByNumpy, InParts, Kernels, Nothing
from mdhnp.calls.request import Request
from mdhnp.codegen import Program, generate
from mdhnp.mdh import MdHom, Part, Stage, canonical, cut, stages
from mdhnp.placement import Choice, choose, only
from mdhnp.runtime.devices import Device
from mdhnp.runtime.executable import Executable, LaunchError
from mdhnp.runtime.memory import Layout, largest_array
from mdhnp.runtime.programs import BuildError
from mdhnp.runtime.results import maker
from mdhnp.schedule import IllegalSchedule, Schedule
from mdhnp.schedule.default import default
from mdhnp.settings import config
from mdhnp.tuning.lookup import Found, tuned_for, untuned_for
from mdhnp.tuning.policy import search
from mdhnp.warning import warn

__all__ = ["NoDoublePrecision", "make"]

#: Of more points than this NumPy is not asked: what small calls differ in no longer counts.
_SMALL = 2**22

#: The tuned schedule of each stage.
_Tuned = list[Schedule | None]

_default = lru_cache(maxsize=4096)(default)


class NoDoublePrecision(TypeError):
    """A computation in float64 or complex128 on a device that has neither."""


def make(request: Request) -> Made:
    """Make the plan of a request, and what sees to it that there will be a better one.

    Raises
    ------
    NoDoublePrecision
        If the MDH computes in float64 or complex128, and the device cannot.
    BuildError
        If the runtime refuses the generated text.
    """
    return _shown(request, partial(_make, request))


def _shown(request: Request, make: Callable[[], Made]) -> Made:
    """Make a plan, and show it where the settings say so."""
    begin = time.perf_counter()
    made = make()
    if level := config.debug:
        show(request, made.plan, time.perf_counter() - begin, level)
    return made


def _make(request: Request) -> Made:
    h, device = request.mdhom, request.device
    if 0 in h.extents:
        return Made(Nothing(h, device, only(device)))
    choice = choose(h, (device,)) if request.mode.host == "auto" and h.points <= _SMALL else only(device)
    if choice.host is not None:
        return Made(ByNumpy.of(request.function, h, device, choice, choice.host))
    if not device.caps.fp64 and any(t.char in "dD" for t in h.dtypes):
        raise NoDoublePrecision(f"{h} is in double precision, which {device.name} does not have; use float32")
    if (largest := largest_array(device)) is not None and (parts := _parts(request, choice, largest)):
        return Made(InParts(parts, maker(_outputs(h))))
    raw = stages(h)
    staged = tuple(map(_canonical, raw))
    tuned = _tuned(staged, device)
    if tuned == [None] and (general := _general(request, staged[0], raw[0].mdhom)) is not None:
        program, schedule = general
        own = partial(_for_its_sizes, request, choice, staged)
        return Made(
            _plan(request, choice, [Found(schedule, "general")], program), Specialise(partial(_shown, request, own))
        )
    return _for_its_sizes(request, choice, staged, tuned)


def _parts(request: Request, choice: Choice, largest: int) -> tuple[tuple[Kernels, Part], ...]:
    """Cut a computation whose arrays are too large for the device; parts of the same sizes share a plan."""
    h = request.mdhom
    if all(v.elements() * v.dtype.itemsize <= largest for v in (*h.inputs, *h.outputs)):
        return ()
    found: dict[MdHom, Kernels] = {}
    parts = cut(h, largest)
    for part in parts:
        if part.mdhom not in found:
            sliced = tuple(
                replace(layout, shape=tuple(s.stop - s.start for s in where))
                for layout, where in zip(request.layouts, part.inputs, strict=True)
            )
            one = replace(request, mdhom=part.mdhom, layouts=sliced)
            found[part.mdhom] = _own_kernels(one, choice, [_canonical(s) for s in stages(one.mdhom)])
    return tuple((found[part.mdhom], part) for part in parts)


def _general(request: Request, stage: Stage, raw: MdHom) -> tuple[Program, Schedule] | None:
    """Give a general kernel for a call that may be the only one of its sizes; None where it is to have its own."""
    mode = request.mode
    if mode.specialise != "auto" or mode.tuning not in ("auto", "off"):
        return None
    return general_program(stage, raw, request.device.caps)


def _for_its_sizes(request: Request, choice: Choice, staged: Sequence[Stage], tuned: _Tuned | None = None) -> Made:
    """Make kernels for these very sizes, tuned before where the settings say so."""
    device = request.device
    tuned = _tuned(staged, device) if tuned is None else tuned
    untuned = [s.mdhom for s, known in zip(staged, tuned, strict=True) if known is None]
    kept = True
    if untuned and request.mode.tuning == "full":
        kept = search(untuned, device, None, wait=True)  # else the next call tries again
        tuned = _tuned(staged, device)

    def again() -> Made:
        return Made(_own_kernels(request, choice, staged))

    watcher = tuner(request.mode, untuned, device, partial(_shown, request, again))
    return Made(_own_kernels(request, choice, staged, tuned), watcher, kept)


def _own_kernels(request: Request, choice: Choice, staged: Sequence[Stage], tuned: _Tuned | None = None) -> Kernels:
    """Make kernels with the best schedules known now."""
    device = request.device
    tuned = _tuned(staged, device) if tuned is None else tuned
    found = [
        untuned_for(s.mdhom, device) if known is None else Found(known, "tuned")
        for s, known in zip(staged, tuned, strict=True)
    ]
    try:
        return _plan(request, choice, found, generate(staged, [f.schedule for f in found], device.caps, _default))
    except (IllegalSchedule, BuildError, LaunchError) as error:
        # A remembered schedule may fit its stage, but not the kernel that follows a split reduction, nor the compiler.
        safe = [Found(_default(s.mdhom, device.caps), "default") for s in staged]
        if [f.schedule for f in safe] == [f.schedule for f in found]:
            raise
        if not isinstance(error, IllegalSchedule):
            warn(f"tuned kernels could not be used: {error}")
        return _plan(request, choice, safe, generate(staged, [f.schedule for f in safe], device.caps, _default))


def _plan(request: Request, choice: Choice, found: Sequence[Found], program: Program) -> Kernels:
    """Compile."""
    h, device = request.mdhom, request.device
    layouts = [Layout.of(np.empty(shape, dtype)) for shape, dtype in _outputs(h)]
    return Kernels(
        h,
        device,
        choice,
        tuple(f.schedule for f in found),
        tuple(f.origin for f in found),
        program,
        Executable(device, program, request.layouts, layouts),
        maker(_outputs(h)),
    )


def _tuned(staged: Sequence[Stage], device: Device) -> _Tuned:
    return [tuned_for(s.mdhom, device) for s in staged]


def _canonical(stage: Stage) -> Stage:
    return replace(stage, mdhom=canonical(stage.mdhom))


def _outputs(h: MdHom) -> tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]:
    return tuple((v.shape, v.dtype) for v in h.outputs)
