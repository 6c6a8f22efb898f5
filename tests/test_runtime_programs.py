"""Compiling: once for many callers, kept on disk safely, and clear about failure."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pyopencl as cl
import pytest

from mdhnp.process import PARENT
from mdhnp.runtime import binaries, programs
from mdhnp.runtime.devices import Device
from mdhnp.runtime.programs import BuildError, build

pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("binaries_on_disk")]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a cache folder of its own, and its own first warning."""
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(binaries, "_left", {"prune": True, "warn": True})
    return tmp_path


def text() -> str:
    """Give a source text that nobody has compiled before."""
    return f"// {uuid4()}\n__kernel void one(__global float *y) {{ y[get_global_id(0)] = 1; }}\n"


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the source texts that reach the compiler."""
    seen: list[str] = []
    original = programs._from_source

    def counted(device: Device, source: str, key: str) -> object:
        seen.append(source)
        return original(device, source, key)

    monkeypatch.setattr(programs, "_from_source", counted)
    return seen


def test_many_threads_get_one_program(device: Device, compilations: list[str]) -> None:
    source = text()
    start = threading.Barrier(8)

    def ask(_: int) -> object:
        start.wait()
        return build(device, source)

    with ThreadPoolExecutor(8) as pool:
        built = list(pool.map(ask, range(8)))
    assert len({id(program) for program in built}) == 1
    assert compilations == [source]


def test_different_texts_compile_side_by_side(device: Device, compilations: list[str]) -> None:
    sources = [text() for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        built = list(pool.map(lambda source: build(device, source), sources))
    assert all(program.kernel_names == "one" for program in built)
    assert sorted(compilations) == sorted(sources)


def test_disk_spares_the_compiler(device: Device, cache: Path, compilations: list[str]) -> None:
    source = text()
    build(device, source)  # the result is dropped at once, and with it the entry in memory
    assert build(device, source).kernel_names == "one"
    assert compilations == [source]
    assert len(list((cache / "binaries").iterdir())) == 1


def test_a_tuners_candidate_stays_off_the_disk(device: Device, cache: Path) -> None:
    build(device, text(), keep=False)
    assert not (cache / "binaries").exists()


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign"])
def test_a_damaged_file_is_replaced(device: Device, cache: Path, compilations: list[str], damage: str) -> None:
    source = text()
    build(device, source)
    (file,) = (cache / "binaries").iterdir()
    good = file.read_bytes()
    middle = len(good) // 2
    bad = {
        "cut": good[:middle],
        "flipped": good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :],
        "empty": b"",
        "foreign": b"\x7fELF" + good,
    }[damage]
    file.write_bytes(bad)
    assert build(device, source).kernel_names == "one"
    assert compilations == [source, source]
    assert file.read_bytes() != bad
    build(device, source)
    assert compilations == [source, source]


def test_a_binary_that_the_driver_rejects_is_replaced(
    device: Device, cache: Path, compilations: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    source = text()
    build(device, source)
    (file,) = (cache / "binaries").iterdir()
    binaries.store(file.stem, b"no driver's binary")
    assert build(device, source).kernel_names == "one"
    assert binaries.load(file.stem) != b"no driver's binary"


def test_an_unwritable_folder_costs_one_warning(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path / "file"))  # no folder can be made below a file, even by root
    with pytest.warns(RuntimeWarning, match="MDHNP_CACHE_DIR") as caught:
        build(device, text())
        build(device, text())
    assert len(caught) == 1


def test_a_full_disk_leaves_no_part_behind(device: Device, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        assert build(device, text()).kernel_names == "one"
    assert list((cache / "binaries").iterdir()) == []


def test_a_driver_that_gives_no_binary_costs_the_file_only(
    device: Device, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent(cl.Program):
        @property
        def binaries(self) -> list[bytes]:
            raise cl.RuntimeError(cl._cl._ErrorRecord(msg="", code=cl.status_code.OUT_OF_HOST_MEMORY, routine="clGet"))

    monkeypatch.setattr(programs.cl, "Program", Silent)
    assert build(device, text()).kernel_names == "one"
    assert list((cache / "binaries").iterdir()) == []


def test_the_files_used_longest_ago_go_first(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "_LIMIT", 5000)
    monkeypatch.setattr(binaries, "_left", {})
    for age, name in enumerate("abcdefgh"):
        binaries.store(name, bytes(1000))
        file = cache / "binaries" / f"{name}.bin"
        binaries.os.utime(file, (age, age))
    monkeypatch.setitem(binaries._left, "prune", True)
    binaries.store("z", bytes(1000))
    assert {file.stem for file in (cache / "binaries").iterdir()} == {"h", "z"}


def test_a_failed_build_names_the_kernel_and_keeps_the_source(
    device: Device, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = text().replace("= 1", "= undeclared_name")
    with pytest.raises(BuildError) as caught:
        build(device, source)
    message = str(caught.value)
    assert "kernel one did not compile" in message
    assert device.name in message
    assert "undeclared_name" in message
    assert caught.value.path is not None
    assert caught.value.path.is_relative_to(cache)
    assert caught.value.path.read_text() == source
    assert str(caught.value.path) in message


def test_processes_that_write_the_same_entry_never_see_a_part(cache: Path) -> None:
    code = (
        "from mdhnp.runtime import binaries\n"
        "for i in range(200):\n"
        "    binaries.store('k', bytes([i]) * 100_000)\n"
        "    found = binaries.load('k')\n"
        "    assert found is not None and len(found) == 100_000 and len(set(found)) == 1\n"
    )
    root = Path(__file__).parents[1]
    running = [subprocess.Popen([sys.executable, "-c", code], cwd=root) for _ in range(4)]
    assert [process.wait(timeout=120) for process in running] == [0] * 4
    assert [file.name for file in (cache / "binaries").iterdir()] == ["k.bin"]


def test_options_differ_in_rounding_only(device: Device) -> None:
    options = programs.build_options(device)
    assert options.split()[:2] == ["-cl-std=CL1.2", "-w"]
    assert options.split()[2:] in ([], ["-cl-fp32-correctly-rounded-divide-sqrt"])


def test_warnings_are_not_printed(device: Device, capfd: pytest.CaptureFixture[str]) -> None:
    build(device, text().replace("{ y", "{ int unused = 1.5; y"))
    assert capfd.readouterr().err == ""


def test_a_runtime_that_is_not_asked_for_binaries(device: Device, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PoCL compiles once more for that, and where memory is short ends the process; the helper process asks instead."""

    class Silent(cl.Program):
        @property
        def binaries(self) -> list[bytes]:
            raise AssertionError("asked")

    monkeypatch.setattr(programs, "UNASKED", (device.runtime,))
    with monkeypatch.context() as patch:
        patch.setattr(programs.cl, "Program", Silent)
        build(device, text())
    assert not list(cache.glob("binaries/*"))
    monkeypatch.setenv(PARENT, "1")
    build(device, text())
    assert len(list(cache.glob("binaries/*"))) == 1
