"""From one device with memory of its own to another: pieces at once, or in parts, one read while others are written."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from several import failed_event, groups, need_failures_told

import mdhnp
from mdhnp.distributed import exchange
from mdhnp.runtime import pinned, resident, transfers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mdhnp.runtime.groups import Group

#: Bytes of a block here.
BLOCK = 256


@contextmanager
def _small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transfers, "_BLOCK", BLOCK)
        patch.setattr(transfers, "LARGE", 64)
        patch.setattr(exchange, "AT_ONCE", 0)
        patch.setattr(transfers, "_rings", {})
        yield


@pytest.fixture
def apart() -> Iterator[Group]:
    """Two devices with memory of their own, between which small arrays go in pieces, too."""
    with _small_blocks():
        yield groups()["apart"]()


def test_halos_that_arrive_in_a_call_are_what_it_moves_further(cut_always: None) -> None:
    """Two views of one array, of which one takes in its device's memory what the other one brings there."""
    with _small_blocks():
        where = groups()["apart"]()
        for at_once in (0, 1 << 20):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(exchange, "AT_ONCE", at_once)
                x, ones = np.random.default_rng(0).normal(size=(400, 10)).astype("f4"), np.ones((3, 1), "f4")
                y = mdhnp.distribute(x, devices=where, weights=(1, 1))
                for _ in range(2):
                    y, x = mdhnp.stencil(y, ones, "nearest"), mdhnp.stencil(x, ones, "nearest")
                np.testing.assert_allclose((y[3:-1] * y[4:]).numpy(), x[3:-1] * x[4:], rtol=1e-5, atol=1e-5)


@settings(max_examples=40)
@given(st.data())
def test_boxes_arrive(data: st.DataObject) -> None:
    where = groups()["apart"]()
    shape = data.draw(st.tuples(st.integers(1, 40), st.integers(1, 12), st.integers(1, 6)))
    x = np.arange(np.prod(shape)).reshape(shape).astype(data.draw(st.sampled_from(["i8", "i4", "u1"])))
    weights = st.lists(st.integers(0, 3), min_size=2, max_size=2).filter(any)
    axes = data.draw(st.permutations(range(3)))
    steps = data.draw(st.tuples(*[st.sampled_from([1, 1, 2, -1, -3])] * 3))
    key = tuple(slice(None, None, step) for step in steps)
    with _small_blocks(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "AT_ONCE", data.draw(st.sampled_from([0, 100, 1 << 20])))
        a = mdhnp.distribute(x, "block", data.draw(st.integers(0, 2)), devices=where, weights=data.draw(weights))
        a, x = a.transpose(axes)[key], x.transpose(axes)[key]
        kind = data.draw(st.sampled_from(["block", "copy", "overlap", "single"]))
        found = mdhnp.distribute(a, kind, data.draw(st.integers(0, 2)), weights=data.draw(weights))
        np.testing.assert_array_equal(found.numpy(), x)
        for part in found.parts if kind == "copy" else ():
            np.testing.assert_array_equal(part.numpy(), x)


def _on_first(where: Group, nbytes: int) -> tuple[np.ndarray[Any, Any], mdhnp.Array]:
    x = np.random.default_rng(nbytes).integers(0, 256, nbytes).astype(np.uint8)
    return x, mdhnp.distribute(x, devices=where, weights=(1, 0))


def test_a_piece_is_read_while_those_before_are_written(apart: Group) -> None:
    x, a = _on_first(apart, 8 * BLOCK)
    second = apart.members[1]
    hold = cl.UserEvent(second.context)
    timer = threading.Timer(20, hold.set_status, [cl.command_execution_status.COMPLETE])
    timer.start()
    cl.enqueue_barrier(second.queue, wait_for=[hold])  # nothing is written until then
    moved = mdhnp.distribute(a, weights=(0, 1))
    assert timer.is_alive()  # as many as there are blocks were read
    timer.cancel()
    hold.set_status(cl.command_execution_status.COMPLETE)
    np.testing.assert_array_equal(moved.numpy(), x)


@pytest.mark.parametrize("at_once", [0, 1 << 20])
@pytest.mark.parametrize("nbytes", [64, 8 * BLOCK, 8 * BLOCK + 1, 100 * BLOCK - 1])
def test_pieces_of_all_sizes_arrive(nbytes: int, at_once: int, apart: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "AT_ONCE", at_once)
    x, a = _on_first(apart, nbytes)
    second = apart.members[1]
    hold = cl.UserEvent(second.context)
    threading.Timer(0.2, hold.set_status, [cl.command_execution_status.COMPLETE]).start()
    cl.enqueue_barrier(second.queue, wait_for=[hold])  # until then no block may be used again
    with transfers.watched() as copies:
        moved = mdhnp.distribute(a, weights=(0, 1))
    assert sorted((c.to_device, c.nbytes) for c in copies) == [(False, nbytes), (True, nbytes)]
    np.testing.assert_array_equal(moved.numpy(), x)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(("at_once", "at"), [(0, 1), (0, 3), (0, 20), (1 << 20, 1)])
def test_a_device_that_fails_amid_pieces_is_named(
    number: int, at_once: int, at: int, apart: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "AT_ONCE", at_once)
    x, a = _on_first(apart, 30 * BLOCK)
    device, count = apart.members[number], [0]

    def failing(queue: Any, *arguments: Any, do: Any = cl.enqueue_copy, **keywords: Any) -> Any:
        count[0] += queue.device == device.cl
        if queue.device == device.cl and count[0] == at:
            raise cl.RuntimeError(cl._cl._ErrorRecord(msg="", code=-5, routine="clEnqueueCopy"))
        return do(queue, *arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(cl, "enqueue_copy", failing)
        with pytest.raises(RuntimeError, match=rf"^{re.escape(device.name)} \({device.runtime}\): LaunchError: "):
            mdhnp.distribute(a, weights=(0, 1))
    np.testing.assert_array_equal(mdhnp.distribute(a, weights=(0, 1)).numpy(), x)


def test_what_fails_later_where_it_was_put_is_no_error_of_the_next_copy(apart: Group) -> None:
    x, a = _on_first(apart, 30 * BLOCK)
    first, second = apart.members
    view = a.parts[0]._view

    def lost(some: Any, at: int) -> Any:
        return failed_event(second)

    resident.pass_on(first, view, lost)
    np.testing.assert_array_equal(a.numpy(), x)
    np.testing.assert_array_equal(mdhnp.distribute(a, weights=(0, 1)).numpy(), x)


@pytest.mark.parametrize("at", [0, 3, 29])
@pytest.mark.parametrize("read", [lambda a: mdhnp.synchronize(a.parts[1].device), mdhnp.Array.numpy])
def test_a_piece_that_fails_where_it_is_put_is_told_by_who_waits(
    read: Any, at: int, apart: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, a = _on_first(apart, 30 * BLOCK)
    device, count = apart.members[1], [0]
    need_failures_told(device)

    def failing(queue: Any, target: Any, *arguments: Any, do: Any = cl.enqueue_copy, **keywords: Any) -> Any:
        event = do(queue, target, *arguments, **keywords)
        if queue.device != device.cl or not isinstance(target, cl.Buffer):
            return event
        count[0] += 1
        return failed_event(device) if count[0] == at + 1 else event

    with monkeypatch.context() as patch:
        patch.setattr(cl, "enqueue_copy", failing)
        moved = mdhnp.distribute(a, weights=(0, 1))
    assert count == [30]
    with pytest.raises(RuntimeError, match=re.escape(f"{device.name} ({device.runtime})")):
        read(moved)
    np.testing.assert_array_equal(moved.numpy(), x)  # what was told is not told again


def test_an_array_moved_by_a_finalizer_amid_a_move_arrives(apart: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    (x, a), (y, b) = _on_first(apart, 30 * BLOCK), _on_first(apart, 20 * BLOCK + 1)
    moved: list[mdhnp.Array] = []
    filling = resident.filling

    @contextmanager
    def amid(*given: Any) -> Iterator[Any]:
        with filling(*given) as fill:

            def put(some: Any, at: int) -> Any:
                if not moved:
                    moved.append(a)
                    moved[0] = mdhnp.distribute(b, weights=(0, 1))
                return fill(some, at)

            yield put

    monkeypatch.setattr(resident, "filling", amid)
    found: list[mdhnp.Array] = []
    thread = threading.Thread(target=lambda: found.append(mdhnp.distribute(a, weights=(0, 1))), daemon=True)
    thread.start()
    thread.join(20)
    np.testing.assert_array_equal(found[0].numpy(), x)
    np.testing.assert_array_equal(moved[0].numpy(), y)


@pytest.mark.parametrize("at_once", [0, 1 << 20])
def test_without_memory_that_can_be_pinned_arrays_arrive(
    at_once: int, apart: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise cl.MemoryError(cl._cl._ErrorRecord(msg="", code=cl.status_code.OUT_OF_HOST_MEMORY, routine="create"))

    monkeypatch.setattr(exchange, "AT_ONCE", at_once)
    monkeypatch.setattr(transfers, "PinnedRing", full)
    monkeypatch.setattr(pinned, "PinnedBlock", full)
    monkeypatch.setattr(pinned, "_pools", {})
    x, a = _on_first(apart, 20 * BLOCK + 1)
    np.testing.assert_array_equal(mdhnp.distribute(a, weights=(0, 1)).numpy(), x)
