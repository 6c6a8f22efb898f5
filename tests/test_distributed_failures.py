"""What happens when a device fails, a user interrupts, or several threads and processes take part."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from several import FAR, A, B, groups, same

import mdhnp
from mdhnp.distributed import executor, jobs, threads
from mdhnp.errors import warn
from mdhnp.runtime import pending, relay
from mdhnp.runtime.devices import find_target
from mdhnp.runtime.groups import Group

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device


def _broken(device: Device, monkeypatch: pytest.MonkeyPatch, fail: Callable[[], None]) -> None:
    """Kernels fail on a device."""
    compute = jobs.DeviceCall.__call__

    def call(self: jobs.DeviceCall, where: Device, *given: Any) -> Any:
        if where is device:
            fail()
        return compute(self, where, *given)

    monkeypatch.setattr(jobs.DeviceCall, "__call__", call)


@pytest.mark.parametrize("number", [0, 1])
def test_a_device_that_fails_is_named(
    number: int, pair: Group, cut_always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = mdhnp.distribute(A)
    device = pair.members[number]

    def fail() -> None:
        raise mdhnp.LaunchError("no power")

    def full() -> None:
        raise MemoryError("no room")

    def unable() -> None:
        raise TypeError("no doubles")

    for how, error in ((fail, RuntimeError), (full, MemoryError), (unable, TypeError)):
        with monkeypatch.context() as patch:
            _broken(device, patch, how)
            with pytest.raises(error, match=rf"\({device.runtime}\).*no (power|room|doubles)"):
                np.sin(a) + a
    same((a + a).numpy(), A + A)  # nothing hangs


@pytest.mark.parametrize("number", range(4))
def test_a_device_of_a_grid_that_fails_is_named_and_others_go_on(
    number: int, cut_always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "machines", lambda group: (FAR,) * 4)
    where = groups()["four"]()
    x, y = np.random.default_rng(4).integers(-9, 9, (2, 21, 21))
    a, b = (mdhnp.distribute(v, axis=(0, 1), devices=where, weights=(1,) * 4) for v in (x, y))
    product = a @ b

    def fail() -> None:
        raise mdhnp.LaunchError("no power")

    with monkeypatch.context() as patch:
        _broken(where.members[number], patch, fail)
        for compute in (lambda: a @ b, lambda: product.sum(axis=1), lambda: mdhnp.stencil(product, np.ones((3, 3)))):
            with pytest.raises(RuntimeError, match=rf"^{re.escape(where.labels[number])}: LaunchError: no power$"):
                compute()
        for part in product.parts:
            if part.device is not where.members[number]:
                np.testing.assert_array_equal((part + part).numpy(), 2 * part.numpy())
    np.testing.assert_array_equal((a @ b).numpy(), x @ y)


def test_a_device_that_fails_when_another_one_reads_is_named(cut_always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    where = groups()["apart"]()
    a, (first, _) = mdhnp.distribute(A, devices=where, weights=(1, 1)), where.members

    class Piece(relay.Piece):
        def __init__(self, device: Device, view: Any, after: Any) -> None:
            if device is first:
                raise mdhnp.LaunchError("no power")
            super().__init__(device, view, after)

    monkeypatch.setattr(relay, "Piece", Piece)
    with pytest.raises(RuntimeError, match=rf"^{re.escape(where.labels[0])}: LaunchError: no power$"):
        mdhnp.stencil(a, np.ones((3, 3)), "constant")


@pytest.mark.parametrize("failing", ["reading the second", "writing"])
def test_nobody_gets_the_memory_of_a_piece_that_nobody_takes(
    failing: str, cut_always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, weights = groups()["apart"](), np.ones((3, 3), int)
    a, left, made = mdhnp.distribute(A, devices=where, weights=(1, 1)), list[Any](), list[Any]()

    class Piece(relay.Piece):
        def __init__(self, device: Device, view: Any, after: Any) -> None:
            if failing != "writing" and made:
                raise mdhnp.LaunchError("no power")
            super().__init__(device, view, after)
            made.append(self)

        def write(self, *given: Any) -> None:
            raise mdhnp.LaunchError("no power")

        def abandon(self) -> None:
            super().abandon()
            left.append((self._event, [few.event for few in pending.waiting(self._device).few]))

    with monkeypatch.context() as patch:
        patch.setattr(relay, "Piece", Piece)
        with pytest.raises(RuntimeError, match="LaunchError: no power"):
            mdhnp.stencil(a, weights, "constant")
    assert len(left) == (2 if failing == "writing" else 1)
    assert all(event in held for event, held in left)  # by which the memory is
    same(mdhnp.stencil(a, weights, "constant").numpy(), mdhnp.stencil(A, weights, "constant"))


@pytest.mark.parametrize("several", ["unlike", "apart"], indirect=True)
def test_ctrl_c(several: Group, cut_always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.ones((3, 3), int)
    a = mdhnp.stencil(mdhnp.distribute(A, weights=(1, 1)), weights, "nearest")
    done = threading.Event()

    def interrupt() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        done.wait(20)

    with monkeypatch.context() as patch:
        _broken(several.members[1], patch, interrupt)
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            mdhnp.stencil(a, weights, "nearest")
        assert time.monotonic() - begin < 15
        done.set()
    steps = mdhnp.stencil(mdhnp.stencil(A, weights, "nearest"), weights, "nearest")
    same(mdhnp.stencil(a, weights, "nearest").numpy(), steps)


def test_warnings_of_what_devices_do_are_about_the_user_s_line(several: Group) -> None:
    with pytest.warns(RuntimeWarning) as caught:
        threads.on_all(several.members, [partial(warn, f"{n} is slow") for n, _ in enumerate(several.members)])
    assert sorted(str(w.message) for w in caught) == [f"{n} is slow" for n, _ in enumerate(several.members)]
    assert {w.filename for w in caught} == {__file__}


def test_a_forked_child_is_told() -> None:
    code = """
import os, numpy as np, mdhnp
with mdhnp.device("cpu/2"):
    a = mdhnp.distribute(np.ones((100, 100)), weights=(1, 1))
    (a @ a).numpy()
child = os.fork()
if not child:
    def told(what):
        try:
            what()
        except (mdhnp.NoDeviceError, RuntimeError) as error:
            return "forked" in str(error)

    # parts that there were, and others
    os._exit(7 if told(lambda: a @ a) and told(lambda: mdhnp.device("cpu/1").__enter__()) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_threads_name_the_same_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_parts", "_groups"):
        monkeypatch.setattr(f"mdhnp.runtime.groups.{name}", {})
    together = threading.Barrier(8)

    def find(_: int) -> Group:
        together.wait(60)
        found: Any = find_target("cpu/2")
        return found

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(find, range(8)))) == 1


def test_threads_share_distributed_arrays(several: Group, cut_always: None) -> None:
    a, b = mdhnp.distribute(A), mdhnp.distribute(B, "overlap")
    steps, weights = [A], np.ones((3, 3), A.dtype)
    for _ in range(2):
        steps.append(mdhnp.stencil(steps[-1], weights, "nearest"))
    smoothed = [mdhnp.stencil(a, weights, "nearest") for _ in range(5)]  # whose halos come with the first who asks
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for smooth in smoothed:
                with mdhnp.device(several):
                    np.testing.assert_array_equal(mdhnp.stencil(smooth, weights, "nearest").numpy(), steps[2])
                    np.testing.assert_array_equal((a @ b).numpy(), A @ B)
                    np.testing.assert_array_equal(b.sum(axis=0).numpy(), B.sum(axis=0))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed
