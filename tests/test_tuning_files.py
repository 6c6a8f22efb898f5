"""The tuning cache's file: nothing that happens to it makes a caller fail."""

import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tuning_entries import again, entry, fresh_cache, keep, key, measurement

from mdhnp.process import process
from mdhnp.tuning.cache import TuningCache, database


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TuningCache]:
    yield from fresh_cache(tmp_path, monkeypatch)


# Files that are not what they should be


def _cut(size: int) -> Callable[[Path], object]:
    return lambda path: os.truncate(path, size)


def _statement(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        db = sqlite3.connect(path)
        for statement in statements:
            db.execute(statement)
        db.commit()
        db.close()

    return change


def _other_program(path: Path) -> None:
    path.unlink()
    _statement("CREATE TABLE keys (id)")(path)


DAMAGE = {
    "cut to a few bytes": _cut(10),
    "cut to one page": _cut(4096),
    "cut within a page": _cut(9000),
    "random bytes": lambda path: path.write_bytes(bytes(n * n * 31 % 251 for n in range(20000))),
    "a text": lambda path: path.write_text("nothing to see here\n" * 100),
    "a header and no more": lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(8192)),
    "another program's": _other_program,
    "a table is missing": _statement("DROP TABLE records"),
    "a later schema": _statement(f"PRAGMA user_version = {database.TABLES + 1}"),
}


@pytest.mark.parametrize("what", DAMAGE)
@pytest.mark.parametrize("opened", [False, True], ids=["before", "while open"])
def test_a_file_that_cannot_be_used_is_set_aside(tuned: TuningCache, what: str, opened: bool) -> None:
    for number in range(20):
        keep(tuned, key(number), entry(), measurement())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if opened:
            other = tuned
            with sqlite3.connect(tuned.path) as db:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.close()
        else:
            tuned.close()
            other = again(tuned)
        DAMAGE[what](tuned.path)
        broken = tuned.path.read_bytes()
        other.get(key(3))
        keep(other, key(3), entry(), measurement())
        other.record(key(3), measurement())
        if opened and not said:  # SQLite had the pages in its own memory; the next process sees the file
            other.close()
            other = again(tuned)
            keep(other, key(3), entry(), measurement())
    said = [warning for warning in said if warning.category is RuntimeWarning]
    assert len(said) == 1, [str(warning.message) for warning in said]
    aside = Path(f"{tuned.path}.aside-1")
    assert f"{tuned.path} " in str(said[0].message)
    assert str(aside) in str(said[0].message)
    assert ("is later than" in str(said[0].message)) is (what == "a later schema")
    if not opened:
        assert aside.read_bytes() == broken
    assert other.trouble is None
    assert [k for k, _ in again(tuned).entries()] == [key(3)]
    assert again(tuned).verify() == []


def test_verify_reports_damage_and_leaves_it_in_place(tuned: TuningCache) -> None:
    tuned.put(key(), entry())
    tuned.close()
    os.truncate(tuned.path, 9000)
    assert any(str(tuned.path) in problem for problem in tuned.verify())
    assert tuned.path.stat().st_size == 9000


def test_an_empty_file_is_a_new_one(tuned: TuningCache) -> None:
    tuned.path.parent.mkdir()
    tuned.path.touch()
    assert tuned.get(key()) is None
    tuned.put(key(), entry())
    assert again(tuned).get(key()) == entry()


def test_a_second_damaged_file_does_not_replace_the_first(tuned: TuningCache) -> None:
    tuned.path.parent.mkdir()
    for number in (1, 2):
        tuned.path.write_text(f"text {number}" * 100)
        with pytest.warns(RuntimeWarning, match=f"aside-{number}"):
            tuned.put(key(), entry())
        tuned.close()
    assert Path(f"{tuned.path}.aside-1").read_text() == "text 1" * 100


def test_many_who_find_the_same_damage_set_it_aside_once(tuned: TuningCache) -> None:
    tuned.path.parent.mkdir()
    tuned.path.write_text("nothing to see here" * 100)
    start = threading.Barrier(6)

    def put(number: int) -> None:
        mine = again(tuned)
        start.wait()
        mine.put(key(number), entry())

    with pytest.warns(RuntimeWarning, match="aside-1") as said, ThreadPoolExecutor(6) as pool:
        list(pool.map(put, range(6)))
    assert len(said) == 1
    assert len(tuned.entries()) == 6


def test_no_file_is_set_aside_while_another_opens_it(tuned: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned.path.parent.mkdir()
    tuned.path.write_text("nothing to see here" * 100)
    opened, go_on = threading.Event(), threading.Event()
    check = database.check_stamp

    def slowly(db: sqlite3.Connection) -> bool:
        if not opened.is_set():
            opened.set()
            assert go_on.wait(10)
        return check(db)

    monkeypatch.setattr(database, "check_stamp", slowly)
    with pytest.warns(RuntimeWarning, match="aside-1") as said, ThreadPoolExecutor(2) as pool:
        first = pool.submit(again(tuned).put, key(1), entry())
        assert opened.wait(10)
        second = pool.submit(again(tuned).put, key(2), entry())
        time.sleep(0.3)
        waited = not second.done() and not Path(f"{tuned.path}.aside-1").exists()
        go_on.set()
        first.result()
        second.result()
    assert waited
    assert len(said) == 1
    assert len(tuned.entries()) == 2


def test_a_deleted_folder_is_made_again(tuned: TuningCache) -> None:
    tuned.put(key(1), entry())
    for file in tuned.path.parent.iterdir():
        file.unlink()
    tuned.path.parent.rmdir()
    assert tuned.get(key(1)) is None
    tuned.put(key(2), entry())
    assert again(tuned).entries() == [(key(2), entry())]


# Disks that cannot be written


def test_an_impossible_folder_costs_one_warning(tuned: TuningCache) -> None:
    tuned.path.parent.touch()  # no folder can be made where a file is, even by root
    assert tuned.get(key()) is None
    with pytest.warns(RuntimeWarning, match="MDHNP_CACHE_DIR") as said:
        keep(tuned, key(), entry(), measurement(0))
        tuned.record(key(), measurement(1))
    assert len(said) == 1
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tuned.get, [key()] * 8)) == [entry()] * 8
    assert tuned.measurements(key()) == [measurement(0), measurement(1)]
    assert tuned.claim(key(), "a") == "a"
    assert tuned.claim(key(), "b") is None
    assert "in memory" in tuned.verify()[0]


def test_a_read_only_folder_can_still_be_read(tuned: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(tuned, key(1), entry(), measurement())  # and still open, so that all is in the write-ahead log
    connect = sqlite3.connect

    def read_only(name: object, **options: object) -> sqlite3.Connection:
        if not str(name).startswith("file:"):
            raise sqlite3.OperationalError("unable to open database file")
        return connect(name, **options)

    monkeypatch.setattr(database.sqlite3, "connect", read_only)
    other = again(tuned)
    with pytest.warns(RuntimeWarning, match="unable to open") as said:
        assert other.get(key(1)) == entry()
        other.put(key(2), entry())
    assert len(said) == 1
    assert other.measurements(key(1)) == [measurement()]
    assert other.get(key(2)) == entry()
    monkeypatch.undo()
    assert again(tuned).get(key(2)) is None


def test_of_a_damaged_file_what_stands_before_the_damage_is_kept(
    tuned: TuningCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it cannot be set aside, either."""
    for number in range(200):
        tuned.put(key(number + 1), entry())
    tuned.close()
    with sqlite3.connect(tuned.path) as db:
        db.execute("VACUUM")  # so that pages of records lie one behind the other
    db.close()
    content = bytearray(tuned.path.read_bytes())
    page = int(len(content) * 0.6) // 4096 * 4096
    content[page : page + 4096] = bytes(range(256)) * 16
    tuned.path.write_bytes(content)

    def refuse(*_: object) -> None:
        raise PermissionError("read-only file system")

    monkeypatch.setattr(database.os, "rename", refuse)
    other = again(tuned)
    with pytest.warns(RuntimeWarning, match="kept|forgotten"):
        kept = len(other.entries())
    assert 50 <= kept < 200
    assert other.get(key(1)) == other.get(key(50)) == entry()


def test_a_full_disk_keeps_what_was_there(tuned: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(tuned, key(1), entry(), measurement())
    tuned.close()
    pages = tuned.path.stat().st_size // 4096
    connect = sqlite3.connect

    def full(path: Any, *options: Any, **others: Any) -> sqlite3.Connection:
        db = connect(path, *options, **others)
        if path == tuned.path:
            db.execute(f"PRAGMA max_page_count = {pages}")
        return db

    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.warns(RuntimeWarning, match="database or disk is full") as said:
        for number in range(200):
            tuned.record(key(1), measurement(number))
    assert len(said) == 1
    assert tuned.get(key(1)) == entry()
    assert tuned.measurements(key(1)) == [measurement(), *map(measurement, range(200))]
    monkeypatch.undo()
    assert again(tuned).get(key(1)) == entry()
    assert again(tuned).verify() == []


def test_another_programs_lock_ends_the_wait(tuned: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned.put(key(1), entry())
    tuned.close()
    monkeypatch.setattr(database, "_PATIENCE", 0.05)
    holder = sqlite3.connect(tuned.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert tuned.get(key(1)) == entry()
    with pytest.warns(RuntimeWarning, match="locked"):
        tuned.put(key(2), entry())
    assert tuned.get(key(1)) == tuned.get(key(2)) == entry()
    holder.execute("ROLLBACK")
    holder.close()


def test_look_ups_do_not_wait_for_who_writes(tuned: TuningCache) -> None:
    tuned.put(key(1), entry())
    holder = sqlite3.connect(tuned.path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(tuned.put, key(2), entry())
        time.sleep(0.2)
        assert tuned.get(key(1)) == entry()
        assert not waiting.done()
        holder.execute("ROLLBACK")
        waiting.result(30)
    holder.close()


def test_uses_amid_others_wait_for_nobody(tuned: TuningCache) -> None:
    """The garbage collector may come in each of two threads, and run a finalizer that makes a call."""
    tuned.put(key(1), entry())
    both = threading.Barrier(2)

    def amid(use: Callable[[], object]) -> Callable[[sqlite3.Connection], object]:
        def work(_: sqlite3.Connection) -> object:
            both.wait(10)
            return use()

        return work

    used = tuned._database
    uses = (
        lambda: used.read(amid(lambda: tuned.put(key(2), entry()))),
        lambda: used.write(amid(lambda: tuned.get(key(1)))),
    )
    threads = [threading.Thread(target=use, daemon=True) for use in uses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert again(tuned).get(key(2)) == entry()


def test_a_write_amid_a_look_up_does_not_wait_for_it(tuned: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a write-ahead log it would wait for the end of what it interrupts, and then give up the file."""
    monkeypatch.setattr(database, "_on_network", lambda folder: True)
    monkeypatch.setattr(database, "_PATIENCE", 0.5)
    for number in range(100):
        tuned.put(key(number + 1), entry())

    def work(db: sqlite3.Connection) -> int:
        found = db.execute("SELECT * FROM records")
        found.fetchone()
        tuned.put(key(1000), entry())
        return len(found.fetchall())

    assert tuned._database.read(work) in (99, 100)
    assert tuned.trouble is None
    assert again(tuned).get(key(1000)) == entry()


def test_a_network_file_system_gets_no_shared_memory(tuned: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_on_network", lambda folder: True)
    tuned.put(key(), entry())
    assert {file.suffix for file in tuned.path.parent.iterdir()} == {".sqlite", ".lock"}
    assert again(tuned).get(key()) == entry()


def test_a_forked_child_leaves_connections_alone_that_are_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a fork has waited in vain for another thread's turn: two processes must not write by one connection."""
    used, rests = database._Line(), database._Line()
    monkeypatch.setattr(database, "_lines", {used, rests})
    monkeypatch.setattr(database, "_PATIENCE", -0.45)  # so that a fork waits for 0.1 s
    for each in (used, rests):
        each.db = sqlite3.connect(":memory:", check_same_thread=False)
    kept, begun, done = used.db, threading.Event(), threading.Event()

    def work() -> None:
        with used.turn:
            begun.set()
            done.wait(30)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(30)
    database._close_all()
    database._begin_in_child()
    assert used.db is None and rests.db is None
    assert kept in process._inherited
    done.set()
    thread.join(30)
