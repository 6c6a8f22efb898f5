"""General kernels: one for all sizes of a form, which serves calls of sizes not seen before.

Takes a stage and a device, gives the program of its form, set to its sizes.
"""

from dataclasses import replace

from mdhnp.codegen import Program, generate_general, resized
from mdhnp.mdh import MdHom, Stage, canonical
from mdhnp.schedule import DeviceCaps, Schedule
from mdhnp.schedule.general import fitted, form, general_schedule

__all__ = ["general_program"]

#: With more applications of the scalar function than this, a first call is not worth a general kernel.
_LARGE = 1 << 31

#: With so many at most, it may be served by a kernel that is ready but made for more dimensions.
_SMALL = 1 << 20
_MOST_FORMS = 1024

_Form = tuple[Stage, DeviceCaps]
_known: dict[_Form | None, tuple[Program, Schedule] | None] = {}


def general_program(stage: Stage, raw: MdHom, caps: DeviceCaps) -> tuple[Program, Schedule] | None:
    """Give a program for all sizes, set to those of a call; None where there is none.

    Parameters
    ----------
    stage : Stage
        The call's only stage, in canonical form.
    raw : MdHom
        Its MDH before that, which may have dimensions of extent 1.
    caps : DeviceCaps
        Of the device.
    """
    h = stage.mdhom
    if h.points > _LARGE or (key := _form(stage, caps)) is None:
        return None
    if key not in _known and 1 in raw.extents and h.points <= _SMALL:
        # A form with more dimensions may have its kernel already: this is less than it costs to compile another.
        longer = canonical(raw, ones=True)
        served = _sized(_known.get(_form(replace(stage, mdhom=longer), caps)), longer, caps)
        if served is not None:
            return served
    return _sized(_kernel(key), h, caps)


def _sized(kernel: tuple[Program, Schedule] | None, h: MdHom, caps: DeviceCaps) -> tuple[Program, Schedule] | None:
    """Set a general kernel to the sizes of an MDH of its form; None where there is none, or it does not suit them."""
    if kernel is None or (suited := fitted(h, kernel[1], caps)) is None:
        return None
    return resized(kernel[0], h, suited), suited


def _form(stage: Stage, caps: DeviceCaps) -> _Form | None:
    """What the general kernel of a stage depends on; None where there is none."""
    typical = form(stage.mdhom)
    return None if typical is None else (replace(stage, mdhom=typical), caps)


def _kernel(key: _Form) -> tuple[Program, Schedule] | None:
    if key not in _known:
        if len(_known) >= _MOST_FORMS:
            _known.clear()
        stage, caps = key
        schedule = general_schedule(stage.mdhom, caps)
        _known[key] = None if schedule is None else (generate_general(stage, schedule, caps), schedule)
    return _known.get(key)
