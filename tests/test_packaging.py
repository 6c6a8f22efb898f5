"""Packaging: what the package needs beside its modules is in the wheel, too."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What the build itself finds or makes.
_BUILT = {".py", ".pyc", ".c", ".h", ".so", ".pyd"}


def _shipped() -> set[Path]:
    """Give the files that pyproject.toml says to put into the wheel, besides modules."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        patterns = tomllib.load(file)["tool"]["setuptools"]["package-data"]
    return {
        path
        for package, globs in patterns.items()
        for pattern in globs
        for path in ROOT.joinpath(*package.split(".")).glob(pattern)
    }


def test_every_file_of_the_package_is_in_the_wheel() -> None:
    needed = {path for path in (ROOT / "mdhnp").rglob("*.*") if path.is_file() and path.suffix not in _BUILT}
    assert sorted(needed - _shipped()) == []


def test_type_checkers_are_told_that_there_are_types() -> None:
    assert ROOT / "mdhnp" / "py.typed" in _shipped()
