"""Plans: right results for every way of memory, many threads, several kernels, and clear errors."""

import ctypes
import gc
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest
from numpy.typing import NDArray

from mdhnp.codegen.program import Kernel, Program
from mdhnp.mdh.stages import Argument
from mdhnp.runtime import launches
from mdhnp.runtime.devices import Device, devices
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.memory import DeviceBuffers, HostBuffers, SystemMemory
from mdhnp.runtime.pending import LaunchError
from mdhnp.runtime.programs import BuildError

pytestmark = pytest.mark.whole

Array = NDArray[np.float32]
#: clEnqueueNDRangeKernel's type, as far as it matters: numbers and addresses.
ENQUEUE = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 9)
A, B, OUT, TEMPORARY = Argument("input", 0), Argument("input", 1), Argument("output", 0), Argument("temporary", 0)
WAYS = {
    "SystemMemory": SystemMemory,
    "SystemMemory in Python": SystemMemory,
    "HostBuffers": HostBuffers,
    "DeviceBuffers": DeviceBuffers,
}


@pytest.fixture(params=WAYS)
def anyhow(request: pytest.FixtureRequest, device: Device, monkeypatch: pytest.MonkeyPatch) -> Device:
    """Give a device whose plans use one given way of memory, also where another is faster."""
    way = WAYS[request.param]
    if way is SystemMemory and not (device.svm and device.kind == "cpu"):
        pytest.skip("the device cannot reach the host's memory")
    if request.param.endswith("in Python"):
        without_compiled_code(monkeypatch)
    monkeypatch.setattr(launches, "memory_for", lambda *given, **_: way(*given))
    return device


def without_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let new plans launch kernels as where the package was installed without a C compiler."""
    monkeypatch.setattr(launches, "_addresses", lambda *_: None)


def copy_of(array: Array) -> Program:
    """Write a kernel that copies a strided array to a contiguous one, counting from the lowest address."""
    layout = Layout.of(array)
    terms, rest = [str(-layout.low // 4)], "i"
    for extent, stride in reversed(list(zip(layout.shape, layout.strides, strict=True))):
        terms.append(f"({rest}) % {extent} * ({stride // 4})")
        rest = f"({rest}) / {extent}"
    text = (
        "__kernel void copy(__global const float *x, __global float *y)"
        f"{{ int i = get_global_id(0); y[i] = x[{' + '.join(terms)}]; }}"
    )
    return Program(text, (Kernel("copy", array.size, 1, (A, OUT)),), ())


def two_kernels(n: int) -> Program:
    """Write a program that squares into a temporary, then adds each value's mirror image and the second input."""
    text = (
        "__kernel void square(__global const float *x, __global float *t)"
        "{ int i = get_global_id(0); t[i] = x[i] * x[i]; }"
        "__kernel void mirror(__global const float *t, __global const float *x, __global float *y)"
        f"{{ int i = get_global_id(0); y[i] = t[i] + t[{n - 1} - i] + x[i]; }}"
    )
    kernels = Kernel("square", n, 1, (A, TEMPORARY)), Kernel("mirror", n, n, (TEMPORARY, B, OUT))
    return Program(text, kernels, (4 * n,))


def expected(a: Array, b: Array) -> Array:
    return a**2 + a[::-1] ** 2 + b


BASE = np.arange(7 * 11 * 13, dtype=np.float32).reshape(7, 11, 13)
VIEWS = {
    "contiguous": BASE,
    "fortran": BASE.T,
    "permuted": BASE.transpose(1, 2, 0),
    "sliced": BASE[1:6:2, ::3, 2:9],
    "reversed": BASE[::-1, :, ::-2],
    "one dimension reversed": BASE[0, 0, ::-1],
    "broadcast": np.broadcast_to(BASE[2, 3], (5, 13)),
    "diagonal": np.diagonal(BASE[0]),
    "one element": BASE[3:4, 2:3, 5:6],
    "no dimension": BASE[3, 2, 5, ...],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_strided_inputs(anyhow: Device, view: Array) -> None:
    plan = Executable(anyhow, copy_of(view), [Layout.of(view)], [Layout.of(np.empty(view.shape, np.float32))])
    for writable in (True, False):
        source = view if writable else np.broadcast_to(view, view.shape)  # a read-only view of the same strides
        out = np.full(view.shape, np.nan, np.float32)
        plan([source], [out])
        np.testing.assert_array_equal(out, view)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_layout_covers_exactly_the_elements(view: Array) -> None:
    layout = Layout.of(view)
    low, high = np.lib.array_utils.byte_bounds(view)
    assert layout.nbytes == high - low
    assert layout.low == low - view.__array_interface__["data"][0]
    assert layout.contiguous == view.flags.forc


def test_two_kernels_and_a_temporary(anyhow: Device) -> None:
    rng = np.random.default_rng(0)
    n = 37
    layout = Layout((n,), (4,), 4)
    plan = Executable(anyhow, two_kernels(n), [layout, layout], [layout])
    for _ in range(5):
        a, b = rng.random((2, n), dtype=np.float32)
        out = np.empty(n, np.float32)
        plan([a, b], [out])
        np.testing.assert_allclose(out, expected(a, b), rtol=1e-6)
        del a, b, out
        gc.collect()  # what kernels point at is gone: the next call must not mind


def test_the_same_array_twice(anyhow: Device) -> None:
    a = np.arange(16, dtype=np.float32)
    out = np.empty_like(a)
    Executable(anyhow, two_kernels(16), [Layout.of(a)] * 2, [Layout.of(a)])([a, a], [out])
    np.testing.assert_array_equal(out, expected(a, a))


def test_threads_share_a_plan(anyhow: Device) -> None:
    n = 64
    layout = Layout((n,), (4,), 4)
    plan = Executable(anyhow, two_kernels(n), [layout, layout], [layout])

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(50):
            a, b = rng.random((2, n), dtype=np.float32)
            out = np.empty(n, np.float32)
            plan([a, b], [out])
            np.testing.assert_allclose(out, expected(a, b), rtol=1e-6)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert 1 <= len(plan.free) <= 6


def test_profile_times_each_kernel_and_leaves_results(anyhow: Device) -> None:
    a, b = np.random.default_rng(0).random((2, 32), dtype=np.float32)
    out = np.empty_like(a)
    plan = Executable(anyhow, two_kernels(32), [Layout.of(a)] * 2, [Layout.of(a)])
    seconds = plan.profile([a, b], [out], repeats=4)
    assert len(seconds) == 2
    assert all(0 <= second < 1 for second in seconds)
    np.testing.assert_allclose(out, expected(a, b), rtol=1e-6)
    out[:] = 0
    plan([a, b], [out])
    np.testing.assert_allclose(out, expected(a, b), rtol=1e-6)


def writing(device: Device, kernel: Kernel, text: str) -> Executable:
    return Executable(device, Program(text, (kernel,), ()), [], [Layout((4,), (4,), 4)])


def test_what_a_device_cannot_launch_is_refused_clearly(device: Device) -> None:
    plain = "__kernel void one(__global float *y) { y[get_global_id(0) % 4] = 1; }"
    too_many = 2 * device.caps.max_work_group
    with pytest.raises(LaunchError, match=rf"'one'.*{too_many}.*work-items fit"):
        writing(device, Kernel("one", too_many, too_many, (OUT,)), plain)
    with pytest.raises(LaunchError, match="does not divide"):
        writing(device, Kernel("one", 4, 3, (OUT,)), plain)
    with pytest.raises(LaunchError, match="no such kernel"):
        writing(device, Kernel("two", 4, 1, (OUT,)), plain)


def test_too_much_local_memory_is_refused_clearly(device: Device) -> None:
    n = device.caps.local_memory // 4 + 64
    text = (
        f"__kernel void hoard(__global float *y) {{ __local float t[{n}];"
        f" for (int i = 0; i < {n}; i++) t[i] = i * y[0]; barrier(CLK_LOCAL_MEM_FENCE);"
        " y[0] = t[(int)y[1]] + t[(int)y[2]]; }"
    )
    try:
        writing(device, Kernel("hoard", 1, 1, (OUT,)), text)
    except (LaunchError, BuildError) as error:  # NVIDIA's compiler refuses already
        assert "hoard" in str(error)
    else:
        assert device.runtime == "pocl"  # whose local memory is the host's, and whose newer versions know no limit


def test_an_array_larger_than_a_buffer_may_be_is_a_memory_error(anyhow: Device) -> None:
    n = anyhow.caps.max_allocation // 4 + 1
    text = "__kernel void one(__global float *t, __global float *y) { y[get_global_id(0)] = 1; }"
    program = Program(text, (Kernel("one", 4, 1, (TEMPORARY, OUT)),), (4 * n,))
    small = Layout((4,), (4,), 4)
    if type(launches.memory_for(anyhow, [], [], (), resident=False)) is SystemMemory:
        return  # NumPy's memory has no such limit
    with pytest.raises(MemoryError, match=str(4 * n)):
        Executable(anyhow, program, [], [small])


@pytest.mark.parametrize("code", [cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE, cl.status_code.OUT_OF_RESOURCES])
def test_a_full_device_is_reported(device: Device, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    without_compiled_code(monkeypatch)
    a = np.ones(8, np.float32)
    out = np.empty_like(a)
    layout = Layout.of(a)
    plan = Executable(device, two_kernels(8), [layout, layout], [layout])

    def full(*_: object) -> object:
        raise cl.MemoryError(cl._cl._ErrorRecord(msg="", code=code, routine="clCreateBuffer"))

    with monkeypatch.context() as patch:
        patch.setattr(type(plan.free[0].memory), "bind", full)
        with pytest.raises(MemoryError, match=r"no room for 128 bytes"):
            plan([a, a], [out])
    plan([a, a], [out])
    np.testing.assert_array_equal(out, 3)


def test_a_failing_launch_names_kernel_and_sizes(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = ENQUEUE(lambda *_: int(cl.status_code.OUT_OF_RESOURCES))
    names = "SetKernelArgSVMPointer", "EnqueueNDRangeKernel", "WaitForEvents", "ReleaseEvent"
    if (functions := launches._addresses(*names)) is not None:
        refusing = (functions[0], ctypes.cast(refuse, ctypes.c_void_p).value, *functions[2:])
        monkeypatch.setattr(launches, "_addresses", lambda *_: refusing)
    a = np.ones(8, np.float32)
    out = np.empty_like(a)
    plan = Executable(device, two_kernels(8), [Layout.of(a)] * 2, [Layout.of(a)])

    def refused(*_: object) -> object:
        raise cl.RuntimeError(cl._cl._ErrorRecord(msg="", code=cl.status_code.OUT_OF_RESOURCES, routine="clEnqueue"))

    with monkeypatch.context() as patch:
        patch.setattr(launches, "_enqueue", refused)
        with pytest.raises(LaunchError, match=r"'square', global size 8, local size 1.*OUT_OF_RESOURCES"):
            plan([a, a], [out])
    plan([a, a], [out])
    np.testing.assert_array_equal(out, 3)


def test_a_profile_between_calls_leaves_no_argument_behind(anyhow: Device) -> None:
    a = np.arange(8, dtype=np.float32)
    plan = Executable(anyhow, two_kernels(8), [Layout.of(a)] * 2, [Layout.of(a)])
    first, second = np.empty_like(a), np.empty_like(a)
    plan([a, a], [first])
    plan.profile([-a, a], [second])
    expected, first[:] = first.copy(), 0
    plan([a, a], [first])
    np.testing.assert_array_equal(first, expected)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals between threads")
def test_ctrl_c_leaves_the_plan_usable(device: Device) -> None:
    n = 4096
    text = (
        "__kernel void slow(__global const float *x, __global float *y) { int i = get_global_id(0); float s = x[i];"
        " for (int k = 0; k < 20000; k++) s = s * 0.999f + 0.001f; y[i] = s; }"
    )
    x, y = np.ones(n, np.float32), np.zeros(n, np.float32)
    plan = Executable(device, Program(text, (Kernel("slow", n, 1, (A, OUT)),), ()), [Layout.of(x)], [Layout.of(y)])
    plan([x], [y])
    main = threading.main_thread().ident
    assert main is not None
    for _ in range(3):
        timer = threading.Timer(0.005, signal.pthread_kill, (main, signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            until = time.monotonic() + 30
            while time.monotonic() < until:
                plan([x], [y])
        timer.join()
        y[:] = 0
        plan([x], [y])
        np.testing.assert_allclose(y, 1, rtol=1e-3)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals between threads")
def test_ctrl_c_does_not_wait_for_a_long_kernel(device: Device) -> None:
    code = f"""
import gc, math, signal, threading, time, numpy as np
from mdhnp.runtime.devices import *
from mdhnp.runtime.executable import *
from mdhnp.runtime.layout import *
from mdhnp.runtime.devices import devices
from mdhnp.codegen.program import *
d = devices()[{devices().index(device)}]
slow = '''__kernel void slow(__global const float *x, __global float *y) {{
    float s = x[0]; int turns = x[1];
    for (int n = 0; n < turns; n++) for (int k = 0; k < 1000000; k++) s = s * 0.999f + 0.001f;
    for (int i = 0; i < 256; i++) y[i] = s; }}'''
quick = '''__kernel void quick(__global const float *x, __global float *y) {{
    int i = get_global_id(0); y[i] = 2 * x[i]; }}'''
both = Argument("input", 0), Argument("output", 0)
layout = Layout((256,), (4,), 4)
trial, long = (Executable(d, Program(slow, (Kernel("slow", 1, 1, both),), ()), [layout], [layout]) for _ in range(2))
short = Executable(d, Program(quick, (Kernel("quick", 256, 1, both),), ()), [layout], [layout])
turns = 20
def array():
    x = np.ones(256, np.float32)
    x[1] = turns
    return x
y = array()
def taken():
    before = time.monotonic()
    trial([array()], [y])
    return time.monotonic() - before
for _ in range(2):  # for 1.5 s, whatever the device; GPUs are slow until they are awake
    turns = math.ceil(1.5 / min(taken() for _ in range(3)) * turns)
for _ in range(2): short([array()], [y])
assert short._quick
def interrupted(plan):
    sent = []
    def send():
        sent.append(time.monotonic())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    threading.Timer(0.1, send).start()
    try: plan([array()], [array()])
    except KeyboardInterrupt: return time.monotonic() - sent[0]
print(interrupted(long))
print(interrupted(short))  # it waits for the long one, and Ctrl-C ends that, too
gc.collect()
others = [np.zeros(256, np.float32) for _ in range(100)]  # where the interrupted calls' arrays were, if they went
before = time.monotonic()
short([array()], [y])
print(time.monotonic() - before)
for _ in range(20): short([array()], [y])  # some may be slow on a busy machine, one is enough
assert short._quick and not long._quick and (y[2:] == 2).all() and not any(other.any() for other in others)
long([array()], [y])
assert not long._quick and np.allclose(y, 1, rtol=1e-3)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    first, second, waited = map(float, done.stdout.split())
    assert first < 0.5
    assert second < 0.5
    assert waited > 0.1  # so the kernel was still running


def test_an_error_of_a_first_call_is_the_callers(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.ones(8, np.float32)
    plan = Executable(device, two_kernels(8), [Layout.of(a)] * 2, [Layout.of(a)])
    with monkeypatch.context() as patch:
        patch.setattr(plan, "free", [])
        patch.setattr(plan, "_new_state", lambda: (_ for _ in ()).throw(MemoryError("full")))
        with pytest.raises(MemoryError, match="full"):
            plan([a, a], [np.empty_like(a)])
