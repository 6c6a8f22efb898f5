"""`mdhnp doctor`: a report in Markdown, whatever is broken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mdhnp.cli import doctor as module
from mdhnp.cli import main
from mdhnp.runtime import discovery
from mdhnp.runtime.devices import Device

#: Seconds as other processes give them.
SECONDS = {"seconds": [0.001, 0.002, 0.003, 0.004]}
XEON = {"name": "Xeon", "runtime": "intel", "kind": "cpu", "platform": "Intel(R) OpenCL", "driver": "1"}


def report(status: int = 0) -> str:
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == status, (result.output, result.exception)
    return result.stdout


def answering(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> None:
    monkeypatch.setattr(module, "in_a_process", lambda function, *arguments: answers.get(function, {}))


def test_it_reports_this_machine(device: Device) -> None:
    printed = report()
    assert printed.startswith("### mdhnp doctor\n\n")
    rows = [line for line in printed.splitlines() if line.startswith(f"| {device.name} | {device.runtime} |")]
    assert rows and all([device.driver in row and " ms |" in row for row in rows])  # equal boards have a row each
    for table in printed.split("\n\n")[2:]:
        assert len({line.count(" | ") for line in table.strip().splitlines()}) == 1, table


def broken(tmp_path: Path, text: str) -> Path:
    """Compile a vendor's library; its file of the vendors' folder names it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    library = tmp_path / "libbroken.so"
    subprocess.run([compiler, "-x", "c", "-", "-shared", "-fPIC", "-o", library], input=text, text=True, check=True)
    (tmp_path / "broken.icd").write_text(f"{library}\n")
    return library


def test_a_library_that_crashes_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "#include <stdlib.h>\n__attribute__((constructor)) static void start(void) { abort(); }\n"
    library = broken(tmp_path, text)
    monkeypatch.setenv("OPENCL_VENDOR_PATH", str(tmp_path))
    printed = report(status=1)
    assert "**Listing devices: ends the process: SIGABRT**" in printed
    assert f"**`{library}`, named by `{tmp_path}/broken.icd`, does not load: ends the process: SIGABRT**" in printed


def test_a_library_without_what_it_needs_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other.icd").write_text("libnowhere.so.1\n")
    monkeypatch.setenv("OPENCL_VENDOR_PATH", str(tmp_path))
    assert f"`libnowhere.so.1`, named by `{tmp_path}/other.icd`, does not load: libnowhere.so.1: cannot" in report()


@pytest.fixture
def without_loader(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Run commands where pyopencl is there, but no OpenCL loader."""
    (tmp_path / "pyopencl.py").write_text('raise ImportError("libOpenCL.so.1: cannot open shared object file")\n')
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    return lambda command: subprocess.run(
        [sys.executable, "-m", "mdhnp", command], env=environment, cwd=tmp_path, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


def test_no_loader_is_reported(without_loader: Callable[[str], subprocess.CompletedProcess[str]]) -> None:
    done = without_loader("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert "**Listing devices: pyopencl cannot be imported: libOpenCL.so.1: cannot open" in done.stdout
    assert "Install OpenCL's loader" in done.stdout


@pytest.mark.parametrize("command", ["devices", "cache", "--help"])
def test_other_commands_name_doctor_then(
    command: str, without_loader: Callable[[str], subprocess.CompletedProcess[str]]
) -> None:
    done = without_loader(command)
    said = "Error: OpenCL cannot be used: libOpenCL.so.1: cannot open shared object file; `mdhnp doctor` tells more\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_modules_in_the_current_folder_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(7)\n")
    monkeypatch.chdir(tmp_path)
    assert "cannot open" in module.in_a_process("loaded", "libnowhere.so.1")["error"]


def test_nvidias_library_that_crashes_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, listed={"devices": [XEON]}, checked=SECONDS, nvidias={"error": "ends the process: SIGSEGV"})
    assert "named by NVIDIA's driver, does not load: ends the process: SIGSEGV" in report()


def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.01)
    assert "no answer" in module.in_a_process("listed")["error"]
    monkeypatch.undo()
    assert "has no attribute 'unheard_of'" in module.in_a_process("unheard_of")["error"]


@pytest.mark.parametrize(
    ("check", "shown"),
    [({"error": "ends the process: SIGILL"}, "Xeon (intel): ends the process: SIGILL"), (SECONDS, "Nothing is")],
)
def test_a_device_that_crashes_is_reported(check: Any, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, listed={"devices": [XEON], "refused": {}, "loader": "x"}, checked=check, loaded={})
    monkeypatch.setattr(module, "_boards", lambda: iter(()))
    monkeypatch.setattr(module.native, "Launcher", object)
    assert shown in report(status=int("error" in check))


def test_a_gpu_without_opencl_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kind, vendor in (("a", "0x030200", "0x10de"), ("b", "0x020000", "0x10de"), ("c", "0x030000", "0x1234")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "class").write_text(f"{kind}\n")
        (tmp_path / name / "vendor").write_text(f"{vendor}\n")
    monkeypatch.setattr(module, "_PCI", tmp_path)
    gpu = {**XEON, "name": "H100", "kind": "gpu", "platform": "NVIDIA CUDA"}
    text = "A GPU of NVIDIA (a) is there, but no OpenCL device of it. Install the driver's OpenCL library"
    for devices, missing in (([XEON], True), ([XEON, gpu], False)):
        listed = {"devices": devices, "refused": {}, "loader": "x"}
        answering(monkeypatch, listed=listed, checked=SECONDS, loaded={})
        monkeypatch.setattr(module, "_model", lambda address: "")
        assert (text in report()) == missing


def test_no_device_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, listed={"devices": [], "refused": {"x": "why"}, "loader": "x"}, checked={}, loaded={})
    monkeypatch.setattr(discovery, "intel_library", lambda: None)
    printed = report(status=1)
    assert "There is no OpenCL device" in printed and "No CPU runtime is in use" in printed
    assert "**Left out: x: why**" in printed


def test_tuned_schedules_need_not_be_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    answering(monkeypatch, listed={"devices": [XEON]}, checked=SECONDS)
    assert f"| folder of the tuning cache | {tmp_path} | 0 files" in report()


@pytest.mark.parametrize("spoil", [lambda folder: folder.chmod(0o777), lambda folder: folder.rmdir()])
def test_the_state_of_folders(spoil: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cache"
    folder.mkdir(0o700)
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(folder))
    spoil(folder)
    answering(monkeypatch, listed={"devices": [XEON], "loader": "x"}, checked=SECONDS, loaded={})
    expected = "not used" if folder.exists() else "not made yet"
    assert f"| compiled kernels | {folder} | {expected}" in report()
