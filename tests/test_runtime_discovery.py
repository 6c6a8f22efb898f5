"""Which libraries and devices are found, of the system's, the package's and the user's."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pyopencl as cl
import pytest
from processes import in_a_new_process

import mdhnp.runtime.devices as listing
from mdhnp.runtime import discovery
from mdhnp.runtime.devices import NoDeviceError, find_device

pytestmark = pytest.mark.whole


def test_no_device_at_all_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdhnp.runtime.devices._listed", tuple)
    with pytest.raises(NoDeviceError, match="`pip install mdhnp` brings Intel's CPU runtime"):
        find_device(0)


def test_the_users_icd_folder_is_the_only_one(tmp_path: Path) -> None:
    code = "from mdhnp.runtime.devices import devices; print({d.runtime for d in devices()} - {'pocl'})"
    assert in_a_new_process(code, OCL_ICD_VENDORS=str(tmp_path)) == "set()"


def test_finding_leaves_the_environment_as_it_was() -> None:
    code = "import os; from mdhnp.runtime.devices import devices; devices(); print(os.environ.get('OCL_ICD_VENDORS'))"
    assert in_a_new_process(code) == "None"


def test_the_system_folder_is_repeated_and_nothing_listed_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vendor.icd").write_text("/elsewhere/libintelocl.so.2024.1\n")
    (tmp_path / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    monkeypatch.delenv("OCL_ICD_FILENAMES", raising=False)
    monkeypatch.setenv("OPENCL_VENDOR_PATH", str(tmp_path))
    assert discovery.extra_libraries() == ()
    with discovery._loader_reads((Path("/new/libx.so"),)):
        folder = Path(os.environ["OCL_ICD_VENDORS"])
        lines = {file.read_text().strip() for file in folder.glob("*.icd")}
    assert lines == {"/elsewhere/libintelocl.so.2024.1", "libnvidia-opencl.so.1", "/new/libx.so"}
    assert not folder.exists()


def test_the_users_libraries_take_the_place_of_those_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    monkeypatch.setenv("OPENCL_VENDOR_PATH", "/nowhere")
    monkeypatch.setenv("OCL_ICD_FILENAMES", "libone.so.1:/two/libtwo.so")
    assert discovery.extra_libraries() == (Path("libone.so.1"), Path("/two/libtwo.so"))
    monkeypatch.setenv("OCL_ICD_VENDORS", "/somewhere")
    assert discovery.extra_libraries() == ()


def test_condas_libraries_are_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libpocl.so.2").touch()
    (tmp_path / "pocl.icd").write_text(f"{tmp_path}/libpocl.so.2\n")
    (tmp_path / "intel.icd").write_text("/nowhere/libintelocl.so\n")
    for name in ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENCL_VENDOR_PATH", "/nowhere")
    monkeypatch.setattr(discovery, "CONDA_FOLDER", tmp_path)
    monkeypatch.setattr(discovery, "intel_library", lambda: None)
    monkeypatch.setattr(discovery, "nvidia_library", lambda: None)
    assert discovery.extra_libraries() == (tmp_path / "libpocl.so.2",)
    monkeypatch.setattr(discovery, "intel_library", lambda: Path("/wheel/libpocl.so"))
    assert discovery.extra_libraries() == (Path("/wheel/libpocl.so"),)


@pytest.mark.oclgrind
@pytest.mark.skipif(shutil.which("oclgrind") is None, reason="Oclgrind is not installed")
def test_a_simulator_named_by_the_user_is_found_but_never_preferred(tmp_path: Path) -> None:
    (tmp_path / "oclgrind.icd").write_text("/usr/lib/oclgrind/liboclgrind-rt-icd.so\n")
    code = "from mdhnp.runtime.devices import devices; print(*(d.runtime for d in devices()))"
    found = in_a_new_process(code, OCL_ICD_VENDORS=str(tmp_path)).split()
    assert found[-1] == "oclgrind"
    assert "oclgrind" not in in_a_new_process(code).split()


@pytest.mark.parametrize("system", [True, False])
def test_a_full_disk_leaves_the_systems_libraries_or_one(
    system: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if system:
        (tmp_path / "some.icd").write_text("libsome.so\n")
    monkeypatch.setenv("OPENCL_VENDOR_PATH", str(tmp_path))

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    library = Path("/elsewhere/libintelocl.so")
    with discovery._loader_reads((library,)):
        assert os.environ.get("OCL_ICD_VENDORS") == (None if system else str(library))
    assert "OCL_ICD_VENDORS" not in os.environ


@pytest.mark.parametrize("writable", [True, False])
def test_pocl_keeps_its_code_out_of_shared_folders(
    writable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "POCL_CACHE_DIR"):
        monkeypatch.setenv(name, "")  # so that all are as they were at the end
        monkeypatch.delenv(name)
    if not writable:
        tmp_path.chmod(0o777)
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(discovery, "_temporary", [])
    discovery._keep_pocl_private()
    chosen = Path(os.environ["POCL_CACHE_DIR"])
    assert chosen.stat().st_mode & 0o777 == 0o700
    assert (chosen == tmp_path / "pocl") is writable
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("POCL_CACHE_DIR")
    discovery._keep_pocl_private()
    assert "POCL_CACHE_DIR" not in os.environ


def test_a_broken_device_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int) -> object:
        if number != 1:
            return number
        raise cl.RuntimeError(cl._cl._ErrorRecord(msg="", code=cl.status_code.OUT_OF_RESOURCES, routine="clGetInfo"))

    platform = SimpleNamespace(get_devices=lambda: [Board(n) for n in range(3)])
    monkeypatch.setattr(discovery, "platforms", lambda local_memory: [platform])
    monkeypatch.setattr(listing, "Device", lambda board: refuse(board.number))
    assert list(listing._present()) == [0, 2]


class Board(NamedTuple):
    number: int
    type: int = cl.device_type.CPU


def test_vendors_files_that_cannot_be_read_hide_no_others(tmp_path: Path) -> None:
    (tmp_path / "a.icd").mkdir()
    (tmp_path / "b.icd").write_bytes(b"\xff\xfe")
    (tmp_path / "c.icd").write_text("libc.so\n")
    assert discovery.entries(tmp_path) == {"c.icd": "libc.so"}
