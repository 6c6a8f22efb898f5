"""Calls that are enqueued: in order, bounded, and their errors told where a result is read."""

import threading
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from separate import separate
from several import failed_event, need_failures_told

import mdhnp
from mdhnp.runtime import pending, pinned, transfers
from mdhnp.runtime.devices import Device

pytestmark = pytest.mark.whole


@pytest.fixture(params=["compiled", "in Python"])
def where(request: pytest.FixtureRequest, device: Device, monkeypatch: pytest.MonkeyPatch) -> Device:
    """Give a device with memory of its own, whose kernels are enqueued in either way."""
    if request.param == "in Python":
        monkeypatch.setattr("mdhnp.runtime.launches.Enqueuer", None)
    monkeypatch.setattr(pending, "EACH", 2)
    mdhnp.calls.store.forget()  # plans of other tests
    return separate(device)


def test_results_are_right_however_many_calls_wait(where: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "_MOST", 4)
    x = np.random.default_rng(0).integers(0, 3, (8, 8)).astype(np.int64)
    a, b, expected = mdhnp.asarray(x, device=where), mdhnp.asarray(np.eye(8, dtype=np.int64), device=where), np.eye(8)
    for _ in range(30):
        b = a @ b
        assert len(pending.waiting(where).few) <= 4
        assert len(pending.waiting(where).last) <= 1
    for _ in range(30):
        expected = x.astype(np.uint64) @ expected.astype(np.uint64)
    np.testing.assert_array_equal(b.numpy(), expected.astype(np.int64))
    mdhnp.synchronize(where)
    assert not pending.waiting(where).few
    assert not pending.waiting(where).last


def test_a_failed_call_is_named_where_a_result_is_read(where: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event fails as a kernel's does: on CPUs, no kernel fails and leaves the process alive."""
    a = mdhnp.asarray(np.ones((4, 4), np.float32), device=where)
    (a @ a).numpy()
    put, failing = pending.Waiting.put, []
    mdhnp.synchronize(where)

    class Failed:
        command_execution_status = -5

        def wait(self) -> None:
            raise cl.RuntimeError(cl._cl._ErrorRecord(msg="", code=-5, routine="clWaitForEvents"))

    def noted(self: pending.Waiting, event: cl.Event) -> None:
        put(self, Failed() if failing else event)  # type: ignore[arg-type]

    monkeypatch.setattr(pending.Waiting, "put", noted)
    failing.append(True)
    b = a @ a
    c = b @ a  # one of these fails
    failing.clear()
    b @ c
    with pytest.raises(mdhnp.LaunchError, match=r"kernel 'mdh_0'.*test_runtime_pending.py:\d+"):
        mdhnp.synchronize(where)
    assert (b @ a).numpy().tolist() == np.full((4, 4), 16.0).tolist()  # what was told is not told again

    failing.append(True)
    c = b @ a @ a
    failing.clear()
    monkeypatch.setattr(
        cl, "enqueue_copy", lambda *_, **__: (_ for _ in ()).throw(cl.RuntimeError(cl._cl._ErrorRecord("", -5, "copy")))
    )
    with pytest.raises(mdhnp.LaunchError, match="kernel 'mdh_0'"):
        c.numpy()


def test_copies_of_any_size_arrive(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    where = separate(device)
    monkeypatch.setattr(transfers, "_BLOCK", 4096)
    monkeypatch.setattr(transfers, "LARGE", 1024)
    monkeypatch.setattr(transfers, "_rings", {})
    rng = np.random.default_rng(0)
    for size in (1, 1023, 1024, 4096, 4097, 8 * 4096, 8 * 4096 + 1, 50000, 10**6):
        x = rng.integers(0, 256, size).astype(np.uint8)
        a = mdhnp.asarray(x, device=where)
        x_before = x.copy()
        x[:] = 0  # as soon as the copy was made, the original may change
        np.testing.assert_array_equal(a.numpy(), x_before)
        np.testing.assert_array_equal(a[size // 3 :: 2].numpy(), x_before[size // 3 :: 2])


def test_a_failing_copy_leaves_the_ring_usable(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    where = separate(device)
    monkeypatch.setattr(transfers, "_BLOCK", 4096)
    monkeypatch.setattr(transfers, "LARGE", 1024)
    monkeypatch.setattr(transfers, "_rings", {})
    x = np.arange(50000, dtype=np.int64)
    a = mdhnp.asarray(x, device=where)
    copy, count = cl.enqueue_copy, [0]

    def failing(*arguments: object, **keywords: object) -> object:
        count[0] += 1
        if count[0] == 12:
            raise cl.RuntimeError(cl._cl._ErrorRecord(msg="", code=-5, routine="clEnqueueReadBuffer"))
        return copy(*arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(cl, "enqueue_copy", failing)
        with pytest.raises(mdhnp.LaunchError):
            a.numpy()
    np.testing.assert_array_equal(a.numpy(), x)


@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("wait", [mdhnp.synchronize, lambda where: mdhnp.ones(3, device=where).numpy()])
def test_a_small_copy_that_fails_is_told_once_by_who_waits_next(device: Device, wait: Any, before: int) -> None:
    where = separate(device)
    need_failures_told(where)
    mdhnp.synchronize(where)
    x, copy, number = np.arange(10), cl.enqueue_copy, iter(range(5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            cl, "enqueue_copy", lambda *a, **k: failed_event(where) if next(number) == before else copy(*a, **k)
        )
        for _ in range(5):
            mdhnp.asarray(x, device=where)
    with pytest.raises(mdhnp.LaunchError):
        wait(where)
    wait(where)
    np.testing.assert_array_equal(mdhnp.asarray(x, device=where).numpy(), x)


def test_copies_of_which_too_many_wait_are_waited_for(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    where, x = separate(device), np.arange(10)
    mdhnp.synchronize(where)
    monkeypatch.setattr(pending, "_MOST", 4)
    hold = cl.UserEvent(where.context)
    timer = threading.Timer(0.3, hold.set_status, [cl.command_execution_status.COMPLETE])
    timer.start()
    cl.enqueue_barrier(where.queue, wait_for=[hold])
    for n in range(12):
        assert timer.is_alive() or n > 4
        mdhnp.asarray(x, device=where)
        assert len(pending.waiting(where).few) <= 5
    timer.join()


def test_explain_says_what_was_copied(device: Device) -> None:
    where = separate(device)
    x = np.ones((100, 100), np.float32)
    a = mdhnp.asarray(x, device=where)
    text = mdhnp.explain(lambda: mdhnp.matmul(a, x).numpy()).summary
    assert "copied    40000 bytes to the device" in text
    assert "copied    40000 bytes from the device" in text
    assert "copied" not in mdhnp.explain(lambda: a @ a).summary


def test_results_of_a_size_that_comes_often_are_pinned(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    where = separate(device)
    monkeypatch.setattr(pinned, "_OFTEN", 2)
    monkeypatch.setattr(pinned, "_pools", {})
    x, y = np.random.default_rng(0).random((2, 1100), dtype=np.float32)
    wanted, kept = np.outer(x, y), []
    with mdhnp.device(where):
        for n in range(6):
            result = mdhnp.outer(x, y)
            assert pinned.is_pinned(where, result.ctypes.data, result.nbytes) == (n >= 2)
            np.testing.assert_array_equal(result, wanted)
            kept.append(result[::2] if n == 3 else None)  # memory of those that nobody holds is used again
        assert pinned.pinned_bytes(where) == 3 * wanted.nbytes
        assert mdhnp.memory_info(where).pinned >= 3 * wanted.nbytes
        np.testing.assert_array_equal(kept[3], wanted[::2])  # but not that of which there is a view
        np.testing.assert_allclose(mdhnp.matmul(result.T, result), wanted.T @ wanted, rtol=1e-3)  # up again
        pinned._pools[where].most = pinned.pinned_bytes(where)
        other = pinned._pools[Device(device.cl)] = pinned._Pool(device)
        other.most = pinned.pinned_bytes(where)
        assert other.take(1 << 12, often=0) is None  # what one device has pinned counts for all
        kept = [mdhnp.outer(x, y) for _ in range(4)]
        assert pinned.pinned_bytes(where) == 3 * wanted.nbytes
        for each in kept:
            np.testing.assert_array_equal(each, wanted)


def test_a_profile_between_calls_leaves_no_argument_behind(where: Device) -> None:
    x, y, z = (mdhnp.asarray(np.full(100, n, np.float32), device=where) for n in (1, 2, 10))
    with mdhnp.config(specialise="always"):
        kept = x + y
        mdhnp.explain(lambda: x + y)
        assert ((z + y).numpy() == 12).all()
    assert (kept.numpy() == 3).all()
