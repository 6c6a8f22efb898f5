"""Elements put into an Array on several devices while others read it, or put some in: what is read later is right."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from several import groups

import mdhnp
from mdhnp.distributed import exchange, executor, threads
from mdhnp.distributed.placement import Placement, placement_of
from mdhnp.distributed.spans import is_empty
from mdhnp.runtime.pending import waiting

if TYPE_CHECKING:
    from mdhnp.runtime.groups import Group

WEIGHTS = np.array([[0, 1], [2, 0], [0, 1], [1, 0]])
#: Seconds after which a thread that must wait for another one, as it should, gives up what this test wants.
WHILE = 1.0


@pytest.fixture
def apart(cut_always: None) -> Group:
    """Two devices, each with memory of its own."""
    return groups()["apart"]()


def _smooth(a: Any) -> Any:
    return mdhnp.stencil(a, WEIGHTS, "nearest")


def _put(a: mdhnp.Array, new: Any) -> threading.Thread:
    def work() -> None:
        a[...] = new

    found = threading.Thread(target=work, name="puts")
    found.start()
    return found


def test_a_halo_read_amid_a_store_is_not_kept(apart: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    x, y = rng.integers(-3, 4, (2, 19, 6))
    a, new = (mdhnp.distribute(each, devices=apart, weights=(1, 1)) for each in (x, y))
    a = _smooth(a)  # which has room for halos
    stored, completed = threading.Event(), threading.Event()

    def store(target: Any, source: Any, shard: Any, do: Any = executor.store) -> None:
        if shard.device is apart.members[1]:
            completed.wait(20)  # until the first device has read the old elements
        do(target, source, shard)
        stored.set()

    def complete(placement: Placement, *given: Any, do: Any = Placement.complete) -> None:
        do(placement, *given)
        if placement is placement_of(a._view):
            completed.set()

    with monkeypatch.context() as patch:
        patch.setattr(executor, "store", store)
        patch.setattr(Placement, "complete", complete)
        thread = _put(a, new)
        assert stored.wait(20)
        _smooth(a)  # of old elements and new ones: nobody says which
        thread.join(20)
    np.testing.assert_array_equal(a.numpy(), y)
    np.testing.assert_array_equal(_smooth(a).numpy(), _smooth(y))


def test_copies_that_two_threads_store_into_stay_the_same(apart: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    a = mdhnp.distribute(np.zeros((6, 5), int), "copy", devices=apart)
    one, two = (mdhnp.distribute(np.full((6, 5), n), "copy", devices=apart) for n in (1, 2))
    begun, done = threading.Event(), threading.Event()

    def on_all(devices: Any, jobs: Any, do: Callable[..., Any] = threads.on_all) -> Any:
        if threading.current_thread().name != "puts" or getattr(jobs[0], "func", None) is not executor._stored:
            return do(devices, jobs)
        do(devices[:1], jobs[:1])  # on one device before the other thread, on the other one after it
        begun.set()
        done.wait(WHILE)
        return do(devices[1:], jobs[1:])

    monkeypatch.setattr(threads, "on_all", on_all)
    thread = _put(a, one)
    assert begun.wait(20)
    a[...] = two
    done.set()
    thread.join(20)
    first, second = (part.numpy() for part in a.parts)
    np.testing.assert_array_equal(first, second)


@pytest.fixture(params=[0, 1])
def failing(request: pytest.FixtureRequest, apart: Group, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a block in which a device fails to store, after the other one has stored."""
    stored = threading.Event()

    def store(target: Any, source: Any, shard: Any, do: Any = executor.store) -> None:
        if shard.device is apart.members[request.param]:
            stored.wait(20)
            raise mdhnp.LaunchError("no power")
        do(target, source, shard)
        stored.set()

    @contextmanager
    def block() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(executor, "store", store)
            with pytest.raises(RuntimeError, match="no power"):
                yield

    return block


def test_after_a_store_that_fails_halos_are_those_of_what_is_there(apart: Group, failing: Any) -> None:
    rng = np.random.default_rng(7)
    x, y = rng.integers(-3, 4, (2, 19, 6))
    a, new = (mdhnp.distribute(each, devices=apart, weights=(1, 1)) for each in (x, y))
    a = _smooth(a)
    _smooth(a)  # so that halos are there
    with failing():
        a[...] = new
    np.testing.assert_array_equal(_smooth(a).numpy(), _smooth(a.numpy()))


def test_after_a_store_that_fails_halos_are_fetched_once(apart: Group, failing: Any) -> None:
    x, y = np.random.default_rng(8).integers(-3, 4, (2, 19, 6))
    a = mdhnp.distribute(x, "overlap", devices=apart, weights=(1, 1), halo=2)
    with failing():
        a[...] = mdhnp.distribute(y, devices=apart, weights=(1, 1))
    expected = _smooth(a.numpy())
    moved = []
    for _ in range(2):
        with exchange.watched() as seen:
            np.testing.assert_array_equal(_smooth(a).numpy(), expected)
        moved.append(sum(each.nbytes for each in seen))
    assert moved[0] > moved[1] == 0


def test_after_a_store_that_fails_all_read_the_same_of_a_copy(apart: Group, failing: Any) -> None:
    a = mdhnp.distribute(np.zeros(8, int), "copy", devices=apart)
    ones, twos = (mdhnp.distribute(np.full(8, n), devices=apart) for n in (1, 2))
    with failing():
        a[...] = ones
    found = a.numpy().copy()
    for _ in range(2):
        np.testing.assert_array_equal((a + 0).numpy(), found)  # on each device half of them
    a[2:6] = twos[2:6]
    found[2:6] = 2
    np.testing.assert_array_equal(a.numpy(), found)
    np.testing.assert_array_equal((a + 0).numpy(), found)
    for part in mdhnp.distribute(a, "copy").parts:
        np.testing.assert_array_equal(part.numpy(), found)


def _interrupt() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_what_a_device_stores_after_ctrl_c_is_what_others_read_later(
    apart: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = np.random.default_rng(11).integers(-3, 4, (2, 19, 6))
    a, new = (mdhnp.distribute(each, devices=apart, weights=(1, 1)) for each in (x, y))
    a, old = _smooth(a), _smooth(x)  # which have room for halos
    go_on, first_done, stored = threading.Event(), threading.Event(), threading.Event()

    def late(target: Any, source: Any, shard: Any, do: Any = executor.store) -> None:
        if shard.device is apart.members[1]:
            first_done.wait(20)
            _interrupt()
            go_on.wait(20)
        do(target, source, shard)
        first_done.set()

    ended = Placement._part

    def parted(self: Placement) -> None:
        ended(self)
        if threading.current_thread() is not threading.main_thread():
            stored.set()

    with monkeypatch.context() as patch:
        patch.setattr(executor, "store", late)
        patch.setattr(Placement, "_part", parted)
        with pytest.raises(KeyboardInterrupt):
            a[...] = new
        half = a.numpy()
        first = a.distribution.sizes[0][0]
        np.testing.assert_array_equal(half, np.concatenate([y[:first], old[first:]]))
        shard, value = placement_of(a._view).shards[0], placement_of(a._view)
        value.complete(shard, shard.room, value.stores)  # a halo that is read before the rest is stored
        go_on.set()
        assert stored.wait(WHILE * 5)
        assert shard.valid == shard.own
    np.testing.assert_array_equal(a.numpy(), y)
    np.testing.assert_array_equal(_smooth(a).numpy(), _smooth(y))


def test_a_failure_told_while_a_halo_is_brought_leaves_none(apart: Group) -> None:
    x = np.random.default_rng(13).integers(-3, 4, (19, 6))
    value = placement_of(_smooth(mdhnp.distribute(x, devices=apart))._view)
    shard = value.shards[0]
    assert shard.room != shard.own
    for noticed in (False, True):
        value.holders()
        stores = value.stores
        waiting(apart.members[0]).failures += 1
        if noticed:  # by another call, before the halo is said to be complete
            value.holders()
        value.complete(shard, shard.room, stores)
        assert value.valid(shard) == shard.own
    value.holders()
    value.complete(shard, shard.room, value.stores)
    assert value.valid(shard) == shard.room


def test_ctrl_c_comes_once_more_while_copies_are_told_apart(apart: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(12).integers(-3, 4, (19, 6))
    value = placement_of(mdhnp.distribute(x, "copy", devices=apart)._view)
    part, times = Placement._part, []

    def interrupted(self: Placement) -> None:
        times.append(True)
        if len(times) < 3:
            raise KeyboardInterrupt
        part(self)

    monkeypatch.setattr(Placement, "_part", interrupted)
    with pytest.raises(KeyboardInterrupt), value.storing():
        raise KeyboardInterrupt
    first, second = value.shards
    assert second.own == second.valid
    assert is_empty(second.own)
    assert first.valid == first.own == first.room
