"""What measures a machine: small calls in milliseconds, rates of large ones when first asked for, in some 100 ms.

Each part is measured once for a device and kept in the tuning cache, so that every process decides alike. Small calls,
which other work on the machine disturbs most, are so by the first few processes, of which the best numbers are kept.
"""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import numpy as np
import pyopencl as cl

from mdhnp.codegen.program import Kernel, Program
from mdhnp.cost import Machine, usual_numpy
from mdhnp.mdh.stages import Argument
from mdhnp.runtime.devices import Device
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.memory import DeviceBuffers
from mdhnp.tuning.cache import cache
from mdhnp.tuning.measure.check import timed

#: Bytes that the copying kernel reads, and writes again, on CPUs and GPUs: well over their caches.
_COPIED = {"cpu": 1 << 25, "gpu": 1 << 28}
#: Bytes of the two arrays that are copied to a device and back.
_SENT = (1 << 16, 1 << 24)
#: Independent sums of one work-item, how often each is added to, and work-groups of a compute unit.
_SUMS, _ROUNDS, _GROUPS = 10, {"cpu": 1 << 14, "gpu": 1 << 10}, 8

#: Seconds of launches: while a runtime's other threads are awake each takes twice as long, as for most of the first ms.
_AWAKE = 0.02

#: Processes that measure small calls.
_PROCESSES = 3

_TRIVIAL = Program(
    "__kernel void trivial(__global const float *x, __global float *y) { y[0] = x[0]; }",
    (Kernel("trivial", 1, 1, (Argument("input", 0), Argument("output", 0))),),
    (),
)

#: What of small calls is seconds; the rest is rates.
_TIMES = ("launch", "call")

_known: dict[tuple[str, str], dict[str, Any]] = {}


def machine_of(device: Device, *, large: bool = False) -> Machine:
    """Return what is known of a device and NumPy beside it; measures what is not.

    Rates of `large` calls are measured where they are wanted, else those that such devices usually have.
    """
    machine = replace(device.caps.machine, numpy=usual_numpy(os.cpu_count() or 1))
    for part in ("small", "device", "host") if large else ("small",):
        machine = machine.measured(_numbers(machine, device, part))
    return machine


def _numbers(machine: Machine, device: Device, part: str) -> dict[str, Any]:
    """Return a part of a machine's numbers, by their names; NumPy's on large arrays are the same for all devices."""
    key = ("" if part == "host" else device.identity, part)
    if key not in _known:
        record = cache().machine(device.identity)
        kept = record.get(part)
        try:
            if not kept:
                raise ValueError
            machine.measured(kept)
        except (AttributeError, OverflowError, TypeError, ValueError):  # nothing is known, or it is damaged
            kept = None
        _known[key] = _measured(device, part, kept, record.get("processes", 1))
    return _known[key]


def _measured(device: Device, part: str, kept: dict[str, Any] | None, processes: Any) -> dict[str, Any]:
    """Measure what is not known of a part, or, after few `processes`, may be better: less is other work's doing."""
    if kept and (part != "small" or not isinstance(processes, int) or processes >= _PROCESSES):
        return kept
    found = _MEASURES[part](device)
    better = _best(kept, found) if kept else found
    several = {"processes": processes + 1 if kept else 1} if part == "small" else {}
    cache().set_machine(device.identity, {**cache().machine(device.identity), part: better, **several})
    return better


def _best(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Give the shorter times of both, and the higher rates."""
    return {
        name: _best(one[name], each) if name == "numpy" else (min if name in _TIMES else max)(one[name], each)
        for name, each in other.items()
        if name in one
    }


def _rate(count: float, seconds: float) -> float:
    return count / seconds if seconds > 0 else inf


def _least(work: Callable[[], Any], runs: int = 20, fill: float = 0.0) -> float:
    """Return the seconds that three quarters of all runs take at least: of so many, or of those that fill a time."""
    work()
    times = sorted(timed(work, fill, runs, 1 << 12))
    return times[len(times) // 4]


def _measure_small(device: Device) -> dict[str, Any]:
    """Measure the smallest call by kernels, and NumPy's on arrays in the caches."""
    x, y = np.zeros(1, np.float32), np.zeros(1, np.float32)
    trivial = Executable(device, _TRIVIAL, [Layout.of(x)], [Layout.of(y)])
    tiny = np.ones((4, 4), np.float32)
    launch, call = _least(partial(trivial, [x], [y]), fill=_AWAKE), _least(partial(tiny.dot, tiny))
    rates = {"call": call}
    for name, dtype in (("loop", "float64"), *((f"loop_{t}", t) for t in ("float16", "complex64", "complex128"))):
        few = np.ones((24, 24), dtype)
        rates[name] = _rate(24**3, _least(partial(np.einsum, "ij,jk->ik", few, few)) - call)
    for name in ("float32", "float64"):
        square = np.ones((64, 64), name)
        rates[name] = _rate(64**3, _least(partial(square.dot, square)) - call)
    wide, few, right = (np.ones(shape, np.float32) for shape in ((256, 256), (16, 64), (256, 64)))
    rates["cache"] = _rate(wide.nbytes, _least(partial(wide.dot, wide[0])) - call)
    straight, along = _least(partial(few.dot, right.reshape(64, 256))), _least(partial(few.dot, right.T))
    rates["copying"] = _rate(right.nbytes, along - straight)
    return {"launch": launch, "numpy": rates}


def _measure_host(device: Device) -> dict[str, Any]:
    """Measure NumPy at sizes beyond the caches, which takes as long beside any device."""
    rates = {}
    for name, dtype, n in (("threads32", "float32", 512), ("threads64", "float64", 384)):
        square = np.ones((n, n), dtype)
        # The fastest of several: BLAS's threads wait long for a core that someone else uses.
        rates[name] = _rate(n**3, min(_least(partial(square.dot, square), 3) for _ in range(4)))
    large = np.ones(1 << 24, np.float32)  # of which even a third cache holds little
    rates["memory"] = _rate(large.nbytes, _least(partial(np.einsum, "a->", large), 4))
    block = large[: 1 << 22].reshape(1 << 5, 1 << 11, 1 << 6).transpose(2, 0, 1)
    rates["copying"] = _rate(block.nbytes, _least(partial(np.ascontiguousarray, block), 3))
    return {"numpy": rates}


def _measure_device(device: Device) -> dict[str, Any]:
    """Measure bandwidth and multiply-adds of kernels, and copies to a device with memory of its own."""
    if device.runtime == "oclgrind":  # a simulator, whose measurements would take minutes
        return {"memory": 1e7, "float32": 1e6, "float64": 1e6}
    names = ["float32", *(["float64"] if device.caps.fp64 else [])]
    kernels, copied = _kernels(device, names)
    x, y = np.ones(1, np.float32), np.zeros(1, np.float32)
    _, copying, *adding = Executable(device, kernels, [Layout.of(x)], [Layout.of(y)]).profile([x], [y])
    count = _work_items(device) * _SUMS * _ROUNDS[device.kind]
    rates = {name: count * _lanes(device, name) / took for name, took in zip(names, adding, strict=True)}
    return {"memory": 2 * copied / copying, **rates, **({} if device.kind == "cpu" else _links(device))}


def _lanes(device: Device, name: str) -> int:
    return 1 if device.kind == "gpu" else min(max(device.caps.vector_bytes // np.dtype(name).itemsize, 2), 16)


def _work_items(device: Device) -> int:
    return device.caps.compute_units * _GROUPS * _group(device)


def _group(device: Device) -> int:
    return min(256, device.caps.max_work_group) if device.kind == "gpu" else 1


def _kernels(device: Device, names: list[str]) -> tuple[Program, int]:
    """Return kernels that copy one temporary to another, and add products in registers; and the bytes copied."""
    copied = min(_COPIED[device.kind], device.caps.max_allocation // 4)
    items = copied // 16
    if device.kind == "gpu":
        copy = "size_t i = get_global_id(0); y[i] = x[i];"
        launched, local = items, _group(device)
    else:  # one work-item a work-group walks through a part
        launched, local = device.caps.compute_units * _GROUPS, 1
        part = items // launched
        copy = f"size_t at = get_global_id(0) * {part}; for (size_t i = at; i < at + {part}; i++) y[i] = x[i];"
        items = part * launched
    source = ["#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" if "float64" in names else ""]
    # Memory that was never written may not be there yet, so that reading it takes no time.
    for name, body in (("fill", copy.replace("x[i]", "x[0]")), ("copy", copy)):
        source.append(f"__kernel void {name}(__global const float4 *x, __global float4 *y) {{ {body} }}\n")
    first, second = Argument("temporary", 0), Argument("temporary", 1)
    started = launched // local * local
    kernels = [Kernel("fill", started, local, (second, first)), Kernel("copy", started, local, (first, second))]
    for name in names:
        scalar = "float" if name == "float32" else "double"
        lanes = _lanes(device, name)
        typed = scalar if lanes == 1 else f"{scalar}{lanes}"
        sums = range(_SUMS)
        steps = " ".join(f"s{n} = mad(s{n}, a, b);" for n in sums)
        total = " + ".join(f"s{n}" for n in sums)
        source.append(
            f"__kernel void add_{name}(__global const float *x, __global {typed} *y) {{\n"
            f"  {typed} a = ({typed})(x[0]), b = a * ({scalar})0.5, {', '.join(f's{n} = a + {n}' for n in sums)};\n"
            f"  for (int i = 0; i < {_ROUNDS[device.kind]}; i++) {{ {steps} }}\n"
            f"  y[get_global_id(0)] = {total};\n}}\n"
        )
        stored = (Argument("input", 0), Argument("temporary", 1))
        kernels.append(Kernel(f"add_{name}", _work_items(device), _group(device), stored))
    return Program("".join(source), tuple(kernels), (copied, copied)), items * 16


def _links(device: Device) -> dict[str, list[float]]:
    """Copy arrays of two sizes as calls do."""
    times: dict[str, list[float]] = {"sending": [], "receiving": []}
    for size in _SENT:
        x, y = np.ones(size, np.uint8), np.ones(size, np.uint8)
        memory = DeviceBuffers(device, [Layout.of(x)], [Layout.of(y)], ())
        sent, received = [], []
        for _ in range(4):
            begin = time.perf_counter()
            bound = memory.bind([x], [y])
            device.queue.finish()
            middle = time.perf_counter()
            event = cl.enqueue_marker(device.queue)
            memory.complete(event, bound, [y])
            sent.append(middle - begin)
            received.append(time.perf_counter() - middle)
        times["sending"].append(min(sent[1:]))
        times["receiving"].append(min(received[1:]))
    return {name: _link(*both) for name, both in times.items()}


def _link(small: float, large: float) -> list[float]:
    """Return the seconds until the first byte, and bytes a second, from the times of two sizes."""
    bandwidth = _rate(_SENT[1] - _SENT[0], large - small)
    return [max(small - _SENT[0] / bandwidth, 0.0), bandwidth]


_MEASURES: dict[str, Callable[[Device], dict[str, Any]]] = {
    "small": _measure_small, "device": _measure_device, "host": _measure_host,
}  # fmt: skip
