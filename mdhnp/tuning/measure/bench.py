"""What a worker process does: builds candidates, compares their results, times them. Others only compile.

Inputs are random arrays of the views' layouts, so a caller's data is never touched. Every candidate's result is
compared with the first schedule's before it is timed, by whole calls as users make them: those on a device's own memory
in a row, of which only the last is waited for. A machine that others use is now faster, now slower: so each candidate
takes turns with a fast one before it, and its time is what it would have been then. It must not know what is searched,
nor the cache.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from statistics import median
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from mdhnp.codegen import generate
from mdhnp.mdh import Argument, Computation, Stage, View, interleaved, put_indices
from mdhnp.runtime import resident
from mdhnp.runtime.devices import equal_devices
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.pending import LaunchError, synchronize
from mdhnp.runtime.programs import BuildError, build, load
from mdhnp.schedule import IllegalSchedule, Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning.cache.records import Measurement, Status
from mdhnp.tuning.measure.check import drawn, is_close, tolerance
from mdhnp.tuning.measure.objective import measured
from mdhnp.tuning.measure.turns import by_turns

Array = npt.NDArray[Any]

#: A candidate this much slower than the best so far is not run again: by its first run that is timed, and by the best
#: of its others.
_CUT_OFF, _HOPELESS = 1.5, 1.2
#: What candidates take turns with gives way to one that takes less than this part of its time.
_MUCH_FASTER = 0.5
#: Timed runs of a candidate: enough to fill this time, in seconds, and at most so many. On a device with memory of its
#: own short calls are made more often, in a row, so that it is awake.
_FILL, _MOST, _MOST_IN_A_ROW = 0.03, 25, 1000
#: A call there that takes less, in seconds, most of which is the wait for it, is judged by so many in a row.
_SHORT, _AWAKE = 1e-3, 20
#: A candidate whose first run takes longer, in seconds, is not run again.
_LONG = 0.2
#: Built candidates kept, so that finalists are not built again.
_KEPT = 64

#: This process's own.
_bench: "Bench | None" = None


@dataclass(frozen=True)
class TuningTask:
    """What to tune: a stage in canonical form, a device, and the schedule whose result counts as right.

    The device is named by its identity and its position among devices of the same.
    """

    mdhom: Computation
    device: str
    reference: Schedule
    seed: int = 0
    position: int = 0


def begin(kind: "Callable[[TuningTask, bool], Bench]", task: TuningTask, measures: bool) -> None:
    """Have this process, which does nothing else, measure or only compile."""
    global _bench  # noqa: PLW0603
    _bench = kind(task, measures)


def perform(method: str, *arguments: Any) -> Any:
    """Call a method of what :func:`begin` made."""
    return getattr(_bench, method)(*arguments)


def runs_after(first: float, *, in_a_row: bool) -> int:
    """How often a candidate is run again whose first run took that many seconds, by turns with another or in a row."""
    most = _MOST_IN_A_ROW if in_a_row else _MOST
    return 0 if first > _LONG else min(ceil(_FILL / max(first, 1e-9)), most)


class Bench:
    """One stage's program; where it `measures`, also arrays, right results, and timing."""

    def __init__(self, task: TuningTask, measures: bool = True) -> None:
        devices = equal_devices(task.device)
        if task.position >= len(devices):
            raise RuntimeError(f"no device {task.device}, number {task.position}, in a process that the tuner started")
        self.device = devices[task.position]
        self.h = task.mdhom
        self.stage, self.outputs = _stage(self.h)
        if not measures:
            return
        rng = np.random.default_rng(task.seed)
        # All addresses of a view, from the array's lowest to the highest one.
        self.inputs = [drawn(v.offset + v.elements(), v.dtype, rng) for v in self.h.inputs]
        if self.h.last is self.h:
            put_indices(self.h.last, [_seen(a, v) for a, v in zip(self.inputs, self.h.inputs, strict=True)], rng)
        #: What calls are made on: these arrays, or views of copies in the device's own memory.
        self._operands = self.inputs, self.outputs
        if self.device.own_memory:
            there = [[resident.upload(self.device, a) for a in arrays] for arrays in self._operands]
            self._operands = there[0], there[1]
        self._built: dict[Schedule, Executable] = {}
        self.right = [a.copy() for a in self._results(self._plan(task.reference))]
        self._limits = [tolerance(a) for a in self.right]
        #: Schedules that are built and ran well, which need not be compared again.
        self._checked = {task.reference}
        #: What candidates take turns with, and its time.
        self._other: tuple[Executable, float] | None = None

    def _plan(self, schedule: Schedule, binary: bytes | None = None) -> Executable:
        if schedule in self._built:
            return self._built[schedule]
        program = generate([self.stage], [schedule], self.device.caps, default)
        ready = None if binary is None else load(self.device, program.source, binary)  # noqa: F841 (the plan finds it)
        layouts = [Layout.of(a) for a in self.inputs], [Layout.of(a) for a in self.outputs]
        plan = Executable(self.device, program, *layouts, resident=self.device.own_memory, keep=False)
        if len(self._built) == _KEPT:
            oldest = next(iter(self._built))
            del self._built[oldest]
            self._checked.discard(oldest)
        self._built[schedule] = plan
        return plan

    def compile(self, schedule: Schedule) -> bytes | Measurement:
        """Generate and compile; every failure is an answer."""
        try:
            program = generate([self.stage], [schedule], self.device.caps, default)
            return bytes(build(self.device, program.source, keep=False).binaries[0])
        except (IllegalSchedule, BuildError, MemoryError) as error:
            return _failed(schedule, error)

    def measure(self, schedule: Schedule, best: float | None, binary: bytes | None = None) -> Measurement:
        """Build, if there is no binary, check, time; every failure is an answer."""
        try:
            plan = self._plan(schedule, binary)
            if schedule not in self._checked:
                # A first run also finishes what runtimes put off until then.
                if not all(map(is_close, self._results(plan), self.right, self._limits)):
                    return Measurement(schedule, None, "wrong", "the result differs from the default schedule's")
                self._checked.add(schedule)
            first = self._once(plan)
            if self.device.own_memory and first < _SHORT:
                first = self._in_a_row(plan, _AWAKE) / _AWAKE
            if best is not None and first > _CUT_OFF * best:
                first *= self._pace()
                if first > _CUT_OFF * best:
                    return Measurement(schedule, first, "slow", "cut off after its first run")
            runs = runs_after(first, in_a_row=self.device.own_memory)
            return Measurement(schedule, self._again(plan, runs, best) or first, "ok", "")
        except (IllegalSchedule, BuildError, LaunchError, MemoryError) as error:
            return _failed(schedule, error)

    def turns(self, schedules: Sequence[Schedule], rounds: int, seconds: float) -> list[list[float]]:
        """Give the seconds of a call by each schedule, as :func:`mdhnp.tuning.measure.turns.by_turns` does."""
        return by_turns([partial(self._in_a_row, self._plan(s)) for s in schedules], rounds, seconds)

    def measured(self, schedule: Schedule, wanted: Sequence[str], seconds: float) -> dict[str, float]:
        """Give all that an objective wants of a schedule that was measured, which takes so many seconds."""
        plan, size = self._plan(schedule), lambda: len(cast(bytes, self.compile(schedule)))
        return measured(wanted, self.device, seconds, partial(self._in_a_row, plan), size)

    def _again(self, plan: Executable, runs: int, best: float | None) -> float | None:
        """Time a plan by turns with another, in whose place it comes if it is found much faster; None for no runs."""
        if not runs:
            return None
        if self.device.own_memory:  # nobody else works there, and what is there stays
            return self._in_a_row(plan, runs) / runs
        times: list[float] = []
        while len(times) < runs and (best is None or min(times, default=0.0) < _HOPELESS * best):
            times.append(self._once(plan) * self._pace())
        seconds = median(times)
        # Replaced each time that one seems faster, all would seem ever faster.
        if self._other is None or (best is not None and seconds < _MUCH_FASTER * self._other[1]):
            self._other = plan, seconds
        return seconds

    def _pace(self) -> float:
        """How much faster the machine was when what candidates take turns with was timed, than it is now."""
        if self._other is None:
            return 1.0
        other, usual = self._other
        return usual / self._once(other)

    def _results(self, plan: Executable) -> list[Array]:
        """Run once, into memory without anything that looks right; what is given the next run replaces."""
        for output, target in zip(self.outputs, self._operands[1], strict=True):
            output.view(np.uint8).fill(0xA5)
            if plan.resident:
                resident.upload_into(self.device, output, target)
        self._in_a_row(plan, 1)
        if self.device.own_memory:
            return [resident.download(self.device, target) for target in self._operands[1]]
        return self.outputs

    def _once(self, plan: Executable) -> float:
        return self._in_a_row(plan, 1)

    def _in_a_row(self, plan: Executable, count: int) -> float:
        """Seconds of so many calls."""
        inputs, outputs = self._operands
        begin = time.perf_counter()
        for _ in range(count):
            plan(inputs, outputs)
        if plan.resident:
            synchronize(self.device)
        return time.perf_counter() - begin


def _failed(schedule: Schedule, error: Exception) -> Measurement:
    """Give the measurement of a schedule that did not compile, or did not run.

    One is illegal where its second kernel is, which only the generator sees.
    """
    known: dict[type[Exception], Status] = {IllegalSchedule: "illegal", BuildError: "build"}
    return Measurement(schedule, None, known.get(type(error), "crash"), str(error)[:500])


def _seen(flat: Array, v: View) -> Array:
    """All addresses of an array as its view sees them."""
    return np.ndarray(v.shape, v.dtype, flat, v.offset * v.dtype.itemsize, [s * v.dtype.itemsize for s in v.strides])


def _stage(h: Computation) -> tuple[Stage, list[Array]]:
    """Give the MDH as the only stage of a program, and arrays for its outputs."""
    arrays: list[Array] = []
    targets = []
    for n, view in enumerate(h.outputs):
        array = np.zeros(view.offset + view.elements(), view.dtype)
        if n and interleaved(h.outputs[n - 1], view):
            arrays[-1] = array
        else:
            arrays.append(array)
        targets.append(Argument("output", len(arrays) - 1))
    return Stage(h, tuple(Argument("input", n) for n in range(len(h.inputs))), tuple(targets)), arrays
