"""From an MdHom and arrays to results: looks plans up, makes the missing ones, runs them.

The only module that sees the whole way of a call. A plan is found by one dictionary look-up from the call's own key,
the arrays' layouts and the device; on a miss the MDH is built, split into stages, scheduled, generated and compiled.
"""

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.codegen import Program, generate
from mdhnp.mdh import MdHom, canonical, interpret, stages
from mdhnp.runtime.devices import Device, default_device
from mdhnp.runtime.memory import Layout
from mdhnp.runtime.plan import Plan
from mdhnp.schedule import Schedule, check
from mdhnp.schedule.default import default
from mdhnp.tuning.lookup import schedule_for

__all__ = ["Prepared", "forget", "observe", "prepare", "run"]

Array = npt.NDArray[Any]

#: Plans kept; the oldest goes first.
_CAPACITY = 4096


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
    program : Program or None
        The generated text and launches; None where an extent is 0.
    plan : Plan or None
        The compiled program with its layouts.
    """

    mdhom: MdHom
    device: Device
    outputs: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]
    schedules: tuple[Schedule, ...] = ()
    program: Program | None = None
    plan: Plan | None = None


_plans: dict[Hashable, Prepared] = {}
_lock = threading.Lock()
_observers: list[list[tuple[Prepared, Sequence[Array]]]] = []
_default = lru_cache(maxsize=4096)(default)


def run(call: Hashable, arrays: Sequence[Array], build: Callable[[], MdHom]) -> tuple[Array, ...]:
    """Run an MDH on arrays.

    Parameters
    ----------
    call : hashable
        What is computed, as far as shapes, strides, dtypes and the device do not say.
    arrays : sequence of ndarray
        One an input view, of native byte order and aligned.
    build : callable
        Gives the MDH for these arrays; called where no plan is found.

    Returns
    -------
    tuple of ndarray
        New C-contiguous arrays, one an output view.
    """
    device = default_device()
    key = (call, device, *[(a.shape, a.strides, a.dtype) for a in arrays])
    prepared = _plans.get(key)
    if prepared is None:
        prepared = prepare(build(), arrays, device)
        with _lock:
            if len(_plans) >= _CAPACITY:
                del _plans[next(iter(_plans))]
            _plans[key] = prepared
    if _observers:
        for seen in _observers:
            seen.append((prepared, arrays))
    if prepared.plan is None:
        found = interpret(prepared.mdhom, *arrays)
        return tuple(np.asarray(a) for a in found) if isinstance(found, tuple) else (np.asarray(found),)
    results = tuple([np.empty(shape, dtype) for shape, dtype in prepared.outputs])
    prepared.plan(arrays, results)
    return results


def prepare(h: MdHom, arrays: Sequence[Array], device: Device) -> Prepared:
    """Make the plan of a call: stages, schedules, program, compiled kernels.

    Raises
    ------
    IllegalSchedule
        If the device cannot run the MDH at all (no double precision, say).
    BuildError
        If the runtime refuses the generated text.
    """
    outputs = tuple((v.shape, v.dtype) for v in h.outputs)
    if 0 in h.extents:
        # Nothing to launch: results are empty, or the operator's identity.
        return Prepared(h, device, outputs)
    chain = tuple(replace(s, mdhom=canonical(s.mdhom)) for s in stages(h))
    schedules = tuple(schedule_for(s.mdhom, device) for s in chain)
    for stage, schedule in zip(chain, schedules, strict=True):
        check(stage.mdhom, schedule, device.caps)
    program = generate(chain, schedules, device.caps, _default)
    layouts = [Layout.of(a) for a in arrays]
    results = [Layout.of(np.empty(shape, dtype)) for shape, dtype in outputs]
    return Prepared(h, device, outputs, schedules, program, Plan(device, program, layouts, results))


def forget() -> None:
    """Drop all plans, so that calls look their schedules up again."""
    with _lock:
        _plans.clear()


@contextmanager
def observe() -> Iterator[list[tuple[Prepared, Sequence[Array]]]]:
    """Collect the plans and arrays of all calls made inside the block, in order."""
    seen: list[tuple[Prepared, Sequence[Array]]] = []
    _observers.append(seen)
    try:
        yield seen
    finally:
        _observers.remove(seen)
