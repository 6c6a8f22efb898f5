"""The tuning cache keeps what it is given, for many threads and processes at once."""

import multiprocessing
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tuning_entries import RICH, again, entry, fresh_cache, keep, key, line_of, measurement, script

from mdhnp.tuning.cache import BestSchedule, Measurement, TuningCache, cache
from mdhnp.tuning.cache import tuning_cache as cache_module


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TuningCache]:
    yield from fresh_cache(tmp_path, monkeypatch)


def test_what_is_put_is_found_again(tuned: TuningCache) -> None:
    failed = Measurement(RICH, None, "build", "no such type: half\udcff")
    keep(tuned, key(), entry(), measurement(1), failed)
    for found in (tuned, again(tuned)):
        assert found.get(key()) == entry()
        assert found.measurements(key()) == [measurement(1), replace(failed, message=r"no such type: half\udcff")]
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


@pytest.mark.parametrize("new", [entry(0.5e-3), entry(2e-3), entry(0.5e-3, tuned_at="2026-02-03T06:05:06.25+01:00")])
def test_an_entry_takes_anothers_place_whatever_its_time(tuned: TuningCache, new: BestSchedule) -> None:
    """Times of two moments say nothing: who puts it has compared both."""
    keep(tuned, key(), entry(), measurement(0))
    keep(tuned, key(), new, measurement(1))
    assert tuned.get(key()) == new
    assert tuned.measurements(key()) == [measurement(0), measurement(1)]


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_an_impossible_time_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds"):
        entry(seconds)


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
        keep(tuned, k, entry(), measurement())
    assert tuned.clear(keys[0]) == 1
    assert tuned.measurements(keys[0]) == []
    assert [k for k, _ in tuned.entries()] == keys[1:]
    assert tuned.clear() == 3
    assert tuned.entries() == tuned.measurements(keys[1]) == []


def test_verify_names_rows_that_cannot_be_read(tuned: TuningCache) -> None:
    keep(tuned, key(), entry(1e-9), measurement())
    tuned.put(key(generator="0"), entry())
    tuned.close()
    with sqlite3.connect(tuned.path) as db:
        db.execute("UPDATE records SET content = replace(content, ': 8', ': \"8;}\"') WHERE content LIKE '%1e-09%'")
        db.execute("UPDATE records SET content = 'x' WHERE kind = 'measurement'")
    db.close()
    assert [problem.partition(" of ")[0] for problem in tuned.verify()] == ["entry", "measurement"]
    assert any("generator version 0" in problem for problem in tuned.verify("1"))
    assert tuned.get(key()) is None
    assert tuned.measurements(key()) == []
    tuned.put(key(), entry())
    assert tuned.get(key()) == entry(), "what cannot be read holds no place"


@pytest.mark.parametrize(
    "change",
    [
        "extents = '[Infinity]'",
        f"content = replace(content, '1e-09', '1{'0' * 400}')",
        "content = replace(content, '2026-02-03T04:05:06Z', '9999-12-31T23:59:59-23:00')",
    ],
)
def test_numbers_out_of_range_count_as_absent(tuned: TuningCache, change: str) -> None:
    tuned.put(key(), entry(1e-9))
    tuned.close()
    with sqlite3.connect(tuned.path) as db:
        db.execute(f"UPDATE records SET {change}")
    db.close()
    assert tuned.get(key()) is None
    assert tuned.nearest(key()) == tuned.entries() == []
    assert len(tuned.verify()) == 1


# Many users of one file


def _write_many(path: Path, name: int, count: int) -> None:
    mine = TuningCache(path)
    for number in range(count):
        mine.record(key(), measurement(number))
        keep(mine, key(number, name, 1), entry(), measurement(name))
        mine.put(key(), entry(1 / (number * 2 + name + 1)))


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
    assert found.seconds in (1 / 79, 1 / 80), "the last one of either"
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
    seen = [int(line_of(other)) for _ in range(50)][-1]
    other.kill()
    other.communicate()
    assert other.returncode == -signal.SIGKILL
    found = tuned.measurements(key())
    assert len(found) >= seen + 1
    assert found == [measurement(n) for n in range(len(found))]
    assert tuned.verify() == []
    assert tuned.claim(key(), "mine") == "mine", "the dead process's claim is void"
    tuned.put(key(), entry())


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
        assert line_of(other) == "it"
        assert tuned.claim(key(), "mine") is None
        assert tuned.claim(key(), "it") is None, "the same name in another process is another owner"
        tuned.release(key(), "it")
        assert tuned.claim(key(), "mine") is None, "nobody releases another's claim"
        tuned.clear()
        assert tuned.claim(key(), "mine") is None, "clearing does not end a claim"
    finally:
        other.kill()
        other.communicate()
    assert tuned.claim(key(), "mine") == "mine"


def test_a_claim_without_heartbeat_is_taken_over(tuned: TuningCache, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(cache_module.time, "time", lambda: now)
    tuned.claim(key(), "slow")
    now += 50
    assert tuned.claim(key(), "other") is None
    assert tuned.claim(key(), "slow") == "slow"  # a heartbeat
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
        db.execute("UPDATE records SET content = replace(content, '\"],', '0\"],') WHERE kind = 'claim'")
    db.close()
    assert tuned.claim(key(), "new") == "new"
