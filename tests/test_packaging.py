"""Packaging: what the wheel and the source hold, where the version is from, what workflows use."""

import os
import pkgutil
import subprocess
import sys
import tarfile
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import mdhnp
from mdhnp.cli import main

ROOT = Path(__file__).parents[1]
#: What the build itself finds or makes.
_BUILT = {".py", ".pyc", ".c", ".h", ".so", ".pyd"}
with open(ROOT / "pyproject.toml", "rb") as _file:
    PROJECT = tomllib.load(_file)


def _shipped() -> set[Path]:
    """Give the files that pyproject.toml says to put into the wheel, besides modules."""
    return {
        path
        for package, globs in PROJECT["tool"]["setuptools"]["package-data"].items()
        for pattern in globs
        for path in ROOT.joinpath(*package.split(".")).glob(pattern)
    }


def test_every_file_of_the_package_is_in_the_wheel() -> None:
    needed = {path for path in (ROOT / "mdhnp").rglob("*.*") if path.is_file() and path.suffix not in _BUILT}
    assert sorted(needed - _shipped()) == []


def test_type_checkers_are_told_that_there_are_types() -> None:
    assert ROOT / "mdhnp" / "py.typed" in _shipped()


builds = pytest.mark.skipif(find_spec("setuptools_scm") is None, reason="setuptools-scm is not installed")


@builds
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the history is not here")
def test_the_source_has_what_the_tests_read_and_nothing_of_the_repositorys_host(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "setup.py", "-q", "egg_info", "-e", tmp_path, "sdist", "-d", tmp_path]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (made,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(made) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    hosts = (".ci/", ".github/", "packaging/", ".gitattributes", ".gitignore", ".pre-commit-config.yaml")
    assert {name for name in tracked if not name.startswith(hosts)} - names == set()
    assert sorted(name for name in names if name.startswith(hosts)) == []


@builds
def test_free_threaded_python_is_refused_by_name() -> None:
    code = "import runpy, sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1; runpy.run_path('setup.py')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 1 and "does not support free-threaded Python" in done.stderr


def test_the_version_is_no_earlier_than_the_first() -> None:
    assert mdhnp.__version__.startswith("0") and PROJECT["project"]["dynamic"] == ["version"]


def test_importing_the_package_does_not_look_its_version_up() -> None:
    code = "import sys, mdhnp; assert 'mdhnp.version' not in sys.modules; mdhnp.__version__"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_wheels_are_built_for_the_versions_that_the_metadata_name() -> None:
    built = {f"3.{tag[3:-2]}" for tag in PROJECT["tool"]["cibuildwheel"]["build"]}
    prefix = "Programming Language :: Python :: 3."
    assert built == {f"3.{c.removeprefix(prefix)}" for c in PROJECT["project"]["classifiers"] if c.startswith(prefix)}


def test_actions_are_pinned() -> None:
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        for line in workflow.read_text().splitlines():
            used = line.partition("uses:")[2].split()
            if used and not used[0].startswith("$/"):
                assert len(used[0].partition("@")[2]) == 40 and used[1] == "#", line


def test_the_script_is_there() -> None:
    assert pkgutil.resolve_name(PROJECT["project"]["scripts"]["mdhnp"]) is main


#: Commands of `.ci/pocl` that reach for the network, or take minutes; the one of CMake's leaves a file where it is run.
POCLS = {
    "id": "echo 0", "uname": "echo x86_64", "apt-cache": "", "dpkg-deb": "", "dpkg": "exit 1", "tar": "", "ninja": "",
    "apt-get": 'case "$*" in *download*) touch pocl-source_6.deb;; esac', "cmake": "touch compile_test.bc",
}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux" or not (ROOT / ".ci").exists(), reason="Debian's, and not in distributions")
def test_pocl_is_built_in_a_folder_of_its_own(tmp_path: Path) -> None:
    for name, does in POCLS.items():
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{does}\n")
        file.chmod(0o755)
    here, home = tmp_path / "here", tmp_path / "home"
    here.mkdir()
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(home), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        ["bash", ROOT / ".ci" / "pocl"], cwd=here, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{home}/mdhnp-ci/pocl-6.0/etc/OpenCL/vendors\n"
    assert not [*here.iterdir()]
    assert not [*tmp_path.glob("tmp.*")]
