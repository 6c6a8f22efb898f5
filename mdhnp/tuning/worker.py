"""A process of its own that builds and times candidates: what crashes or hangs there harms nobody.

The parent sends one stage (:class:`Task`) and then schedules; the worker answers each with a :class:`Measurement`.
Inputs are random arrays of the views' layouts, so a caller's data is never touched. Every candidate's result is
compared with the first schedule's before it is timed.
"""

import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from mdhnp.codegen import generate
from mdhnp.mdh import Argument, MdHom, Stage, View
from mdhnp.runtime.devices import devices
from mdhnp.runtime.memory import Layout
from mdhnp.runtime.plan import LaunchError, Plan
from mdhnp.runtime.programs import BuildError
from mdhnp.schedule import Schedule
from mdhnp.schedule.default import default
from mdhnp.tuning.cache import Measurement

__all__ = ["Task", "Worker"]

Array = npt.NDArray[Any]

#: A candidate this much slower than the best so far is not run again.
_CUT_OFF = 1.5
#: Runs of a candidate: enough to fill this time, within these counts.
_FILL, _FEWEST, _MOST = 0.03, 3, 25
#: Built candidates kept, so that finalists are not built again.
_KEPT = 64


@dataclass(frozen=True)
class Task:
    """What to tune: a stage in canonical form, the device's identity, and the schedule whose result counts as right."""

    mdhom: MdHom
    device: str
    reference: Schedule
    seed: int = 0


class Worker:
    """Measures candidates in another process; started anew after a crash or a hang.

    Parameters
    ----------
    task : Task
        The stage and device.
    limit : float
        Seconds that one candidate may take to build and run before the worker is ended.
    """

    def __init__(self, task: Task, limit: float = 20.0) -> None:
        self._task, self._limit = task, limit
        self._process: Any = None
        self._pipe: Connection | None = None

    def measure(self, schedule: Schedule, best: float | None) -> Measurement:
        """Build, check and time one schedule; `best` is the fastest so far in seconds."""
        try:
            pipe = self._started()
            pipe.send((schedule, best))
            if not pipe.poll(self._limit):
                self.close()
                return Measurement(schedule, None, "hang", f"no result within {self._limit:g} s")
            answer = pipe.recv()
        except (EOFError, OSError) as error:
            self.close()
            return Measurement(schedule, None, "crash", f"the measuring process died: {error}")
        assert isinstance(answer, Measurement)
        return answer

    def _started(self) -> Connection:
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, self._task), daemon=True)
            self._process.start()
            theirs.close()
            if not self._pipe.poll(max(self._limit, 30.0)):
                self.close()
                raise OSError("the measuring process did not start")
            error = self._pipe.recv()
            if error is not None:
                self.close()
                raise OSError(error)
        return self._pipe

    def close(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _serve(pipe: Connection, task: Task) -> None:
    """The worker's loop, until the parent closes the pipe."""
    try:
        bench = _Bench(task)
    except Exception as error:  # whatever keeps the reference from running ends this worker, and is told
        pipe.send(f"{type(error).__name__}: {error}")
        return
    pipe.send(None)
    while True:
        try:
            schedule, best = pipe.recv()
        except EOFError:
            return
        pipe.send(bench.measure(schedule, best))


class _Bench:
    """One stage's arrays, its right results, and timing."""

    def __init__(self, task: Task) -> None:
        self.device = next(d for d in devices() if d.identity == task.device)
        self.h = task.mdhom
        rng = np.random.default_rng(task.seed)
        self.inputs = [_filled(v, self.h.extents, rng) for v in self.h.inputs]
        self.outputs = [np.zeros(v.elements(), v.dtype) for v in self.h.outputs]
        self.stage = Stage(self.h, _all("input", self.h.inputs), _all("output", self.h.outputs))
        self._built: dict[Schedule, Plan] = {}
        plan = self._plan(task.reference)
        plan(self.inputs, self.outputs)
        self.right = [o.copy() for o in self.outputs]

    def _plan(self, schedule: Schedule) -> Plan:
        if schedule in self._built:
            return self._built[schedule]
        program = generate([self.stage], [schedule], self.device.caps, default)
        layouts = [Layout.of(a) for a in self.inputs], [Layout.of(a) for a in self.outputs]
        plan = Plan(self.device, program, *layouts, keep=False)
        if len(self._built) == _KEPT:
            del self._built[next(iter(self._built))]
        self._built[schedule] = plan
        return plan

    def measure(self, schedule: Schedule, best: float | None) -> Measurement:
        """Build, check, time; every failure is an answer."""
        try:
            plan = self._plan(schedule)
        except (BuildError, LaunchError, MemoryError) as error:
            return Measurement(schedule, None, "build", str(error)[:500])
        for output in self.outputs:
            output.view(np.uint8).fill(0xA5)
        try:
            plan(self.inputs, self.outputs)
            if not all(_close(a, b) for a, b in zip(self.outputs, self.right, strict=True)):
                return Measurement(schedule, None, "wrong", "the result differs from the default schedule's")
            first = self._once(plan)
            if best is not None and first > _CUT_OFF * best:
                return Measurement(schedule, first, "slow", "cut off after its first run")
            runs = min(max(round(_FILL / first), _FEWEST), _MOST)
            return Measurement(schedule, median([self._once(plan) for _ in range(runs)]), "ok", "")
        except (LaunchError, MemoryError) as error:
            return Measurement(schedule, None, "crash", str(error)[:500])

    def _once(self, plan: Plan) -> float:
        """Seconds of one run: the whole launch where kernels work on the host's memory, else the kernels alone."""
        if not self.device.svm:
            return sum(plan.profile(self.inputs, self.outputs, repeats=1))
        begin = time.perf_counter()
        plan(self.inputs, self.outputs)
        return time.perf_counter() - begin


def _all(role: Any, views: Sequence[View]) -> tuple[Argument, ...]:
    return tuple(Argument(role, n) for n in range(len(views)))


def _filled(view: View, extents: Sequence[int], rng: np.random.Generator) -> Array:
    """Random elements for all addresses the view reaches, from the lowest on."""
    count = view.elements()
    if view.boundary is None:
        count = 1 + max(view.linear(access).span(extents)[1] for access in view.accesses)
    if view.dtype.kind == "f":
        return rng.random(count, np.float32).astype(view.dtype) - view.dtype.type(0.5)
    if view.dtype.kind == "b":
        return rng.random(count) < 0.5
    return rng.integers(0, 100, count).astype(view.dtype)


def _close(a: Array, b: Array) -> bool:
    """Equal, or for floats equal up to another order of summation."""
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    size = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
    tolerance = size * (1e-3 if a.dtype.itemsize == 4 else 1e-10)
    return bool(np.allclose(a, b, rtol=0.0, atol=tolerance, equal_nan=True))
