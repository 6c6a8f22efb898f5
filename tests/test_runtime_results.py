"""Result memory: used again when nobody can reach it any more, never before."""

import gc
import mmap
import os
import pickle
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import mdhnp
from mdhnp.calls.operands import addressable
from mdhnp.codegen.program import Kernel, Program
from mdhnp.dask.task import Assembly, assembled
from mdhnp.mdh.stages import Argument
from mdhnp.runtime import results
from mdhnp.runtime.devices import Device
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.results import LARGE, FreeBlocks, maker

N = LARGE // 4 + 1000
F32 = np.dtype(np.float32)
PAGE = 2 * 1024**2

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(not results._OFFERED, reason="the system cannot mark memory as free"),
]


@pytest.fixture(autouse=True)
def blocks(monkeypatch: pytest.MonkeyPatch) -> FreeBlocks:
    """Give each test free blocks of its own."""
    own = FreeBlocks(results._blocks._most)
    monkeypatch.setattr(results, "_blocks", own)
    return own


def empty(shape: tuple[int, ...], dtype: Any) -> Any:
    return maker([(shape, dtype)])()[0]


def address(a: Any) -> int:
    return int(a.__array_interface__["data"][0])


def test_a_dead_results_memory_is_used_again(blocks: FreeBlocks) -> None:
    a = empty((N,), F32)
    before = address(a)
    assert not blocks.free
    del a
    assert len(blocks.free) == 1
    b = empty((2, N // 2), F32)
    assert address(b) == before
    assert not blocks.free


def cycle(a: Any) -> list[Any]:
    found = [a]
    found.append(found)
    return found


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda a: a[10:20],
    "slice of a slice": lambda a: a[10:][::2][5:9],
    "transpose": lambda a: a.reshape(2, -1).T,
    "another type": lambda a: a.view(np.uint8),
    "subclass": lambda a: a.view(np.recarray),
    "asarray": lambda a: np.asarray(memoryview(a)),
    "memoryview": lambda a: memoryview(a)[3:],
    "iterator": lambda a: a.flat,
    "ctypes": lambda a: a.ctypes.data_as(__import__("ctypes").c_void_p),
    "dlpack": np.from_dlpack,
    "base": lambda a: a.base,
    "base of a view": lambda a: a[5:].base,
    "broadcast": lambda a: np.broadcast_to(a, (3, a.size)),
    "out-of-band pickle": pickle.PickleBuffer,
    "cycle": cycle,
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_whatever_reaches_the_memory_keeps_it(blocks: FreeBlocks, hold: Callable[[Any], Any]) -> None:
    a = empty((N,), F32)
    holder = hold(a)
    del a
    assert not blocks.free
    del holder
    gc.collect()
    assert len(blocks.free) == 1


def test_results_are_like_numpys(blocks: FreeBlocks) -> None:
    for _ in range(2):
        a = empty((3, N), np.dtype(np.float64))
        assert (a.shape, a.dtype, type(a)) == ((3, N), np.float64, np.ndarray)
        assert a.flags.c_contiguous
        assert a.flags.aligned
        assert a.flags.writeable
        assert address(a) % mmap.PAGESIZE == 0
        a.flags.writeable = False
        a.flags.writeable = True  # NumPy allows it only where the base is writable
        a[...] = 1
        assert a.sum() == a.size
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(a)), a)
        del a
    small = empty((LARGE // 4 - 1,), F32)
    assert small.flags.owndata


def test_a_block_serves_sizes_near_its_own_only(blocks: FreeBlocks) -> None:
    sizes = [10 * PAGE, 20 * PAGE]
    kept = [empty((n,), np.dtype(np.uint8)) for n in sizes]
    del kept[:]
    assert sorted(len(b) for _, b in blocks.free) == sizes
    much_smaller = empty((7 * PAGE,), np.dtype(np.uint8))
    assert len(blocks.free) == 2
    smaller = empty((8 * PAGE,), np.dtype(np.uint8))
    assert [len(b) for _, b in blocks.free] == [20 * PAGE]
    larger = empty((20 * PAGE + 1,), np.dtype(np.uint8))
    assert len(blocks.free) == 1
    for a in (much_smaller, smaller, larger):
        a[:] = 1


def test_free_memory_is_bounded_and_ages(monkeypatch: pytest.MonkeyPatch) -> None:
    few = FreeBlocks(3 * PAGE)
    for block in [few.take(PAGE) for _ in range(5)]:
        few.append(block)
    assert len(few.free) == 3
    many = FreeBlocks(100 * PAGE)
    many.append(many.take(20 * PAGE))
    for _ in range(results._AGE + 1):
        assert any(len(b) == 20 * PAGE for _, b in many.free)
        many.append(many.take(2 * PAGE))
    assert [len(b) for _, b in many.free] == [2 * PAGE]


def test_the_system_may_take_all_but_what_was_freed_last(monkeypatch: pytest.MonkeyPatch) -> None:
    advised = []
    monkeypatch.setattr(results, "_advise", lambda block, advice: advised.append((block, advice)))
    monkeypatch.setattr(results, "_FRESH", 10 * PAGE)
    own = FreeBlocks(40 * PAGE)
    first, second, third = taken = [own.take(4 * PAGE) for _ in range(3)]
    del advised[:]
    for block in taken:
        own.append(block)
    assert advised == [(first, mmap.MADV_FREE)]
    assert own.take(4 * PAGE) is third
    own.append(third)
    assert advised == [(first, mmap.MADV_FREE)]  # once is enough
    large = own.take(16 * PAGE)
    del advised[:]
    own.append(large)
    assert [block for block, _ in advised] == [second, third, large]
    assert own.take(4 * PAGE) is third
    assert own.take(4 * PAGE) is second
    own.append(second)
    assert [block for block, _ in advised] == [second, third, large]


def test_who_finds_the_lock_taken_does_not_wait(blocks: FreeBlocks) -> None:
    a, b = empty((N,), F32), empty((N,), F32)
    del a
    with blocks._lock:  # as in a finalizer that runs amid `take`
        del b
        c = empty((N,), F32)
    assert len(blocks.free) == 1
    c[:] = 1


def test_no_memory_is_a_memory_error() -> None:
    with pytest.raises(MemoryError):
        empty((2**60,), F32)


def test_threads_never_share_memory(blocks: FreeBlocks) -> None:
    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        held: list[Any] = []
        for n in range(60):
            a = empty((int(rng.integers(N, 2 * N)),), F32)
            a[::1024] = seed * 1000 + n
            held.append((a[::1024], seed * 1000 + n))
            del a
            if len(held) > 3:
                view, value = held.pop(int(rng.integers(4)))
                assert (view == value).all()
        for view, value in held:
            assert (view == value).all()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert blocks.free


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_memory_of_its_own(blocks: FreeBlocks) -> None:
    free, held = empty((N,), F32), empty((N,), F32)
    free[:], held[:] = 1, 2
    where = address(free)
    del free
    blocks._lock.acquire()  # by a thread that the child does not have
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        again = empty((N,), F32)
        held[:] = again[:] = 3
        os.write(write, str(address(again) == where).encode())
        os._exit(0)
    os.waitpid(child, 0)
    blocks._lock.release()
    assert os.read(read, 10) == b"True"
    os.close(read)
    os.close(write)
    assert (held == 2).all()


def test_calls_recycle_large_results(device: Device, blocks: FreeBlocks) -> None:
    x = np.arange(2048, dtype=np.float32)
    for n in range(4):
        result = mdhnp.einsum("i,j->ij", x, x + n)
        first = result[1]
        np.testing.assert_array_equal(result[:3], np.multiply.outer(x[:3], x + n))
        np.testing.assert_array_equal(result[-1], x[-1] * (x + n))
        del result
        assert not blocks.free
        del first
        assert len(blocks.free) == 1


@pytest.mark.parametrize("kind", ["not aligned", "of another byte order", "in pieces"])
def test_copies_of_large_operands_recycle_memory(blocks: FreeBlocks, kind: str) -> None:
    whole = np.arange(N, dtype=F32).reshape(2, -1)
    if kind == "not aligned":
        given = np.empty(whole.nbytes + 4, np.uint8)[3:-1].view(F32).reshape(whole.shape)
        given[...] = whole
    else:
        given = whole.astype(">f4") if kind == "of another byte order" else whole
    halves = Assembly(whole.shape, tuple([(((0, 1), (0, N // 2)), ((n, n + 1), (0, N // 2))) for n in range(2)]))
    (found,) = (assembled(halves, F32, given[:1], given[1:]),) if kind == "in pieces" else addressable([given])
    np.testing.assert_array_equal(found, whole)
    assert found.dtype == F32
    assert found.flags.aligned
    del found
    assert len(blocks.free) == 1


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals between threads")
def test_memory_that_a_kernel_may_still_write_is_not_free(device: Device, blocks: FreeBlocks) -> None:
    text = (
        "__kernel void slow(__global const float *x, __global float *y) { float s = x[0];"
        " for (int k = 0; k < 300000000; k++) s = s * 0.999f + 0.001f; for (int i = 0; i < 256; i++) y[i] = s; }"
    )
    program = Program(text, (Kernel("slow", 1, 1, (Argument("input", 0), Argument("output", 0))),), ())
    x, y = np.ones(256, np.float32), empty((N,), F32)
    y[:] = 0
    plan = Executable(device, program, [Layout.of(x)], [Layout.of(y)])
    gc.freeze()  # else collecting what other tests left may take longer than the kernel
    timer = threading.Timer(0.1, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        plan([x], [y])
    timer.join()
    del y
    gc.collect()
    assert not blocks.free
    for thread in threading.enumerate():
        if thread.name == "mdhnp-call":
            thread.join()
    gc.collect()
    gc.unfreeze()
    assert len(blocks.free) == 1


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have other rules")
def test_small_results_find_memory_that_is_mapped() -> None:
    """In a new process, which has freed no large array yet."""
    script = (
        "import numpy as np, resource\n"
        "from mdhnp.runtime.results import maker\n"
        "make = maker([((50_000,), np.dtype(np.float32))] * 2)\n"
        "faults = []\n"
        "for _ in range(22):\n"
        "    results = make()\n"
        "    for a in results: a.fill(1)\n"
        "    del a, results\n"
        "    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)\n"
        "print(faults[-1] - faults[1])\n"
    )
    # dask has it give memory back at once, in this process, too, once it has started workers.
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_TRIM_THRESHOLD_"}
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert int(run.stdout) < 200  # each call writes 98 pages
