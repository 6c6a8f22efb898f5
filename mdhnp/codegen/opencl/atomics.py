"""OpenCL C text that combines values with elements of an array, each where an index says, by atomic operations.

Elements are of 4 bytes. What OpenCL C has no operation for is computed and then exchanged, unless another work-item
changed the element meanwhile; NVIDIA's GPUs add float32 by an instruction.
"""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl.counts import SHIFT, kernel
from mdhnp.codegen.opencl.ctypes import memory_type

_OPERATIONS = {"add": "atomic_add", "subtract": "atomic_sub", "maximum": "atomic_max", "minimum": "atomic_min"}
_FLOAT = {
    "add": "old + x", "subtract": "old - x", "maximum": "old >= x || old != old ? old : x",
    "minimum": "old <= x || old != old ? old : x",
}  # fmt: skip
_EXCHANGED = """\
static inline float result(float old, float x) {{ return {result}; }}
static inline void combine(volatile __global float *at, float x) {{
    volatile __global uint *bits = (volatile __global uint *)at;
    for (uint old = *bits;;) {{
        const uint new = as_uint(result(as_float(old), x)), found = new == old ? old : atomic_cmpxchg(bits, old, new);
        if (found == old)
            return;
        old = found;
    }}
}}
"""
_ADDED = """\
static inline void combine(volatile __global float *at, float x) {{
    asm volatile("red.global.add.f32 [%0], %1;" :: "l"(at), "f"({x}) : "memory");
}}
"""
_BODY = """\
    const int at = get_global_id(0);
    if (at < n) {{
        const INDEX index = indices[at / columns];
        combine(a + (size_t)({index}) * columns + at % columns, values[at]);
    }}
"""


def text(
    operation: str, dtype: "np.dtype[Any]", index: "np.dtype[Any]", items: int, *, nvidia: bool, offsets: bool
) -> str:
    """Give the text of ``combine_all``: `n` values, in rows of `columns`, with those of `count` rows of elements.

    Indices less than 0 count from the last row.
    """
    kind, signed = memory_type(dtype), index.kind == "i"
    if dtype.kind != "f":
        name = _OPERATIONS[operation]
        combine = f"static inline void combine(volatile __global {kind} *at, {kind} x) {{ {name}(at, x); }}\n"
    elif nvidia and operation in ("add", "subtract"):
        combine = _ADDED.format(x="x" if operation == "add" else "-x")
    else:
        combine = _EXCHANGED.format(result=_FLOAT[operation])
    body = _BODY.format(index="index < 0 ? index + count : index" if signed else "index")
    arrays = ["indices", "values", "a"]
    parameters = ["__global const INDEX *indices", f"__global const {kind} *values", f"__global {kind} *a"]
    head = f"#define INDEX {memory_type(index)}\n#define ITEMS {items}\n{SHIFT}"
    return (
        head + combine + kernel("combine_all", parameters, ["n", "columns", "count"], arrays if offsets else [], body)
    )
