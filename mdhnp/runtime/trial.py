"""Tries matrix instructions of several subgroups once: the driver must take their PTX, and the result be right.

Takes a device with its capabilities, gives these without what does not work there, and why. Kernels then use the other
instructions.
"""

from dataclasses import replace

import numpy as np
import pyopencl as cl

from mdhnp.runtime import programs
from mdhnp.runtime.handle import Device
from mdhnp.schedule.atoms import ATOMS
from mdhnp.schedule.schedule import DeviceCaps

_ITEMS, _TERMS, _COLUMNS = 128, 8, 8
#: C = A B in tf32: item l of subgroup w has of A row 16 w + l / 4, term l % 4, then row + 8, then term + 4 of both;
#: of C it has columns 2 (l % 4) and the next, in the same rows.
_TEXT = """
__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void trial(__global float *c) {
  __local float b[64] __attribute__((aligned(16)));
  const int w = get_local_id(0), row = w / 32 * 16 + w % 32 / 4, term = w % 4;
  if (w < 64) b[w] = w / 32 * 4 + w % 4 - w % 32 / 4;
  asm volatile("//@ fence.proxy.async.shared::cta;" ::: "memory");
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint at = (uint)(size_t)b;
  const ulong matrix = ((at & 0x3fff0) >> 4) | (ulong)8 << 16 | (ulong)8 << 32;
  const uint a0 = as_uint((float)(row + term)), a1 = as_uint((float)(row + 8 + term));
  const uint a2 = as_uint((float)(row + term + 4)), a3 = as_uint((float)(row + 8 + term + 4));
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  asm volatile("//@ wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("//@ { .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 \
{%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, p, 1, 1; }"
    : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(matrix));
  asm volatile("//@ wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("//@ wgmma.wait_group.sync.aligned 0;" ::: "memory");
  const int place = row * 8 + term * 2;
  c[place] = s0; c[place + 1] = s1; c[place + 64] = s2; c[place + 65] = s3;
}
"""


def confirmed(device: Device, caps: DeviceCaps) -> tuple[DeviceCaps, str]:
    """Give the capabilities that a device has indeed, and why it has less than its architecture, if it has."""
    wide = {name for name in caps.atoms if ATOMS[name].wide}
    # A forked child has no kernels to choose instructions for.
    why = _failure(device) if wide and not device.lost else ""
    return (replace(caps, atoms=tuple([a for a in caps.atoms if a not in wide])), why) if why else (caps, "")


def _failure(device: Device) -> str:
    try:
        kernel = cl.Kernel(programs.build(device, _TEXT), "trial")
        found = np.zeros((64, _COLUMNS), np.float32)
        c = cl.Buffer(device.context, cl.mem_flags.WRITE_ONLY, found.nbytes)
        kernel.set_args(c)
        cl.enqueue_nd_range_kernel(device.queue, kernel, (_ITEMS,), (_ITEMS,))
        cl.enqueue_copy(device.queue, found, c)
    except (cl.Error, programs.BuildError) as error:
        return f"the driver refuses them: {str(error).splitlines()[0]}"
    rows, columns, terms = np.arange(64), np.arange(_COLUMNS), np.arange(_TERMS)
    wanted = (rows[:, None] + terms) @ (terms[:, None] - columns)
    return "" if np.array_equal(found, wanted) else "the first result was wrong"
