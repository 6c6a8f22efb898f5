"""The tuning cache: it keeps what it is given, and nothing that happens to its file makes a caller fail."""

import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from mdhnp.schedule import LocalCopy, Schedule
from mdhnp.tuning import cache as cache_module
from mdhnp.tuning import claims, database, schema, wisdom
from mdhnp.tuning.cache import Entry, Key, Measurement, TuningCache, cache
from mdhnp.tuning.wisdom import read_wisdom, shipped_entries

PLAIN = Schedule.plain((6, 5, 7), 2)
RICH = replace(
    PLAIN,
    num_wg=(2, 1, 1),
    vector_dim=1,
    vector_width=8,
    local_copies=(LocalCopy((1, 0), (0,)), None),
    second=Schedule.plain((6, 5), 1),
)


def key(*extents: int, family: str = "product", device: str = "this device", generator: str = "1") -> Key:
    extents = extents or (6, 5, 7)
    return Key(family, extents, f"{family}{extents}", device, generator)


def entry(seconds: float = 1e-3, schedule: Schedule = RICH, tuned_at: str = "2026-02-03T04:05:06Z") -> Entry:
    return Entry(schedule, seconds, 50, tuned_at, "md_hom((x0 * x1), (++, ++, +)) ∘ (I0[i,k], I1[k,j]) -> O0[i,j]")


def measurement(number: int = 0) -> Measurement:
    return Measurement(replace(PLAIN, vector_width=number + 1), 1e-3 + number, "ok", f"number {number}")


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TuningCache]:
    """The process's cache in a folder of its own; warnings are errors unless a test expects them."""
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache_module, "shipped_entries", dict)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield cache()


def again(tuned: TuningCache) -> TuningCache:
    """The same file, as another process would open it."""
    return TuningCache(tuned.path)


def script(text: str, *arguments: object) -> subprocess.Popen[str]:
    """Run a test's other process."""
    command = [sys.executable, "-c", f"import sys; from tests_tuning import *; {text}", *map(str, arguments)]
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1])])
    # The name keeps pytest's own import of this file apart.
    command[2] = command[2].replace("tests_tuning", Path(__file__).stem)
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path})


def test_what_is_put_is_found_again(tuned: TuningCache) -> None:
    failed = Measurement(RICH, None, "build", "no such type: half\udcff")
    assert tuned.put(key(), entry(), [measurement(1), failed])
    for found in (tuned, again(tuned)):
        assert found.get(key()) == entry()
        assert found.measurements(key()) == [measurement(1), replace(failed, message="no such type: half?")]
        assert found.entries() == [(key(), entry())]
        assert found.verify("1") == []


@pytest.mark.parametrize("field", ["family", "extents", "exact", "device", "generator"])
def test_every_field_of_a_key_counts(tuned: TuningCache, field: str) -> None:
    tuned.put(key(), entry())
    other = replace(key(), **{field: (1, 1, 1) if field == "extents" else "other"})
    assert tuned.get(other) is None
    assert tuned.measurements(other) == []


def test_looking_creates_nothing(tuned: TuningCache) -> None:
    assert tuned.get(key()) is None
    assert tuned.nearest(key()) == tuned.measurements(key()) == tuned.entries() == tuned.verify() == []
    assert not tuned.path.parent.exists()


def test_the_folder_is_asked_for_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path / "a"))
    first = cache()
    monkeypatch.setenv("MDHNP_CACHE_DIR", str(tmp_path / "b"))
    assert cache() is not first
    assert cache().path.parent == tmp_path / "b"


@pytest.mark.parametrize(
    ("new", "kept"),
    [
        (entry(0.5e-3), True),
        (entry(1e-3), False),
        (entry(2e-3), False),
        (entry(0.5e-3, tuned_at="2026-02-03T03:05:06Z"), False),
        (entry(0.5e-3, tuned_at="2026-02-03T06:05:06.25+01:00"), True),  # one hour later
        (entry(0.5e-3, tuned_at="2026-02-03T04:05:06+01:00"), False),  # one hour earlier
    ],
)
def test_only_a_faster_and_later_entry_takes_anothers_place(tuned: TuningCache, new: Entry, kept: bool) -> None:
    tuned.put(key(), entry(), [measurement(0)])
    assert tuned.put(key(), new, [measurement(1)]) is kept
    assert tuned.get(key()) == (new if kept else entry())
    assert tuned.measurements(key()) == [measurement(0), measurement(1)]
    assert tuned.put(key(), new, replace=True)
    assert tuned.get(key()) == new


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_an_impossible_time_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds"):
        entry(seconds)


def test_an_entry_that_cannot_be_stored_leaves_nothing_behind(tuned: TuningCache) -> None:
    tuned.put(key(), entry(), [measurement(0)])
    bad = replace(measurement(1), schedule=replace(PLAIN, num_wg=(object(),)))
    with pytest.raises(TypeError):
        tuned.put(key(), entry(0.5e-3), [measurement(2), bad])
    assert again(tuned).get(key()) == entry()
    assert again(tuned).measurements(key()) == [measurement(0)]


def test_nearest_orders_by_the_ratio_of_extents(tuned: TuningCache) -> None:
    wanted = key(100, 100, 100)
    order = [(100, 110, 100), (90, 100, 110), (50, 100, 100), (100, 100, 300), (1000, 1000, 1000), (0, 100, 100)]
    for extents in sorted(order):
        tuned.put(key(*extents), entry())
    for other in (key(100, 100), key(100, 100, 100, family="sum"), key(100, 100, 100, device="b")):
        tuned.put(other, entry())
    tuned.put(key(100, 100, 100, generator="2"), entry())
    assert [k.extents for k, _ in tuned.nearest(wanted, limit=6)] == [*order[:4], order[5], order[4]]
    assert [k.extents for k, _ in tuned.nearest(wanted)] == order[:3]
    tuned.put(wanted, entry(2e-3))
    assert tuned.nearest(wanted, limit=1) == [(wanted, entry(2e-3))]


def test_shipped_entries_stand_in_for_missing_ones(tuned: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = {key(): replace(entry(), source="shipped"), key(7, 7, 7): replace(entry(), source="shipped")}
    monkeypatch.setattr(cache_module, "shipped_entries", lambda: shipped)
    assert tuned.get(key()) == shipped[key()]
    assert [k for k, _ in tuned.nearest(key())] == [key(), key(7, 7, 7)]
    tuned.put(key(), entry(5.0))
    assert tuned.get(key()) == entry(5.0)
    assert tuned.nearest(key()) == [(key(), entry(5.0)), (key(7, 7, 7), shipped[key(7, 7, 7)])]
    assert tuned.entries() == [(key(), entry(5.0))]


def test_clear_forgets_what_it_is_asked_to(tuned: TuningCache) -> None:
    keys = [key(1, 1, 1), key(2, 2, 2), key(3, 3, 3, device="b"), key(4, 4, 4, device="b")]
    for k in keys:
        tuned.put(k, entry(), [measurement()])
    assert [k for k, _ in tuned.entries("b")] == keys[2:]
    assert tuned.clear(keys[0]) == 1
    assert tuned.measurements(keys[0]) == []
    assert [k for k, _ in tuned.entries()] == keys[1:]
    assert tuned.clear(device="b") == 2
    assert [k for k, _ in tuned.entries()] == [keys[1]]
    with pytest.raises(TypeError, match="not both"):
        tuned.clear(keys[1], device="b")
    assert tuned.clear() == 1
    assert tuned.entries() == tuned.measurements(keys[1]) == []


def test_verify_names_rows_that_cannot_be_read(tuned: TuningCache) -> None:
    tuned.put(key(), entry(1e-9), [measurement()])
    tuned.put(key(generator="0"), entry())
    tuned.close()
    with sqlite3.connect(tuned.path) as db:
        db.execute("UPDATE entries SET schedule = replace(schedule, '8', '\"8;}\"') WHERE seconds = 1e-9")
        db.execute("UPDATE measurements SET schedule = 'x'")
    db.close()
    assert [problem.partition(" of ")[0] for problem in tuned.verify()] == ["entry", "measurement"]
    assert any("generator version 0" in problem for problem in tuned.verify("1"))
    assert tuned.get(key()) is None
    assert tuned.measurements(key()) == []
    assert tuned.put(key(), entry()), "what cannot be read holds no place"
    assert tuned.get(key()) == entry()


# Many users of one file


def _write_many(path: Path, name: int, count: int) -> None:
    mine = TuningCache(path)
    for number in range(count):
        mine.record(key(), measurement(number))
        mine.put(key(number, name, 1), entry(), [measurement(name)])
        mine.put(key(), entry(1 / (number * 2 + name + 1)), [])


def test_two_processes_write_at_once(tuned: TuningCache) -> None:
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=_write_many, args=(tuned.path, name, 40)) for name in (0, 1)]
    for other in others:
        other.start()
    for other in others:
        other.join(60)
    assert [other.exitcode for other in others] == [0, 0]
    assert len(tuned.measurements(key())) == 80
    assert len(tuned.entries()) == 81
    found = tuned.get(key())
    assert found is not None
    assert found.seconds == 1 / 80
    assert tuned.verify() == []


def test_many_threads_write_at_once(tuned: TuningCache) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: _write_many(tuned.path if name % 2 else cache().path, name, 10), range(8)))
        list(pool.map(lambda number: tuned.record(key(9), measurement(number)), range(100)))
    assert len(tuned.measurements(key())) == 80
    assert sorted(m.message for m in tuned.measurements(key(9))) == sorted(f"number {n}" for n in range(100))
    assert len(tuned.entries()) == 81


def _ending(child: int) -> int:
    """Give a child's status; one that hangs is killed."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def test_fork_while_threads_write(tuned: TuningCache) -> None:
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            tuned.record(key(1), measurement())

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    tuned.record(key(2), measurement(number))
                    status = 0 if len(tuned.measurements(key(2))) == number + 1 and tuned.trouble is None else 2
                finally:
                    os._exit(status)
            assert _ending(child) == 0
    finally:
        stop.set()
        writer.join()
    assert tuned.measurements(key(2)) == [measurement(n) for n in range(5)]
    assert tuned.verify() == []


def test_a_killed_process_leaves_all_it_measured(tuned: TuningCache) -> None:
    other = script(
        "c = TuningCache(sys.argv[1]); c.claim(key(), 'search')\n"
        "for n in range(10**6): c.record(key(), measurement(n)); print(n, flush=True)",
        tuned.path,
    )
    assert other.stdout is not None
    seen = [int(next(other.stdout)) for _ in range(50)][-1]
    other.kill()
    said = other.communicate()[0].split()
    seen = max([seen, *map(int, said)])
    assert other.returncode == -signal.SIGKILL
    found = tuned.measurements(key())
    assert len(found) >= seen + 1
    assert found == [measurement(n) for n in range(len(found))]
    assert tuned.verify() == []
    assert tuned.claim(key(), "mine") == "mine", "the dead process's claim is void"
    assert tuned.put(key(), entry())


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
    "a table is missing": _statement("DROP TABLE entries"),
    "a later schema": _statement(f"PRAGMA user_version = {schema.VERSION + 1}"),
}


@pytest.mark.parametrize("what", DAMAGE)
@pytest.mark.parametrize("opened", [False, True], ids=["before", "while open"])
def test_a_file_that_cannot_be_used_is_set_aside(tuned: TuningCache, what: str, opened: bool) -> None:
    for number in range(20):
        tuned.put(key(number), entry(), [measurement()])
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
        other.put(key(3), entry(), [measurement()])
        other.record(key(3), measurement())
        if opened and not said:  # SQLite had the pages in its own memory; the next process sees the file
            other.close()
            other = again(tuned)
            other.put(key(3), entry(), [measurement()])
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
    assert tuned.put(key(), entry())
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


def test_a_deleted_folder_is_made_again(tuned: TuningCache) -> None:
    tuned.put(key(1), entry())
    for file in tuned.path.parent.iterdir():
        file.unlink()
    tuned.path.parent.rmdir()
    assert tuned.get(key(1)) is None
    assert tuned.put(key(2), entry())
    assert again(tuned).entries() == [(key(2), entry())]


# Disks that cannot be written


def test_an_impossible_folder_costs_one_warning(tuned: TuningCache) -> None:
    tuned.path.parent.touch()  # no folder can be made where a file is, even by root
    assert tuned.get(key()) is None
    with pytest.warns(RuntimeWarning, match="MDHNP_CACHE_DIR") as said:
        assert tuned.put(key(), entry(), [measurement(0)])
        tuned.record(key(), measurement(1))
    assert len(said) == 1
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tuned.get, [key()] * 8)) == [entry()] * 8
    assert tuned.measurements(key()) == [measurement(0), measurement(1)]
    assert tuned.claim(key(), "a") == "a"
    assert tuned.claim(key(), "b") is None
    assert "in memory" in tuned.verify()[0]


def test_a_read_only_folder_can_still_be_read(tuned: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned.put(key(1), entry(), [measurement()])  # and still open, so that all is in the write-ahead log
    connect = sqlite3.connect

    def read_only(name: object, **options: object) -> sqlite3.Connection:
        if not str(name).startswith("file:"):
            raise sqlite3.OperationalError("unable to open database file")
        return connect(name, **options)

    monkeypatch.setattr(database.sqlite3, "connect", read_only)
    other = again(tuned)
    with pytest.warns(RuntimeWarning, match="unable to open") as said:
        assert other.get(key(1)) == entry()
        assert other.put(key(2), entry())
    assert len(said) == 1
    assert other.measurements(key(1)) == [measurement()]
    assert other.get(key(2)) == entry()
    monkeypatch.undo()
    assert again(tuned).get(key(2)) is None


def test_a_full_disk_keeps_what_was_there(tuned: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned.put(key(1), entry(), [measurement()])
    tuned.close()
    pages = tuned.path.stat().st_size // 4096
    monkeypatch.setattr(database, "_SETTINGS", (*database._SETTINGS, f"PRAGMA max_page_count = {pages}"))
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
        assert tuned.put(key(2), entry())
    assert tuned.get(key(1)) == tuned.get(key(2)) == entry()
    holder.execute("ROLLBACK")
    holder.close()


def test_a_network_file_system_gets_no_shared_memory(tuned: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_on_network", lambda folder: True)
    tuned.put(key(), entry())
    assert [file.name for file in tuned.path.parent.iterdir()] == [tuned.path.name]
    assert again(tuned).get(key()) == entry()


# Claims


def test_one_search_at_a_time_in_a_process(tuned: TuningCache) -> None:
    first = tuned.claim(key())
    assert first
    assert tuned.claim(key()) is None
    assert tuned.claim(key(), first) == first
    assert tuned.claim(key(2)), "another key is free"
    tuned.release(key(), "not the owner")
    assert tuned.claim(key()) is None
    tuned.release(key(), first)
    assert tuned.claim(key())


def test_only_one_of_many_threads_gets_a_key(tuned: TuningCache) -> None:
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda _: tuned.claim(key()), range(16)))
    assert len([owner for owner in got if owner]) == 1


def test_a_live_process_keeps_its_claim_and_a_dead_one_does_not(tuned: TuningCache) -> None:
    other = script(
        "c = TuningCache(sys.argv[1]); print(c.claim(key(), 'it'), flush=True); sys.stdin.read()", tuned.path
    )
    try:
        assert other.stdout is not None
        assert next(other.stdout).strip() == "it"
        assert tuned.claim(key(), "mine") is None
        assert tuned.claim(key(), "it") is None, "the same name in another process is another owner"
        tuned.release(key())
        assert tuned.claim(key(), "mine") is None, "nobody releases another's claim"
        tuned.clear()
        assert tuned.claim(key(), "mine") is None, "clearing does not end a claim"
    finally:
        other.kill()
        other.communicate()
    assert tuned.claim(key(), "mine") == "mine"


def test_a_claim_without_heartbeat_is_taken_over(tuned: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(claims.time, "time", lambda: now)
    tuned.claim(key(), "slow")
    now += 50
    assert tuned.claim(key(), "other") is None
    tuned.record(key(), measurement())  # counts as a heartbeat
    now += 50
    assert tuned.claim(key(), "other") is None
    now += 61
    assert tuned.claim(key(), "other") == "other"
    assert tuned.claim(key(), "slow") is None
    now -= 1000
    assert tuned.claim(key(), "slow") == "slow", "a heartbeat from the future is none"


def test_a_process_number_used_again_is_another_process(tuned: TuningCache) -> None:
    tuned.claim(key(), "old")
    with sqlite3.connect(tuned.path) as db:
        db.execute("UPDATE claims SET started = started || '0'")
    db.close()
    assert tuned.claim(key(), "new") == "new"


# Wisdom


def test_exported_entries_come_back(tuned: TuningCache, tmp_path: Path) -> None:
    tuned.put(key(1, 2, 3), entry(), [measurement()])
    tuned.put(key(4, 5, 6, device="b"), entry(2e-3))
    assert tuned.export(tmp_path / "all.json") == 2
    assert tuned.export(tmp_path / "b.json", device="b") == 1
    other = TuningCache(tmp_path / "other" / "tuning.sqlite")
    other.put(key(1, 2, 3), entry(0.5e-3))
    assert other.import_(tmp_path / "all.json") == 1
    assert other.get(key(1, 2, 3)) == entry(0.5e-3), "the faster one stays"
    assert other.get(key(4, 5, 6, device="b")) == replace(entry(2e-3), source="imported")
    other.put(key(1, 2, 3), entry(5e-3), replace=True)
    assert other.import_(tmp_path / "all.json") == 1
    assert other.get(key(1, 2, 3)) == replace(entry(), source="imported")
    assert other.import_(tmp_path / "b.json") == 0
    assert not list(tmp_path.glob("*.part"))


def _without(name: str) -> Callable[[dict], object]:
    return lambda fields: fields.pop(name)


def _with(**changes: object) -> Callable[[dict], object]:
    return lambda fields: fields.update(changes)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (_without("seconds"), "seconds: not a number: missing"),
        (_with(seconds=-1.0), "seconds: -1.0 is no positive number"),
        (_with(seconds=float("nan")), "seconds: nan"),
        (_with(seconds=True), "seconds: not a number"),
        (_with(evaluations="50"), "evaluations: not an integer"),
        (_with(tuned_at="yesterday"), "yesterday"),
        (_with(source="elsewhere"), "source"),
        (_with(key=None), "key: not an object: missing"),
        (lambda fields: fields["key"].update(extents=[1, "2", 3]), "key: extents"),
        (lambda fields: fields["key"].update(extents=[1, 2]), "for 3 dimensions, the key has 2"),
        (lambda fields: fields["key"].pop("device"), "key: device: not a text: missing"),
        (_without("schedule"), "schedule"),
        (lambda fields: fields["schedule"].update(num_wi=[1, 1, "1);"]), "num_wi"),
        (lambda fields: fields["schedule"].update(private_copies=[0, 1]), "private_copies"),
        (lambda fields: fields["schedule"].update(results="nowhere"), "results"),
        (lambda fields: fields["schedule"]["second"].update(vector_width=1.5), "vector_width"),
        (lambda fields: fields["schedule"]["local_copies"][0].update(order=["0", 1]), "local_copies"),
        (lambda fields: fields["schedule"].update(unheard_of=1), "schedule"),
    ],
)
def test_one_bad_entry_keeps_a_file_out(
    tuned: TuningCache, tmp_path: Path, change: Callable[[dict], object], complaint: str
) -> None:
    file = tmp_path / "wisdom.json"
    for number in range(3):
        tuned.put(key(number, 1, 1), entry())
    tuned.export(file)
    content = json.loads(file.read_text())
    change(content["entries"][1])
    file.write_text(json.dumps(content))
    other = TuningCache(tmp_path / "other.sqlite")
    with pytest.raises(ValueError, match=r"wisdom\.json: entry 1: ") as caught:
        other.import_(file)
    assert complaint in str(caught.value)
    assert other.entries() == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not JSON"),
        ('{"format": "mdhnp wisdom", "version": 1, "entries": [', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a file of tuned entries"),
        ('{"version": 1, "entries": []}', "not a file of tuned entries"),
        ('{"format": "mdhnp wisdom", "version": 2, "entries": []}', "version 2"),
        ('{"format": "mdhnp wisdom", "version": 1, "entries": {}}', "not a list"),
        ('{"format": "mdhnp wisdom", "version": 1, "entries": [3]}', "entry 0: it: not an object"),
    ],
)
def test_a_file_that_is_no_wisdom_says_why(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^w.json: .*{complaint}"):
        read_wisdom(text, "w.json")


def test_shipped_files_are_read_and_a_bad_one_left_out(
    tuned: TuningCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shipped").mkdir()
    tuned.put(key(), entry())
    tuned.export(tmp_path / "shipped" / "b.json")
    tuned.put(key(), entry(0.5e-3))
    tuned.export(tmp_path / "shipped" / "a.json")
    (tmp_path / "shipped" / "c.json").write_text("{")
    (tmp_path / "shipped" / "README").write_text("not an entry")
    monkeypatch.setattr(wisdom.importlib.resources, "files", lambda package: tmp_path)
    with pytest.warns(RuntimeWarning, match=r"c\.json: not JSON") as said:
        assert shipped_entries.__wrapped__() == {key(): replace(entry(0.5e-3), source="shipped")}
    assert len(said) == 1


def test_the_packages_own_files_can_be_read() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shipped_entries.__wrapped__()
