"""What forks wait for, what they do not, what a forked child finds; and what the garbage collector takes for old."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import mdhnp
from mdhnp.calls import loading
from mdhnp.process import Process, process, unforked

if TYPE_CHECKING:
    from mdhnp.runtime.devices import Device

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
LONG = 30  # seconds after which a test has failed


class Gate(threading.Condition):
    """Notes each time that a fork looks whether it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[bool] = []
        self.asked = threading.Semaphore(0)

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        def answer() -> bool:
            self.answers.append(predicate())
            self.asked.release()
            return self.answers[-1]

        return super().wait_for(answer, timeout)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    own = Gate()
    monkeypatch.setattr(process, "_gate", own)
    return own


def fork() -> None:
    """Do what a fork does in the parent."""
    process._before_fork()
    process._after_fork_in_parent()


def test_a_fork_waits_for_the_outermost_block_of_another_thread(gate: Gate) -> None:
    forking = threading.Thread(target=fork)
    with unforked():
        forking.start()
        assert gate.asked.acquire(timeout=LONG)
        for _ in range(2):
            with unforked():  # entered while the fork waits, which looks again at its end
                pass
            assert gate.asked.acquire(timeout=LONG)
    forking.join(LONG)
    assert not forking.is_alive()
    assert gate.answers == [False, False, False, True]
    assert not process._busy


def test_a_thread_does_not_wait_for_itself(gate: Gate) -> None:
    with unforked(), unforked():
        fork()
    assert gate.answers == [True]


def test_a_fork_does_not_wait_for_ever(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdhnp.process._PATIENCE", 0.01)
    forking = threading.Thread(target=fork)
    with unforked():
        forking.start()
        forking.join(LONG)
        assert not forking.is_alive()
    assert gate.answers[0] is False


def test_an_interrupted_entry_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(threading.Condition):
        def __exit__(self, *error: object) -> None:
            super().__exit__(*error)  # type: ignore[arg-type]
            monkeypatch.undo()
            raise KeyboardInterrupt

    monkeypatch.setattr(process, "_gate", Interrupted())
    with pytest.raises(KeyboardInterrupt), unforked():
        raise AssertionError("entered")
    assert not process._busy


def test_an_interrupted_function_before_a_fork_leaves_nothing_locked() -> None:
    mine, ran = Process(), list[str]()

    def interrupt() -> None:
        raise KeyboardInterrupt

    mine.at_fork(lambda: ran.append("child"), before=interrupt, in_parent=interrupt)
    mine.at_fork(lambda: ran.append("child"), in_parent=lambda: ran.append("parent"))
    for after in (mine._after_fork_in_parent, mine._after_fork_in_parent):
        with pytest.raises(KeyboardInterrupt):
            mine._before_fork()
        with pytest.raises(KeyboardInterrupt):
            after()
    assert ran == ["parent", "parent"]
    entered = threading.Event()

    def enter() -> None:
        with mine.unforked():
            entered.set()

    threading.Thread(target=enter, daemon=True).start()
    assert entered.wait(10)


def test_a_child_waits_for_none_of_its_parents_threads() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def stay() -> None:
        with unforked():
            inside.set()
            go_on.wait(LONG)

    other = threading.Thread(target=stay)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mdhnp.process._PATIENCE", 0.01)
        other.start()
        assert inside.wait(LONG)
        read, write = os.pipe()
        with unforked(), unforked():
            child = os.fork()
            if child == 0:
                with unforked():
                    held = sorted(process._busy) == [threading.get_ident()]
                os.write(write, str((held, not process._busy)).encode())
                os._exit(0)
    os.waitpid(child, 0)
    go_on.set()
    other.join(LONG)
    assert os.read(read, 100) == b"(True, True)"
    os.close(read)
    os.close(write)
    assert not process._busy


def test_a_child_finds_free_locks_empty_tables_and_what_its_parent_had() -> None:
    free, mine, table, calls = process.lock(), process.lock(), process.table(), []
    table["key"] = value = Path()
    process.at_fork(lambda: calls.append("child"), before=lambda: calls.append("before"))
    holder, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with free:
            holder.set()
            go_on.wait(LONG)

    other = threading.Thread(target=hold)
    other.start()
    assert holder.wait(LONG)
    read, write = os.pipe()
    with mine:
        child = os.fork()
        if child == 0:
            kept = any(value in each.values() for each in process._inherited if isinstance(each, dict))
            os.write(write, str((free.acquire(timeout=1), mine._is_owned(), table, kept, calls)).encode())
    if child == 0:  # the block has released its lock here, too
        os.write(write, str(mine._is_owned()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    go_on.set()
    other.join(LONG)
    assert os.read(read, 200) == b"(True, True, {}, True, ['before', 'child'])False"
    os.close(read)
    os.close(write)
    assert table == {"key": value}
    assert calls == ["before"]


def test_a_child_forked_amid_a_compilation_does_not_wait_for_it() -> None:
    code = """
import os, threading
from mdhnp.calls.store import forget, store
from mdhnp.process import process
from mdhnp.runtime import devices, programs
held = [lambda: store.lock, lambda: programs._registry, lambda: devices._listing]
held += [lambda d=d: d._lock for d in devices.devices()]
mine = programs._locks.setdefault("key", process.lock())
ready, go = threading.Event(), threading.Event()
def compile():
    locks = [mine, *[lock() for lock in held]]
    for lock in locks: lock.acquire()
    ready.set()
    go.wait()
    for lock in locks: lock.release()
thread = threading.Thread(target=compile)
thread.start()
ready.wait()
child = os.fork()
if child == 0:
    free = [lock().acquire(timeout=1) for lock in held] + [mine.acquire(timeout=1)]
    store.lock.release()
    forget()
    os.write(1, str(all(free)).encode())
    os._exit(0)
os.waitpid(child, 0)
go.set()
thread.join()
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("True", "", 0)


def test_numpy_computes_in_a_child_of_a_process_with_devices(tmp_path: Path) -> None:
    """Also what kernels would compute as one, or on several devices; the user is told once, the rest is an error."""
    code = """
import os, sys, warnings
import numpy as np
import mdhnp
a = np.random.default_rng(0).random((300, 400))

@mdhnp.fuse
def softmax(x):
    e = mdhnp.exp(x - mdhnp.max(x, axis=1, keepdims=True))
    return e / mdhnp.sum(e, axis=1, keepdims=True)

def raises(call):
    try:
        call()
    except RuntimeError as error:  # of a device, or of one of several
        return "'spawn' or 'forkserver'" in str(error)

def by_kernels():
    with mdhnp.config(host="never"):
        mdhnp.matmul(a, a.T)

right = np.exp(a - a.max(1, keepdims=True))
right /= right.sum(1, keepdims=True)
assert mdhnp.devices()
with mdhnp.device("cpu/2"):
    by_kernels()
    whole = mdhnp.asarray(a)
    child = os.fork()
    if child == 0:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for specialise in ("auto", "always"):
                with mdhnp.config(host="auto", specialise=specialise):
                    np.testing.assert_allclose(mdhnp.matmul(a, a.T), a @ a.T)
                    np.testing.assert_allclose(softmax(a), right)
        (told,) = caught
        assert "'spawn' or 'forkserver'" in str(told.message), told
        assert told.filename == sys.argv[1], told
        assert raises(by_kernels)
        assert raises(lambda: whole + 1)
        os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    script = tmp_path / "program.py"
    script.write_text(code)
    paths = os.pathsep.join([str(Path(mdhnp.__file__).parents[1]), *filter(None, sys.path)])
    subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(script), str(script)],
        env={**os.environ, "PYTHONPATH": paths}, check=True, timeout=LONG,
    )  # fmt: skip


def test_what_is_loaded_already_is_not_taken_for_old_again(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Garbage would become old with it: `explain` asks for what is loaded each time."""
    loading.load()
    again: list[None] = []
    monkeypatch.setattr(loading, "take_for_old", lambda: again.append(None))
    mdhnp.explain(mdhnp.matmul, np.ones((4, 4), np.float32), np.ones((4, 4), np.float32))
    assert loading.load() and not again


def test_objects_of_before_are_old_but_those_that_somebody_has_frozen_stay_frozen() -> None:
    code = """
import gc
from mdhnp.process import take_for_old
gc.disable()
made = []
assert not any(each is made for each in gc.get_objects(2))
take_for_old()
assert any(each is made for each in gc.get_objects(2))
gc.freeze()
frozen = gc.get_freeze_count()
take_for_old()
assert gc.get_freeze_count() == frozen > 0
"""
    paths = os.pathsep.join([str(Path(mdhnp.__file__).parents[1]), *filter(None, sys.path)])
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": paths}, check=True, timeout=LONG)
