"""Where the time of a small repeat call goes: all of it, the bare launch in it, and the steps of our Python between.

Takes a device; gives microseconds. The only benchmark that looks inside a plan: the bare launch is its own kernel,
arguments already set, enqueued and waited for.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import pyopencl as cl

import mdhnp
from mdhnp.calls import loading, store
from mdhnp.calls.observe import observe
from mdhnp.calls.plans import Kernels
from mdhnp.frontend.einsum import _EINSUM

__all__ = ["Overhead", "measure", "table"]


@dataclass(frozen=True)
class Overhead:
    """Microseconds a call, least and median of many.

    Attributes
    ----------
    call, launch : (float, float)
        ``mdhnp.einsum`` as a whole, and enqueue and wait alone.
    numpy : (float, float)
        ``np.einsum`` of the same.
    steps : dict of str to float
        Least time of every step of the call outside of the launch, measured alone.
    """

    size: int
    call: tuple[float, float]
    launch: tuple[float, float]
    numpy: tuple[float, float]
    steps: dict[str, float]

    @property
    def python(self) -> tuple[float, float]:
        """Call less launch."""
        return self.call[0] - self.launch[0], self.call[1] - self.launch[1]


def measure(device: Any, size: int = 64, rounds: int = 200, batch: int = 50) -> Overhead:
    """Measure ``einsum("ij,jk->ik")`` of two `size` × `size` matrices.

    Parameters
    ----------
    device : Device
        Where to run.
    size : int
        Rows and columns.
    rounds, batch : int
        Calls and launches take turns, `rounds` times, `batch` at once; each is timed on its own.
    """
    a = np.random.default_rng(1).random((size, size), np.float32)
    b = a[::-1].copy()
    with mdhnp.device(device), mdhnp.config(host="never"):
        with observe() as seen:
            mdhnp.einsum("ij,jk->ik", a, b)
        plan, arrays = seen[0]
        assert isinstance(plan, Kernels)
        state = plan.executable._new_state()
        outputs = plan.make()
        queue, enqueue = device.queue, cl.enqueue_nd_range_kernel
        given = tuple(arrays)
        bound = state.bind(given, outputs)
        assert not state.memory.transient and len(state.launches) == 1
        launch = state.launches[0]
        result = next((index, bound.arguments[slot]) for index, slot in launch.bindings if slot == len(given))

        def bare() -> None:
            enqueue(queue, launch.kernel, launch.global_size, launch.local_size).wait()

        calls: tuple[Callable[[], Any], ...] = (
            lambda: mdhnp.einsum("ij,jk->ik", a, b),
            bare,
            lambda: np.einsum("ij,jk->ik", a, b),
        )
        taken: list[list[int]] = [[], [], []]
        clock = time.perf_counter_ns
        for _ in range(rounds):
            for call, times in zip(calls, taken, strict=True):
                call()
                for _ in range(batch):
                    begin = clock()
                    call()
                    times.append(clock() - begin)
        known, place, mode = (_EINSUM, "ij,jk->ik", "auto"), loading.devices(), mdhnp.config.mode
        assert store.find(store.entries, known, place, mode, given) is not None
        steps = {
            "plan looked up": _least(lambda: store.find(store.entries, known, place, mode, given)),
            "result allocated": _least(plan.make),
            "result's argument set": _least(lambda: launch.set_arg(*result)),
        }
    found = [(min(times) / 1000, median(times) / 1000) for times in taken]
    return Overhead(size, found[0], found[1], found[2], steps)


def _least(step: Callable[[], Any], rounds: int = 200, batch: int = 50) -> float:
    """Give microseconds of a step, the least mean of a batch."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        for _ in range(batch):
            step()
        best = min(best, (time.perf_counter_ns() - begin) / batch)
    return best / 1000


def table(found: Sequence[tuple[str, Overhead]]) -> tuple[list[str], list[list[str]]]:
    """Give header and lines of text, from devices' names and what was found there."""
    lines = [
        [title, *("{:.1f} / {:.1f}".format(*of(each)) for _, each in found)]
        for title, of in (
            ("mdhnp.einsum, whole call", lambda each: each.call),
            ("bare launch: enqueue and wait", lambda each: each.launch),
            ("our Python: the difference", lambda each: each.python),
            ("np.einsum, whole call", lambda each: each.numpy),
        )
    ]
    for step in found[0][1].steps:
        lines.insert(-1, [f"… {step}", *(f"{each.steps[step]:.2f}" for _, each in found)])
    return ["", *(f"{spec}, {each.size} × {each.size}" for spec, each in found)], lines
