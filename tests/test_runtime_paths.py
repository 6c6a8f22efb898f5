"""Folders: what the environment decides, and that they stay where they are."""

import pwd
from pathlib import Path

import pytest

from mdhnp.runtime.private import cache_folder, data_folder


def test_what_may_be_deleted_is_apart_from_what_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MDHNP_CACHE_DIR")
    assert cache_folder() != data_folder()
    assert cache_folder().is_absolute()
    assert data_folder().is_absolute()


def test_one_variable_moves_both(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path))
    assert cache_folder() == data_folder() == tmp_path


def test_a_relative_folder_stays_where_it_was_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MDHNP_CACHE_DIR", f"relative-{tmp_path.name}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    first = cache_folder()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert cache_folder() == data_folder() == first == tmp_path / f"relative-{tmp_path.name}"


def test_without_a_home_nothing_is_put_into_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MDHNP_CACHE_DIR", "HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(_: int) -> object:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for folder in (cache_folder(), data_folder()):
        assert folder.is_absolute()
        with pytest.raises(NotADirectoryError):
            folder.mkdir(parents=True)
