"""Memory that waits between calls: never more than its limit, and right results where it was dropped."""

import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from test_runtime_executable import copy_of, expected, two_kernels

from mdhnp.runtime import executable as executables
from mdhnp.runtime import idle, launches
from mdhnp.runtime.devices import Device
from mdhnp.runtime.executable import Executable
from mdhnp.runtime.idle import Account
from mdhnp.runtime.layout import Layout
from mdhnp.runtime.memory import DeviceBuffers, HostBuffers, SystemMemory

N = 64
LAYOUT = Layout((N,), (4,), 4)
LONG = 60  # seconds after which a test has failed


@pytest.fixture(autouse=True)
def account(device: Device, monkeypatch: pytest.MonkeyPatch) -> Account:
    """Give the device an account of its own, in which only this test's plans are."""
    own = Account(10**9)
    monkeypatch.setattr(idle, "_accounts", {device: own})
    return own


def make_plan(device: Device) -> Executable:
    return Executable(device, two_kernels(N), [LAYOUT, LAYOUT], [LAYOUT])


def call(plan: Executable, seed: int = 0) -> None:
    a, b = np.random.default_rng(seed).random((2, N), dtype=np.float32)
    out = np.empty(N, np.float32)
    plan([a, b], [out])
    np.testing.assert_allclose(out, expected(a, b), rtol=1e-6)


def kept(*made: Executable) -> int:
    return sum(len(plan._states) * plan._nbytes for plan in made)


@pytest.mark.parametrize("way", [SystemMemory, HostBuffers, DeviceBuffers])
def test_the_states_used_last_are_kept(
    way: type, device: Device, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way is SystemMemory and device.kind == "gpu":
        pytest.skip("the device cannot reach the host's memory")
    monkeypatch.setattr(launches, "memory_for", way)
    size = make_plan(device)._nbytes
    assert size == 4 * N * (4 if way is DeviceBuffers else 1)  # arrays and a temporary, or that only
    account.most = 5 * size + size // 2
    made = []
    for _ in range(12):
        made.append(make_plan(device))
        assert kept(*made) <= account.most
    recent: list[int] = []
    for n, which in enumerate(np.random.default_rng(1).integers(0, 12, 100).tolist()):
        call(made[which], n)
        assert kept(*made) <= account.most
        recent = [*(other for other in recent if other != which), which]
    assert {n for n, plan in enumerate(made) if plan._states} == set(recent[-5:])
    assert account._checked == account._latest  # so that calls of plans that are kept look no further
    for plan in made:
        plan.release()
    account.most = 100 * size
    for plan in made:
        call(plan)
    assert kept(*made) == 12 * size
    del made[:], plan
    assert not len(account._states)


def test_a_state_that_alone_is_too_much_costs_no_other(
    device: Device, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device.kind == "gpu":
        pytest.skip("all of its plans hold buffers, of the same size")
    small = make_plan(device)
    monkeypatch.setattr(launches, "memory_for", DeviceBuffers)
    large = make_plan(device)
    account.most = large._nbytes - 1
    for _ in range(3):
        call(large)
        call(small)
        assert (kept(large), kept(small)) == (0, small._nbytes)


def test_a_plan_that_holds_nothing_is_not_looked_at(device: Device, account: Account) -> None:
    if launches.memory_for(device, [], []).nbytes == 0 and device.svm:
        assert type(Executable(device, copy_of(np.zeros(N, np.float32)), [LAYOUT], [LAYOUT])._states) is list
        assert not len(account._states)


@pytest.mark.parametrize("way", [HostBuffers, DeviceBuffers])
def test_states_of_calls_at_once_count(
    way: type, device: Device, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = 6
    all_at_work = threading.Barrier(threads)

    class Memory(way):  # type: ignore[misc, valid-type]
        def bind(self, *arguments: object) -> object:
            all_at_work.wait(LONG)
            return super().bind(*arguments)

    monkeypatch.setattr(launches, "memory_for", Memory)
    plan, other = make_plan(device), make_plan(device)
    account.most = 3 * plan._nbytes
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(3):
            list(pool.map(lambda n: call((plan, other)[n % 2], n), range(threads)))
            assert 0 < kept(plan, other) <= account.most


@pytest.mark.parametrize("which", [0, 1])
def test_a_finalizer_may_call_a_plan_while_states_are_dropped(
    which: int, device: Device, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launches, "memory_for", DeviceBuffers)
    made = [make_plan(device)]
    account.most = 2 * kept(*made)
    made.append(make_plan(device))
    called: list[int] = []

    def last_words() -> None:
        call(made[which])
        called.append(which)

    weakref.finalize(made[0]._states[0], last_words)

    def work() -> None:
        made.append(make_plan(device))  # for which the first one's state is dropped
        for plan in made:
            call(plan)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(LONG)
    assert not thread.is_alive()
    assert called == [which]
    assert kept(*made) == account.most


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_counts_its_own_states_only(device: Device, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a fork does in the child, here without one: some runtimes do not survive it."""
    monkeypatch.setattr(launches, "memory_for", DeviceBuffers)
    plan = make_plan(device)
    account.most = plan._nbytes
    monkeypatch.setattr(executables, "_alive", {0: weakref.ref(plan)})
    monkeypatch.setattr(executables, "_abandoned", [])
    executables._after_fork_in_child()
    assert [len(states) for states in executables._abandoned] == [1]
    call(plan)
    assert kept(plan) == plan._nbytes
    assert idle.account(device) is not account
    assert [len(each._states) for each in (account, idle.account(device))] == [1, 1]


def test_the_limit_is_a_part_of_the_devices_memory(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "_accounts", {})
    part = device.cl.global_mem_size / idle.account(device).most
    assert round(part) == (16 if device.kind == "cpu" else 8)
