"""Memory of devices that have their own: used again, bounded, given back before anything is refused."""

import gc
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyopencl as cl
import pytest
from separate import separate

import mdhnp
from mdhnp.calls import store
from mdhnp.runtime import launches
from mdhnp.runtime import pool as pools
from mdhnp.runtime.devices import Device
from mdhnp.runtime.pool import Pool, size_class

pytestmark = pytest.mark.whole

MB = 1024**2


@pytest.fixture
def pool(device: Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """Give a device's pool, in which only this test's arrays are."""
    where = separate(device)
    own = Pool(where)
    monkeypatch.setattr(pools, "_pools", {where: own})
    yield own
    mdhnp.synchronize(where)


@pytest.mark.parametrize("nbytes", [0, 1, 511, 513, 1000, 1 << 20, (1 << 20) + 1, 3**20, 10**11])
def test_a_block_wastes_a_sixteenth_at_most(nbytes: int) -> None:
    size = size_class(nbytes)
    assert nbytes <= size <= max(512, nbytes + nbytes // 16)
    assert size_class(size) == size


def test_memory_is_used_again(device: Device, pool: Pool) -> None:
    where = separate(device)
    first = mdhnp.empty((1000, 1000), dtype="float32", device=where)
    info = mdhnp.memory_info(where)
    assert (info.used, info.free, info.arrays) == (size_class(4 * 10**6), 0, 1)
    view = first[10:20].T
    del first
    assert mdhnp.memory_info(where).used == info.used  # which a view still holds
    del view
    assert mdhnp.memory_info(where)[2:5] == (0, info.used, 0)
    again = mdhnp.empty(10**6, dtype="float32", device=where)
    assert mdhnp.memory_info(where) == info
    del again


def test_calls_hold_no_memory_between_them(device: Device, pool: Pool) -> None:
    where = separate(device)
    x = np.random.default_rng(0).random((300, 200), dtype=np.float32)
    with mdhnp.device(where):
        np.testing.assert_allclose(mdhnp.matmul(x, x.T), x @ x.T, rtol=1e-5)
    assert mdhnp.memory_info(where).used == 0
    a = mdhnp.asarray(x, device=where)
    for _ in range(20):
        product = a @ a.T
    assert mdhnp.memory_info(where).arrays == 2
    np.testing.assert_allclose(product.numpy(), x @ x.T, rtol=1e-5)


def test_free_memory_goes_back_before_an_array_is_refused(device: Device, pool: Pool) -> None:
    where = separate(device)
    pool.limit = 10 * MB
    kept = [mdhnp.empty(MB, dtype="uint8", device=where) for _ in range(9)]
    del kept[4:]
    large = mdhnp.empty(4 * MB, dtype="uint8", device=where)  # for which free ones go
    assert mdhnp.memory_info(where).used == 8 * MB
    with pytest.raises(
        MemoryError, match=rf"no room for {4 * MB} bytes.* {8 * MB} bytes are held by 5 arrays, \d+ are"
    ):
        mdhnp.empty(4 * MB, dtype="uint8", device=where)
    del large
    assert mdhnp.empty(5 * MB, dtype="uint8", device=where).nbytes == 5 * MB


def test_arrays_that_hold_each_other_are_found(device: Device, pool: Pool) -> None:
    where = separate(device)
    pool.limit = 4 * MB

    class Owner:
        array: mdhnp.Array
        me: "Owner"

    gc.disable()
    try:
        owner = Owner()
        owner.me, owner.array = owner, mdhnp.empty(3 * MB, dtype="uint8", device=where)
        del owner
        assert mdhnp.empty(3 * MB, dtype="uint8", device=where).size == 3 * MB
    finally:
        gc.enable()


@pytest.mark.parametrize("code", [cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE, cl.status_code.OUT_OF_RESOURCES])
def test_a_full_device_is_emptied_and_asked_again(
    device: Device, pool: Pool, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    where = separate(device)
    mdhnp.empty(MB, dtype="uint8", device=where)
    assert pool.free() == MB
    buffer, refusals = cl.Buffer, [True]

    def full(*arguments: object) -> object:
        if refusals and refusals.pop():
            raise cl.MemoryError(cl._cl._ErrorRecord(msg="", code=code, routine="clCreateBuffer"))
        return buffer(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(cl, "Buffer", full)
    kept = mdhnp.empty(2 * MB, dtype="uint8", device=where)
    assert (pool.free(), kept.size) == (0, 2 * MB)
    refusals += [True] * 4
    with pytest.raises(MemoryError, match=f"{2 * MB} bytes are held by 1 arrays"):
        mdhnp.empty(3 * MB, dtype="uint8", device=where)
    assert mdhnp.empty(3 * MB, dtype="uint8", device=where).size == 3 * MB


def test_an_array_larger_than_a_buffer_is_refused_clearly(device: Device, pool: Pool) -> None:
    where = separate(device)
    with pytest.raises(MemoryError, match=f"{where.caps.max_allocation} bytes"):
        mdhnp.empty(where.caps.max_allocation + 1, dtype="uint8", device=where)


def test_results_for_which_there_is_no_room_leave_nothing_behind(device: Device, pool: Pool) -> None:
    where = separate(device)
    a = mdhnp.asarray(np.ones(MB, np.float32), device=where)
    pool.limit = pool.info(0).used + MB
    for _ in range(3):
        with pytest.raises(MemoryError, match="no room"):
            mdhnp.outer(a[:8], a)
    assert mdhnp.memory_info(where).arrays == 1
    np.testing.assert_array_equal(mdhnp.outer(a[:10], a[:20]).numpy(), 1)


def test_a_finalizer_may_make_a_call_while_memory_is_sought(device: Device, pool: Pool) -> None:
    where = separate(device)
    pool.limit = 4 * MB
    x = np.ones((4, 4), np.float32)
    found: list[np.ndarray] = []

    class Owner:
        def __init__(self) -> None:
            self.array, self.me = mdhnp.empty(3 * MB, dtype="uint8", device=where), self

    def last_words() -> None:
        a = mdhnp.asarray(x, device=where)
        found.append((a @ a).numpy())

    a = mdhnp.asarray(x, device=where)
    (a @ a).numpy()
    weakref.finalize(Owner(), last_words)
    thread = threading.Thread(target=lambda: mdhnp.empty(3 * MB, dtype="uint8", device=where), daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    np.testing.assert_array_equal(found, [x @ x])


def test_many_threads_share_a_pool(device: Device, pool: Pool) -> None:
    where = separate(device)
    x = np.random.default_rng(0).random((64, 64), dtype=np.float32)
    wanted = x @ x @ x

    def work(n: int) -> None:
        a = mdhnp.asarray(x, device=where)
        for _ in range(20):
            np.testing.assert_allclose((a @ a @ a).numpy(), wanted, rtol=1e-4)
            mdhnp.empty(n * 1000, dtype="float32", device=where)[:] = n

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(1, 9)))
    info = mdhnp.memory_info(where)
    assert (info.used, info.arrays) == (0, 0)


def test_a_launch_for_which_there_is_no_room_is_tried_again(
    device: Device, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where others use the device, too, and it allocates when a buffer is first used."""
    where = separate(device)
    x = np.ones((8, 8), np.float32)
    monkeypatch.setattr("mdhnp.runtime.launches.Enqueuer", None)
    a = mdhnp.asarray(x, device=where)
    mdhnp.empty(MB, dtype="uint8", device=where)
    enqueue, refusals = launches._enqueue, [True]

    def full(*arguments: object) -> object:
        if refusals and refusals.pop():
            code = cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE
            raise cl.MemoryError(cl._cl._ErrorRecord(msg="", code=code, routine="clEnqueueNDRangeKernel"))
        return enqueue(*arguments)

    store.forget()
    monkeypatch.setattr(launches, "_enqueue", full)
    np.testing.assert_array_equal((a @ a).numpy(), x @ x)
    assert pool.free() < MB
    refusals += [True] * 3
    store.forget()
    with pytest.raises(MemoryError, match="no room"):
        a @ a
