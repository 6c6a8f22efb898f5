"""What befalls programs: limits of memory, kills, broken caches, processes and threads at once (docs/faults.md).

Each program runs in a session of its own, ends by itself within the time it has, gives right results or an error that
says why, and leaves no process behind.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mdhnp.runtime import capabilities, devices, programs
from mdhnp.runtime.devices import Device, NoDeviceError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits are POSIX's")

LONG = 120.0  # seconds that a program has, on a busy machine

#: A product, which NumPy could compute, and a function of neighbours, which it could not; both are checked.
CALLS = """
import os, sys, threading, time, warnings
import numpy as np
import mdhnp

x = np.random.default_rng(0).random((96, 96), np.float32)
product, shifted = np.matmul(x, x), np.maximum(x[:, 1:], x[:, :-1])

def compute(times=3):
    for _ in range(times):
        np.testing.assert_allclose(mdhnp.matmul(x, x), product, rtol=1e-4)
        np.testing.assert_array_equal(mdhnp.stencil(x, lambda n: np.maximum(n[0, 0], n[0, 1])), shifted)
"""


@dataclass
class Program:
    """A Python program in a session of its own, with kernels from the start and a cache of its own."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def start(self, code: str, before: Callable[[], None] | None = None) -> subprocess.Popen[str]:
        path = os.pathsep.join(filter(None, sys.path))
        own = {"MDHNP_CACHE_DIR": str(self.folder / "cache"), "MDHNP_HOST": "never", "MDHNP_TUNING": "off"}
        environment = {**os.environ, **own, "PYTHONPATH": path, **self.variables}
        return subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, preexec_fn=before,  # noqa: PLW1509
        )  # fmt: skip

    def run(self, code: str, before: Callable[[], None] | None = None, status: int = 0) -> str:
        """Give what it prints; it has ended as it should, and left nobody."""
        return ended(self.start(code, before), status)


def ended(program: subprocess.Popen[str], status: int | None = 0) -> str:
    """Give what a program printed; `status` is the one it must have, if any."""
    try:
        out, err = program.communicate(timeout=LONG)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        raise
    assert status in (None, program.returncode), out + err
    assert all_ended(program), "a child lives on"
    return out + err


def all_ended(program: subprocess.Popen[str]) -> bool:
    """Whether no process of a program's session is left, once they had time to end; those that are left are killed."""
    deadline = time.monotonic() + LONG / 4
    while time.monotonic() < deadline:
        try:
            os.killpg(program.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    os.killpg(program.pid, signal.SIGKILL)
    return False


@pytest.fixture
def program(tmp_path: Path, device: Device) -> Iterator[Program]:
    yield Program(tmp_path, {"MDHNP_DEVICE": device.runtime})


@pytest.fixture
def any_device(tmp_path: Path) -> Program:
    return Program(tmp_path)


def _slow(case: int) -> Any:
    return pytest.param(case, marks=pytest.mark.slow)


def limited(kind: int, size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (size, size))


@pytest.mark.parametrize("mebibytes", [450, *map(_slow, (560, 850, 1250)), 700, 1000, 1700])
def test_limits_of_memory(mebibytes: int, program: Program) -> None:
    code = f"""{CALLS}
try:
    compute()
    print("computed")
except (mdhnp.NoDeviceError, MemoryError) as error:
    print("refused:", error)
"""
    said = program.run(code, limited(resource.RLIMIT_AS, mebibytes << 20))
    assert "computed" in said or ("refused:" in said and "ulimit -v" in said), said


@pytest.mark.parametrize("mebibytes", [560, _slow(700), 1250])
def test_numpy_computes_where_memory_is_short(mebibytes: int, any_device: Program) -> None:
    any_device.variables.update(MDHNP_HOST="auto", MDHNP_TUNING="auto")
    code = f"""{CALLS}
deadline = time.monotonic() + 3
while time.monotonic() < deadline:
    np.testing.assert_allclose(mdhnp.matmul(x, x), product, rtol=1e-4)
"""
    any_device.run(code, limited(resource.RLIMIT_AS, mebibytes << 20))


def test_kernels_are_not_compiled_where_memory_is_short(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RLIMIT_AS", "RLIMIT_DATA"):
        with monkeypatch.context() as patch:
            number = getattr(resource, name)
            assert capabilities.shortage(1 << 20) is None
            taken = lambda kind, limit=number: (1 << 20,) * 2 if kind == limit else (1 << 60,) * 2  # noqa: E731
            patch.setattr(resource, "getrlimit", taken)
            assert f"ulimit {'-v' if name == 'RLIMIT_AS' else '-d'}" in (capabilities.shortage(1 << 20) or "")
            with pytest.raises(MemoryError, match="ulimit"):
                programs.build(device, f"__kernel void unheard_{name}() {{}}")
            with pytest.raises(NoDeviceError, match="ulimit"):
                Device(device.cl).context  # noqa: B018
            patch.setattr(devices, "_found", [])
            patch.setattr(devices, "_refused", {})
            with pytest.raises(NoDeviceError, match="OpenCL is not loaded, for want of memory"):
                devices.find_device(0)


@pytest.mark.parametrize("spoil", ["absent", "a file", "corrupt", "full", "others can write"])
def test_caches(spoil: str, program: Program) -> None:
    cache = program.folder / "cache"
    before = None
    if spoil == "a file":
        cache.write_text("")
    elif spoil == "full":
        before = limited(resource.RLIMIT_FSIZE, 0)  # as on a full disk, nothing can be written
    elif spoil != "absent":
        program.run(f"{CALLS}\ncompute()")
        for file in filter(Path.is_file, cache.rglob("*")):
            file.write_bytes(b"not this" * 999)
        assert any(cache.rglob("*.bin")) or program.variables["MDHNP_DEVICE"] == "pocl"  # which keeps its own
        if spoil == "others can write":
            cache.chmod(0o777)
    program.variables["PYTHONWARNINGS"] = "ignore"  # some of these are told, once a process
    code = f"{CALLS}\ncompute()"
    if spoil == "full":  # PoCL compiles into files, and libraries are named to the loader by files
        code = f"{CALLS}\ntry: compute()\nexcept (mdhnp.NoDeviceError, mdhnp.BuildError) as error: print(error)"
    program.run(code, before)
    program.run(code, before)


def test_eight_processes_at_once(program: Program) -> None:
    running = [program.start(f"{CALLS}\ncompute(20)") for _ in range(8)]
    for each in running:
        ended(each)
    assert not [file for file in (program.folder / "cache").rglob("*.part")]


def test_eight_threads_at_once(program: Program) -> None:
    program.run(f"""{CALLS}
errors = []
def work():
    try: compute(20)
    except BaseException as error: errors.append(error)
threads = [threading.Thread(target=work) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
assert not errors, errors
""")


@pytest.mark.parametrize(
    ("delay", "number"),
    [
        (0.6, signal.SIGINT),
        (0.0, signal.SIGTERM),
        (0.0, signal.SIGKILL),
        (0.6, signal.SIGKILL),
        pytest.param(0.0, signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(0.6, signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_a_program_that_is_stopped_amid_tuning(number: signal.Signals, delay: float, program: Program) -> None:
    code = f"""{CALLS}
print("ready", flush=True)
while True: mdhnp.tune(mdhnp.matmul, x, x, budget=100, evaluations=10**6, progress=False)
"""
    running = program.start(code)
    assert running.stdout is not None and running.stdout.readline() == "ready\n"
    time.sleep(2 * delay)
    running.send_signal(number)
    if number == signal.SIGINT:  # which ends one search, and keeps what it found
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(1)
        running.send_signal(signal.SIGTERM)
    ended(running, None)
    program.run(f"{CALLS}\ncompute()\nmdhnp.tune(mdhnp.matmul, x, x, evaluations=2, progress=False)")


def test_ctrl_c_amid_calls(program: Program) -> None:
    running = program.start(f"{CALLS}\nprint('ready', flush=True)\nwhile True: compute()")
    assert running.stdout is not None and running.stdout.readline() == "ready\n"
    time.sleep(1)
    running.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in ended(running, -signal.SIGINT)


def test_a_helper_that_is_killed_again_and_again(program: Program) -> None:
    program.variables.update(MDHNP_HOST="auto", MDHNP_TUNING="auto")
    said = program.run(f"""{CALLS}
import signal, subprocess
killed, deadline = set(), time.monotonic() + 8
while time.monotonic() < deadline:
    np.testing.assert_allclose(mdhnp.matmul(x, x), product, rtol=1e-4)
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{{task}}/children") as file: children = file.read().split()
        for child in children:
            if int(child) not in killed and len(killed) < 3:
                time.sleep(0.3)
                os.kill(int(child), signal.SIGKILL)
                killed.add(int(child))
                deadline = time.monotonic() + 2 if len(killed) == 3 else deadline
print("killed", len(killed))
""")
    assert "killed" in said and "killed 0" not in said


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_children(method: str, program: Program) -> None:
    program.variables["MDHNP_HOST"] = "auto"
    script = program.folder / "children.py"
    script.write_text(f"""{CALLS}
import multiprocessing
def work(number):
    np.testing.assert_allclose(mdhnp.matmul(x, x), product, rtol=1e-4)
    return number
if __name__ == "__main__":
    compute()
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        assert pool.map(work, range(8)) == list(range(8))
    compute()
""")
    program.run(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')")
