"""The program that combines values with elements of an array, each where an index says, by atomic operations.

Elements are of 4 bytes. What OpenCL C has no operation for is computed and then exchanged, unless another work-item
changed the element meanwhile; NVIDIA's GPUs add floats by an instruction, also of 8 bytes, newer ones four float32 at
once.
"""

from typing import Any

import numpy as np

from mdhnp.codegen.opencl.ctypes import memory_type
from mdhnp.codegen.opencl.handwritten import given, of_each
from mdhnp.codegen.program import Program
from mdhnp.schedule.schedule import DeviceCaps

#: Neighbours that one instruction adds.
_WIDE = 4

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
static inline void combine(volatile __global {kind} *at, {kind} x) {{
    asm volatile("red.global.add.{type} [%0], %1;" :: "l"(at), "{register}"({x}) : "memory");
}}
"""
#: Four neighbours where they lie at multiples of their size, as those of all rows do if those of one do.
_FOUR_ADDED = """\
static inline void combine_some(volatile __global float *at, __global const float *x) {{
    if (((size_t)at & 15) != 0 || ((size_t)x & 15) != 0) {{
        combine(at, x[0]); combine(at + 1, x[1]); combine(at + 2, x[2]); combine(at + 3, x[3]);
        return;
    }}
    const float4 v = {sign}*(__global const float4 *)x;
    asm volatile("red.global.add.v4.f32 [%0], {{%1, %2, %3, %4}};"
                 :: "l"(at), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}}
"""
_ONE = """\
static inline void combine_some(volatile __global {kind} *at, __global const {kind} *x) {{ combine(at, *x); }}
"""
_BODY = """\
    const int at = get_global_id(0) * {each};
    if (at < n) {{
        const INDEX index = indices[at / columns];
        combine_some(a + (size_t)({index}) * columns + at % columns, values + at);
    }}
"""


def combining(
    operation: str, dtype: "np.dtype[Any]", index: "np.dtype[Any]", shape: tuple[int, int, int], caps: DeviceCaps
) -> Program:
    """Give the program for so many indices, columns of each row, and rows of the array that is changed.

    The inputs are indices and values, one for each of their columns; the output is the array, all in C order. There are
    at most 2^31 - 1 values, and rows. Indices less than 0 count from the last row.
    """
    number, columns, rows = shape
    kind, added, adds = memory_type(dtype), operation == "add", operation in ("add", "subtract")
    if dtype.kind != "f":
        name = _OPERATIONS[operation]
        combine = f"static inline void combine(volatile __global {kind} *at, {kind} x) {{ {name}(at, x); }}\n"
    elif caps.subgroup and adds:  # only NVIDIA's GPUs are known to have subgroups
        register, name = ("d", "f64") if dtype.itemsize == 8 else ("f", "f32")
        combine = _ADDED.format(kind=kind, type=name, register=register, x="x" if added else "-x")
    else:
        combine = _EXCHANGED.format(result=_FLOAT[operation])
    wide = caps.wide_atomics and dtype == np.float32 and adds and columns % _WIDE == 0
    combine += _FOUR_ADDED.format(sign="" if added else "-") if wide else _ONE.format(kind=kind)
    each = _WIDE if wide else 1
    body = _BODY.format(index="index < 0 ? index + count : index" if index.kind == "i" else "index", each=each)
    arrays = given(["const INDEX *indices", f"const {kind} *values"], [f"{kind} *a"])
    sizes, results = {"n": number * columns, "columns": columns, "count": rows}, number * columns // each
    return of_each("combine_all", arrays, sizes, body, results, caps, text=combine, INDEX=memory_type(index))
