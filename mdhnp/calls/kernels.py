"""Kernels for a request, straight down: its stages, their schedules, a program, compiled kernels.

Takes a request, gives a plan. Each function asks one folder. It must not know whether kernels are what is best.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from mdhnp.calls import programs
from mdhnp.calls.candidates import computing_times, is_slower_than_apart
from mdhnp.calls.general import general_procedures, general_program
from mdhnp.calls.plans import Kernels, SlicedKernels
from mdhnp.calls.request import NoDoublePrecision, Request
from mdhnp.codegen import Program, generate, procedures
from mdhnp.codegen.ir.statements import Procedure
from mdhnp.errors import warn
from mdhnp.fusion.rewrite import all_apart
from mdhnp.mdh import Computation, Graph, Part, Stage, bounded, canonical, paired, stages, stretches
from mdhnp.runtime import pinned
from mdhnp.runtime.devices import Device
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.memory import largest_array
from mdhnp.runtime.overlap import overlapped
from mdhnp.runtime.pending import LaunchError
from mdhnp.runtime.programs import BuildError, is_ready
from mdhnp.runtime.results import maker
from mdhnp.schedule import IllegalSchedule, Schedule, check
from mdhnp.schedule.chains import pays
from mdhnp.schedule.check import check_second
from mdhnp.schedule.default import default
from mdhnp.schedule.general import adapt
from mdhnp.settings import Mode
from mdhnp.tuning.lookup import Scheduled, family_schedule, key_of, tuned_for
from mdhnp.tuning.measure.machine import machine_of

#: At most so many parts go beside copies, of so many bytes at least: on an H200 smaller ones miss the link's speed.
_PARTS, _BYTES = 8, 1 << 25
#: Seconds, and part of a call's time, that must be won by estimate.
_WON, _SHARE = 1e-3, 0.15


def own(request: Request, why: str) -> Kernels | SlicedKernels:
    """Make kernels for these very sizes, of which none is 0, with the best schedules known now; `why` is for people.

    NoDoublePrecision if the device lacks what the MDH computes in, BuildError if the runtime refuses the generated
    text.
    """
    h, device = request.mdhom, request.device
    if request.mode.schedules:
        return _as_told(request, why)
    double = [t for t in h.dtypes if t.char in "dD"]
    if double and not device.caps.fp64:
        raise NoDoublePrecision(f"{device.name} has no double precision, and {h} is in {double[0]}; use float32")
    return sliced(request, why) or _best(request, why)  # where nothing can be cut, an error says what is too large


def dealt(requests: Sequence[Request], mode: Mode) -> list[Request]:
    """Give each step of a call those of the settings' schedules that are for its kernels."""
    counts = [0 if r.empty else len(staged(r)) for r in requests]
    if not any(counts):
        return [*requests]
    if sum(counts) != len(mode.schedules):
        said = f"{len(mode.schedules)} for a call of {sum(counts)} kernels; explain(…).schedules has one for each"
        raise IllegalSchedule(f"schedule: {said}")
    each = iter(mode.schedules)
    return [replace(r, schedules=tuple(islice(each, n))) for r, n in zip(requests, counts, strict=True)]


def _as_told(request: Request, why: str) -> Kernels:
    """Make kernels with the schedules that the settings say; IllegalSchedule if one is not for its stage."""
    device, each = request.device, [stage.mdhom for stage in staged(request)]
    try:
        if _is_too_large(request.mdhom, device):
            raise IllegalSchedule("arrays are larger than the largest buffer")
        for h, s in zip(each, request.schedules, strict=True):
            check(h, s, device.caps)
            check_second(h, s, device.caps)
        return fixed(request, [Scheduled(s, "given") for s in request.schedules], why)
    except IllegalSchedule as error:
        of = " and then ".join([f"{h} of {'×'.join(map(str, h.extents))}" for h in each])
        raise IllegalSchedule(f"schedule: {error} ({of}, on {device.name})") from None


def repeating(plan: Kernels) -> tuple[Schedule, ...]:
    """Give schedules by which a call is computed as by a plan: of one for all sizes, fitted to those of the call."""
    if plan.origins != ("general",):
        return plan.schedules
    each, caps, found = staged(plan), plan.device.caps, replace(plan.schedules[0], second=None)
    return tuple([adapt(stage.mdhom, found, caps) or default(stage.mdhom, caps) for stage in each])


def sliced(request: Request, why: str) -> SlicedKernels | None:
    """Make kernels for parts, as :func:`own` does, of what is too large or copied meanwhile; None of anything else."""
    h, device = request.mdhom, request.device
    if request.mode.resident or request.into:
        return None
    if device.own_memory and (found := _overlapping(h, device)):
        views = replace(request, mode=request.mode.of_views)
        return SlicedKernels(h, _parts(views, found, why), pinned.maker(device, _outputs(h)), overlapped, request.own)
    if _is_too_large(h, device) and (found := bounded(h, largest_array(device) or 0)):
        return SlicedKernels(h, _parts(request, found, why), maker(_outputs(h)), own=request.own)
    return None


def general(request: Request, why: str) -> Kernels | None:
    """Make kernels that serve other sizes, too; None where there are none, or tuned ones are known."""
    h, device = request.mdhom, request.device
    raw, *more = stages(h)
    if more or _is_too_large(h, device):
        return None
    stage = replace(raw, mdhom=canonical(raw.mdhom))
    if tuned_for(stage.mdhom, device) is not None:
        return None
    found = general_program(stage, raw.mdhom, device.caps)
    return None if found is None else _plan(request, [Scheduled(found[1], "general")], found[0], why)


def fixed(request: Request, found: Sequence[Scheduled], why: str, program: Program | None = None) -> Kernels:
    """Make kernels with one schedule for each stage; their program need not be generated where it is known."""
    return _plan(request, found, program or _program(staged(request), found, request.device), why)


def ready(request: Request, why: str) -> Kernels | None:
    """Make kernels that were generated and compiled before, which takes some milliseconds; None where none were."""
    known = programs.read(request.mdhom, request.device)
    if known is None or not is_ready(request.device, known[1].source):
        return None
    return _plan(request, *known, why)


def keep(plan: Kernels) -> None:
    programs.write(plan, [key_of(s.mdhom, plan.device) for s in staged(plan)])


def procedures_of(plan: Kernels) -> tuple[Procedure, ...]:
    """Give the kernels of a plan as they are before they are written in OpenCL C."""
    caps = plan.device.caps
    if plan.origins == ("general",):
        (stage,) = stages(plan.mdhom)
        (canonic,) = _canonical([stage])
        return general_procedures(canonic, stage.mdhom, plan.schedules[0], caps)
    return procedures(staged(plan), plan.schedules, caps, default)


def _program(each: Sequence[Stage], found: Sequence[Scheduled], device: Device) -> Program:
    return generate(each, [f.schedule for f in found], device.caps, default)


def untuned(request: Request) -> list[Computation]:
    """Give the stages without a tuned schedule, in canonical form; none of what is computed in parts."""
    if _is_too_large(request.mdhom, request.device):
        return []
    return [s.mdhom for s in staged(request) if tuned_for(s.mdhom, request.device) is None]


def _best(request: Request, why: str) -> Kernels:
    """Make kernels with the best schedules known now, or the default ones where those cannot be used."""
    each, device = staged(request), request.device
    found = [_scheduled(s.mdhom, device) for s in each]
    try:
        return _plan(request, found, _program(each, found, device), why)
    except (IllegalSchedule, BuildError, LaunchError) as error:
        # A remembered schedule may fit its stage, but not the kernel that follows a split reduction, nor the compiler.
        safe = [Scheduled(default(s.mdhom, device.caps), "default") for s in each]
        if [f.schedule for f in safe] == [f.schedule for f in found]:
            raise
        if not isinstance(error, IllegalSchedule):
            warn(f"tuned kernels could not be used: {error}")
        return _plan(request, safe, _program(each, safe, device), why)


def _scheduled(h: Computation, device: Device) -> Scheduled:
    """Give the best schedule known for a stage in canonical form."""
    if (tuned := tuned_for(h, device)) is not None:
        return Scheduled(tuned, "tuned")
    if (shared := family_schedule(h, device)) is not None:
        return Scheduled(shared, "family")
    return Scheduled(default(h, device.caps), "default")


def _parts(request: Request, parts: Sequence[Part], why: str) -> tuple[tuple[Kernels, Part], ...]:
    """Make kernels for parts; those of equal sizes share a plan."""
    found: dict[Computation, Kernels] = {}
    for part in parts:
        if part.mdhom not in found:
            sliced = tuple(
                replace(layout, shape=tuple(s.stop - s.start for s in where))
                for layout, where in zip(request.layouts, part.inputs, strict=True)
            )
            found[part.mdhom] = _best(replace(request, mdhom=part.mdhom, layouts=sliced, own=None), why)
    return tuple((found[part.mdhom], part) for part in parts)


def apart(graph: Graph, devices: Sequence[Device], mode: Mode) -> Graph:
    """Take apart what is fused where some device cannot compute it as one, or the order of combination is fixed."""
    return all_apart(graph, lambda h: mode.precision != "fixed" and all([fits(h, device) for device in devices]))


def fits(h: Computation, device: Device) -> bool:
    """Whether a device can compute what is fused as one, with what tiles keep in local memory, and had better do."""
    try:
        s = default(h, device.caps)
    except IllegalSchedule:
        return False
    return not _is_too_large(h, device) and pays(h, s, device.caps) and not is_slower_than_apart(h, s, device.caps)


def _overlapping(h: Computation, device: Device) -> tuple[Part, ...]:
    """Give parts such that copies to and from a device go on beside its kernels; none where that wins too little."""
    read, written = sum([v.element_bytes for v in h.inputs]), sum([v.element_bytes for v in h.outputs])
    first = stretches(h, 2)[:1] if read + written >= 2 * _BYTES else ()
    if not first:
        return ()
    each = zip(h.inputs, first[0].inputs, strict=True)
    cut = sum([v.element_bytes for v, part in each if v.shape != tuple(s.stop - s.start for s in part)])
    parts = min(_PARTS, (cut + written) // _BYTES)
    if parts < 2:
        return ()
    machine = machine_of(device, large=True)
    kernels = max(computing_times(h, device.caps, machine))
    # Copies up and down share the host's memory: side by side they take as long as one after the other.
    up, down = machine.sending.bandwidth, machine.receiving.bandwidth
    won = min(cut / up + written / down, kernels) * (1 - 1 / parts)
    whole = read / up + kernels + written / down
    return stretches(h, parts) if won > max(_WON, _SHARE * whole) else ()


def _is_too_large(h: Computation, device: Device) -> bool:
    largest = largest_array(device)
    return largest is not None and any(v.span_bytes > largest for v in (*h.inputs, *h.outputs))


def _plan(request: Request, found: Sequence[Scheduled], program: Program, why: str) -> Kernels:
    h, device = request.mdhom, request.device
    outputs, results = [*map(Layout.of_view, h.outputs)], () if request.into else _outputs(h)
    compiled = Executable(device, program, request.layouts, outputs, resident=request.mode.resident, results=results)
    schedules, origins = tuple(f.schedule for f in found), tuple(f.origin for f in found)
    return Kernels(h, (device,), why, schedules, origins, program, compiled, request.into, request.own)


def staged(asked: Request | Kernels) -> tuple[Stage, ...]:
    """Give what each kernel computes, in canonical form; of integers on CPUs with fewer products, if that pays."""
    found = _canonical(stages(asked.mdhom))
    pairs = paired(found[0].mdhom) if len(found) == 1 and asked.device.caps.kind == "cpu" else ()
    return _canonical(pairs) if pairs else found


def _canonical(each: Sequence[Stage]) -> tuple[Stage, ...]:
    return tuple([replace(stage, mdhom=canonical(stage.mdhom)) for stage in each])


def _outputs(h: Computation) -> tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]:
    return tuple((v.shape, v.dtype) for v in h.outputs)
