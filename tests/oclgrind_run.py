"""Runs kernels on Oclgrind and prints a JSON report; `test_oclgrind.py` starts it with Oclgrind's environment."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

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


def main(count: int, chains: int) -> None:
    """Run everything."""
    LOG.touch()
    x = np.arange(4, dtype=np.int32)

    def small(body: str) -> str:
        kernel = Kernel("mdh_0", 4, 4, (Argument("input", 0), Argument("output", 0)))
        return run(Program(_HEAD + body, (kernel,), ()), [x], [np.empty_like(x)])

    # Listing devices is noted as misuse.
    small("y[get_local_id(0)] = x[get_local_id(0)]; }")
    report: dict[str, dict[str, object]] = {name: {"log": small(body)} for name, body in BROKEN.items()}
    for name, named in KERNELS.items():
        report[name] = compare(named.mdhom(), named.arrays(), named.program())
    for name, (text, meant) in TEXTS.items():
        report[name] = compare(meant.mdhom(), text.arrays(), text.program())
    for number in range(count):
        picker = Seeded(number)
        drawn = case(picker, points=200)
        steps = [replace(s, mdhom=canonical(s.mdhom)) for s in stages(drawn.mdhom)]
        used = [schedule(picker, s.mdhom) for s in steps]
        program = generate(steps, used, CAPS, lambda h, caps, picker=picker: schedule(picker, h, caps))  # type: ignore[misc]
        report[f"random {number}"] = compare(drawn.mdhom, drawn.arrays, program)
    for kind, drawn_chain in (("chain", random_chain), ("rows", random_rows), ("stream", random_stream)):
        for number in range(chains):
            picker = Seeded(number)
            made, arrays, *drawn = drawn_chain(picker, 12)
            s = drawn[0] if drawn else schedule(picker, made)
            report[f"{kind} {number}"] = compare(made, arrays, generate(stages(made), [s], CAPS, default))
    print(json.dumps(report))


main(int(sys.argv[1]), int(sys.argv[2]))
