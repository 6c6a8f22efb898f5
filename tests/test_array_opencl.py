"""Arrays beside one's own OpenCL code: buffers and pyopencl's arrays as Arrays, and Arrays in kernels of one's own."""

import gc
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pyopencl.cltypes as cl_types
import pyopencl.tools as cl_tools
import pytest
from arrays import filled, same

import mdhnp
from mdhnp.runtime.devices import Device

pytestmark = pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")  # PoCL says something of every kernel

A = filled((4, 6))
SOURCE = """
__kernel void twice(__global const float *a, __global float *b, int from, int to, int turns) {
  float x = a[from + get_global_id(0)];
  for (int n = 0; n < turns; ++n) x = fma(x, 1.0f, 0.0f);
  b[to + get_global_id(0)] = 2 * x;
}
"""


@cache
def twice(context: cl.Context) -> cl.Kernel:
    """Give a kernel that doubles numbers, after some turns of doing nothing."""
    return cl.Kernel(cl.Program(context, SOURCE).build(), "twice")


def own_buffer(where: Device, elements: Any = A) -> cl.Buffer:
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(where.context, flags, hostbuf=np.ascontiguousarray(elements))


def read(buffer: cl.Buffer, queue: cl.CommandQueue) -> Any:
    found = np.empty(A.shape, A.dtype)
    cl.enqueue_copy(queue, found, buffer)
    return found


# Buffers as Arrays.


def test_a_buffer_is_an_array_without_a_copy(where: Device) -> None:
    buffer = own_buffer(where)
    a = mdhnp.from_buffer(buffer, A.shape, A.dtype)
    same(a, A)
    assert a.device is where
    a[1] = -1
    expected = A.copy()
    expected[1] = -1
    same(a, expected)
    if not where.own_memory:  # a copy, that of the host
        np.testing.assert_array_equal(read(buffer, where.queue), A)
        return
    assert a.buffer.int_ptr == buffer.int_ptr
    np.testing.assert_array_equal(read(buffer, where.queue), expected)
    cl.enqueue_copy(where.queue, buffer, np.zeros_like(A))
    same(a, np.zeros_like(A))  # although it was read before
    same(a @ A.T, np.zeros((4, 4), np.float32))


def test_a_buffer_lives_as_long_as_it_is_seen(where: Device) -> None:
    a = mdhnp.from_buffer(own_buffer(where), A.shape, A.dtype)
    part = a[::2].T
    del a
    gc.collect()
    others = [own_buffer(where, np.full_like(A, 9)) for _ in range(5)]
    same(part, A[::2].T)
    assert len(others) == 5


@pytest.mark.parametrize(
    ("shape", "offset", "strides"),
    [((4, 6), 0, None), (5, 8, None), ((3, 2), 4, (24, 8)), ((4,), 72, (-24,)), ((), 12, None), ((0, 3), 0, None),
     ((2, 3), 0, (0, 4)), ([6, 4], 0, (4, 24))],
)  # fmt: skip
def test_a_buffer_has_any_layout(where: Device, shape: Any, offset: int, strides: Any) -> None:
    a = mdhnp.from_buffer(own_buffer(where), shape, np.float32, offset=offset, strides=strides)
    same(a, np.ndarray(shape, np.float32, A.copy(), offset, strides))
    if where.own_memory:
        assert a.offset == offset
    same(a + a, 2 * np.ndarray(shape, np.float32, A.copy(), offset, strides)[...])


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"shape": 25}, ValueError, "outside of the buffer of 96 bytes"),
        ({"offset": 4}, ValueError, "outside"),
        ({"offset": -4}, ValueError, "outside"),
        ({"strides": (-24, 4)}, ValueError, "outside"),
        ({"offset": 2, "shape": 2}, ValueError, "multiples of an element's 4 bytes"),
        ({"strides": (24, 6)}, ValueError, "multiples of an element's 4 bytes"),
        ({"strides": (4,)}, ValueError, "strides has 1 entries for 2 axes"),
        ({"dtype": "longdouble"}, TypeError, "from_buffer: dtype"),
        ({"dtype": "f4,f4"}, TypeError, "from_buffer: dtype"),
    ],
    ids=str,
)
def test_what_is_not_in_a_buffer_is_refused(where: Device, given: dict[str, Any], kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        mdhnp.from_buffer(own_buffer(where), **({"shape": (4, 6), "dtype": "f4"} | given))


@pytest.mark.parametrize("make", ["buffer", "array"])
def test_buffers_of_other_contexts_are_copied(where: Device, make: str) -> None:
    context = cl.Context([where.cl])
    queue = cl.CommandQueue(context)
    theirs = cl_array.to_device(queue, A)
    queue.finish()

    def give(copy: bool | None) -> mdhnp.Array:
        if make == "array":
            return mdhnp.asarray(theirs, copy=copy)
        return mdhnp.from_buffer(theirs.base_data, A.shape, A.dtype, copy=copy)

    for copy in (None, True):
        a = give(copy)
        same(a, A)
        assert a.device.cl == where.cl
        a[...] = 0
        np.testing.assert_array_equal(theirs.get(), A)
    with pytest.raises(ValueError, match=r"copy=False.*(device\.context|the host's memory)"):
        give(False)


def test_a_copy_is_made_where_it_is_asked_for(where: Device) -> None:
    buffer = own_buffer(where)
    same(mdhnp.from_buffer(buffer, A.shape, A.dtype, copy=True), A)
    same(mdhnp.asarray(cl_array.to_device(where.queue, A), dtype=np.float64), A.astype(float))
    if where.own_memory:
        a = mdhnp.from_buffer(buffer, A.shape, A.dtype, copy=True)
        a[...] = 0
        np.testing.assert_array_equal(read(buffer, where.queue), A)
        same(mdhnp.from_buffer(buffer, A.shape, A.dtype, copy=False), A)
    else:
        with pytest.raises(ValueError, match="the host's memory"):
            mdhnp.from_buffer(buffer, A.shape, A.dtype, copy=False)
    other = next((d for d in mdhnp.devices() if d.cl != where.cl), where)
    moved = mdhnp.from_buffer(buffer, A.shape, A.dtype, device=other)
    assert moved.device is other
    same(moved, A)


# Arrays of pyopencl's.

ARRAYS: dict[str, Callable[[cl.CommandQueue], Any]] = {
    "contiguous": lambda queue: cl_array.to_device(queue, A),
    "Fortran order": lambda queue: cl_array.to_device(queue, np.asfortranarray(A)),
    "part": lambda queue: cl_array.to_device(queue, A)[1:3, 2:],
    "of a pool": lambda queue: cl_array.to_device(
        queue, A, allocator=cl_tools.MemoryPool(cl_tools.ImmediateAllocator(queue))
    ),
    "shared virtual memory": lambda queue: cl_array.to_device(
        queue, A, allocator=cl_tools.SVMAllocator(queue.context, queue=queue)
    ),
    "whole numbers": lambda queue: cl_array.arange(queue, 12, dtype=np.int32).reshape(3, 4),
    "empty": lambda queue: cl_array.empty(queue, (0, 3), np.float32),
    "one": lambda queue: cl_array.to_device(queue, np.float32([3]))[0],
}
EXPECTED = {
    "part": A[1:3, 2:], "whole numbers": np.arange(12, dtype=np.int32).reshape(3, 4), "empty": A[:0, :3],
    "one": np.float32(3),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_pyopencl_are_arrays(where: Device, name: str) -> None:
    theirs, expected = ARRAYS[name](where.queue), np.asarray(EXPECTED.get(name, A))
    a = mdhnp.asarray(theirs)
    assert a.device is where
    same(a, expected)
    assert not expected.size or a.strides == theirs.strides
    same(a - a, expected - expected)
    if where.own_memory and name not in ("part", "shared virtual memory", "empty"):  # pyopencl does not fill parts
        theirs.fill(5)
        same(a, np.full_like(expected, 5))


def test_types_that_kernels_do_not_compute_with_are_refused(where: Device) -> None:
    with pytest.raises(TypeError, match="asarray: dtype"):
        mdhnp.asarray(cl_array.zeros(where.queue, 3, cl_types.float4))


def test_arrays_of_pyopencl_are_operands(where: Device) -> None:
    theirs, ours = cl_array.to_device(where.queue, A), mdhnp.asarray(A.copy())
    for found, expected in (
        (mdhnp.matmul(theirs, ours.T), A @ A.T),
        (mdhnp.matmul(theirs, A.T), A @ A.T),
        (mdhnp.einsum("ij,ij->i", theirs, theirs), (A * A).sum(axis=1)),
        (ours * theirs, A * A),
        (theirs * ours, A * A),
        (theirs[0] @ ours.T, A @ A[0]),
        (np.add(theirs, ours), A + A),
        (mdhnp.sum(theirs, axis=0), A.sum(axis=0)),
        (np.concatenate([ours, theirs]), np.concatenate([A, A])),
    ):
        assert found.device is where
        same(found, expected)
    changed = ours
    changed += theirs
    assert changed is ours
    same(ours, 2 * A)
    ours[0] = theirs[1]
    same(ours[0], A[1])


def test_what_pyopencl_has_enqueued_is_done_first(where: Device) -> None:
    queue = cl.CommandQueue(where.context)  # another one, so that only events keep the order
    theirs = cl_array.to_device(queue, A)
    for _ in range(20):
        theirs += 1
    same(mdhnp.asarray(theirs) * 1, A + 20)


# Arrays in kernels of one's own.


def argument(a: mdhnp.Array) -> tuple[Any, int]:
    """Give what a kernel takes, and how many elements come before the first."""
    return (a.buffer, a.offset // 4) if a.device.own_memory else (a.svm, 0)


def launch(queue: cl.CommandQueue, a: mdhnp.Array, b: mdhnp.Array, turns: int = 1, **given: Any) -> cl.Event:
    (source, begin), (target, to) = argument(a), argument(b)
    numbers = np.int32(begin), np.int32(to), np.int32(turns)
    return twice(queue.context)(queue, (a.size,), None, source, target, *numbers, **given)


def test_kernels_of_ones_own_and_calls_work_on_the_same_memory(where: Device) -> None:
    a, b = mdhnp.asarray(A.copy()), mdhnp.asarray(np.zeros((4, 6), np.float32))
    same(b, np.zeros_like(A))  # so that there is a copy
    for n in range(1, 4):
        launch(a.queue, a[1:3] * n, b[2:], turns=100_000)
        b.changed()
        expected = np.vstack([np.zeros((2, 6), np.float32), 2 * n * A[1:3]])
        same(b @ np.eye(6, dtype=np.float32), expected)
        same(b, expected)


def test_kernels_in_another_queue_are_ordered_by_events(where: Device) -> None:
    mine = cl.CommandQueue(where.context)
    a, b = mdhnp.asarray(A), mdhnp.asarray(np.zeros_like(A))
    doubled = a + a
    cl.enqueue_barrier(mine, wait_for=[cl.enqueue_marker(where.queue)])
    event = launch(mine, doubled, b, turns=100_000)
    cl.enqueue_barrier(where.queue, wait_for=[event])
    b.changed()
    same(b + 1, 4 * A + 1)
    same(b, 4 * A)


def test_each_kind_of_device_has_its_own_argument(where: Device) -> None:
    a = mdhnp.asarray(A)
    assert a.queue == where.queue
    if where.own_memory:
        assert a[1, 2:].offset == a.offset + 32
        assert a[::-1].offset == a.offset + 72
        assert a[1:].buffer.int_ptr == a.buffer.int_ptr
        with pytest.raises(AttributeError, match=r"svm: .*use \.buffer and \.offset"):
            _ = a.svm
    else:
        for name in ("buffer", "offset"):
            with pytest.raises(AttributeError, match=rf"{name}: .*use \.svm"):
                getattr(a, name)
        assert isinstance(a[1:].svm, cl.SVM)
        with pytest.raises(ValueError, match=r"svm: .*copy\(\)"):
            _ = a[:, ::2].svm
        with pytest.raises(ValueError, match="read-only"):
            _ = np.diagonal(a[:, :1]).svm


def test_pyopencls_arrays_are_not_loaded_to_be_looked_for() -> None:
    code = """
import sys, numpy as np, mdhnp
a = mdhnp.asarray(np.eye(2), device="cpu")
assert (a @ a + a).numpy()[0, 0] == 2
assert "pyopencl" in sys.modules and "pyopencl.array" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
