"""What a worker process does: builds candidates, compares their results, times them. Others only compile.

Inputs are random arrays of the views' layouts, so a caller's data is never touched. Every candidate's result is
compared with the first schedule's before it is timed. A machine that others use is now faster, now slower: so each
candidate takes turns with a fast one before it, and its time is what it would have been then. It must not know what is
searched, nor the cache.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.codegen import generate
from mdhnp.mdh import Argument, Computation, Stage, interleaved
from mdhnp.runtime.devices import equal_devices
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.pending import LaunchError
from mdhnp.runtime.programs import BuildError, build, load
from mdhnp.schedule import IllegalSchedule, Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning.cache.records import Measurement
from mdhnp.tuning.measure.check import drawn, is_close

Array = npt.NDArray[Any]

#: A candidate this much slower than the best so far is not run again.
_CUT_OFF = 1.5
#: What candidates take turns with gives way to one that takes less than this part of its time.
_MUCH_FASTER = 0.5
#: Timed runs of a candidate: enough to fill this time, within these counts. A device with a clock of its own runs short
#: kernels more often, so that it is awake and the least time is not chance.
_FILL, _FEWEST, _MOST, _MOST_ALONE = 0.03, 3, 25, 1000
#: A run that takes less, in seconds, on a device with a clock of its own is judged by the least of so many in a row.
_SHORT, _AWAKE = 1e-3, 20
#: A run that takes longer, in seconds, is precise enough alone.
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


def runs_after(first: float, *, by_turns: bool) -> int:
    """How often a candidate is run again whose first run took that many seconds, by turns with another or alone."""
    most = _MOST if by_turns else _MOST_ALONE
    return 0 if first > _LONG else min(max(round(_FILL / max(first, 1e-9)), _FEWEST), most)


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
        self._built: dict[Schedule, Executable] = {}
        plan = self._plan(task.reference)
        plan(self.inputs, self.outputs)
        self.right = [o.copy() for o in self.outputs]
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
        plan = Executable(self.device, program, *layouts, keep=False)
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
        except IllegalSchedule as error:  # of a second kernel, which only the generator sees
            return Measurement(schedule, None, "illegal", str(error)[:500])
        except BuildError as error:
            return Measurement(schedule, None, "build", str(error)[:500])
        except MemoryError as error:
            return Measurement(schedule, None, "crash", str(error)[:500])

    def measure(self, schedule: Schedule, best: float | None, binary: bytes | None = None) -> Measurement:
        """Build, if there is no binary, check, time; every failure is an answer."""
        try:
            plan = self._plan(schedule, binary)
        except IllegalSchedule as error:  # of a second kernel, which only the generator sees
            return Measurement(schedule, None, "illegal", str(error)[:500])
        except (BuildError, LaunchError, MemoryError) as error:
            return Measurement(schedule, None, "build", str(error)[:500])
        try:
            if schedule not in self._checked:
                if not self._is_right(plan):
                    return Measurement(schedule, None, "wrong", "the result differs from the default schedule's")
                self._checked.add(schedule)
            first = self._once(plan)
            if not self.device.svm and first < _SHORT:  # a device at rest takes longer for the first, whatever it is
                first = self._alone(plan, _AWAKE)
            if best is not None and first > _CUT_OFF * best:
                first *= self._pace()
                if first > _CUT_OFF * best:
                    return Measurement(schedule, first, "slow", "cut off after its first run")
            runs = runs_after(first, by_turns=self.device.svm)
            seconds = self._by_turns(plan, runs, searching=best is not None)
            return Measurement(schedule, seconds or first, "ok", "")
        except (LaunchError, MemoryError) as error:
            return Measurement(schedule, None, "crash", str(error)[:500])

    def _by_turns(self, plan: Executable, runs: int, *, searching: bool) -> float | None:
        """Time a plan by turns with another, in whose place it comes if it is found much faster; None for no runs."""
        if not runs:
            return None
        if not self.device.svm:  # it has a clock of its own and nobody else's work; arrays are copied to it once
            return self._alone(plan, runs)
        seconds = median(self._once(plan) * self._pace() for _ in range(runs))
        # Replaced each time that one seems faster, all would seem ever faster.
        if self._other is None or (searching and seconds < _MUCH_FASTER * self._other[1]):
            self._other = plan, seconds
        return seconds

    def _alone(self, plan: Executable, runs: int) -> float:
        """Seconds of the kernels by the device's own clock, each the least of so many runs in a row."""
        return sum(plan.profile(self.inputs, self.outputs, repeats=runs))

    def _pace(self) -> float:
        """How much faster the machine was when what candidates take turns with was timed, than it is now."""
        if self._other is None:
            return 1.0
        other, usual = self._other
        return usual / self._once(other)

    def _is_right(self, plan: Executable) -> bool:
        """Run once, which also finishes what runtimes put off until a kernel's first run, and compare."""
        for output in self.outputs:
            output.view(np.uint8).fill(0xA5)
        plan(self.inputs, self.outputs)
        return all(map(is_close, self.outputs, self.right))

    def _once(self, plan: Executable) -> float:
        """Seconds of one run: the whole launch where kernels work on the host's memory, else the kernels alone."""
        if not self.device.svm:
            return self._alone(plan, 1)
        begin = time.perf_counter()
        plan(self.inputs, self.outputs)
        return time.perf_counter() - begin


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
