"""General kernels: one for all sizes of a form, which serves calls of sizes not seen before.

Takes a stage and a device, gives the program of its form, set to its sizes.
"""

from dataclasses import replace

from mdhnp.codegen import Program, generate, procedures, resized
from mdhnp.codegen.ir.statements import Procedure
from mdhnp.mdh import Computation, MdHom, Stage, canonical
from mdhnp.schedule import DeviceCaps, Schedule
from mdhnp.schedule.general import any_sizes, fitted, form, general_schedule

#: With more applications of the scalar function than this, a first call is not worth a general kernel.
_LARGE = 1 << 31

#: With so many at most, it may be served by a kernel that is ready but made for more dimensions.
_SMALL = 1 << 20
_MOST_FORMS = 1024

_Form = tuple[Stage, DeviceCaps]
#: Those of a form: one kernel, or several that split its reductions.
_programs: dict[_Form, dict[Schedule, Program]] = {}


def general_program(stage: Stage, raw: Computation, caps: DeviceCaps) -> tuple[Program, Schedule] | None:
    """Give a program for all sizes, set to those of a call; None where there is none.

    That is of the call's only stage, in canonical form, and of its MDH before that, which may have dimensions of extent
    1.
    """
    h = stage.mdhom.last
    if h.points > _LARGE or (key := _form(stage, caps)) is None:
        return None
    if key not in _programs and 1 in raw.extents and h.points <= _SMALL:
        # A form with more dimensions may have its kernel already: this is less than it costs to compile another.
        longer = canonical(raw, ones=True)
        other = _form(replace(stage, mdhom=longer), caps)
        if other is not None and other in _programs and (served := _sized(other, longer.last)) is not None:
            return served
    return _sized(key, h)


def general_procedures(stage: Stage, raw: Computation, schedule: Schedule, caps: DeviceCaps) -> tuple[Procedure, ...]:
    """Give the kernels of :func:`general_program` before they are written, from the schedule that it gave."""
    h = stage.mdhom if len(schedule.num_wg) == stage.mdhom.rank else canonical(raw, ones=True)
    found = _form(replace(stage, mdhom=h), caps)
    assert found is not None
    return procedures([found[0]], [any_sizes(schedule)], caps)


def _form(stage: Stage, caps: DeviceCaps) -> _Form | None:
    """What the general kernels of a stage depend on; None where there are none."""
    typical = form(stage.mdhom)
    return None if typical is None else (replace(stage, mdhom=typical), caps)


def _sized(key: _Form, h: MdHom) -> tuple[Program, Schedule] | None:
    """Set general kernels to the sizes of an MDH of their form; None where there are none, or they do not suit them."""
    stage, caps = key
    schedule = general_schedule(stage.mdhom, caps)
    if schedule is None or (suited := fitted(h, schedule, caps)) is None:
        return None
    if key not in _programs and len(_programs) >= _MOST_FORMS:
        _programs.clear()
    programs, text = _programs.setdefault(key, {}), any_sizes(suited)
    if text not in programs:
        programs[text] = generate([stage], [text], caps)
    return resized(programs[text], h, suited), suited
