"""Files that this process runs: taken only from where nobody else can have put them."""

import os
import stat
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from mdhnp.runtime import binaries, private, programs
from mdhnp.runtime.devices import Device
from mdhnp.runtime.programs import BuildError, build
from mdhnp.tuning.cache.database import Database

pytestmark = [pytest.mark.whole, pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX")]
KEY, CODE = "0123", b"code"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a cache folder of its own below another, with one binary, and its own first warning."""
    folder = tmp_path / "above" / "cache"
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(folder))
    monkeypatch.setattr(binaries, "_left", {"prune": True, "warn": True})
    binaries.store(KEY, CODE)
    assert binaries.load(KEY) == CODE
    return folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def others(path: Path, patch: pytest.MonkeyPatch) -> None:
    """Make one path look as if another user had made it, which only root could really do."""
    fstat, inode = os.fstat, path.stat().st_ino

    def pretended(handle: int) -> object:
        found = fstat(handle)
        return found if found.st_ino != inode else os.stat_result((*found[:4], found.st_uid + 1, *found[5:]))

    patch.setattr(private.os, "fstat", pretended)


FOLDERS: dict[str, tuple[Callable[[Path, pytest.MonkeyPatch], object], str]] = {
    "written by all": (lambda c, _: c.chmod(0o777), "mode 0777.*chmod go-w"),
    "written by the group": (lambda c, _: c.chmod(0o775), "mode 0775.*chmod go-w"),
    "a shared temporary folder": (lambda c, _: c.chmod(0o1777), "mode 1777.*chmod go-w"),
    "binaries written by the group": (lambda c, _: (c / "binaries").chmod(0o770), "mode 0770.*chmod go-w"),
    "the folder above written by all": (lambda c, _: c.parent.chmod(0o777), r"mode 0777.*chmod \+t"),
    "another user's": (others, "belongs to user"),
    "another user's binaries": (lambda c, p: others(c / "binaries", p), "belongs to user"),
}


@pytest.mark.parametrize("what", FOLDERS)
def test_a_folder_that_others_can_write_is_neither_read_nor_written(
    what: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, says = FOLDERS[what]
    change(cache, monkeypatch)
    with pytest.warns(RuntimeWarning, match=f"{says}.*MDHNP_CACHE_DIR") as said:
        for _ in range(2):
            assert binaries.load(KEY) is None
            binaries.store("4567", CODE)
    assert len(said) == 1
    assert [file.name for file in (cache / "binaries").iterdir()] == [f"{KEY}.bin"]


def test_kernels_are_compiled_as_if_there_was_no_cache(
    device: Device, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "__kernel void one(__global float *y) { y[get_global_id(0)] = 1; }"
    build(device, source)
    cache.chmod(0o777)
    monkeypatch.setattr(programs, "_from_binary", lambda *_: pytest.fail("a binary was loaded"))
    with pytest.warns(RuntimeWarning, match="compiled kernels are not kept"):
        assert build(device, source).kernel_names == "one"


FINE: dict[str, Callable[[Path], object]] = {
    "read by all": lambda cache: (cache.chmod(0o755), (cache / "binaries").chmod(0o755)),
    "reached by a link": lambda cache: moved(cache.parent),
    "a link itself": moved,
    "below a shared temporary folder": lambda cache: cache.parent.chmod(0o1777),
    "below a group's folder": lambda cache: cache.parent.chmod(0o775),
}


@pytest.mark.parametrize("change", FINE.values(), ids=FINE)
def test_a_folder_that_only_we_can_write_is_used(change: Callable[[Path], object]) -> None:
    change(Path(os.environ["MDHNP_CACHE_DIR"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert binaries.load(KEY) == CODE
        binaries.store("4567", CODE)
        assert binaries.load("4567") == CODE


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


FILES: dict[str, Callable[[Path, pytest.MonkeyPatch], object]] = {
    "written by the group": lambda file, _: file.chmod(0o620),
    "written by all": lambda file, _: file.chmod(0o602),
    "a link": lambda file, _: moved(file),
    "a pipe": lambda file, _: pipe(file),
    "another user's": others,
}


@pytest.mark.parametrize("what", FILES)
def test_a_file_that_others_can_write_is_replaced(what: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = cache / "binaries" / f"{KEY}.bin"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with monkeypatch.context() as patch:
            FILES[what](file, patch)
            assert binaries.load(KEY) is None
            binaries.store(KEY, b"new")
        assert binaries.load(KEY) == b"new"
    assert not file.is_symlink()


def test_a_folder_put_in_place_of_one_just_looked_at_is_not_read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = cache.with_name("evil")
    with monkeypatch.context() as patch:
        patch.setenv("MDHNP_CACHE_DIR", str(evil))
        binaries.store(KEY, b"evil")
    check = private._check

    def checked(handle: int, name: object) -> None:
        check(handle, name)
        if name == cache / "binaries":
            cache.rename(cache.with_name("aside"))
            evil.rename(cache)

    monkeypatch.setattr(private, "_check", checked)
    assert binaries.load(KEY) == CODE
    assert not evil.exists()


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_what_is_made_is_for_this_user_alone(umask: int, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = cache / "some" / "where"
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(deep))
    before = os.umask(umask)
    try:
        binaries.store(KEY, CODE)
        Database(deep / "data" / "tuning.sqlite").write(lambda db: None)
    finally:
        os.umask(before)
    made = [cache / "some", deep, deep / "binaries", deep / "data"]
    assert [mode(folder) for folder in made] == [0o700] * 4
    assert mode(deep / "binaries" / f"{KEY}.bin") == 0o600


def test_a_failed_source_follows_no_link(
    device: Device, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    source = "__kernel void one(__global float *y) { y[0] = undeclared_name; }"
    key = programs._key(device, source)
    name = f"mdhnp-{key[:16]}.cl"
    shared, victim = tmp_path / "shared", tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    for folder in (shared, cache / "failed"):
        folder.mkdir()
        (folder / name).symlink_to(victim)
    with pytest.raises(BuildError) as first:
        build(device, source)
    cache.chmod(0o777)
    with pytest.warns(RuntimeWarning), pytest.raises(BuildError) as second:
        build(device, source)
    for caught, folder in ((first, cache / "failed"), (second, shared)):
        path = caught.value.path
        assert path is not None
        assert path.parent == folder
        assert not path.is_symlink()
        assert path.read_text() == source
        assert mode(path) == 0o600
    assert victim.read_text() == "mine"


def test_no_module_names_a_shared_temporary_folder() -> None:
    """What is made there must get a name that nobody can guess, which `tempfile` does by itself."""
    for path in Path(private.__file__).parents[1].rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "gettempdir" not in text and "/tmp" not in text and "mktemp(" not in text, path
