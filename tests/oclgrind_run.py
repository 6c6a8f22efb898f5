"""Runs the kernels that are named on Oclgrind, in whose environment `test_oclgrind.py` starts it; prints JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
from chains import random_chain, random_stream
from kernels import KERNELS, TEXTS
from random_functions import Seeded
from rows import random_rows
from schedules import CAPS, schedule
from strategies import Array, case

from mdhnp.codegen import Program, generate
from mdhnp.codegen.program import Kernel
from mdhnp.mdh import MdHom, canonical, interpret, stages
from mdhnp.mdh.stages import Argument
from mdhnp.runtime.devices import find_device
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.programs import build
from mdhnp.schedule.default import default

LOG = Path(os.environ["OCLGRIND_LOG"])

_HEAD = "__kernel __attribute__((reqd_work_group_size(4, 1, 1))) void mdh_0(__global const int *x, __global int *y) {\n"
BROKEN = {
    "broken bounds": "int i = get_global_id(0); y[i] = x[i + 1]; }",
    "broken race": "__local int s[4]; int i = get_local_id(0); s[i] = x[i]; y[i] = s[(i + 1) % 4]; }",
    "broken uninitialised": "__local int s[4]; int i = get_local_id(0); y[i] = s[i]; }",
    "broken barrier": "int i = get_local_id(0); if (i < 2) { barrier(CLK_LOCAL_MEM_FENCE); } y[i] = x[i]; }",
}

#: Random fused steps, by kind.
FUSED: dict[str, Any] = {"chain": random_chain, "rows": random_rows, "stream": random_stream}


def run(program: Program, arrays: Sequence[Array], outputs: Sequence[Array]) -> str:
    """Run a program; give what Oclgrind logged.

    Not with a :class:`mdhnp.runtime.Executable`, which lays buffers over the host's memory: Oclgrind does not see that
    it is initialised. Outputs and temporaries hold garbage, which would make results wrong, rather than count as
    uninitialised: Oclgrind 21.10 forgets some of the bytes that an earlier kernel wrote.
    """
    before = LOG.stat().st_size
    device = find_device("oclgrind")
    built, queue = build(device, program.source, keep=False), cl.CommandQueue(device.context)
    size = {"input": [Layout.of(a).nbytes for a in arrays], "output": [o.nbytes for o in outputs]}
    size["temporary"] = list(program.temporaries)
    memory = {
        role: [cl.Buffer(device.context, cl.mem_flags.READ_WRITE, n) for n in sizes] for role, sizes in size.items()
    }
    memory["size"] = [np.int32(n) for n in program.sizes]
    for array, buffer in zip(arrays, memory["input"], strict=True):
        cl.enqueue_copy(queue, buffer, np.frombuffer(Layout.of(array).bytes_of(array), np.uint8))
    for buffer in (*memory["temporary"], *memory["output"]):
        cl.enqueue_copy(queue, buffer, np.full(buffer.size, 0x5A, np.uint8))
    for step in program.kernels:
        kernel = cl.Kernel(built, step.name)
        kernel(queue, (step.global_size,), (step.local_size,), *(memory[a.role][a.position] for a in step.arguments))
    for array, buffer in zip(outputs, memory["output"], strict=True):
        cl.enqueue_copy(queue, array, buffer)
    with LOG.open() as log:
        log.seek(before)
        return log.read()


def compare(h: MdHom, arrays: Sequence[Array], program: Program) -> dict[str, object]:
    """Run a program and compare it with the interpreter."""
    outputs = [np.full(v.shape, 77).astype(v.dtype) for v in h.outputs]
    log = run(program, arrays, outputs)
    wanted = interpret(h, *arrays)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    return {"log": log, "right": all(np.array_equal(g, w) for g, w in zip(outputs, wanted, strict=True))}


def check(name: str) -> dict[str, object]:
    """Give what Oclgrind logs of a kernel with that name, and whether its result is right."""
    if name in BROKEN:
        return {"log": small(BROKEN[name])}
    if name in KERNELS:
        named = KERNELS[name]
        return compare(named.mdhom(), named.arrays(), named.program())
    if name in TEXTS:
        text, meant = TEXTS[name]
        return compare(meant.mdhom(), text.arrays(), text.program())
    kind, number = name.split()
    picker = Seeded(int(number))
    if kind == "random":
        one = case(picker, points=200)
        steps = [replace(s, mdhom=canonical(s.mdhom)) for s in stages(one.mdhom)]
        used = [schedule(picker, s.mdhom) for s in steps]
        program = generate(steps, used, CAPS, lambda h, caps: schedule(picker, h, caps))
        return compare(one.mdhom, one.arrays, program)
    made, arrays, *drawn = FUSED[kind](picker, 12)
    s = drawn[0] if drawn else schedule(picker, made)
    return compare(made, arrays, generate(stages(made), [s], CAPS, default))


def small(body: str) -> str:
    """Run a kernel of four work-items; give what Oclgrind logged."""
    x = np.arange(4, dtype=np.int32)
    kernel = Kernel("mdh_0", 4, 4, (Argument("input", 0), Argument("output", 0)))
    return run(Program(_HEAD + body, (kernel,), ()), [x], [np.empty_like(x)])


LOG.touch()
small("y[get_local_id(0)] = x[get_local_id(0)]; }")  # listing devices is noted as misuse
print(json.dumps({name: check(name) for name in sys.argv[1:]}))
